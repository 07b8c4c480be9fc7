"""What operators share: functions for what lies on the host and on a device alike."""

from __future__ import annotations

import contextvars
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

import tilewright as tw
from tilewright.array import Array
from tilewright.models.files.errors import ModelError
from tilewright.models.onnx.dtypes import host_dtype
from tilewright.namespace.devices import default_backend

INT64 = np.dtype(np.int64)

#: how many bytes a result may have, where that is not the device's own bound
_room: contextvars.ContextVar[int | None] = contextvars.ContextVar("tilewright_room", default=None)


class NoRoomError(ModelError):
    """A result is larger than what is given away here."""


@contextmanager
def room(most: int) -> Iterator[None]:
    token = _room.set(most)
    try:
        yield
    finally:
        _room.reset(token)


def check_room(shape: Sequence[int], itemsize: int = 8) -> None:
    """Refuses a shape that a file asks for before anything is made of it."""
    for size in shape:
        if size < 0:
            raise ModelError(f"the result would have the shape {tuple(shape)}")
    most = _room.get()
    nbytes = math.prod(shape) * itemsize
    if most is None:
        backend = default_backend()
        limits = (backend.device.memory_bytes, backend.memory_stats().limit_bytes)
        most = min((one for one in limits if one), default=1 << 40)
    if nbytes > most:
        raise NoRoomError(
            f"the result would have the shape {tuple(shape)}, {nbytes} bytes, expected at most "
            f"{most}"
        )


def on_host(*values: Any) -> bool:
    return all(one is None or not isinstance(one, Array) for one in values)


def xp(x: Any) -> Any:
    """The namespace of what a value lies in."""
    return tw if isinstance(x, Array) else np


def concat(values: Sequence[Any], axis: int) -> Any:
    if on_host(*values):
        return np.concatenate(values, axis)
    return tw.concat(list(values), axis=axis)


def transposed(x: Any, axes: Sequence[int]) -> Any:
    return x.transpose(tuple(axes))


def cast(x: Any, dtype: Any) -> Any:
    if isinstance(x, Array):
        return x if x.dtype == dtype else x.astype(dtype)
    if not isinstance(x, np.ndarray):
        x = np.asarray(x)
    return x.astype(host_dtype(dtype), copy=False)


def ints(x: Any) -> tuple[int, ...]:
    """What is on the host, as Python's integers."""
    return tuple(int(one) for one in np.asarray(x).reshape(-1))


def scalar(x: Any) -> Any:
    """The one element of what is on the host."""
    found = np.asarray(x)
    if found.size != 1:
        raise ModelError(f"an input has shape {found.shape}, expected one element")
    return found.reshape(-1)[0]


def device_array(x: Any) -> Array:
    return x if isinstance(x, Array) else tw.asarray(x)


def axis_in(axis: int, rank: int, name: str = "axis") -> int:
    if not -rank <= axis < max(rank, 1):
        raise ModelError(f"{name} is {axis}, expected one of {rank} dimensions")
    return axis % rank if rank else 0


def axes_in(axes: Sequence[int], rank: int) -> tuple[int, ...]:
    found = tuple(axis_in(one, rank, "axes") for one in axes)
    if len(set(found)) != len(found):
        raise ModelError(f"axes are {tuple(axes)}, expected each once")
    return found
