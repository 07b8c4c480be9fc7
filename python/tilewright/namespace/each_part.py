"""NumPy's functions that call one of Python for each part of an Array."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright.array import Array
from tilewright.namespace.creation import asarray, zeros
from tilewright.namespace.manipulation import expand_dims, stack
from tilewright.namespace.mixed import an_array, beside
from tilewright.operands import invalid, shown, to_integer
from tilewright.shapes import to_one_axis

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["apply_along_axis", "apply_over_axes", "piecewise", "trim_zeros"]


def apply_along_axis(
    func1d: Callable[..., Any], axis: int, arr: Array, *args: Any, **kwargs: Any
) -> Array:
    """What a function makes of each vector along an axis, in that axis' place. It is called for one
    vector after another: a function with an axis of its own takes one call for all."""
    x = an_array("apply_along_axis", arr, "arr")
    at = to_one_axis("apply_along_axis", axis, x.ndim)
    rows = x.transpose([*(i for i in range(x.ndim) if i != at), at])
    outer = rows.shape[:-1]
    if 0 in outer:
        invalid("apply_along_axis", f"arr has shape {x.shape}, in which no vector is along {at}")
    found = [
        asarray(func1d(rows[place], *args, **kwargs), device=x.backend)
        for place in itertools.product(*map(range, outer))
    ]
    shape = found[0].shape
    made = stack(found).reshape((*outer, *shape))
    # The axes of what the function gives go where the axis was.
    order = [*range(at), *range(len(outer), made.ndim), *range(at, len(outer))]
    return made.transpose(order)


def apply_over_axes(func: Callable[..., Any], a: Array, axes: int | Sequence[int]) -> Array:
    """func(x, axis) of one axis after another, each of which stays with the size that it gets."""
    found = an_array("apply_over_axes", a, "a")
    count = found.ndim
    for axis in [axes] if np.ndim(axes) == 0 else list(axes):  # type: ignore[arg-type]
        at = to_one_axis("apply_over_axes", axis, count)
        result = an_array("apply_over_axes", func(found, at), "what func returns")
        if result.ndim == count - 1:
            result = expand_dims(result, axis=at)
        if result.ndim != count:
            invalid("apply_over_axes", f"func gave shape {result.shape}, expected {count} "
                    f"dimensions or one less")  # fmt: skip
        found = result
    return found


def piecewise(x: Array, condlist: Any, funclist: Sequence[Any], *args: Any, **kw: Any) -> Array:
    """What each function makes of the elements where its condition holds, the last one that does
    counting; one function more is for those where none does. Numbers stand for themselves."""
    x = an_array("piecewise", x)
    if (
        isinstance(condlist, Array)
        or not isinstance(condlist, (list, tuple))
        or (
            condlist and not isinstance(condlist[0], Array) and np.ndim(condlist[0]) == 0 and x.ndim
        )
    ):
        condlist = [condlist]
    conditions = [
        beside("piecewise", f"condlist[{i}]", one, x).astype("bool", copy=False)
        for i, one in enumerate(condlist)
    ]
    if len(funclist) not in (len(conditions), len(conditions) + 1):
        count = len(conditions)
        invalid("piecewise", f"funclist has {len(funclist)} functions, expected {count} or "
                f"{count + 1} with {count} conditions")  # fmt: skip
    if len(funclist) > len(conditions):
        none = ~conditions[0]
        for one in conditions[1:]:
            none = none & ~one
        conditions.append(none)
    result = zeros(x.shape, dtype=x.dtype, device=x.backend)
    for condition, function in zip(conditions, funclist, strict=True):
        if not callable(function):
            result[condition] = function
            continue
        values = x[condition]
        if values.size:
            result[condition] = function(values, *args, **kw)
    return result


def trim_zeros(filt: Array, trim: str = "fb", axis: Any = None) -> Array:
    """A view without the zeros at the front and at the back, of several dimensions without planes
    of nothing else. Waits for the device, since its shape is of the values."""
    x = an_array("trim_zeros", filt, "filt")
    said = str(trim).lower()
    if not isinstance(trim, str) or said not in ("fb", "bf", "f", "b"):
        invalid("trim_zeros", f"trim is {shown(trim)}, expected 'f', 'b' or 'fb'")
    if axis is None:
        axes = list(range(x.ndim))
    else:
        given = [axis] if np.ndim(axis) == 0 else list(axis)
        axes = [to_one_axis("trim_zeros", to_integer("trim_zeros", "axis", one), x.ndim)
                for one in given]  # fmt: skip
    places = [one.numpy() for one in (x != 0).nonzero()]
    cut: list[slice] = [slice(None)] * x.ndim
    for at in axes:
        first, past = (int(places[at].min()), int(places[at].max()) + 1) if places[at].size else (
            (x.shape[at], x.shape[at]) if "f" in said else (0, 0)
        )  # fmt: skip
        cut[at] = slice(first if "f" in said else 0, past if "b" in said else x.shape[at])
    return x[tuple(cut)]
