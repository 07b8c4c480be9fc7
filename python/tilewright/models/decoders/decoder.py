"""Decoders of text: logits, and what comes next."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright.compiled import compile
from tilewright.models.decoders.cache import PAGE
from tilewright.models.decoders.cache import Sequence as Cached
from tilewright.models.decoders.choice import Sampling, chosen
from tilewright.models.decoders.layers import Step, numbers_of, step_of
from tilewright.namespace.creation import asarray
from tilewright.namespace.manipulation import concat
from tilewright.namespace.selection import take
from tilewright.operands import invalid, shown, to_integer

if TYPE_CHECKING:
    from tilewright.array import Array
    from tilewright.backend import Backend
    from tilewright.models.decoders.chat import Chat
    from tilewright.models.decoders.layers import Layers
    from tilewright.models.tokens import Tokenizer
    from tilewright.models.weights import Weights

# Tokens of a prompt that go through the layers at a time.
CHUNK = 512


class Decoder:
    """A model that continues texts; made by load()."""

    def __init__(
        self, layers: Layers, weights: Weights, tokenizer: Tokenizer | None, ends: Sequence[int],
        context: int, template: Chat | None = None,
    ) -> None:  # fmt: skip
        self._layers = layers
        self.weights = weights
        self.tokenizer = tokenizer
        #: tokens that end a text
        self.ends = frozenset(ends)
        #: tokens that a text may have
        self.context = context

        def step(numbers: Array, rows: int, pages: int) -> Array:
            return layers.logits(layers(Step(numbers, rows, rows, pages)))

        self._recorded: Any = compile(step)
        #: how a conversation becomes a text, where the files say it
        self.template = template

    @property
    def device(self) -> Backend:
        return self.weights.backend

    def logits(self, tokens: Sequence[int]) -> Array:
        """What the model says of the token behind each of these, [tokens, vocabulary], float32."""
        every = self._checked("logits", [tokens])
        sequence = Cached(self._layers.cache)
        try:
            return self._layers.logits(self._layers(step_of(self.device, [sequence], every)))
        finally:
            sequence.close()

    def generate(
        self,
        prompts: str | Sequence[int] | Sequence[str] | Sequence[Sequence[int]],
        max_tokens: int = 128,
        *,
        temperature: float = 0.0,
        top_k: int = 0,
        top_p: float = 1.0,
        min_p: float = 0.0,
        repetition_penalty: float = 1.0,
        seed: int | None = None,
    ) -> Any:
        """What comes behind a prompt, up to max_tokens or a token that ends a text, which is left
        out: a text of a text, tokens of tokens, and a list of several. Several prompts go on
        together, each as it would alone."""
        is_one = isinstance(prompts, str) or (
            len(prompts) > 0 and isinstance(prompts[0], int | np.integer)
        )
        every: list[Any] = [prompts] if is_one else list(prompts)
        found: list[list[int]] = [[] for _ in every]
        how = Sampling(temperature, top_k, top_p, min_p, repetition_penalty)
        for row, token in self._tokens("generate", every, max_tokens, how, seed):
            found[row].append(token)
        results = [
            self._text(one) if isinstance(prompt, str) else one
            for prompt, one in zip(every, found, strict=True)
        ]
        return results[0] if is_one else results

    def chat_tokens(self, messages: Sequence[Mapping[str, Any]]) -> list[int]:
        """The tokens of a conversation, of {"role": ..., "content": ...} each, up to where the
        model answers: a prompt of generate() and stream()."""
        call = "chat_tokens"
        if self.template is None or self.tokenizer is None:
            invalid(call, "the model's files have no chat template; give generate() a text")
        text = self.template.text(call, messages)
        return self.tokenizer.encode([text], self.context + 1, special=False)[0]

    def chat(
        self, messages: Sequence[Mapping[str, Any]], max_tokens: int = 512, *,
        temperature: float = 0.0, top_k: int = 0, top_p: float = 1.0, min_p: float = 0.0,
        repetition_penalty: float = 1.0, seed: int | None = None,
    ) -> str:  # fmt: skip
        """The answer to a conversation, as one text."""
        tokens = self.chat_tokens(messages)
        return "".join(
            self.stream(
                tokens, max_tokens, temperature=temperature, top_k=top_k, top_p=top_p,
                min_p=min_p, repetition_penalty=repetition_penalty, seed=seed,
            )
        )  # fmt: skip

    def stream(
        self, prompt: str | Sequence[int], max_tokens: int = 128, *,
        temperature: float = 0.0, top_k: int = 0, top_p: float = 1.0, min_p: float = 0.0,
        repetition_penalty: float = 1.0, seed: int | None = None,
    ) -> Iterator[str]:  # fmt: skip
        """What comes behind a text or tokens, as text in pieces, as they come."""
        if self.tokenizer is None:
            invalid("stream", "the model has no tokenizer; generate() takes and gives tokens")
        how = Sampling(temperature, top_k, top_p, min_p, repetition_penalty)
        tokens: list[int] = []
        said = ""
        for _, token in self._tokens("stream", [prompt], max_tokens, how, seed):
            tokens.append(token)
            text = self._text(tokens)
            # A character of which bytes are still to come is not said yet.
            if not text.endswith("\N{REPLACEMENT CHARACTER}"):
                yield text[len(said) :]
                said = text
        rest = self._text(tokens)[len(said) :]
        if rest:
            yield rest

    def _tokens(
        self, call: str, prompts: list[Any], max_tokens: int, how: Sampling, seed: int | None
    ) -> Iterator[tuple[int, int]]:
        """(which prompt, token), as they come."""
        how.check(call)
        most = to_integer(call, "max_tokens", max_tokens)
        if most < 0:
            invalid(call, f"max_tokens is {most}, expected 0 or more")
        tokens = self._checked(call, [self._encoded(call, one) for one in prompts])
        seen = [list(one) for one in tokens]
        # Each has numbers of its own, so that who else is there changes nothing.
        draws = [np.random.default_rng(None if seed is None else [seed, 0]) for _ in tokens]
        sequences = [Cached(self._layers.cache) for _ in tokens]
        going = list(range(len(tokens)))
        try:
            states = [self._prefilled(one, ids) for one, ids in zip(sequences, tokens, strict=True)]
            logits = self._layers.logits(_joined(states)) if states else None
            for _ in range(most):
                if logits is None or not going:
                    return
                going_on = []
                uniform = np.array([draws[row].random() for row in going], np.float32)
                picked = chosen(logits, how, [seen[row] for row in going], uniform).numpy()
                for row, token in zip(going, picked.tolist(), strict=True):
                    seen[row].append(token)
                    if token in self.ends:
                        continue
                    yield row, token
                    if len(seen[row]) < self.context:
                        going_on.append(row)
                going = going_on
                if going:
                    rows = [sequences[row] for row in going]
                    logits = self._next(rows, [seen[row][-1] for row in going])
        finally:
            for one in sequences:
                one.close()

    def _next(self, sequences: list[Cached], tokens: list[int]) -> Array:
        """The logits behind one token more of each, by a recording for as many sequences, whose
        pages are up to a power of two."""
        longest = max(one.length for one in sequences) + 1
        pages = 1 << (-(-longest // PAGE) - 1).bit_length()
        numbers, width = numbers_of(sequences, [[one] for one in tokens], pages)
        on_device = asarray(numbers, device=self.device)
        logits: Array = self._recorded(on_device, len(sequences), width)
        return logits

    def _prefilled(self, sequence: Cached, tokens: list[int]) -> Array:
        """The state behind a prompt, whose keys are then in the cache, [1, hidden]."""
        for first in range(0, len(tokens), CHUNK):
            step = step_of(self.device, [sequence], [tokens[first : first + CHUNK]])
            states = self._layers(step)
        return take(states, step.last, axis=0)

    def _encoded(self, call: str, prompt: Any) -> list[int]:
        if not isinstance(prompt, str):
            return [int(one) for one in prompt]
        if self.tokenizer is None:
            invalid(call, "the model has no tokenizer; give tokens")
        return self.tokenizer.encode([prompt], self.context + 1)[0]

    def _text(self, tokens: list[int]) -> str:
        assert self.tokenizer is not None
        return self.tokenizer.decode(tokens)

    def _checked(self, call: str, prompts: Sequence[Sequence[int]]) -> list[list[int]]:
        most = self._layers.shape.vocabulary
        for i, one in enumerate(prompts):
            if not 1 <= len(one) <= self.context:
                invalid(
                    call, f"prompt {i} has {len(one)} tokens, expected 1 to {self.context}; "
                    f"load(..., context=) takes up to {self._layers.shape.longest} of this model"
                )  # fmt: skip
            for token in one:
                if not 0 <= token < most:
                    invalid(call, f"prompt {i} has the token {shown(token)}, expected below {most}")
        return [[int(token) for token in one] for one in prompts]


def _joined(states: list[Array]) -> Array:
    return states[0] if len(states) == 1 else concat(states, axis=0)
