"""Convolutions and layers of int8 and uint8: exact sums in int32, and what they become."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright.array import Array
from tilewright.namespace.creation import zeros_like
from tilewright.namespace.elementwise import clip, round
from tilewright.nn.convolutions import conv2d
from tilewright.operands import FLOAT32, INT32, invalid, to_integer
from tilewright.quant.integers import (
    EXACT,
    INTEGERS,
    _along,
    _largest,
    _scale,
    _zero_point,
    checked_array,
    checked_axis,
    integer_dtype,
    qmatmul,
)

if TYPE_CHECKING:
    import numpy.typing as npt

    from tilewright.nn.convolutions import Paddings
    from tilewright.nn.windows import Sizes


def requantize(
    sums: Array, multiplier: Any, zero_point: int = 0, *, axis: int | None = None,
    dtype: npt.DTypeLike = np.int8,
) -> Array:  # fmt: skip
    """round(sums * multiplier) + zero_point of int32, to nearest even, within what int8 or uint8
    holds, in float32. The multiplier, one or one for each place along an axis, is the scales of
    what was multiplied by that of the result."""
    call = "requantize"
    checked_array(call, "sums", sums, (INT32,), "int32")
    kind = integer_dtype(call, dtype)
    at = checked_axis(call, axis, sums)
    by = _scale(call, multiplier, sums, at, "multiplier")
    zero = _zero_point(call, zero_point, sums, None, kind)
    low, high = INTEGERS[kind]
    steps = clip(round(sums.astype(FLOAT32) * by), -1024.0, 1024.0) + zero
    return clip(steps, low, high).astype(kind)


def _bias(call: str, bias: Any, sums: Array, axis: int) -> Array:
    if bias is None:
        return sums
    count = sums.shape[axis]
    host = bias.numpy() if isinstance(bias, Array) else np.asarray(bias)
    if host.dtype != np.int32 or host.shape != (count,):
        invalid(
            call,
            f"bias is {host.dtype} of shape {host.shape}, expected int32 of shape ({count},)",
        )
    sums += _along(call, host, sums, axis % sums.ndim)
    return sums


def qlinear(
    x: Array, w: Array, bias: Any = None, x_zero_point: int = 0, w_zero_point: int = 0
) -> Array:
    """(x - x_zero_point) @ (w - w_zero_point).T + bias of int8 or uint8, x [..., k] and w [n, k],
    in int32: every sum is exact. bias is int32 [n], and requantize() makes 8 bits of it."""
    call = "qlinear"
    checked_array(call, "w", w, INTEGERS, "int8 or uint8")
    checked_array(call, "x", x, INTEGERS, "int8 or uint8")
    if w.ndim != 2:
        invalid(call, f"w has the shape {w.shape}, expected two axes")
    if x.ndim < 1 or x.shape[-1] != w.shape[1]:
        invalid(call, f"x has the shape {x.shape}, expected {w.shape[1]} along its last axis")
    rows = x.reshape((1, -1)) if x.ndim == 1 else x
    sums = _bias(call, bias, qmatmul(rows, w.T, x_zero_point, w_zero_point), -1)
    return sums.reshape((*x.shape[:-1], w.shape[0]), copy=False)


def qconv2d(
    x: Array, w: Array, bias: Any = None, x_zero_point: int = 0, w_zero_point: int = 0,
    stride: Sizes = 1, padding: Paddings = 0, dilation: Sizes = 1, groups: int = 1,
) -> Array:  # fmt: skip
    """The convolution of x [N, C, H, W] by w [K, C / groups, R, S], both int8 or uint8 less their
    zero points, in int32: every sum is exact, the padding stands for 0. bias is int32 [K], and
    requantize(..., axis=1) makes 8 bits of it."""
    call = "qconv2d"
    for name, one in (("x", x), ("w", w)):
        checked_array(call, name, one, INTEGERS, "int8 or uint8")
        if one.ndim != 4:
            invalid(call, f"{name} has the shape {one.shape}, expected four axes")
    x.backend._own(call, "w", w)
    count = to_integer(call, "groups", groups)
    channels, deep = x.shape[1], w.shape[1]
    if count < 1 or channels != deep * count or w.shape[0] % count:
        invalid(
            call,
            f"groups is {count}, expected one by which x {x.shape} has {deep} channels in each, as "
            f"w {w.shape}, and w filters for each",
        )
    image = x.astype(FLOAT32) - _zero_point(call, x_zero_point, x, None, x.dtype)
    filters = w.astype(FLOAT32) - _zero_point(call, w_zero_point, w, None, w.dtype)
    # float32 sums so many products without rounding, in any order.
    most = EXACT // (_largest(x, x_zero_point) * _largest(w, w_zero_point))
    options = (stride, padding, dilation, count)
    parts = image.reshape((x.shape[0], count, deep, *x.shape[2:]))
    total: Array | None = None
    for first, past, taps in _pieces(deep, (w.shape[2], w.shape[3]), most):
        size = count * (past - first)
        own = parts[:, :, first:past].reshape((x.shape[0], size, *x.shape[2:]))
        weights = filters[:, first:past]
        if taps is not None:
            kept = zeros_like(weights)
            kept[:, :, taps[0], taps[1]] = weights[:, :, taps[0], taps[1]]
            weights = kept
        sums = conv2d(own, weights, None, *options).astype(INT32)
        if total is None:
            total = sums
        else:
            total += sums
    if total is None:
        invalid(call, f"w has the shape {w.shape}, expected no size of 0")
    return _bias(call, bias, total, 1)


def _pieces(deep: int, window: tuple[int, int], most: int) -> Any:
    """Channels, and of filters that are too large for one channel alone the taps, that make no more
    than so many products."""
    rows, columns = window
    if rows * columns == 0:
        return
    if rows * columns <= most:
        step = most // (rows * columns)
        for first in range(0, deep, step):
            yield first, min(first + step, deep), None
        return
    wide = min(columns, most)
    high = max(1, most // wide) if wide == columns else 1
    for channel in range(deep):
        for row in range(0, rows, high):
            for column in range(0, columns, wide):
                yield channel, channel + 1, (slice(row, row + high), slice(column, column + wide))
