"""Decoders in float64, as their authors' code has them, by NumPy alone: one sequence, no cache."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from .encoder_references import gelu, softmax

Tensors = Mapping[str, Any]


def rms(x: Any, weight: Any, eps: float) -> Any:
    return x / np.sqrt((x**2).mean(-1, keepdims=True) + eps) * weight


def gelu_tanh(x: Any) -> Any:
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


ACTIVATIONS: dict[str, Any] = {
    "silu": lambda x: x / (1 + np.exp(-x)),
    "gelu_pytorch_tanh": gelu_tanh,
    "gelu": gelu,
}


def steps_of(config: Mapping[str, Any], theta: float, rotary: int) -> tuple[Any, float]:
    """By the formulas of their papers, one element at a time."""
    steps = np.array([theta ** (-2 * i / rotary) for i in range(rotary // 2)])
    scaling = config.get("rope_scaling") or config.get("rope_parameters")
    kind = scaling and (scaling.get("rope_type") or scaling.get("type"))
    if not scaling or kind == "default":
        return steps, 1.0
    if kind == "linear":
        return steps / scaling["factor"], 1.0
    if kind == "dynamic":
        longer = max(config["context"], config["max_position_embeddings"])
        stretch = scaling["factor"] * longer / config["max_position_embeddings"]
        base = theta * (stretch - scaling["factor"] + 1) ** (rotary / (rotary - 2))
        return np.array([base ** (-2 * i / rotary) for i in range(rotary // 2)]), 1.0
    if kind == "llama3":
        trained = scaling["original_max_position_embeddings"]
        low, high = scaling["low_freq_factor"], scaling["high_freq_factor"]
        made = []
        for step in steps:
            length = 2 * math.pi / step
            if length < trained / high:
                made.append(step)
            elif length > trained / low:
                made.append(step / scaling["factor"])
            else:
                share = (trained / length - low) / (high - low)
                made.append((1 - share) * step / scaling["factor"] + share * step)
        return np.array(made), 1.0
    if kind == "yarn":
        return yarn_steps(scaling, theta, rotary, steps)
    trained = config["original_max_position_embeddings"]
    is_long = config["context"] > trained
    factors = np.array(scaling["long_factor" if is_long else "short_factor"])
    stretch = scaling.get("factor", config["max_position_embeddings"] / trained)
    grown = math.sqrt(1 + math.log(stretch) / math.log(trained)) if stretch > 1 else 1.0
    return steps / factors, scaling.get("attention_factor", grown)


def yarn_steps(
    scaling: Mapping[str, Any], theta: float, rotary: int, steps: Any
) -> tuple[Any, float]:
    """Elements that turn often within what was trained stay, those that turn less than once are
    stretched, and between them it goes over in a line."""
    trained, factor = scaling["original_max_position_embeddings"], scaling["factor"]

    def element(turns: float) -> float:
        return rotary * math.log(trained / (turns * 2 * math.pi)) / (2 * math.log(theta))

    first = element(scaling.get("beta_fast", 32))
    last = element(scaling.get("beta_slow", 1))
    if scaling.get("truncate", True):
        first, last = math.floor(first), math.ceil(last)
    first, last = max(first, 0), min(last, rotary - 1)
    made = []
    for i, step in enumerate(steps):
        ramp = min(max((i - first) / ((last - first) or 0.001), 0.0), 1.0)
        made.append(step * (1 - ramp) + step / factor * ramp)

    def grown(by: float) -> float:
        return 0.1 * by * math.log(factor) + 1 if factor > 1 else 1.0

    attention = scaling.get("attention_factor")
    if attention is None:
        attention = grown(1)
        if scaling.get("mscale") and scaling.get("mscale_all_dim"):
            attention = grown(scaling["mscale"]) / grown(scaling["mscale_all_dim"])
    return np.array(made), attention


def turned(x: Any, steps: Any, factor: float) -> Any:
    """[rows, heads, dim]: pairs of the first and the second half of what is turned."""
    half = len(steps)
    angles = np.arange(len(x))[:, None, None] * steps
    cos, sin = np.cos(angles) * factor, np.sin(angles) * factor
    low, high, rest = x[..., :half], x[..., half : 2 * half], x[..., 2 * half :]
    return np.concatenate([low * cos - high * sin, high * cos + low * sin, rest], -1)


def windows_of(config: Mapping[str, Any]) -> list[int | None]:
    layers, family = config["num_hidden_layers"], config["model_type"]
    size = config.get("sliding_window")
    if family in ("mistral", "phi3"):
        return [size] * layers
    if family == "gemma2":
        return [size if i % 2 == 0 else None for i in range(layers)]
    if family == "gemma3_text":
        every = config["sliding_window_pattern"]
        return [None if (i + 1) % every == 0 else size for i in range(layers)]
    return [None] * layers


def logits(
    w: Tensors, config: Mapping[str, Any], tokens: Sequence[int],
    kept: Callable[[Any], Any] | None = None,
) -> Any:  # fmt: skip
    """Of each place, [tokens, vocabulary]; `kept` is what a cache makes of rows of keys and of
    values."""
    family, eps = config["model_type"], config["rms_norm_eps"]
    is_gemma = family.startswith("gemma")
    norms_halves = family in ("gemma2", "gemma3_text")
    residual = config.get("residual_multiplier", 1.0)
    heads, kv = config["num_attention_heads"], config["num_key_value_heads"]
    head = config.get("head_dim", config["hidden_size"] // heads)
    act = ACTIVATIONS[config.get("hidden_activation") or config["hidden_act"]]
    act = gelu_tanh if family == "gemma" else act
    rotary = int(head * config.get("partial_rotary_factor", 1.0))
    rows = len(tokens)

    def weigh(name: str) -> Any:
        return w[name] + 1 if is_gemma else w[name]

    def linear(x: Any, name: str) -> Any:
        product = x @ w[f"{name}.weight"].T
        return product + w[f"{name}.bias"] if f"{name}.bias" in w else product

    x = w["model.embed_tokens.weight"][list(tokens)]
    x = x * (
        math.sqrt(config["hidden_size"]) if is_gemma else config.get("embedding_multiplier", 1)
    )
    for i, window in enumerate(windows_of(config)):
        of = f"model.layers.{i}"
        normed = rms(x, weigh(f"{of}.input_layernorm.weight"), eps)
        if family == "phi3":
            fused = linear(normed, f"{of}.self_attn.qkv_proj")
            q, k, v = np.split(fused, [heads * head, (heads + kv) * head], axis=-1)
        else:
            q, k, v = (linear(normed, f"{of}.self_attn.{one}_proj") for one in "qkv")
        q, k, v = (one.reshape(rows, -1, head) for one in (q, k, v))
        if family in ("qwen3", "gemma3_text"):
            q = rms(q, weigh(f"{of}.self_attn.q_norm.weight"), eps)
            k = rms(k, weigh(f"{of}.self_attn.k_norm.weight"), eps)
        theta = config.get("rope_parameters", {}).get("rope_theta", config["rope_theta"])
        steps, factor = steps_of(config, theta, rotary)
        if family == "gemma3_text" and window is not None:
            local = {key: one for key, one in config.items() if key != "rope_scaling"}
            steps, factor = steps_of(local, config["rope_local_base_freq"], rotary)
        q, k = turned(q, steps, factor), turned(k, steps, factor)
        if kept is not None:
            k, v = kept(k), kept(v)
        scale = config["query_pre_attn_scalar"] ** -0.5 if norms_halves else head**-0.5
        scale = config.get("attention_multiplier", scale)
        mixed = np.zeros((rows, heads, head))
        for h in range(heads):
            scores = q[:, h] @ k[:, h * kv // heads].T * scale
            cap = config.get("attn_logit_softcapping")
            scores = np.tanh(scores / cap) * cap if cap else scores
            away = np.arange(rows)[:, None] - np.arange(rows)[None]
            hidden = (away < 0) | (away >= (window or rows))
            mixed[:, h] = softmax(np.where(hidden, -np.inf, scores)) @ v[:, h * kv // heads]
        out = linear(mixed.reshape(rows, -1), f"{of}.self_attn.o_proj")
        if norms_halves:
            x = x + rms(out, weigh(f"{of}.post_attention_layernorm.weight"), eps)
            inner = rms(x, weigh(f"{of}.pre_feedforward_layernorm.weight"), eps)
        else:
            x = x + out * residual
            inner = rms(x, weigh(f"{of}.post_attention_layernorm.weight"), eps)
        if family == "phi3":
            gate, up = np.split(linear(inner, f"{of}.mlp.gate_up_proj"), 2, axis=-1)
        else:
            gate, up = (linear(inner, f"{of}.mlp.{one}_proj") for one in ("gate", "up"))
        outer = linear(act(gate) * up, f"{of}.mlp.down_proj")
        if norms_halves:
            outer = rms(outer, weigh(f"{of}.post_feedforward_layernorm.weight"), eps)
        x = x + outer * residual
    x = rms(x, weigh("model.norm.weight"), eps)
    last = w.get("lm_head.weight", w["model.embed_tokens.weight"])
    cap = config.get("final_logit_softcapping")
    found = x @ last.T / config.get("logits_scaling", 1.0)
    return np.tanh(found / cap) * cap if cap else found
