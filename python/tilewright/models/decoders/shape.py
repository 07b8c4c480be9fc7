"""What config.json says of a decoder, by one set of names for all families."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tilewright.models.activations import ACTIVATIONS
from tilewright.models.files.config import DEFAULT_POSITIONS
from tilewright.models.files.rope import SLIDING, Rope, has_kinds, kinds_of_layers, rope_of
from tilewright.models.rotations import Turns, reach

if TYPE_CHECKING:
    from tilewright.models.files.config import ModelConfig

FAMILIES = (
    "llama", "mistral", "qwen2", "qwen3", "gemma", "gemma2", "gemma3_text", "phi3", "granite",
)  # fmt: skip


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
    turns: Turns
    window_turns: Turns
    """Of layers with a window."""
    scale: float
    """What scores are multiplied by."""
    windows: tuple[int | None, ...]
    """Of each layer, how many tokens up to its own a query sees."""
    score_cap: float
    logit_cap: float
    ties: bool
    """Whether the words' table is the last matrix too."""
    input_bias: bool
    output_bias: bool
    inner_bias: bool
    norm_bias: float = 0.0
    """What norms weigh by beside the weights of the file."""
    word_scale: float = 1.0
    residual_scale: float = 1.0
    """What both halves of a layer are multiplied by before they are added."""
    logit_scale: float = 1.0
    pairing: str = "halves"
    """Which elements of a head are turned together."""

    @property
    def norms_halves(self) -> bool:
        """Whether norms stand behind each half of a layer too."""
        return self.family in ("gemma2", "gemma3_text")

    @property
    def norms_heads(self) -> bool:
        return self.family in ("qwen3", "gemma3_text")

    @property
    def exceeds_float16(self) -> bool:
        """Whether states grow beyond what float16 holds."""
        return self.family == "gemma3_text"

    @property
    def is_fused(self) -> bool:
        """Whether the file has queries, keys and values in one matrix, and both gates."""
        return self.family == "phi3"


def shape_of(config: ModelConfig, ties: bool) -> Shape:
    """`ties` says whether the words' table is the last matrix too, where the file does not."""
    fields, family = config.fields, config.model_type
    if config.intermediate_size is None:
        fields.fail("intermediate_size", "how many units a layer has within")
    is_gemma, is_granite = family.startswith("gemma"), family == "granite"
    scale = config.head_dim**-0.5
    if family in ("gemma2", "gemma3_text"):
        scale = fields.integer("query_pre_attn_scalar", 1, 1 << 20, 256) ** -0.5
    if is_granite:
        scale = fields.real("attention_multiplier", 1e-9, 1e9, 1.0)
    biases = family == "qwen2"
    if config.attention_bias is not None and family not in ("qwen2", "phi3"):
        biases = config.attention_bias
    turns, window_turns = _turns(config)
    positions = config.max_positions or DEFAULT_POSITIONS
    # Gemma 3's places are counted with what they are stretched to.
    longest = positions if family == "gemma3_text" else reach(turns.scaling, positions)
    word_scale = math.sqrt(config.hidden_size) if is_gemma else 1.0
    return Shape(
        family=family,
        layers=config.layers,
        hidden=config.hidden_size,
        heads=config.heads,
        kv_heads=config.key_value_heads,
        head=config.head_dim,
        inner=config.intermediate_size,
        vocabulary=config.vocab_size,
        longest=longest,
        eps=config.norm_eps if config.norm_eps is not None else 1e-6,
        activation=_activation(config),
        turns=turns,
        window_turns=window_turns,
        scale=scale,
        windows=_windows(config),
        score_cap=fields.real("attn_logit_softcapping", 0.0, 1e6, 0.0),
        logit_cap=fields.real("final_logit_softcapping", 0.0, 1e6, 0.0),
        ties=ties if config.tie_word_embeddings is None else config.tie_word_embeddings,
        input_bias=biases,
        output_bias=biases and family != "qwen2",
        inner_bias=bool(config.mlp_bias),
        norm_bias=1.0 if is_gemma else 0.0,
        word_scale=fields.real("embedding_multiplier", 1e-9, 1e9, 1.0)
        if is_granite
        else word_scale,
        residual_scale=fields.real("residual_multiplier", 1e-9, 1e9, 1.0) if is_granite else 1.0,
        logit_scale=1 / fields.real("logits_scaling", 1e-9, 1e9, 1.0) if is_granite else 1.0,
    )


def _activation(config: ModelConfig) -> str:
    fields = config.fields
    name = "hidden_activation" if "hidden_activation" in fields else "hidden_act"
    default = "gelu_pytorch_tanh" if config.model_type.startswith("gemma") else "silu"
    found = fields.string(name, default, choices=tuple(ACTIVATIONS))
    # The first files of Gemma say gelu, and mean what their authors' code has.
    return default if config.model_type == "gemma" and found == "gelu" else found


def _turns(config: ModelConfig) -> tuple[Turns, Turns]:
    """Of layers that see all of a text, and of those with a window."""
    fields, is_gemma3 = config.fields, config.model_type == "gemma3_text"
    full = config.rope
    window = full
    if has_kinds(fields):
        window = rope_of(fields, config.max_positions or DEFAULT_POSITIONS, SLIDING)
    elif is_gemma3:
        window = Rope(fields.real("rope_local_base_freq", 1.0, 1e12, None), None, full.share)
    theta = 1e6 if is_gemma3 else 10000.0
    made = []
    for rope in (full, window):
        share = 1.0 if rope.share is None else rope.share
        rotary = int(config.head_dim * share)
        if rotary % 2 or not rotary:
            fields.fail("head_dim", "an even number of elements that are turned, at least 2")
        made.append(Turns(theta if rope.theta is None else rope.theta, rotary, rope.scaling))
        made[-1].check(fields.file)
        theta = 10000.0
    if made[0].rotary != made[1].rotary:
        fields.fail("rope_parameters", "as much of a head to be turned in all layers")
    return made[0], made[1]


def _windows(config: ModelConfig) -> tuple[int | None, ...]:
    """Which layers see so many tokens alone."""
    fields, layers = config.fields, config.layers
    size = config.sliding_window or None
    if config.model_type in ("llama", "gemma", "granite") and "layer_types" not in fields:
        size = None
    if config.model_type.startswith("qwen") and not fields.flag("use_sliding_window", False):
        size = None
    if size is None:
        return (None,) * layers
    kinds = kinds_of_layers(fields, layers)
    if kinds is not None:
        return tuple(size if kind == SLIDING else None for kind in kinds)
    if config.model_type == "gemma2":
        return tuple(None if layer % 2 else size for layer in range(layers))
    if config.model_type == "gemma3_text":
        every = fields.integer("sliding_window_pattern", 1, 4096, 6)
        return tuple(size if (layer + 1) % every else None for layer in range(layers))
    if config.model_type.startswith("qwen"):
        first = fields.integer("max_window_layers", 0, 4096, layers)
        return tuple(size if layer >= first else None for layer in range(layers))
    return (size,) * layers
