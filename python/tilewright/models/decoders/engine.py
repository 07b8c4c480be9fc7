"""Texts that go on together: each joins and leaves between two steps."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from tilewright._core import Error
from tilewright.compiled import compile
from tilewright.models.decoders.cache import PAGE, Cache
from tilewright.models.decoders.cache import Sequence as Cached
from tilewright.models.decoders.choice import NOT_A_NUMBER, UNSURE, Sampling, checked, chosen
from tilewright.models.decoders.layers import Step, numbers_of, step_of
from tilewright.namespace.creation import asarray
from tilewright.namespace.elementwise import maximum
from tilewright.namespace.selection import take
from tilewright.operands import FLOAT16, invalid

if TYPE_CHECKING:
    from tilewright.array import Array
    from tilewright.backend import Backend
    from tilewright.models.decoders.layers import Layers

# Tokens of prompts that go through the layers in a step. Matrix units have so many times as many
# where no text is past its prompt: few rows do not fill them.
CHUNK = 512
TIMES_ON_UNITS = 4
# Texts that go on together; more wait.
MOST_TEXTS = 256
# Of steps, each for so many texts and pages: as many as alternate while texts come and go.
MOST_RECORDINGS = 48


@dataclass(eq=False)
class Request:
    """A text that goes on: what was asked, and what came of it so far."""

    text: list[int] = field(repr=False)
    """The prompt's tokens and what came behind, without the token that ends a text."""
    start: int
    """Tokens of the prompt."""
    max_tokens: int
    how: Sampling
    draws: np.random.Generator = field(repr=False)
    reason: str | None = None
    """Why it ended: "stop", "length" or "cancelled"; None while it goes on."""
    error: Exception | None = None
    found: int = 0
    """Tokens of the prompt that were in the cache already."""
    sequence: Cached | None = field(default=None, repr=False)
    saved: float | None = field(default=None, repr=False)
    """A number that was drawn for a token which was made of another one than the text has."""

    def number(self) -> float:
        """What the next token is drawn by."""
        saved, self.saved = self.saved, None
        return self.draws.random() if saved is None else saved

    @property
    def is_done(self) -> bool:
        return self.reason is not None or self.error is not None

    @property
    def tokens(self) -> list[int]:
        return self.text[self.start :]

    @property
    def pending(self) -> int:
        """Tokens whose keys are still to be computed."""
        return len(self.text) - (self.sequence.length if self.sequence else 0)


class Idle(Cached):
    """A row of a step that belongs to no text, so that one recording serves several counts."""

    def __init__(self, cache: Cache, number: int) -> None:
        self.pages, self.length, self.number = [cache.count], 1, number

    def grow(self, count: int) -> range:
        return range(count)

    def slots(self, places: range) -> list[int]:
        return [self.pages[0] * PAGE + self.number % PAGE for _ in places]


class Choice:
    """The tokens of a step, which are on their way from the device. The `first` ones of texts are
    NOT_A_NUMBER where the logits are."""

    def __init__(self, requests: list[Request], logits: Array, first: bool = False) -> None:
        self.requests, self._logits = requests, logits
        self._hows = [one.how for one in requests]
        self._seen = [one.text if one.how.repetition_penalty != 1 else [] for one in requests]
        self._uniform = np.array([one.number() for one in requests], np.float32)
        picked = chosen(logits, self._hows, self._seen, self._uniform)
        self.picked = checked(picked, logits) if first else picked
        self._host = np.empty(len(requests), np.int32)
        self._read = logits.backend.copy_dtoh_async(self._host, self.picked)
        #: texts whose row was made of another token than they had
        self.spoilt: set[Request] = set()

    def spoil(self, request: Request) -> None:
        self.spoilt.add(request)
        request.saved = float(self._uniform[self.requests.index(request)])

    def tokens(self) -> tuple[list[int], list[Request]]:
        """With the texts whose token only the whole vocabulary could tell."""
        self._read.wait()
        rows = np.flatnonzero(self._host == UNSURE)
        if rows.size:
            some = rows.tolist()
            self._host[rows] = chosen(
                self._logits[asarray(rows.astype(np.int32), device=self._logits.backend)],
                [self._hows[row] for row in some], [self._seen[row] for row in some],
                self._uniform[rows], whole=True,
            ).numpy()  # fmt: skip
        return self._host.tolist(), [self.requests[row] for row in rows]


class Engine:
    """Runs requests by steps. In a step texts that wait are let in as far as pages reach, some of
    the prompts go through the layers, and each text that is past its prompt gets a token. Any
    thread may call, one at a time has its turn."""

    def __init__(self, layers: Layers, ends: Collection[int], context: int) -> None:
        def step(numbers: Array, rows: int, pages: int) -> Array:
            return layers.logits(layers(Step(numbers, rows, rows, pages)))

        self._layers = layers
        #: tokens that end a text
        self.ends = frozenset(ends)
        self._recorded = compile(step)
        self._recorded._most_kept = MOST_RECORDINGS
        self.cache = layers.cache
        #: tokens that a text may have
        self.context = min(context, self.cache.tokens)
        self._asked = context
        #: texts that go on together at most
        self.most_texts = MOST_TEXTS
        self.waiting: deque[Request] = deque()
        #: texts that were let in, the first ones first
        self.running: list[Request] = []
        #: tokens of prompts that went through the layers, and that were found in the cache
        self.prefilled = 0
        self.found = 0
        #: how often a text went back to those that wait, for want of pages
        self.returned = 0
        #: the step behind the last one, where that is on its way already
        self._ahead: Choice | None = None
        # On the processor an op is done when it returns, and nothing is won.
        self._looks_ahead = layers.weights.backend.name != "cpu"
        self._has_units = "matrix_units" in self.backend.capabilities().features
        self._lock = threading.RLock()
        self._is_stepping = False

    @property
    def backend(self) -> Backend:
        return self._layers.weights.backend

    def checked(self, call: str, prompt: Sequence[int], which: str = "the prompt") -> list[int]:
        """The tokens of a prompt that fits."""
        most, held = self._layers.shape.vocabulary, self.cache.tokens
        if not 1 <= len(prompt) <= self.context:
            longest, more = self._layers.shape.longest, ""
            if prompt and held < self._asked:
                more = f"; the cache has room for {held}; load with a larger cache_tokens"
            elif prompt and self._asked < longest:
                more = f"; load(..., context=) takes up to {longest} of this model"
            elif prompt:
                more = "; the model takes no more"
            invalid(call, f"{which} has {len(prompt)} tokens, expected 1 to {self.context}{more}")
        for token in prompt:
            if not 0 <= token < most:
                invalid(call, f"{which} has the token {token!r}, expected below {most}")
        return [int(token) for token in prompt]

    def submit(
        self, prompt: list[int], max_tokens: int, how: Sampling, draws: np.random.Generator
    ) -> Request:
        """A request for a prompt that was checked."""
        request = Request(list(prompt), len(prompt), max_tokens, how, draws)
        if max_tokens == 0:
            request.reason = "length"
        else:
            with self._lock:
                self.waiting.append(request)
        return request

    def cancel(self, request: Request) -> None:
        """Ends a request, whose pages are free by the next step at the latest."""
        with self._lock:
            if not request.is_done:
                request.reason = "cancelled"
            if not self._is_stepping:
                self._sweep()

    def step(self) -> bool:
        """One step of all; whether there was anything to do."""
        with self._lock:
            self._is_stepping = True
            try:
                return self._step()
            except BaseException as error:
                self._fail(error)
                raise
            finally:
                self._is_stepping = False

    def forget(self) -> None:
        """Prompts that come again are computed again."""
        with self._lock:
            self.cache.forget()

    def logits(self, tokens: list[int]) -> Array:
        """Behind each of a text's tokens, [tokens, vocabulary]."""
        with self._lock:
            sequence = Cached(self.cache)
            try:
                return self._layers.logits(
                    self._layers(step_of(self.backend, [sequence], [tokens]))
                )
            finally:
                sequence.close()

    def _step(self) -> bool:
        self._sweep()
        self._admit()
        if not self.running:
            return False
        step, self._ahead = self._ahead, None
        if step is None and (behind := self._with_room()):
            step = Choice(behind, self._next(behind))
        steps = [] if step is None else [step]
        if prefilled := self._prefill():
            steps += [Choice(*prefilled, first=True)] if prefilled[0] else []
        elif step is not None and not step.spoilt:
            self._look_ahead(step)
        for one in steps:
            tokens, unsure = one.tokens()
            if one is step:
                self._spoil(unsure)
            for request, token in zip(one.requests, tokens, strict=True):
                if request in one.spoilt:
                    continue
                if token == NOT_A_NUMBER:
                    request.error = self._not_a_number()
                    continue
                self._said(request, token)
                if request.sequence is not None:
                    request.sequence.keep(request.text)
        self._sweep()
        return True

    def _spoil(self, unsure: list[Request]) -> None:
        """Of the step that is on its way, the rows of texts whose token was not known in it."""
        if self._ahead is None:
            return
        for one in unsure:
            self._ahead.spoil(one)
            if one.sequence is not None:
                one.sequence.length -= 1

    def _look_ahead(self, step: Choice) -> None:
        """Queues the next step before the host knows the tokens of this one, so that the device
        need not wait for it: where all go on, but for tokens that end a text, whose next ones are
        then made for nothing."""
        requests = step.requests
        goes_on = all(
            one.sequence is not None
            and one.how.repetition_penalty == 1
            and len(one.text) + 1 < self._most(one)
            for one in requests
        )
        if not self._looks_ahead or not goes_on or len(requests) != len(self.running):
            return
        if sum(one.sequence.missing(1) for one in requests if one.sequence) > self.cache.available:
            return
        self._ahead = Choice(requests, self._next(requests, maximum(step.picked, 0)))
        self.backend.flush()

    def _sweep(self) -> None:
        """Lets go of those that have ended."""
        if self._ahead is not None and all(one.is_done for one in self._ahead.requests):
            self._ahead = None
        for one in self.running:
            if one.is_done:
                self._leave(one)
        if any(one.is_done for one in self.running):
            self.running = [one for one in self.running if not one.is_done]
        if any(one.is_done for one in self.waiting):
            self.waiting = deque(one for one in self.waiting if not one.is_done)

    def _leave(self, request: Request) -> None:
        if request.sequence is not None:
            request.sequence.close()
            request.sequence = None

    def _admit(self) -> None:
        """Lets in texts that wait, in their order, whose pages are there, with one to spare for
        each that goes on already and may need more. One that begins as a prompt does that is on its
        way through the layers waits for its pages."""
        coming = {
            name
            for one in self.running
            if one.sequence is not None and one.pending > 1
            for name in one.sequence.coming
        }
        while self.waiting and len(self.running) < self.most_texts:
            request = self.waiting[0]
            sequence = Cached(self.cache)
            sequence.begin(request.text)
            count = len(request.text) - sequence.length
            missing = sequence.missing(count) + sum(map(self._grows, self.running))
            if missing > self.cache.available or not coming.isdisjoint(sequence.coming[:1]):
                sequence.close()
                return
            coming.update(sequence.coming)
            sequence.reserve(count)
            self.waiting.popleft()
            self.running.append(request)
            request.sequence = sequence
            request.found = min(sequence.length, request.start)
            self.found += sequence.length

    def _grows(self, request: Request) -> bool:
        """Whether a text may come to need more pages than it has."""
        # Of the last token no keys are needed.
        last = self._most(request) - 1
        return request.sequence is not None and last > len(request.sequence.pages) * PAGE

    def _most(self, request: Request) -> int:
        """Tokens that a text may come to have."""
        return min(request.start + request.max_tokens, self.context)

    def _with_room(self) -> list[Request]:
        """The texts that are past their prompts, with a place for one token more of each. Where
        there are no pages, the text that came last goes back to those that wait."""
        found = []
        for request in list(self.running):
            if request.sequence is None or request.pending != 1:
                continue
            while request.sequence and request.sequence.missing(1) > self.cache.available:
                last = self.running.pop()
                self._leave(last)
                self.waiting.appendleft(last)
                self.returned += 1
            if request.sequence:
                request.sequence.reserve(1)
                found.append(request)
        return found

    def _prefill(self) -> tuple[list[Request], Array] | None:
        """Some of the prompts through the layers; those that are through, and their logits. None
        where there are no prompts."""
        waits = any(one.sequence is not None and one.pending <= 1 for one in self.running)
        chunk = CHUNK * (TIMES_ON_UNITS if self._has_units and not waits else 1)
        requests, tokens, left = [], [], chunk
        for one in self.running:
            if one.sequence is not None and one.pending > 1 and left:
                first = one.sequence.length
                tokens.append(one.text[first : first + left])
                requests.append(one)
                left -= len(tokens[-1])
        if not requests:
            return None
        sequences = [one.sequence for one in requests if one.sequence is not None]
        states = self._layers(step_of(self.backend, sequences, tokens))
        self.prefilled += chunk - left
        for one, sequence in zip(requests, sequences, strict=True):
            sequence.keep(one.text)
        ends = np.cumsum([len(one) for one in tokens]) - 1
        through = [i for i, one in enumerate(requests) if not one.pending]
        if not through:
            return [], states
        last = asarray(ends[through].astype(np.int32), device=self.backend)
        logits = self._layers.logits(take(states, last, axis=0))
        return [requests[i] for i in through], logits

    def _next(self, requests: list[Request], last: Array | None = None) -> Array:
        """The logits behind one token more of each, by a recording for about as many texts, whose
        pages are up to a power of two. `last` has the last tokens where only the device does."""
        every = [one.sequence for one in requests if one.sequence is not None]
        tokens = [[one.text[-1]] for one in requests]
        for number in range(rounded(len(every)) - len(every)):
            every.append(Idle(self.cache, number))
            tokens.append([0])
        longest = max(one.length for one in every) + 1
        pages = 1 << (-(-longest // PAGE) - 1).bit_length()
        numbers, width = numbers_of(every, tokens, pages)
        on_device = asarray(numbers, device=self.backend)
        if last is not None:
            on_device[: len(requests)] = last
        logits: Array = self._recorded(on_device, len(every), width)
        return logits[: len(requests)]

    def _not_a_number(self) -> Error:
        remedy = "its weights may be damaged"
        if self._layers.weights.dtype == FLOAT16:
            remedy = "its states may exceed float16; load it with weights='float32'"
        return Error(f"the model's logits behind the prompt are NaN: {remedy}")

    def _said(self, request: Request, token: int) -> None:
        if request.is_done:
            return
        if token in self.ends:
            request.reason = "stop"
            return
        request.text.append(token)
        if len(request.text) >= self._most(request):
            request.reason = "length"

    def _fail(self, error: BaseException) -> None:
        """Ends what was let in; what the cache holds is not known any more."""
        kind = error if isinstance(error, Exception) else None
        for one in self.running:
            if not one.is_done:
                one.error = kind or Error("the step that went on with this text was interrupted")
            self._leave(one)
        self.running, self._ahead = [], None
        self.cache.forget()


def rounded(count: int) -> int:
    """Rows of a step for so many texts: few different numbers, and less than half more."""
    if count <= 2:
        return count
    unit = 1 << max((count - 1).bit_length() - 2, 0)
    return -(-count // unit) * unit
