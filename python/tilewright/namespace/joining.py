"""NumPy's functions that join arrays, and put elements in or take them out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright.array import Array
from tilewright.call_forms import kept_by_form
from tilewright.namespace.cutting import atleast_1d, atleast_2d, atleast_3d
from tilewright.namespace.manipulation import broadcast_shapes, broadcast_to, concat
from tilewright.namespace.mixed import an_array, beside, first_array
from tilewright.operands import invalid, shown
from tilewright.shapes import to_one_axis

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from tilewright.operands import ArrayLike

__all__ = ["append", "block", "column_stack", "delete", "dstack", "hstack", "insert", "vstack"]


def _read(call: str, arrays: Any) -> list[Array]:
    if not isinstance(arrays, (Array, list, tuple)) or not len(arrays):
        invalid(call, f"tup is {shown(arrays)}, expected a sequence of one Array at least")
    like = first_array(call, "tup", arrays)
    return [beside(call, f"tup[{i}]", one, like) for i, one in enumerate(arrays)]


@kept_by_form
def vstack(
    tup: Sequence[ArrayLike], *, dtype: npt.DTypeLike | None = None, casting: str = "same_kind"
) -> Array:
    """Rows below each other; vectors are rows."""
    rows = [atleast_2d(one) for one in _read("vstack", tup)]
    return concat(rows, axis=0, dtype=dtype, casting=casting)


@kept_by_form
def hstack(
    tup: Sequence[ArrayLike], *, dtype: npt.DTypeLike | None = None, casting: str = "same_kind"
) -> Array:
    """Along the second axis; vectors along their only one."""
    parts = [atleast_1d(one) for one in _read("hstack", tup)]
    return concat(parts, axis=0 if parts[0].ndim == 1 else 1, dtype=dtype, casting=casting)


@kept_by_form
def dstack(tup: Sequence[ArrayLike]) -> Array:
    """Along the third axis."""
    return concat([atleast_3d(one) for one in _read("dstack", tup)], axis=2)


@kept_by_form
def column_stack(tup: Sequence[ArrayLike]) -> Array:
    """Vectors as the columns of a matrix; matrices as they are."""
    parts = _read("column_stack", tup)
    return concat([one if one.ndim > 1 else one.reshape(-1, 1) for one in parts], axis=1)


@kept_by_form
def append(arr: ArrayLike, values: ArrayLike, axis: int | None = None) -> Array:
    """A copy with the values behind it along an axis, or behind all of it as one dimension."""
    like = first_array("append", "arr", [arr, values])
    # A number alone is an array of one, as NumPy has it.
    given = (("arr", arr), ("values", [values] if isinstance(values, (int, float)) else values))
    parts = [beside("append", name, one, like) for name, one in given]
    if axis is None:
        parts, axis = [one.reshape(-1) for one in parts], 0
    return concat(parts, axis=axis)


@kept_by_form
def block(arrays: Any) -> Array:
    """One array of blocks in lists of lists: those of the innermost lists lie along the last axis,
    those of the lists around them along the one before."""
    like = first_array("block", "arrays", arrays)
    depth = _depth(arrays)
    leaves = [beside("block", "a block", one, like) for one in _leaves(arrays)]
    rank = max(depth, *(one.ndim for one in leaves))
    given = iter(leaves)

    def joined(part: Any, level: int) -> Array:
        if not isinstance(part, list):
            leaf = next(given)
            return leaf.reshape((1,) * (rank - leaf.ndim) + leaf.shape)
        return concat([joined(one, level - 1) for one in part], axis=-level)

    return joined(arrays, depth).copy() if depth == 0 else joined(arrays, depth)


def _depth(part: Any) -> int:
    if isinstance(part, tuple):
        raise TypeError("block: arrays has a tuple, expected lists and arrays only")
    if not isinstance(part, list):
        return 0
    if not part:
        invalid("block", "arrays has an empty list")
    depths = {_depth(one) for one in part}
    if len(depths) > 1:
        invalid("block", f"arrays has lists of depths {sorted(depths)} side by side, expected one")
    return 1 + depths.pop()


def _leaves(part: Any) -> list[Any]:
    return [leaf for one in part for leaf in _leaves(one)] if isinstance(part, list) else [part]


def _host(call: str, given: Any) -> Any:
    """Places along an axis, which say what shape the result has: those of a device are read."""
    if isinstance(given, slice):
        return given
    places = np.asarray(given._numbers() if isinstance(given, Array) else given)
    if places.dtype.kind == "b" or (places.dtype.kind in "f" and not places.size):
        return places if places.dtype.kind == "b" else places.astype(np.intp)
    if places.dtype.kind not in "iu":
        invalid(call, f"obj is {shown(given)}, expected integers, a mask or a slice")
    return places


def _flat(call: str, arr: Any, axis: int | None) -> tuple[Array, int]:
    x = an_array(call, arr, "arr")
    if axis is None:
        return x.reshape(-1), 0
    return x, to_one_axis(call, axis, x.ndim)


def delete(arr: Array, obj: Any, axis: int | None = None) -> Array:
    """A copy without what is at some places of an axis, or of the array as one dimension."""
    from tilewright.namespace.selection import take

    x, at = _flat("delete", arr, axis)
    kept = np.ones(x.shape[at], bool)
    places = _host("delete", obj)
    if isinstance(places, np.ndarray) and places.dtype.kind == "b" and places.shape != kept.shape:
        invalid("delete", f"obj is a mask of shape {places.shape}, expected {kept.shape}")
    try:
        kept[places] = False
    except IndexError:
        invalid("delete", f"obj is {shown(obj)}, beyond axis {at} of {kept.size} elements")
    return take(x, np.flatnonzero(kept), at)


def insert(arr: Array, obj: Any, values: ArrayLike, axis: int | None = None) -> Array:
    """A copy with values before some places of an axis, or of the array as one dimension."""
    x, at = _flat("insert", arr, axis)
    size = x.shape[at]
    places = _host("insert", obj)
    if isinstance(places, slice):
        places = np.arange(*places.indices(size))
    elif places.dtype.kind == "b":
        places = np.flatnonzero(places)
    if places.ndim > 1:
        invalid("insert", f"obj has shape {places.shape}, expected one dimension at most")
    source = beside("insert", "values", values, x, is_written=True)
    before = (slice(None),) * at
    count = places.size
    if places.size == 1:
        # One place takes as many values as there are.
        source = source.reshape((1,) * max(0, x.ndim - source.ndim) + source.shape)
        if places.ndim == 0:
            source = source.transpose((*range(1, at + 1), 0, *range(at + 1, source.ndim)))
        count = source.shape[at]
    found = np.atleast_1d(places).astype(np.intp)
    if ((found < -size) | (found > size)).any():
        invalid("insert", f"obj is {shown(obj)}, beyond axis {at} of {size} elements")
    found = np.where(found < 0, found + size, found)
    if found.size == 1:
        found = np.repeat(found, count)
    by_place = np.argsort(found, kind="stable")
    new = np.empty_like(found)
    new[by_place] = found[by_place] + np.arange(found.size)
    old = np.ones(size + found.size, bool)
    old[new] = False
    shape = (*x.shape[:at], old.size, *x.shape[at + 1 :])
    result = x.backend._new(shape, x.dtype)
    part = (*x.shape[:at], found.size, *x.shape[at + 1 :])
    if broadcast_shapes(source.shape, part) != part:
        invalid("insert", f"values of shape {source.shape} do not broadcast to {part}")
    if x.size:
        result[(*before, np.flatnonzero(old))] = x
    if found.size:
        result[(*before, new)] = broadcast_to(source.astype(x.dtype, copy=False), part)
    return result
