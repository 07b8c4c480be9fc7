"""What config.json says of a decoder, by one set of names for all families."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tilewright.models.activations import ACTIVATIONS

if TYPE_CHECKING:
    from tilewright.models.files.config import ModelConfig, RopeScaling

FAMILIES = ("llama", "mistral", "qwen2", "qwen3", "gemma2", "gemma3_text", "phi3")


@dataclass(frozen=True)
class Shape:
    """Sizes of a decoder, and what its family has and others have not."""

    family: str
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head: int
    inner: int
    vocabulary: int
    longest: int
    eps: float
    activation: str
    theta: float
    scaling: RopeScaling | None
    trained: int
    """Places before they were stretched."""
    rotary: int
    """How many elements of a head are turned."""
    scale: float
    """What scores are multiplied by."""
    windows: tuple[int | None, ...]
    """Of each layer, how many tokens up to its own a query sees."""
    window_theta: float
    """The base of the turns in layers with a window."""
    score_cap: float
    logit_cap: float
    ties: bool
    """Whether the words' table is the last matrix too."""
    input_bias: bool
    output_bias: bool
    inner_bias: bool
    pairing: str = "halves"
    """Which elements of a head are turned together."""

    @property
    def is_gemma(self) -> bool:
        """Norms weigh by 1 + weight and stand behind each half of a layer too, and the words are
        made larger."""
        return self.family.startswith("gemma")

    @property
    def norms_heads(self) -> bool:
        return self.family in ("qwen3", "gemma3_text")

    @property
    def is_fused(self) -> bool:
        """Whether the file has queries, keys and values in one matrix, and both gates."""
        return self.family == "phi3"

    @property
    def word_scale(self) -> float:
        return math.sqrt(self.hidden) if self.is_gemma else 1.0


def shape_of(config: ModelConfig, ties: bool) -> Shape:
    """`ties` says whether the words' table is the last matrix too, where the file does not."""
    fields, family = config.fields, config.model_type
    name = "hidden_activation" if "hidden_activation" in fields else "hidden_act"
    activation = fields.string(name, "silu", choices=tuple(ACTIVATIONS))
    if config.intermediate_size is None:
        fields.fail("intermediate_size", "how many units a layer has within")
    rope = fields.section("rope_parameters")
    by_kind = [rope.section(f"{kind}_attention") if rope else None for kind in ("full", "sliding")]
    partial = (rope or fields).real("partial_rotary_factor", 0.0, 1.0, None)
    if partial is None:
        partial = fields.real("partial_rotary_factor", 0.0, 1.0, 1.0)
    rotary = int(config.head_dim * partial)
    if rotary % 2:
        fields.fail("head_dim", "an even number of elements that are turned")
    scalar = config.head_dim
    if family.startswith("gemma"):
        scalar = fields.integer("query_pre_attn_scalar", 1, 1 << 20, 256)
    biases = family == "qwen2"
    if config.attention_bias is not None and family not in ("qwen2", "phi3"):
        biases = config.attention_bias
    theta = config.rope_theta if config.rope_theta is not None else 10000.0
    window_theta = fields.real("rope_local_base_freq", 1.0, 1e12, theta)
    if by_kind[0] is not None:
        theta = by_kind[0].real("rope_theta", 1.0, 1e12, theta)
    if by_kind[1] is not None:
        window_theta = by_kind[1].real("rope_theta", 1.0, 1e12, window_theta)
    return Shape(
        family=family,
        layers=config.layers,
        hidden=config.hidden_size,
        heads=config.heads,
        kv_heads=config.key_value_heads,
        head=config.head_dim,
        inner=config.intermediate_size,
        vocabulary=config.vocab_size,
        longest=config.max_positions or 2048,
        eps=config.norm_eps if config.norm_eps is not None else 1e-6,
        activation=activation,
        theta=theta,
        scaling=config.rope_scaling,
        trained=_trained(config),
        rotary=rotary,
        scale=scalar**-0.5,
        windows=_windows(config),
        window_theta=window_theta,
        score_cap=fields.real("attn_logit_softcapping", 0.0, 1e6, 0.0),
        logit_cap=fields.real("final_logit_softcapping", 0.0, 1e6, 0.0),
        ties=ties if config.tie_word_embeddings is None else config.tie_word_embeddings,
        input_bias=biases,
        output_bias=biases and family != "qwen2",
        inner_bias=bool(config.mlp_bias),
    )


def _trained(config: ModelConfig) -> int:
    most = config.max_positions or 2048
    if config.rope_scaling is not None and config.rope_scaling.original_max_positions:
        return config.rope_scaling.original_max_positions
    return config.fields.integer("original_max_position_embeddings", 1, 1 << 30, most)


def _windows(config: ModelConfig) -> tuple[int | None, ...]:
    """Which layers see so many tokens alone."""
    fields, layers = config.fields, config.layers
    size = config.sliding_window or None
    if config.model_type.startswith("qwen") and not fields.flag("use_sliding_window", False):
        size = None
    if size is None:
        return (None,) * layers
    if "layer_types" in fields:
        kinds = fields.strings("layer_types", most=4096)
        if len(kinds) != layers or not set(kinds) <= {"full_attention", "sliding_attention"}:
            fields.fail("layer_types", f"{layers} of full_attention and sliding_attention")
        return tuple(size if kind == "sliding_attention" else None for kind in kinds)
    if config.model_type == "gemma2":
        return tuple(None if layer % 2 else size for layer in range(layers))
    if config.model_type == "gemma3_text":
        every = fields.integer("sliding_window_pattern", 1, 4096, 6)
        return tuple(size if (layer + 1) % every else None for layer in range(layers))
    if config.model_type.startswith("qwen"):
        first = fields.integer("max_window_layers", 0, 4096, layers)
        return tuple(size if layer >= first else None for layer in range(layers))
    return (size,) * layers
