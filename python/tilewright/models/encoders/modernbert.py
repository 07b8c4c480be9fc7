"""ModernBERT: rotary positions, norms in front, gated units, and windows in most layers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tilewright.models.activations import ACTIVATIONS, dense
from tilewright.models.encoders.rotary import attend, on_device
from tilewright.models.files.rope import FULL, SLIDING, has_kinds, kinds_of_layers, rope_of
from tilewright.models.rotations import Turns
from tilewright.models.weights import Wanted, matrix, table, vector
from tilewright.namespace.selection import take
from tilewright.nn.added_norms import add_layer_norm
from tilewright.nn.row_norms import layer_norm

if TYPE_CHECKING:
    from tilewright.array import Array
    from tilewright.models.encoders.batch import Batch
    from tilewright.models.files.fields import Fields
    from tilewright.models.weights import Weights


@dataclass(frozen=True)
class Shape:
    """What config.json says of an encoder."""

    layers: int
    hidden: int
    heads: int
    inner: int
    vocabulary: int
    longest: int
    eps: float
    activation: str
    wholes: tuple[bool, ...]
    """Which layers see all of a text."""
    window: int
    turns: Turns
    window_turns: Turns
    attention_bias: bool
    inner_bias: bool
    norm_bias: bool


def shape_of(fields: Fields) -> Shape:
    heads = fields.integer("num_attention_heads", 1, 1024)
    hidden = fields.integer("hidden_size", 1, 1 << 16)
    if hidden % (2 * heads):
        fields.fail("hidden_size", f"a multiple of 2 * num_attention_heads, {2 * heads}")
    layers = fields.integer("num_hidden_layers", 1, 1024)
    every = fields.integer("global_attn_every_n_layers", 1, 1024, 3)
    kinds = kinds_of_layers(fields, layers)
    if kinds is None:
        kinds = tuple(SLIDING if layer % every else FULL for layer in range(layers))
    return Shape(
        layers,
        hidden,
        heads,
        fields.integer("intermediate_size", 1, 1 << 20),
        fields.integer("vocab_size", 1, 1 << 24),
        fields.integer("max_position_embeddings", 1, 1 << 17),
        fields.real("norm_eps", 0.0, 1.0, 1e-5),
        fields.string("hidden_activation", "gelu", choices=tuple(ACTIVATIONS)),
        tuple(kind == FULL for kind in kinds),
        fields.integer("local_attention", 1, 1 << 20, 128),
        _turns(fields, hidden // heads, FULL, "global_rope_theta", 160000.0),
        _turns(fields, hidden // heads, SLIDING, "local_rope_theta", 10000.0),
        fields.flag("attention_bias", False),
        fields.flag("mlp_bias", False),
        fields.flag("norm_bias", False),
    )


def _turns(fields: Fields, head: int, kind: str, older: str, default: float) -> Turns:
    """Of layers of a kind, by the newer key or the older one."""
    rope = rope_of(fields, fields.integer("max_position_embeddings", 1, 1 << 17), kind)
    theta = fields.real(older, 1.0, 1e12, default)
    if rope.theta is not None and has_kinds(fields):
        theta = rope.theta
    turns = Turns(theta, head, rope.scaling)
    turns.check(fields.file)
    return turns


def wanted(shape: Shape, prefix: str) -> list[Wanted]:
    h = shape.hidden
    every = [table(f"{prefix}embeddings.tok_embeddings.weight", shape.vocabulary, h)]

    def norm(name: str) -> None:
        every.append(vector(f"{prefix}{name}.weight", h))
        if shape.norm_bias:
            every.append(vector(f"{prefix}{name}.bias", h))

    def linear(name: str, rows: int, columns: int, bias: bool) -> None:
        every.append(matrix(f"{prefix}{name}.weight", rows, columns))
        if bias:
            every.append(vector(f"{prefix}{name}.bias", rows))

    norm("embeddings.norm")
    for layer in range(shape.layers):
        of = f"layers.{layer}"
        if layer > 0:
            norm(f"{of}.attn_norm")
        linear(f"{of}.attn.Wqkv", 3 * h, h, shape.attention_bias)
        linear(f"{of}.attn.Wo", h, h, shape.attention_bias)
        norm(f"{of}.mlp_norm")
        linear(f"{of}.mlp.Wi", 2 * shape.inner, h, shape.inner_bias)
        linear(f"{of}.mlp.Wo", h, shape.inner, shape.inner_bias)
    norm("final_norm")
    return every


class Layers:
    """The encoder over the rows of a batch."""

    def __init__(self, shape: Shape, weights: Weights, prefix: str) -> None:
        self.shape, self.weights, self.prefix = shape, weights, prefix
        self.words: Any = weights[f"{prefix}embeddings.tok_embeddings.weight"]
        self.tables = {
            turns: on_device(weights, turns, shape.longest)
            for turns in {shape.turns, shape.window_turns}
        }

    def _norm(self, name: str) -> tuple[Any, Any]:
        name = f"{self.prefix}{name}"
        bias = self.weights[f"{name}.bias"] if self.shape.norm_bias else None
        return self.weights[f"{name}.weight"], bias

    def _linear(self, x: Array, name: str, bias: bool, activation: str | None = None) -> Array:
        """With an activation the first half of the results is the gate of the other half."""
        name = f"{self.prefix}{name}"
        weight: Any = self.weights[f"{name}.weight"]
        offsets: Any = self.weights[f"{name}.bias"] if bias else None
        return dense(x, weight, offsets, activation, gated=activation is not None)

    def __call__(self, batch: Batch) -> Array:
        """The last hidden states, [rows, hidden]."""
        shape = self.shape
        batch.check(shape.vocabulary)
        words = take(self.words, batch.tokens, axis=0)
        x: Array = layer_norm(words, shape.hidden, *self._norm("embeddings.norm"), shape.eps)
        normed = x
        for layer in range(shape.layers):
            of = f"layers.{layer}"
            fused = self._linear(normed, f"{of}.attn.Wqkv", shape.attention_bias)
            mixed = self._linear(
                self._attend(fused, batch, layer), f"{of}.attn.Wo", shape.attention_bias
            )
            normed, x = add_layer_norm(
                mixed, x, shape.hidden, *self._norm(f"{of}.mlp_norm"), shape.eps
            )
            inner = self._linear(normed, f"{of}.mlp.Wi", shape.inner_bias, shape.activation)
            outer = self._linear(inner, f"{of}.mlp.Wo", shape.inner_bias)
            following = f"layers.{layer + 1}.attn_norm"
            if layer + 1 == shape.layers:
                following = "final_norm"
            normed, x = add_layer_norm(outer, x, shape.hidden, *self._norm(following), shape.eps)
        return normed

    def _attend(self, fused: Array, batch: Batch, layer: int) -> Array:
        shape = self.shape
        if shape.wholes[layer]:
            return attend(fused, batch, shape.heads, self.tables[shape.turns])
        turns = self.tables[shape.window_turns]
        return attend(fused, batch, shape.heads, turns, shape.window // 2)
