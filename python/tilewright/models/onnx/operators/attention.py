"""Attention and rotary positions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import tilewright as tw
from tilewright.models.files.errors import ModelError
from tilewright.models.onnx.nodes import Node
from tilewright.models.onnx.operators.registry import OWN, Run, operator
from tilewright.operands import FLOAT16, FLOAT32


def _heads(node: Node, x: Any, count: int, name: str) -> Any:
    """[batch, heads, rows, dim] of what may have its heads side by side."""
    if x.ndim == 4:
        return x
    if x.ndim != 3 or count < 1 or x.shape[2] % count:
        raise ModelError(f"{name} has shape {tuple(x.shape)}, expected {count} heads side by side")
    return x.reshape((x.shape[0], x.shape[1], count, x.shape[2] // count)).transpose((0, 2, 1, 3))


def _mask(given: Any, keys: int) -> Any:
    """Of as many keys as there are: what the mask leaves out is hidden."""
    if given is None:
        return None
    short = keys - given.shape[-1]
    if short < 0:
        raise ModelError(f"attn_mask has shape {tuple(given.shape)}, expected {keys} keys")
    if short:
        filler = False if given.dtype == np.bool_ else -math.inf
        widths = [(0, 0)] * (given.ndim - 1) + [(0, short)]
        given = tw.pad(given, widths, constant_values=filler)
    return given.reshape((*(1,) * (4 - given.ndim), *given.shape))


@operator("Attention")
def _attention(node: Node) -> Run:
    q_heads, kv_heads = node.integer("q_num_heads", 0), node.integer("kv_num_heads", 0)
    causal, cap = node.flag("is_causal"), node.number("softcap", 0.0)
    said = node.number("scale") if node.given("scale") else None
    mode = node.integer("qk_matmul_output_mode", 0)
    left, right = node.integer("left_window_size", -1), node.integer("right_window_size", -1)
    if node.given("softmax_precision"):
        node.dtype("softmax_precision")
    if mode not in range(4):
        node.fail(f"the attribute qk_matmul_output_mode is {mode}, expected 0 to 3")
    if min(left, right) < -1 or cap < 0:
        node.fail("a window or the soft cap is below 0")
    window = (left if left >= 0 else None, right if right >= 0 else None)

    def run(
        q: Any, k: Any, v: Any, mask: Any = None, past_k: Any = None, past_v: Any = None,
        lengths: Any = None,
    ) -> Any:  # fmt: skip
        is_flat = q.ndim == 3
        q = _heads(node, q, q_heads, "Q")
        k, v = (_heads(node, x, kv_heads, n) for x, n in ((k, "K"), (v, "V")))
        before = 0 if past_k is None else past_k.shape[2]
        if past_k is not None:
            k, v = tw.concat([past_k, k], axis=2), tw.concat([past_v, v], axis=2)
        scale = 1 / math.sqrt(q.shape[3]) if said is None else said
        added = _mask(mask, k.shape[2])
        wants_scores = node.wants(3)
        if q.dtype in (FLOAT32, FLOAT16) and not wants_scores and scale > 0 and q.size and k.size:
            found, scores = _fused(q, k, v, added, before, lengths, scale), None
        else:
            found, scores = _composed(q, k, v, added, before, lengths, scale)
        if is_flat:
            rows = found.transpose((0, 2, 1, 3))
            found = rows.reshape((*rows.shape[:2], rows.shape[2] * rows.shape[3]))
        return found, k, v, scores

    def _fused(q: Any, k: Any, v: Any, mask: Any, before: int, lengths: Any, scale: float) -> Any:
        shape = (*q.shape[:3], k.shape[2])
        if mask is not None:
            if mask.dtype != np.bool_ and mask.dtype != q.dtype:
                mask = mask.astype(q.dtype)
            mask = tw.broadcast_to(mask, shape)
        counts = None if lengths is None else lengths.astype("int32").reshape(-1)
        windowed = window if window != (None, None) else None
        follows = {"at_end": True} if counts is not None else {"q_offset": before}
        return q.backend.attention(
            q, k, v, causal=causal, scale=scale, mask=mask, soft_cap=cap, window=windowed,
            lengths=counts, **(follows if causal or windowed else {}),
        )  # fmt: skip

    def _composed(
        q: Any, k: Any, v: Any, mask: Any, before: int, lengths: Any, scale: float
    ) -> Any:
        wide = "float64" if q.dtype == "float64" else "float32"
        rows, keys, share = q.shape[2], k.shape[2], q.shape[1] // k.shape[1]
        if share > 1:
            k, v = tw.repeat(k, share, axis=1), tw.repeat(v, share, axis=1)
        root = math.sqrt(abs(scale))
        a, b = q.astype(wide) * root, k.astype(wide) * math.copysign(root, scale)
        scores = a @ b.mT
        shown = scores
        if cap:
            scores = tw.tanh(scores / cap) * cap
        if mode == 1:
            shown = scores
        bias = tw.zeros((1, 1, rows, keys), dtype=wide)
        hidden = -math.inf
        if mask is not None:
            if mask.dtype == np.bool_:
                mask = tw.where(mask, 0.0, hidden)
            bias = bias + mask.astype(wide)
        places = tw.arange(rows, dtype="int32").reshape((1, 1, rows, 1))
        at = tw.arange(keys, dtype="int32").reshape((1, 1, 1, keys))
        offset: Any = before
        if lengths is not None:
            counts = lengths.astype("int32").reshape((-1, 1, 1, 1))
            offset = counts - rows
            bias = bias + tw.where(at < counts, 0.0, hidden).astype(wide)
        ahead = at - places - offset
        if causal:
            bias = bias + tw.where(ahead <= 0, 0.0, hidden).astype(wide)
        if window[0] is not None:
            bias = bias + tw.where(ahead >= -window[0], 0.0, hidden).astype(wide)
        if window[1] is not None:
            bias = bias + tw.where(ahead <= window[1], 0.0, hidden).astype(wide)
        total = scores + bias
        if mode == 2:
            shown = total
        sees_none = tw.max(bias, axis=-1, keepdims=True) == hidden
        weights = tw.nn.softmax(tw.where(sees_none, 0.0, total).astype(wide), -1)
        weights = tw.where(sees_none, 0.0, weights).astype(wide)
        if mode == 3:
            shown = weights
        found = (weights @ v.astype(wide)).astype(q.dtype)
        return found, tw.broadcast_to(shown, (*q.shape[:3], keys)).astype(q.dtype)

    return run


@operator("Attended", domain=OWN)
def _attended(node: Node) -> Run:
    """softmax(scale * q k^T + mask) v, as exporters take it apart; of any shapes that broadcast."""
    scale = node.number("scale")

    def run(q: Any, k: Any, v: Any, mask: Any = None) -> Any:
        dtypes = {str(one.dtype) for one in (q, k, v, mask) if one is not None}
        is_usual = q.ndim == k.ndim == v.ndim == 4 and q.shape[:2] == k.shape[:2] == v.shape[:2]
        if is_usual and q.size and k.size and dtypes in ({"float32"}, {"float16"}):
            shape = (*q.shape[:3], k.shape[2])
            q, k, v = (one if one.strides[-1] == 1 else one.copy() for one in (q, k, v))
            if mask is None or np.broadcast_shapes(mask.shape, shape) == shape:
                given = None if mask is None else tw.broadcast_to(mask, shape)
                return q.backend.attention(q, k, v, scale=scale, mask=given)
        scores = (q @ k.mT) * scale
        return tw.nn.softmax(scores if mask is None else scores + mask, -1) @ v

    return run


@operator("RotaryEmbedding")
def _rotary(node: Node) -> Run:
    turned, heads = node.integer("rotary_embedding_dim", 0), node.integer("num_heads", 0)
    interleaved = node.flag("interleaved")

    def run(x: Any, cos: Any, sin: Any, positions: Any = None) -> Any:
        is_flat = x.ndim == 3
        q = _heads(node, x, heads, "X")
        if positions is not None:
            cos, sin = (tw.take(one, positions.reshape(-1), axis=0) for one in (cos, sin))
        half = (turned or q.shape[3]) // 2
        if cos.shape[-1] != half or sin.shape[-1] != half:
            raise ModelError(f"cos_cache has shape {tuple(cos.shape)}, expected {half} columns")
        cos, sin = (one.reshape((q.shape[0], 1, q.shape[2], half)) for one in (cos, sin))
        front = q[..., : 2 * half]
        a, b = (
            (front[..., 0::2], front[..., 1::2]) if interleaved
            else (front[..., :half], front[..., half:])
        )  # fmt: skip
        real, imaginary = a * cos - b * sin, a * sin + b * cos
        if interleaved:
            found = tw.stack([real, imaginary], axis=-1).reshape(front.shape)
        else:
            found = tw.concat([real, imaginary], axis=-1)
        if 2 * half < q.shape[3]:
            found = tw.concat([found, q[..., 2 * half :]], axis=-1)
        return found.transpose((0, 2, 1, 3)).reshape(x.shape) if is_flat else found

    return run


@operator("CausalConvWithState")
def _causal_conv(node: Node) -> Run:
    kind = node.string("activation", "none", ("none", "silu", "swish"))

    def run(x: Any, weight: Any, bias: Any = None, past: Any = None) -> Any:
        if x.ndim != 3 or weight.ndim != 3:
            raise ModelError(f"its inputs have shapes {tuple(x.shape)} and {tuple(weight.shape)}")
        behind = weight.shape[2] - 1
        if past is None:
            past = tw.zeros((*x.shape[:2], behind), dtype=x.dtype)
        padded = tw.concat([past, x], axis=2)
        found = tw.nn.conv1d(
            padded, weight, bias, groups=x.shape[1], activation="none" if kind == "none" else "silu"
        )
        return found, padded[:, :, padded.shape[2] - behind :]

    return run
