"""Encoders in float64, as their papers and their authors' code have them, by NumPy alone."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.special import erf

Tensors = Mapping[str, Any]


def gelu(x: Any) -> Any:
    return x * 0.5 * (1 + erf(x / math.sqrt(2)))


def softmax(x: Any) -> Any:
    powers = np.exp(x - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def norm(x: Any, weight: Any, bias: Any, eps: float) -> Any:
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + eps) * weight + bias


def heads_of(x: Any, heads: int) -> Any:
    return x.reshape(len(x), heads, -1).transpose(1, 0, 2)


def attend(q: Any, k: Any, v: Any, heads: int, bias: Any = 0.0) -> Any:
    q, k, v = (heads_of(one, heads) for one in (q, k, v))
    scores = q @ k.transpose(0, 2, 1) / math.sqrt(q.shape[-1]) + bias
    return (softmax(scores) @ v).transpose(1, 0, 2).reshape(q.shape[1], -1)


def t5_bucket(distance: int, buckets: int, furthest: int = 128) -> int:
    """Of the distance from a query to a key."""
    half = buckets // 2
    first = half if distance > 0 else 0
    away, exact = abs(distance), half // 2
    if away < exact:
        return first + away
    grown = math.log(away / exact) / math.log(furthest / exact) * (half - exact)
    return first + min(exact + int(grown), half - 1)


def bert(
    w: Tensors,
    config: Mapping[str, Any],
    tokens: Sequence[int],
    segments: Sequence[int] | None = None,
) -> Any:
    """The last hidden states of one sequence, of BERT, RoBERTa, MPNet or ELECTRA."""
    family, eps = config["model_type"], config["layer_norm_eps"]
    heads = config["num_attention_heads"]
    first = 0 if family in ("bert", "electra") else config["pad_token_id"] + 1
    x = w["embeddings.word_embeddings.weight"][list(tokens)]
    x = x + w["embeddings.position_embeddings.weight"][first : first + len(tokens)]
    if family != "mpnet":
        of = [0] * len(tokens) if segments is None else list(segments)
        x = x + w["embeddings.token_type_embeddings.weight"][of]
    x = norm(x, w["embeddings.LayerNorm.weight"], w["embeddings.LayerNorm.bias"], eps)
    bias: Any = 0.0
    if family == "mpnet":
        table = w["encoder.relative_attention_bias.weight"]
        places = [
            [t5_bucket(j - i, len(table)) for j in range(len(tokens))] for i in range(len(tokens))
        ]
        bias = table[np.array(places)].transpose(2, 0, 1)

    def linear(x: Any, name: str) -> Any:
        return x @ w[f"{name}.weight"].T + w[f"{name}.bias"]

    if family == "electra":
        x = linear(x, "embeddings_project")
    for i in range(config["num_hidden_layers"]):
        of_layer = f"encoder.layer.{i}"
        if family == "mpnet":
            parts = [f"{of_layer}.attention.attn.{one}" for one in "qkvo"]
            first_norm = f"{of_layer}.attention.LayerNorm"
        else:
            parts = [f"{of_layer}.attention.self.{one}" for one in ("query", "key", "value")]
            parts.append(f"{of_layer}.attention.output.dense")
            first_norm = f"{of_layer}.attention.output.LayerNorm"
        q, k, v = (linear(x, name) for name in parts[:3])
        mixed = linear(attend(q, k, v, heads, bias), parts[3])
        x = norm(mixed + x, w[f"{first_norm}.weight"], w[f"{first_norm}.bias"], eps)
        inner = gelu(linear(x, f"{of_layer}.intermediate.dense"))
        outer = linear(inner, f"{of_layer}.output.dense")
        last = f"{of_layer}.output.LayerNorm"
        x = norm(outer + x, w[f"{last}.weight"], w[f"{last}.bias"], eps)
    return x


def distilbert(w: Tensors, config: Mapping[str, Any], tokens: Sequence[int]) -> Any:
    """The last hidden states of one sequence."""

    def linear(x: Any, name: str) -> Any:
        return x @ w[f"{name}.weight"].T + w[f"{name}.bias"]

    def normed(x: Any, name: str) -> Any:
        return norm(x, w[f"{name}.weight"], w[f"{name}.bias"], 1e-12)

    x = w["embeddings.word_embeddings.weight"][list(tokens)]
    x = normed(
        x + w["embeddings.position_embeddings.weight"][: len(tokens)], "embeddings.LayerNorm"
    )
    for i in range(config["n_layers"]):
        of = f"transformer.layer.{i}"
        q, k, v = (linear(x, f"{of}.attention.{one}_lin") for one in "qkv")
        mixed = linear(attend(q, k, v, config["n_heads"]), f"{of}.attention.out_lin")
        x = normed(mixed + x, f"{of}.sa_layer_norm")
        inner = gelu(linear(x, f"{of}.ffn.lin1"))
        x = normed(linear(inner, f"{of}.ffn.lin2") + x, f"{of}.output_layer_norm")
    return x


def turned(x: Any, theta: float) -> Any:
    """Rotary positions of halves, [rows, heads, dim]."""
    half = x.shape[-1] // 2
    angles = np.arange(len(x))[:, None] * theta ** -(np.arange(half) / half)
    cos, sin = np.cos(angles)[:, None], np.sin(angles)[:, None]
    low, high = x[..., :half], x[..., half:]
    return np.concatenate([low * cos - high * sin, high * cos + low * sin], -1)


def modernbert(w: Tensors, config: Mapping[str, Any], tokens: Sequence[int]) -> Any:
    eps, heads, hidden = config["norm_eps"], config["num_attention_heads"], config["hidden_size"]
    rows = len(tokens)
    x = norm(
        w["embeddings.tok_embeddings.weight"][list(tokens)], w["embeddings.norm.weight"], 0, eps
    )
    away = np.abs(np.arange(rows)[:, None] - np.arange(rows)[None])
    hidden_far = np.where(away > config["local_attention"] // 2, -np.inf, 0.0)
    for i in range(config["num_hidden_layers"]):
        of, is_whole = f"layers.{i}", i % config["global_attn_every_n_layers"] == 0
        normed = x if i == 0 else norm(x, w[f"{of}.attn_norm.weight"], 0, eps)
        three = (normed @ w[f"{of}.attn.Wqkv.weight"].T).reshape(rows, 3, heads, -1)
        theta = config["global_rope_theta" if is_whole else "local_rope_theta"]
        q, k = (turned(three[:, j], theta).reshape(rows, hidden) for j in range(2))
        mixed = attend(
            q, k, three[:, 2].reshape(rows, hidden), heads, 0 if is_whole else hidden_far
        )
        x = x + mixed @ w[f"{of}.attn.Wo.weight"].T
        gated = norm(x, w[f"{of}.mlp_norm.weight"], 0, eps) @ w[f"{of}.mlp.Wi.weight"].T
        inner = gelu(gated[:, : config["intermediate_size"]])
        x = x + (inner * gated[:, config["intermediate_size"] :]) @ w[f"{of}.mlp.Wo.weight"].T
    return norm(x, w["final_norm.weight"], 0, eps)


def nomic(w: Tensors, config: Mapping[str, Any], tokens: Sequence[int]) -> Any:
    """Nomic's BERT, of one sequence."""
    eps, heads, hidden = (
        config["layer_norm_eps"],
        config["num_attention_heads"],
        len(w["emb_ln.bias"]),
    )
    rows = len(tokens)

    def normed(x: Any, name: str) -> Any:
        return norm(x, w[f"{name}.weight"], w[f"{name}.bias"], eps)

    x = w["embeddings.word_embeddings.weight"][list(tokens)]
    x = normed(x + w["embeddings.token_type_embeddings.weight"][0], "emb_ln")
    for i in range(config["num_hidden_layers"]):
        of = f"encoder.layers.{i}"
        three = (x @ w[f"{of}.attn.Wqkv.weight"].T).reshape(rows, 3, heads, -1)
        q, k = (turned(three[:, j], config["rope_theta"]).reshape(rows, hidden) for j in range(2))
        mixed = attend(q, k, three[:, 2].reshape(rows, hidden), heads)
        x = normed(x + mixed @ w[f"{of}.attn.out_proj.weight"].T, f"{of}.norm1")
        gate = x @ w[f"{of}.mlp.fc12.weight"].T
        inner = (x @ w[f"{of}.mlp.fc11.weight"].T) * gate / (1 + np.exp(-gate))
        x = normed(x + inner @ w[f"{of}.mlp.fc2.weight"].T, f"{of}.norm2")
    return x
