"""The standard's manipulation functions. Views where strides allow them, else one copy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright import _core
from tilewright.array import Array
from tilewright.call_forms import kept_by_form
from tilewright.namespace.dtypes import result_type
from tilewright.namespace.mixed import beside
from tilewright.operands import check_stored, invalid, shown, to_dtype, to_integer, to_shape
from tilewright.shapes import permuted, to_axes, to_one_axis
from tilewright.small_floats import can_cast

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from tilewright.namespace.devices import Device
    from tilewright.operands import ArrayLike


def _one(call: str, x: Any, name: str = "x") -> Array:
    if not isinstance(x, Array):
        invalid(call, f"{name} is {shown(x)}, expected an Array; write tw.asarray({name})")
    return x


def _several(call: str, arrays: Any) -> list[Array]:
    if isinstance(arrays, Array):
        return [_one(call, one) for one in arrays]
    if not isinstance(arrays, (tuple, list)) or not arrays:
        invalid(call, f"arrays is {shown(arrays)}, expected one Array at least")
    like = next((one for one in arrays if isinstance(one, Array)), None)
    found = [
        beside(call, f"arrays[{i}]", one, like)
        if like is not None and isinstance(one, (np.ndarray, np.generic, list, tuple))
        else _one(call, one, f"arrays[{i}]")
        for i, one in enumerate(arrays)
    ]
    for i, one in enumerate(found):
        if one.backend is not found[0].backend:
            invalid(call, f"arrays[{i}] is an Array of another backend than arrays[0]")
    return found


def astype(
    x: Array, dtype: npt.DTypeLike, /, *, copy: bool = True, device: Device | None = None
) -> Array:
    """x in another dtype, and on another device where one is given."""
    cast = _one("astype", x).astype(dtype, copy=copy)
    return cast if device is None else cast.to_device(device)


def reshape(
    a: Array, /, shape: int | Sequence[int], order: str = "C", *, copy: bool | None = None
) -> Array:
    return _one("reshape", a).reshape(shape, order=order, copy=copy)


def permute_dims(a: Array, axes: Sequence[int] | None = None) -> Array:
    """A view with the axes in another order."""
    a = _one("permute_dims", a)
    return permuted("permute_dims", a, range(a.ndim)[::-1] if axes is None else axes)


def matrix_transpose(x: Array, /) -> Array:
    """A view with the last two axes swapped."""
    return _one("matrix_transpose", x).mT


@kept_by_form
def moveaxis(a: Array, source: int | Sequence[int], destination: int | Sequence[int]) -> Array:
    """A view with some axes at other places."""
    a = _one("moveaxis", a)
    come = to_axes("moveaxis", source, a.ndim, "source")
    go = to_axes("moveaxis", destination, a.ndim, "destination")
    if len(come) != len(go):
        invalid("moveaxis", f"source has {len(come)} axes and destination {len(go)}")
    order = [i for i in range(a.ndim) if i not in come]
    for to, axis in sorted(zip(go, come, strict=True)):
        order.insert(to, axis)
    return permuted("moveaxis", a, order)


@kept_by_form
def expand_dims(a: Array, axis: int | Sequence[int] = 0) -> Array:
    """A view with new axes of one element."""
    a = _one("expand_dims", a)
    count = len(axis) if isinstance(axis, (tuple, list)) else 1
    axes = to_axes("expand_dims", axis, a.ndim + count)
    return a[tuple(None if i in axes else slice(None) for i in range(a.ndim + count))]


@kept_by_form
def squeeze(a: Array, axis: int | Sequence[int] | None = None) -> Array:
    """A view without axes of one element, all of them unless some are given."""
    return _one("squeeze", a).squeeze(axis)


def flip(m: Array, axis: int | Sequence[int] | None = None) -> Array:
    """A view with the elements in reverse order along axes, all of them unless some are given."""
    m = _one("flip", m)
    axes = range(m.ndim) if axis is None else to_axes("flip", axis, m.ndim)
    backwards = slice(None, None, -1)
    return m[tuple(backwards if i in axes else slice(None) for i in range(m.ndim))]


def broadcast_shapes(*shapes: Sequence[int]) -> tuple[int, ...]:
    """The shape that Arrays of these shapes broadcast to."""
    all_shapes = [to_shape("broadcast_shapes", shape) for shape in shapes]
    if all_shapes and all(shape == all_shapes[0] for shape in all_shapes):
        return all_shapes[0]
    rank = max((len(shape) for shape in all_shapes), default=0)
    result = [1] * rank
    for shape in all_shapes:
        for i, size in enumerate(shape, rank - len(shape)):
            if size != result[i] and size != 1:
                if result[i] != 1:
                    listed = ", ".join(str(one) for one in all_shapes)
                    invalid("broadcast", f"the shapes {listed} do not broadcast together")
                result[i] = size
    return tuple(result)


def broadcast_to(array: Array, shape: int | Sequence[int], subok: bool = False) -> Array:
    """A view in which elements of axes of one stand for many. Not to be written."""
    array = _one("broadcast_to", array)
    sizes = to_shape("broadcast_to", shape)
    view = array._broadcast(sizes)
    if view is None:
        broadcast_shapes(array.shape, sizes)
        invalid("broadcast_to", f"x of shape {array.shape} does not broadcast to {sizes}")
    return view


@kept_by_form
def broadcast_arrays(*args: Array, subok: bool = False) -> tuple[Array, ...]:
    """Views of one shape."""
    if not args:
        return ()
    found = _several("broadcast_arrays", list(args))
    shape = broadcast_shapes(*(one.shape for one in found))
    return tuple(broadcast_to(one, shape) for one in found)


def concat(
    arrays: Sequence[ArrayLike], /, axis: int | None = 0, out: Array | None = None, *,
    dtype: npt.DTypeLike | None = None, casting: str = "same_kind",
) -> Array:  # fmt: skip
    """One after the other along an axis; None flattens them first. What the host has is copied to
    the device of the Arrays among them."""
    if out is None and dtype is None:
        found = _core._joined(arrays, axis, False)
        if found is not None:
            return found
    parts = _several("concat", arrays)
    if axis is None:
        parts, axis = [one.reshape(-1) for one in parts], 0
    if parts[0].ndim == 0:
        invalid("concat", "arrays have no dimension, expected one at least; stack() adds one")
    along = to_one_axis("concat", axis, parts[0].ndim)
    first = parts[0].shape
    for i, one in enumerate(parts):
        if one.ndim != len(first) or any(
            a != b for at, (a, b) in enumerate(zip(one.shape, first, strict=True)) if at != along
        ):
            invalid(
                "concat",
                f"arrays[{i}] has shape {one.shape} and arrays[0] {first}, expected the same "
                f"sizes but for axis {along}",
            )
    total = sum(one.shape[along] for one in parts)
    shape = (*first[:along], total, *first[along + 1 :])
    result = _target("concat", out, parts, shape, dtype, casting)
    at = 0
    for one in parts:
        size = one.shape[along]
        place: list[Any] = [slice(None)] * len(shape)
        place[along] = slice(at, at + size)
        result[tuple(place)] = one
        at += size
    return result


def _target(
    call: str, out: Array | None, parts: list[Array], shape: tuple[int, ...], dtype: Any,
    casting: str,
) -> Array:  # fmt: skip
    alike = all(one.dtype is parts[0].dtype for one in parts)
    wanted = parts[0].dtype if alike else result_type(*parts)
    if dtype is not None:
        if out is not None:
            raise TypeError(f"{call}: dtype and out are given, expected one of them")
        dtype = to_dtype(call, dtype)
        check_stored(call, parts[0].backend, dtype)
        for i, one in enumerate(parts):
            if not can_cast(one.dtype, dtype, casting):
                raise TypeError(f"{call}: arrays[{i}] is {one.dtype}, no {dtype} by {casting!r}")
        wanted = dtype
    if out is None:
        return parts[0].backend._new(shape, wanted)
    parts[0].backend._own(call, "out", _one(call, out, "out"))
    if out.shape != shape or out.dtype != wanted:
        invalid(
            call, f"out is {out.dtype} of shape {out.shape}, expected {wanted} of shape {shape}"
        )
    if any(out.overlaps(one) for one in parts):
        invalid(call, "out overlaps one of the arrays, expected another Array")
    return out


def stack(
    arrays: Sequence[ArrayLike], axis: int = 0, out: Array | None = None, *,
    dtype: npt.DTypeLike | None = None, casting: str = "same_kind",
) -> Array:  # fmt: skip
    """Along a new axis."""
    if out is None and dtype is None:
        found = _core._joined(arrays, axis, True)
        if found is not None:
            return found
    parts = _several("stack", arrays)
    for i, one in enumerate(parts):
        if one.shape != parts[0].shape:
            invalid("stack", f"arrays[{i}] has shape {one.shape} and arrays[0] {parts[0].shape}")
    at = to_one_axis("stack", axis, parts[0].ndim + 1)
    apart = [expand_dims(one, at) for one in parts]
    return concat(apart, axis=at, out=out, dtype=dtype, casting=casting)


@kept_by_form
def unstack(x: Array, /, *, axis: int = 0) -> tuple[Array, ...]:
    """Views of the pieces along an axis."""
    x = _one("unstack", x)
    if x.ndim == 0:
        invalid("unstack", "x has no dimension, expected one at least")
    at = to_one_axis("unstack", axis, x.ndim)
    before = (slice(None),) * at
    return tuple(x[(*before, i)] for i in range(x.shape[at]))


@kept_by_form
def roll(a: Array, shift: int | Sequence[int], axis: int | Sequence[int] | None = None) -> Array:
    """The elements moved along axes, what leaves at one end comes in at the other; along all of the
    array as if it had one dimension where no axis is given."""
    a = _one("roll", a)
    if axis is None:
        by = to_integer("roll", "shift", shift)
        return roll(a.reshape(-1), by, axis=0).reshape(a.shape)
    given = tuple(axis) if isinstance(axis, (tuple, list)) else (axis,)
    steps = tuple(shift) if isinstance(shift, (tuple, list)) else (shift,) * len(given)
    if len(steps) != len(given):
        invalid("roll", f"shift has {len(steps)} numbers and axis {len(given)}, expected as many")
    # An axis may come twice: its shifts add up.
    total = [0] * a.ndim
    for one, step in zip(given, steps, strict=True):
        at = to_one_axis("roll", one, a.ndim)
        total[at] += to_integer("roll", "shift", step)
    moved = False
    for at, step in enumerate(total):
        size = a.shape[at]
        if size == 0 or step % size == 0:
            continue
        before = (slice(None),) * at
        cut = size - step % size
        a = concat([a[(*before, slice(cut, None))], a[(*before, slice(0, cut))]], axis=at)
        moved = True
    return a if moved else a.copy()


@kept_by_form
def repeat(a: Array, repeats: Any, axis: int | None = None) -> Array:
    """Each element several times, along an axis, or of the array flattened: as often as an integer
    says, or an array of them with one for each place along the axis."""
    a = _one("repeat", a)
    if axis is None:
        a, axis = a.reshape(-1), 0
    at = to_one_axis("repeat", axis, a.ndim)
    if isinstance(repeats, (Array, np.ndarray, list, tuple)) and np.shape(repeats):
        if np.shape(repeats) != (1,):
            return _repeated_each(a, repeats, at)
        repeats = repeats[0]
    count = to_integer("repeat", "repeats", repeats)
    if count < 0:
        invalid("repeat", f"repeats is {count}, expected 0 or more")
    longer = (*a.shape[: at + 1], count, *a.shape[at + 1 :])
    result = (*a.shape[:at], a.shape[at] * count, *a.shape[at + 1 :])
    return broadcast_to(expand_dims(a, at + 1), longer).copy().reshape(result)


def _repeated_each(x: Array, repeats: Any, axis: int) -> Array:
    """Taken from where the sums of the counts end. How many there are is read."""
    from tilewright.namespace import creation, reductions, selection

    counts = creation.asarray(repeats, device=x.backend)
    if counts.ndim != 1 or counts.dtype.kind not in "iu" or counts.size != x.shape[axis]:
        invalid(
            "repeat",
            f"repeats is {counts.dtype} of shape {counts.shape}, expected {x.shape[axis]} integers "
            f"for axis {axis}",
        )
    if counts.size == 0:
        return x.copy()
    low = reductions.min(counts).item()
    if low < 0:
        invalid("repeat", f"repeats has {low}, expected 0 or more")
    ends = reductions.cumulative_sum(counts)
    every = creation.arange(ends[-1].item(), dtype=ends.dtype, device=x.backend)
    return selection.take(x, selection.searchsorted(ends, every, side="right"), axis)


@kept_by_form
def tile(A: Array, reps: int | Sequence[int]) -> Array:
    """The array several times along each axis."""
    A = _one("tile", A)
    counts = to_shape("tile", reps)
    counts = (1,) * (A.ndim - len(counts)) + counts
    own = (1,) * (len(counts) - A.ndim) + A.shape
    pairs: list[int] = []
    apart: list[int] = []
    for count, size in zip(counts, own, strict=True):
        pairs += [count, size]
        apart += [1, size]
    result = tuple(count * size for count, size in zip(counts, own, strict=True))
    if len(pairs) > 64:
        raise _core.Unsupported(f"tile: {len(counts)} dimensions, expected at most 32")
    return broadcast_to(A.reshape(apart), pairs).copy().reshape(result)


@kept_by_form
def diff(a: Array, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Array:
    """The differences of neighbours along an axis, n times."""
    a = _one("diff", a)
    at = to_one_axis("diff", axis, a.ndim)
    times = to_integer("diff", "n", n)
    if times < 0:
        invalid("diff", f"n is {times}, expected 0 or more")
    ends = [one for one in (_end(a, "prepend", prepend, at), a, _end(a, "append", append, at))
            if one is not None]  # fmt: skip
    if len(ends) > 1:
        a = concat(ends, axis=at)
    before = (slice(None),) * at
    for _ in range(times):
        above, below = a[(*before, slice(1, None))], a[(*before, slice(None, -1))]
        a = above ^ below if a.dtype.kind == "b" else above - below
    return a


def _end(x: Array, name: str, given: Any, axis: int) -> Array | None:
    """What comes before or after x along an axis: a number stands for one along it."""
    if given is None:
        return None
    one = beside("diff", name, given, x)
    if one.ndim:
        return one
    return broadcast_to(one, (*x.shape[:axis], 1, *x.shape[axis + 1 :]))
