"""When elementwise work runs: where its result is asked for, or at once."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

from tilewright import _core
from tilewright.operands import invalid, shown

VARIABLE = "TILEWRIGHT_DEFERRED"


def _checked(call: str, on: object) -> bool:
    if not isinstance(on, bool):
        invalid(call, f"on is {shown(on)}, expected True or False")
    return on


def set_deferred(on: bool) -> None:
    """Whether elementwise functions of Arrays wait until their result is asked for, so that a chain
    of them goes out as one program; in all threads, and True where nothing is said."""
    _core._set_deferred(_checked("set_deferred", on))


@contextlib.contextmanager
def deferred(on: bool = True) -> Iterator[None]:
    """For a `with` block and this thread: whether elementwise functions wait. Errors of the device
    come where they are called with `deferred(False)`."""
    before = _core._set_deferred_here(_checked("deferred", on))
    try:
        yield
    finally:
        _core._set_deferred_here(before)


def read_environment() -> None:
    value = os.environ.get(VARIABLE, "")
    word = value.lower()
    # The words of csrc/core/environment.cpp.
    if word not in ("", "1", "true", "yes", "on", "0", "false", "no", "off"):
        raise _core.InvalidArgument(f'{VARIABLE} is "{value}", expected 1 or 0')
    _core._set_deferred(word not in ("0", "false", "no", "off"))
