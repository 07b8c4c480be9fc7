"""Arrays between processes: what is sent, and on which device it arrives."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright import _core
from tilewright.array import Array
from tilewright.namespace import devices
from tilewright.small_floats import HOST

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from tilewright.backend import Backend

# Of this process. A child that was forked has it too, and opens devices of the same names.
PROCESS = os.urandom(16).hex()


def arrival(device: str, process: str) -> Backend:
    """Where an Array arrives: what the process itself packed, where it was; else on the device that
    set_default_device() was given in this process; else on the device of the same name, or the
    default one where that cannot be opened."""
    chosen = devices.chosen_default()
    if chosen is not None and (process != PROCESS or chosen.device.id == device):
        return chosen
    try:
        return devices.to_backend("unpack", device)
    except _core.Error:
        return devices.default_backend()


def unpacked(values: npt.NDArray[Any], device: str, process: str = "") -> Array:
    """An Array that was pickled."""
    return arrival(device, process)._upload(values)


def to_frames(x: Array) -> tuple[dict[str, Any], list[memoryview]]:
    """A header and the bytes, as Dask sends them."""
    header = {
        "shape": x.shape,
        "dtype": x.dtype.name,
        "device": x.backend.device.id,
        "process": PROCESS,
    }
    return header, [x._values().reshape(-1).view(np.uint8).data]


def from_frames(header: dict[str, Any], frames: Sequence[Any]) -> Array:
    """The Array of a header and its bytes, which may come in several parts."""
    parts = [np.frombuffer(frame, np.uint8) for frame in frames]
    host = parts[0] if len(parts) == 1 else np.concatenate([*parts, np.empty(0, np.uint8)])
    dtype = HOST if header["dtype"] == "bfloat16" else header["dtype"]
    values = host.view(dtype).reshape(header["shape"])
    return arrival(header["device"], header["process"])._upload(values)


def token(x: Array) -> tuple[str, ...]:
    """The same of Arrays that have the same elements on one device."""
    import hashlib

    content = hashlib.sha256(x.tobytes()).hexdigest()
    return "tilewright.Array", x.backend.device.id, x.dtype.name, str(x.shape), content


def _packed_error(error: BaseException) -> Any:
    """What pickle makes of an exception itself. By a function of our own, because tblib, by which
    Dask sends exceptions, takes those that have none apart and cannot make OutOfMemory again."""
    return BaseException.__reduce__(error)


_core.Error.__reduce__ = _packed_error  # type: ignore[method-assign,assignment]


def register() -> None:
    """In a process of Dask's that meets Arrays first as they arrive."""
    tables: Any = sys.modules.get("distributed.protocol.serialize")
    if tables is not None:
        tables.dask_deserialize.register(Array, from_frames)
