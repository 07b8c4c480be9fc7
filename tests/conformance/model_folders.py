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
NAMES = {"float32": "F32", "float16": "F16", "bfloat16": "BF16", "int64": "I64"}

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
    "distilbert": {
        "model_type": "distilbert", "dim": 48, "n_heads": 3, "n_layers": 2, "hidden_dim": 80,
        "vocab_size": VOCABULARY, "max_position_embeddings": 70, "activation": "gelu",
        "pad_token_id": 0,
    },
    "electra": {**ENCODER, "model_type": "electra", "type_vocab_size": 2, "embedding_size": 32},
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
    if config["model_type"] == "distilbert":
        return distilbert_shapes(config)
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
    first = config.get("embedding_size", h)
    found = {
        "embeddings.word_embeddings.weight": (vocabulary, first),
        "embeddings.position_embeddings.weight": (config["max_position_embeddings"], first),
        "embeddings.LayerNorm.weight": (first,),
        "embeddings.LayerNorm.bias": (first,),
    }
    linears: dict[str, tuple[int, int]] = {}
    if first != h:
        linears["embeddings_project"] = (h, first)
    norms: list[str] = []
    is_mpnet = config["model_type"] == "mpnet"
    if is_mpnet:
        found["encoder.relative_attention_bias.weight"] = (
            config["relative_attention_num_buckets"], config["num_attention_heads"],
        )  # fmt: skip
    else:
        found["embeddings.token_type_embeddings.weight"] = (config["type_vocab_size"], first)
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


def distilbert_shapes(config: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    h, inner = config["dim"], config["hidden_dim"]
    found: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (config["vocab_size"], h),
        "embeddings.position_embeddings.weight": (config["max_position_embeddings"], h),
    }
    norms, linears = ["embeddings.LayerNorm"], {}
    for i in range(config["n_layers"]):
        of = f"transformer.layer.{i}"
        linears |= {f"{of}.attention.{one}_lin": (h, h) for one in ("q", "k", "v", "out")}
        linears |= {f"{of}.ffn.lin1": (inner, h), f"{of}.ffn.lin2": (h, inner)}
        norms += [f"{of}.sa_layer_norm", f"{of}.output_layer_norm"]
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


DECODER = {
    "hidden_size": 64,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "num_hidden_layers": 3,
    "intermediate_size": 96,
    "vocab_size": VOCABULARY,
    "max_position_embeddings": 256,
    "rms_norm_eps": 1e-5,
    "rope_theta": 10000.0,
    "hidden_act": "silu",
    "tie_word_embeddings": False,
    "eos_token_id": 3,
}
GEMMA = {
    **DECODER, "hidden_activation": "gelu_pytorch_tanh", "head_dim": 24, "sliding_window": 7,
    "query_pre_attn_scalar": 20, "tie_word_embeddings": True,
}  # fmt: skip
DECODERS: dict[str, dict[str, Any]] = {
    "llama2": {**DECODER, "model_type": "llama"},
    "llama3": {
        **DECODER, "model_type": "llama", "rope_theta": 500000.0, "tie_word_embeddings": True,
        "rope_scaling": {
            "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
            "original_max_position_embeddings": 64,
        },
    },
    "dynamic": {
        **DECODER, "model_type": "llama", "max_position_embeddings": 100,
        "rope_parameters": {"rope_type": "dynamic", "factor": 4.0, "rope_theta": 5000.0},
    },
    "yarn": {
        **DECODER, "model_type": "qwen3", "head_dim": 24, "max_position_embeddings": 64,
        "rope_scaling": {
            "type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64, "beta_fast": 8,
        },
    },
    "linear": {
        **DECODER, "model_type": "llama", "attention_bias": True, "mlp_bias": True,
        "rope_scaling": {"rope_type": "linear", "factor": 2.0},
    },
    "mistral": {**DECODER, "model_type": "mistral", "sliding_window": 9},
    "qwen2": {**DECODER, "model_type": "qwen2", "use_sliding_window": False, "sliding_window": 4},
    "qwen3": {**DECODER, "model_type": "qwen3", "head_dim": 24},
    "granite": {
        **DECODER, "model_type": "granite", "embedding_multiplier": 6.0,
        "attention_multiplier": 0.2, "residual_multiplier": 0.4, "logits_scaling": 3.0,
    },
    "gemma": {**GEMMA, "model_type": "gemma", "hidden_activation": None, "hidden_act": "gelu"},
    "gemma2": {
        **GEMMA, "model_type": "gemma2", "attn_logit_softcapping": 5.0,
        "final_logit_softcapping": 8.0,
    },
    "gemma3": {
        **GEMMA, "model_type": "gemma3_text", "sliding_window_pattern": 3,
        "rope_local_base_freq": 100.0, "rope_theta": 1e6,
        "rope_scaling": {"rope_type": "linear", "factor": 8.0},
    },
    "phi3": {
        **DECODER, "model_type": "phi3", "sliding_window": 40, "partial_rotary_factor": 0.5,
        "original_max_position_embeddings": 128,
        "rope_scaling": {
            "rope_type": "longrope", "short_factor": [1.0, 1.1, 1.2, 1.3],
            "long_factor": [2.0, 3.0, 4.0, 5.0],
        },
    },
}  # fmt: skip


def decoder_shapes(config: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    """Of the tensors of a decoder, by the names that the family's files have."""
    family, h, inner = config["model_type"], config["hidden_size"], config["intermediate_size"]
    heads, kv = config["num_attention_heads"], config["num_key_value_heads"]
    head = config.get("head_dim", h // heads)
    found: dict[str, tuple[int, ...]] = {
        "model.embed_tokens.weight": (config["vocab_size"], h),
        "model.norm.weight": (h,),
    }
    if not config["tie_word_embeddings"]:
        found["lm_head.weight"] = (config["vocab_size"], h)
    for i in range(config["num_hidden_layers"]):
        of = f"model.layers.{i}"
        norms = ["input_layernorm", "post_attention_layernorm"]
        if family in ("gemma2", "gemma3_text"):
            norms += ["pre_feedforward_layernorm", "post_feedforward_layernorm"]
        found |= {f"{of}.{name}.weight": (h,) for name in norms}
        linears = {"self_attn.o_proj": (h, heads * head), "mlp.down_proj": (h, inner)}
        if family == "phi3":
            linears["self_attn.qkv_proj"] = ((heads + 2 * kv) * head, h)
            linears["mlp.gate_up_proj"] = (2 * inner, h)
        else:
            sizes = {"q": heads * head, "k": kv * head, "v": kv * head}
            linears |= {f"self_attn.{name}_proj": (size, h) for name, size in sizes.items()}
            linears |= {"mlp.gate_proj": (inner, h), "mlp.up_proj": (inner, h)}
        for name, shape in linears.items():
            found[f"{of}.{name}.weight"] = shape
            is_input = name.startswith("self_attn") and name != "self_attn.o_proj"
            has_bias = (family == "qwen2" and is_input) or (
                config.get("attention_bias" if "attn" in name else "mlp_bias", False)
            )
            if has_bias:
                found[f"{of}.{name}.bias"] = shape[:1]
        if family in ("qwen3", "gemma3_text"):
            found |= {f"{of}.self_attn.{one}_norm.weight": (head,) for one in "qk"}
    return found


def write_decoder(folder: Path, config: Mapping[str, Any], tensors: Mapping[str, Any]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config))
    write_safetensors(folder / "model.safetensors", tensors)
    write_tokenizer(folder / "tokenizer.json")
