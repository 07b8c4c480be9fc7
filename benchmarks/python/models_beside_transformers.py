"""How far models of tilewright.models are from those of transformers, small ones of every family.

    python benchmarks/python/models_beside_transformers.py [--device webgpu:0] [--only NAME]

Weights are random, and made by transformers. Of decoders the logits of 40 tokens and 20 greedy
tokens are compared, of encoders the last hidden states; differences are shares of the largest
value, in float32.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

SIZES: dict[str, Any] = {
    "vocab_size": 64,
    "hidden_size": 64,
    "num_attention_heads": 4,
    "intermediate_size": 96,
    "pad_token_id": 0,
}
DECODER = {
    **SIZES, "num_hidden_layers": 4, "num_key_value_heads": 2, "max_position_embeddings": 256,
    "bos_token_id": 1, "eos_token_id": 2,
}  # fmt: skip
ENCODER = {**SIZES, "num_hidden_layers": 3, "max_position_embeddings": 80}
GEMMA = {"head_dim": 24, "sliding_window": 7, "query_pre_attn_scalar": 20}
LLAMA3 = {
    "rope_type": "llama3", "rope_theta": 500000.0, "factor": 8.0, "low_freq_factor": 1.0,
    "high_freq_factor": 4.0, "original_max_position_embeddings": 32,
}  # fmt: skip
LONG = {
    "rope_type": "longrope", "rope_theta": 10000.0, "original_max_position_embeddings": 32,
    "short_factor": [1.0 + 0.1 * i for i in range(8)],
    "long_factor": [2.0 + 0.5 * i for i in range(8)],
}  # fmt: skip
YARN = {
    "rope_type": "yarn", "rope_theta": 10000.0, "factor": 4.0, "beta_fast": 8,
    "original_max_position_embeddings": 64,
}  # fmt: skip
LINEAR = {"rope_type": "linear", "rope_theta": 10000.0, "factor": 3.0}
KINDS = {
    "full_attention": {"rope_type": "linear", "rope_theta": 50000.0, "factor": 8.0},
    "sliding_attention": {"rope_type": "default", "rope_theta": 300.0},
}
GRANITE = {
    "embedding_multiplier": 6.0, "attention_multiplier": 0.2, "residual_multiplier": 0.4,
    "logits_scaling": 3.0,
}  # fmt: skip
DECODERS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "llama": ("LlamaConfig", "LlamaForCausalLM", {}),
    "llama, scaled": (
        "LlamaConfig", "LlamaForCausalLM", {"rope_parameters": LLAMA3, "tie_word_embeddings": True},
    ),
    "llama, linear": ("LlamaConfig", "LlamaForCausalLM", {"rope_parameters": LINEAR}),
    "granite": ("GraniteConfig", "GraniteForCausalLM", GRANITE),
    "mistral": ("MistralConfig", "MistralForCausalLM", {"sliding_window": 9}),
    "qwen2": ("Qwen2Config", "Qwen2ForCausalLM", {}),
    "qwen3": ("Qwen3Config", "Qwen3ForCausalLM", {"head_dim": 24}),
    "qwen3, yarn": (
        "Qwen3Config", "Qwen3ForCausalLM",
        {"head_dim": 24, "max_position_embeddings": 64, "rope_parameters": YARN},
    ),
    "gemma": ("GemmaConfig", "GemmaForCausalLM", {"head_dim": 24}),
    "gemma2": (
        "Gemma2Config", "Gemma2ForCausalLM",
        {**GEMMA, "attn_logit_softcapping": 5.0, "final_logit_softcapping": 8.0,
         "attn_implementation": "eager"},
    ),
    "gemma3": ("Gemma3TextConfig", "Gemma3ForCausalLM", GEMMA),
    "gemma3, scaled": (
        "Gemma3TextConfig", "Gemma3ForCausalLM", {**GEMMA, "rope_parameters": KINDS},
    ),
    "phi3": ("Phi3Config", "Phi3ForCausalLM", {"sliding_window": None}),
    "phi3, scaled": (
        "Phi3Config", "Phi3ForCausalLM",
        {"original_max_position_embeddings": 32, "rope_parameters": LONG},
    ),
}  # fmt: skip
ENCODERS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "bert": ("BertConfig", "BertModel", {}),
    "roberta": ("RobertaConfig", "RobertaModel", {"pad_token_id": 1}),
    "mpnet": ("MPNetConfig", "MPNetModel", {"pad_token_id": 1}),
    "distilbert": ("DistilBertConfig", "DistilBertModel", {"activation": "gelu"}),
    "electra": ("ElectraConfig", "ElectraModel", {"embedding_size": 48}),
    "modernbert": (
        "ModernBertConfig", "ModernBertModel",
        {"local_attention": 8, "bos_token_id": 1, "eos_token_id": 2, "cls_token_id": 1,
         "sep_token_id": 2},
    ),
    "modernbert, bases": (
        "ModernBertConfig", "ModernBertModel",
        {"local_attention": 8, "bos_token_id": 1, "eos_token_id": 2, "cls_token_id": 1,
         "sep_token_id": 2, "rope_parameters": {
             "full_attention": {"rope_type": "default", "rope_theta": 900.0},
             "sliding_attention": {"rope_type": "default", "rope_theta": 70.0}}},
    ),
}  # fmt: skip


def made(torch: Any, config: str, kind: str, sizes: dict[str, Any]) -> Any:
    import transformers

    model = getattr(transformers, kind)(getattr(transformers, config)(**sizes)).eval().float()
    with torch.no_grad():
        # As far from their first values as trained ones are.
        for weight in model.parameters():
            if weight.ndim == 1:
                weight.add_(torch.randn_like(weight) * 0.1)
            else:
                weight.mul_(4)
    return model


def write_vocabulary(folder: Path) -> None:
    from tokenizers import Tokenizer, models

    words = {f"w{i}": i for i in range(SIZES["vocab_size"])}
    Tokenizer(models.WordLevel(words, unk_token="w0")).save(str(folder / "tokenizer.json"))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--device", default="cpu", help="default: %(default)s")
    parser.add_argument("--only", help="one of the names")
    arguments = parser.parse_args()
    import numpy as np
    import tilewright
    import torch

    torch.manual_seed(0)
    load: Any = tilewright.models.load
    with tilewright.init_backend(arguments.device) as be, torch.no_grad():
        for name, (config, kind, changed) in (DECODERS | ENCODERS).items():
            if arguments.only not in (None, name):
                continue
            is_decoder = name in DECODERS
            theirs = made(torch, config, kind, (DECODER if is_decoder else ENCODER) | changed)
            ids = torch.randint(3, SIZES["vocab_size"], (1, 40))
            tokens = ids[0].tolist()
            with tempfile.TemporaryDirectory() as folder:
                theirs.save_pretrained(folder)
                write_vocabulary(Path(folder))
                ours = load(folder, be)
                said = ""
                if is_decoder:
                    expected, found = theirs(ids).logits[0], ours.logits(tokens)
                    drawn = theirs.generate(ids, max_new_tokens=20, do_sample=False)[0, 40:]
                    likeliest = drawn.tolist()
                    end = likeliest.index(2) if 2 in likeliest else len(likeliest)
                    same = ours.generate(tokens, 20) == likeliest[:end]
                    said = f", greedy tokens {'the same' if same else 'OTHERS'} ({end})"
                else:
                    mask = torch.ones_like(ids)
                    expected = theirs(ids, attention_mask=mask).last_hidden_state[0]
                    found = ours.states([tokens])[0]
                wide = expected.numpy().astype(np.float64)
                away = np.abs(found.numpy() - wide).max() / np.abs(wide).max()
                print(f"{name:16s} {away:.1e}{said}", flush=True)


if __name__ == "__main__":
    main()
