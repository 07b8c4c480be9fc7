"""The standard's sets, by sorts: unique_values and its like, and what is in them."""

from __future__ import annotations

import math
from typing import Any, Literal, NamedTuple, overload

from tilewright.array import Array
from tilewright.namespace.creation import arange, asarray, empty, full
from tilewright.namespace.dtypes import result_type
from tilewright.namespace.elementwise import clip, isnan, not_equal
from tilewright.namespace.manipulation import concat, diff, moveaxis
from tilewright.namespace.mixed import beside
from tilewright.namespace.reductions import any as any_of
from tilewright.namespace.reductions import cumulative_sum
from tilewright.namespace.selection import nonzero, searchsorted, take
from tilewright.namespace.sorting import argsort, sort, topk
from tilewright.operands import invalid, shown
from tilewright.shapes import to_one_axis


class UniqueAll(NamedTuple):
    """What unique_all() gives."""

    values: Array
    indices: Array
    inverse_indices: Array
    counts: Array


class UniqueCounts(NamedTuple):
    """What unique_counts() gives."""

    values: Array
    counts: Array


class UniqueInverse(NamedTuple):
    """What unique_inverse() gives."""

    values: Array
    inverse_indices: Array


def _flat(call: str, x: Any, name: str = "x") -> Array:
    if not isinstance(x, Array):
        invalid(call, f"{name} is {shown(x)}, expected an Array; write tw.asarray({name})")
    return x.reshape(-1)


def _ordered(x: Array) -> tuple[Array, Array]:
    """The elements in ascending order, and where each is in x. Complex ones as NumPy has them: by
    the real part, then by the imaginary one, what has a NaN behind all."""
    if x.dtype.kind != "c":
        return topk(x, x.size, largest=False)
    order = argsort(x.imag + 0.0)  # -0.0 is no other number
    order = take(order, argsort(take(x.real + 0.0, order)))
    order = take(order, argsort(isnan(take(x, order))))
    return take(x, order), order


def _sorted(x: Array) -> Array:
    return sort(x) if x.dtype.kind != "c" else _ordered(x)[0]


def _first_ones(ordered: Array) -> Array:
    """Where elements in order differ from those before them, which NaN always does."""
    first = empty(ordered.shape, dtype="bool", device=ordered.backend)
    first[:1] = True
    if ordered.size > 1:
        not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return first


def _counts(first: Array) -> Array:
    """How many elements there are from each first one to the next."""
    places = nonzero(first)[0]
    end = asarray([first.size], dtype=places.dtype, device=first.backend)
    return diff(concat([places, end]))


def _inverse(order: Array, first: Array) -> Array:
    """For each element, its place among the different ones."""
    which: Array = cumulative_sum(first) - 1
    return which[argsort(order)]


def unique_values(x: Array) -> Array:
    """The different elements in ascending order; each NaN is one, at the end."""
    ordered = _sorted(_flat("unique_values", x))
    return ordered[_first_ones(ordered)]


def unique_counts(x: Array) -> UniqueCounts:
    """unique_values(), and how many of each there are."""
    ordered = _sorted(_flat("unique_counts", x))
    first = _first_ones(ordered)
    return UniqueCounts(ordered[first], _counts(first))


def unique_inverse(x: Array) -> UniqueInverse:
    """unique_values(), and which of them each element is, in the shape of x."""
    ordered, order = _ordered(_flat("unique_inverse", x))
    first = _first_ones(ordered)
    return UniqueInverse(ordered[first], _inverse(order, first).reshape(x.shape))


def unique_all(x: Array) -> UniqueAll:
    """unique_values(), where the first of each is in x flattened, which of them each element is,
    and how many of each there are."""
    ordered, order = _ordered(_flat("unique_all", x))
    first = _first_ones(ordered)
    return UniqueAll(
        ordered[first], order[first], _inverse(order, first).reshape(x.shape), _counts(first)
    )


@overload
def unique(
    ar: Array,
    return_index: Literal[False] = False,
    return_inverse: Literal[False] = False,
    return_counts: Literal[False] = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    sorted: bool = True,
) -> Array: ...
@overload
def unique(
    ar: Array,
    *,
    return_index: Literal[False] = False,
    return_inverse: Literal[False] = False,
    return_counts: Literal[True],
    axis: int | None = None,
    equal_nan: bool = True,
    sorted: bool = True,
) -> tuple[Array, Array]: ...
@overload
def unique(
    ar: Array,
    *,
    return_index: Literal[False] = False,
    return_inverse: Literal[True],
    return_counts: Literal[False] = False,
    axis: int | None = None,
    equal_nan: bool = True,
    sorted: bool = True,
) -> tuple[Array, Array]: ...
@overload
def unique(
    ar: Array,
    *,
    return_index: Literal[False] = False,
    return_inverse: Literal[True],
    return_counts: Literal[True],
    axis: int | None = None,
    equal_nan: bool = True,
    sorted: bool = True,
) -> tuple[Array, Array, Array]: ...
@overload
def unique(
    ar: Array,
    *,
    return_index: Literal[True],
    return_inverse: Literal[False] = False,
    return_counts: Literal[False] = False,
    axis: int | None = None,
    equal_nan: bool = True,
    sorted: bool = True,
) -> tuple[Array, Array]: ...
@overload
def unique(
    ar: Array,
    *,
    return_index: Literal[True],
    return_inverse: Literal[False] = False,
    return_counts: Literal[True],
    axis: int | None = None,
    equal_nan: bool = True,
    sorted: bool = True,
) -> tuple[Array, Array, Array]: ...
@overload
def unique(
    ar: Array,
    *,
    return_index: Literal[True],
    return_inverse: Literal[True],
    return_counts: Literal[False] = False,
    axis: int | None = None,
    equal_nan: bool = True,
    sorted: bool = True,
) -> tuple[Array, Array, Array]: ...
@overload
def unique(
    ar: Array,
    *,
    return_index: Literal[True],
    return_inverse: Literal[True],
    return_counts: Literal[True],
    axis: int | None = None,
    equal_nan: bool = True,
    sorted: bool = True,
) -> tuple[Array, Array, Array, Array]: ...
@overload
def unique(
    ar: Array,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    sorted: bool = True,
) -> Array | tuple[Array, ...]: ...
def unique(
    ar: Array, return_index: bool = False, return_inverse: bool = False,
    return_counts: bool = False, axis: int | None = None, *, equal_nan: bool = True,
    sorted: bool = True,
) -> Array | tuple[Array, ...]:  # fmt: skip
    """NumPy's: the different elements, or parts along an axis, and what is asked for of
    unique_all(). All NaN among elements are one, unless equal_nan is False. What is different is
    always sorted."""
    if axis is not None:
        return _chosen(_unique_parts(ar, axis), (True, return_index, return_inverse, return_counts))
    found = unique_all(_flat("unique", ar).reshape(ar.shape))
    values, indices, inverse, counts = found
    if equal_nan and values.dtype.kind in "fc" and values.size > 1:
        numbers = values.size - int(isnan(values).sum().item())
        if numbers + 1 < values.size:
            values, indices = values[: numbers + 1], indices[: numbers + 1]
            inverse = clip(inverse, 0, numbers)
            rest = counts[numbers:].sum().reshape(1)
            counts = concat([counts[:numbers], rest])
    found = UniqueAll(values, indices, inverse, counts)
    return _chosen(found, (True, return_index, return_inverse, return_counts))


def _chosen(found: UniqueAll, asked: tuple[bool, ...]) -> Array | tuple[Array, ...]:
    wanted = tuple(part for part, is_asked in zip(found, asked, strict=True) if is_asked)
    return wanted if len(wanted) > 1 else found.values


def _unique_parts(x: Any, axis: Any) -> UniqueAll:
    """The different parts along an axis, ordered by their first elements that differ."""
    _flat("unique", x)
    if x.dtype.kind == "c":
        invalid("unique", f"x is {x.dtype}, of which parts have no order; take its real parts")
    at = to_one_axis("unique", axis, x.ndim)
    parts = moveaxis(x, at, 0)
    count = parts.shape[0]
    rows = parts.reshape(count, math.prod(parts.shape[1:]))
    order = arange(count, device=x.backend)
    for column in range(rows.shape[1] - 1, -1, -1):
        order = take(order, argsort(take(rows[:, column], order)))
    ordered = take(rows, order, axis=0)
    first = empty((count,), dtype="bool", device=x.backend)
    first[:1] = True
    if count > 1:
        first[1:] = any_of(ordered[1:] != ordered[:-1], axis=1)
    values = ordered[first]
    values = moveaxis(values.reshape(values.shape[0], *parts.shape[1:]), 0, at)
    return UniqueAll(values, order[first], _inverse(order, first), _counts(first))


def isin(
    element: Any, test_elements: Any, assume_unique: bool = False, invert: bool = False, *,
    kind: str | None = None,
) -> Array:  # fmt: skip
    """Whether each element of x1 is among those of x2, or with `invert` is not. One of both may be
    a number, or what the host has."""
    like = element if isinstance(element, Array) else test_elements
    if not isinstance(like, Array):
        invalid("isin", f"x1 is {shown(element)}, expected an Array; write tw.asarray(x1)")
    element, test_elements = (
        beside("isin", name, one, like) for name, one in (("x1", element), ("x2", test_elements))
    )
    flat = test_elements.reshape(-1)
    if kind not in (None, "sort", "table"):
        invalid("isin", f"kind is {shown(kind)}, expected None, 'sort' or 'table'")
    if not isinstance(invert, bool):
        invalid("isin", f"invert is {shown(invert)}, expected True or False")
    if flat.size == 0:
        return full(element.shape, invert, dtype="bool", device=element.backend)
    common = result_type(element, flat)
    if common.kind == "c":
        return _isin_complex(
            element.astype(common, copy=False), flat.astype(common, copy=False), invert
        )
    wanted, ordered = element.astype(common, copy=False), sort(flat.astype(common, copy=False))
    found = ordered[clip(searchsorted(ordered, wanted), 0, flat.size - 1)]
    truths: Array = found != wanted if invert else found == wanted
    return truths


def _isin_complex(x1: Array, x2: Array, invert: bool) -> Array:
    """By which of the different elements of both each of x2 is."""
    which = unique_inverse(concat([x1.reshape(-1), x2])).inverse_indices
    there = full(which.size, invert, dtype="bool", device=x1.backend)
    there[which[x1.size :]] = not invert
    return there[which[: x1.size]].reshape(x1.shape)
