"""Norms and softmaxes."""

from __future__ import annotations

import math
from typing import Any

import tilewright as tw
from tilewright.models.files.errors import ModelError
from tilewright.models.onnx.nodes import Node
from tilewright.models.onnx.operators.common import axes_in, axis_in, check_room
from tilewright.models.onnx.operators.registry import MICROSOFT, Run, operator


def _softmax_like(own: Any, node: Node) -> Run:
    axis = node.integer("axis", -1 if node.version >= 13 else 1)

    def run(x: Any) -> Any:
        at = axis_in(axis, x.ndim)
        if node.version >= 13:
            return own(x, at)
        # All axes from there on were one.
        lines = x.reshape((math.prod(x.shape[:at]), math.prod(x.shape[at:])))
        return own(lines, 1).reshape(x.shape)

    return run


@operator("Softmax")
def _softmax(node: Node) -> Run:
    return _softmax_like(tw.nn.softmax, node)


@operator("LogSoftmax")
def _log_softmax(node: Node) -> Run:
    return _softmax_like(tw.nn.log_softmax, node)


@operator("Hardmax")
def _hardmax(node: Node) -> Run:
    def own(x: Any, at: int) -> Any:
        sizes = [1] * x.ndim
        sizes[at] = x.shape[at]
        places = tw.argmax(x, axis=at, keepdims=True)
        classes = tw.arange(x.shape[at], dtype=places.dtype).reshape(tuple(sizes))
        return (places == classes).astype(x.dtype)

    return _softmax_like(own, node)


@operator("BatchNormalization")
def _batch_norm(node: Node) -> Run:
    eps, momentum = node.number("epsilon", 1e-5), node.number("momentum", 0.9)
    training = node.version >= 14 and node.flag("training_mode")
    if node.version < 9:
        node.only("spatial", 1)
    if node.version < 14 and any(node.wants(i) for i in range(1, 5)):
        node.fail("it has outputs of training, expected one output")

    def run(x: Any, scale: Any, bias: Any, mean: Any, variance: Any) -> Any:
        shape = (-1, *(1,) * (x.ndim - 2))
        if not training:
            wide = _wide(x)
            factor = scale.astype(wide) / tw.sqrt(variance.astype(wide) + eps)
            offset = bias.astype(wide) - mean.astype(wide) * factor
            found = x.astype(wide, copy=False) * factor.reshape(shape) + offset.reshape(shape)
            return found.astype(x.dtype, copy=False)
        axes = (0, *range(2, x.ndim))
        own_mean = tw.mean(x, axis=axes)
        own_variance = tw.var(x, axis=axes)
        found = (x - own_mean.reshape(shape)) / tw.sqrt(own_variance + eps).reshape(shape)
        return (
            found * scale.reshape(shape) + bias.reshape(shape),
            mean * momentum + own_mean * (1 - momentum),
            variance * momentum + own_variance * (1 - momentum),
        )

    return run


def _wide(x: Any) -> str:
    return "float64" if x.dtype == "float64" else "float32"


@operator("InstanceNormalization")
def _instance_norm(node: Node) -> Run:
    eps = node.number("epsilon", 1e-5)
    return lambda x, scale, bias: tw.nn.instance_norm(x, scale, bias, eps)


@operator("GroupNormalization")
def _group_norm(node: Node) -> Run:
    eps, groups = node.number("epsilon", 1e-5), node.integer("num_groups")
    node.maybe("stash_type")

    def run(x: Any, scale: Any, bias: Any) -> Any:
        channels = x.shape[1]
        if groups < 1 or channels % groups:
            raise ModelError(f"num_groups is {groups}, of {channels} channels")
        if node.version < 21 and scale.shape[0] == groups:
            # There is one of each for a group.
            scale = tw.repeat(scale, channels // groups)
            bias = tw.repeat(bias, channels // groups)
        return tw.nn.group_norm(x, groups, scale, bias, eps)

    return run


def _scaled(x: Any, scale: Any, bias: Any) -> Any:
    found = x * scale
    return found if bias is None else found + bias


@operator("LayerNormalization")
@operator("LayerNormalization", domain=MICROSOFT)
def _layer_norm(node: Node) -> Run:
    axis, eps = node.integer("axis", -1), node.number("epsilon", 1e-5)
    stash = node.integer("stash_type", 1)

    def run(x: Any, scale: Any, bias: Any = None) -> Any:
        at = axis_in(axis, x.ndim)
        shape = tuple(x.shape[at:])
        if scale.shape == shape and (bias is None or bias.shape == shape):
            found = tw.nn.layer_norm(x, shape, scale, bias, eps)
        else:
            found = _scaled(tw.nn.layer_norm(x, shape, None, None, eps), scale, bias)
        if not (node.wants(1) or node.wants(2)):
            return found
        axes = tuple(range(at, x.ndim))
        wide = x.astype("float32") if stash == 1 else x
        mean = tw.mean(wide, axis=axes, keepdims=True)
        return found, mean, 1 / tw.sqrt(tw.var(wide, axis=axes, keepdims=True) + eps)

    return run


@operator("RMSNormalization")
def rms_norm(node: Node) -> Run:
    axis, eps = node.integer("axis", -1), node.number("epsilon", 1e-5)
    node.maybe("stash_type")

    def run(x: Any, scale: Any) -> Any:
        shape = tuple(x.shape[axis_in(axis, x.ndim) :])
        if scale.shape == shape:
            return tw.nn.rms_norm(x, shape, scale, eps)
        return tw.nn.rms_norm(x, shape, None, eps) * scale

    return run


@operator("LpNormalization")
def _lp_norm(node: Node) -> Run:
    axis, p = node.integer("axis", -1), node.integer("p", 2)
    if p not in (1, 2):
        node.fail(f"the attribute p is {p}, expected 1 or 2")

    def run(x: Any) -> Any:
        at = axis_in(axis, x.ndim)
        if p == 1:
            size = tw.sum(tw.abs(x), axis=at, keepdims=True)
        else:
            size = tw.sqrt(tw.sum(tw.square(x), axis=at, keepdims=True))
        return x / tw.where(size == 0, tw.ones_like(size), size)

    return run


@operator("MeanVarianceNormalization")
def _mean_variance(node: Node) -> Run:
    chosen = node.integers("axes") or (0, 2, 3)

    def run(x: Any) -> Any:
        axes = axes_in(chosen, x.ndim)
        mean = tw.mean(x, axis=axes, keepdims=True)
        return (x - mean) / (tw.sqrt(tw.var(x, axis=axes, keepdims=True)) + 1e-9)

    return run


@operator("LRN")
def _lrn(node: Node) -> Run:
    alpha, beta = node.number("alpha", 1e-4), node.number("beta", 0.75)
    bias, size = node.number("bias", 1.0), node.integer("size")
    if size < 1:
        node.fail(f"the attribute size is {size}, expected 1 or more")

    def run(x: Any) -> Any:
        if x.ndim < 3:
            raise ModelError(f"its input has shape {tuple(x.shape)}, expected three or more axes")
        check_room((x.shape[0], x.shape[1] + size - 1, *x.shape[2:]))
        front, behind = (size - 1) // 2, size - 1 - (size - 1) // 2
        squares = tw.pad(tw.square(x), [(0, 0), (front, behind), *[(0, 0)] * (x.ndim - 2)])
        rows = squares.reshape((x.shape[0], 1, squares.shape[1], -1))
        sums = tw.nn.avg_pool2d(rows, (size, 1), (1, 1), divisor_override=1).reshape(x.shape)
        return x / tw.pow(bias + sums * (alpha / size), beta)

    return run
