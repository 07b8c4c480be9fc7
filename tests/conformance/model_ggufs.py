"""Small decoders of random weights as files of GGUF, as llama.cpp's converter makes them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gguf
import numpy as np

from .model_folders import VOCABULARY

LAYER_NAMES = {
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "self_attn.q_norm": "attn_q_norm",
    "self_attn.k_norm": "attn_k_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}
NAMES = {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output"}
Kind = gguf.GGMLQuantizationType


def name_of(name: str) -> str:
    base, _, kind = name.rpartition(".")
    if base in NAMES:
        return f"{NAMES[base]}.{kind}"
    layer, _, rest = base.removeprefix("model.layers.").partition(".")
    return f"blk.{layer}.{LAYER_NAMES[rest]}.{kind}"


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


def write_gguf(
    path: Path, config: Mapping[str, Any], tensors: Mapping[str, Any], kind_of: Any,
    rng: np.random.Generator,
) -> dict[str, Any]:  # fmt: skip
    """Writes it, each matrix in the type that kind_of(name) says, and gives what the file then
    stands for by Hugging Face's names, in float64."""
    family = config["model_type"]
    heads, kv = config["num_attention_heads"], config["num_key_value_heads"]
    writer = gguf.GGUFWriter(path, family)
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(heads)
    writer.add_head_count_kv(kv)
    if "head_dim" in config:
        writer.add_key_length(config["head_dim"])
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_rope_freq_base(config["rope_theta"])
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
        turns = turns if family == "llama" else 0
        held = neighbours(tensor, turns) if turns else tensor
        kind = kind_of(name) if tensor.ndim == 2 else Kind.F32
        if kind in (Kind.Q4_K, Kind.Q5_K, Kind.Q6_K):
            blocks = random_blocks(rng, kind, *tensor.shape)
            wide = gguf.quants.dequantize(blocks, kind)
        else:
            blocks = gguf.quants.quantize(held, kind)
            wide = gguf.quants.dequantize(blocks, kind)
        writer.add_tensor(name_of(name), blocks, raw_dtype=kind)
        wide = wide.reshape(tensor.shape).astype(np.float64)
        stands_for[name] = halves(wide, turns) if turns else wide
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return stands_for
