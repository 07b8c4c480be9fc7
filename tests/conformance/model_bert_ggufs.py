"""Small BERTs as files of GGUF, as llama.cpp's converter makes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import gguf
import numpy as np

from .model_folders import FAMILIES, VOCABULARY

Kind = gguf.GGMLQuantizationType
NAMES = {
    "embeddings.word_embeddings": "token_embd",
    "embeddings.position_embeddings": "position_embd",
    "embeddings.token_type_embeddings": "token_types",
    "embeddings.LayerNorm": "token_embd_norm",
    "attention.self.query": "attn_q",
    "attention.self.key": "attn_k",
    "attention.self.value": "attn_v",
    "attention.output.dense": "attn_output",
    "attention.output.LayerNorm": "attn_output_norm",
    "intermediate.dense": "ffn_up",
    "output.dense": "ffn_down",
    "output.LayerNorm": "layer_output_norm",
}
NOMIC_NAMES = {
    "embeddings.word_embeddings": "token_embd",
    "embeddings.token_type_embeddings": "token_types",
    "emb_ln": "token_embd_norm",
    "attn.Wqkv": "attn_qkv",
    "attn.out_proj": "attn_output",
    "norm1": "attn_output_norm",
    "mlp.fc11": "ffn_up",
    "mlp.fc12": "ffn_gate",
    "mlp.fc2": "ffn_down",
    "norm2": "layer_output_norm",
}
CONFIG = {**FAMILIES["bert"], "hidden_size": 64, "num_attention_heads": 4, "intermediate_size": 96}
NOMIC = {**CONFIG, "model_type": "nomic-bert", "rope_theta": 1000.0}
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *(f"word{i}" for i in range(20)), "##s", "un", "##do"]
WORDS += [f"a{i}" for i in range(VOCABULARY - len(WORDS))]


def nomic_shapes(config: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    h, inner = config["hidden_size"], config["intermediate_size"]
    found = {
        "embeddings.word_embeddings.weight": (config["vocab_size"], h),
        "embeddings.token_type_embeddings.weight": (config["type_vocab_size"], h),
    }
    norms = ["emb_ln"]
    for i in range(config["num_hidden_layers"]):
        of = f"encoder.layers.{i}"
        norms += [f"{of}.norm1", f"{of}.norm2"]
        found |= {
            f"{of}.attn.Wqkv.weight": (3 * h, h), f"{of}.attn.out_proj.weight": (h, h),
            f"{of}.mlp.fc11.weight": (inner, h), f"{of}.mlp.fc12.weight": (inner, h),
            f"{of}.mlp.fc2.weight": (h, inner),
        }  # fmt: skip
    return found | {f"{name}.{kind}": (h,) for name in norms for kind in ("weight", "bias")}


def name_of(family: str, name: str) -> str:
    base, _, kind = name.rpartition(".")
    names = NOMIC_NAMES if family == "nomic-bert" else NAMES
    if base in names:
        return f"{names[base]}.{kind}"
    layer, _, rest = base.partition(".layer")[2].lstrip("s.").partition(".")
    return f"blk.{layer}.{names[rest]}.{kind}"


def word_pieces(writer: Any, listed: list[str]) -> None:
    special = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}
    writer.add_tokenizer_model("bert")
    writer.add_tokenizer_pre("default")
    writer.add_token_list([
        word if word in special else word[2:] if word.startswith("##") else "\u2581" + word
        for word in listed
    ])  # fmt: skip
    writer.add_token_types([3 if word in special else 1 for word in listed])
    for name, add in (
        ("[CLS]", writer.add_bos_token_id), ("[SEP]", writer.add_sep_token_id),
        ("[UNK]", writer.add_unk_token_id), ("[PAD]", writer.add_pad_token_id),
    ):  # fmt: skip
        add(listed.index(name))


def write_bert(
    path: Path, config: Mapping[str, Any], tensors: Mapping[str, Any], kind: Kind,
    words: list[str] | None = None, keys: Mapping[str, int] | None = None,
    vocabulary: Callable[[Any], None] | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Writes it as the converter does, and gives what it stands for in float64."""
    family = config.get("model_type", "bert")
    writer = gguf.GGUFWriter(path, family)
    if "rope_theta" in config:
        writer.add_rope_freq_base(config["rope_theta"])
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(config["num_attention_heads"])
    writer.add_layer_norm_eps(config["layer_norm_eps"])
    writer.add_causal_attention(False)
    writer.add_token_type_count(config["type_vocab_size"])
    for key, value in (keys or {}).items():
        writer.add_uint32(key, value)
    (vocabulary or (lambda to: word_pieces(to, WORDS if words is None else words)))(writer)
    stands_for = {}
    for name, tensor in tensors.items():
        # The converter leaves positions and types in float32.
        is_narrow = tensor.ndim == 2 and "position" not in name and "token_type" not in name
        held = kind if is_narrow else Kind.F32
        blocks = gguf.quants.quantize(tensor, held)
        writer.add_tensor(name_of(family, name), blocks, raw_dtype=held)
        wide = gguf.quants.dequantize(blocks, held).reshape(tensor.shape)
        stands_for[name] = wide.astype(np.float64)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return stands_for


def unigram_words() -> tuple[list[str], list[float]]:
    """As XLM-RoBERTa's begin and end."""
    words = ["<s>", "<pad>", "</s>", "<unk>", "\u2581", *"abcdeoruwn", "\u2581un", "\u2581word"]
    words += [f"\u2581a{i}" for i in range(VOCABULARY - len(words) - 1)] + ["<mask>"]
    return words, [0.0] * 4 + [-3.0 - i / 16 for i in range(len(words) - 5)] + [0.0]


def unigram(writer: Any) -> None:
    words, scores = unigram_words()
    writer.add_tokenizer_model("t5")
    writer.add_tokenizer_pre("default")
    writer.add_token_list(words)
    writer.add_token_scores(scores)
    writer.add_token_types([3, 3, 3, 2, *[1] * (len(words) - 5), 3])
    for i, add in enumerate(
        (writer.add_bos_token_id, writer.add_pad_token_id, writer.add_eos_token_id,
         writer.add_unk_token_id)
    ):  # fmt: skip
        add(i)
    writer.add_sep_token_id(2)
    writer.add_add_bos_token(True)
    writer.add_add_eos_token(True)
    writer.add_add_space_prefix(True)
    writer.add_remove_extra_whitespaces(True)
