"""NumPy's sets of elements: what is in both arrays, in one or in either."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, overload

from tilewright.array import Array
from tilewright.namespace.dtypes import result_type
from tilewright.namespace.manipulation import concat
from tilewright.namespace.mixed import together
from tilewright.namespace.selection import nonzero, take
from tilewright.namespace.sets import _ordered, isin, unique, unique_all

if TYPE_CHECKING:
    from tilewright.operands import ArrayLike

__all__ = ["intersect1d", "setdiff1d", "setxor1d", "union1d"]


def _both(call: str, ar1: Any, ar2: Any, cast: bool = True) -> tuple[Array, Array]:
    a, b = (one.reshape(-1) for one in together(call, ar1=ar1, ar2=ar2))
    if not cast:
        return a, b
    dtype = result_type(a, b)
    return a.astype(dtype, copy=False), b.astype(dtype, copy=False)


def union1d(ar1: ArrayLike, ar2: ArrayLike) -> Array:
    """The different elements of both, in ascending order."""
    found: Array = unique(concat(_both("union1d", ar1, ar2)))
    return found


@overload
def intersect1d(
    ar1: ArrayLike,
    ar2: ArrayLike,
    assume_unique: bool = False,
    return_indices: Literal[False] = False,
) -> Array: ...
@overload
def intersect1d(
    ar1: ArrayLike, ar2: ArrayLike, assume_unique: bool = False, *, return_indices: Literal[True]
) -> tuple[Array, Array, Array]: ...
@overload
def intersect1d(
    ar1: ArrayLike, ar2: ArrayLike, assume_unique: bool = False, return_indices: bool = False
) -> Array | tuple[Array, Array, Array]: ...
def intersect1d(
    ar1: ArrayLike, ar2: ArrayLike, assume_unique: bool = False, return_indices: bool = False
) -> Array | tuple[Array, Array, Array]:
    """The different elements that are in both, in ascending order; with `return_indices` also where
    the first of each is in both."""
    a, b = _both("intersect1d", ar1, ar2)
    first = second = None
    if not assume_unique:
        one, other = unique_all(a), unique_all(b)
        a, first, b, second = one.values, one.indices, other.values, other.indices
    ordered, order = _ordered(concat([a, b]))
    places = nonzero(ordered[1:] == ordered[:-1])[0]
    found = take(ordered, places)
    if not return_indices:
        return found
    at_1, at_2 = take(order, places), take(order, places + 1) - a.size
    if first is not None and second is not None:
        at_1, at_2 = take(first, at_1), take(second, at_2)
    return found, at_1, at_2


def setdiff1d(ar1: ArrayLike, ar2: ArrayLike, assume_unique: bool = False) -> Array:
    """The different elements of ar1 that are not in ar2, in ascending order."""
    a, b = _both("setdiff1d", ar1, ar2, cast=False)
    if not assume_unique:
        a, b = unique(a), unique(b)
    return a[isin(a, b, invert=True)]


def setxor1d(ar1: ArrayLike, ar2: ArrayLike, assume_unique: bool = False) -> Array:
    """The different elements that are in one of both only, in ascending order."""
    a, b = _both("setxor1d", ar1, ar2)
    if not assume_unique:
        a, b = unique(a), unique(b)
    ordered, _ = _ordered(concat([a, b]))
    if ordered.size < 2:
        return ordered
    other = ordered[1:] != ordered[:-1]
    alone = Array(ordered.backend, ordered.shape, "bool")
    alone[...] = True
    alone[1:] = other
    alone[:-1] &= other
    return ordered[alone]
