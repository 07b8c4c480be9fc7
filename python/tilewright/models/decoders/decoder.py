"""Decoders of text: logits, and what comes next."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

from tilewright.models.decoders.choice import Sampling, draws_of
from tilewright.models.decoders.engine import Engine, Request
from tilewright.models.decoders.pieces import Saying
from tilewright.models.prompts import several, stops_of, tokens_of
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
        call = "logits"
        return self.engine.logits(self.engine.checked(call, tokens_of(call, "tokens", tokens)))

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
        stop: str | Sequence[str] = (),
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
        stop: str | Sequence[str] = (),
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
        stop: str | Sequence[str] = (),
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
        stop: str | Sequence[str] = (),
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
        stop: str | Sequence[str] = (),
    ) -> Any:
        """What comes behind a prompt, up to max_tokens or a token that ends a text, which is left
        out: a text of a text, tokens of tokens, and a list of several. A text ends in front of a
        stop, tokens with the one that makes it whole. Several prompts go on together, each as it
        would alone."""
        call = "generate"
        every, is_one = several(call, prompts)
        how = Sampling(temperature, top_k, top_p, min_p, repetition_penalty)
        stops = stops_of(call, stop)
        if stops:
            self._with_tokenizer(call)
        requests = self._requests(call, every, max_tokens, how, seed)
        saying = [Saying(self.tokenizer, stops) if stops else None for _ in requests]
        texts = [""] * len(requests)
        try:
            while True:
                # Before it is looked at: another thread may make the step that ends it.
                is_done = all(one.is_done for one in requests)
                for i, says in enumerate(saying):
                    if says is not None:
                        texts[i] += says.more(requests[i])
                        if says.is_over:
                            self.engine.cancel(requests[i])
                if is_done:
                    break
                self.engine.step()
        finally:
            self._cancel(requests)
        check(requests)
        results: list[Any] = []
        for prompt, one, says, text in zip(every, requests, saying, texts, strict=True):
            tokens = one.tokens if says is None else one.tokens[: says.said]
            is_cut = says is not None and says.is_over
            results.append(
                tokens if not isinstance(prompt, str) else text if is_cut else self._text(tokens)
            )
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
        repetition_penalty: float = 1.0, seed: int | None = None, stop: str | Sequence[str] = (),
    ) -> str:  # fmt: skip
        """The answer to a conversation, as one text."""
        tokens = self.chat_tokens(messages)
        return "".join(
            self.stream(
                tokens, max_tokens, temperature=temperature, top_k=top_k, top_p=top_p,
                min_p=min_p, repetition_penalty=repetition_penalty, seed=seed, stop=stop,
            )
        )  # fmt: skip

    def stream(
        self, prompt: str | Sequence[int], max_tokens: int = 128, *,
        temperature: float = 0.0, top_k: int = 0, top_p: float = 1.0, min_p: float = 0.0,
        repetition_penalty: float = 1.0, seed: int | None = None, stop: str | Sequence[str] = (),
    ) -> Iterator[str]:  # fmt: skip
        """What comes behind a text or tokens, as text in pieces, as they come, up to a stop."""
        call = "stream"
        self._with_tokenizer(call)
        how = Sampling(temperature, top_k, top_p, min_p, repetition_penalty)
        says = Saying(self.tokenizer, stops_of(call, stop))
        requests = self._requests(call, [prompt], max_tokens, how, seed)
        (request,) = requests
        try:
            while True:
                is_done = request.is_done
                yield from says.pieces(request)
                if is_done or says.is_over:
                    break
                self.engine.step()
        finally:
            self._cancel(requests)
        check(requests)

    def _with_tokenizer(self, call: str) -> None:
        if self.tokenizer is None:
            invalid(call, "the model has no tokenizer; generate() takes and gives tokens")

    def _requests(
        self, call: str, prompts: list[Any], max_tokens: int, how: Sampling, seed: int | None
    ) -> list[Request]:
        how.check(call)
        most = to_integer(call, "max_tokens", max_tokens)
        if most < 0:
            invalid(call, f"max_tokens is {most}, expected 0 or more")
        number = None if seed is None else to_integer(call, "seed", seed)
        tokens = [
            self.engine.checked(call, self._encoded(call, f"prompt {i}", one), f"prompt {i}")
            for i, one in enumerate(prompts)
        ]
        # Each has numbers of its own, so that who else is there changes nothing.
        return [self.engine.submit(one, most, how, draws_of(number)) for one in tokens]

    def _cancel(self, requests: list[Request]) -> None:
        for one in requests:
            self.engine.cancel(one)

    def _encoded(self, call: str, which: str, prompt: Any) -> list[int]:
        if not isinstance(prompt, str):
            return tokens_of(call, which, prompt)
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
