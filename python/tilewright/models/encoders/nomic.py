"""Nomic's BERT: rotary positions, gated units without biases, and norms behind each residual."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tilewright.models.activations import dense
from tilewright.models.encoders.rotary import attend, on_device
from tilewright.models.tables import look_up
from tilewright.models.weights import Wanted, matrix, table, vector, words
from tilewright.nn.added_norms import add_layer_norm
from tilewright.nn.row_norms import layer_norm

if TYPE_CHECKING:
    from tilewright.array import Array
    from tilewright.models.encoders.batch import Batch
    from tilewright.models.rotations import Turns
    from tilewright.models.weights import Weights


@dataclass(frozen=True)
class Shape:
    """What a file says of an encoder."""

    layers: int
    hidden: int
    heads: int
    inner: int
    vocabulary: int
    segments: int
    longest: int
    eps: float
    turns: Turns


def wanted(shape: Shape, prefix: str) -> list[Wanted]:
    h = shape.hidden
    every = [
        words(f"{prefix}embeddings.word_embeddings.weight", shape.vocabulary, h),
        table(f"{prefix}embeddings.token_type_embeddings.weight", shape.segments, h),
    ]
    norms = [f"{prefix}emb_ln"]
    for layer in range(shape.layers):
        of = f"{prefix}encoder.layers.{layer}"
        every += [
            matrix(f"{of}.attn.Wqkv.weight", 3 * h, h),
            matrix(f"{of}.attn.out_proj.weight", h, h),
            matrix([f"{of}.mlp.fc12.weight", f"{of}.mlp.fc11.weight"], shape.inner, h),
            matrix(f"{of}.mlp.fc2.weight", h, shape.inner),
        ]
        norms += [f"{of}.norm1", f"{of}.norm2"]
    for name in norms:
        every += [vector(f"{name}.weight", h), vector(f"{name}.bias", h)]
    return every


class Layers:
    """The encoder over the rows of a batch."""

    def __init__(self, shape: Shape, weights: Weights, prefix: str) -> None:
        self.shape, self.weights, self.prefix = shape, weights, prefix
        self.words: Any = weights[f"{prefix}embeddings.word_embeddings.weight"]
        self.segments: Any = weights[f"{prefix}embeddings.token_type_embeddings.weight"]
        self.turns = on_device(weights, shape.turns, shape.longest)

    def _norm(self, name: str) -> tuple[Any, Any]:
        return self.weights[f"{name}.weight"], self.weights[f"{name}.bias"]

    def __call__(self, batch: Batch) -> Array:
        """The last hidden states, [rows, hidden]."""
        shape, weights = self.shape, self.weights
        batch.check(shape.vocabulary, shape.segments)
        found = look_up(self.words, batch.tokens, weights.dtype)
        kinds = self.segments[0]
        if batch.segments is not None:
            kinds = look_up(self.segments, batch.segments, weights.dtype)
        x: Array = layer_norm(found + kinds, shape.hidden, *self._norm(f"{self.prefix}emb_ln"),
                              shape.eps)  # fmt: skip
        for layer in range(shape.layers):
            of = f"{self.prefix}encoder.layers.{layer}"
            inputs: Any = weights[f"{of}.attn.Wqkv.weight"]
            output: Any = weights[f"{of}.attn.out_proj.weight"]
            mixed = dense(attend(dense(x, inputs), batch, shape.heads, self.turns), output)
            x = add_layer_norm(mixed, x, shape.hidden, *self._norm(f"{of}.norm1"), shape.eps,
                               return_sum=False)  # fmt: skip
            both = weights.joined(f"{of}.mlp.fc12.weight", f"{of}.mlp.fc11.weight")
            outer: Any = weights[f"{of}.mlp.fc2.weight"]
            inner = dense(x, both, activation="silu", gated=True)
            x = add_layer_norm(
                dense(inner, outer), x, shape.hidden, *self._norm(f"{of}.norm2"), shape.eps,
                return_sum=False,
            )  # fmt: skip
        return x
