"""Poolings over windows and over whole planes."""

from __future__ import annotations

import math
from typing import Any

import tilewright as tw
from tilewright.models.files.errors import ModelError
from tilewright.models.onnx.nodes import Node
from tilewright.models.onnx.operators.common import check_room, ints
from tilewright.models.onnx.operators.registry import Run, operator, plain
from tilewright.models.onnx.operators.windows import Placed, Windows, spatial
from tilewright.nn.windows import SizesOfAxes, pooled


class _Planes:
    """Windows as pooled() takes them."""

    are_planes = False

    def __init__(self, lead: tuple[int, ...], placed: Placed, out: tuple[int, ...]) -> None:
        self.lead = lead
        self.shape = (*lead, *out)
        self.sizes = SizesOfAxes(
            placed.lengths, out, placed.kernel, placed.strides, placed.front, placed.dilations
        )


def _run(
    op: str, x: Any, placed: Placed, up: bool, divisor: float = 0, places: bool = False
) -> Any:
    if len(placed.lengths) > 3:
        raise ModelError(f"its input has shape {tuple(x.shape)}, expected at most three axes")
    planes: Any = _Planes(tuple(x.shape[:2]), placed, placed.out(up))
    return pooled(op, x, planes, divisor, places)


def _padded(x: Any, placed: Placed) -> tuple[Any, Placed]:
    """Zeros laid around what has them on one side only."""
    if not any(a or b for a, b in placed.pads):
        return x, placed
    check_room([n + a + b for n, (a, b) in zip(placed.lengths, placed.pads, strict=True)])
    x = tw.pad(x, [(0, 0), (0, 0), *placed.pads])
    none = ((0, 0),) * len(placed.pads)
    return x, Placed(spatial(x), placed.kernel, placed.strides, placed.dilations, none)


@operator("MaxPool")
def _max_pool(node: Node) -> Run:
    windows, up = Windows.of(node, needs_kernel=True), node.flag("ceil_mode")
    by_columns, wants = node.flag("storage_order"), node.wants(1)

    def run(x: Any) -> Any:
        placed = windows.at(spatial(x), windows.kernel)
        dtype = x.dtype
        if dtype.kind != "f":
            if dtype.itemsize > 1:
                raise ModelError(f"its input is {dtype}, expected floats, int8 or uint8")
            x = x.astype("float32")
        found, places = _run("max", x, placed, up, places=wants)
        found = found.astype(dtype, copy=False)
        if not wants:
            return found
        places = places.astype("int64")
        if by_columns:
            # From the place by rows to the one by columns.
            rest, where = places, 0
            step = 1
            for size in reversed(placed.lengths):
                rest, at = rest // size, rest % size
                where = where + at * (math.prod(placed.lengths) // (size * step))
                step *= size
            places = where
        planes = tw.arange(math.prod(x.shape[:2]), dtype="int64") * math.prod(placed.lengths)
        return found, places + planes.reshape((*x.shape[:2], *(1,) * len(placed.lengths)))

    return run


@operator("AveragePool")
def _average_pool(node: Node) -> Run:
    windows, up = Windows.of(node, needs_kernel=True), node.flag("ceil_mode")
    counts_pads = node.flag("count_include_pad")

    def run(x: Any) -> Any:
        placed = windows.at(spatial(x), windows.kernel)
        if counts_pads:
            out = placed.out(up)
            x, placed = _padded(x, placed)
            planes: Any = _Planes(tuple(x.shape[:2]), placed, out)
            return pooled("mean", x, planes)[0]
        return _run("mean", x, placed, up)[0]

    return run


def _power(x: Any, p: float) -> Any:
    return tw.square(x) if p == 2 else tw.abs(x) if p == 1 else tw.pow(tw.abs(x), p)


def _root(x: Any, p: float) -> Any:
    return tw.sqrt(x) if p == 2 else x if p == 1 else tw.pow(x, 1 / p)


def _order(node: Node) -> float:
    p = node.integer("p", 2)
    if p < 1:
        node.fail(f"the attribute p is {p}, expected 1 or more")
    return float(p)


@operator("LpPool")
def _lp_pool(node: Node) -> Run:
    windows, up, p = Windows.of(node, needs_kernel=True), node.flag("ceil_mode"), _order(node)

    def run(x: Any) -> Any:
        placed = windows.at(spatial(x), windows.kernel)
        out = placed.out(up)
        x, placed = _padded(x, placed)
        planes: Any = _Planes(tuple(x.shape[:2]), placed, out)
        return _root(pooled("mean", _power(x, p), planes, 1.0)[0], p)

    return run


def _plane(x: Any) -> tuple[int, ...]:
    spatial(x)
    return tuple(range(2, x.ndim))


def _global_average(x: Any) -> Any:
    return tw.mean(x, axis=_plane(x), keepdims=True)


plain("GlobalAveragePool", _global_average)


def _global_max(x: Any) -> Any:
    return tw.amax(x, axis=_plane(x), keepdims=True)


plain("GlobalMaxPool", _global_max)


@operator("GlobalLpPool")
def _global_lp(node: Node) -> Run:
    p = _order(node)
    return lambda x: _root(tw.sum(_power(x, p), axis=_plane(x), keepdims=True), p)


@operator("MaxUnpool", host=(2,), grows=True)
def _max_unpool(node: Node) -> Run:
    windows = Windows.of(node, needs_kernel=True)

    def run(x: Any, places: Any, output_shape: Any = None) -> Any:
        lengths = spatial(x)
        axes = len(lengths)
        strides = windows.strides or (1,) * axes
        pads = windows.pads or (0,) * 2 * axes
        usual = tuple(
            (n - 1) * s - pads[i] - pads[axes + i] + k
            for i, (n, s, k) in enumerate(zip(lengths, strides, windows.kernel, strict=True))
        )
        shape = (*x.shape[:2], *usual)
        wanted = shape if output_shape is None else ints(output_shape)
        check_room(wanted)
        if len(wanted) != x.ndim or places.shape != x.shape:
            raise ModelError(f"its places have shape {tuple(places.shape)}, of {tuple(x.shape)}")
        result = tw.zeros(wanted, dtype=x.dtype)
        # Places are those of the usual shape; a larger one has zeros behind.
        rest, key = places, []
        for size in reversed(shape[1:]):
            key.append(rest % size)
            rest = rest // size
        result[(rest, *reversed(key))] = x
        return result

    return run
