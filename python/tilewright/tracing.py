"""What happens apart from the recording that compile() makes of a function."""

from __future__ import annotations

import contextlib
import contextvars
import threading
import traceback
from typing import TYPE_CHECKING, Any, TypeVar

from tilewright import _core

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Made = TypeVar("Made")


class _Here(threading.local):
    """In the thread that records a function: what has to live as long as the recording."""

    kept: list[Any] | None = None


_here = _Here()


class Refused(_core.InvalidArgument):
    """What a function that is recorded cannot do; _named() puts the call in front."""


def is_under_way() -> bool:
    """Whether this thread records a function for compile()."""
    return _here.kept is not None


@contextlib.contextmanager
def traced(kept: list[Any]) -> Iterator[None]:
    """The block runs a function that is recorded; what is made apart() in it goes to `kept`."""
    _here.kept = kept
    try:
        yield
    except _core.InvalidArgument as error:
        raise _named(error) from error
    finally:
        _here.kept = None


def keep(made: Any) -> None:
    """What stays as it is, and is used by what this thread is about to ask for."""
    for table in getattr(made, "tables", (made,)):
        _core._note_kept(table)
    if _here.kept is not None:
        _here.kept.append(made)


def apart(make: Callable[[], Made]) -> Made:
    """make(), also where this thread records: what it does to the device happens now and once, as
    tables are made, since another thread's calls are not recorded."""
    return aside(make) if is_under_way() else make()


def aside(make: Callable[[], Made]) -> Made:
    """make() in a thread of its own, whatever this one records."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as thread:
        made = thread.submit(contextvars.copy_context().run, _at_once, make).result()
    keep(made)
    return made


def _at_once(make: Callable[[], Made]) -> Made:
    # What waited would belong to the thread that is about to end.
    _core._set_deferred_here(False)
    return make()


# What Python calls functions by that stand in no program.
_OPERATORS = {
    "_take_by": "x[mask]",
    "_put_by": "x[mask] = value",
    "__bool__": "bool",
    "__float__": "float",
    "__int__": "int",
    "__complex__": "complex",
    "__index__": "an Array as an index",
    "__contains__": "in",
    "__array__": "np.asarray",
}


def _named(error: _core.InvalidArgument) -> _core.InvalidArgument:
    """By the call of the function's own that cannot be recorded, not the trait's in it."""
    if not isinstance(error, Refused) and "this thread records" not in str(error):
        return error
    call, was_inside = None, False
    # From the function on, behind traced().
    for frame, _ in list(traceback.walk_tb(error.__traceback__))[2:]:
        is_inside = str(frame.f_globals.get("__name__", "")).startswith("tilewright")
        if is_inside and not was_inside:
            call = _OPERATORS.get(frame.f_code.co_name, frame.f_code.co_name)
        was_inside = is_inside
    why = (
        str(error)
        if isinstance(error, Refused)
        else "it reads from the device (elements, how many there are, whether a matrix could be "
        "factored), which a function that tw.compile records cannot do; call it outside of that"
    )
    return error if call is None else _core.InvalidArgument(f"{call}: {why}")
