"""Small models of random weights, as folders that hold what Hugging Face's do."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import Tokenizer, models, pre_tokenizers, processors

WORDS = [f"w{i}" for i in range(40)]
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
VOCABULARY = len(SPECIAL) + len(WORDS)
NAMES = {"float32": "F32", "float16": "F16", "int64": "I64"}

ENCODER = {
    "hidden_size": 48,
    "num_attention_heads": 3,
    "num_hidden_layers": 2,
    "intermediate_size": 80,
    "vocab_size": VOCABULARY,
    "max_position_embeddings": 70,
    "layer_norm_eps": 1e-6,
    "hidden_act": "gelu",
    "pad_token_id": 0,
}
FAMILIES: dict[str, dict[str, Any]] = {
    "bert": {**ENCODER, "model_type": "bert", "type_vocab_size": 2},
    "roberta": {**ENCODER, "model_type": "roberta", "type_vocab_size": 1, "pad_token_id": 1},
    "mpnet": {
        **ENCODER, "model_type": "mpnet", "pad_token_id": 1, "relative_attention_num_buckets": 32,
    },
    "modernbert": {
        "model_type": "modernbert", "hidden_size": 48, "num_attention_heads": 3,
        "num_hidden_layers": 4, "intermediate_size": 80, "vocab_size": VOCABULARY,
        "max_position_embeddings": 70, "norm_eps": 1e-5, "hidden_activation": "gelu",
        "global_attn_every_n_layers": 3, "local_attention": 8, "global_rope_theta": 1000.0,
        "local_rope_theta": 100.0,
    },
}  # fmt: skip


def shapes(config: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    """Of the tensors of an encoder, by the names that the family's files have."""
    h, inner = config["hidden_size"], config["intermediate_size"]
    layers, vocabulary = config["num_hidden_layers"], config["vocab_size"]
    if config["model_type"] == "modernbert":
        found = {
            "embeddings.tok_embeddings.weight": (vocabulary, h),
            "embeddings.norm.weight": (h,),
            "final_norm.weight": (h,),
        }
        for i in range(layers):
            of = f"layers.{i}"
            found |= {
                f"{of}.attn.Wqkv.weight": (3 * h, h), f"{of}.attn.Wo.weight": (h, h),
                f"{of}.mlp_norm.weight": (h,), f"{of}.mlp.Wi.weight": (2 * inner, h),
                f"{of}.mlp.Wo.weight": (h, inner),
            }  # fmt: skip
            if i > 0:
                found[f"{of}.attn_norm.weight"] = (h,)
        return found
    found = {
        "embeddings.word_embeddings.weight": (vocabulary, h),
        "embeddings.position_embeddings.weight": (config["max_position_embeddings"], h),
    }
    linears: dict[str, tuple[int, int]] = {}
    norms = ["embeddings.LayerNorm"]
    is_mpnet = config["model_type"] == "mpnet"
    if is_mpnet:
        found["encoder.relative_attention_bias.weight"] = (
            config["relative_attention_num_buckets"], config["num_attention_heads"],
        )  # fmt: skip
    else:
        found["embeddings.token_type_embeddings.weight"] = (config["type_vocab_size"], h)
    for i in range(layers):
        of = f"encoder.layer.{i}"
        if is_mpnet:
            names = [f"{of}.attention.attn.{one}" for one in "qkvo"]
            norms += [f"{of}.attention.LayerNorm", f"{of}.output.LayerNorm"]
        else:
            names = [f"{of}.attention.self.{one}" for one in ("query", "key", "value")]
            names.append(f"{of}.attention.output.dense")
            norms += [f"{of}.attention.output.LayerNorm", f"{of}.output.LayerNorm"]
        linears |= dict.fromkeys(names, (h, h))
        linears |= {f"{of}.intermediate.dense": (inner, h), f"{of}.output.dense": (h, inner)}
    for name, shape in linears.items():
        found |= {f"{name}.weight": shape, f"{name}.bias": shape[:1]}
    for name in norms:
        found |= {f"{name}.weight": (h,), f"{name}.bias": (h,)}
    return found


def random_tensors(rng: np.random.Generator, of: Mapping[str, tuple[int, ...]]) -> dict[str, Any]:
    """Of a size at which no layer is all but linear, and norms near 1."""
    made = {}
    for name, shape in of.items():
        spread = 0.5 if len(shape) == 1 or "embedding" in name else shape[-1] ** -0.5 * 1.5
        tensor = rng.standard_normal(shape) * spread
        if "norm" in name.lower() and name.endswith("weight"):
            tensor = 1 + tensor * 0.2
        made[name] = tensor.astype(np.float32)
    return made


def write_safetensors(path: Path, tensors: Mapping[str, Any]) -> None:
    header, at = {}, 0
    for name, tensor in tensors.items():
        header[name] = {
            "dtype": NAMES[tensor.dtype.name],
            "shape": list(tensor.shape),
            "data_offsets": [at, at + tensor.nbytes],
        }
        at += tensor.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for tensor in tensors.values():
            file.write(np.ascontiguousarray(tensor).tobytes())


def write_tokenizer(path: Path) -> Tokenizer:
    vocabulary = {word: i for i, word in enumerate([*SPECIAL, *WORDS])}
    made = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    made.save(str(path))
    return made


def write_encoder(
    folder: Path, config: Mapping[str, Any], tensors: Mapping[str, Any], pooling: str | None = None,
    normalizes: bool = False,
) -> None:  # fmt: skip
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config))
    write_safetensors(folder / "model.safetensors", tensors)
    write_tokenizer(folder / "tokenizer.json")
    if pooling is None:
        return
    kinds = ["Transformer", "Pooling", *(["Normalize"] if normalizes else [])]
    places = ["", "1_Pooling", "2_Normalize"]
    modules = [
        {
            "idx": i,
            "name": str(i),
            "path": places[i],
            "type": f"sentence_transformers.models.{kind}",
        }
        for i, kind in enumerate(kinds)
    ]
    (folder / "modules.json").write_text(json.dumps(modules))
    (folder / "1_Pooling").mkdir(exist_ok=True)
    keys = {"mean": "mean_tokens", "cls": "cls_token", "last": "lasttoken", "max": "max_tokens"}
    (folder / "1_Pooling" / "config.json").write_text(
        json.dumps(
            {"word_embedding_dimension": config["hidden_size"]}
            | {f"pooling_mode_{key}": name == pooling for name, key in keys.items()}
        )
    )
