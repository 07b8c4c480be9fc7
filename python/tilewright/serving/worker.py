"""The thread that has the device: it runs the steps, and hands out what they say."""

from __future__ import annotations

import asyncio
import contextlib
import queue
import sys
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from tilewright._core import Error
from tilewright.models.decoders.choice import Sampling, draws_of
from tilewright.models.decoders.pieces import Stops, TextPieces
from tilewright.namespace.creation import asarray
from tilewright.serving.errors import ApiError

if TYPE_CHECKING:
    from tilewright.models import Decoder, Encoder
    from tilewright.models.decoders.engine import Request

# Tokens of inputs that an encoder takes between two steps of the decoder.
EMBED_TOKENS = 4096
RETRY_SECONDS = 1


@dataclass(frozen=True)
class Piece:
    """Of a text, as it comes."""

    index: int
    text: str


@dataclass(frozen=True)
class End:
    index: int
    reason: str
    tokens: int
    """That were made."""
    found: int
    """Tokens of the prompt that were in the cache."""


@dataclass(frozen=True)
class Rows:
    """The embeddings of all inputs."""

    rows: Any


Event: TypeAlias = "Piece | End | Rows | ApiError"


@dataclass(eq=False)
class TextJob:
    prompt: list[int]
    max_tokens: int
    how: Sampling
    seed: int | None
    stops: list[str]
    index: int
    """Among the texts of a request."""
    choice: int
    """Among those of a prompt, which are drawn apart."""
    events: asyncio.Queue[Event] = field(repr=False)
    goes_on: bool = False
    """Whether the text is the prompt's own continuation, and no answer."""
    request: Request | None = None
    pieces: Any = None
    stopping: Any = None
    said: int = 0
    is_over: bool = False


@dataclass(eq=False)
class EmbedJob:
    inputs: list[list[int]]
    events: asyncio.Queue[Event] = field(repr=False)
    rows: list[Any] = field(default_factory=list)
    is_over: bool = False


Job: TypeAlias = "TextJob | EmbedJob"


class Worker:
    """Takes jobs from the event loop, and gives their events to the loop's queues."""

    def __init__(self, decoder: Decoder | None, encoder: Encoder | None, most_waiting: int) -> None:
        self.decoder, self.encoder = decoder, encoder
        texts = decoder.engine.most_texts if decoder is not None else 1
        self._most = texts + most_waiting
        #: jobs that have not ended
        self.open = 0
        #: why the device can be used no more
        self.failed: str | None = None
        self.is_closing = False
        self.made = 0
        self._texts: dict[Request, TextJob] = {}
        self._embeds: list[EmbedJob] = []
        self._commands: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._out: list[tuple[Job, Event]] = []
        self._loop = asyncio.get_running_loop()
        self._thread = threading.Thread(target=self._run, name="tilewright model", daemon=True)
        self._thread.start()

    # Called in the event loop.

    def check(self, jobs: int = 1) -> None:
        """Raises where so many more are too many."""
        if self.failed is not None:
            raise ApiError(503, f"the device failed: {self.failed}; start the server anew")
        again = {"Retry-After": str(RETRY_SECONDS)}
        if self.is_closing:
            raise ApiError(503, "the server is about to end", headers=again)
        if jobs > self._most:
            raise ApiError(
                400,
                f"{jobs} texts are asked for together, expected at most {self._most} that go on or "
                "wait",
            )
        if self.open + jobs > self._most:
            raise ApiError(
                429, f"{self.open} texts go on or wait, expected at most {self._most}; come again",
                headers=again,
            )  # fmt: skip

    def submit(self, jobs: list[TextJob] | list[EmbedJob]) -> None:
        self.check(len(jobs))
        for job in jobs:
            self.open += 1
            self._commands.put(partial(self._begin, job))

    def cancel(self, jobs: list[TextJob] | list[EmbedJob]) -> None:
        """Ends jobs of a client that has gone."""
        for job in jobs:
            self._commands.put(partial(self._cancel, job))

    async def close(self) -> None:
        """Ends the thread, when its step is done; jobs that go on are told."""
        self._commands.put(None)
        await asyncio.to_thread(self._thread.join)

    # Called in the thread.

    def _run(self) -> None:
        while True:
            # What is there now, or where there is nothing else to do, what comes next.
            is_idle = not self._texts and not self._embeds
            with contextlib.suppress(queue.Empty):
                while True:
                    command = self._commands.get(block=is_idle)
                    if command is None:
                        self._end_all(ApiError(503, "the server has ended"))
                        self._hand_out()
                        return
                    command()
                    is_idle = False
            try:
                self._work()
            except Exception:
                traceback.print_exc(file=sys.stderr)
                self._end_all(ApiError(500, "a fault of the server"))
            self._hand_out()

    def _begin(self, job: Job) -> None:
        if self.failed is not None:
            self._over(job, ApiError(503, f"the device failed: {self.failed}"))
        elif isinstance(job, EmbedJob):
            self._embeds.append(job)
        else:
            try:
                self._begin_text(job)
            except Exception:
                traceback.print_exc(file=sys.stderr)
                self._over(job, ApiError(500, "a fault of the server"))

    def _begin_text(self, job: TextJob) -> None:
        assert self.decoder is not None and self.decoder.tokenizer is not None
        job.pieces = TextPieces(self.decoder.tokenizer, job.prompt if job.goes_on else ())
        job.stopping = Stops(job.stops)
        draws = draws_of(job.seed, job.choice)
        job.request = self.decoder.engine.submit(job.prompt, job.max_tokens, job.how, draws)
        self._texts[job.request] = job

    def _cancel(self, job: Job) -> None:
        if job.is_over:
            return
        if isinstance(job, EmbedJob):
            if job in self._embeds:
                self._embeds.remove(job)
        elif job.request is not None and self.decoder is not None:
            self.decoder.engine.cancel(job.request)
            self._texts.pop(job.request, None)
        self._over(job, ApiError(503, "the client has gone"))

    def _work(self) -> None:
        try:
            if self._embeds:
                self._embed()
        except Error as error:
            for job in self._embeds:
                self._over(job, ApiError(500, f"the step failed: {error}"))
            self._embeds.clear()
            self._check_device()
        try:
            if self._texts and self.decoder is not None:
                self.decoder.engine.step()
                self._look()
        except Error:
            # The engine has told the texts that were in it.
            self._look()
            self._check_device()

    def _look(self) -> None:
        """What came of the texts."""
        for request, job in list(self._texts.items()):
            piece, is_stopped = "", False
            while job.said < len(request.text) - request.start and not is_stopped:
                token = request.text[request.start + job.said]
                job.said += 1
                self.made += 1
                piece += job.stopping.add(job.pieces.add(token))
                is_stopped = job.stopping.is_over
            if request.is_done and request.error is None and not is_stopped:
                piece += job.stopping.add(job.pieces.rest()) + job.stopping.rest()
                is_stopped = job.stopping.is_over
            if piece:
                self._out.append((job, Piece(job.index, piece)))
            if request.error is not None:
                self._over(job, ApiError(500, f"the step failed: {request.error}"))
            elif is_stopped or request.is_done:
                reason = "stop" if is_stopped else request.reason or "stop"
                if self.decoder is not None:
                    self.decoder.engine.cancel(request)
                self._over(job, End(job.index, reason, job.said, request.found))
            else:
                continue
            del self._texts[request]

    def _embed(self) -> None:
        """Rows of some inputs, of as many clients as there are."""
        assert self.encoder is not None
        inputs: list[list[int]] = []
        counts, left = [], EMBED_TOKENS
        for job in self._embeds:
            first = len(inputs)
            for one in job.inputs[len(job.rows) :]:
                if inputs and len(one) > left:
                    break
                inputs.append(one)
                left -= len(one)
            counts.append(len(inputs) - first)
            if left <= 0:
                break
        rows = self.encoder.embed_tokens(inputs, batch_tokens=EMBED_TOKENS).numpy()
        at = 0
        for job, count in zip(list(self._embeds), counts, strict=False):
            job.rows += list(rows[at : at + count])
            at += count
            if len(job.rows) == len(job.inputs):
                self._embeds.remove(job)
                self._over(job, Rows(np.array(job.rows)))

    def _over(self, job: Job, event: Event) -> None:
        job.is_over = True
        self._out.append((job, event))

    def _end_all(self, error: ApiError) -> None:
        every: list[Job] = [*self._texts.values(), *self._embeds]
        for job in every:
            if isinstance(job, TextJob) and job.request is not None and self.decoder is not None:
                self.decoder.engine.cancel(job.request)
            self._over(job, error)
        self._texts.clear()
        self._embeds.clear()

    def _check_device(self) -> None:
        """Tells all where the device does nothing any more."""
        try:
            model = self.decoder or self.encoder
            if model is not None:
                asarray(np.ones(1, np.float32), device=model.device).numpy()
        except Error as dead:
            self.failed = str(dead)
            self._end_all(ApiError(500, f"the device failed: {dead}"))

    def _hand_out(self) -> None:
        if self._out:
            out, self._out = self._out, []
            # Where the loop has ended, nobody waits.
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._put, out)

    def _put(self, out: list[tuple[Job, Event]]) -> None:
        for job, event in out:
            if not isinstance(event, Piece):
                self.open -= 1
            job.events.put_nowait(event)
