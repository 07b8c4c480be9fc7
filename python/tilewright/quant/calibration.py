"""Scales and zero points that suit the values of an Array."""

from __future__ import annotations

import builtins
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright.array import Array
from tilewright.namespace.creation import asarray
from tilewright.namespace.elementwise import abs, clip, isfinite, round, square
from tilewright.namespace.histograms import histogram
from tilewright.namespace.quantiles import percentile as percentiles
from tilewright.namespace.reductions import all, max, mean, min
from tilewright.operands import FLOAT32, invalid, shown
from tilewright.quant.integers import INTEGERS, checked_array, checked_axis, integer_dtype
from tilewright.quant.tensor import FLOATS

if TYPE_CHECKING:
    import numpy.typing as npt

METHODS = ("minmax", "percentile", "mse", "entropy")
#: parts of the range that mse tries
PARTS = np.linspace(1.0, 0.2, 81)
BINS = 2048
#: levels of a half of what int8 holds
LEVELS = 128

Range = tuple["npt.NDArray[Any]", "npt.NDArray[Any]"]


def calibrate(
    x: Array,
    method: str = "minmax",
    *,
    axis: int | None = None,
    symmetric: bool = True,
    dtype: npt.DTypeLike = np.int8,
    percentile: float = 99.99,
) -> tuple[Array, Array]:
    """The scale, float32, and the zero point, int32, by which quantize() makes int8 or uint8 of x:
    one of each, or one for each place along an axis.

    "minmax" spans all elements. "percentile" leaves out what lies beyond. "mse" takes that part of
    the range by which the mean of squared errors is least, of 81 parts. "entropy" takes the range
    whose histogram in 128 levels loses least of that of the magnitudes, by Kullback and Leibler's
    divergence: of a whole tensor, symmetric. A symmetric range has its zero point in the middle;
    others hold 0. Elements that are all 0 have the scale 1.
    """
    call = "calibrate"
    checked_array(call, "x", x, FLOATS, "float32 or float16")
    if not isinstance(method, str) or method not in METHODS:
        invalid(call, f"method is {shown(method)}, expected one of {', '.join(METHODS)}")
    kind = integer_dtype(call, dtype)
    at = checked_axis(call, axis, x)
    if x.size == 0:
        invalid(call, f"x has the shape {x.shape}, expected elements")
    if not isinstance(symmetric, (bool, np.bool_)):
        invalid(call, f"symmetric is {shown(symmetric)}, expected True or False")
    is_number = isinstance(percentile, (int, float, np.integer, np.floating))
    if not is_number or not 50 < percentile <= 100:
        invalid(call, f"percentile is {shown(percentile)}, expected above 50, 100 at most")
    if method == "entropy" and (at is not None or not symmetric):
        invalid(call, 'method is "entropy", expected axis=None and symmetric=True with it')
    wide = x.astype(FLOAT32, copy=False)
    if not bool(all(isfinite(wide))):
        invalid(call, "x has NaN or infinity, expected finite elements")
    # Of each channel a row.
    rows = wide.reshape(1, -1)
    if at is not None:
        order = (at, *(i for i in range(x.ndim) if i != at))
        rows = wide.transpose(order).reshape(x.shape[at], -1)
    found = _range(rows, method, symmetric, float(percentile))
    if method == "mse":
        found = _least_error(rows, found, symmetric, kind)
    scale, zero = _parameters(found, symmetric, kind)
    if at is None:
        scale, zero = scale[0], zero[0]
    return (
        asarray(np.asarray(scale, np.float32), device=x.backend),
        asarray(np.asarray(zero, np.int32), device=x.backend),
    )


def _range(rows: Array, method: str, symmetric: bool, percentile: float) -> Range:
    if method == "entropy":
        bound = np.array([_by_entropy(abs(rows))])
        return -bound, bound
    if method == "percentile":
        if symmetric:
            bound = _place(abs(rows), percentile)
            return -bound, bound
        return _place(rows, 100 - percentile), _place(rows, percentile)
    return _host(min(rows, axis=1)), _host(max(rows, axis=1))


def _place(rows: Array, percentile: float) -> npt.NDArray[Any]:
    found = _host(percentiles(rows, percentile, axis=1))
    if not np.isfinite(found).all():
        # Elements are, but not how far two of them are apart.
        found = 4 * _host(percentiles(rows * 0.25, percentile, axis=1))
    return found


def _host(x: Array) -> npt.NDArray[Any]:
    return x.numpy().astype(np.float64)


def _parameters(found: Range, symmetric: bool, kind: np.dtype[Any]) -> Range:
    """In float64 and int64."""
    low, high = np.minimum(found[0], 0), np.maximum(found[1], 0)
    least, most = INTEGERS[kind]
    if symmetric:
        scale = np.maximum(-low, high) / 127
        zero = np.full(scale.shape, 0 if least < 0 else 128)
    else:
        scale = (high - low) / (most - least)
        zero = np.rint(least - low / np.where(scale == 0, 1, scale))
    # What float32 has no positive number for is as good as 0.
    scale = np.where(scale.astype(np.float32) > 0, scale, 1.0)
    return scale, np.clip(zero, least, most).astype(np.int64)


def _least_error(rows: Array, whole: Range, symmetric: bool, kind: np.dtype[Any]) -> Range:
    least, most = INTEGERS[kind]
    errors = []
    for part in PARTS:
        scale, zero = _parameters((whole[0] * part, whole[1] * part), symmetric, kind)
        by = asarray(scale.astype(np.float32)[:, None], device=rows.backend)
        offset = asarray(zero.astype(np.float32)[:, None], device=rows.backend)
        q = clip(round(rows / by) + offset, least, most)
        errors.append(_host(mean(square((q - offset) * by - rows), axis=1)))
    best = PARTS[np.argmin(errors, axis=0)]
    return whole[0] * best, whole[1] * best


def _by_entropy(sizes: Array) -> float:
    """The bound of the magnitudes by which a histogram of LEVELS levels is nearest to theirs."""
    top = float(max(sizes))
    if top == 0:
        return 0.0
    by = 1.0
    if not 1e-30 < top < 1e30:
        # Bins are so small, or so large, that no number says how many of them there are.
        by = math.ldexp(1.0, builtins.max(-126, builtins.min(126, -math.frexp(top)[1])))
        sizes = sizes * by
    counts, _ = histogram(sizes, bins=BINS, range=(0.0, top * by))
    seen = counts.numpy().astype(np.float64)
    found = {used: _divergence(seen, used) for used in range(LEVELS, BINS + 1)}
    best = builtins.min(found, key=lambda used: found[used])
    return top * best / BINS


def _divergence(seen: npt.NDArray[Any], used: int) -> float:
    """Of the first `used` bins, of which the last counts those beyond too, from what LEVELS levels
    keep of them, which are spread over the bins that are not empty."""
    wanted = seen[:used].copy()
    wanted[-1] += seen[used:].sum()
    level = np.arange(used) * LEVELS // used
    filled = seen[:used] > 0
    sums = np.bincount(level, seen[:used], LEVELS)
    bins = np.bincount(level, filled, LEVELS)
    kept = np.where(filled, (sums / np.maximum(bins, 1))[level], 0.0)
    if kept.sum() == 0:
        return float("inf")
    p, q = wanted / wanted.sum(), kept / kept.sum()
    # What is nowhere in the levels loses all: a little is there, as the field does it.
    q = np.where((p > 0) & (q == 0), 1e-10, q)
    there = p > 0
    return float((p[there] * np.log(p[there] / q[there])).sum())
