"""Which device a function works on."""

from __future__ import annotations

import contextlib
import contextvars
import threading
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

from tilewright import _core
from tilewright.operands import shown

if TYPE_CHECKING:
    from tilewright.backend import Backend

    Device: TypeAlias = str | Backend

# One backend for each device and process, opened when it is first asked for.
_opened: dict[str, Any] = {}
_lock = threading.RLock()
_default: Any = None
# What set_default_device() was given.
_set: Any = None
_chosen: contextvars.ContextVar[Any] = contextvars.ContextVar("tilewright_device", default=None)


def _open(name: str) -> Any:
    from tilewright.backend import init_backend

    with _lock:
        kept = _opened.get(name)
        if kept is not None and kept.is_initialized:
            return kept
        fresh = init_backend(name)
        # Another name of a device that is open already.
        kept = _opened.get(fresh.device.id)
        if kept is not None and kept.is_initialized:
            fresh.close()
            fresh = kept
        _opened[name] = _opened[fresh.device.id] = fresh
        return fresh


def open_with(name: str, **config: Any) -> Backend:
    """Opens a device with init_backend()'s options, for all that names it from now on."""
    from tilewright.backend import init_backend

    with _lock:
        fresh = init_backend(name, **config)
        _opened[name] = _opened[fresh.device.id] = fresh
        return fresh


def chosen_default() -> Backend | None:
    """The device that set_default_device() was given, where it was called."""
    return _set if _set is not None and _set.is_initialized else None


def default_backend() -> Backend:
    """Where functions without an Array among their arguments put what they make."""
    chosen = _chosen.get()
    if chosen is not None:
        return chosen  # type: ignore[no-any-return]
    global _default
    if _default is None or not _default.is_initialized:
        _default = _open("auto")
    return _default  # type: ignore[no-any-return]


@cache
def _backend_class() -> type:
    from tilewright.backend import Backend

    return Backend


def to_backend(call: str, device: Device | None) -> Backend:
    """The backend of a `device=` argument: a name that init_backend() takes, a backend, or None."""
    if device is None:
        return default_backend()
    if isinstance(device, _backend_class()):
        return device  # type: ignore[return-value]
    if not isinstance(device, str):
        raise _core.InvalidArgument(
            f"{call}: device is {shown(device)}, expected a name such as 'webgpu:0', or a backend"
        )
    return _open(device)  # type: ignore[no-any-return]


def set_default_device(device: Device) -> None:
    """The device that functions use from now on, in all threads, where none is named."""
    global _default, _set
    _default = _set = to_backend("set_default_device", device)


def default_device() -> Backend:
    """The device that functions use where none is named."""
    return default_backend()


@contextlib.contextmanager
def device(device: Device) -> Iterator[Backend]:
    """For a `with` block: the device that functions use where none is named."""
    backend = to_backend("device", device)
    token = _chosen.set(backend)
    try:
        yield backend
    finally:
        _chosen.reset(token)
