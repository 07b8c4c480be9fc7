"""NumPy's functions that make arrays from few numbers: spaced ones, indices, windows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from tilewright.array import Array
from tilewright.namespace.creation import arange, asarray
from tilewright.namespace.devices import to_backend
from tilewright.namespace.manipulation import broadcast_to, stack
from tilewright.operands import invalid, read_host, shown, to_dtype, to_integer, to_shape
from tilewright.reading import default_integer

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from tilewright.namespace.devices import Device

Made = TypeVar("Made")

__all__ = [
    "bartlett",
    "blackman",
    "diag_indices",
    "fromfunction",
    "geomspace",
    "hamming",
    "hanning",
    "indices",
    "ix_",
    "kaiser",
    "logspace",
    "tril_indices",
    "triu_indices",
]


def _count(call: str, name: str, given: Any) -> int:
    count = to_integer(call, name, given)
    if count < 0:
        invalid(call, f"{name} is {count}, expected 0 or more")
    return count


def _numbers(call: str, name: str, given: Any) -> np.ndarray[Any, Any]:
    if isinstance(given, Array):
        invalid(call, f"{name} is an Array, expected numbers of the host; write {name}.numpy()")
    values = read_host(call, name, given)
    if values.dtype.kind not in "biufc":
        invalid(call, f"{name} is {shown(given)}, expected numbers")
    return values


def _made(
    call: str, values: np.ndarray[Any, Any], dtype: npt.DTypeLike | None, device: Device | None
) -> Array:
    """What was computed here in float64, rounded once."""
    usual = np.complex64 if values.dtype.kind == "c" else np.float32
    wanted = np.dtype(usual) if dtype is None else to_dtype(call, dtype)
    return asarray(values, dtype=wanted, device=device)


# Spaced numbers ---------------------------------------------------------------------------------


def logspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, base: Any = 10.0,
    dtype: npt.DTypeLike | None = None, axis: int = 0, *, device: Device | None = None,
) -> Array:  # fmt: skip
    """Powers of `base` whose exponents are so many numbers of equal steps."""
    count = _count("logspace", "num", num)
    first, last = _numbers("logspace", "start", start), _numbers("logspace", "stop", stop)
    with np.errstate(all="ignore"):
        values = np.logspace(
            first, last, count, bool(endpoint), _numbers("logspace", "base", base), axis=axis
        )
    return _made("logspace", values, dtype, device)


def geomspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True,
    dtype: npt.DTypeLike | None = None, axis: int = 0, *, device: Device | None = None,
) -> Array:  # fmt: skip
    """So many numbers from `start` to `stop`, each the same multiple of the one before."""
    count = _count("geomspace", "num", num)
    first, last = _numbers("geomspace", "start", start), _numbers("geomspace", "stop", stop)
    for name, one in (("start", first), ("stop", last)):
        if (one == 0).any():
            invalid("geomspace", f"{name} is 0, of which there are no multiples")
    with np.errstate(all="ignore"):
        values = np.geomspace(first, last, count, bool(endpoint), axis=axis)
    return _made("geomspace", values, dtype, device)


# Windows ----------------------------------------------------------------------------------------


def _window(call: str, function: Callable[..., Any], count: Any, device: Device | None) -> Array:
    return _made(call, function(_count(call, "M", count)), None, device)


def bartlett(M: int, *, device: Device | None = None) -> Array:
    """Bartlett's window, a triangle that begins and ends with 0."""
    return _window("bartlett", np.bartlett, M, device)


def blackman(M: int, *, device: Device | None = None) -> Array:
    """Blackman's window, of three cosines."""
    return _window("blackman", np.blackman, M, device)


def hamming(M: int, *, device: Device | None = None) -> Array:
    """Hamming's window, a raised cosine that does not reach 0."""
    return _window("hamming", np.hamming, M, device)


def hanning(M: int, *, device: Device | None = None) -> Array:
    """Hann's window, a raised cosine that begins and ends with 0."""
    return _window("hanning", np.hanning, M, device)


def kaiser(M: int, beta: float, *, device: Device | None = None) -> Array:
    """Kaiser's window, by Bessel functions; the larger `beta`, the narrower."""
    return _window("kaiser", lambda count: np.kaiser(count, float(beta)), M, device)


# Indices ----------------------------------------------------------------------------------------


def indices(
    dimensions: Any, dtype: npt.DTypeLike | None = None, sparse: bool = False, *,
    device: Device | None = None,
) -> Array | tuple[Array, ...]:  # fmt: skip
    """For each axis of a shape the index along it of every place, side by side; with `sparse` an
    Array for each axis, of size 1 along the others."""
    sizes = to_shape("indices", dimensions)
    backend = to_backend("indices", device)
    wanted = default_integer(backend) if dtype is None else to_dtype("indices", dtype)
    parts = tuple(
        arange(size, dtype=wanted, device=backend).reshape(
            (1,) * axis + (size,) + (1,) * (len(sizes) - axis - 1)
        )
        for axis, size in enumerate(sizes)
    )
    if sparse:
        return parts
    if not parts:
        return backend._new((0,), wanted)
    return stack([broadcast_to(one, sizes) for one in parts])


def fromfunction(
    function: Callable[..., Made], shape: Any, *, dtype: npt.DTypeLike | None = None,
    device: Device | None = None, **named: Any,
) -> Made:  # fmt: skip
    """What a function makes of the indices of every place of a shape, given axis by axis."""
    wanted = np.dtype(np.float32) if dtype is None else dtype
    found = indices(shape, dtype=wanted, device=device)
    return function(*found, **named)


def ix_(*sequences: Array) -> tuple[Array, ...]:
    """Indices of the places where given rows, columns and so on meet, for x[ix_(rows, columns)]. Of
    booleans the places that are true."""
    found = []
    for axis, one in enumerate(sequences):
        if not isinstance(one, Array):
            one = asarray(one)
            if one.size == 0:
                one = one.astype(default_integer(one.backend))
        if one.ndim != 1:
            invalid("ix_", f"sequence {axis} has shape {one.shape}, expected one dimension")
        if one.dtype.kind == "b":
            (one,) = one.nonzero()
        shape = (1,) * axis + (one.size,) + (1,) * (len(sequences) - axis - 1)
        found.append(one.reshape(shape))
    return tuple(found)


def _places(device: Device | None, call: str, found: Any) -> tuple[Array, ...]:
    backend = to_backend(call, device)
    wanted = default_integer(backend)
    return tuple(backend._upload(one.astype(wanted)) for one in found)


def _triangle(
    call: str, places: Callable[..., Any], n: Any, k: Any, m: Any, device: Device | None
) -> tuple[Array, ...]:
    rows = _count(call, "n", n)
    columns = rows if m is None else _count(call, "m", m)
    return _places(device, call, places(rows, to_integer(call, "k", k), columns))


def tril_indices(
    n: int, k: int = 0, m: int | None = None, *, device: Device | None = None
) -> tuple[Array, ...]:
    """The places on and below a diagonal of n rows and m columns."""
    return _triangle("tril_indices", np.tril_indices, n, k, m, device)


def triu_indices(
    n: int, k: int = 0, m: int | None = None, *, device: Device | None = None
) -> tuple[Array, ...]:
    """The places on and above a diagonal of n rows and m columns."""
    return _triangle("triu_indices", np.triu_indices, n, k, m, device)


def diag_indices(n: int, ndim: int = 2, *, device: Device | None = None) -> tuple[Array, ...]:
    """The places at which all indices are equal, of so many dimensions of size n."""
    size, axes = _count("diag_indices", "n", n), _count("diag_indices", "ndim", ndim)
    return _places(device, "diag_indices", np.diag_indices(size, axes))
