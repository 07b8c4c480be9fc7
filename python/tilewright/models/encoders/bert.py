"""BERT, RoBERTa, MPNet, DistilBERT and ELECTRA: absolute positions, and norms behind each
residual."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright.models.activations import ACTIVATIONS, dense
from tilewright.models.tables import look_up
from tilewright.models.weights import Wanted, matrix, table, vector, words
from tilewright.namespace.creation import asarray
from tilewright.namespace.selection import take
from tilewright.nn.added_norms import add_layer_norm

if TYPE_CHECKING:
    from tilewright.array import Array
    from tilewright.models.encoders.batch import Batch
    from tilewright.models.files.fields import Fields
from tilewright.models.weights import Weights

#: families whose positions begin behind the padding's
OFFSET = ("roberta", "mpnet")


@dataclass(frozen=True)
class Shape:
    """What config.json says of an encoder."""

    family: str
    layers: int
    hidden: int
    heads: int
    inner: int
    vocabulary: int
    positions: int
    segments: int
    eps: float
    activation: str
    pad: int
    buckets: int
    narrow: int = 0
    """Of ELECTRA, the size of embeddings, of which a product makes states; 0 where they are
    states."""

    @property
    def first_place(self) -> int:
        """The row of the position table that a sequence starts with."""
        return self.pad + 1 if self.family in OFFSET else 0

    @property
    def longest(self) -> int:
        return self.positions - self.first_place


#: what DistilBERT calls otherwise
DISTILBERT = {
    "num_attention_heads": "n_heads", "hidden_size": "dim", "num_hidden_layers": "n_layers",
    "intermediate_size": "hidden_dim", "hidden_act": "activation",
}  # fmt: skip


def shape_of(fields: Fields, family: str) -> Shape:
    def key(name: str) -> str:
        other = DISTILBERT.get(name, name) if family == "distilbert" else name
        return name if name in fields and other not in fields else other

    heads = fields.integer(key("num_attention_heads"), 1, 1024)
    hidden = fields.integer(key("hidden_size"), 1, 1 << 16)
    if hidden % heads:
        fields.fail(key("hidden_size"), f"a multiple of {key('num_attention_heads')}, {heads}")
    kind = fields.string("position_embedding_type", "absolute")
    if family != "mpnet" and kind != "absolute":
        fields.fail("position_embedding_type", "'absolute'")
    narrow = fields.integer("embedding_size", 1, 1 << 16, 128) if family == "electra" else hidden
    shape = Shape(
        family,
        fields.integer(key("num_hidden_layers"), 1, 1024),
        hidden,
        heads,
        fields.integer(key("intermediate_size"), 1, 1 << 20),
        fields.integer("vocab_size", 1, 1 << 24),
        fields.integer("max_position_embeddings", 1, 1 << 20),
        0 if family in ("mpnet", "distilbert") else fields.integer("type_vocab_size", 1, 1 << 10),
        1e-12 if family == "distilbert" else fields.real("layer_norm_eps", 0.0, 1.0),
        fields.string(key("hidden_act"), choices=tuple(ACTIVATIONS)),
        fields.integer("pad_token_id", 0, 1 << 24, 1 if family in OFFSET else 0),
        fields.integer("relative_attention_num_buckets", 4, 1 << 16, 32),
        0 if narrow == hidden else narrow,
    )
    if shape.longest < 1:
        fields.fail("max_position_embeddings", f"more than the {shape.first_place} of the padding")
    return shape


@dataclass(frozen=True)
class LayerNames:
    query: str
    key: str
    value: str
    output: str
    output_norm: str
    inner: str
    outer: str
    outer_norm: str


def names_of(shape: Shape, prefix: str, layer: int) -> LayerNames:
    of = f"{prefix}encoder.layer.{layer}"
    if shape.family == "distilbert":
        of = f"{prefix}transformer.layer.{layer}"
        parts = [f"{of}.attention.{one}_lin" for one in ("q", "k", "v", "out")]
        ends = ("sa_layer_norm", "ffn.lin1", "ffn.lin2", "output_layer_norm")
        return LayerNames(*parts, *(f"{of}.{one}" for one in ends))
    if shape.family == "mpnet":
        attention = f"{of}.attention.attn"
        parts = [f"{attention}.{one}" for one in "qkvo"]
        parts.append(f"{of}.attention.LayerNorm")
    else:
        attention = f"{of}.attention"
        parts = [f"{attention}.self.{one}" for one in ("query", "key", "value")]
        parts += [f"{attention}.output.dense", f"{attention}.output.LayerNorm"]
    parts += [f"{of}.intermediate.dense", f"{of}.output.dense", f"{of}.output.LayerNorm"]
    return LayerNames(*parts)


def wanted(shape: Shape, prefix: str) -> list[Wanted]:
    h, of = shape.hidden, f"{prefix}embeddings"
    first = shape.narrow or h
    every = [
        words(f"{of}.word_embeddings.weight", shape.vocabulary, first),
        table(f"{of}.position_embeddings.weight", shape.positions, first),
        vector(f"{of}.LayerNorm.weight", first),
        vector(f"{of}.LayerNorm.bias", first),
    ]
    if shape.segments:
        every.append(table(f"{of}.token_type_embeddings.weight", shape.segments, first))
    if shape.narrow:
        every.append(matrix(f"{of}_project.weight", h, first))
        every.append(vector(f"{of}_project.bias", h))
    if shape.family == "mpnet":
        every.append(
            table(f"{prefix}encoder.relative_attention_bias.weight", shape.buckets, shape.heads)
        )
    for layer in range(shape.layers):
        n = names_of(shape, prefix, layer)
        fused = (n.query, n.key, n.value)
        every.append(matrix([f"{one}.weight" for one in fused], h, h))
        every.append(Wanted(tuple(f"{one}.bias" for one in fused), (h, h, h)))
        for name, rows, columns in (
            (n.output, h, h), (n.inner, shape.inner, h), (n.outer, h, shape.inner),
        ):  # fmt: skip
            every.append(matrix(f"{name}.weight", rows, columns))
            every.append(vector(f"{name}.bias", rows))
        for name in (n.output_norm, n.outer_norm):
            every += [vector(f"{name}.weight", h), vector(f"{name}.bias", h)]
    return every


class Layers:
    """The encoder over the rows of a batch."""

    def __init__(self, shape: Shape, weights: Weights, prefix: str) -> None:
        self.shape, self.weights, self.prefix = shape, weights, prefix
        self.head = shape.hidden // shape.heads
        self.names = [names_of(shape, prefix, layer) for layer in range(shape.layers)]
        of = f"{prefix}embeddings"
        self.words: Any = weights[f"{of}.word_embeddings.weight"]
        places: Any = weights[f"{of}.position_embeddings.weight"]
        if shape.segments:
            types: Any = weights[f"{of}.token_type_embeddings.weight"]
            # What is a segment of 0, as nearly every row is, is added once for all.
            places = places + types[0]
            self.segment_steps: Any = types - types[0]
        self.places = places
        self.biases: dict[int, Array] = {}

    def _norm(self, name: str) -> tuple[Any, Any]:
        return self.weights[f"{name}.weight"], self.weights[f"{name}.bias"]

    def _linear(self, x: Array, *names: str) -> Array:
        weight = self.weights.joined(*(f"{one}.weight" for one in names))
        return dense(x, weight, self.weights.joined(*(f"{one}.bias" for one in names)))

    def __call__(self, batch: Batch) -> Array:
        """The last hidden states, [rows, hidden]."""
        shape, of = self.shape, f"{self.prefix}embeddings"
        batch.check(shape.vocabulary, *([shape.segments] if shape.segments else ()))
        found = look_up(self.words, batch.tokens, self.weights.dtype)
        places = batch.places + shape.first_place if shape.first_place else batch.places
        where = take(self.places, places, axis=0)
        if batch.segments is not None and shape.segments:
            where = where + take(self.segment_steps, batch.segments, axis=0)
        x: Array = add_layer_norm(
            found, where, shape.narrow or shape.hidden, *self._norm(f"{of}.LayerNorm"), shape.eps,
            return_sum=False,
        )  # fmt: skip
        if shape.narrow:
            x = self._linear(x, f"{of}_project")
        for n in self.names:
            mixed = self._attend(self._linear(x, n.query, n.key, n.value), batch)
            x = add_layer_norm(
                self._linear(mixed, n.output), x, shape.hidden, *self._norm(n.output_norm),
                shape.eps, return_sum=False,
            )  # fmt: skip
            inner_weight: Any = self.weights[f"{n.inner}.weight"]
            inner_bias: Any = self.weights[f"{n.inner}.bias"]
            inner = dense(x, inner_weight, inner_bias, shape.activation)
            x = add_layer_norm(
                self._linear(inner, n.outer), x, shape.hidden, *self._norm(n.outer_norm),
                shape.eps, return_sum=False,
            )  # fmt: skip
        return x

    def _attend(self, fused: Array, batch: Batch) -> Array:
        """Attention of the queries, keys and values that lie side by side in each row."""
        shape = self.shape
        three = fused.reshape((batch.rows, 3, shape.heads, self.head))
        backend = batch.backend
        if shape.family != "mpnet":
            mixed = backend.attention(
                three[:, 0], three[:, 1], three[:, 2], q_starts=batch.starts, kv_starts=batch.starts
            )
            return mixed.reshape((batch.rows, shape.hidden))
        mixed = backend._new((batch.rows, shape.heads, self.head), fused.dtype)
        for first, count, length in batch.of_one_length():
            part = three[first : first + count * length]
            q, k, v = (
                part[:, i].reshape((count, length, shape.heads, self.head), copy=False)
                .transpose(0, 2, 1, 3) for i in range(3)
            )  # fmt: skip
            rows = mixed[first : first + count * length]
            rows.reshape((count, length, shape.heads, self.head), copy=False)[...] = (
                backend.attention(q, k, v, mask=self._bias(length)).transpose(0, 2, 1, 3)
            )
        return mixed.reshape((batch.rows, shape.hidden))

    def _bias(self, length: int) -> Array:
        """What MPNet adds to the scores: [1, heads, length, length], by how far keys are away."""
        if length not in self.biases:
            if len(self.biases) > 64:
                self.biases.clear()
            rows: Any = self.weights[f"{self.prefix}encoder.relative_attention_bias.weight"]
            places = np.arange(length)
            buckets = relative_buckets(places[None, :] - places[:, None], self.shape.buckets)
            gathered = take(rows, asarray(buckets.astype(np.int32), device=rows.backend), axis=0)
            self.biases[length] = gathered.transpose(2, 0, 1).copy()[None]
        return self.biases[length]


def relative_buckets(distance: Any, buckets: int, furthest: int = 128) -> Any:
    """T5's buckets of the distance from a query to a key: half of them for either side, of which
    half are exact and the others grow by powers."""
    half = buckets // 2
    exact = half // 2
    away = np.abs(distance)
    grown = exact + (
        np.log(np.maximum(away, 1).astype(np.float32) / exact)
        / math.log(furthest / exact)
        * (half - exact)
    ).astype(np.int64)
    places = np.where(away < exact, away, np.minimum(grown, half - 1))
    return places + np.where(distance > 0, half, 0)
