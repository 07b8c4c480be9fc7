"""Many clients of a server: each gets its own answer, whoever leaves, and nothing is left."""

from __future__ import annotations

import gc
import json
import random
import re
import signal
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import tilewright
from tilewright import Backend
from tilewright.cli import main
from tilewright.models.decoders import engine as engines
from tilewright.models.decoders.pieces import Stops
from tilewright.serving import App, Limits

from .serving import (
    CHAT,
    ROWS,
    TEXTS,
    Client,
    Gate,
    Running,
    continued,
    decoder,
    encoder,
    send,
    text_of,
    wait_for,
)

CLIENTS = 50


def leave_early(running: Running, body: dict[str, Any]) -> None:
    """A client that reads the beginning of a stream and goes."""
    connection = running.connect()
    send(connection, "POST", TEXTS, {**body, "stream": True, "max_tokens": 100}, None)
    answer = connection.getresponse()
    answer.read(20)
    answer.close()
    connection.close()


def never_read(running: Running, body: dict[str, Any]) -> None:
    """One that does not even wait for the answer."""
    connection = running.connect()
    send(connection, "POST", TEXTS, body, None)
    connection.close()


def messages(seed: int) -> list[dict[str, str]]:
    """A conversation, longer than a page and the same for all at its beginning."""
    return [{"role": "system", "content": "w1 w2 w3 " * 6}, {"role": "user", "content": f"w{seed}"}]


def one_client(
    running: Running, number: int, requests: int, expected: dict[int, tuple[str, str]]
) -> int:
    """Mixed requests; how many were answered as they should be."""
    drawn = random.Random(number)
    right = 0
    for _ in range(requests):
        seed = drawn.randrange(12)
        body = {"prompt": [5 + seed, 6, 7], "seed": seed, "max_tokens": 12, "temperature": 1.1}
        kind = drawn.choice(["whole", "stream", "chat", "early", "never", "long", "json", "rows"])
        if kind == "whole":
            right += running.post(TEXTS, **body)["choices"][0]["text"] == expected[seed][0]
        elif kind == "stream":
            pieces = running.stream(TEXTS, **body)
            right += "".join(one["choices"][0]["text"] for one in pieces) == expected[seed][0]
        elif kind == "chat":
            del body["prompt"]
            found = text_of(running.stream(CHAT, messages=messages(seed), **body))
            right += found == expected[seed][1]
        elif kind == "early":
            leave_early(running, body)
            right += 1
        elif kind == "never":
            never_read(running, body)
            right += 1
        elif kind == "long":
            right += running.error(TEXTS, prompt=[5] * 101)[0] == 400
        elif kind == "json":
            right += running.ask("POST", CHAT, b'{"messages": [')[0] == 400
        else:
            rows = running.post(ROWS, input=[f"w{seed}", "w1"])["data"]
            right += [len(one["embedding"]) for one in rows] == [48, 48]
    return right


def under_load(be: Backend, folder: Path, requests: int, clients: int) -> None:
    model = decoder(be, folder / "text", context=100, cache_tokens=700)
    model.engine.most_texts = 16
    expected = {
        seed: (
            continued(model, [5 + seed, 6, 7], 12, seed=seed, temperature=1.1),
            model.chat(messages(seed), 12, seed=seed, temperature=1.1),
        )
        for seed in range(12)
    }
    app = App(model, encoder(be, folder / "rows"), most_waiting=10000)
    before = be.memory_stats().allocations
    with Running(app) as running, ThreadPoolExecutor(clients) as pool:
        shares = [requests // clients] * clients
        found = pool.map(lambda i: one_client(running, i, shares[i], expected), range(clients))
        assert sum(found) == sum(shares)
        wait_for(lambda: running.app.worker.open == 0)
        assert running.metric("texts_going_on") == running.metric("texts_waiting") == 0
        assert running.metric("pages_available") == running.metric("pages") == 44
        assert running.metric("open_requests") == 0
        wait_for(lambda: len(running.server.tasks) == 0)
    gc.collect()
    # Recordings are kept, at most sixteen, with a few buffers each; requests leave none.
    model.engine._recorded.clear()
    assert be.memory_stats().allocations <= before


def test_fifty_clients(be: Backend, tmp_path: Path) -> None:
    under_load(be, tmp_path, 150, CLIENTS)


@pytest.mark.exhaustive
def test_ten_thousand_requests(tmp_path: Path) -> None:
    with tilewright.init_backend("cpu") as be:
        under_load(be, tmp_path, 10000, CLIENTS)


def test_a_client_that_leaves(be: Backend, tmp_path: Path) -> None:
    """Its text ends, and its pages are free, long before it would have ended."""
    model = decoder(be, tmp_path, context=100, cache_tokens=200)
    model.engine.ends = frozenset()
    with Running(App(model)) as running:
        for streams in (True, False):
            connection = running.connect()
            body = {"prompt": "w1", "max_tokens": 90, "n": 2, "stream": streams}
            with model.engine._lock:
                # No step is made while the client is there.
                send(connection, "POST", TEXTS, body, None)
                wait_for(lambda: running.app.worker.open == 2)
                connection.close()
                wait_for(lambda: not running.server.tasks)
            wait_for(lambda: running.app.worker.open == 0)
            assert running.app.worker.made < 90
            assert not model.engine.running and not model.engine.waiting
            assert model.engine.cache.available == 13
        assert running.post(TEXTS, prompt="w1", max_tokens=3)["usage"]["completion_tokens"] == 3


def test_a_full_queue(be: Backend, tmp_path: Path) -> None:
    model = decoder(be, tmp_path, context=100, cache_tokens=200)
    model.engine.most_texts = 2
    expected = "3 texts go on or wait, expected at most 3; come again"
    with Running(App(model, most_waiting=1)) as running, ThreadPoolExecutor(3) as pool:
        with model.engine._lock:
            asked = [pool.submit(running.post, TEXTS, prompt="w1") for _ in range(3)]
            wait_for(lambda: running.app.worker.open == 3)
            status, headers, found = running.ask("POST", TEXTS, {"prompt": "w1"})
            assert (status, headers["Retry-After"]) == (429, "1")
            assert found["error"]["message"] == expected
            # More than may ever be there at once need not come again.
            status, headers, found = running.ask("POST", TEXTS, {"prompt": ["w1"] * 4})
            assert (status, headers["Retry-After"]) == (400, None)
            message = "4 texts are asked for together, expected at most 3 that go on or wait"
            assert found["error"]["message"] == message
        assert all(one.result()["choices"] for one in asked)
        assert running.post(TEXTS, prompt="w1")["choices"]


def test_a_device_that_stops(tmp_path: Path) -> None:
    """What goes on is told, what comes later too, and the server is still there to say so."""
    be = tilewright.init_backend("cpu")
    model = decoder(be, tmp_path / "text", context=2000, cache_tokens=2000)
    model.engine.ends = frozenset()
    app = App(model, encoder(be, tmp_path / "rows"))
    with Running(app) as running, Gate(model.engine) as gate:
        stream = running.stream(TEXTS, prompt="w1", max_tokens=200)
        gate.let(3)
        assert all(next(stream)["choices"] for _ in range(3))
        be.close()
        gate.let(100)
        (last,) = stream
        assert last["error"]["type"] == "server_error"
        assert last["error"]["message"].startswith("the step failed: ")
        status, _, found = running.ask("POST", TEXTS, {"prompt": "w1"})
        assert status == 503 and found["error"]["message"].startswith("the device failed: ")
        assert running.error(ROWS, input="w1")[0] == 503
        status, _, found = running.ask("GET", "/health")
        assert (status, found["status"]) == (503, "failed")
        assert running.ask("GET", "/v1/models")[0] == 200
        assert running.app.worker.open == 0


def test_a_step_that_fails(be: Backend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault that the device survives ends the texts of its step alone."""
    model = decoder(be, tmp_path, context=100, cache_tokens=200)
    chosen = engines.chosen

    def fails(logits: Any, hows: Any, *rest: Any) -> Any:
        if any(how.min_p == 0.5 for how in hows):
            raise tilewright.OutOfMemory("no room")
        return chosen(logits, hows, *rest)

    monkeypatch.setattr(engines, "chosen", fails)
    with Running(App(model)) as running:
        expected = running.post(TEXTS, prompt="w1", temperature=0)["choices"]
        status, _, message = running.error(TEXTS, prompt="w1", min_p=0.5)
        assert (status, message) == (500, "the step failed: no room")
        assert running.ask("GET", "/health")[0] == 200
        assert running.post(TEXTS, prompt="w1", temperature=0)["choices"] == expected
        assert running.metric("pages_available") == 13


def test_embeddings_that_fail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Texts go on."""
    with tilewright.init_backend("cpu") as be:
        model, rows = decoder(be, tmp_path / "text", context=60), encoder(be, tmp_path / "rows")

        def fails(*_: Any, **__: Any) -> None:
            raise tilewright.OutOfMemory("no room")

        monkeypatch.setattr(rows, "embed_tokens", fails)
        expected = continued(model, "w1", 5, temperature=1.0, seed=1)
        with Running(App(model, rows)) as running, Gate(model.engine) as gate:
            stream = running.stream(TEXTS, prompt="w1", max_tokens=5, seed=1)
            gate.let(2)
            found = [next(stream)]
            gate.let(9)
            assert running.error(ROWS, input="w1")[::2] == (500, "the step failed: no room")
            found += stream
            assert "".join(one["choices"][0]["text"] for one in found) == expected
            assert running.ask("GET", "/health")[0] == 200


def test_a_fault_of_the_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Something that nobody thought of ends what goes on, and not the server."""
    with tilewright.init_backend("cpu") as be:
        model = decoder(be, tmp_path / "text", context=60)
        rows = encoder(be, tmp_path / "rows")
        with Running(App(model, rows)) as running:
            for path, body, kind, name in (
                (TEXTS, {"prompt": "w1"}, Stops, "add"),
                (TEXTS, {"prompt": "w1"}, Stops, "__init__"),
                (ROWS, {"input": "w1"}, type(rows), "embed_tokens"),
                (TEXTS, {"prompt": "w1"}, App, "_texts"),
            ):
                with monkeypatch.context() as patch:
                    patch.setattr(kind, name, lambda *_, **__: 1 // 0)
                    status, _, message = running.error(path, **body)
                assert (status, message) == (500, "a fault of the server")
                assert "ZeroDivisionError" in capsys.readouterr().err
                assert running.post(path, **body)
                assert running.metric("open_requests") == 0
                assert running.metric("pages_available") == running.metric("pages")


def test_a_client_that_reads_nothing(tmp_path: Path) -> None:
    """Its answer waits for it, and after a while no longer."""
    with tilewright.init_backend("cpu") as be:
        model = decoder(be, tmp_path, context=20000, cache_tokens=20000)
        model.engine.ends = frozenset()
        # A long name makes much to send.
        app = App(model, names=("m" * 5000, ""))
        with Running(app, limits=Limits(slow_seconds=1)) as running:
            body = b'{"prompt": "w1", "stream": true, "n": 16, "max_tokens": 250}'
            head = b"POST /v1/completions HTTP/1.1\r\nContent-Type: application/json\r\n"
            with socket.socket() as made:
                made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
                made.connect(("127.0.0.1", running.port))
                made.sendall(head + b"Content-Length: %d\r\n\r\n" % len(body) + body)
                wait_for(lambda: running.app.worker.made > 0)
                slow = running.post(TEXTS, prompt="w1", max_tokens=5)
                assert slow["usage"]["completion_tokens"] == 5
                half = b"POST /v1/completions HTTP/1.1\r\nContent-Length: 10\r\n\r\n{"
                with socket.create_connection(("127.0.0.1", running.port)) as other:
                    other.sendall(half)
                    assert other.recv(1000).startswith(b"HTTP/1.1 408 ")
                wait_for(lambda: not running.server.tasks)
            wait_for(lambda: running.app.worker.open == 0)


def damaged(drawn: random.Random) -> bytes:
    """A request of which bytes are changed, left out, doubled or cut off."""
    body = json.dumps({"prompt": "w1", "max_tokens": 2, "seed": drawn.randrange(9)}).encode()
    head = b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json"
    data = bytearray(head + b"\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
    for _ in range(drawn.randint(1, 4)):
        at = drawn.randrange(len(data))
        kind = drawn.randrange(5)
        if kind == 0:
            data[at] = drawn.choice(b'\0\r\n :{}[]"9\xff')
        elif kind == 1:
            del data[at : at + drawn.randint(1, 9)]
        elif kind == 2:
            data[at:at] = data[at : at + drawn.randint(1, 60)]
        elif kind == 3:
            data[at:at] = bytes(drawn.randrange(256) for _ in range(drawn.randint(1, 9)))
        else:
            del data[at:]
        if not data:
            break
    return bytes(data)


@pytest.mark.parametrize("count", [150, pytest.param(5000, marks=pytest.mark.exhaustive)])
def test_damaged_requests(tmp_path: Path, capsys: pytest.CaptureFixture[str], count: int) -> None:
    """Each is answered or its connection closed, and the server is as it was."""
    drawn = random.Random(3)
    requests = [damaged(drawn) for _ in range(count)]
    limits = Limits(idle_seconds=0.3, slow_seconds=0.3)
    with tilewright.init_backend("cpu") as be:
        model = decoder(be, tmp_path, context=60)
        with Running(App(model), limits=limits) as running, ThreadPoolExecutor(40) as pool:
            found = list(pool.map(running.say, requests))
            wait_for(lambda: running.app.worker.open == 0 and not running.server.tasks)
            assert running.metric("pages_available") == running.metric("pages")
    statuses = {one.split(b" ", 2)[1] for one in found if one}
    assert {b"200", b"400", b"404", b"415"} <= statuses
    assert b"500" not in statuses
    assert capsys.readouterr().err == ""


def test_too_many_connections(tmp_path: Path) -> None:
    with tilewright.init_backend("cpu") as be:
        model = decoder(be, tmp_path, context=40)
        with Running(App(model), limits=Limits(connections=2)) as running:
            held = [socket.create_connection(("127.0.0.1", running.port)) for _ in range(2)]
            wait_for(lambda: len(running.server.tasks) == 2)
            assert running.say(b"").startswith(b"HTTP/1.1 503 ")
            for one in held:
                one.close()
            wait_for(lambda: not running.server.tasks)
            assert running.ask("GET", "/health")[0] == 200
        # Who says nothing is let go.
        with Running(App(model), limits=Limits(idle_seconds=0.2)) as running:
            assert running.say(b"") == running.say(b"GET / HTTP/1.1\r\n") == b""


def test_the_end(be: Backend, tmp_path: Path) -> None:
    """Answers have a while to end; then they are cut, and say so."""
    model = decoder(be, tmp_path, context=200, cache_tokens=400)
    model.engine.ends = frozenset()
    with Running(App(model)) as running, Gate(model.engine) as gate:
        stream = running.stream(CHAT, messages=[{"role": "user", "content": "w1"}], max_tokens=20)
        gate.let(2)
        first = next(stream)
        running.server.stop()
        wait_for(lambda: running.app.worker.is_closing)
        gate.let(30)
        assert len((text_of(iter([first])) + text_of(stream)).split()) == 20
    no_grace = Limits(grace_seconds=0)
    with Running(App(model), limits=no_grace) as running, Gate(model.engine) as gate:
        stream = running.stream(TEXTS, prompt="w1", max_tokens=190)
        gate.let(2)
        next(stream)
        wait_for(running.app.worker._commands.empty)
        running.server.stop()
        # The order to end waits behind the step.
        wait_for(lambda: not running.app.worker._commands.empty())
        gate.let(1)
        *_, last = stream
        assert last["error"]["message"] == "the server has ended"
    assert model.engine.cache.available == 25


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with tilewright.init_backend("cpu") as be:
        expected = continued(decoder(be, tmp_path / "text"), "w1 w2", 5)
        encoder(be, tmp_path / "rows")
    words = [sys.executable, "-m", "tilewright", "serve", str(tmp_path / "text")]
    words += ["--embed", str(tmp_path / "rows"), "--device", "cpu", "--port", "0", "--log"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as made:
        assert made.stdout is not None and made.stderr is not None
        line = made.stdout.readline()
        found = re.fullmatch(r"text and rows on cpu:0: http://127\.0\.0\.1:(\d+)\n", line)
        assert found, line
        running = Client(int(found[1]))
        answer = running.post(TEXTS, prompt="w1 w2", max_tokens=5, temperature=0, model="text")
        assert answer["choices"][0]["text"] == expected
        assert running.post(ROWS, input="w1", model="rows")["data"]
        held = running.connect()
        held.connect()
        made.send_signal(signal.SIGINT)
        rest, log = made.communicate(timeout=60)
        held.close()
    assert (made.returncode, rest) == (0, "")
    assert re.fullmatch(r'(POST "/v1/(completions|embeddings)" 200 \d\.\d{3} s\n){2}', log)
    for extra, code, message in (
        (["--texts", "0"], 2, "--texts is 0, expected 1 to 1024"),
        (["--port", "70000"], 2, "--port is 70000, expected 0 to 65535"),
        (["--host", "no.such.host.invalid"], 2, "cannot be listened at"),
        (["--embed", str(tmp_path / "text")], 2, "has a decoder, and embeddings are made by"),
    ):
        assert main(["serve", str(tmp_path / "text"), "--device", "cpu", *extra]) == code
        assert message in capsys.readouterr().err
