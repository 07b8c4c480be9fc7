"""A server in a thread, and what its clients say to it."""

from __future__ import annotations

import asyncio
import http.client
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import tilewright
from tilewright import Backend
from tilewright.models import Decoder, Encoder
from tilewright.models.decoders.engine import Engine
from tilewright.serving import App, Limits, Server

from .model_folders import (
    DECODERS,
    FAMILIES,
    decoder_shapes,
    random_tensors,
    shapes,
    write_decoder,
    write_encoder,
)

CHAT = "/v1/chat/completions"
TEXTS = "/v1/completions"
ROWS = "/v1/embeddings"
TEMPLATE = (
    "{% for one in messages %}{% if one.content == 'no' %}{{ raise_exception('no is no') }}"
    "{% endif %}{{ one.role }} w1 {{ one.content }} {% endfor %}w9"
)


def decoder(be: Backend, folder: Path, *, template: bool = True, **options: Any) -> Decoder:
    config = {**DECODERS["llama2"], "eos_token_id": 9}
    write_decoder(folder, config, random_tensors(np.random.default_rng(5), decoder_shapes(config)))
    if template:
        said = {"chat_template": TEMPLATE}
        (folder / "tokenizer_config.json").write_text(json.dumps(said))
    model = tilewright.models.load(folder, be, **options)
    assert isinstance(model, Decoder)
    return model


def encoder(be: Backend, folder: Path, *, normalizes: bool = False) -> Encoder:
    config = FAMILIES["bert"]
    tensors = random_tensors(np.random.default_rng(5), shapes(config))
    write_encoder(folder, config, tensors, "mean", normalizes)
    model = tilewright.models.load(folder, be)
    assert isinstance(model, Encoder)
    return model


class Client:
    """Of a server at a port of this machine."""

    def __init__(self, port: int) -> None:
        self.port = port

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)

    def ask(
        self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None,
        connection: http.client.HTTPConnection | None = None,
    ) -> tuple[int, http.client.HTTPMessage, Any]:  # fmt: skip
        """Status, headers, and the body, an object where it is one of JSON."""
        used = connection or self.connect()
        try:
            send(used, method, path, body, headers)
            answer = used.getresponse()
            text = answer.read().decode()
        finally:
            if connection is None:
                used.close()
        is_json = answer.headers.get("content-type") == "application/json"
        return answer.status, answer.headers, json.loads(text) if is_json and text else text

    def post(self, path: str, **body: Any) -> Any:
        """What a request gets that is answered well."""
        status, _, found = self.ask("POST", path, body)
        assert status == 200, found
        return found

    def error(self, path: str, **body: Any) -> tuple[int, str | None, str]:
        """Status, the field and the message of a request that is refused."""
        status, _, found = self.ask("POST", path, body)
        assert status >= 400, found
        return status, found["error"]["param"], found["error"]["message"]

    def stream(self, path: str, **body: Any) -> Iterator[dict[str, Any]]:
        connection = self.connect()
        try:
            send(connection, "POST", path, {**body, "stream": True}, None)
            answer = connection.getresponse()
            assert answer.status == 200, answer.read()
            yield from events(answer)
        finally:
            connection.close()

    def say(self, data: bytes) -> bytes:
        """Bytes to the server, and all that it says until it closes."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=60) as made:
            made.sendall(data)
            found = b""
            while piece := made.recv(65536):
                found += piece
        return found

    def metric(self, name: str) -> int:
        _, _, text = self.ask("GET", "/metrics")
        lines = dict(line.rsplit(" ", 1) for line in text.splitlines())
        return int(lines[f"tilewright_{name}"])


class Running(Client):
    """A server from the block's beginning to its end."""

    def __init__(self, app: App, **options: Any) -> None:
        self.app = app
        self.server = Server(app, port=0, **{"limits": Limits(grace_seconds=10), **options})
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        try:
            asyncio.run(self.server.run(self._ready.set))
        finally:
            self._ready.set()

    def __enter__(self) -> Running:
        self._thread.start()
        assert self._ready.wait(60)
        self.port = self.server.port
        return self

    def __exit__(self, *_: object) -> None:
        self.server.stop()
        self._thread.join(60)
        assert not self._thread.is_alive()
        assert not self.server.tasks


class Gate:
    """Lets so many steps of an engine through as it is told to, and all from its end on."""

    def __init__(self, engine: Engine) -> None:
        self._engine, self._real = engine, engine.step
        self._left = threading.Semaphore(0)
        self._is_open = False

    def __enter__(self) -> Gate:
        self._engine.step = self._step
        return self

    def __exit__(self, *_: object) -> None:
        self._is_open = True
        self.let(1)
        del self._engine.step

    def let(self, steps: int) -> None:
        self._left.release(steps)

    def _step(self) -> bool:
        if not self._is_open:
            self._left.acquire()
        return self._real()


def send(
    connection: http.client.HTTPConnection, method: str, path: str, body: Any,
    headers: dict[str, str] | None,
) -> None:  # fmt: skip
    data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
    kind = {} if body is None else {"Content-Type": "application/json"}
    connection.request(method, path, data, kind | (headers or {}))


def events(answer: http.client.HTTPResponse) -> Iterator[dict[str, Any]]:
    """Those of a stream, which has to end as it should or with an error."""
    is_done = False
    while line := answer.readline():
        if line == b"\n":
            continue
        assert line.startswith(b"data: ") and not is_done
        if line == b"data: [DONE]\n":
            is_done = True
            continue
        found = json.loads(line[6:])
        yield found
        is_done = "error" in found
    assert is_done


def behind(model: Decoder, prompt: str | list[int], tokens: list[int]) -> str:
    """The text of tokens behind a prompt, as it goes on with that."""
    decode = model.tokenizer.decode
    first = model.tokenizer.encode([prompt])[0] if isinstance(prompt, str) else prompt
    return decode([*first, *tokens])[len(decode(first)) :]


def continued(model: Decoder, prompt: str | list[int], most: int, **options: Any) -> str:
    """What a model says behind a prompt."""
    first = model.tokenizer.encode([prompt])[0] if isinstance(prompt, str) else prompt
    return behind(model, first, model.generate(first, most, **options))


def text_of(found: Iterator[dict[str, Any]]) -> str:
    """What a stream of a message says."""
    return "".join(choice["delta"].get("content", "") for one in found for choice in one["choices"])


def wait_for(holds: Callable[[], bool], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.005)
