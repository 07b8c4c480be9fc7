"""NumPy's statistics beyond the standard's: averages, covariances, and those without NaN."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from tilewright.array import Array
from tilewright.call_forms import kept_by_form
from tilewright.namespace import elementwise, reductions
from tilewright.namespace.arguments import check_mean, check_weights
from tilewright.namespace.diagonals import diag
from tilewright.namespace.dtypes import result_type
from tilewright.namespace.manipulation import broadcast_to, concat, stack
from tilewright.namespace.mixed import an_array, as_float, beside, written
from tilewright.namespace.nan_reductions import _without, nanmean
from tilewright.namespace.selection import take_along_axis
from tilewright.namespace.sorting import sort
from tilewright.operands import HALVES, invalid, shown, to_dtype
from tilewright.reading import default_integer
from tilewright.shapes import permuted, to_axes

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from tilewright.operands import ArrayLike

    Axis = int | Sequence[int] | None

__all__ = [
    "amax",
    "amin",
    "average",
    "corrcoef",
    "cov",
    "cumprod",
    "cumsum",
    "nanargmax",
    "nanargmin",
    "nancumprod",
    "nancumsum",
    "nanmedian",
    "nanpercentile",
    "nanquantile",
    "nanstd",
    "nanvar",
    "ptp",
]

amax, amin = reductions.max, reductions.min


@kept_by_form
def ptp(a: Array, axis: Axis = None, out: Array | None = None, keepdims: bool = False) -> Array:
    """The largest less the least over axes."""
    most = reductions.max(a, axis=axis, keepdims=keepdims)
    least = reductions.min(a, axis=axis, keepdims=keepdims)
    return written("ptp", out, elementwise.subtract(most, least))


@overload
def average(
    a: ArrayLike,
    axis: Axis = None,
    weights: Any = None,
    returned: Literal[False] = False,
    *,
    keepdims: bool = False,
) -> Array: ...
@overload
def average(
    a: ArrayLike,
    axis: Axis = None,
    weights: Any = None,
    *,
    returned: Literal[True],
    keepdims: bool = False,
) -> tuple[Array, Array]: ...
@overload
def average(
    a: ArrayLike,
    axis: Axis = None,
    weights: Any = None,
    returned: bool = False,
    *,
    keepdims: bool = False,
) -> Array | tuple[Array, Array]: ...
@kept_by_form
def average(
    a: ArrayLike, axis: Axis = None, weights: Any = None, returned: bool = False, *,
    keepdims: bool = False,
) -> Array | tuple[Array, Array]:  # fmt: skip
    """The mean over axes, each element counted as often as its weight says; with `returned` the
    sums of the weights too. NaN where they are 0."""
    like = a if isinstance(a, Array) else an_array("average", weights, "a")
    x = beside("average", "a", a, like)
    axes = tuple(range(x.ndim)) if axis is None else to_axes("average", axis, x.ndim)
    if weights is None:
        mean = reductions.mean(x, axis=axes, keepdims=keepdims)
        count = math.prod(x.shape[i] for i in axes)
        total = mean * 0 + count if returned else mean
        return (mean, total) if returned else mean
    w = beside("average", "weights", weights, x)
    if w.shape != x.shape:
        if axis is None:
            raise TypeError(
                f"average: weights have shape {w.shape} and a {x.shape}; name their axis"
            )
        if w.shape != tuple(x.shape[i] for i in axes):
            invalid("average", f"weights have shape {w.shape}, of axes {axes} of shape {x.shape}")
        order = sorted(range(len(axes)), key=lambda i: axes[i])
        w = permuted("average", w, order)
        w = w.reshape(tuple(x.shape[i] if i in axes else 1 for i in range(x.ndim)))
    dtype = result_type(x, w)
    if dtype.kind not in "fc":
        dtype = np.dtype(np.float32)
    x, w = x.astype(dtype, copy=False), w.astype(dtype, copy=False)
    total = reductions.sum(broadcast_to(w, x.shape), axis=axes, keepdims=keepdims)
    mean = reductions.sum(x * w, axis=axes, keepdims=keepdims) / total
    return (mean, total) if returned else mean


def _observed(call: str, m: Any, name: str, rowvar: bool, dtype: Any) -> Array:
    x = an_array(call, m, name)
    if x.ndim > 2:
        invalid(call, f"{name} has shape {x.shape}, expected two dimensions at most")
    x = as_float(call, x) if dtype is None else x.astype(dtype, copy=False)
    if x.ndim < 2:
        return x.reshape(1, -1)
    return x if rowvar else x.T


@kept_by_form
def cov(
    m: Array,
    y: Array | None = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: Any = None,
    aweights: Any = None,
    *,
    dtype: npt.DTypeLike | None = None,
) -> Array:
    """The covariances of variables, the rows of m, or its columns unless `rowvar`."""
    x = _observed("cov", m, "m", rowvar, dtype)
    if y is not None:
        other = beside("cov", "y", y, x)
        x = concat([x, _observed("cov", other, "y", rowvar, dtype)], axis=0)
    left = (0 if bias else 1) if ddof is None else ddof
    if isinstance(left, bool) or left != int(left):
        invalid("cov", f"ddof is {shown(ddof)}, expected an integer")
    weights = None
    for name, given in (("fweights", fweights), ("aweights", aweights)):
        if given is None:
            continue
        one = beside("cov", name, given, x).astype(x.real.dtype, copy=False)
        if one.shape != x.shape[1:]:
            invalid("cov", f"{name} has shape {one.shape}, expected {x.shape[1:]}")
        weights = one if weights is None else weights * one
    factor: Any
    if weights is None:
        factor = x.shape[1] - left
        off = x - reductions.mean(x, axis=1, keepdims=True)
        weighed = off
    else:
        total = reductions.sum(weights)
        factor = total - left
        if aweights is not None and left:
            each = beside("cov", "aweights", aweights, x).astype(weights.dtype, copy=False)
            factor = total - left * reductions.sum(weights * each) / total
        off = x - reductions.sum(x * weights, axis=1, keepdims=True) / total
        weighed = off * weights
    turned = elementwise.multiply(weighed, 1).T
    if x.dtype.kind == "c":
        from tilewright.namespace.complex_functions import conj

        turned = conj(turned)
    found = off @ turned
    if not isinstance(factor, Array):
        factor = float(max(factor, 0))
    else:
        factor = elementwise.maximum(factor, 0)
    found = found / factor
    return found[0, 0] if found.shape == (1, 1) else found  # type: ignore[no-any-return]


@kept_by_form
def corrcoef(
    x: Array, y: Array | None = None, rowvar: bool = True, *, dtype: npt.DTypeLike | None = None
) -> Array:
    """The covariances divided by the standard deviations of both variables, -1 to 1."""
    found = cov(x, y, rowvar, dtype=dtype)
    if found.ndim == 0:
        return found / found
    spread = elementwise.sqrt(diag(found).real)
    found = found / spread[:, None] / spread[None, :]
    if found.dtype.kind != "c":
        return elementwise.clip(found, -1, 1)
    found.real[...] = elementwise.clip(found.real, -1, 1)
    found.imag[...] = elementwise.clip(found.imag, -1, 1)
    return found


def _cumulated(
    call: str, x: Any, axis: int | None, dtype: Any, out: Array | None, scan: Any
) -> Array:
    x = an_array(call, x, "a")
    if axis is None:
        x, axis = x.reshape(-1), 0
    return written(call, out, scan(x, axis=axis, dtype=dtype))


@kept_by_form
def cumsum(
    a: Array, axis: int | None = None, dtype: npt.DTypeLike | None = None, out: Array | None = None
) -> Array:
    """cumulative_sum() along an axis, or of the array as one dimension."""
    return _cumulated("cumsum", a, axis, dtype, out, reductions.cumulative_sum)


@kept_by_form
def cumprod(
    a: Array, axis: int | None = None, dtype: npt.DTypeLike | None = None, out: Array | None = None
) -> Array:
    """cumulative_prod() along an axis, or of the array as one dimension."""
    return _cumulated("cumprod", a, axis, dtype, out, reductions.cumulative_prod)


# Without NaN --------------------------------------------------------------------------------------


@kept_by_form
def nancumsum(
    a: Array, axis: int | None = None, dtype: npt.DTypeLike | None = None, out: Array | None = None
) -> Array:
    """cumsum() with 0 for each NaN."""
    return cumsum(_without("nancumsum", a, 0), axis, dtype, out)


@kept_by_form
def nancumprod(
    a: Array, axis: int | None = None, dtype: npt.DTypeLike | None = None, out: Array | None = None
) -> Array:
    """cumprod() with 1 for each NaN."""
    return cumprod(_without("nancumprod", a, 1), axis, dtype, out)


def _nan_place(name: str, a: Any, axis: Any, out: Any, keepdims: bool) -> Array:
    call = f"nan{name}"
    x = an_array(call, a, "a")
    if x.dtype.kind == "f" and x.size:
        alone = reductions.all(elementwise.isnan(x), axis=axis)
        if bool(reductions.any(alone)):
            invalid(call, "a has nothing but NaN along the axis")
    worst = -math.inf if name == "argmax" else math.inf
    place = getattr(reductions, name)
    return written(call, out, place(_without(call, x, worst), axis=axis, keepdims=keepdims))


@kept_by_form
def nanargmax(
    a: Array, axis: int | None = None, out: Array | None = None, *, keepdims: bool = False
) -> Array:
    """argmax() of what is not NaN. Waits for the device, to raise where there is nothing else."""
    return _nan_place("argmax", a, axis, out, keepdims)


@kept_by_form
def nanargmin(
    a: Array, axis: int | None = None, out: Array | None = None, *, keepdims: bool = False
) -> Array:
    """argmin() of what is not NaN. Waits for the device, to raise where there is nothing else."""
    return _nan_place("argmin", a, axis, out, keepdims)


@kept_by_form
def nanvar(
    a: Array, axis: Axis = None, dtype: npt.DTypeLike | None = None, out: Array | None = None,
    ddof: float = 0, keepdims: bool = False, *, where: Any = None, mean: None = None,
    correction: float = 0.0,
) -> Array:  # fmt: skip
    """The variance of what is not NaN; NaN where no more than ddof is left."""
    if mean is not None:
        check_mean("nanvar", mean)
    ddof = correction if ddof == 0 else ddof
    x = as_float("nanvar", an_array("nanvar", a, "a"))
    wanted = x.real.dtype if dtype is None else to_dtype("nanvar", dtype)
    if x.dtype in HALVES:
        x = x.astype("float32")
    valid = ~elementwise.isnan(x)
    if where is not None and where is not True:
        valid = valid & beside("nanvar", "where", where, x)
    off = elementwise.where(valid, x - nanmean(x, axis=axis, keepdims=True, where=where), 0)
    squares = elementwise.square(elementwise.abs(off)) if x.dtype.kind == "c" else off * off
    count = reductions.sum(valid, axis=axis, keepdims=keepdims) - ddof
    count = count.astype(squares.dtype, copy=False)
    found = reductions.sum(squares, axis=axis, keepdims=keepdims) / count
    found = elementwise.where(count > 0, found, math.nan)
    return written("nanvar", out, found.astype(wanted, copy=False))


@kept_by_form
def nanstd(
    a: Array, axis: Axis = None, dtype: npt.DTypeLike | None = None, out: Array | None = None,
    ddof: float = 0, keepdims: bool = False, *, where: Any = None, mean: None = None,
    correction: float = 0.0,
) -> Array:  # fmt: skip
    """The square root of nanvar()."""
    x = an_array("nanstd", a, "a")
    wide = x.astype("float32") if x.dtype in HALVES else x
    found = nanvar(
        wide, axis, None, None, ddof, keepdims, where=where, mean=mean, correction=correction
    )
    result = as_float("nanstd", x).real.dtype if dtype is None else to_dtype("nanstd", dtype)
    return written("nanstd", out, elementwise.sqrt(found).astype(result, copy=False))


def _nan_quantiles(
    call: str, a: Any, given: Any, most: float, axis: Axis, out: Any, keepdims: bool, method: Any
) -> Array:
    x = as_float(call, an_array(call, a, "a"))
    if x.dtype.kind == "c":
        invalid(call, f"a is {x.dtype}, which has no order; take its real part or abs(a)")
    if method != "linear":
        invalid(call, f"method is {shown(method)}, expected 'linear'")
    q = np.asarray(given._numbers() if isinstance(given, Array) else given, np.float64)
    if q.ndim > 1 or not ((q >= 0) & (q <= most)).all():
        invalid(call, f"q is {shown(given)}, expected 0 to {most:g}")
    axes = tuple(range(x.ndim)) if axis is None else to_axes(call, axis, x.ndim)
    kept = [i for i in range(x.ndim) if i not in axes]
    shape = tuple(1 if i in axes else size for i, size in enumerate(x.shape))
    length = math.prod(x.shape[i] for i in axes)
    left = tuple(x.shape[i] for i in kept)
    rows = permuted(call, x, [*kept, *axes]).reshape(*left, length)
    if length == 0:
        found = [x.backend._new(left, x.dtype) for _ in range(q.size)]
        for one in found:
            one[...] = math.nan
    else:
        ordered = sort(rows, axis=-1)
        integer = default_integer(x.backend)
        count = reductions.sum(~elementwise.isnan(rows), axis=-1, keepdims=True, dtype=integer)
        last = elementwise.maximum(count - 1, 0)
        found = [_at_part(ordered, last, float(one) / most) for one in q.reshape(-1)]
    if keepdims:
        found = [one.reshape(shape) for one in found]
    return written(call, out, stack(found) if q.ndim else found[0])


def _at_part(ordered: Array, last: Array, part: float) -> Array:
    """What is at a part of the way to the last place of each row, between neighbours in
    proportion."""
    wide = ordered.dtype if ordered.dtype == np.float64 else np.dtype(np.float32)
    at = last.astype(wide) * part
    below = elementwise.floor(at)
    low = below.astype(last.dtype)
    high = elementwise.minimum(low + 1, last)
    both = (take_along_axis(ordered, i, axis=-1) for i in (low, high))
    first, second = (one.astype(wide, copy=False) for one in both)
    # Of -inf and a number the difference is inf.
    same = (first == second) | ((first == -math.inf) & (second < math.inf))
    step = elementwise.where(same, 0.0, second - first)
    return (first + step * (at - below))[..., 0].astype(ordered.dtype, copy=False)


@kept_by_form
def nanmedian(
    a: Array, axis: Axis = None, out: Array | None = None, overwrite_input: bool = False,
    keepdims: bool = False,
) -> Array:  # fmt: skip
    """The median of what is not NaN; NaN where there is nothing else."""
    return _nan_quantiles("nanmedian", a, 0.5, 1, axis, out, keepdims, "linear")


@kept_by_form
def nanquantile(
    a: Array, q: Any, axis: Axis = None, out: Array | None = None, overwrite_input: bool = False,
    method: str = "linear", keepdims: bool = False, *, weights: None = None,
) -> Array:  # fmt: skip
    """The quantiles of what is not NaN; NaN where there is nothing else."""
    check_weights("nanquantile", weights)
    return _nan_quantiles("nanquantile", a, q, 1, axis, out, keepdims, method)


@kept_by_form
def nanpercentile(
    a: Array, q: Any, axis: Axis = None, out: Array | None = None, overwrite_input: bool = False,
    method: str = "linear", keepdims: bool = False, *, weights: None = None,
) -> Array:  # fmt: skip
    """nanquantile() of q / 100."""
    check_weights("nanpercentile", weights)
    return _nan_quantiles("nanpercentile", a, q, 100, axis, out, keepdims, method)
