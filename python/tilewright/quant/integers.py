"""int8 and uint8 with scales and zero points, for a tensor or for each channel."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright.array import Array
from tilewright.namespace.creation import asarray, full
from tilewright.namespace.elementwise import (
    abs,
    clip,
    isfinite,
    isnan,
    maximum,
    minimum,
    round,
    where,
)
from tilewright.namespace.linear import _multiplied
from tilewright.namespace.reductions import max, min, sum
from tilewright.operands import FLOAT32, INT32, invalid, read_host, shown, to_dtype
from tilewright.quant.tensor import FLOATS
from tilewright.shapes import to_one_axis

if TYPE_CHECKING:
    import numpy.typing as npt

#: what they hold at least and at most
INTEGERS = {np.dtype(np.int8): (-128, 127), np.dtype(np.uint8): (0, 255)}
#: whole numbers that float32 has all of, up to this one
EXACT = 1 << 24


def checked_array(call: str, name: str, x: Any, dtypes: Any, expected: str) -> Array:
    if not isinstance(x, Array):
        invalid(call, f"{name} is {shown(x)}, expected an Array; write tw.asarray({name})")
    if x.dtype not in dtypes:
        invalid(call, f"{name} is {x.dtype}, expected {expected}")
    return x


def integer_dtype(call: str, dtype: npt.DTypeLike) -> np.dtype[Any]:
    kind = to_dtype(call, dtype)
    if kind not in INTEGERS:
        invalid(call, f"dtype is {kind}, expected int8 or uint8")
    return kind


def checked_axis(call: str, axis: int | None, x: Array) -> int | None:
    return None if axis is None else to_one_axis(call, axis, x.ndim)


def _parameter(call: str, name: str, given: Any, x: Array, axis: int | None) -> npt.NDArray[Any]:
    """On the host: one number, or one for each place along the axis."""
    host = given.numpy() if isinstance(given, Array) else read_host(call, name, given)
    wanted = () if axis is None else (x.shape[axis],)
    if host.dtype.kind not in "iuf":
        invalid(call, f"{name} is {shown(given)}, expected numbers")
    if host.shape not in ((), wanted):
        meant = "one number" if axis is None else f"the shape {wanted}, as axis {axis} of x has"
        invalid(call, f"{name} has the shape {host.shape}, expected {meant}")
    return host


def _along(call: str, host: npt.NDArray[Any], x: Array, axis: int | None) -> Any:
    """To be computed with beside x: a number, or an Array that broadcasts along the axis."""
    if host.ndim == 0:
        return host.item()
    shape = [1] * x.ndim
    shape[axis or 0] = -1
    return asarray(host.reshape(shape), device=x.backend)


def _scale(call: str, scale: Any, x: Array, axis: int | None, name: str = "scale") -> Any:
    host = _parameter(call, name, scale, x, axis)
    with np.errstate(over="ignore", under="ignore"):
        narrow = host.astype(np.float32)
    wrong = ~(np.isfinite(narrow) & (narrow > 0))
    if wrong.any():
        at = "" if host.ndim == 0 else f" at {int(np.argmax(wrong))}"
        value = host.reshape(-1)[int(np.argmax(wrong))]
        invalid(call, f"{name} is {value!s}{at}, expected finite float32 numbers above 0")
    return _along(call, narrow, x, axis)


def _zero_point(call: str, zero_point: Any, x: Array, axis: int | None, kind: np.dtype[Any]) -> Any:
    host = _parameter(call, "zero_point", zero_point, x, axis)
    if host.dtype.kind not in "iu":
        invalid(call, f"zero_point is {shown(zero_point)}, expected integers")
    low, high = INTEGERS[kind]
    wrong = (host < low) | (host > high)
    if wrong.any():
        value = host.reshape(-1)[int(np.argmax(wrong))]
        invalid(call, f"zero_point is {value!s}, expected {low} to {high}, as {kind} has")
    return _along(call, host.astype(np.float32), x, axis)


def quantize(
    x: Array,
    scale: Any,
    zero_point: Any = 0,
    *,
    axis: int | None = None,
    dtype: npt.DTypeLike = np.int8,
) -> Array:
    """round(x / scale) + zero_point, to nearest even, within what int8 or uint8 holds; NaN becomes
    the zero point. With an axis, scales and zero points are one for each place along it. Both are
    checked on the host, so Arrays of them are read."""
    call = "quantize"
    checked_array(call, "x", x, FLOATS, "float32 or float16")
    kind = integer_dtype(call, dtype)
    at = checked_axis(call, axis, x)
    by = _scale(call, scale, x, at)
    zero = _zero_point(call, zero_point, x, at, kind)
    wide = x.astype(FLOAT32, copy=False)
    low, high = INTEGERS[kind]
    # Within reach before the zero point is added, so that no sum rounds.
    steps = clip(round(wide / by), -1024.0, 1024.0) + zero
    return clip(where(isnan(wide), zero, steps), low, high).astype(kind)


def quantize_dynamic(
    x: Array,
    *,
    axis: int | None = None,
    symmetric: bool = True,
    dtype: npt.DTypeLike = np.int8,
) -> tuple[Array, Array, Array]:
    """x as int8 or uint8 by its own range, its scale, float32, and its zero point, int32: one of
    each, or one for each place along an axis. All is done on the device in float32. Elements that
    are all 0 have the scale 1; where one is NaN or infinite the scale is not finite."""
    call = "quantize_dynamic"
    checked_array(call, "x", x, FLOATS, "float32 or float16")
    kind = integer_dtype(call, dtype)
    if not isinstance(symmetric, (bool, np.bool_)):
        invalid(call, f"symmetric is {shown(symmetric)}, expected True or False")
    at = checked_axis(call, axis, x)
    if x.size == 0:
        invalid(call, f"x has the shape {x.shape}, expected elements")
    wide = x.astype(FLOAT32, copy=False)
    others = tuple(i for i in range(x.ndim) if i != at)
    least, most = INTEGERS[kind]
    if symmetric:
        scale = max(abs(wide), axis=others, keepdims=True) / 127
        zero = full(scale.shape, 0 if least < 0 else 128, dtype=FLOAT32, device=x.backend)
    else:
        low = minimum(min(wide, axis=others, keepdims=True), 0)
        scale = (maximum(max(wide, axis=others, keepdims=True), 0) - low) / (most - least)
        zero = clip(round(least - low / where(scale == 0, 1, scale)), least, most)
    scale = where(scale == 0, 1, scale)
    zero = where(isfinite(zero), zero, 0)
    steps = clip(round(wide / scale), -1024, 1024) + zero
    q = clip(where(isnan(steps), zero, steps), least, most).astype(kind)
    shape = () if at is None else (x.shape[at],)
    return q, scale.reshape(shape), zero.astype(INT32).reshape(shape)


def dequantize(
    q: Array,
    scale: Any,
    zero_point: Any = 0,
    *,
    axis: int | None = None,
    dtype: npt.DTypeLike = FLOAT32,
) -> Array:
    """(q - zero_point) * scale in float32, of int8 or uint8; rounded to dtype."""
    call = "dequantize"
    checked_array(call, "q", q, INTEGERS, "int8 or uint8")
    kind = to_dtype(call, dtype)
    if kind not in FLOATS:
        invalid(call, f"dtype is {kind}, expected float32 or float16")
    at = checked_axis(call, axis, q)
    by = _scale(call, scale, q, at)
    zero = _zero_point(call, zero_point, q, at, q.dtype)
    values: Array = (q.astype(FLOAT32) - zero) * by
    return values.astype(kind, copy=False)


def qmatmul(a: Array, b: Array, /, a_zero_point: int = 0, b_zero_point: int = 0) -> Array:
    """(a - a_zero_point) @ (b - b_zero_point) of int8 or uint8, in int32: every sum is exact, and
    one that int32 does not hold wraps."""
    call = "qmatmul"
    for name, one in (("a", a), ("b", b)):
        checked_array(call, name, one, INTEGERS, "int8 or uint8")
        if one.ndim < 2:
            invalid(call, f"{name} has the shape {one.shape}, expected two axes or more")
    a.backend._own(call, "b", b)
    if a.shape[-1] != b.shape[-2]:
        invalid(
            call, f"b has the shape {b.shape}, expected {a.shape[-1]} rows, as a {a.shape} has "
            "columns"
        )  # fmt: skip
    zeros = [
        int(_zero_point(call, zero, one, None, one.dtype))
        for one, zero in ((a, a_zero_point), (b, b_zero_point))
    ]
    if a.dtype != b.dtype:
        a, zeros[0] = _signed(a, zeros[0])
        b, zeros[1] = _signed(b, zeros[1])
    sums = _multiplied(a, b, None, INT32)
    if zeros[1]:
        sums = sums - sum(a, axis=-1, keepdims=True, dtype=INT32) * zeros[1]
    if zeros[0]:
        columns = sum(b, axis=-2, keepdims=True, dtype=INT32)
        sums = sums - (columns - a.shape[-1] * zeros[1]) * zeros[0]
    return sums


def _signed(x: Array, zero_point: int) -> tuple[Array, int]:
    """The same numbers less their zero point, as int8."""
    if x.dtype == np.int8:
        return x, zero_point
    return (x.astype(np.int16) - 128).astype(np.int8), zero_point - 128


def qrelu(q: Array, zero_point: int = 0) -> Array:
    """What is below 0, which the zero point stands for, becomes 0."""
    call = "qrelu"
    checked_array(call, "q", q, INTEGERS, "int8 or uint8")
    zero = _zero_point(call, zero_point, q, None, q.dtype)
    return maximum(q, int(zero))


def qadd(
    a: Array,
    a_scale: float,
    a_zero_point: int,
    b: Array,
    b_scale: float,
    b_zero_point: int,
    scale: float,
    zero_point: int = 0,
) -> Array:
    """a + b of int8 or uint8, of one shape or broadcast, in a's dtype by another scale and zero
    point: quantize() of the sum of what both stand for, in float32."""
    call = "qadd"
    for name, one in (("a", a), ("b", b)):
        checked_array(call, name, one, INTEGERS, "int8 or uint8")
    a.backend._own(call, "b", b)
    sums = dequantize(a, a_scale, a_zero_point) + dequantize(b, b_scale, b_zero_point)
    return quantize(sums, scale, zero_point, dtype=a.dtype)


def _largest(x: Array, zero_point: int) -> int:
    """What no element is further than from its zero point."""
    low, high = INTEGERS[x.dtype]
    return builtins.max(high - int(zero_point), int(zero_point) - low)
