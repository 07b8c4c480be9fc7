"""Arrays with more around them, by NumPy's modes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright import _core
from tilewright.array import Array
from tilewright.call_forms import kept_by_form
from tilewright.namespace.creation import full
from tilewright.namespace.manipulation import broadcast_to, concat
from tilewright.namespace.pad_values import _lengths, _ramped, _turned, _with_statistics
from tilewright.operands import invalid, shown, to_integer
from tilewright.shapes import to_one_axis

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

STATISTICS = ("maximum", "mean", "median", "minimum")
MODES = ("constant", "edge", "empty", "linear_ramp", *STATISTICS, "reflect", "symmetric", "wrap")


@kept_by_form
def pad(
    array: Array, pad_width: Any, mode: Any = "constant", *, constant_values: Any = 0,
    stat_length: Any = None, end_values: Any = 0, reflect_type: str = "even",
) -> Array:  # fmt: skip
    """An array with pad_width elements in front of and behind it along each axis: an integer for
    all, a pair for all axes, a pair for each, or a dict of these by axis. mode is "constant",
    "edge" (the last elements again), "reflect" and "symmetric" (a mirror without and with them,
    with reflect_type="odd" turned around the last element), "wrap", "linear_ramp" (by equal steps
    to end_values), "maximum", "mean", "median" and "minimum" (of the stat_length elements next to
    the edge, or of all), or "empty" (undefined)."""
    x = array
    if not isinstance(x, Array):
        invalid("pad", f"x is {shown(x)}, expected an Array; write tw.asarray(x)")
    if callable(mode):
        raise _core.Unsupported("pad: mode is a function, expected one of "
                                f"{', '.join(MODES)}; write np.pad(x.numpy(), ...)")  # fmt: skip
    if mode not in MODES:
        invalid("pad", f"mode is {shown(mode)}, expected one of {', '.join(MODES)}")
    if reflect_type not in ("even", "odd"):
        invalid("pad", f"reflect_type is {shown(reflect_type)}, expected 'even' or 'odd'")
    if isinstance(pad_width, dict):
        pad_width = _by_axis(pad_width, x.ndim)
    widths = _widths("pad_width", pad_width, x.ndim, lambda one: _width(one))
    if mode == "constant":
        return _with_values(x, widths, constant_values)
    if mode == "empty":
        return _placed(x, widths, x.backend._new(_longer(x, widths), x.dtype))
    lengths = _lengths(x, stat_length)
    ends = _widths("end_values", end_values, x.ndim, lambda one: one)
    for axis, (front, behind) in enumerate(widths):
        if not (front or behind):
            continue
        if mode in STATISTICS:
            x = _with_statistics(x, axis, front, behind, mode, lengths[axis])
        elif mode == "linear_ramp":
            x = _ramped(x, axis, front, behind, ends[axis])
        elif reflect_type == "odd" and mode in ("reflect", "symmetric"):
            x = _turned(x, axis, front, behind, mode == "symmetric")
        else:
            x = _extended(x, axis, front, behind, mode)
    return x


def _by_axis(given: dict[Any, Any], rank: int) -> list[Any]:
    pairs: list[Any] = [(0, 0)] * rank
    for axis, one in given.items():
        at = to_one_axis("pad", axis, rank)
        pairs[at] = tuple(one) if isinstance(one, (tuple, list)) else (one, one)
    return pairs


def _longer(x: Array, widths: list[tuple[int, int]]) -> tuple[int, ...]:
    return tuple(f + size + b for size, (f, b) in zip(x.shape, widths, strict=True))


def _placed(x: Array, widths: list[tuple[int, int]], result: Array) -> Array:
    result[tuple(slice(f, f + n) for n, (f, _) in zip(x.shape, widths, strict=True))] = x
    return result


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
    shape = _longer(x, widths)
    everywhere = len({one for pair in values for one in pair}) < 2
    start = values[0][0] if values and everywhere else 0
    result = _placed(x, widths, full(shape, start, dtype=x.dtype, device=x.backend))
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
