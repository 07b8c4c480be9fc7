"""Decoders of GGUF files: their sizes, and the names that Hugging Face's files have for tensors."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tilewright.models.decoders.gguf_rope import turns_of
from tilewright.models.decoders.shape import Shape
from tilewright.models.files import gguf_names
from tilewright.models.files.fields import Fields
from tilewright.models.rotations import reach

if TYPE_CHECKING:
    from tilewright.models.files.gguf import GgufTensors
    from tilewright.models.files.tensors import StoredTensors

#: what a folder's model_type would be, by the architecture of a file
FAMILIES = {
    "llama": "llama",
    "qwen2": "qwen2",
    "qwen3": "qwen3",
    "gemma": "gemma",
    "gemma2": "gemma2",
    "gemma3": "gemma3_text",
    "phi3": "phi3",
    "granite": "granite",
}
# The converter lays their rows so that what is turned together lies side by side.
NEIGHBOURS = ("llama", "granite")
# Of which layers one in so many has no window.
WHOLE_EVERY = {"gemma2": 2, "gemma3": 6}
# Windows of all layers.
WINDOWED = ("llama", "phi3")
# Whose scores are not scaled by a head's size, and no key says so: by their layers.
OWN_SCALE = {("gemma2", 46), ("gemma3", 62)}

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
    "attn_qkv": "self_attn.qkv_proj",
    "attn_output": "self_attn.o_proj",
    "attn_q_norm": "self_attn.q_norm",
    "attn_k_norm": "self_attn.k_norm",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
# Of those with norms behind each half.
OUTER_NORMS = {
    "post_attention_norm": "post_attention_layernorm",
    "ffn_norm": "pre_feedforward_layernorm",
    "post_ffw_norm": "post_feedforward_layernorm",
}


def renamed(tensors: GgufTensors, shape: Shape) -> StoredTensors:
    names = dict(LAYER_NAMES)
    if shape.norms_halves:
        names |= OUTER_NORMS
    if shape.is_fused:
        names["ffn_up"] = "mlp.gate_up_proj"
    return gguf_names.renamed(tensors, NAMES, "model.layers", names)


def shape_of(tensors: GgufTensors) -> Shape:
    fields = Fields(tensors.files[0], tensors.metadata)
    family = fields.string("general.architecture", choices=tuple(FAMILIES))

    def integer(key: str, low: int, high: int, default: int | None = None) -> int:
        if default is None:
            return fields.integer(f"{family}.{key}", low, high)
        return fields.integer(f"{family}.{key}", low, high, default)

    def real(key: str, low: float, high: float, default: float) -> float:
        return fields.real(f"{family}.{key}", low, high, default)

    hidden = integer("embedding_length", 1, 1 << 20)
    heads = integer("attention.head_count", 1, 4096)
    kv_heads = integer("attention.head_count_kv", 1, heads, heads)
    if heads % kv_heads:
        fields.fail(f"{family}.attention.head_count_kv", f"a divisor of the {heads} heads")
    if f"{family}.attention.key_length" not in fields and hidden % heads:
        fields.fail(f"{family}.attention.head_count", f"a divisor of {hidden}, the size of a row")
    head = integer("attention.key_length", 1, 1 << 16, hidden // heads)
    if integer("attention.value_length", 1, 1 << 16, head) != head:
        fields.fail(f"{family}.attention.value_length", f"{head}, which keys have")
    if integer("expert_count", 0, 1 << 16, 0):
        fields.fail(f"{family}.expert_count", "0: mixtures of experts are not made")
    layers = integer("block_count", 1, 4096)
    positions = integer("context_length", 1, 1 << 30)
    turns, window_turns = turns_of(fields, family, tensors, head, positions)
    scale = head**-0.5
    if (family, layers) in OWN_SCALE:
        scale = (hidden / heads) ** -0.5
    is_gemma, is_granite = family.startswith("gemma"), family == "granite"
    return Shape(
        family=FAMILIES[family],
        layers=layers,
        hidden=hidden,
        heads=heads,
        kv_heads=kv_heads,
        head=head,
        inner=integer("feed_forward_length", 1, 1 << 20),
        vocabulary=gguf_names.rows_of(tensors, "token_embd.weight"),
        longest=positions if family == "gemma3" else reach(turns.scaling, positions),
        eps=fields.real(f"{family}.attention.layer_norm_rms_epsilon", 0.0, 1.0),
        activation="gelu_pytorch_tanh" if is_gemma else "silu",
        turns=turns,
        window_turns=window_turns,
        scale=real("attention.scale", 0.0, 1e9, 0.0) or scale,
        windows=_windows(fields, family, layers),
        score_cap=real("attn_logit_softcapping", 0.0, 1e6, 0.0),
        logit_cap=real("final_logit_softcapping", 0.0, 1e6, 0.0),
        ties="output.weight" not in tensors,
        input_bias="blk.0.attn_q.bias" in tensors or "blk.0.attn_qkv.bias" in tensors,
        output_bias="blk.0.attn_output.bias" in tensors,
        inner_bias="blk.0.ffn_up.bias" in tensors,
        word_scale=math.sqrt(hidden) if is_gemma else real("embedding_scale", 1e-9, 1e9, 1.0),
        residual_scale=real("residual_scale", 1e-9, 1e9, 1.0),
        logit_scale=1 / real("logit_scale", 1e-9, 1e9, 1.0) if is_granite else 1.0,
        pairing="neighbours" if family in NEIGHBOURS else "halves",
    )


def _windows(fields: Fields, family: str, layers: int) -> tuple[int | None, ...]:
    """Which layers see so many tokens alone."""
    key = f"{family}.attention.sliding_window"
    size = fields.integer(key, 0, 1 << 30, 4096 if family == "gemma2" else 0)
    if not size or family not in (*WHOLE_EVERY, *WINDOWED):
        return (None,) * layers
    if family in WINDOWED:
        return (size,) * layers
    key = f"{key}_pattern"
    said = fields.values.get(key)
    if said is None or type(said) is int:
        every = fields.integer(key, 1, 4096, WHOLE_EVERY[family])
        return tuple(size if (layer + 1) % every else None for layer in range(layers))
    kinds = getattr(said, "tolist", lambda: None)()
    if not isinstance(kinds, list) or len(kinds) != layers or {*kinds} - {True, False}:
        fields.fail(key, f"a number, or whether there is a window of each of {layers} layers")
    return tuple(size if has else None for has in kinds)
