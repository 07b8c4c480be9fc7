"""What networks that find things do with boxes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import tilewright as tw
from tilewright.models.files.errors import ModelError
from tilewright.models.onnx.nodes import Node
from tilewright.models.onnx.operators.common import check_room, scalar
from tilewright.models.onnx.operators.registry import Run, operator

#: so many boxes are chosen before it is looked whether any are left
AT_A_TIME = 32


def _sides(boxes: Any, by_centre: bool) -> tuple[Any, ...]:
    """The ends of boxes [batch, 1, boxes] along both axes."""
    parts = [tw.expand_dims(boxes[:, :, i], axis=1) for i in range(4)]
    if by_centre:
        x, y, wide, high = parts
        return y - high / 2, y + high / 2, x - wide / 2, x + wide / 2
    low, left, high, right = parts
    return (
        tw.minimum(low, high), tw.maximum(low, high), tw.minimum(left, right),
        tw.maximum(left, right),
    )  # fmt: skip


@operator("NonMaxSuppression", host=(2, 3, 4), reads=True)
def _suppression(node: Node) -> Run:
    by_centre = node.flag("center_point_box")

    def run(
        boxes: Any, scores: Any, most: Any = None, overlap: Any = None, least: Any = None
    ) -> Any:
        if boxes.ndim != 3 or scores.ndim != 3 or boxes.shape[2] != 4:
            raise ModelError(f"its inputs have shapes {boxes.shape} and {scores.shape}")
        batch, _, count = scores.shape
        if boxes.shape[:2] != (batch, count):
            raise ModelError(f"its inputs have shapes {boxes.shape} and {scores.shape}")
        wanted = min(int(scalar(most)) if most is not None else 0, count)
        if wanted < 1 or 0 in scores.shape:
            return tw.zeros((0, 3), dtype="int64")
        bound = float(scalar(overlap)) if overlap is not None else 0.0
        hidden = -math.inf
        left = scores
        if least is not None:
            left = tw.where(scores > float(scalar(least)), scores, hidden).astype(scores.dtype)
        sides = [tw.broadcast_to(one, scores.shape) for one in _sides(boxes, by_centre)]
        area = (sides[1] - sides[0]) * (sides[3] - sides[2])
        at = tw.arange(count, dtype="int32").reshape((1, 1, count))
        chosen, are_there = [], []
        for i in range(wanted):
            best = tw.argmax(left, axis=-1, keepdims=True).astype("int32")
            chosen.append(best)
            are_there.append(tw.take_along_axis(left, best, axis=-1) > hidden)
            low, high, first, last, own = (
                tw.take_along_axis(one, best, axis=-1) for one in (*sides, area)
            )
            rows = tw.minimum(sides[1], high) - tw.maximum(sides[0], low)
            columns = tw.minimum(sides[3], last) - tw.maximum(sides[2], first)
            shared = tw.maximum(rows, 0) * tw.maximum(columns, 0)
            gone = tw.logical_and(shared > 0, shared > (area + own - shared) * bound)
            left = tw.where(tw.logical_or(gone, at == best), hidden, left).astype(scores.dtype)
            if i % AT_A_TIME == AT_A_TIME - 1 and not tw.any(left > hidden):
                break
        places, there = tw.concat(chosen, axis=-1), tw.concat(are_there, axis=-1)
        images, kinds, _ = tw.nonzero(there)
        found = [one.astype("int64") for one in (images, kinds, places[there])]
        return tw.stack(found, axis=1)

    return run


class _Samples:
    """The places along an axis that bins of a box are made of, [bins, samples], each between two of
    the image: the lower one and the next, with their weights, 0 outside of the image."""

    def __init__(self, box: Any, axis: int, bins: int, size: int, ratio: int, half: bool) -> None:
        start, length = float(box[1 - axis]), float(box[3 - axis] - box[1 - axis])
        length = length if half else max(length, 1.0)
        if not (math.isfinite(start) and math.isfinite(length)):
            raise ModelError(f"a box is {box.tolist()}, expected finite numbers")
        count = ratio or max(math.ceil(length / bins), 0)
        check_room((bins, count))
        self.size, self.count = size, count
        steps = np.arange(bins)[:, None] + (np.arange(count) + 0.5) / max(count, 1)
        at = start + steps * (length / bins)
        inside = (at >= -1) & (at <= size)
        at = np.clip(at, 0, size - 1)
        self.low = np.floor(at).astype(np.int64)
        self.high = np.minimum(self.low + 1, size - 1)
        behind = at - self.low
        self.of_low, self.of_high = np.where(inside, 1 - behind, 0.0), np.where(inside, behind, 0.0)


def _matrix(samples: _Samples) -> np.ndarray[Any, Any]:
    """What each bin has of the places of an axis: the mean of its samples."""
    found = np.zeros((samples.low.shape[0], samples.size))
    rows = np.broadcast_to(np.arange(samples.low.shape[0])[:, None], samples.low.shape)
    np.add.at(found, (rows, samples.low), samples.of_low)
    np.add.at(found, (rows, samples.high), samples.of_high)
    return found / max(samples.count, 1)


def _largest(image: Any, box: Any, bins: tuple[int, int], ratio: int, half: bool) -> Any:
    """The largest of the samples' corners, each by its weight."""
    rows, columns = (
        _Samples(box, axis, bins[axis], image.shape[1 + axis], ratio, half) for axis in (0, 1)
    )
    if not rows.count * columns.count:
        return tw.zeros((image.shape[0], *bins), dtype=image.dtype)
    check_room((image.shape[0], rows.low.size, columns.low.size))
    most: Any = None
    for y, of_y in ((rows.low, rows.of_low), (rows.high, rows.of_high)):
        lines = tw.take(image, y.reshape(-1), axis=1)
        for x, of_x in ((columns.low, columns.of_low), (columns.high, columns.of_high)):
            weights = tw.asarray(np.outer(of_y, of_x)).astype(image.dtype)
            found = tw.take(lines, x.reshape(-1), axis=2) * weights
            most = found if most is None else tw.maximum(most, found)
    parts = most.reshape((image.shape[0], bins[0], rows.count, bins[1], columns.count))
    return tw.amax(parts, axis=(2, 4))


#: bytes of images that are taken at a time
MOST_BYTES = 64 << 20


@operator("RoiAlign", host=(1, 2), grows=True)
def _roi_align(node: Node) -> Run:
    """The mean of bilinear samples is a product by a matrix for each axis."""
    bins = node.integer("output_height", 1), node.integer("output_width", 1)
    ratio, scale = node.integer("sampling_ratio", 0), node.number("spatial_scale", 1.0)
    takes_largest = node.string("mode", "avg", ("avg", "max")) == "max"
    usual = "half_pixel" if node.version >= 16 else "output_half_pixel"
    half = node.string(
        "coordinate_transformation_mode", usual, ("half_pixel", "output_half_pixel")
    ) == "half_pixel"  # fmt: skip
    if min(bins) < 1 or not 0 <= ratio <= 1024:
        node.fail(f"its bins are {bins} with {ratio} samples, expected 1 or more")

    def run(x: Any, rois: Any, images: Any) -> Any:
        if x.ndim != 4 or rois.ndim != 2 or rois.shape[1] != 4 or images.shape != rois.shape[:1]:
            raise ModelError(f"its inputs have shapes {x.shape}, {rois.shape} and {images.shape}")
        if images.size and not 0 <= images.min() <= images.max() < x.shape[0]:
            raise ModelError(f"a batch index is out of range for {x.shape[0]} images")
        check_room((rois.shape[0], x.shape[1], *bins))
        boxes = rois.astype(np.float64) * scale - (0.5 if half else 0.0)
        if takes_largest:
            found = [
                _largest(x[int(image)], box, bins, ratio, half)
                for image, box in zip(images, boxes, strict=True)
            ]
            return tw.stack(found) if found else tw.zeros((0, x.shape[1], *bins), dtype=x.dtype)
        wide = "float64" if x.dtype == "float64" else "float32"
        matrices: list[list[Any]] = [[], []]
        for box in boxes:
            for axis in (0, 1):
                size = x.shape[2 + axis]
                matrices[axis].append(_matrix(_Samples(box, axis, bins[axis], size, ratio, half)))
        parts = []
        step = max(1, MOST_BYTES // max(math.prod(x.shape[1:]) * x.dtype.itemsize, 1))
        for first in range(0, len(images), step):
            rows, columns = (
                tw.asarray(np.stack(one[first : first + step])[:, None].astype(wide))
                for one in matrices
            )
            own = tw.take(x, tw.asarray(images[first : first + step]), axis=0).astype(wide)
            parts.append((rows @ own @ columns.mT).astype(x.dtype))
        return (
            tw.concat(parts, axis=0) if parts else tw.zeros((0, x.shape[1], *bins), dtype=x.dtype)
        )

    return run
