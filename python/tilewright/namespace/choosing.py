"""NumPy's functions that choose elements by conditions, and those that write the chosen ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright import _core
from tilewright.array import Array
from tilewright.namespace.dtypes import result_type
from tilewright.namespace.elementwise import clip, remainder, where
from tilewright.namespace.manipulation import broadcast_arrays, broadcast_to, concat, stack
from tilewright.namespace.mixed import an_array, beside, first_array, together, written
from tilewright.namespace.reductions import any as any_of
from tilewright.namespace.reductions import cumulative_sum
from tilewright.namespace.selection import nonzero, take, take_along_axis
from tilewright.namespace.sorting import argsort
from tilewright.operands import invalid, shown
from tilewright.shapes import to_one_axis
from tilewright.small_floats import can_cast

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tilewright.operands import ArrayLike

__all__ = [
    "choose",
    "compress",
    "copyto",
    "extract",
    "lexsort",
    "place",
    "putmask",
    "select",
]


def select(
    condlist: Sequence[ArrayLike], choicelist: Sequence[ArrayLike], default: Any = 0
) -> Array:
    """The elements of the first choice whose condition is true, `default` where none is."""
    if len(condlist) != len(choicelist) or not len(condlist):
        invalid(
            "select", f"condlist has {len(condlist)} conditions and choicelist {len(choicelist)} "
            "choices, expected as many and one at least"
        )  # fmt: skip
    like = first_array("select", "condlist", [*condlist, *choicelist, default])
    conditions = [beside("select", f"condlist[{i}]", c, like) for i, c in enumerate(condlist)]
    for i, one in enumerate(conditions):
        if one.dtype.kind != "b":
            raise TypeError(f"select: condlist[{i}] is {one.dtype}, expected bool")
    numbers = (bool, int, float, complex)
    kept: list[Any] = [
        one if type(one) in numbers else beside("select", "a choice", one, like)
        for one in (*choicelist, default)
    ]
    dtype = result_type(*kept)
    parts = [beside("select", "a choice", one, like).astype(dtype, copy=False) for one in kept]
    shapes = broadcast_arrays(*conditions, *parts)
    conditions, parts = list(shapes[: len(conditions)]), list(shapes[len(conditions) :])
    found = parts.pop()
    for condition, part in zip(reversed(conditions), reversed(parts), strict=True):
        found = where(condition, part, found)
    return found if found.is_contiguous else found.copy()


def choose(a: ArrayLike, choices: Any, out: Array | None = None, mode: str = "raise") -> Array:
    """For each element of a, a number of a choice, the element of that choice; all broadcast."""
    parts = list(choices)
    like = first_array("choose", "choices", [a, *parts])
    index = beside("choose", "a", a, like)
    if index.dtype.kind not in "biu":
        raise TypeError(f"choose: a is {index.dtype}, expected integers")
    if not parts:
        invalid("choose", "choices has no elements")
    read = [beside("choose", f"choices[{i}]", one, like) for i, one in enumerate(parts)]
    dtype = result_type(*read)
    index, *read = broadcast_arrays(index, *(one.astype(dtype, copy=False) for one in read))
    if index.dtype.kind == "b":
        index = index.astype("uint8")
    if mode == "raise":
        out_of = (index < 0) | (index >= len(read))
        if bool(any_of(out_of)):
            invalid("choose", f"a has numbers that are none of the {len(read)} choices")
    elif mode in ("wrap", "clip"):
        wide = index.astype(np.promote_types(index.dtype, "int16"))
        last = len(read) - 1
        index = remainder(wide, len(read)) if mode == "wrap" else clip(wide, 0, last)
    else:
        invalid("choose", f"mode is {shown(mode)}, expected 'raise', 'wrap' or 'clip'")
    found = take_along_axis(stack(read), index[None], axis=0)[0]
    return written("choose", out, found)


def _mask(call: str, name: str, given: Any, like: Array) -> Array:
    mask = beside(call, name, given, like)
    return mask if mask.dtype.kind == "b" else mask != 0


def extract(condition: ArrayLike, arr: ArrayLike) -> Array:
    """The elements where the condition is true, both as one dimension. Waits for the device."""
    like = first_array("extract", "arr", [arr, condition])
    x = beside("extract", "arr", arr, like).reshape(-1)
    return compress(_mask("extract", "condition", condition, like).reshape(-1), x)


def compress(
    condition: ArrayLike, a: ArrayLike, axis: int | None = None, out: Array | None = None
) -> Array:
    """The parts along an axis, or elements of the array as one dimension, where the condition, a
    vector that may be shorter, is true. Waits for the device."""
    like = first_array("compress", "a", [a, condition])
    x = beside("compress", "a", a, like)
    mask = _mask("compress", "condition", condition, like)
    if mask.ndim != 1:
        invalid("compress", f"condition has shape {mask.shape}, expected one dimension")
    if axis is None:
        x, axis = x.reshape(-1), 0
    at = to_one_axis("compress", axis, x.ndim)
    return written("compress", out, take(x, nonzero(mask)[0], at))


def _cycled(values: Array, places: Array) -> Array:
    """The values, which start anew where they end, at these places."""
    return take(values, remainder(places, values.size))


def _values(call: str, name: str, given: Any, x: Array) -> Array:
    values = beside(call, name, given, x, is_written=True)
    return values.reshape(-1).astype(x.dtype, copy=False)


def place(arr: Array, mask: ArrayLike, vals: ArrayLike) -> None:
    """Writes the values one after the other where a mask is true, again from the first where there
    are too few."""
    arr = an_array("place", arr, "arr")
    chosen = _mask("place", "mask", mask, arr)
    if chosen.size != arr.size:
        invalid("place", f"mask has shape {chosen.shape} and arr {arr.shape}, expected one size")
    values = _values("place", "vals", vals, arr)
    _core._make_writable(arr, "place")
    flat = chosen.reshape(-1)
    if not values.size:
        if flat.size and bool(any_of(flat)):
            invalid("place", "vals has no elements, expected one at least")
        return
    if flat.size:
        which = cumulative_sum(flat, axis=0) - 1
        new = _cycled(values, clip(which, 0))
        arr[...] = where(chosen.reshape(arr.shape), new.reshape(arr.shape), arr)


def putmask(a: Array, mask: ArrayLike, values: ArrayLike) -> None:
    """Writes where a mask is true the value of the same place, the values repeated to the size of
    the array."""
    a = an_array("putmask", a, "a")
    chosen = _mask("putmask", "mask", mask, a)
    if chosen.size != a.size:
        invalid("putmask", f"mask has shape {chosen.shape} and a {a.shape}, expected one size")
    new = _values("putmask", "values", values, a)
    _core._make_writable(a, "putmask")
    if not new.size or not a.size:
        return
    if new.size not in (1, a.size):
        new = concat([new] * -(-a.size // new.size))[: a.size] if new.size < a.size else new
        new = new[: a.size]
    new = broadcast_to(new, (1,)) if new.size == 1 else new.reshape(a.shape)
    a[...] = where(chosen.reshape(a.shape), new, a)


def copyto(dst: Array, src: ArrayLike, casting: str = "same_kind", where: ArrayLike = True) -> None:
    """Writes src, broadcast, into dst where a condition is true."""
    from tilewright.namespace import elementwise

    dst = an_array("copyto", dst, "dst")
    source = beside("copyto", "src", src, dst, is_written=True)
    if not can_cast(source.dtype, dst.dtype, casting):
        raise TypeError(f"copyto: src is {source.dtype}, no {dst.dtype} by casting {casting!r}")
    _core._make_writable(dst, "copyto")
    source = source.astype(dst.dtype, copy=False)
    if where is True:
        dst[...] = source
        return
    (condition,) = (beside("copyto", "where", where, dst),)
    if condition.dtype.kind != "b":
        raise TypeError(f"copyto: where is {condition.dtype}, expected bool")
    shape = dst.shape
    condition, source = broadcast_to(condition, shape), broadcast_to(source, shape)
    dst[...] = elementwise.where(condition, source, dst)


def lexsort(keys: Any, axis: int = -1) -> Array:
    """Where the elements are of a sort by several keys, by the last one first."""
    given = list(keys)
    if not given:
        invalid("lexsort", "keys is empty, expected one at least")
    parts = together("lexsort", **{f"key{i}": one for i, one in enumerate(given)})
    order = argsort(parts[0], axis)
    for key in parts[1:]:
        order = take_along_axis(order, argsort(take_along_axis(key, order, axis), axis), axis)
    return order
