"""What each output of a resampled axis is made of: neighbouring elements and their weights, as
torch finds them, in the floats that it finds them in."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

Host = np.ndarray[Any, Any]

# Of the cubic through four elements, and of the one that is smoothed.
CUBIC, SMOOTH_CUBIC = -0.75, -0.5


class Taps(NamedTuple):
    """Output p has elements from spans[p, 0] on, spans[p, 1] of them."""

    spans: Host
    weights: Host

    def keeps(self, length: int) -> bool:
        """Whether an axis so long stays as it is."""
        first, count = self.spans.T
        in_place = np.array_equal(first, np.arange(length))
        return in_place and bool((count == 1).all() and (self.weights[:, 0] == 1).all())


def packed(places: Host, weights: Host, kind: Any) -> Taps:
    """Of places and weights [outputs, any], of which places may occur more than once; what weighs
    nothing at an end is left out."""
    used = weights != 0
    used[~used.any(axis=1), 0] = True
    first = np.where(used, places, places.max() + 1).min(axis=1)
    last = np.where(used, places, -1).max(axis=1)
    width = int((last - first).max()) + 1
    rows, taps = np.nonzero(used)
    at = rows * width + places[rows, taps] - first[rows]
    packed = np.bincount(at, weights[rows, taps], len(places) * width).reshape(-1, width)
    spans = np.stack([first, last - first + 1], axis=1).astype(np.int32)
    return Taps(spans, packed.astype(kind))


def _cubic(x: Host, a: float) -> Host:
    """The weight of what is x away."""
    x = abs(x)
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((x - 5) * x + 8) * x * a - 4 * a
    return np.where(x < 1, near, np.where(x < 2, far, 0)).astype(x.dtype)


def _step(length: int, out: int, aligned: bool, scale: float | None, kind: Any) -> Any:
    """From one output to the next, in elements."""
    if aligned:
        return kind(length - 1) / kind(out - 1) if out > 1 else kind(0)
    return kind(1.0 / scale) if scale is not None and scale > 0 else kind(length) / kind(out)


def _smoothed(kind_of: str, length: int, output: Host, step: Any, kind: Any) -> Taps:
    """Windows as wide as `step` asks for, which leave nothing out."""
    half = kind(1 if kind_of == "linear" else 2) * max(step, kind(1))
    narrow = kind(1) / max(step, kind(1))
    centre = step * (output.astype(kind) + kind(0.5))
    low = np.maximum((centre - half + kind(0.5)).astype(np.int64), 0)
    past = np.minimum((centre + half + kind(0.5)).astype(np.int64), length)
    places = low[:, None] + np.arange(int((past - low).max()))
    away = (places - centre[:, None] + kind(0.5)).astype(kind) * narrow
    if kind_of == "linear":
        weights = np.maximum(kind(1) - abs(away), kind(0))
    else:
        weights = _cubic(away, SMOOTH_CUBIC)
    weights = np.where(places < past[:, None], weights, kind(0))
    total = weights.sum(axis=1, keepdims=True)
    weights = np.divide(weights, total, out=weights, where=total != 0)
    return packed(np.minimum(places, length - 1), weights, kind)


def taps_of(
    mode: str, length: int, out: int, aligned: bool, scale: float | None, smooth: bool, wide: str,
    first_output: int, past_output: int,
) -> Taps:  # fmt: skip
    """Of "nearest", "nearest-exact", "linear" or "cubic": of some of the outputs."""
    kind: Any = np.dtype(wide).type
    output = np.arange(first_output, past_output)
    if mode.startswith("nearest"):
        step = _step(length, out, False, scale, kind)
        at = output.astype(kind) * step
        if mode == "nearest-exact":
            # Rounded once, as of a product that is added to.
            at = (np.float64(step) * (output + 0.5) - 0.5).astype(kind)
            at = np.maximum(at, kind(0)) + kind(0.5)
        # Rounded to float32 in any case.
        place = np.floor(at.astype(np.float32)).astype(np.int64)
        place = np.minimum(place, length - 1)
        return packed(place[:, None], np.ones((len(output), 1)), kind)
    step = _step(length, out, aligned, scale, kind)
    if smooth:
        return _smoothed(mode, length, output, step, kind)
    at = output.astype(kind) * step
    if not aligned:
        at = (np.float64(step) * (output + 0.5) - 0.5).astype(kind)
        if mode == "linear":
            at = np.maximum(at, kind(0))
    if mode == "linear" and length == out:
        at = output.astype(kind)
    first = np.minimum(np.floor(at).astype(np.int64), length - 1)
    behind = np.clip(at - first.astype(kind), 0, 1).astype(kind)
    if mode == "linear":
        places = np.stack([first, np.minimum(first + 1, length - 1)], axis=1)
        return packed(places, np.stack([kind(1) - behind, behind], axis=1), kind)
    away = np.stack([behind + kind(1), behind, kind(1) - behind, kind(2) - behind], axis=1)
    places = np.clip(first[:, None] + np.arange(-1, 3), 0, length - 1)
    return packed(places, _cubic(away, CUBIC), kind)


def turned_taps_of(
    mode: str, length: int, out: int, aligned: bool, scale: float | None, smooth: bool, wide: str,
    first_output: int, past_output: int,
) -> Taps:  # fmt: skip
    """What each element gets of the gradients by these outputs, counted from the first of them."""
    taps = taps_of(mode, length, out, aligned, scale, smooth, wide, first_output, past_output)
    out = past_output - first_output
    output, tap = np.nonzero(taps.weights)
    element = taps.spans[output, 0] + tap
    first = np.full(length, out)
    np.minimum.at(first, element, output)
    last = np.full(length, -1)
    np.maximum.at(last, element, output)
    first = np.where(last < 0, 0, first)
    spans = np.stack([first, last - first + 1], axis=1)
    spans[last < 0, 1] = 0
    weights = np.zeros((length, max(1, int(spans[:, 1].max()))), taps.weights.dtype)
    weights[element, output - first[element]] = taps.weights[output, tap]
    return Taps(spans.astype(np.int32), weights)
