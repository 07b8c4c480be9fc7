"""Integers with scales."""

from __future__ import annotations

from typing import Any

import numpy as np

import tilewright as tw
from tilewright.models.files.errors import ModelError
from tilewright.models.onnx.dtypes import KNOWN, dtype_of, name_of
from tilewright.models.onnx.nodes import Node
from tilewright.models.onnx.operators.common import axis_in, ints
from tilewright.models.onnx.operators.registry import Run, operator
from tilewright.models.onnx.operators.windows import Windows, spatial

BOUNDS = {
    np.dtype(kind): (float(np.iinfo(kind).min), float(np.iinfo(kind).max))
    for kind in (np.int8, np.uint8, np.int16, np.uint16)
}


def _along(scale: Any, x: Any, axis: int, block: int) -> Any:
    """One scale for all, for each place along an axis, or for each block of places there."""
    if scale.size == 1 and scale.ndim <= 1 and not block:
        return scale.reshape(())
    at = axis_in(axis, x.ndim)
    if block:
        is_right = block > 0 and scale.ndim == x.ndim
        if not is_right or -(-x.shape[at] // block) != scale.shape[at]:
            raise ModelError(f"scales have shape {tuple(scale.shape)}, with blocks of {block}")
        if block >= x.shape[at]:
            return scale
        rows = tw.repeat(scale, block, axis=at)
        return rows[(slice(None),) * at + (slice(0, x.shape[at]),)]
    if scale.ndim != 1 or scale.shape[0] != x.shape[at]:
        raise ModelError(f"scales have shape {tuple(scale.shape)}, of {x.shape[at]} places")
    return scale.reshape((-1, *(1,) * (x.ndim - at - 1)))


def quantized(x: Any, scale: Any, zero: Any, dtype: Any) -> Any:
    low, high = BOUNDS[dtype]
    steps = tw.round(x / scale)
    if zero is not None:
        # Within reach, so that no sum rounds.
        steps = tw.clip(steps, -131072.0, 131072.0) + zero.astype("float32")
    return tw.clip(steps, low, high).astype(dtype)


def _target(node: Node, zero: Any, kind: Any) -> Any:
    dtype = kind if zero is None else zero.dtype
    if dtype not in BOUNDS:
        raise ModelError(f"its result would be {dtype}, expected int8, uint8, int16 or uint16")
    return dtype


@operator("QuantizeLinear")
def _quantize(node: Node) -> Run:
    axis, block = node.integer("axis", 1), node.integer("block_size", 0)
    node.maybe("saturate")
    node.maybe("precision")
    said = node.integer("output_dtype", 0)
    if said and dtype_of(said) is None:
        node.fail(f"the attribute output_dtype is {name_of(said)}, expected {KNOWN}")
    kind = dtype_of(said) if said else np.dtype(np.uint8)

    def run(x: Any, scale: Any, zero: Any = None) -> Any:
        wide = x.astype("float32", copy=False)
        by = _along(scale, x, axis, block).astype("float32", copy=False)
        zeros = None if zero is None else _along(zero, x, axis, block)
        return quantized(wide, by, zeros, _target(node, zero, kind))

    return run


@operator("DequantizeLinear")
def _dequantize(node: Node) -> Run:
    axis, block = node.integer("axis", 1), node.integer("block_size", 0)
    said = node.integer("output_dtype", 0)
    if said and dtype_of(said) is None:
        node.fail(f"the attribute output_dtype is {name_of(said)}, expected {KNOWN}")

    def run(x: Any, scale: Any, zero: Any = None) -> Any:
        by = _along(scale, x, axis, block)
        values = x.astype("float32")
        if zero is not None:
            values = values - _along(zero, x, axis, block).astype("float32")
        found = values * by.astype("float32", copy=False)
        return found.astype(dtype_of(said) if said else scale.dtype, copy=False)

    return run


@operator("DynamicQuantizeLinear")
def _dynamic(node: Node) -> Run:
    def run(x: Any) -> Any:
        low = tw.minimum(tw.min(x), 0)
        scale = (tw.maximum(tw.max(x), 0) - low) / 255
        safe = tw.where(scale == 0, tw.ones_like(scale), scale)
        zero = tw.clip(tw.round(-low / safe), 0, 255).astype("uint8")
        return quantized(x, safe, zero, np.dtype(np.uint8)), scale, zero

    return run


def _product(a: Any, b: Any, a_zero: Any, b_zero: Any) -> Any:
    """(a - a_zero) @ (b - b_zero) in int32; zeros are one, or one for each row or column."""
    sums = tw.quant.qmatmul(a, b)
    if b_zero is not None:
        by_row = tw.sum(a, axis=-1, keepdims=True, dtype="int32")
        zeros = b_zero.astype("int32")
        sums = sums - by_row * zeros
    if a_zero is not None:
        zeros_a = a_zero.astype("int32")
        if zeros_a.ndim == 1 and zeros_a.size > 1:
            zeros_a = zeros_a.reshape((-1, 1))
        columns = tw.sum(b, axis=-2, keepdims=True, dtype="int32")
        if b_zero is not None:
            columns = columns - a.shape[-1] * b_zero.astype("int32")
        sums = sums - columns * zeros_a
    return sums


def _rows(product: Any) -> Run:
    """Of vectors as NumPy has it."""

    def run(a: Any, b: Any, *others: Any) -> Any:
        left = a.reshape((1, -1)) if a.ndim == 1 else a
        right = b.reshape((-1, 1)) if b.ndim == 1 else b
        found = product(left, right, *others)
        if b.ndim == 1:
            found = found.reshape(found.shape[:-1])
        return found.reshape(found.shape[:-2] + found.shape[-1:]) if a.ndim == 1 else found

    return run


@operator("MatMulInteger")
def _matmul_integer(node: Node) -> Run:
    own = _rows(_product)
    return lambda a, b, a_zero=None, b_zero=None: own(a, b, a_zero, b_zero)


def _column(one: Any) -> Any:
    """What there is one of for each row."""
    return one.reshape((-1, 1)) if one.ndim == 1 and one.size > 1 else one


@operator("QLinearMatMul")
def _qlinear_matmul(node: Node) -> Run:
    own = _rows(_product)

    def run(
        a: Any, a_scale: Any, a_zero: Any, b: Any, b_scale: Any, b_zero: Any, scale: Any, zero: Any
    ) -> Any:
        sums = own(a, b, a_zero, b_zero).astype("float32")
        wide = [one.astype("float32", copy=False) for one in (a_scale, b_scale, scale)]
        found = sums * (_column(wide[0]) * wide[1] / _column(wide[2]))
        return quantized(
            found, tw.ones((), dtype="float32"), _column(zero), _target(node, zero, None)
        )

    return run


def _sums(
    windows: Windows, groups: int, x: Any, w: Any, x_zeros: Any, w_zeros: Any, bias: Any
) -> Any:
    """The convolution less zero points, that of x one number, those of w one or one a filter."""
    own = ints(x_zeros) if x_zeros is not None else (0,)
    each = ints(w_zeros) if w_zeros is not None else (0,)
    if len(own) != 1 or len(each) not in (1, w.shape[0]):
        raise ModelError(f"its zero points are {own} and {each}, of {w.shape[0]} filters")
    if len(set(each)) == 1:
        return _convolved(windows, groups, x, w, own[0], each[0], bias)
    if groups != 1:
        raise ModelError(f"its zero points are {each} in {groups} groups, expected one number")
    parts = [
        _convolved(
            windows, 1, x, w[i : i + 1], own[0], zero, None if bias is None else bias[i : i + 1]
        )
        for i, zero in enumerate(each)
    ]
    return tw.concat(parts, axis=1)


def _convolved(
    windows: Windows, groups: int, x: Any, w: Any, x_zero: int, w_zero: int, bias: Any
) -> Any:
    placed = windows.at(spatial(x), w.shape[2:])
    if x.ndim == 3:
        found = tw.quant.qconv2d(
            tw.expand_dims(x, axis=2), tw.expand_dims(w, axis=2), bias, x_zero, w_zero,
            (1, *placed.strides), ((0, 0), *placed.pads), (1, *placed.dilations), groups,
        )  # fmt: skip
        return tw.squeeze(found, axis=2)
    return tw.quant.qconv2d(
        x, w, bias, x_zero, w_zero, placed.strides, placed.pads, placed.dilations, groups
    )


@operator("ConvInteger", host=(2, 3))
def _conv_integer(node: Node) -> Run:
    windows, groups = Windows.of(node), node.integer("group", 1)

    def run(x: Any, w: Any, x_zero: Any = None, w_zero: Any = None) -> Any:
        return _sums(windows, groups, x, w, x_zero, w_zero, None)

    return run


@operator("QLinearConv", host=(2, 5, 8))
def _qlinear_conv(node: Node) -> Run:
    windows, groups = Windows.of(node), node.integer("group", 1)

    def run(
        x: Any, x_scale: Any, x_zero: Any, w: Any, w_scale: Any, w_zero: Any, scale: Any, zero: Any,
        bias: Any = None,
    ) -> Any:  # fmt: skip
        sums = _sums(windows, groups, x, w, x_zero, w_zero, bias).astype("float32")
        factor = w_scale.reshape((-1, *(1,) * (x.ndim - 2))) if w_scale.size > 1 else w_scale
        found = sums * (x_scale * factor / scale)
        return quantized(found, tw.ones((), dtype="float32"), zero, _target(node, zero, None))

    return run
