"""NumPy's reductions that leave NaN out."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from tilewright.array import Array
from tilewright.call_forms import kept_by_form
from tilewright.namespace import reductions
from tilewright.namespace.elementwise import isnan
from tilewright.namespace.elementwise import where as _where
from tilewright.namespace.mixed import written
from tilewright.operands import invalid, shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    Axis = int | Sequence[int] | None


def _without(call: str, x: Any, value: float) -> Array:
    """With a number in the place of each NaN."""
    if not isinstance(x, Array):
        invalid(call, f"x is {shown(x)}, expected an Array; write tw.asarray(x)")
    return _where(isnan(x), value, x) if x.dtype.kind in "fc" else x


@kept_by_form
def nansum(
    a: Array, axis: Axis = None, dtype: npt.DTypeLike | None = None, out: Array | None = None,
    keepdims: bool = False, initial: Any = None, where: Any = None,
) -> Array:  # fmt: skip
    """The sum of what is not NaN."""
    return reductions.sum(_without("nansum", a, 0), axis, dtype, out, keepdims, initial, where)


@kept_by_form
def nanprod(
    a: Array, axis: Axis = None, dtype: npt.DTypeLike | None = None, out: Array | None = None,
    keepdims: bool = False, initial: Any = None, where: Any = None,
) -> Array:  # fmt: skip
    """The product of what is not NaN."""
    return reductions.prod(_without("nanprod", a, 1), axis, dtype, out, keepdims, initial, where)


@kept_by_form
def nanmean(
    a: Array, axis: Axis = None, dtype: npt.DTypeLike | None = None, out: Array | None = None,
    keepdims: bool = False, *, where: Any = None,
) -> Array:  # fmt: skip
    """The mean of what is not NaN; NaN where there is nothing else."""
    filled = _without("nanmean", a, 0)
    if a.dtype.kind not in "fc":
        return reductions.mean(filled, axis, dtype, out, keepdims, where=where)
    # Those of 16 bits are summed in float32, so that no sum overflows that its mean does not.
    wide = a.dtype if a.dtype.itemsize > 2 else "float32"
    total = reductions.sum(filled, axis, wide, None, keepdims, where=where)
    count = reductions.sum(~isnan(a), axis, None, None, keepdims, where=where)
    quotient: Array = total / count.astype(total.real.dtype)
    return written("nanmean", out, quotient.astype(a.dtype if dtype is None else dtype, copy=False))


def _extreme(
    call: str, name: str, x: Any, axis: Axis, out: Any, keepdims: bool, initial: Any, where: Any
) -> Array:
    worst = -math.inf if name == "max" else math.inf
    filled = _without(call, x, worst)
    if where is not None and where is not True and initial is None:
        invalid(call, "where is given without initial, which is the result of no elements")
    found: Array = getattr(reductions, name)(filled, axis, None, keepdims, initial, where)
    if x.dtype.kind != "f" or initial is not None:
        return written(call, out, found)
    nothing = reductions.all(isnan(x), axis=axis, keepdims=keepdims)
    return written(call, out, _where(nothing, math.nan, found))


@kept_by_form
def nanmax(
    a: Array, axis: Axis = None, out: Array | None = None, keepdims: bool = False,
    initial: Any = None, where: Any = None,
) -> Array:  # fmt: skip
    """The largest of what is not NaN; NaN where there is nothing else."""
    return _extreme("nanmax", "max", a, axis, out, keepdims, initial, where)


@kept_by_form
def nanmin(
    a: Array, axis: Axis = None, out: Array | None = None, keepdims: bool = False,
    initial: Any = None, where: Any = None,
) -> Array:  # fmt: skip
    """The least of what is not NaN; NaN where there is nothing else."""
    return _extreme("nanmin", "min", a, axis, out, keepdims, initial, where)
