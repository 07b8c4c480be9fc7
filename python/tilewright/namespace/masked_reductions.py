"""Reductions of the elements where a condition is true, and those that begin with a value."""

from __future__ import annotations

import builtins
import math
from typing import Any

import numpy as np

from tilewright.array import Array
from tilewright.namespace import elementwise, reductions
from tilewright.namespace.manipulation import broadcast_to
from tilewright.namespace.mixed import an_array, as_float, beside, written
from tilewright.operands import HALVES, invalid, shown, to_dtype


def _condition(call: str, x: Array, where: Any) -> Array:
    """The condition in the shape of x."""
    mask = beside(call, "where", where, x)
    if mask.dtype.kind != "b":
        invalid(call, f"where is {mask.dtype}, expected bool")
    return broadcast_to(mask, x.shape)


def _chosen(call: str, x: Array, where: Any, value: Any) -> Array:
    """x with a value where the condition is not true."""
    if where is None or where is True:
        return x
    return elementwise.where(_condition(call, x, where), x, value)


def accumulating(
    call: str, x: Any, axis: Any, dtype: Any, keepdims: Any, out: Any, initial: Any, where: Any
) -> Array:
    """sum() and prod()."""
    x = an_array(call, x)
    nothing = 0 if call == "sum" else 1
    value: Any = bool(nothing) if x.dtype.kind == "b" else nothing
    kept = _chosen(call, x, where, value)
    found: Array = getattr(reductions, call)(kept, axis=axis, dtype=dtype, keepdims=keepdims)
    if initial is not None:
        join = elementwise.add if call == "sum" else elementwise.multiply
        found = join(found, initial).astype(found.dtype, copy=False)
    return written(call, out, found)


def extreme(
    call: str, x: Any, axis: Any, keepdims: Any, out: Any, initial: Any, where: Any
) -> Array:
    """max() and min()."""
    x = reductions._real(call, x)
    if initial is None:
        invalid(call, "where is given without initial, which is the result of no elements")
    join = elementwise.maximum if call == "max" else elementwise.minimum
    number = initial.item() if isinstance(initial, (Array, np.ndarray, np.generic)) else initial
    if x.dtype.kind == "b":
        number = bool(number)
    kept = _chosen(call, x, where, number)
    axes, shape = reductions._walk(call, kept, axis, keepdims)
    if builtins.any(x.shape[i] == 0 for i in axes):
        found = x.backend._new(shape, x.dtype)
        found[...] = number
    else:
        found = getattr(reductions, call)(kept, axis=axis, keepdims=keepdims)
        found = join(found, number)
    return written(call, out, found)


def truth(call: str, x: Any, axis: Any, keepdims: Any, out: Any, where: Any) -> Array:
    """any() and all()."""
    x = an_array(call, x)
    kept = _chosen(call, x if x.dtype.kind == "b" else x != 0, where, call == "all")
    found: Array = getattr(reductions, call)(kept, axis=axis, keepdims=keepdims)
    return written(call, out, found)


def _in_dtype(call: str, x: Array, dtype: Any) -> Array:
    if dtype is None:
        return as_float(call, x)
    wanted = to_dtype(call, dtype)
    if wanted.kind not in "fc":
        invalid(call, f"dtype is {shown(dtype)}, expected floats or complex numbers")
    return x.astype(wanted, copy=False)


def mean(x: Any, axis: Any, dtype: Any, keepdims: Any, out: Any, where: Any) -> Array:
    """mean() in a dtype, or of what a condition chooses."""
    x = _in_dtype("mean", an_array("mean", x), dtype)
    if where is None or where is True:
        return reductions.mean(x, axis=axis, keepdims=keepdims, out=out)
    mask = _condition("mean", x, where)
    # Those of 16 bits are summed in float32.
    wide = np.dtype(np.float32) if x.dtype in HALVES else x.dtype
    kept = elementwise.where(mask, x, 0)
    total = reductions.sum(kept, axis=axis, dtype=wide, keepdims=keepdims)
    count = reductions.sum(mask, axis=axis, keepdims=keepdims).astype(total.real.dtype)
    quotient: Array = total / count
    return written("mean", out, quotient.astype(x.dtype, copy=False))


def spread(
    call: str, x: Any, axis: Any, correction: Any, dtype: Any, keepdims: Any, out: Any, where: Any
) -> Array:
    """var() and std() in a dtype, or of what a condition chooses."""
    x = _in_dtype(call, an_array(call, x), dtype)
    if where is None or where is True:
        return reductions._spread(call, x, axis, correction, keepdims, out)
    mask = _condition(call, x, where)
    result = x.real.dtype
    if x.dtype in HALVES:
        x = x.astype("float32")
    off = x - mean(x, axis, None, True, None, mask)
    size = elementwise.abs(off) if x.dtype.kind == "c" else off
    squares = elementwise.where(mask, size * size, 0)
    total = reductions.sum(squares, axis=axis, keepdims=keepdims)
    count = reductions.sum(mask, axis=axis, keepdims=keepdims).astype(total.dtype) - correction
    found = total / elementwise.maximum(count, 0)
    found = elementwise.sqrt(found) if call == "std" else found
    return written(call, out, found.astype(result, copy=False))


def correction_of(call: str, correction: Any, ddof: Any) -> Any:
    """NumPy's ddof is the standard's correction."""
    if ddof is None:
        return correction
    if correction != 0:
        invalid(call, "correction and ddof are given, expected one of them")
    if isinstance(ddof, bool) or not isinstance(ddof, (int, float)) or not math.isfinite(ddof):
        invalid(call, f"ddof is {shown(ddof)}, expected a number")
    return ddof
