"""Decoders of text: logits, and what comes next."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from tilewright.models.decoders.choice import Sampling, draws_of
from tilewright.models.decoders.engine import Engine, Request
from tilewright.models.decoders.pieces import TextPieces
from tilewright.operands import invalid, to_integer

if TYPE_CHECKING:
    from tilewright.array import Array
    from tilewright.backend import Backend
    from tilewright.models.decoders.chat import Chat
    from tilewright.models.decoders.layers import Layers
    from tilewright.models.tokens import Tokenizer
    from tilewright.models.weights import Weights


class Decoder:
    """A model that continues texts; made by load()."""

    def __init__(
        self, layers: Layers, weights: Weights, tokenizer: Tokenizer | None, ends: Sequence[int],
        context: int, template: Chat | None = None,
    ) -> None:  # fmt: skip
        self._layers = layers
        self.weights = weights
        self.tokenizer = tokenizer
        #: what runs its texts
        self.engine = Engine(layers, ends, context)
        #: tokens that a text may have
        self.context = self.engine.context
        #: how a conversation becomes a text, where the files say it
        self.template = template

    @property
    def device(self) -> Backend:
        return self.weights.backend

    @property
    def ends(self) -> frozenset[int]:
        """Tokens that end a text."""
        return self.engine.ends

    @ends.setter
    def ends(self, tokens: Collection[int]) -> None:
        self.engine.ends = frozenset(tokens)

    def logits(self, tokens: Sequence[int]) -> Array:
        """What the model says of the token behind each of these, [tokens, vocabulary], float32."""
        return self.engine.logits(self.engine.checked("logits", tokens))

    @overload
    def generate(  # type: ignore[overload-overlap]
        self,
        prompts: str,
        max_tokens: int = 128,
        *,
        temperature: float = 0.0,
        top_k: int = 0,
        top_p: float = 1.0,
        min_p: float = 0.0,
        repetition_penalty: float = 1.0,
        seed: int | None = None,
    ) -> str: ...
    @overload
    def generate(
        self,
        prompts: Sequence[int],
        max_tokens: int = 128,
        *,
        temperature: float = 0.0,
        top_k: int = 0,
        top_p: float = 1.0,
        min_p: float = 0.0,
        repetition_penalty: float = 1.0,
        seed: int | None = None,
    ) -> list[int]: ...
    @overload
    def generate(
        self,
        prompts: Sequence[str],
        max_tokens: int = 128,
        *,
        temperature: float = 0.0,
        top_k: int = 0,
        top_p: float = 1.0,
        min_p: float = 0.0,
        repetition_penalty: float = 1.0,
        seed: int | None = None,
    ) -> list[str]: ...
    @overload
    def generate(
        self,
        prompts: Sequence[Sequence[int]],
        max_tokens: int = 128,
        *,
        temperature: float = 0.0,
        top_k: int = 0,
        top_p: float = 1.0,
        min_p: float = 0.0,
        repetition_penalty: float = 1.0,
        seed: int | None = None,
    ) -> list[list[int]]: ...
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
        how = Sampling(temperature, top_k, top_p, min_p, repetition_penalty)
        requests = self._requests("generate", every, max_tokens, how, seed)
        try:
            while not all(one.is_done for one in requests):
                self.engine.step()
        finally:
            self._cancel(requests)
        check(requests)
        results = [
            self._text(one.tokens) if isinstance(prompt, str) else one.tokens
            for prompt, one in zip(every, requests, strict=True)
        ]
        return results[0] if is_one else results

    def chat_tokens(self, messages: Sequence[Mapping[str, Any]]) -> list[int]:
        """The tokens of a conversation, of {"role": ..., "content": ...} each, up to where the
        model answers: a prompt of generate() and stream()."""
        call = "chat_tokens"
        if self.template is None or self.tokenizer is None:
            invalid(call, "the model's files have no chat template; give generate() a text")
        text = self.template.text(call, messages)
        return self.tokenizer.encode([text], special=False)[0]

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
        requests = self._requests("stream", [prompt], max_tokens, how, seed)
        (request,) = requests
        pieces, said = TextPieces(self.tokenizer), request.start
        try:
            while True:
                while said < len(request.text):
                    said += 1
                    piece = pieces.add(request.text[said - 1])
                    if piece:
                        yield piece
                if request.is_done:
                    break
                self.engine.step()
        finally:
            self._cancel(requests)
        check(requests)
        rest = pieces.rest()
        if rest:
            yield rest

    def _requests(
        self, call: str, prompts: list[Any], max_tokens: int, how: Sampling, seed: int | None
    ) -> list[Request]:
        how.check(call)
        most = to_integer(call, "max_tokens", max_tokens)
        if most < 0:
            invalid(call, f"max_tokens is {most}, expected 0 or more")
        tokens = [
            self.engine.checked(call, self._encoded(call, one), f"prompt {i}")
            for i, one in enumerate(prompts)
        ]
        # Each has numbers of its own, so that who else is there changes nothing.
        return [self.engine.submit(one, most, how, draws_of(seed)) for one in tokens]

    def _cancel(self, requests: list[Request]) -> None:
        for one in requests:
            self.engine.cancel(one)

    def _encoded(self, call: str, prompt: Any) -> list[int]:
        if not isinstance(prompt, str):
            return [int(one) for one in prompt]
        if self.tokenizer is None:
            invalid(call, "the model has no tokenizer; give tokens")
        return self.tokenizer.encode([prompt])[0]

    def _text(self, tokens: list[int]) -> str:
        assert self.tokenizer is not None
        return self.tokenizer.decode(tokens)


def check(requests: list[Request]) -> None:
    """Raises what ended a text that a step of another call went on with."""
    for one in requests:
        if one.error is not None:
            raise one.error
