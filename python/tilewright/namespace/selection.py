"""The standard's functions of indexing and searching, and NumPy's of the same kind."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright import _core
from tilewright.array import Array
from tilewright.call_forms import kept_by_form
from tilewright.namespace.dtypes import result_type
from tilewright.namespace.indexing import BOOL, Walk, placed, to_indices
from tilewright.namespace.mixed import together
from tilewright.operands import (
    check_stored,
    has_own_dtype,
    invalid,
    name_of,
    read_host,
    shown,
    to_axis,
    to_shape,
)
from tilewright.reading import assigned_dtype, default_integer

if TYPE_CHECKING:
    from collections.abc import Sequence

_taken = _core._taken


def _array(call: str, x: Any, name: str = "x") -> Array:
    if not isinstance(x, Array):
        invalid(call, f"{name} is {shown(x)}, expected an Array; write tw.asarray({name})")
    return x


def take(
    a: Array, indices: Any, axis: int | None = None, out: Array | None = None, mode: str = "raise"
) -> Array:
    """The elements along an axis at these indices, whose shape takes the axis's place; without an
    axis those of the array as one dimension. `mode` is "raise", "wrap" or "clip", as NumPy has
    them: what happens to indices that are out of range."""
    return take_for("take", a, indices, axis, out, mode)


def take_for(
    call: str, x: Array, indices: Any, axis: int | None = None, out: Array | None = None,
    mode: str = "raise",
) -> Array:  # fmt: skip
    """take() by the name of the function that was called."""
    if type(indices) is list and isinstance(x, Array) and (axis is None or type(axis) is int):
        is_axis = axis is not None and -x.ndim <= axis < x.ndim
        if axis is None or is_axis:
            there = placed(x, indices, x.size if axis is None else x.shape[axis])
            indices = indices if there is None else there
    if out is None and mode == "raise":
        found: Array | None = _taken(x, indices, axis, call)
        if found is not None:
            return found
    x = _array(call, x)
    if axis is None:
        x, axis = x.reshape(-1), 0
    at = to_axis(call, axis, x.shape)
    size = x.shape[at]
    indices = _in_range(call, x, indices, at, size, mode)
    shape = (*x.shape[:at], *indices.shape, *x.shape[at + 1 :])
    strides = [*x.strides[:at], *(0 for _ in indices.shape), *x.strides[at + 1 :]]
    walk = Walk(call, x, shape, strides)
    walk.add(indices, at + indices.ndim, at, size, x.strides[at])
    return _into(out, walk, call)


def _into(out: Array | None, walk: Walk, call: str) -> Array:
    if out is None:
        return walk.take()
    if not isinstance(out, Array) or out.shape != walk.shape:
        invalid(call, f"out is {shown(out)}, expected an Array of shape {walk.shape}")
    out[...] = walk.take()
    return out


def _in_range(call: str, x: Array, indices: Any, axis: int, size: int, mode: str) -> Array:
    from tilewright import asarray, clip, remainder

    if mode == "raise":
        return to_indices(call, x, indices, axis, size)
    if mode not in ("wrap", "clip"):
        invalid(call, f"mode is {shown(mode)}, expected 'raise', 'wrap' or 'clip'")
    if size == 0:
        invalid(call, f"mode is {mode!r}, but axis {axis} has no elements")
    given = indices if isinstance(indices, Array) else asarray(indices, device=x.backend)
    given = to_indices(call, x, given, axis, size)
    wide = given.astype(default_integer(x.backend), copy=False)
    return remainder(wide, size) if mode == "wrap" else clip(wide, 0, size - 1)


def walk_along(call: str, x: Array, indices: Any, axis: int | None) -> tuple[Walk, Array]:
    """The walk of an axis by indices that broadcast along the other ones."""
    if axis is None:
        if not x.is_contiguous and call == "put_along_axis":
            invalid(call, "axis is None for an array with gaps, expected one of its axes")
        x, axis = x.reshape(-1), 0
    at = to_axis(call, axis, x.shape)
    size = x.shape[at]
    found = to_indices(call, x, indices, at, size)
    if found.ndim != x.ndim:
        invalid(call, f"indices have shape {found.shape}, expected {x.ndim} dimensions as x has")
    shape, strides = list(found.shape), list(x.strides)
    strides[at] = 0
    for i, own in enumerate(x.shape):
        if i == at:
            continue
        if shape[i] == 1:
            shape[i] = own
        elif own == 1:
            strides[i] = 0
        elif shape[i] != own:
            invalid(
                call, f"indices of shape {found.shape} do not broadcast with x of shape {x.shape} "
                f"along axis {i}"
            )  # fmt: skip
    walk = Walk(call, x, shape, strides)
    walk.add(found, x.ndim, at, size, x.strides[at])
    return walk, x


def take_along_axis(arr: Array, indices: Any, axis: int | None = -1) -> Array:
    """For each line along an axis the elements at the indices of the line of `indices` beside it;
    the other axes broadcast."""
    if type(axis) is int:
        found = _core._taken_along(arr, indices, axis)
        if found is not None:
            return found
    walk, _ = walk_along("take_along_axis", _array("take_along_axis", arr), indices, axis)
    return walk.take()


def put_along_axis(arr: Array, indices: Any, values: Any, axis: int | None = -1) -> None:
    """Sets what take_along_axis takes. Of equal places one of the values stays: on the cpu backend
    the last."""
    walk_along("put_along_axis", _array("put_along_axis", arr), indices, axis)[0].put(values)


def put(a: Array, ind: Any, v: Any, mode: str = "raise") -> None:
    """Sets the elements of the array as one dimension at these indices; values are repeated until
    there is one for each index. Of equal places one of the values stays: on the cpu backend the
    last."""
    a = _array("put", a)
    line = a.reshape(-1)
    found = _in_range("put", line, ind, 0, line.size, mode).reshape(-1)
    if not found.size:
        return
    source = v if isinstance(v, Array) else read_host("put", "values", v)
    if not isinstance(v, Array) and not has_own_dtype(v):
        # Refuses what the dtype does not hold.
        assigned_dtype(np.asarray(source), a.dtype, a.backend, "put", "values")
    count = source.size
    if count == 0:
        invalid("put", "values has no elements")
    source = source.reshape(-1)[: found.size]
    if 1 < count < found.size:
        source = source if isinstance(source, Array) else a.backend._upload(source)
        source = take(source, np.arange(found.size) % count)
    walk = Walk("put", line, found.shape, [0])
    walk.add(found, 1, 0, line.size, line.strides[0])
    walk.put(source)
    if not line.overlaps(a):
        a[...] = line.reshape(a.shape)


def _mask(call: str, x: Any) -> Array:
    x = _array(call, x)
    return x if x.dtype == BOOL else x != 0  # type: ignore[no-any-return]


def nonzero(a: Array) -> tuple[Array, ...]:
    """The places of the elements that are not 0, in the order of rows: an array for each axis.
    Waits for the device, since their number is that of their shape."""
    mask = _mask("nonzero", a)
    if mask.ndim == 0:
        invalid("nonzero", "x has no dimensions, expected one at least; write x.reshape(1)")
    return _core._place_rows(mask, default_integer(mask.backend))


def argwhere(a: Array) -> Array:
    """nonzero() as one array, a row for each place."""
    mask = _mask("argwhere", a)
    if mask.ndim == 0:
        found = _core._places(mask, (1,), default_integer(mask.backend))
        return found[:0].T
    return _core._places(mask, mask.shape, default_integer(mask.backend)).T


def flatnonzero(a: Array) -> Array:
    """nonzero() of the array as one dimension."""
    mask = _mask("flatnonzero", a)
    return _core._places(mask, (mask.size,), default_integer(mask.backend))[0]


@kept_by_form
def searchsorted(a: Array, v: Any, side: str = "left", sorter: Any = None) -> Array:
    """The places in x1, ascending or so by `sorter`, at which the elements of x2 keep its order:
    before those that are equal, or with side="right" behind them. NaN is the largest."""
    call = "searchsorted"
    from tilewright import asarray

    if not isinstance(a, Array) and isinstance(v, Array):
        a = asarray(a, device=v.backend)
    a = _array(call, a, "x1")
    if a.ndim != 1:
        invalid(call, f"x1 has shape {a.shape}, expected one dimension")
    if a.dtype.kind == "c":
        invalid(call, f"x1 is {a.dtype}, expected real numbers, which have an order")
    if side not in ("left", "right"):
        invalid(call, f"side is {shown(side)}, expected 'left' or 'right'")
    backend = a.backend
    if not isinstance(v, Array):
        is_number = isinstance(v, (bool, int, float))
        dtype = result_type(a, v) if is_number else None
        v = asarray(v, dtype=dtype, device=backend)
    backend._own(call, "x2", v)
    if sorter is not None:
        order = to_indices(call, a, sorter, 0, a.size)
        if order.shape != a.shape:
            invalid(call, f"sorter has shape {order.shape}, expected {a.shape} as x1 has")
        a = take(a, order)
    common = result_type(a, v)
    if common.kind == "c":
        invalid(call, f"x2 is {v.dtype}, expected real numbers, which have an order")
    check_stored(call, backend, common)
    a = a.astype(common, copy=False)._contiguous()
    v = v.astype(common, copy=False)._contiguous()
    wanted = default_integer(backend)
    result = backend._new(v.shape, wanted)
    if result.size:
        backend.search_sorted(
            a, v, result, a.size, v.size, side == "right", a.stored_as, name_of(wanted)
        )
    return result


def _places(call: str, x: Array, name: str, axis: int, size: int, mode: str) -> Array:
    """Indices of an axis counted from its start, those that are out of range as `mode` says."""
    from tilewright import clip

    if x.dtype.kind not in "iu":
        invalid(call, f"{name} is {x.dtype}, expected integers")
    if mode not in ("raise", "wrap", "clip"):
        invalid(call, f"mode is {shown(mode)}, expected 'raise', 'wrap' or 'clip'")
    if size == 0 and x.size:
        invalid(call, f"{name} has indices of axis {axis}, which has no elements")
    wide = default_integer(x.backend)
    if x.dtype.itemsize < wide.itemsize:
        x = x.astype(wide)
    if mode == "clip":
        return clip(x, 0, size - 1)
    if mode == "raise":
        # As elements of so many that are one: what is out of range is met as it is in any gather.
        one = x.backend.zeros((1,), "int32")
        walk = Walk(call, one._view((size,), (0,), 0), x.shape, (0,) * x.ndim)
        walk.add(x, x.ndim, axis, size, 0)
        x = x + walk.take().astype(x.dtype)
    return x % size if x.dtype.kind == "i" or mode == "wrap" else x


def _by_columns(call: str, order: Any) -> bool:
    if order not in ("C", "F"):
        invalid(call, f"order is {shown(order)}, expected 'C' or 'F'")
    return order == "F"  # type: ignore[no-any-return]


@kept_by_form
def unravel_index(
    indices: Array, shape: int | Sequence[int], order: str = "C"
) -> tuple[Array, ...]:
    """The index along each axis of places in an array of this shape, counted row by row, or with
    order="F" column by column. Negative places count from the end."""
    found = _array("unravel_index", indices, "indices")
    sizes = to_shape("unravel_index", shape)
    found = _places("unravel_index", found, "indices", 0, math.prod(sizes), "raise")
    by_columns = _by_columns("unravel_index", order)
    axes: list[Array] = []
    for size in sizes if by_columns else reversed(sizes):
        axes.append(found % size)
        found = found // size
    return tuple(axes if by_columns else reversed(axes))


@kept_by_form
def ravel_multi_index(
    multi_index: Sequence[Any], dims: int | Sequence[int], mode: Any = "raise", order: str = "C"
) -> Array:
    """The places, counted row by row, or with order="F" column by column, of indices along each
    axis of an array of these sizes. What is out of range is refused, or with `mode`, which may be
    one for each axis, "wrap" or "clip" brought into it; negative indices count from the end."""
    call = "ravel_multi_index"
    sizes = to_shape(call, dims)
    if len(multi_index) != len(sizes):
        invalid(
            call, f"multi_index has {len(multi_index)} parts, expected {len(sizes)} as dims has"
        )
    modes = mode if isinstance(mode, tuple) else (mode,) * len(sizes)
    if len(modes) != len(sizes):
        invalid(call, f"mode has {len(modes)} parts, expected {len(sizes)} as dims has")
    given = together(call, **{f"multi_index[{i}]": one for i, one in enumerate(multi_index)})
    found: Any = 0
    axes = range(len(sizes))
    for axis in reversed(axes) if _by_columns(call, order) else axes:
        size, name = sizes[axis], f"multi_index[{axis}]"
        found = found * size + _places(call, given[axis], name, axis, size, modes[axis])
    return found  # type: ignore[no-any-return]
