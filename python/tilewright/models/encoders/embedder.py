"""Encoders of text: embeddings, and scores of pairs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright.models.encoders.batch import Batch
from tilewright.models.encoders.pooling import pooled
from tilewright.models.encoders.sentences import Prompts
from tilewright.models.prompts import listed, tokens_of
from tilewright.namespace.creation import empty
from tilewright.namespace.elementwise import sqrt
from tilewright.namespace.manipulation import concat
from tilewright.namespace.reductions import sum
from tilewright.nn.activations import sigmoid
from tilewright.operands import FLOAT32, invalid, shown, to_integer

if TYPE_CHECKING:
    from tilewright.array import Array
    from tilewright.backend import Backend
    from tilewright.models.encoders.heads import Head
    from tilewright.models.encoders.sentences import Dense
    from tilewright.models.tokens import Tokenizer
    from tilewright.models.weights import Weights

# What nothing is divided by, as torch's normalize() has it.
LEAST_LENGTH = 1e-12


class Encoder:
    """A model that makes embeddings of texts; made by load()."""

    def __init__(
        self,
        layers: Any,
        weights: Weights,
        tokenizer: Tokenizer,
        pooling: str,
        normalizes: bool,
        longest: int,
        head: Head | None = None,
        *,
        prompts: Prompts | None = None,
        lowers: bool = False,
        denses: Sequence[Dense] = (),
    ) -> None:
        self._layers = layers
        self.weights = weights
        self.tokenizer = tokenizer
        #: how a sequence's states become one row; several lie side by side, "cls+mean"
        self.pooling = pooling
        self._poolings = pooling.split("+")
        self.normalizes = normalizes
        #: tokens of a text that are read; what is behind them is cut off
        self.longest = longest
        self.head = head
        #: what is put in front of texts, by names, and the name of the usual one
        self.prompts = dict(prompts.by_name) if prompts else {}
        self.default_prompt = prompts.usual if prompts else None
        self._prompts = prompts or Prompts()
        self._lowers = lowers
        self._denses = tuple(denses)

    @property
    def device(self) -> Backend:
        return self.weights.backend

    @property
    def size(self) -> int:
        """Of an embedding."""
        if self._denses:
            return self._denses[-1].shape.rows
        return int(self._layers.shape.hidden) * len(self._poolings)

    def embed(
        self,
        texts: str | Sequence[str],
        *,
        normalize: bool | None = None,
        batch_tokens: int = 16384,
        prompt_name: str | None = None,
    ) -> Array:
        """The embeddings of texts in float32, [texts, size], or [size] of one text. normalize
        makes their length 1; unless given as the model's files say. So many tokens go through the
        layers at a time, of texts of any lengths. In front of each text lies the prompt of this
        name, or the usual one where the model's files have one."""
        call = "embed"
        every = checked_texts(call, texts)
        most = to_integer(call, "batch_tokens", batch_tokens)
        if most < 1:
            invalid(call, f"batch_tokens is {most}, expected 1 or more")
        rows = self._rows(self._encoded(call, every, prompt_name, self.longest), normalize, most)
        return rows[0] if isinstance(texts, str) else rows

    def tokens(self, texts: Sequence[str], *, prompt_name: str | None = None) -> list[list[int]]:
        """The tokens of texts with their prompt, as embed_tokens() takes them, however many they
        are."""
        call = "tokens"
        return self._encoded(call, checked_texts(call, texts), prompt_name, None)

    def _encoded(
        self, call: str, texts: list[str], prompt_name: str | None, longest: int | None
    ) -> list[list[int]]:
        prompt = self._prompts.of(call, prompt_name)
        every = [prompt + one for one in texts] if prompt else texts
        if self._lowers:
            every = [one.lower() for one in every]
        return self.tokenizer.encode(every, longest)

    def embed_tokens(
        self,
        tokens: Sequence[Sequence[int]],
        *,
        normalize: bool | None = None,
        batch_tokens: int = 16384,
    ) -> Array:
        """The same of texts that are tokens already, with those that the model wants around."""
        return self._rows(self.check(tokens, "embed_tokens"), normalize, batch_tokens)

    def check(self, tokens: Sequence[Sequence[int]], call: str = "check") -> list[list[int]]:
        """The tokens of texts, of a number and a kind that the model takes."""
        return checked_tokens(call, tokens, self.longest, self._layers.shape.vocabulary)

    def _rows(self, tokens: list[list[int]], normalize: bool | None, most: int) -> Array:
        width = int(self._layers.shape.hidden) * len(self._poolings)
        result = empty((len(tokens), width), dtype=FLOAT32, device=self.device)
        for first, past in runs([len(one) for one in tokens], most):
            result[first:past] = self._pooled(Batch(self.device, tokens[first:past]))
        for layer in self._denses:
            result = layer(result)
        if self.normalizes if normalize is None else normalize:
            lengths = sqrt(sum(result * result, axis=-1, keepdims=True))
            result = result / lengths.clip(LEAST_LENGTH, None)
        return result

    def states(self, tokens: Sequence[Sequence[int]]) -> list[Array]:
        """The last hidden states of sequences of tokens, [tokens, size] of each."""
        checked = self.check(tokens, "states")
        if not checked:
            return []
        batch = Batch(self.device, checked)
        whole = self._layers(batch)
        ends = np.cumsum([0, *batch.lengths]).tolist()
        return [whole[first:past] for first, past in pairwise(ends)]

    def score(self, pairs: Sequence[tuple[str, str]], *, batch_tokens: int = 16384) -> Array:
        """What a cross-encoder says of each pair of texts, [pairs] or [pairs, labels]: of one
        label the sigmoid, of several what the layer gives."""
        call = "score"
        if self.head is None:
            invalid(call, "the model has no classifier; embed() makes its embeddings")
        every = [
            tuple(listed(call, f"pairs[{i}]", pair, "two texts"))
            for i, pair in enumerate(listed(call, "pairs", pairs, "a list of pairs of texts"))
        ]
        for i, pair in enumerate(every):
            if len(pair) != 2 or not all(isinstance(one, str) for one in pair):
                invalid(call, f"pairs[{i}] is {shown(pair)}, expected two texts")
        if self._lowers:
            every = [(one.lower(), other.lower()) for one, other in every]
        tokens, segments = self.tokenizer.encode_pairs(every, self.longest)
        parts = []
        for first, past in runs([len(one) for one in tokens], batch_tokens):
            batch = Batch(self.device, tokens[first:past], segments[first:past])
            parts.append(self.head(self._layers(batch), batch))
        result = empty((len(every), self.head.labels), dtype=FLOAT32, device=self.device)
        first = 0
        for part in parts:
            result[first : first + part.shape[0]] = part
            first += part.shape[0]
        return sigmoid(result)[:, 0] if self.head.labels == 1 else result

    def _pooled(self, batch: Batch) -> Array:
        states = self._layers(batch)
        rows = [pooled(how, states, batch) for how in self._poolings]
        return rows[0] if len(rows) == 1 else concat(rows, axis=1)


def checked_texts(call: str, texts: Any) -> list[str]:
    what = "a text or a list of texts"
    every = [texts] if isinstance(texts, str) else listed(call, "texts", texts, what)
    for i, one in enumerate(every):
        if not isinstance(one, str):
            invalid(call, f"texts[{i}] is {shown(one)}, expected a text")
    return every


def checked_tokens(call: str, tokens: Any, longest: int, vocabulary: int) -> list[list[int]]:
    every = [
        tokens_of(call, f"tokens[{i}]", one)
        for i, one in enumerate(listed(call, "tokens", tokens, "a list of tokens of texts"))
    ]
    for i, one in enumerate(every):
        if not 1 <= len(one) <= longest:
            invalid(call, f"tokens[{i}] has {len(one)} tokens, expected 1 to {longest}")
        for token in one:
            if not 0 <= token < vocabulary:
                invalid(call, f"tokens[{i}] has the token {token}, expected below {vocabulary}")
    return every


def runs(lengths: Sequence[int], most: int) -> Iterator[tuple[int, int]]:
    """Neighbours of at most so many tokens together, or one that has more."""
    first, held = 0, 0
    for i, length in enumerate(lengths):
        if i > first and held + length > most:
            yield first, i
            first, held = i, 0
        held += length
    if first < len(lengths):
        yield first, len(lengths)
