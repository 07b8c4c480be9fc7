"""Decoders of GGUF files: their sizes, and the names that Hugging Face's files have for tensors."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from tilewright.models.decoders.shape import Shape
from tilewright.models.files.config import RopeScaling
from tilewright.models.files.errors import fail
from tilewright.models.files.fields import Fields
from tilewright.models.files.tensors import StoredTensors

if TYPE_CHECKING:
    from tilewright.models.files.gguf import GgufTensors

FAMILIES = ("llama", "qwen2", "qwen3")

NAMES = {
    "token_embd": "model.embed_tokens",
    "output_norm": "model.norm",
    "output": "lm_head",
}
LAYER_NAMES = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "attn_q_norm": "self_attn.q_norm",
    "attn_k_norm": "self_attn.k_norm",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
LAYER = re.compile(r"blk\.([0-9]+)\.(\w+)\.(weight|bias)")


def renamed(tensors: GgufTensors) -> StoredTensors:
    """The same tensors by the other names; those that have none there are left out."""
    found = {}
    for name, tensor in tensors.items():
        of_layer = LAYER.fullmatch(name)
        base, _, kind = name.rpartition(".")
        if of_layer is not None and of_layer[2] in LAYER_NAMES:
            found[f"model.layers.{of_layer[1]}.{LAYER_NAMES[of_layer[2]]}.{of_layer[3]}"] = tensor
        elif base in NAMES:
            found[f"{NAMES[base]}.{kind}"] = tensor
    return StoredTensors(tensors.name, found, tensors.files)


def shape_of(tensors: GgufTensors) -> Shape:
    fields = Fields(tensors.files[0], tensors.metadata)
    family = fields.string("general.architecture", choices=FAMILIES)

    def integer(key: str, low: int, high: int, default: int | None = None) -> int:
        if default is None:
            return fields.integer(f"{family}.{key}", low, high)
        return fields.integer(f"{family}.{key}", low, high, default)

    hidden = integer("embedding_length", 1, 1 << 20)
    heads = integer("attention.head_count", 1, 4096)
    kv_heads = integer("attention.head_count_kv", 1, heads, heads)
    if heads % kv_heads:
        fields.fail(f"{family}.attention.head_count_kv", f"a divisor of the {heads} heads")
    if f"{family}.attention.key_length" not in fields and hidden % heads:
        fields.fail(f"{family}.attention.head_count", f"a divisor of {hidden}, the size of a row")
    head = integer("attention.key_length", 1, 1 << 16, hidden // heads)
    rotary = integer("rope.dimension_count", 2, head, head)
    if rotary % 2:
        fields.fail(f"{family}.rope.dimension_count", "an even number")
    words = tensors.tensor("token_embd.weight")
    if len(words.shape) != 2:
        fail(words.file, f"tensor 'token_embd.weight' has shape {words.shape}, expected two axes")
    layers = integer("block_count", 1, 4096)
    longest = integer("context_length", 1, 1 << 30)
    return Shape(
        family=family,
        layers=layers,
        hidden=hidden,
        heads=heads,
        kv_heads=kv_heads,
        head=head,
        inner=integer("feed_forward_length", 1, 1 << 20),
        vocabulary=words.shape[0],
        longest=longest,
        eps=fields.real(f"{family}.attention.layer_norm_rms_epsilon", 0.0, 1.0),
        activation="silu",
        theta=fields.real(f"{family}.rope.freq_base", 1.0, 1e12, 10000.0),
        scaling=_scaling(fields, family, tensors, rotary),
        trained=longest,
        rotary=rotary,
        scale=head**-0.5,
        windows=(None,) * layers,
        window_theta=1.0,
        score_cap=0.0,
        logit_cap=0.0,
        ties="output.weight" not in tensors,
        input_bias="blk.0.attn_q.bias" in tensors,
        output_bias="blk.0.attn_output.bias" in tensors,
        inner_bias="blk.0.ffn_gate.bias" in tensors,
        # The converter lays llama's rows so that pairs are neighbours.
        pairing="neighbours" if family == "llama" else "halves",
    )


def _scaling(fields: Fields, family: str, tensors: GgufTensors, rotary: int) -> RopeScaling | None:
    key = f"{family}.rope.scaling"
    kind = fields.string(f"{key}.type", "none")
    factors: tuple[float, ...] = ()
    if "rope_freqs.weight" in tensors:
        held = tensors.tensor("rope_freqs.weight", (rotary // 2,)).array().astype(np.float64)
        if not (np.isfinite(held).all() and (held > 0).all()):
            fail(tensors.name, "tensor 'rope_freqs.weight' has numbers that are not above 0")
        factors, kind = tuple(held.tolist()), "longrope"
    if kind == "none":
        return None
    if kind not in ("linear", "longrope"):
        fields.fail(f"{key}.type", "linear or none")
    factor = fields.real(f"{key}.factor", 1e-3, 1e6, 1.0)
    return RopeScaling(
        kind=kind,
        factor=factor,
        low_freq_factor=1.0,
        high_freq_factor=4.0,
        original_max_positions=None,
        attention_factor=1.0,
        beta_fast=32.0,
        beta_slow=1.0,
        short_factor=factors,
        long_factor=factors,
    )
