"""NumPy's median, quantile and percentile, by sorts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright.array import Array
from tilewright.call_forms import kept_by_form
from tilewright.namespace.arguments import check_weights
from tilewright.namespace.elementwise import isnan, where
from tilewright.namespace.manipulation import stack
from tilewright.namespace.mixed import written
from tilewright.namespace.sorting import sort
from tilewright.operands import invalid, shown
from tilewright.shapes import permuted, to_axes

if TYPE_CHECKING:
    Axis = int | Sequence[int] | None


def _ordered(call: str, x: Any, axis: Axis) -> tuple[Array, tuple[int, ...]]:
    """The elements along the axes in order, as the last axis, and the shape of one result with
    each of the axes as 1."""
    if not isinstance(x, Array):
        invalid(call, f"x is {shown(x)}, expected an Array; write tw.asarray(x)")
    if x.dtype.kind == "c":
        invalid(call, f"x is {x.dtype}, which has no order; take its real part or abs(x)")
    axes = tuple(range(x.ndim)) if axis is None else to_axes(call, axis, x.ndim)
    kept = [i for i in range(x.ndim) if i not in axes]
    if math.prod(x.shape[i] for i in axes) == 0:
        invalid(call, f"x has shape {x.shape}, and the {call} of no elements is not defined")
    shape = tuple(1 if i in axes else size for i, size in enumerate(x.shape))
    count = math.prod(x.shape[i] for i in axes)
    rows = permuted(call, x, [*kept, *axes]).reshape((*(x.shape[i] for i in kept), count))
    return sort(rows), shape


def _between(ordered: Array, position: float) -> Array:
    """What is at a place of each row, between neighbours in proportion; NaN where there is one."""
    wanted = ordered.dtype if ordered.dtype.kind == "f" else np.dtype(np.float32)
    at = math.floor(position)
    found = ordered[..., at].astype(wanted, copy=False)
    if position != at:
        above = ordered[..., at + 1].astype(wanted, copy=False)
        # Of -inf and a number the difference is inf.
        same = (above == found) | ((found == -math.inf) & (above < math.inf))
        found = where(same, found, found + (above - found) * (position - at))
    if wanted != ordered.dtype:
        return found
    last = ordered[..., -1]
    return where(isnan(last), last, found)


def _quantiles(
    call: str, x: Any, given: Any, most: float, axis: Axis, keepdims: Any, method: Any
) -> Array:
    if method != "linear":
        invalid(call, f"method is {shown(method)}, expected 'linear'")
    if not isinstance(keepdims, bool):
        invalid(call, f"keepdims is {shown(keepdims)}, expected True or False")
    q = np.asarray(given._numbers() if isinstance(given, Array) else given)
    if q.dtype.kind not in "fiu" or q.ndim > 1:
        invalid(call, f"q is {shown(given)}, expected a number or several")
    if not ((q >= 0) & (q <= most)).all():
        invalid(call, f"q is {shown(given)}, expected 0 to {most:g}")
    ordered, shape = _ordered(call, x, axis)
    last = ordered.shape[-1] - 1
    found = [_between(ordered, float(one) / most * last) for one in q.reshape(-1)]
    if keepdims:
        found = [one.reshape(shape) for one in found]
    return stack(found) if q.ndim else found[0]


@kept_by_form
def median(
    a: Array, axis: Axis = None, out: Array | None = None, overwrite_input: bool = False,
    keepdims: bool = False,
) -> Array:  # fmt: skip
    """The element in the middle of those along the axes, or the mean of both; NaN where there is
    one. Of integers and bool in float32."""
    return written("median", out, _quantiles("median", a, 0.5, 1, axis, keepdims, "linear"))


@kept_by_form
def quantile(
    a: Array, q: Any, axis: Axis = None, out: Array | None = None, overwrite_input: bool = False,
    method: str = "linear", keepdims: bool = False, *, weights: None = None,
) -> Array:  # fmt: skip
    """Below what the part `q` of the elements along the axes lies, 0 to 1, in proportion between
    neighbours; for several q along a first axis. NaN where there is one."""
    check_weights("quantile", weights)
    return written("quantile", out, _quantiles("quantile", a, q, 1, axis, keepdims, method))


@kept_by_form
def percentile(
    a: Array, q: Any, axis: Axis = None, out: Array | None = None, overwrite_input: bool = False,
    method: str = "linear", keepdims: bool = False, *, weights: None = None,
) -> Array:  # fmt: skip
    """quantile() of q / 100."""
    check_weights("percentile", weights)
    return written("percentile", out, _quantiles("percentile", a, q, 100, axis, keepdims, method))
