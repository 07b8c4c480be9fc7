"""Operators of com.microsoft that exporters and optimisers of ONNX Runtime write."""

from __future__ import annotations

import math
from typing import Any

import tilewright as tw
from tilewright.models.files.errors import ModelError
from tilewright.models.onnx.nodes import Node
from tilewright.models.onnx.operators.norms import rms_norm
from tilewright.models.onnx.operators.registry import MICROSOFT, Run, operator, plain
from tilewright.nn.running import mapped
from tilewright.program import Value


@operator("FusedMatMul", domain=MICROSOFT)
def _fused_matmul(node: Node) -> Run:
    alpha = node.number("alpha", 1.0)
    turns_a, turns_b = node.flag("transA"), node.flag("transB")
    for name in ("transBatchA", "transBatchB"):
        node.only(name, 0)

    def run(a: Any, b: Any) -> Any:
        found = (a.mT if turns_a and a.ndim > 1 else a) @ (b.mT if turns_b and b.ndim > 1 else b)
        return found if alpha == 1 else found * alpha

    return run


def _gelu(x: Any) -> Any:
    return tw.nn.gelu(x)


def _bias_gelu(x: Any, bias: Any) -> Any:
    return tw.nn.gelu(x + bias)


def _fast_gelu(x: Any, bias: Any = None) -> Any:
    return tw.nn.gelu(x if bias is None else x + bias, "tanh")


plain("Gelu", _gelu, domain=MICROSOFT)
plain("BiasGelu", _bias_gelu, domain=MICROSOFT)
plain("FastGelu", _fast_gelu, domain=MICROSOFT)


def _quick(x: Value, alpha: Value) -> Value:
    return x * (x * alpha).sigmoid()


@operator("QuickGelu", domain=MICROSOFT)
def _quick_gelu(node: Node) -> Run:
    alpha = node.number("alpha", 1.702)
    return lambda x: mapped("QuickGelu", _quick, x, [x, alpha])


@operator("SkipLayerNormalization", domain=MICROSOFT)
def _skip_layer_norm(node: Node) -> Run:
    eps = node.number("epsilon", 1e-12)
    if node.wants(1) or node.wants(2):
        node.fail("it has the outputs mean or inv_std_var, expected none of them")

    def run(x: Any, skip: Any, gamma: Any, beta: Any = None, bias: Any = None) -> Any:
        total = x + skip if bias is None else x + skip + bias
        return tw.nn.layer_norm(total, x.shape[-1], gamma, beta, eps), None, None, total

    return run


@operator("SkipSimplifiedLayerNormalization", domain=MICROSOFT)
def _skip_rms_norm(node: Node) -> Run:
    eps = node.number("epsilon", 1e-5)
    if node.wants(1) or node.wants(2):
        node.fail("it has the outputs mean or inv_std_var, expected none of them")

    def run(x: Any, skip: Any, gamma: Any, bias: Any = None) -> Any:
        total = x + skip if bias is None else x + skip + bias
        return tw.nn.rms_norm(total, x.shape[-1], gamma, eps), None, None, total

    return run


@operator("SimplifiedLayerNormalization", domain=MICROSOFT)
@operator("SimplifiedLayerNormalization")
def _simplified(node: Node) -> Run:
    return rms_norm(node)


@operator("MultiHeadAttention", domain=MICROSOFT)
def _multi_head(node: Node) -> Run:
    heads = node.integer("num_heads")
    said = node.number("scale") if node.given("scale") else None
    causal = node.flag("unidirectional")
    node.number("mask_filter_value", -10000.0)
    if len(node.inputs) > 3 and any(node.has(i) for i in (3, 4, *range(6, len(node.inputs)))):
        node.fail("it has a bias, a mask of padding or a cache, expected an attention_bias at most")
    if any(node.wants(i) for i in range(1, len(node.outputs))):
        node.fail("it has outputs of a cache, expected one output")

    def split(x: Any, name: str) -> Any:
        if x.ndim != 3 or heads < 1 or x.shape[2] % heads:
            raise ModelError(f"{name} has shape {tuple(x.shape)}, expected {heads} heads")
        parts = x.reshape((x.shape[0], x.shape[1], heads, x.shape[2] // heads))
        return parts.transpose((0, 2, 1, 3))

    def run(
        q: Any, k: Any, v: Any, bias: Any = None, padding: Any = None, added: Any = None,
        *others: Any,
    ) -> Any:  # fmt: skip
        q, k, v = split(q, "query"), split(k, "key"), split(v, "value")
        scale = 1 / math.sqrt(q.shape[3]) if said is None else said
        found = tw.nn.scaled_dot_product_attention(q, k, v, added, 0.0, causal, scale)
        found = found.transpose((0, 2, 1, 3))
        return found.reshape((*found.shape[:2], found.shape[2] * found.shape[3]))

    return run
