"""The routes: from requests to jobs of the worker, and from its events to answers."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import hmac
import json
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from importlib.resources import files
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from tilewright._core import Error
from tilewright.models.encoders.embedder import LEAST_LENGTH
from tilewright.models.files.errors import shown
from tilewright.operands import invalid
from tilewright.serving import answers, asked
from tilewright.serving.answers import Texts
from tilewright.serving.errors import ApiError, refuse
from tilewright.serving.fields import parse_body
from tilewright.serving.http import Request, Response
from tilewright.serving.worker import EmbedJob, End, Piece, Rows, TextJob, Worker

if TYPE_CHECKING:
    from tilewright.models import Decoder, Encoder
    from tilewright.serving.asked import Asked
    from tilewright.serving.worker import Event

Handler: TypeAlias = Callable[[Request], Awaitable[Response]]

JSON = {"Content-Type": "application/json"}
EVENTS = {"Content-Type": "text/event-stream; charset=utf-8", "Cache-Control": "no-store"}


ROUTES = {
    "/": "GET", "/health": "GET", "/metrics": "GET", "/v1/models": "GET",
    "/v1/chat/completions": "POST", "/v1/completions": "POST", "/v1/embeddings": "POST",
}  # fmt: skip


class App:
    """What is served: a decoder, an encoder or both, by the names that clients call them."""

    def __init__(
        self, decoder: Decoder | None = None, encoder: Encoder | None = None, *,
        names: tuple[str, str] = ("model", "embeddings"), api_key: str | None = None,
        most_waiting: int = 256,
    ) -> None:  # fmt: skip
        self.decoder, self.encoder = decoder, encoder
        self.text_name, self.row_name = names
        if decoder is not None and encoder is not None and names[0] == names[1]:
            invalid("App", f"names are {names!r}, expected two that differ")
        self.api_key = api_key
        self.most_waiting = most_waiting
        self.created = int(time.time())
        self.answered: dict[tuple[str, int], int] = {}
        self.prompt_tokens = 0
        self._worker: Worker | None = None
        page = files("tilewright.serving").joinpath("page.html").read_bytes()
        self._page, self._policy = page, policy_of(page.decode())

    @property
    def routes(self) -> dict[str, str]:
        """The method of each path."""
        return ROUTES | {f"/v1/models/{name}": "GET" for name in self.names}

    @property
    def names(self) -> list[str]:
        there = ((self.decoder, self.text_name), (self.encoder, self.row_name))
        return [name for model, name in there if model is not None]

    @property
    def worker(self) -> Worker:
        assert self._worker is not None
        return self._worker

    def start(self) -> None:
        """Gives the models to their thread; called in the event loop."""
        self._worker = Worker(self.decoder, self.encoder, self.most_waiting)

    def handler(self, request: Request) -> Handler:
        """What answers, for one who may ask."""
        routes = self.routes
        if request.path not in routes:
            raise ApiError(404, f"there is no {request.path[:200]}; there are {', '.join(routes)}",
                           code="not_found")  # fmt: skip
        method = routes[request.path]
        if request.method not in (method, "HEAD" if method == "GET" else method):
            raise ApiError(405, f"{request.path} takes {method}, not {request.method[:20]}",
                           headers={"Allow": allowed(method)})  # fmt: skip
        if request.path not in ("/", "/health"):
            self._check_key(request)
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        # Pages of others can send forms here without asking, and JSON they cannot.
        if method == "POST" and kind != "application/json":
            raise ApiError(415, f"Content-Type is {kind[:60]!r}, expected application/json")
        handlers: dict[str, Handler] = {
            "/": self.page, "/health": self.health, "/metrics": self.metrics,
            "/v1/models": self.models, "/v1/chat/completions": self.chat,
            "/v1/completions": self.completions, "/v1/embeddings": self.embeddings,
        }  # fmt: skip
        return handlers.get(request.path, self.model)

    def _check_key(self, request: Request) -> None:
        if self.api_key is None:
            return
        scheme, _, key = request.headers.get("authorization", "").partition(" ")
        # Browsers send the characters that Latin-1 has by it, others all by UTF-8.
        given = key.strip(" \t").encode("latin-1")
        forms = [self.api_key.encode("utf-8", "surrogateescape")]
        with contextlib.suppress(UnicodeEncodeError):
            forms.append(self.api_key.encode("latin-1"))
        right = [hmac.compare_digest(given, form) for form in forms]
        if scheme.lower() != "bearer" or not any(right):
            raise ApiError(401, "the key is missing or wrong; send Authorization: Bearer KEY",
                           code="invalid_api_key",
                           headers={"WWW-Authenticate": "Bearer"})  # fmt: skip

    # What there is to see.

    async def page(self, request: Request) -> Response:
        headers = {
            "Content-Type": "text/html; charset=utf-8", "Content-Security-Policy": self._policy,
            "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
            "Cache-Control": "no-cache",
        }  # fmt: skip
        return Response(200, self._page, headers)

    async def health(self, request: Request) -> Response:
        failed = self.worker.failed
        state = {"status": "ok" if failed is None else "failed", "error": failed}
        return Response(200 if failed is None else 503, json.dumps(state).encode(), dict(JSON))

    async def metrics(self, request: Request) -> Response:
        lines = [f"tilewright_open_requests {self.worker.open}"]
        lines += [f"tilewright_generated_tokens_total {self.worker.made}"]
        if self.decoder is not None:
            engine = self.decoder.engine
            lines += [
                f"tilewright_texts_going_on {len(engine.running)}",
                f"tilewright_texts_waiting {len(engine.waiting)}",
                f"tilewright_texts_begun_again_total {engine.returned}",
                f"tilewright_prompt_tokens_computed_total {engine.prefilled}",
                f"tilewright_prompt_tokens_found_total {engine.found}",
                f"tilewright_pages {engine.cache.count}",
                f"tilewright_pages_available {engine.cache.available}",
                f"tilewright_pages_kept {engine.cache.kept}",
            ]
        lines += [
            f'tilewright_requests_total{{path="{path}",status="{status}"}} {count}'
            for (path, status), count in sorted(self.answered.items())
        ]
        body = "\n".join([*lines, ""]).encode()
        return Response(200, body, {"Content-Type": "text/plain; version=0.0.4"})

    async def models(self, request: Request) -> Response:
        found = {"object": "list", "data": [self._model(name) for name in self.names]}
        return Response(200, json.dumps(found).encode(), dict(JSON))

    async def model(self, request: Request) -> Response:
        name = request.path.removeprefix("/v1/models/")
        return Response(200, json.dumps(self._model(name)).encode(), dict(JSON))

    def _model(self, name: str) -> dict[str, Any]:
        return {"id": name, "object": "model", "created": self.created, "owned_by": "tilewright"}

    # What is computed.

    async def chat(self, request: Request) -> Response:
        wish, messages = asked.chat(parse_body(request.body))
        decoder = self._decoder(wish)
        if decoder.template is None:
            refuse("messages", f"{self.text_name} has no chat template; send a prompt to "
                   "/v1/completions")  # fmt: skip
        try:
            prompt = await asyncio.to_thread(decoder.chat_tokens, messages)
        except Error as error:
            refuse("messages", str(error).partition(": ")[2] or str(error))
        prompt = self._fitting(decoder, prompt, "messages", "messages")
        return await self._texts(wish, [prompt], [""], is_chat=True)

    async def completions(self, request: Request) -> Response:
        wish, given, echoes = asked.completions(parse_body(request.body))
        decoder = self._decoder(wish)
        tokenizer = decoder.tokenizer
        assert tokenizer is not None
        prompts, said = [], []
        for i, one in enumerate(given):
            tokens = one
            if isinstance(one, str):
                (tokens,) = await asyncio.to_thread(tokenizer.encode, [one])
            which = "prompt" if len(given) == 1 else f"prompt[{i}]"
            prompts.append(self._fitting(decoder, tokens, "prompt", which))
            text = one if isinstance(one, str) else tokenizer.decode(prompts[-1])
            said.append(text if echoes else "")
        return await self._texts(wish, prompts, said, is_chat=False)

    async def embeddings(self, request: Request) -> Response:
        wish = asked.embeddings(parse_body(request.body))
        encoder = self.encoder
        if encoder is None:
            raise ApiError(400, f"{', '.join(self.names)} makes no embeddings; start the server "
                           "with --embed MODEL", param="model")  # fmt: skip
        self._check_name(wish.model, self.row_name)
        if wish.dimensions is not None and wish.dimensions > encoder.size:
            refuse("dimensions", f"dimensions is {wish.dimensions}, expected 1 to {encoder.size}")
        texts = [one for one in wish.inputs if isinstance(one, str)]
        try:
            tokens = partial(encoder.tokens, texts, prompt_name=wish.prompt_name)
            encoded = iter(await asyncio.to_thread(tokens))
        except Error as error:
            refuse("prompt_name", str(error).partition(": ")[2])
        inputs = [next(encoded) if isinstance(one, str) else one for one in wish.inputs]
        try:
            encoder.check(inputs)
        except Error as error:
            refuse("input", str(error).replace("tokens[", "input[").partition(": ")[2])
        events: asyncio.Queue[Event] = asyncio.Queue()
        jobs = [EmbedJob(inputs, events)]
        self.worker.submit(jobs)
        try:
            found = await events.get()
        finally:
            self.worker.cancel(jobs)
        if isinstance(found, ApiError):
            raise found
        assert isinstance(found, Rows)
        rows = shortened(found.rows, wish.dimensions, encoder.normalizes)
        data = [
            {
                "object": "embedding", "index": i,
                "embedding": base64.b64encode(row.astype("<f4").tobytes()).decode()
                if wish.as_bytes else row.tolist(),
            }
            for i, row in enumerate(rows)
        ]  # fmt: skip
        count = sum(map(len, inputs))
        self.prompt_tokens += count
        usage = {"prompt_tokens": count, "total_tokens": count}
        answer = {"object": "list", "data": data, "model": self.row_name, "usage": usage}
        return Response(200, json.dumps(answer).encode(), dict(JSON))

    def _decoder(self, wish: Asked) -> Decoder:
        if self.decoder is None:
            raise ApiError(400, f"{self.row_name} makes embeddings alone; send input to "
                           "/v1/embeddings", param="model")  # fmt: skip
        self._check_name(wish.model, self.text_name)
        return self.decoder

    def _check_name(self, name: str | None, known: str) -> None:
        if name not in (None, known):
            raise ApiError(404, f"model is {shown(name)}, expected {known}", param="model",
                           code="model_not_found")  # fmt: skip

    def _fitting(self, decoder: Decoder, prompt: Any, param: str, which: str) -> list[int]:
        try:
            return decoder.engine.checked("", prompt, which)
        except Error as error:
            message = str(error).removeprefix(": ").partition(";")[0]
            refuse(param, message, "context_length_exceeded" if "tokens" in message else None)

    async def _texts(
        self, wish: Asked, prompts: list[list[int]], said: list[str], *, is_chat: bool
    ) -> Response:
        assert self.decoder is not None
        events: asyncio.Queue[Event] = asyncio.Queue()
        jobs = [
            TextJob(
                prompt, min(wish.max_tokens or asked.MOST_TOKENS, self.decoder.context), wish.how,
                wish.seed, wish.stops, i * wish.choices + choice, choice, events, not is_chat,
            )
            for i, prompt in enumerate(prompts) for choice in range(wish.choices)
        ]  # fmt: skip
        texts = Texts(self.text_name, is_chat, [len(one) for one in prompts], wish.choices)
        before = [one for one in said for _ in range(wish.choices)]
        self.worker.submit(jobs)
        try:
            first = await next_event(events)
            self.prompt_tokens += sum(texts.prompt_tokens)
            if wish.streams:
                pieces = self._streamed(wish, texts, before, first, events)
                return Response(200, pieces, dict(EVENTS), lambda: self.worker.cancel(jobs))
            whole = list(before)
            event: Event = first
            while True:
                if isinstance(event, Piece):
                    whole[event.index] += event.text
                elif isinstance(event, End):
                    texts.ends[event.index] = event
                if len(texts.ends) == len(jobs):
                    break
                event = await next_event(events)
        except BaseException:
            self.worker.cancel(jobs)
            raise
        answer = json.dumps(texts.whole(whole), ensure_ascii=False).encode()
        return Response(200, answer, dict(JSON))

    async def _streamed(
        self, wish: Asked, texts: Texts, before: list[str], event: Event,
        events: asyncio.Queue[Event],
    ) -> AsyncIterator[bytes]:  # fmt: skip
        usage = wish.with_usage
        try:
            for i, text in enumerate(before):
                if texts.is_chat or text:
                    yield answers.event(texts.piece(i, text or None, usage=usage))
            while True:
                if isinstance(event, Piece):
                    yield answers.event(texts.piece(event.index, event.text, usage=usage))
                elif isinstance(event, End):
                    texts.ends[event.index] = event
                    yield answers.event(texts.piece(event.index, "", event.reason, usage=usage))
                if len(texts.ends) == len(before):
                    break
                event = await next_event(events)
            if usage:
                yield answers.event(texts.last())
            yield answers.DONE
        except ApiError as error:
            # The status was sent long ago.
            yield answers.event(error.body())


async def next_event(events: asyncio.Queue[Event]) -> Event:
    found = await events.get()
    if isinstance(found, ApiError):
        raise found
    return found


def shortened(rows: Any, dimensions: int | None, normalizes: bool) -> Any:
    """The first numbers of each row, of length 1 again where the whole ones are."""
    if dimensions is None:
        return rows
    cut = rows[:, :dimensions]
    if not normalizes:
        return cut
    return cut / np.maximum(np.linalg.norm(cut, axis=1, keepdims=True), LEAST_LENGTH)


def allowed(method: str) -> str:
    return f"{method}, HEAD, OPTIONS" if method == "GET" else f"{method}, OPTIONS"


def policy_of(page: str) -> str:
    """What a browser may do for the page: run its own script and style, and talk to this server."""
    found = []
    for tag in ("script", "style"):
        (inner,) = re.findall(f"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(inner.encode()).digest()).decode()
        found.append(f"{tag}-src 'sha256-{digest}'")
    return "; ".join(
        ["default-src 'none'", *found, "connect-src 'self'", "img-src data:", "base-uri 'none'",
         "form-action 'none'", "frame-ancestors 'none'"]
    )  # fmt: skip
