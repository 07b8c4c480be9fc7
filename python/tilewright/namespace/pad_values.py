"""What pad() computes of the elements: their statistics, ramps, and mirrors turned around."""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright.array import Array
from tilewright.namespace import reductions
from tilewright.namespace.elementwise import round as rounded
from tilewright.namespace.grids import linspace
from tilewright.namespace.manipulation import broadcast_to, concat, flip
from tilewright.operands import invalid, shown, to_integer


def _part(x: Array, axis: int, start: int | None, stop: int | None) -> Array:
    return x[(slice(None),) * axis + (slice(start, stop),)]


def _lengths(x: Array, given: Any) -> list[tuple[int, int]]:
    """How many elements before each edge count."""
    if given is None:
        return [(size, size) for size in x.shape]
    try:
        pairs = np.broadcast_to(np.asarray(given), (x.ndim, 2)).tolist()
    except ValueError:
        invalid("pad", f"stat_length is {shown(given)}, expected a number or pairs for {x.ndim} "
                "axes")  # fmt: skip
    found = []
    for size, pair in zip(x.shape, pairs, strict=True):
        counts = [to_integer("pad", "stat_length", one) for one in pair]
        if min(counts) < 1:
            invalid("pad", f"stat_length has {min(counts)}, expected 1 or more")
        found.append((min(counts[0], size), min(counts[1], size)))
    return found


def _statistic(x: Array, axis: int, mode: str) -> Array:
    from tilewright.namespace.quantiles import median

    if x.shape[axis] == 0:
        invalid("pad", f"x of shape {x.shape} has nothing along axis {axis} for mode {mode!r}")
    if mode in ("maximum", "minimum"):
        found = (reductions.max if mode == "maximum" else reductions.min)(x, axis, keepdims=True)
    else:
        wide = x.astype("float32") if x.dtype.kind in "biu" else x
        found = (reductions.mean if mode == "mean" else median)(wide, axis, keepdims=True)
    if x.dtype.kind in "iu":
        found = rounded(found)
    return found.astype(x.dtype, copy=False)


def _with_statistics(
    x: Array, axis: int, front: int, behind: int, mode: str, lengths: tuple[int, int]
) -> Array:
    size = x.shape[axis]
    ends = (_part(x, axis, 0, lengths[0]), _part(x, axis, size - lengths[1], None))
    parts = []
    for end, count in zip(ends, (front, behind), strict=True):
        one = _statistic(end, axis, mode)
        parts.append(broadcast_to(one, (*x.shape[:axis], count, *x.shape[axis + 1 :])))
    return concat([parts[0], x, parts[1]], axis=axis)


def _ramped(x: Array, axis: int, front: int, behind: int, ends: tuple[Any, Any]) -> Array:
    size = x.shape[axis]
    if size == 0:
        invalid("pad", f"x of shape {x.shape} has nothing along axis {axis} for mode 'linear_ramp'")
    before = (slice(None),) * axis
    edges = x[(*before, 0)], x[(*before, size - 1)]
    parts = []
    for edge, end, count in zip(edges, ends, (front, behind), strict=True):
        start = broadcast_to(_filled(edge, end), edge.shape)
        parts.append(linspace(start, edge, count, False, dtype=x.dtype, axis=axis))
    return concat([parts[0], x, flip(parts[1], axis)], axis=axis)


def _filled(like: Array, number: Any) -> Array:
    made: Array = like.backend._new((), like.dtype)
    made[...] = number
    return made


def _turned(x: Array, axis: int, front: int, behind: int, with_edge: bool) -> Array:
    """Mirrors around the last elements, by their values too, one after another as NumPy has
    them."""
    period = x.shape[axis]
    if period == 0:
        invalid("pad", f"x of shape {x.shape} has nothing along axis {axis} to be mirrored")
    if period == 1:
        ends = [
            broadcast_to(x, (*x.shape[:axis], n, *x.shape[axis + 1 :])) for n in (front, behind)
        ]
        return concat([ends[0], x, ends[1]], axis=axis)
    skipped = 0 if with_edge else 1
    while front or behind:
        size = x.shape[axis]
        length = (size - skipped) // (period - skipped) * (period - skipped)
        few, many = min(length, front), min(length, behind)
        first, last = _part(x, axis, 0, 1), _part(x, axis, size - 1, None)
        head = flip(_part(x, axis, skipped, skipped + few), axis)
        tail = flip(_part(x, axis, size - skipped - many, size - skipped), axis)
        x = concat([first * 2 - head, x, last * 2 - tail], axis=axis)
        front, behind = front - few, behind - many
    return x
