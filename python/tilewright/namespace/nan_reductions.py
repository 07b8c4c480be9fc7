"""NumPy's reductions that leave NaN out."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from tilewright.array import Array
from tilewright.call_forms import kept_by_form
from tilewright.namespace import reductions
from tilewright.namespace.elementwise import isnan, where
from tilewright.operands import invalid, shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    Axis = int | Sequence[int] | None


def _without(call: str, x: Any, value: float) -> Array:
    """With a number in the place of each NaN."""
    if not isinstance(x, Array):
        invalid(call, f"x is {shown(x)}, expected an Array; write tw.asarray(x)")
    return where(isnan(x), value, x) if x.dtype.kind in "fc" else x


@kept_by_form
def nansum(
    x: Array, /, axis: Axis = None, dtype: npt.DTypeLike | None = None, *, keepdims: bool = False
) -> Array:
    """The sum of what is not NaN."""
    return reductions.sum(_without("nansum", x, 0), axis=axis, dtype=dtype, keepdims=keepdims)


@kept_by_form
def nanprod(
    x: Array, /, axis: Axis = None, dtype: npt.DTypeLike | None = None, *, keepdims: bool = False
) -> Array:
    """The product of what is not NaN."""
    return reductions.prod(_without("nanprod", x, 1), axis=axis, dtype=dtype, keepdims=keepdims)


@kept_by_form
def nanmean(
    x: Array, /, axis: Axis = None, dtype: npt.DTypeLike | None = None, *, keepdims: bool = False
) -> Array:
    """The mean of what is not NaN; NaN where there is nothing else."""
    filled = _without("nanmean", x, 0)
    if x.dtype.kind not in "fc":
        mean = reductions.mean(filled, axis=axis, keepdims=keepdims)
        return mean if dtype is None else mean.astype(dtype, copy=False)
    # Those of 16 bits are summed in float32, so that no sum overflows that its mean does not.
    wide = x.dtype if x.dtype.itemsize > 2 else "float32"
    total = reductions.sum(filled, axis=axis, dtype=wide, keepdims=keepdims)
    count = reductions.sum(~isnan(x), axis=axis, keepdims=keepdims)
    quotient: Array = total / count.astype(total.real.dtype)
    return quotient.astype(x.dtype if dtype is None else dtype, copy=False)


def _extreme(call: str, name: str, x: Any, axis: Axis, keepdims: bool) -> Array:
    worst = -math.inf if name == "max" else math.inf
    found: Array = getattr(reductions, name)(_without(call, x, worst), axis=axis, keepdims=keepdims)
    if x.dtype.kind != "f":
        return found
    return where(reductions.all(isnan(x), axis=axis, keepdims=keepdims), math.nan, found)


@kept_by_form
def nanmax(x: Array, /, axis: Axis = None, *, keepdims: bool = False) -> Array:
    """The largest of what is not NaN; NaN where there is nothing else."""
    return _extreme("nanmax", "max", x, axis, keepdims)


@kept_by_form
def nanmin(x: Array, /, axis: Axis = None, *, keepdims: bool = False) -> Array:
    """The least of what is not NaN; NaN where there is nothing else."""
    return _extreme("nanmin", "min", x, axis, keepdims)
