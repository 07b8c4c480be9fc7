"""How the arguments of distributions are read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright.array import Array
from tilewright.operands import invalid, shown, to_dtype, to_shape

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from tilewright.backend import Backend

    Size = int | Sequence[int] | None
    Parameter = float | Array | npt.NDArray[Any]

FLOATS = (np.dtype(np.float32), np.dtype(np.float64))


def float_dtype(call: str, dtype: npt.DTypeLike) -> np.dtype[Any]:
    wanted = to_dtype(call, dtype)
    if wanted not in FLOATS:
        invalid(call, f"dtype is {wanted}, expected float32 or float64")
    return wanted


def check_numbers(call: str, **given: Any) -> None:
    for name, one in given.items():
        if isinstance(one, bool) or not isinstance(one, (int, float, np.integer, np.floating)):
            invalid(call, f"{name} is {shown(one)}, expected a number")


def to_parameter(call: str, name: str, given: Any, backend: Backend) -> Any:
    """A number, or an Array on the backend."""
    if given.__class__ is float:
        return given
    if isinstance(given, Array):
        backend._own(call, name, given)
        if given.dtype.kind not in "iuf":
            invalid(call, f"{name} is {given.dtype}, expected numbers")
        return given if given.dtype.kind == "f" else given.astype("float32")
    if isinstance(given, (np.ndarray, list, tuple)):
        from tilewright.namespace.creation import asarray

        return to_parameter(call, name, asarray(given, device=backend), backend)
    check_numbers(call, **{name: given})
    try:
        number = float(given)
    except OverflowError:
        invalid(call, f"{name} is {shown(given)}, which no float holds")
    return number


def _broadcast(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    from tilewright.namespace.manipulation import broadcast_shapes

    return broadcast_shapes(*shapes)


def size_of_result(
    call: str, size: Size, out: Array | None, parameters: Sequence[Any]
) -> tuple[int, ...]:
    """The shape of a result: the one that is given, or that of the Arrays among its parameters."""
    arrays = [one for one in parameters if isinstance(one, Array)]
    met = _broadcast(*(one.shape for one in arrays)) if arrays else ()
    if out is not None and not isinstance(out, Array):
        invalid(call, f"out is {shown(out)}, expected an Array")
    if size is None:
        return met if out is None else out.shape
    sizes = to_shape(call, size)
    if out is not None and out.shape != sizes:
        invalid(call, f"out has shape {out.shape}, expected {sizes}")
    if arrays and _broadcast(sizes, met) != sizes:
        invalid(call, f"size is {sizes}, but the parameters have shape {met}")
    return sizes


def put(call: str, out: Array, result: Array) -> Array:
    result.backend._own(call, "out", out)
    if out.dtype != result.dtype:
        invalid(call, f"out is {out.dtype}, expected {result.dtype}")
    out[...] = result
    return out
