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
    eps = node.number("epsilon", 1e-12)
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


def _heads(x: Any, heads: int, name: str) -> Any:
    if x.ndim != 3 or heads < 1 or x.shape[2] % heads:
        raise ModelError(f"{name} has shape {tuple(x.shape)}, expected {heads} heads")
    parts = x.reshape((x.shape[0], x.shape[1], heads, x.shape[2] // heads))
    return parts.transpose((0, 2, 1, 3))


def _attended(q: Any, k: Any, v: Any, added: Any, causal: bool, scale: float | None) -> Any:
    """Of heads, with what is added to their scores, heads side by side again."""
    scale = 1 / math.sqrt(q.shape[3]) if scale is None else scale
    found = tw.nn.scaled_dot_product_attention(q, k, v, added, 0.0, causal, scale)
    found = found.transpose((0, 2, 1, 3))
    return found.reshape((*found.shape[:2], found.shape[2] * found.shape[3]))


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

    def run(
        q: Any, k: Any, v: Any, bias: Any = None, padding: Any = None, added: Any = None,
        *others: Any,
    ) -> Any:  # fmt: skip
        rows = [_heads(x, heads, name) for x, name in ((q, "query"), (k, "key"), (v, "value"))]
        return _attended(rows[0], rows[1], rows[2], added, causal, said)

    return run


@operator("Attention", domain=MICROSOFT)
def _attention(node: Node) -> Run:
    """Queries, keys and values of one product; a mask of padding or the lengths of texts."""
    heads, causal = node.integer("num_heads"), node.flag("unidirectional")
    said = node.number("scale") if node.given("scale") else None
    hidden = node.number("mask_filter_value", -10000.0)
    for name in ("do_rotary", "past_present_share_buffer"):
        node.only(name, 0)
    if node.given("qkv_hidden_sizes") or node.has(4) or node.has(6):
        node.fail("it has sizes of its own or a cache, expected neither")
    if any(node.wants(i) for i in range(1, len(node.outputs))):
        node.fail("it has outputs of a cache, expected one output")

    def run(
        x: Any, weight: Any, bias: Any = None, mask: Any = None, past: Any = None,
        added: Any = None, *others: Any,
    ) -> Any:  # fmt: skip
        if x.ndim != 3 or weight.ndim != 2 or weight.shape[1] % 3:
            raise ModelError(f"its inputs have shapes {tuple(x.shape)} and {tuple(weight.shape)}")
        product = x @ weight
        if bias is not None:
            product = product + bias
        wide = weight.shape[1] // 3
        q, k, v = (
            _heads(product[:, :, i * wide : (i + 1) * wide], heads, "its input") for i in range(3)
        )
        if mask is not None:
            scores = _padding(x, mask, hidden)
            added = scores if added is None else added + scores
        return _attended(q, k, v, added, causal, said)

    return run


def _padding(x: Any, mask: Any, hidden: float) -> Any:
    """What is added to scores where a key is padding."""
    batch, rows = x.shape[:2]
    if mask.shape == (batch,):
        seen = tw.arange(rows, dtype=mask.dtype) < mask.reshape((batch, 1, 1, 1))
    elif mask.shape == (batch, rows):
        seen = mask.reshape((batch, 1, 1, rows)) != 0
    elif mask.shape == (batch, rows, rows):
        seen = mask.reshape((batch, 1, rows, rows)) != 0
    else:
        raise ModelError(f"mask_index has shape {tuple(mask.shape)}, of {batch} texts of {rows}")
    return tw.where(seen, 0.0, hidden).astype(x.dtype)


@operator("EmbedLayerNormalization", domain=MICROSOFT)
def _embed(node: Node) -> Run:
    eps = node.number("epsilon", 1e-12)

    def run(
        words: Any, segments: Any, table: Any, places: Any, kinds: Any, gamma: Any, beta: Any,
        mask: Any = None, at: Any = None,
    ) -> Any:  # fmt: skip
        if words.ndim != 2 or words.shape[1] > places.shape[0]:
            raise ModelError(
                f"its input has shape {tuple(words.shape)}, of {places.shape[0]} places"
            )
        total = tw.take(table, words.reshape(-1), axis=0).reshape((*words.shape, -1))
        if at is None:
            total = total + places[: words.shape[1]]
        else:
            total = total + tw.take(places, at.reshape(-1), axis=0).reshape((*at.shape, -1))
        if segments is not None:
            found = tw.take(kinds, segments.reshape(-1), axis=0)
            total = total + found.reshape(total.shape)
        if mask is None:
            counts = tw.zeros(words.shape[0], dtype="int32")
        else:
            counts = tw.sum(mask, axis=1, dtype="int32")
        return tw.nn.layer_norm(total, total.shape[-1], gamma, beta, eps), counts, total

    return run
