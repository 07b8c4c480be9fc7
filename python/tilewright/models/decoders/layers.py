"""The layers of a decoder over the rows of a step."""

from __future__ import annotations

from collections.abc import Sequence as Listed
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from tilewright.models.activations import Norm, dense
from tilewright.models.decoders.cache import Cache, Sequence
from tilewright.models.rotations import tables
from tilewright.models.tables import look_up
from tilewright.models.weights import Wanted, matrix, vector, words
from tilewright.namespace.creation import asarray
from tilewright.namespace.elementwise import tanh
from tilewright.nn.added_norms import add_rms_norm
from tilewright.nn.row_norms import rms_norm

if TYPE_CHECKING:
    import numpy.typing as npt

    from tilewright.array import Array
    from tilewright.backend import Backend
    from tilewright.models.decoders.shape import Shape
from tilewright.models.weights import Weights


@dataclass(frozen=True)
class LayerNames:
    inputs: tuple[str, ...]
    output: str
    gates: tuple[str, ...]
    outer: str
    norms: tuple[str, ...]


def names_of(shape: Shape, prefix: str, layer: int) -> LayerNames:
    of = f"{prefix}layers.{layer}"
    inputs: tuple[str, ...] = tuple(f"{of}.self_attn.{one}_proj" for one in "qkv")
    gates: tuple[str, ...] = (f"{of}.mlp.gate_proj", f"{of}.mlp.up_proj")
    if shape.is_fused:
        inputs, gates = (f"{of}.self_attn.qkv_proj",), (f"{of}.mlp.gate_up_proj",)
    norms = ["input_layernorm", "post_attention_layernorm"]
    if shape.norms_halves:
        norms += ["pre_feedforward_layernorm", "post_feedforward_layernorm"]
    return LayerNames(
        inputs, f"{of}.self_attn.o_proj", gates, f"{of}.mlp.down_proj",
        tuple(f"{of}.{one}.weight" for one in norms),
    )  # fmt: skip


def wanted(shape: Shape, prefix: str) -> list[Wanted]:
    h, head = shape.hidden, shape.head
    rows = [shape.heads * head, shape.kv_heads * head, shape.kv_heads * head]
    every = [
        words(f"{prefix}embed_tokens.weight", shape.vocabulary, h),
        vector(f"{prefix}norm.weight", h),
    ]
    if not shape.ties:
        every.append(matrix("lm_head.weight", shape.vocabulary, h))
    for layer in range(shape.layers):
        n = names_of(shape, prefix, layer)
        sizes = [sum(rows)] if shape.is_fused else rows
        every.append(matrix([f"{one}.weight" for one in n.inputs], sizes, h))
        if shape.input_bias:
            every.append(Wanted(tuple(f"{one}.bias" for one in n.inputs), tuple(sizes)))
        every.append(matrix(f"{n.output}.weight", h, rows[0]))
        if shape.output_bias:
            every.append(vector(f"{n.output}.bias", h))
        halves = [2 * shape.inner] if shape.is_fused else [shape.inner] * 2
        every.append(matrix([f"{one}.weight" for one in n.gates], halves, h))
        every.append(matrix(f"{n.outer}.weight", h, shape.inner))
        if shape.inner_bias:
            every.append(Wanted(tuple(f"{one}.bias" for one in n.gates), tuple(halves)))
            every.append(vector(f"{n.outer}.bias", h))
        every += [vector(one, h) for one in n.norms]
        if shape.norms_heads:
            of = f"{prefix}layers.{layer}.self_attn"
            every += [vector(f"{of}.q_norm.weight", head), vector(f"{of}.k_norm.weight", head)]
    return every


class Step:
    """New tokens of sequences, behind each other, in Arrays that lie in one of `numbers`."""

    def __init__(self, numbers: Array, rows: int, sequences: int, pages: int) -> None:
        sizes = (rows, rows, rows, sequences, sequences * pages, sequences, sequences + 1)
        cuts = np.cumsum([0, *sizes]).tolist()
        views = [numbers[first:past] for first, past in pairwise(cuts)]
        self.rows = rows
        # What each layer takes as a buffer is copied out of the others here, once for all layers.
        self.tokens, self.last = views[0], views[3]
        self.places, self.slots = views[1].copy(), views[2].copy()
        self.page_table = views[4].reshape((sequences, pages)).copy()
        self.lengths, self.starts = views[5].copy(), views[6].copy()


def numbers_of(
    sequences: Listed[Sequence], tokens: Listed[Listed[int]], pages: int | None = None
) -> tuple[npt.NDArray[np.int32], int]:
    """What a Step is made of, with room for the tokens taken in the cache, and how many pages a row
    of its table has: as many as there are, or `pages` if these are more."""
    counts = [len(one) for one in tokens]
    places = [one.grow(count) for one, count in zip(sequences, counts, strict=True)]
    slots = [one.slots(at) for one, at in zip(sequences, places, strict=True)]
    most = max(len(one.pages) for one in sequences)
    width = most if pages is None else max(most, pages)
    page_table = np.zeros((len(sequences), width), np.int32)
    for row, one in zip(page_table, sequences, strict=True):
        row[: len(one.pages)] = one.pages
    ends = np.cumsum([0, *counts])
    parts: list[npt.ArrayLike] = [
        *tokens, *places, *slots, ends[1:] - 1, page_table.reshape(-1),
        [one.length for one in sequences], ends,
    ]  # fmt: skip
    return np.concatenate([np.asarray(one, np.int32) for one in parts]), width


def step_of(backend: Backend, sequences: Listed[Sequence], tokens: Listed[Listed[int]]) -> Step:
    numbers, pages = numbers_of(sequences, tokens)
    rows = sum(len(one) for one in tokens)
    return Step(asarray(numbers, device=backend), rows, len(sequences), pages)


class Rows(NamedTuple):
    """The rows of a step between halves of layers."""

    x: Array
    given: Array  #: what the next product takes: x, or what is normed of it
    norm: str | None  #: which that product takes along


class Layers:
    def __init__(
        self, shape: Shape, weights: Weights, prefix: str, context: int, cache: Cache
    ) -> None:
        self.shape, self.weights, self.prefix, self.cache = shape, weights, prefix, cache
        self.names = [names_of(shape, prefix, layer) for layer in range(shape.layers)]
        self.words: Any = weights[f"{prefix}embed_tokens.weight"]
        self.last: Any = self.words if shape.ties else weights["lm_head.weight"]
        every = [shape.turns if one is None else shape.window_turns for one in shape.windows]
        made = {
            turns: tuple(
                asarray(one, device=weights.backend).astype(weights.dtype)
                for one in tables(turns, context)
            )
            for turns in set(every)
        }
        self.turns = [made[one] for one in every]
        self.norms: dict[str, Array] = {}
        #: the norms are launches of their own, with the sums in front of them
        self.norms_apart = shape.norms_halves or shape.residual_scale != 1

    def _weight(self, name: str) -> Array:
        """Of a norm: Gemma's weigh by one more than what its folders have."""
        if not self.shape.norm_bias:
            plain: Any = self.weights[name]
            return cast("Array", plain)
        if name not in self.norms:
            held: Any = self.weights[name]
            self.norms[name] = (held + self.shape.norm_bias).copy()
        return self.norms[name]

    def _linear(
        self, x: Array, names: tuple[str, ...], bias: bool, activation: str | None = None,
        norm: str | None = None, onto: Array | None = None,
    ) -> Array:  # fmt: skip
        """With an activation the first half of the results is the gate of the other half."""
        weight = self.weights.joined(*(f"{one}.weight" for one in names))
        offsets = self.weights.joined(*(f"{one}.bias" for one in names)) if bias else None
        return dense(
            x, weight, offsets, activation, activation is not None, self._norm(norm), onto
        )  # fmt: skip

    def _norm(self, name: str | None) -> Norm | None:
        return None if name is None else Norm(self._weight(name), self.shape.eps)

    def __call__(self, step: Step) -> Array:
        """The states of all rows, [rows, hidden], as logits() takes them."""
        shape = self.shape
        x = look_up(self.words, step.tokens, self.weights.dtype)
        if shape.word_scale != 1:
            x = x * shape.word_scale
        last = f"{self.prefix}norm.weight"
        following = [one.norms[0] for one in self.names[1:]] + [last]
        rows = Rows(x, x, self.names[0].norms[0])
        for layer, n in enumerate(self.names):
            fused = self._linear(rows.given, n.inputs, shape.input_bias, norm=rows.norm)
            mixed = self._attend(fused, step, layer)
            rows = self._add(rows.x, mixed, n.output, shape.output_bias, n.norms[1:3])
            inner = self._linear(
                rows.given, n.gates, shape.inner_bias, shape.activation, norm=rows.norm
            )
            norms = (*n.norms[3:], following[layer])
            rows = self._add(rows.x, inner, n.outer, shape.inner_bias, norms)
        return rows.given

    def _add(self, x: Array, inner: Array, name: str, bias: bool, norms: tuple[str, ...]) -> Rows:
        """x and the product that ends a half of a layer. Of `norms` the last is that of the sum,
        and one before it, which few models have, the product's own."""
        shape = self.shape
        if self.norms_apart:
            found = self._linear(inner, (name,), bias)
            if shape.norms_halves:
                found = rms_norm(found, shape.hidden, self._weight(norms[0]), shape.eps)
            if shape.residual_scale != 1:
                found = found * shape.residual_scale
            normed, x = add_rms_norm(found, x, shape.hidden, self._weight(norms[-1]), shape.eps)
            return Rows(x, normed, None)
        x = self._linear(inner, (name,), bias, onto=x)
        return Rows(x, x, norms[-1])

    def logits(self, states: Array) -> Array:
        """Of the next token, [rows, vocabulary], in float32."""
        norm = None if self.norms_apart else self._norm(f"{self.prefix}norm.weight")
        found = dense(states, self.last, norm=norm).astype(np.float32, copy=False)
        if self.shape.logit_scale != 1:
            found = found * self.shape.logit_scale
        cap = self.shape.logit_cap
        return tanh(found / cap) * cap if cap else found

    def _attend(self, fused: Array, step: Step, layer: int) -> Array:
        """What the heads of the products of a layer's inputs come to."""
        shape = self.shape
        three = fused.reshape((step.rows, shape.heads + 2 * shape.kv_heads, shape.head))
        if shape.norms_heads:
            self._norm_heads(three, layer)
        cos, sin = self.turns[layer]
        backend, cache = fused.backend, self.cache
        backend.write_pages(
            three, cache.rows[layer], step.slots, heads=shape.heads, scales=cache.scales[layer],
            cos=cos, sin=sin, positions=step.places, pairing=shape.pairing,
            rotary_dim=shape.turns.rotary,
        )  # fmt: skip
        window = shape.windows[layer]
        mixed = backend.attention(
            three[:, : shape.heads], cache.keys[layer], cache.values[layer],
            causal=True, at_end=True, scale=shape.scale, soft_cap=shape.score_cap,
            window=None if window is None else (window - 1, None), page_table=step.page_table,
            lengths=step.lengths, q_starts=step.starts, scales=cache.scales[layer],
        )  # fmt: skip
        return mixed.reshape((step.rows, shape.heads * shape.head))

    def _norm_heads(self, three: Array, layer: int) -> None:
        """Queries and keys, each head over its root mean square."""
        shape = self.shape
        of, both = f"{self.prefix}layers.{layer}.self_attn", shape.heads + shape.kv_heads
        for first, past, name in ((0, shape.heads, "q_norm"), (shape.heads, both, "k_norm")):
            weight = self._weight(f"{of}.{name}.weight")
            three[:, first:past] = rms_norm(three[:, first:past], shape.head, weight, shape.eps)
