"""DeformConv: a convolution whose taps lie where an input says."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import tilewright as tw
from tilewright.models.files.errors import ModelError
from tilewright.models.onnx.nodes import Node
from tilewright.models.onnx.operators.common import check_room
from tilewright.models.onnx.operators.registry import Run, operator
from tilewright.models.onnx.operators.windows import Placed, Windows


def _places(placed: Placed, axis: int) -> Any:
    """Of each tap [taps, 1 or rows, 1 or columns] along one axis, without the offsets."""
    taps = np.indices(placed.kernel)[axis].reshape((-1, 1, 1)) * placed.dilations[axis]
    at = np.arange(placed.out()[axis]) * placed.strides[axis] - placed.pads[axis][0]
    return tw.asarray((taps + (at[None, :, None] if axis == 0 else at)).astype(np.float32))


@operator("DeformConv", grows=True)
def _deform_conv(node: Node) -> Run:
    windows = Windows.of(node)
    groups, parts = node.integer("group", 1), node.integer("offset_group", 1)

    def run(x: Any, weight: Any, offset: Any, bias: Any = None, mask: Any = None) -> Any:
        if x.ndim != 4 or weight.ndim != 4:
            raise ModelError(f"its inputs have shapes {tuple(x.shape)} and {tuple(weight.shape)}")
        placed = windows.at(x.shape[2:], weight.shape[2:])
        rows, columns = placed.out()
        taps = math.prod(placed.kernel)
        batch, channels = x.shape[:2]
        if min(groups, parts) < 1 or channels % parts or channels != weight.shape[1] * groups:
            raise ModelError(
                f"it has {groups} groups and {parts} of offsets, of {channels} channels"
            )
        if weight.shape[0] % groups:
            raise ModelError(f"it has {groups} groups, of {weight.shape[0]} filters")
        check_room((batch, channels, taps, rows, columns), x.dtype.itemsize)
        shifts = offset.reshape((batch, parts, taps, 2, rows, columns))
        at = []
        for axis, size in enumerate(x.shape[2:]):
            place = shifts[:, :, :, axis] + _places(placed, axis).astype(x.dtype)
            # From -1 at the first edge to 1 at the last one.
            at.append((place * 2 + 1) / size - 1)
        grid = tw.stack([at[1], at[0]], axis=-1)
        images = x.reshape((batch * parts, channels // parts, *x.shape[2:]))
        found = tw.nn.grid_sample(
            images,
            grid.reshape((batch * parts, taps * rows, columns, 2)),
            "bilinear",
            "zeros",
            False,
        )
        found = found.reshape((batch, parts, channels // parts, taps, rows, columns))
        if mask is not None:
            found = found * mask.reshape((batch, parts, 1, taps, rows, columns))
        deep = weight.shape[1] * taps
        lines = found.reshape((batch, groups, deep, rows * columns))
        filters = weight.reshape((groups, weight.shape[0] // groups, deep))
        result = (filters @ lines).reshape((batch, weight.shape[0], rows, columns))
        return result if bias is None else result + bias.reshape((-1, 1, 1))

    return run
