"""Unique: elements, or what lies at the places of an axis."""

from __future__ import annotations

import math
from typing import Any

import tilewright as tw
from tilewright.models.onnx.nodes import Node
from tilewright.models.onnx.operators.common import axis_in
from tilewright.models.onnx.operators.registry import Run, operator


@operator("Unique", reads=True)
def _unique(node: Node) -> Run:
    axis, is_sorted = node.maybe("axis"), node.flag("sorted", 1)

    def run(x: Any) -> Any:
        if axis is None or x.ndim == 1:
            flat = x.reshape(-1)
            values, *others = tw.unique(
                flat, return_index=True, return_inverse=True, return_counts=True
            )
            first, inverse, counts = (one.reshape(-1) for one in others)
        else:
            first, inverse, counts = _of_rows(tw.moveaxis(x, axis_in(axis, x.ndim), 0))
        if not is_sorted:
            order = tw.argsort(first)
            inverse = tw.argsort(order)[inverse]
            first, counts = first[order], counts[order]
            if axis is None or x.ndim == 1:
                values = values[order]
        if axis is not None and x.ndim > 1:
            values = tw.take(x, first, axis=axis_in(axis, x.ndim))
        return values, *(one.astype("int64") for one in (first, inverse, counts))

    return run


def _of_rows(x: Any) -> tuple[Any, Any, Any]:
    """Where each different row is first, in the order of their elements, which of these each row
    is, and how many there are."""
    count = x.shape[0]
    rows = x.reshape((count, math.prod(x.shape[1:])))
    order = tw.arange(count, dtype="int32")
    # By the last column first: each sort keeps what comes behind it.
    for column in reversed(range(rows.shape[1])):
        order = order[tw.argsort(rows[order, column])]
    ordered = rows[order]
    differs = tw.any(ordered[1:] != ordered[:-1], axis=1)
    begins = tw.concat([tw.ones(min(count, 1), dtype="bool"), differs])
    places = tw.nonzero(begins)[0].astype("int32")
    ends = tw.concat([places[1:], tw.full(min(count, 1), count, dtype="int32")])
    inverse = tw.zeros(count, dtype="int32")
    inverse[order] = tw.cumulative_sum(begins.astype("int32"), dtype="int32") - 1
    return order[places], inverse, ends - places
