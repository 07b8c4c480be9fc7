"""Arrays with more around them, by NumPy's modes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright.array import Array
from tilewright.call_forms import kept_by_form
from tilewright.namespace.creation import full
from tilewright.namespace.manipulation import broadcast_to, concat
from tilewright.operands import invalid, shown, to_integer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy.typing as npt

MODES = ("constant", "edge", "reflect", "symmetric", "wrap")


@kept_by_form
def pad(
    x: Array,
    pad_width: int | Sequence[Any],
    /,
    mode: str = "constant",
    *,
    constant_values: Any = 0,
) -> Array:
    """x with pad_width elements in front of and behind it along each axis: an integer for all, a
    pair for all axes, or a pair for each. mode is "constant", "edge" (the last elements again),
    "reflect" and "symmetric" (a mirror without and with them), or "wrap"."""
    if not isinstance(x, Array):
        invalid("pad", f"x is {shown(x)}, expected an Array; write tw.asarray(x)")
    if mode not in MODES:
        invalid("pad", f"mode is {shown(mode)}, expected one of {', '.join(MODES)}")
    widths = _widths("pad_width", pad_width, x.ndim, lambda one: _width(one))
    if mode == "constant":
        return _with_values(x, widths, constant_values)
    for axis, (front, behind) in enumerate(widths):
        if front or behind:
            x = _extended(x, axis, front, behind, mode)
    return x


def _width(value: Any) -> int:
    width = to_integer("pad", "pad_width", value)
    if width < 0:
        invalid("pad", f"pad_width has {width}, expected 0 or more")
    return width


def _widths(name: str, given: Any, rank: int, read: Callable[[Any], Any]) -> list[tuple[Any, Any]]:
    """A value in front and one behind for each axis."""
    shape = np.shape(given)
    if shape == ():
        return [(read(given), read(given))] * rank
    if shape == (1,):
        return [(read(given[0]), read(given[0]))] * rank
    if shape == (2,):
        return [(read(given[0]), read(given[1]))] * rank
    if shape == (rank, 1):
        return [(read(one[0]), read(one[0])) for one in given]
    if shape == (rank, 2):
        return [(read(one[0]), read(one[1])) for one in given]
    if shape == (1, 2):
        return [(read(given[0][0]), read(given[0][1]))] * rank
    invalid("pad", f"{name} is {shown(given)}, expected a number or pairs for {rank} axes")


def _with_values(x: Array, widths: list[tuple[int, int]], given: Any) -> Array:
    values = _widths("constant_values", given, x.ndim, lambda one: one)
    shape = tuple(f + size + b for size, (f, b) in zip(x.shape, widths, strict=True))
    everywhere = len({one for pair in values for one in pair}) < 2
    start = values[0][0] if values and everywhere else 0
    result = full(shape, start, dtype=x.dtype, device=x.backend)
    result[tuple(slice(f, f + n) for n, (f, _) in zip(x.shape, widths, strict=True))] = x
    if everywhere:
        return result
    for axis, ((front, behind), (before, after)) in enumerate(zip(widths, values, strict=True)):
        # Later axes win where two meet; earlier ones are whole by then.
        inner = tuple(slice(None) for _ in range(axis))
        outer = tuple(
            slice(f, f + n)
            for n, (f, _) in zip(x.shape[axis + 1 :], widths[axis + 1 :], strict=True)
        )
        if front:
            result[(*inner, slice(0, front), *outer)] = before
        if behind:
            result[(*inner, slice(shape[axis] - behind, None), *outer)] = after
    return result


def _extended(x: Array, axis: int, front: int, behind: int, mode: str) -> Array:
    size = x.shape[axis]
    if size == 0:
        invalid("pad", f"x of shape {x.shape} has nothing along axis {axis} for mode {mode!r}")
    before = _places(np.arange(-front, 0), size, mode)
    after = _places(np.arange(size, size + behind), size, mode)
    return concat([*_parts(x, axis, before), x, *_parts(x, axis, after)], axis=axis)


def _places(index: npt.NDArray[np.int64], size: int, mode: str) -> npt.NDArray[np.int64]:
    """Which elements stand at positions before and behind an axis."""
    if mode == "edge" or (mode == "reflect" and size == 1):
        return index.clip(0, size - 1)
    if mode == "wrap":
        return index % size
    if mode == "symmetric":
        index = index % (2 * size)
        return np.minimum(index, 2 * size - 1 - index)
    index = index % (2 * size - 2)
    return np.minimum(index, 2 * size - 2 - index)


def _parts(x: Array, axis: int, places: npt.NDArray[np.int64]) -> list[Array]:
    """Views of x that put together have its elements at these places: runs of a step of 1, 0 or
    -1."""
    parts = []
    at = 0
    while at < len(places):
        step = int(places[at + 1] - places[at]) if at + 1 < len(places) else 1
        ends = np.flatnonzero(np.diff(places[at:]) != step)
        count = int(ends[0]) + 1 if len(ends) else len(places) - at
        first = int(places[at])
        if step == 0:
            one = x[(slice(None),) * axis + (slice(first, first + 1),)]
            parts.append(broadcast_to(one, (*x.shape[:axis], count, *x.shape[axis + 1 :])))
        else:
            last = first + count * step
            window = slice(first, last if last >= 0 else None, step)
            parts.append(x[(slice(None),) * axis + (window,)])
        at += count
    return parts
