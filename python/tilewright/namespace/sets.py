"""The standard's sets, by sorts: unique_values and its like, and what is in them."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, overload

from tilewright.array import Array
from tilewright.namespace.creation import asarray, empty, full
from tilewright.namespace.dtypes import result_type
from tilewright.namespace.elementwise import clip, isnan, not_equal
from tilewright.namespace.manipulation import concat, diff
from tilewright.namespace.mixed import beside
from tilewright.namespace.reductions import cumulative_sum
from tilewright.namespace.selection import nonzero, searchsorted, take
from tilewright.namespace.sorting import argsort, sort, topk
from tilewright.operands import invalid, shown


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


def unique_values(x: Array, /) -> Array:
    """The different elements in ascending order; each NaN is one, at the end."""
    ordered = _sorted(_flat("unique_values", x))
    return ordered[_first_ones(ordered)]


def unique_counts(x: Array, /) -> UniqueCounts:
    """unique_values(), and how many of each there are."""
    ordered = _sorted(_flat("unique_counts", x))
    first = _first_ones(ordered)
    return UniqueCounts(ordered[first], _counts(first))


def unique_inverse(x: Array, /) -> UniqueInverse:
    """unique_values(), and which of them each element is, in the shape of x."""
    ordered, order = _ordered(_flat("unique_inverse", x))
    first = _first_ones(ordered)
    return UniqueInverse(ordered[first], _inverse(order, first).reshape(x.shape))


def unique_all(x: Array, /) -> UniqueAll:
    """unique_values(), where the first of each is in x flattened, which of them each element is,
    and how many of each there are."""
    ordered, order = _ordered(_flat("unique_all", x))
    first = _first_ones(ordered)
    return UniqueAll(
        ordered[first], order[first], _inverse(order, first).reshape(x.shape), _counts(first)
    )


@overload
def unique(
    x: Array,
    /,
    return_index: Literal[False] = False,
    return_inverse: Literal[False] = False,
    return_counts: Literal[False] = False,
    *,
    equal_nan: bool = True,
) -> Array: ...
@overload
def unique(
    x: Array,
    /,
    *,
    return_index: Literal[False] = False,
    return_inverse: Literal[False] = False,
    return_counts: Literal[True],
    equal_nan: bool = True,
) -> tuple[Array, Array]: ...
@overload
def unique(
    x: Array,
    /,
    *,
    return_index: Literal[False] = False,
    return_inverse: Literal[True],
    return_counts: Literal[False] = False,
    equal_nan: bool = True,
) -> tuple[Array, Array]: ...
@overload
def unique(
    x: Array,
    /,
    *,
    return_index: Literal[False] = False,
    return_inverse: Literal[True],
    return_counts: Literal[True],
    equal_nan: bool = True,
) -> tuple[Array, Array, Array]: ...
@overload
def unique(
    x: Array,
    /,
    *,
    return_index: Literal[True],
    return_inverse: Literal[False] = False,
    return_counts: Literal[False] = False,
    equal_nan: bool = True,
) -> tuple[Array, Array]: ...
@overload
def unique(
    x: Array,
    /,
    *,
    return_index: Literal[True],
    return_inverse: Literal[False] = False,
    return_counts: Literal[True],
    equal_nan: bool = True,
) -> tuple[Array, Array, Array]: ...
@overload
def unique(
    x: Array,
    /,
    *,
    return_index: Literal[True],
    return_inverse: Literal[True],
    return_counts: Literal[False] = False,
    equal_nan: bool = True,
) -> tuple[Array, Array, Array]: ...
@overload
def unique(
    x: Array,
    /,
    *,
    return_index: Literal[True],
    return_inverse: Literal[True],
    return_counts: Literal[True],
    equal_nan: bool = True,
) -> tuple[Array, Array, Array, Array]: ...
@overload
def unique(
    x: Array,
    /,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    *,
    equal_nan: bool = True,
) -> Array | tuple[Array, ...]: ...
def unique(
    x: Array,
    /,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    *,
    equal_nan: bool = True,
) -> Array | tuple[Array, ...]:
    """NumPy's: the different elements, and what is asked for of unique_all(). All NaN are one,
    unless equal_nan is False."""
    found = unique_all(_flat("unique", x).reshape(x.shape))
    values, indices, inverse, counts = found
    if equal_nan and values.dtype.kind in "fc" and values.size > 1:
        numbers = values.size - int(isnan(values).sum().item())
        if numbers + 1 < values.size:
            values, indices = values[: numbers + 1], indices[: numbers + 1]
            inverse = clip(inverse, 0, numbers)
            rest = counts[numbers:].sum().reshape(1)
            counts = concat([counts[:numbers], rest])
    wanted = [values]
    for asked, part in (
        (return_index, indices),
        (return_inverse, inverse),
        (return_counts, counts),
    ):
        if asked:
            wanted.append(part)
    return tuple(wanted) if len(wanted) > 1 else values


def isin(x1: Any, x2: Any, /, *, invert: bool = False) -> Array:
    """Whether each element of x1 is among those of x2, or with `invert` is not. One of both may be
    a number, or what the host has."""
    like = x1 if isinstance(x1, Array) else x2
    if not isinstance(like, Array):
        invalid("isin", f"x1 is {shown(x1)}, expected an Array; write tw.asarray(x1)")
    x1, x2 = (beside("isin", name, one, like) for name, one in (("x1", x1), ("x2", x2)))
    flat = x2.reshape(-1)
    if not isinstance(invert, bool):
        invalid("isin", f"invert is {shown(invert)}, expected True or False")
    if flat.size == 0:
        return full(x1.shape, invert, dtype="bool", device=x1.backend)
    common = result_type(x1, flat)
    if common.kind == "c":
        return _isin_complex(x1.astype(common, copy=False), flat.astype(common, copy=False), invert)
    wanted, ordered = x1.astype(common, copy=False), sort(flat.astype(common, copy=False))
    found = ordered[clip(searchsorted(ordered, wanted), 0, flat.size - 1)]
    truths: Array = found != wanted if invert else found == wanted
    return truths


def _isin_complex(x1: Array, x2: Array, invert: bool) -> Array:
    """By which of the different elements of both each of x2 is."""
    which = unique_inverse(concat([x1.reshape(-1), x2])).inverse_indices
    there = full(which.size, invert, dtype="bool", device=x1.backend)
    there[which[x1.size :]] = not invert
    return there[which[: x1.size]].reshape(x1.shape)
