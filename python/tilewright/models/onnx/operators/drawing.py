"""What is drawn at random: by tw.random's stream, on every device the same of one seed."""

from __future__ import annotations

import math
import struct
from typing import Any

import tilewright as tw
from tilewright.models.files.errors import ModelError
from tilewright.models.onnx.nodes import Node
from tilewright.models.onnx.operators.common import check_room
from tilewright.models.onnx.operators.registry import Run, operator

FLOATS = ("float16", "bfloat16", "float32", "float64")


def _generator(node: Node) -> Any:
    """Of the bits of the attribute seed, which is a float; without one of the system's."""
    if not node.given("seed"):
        return tw.random.default_rng()
    return tw.random.default_rng(struct.unpack("<I", struct.pack("<f", node.number("seed")))[0])


def _numbers(node: Node, shape: tuple[int, ...], dtype: Any, rng: Any) -> Any:
    check_room(shape)
    if str(dtype) not in FLOATS:
        raise ModelError(f"its result would be {dtype}, expected floats")
    wide = "float64" if dtype == "float64" else "float32"
    if node.op.startswith("RandomNormal"):
        mean, scale = node.number("mean", 0.0), node.number("scale", 1.0)
        found = rng.normal(mean, scale, shape, dtype=wide)
    else:
        found = rng.uniform(node.number("low", 0.0), node.number("high", 1.0), shape, dtype=wide)
    return found.astype(dtype, copy=False)


@operator("RandomNormal", "RandomUniform", reads=True, grows=True)
def _random(node: Node) -> Run:
    shape, dtype, rng = node.integers("shape"), node.dtype("dtype", 1), _generator(node)
    if shape is None or min(shape, default=0) < 0:
        node.fail(f"the attribute shape is {shape}, expected sizes")
    return lambda: _numbers(node, shape, dtype, rng)


@operator("RandomNormalLike", "RandomUniformLike", as_is=True, reads=True)
def _like(node: Node) -> Run:
    dtype, rng = node.dtype("dtype") if node.given("dtype") else None, _generator(node)
    return lambda x: _numbers(node, tuple(x.shape), x.dtype if dtype is None else dtype, rng)


@operator("Bernoulli", reads=True)
def _bernoulli(node: Node) -> Run:
    dtype, rng = node.dtype("dtype") if node.given("dtype") else None, _generator(node)

    def run(x: Any) -> Any:
        drawn = rng.random(tuple(x.shape)) < x.astype("float32")
        return drawn.astype(x.dtype if dtype is None else dtype)

    return run


@operator("Multinomial", reads=True, grows=True)
def _multinomial(node: Node) -> Run:
    dtype, rng, count = node.dtype("dtype", 6), _generator(node), node.integer("sample_size", 1)

    def run(x: Any) -> Any:
        if x.ndim != 2 or x.shape[1] < 1 or count < 1:
            raise ModelError(f"its input has shape {tuple(x.shape)}, expected [batch, classes]")
        check_room((x.shape[0], count, x.shape[1]))
        steps = tw.cumulative_sum(tw.nn.softmax(x.astype("float32"), 1), axis=1)
        drawn = rng.random((x.shape[0], count, 1)) * steps[:, -1:, None]
        places = tw.sum(drawn >= tw.expand_dims(steps, axis=1), axis=-1)
        return tw.clip(places, 0, x.shape[1] - 1).astype(dtype)

    return run


@operator("Dropout", host=(1, 2))
def _dropout(node: Node) -> Run:
    """Without training what it is given; what training leaves out is drawn."""
    wants_mask, rng = node.wants(1), None
    if node.given("seed"):
        node.integer("seed")
        rng = tw.random.default_rng(node.integer("seed") & ((1 << 64) - 1))

    def run(x: Any, ratio: Any = None, training: Any = None) -> Any:
        part = 0.5 if ratio is None else float(ratio)
        if training is None or not bool(training) or part == 0:
            kept = tw.ones(x.shape, dtype="bool" if node.version >= 10 else x.dtype)
            return (x, kept) if wants_mask else x
        if not 0 < part < 1 or not math.isfinite(part):
            raise ModelError(f"its ratio is {part}, expected 0 to 1")
        drawn = (rng or tw.random.default_rng()).random(tuple(x.shape)) >= part
        found = tw.where(drawn, x / (1 - part), tw.zeros_like(x))
        return (found, drawn) if wants_mask else found

    return run
