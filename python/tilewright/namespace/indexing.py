"""Elements by arrays: x[key] and x[key] = value with masks and indices, by NumPy's rules."""

from __future__ import annotations

import math
from types import EllipsisType, NoneType
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from tilewright import _core
from tilewright.operands import has_own_dtype, invalid, read_host, shown
from tilewright.reading import assigned_dtype, default_integer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tilewright.array import Array

BOOL = np.dtype(np.bool_)
INT32 = np.dtype(np.int32)
MOST_INT32 = 2**31 - 1


def by_places(mask: Array) -> tuple[Array, ...]:
    """The arrays of indices that a mask of the first axes stands for."""
    dtype = INT32 if mask.size <= MOST_INT32 else default_integer(mask.backend)
    return _core._place_rows(mask, dtype)


# Arrays of indices -----------------------------------------------------------------------------


def out_of_range(call: str, index: int, axis: int, size: int) -> _core.IndexOutOfRange:
    return _core.IndexOutOfRange(
        f"{call}: index {index} is out of range for axis {axis} of {size} elements"
    )


def uploaded(call: str, x: Array, host: np.ndarray[Any, Any], axis: int, size: int) -> Array:
    """The host's indices on the device: those that are out of range raise at once."""
    if host.size:
        low, high = int(host.min()), int(host.max())
        if low < -size or high >= size:
            raise out_of_range(call, high if high >= size else low, axis, size)
    fits = size <= MOST_INT32 or default_integer(x.backend) == INT32
    return x.backend._upload(host.astype(np.int32 if fits else np.int64, copy=False))


def to_indices(call: str, x: Array, given: Any, axis: int, size: int) -> Array:
    """An array of indices along an axis: an Array, or what the host has."""
    from tilewright.array import Array

    if isinstance(given, Array):
        x.backend._own(call, "an index", given)
        if given.dtype.kind not in "iu":
            raise _core.IndexOutOfRange(
                f"{call}: an index is of dtype {given.dtype}, expected integers"
            )
        return given
    host = read_host(call, "an index", given)
    if host.size == 0 and not hasattr(given, "dtype"):
        host = host.astype(np.int32)
    if host.dtype.kind not in "iu":
        raise _core.IndexOutOfRange(f"{call}: an index is of dtype {host.dtype}, expected integers")
    return uploaded(call, x, host, axis, size)


class Walk:
    """A move of elements by index arrays: the shape of what is walked, the strides there of what is
    indexed, and the arrays."""

    def __init__(self, call: str, x: Array, shape: Sequence[int], strides: Sequence[int]) -> None:
        self.call, self.x = call, x
        self.shape, self.strides = tuple(shape), list(strides)
        # A complex element moves as its two parts, which are a dimension more.
        self.parts = 2 if x.dtype.kind == "c" else 1
        self.source = x
        if self.parts == 2:
            self.source = x._parts()
            self.strides = [2 * step for step in self.strides] + [1]
        self.indices: list[Any] = []
        self.added: list[Any] = []

    def add(self, array: Array, first: int, axis: int, size: int, stride: int) -> None:
        """Indices that broadcast to the dimensions of the shape that end before `first`."""
        strides = [0] * len(self.strides)
        for i, (own, step) in enumerate(zip(array.shape, array.strides, strict=True)):
            if own != 1:
                strides[first - array.ndim + i] = step
        self.added.append((array, first, axis, size, stride))
        self.indices.append(((array, strides), array.stored_as, size, stride * self.parts, axis))

    def take(self, out: Array | None = None) -> Array:
        x = self.x
        result = x.backend._new(self.shape, x.dtype) if out is None else out
        if result.size:
            target, shape = (result, self.shape) if self.parts == 1 else (
                result._parts(), (*self.shape, 2)
            )  # fmt: skip
            x.backend.gather_elements(
                (self.source, self.strides),
                self.indices,
                target,
                shape,
                self.source.stored_as,
                self.call,
            )
        return result

    def put(self, value: Any) -> None:
        x = self.x
        source = to_source(x, value, self.shape)
        if not math.prod(self.shape):
            return
        if any(array.overlaps(x) for array, *_ in self.added):
            added, self.added, self.indices = self.added, [], []
            for array, *where in added:
                self.add(array.copy() if array.overlaps(x) else array, *where)
        shape = self.shape
        if self.parts == 2:
            values, strides = source
            source = values._parts(), [2 * step for step in strides] + [1]
            shape = (*shape, 2)
        x.backend.scatter_elements(
            source,
            self.indices,
            (self.source, self.strides),
            shape,
            self.source.stored_as,
            self.call,
        )


def to_source(x: Array, value: Any, shape: tuple[int, ...]) -> tuple[Array, list[int]]:
    """What is assigned, as elements of x's dtype in memory of their own, and its strides along a
    shape."""
    from tilewright.array import Array

    if not isinstance(value, Array) and np.ndim(value) == 0:
        cell = x.backend._new((), x.dtype)
        cell[...] = value
        value = cell
    elif not isinstance(value, Array):
        host = read_host("assignment", "value", value)
        if not has_own_dtype(value):
            assigned_dtype(host, x.dtype, x.backend, "assignment", "value")  # refuses what it lacks
        value = x.backend._new(host.shape, x.dtype)
        value[...] = host
    x.backend._own("assignment", "value", value)
    given = value.shape
    while value.ndim > len(shape) and value.shape[0] == 1:
        value = value[0]
    fits = value.ndim <= len(shape) and all(
        own in (1, size) for own, size in zip(value.shape[::-1], shape[::-1], strict=False)
    )
    if not fits:
        invalid("assignment", f"a value of shape {given} does not broadcast to {shape}")
    if value.dtype != x.dtype:
        value = value.astype(x.dtype)
    elif value.overlaps(x):
        value = value.copy()
    strides = [0] * (len(shape) - value.ndim)
    strides += [0 if n == 1 else s for n, s in zip(value.shape, value.strides, strict=True)]
    return value, strides


# Keys ------------------------------------------------------------------------------------------


class Key:
    """x[...] by NumPy's rules: what the slices make of x, and the index arrays.

    Integers beside arrays count as arrays of no dimension: they are taken at once, and only their
    place counts.
    """

    def __init__(self, call: str, x: Array, key: Any) -> None:
        self.call, self.x = call, x
        items = self._expanded(list(key) if isinstance(key, tuple) else [key])
        axis = 0  # of x
        dims = 0  # of the view
        basic: list[Any] = []
        arrays: list[tuple[Array | None, int, int]] = []  # with its axis, and that of the view
        shapes: list[tuple[int, ...]] = []
        blocks: list[bool] = []  # of items that are arrays, and of others, as they follow
        first = 0
        for item in items:
            is_array = not (item is None or item is Ellipsis or isinstance(item, slice))
            if is_array and True not in blocks:
                first = dims
            if not blocks or blocks[-1] != is_array:
                blocks.append(is_array)
            if item is Ellipsis:
                continue
            if not is_array:
                basic.append(item)
                axis += item is not None
                dims += 1
            elif isinstance(item, bool):
                shapes.append((1,) if item else (0,))
            elif isinstance(item, int):
                basic.append(item)
                axis += 1
            else:
                for one in self._indices(item, axis):
                    arrays.append((one, axis, dims))
                    shapes.append(one.shape)
                    basic.append(slice(None))
                    axis += 1
                    dims += 1
        try:
            self.by_arrays = np.broadcast_shapes(*shapes)
        except ValueError:
            listed = ", ".join(str(shape) for shape in shapes)
            raise _core.IndexOutOfRange(
                f"{call}: arrays of indices have the shapes {listed}, which do not broadcast"
            ) from None
        self.view: Array = x[tuple(basic)]
        self.arrays = arrays
        taken = {dim for _, _, dim in arrays}
        at = 0 if blocks.count(True) > 1 else first
        before = [dim for dim in range(self.view.ndim) if dim not in taken and dim < at]
        behind = [dim for dim in range(self.view.ndim) if dim not in taken and dim >= at]
        sizes, strides = self.view.shape, self.view.strides
        count = len(self.by_arrays)
        self.last = len(before) + count
        self.shape = (
            *(sizes[d] for d in before), *self.by_arrays, *(sizes[d] for d in behind)
        )  # fmt: skip
        self.strides = [strides[d] for d in before] + [0] * count + [strides[d] for d in behind]

    def walk(self) -> Walk | None:
        """None where there are no index arrays."""
        if not self.arrays:
            return None
        walk = Walk(self.call, self.view, self.shape, self.strides)
        for array, axis, dim in self.arrays:
            assert array is not None
            walk.add(array, self.last, axis, self.view.shape[dim], self.view.strides[dim])
        return walk

    def _expanded(self, items: list[Any]) -> list[Any]:
        """With slices in the place of the Ellipsis, and masks and lists as arrays."""
        x, call = self.x, self.call
        read: list[Any] = []
        consumed = ellipses = 0
        for item in items:
            one = _read(call, item)
            read.append(one)
            if one is Ellipsis:
                ellipses += 1
            elif one is not None and not isinstance(one, bool):
                consumed += one.ndim if hasattr(one, "dtype") and one.dtype == BOOL else 1
        if ellipses > 1:
            raise _core.IndexOutOfRange("an index has one Ellipsis at most")
        if consumed > x.ndim:
            raise _core.IndexOutOfRange(
                f"an index of {consumed} items, but the Array has {x.ndim} dimensions (shape "
                f"{x.shape})"
            )
        rest: list[Any] = [slice(None)] * (x.ndim - consumed)
        if ellipses == 0:
            return read + rest
        at = next(i for i, one in enumerate(read) if one is Ellipsis)
        # It stands between what is around it, also where it has no dimensions.
        return read[:at] + (rest or [Ellipsis]) + read[at + 1 :]

    def _indices(self, item: Any, axis: int) -> list[Array]:
        x, call = self.x, self.call
        if item.dtype != BOOL:
            return [to_indices(call, x, item, axis, x.shape[axis])]
        check_mask(item.shape, x.shape[axis : axis + item.ndim])
        if isinstance(item, np.ndarray):
            found = np.nonzero(item)
            return [uploaded(call, x, one, axis + i, item.shape[i]) for i, one in enumerate(found)]
        x.backend._own(call, "a mask", item)
        return list(by_places(item))


def check_mask(mask: tuple[int, ...], shape: tuple[int, ...]) -> None:
    if mask != shape:
        raise _core.IndexOutOfRange(f"a mask of shape {mask} for an Array of shape {shape}")


def _read(call: str, item: Any) -> Any:
    """None, Ellipsis, a slice, a bool, an int, or an array: of the host or an Array."""
    from tilewright.array import Array

    if item is None or item is Ellipsis or isinstance(item, (slice, Array)):
        if isinstance(item, Array) and item.ndim == 0 and item.dtype == BOOL:
            return bool(item)
        return item
    if isinstance(item, (bool, np.bool_)):
        return bool(item)
    if isinstance(item, (list, tuple, range, np.ndarray)) or hasattr(item, "__dlpack__"):
        host = read_host(call, "an index", item)
        if host.size == 0 and not hasattr(item, "dtype"):
            host = host.astype(np.int32)
        if host.dtype.kind not in "biu":
            raise _core.IndexOutOfRange(
                f"{call}: an index is of dtype {host.dtype}, expected integers or bool"
            )
        if host.ndim == 0:
            return host.item()
        return host
    if hasattr(item, "__index__"):
        return int(item.__index__())
    _refuse(call, item)


def _refuse(call: str, item: Any) -> NoReturn:
    raise _core.IndexOutOfRange(
        f"{call}: an index is {shown(item)}, expected integers, slices, ..., None, masks and "
        "arrays of integers"
    )


def _basic(key: Any) -> Any:
    """The key with integers in the place of integers in arrays without dimensions; None where it
    has more than basic indices in it."""
    items = key if isinstance(key, tuple) else (key,)
    found: list[Any] = []
    for item in items:
        if hasattr(item, "dtype") and getattr(item, "shape", None) == ():
            if getattr(item.dtype, "kind", "") not in ("i", "u"):
                return None
            found.append(int(item))
        elif isinstance(item, bool) or not isinstance(item, (int, slice, NoneType, EllipsisType)):
            return None
        else:
            found.append(item)
    return tuple(found) if isinstance(key, tuple) else found[0]


def _one_mask(call: str, x: Array, key: Any) -> Array | None:
    """The key where it is one mask."""
    from tilewright.array import Array

    if isinstance(key, tuple) and len(key) == 1:
        key = key[0]
    if not isinstance(key, (Array, np.ndarray, list)):
        return None
    mask = key if isinstance(key, Array) else _read(call, key)
    if not hasattr(mask, "dtype") or mask.dtype != BOOL or mask.ndim == 0:
        return None
    if mask.ndim > x.ndim:
        raise _core.IndexOutOfRange(
            f"a mask of {mask.ndim} dimensions for an Array of {x.ndim} (shape {x.shape})"
        )
    check_mask(mask.shape, x.shape[: mask.ndim])
    if isinstance(mask, Array):
        x.backend._own(call, "a mask", mask)
        return mask
    return x.backend._upload(mask)


def placed(x: Array, given: Any, size: int) -> Array | None:
    """The host's indices of an axis on the device; None of what is to be read with more care, or to
    be refused."""
    if type(given) is list:
        if set(map(type, given)) != {int}:
            return None
        low, high = min(given), max(given)
    elif type(given) is np.ndarray:
        if given.ndim == 0 or given.size == 0 or given.dtype.kind not in "iu":
            return None
        low, high = given.min(), given.max()
    else:
        return None
    if low < -size or high >= size or size > MOST_INT32:
        return None
    return x.backend._upload(np.array(given, np.int32))


def _on_device(x: Array, key: Any) -> Any:
    """A key of slices, integers and arrays of them with the host's on the device; None where there
    are none of the host's, or other things, or some to refuse."""
    from tilewright.array import Array

    parts = list(key) if type(key) is tuple else [key]
    if len(parts) > x.ndim:
        return None
    is_changed = False
    for axis, part in enumerate(parts):
        kind = type(part)
        if kind is slice or kind is int or (kind is Array and part.dtype.kind in "iu"):
            continue
        there = placed(x, part, x.shape[axis])
        if there is None:
            return None
        parts[axis], is_changed = there, True
    if not is_changed:
        return None
    return tuple(parts) if type(key) is tuple else parts[0]


def take_by(x: Array, key: Any) -> Array:
    """x[key], where the key is more than integers and slices."""
    call = "x[...]"
    there = _on_device(x, key)
    if there is not None:
        return x[there]
    basic = _basic(key)
    if basic is not None:
        return x[basic]
    mask = _one_mask(call, x, key)
    if mask is not None:
        if mask.ndim == x.ndim and x.itemsize <= 8:
            return _core._chosen(x, mask)
        return x[by_places(mask)]
    found = Key(call, x, key)
    walk = found.walk()
    if walk is not None:
        return walk.take()
    # Only bools: a dimension of one element, or of none.
    result = x.backend._new(found.shape, x.dtype)
    if result.size:
        result[...] = found.view.reshape(found.shape)
    return result


def put_by(x: Array, key: Any, value: Any) -> None:
    """x[key] = value."""
    call = "x[...] = value"
    there = _on_device(x, key)
    if there is not None:
        x[there] = value
        return
    basic = _basic(key)
    if basic is not None:
        x[basic] = value
        return
    mask = _one_mask(call, x, key)
    if mask is not None:
        if not _put_one(x, mask, value):
            x[by_places(mask)] = value
        return
    found = Key(call, x, key)
    walk = found.walk()
    if walk is not None:
        walk.put(value)
    elif math.prod(found.shape):
        source, strides = to_source(x, value, found.shape)
        shape = found.shape
        found.view.reshape(shape, copy=False)[...] = source._view(shape, strides, source.offset)
    else:
        to_source(x, value, found.shape)


def _put_one(x: Array, mask: Array, value: Any) -> bool:
    """x[mask] = value, where it is the same for all that the mask chooses: without waiting for the
    device."""
    from tilewright import where
    from tilewright.array import Array

    is_array = isinstance(value, Array)
    if (value.size if is_array else np.size(value)) != 1 or (is_array and value.ndim > 1):
        return False
    source, _ = to_source(x, value, (1,))
    mask = mask.reshape(mask.shape + (1,) * (x.ndim - mask.ndim))
    where(mask, source.reshape(()), x, out=x)
    return True
