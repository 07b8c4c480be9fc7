"""Small decoders of random weights as files of GGUF, as llama.cpp's converter makes them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gguf
import numpy as np

from .decoder_references import steps_of
from .model_folders import VOCABULARY

LAYER_NAMES = {
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.qkv_proj": "attn_qkv",
    "self_attn.o_proj": "attn_output",
    "self_attn.q_norm": "attn_q_norm",
    "self_attn.k_norm": "attn_k_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.gate_up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}
OUTER_NORMS = {
    "post_attention_layernorm": "post_attention_norm",
    "pre_feedforward_layernorm": "ffn_norm",
    "post_feedforward_layernorm": "post_ffw_norm",
}
ARCHITECTURES = {"gemma3_text": "gemma3", "mistral": "llama"}
NAMES = {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output"}
Kind = gguf.GGMLQuantizationType


def name_of(family: str, name: str) -> str:
    base, _, kind = name.rpartition(".")
    if base in NAMES:
        return f"{NAMES[base]}.{kind}"
    layer, _, rest = base.removeprefix("model.layers.").partition(".")
    names = LAYER_NAMES | (OUTER_NORMS if family in ("gemma2", "gemma3_text") else {})
    return f"blk.{layer}.{names[rest]}.{kind}"


def neighbours(x: Any, heads: int) -> Any:
    """Rows in the order in which what is turned together lies side by side."""
    return x.reshape(heads, 2, len(x) // heads // 2, -1).swapaxes(1, 2).reshape(x.shape)


def halves(x: Any, heads: int) -> Any:
    return x.reshape(heads, len(x) // heads // 2, 2, -1).swapaxes(1, 2).reshape(x.shape)


def random_blocks(rng: np.random.Generator, kind: Kind, rows: int, columns: int) -> Any:
    """Of formats that the gguf package reads but does not make: scales of a fitting size."""
    block, size = gguf.GGML_QUANT_SIZES[kind]
    blocks = rng.integers(0, 256, (rows * columns // block, size), np.uint8)
    at, scales = {
        Kind.Q4_K: (0, (2e-4, 1.5e-3)), Kind.Q5_K: (0, (1e-4, 1.5e-3)), Kind.Q6_K: (208, (3e-5,)),
    }[kind]  # fmt: skip
    for i, scale in enumerate(scales):
        held = np.full(len(blocks), scale, np.float16)
        blocks[:, at + 2 * i : at + 2 * i + 2] = held.view(np.uint8).reshape(-1, 2)
    return blocks.reshape(rows, -1)


def add_rotations(writer: gguf.GGUFWriter, config: Mapping[str, Any]) -> None:
    family, head = config["model_type"], config["hidden_size"] // config["num_attention_heads"]
    head = config.get("head_dim", head)
    share = config.get("partial_rotary_factor")
    if share is not None or family in ("llama", "granite"):
        writer.add_rope_dimension_count(int(head * (share or 1)))
    if "rope_local_base_freq" in config:
        writer.add_rope_freq_base_swa(config["rope_local_base_freq"])
    scaling = config.get("rope_scaling") or {}
    kind = scaling.get("rope_type") or scaling.get("type")
    if kind == "linear":
        writer.add_rope_scaling_type(gguf.RopeScalingType.LINEAR)
        writer.add_rope_scaling_factor(scaling["factor"])
    if kind == "yarn":
        writer.add_rope_scaling_type(gguf.RopeScalingType.YARN)
        writer.add_rope_scaling_factor(scaling["factor"])
        writer.add_rope_scaling_orig_ctx_len(scaling["original_max_position_embeddings"])
        writer.add_rope_scaling_yarn_beta_fast(scaling["beta_fast"])
    if kind == "llama3":
        plain = config["rope_theta"] ** -(np.arange(0, head, 2) / head)
        steps, _ = steps_of(config, config["rope_theta"], head)
        factors = (plain / steps).astype(np.float32)
        writer.add_tensor("rope_freqs.weight", factors)
    if kind == "longrope":
        trained = config["original_max_position_embeddings"]
        stretch = config["max_position_embeddings"] / trained
        writer.add_rope_scaling_orig_ctx_len(trained)
        writer.add_rope_scaling_attn_factors(math.sqrt(1 + math.log(stretch) / math.log(trained)))
        for name in ("long", "short"):
            factors = np.array(scaling[f"{name}_factor"], np.float32)
            writer.add_tensor(f"rope_factors_{name}.weight", factors)


def add_own(writer: gguf.GGUFWriter, config: Mapping[str, Any]) -> None:
    """What some families have."""
    family = config["model_type"]
    if family in ("gemma2", "gemma3_text", "phi3"):
        writer.add_sliding_window(config.get("sliding_window") or 0)
    if config.get("sliding_window_pattern"):
        writer.add_sliding_window_pattern(config["sliding_window_pattern"])
    for key, add in (
        ("attn_logit_softcapping", writer.add_attn_logit_softcapping),
        ("final_logit_softcapping", writer.add_final_logit_softcapping),
        ("attention_multiplier", writer.add_attention_scale),
        ("embedding_multiplier", writer.add_embedding_scale),
        ("residual_multiplier", writer.add_residual_scale),
        ("logits_scaling", writer.add_logit_scale),
    ):
        if key in config:
            add(config[key])
    if family in ("gemma2", "gemma3_text") and config["query_pre_attn_scalar"]:
        writer.add_attention_scale(config["query_pre_attn_scalar"] ** -0.5)


def add_value(writer: gguf.GGUFWriter, key: str, value: Any) -> None:
    if isinstance(value, str):
        writer.add_string(key, value)
    elif isinstance(value, list):
        writer.add_array(key, value)
    elif isinstance(value, int):
        writer.add_uint32(key, value)
    else:
        writer.add_float32(key, value)


def write_gguf(
    path: Path, config: Mapping[str, Any], tensors: Mapping[str, Any], kind_of: Any,
    rng: np.random.Generator, keys: Mapping[str, Any] | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Writes it, each matrix in the type that kind_of(name) says, with `keys` beside what the
    converter writes, and gives what it then stands for by Hugging Face's names, in float64."""
    family = config["model_type"]
    heads, kv = config["num_attention_heads"], config["num_key_value_heads"]
    writer = gguf.GGUFWriter(path, ARCHITECTURES.get(family, family))
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(heads)
    writer.add_head_count_kv(kv)
    if "head_dim" in config:
        writer.add_key_length(config["head_dim"])
        writer.add_value_length(config["head_dim"])
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    if family not in ("gemma", "gemma2"):
        writer.add_rope_freq_base(config["rope_theta"])
    add_rotations(writer, config)
    add_own(writer, config)
    for key, value in (keys or {}).items():
        add_value(writer, key, value)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    letters = [chr(ord("!") + i) for i in range(VOCABULARY - 1)]
    letters.append("".join(letters[:2]))
    writer.add_token_list(letters)
    writer.add_token_types([1] * VOCABULARY)
    writer.add_token_merges([" ".join(letters[:2])])
    writer.add_eos_token_id(config["eos_token_id"])
    stands_for = {}
    for name, tensor in tensors.items():
        turns = {"q_proj": heads, "k_proj": kv}.get(name.split(".")[-2], 0)
        turns = turns if family in ("llama", "granite") else 0
        held = neighbours(tensor, turns) if turns else tensor
        more = np.float32(family.startswith("gemma") and name.endswith("norm.weight"))
        held = held + more
        kind = kind_of(name) if tensor.ndim == 2 else Kind.F32
        if kind in (Kind.Q4_K, Kind.Q5_K, Kind.Q6_K):
            blocks = random_blocks(rng, kind, *tensor.shape)
            wide = gguf.quants.dequantize(blocks, kind)
        else:
            blocks = gguf.quants.quantize(held, kind)
            wide = gguf.quants.dequantize(blocks, kind)
        writer.add_tensor(name_of(family, name), blocks, raw_dtype=kind)
        wide = wide.reshape(tensor.shape).astype(np.float64) - more
        stands_for[name] = halves(wide, turns) if turns else wide
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return stands_for
