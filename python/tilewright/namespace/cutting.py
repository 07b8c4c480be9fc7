"""NumPy's functions that cut arrays and turn them: views, but for what has more elements."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from tilewright.array import Array
from tilewright.call_forms import kept_by_form
from tilewright.namespace.manipulation import concat, flip, moveaxis
from tilewright.namespace.mixed import an_array
from tilewright.operands import invalid, shown, to_integer, to_shape
from tilewright.shapes import to_axes, to_one_axis

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "array_split",
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "copy",
    "dsplit",
    "fliplr",
    "flipud",
    "hsplit",
    "ravel",
    "resize",
    "rollaxis",
    "rot90",
    "split",
    "swapaxes",
    "vsplit",
]


def _raised(call: str, arrays: tuple[Any, ...], rank: int) -> Array | tuple[Array, ...]:
    found = []
    for i, one in enumerate(arrays):
        x = an_array(call, one, f"arrays[{i}]")
        if x.ndim == 2 and rank == 3:
            x = x[:, :, None]
        elif x.ndim == 1 and rank == 3:
            x = x[None, :, None]
        elif x.ndim < rank:
            x = x.reshape((1,) * (rank - x.ndim) + x.shape)
        found.append(x)
    return found[0] if len(found) == 1 else tuple(found)


@overload
def atleast_1d(ary: Array, /) -> Array: ...
@overload
def atleast_1d(*arys: Array) -> tuple[Array, ...]: ...
def atleast_1d(*arys: Array) -> Array | tuple[Array, ...]:
    """Views of one dimension at least, of one Array or several."""
    return _raised("atleast_1d", arys, 1)


@overload
def atleast_2d(ary: Array, /) -> Array: ...
@overload
def atleast_2d(*arys: Array) -> tuple[Array, ...]: ...
def atleast_2d(*arys: Array) -> Array | tuple[Array, ...]:
    """Views of two dimensions at least, new ones in front."""
    return _raised("atleast_2d", arys, 2)


@overload
def atleast_3d(ary: Array, /) -> Array: ...
@overload
def atleast_3d(*arys: Array) -> tuple[Array, ...]: ...
def atleast_3d(*arys: Array) -> Array | tuple[Array, ...]:
    """Views of three dimensions at least: vectors lie along the second one."""
    return _raised("atleast_3d", arys, 3)


def _cuts(call: str, given: Any, size: int, even: bool) -> list[int]:
    """Where parts begin and end."""
    if isinstance(given, (int, np.integer)) and not isinstance(given, bool):
        count = int(given)
        if count <= 0:
            invalid(call, f"indices_or_sections is {count}, expected 1 or more")
        if even and size % count:
            invalid(call, f"{size} elements do not make {count} equal parts; use array_split")
        each, more = divmod(size, count)
        return [i * each + min(i, more) for i in range(count + 1)]
    host = given._numbers() if isinstance(given, Array) else given
    try:
        cuts = [to_integer(call, "indices_or_sections", one) for one in host]
    except TypeError:
        invalid(call, f"indices_or_sections is {shown(given)}, expected an integer or several")
    return [0, *cuts, size]


def _split(call: str, x: Any, given: Any, axis: int, even: bool) -> list[Array]:
    x = an_array(call, x, "ary")
    at = to_one_axis(call, axis, x.ndim)
    cuts = _cuts(call, given, x.shape[at], even)
    before = (slice(None),) * at
    return [x[(*before, slice(a, b))] for a, b in pairwise(cuts)]


@kept_by_form
def split(ary: Array, indices_or_sections: Any, axis: int = 0) -> list[Array]:
    """Views of parts along an axis: so many equal ones, or those between places."""
    return _split("split", ary, indices_or_sections, axis, True)


@kept_by_form
def array_split(ary: Array, indices_or_sections: Any, axis: int = 0) -> list[Array]:
    """split() whose first parts are one longer where the parts cannot be equal."""
    return _split("array_split", ary, indices_or_sections, axis, False)


@kept_by_form
def hsplit(ary: Array, indices_or_sections: Any) -> list[Array]:
    """split() along the second axis; of vectors along their only one."""
    rank = an_array("hsplit", ary, "ary").ndim
    if rank == 0:
        invalid("hsplit", "ary has no dimensions, expected one at least")
    return _split("hsplit", ary, indices_or_sections, min(1, rank - 1), True)


@kept_by_form
def vsplit(ary: Array, indices_or_sections: Any) -> list[Array]:
    """split() along the first axis of two at least."""
    if an_array("vsplit", ary, "ary").ndim < 2:
        invalid("vsplit", f"ary has shape {ary.shape}, expected two dimensions at least")
    return _split("vsplit", ary, indices_or_sections, 0, True)


@kept_by_form
def dsplit(ary: Array, indices_or_sections: Any) -> list[Array]:
    """split() along the third axis."""
    if an_array("dsplit", ary, "ary").ndim < 3:
        invalid("dsplit", f"ary has shape {ary.shape}, expected three dimensions at least")
    return _split("dsplit", ary, indices_or_sections, 2, True)


def flipud(m: Array) -> Array:
    """A view with the first axis in reverse order."""
    if an_array("flipud", m, "m").ndim < 1:
        invalid("flipud", "m has no dimensions, expected one at least")
    return flip(m, axis=0)


def fliplr(m: Array) -> Array:
    """A view with the second axis in reverse order."""
    if an_array("fliplr", m, "m").ndim < 2:
        invalid("fliplr", f"m has shape {m.shape}, expected two dimensions at least")
    return flip(m, axis=1)


@kept_by_form
def rot90(m: Array, k: int = 1, axes: Sequence[int] = (0, 1)) -> Array:
    """A view turned k times by 90 degrees in the plane of two axes, from the first to the
    second."""
    m = an_array("rot90", m, "m")
    two = to_axes("rot90", axes, m.ndim, "axes")
    if len(two) != 2:
        invalid("rot90", f"axes is {shown(axes)}, expected two")
    turns = to_integer("rot90", "k", k) % 4
    if turns == 0:
        return m[...]
    if turns == 2:
        return flip(m, axis=two)
    if turns == 1:
        return flip(m, axis=two[1]).swapaxes(*two)
    return flip(m.swapaxes(*two), axis=two[1])


@kept_by_form
def resize(a: Array, new_shape: int | Sequence[int]) -> Array:
    """A copy in another shape of any size: elements are repeated where there are too few."""
    a = an_array("resize", a, "a")
    shape = to_shape("resize", new_shape)
    wanted = int(np.prod(shape, dtype=object))
    flat = a.reshape(-1)
    if wanted == 0 or flat.size == 0:
        made: Array = a.backend._new(shape, a.dtype)
        made[...] = 0
        return made
    whole = [flat] * (-(-wanted // flat.size))
    return concat(whole)[:wanted].reshape(shape)


def rollaxis(a: Array, axis: int, start: int = 0) -> Array:
    """A view with one axis before another one."""
    a = an_array("rollaxis", a, "a")
    at = to_one_axis("rollaxis", axis, a.ndim)
    to = to_integer("rollaxis", "start", start)
    if not -a.ndim <= to <= a.ndim:
        invalid("rollaxis", f"start is {to}, expected {-a.ndim} to {a.ndim}")
    to += a.ndim if to < 0 else 0
    return moveaxis(a, at, to - 1 if at < to else to)


def swapaxes(a: Array, axis1: int, axis2: int) -> Array:
    """A view with two axes swapped."""
    return an_array("swapaxes", a, "a").swapaxes(axis1, axis2)


def ravel(a: Array, order: str = "C") -> Array:
    """The elements in one dimension, row by row or, for order="F", column by column: a view where
    strides allow it."""
    a = an_array("ravel", a, "a")
    return a.ravel(order)


def copy(a: Array, order: str = "K", subok: bool = False) -> Array:
    """A copy on the device."""
    return an_array("copy", a, "a").copy(order)
