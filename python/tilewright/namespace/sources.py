"""Arrays of bytes, iterators and text of the host, and text of Arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright import _core
from tilewright.array import Array
from tilewright.namespace.arguments import check_creation
from tilewright.namespace.creation import asarray
from tilewright.namespace.mixed import an_array
from tilewright.operands import to_dtype

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import numpy.typing as npt

    from tilewright.namespace.devices import Device

__all__ = ["frombuffer", "fromfile", "fromiter", "genfromtxt", "loadtxt", "savetxt"]


def _read(call: str, device: Device | None, dtype: Any, read: Callable[[Any], Any]) -> Array:
    """What NumPy reads of the host, on a device."""
    wanted = to_dtype(call, dtype)
    try:
        values = read(wanted)
    except (ValueError, TypeError) as error:
        raise _core.InvalidArgument(f"{call}: {error}") from error
    return asarray(values, device=device)


def frombuffer(
    buffer: Any, dtype: npt.DTypeLike = float, count: int = -1, offset: int = 0, *,
    like: Any = None, device: Device | None = None,
) -> Array:  # fmt: skip
    """A copy of bytes as elements of a dtype, float64 unless one is given."""
    check_creation("frombuffer", like=like)
    return _read("frombuffer", device, dtype, lambda of: np.frombuffer(buffer, of, count, offset))


def fromfile(
    file: Any, dtype: npt.DTypeLike = float, count: int = -1, sep: str = "", offset: int = 0, *,
    like: Any = None, device: Device | None = None,
) -> Array:  # fmt: skip
    """The bytes of a file as elements of a dtype, float64 unless one is given; with `sep` its
    text."""
    check_creation("fromfile", like=like)
    return _read("fromfile", device, dtype, lambda of: np.fromfile(file, of, count, sep, offset))


def fromiter(
    iter: Iterable[Any], dtype: npt.DTypeLike, count: int = -1, *, like: Any = None,
    device: Device | None = None,
) -> Array:  # fmt: skip
    """The numbers of an iterator, all or `count` of them, as one dimension."""
    check_creation("fromiter", like=like)
    return _read("fromiter", device, dtype, lambda of: np.fromiter(iter, of, count))


def loadtxt(
    fname: Any, dtype: npt.DTypeLike = np.float32, *args: Any, device: Device | None = None,
    **named: Any,
) -> Array:  # fmt: skip
    """The numbers of a text file by np.loadtxt() and its arguments, as float32 unless a dtype is
    given."""
    return _read("loadtxt", device, dtype, lambda of: np.loadtxt(fname, of, *args, **named))


def genfromtxt(
    fname: Any, dtype: npt.DTypeLike = np.float32, *args: Any, device: Device | None = None,
    **named: Any,
) -> Array:  # fmt: skip
    """The numbers of a text file by np.genfromtxt() and its arguments, as float32 unless a dtype is
    given."""
    return _read("genfromtxt", device, dtype, lambda of: np.genfromtxt(fname, of, *args, **named))


def savetxt(fname: Any, X: Array, *args: Any, **named: Any) -> None:
    """Writes an Array of one or two dimensions as text by np.savetxt() and its arguments."""
    np.savetxt(fname, an_array("savetxt", X, "X")._numbers(), *args, **named)
