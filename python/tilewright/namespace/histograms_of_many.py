"""NumPy's histograms of points of several dimensions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tilewright.array import Array
from tilewright.namespace import histograms
from tilewright.namespace.creation import asarray
from tilewright.namespace.elementwise import clip
from tilewright.namespace.manipulation import stack
from tilewright.namespace.mixed import an_array, first_array, together
from tilewright.operands import HALVES, invalid, shown

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["histogram2d", "histogramdd"]


class HistogramOfMany(NamedTuple):
    """What histogramdd() gives."""

    hist: Array
    bin_edges: tuple[Array, ...]


class HistogramOfPairs(NamedTuple):
    """What histogram2d() gives."""

    hist: Array
    x_edges: Array
    y_edges: Array


def _columns(call: str, sample: Any) -> list[Array]:
    if isinstance(sample, Array):
        if sample.ndim > 2:
            invalid(call, f"sample has shape {sample.shape}, expected points by dimensions")
        both = sample if sample.ndim == 2 else sample[:, None]
        return [both[:, i] for i in range(both.shape[1])]
    like = first_array(call, "sample", sample)
    columns = [asarray(one, device=like.backend) for one in sample]
    if any(one.shape != columns[0].shape or one.ndim != 1 for one in columns):
        shapes = ", ".join(str(one.shape) for one in columns)
        invalid(call, f"sample has Arrays of shapes {shapes}, expected vectors of one size")
    return columns


def _each(call: str, name: str, given: Any, count: int) -> Sequence[Any]:
    """One for each dimension."""
    if len(given) != count:
        invalid(call, f"{name} has {len(given)} parts, expected {count}, one for each dimension")
    return given  # type: ignore[no-any-return]


def histogramdd(
    sample: Any, bins: Any = 10, range: Any = None, density: bool | None = None,
    weights: Any = None,
) -> HistogramOfMany:  # fmt: skip
    """How many points lie in each box of bins, which histogram() has along one dimension: bins for
    all dimensions or a sequence of one for each, points as rows, or as a sequence of coordinates.
    """
    call = "histogramdd"
    columns = [histograms._real(call, one, "sample") for one in _columns(call, sample)]
    count = len(columns)
    each = [bins] * count if np.isscalar(bins) else _each(call, "bins", bins, count)
    ranges = [None] * count if range is None else _each(call, "range", range, count)
    backend = columns[0].backend
    weighing = None if weights is None else histograms._weights(call, columns[0], weights)
    places: Any = None
    all_edges, widths, shape = [], [], []
    for x, own, within in zip(columns, each, ranges, strict=True):
        host, edges = histograms._edges(call, x, own, within, weights, backend)
        if host.size < 2:
            invalid(call, f"bins is {shown(own)}, expected two edges or more")
        # Bin 0 is below all of them, the last one above.
        at = histograms._places(x, host, end=True)
        if within is None and np.ndim(own) == 0:
            at = clip(at, 1, host.size - 1)
        places = at if places is None else places * (host.size + 1) + at
        all_edges.append(edges)
        shape.append(host.size + 1)
        widths.append(np.diff(host.astype(np.float64)))
    groups = int(np.prod(shape))
    if groups > np.iinfo(np.int32).max:
        invalid(call, f"bins make {groups} boxes, expected fewer than 2^31")
    if weighing is None:
        found = histograms._counts(places, groups)
    else:
        found = histograms._weighed(call, places, weighing, groups)
    found = found.reshape(shape)[(slice(1, -1),) * count].copy()
    if weighing is None:
        found = found.astype(np.float32)
    if density:
        kind = found.dtype if found.dtype.kind in "fc" else np.dtype(np.float32)
        found = found.astype(np.float32 if kind in HALVES else kind, copy=False)
        real = np.float64 if found.dtype in (np.float64, np.complex128) else np.float32
        box = widths[0]
        for one in widths[1:]:
            box = box[..., None] * one
        found = found / backend._upload(box.astype(real)) / found.sum()
    return HistogramOfMany(found, tuple(all_edges))


def histogram2d(
    x: Array, y: Array, bins: Any = 10, range: Any = None, density: bool | None = None,
    weights: Any = None,
) -> HistogramOfPairs:  # fmt: skip
    """histogramdd() of pairs: bins for both, or edges for both, or a sequence of one for x and one
    for y."""
    first, second = together("histogram2d", x=x, y=y)
    first, second = an_array("histogram2d", first), an_array("histogram2d", second, "y")
    if first.ndim != 1 or first.shape != second.shape:
        invalid("histogram2d", f"x has shape {first.shape} and y {second.shape}, expected vectors "
                "of one size")  # fmt: skip
    if not np.isscalar(bins) and len(bins) not in (1, 2):
        bins = [bins, bins]
    found = histogramdd(stack([first, second], axis=1) if first.dtype == second.dtype else
                        [first, second], bins, range, density, weights)  # fmt: skip
    return HistogramOfPairs(found.hist, *found.bin_edges)
