"""Casts between dtypes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import tilewright as tw
from tilewright.array import Array
from tilewright.models.files.errors import ModelError
from tilewright.models.onnx.nodes import Node
from tilewright.models.onnx.operators.common import cast
from tilewright.models.onnx.operators.registry import Run, operator, plain


@operator("Cast", anywhere=True)
def _cast(node: Node) -> Run:
    to = node.dtype("to")
    node.string("round_mode", "up", ("up", "down", "nearest"))
    return lambda x: cast(x, to)


def _cast_like(x: Any, like: Any) -> Any:
    to = like.dtype
    if isinstance(x, np.ndarray) and not isinstance(like, Array):
        return x.astype(to)
    return cast(x, to)


plain("CastLike", _cast_like, anywhere=True)


@operator("BitCast")
def _bit_cast(node: Node) -> Run:
    to = node.dtype("to")

    def run(x: Any) -> Any:
        if x.dtype.itemsize != to.itemsize:
            raise ModelError(f"it casts the bits of {x.dtype} to {to}, expected as many")
        return x.view(to)

    return run


@operator("EyeLike", as_is=True, grows=True)
def _eye_like(node: Node) -> Run:
    to = node.dtype("dtype") if node.given("dtype") else None
    k = node.integer("k", 0)

    def run(x: Any) -> Any:
        if len(x.shape) != 2:
            raise ModelError(f"its input has shape {tuple(x.shape)}, expected two dimensions")
        rows, columns = x.shape
        return tw.eye(rows, columns, k=k, dtype=to or x.dtype)

    return run


@operator("Range", host=(0, 1, 2), anywhere=True, grows=True)
def _range(node: Node) -> Run:
    def run(start: Any, limit: Any, delta: Any) -> Any:
        from tilewright.models.onnx.operators.common import check_room, scalar

        first, end, step = scalar(start), scalar(limit), scalar(delta)
        dtype = np.asarray(start).dtype
        if step == 0 or not all(math.isfinite(float(one)) for one in (first, end, step)):
            raise ModelError(f"it goes from {first} to {end} by {step}, expected another step")
        span = (end - first) / step if dtype.kind == "f" else (int(end) - int(first)) / int(step)
        count = max(math.ceil(span), 0)
        check_room((count,), dtype.itemsize)
        if node.on_host:
            return (np.arange(count) * step + first).astype(dtype)
        if dtype.kind == "f":
            return (tw.arange(count, dtype=dtype) * float(step) + float(first)).astype(dtype)
        first = int(first)
        return tw.arange(first, first + count * int(step), int(step), dtype=dtype)

    return run
