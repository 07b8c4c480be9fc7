"""The routes of a server: what they answer, and what they refuse."""

from __future__ import annotations

import base64
import json
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tilewright
from tilewright.serving import App, Limits

from .serving import CHAT, ROWS, TEXTS, Running, continued, decoder, encoder, text_of

MESSAGES = [{"role": "user", "content": "w1 w2"}]


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("models")
    with tilewright.init_backend("cpu") as be:
        text = decoder(be, folder / "text", context=120, cache_tokens=600)
        rows = encoder(be, folder / "rows")
        app = App(text, rows, names=("tiny", "rows"))
        with Running(app, limits=Limits(body=20000)) as made:
            yield made


def test_models(running: Running) -> None:
    status, _, found = running.ask("GET", "/v1/models")
    assert status == 200 and found["object"] == "list"
    assert [one["id"] for one in found["data"]] == ["tiny", "rows"]
    status, _, one = running.ask("GET", "/v1/models/tiny")
    assert (status, one) == (200, found["data"][0])
    assert running.ask("GET", "/v1/models/t%69ny")[2] == one
    assert running.ask("GET", "/v1/models/none")[0] == 404


def test_completions(running: Running) -> None:
    model = running.app.decoder
    assert model is not None
    expected = continued(model, "w1 w2 w3", 10)
    found = running.post(TEXTS, prompt="w1 w2 w3", max_tokens=10, temperature=0, model="tiny")
    (choice,) = found["choices"]
    assert found["object"] == "text_completion" and found["model"] == "tiny"
    assert choice["text"] == expected and choice["index"] == 0
    count = len(model.generate(model.tokenizer.encode(["w1 w2 w3"])[0], 10))
    assert choice["finish_reason"] == ("length" if count == 10 else "stop")
    usage = found["usage"]
    assert (usage["prompt_tokens"], usage["completion_tokens"]) == (5, count)
    assert usage["total_tokens"] == 5 + count


def test_several_prompts_and_choices(running: Running) -> None:
    model = running.app.decoder
    assert model is not None
    prompts = [[5, 6, 7], [8, 9, 10, 11]]
    options = {"temperature": 1.2, "top_k": 9, "seed": 4}
    found = running.post(TEXTS, prompt=prompts, n=2, max_tokens=6, echo=True, **options)
    texts = [one["text"] for one in found["choices"]]
    assert [one["index"] for one in found["choices"]] == [0, 1, 2, 3]
    decode = model.tokenizer.decode
    for i, prompt in enumerate(prompts):
        alone = model.generate(prompt, 6, **options)
        assert texts[2 * i] == decode([*prompt, *alone])
        assert texts[2 * i + 1] != texts[2 * i]
    assert found["usage"]["prompt_tokens"] == 7
    again = running.post(TEXTS, prompt=prompts, n=2, max_tokens=6, echo=True, **options)
    assert [one["text"] for one in again["choices"]] == texts
    options["seed"] = -4
    less = [running.post(TEXTS, prompt=prompts, max_tokens=6, **options) for _ in range(2)]
    assert less[0]["choices"] == less[1]["choices"]


def test_chat(running: Running) -> None:
    model = running.app.decoder
    assert model is not None
    expected = model.chat(MESSAGES, 8, temperature=0.9, seed=3)
    options: dict[str, Any] = {"messages": MESSAGES, "temperature": 0.9, "seed": 3}
    found = running.post(CHAT, max_completion_tokens=8, **options)
    (choice,) = found["choices"]
    assert choice["message"] == {"role": "assistant", "content": expected, "refusal": None}
    pieces = list(running.stream(CHAT, max_tokens=8, stream_options={"include_usage": True},
                                 **options))  # fmt: skip
    assert pieces[0]["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    assert text_of(iter(pieces)) == expected
    assert pieces[-2]["choices"][0]["finish_reason"] == choice["finish_reason"]
    assert pieces[-1]["choices"] == []
    assert len(pieces) > 4 and len({one["id"] for one in pieces}) == 1
    for name in ("prompt_tokens", "completion_tokens", "total_tokens"):
        assert pieces[-1]["usage"][name] == found["usage"][name]
    parts = [{"role": "developer", "content": [{"type": "text", "text": "w5"}]},
             {"role": "assistant", "content": "w6", "tool_calls": None, "refusal": None},
             *MESSAGES]  # fmt: skip
    plain = [{"role": "system", "content": "w5"}, {"role": "assistant", "content": "w6"}, *MESSAGES]
    found = running.post(CHAT, messages=parts, temperature=0, max_tokens=5)
    assert found["choices"][0]["message"]["content"] == model.chat(plain, 5)


def test_an_answer_is_as_long_as_it_may_be(running: Running) -> None:
    found = running.post(CHAT, messages=MESSAGES, temperature=1.5, seed=11)
    assert found["usage"]["total_tokens"] <= 120
    found = running.post(TEXTS, prompt=[5] * 115, max_tokens=100, temperature=0)
    assert found["usage"]["completion_tokens"] <= 5


def test_stop(running: Running) -> None:
    model = running.app.decoder
    assert model is not None
    texts = (continued(model, "w1 w2", 30, temperature=1.4, seed=seed) for seed in range(99))
    seed, whole = next((i, one) for i, one in enumerate(texts) if len(one.split()) > 8)
    words = whole.split()
    string = f"{words[3]} {words[4]}"
    options = {"prompt": "w1 w2", "max_tokens": 30, "temperature": 1.4, "seed": seed}
    found = running.post(TEXTS, stop=[string, "w99"], **options)
    (choice,) = found["choices"]
    assert choice["text"] == whole[: whole.index(string)]
    assert choice["finish_reason"] == "stop"
    assert found["usage"]["completion_tokens"] <= 5
    pieces = list(running.stream(TEXTS, stop=string, **options))
    assert "".join(one["choices"][0]["text"] for one in pieces) == choice["text"]
    running.post(TEXTS, stop=[], **options)


def test_embeddings(running: Running) -> None:
    model = running.app.encoder
    assert model is not None
    texts = ["w1 w2 w3", "w4", "w1 w2 w3 w4 w5 w6"]
    expected = model.embed(texts).numpy()
    found = running.post(ROWS, input=texts, model="rows")
    assert [one["index"] for one in found["data"]] == [0, 1, 2]
    rows = np.array([one["embedding"] for one in found["data"]], np.float32)
    np.testing.assert_allclose(rows, expected, rtol=0, atol=1e-6)
    assert found["usage"] == {"prompt_tokens": 16, "total_tokens": 16}
    (one,) = running.post(ROWS, input="w4", encoding_format="base64")["data"]
    row = np.frombuffer(base64.b64decode(one["embedding"]), "<f4")
    np.testing.assert_allclose(row, expected[1], rtol=0, atol=1e-6)
    tokens = model.tokenizer.encode(texts[:1])[0]
    for given in (tokens, [tokens]):
        (one,) = running.post(ROWS, input=given)["data"]
        np.testing.assert_allclose(one["embedding"], expected[0], rtol=0, atol=1e-6)
    (one,) = running.post(ROWS, input="w4", dimensions=20)["data"]
    np.testing.assert_allclose(one["embedding"], expected[1, :20], rtol=0, atol=1e-6)


def test_embeddings_of_sentence_transformers(tmp_path: Path) -> None:
    """With prompts, and rows of length 1 that are shortened."""
    with tilewright.init_backend("cpu") as be:
        encoder(be, tmp_path, normalizes=True)
        said = {"prompts": {"query": "w7 w8 ", "passage": "w9 "}, "default_prompt_name": "passage"}
        (tmp_path / "config_sentence_transformers.json").write_text(json.dumps(said))
        model = tilewright.models.load(tmp_path, be)
        with Running(App(None, model, names=("rows", "rows"))) as running:
            for options, text in (({}, "w9 w1"), ({"prompt_name": "query"}, "w7 w8 w1")):
                tokens = model.tokenizer.encode([text])[0]
                expected = model.embed_tokens([tokens]).numpy()[0]
                (one,) = running.post(ROWS, input="w1", **options)["data"]
                np.testing.assert_allclose(one["embedding"], expected, rtol=0, atol=1e-6)
                (one,) = running.post(ROWS, input=tokens)["data"]
                np.testing.assert_allclose(one["embedding"], expected, rtol=0, atol=1e-6)
                (one,) = running.post(ROWS, input="w1", dimensions=9, **options)["data"]
                short = expected[:9] / np.linalg.norm(expected[:9])
                np.testing.assert_allclose(one["embedding"], short, rtol=0, atol=1e-6)
            assert running.error(ROWS, input="w1", prompt_name="no")[1] == "prompt_name"


SAMPLED: list[tuple[dict[str, Any], str, str]] = [
    ({"temperature": -0.1}, "temperature", "temperature is -0.1, expected a number from 0 to 2"),
    ({"temperature": "hot"}, "temperature", "temperature is 'hot', expected a number"),
    ({"temperature": True}, "temperature", "expected a number"),
    ({"top_p": 0}, "top_p", "top_p is 0.0, expected above 0"),
    ({"top_p": 1.5}, "top_p", "top_p is 1.5, expected a number from 0 to 1"),
    ({"top_k": 1.5}, "top_k", "top_k is 1.5, expected an integer from 0"),
    ({"min_p": 2}, "min_p", "min_p is 2"),
    ({"repetition_penalty": 0}, "repetition_penalty", "repetition_penalty is 0.0, expected above"),
    ({"seed": "1"}, "seed", "seed is '1'"),
    ({"seed": 1 << 70}, "seed", "seed is 1180591620717411303424"),
    ({"n": 0}, "n", "n is 0, expected an integer from 1 to 16"),
    ({"n": 17}, "n", "n is 17"),
    ({"max_tokens": 0}, "max_tokens", "max_tokens is 0, expected an integer from 1"),
    ({"max_tokens": [3]}, "max_tokens", "max_tokens is a list of length 1"),
    ({"stream": "yes"}, "stream", "stream is 'yes', expected true or false"),
    ({"stop": [""]}, "stop", "stop has an empty text"),
    ({"stop": ["a"] * 5}, "stop", "expected a text or a list of at most 4"),
    ({"stop": [5]}, "stop", r"stop[0] is 5, expected a text"),
    ({"stream_options": {"colour": 1}}, "stream_options", "expected include_usage alone"),
    ({"stream_options": {"include_usage": 1}}, "include_usage", "include_usage is 1"),
    ({"frequency_penalty": 0.5}, "frequency_penalty", "0.5, which is not supported here"),
    ({"logit_bias": {"5": 1}}, "logit_bias", "which is not supported here"),
    ({"surprise": 1}, "surprise", "the field 'surprise' is unknown; there are "),
    ({"user": 5}, "user", "user is 5, expected a text"),
    ({"model": 5}, "model", "model is 5, expected a text"),
]


@pytest.mark.parametrize(("body", "param", "message"), SAMPLED)
def test_wrong_sampling(running: Running, body: Any, param: str, message: str) -> None:
    for path, given in ((CHAT, {"messages": MESSAGES}), (TEXTS, {"prompt": "w1"})):
        status, named, said = running.error(path, **given, **body)
        assert (status, named) == (400, param)
        assert message in said


@pytest.mark.parametrize(
    ("body", "param", "message"),
    [
        ({}, "messages", "messages is None, expected a list of role and content"),
        ({"messages": []}, "messages", "messages is a list of length 0"),
        ({"messages": ["w1"]}, "messages", "messages[0] is 'w1', expected an object"),
        ({"messages": [{"role": "king", "content": "w1"}]}, "messages", "role is 'king', expected"),
        ({"messages": [{"role": "user"}]}, "messages", "messages[0].content is None"),
        ({"messages": [{"role": "user", "content": "\ud800"}]}, "messages", "half of a character"),
        (
            {"messages": [{"role": "user", "content": [{"type": "image_url"}]}]},
            "messages", "messages[0].content[0] is of the type 'image_url', expected text",
        ),
        (
            {"messages": [*MESSAGES, {"role": "assistant", "content": "", "tool_calls": [1]}]},
            "messages", "messages[1] has the field 'tool_calls', which is not supported",
        ),
        ({"messages": [{"role": "user", "content": "no"}]}, "messages", "fails: no is no"),
        ({"messages": MESSAGES, "max_tokens": 2, "max_completion_tokens": 2}, "max_tokens", "both"),
        ({"messages": MESSAGES, "tools": [{}]}, "tools", "tools is a list of length 1, which is"),
        ({"messages": MESSAGES, "response_format": {"type": "json_object"}}, "response_format", ""),
        (
            {"messages": [{"role": "user", "content": "w1 " * 130}]},
            "messages", "messages has 133 tokens, expected 1 to 120",
        ),
    ],
)  # fmt: skip
def test_wrong_messages(running: Running, body: Any, param: str, message: str) -> None:
    status, named, said = running.error(CHAT, **body)
    assert (status, named) == (400, param)
    assert message in said


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({}, "prompt is None, expected a text, tokens, or a list"),
        ({"prompt": {}}, "prompt is an object of length 0"),
        ({"prompt": []}, "prompt is of length 0"),
        ({"prompt": ["w1", 5]}, "prompt[1] is 5, expected a text"),
        ({"prompt": [[5, "w"]]}, "prompt is of tokens with 'w' among them"),
        ({"prompt": [[5], []]}, "prompt[1] is empty"),
        ({"prompt": [5, 44]}, "prompt has the token 44, expected below 44"),
        ({"prompt": [[5], [6] * 121]}, "prompt[1] has 121 tokens, expected 1 to 120"),
        ({"prompt": "w1 " * 200}, "prompt has 202 tokens, expected 1 to 120"),
        ({"prompt": ["w1"] * 65}, "prompt is of length 65, expected"),
    ],
)
def test_wrong_prompts(running: Running, body: Any, message: str) -> None:
    status, named, said = running.error(TEXTS, **body)
    assert (status, named) == (400, "prompt")
    assert message in said
    assert running.error(TEXTS, prompt=["w1"] * 40, n=2)[1] == "n"


@pytest.mark.parametrize(
    ("body", "param", "message"),
    [
        ({"input": ""}, None, ""),
        ({"input": [[1, 99]]}, "input", "input[0] has the token 99, expected below 44"),
        ({"input": "w1 " * 90}, "input", "input[0] has 92 tokens, expected 1 to 70"),
        ({"input": ["w1"] * 2049}, "input", "of length 2049"),
        ({"input": "w1", "encoding_format": "hex"}, "encoding_format", "'hex', expected float or"),
        ({"input": "w1", "dimensions": 49}, "dimensions", "dimensions is 49, expected 1 to 48"),
        ({"input": "w1", "dimensions": 0}, "dimensions", "dimensions is 0, expected an integer"),
        ({"input": "w1", "prompt_name": "q"}, "prompt_name", "the model's files have no prompt"),
    ],
)
def test_wrong_inputs(running: Running, body: Any, param: str | None, message: str) -> None:
    if param is None:
        # No text is the tokens around it alone.
        assert running.post(ROWS, **body)["usage"]["prompt_tokens"] == 2
        return
    status, named, said = running.error(ROWS, **body)
    assert (status, named) == (400, param)
    assert message in said


def test_names(running: Running) -> None:
    for path, given in (
        (CHAT, {"messages": MESSAGES}), (TEXTS, {"prompt": "w1"}), (ROWS, {"input": "w1"}),
    ):  # fmt: skip
        status, named, said = running.error(path, model="gpt-9", **given)
        assert (status, named) == (404, "model")
        assert "model is 'gpt-9', expected " in said


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "the body is no JSON"),
        (b"{", "the body is no JSON"),
        (b"[1]", "the body is a list of length 1, expected an object"),
        (b'{"prompt": "\xff"}', "the body is no JSON"),
        (b'{"prompt": "w1", "seed": NaN}', "NaN is no number of JSON"),
        (b'{"prompt": ' + b"[" * 9000 + b"]" * 9000 + b"}", "nested too deeply"),
        (b'{"seed": ' + b"9" * 5000 + b"}", "the body is no JSON"),
    ],
)
def test_bad_json(running: Running, body: bytes, message: str) -> None:
    status, _, found = running.ask("POST", TEXTS, body)
    assert status == 400
    assert found["error"]["type"] == "invalid_request_error"
    assert message in found["error"]["message"]


def test_methods_and_paths(running: Running) -> None:
    ask = running.ask
    status, headers, found = ask("GET", TEXTS)
    assert (status, headers["Allow"]) == (405, "POST, OPTIONS")
    assert found["error"]["message"] == "/v1/completions takes POST, not GET"
    assert ask("DELETE", "/v1/models")[0] == 405
    status, _, found = ask("POST", "/v1/images", {})
    assert status == 404 and "there is no /v1/images; there are /, " in found["error"]["message"]
    status, headers, body = ask("HEAD", "/v1/models")
    assert (status, body) == (200, "") and int(headers["Content-Length"]) > 100
    status, headers, _ = ask("OPTIONS", CHAT)
    assert (status, headers["Allow"]) == (204, "POST, OPTIONS")
    assert headers["Access-Control-Allow-Origin"] is None
    assert ask("GET", "/v1/models?page=2")[0] == 200
    status, _, found = ask("POST", TEXTS, {"prompt": "w1"}, {"Content-Type": "text/plain"})
    assert status == 415 and "'text/plain', expected application/json" in found["error"]["message"]
    assert ask("GET", "/health")[2] == {"status": "ok", "error": None}
    status, headers, page = ask("GET", "/")
    assert status == 200 and page.startswith("<!doctype html>")
    assert "default-src 'none'" in headers["Content-Security-Policy"]


def test_a_connection_is_kept(running: Running) -> None:
    connection = running.connect()
    for _ in range(3):
        assert running.ask("GET", "/v1/models", connection=connection)[0] == 200
        sock = connection.sock
        found = running.ask("POST", TEXTS, {"prompt": 5}, connection=connection)
        assert found[0] == 400
        assert running.ask("POST", TEXTS, {"prompt": "w1"}, connection=connection)[0] == 200
        assert connection.sock is sock is not None
    connection.close()


def test_a_stream_of_old_http(running: Running) -> None:
    body = json.dumps({"prompt": "w1", "stream": True, "max_tokens": 3}).encode()
    head = b"POST /v1/completions HTTP/1.0\r\nContent-Type: application/json\r\n"
    found = running.say(head + b"Content-Length: %d\r\n\r\n" % len(body) + body)
    head, _, rest = found.partition(b"\r\n\r\n")
    assert b"chunked" not in head and b"Connection: close" in head
    assert rest.startswith(b"data: {") and rest.endswith(b"data: [DONE]\n\n")


@pytest.mark.parametrize(
    ("data", "status", "message"),
    [
        (b"\x16\x03\x01\x02\r\n\r\n", 400, "does not begin with a method"),
        (b"GET /v1/models\r\n\r\n", 400, "does not begin with a method"),
        (b"GET /v1/models HTTP/2.0\r\n\r\n", 505, "expected HTTP/1.1"),
        (b"GET /v1/models HTTP/1.1\r\nno colon\r\n\r\n", 400, "the header line 'no colon'"),
        (b"GET /v1/models HTTP/1.1\r\nHost : a\r\n\r\n", 400, "the header line"),
        (b"GET / HTTP/1.1\r\n" + b"a: " + b"b" * 40000 + b"\r\n\r\n", 431, "the head has more"),
        (
            b"POST /v1/completions HTTP/1.1\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\n{}",
            400, "content-length is there twice",
        ),
        (b"POST /v1/completions HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 400, "Content-Length is"),
        (b"POST / HTTP/1.1\r\nContent-Length: 20001\r\n\r\n", 413, "20001 bytes, expected at most"),
        (b"POST / HTTP/1.1\r\nContent-Length: " + b"9" * 9000 + b"\r\n\r\n", 413, "99 bytes"),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", 411, "send Content-Length"),
        (b"GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n", 421, "Host is 'evil.example'"),
        (b"GET / HTTP/1.1\r\nHost: evil.example:80\r\nConnection: close\r\n\r\n", 421, "Host is"),
    ],
)  # fmt: skip
def test_what_is_no_request(running: Running, data: bytes, status: int, message: str) -> None:
    if b"Connection" not in data:
        data = data.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
    head, _, body = running.say(data).partition(b"\r\n\r\n")
    assert head.split()[1] == str(status).encode()
    assert message in json.loads(body)["error"]["message"]
    assert running.ask("GET", "/health")[0] == 200


def test_a_body_that_is_too_large(running: Running) -> None:
    """Who sends all of it first gets the answer all the same."""
    for _ in range(5):
        status, headers, found = running.ask("POST", TEXTS, b" " * 8_000_000)
        assert (status, headers["Connection"]) == (413, "close")
        assert found["error"]["message"] == "the body has 8000000 bytes, expected at most 20000"


def test_a_request_in_pieces(running: Running) -> None:
    body = b'{"prompt": "w1", "max_tokens": 2}'
    head = b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    whole = head + b"Expect: 100-continue\r\nConnection: close\r\n"
    whole += b"Content-Length: %d\r\n\r\n" % len(body) + body
    import socket

    with socket.create_connection(("127.0.0.1", running.port), timeout=60) as made:
        for i in range(0, len(whole), 7):
            made.sendall(whole[i : i + 7])
        found = b""
        while piece := made.recv(4096):
            found += piece
    assert found.startswith(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n")


def test_key_and_origin(tmp_path: Path) -> None:
    with tilewright.init_backend("cpu") as be:
        app = App(decoder(be, tmp_path, template=False, context=40), api_key="s3cret")
        with Running(app, cors="https://a.example") as running:
            for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": "s3cret"}):
                status, said, found = running.ask("GET", "/v1/models", headers=headers)
                assert (status, said["WWW-Authenticate"]) == (401, "Bearer")
                assert found["error"]["code"] == "invalid_api_key"
            key = {"Authorization": "Bearer s3cret", "Origin": "https://a.example"}
            status, said, _ = running.ask("POST", TEXTS, {"prompt": "w1"}, key)
            assert (status, said["Access-Control-Allow-Origin"]) == (200, "https://a.example")
            for path in ("/", "/health"):
                assert running.ask("GET", path)[0] == 200
            origin = {"Origin": "https://a.example", "Access-Control-Request-Method": "POST"}
            status, said, _ = running.ask("OPTIONS", CHAT, headers=origin)
            assert said["Access-Control-Allow-Headers"] == "authorization, content-type"
            wish = "authorization,content-type, x-stainless-os"
            asks = {**origin, "Access-Control-Request-Headers": wish}
            said = running.ask("OPTIONS", CHAT, headers=asks)[1]
            assert said["Access-Control-Allow-Headers"] == wish
            asks = {**origin, "Access-Control-Request-Headers": "a b; c"}
            said = running.ask("OPTIONS", CHAT, headers=asks)[1]
            assert said["Access-Control-Allow-Headers"] == "authorization, content-type"
            status, said, _ = running.ask("OPTIONS", CHAT, headers={"Origin": "https://b.example"})
            assert said["Access-Control-Allow-Origin"] is None
            status, _, found = running.ask("POST", CHAT, {"messages": MESSAGES}, key)
            assert "model has no chat template; send a prompt to" in found["error"]["message"]
            status, _, found = running.ask("POST", ROWS, {"input": "w1"}, key)
            assert (status, found["error"]["param"]) == (400, "model")


@pytest.mark.parametrize("key", ["caf\u00e9", "voil\u00e0", "\u79d8\u5bc6"])
def test_a_key_of_other_letters(tmp_path: Path, key: str) -> None:
    with tilewright.init_backend("cpu") as be:
        app = App(None, encoder(be, tmp_path), api_key=key)
        with Running(app) as running:
            for wrong in (key[:-1], key + "x", ""):
                data = f"GET /v1/models HTTP/1.1\r\nAuthorization: Bearer {wrong}\r\n"
                assert running.say(data.encode() + b"Connection: close\r\n\r\n")[9:12] == b"401"
            for form in ("utf-8", *(["latin-1"] if key[0].isascii() else [])):
                data = f"GET /v1/models HTTP/1.1\r\nAuthorization: Bearer {key}\r\n"
                found = running.say(data.encode(form) + b"Connection: close\r\n\r\n")
                assert found[9:12] == b"200"


def test_a_client_that_sends_no_more(running: Running) -> None:
    """And waits for its answer, as `nc -N` does."""
    model = running.app.decoder
    assert model is not None
    body = json.dumps({"prompt": "w1 w2", "max_tokens": 60, "temperature": 0}).encode()
    head = f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    for version, pause in ((b"1.1", 0.0), (b"1.0", 0.0), (b"1.1", 0.01)):
        with socket.create_connection(("127.0.0.1", running.port), timeout=60) as made:
            made.sendall(b"POST /v1/completions HTTP/" + version + b"\r\n" + head + body)
            time.sleep(pause)
            made.shutdown(socket.SHUT_WR)
            found = b""
            while piece := made.recv(65536):
                found += piece
        found = found.removeprefix(b"HTTP/1.1 100 Continue\r\n\r\n")
        assert found.startswith(b"HTTP/1.1 200 OK\r\n")
        answer = json.loads(found.partition(b"\r\n\r\n")[2])
        assert answer["choices"][0]["text"] == continued(model, "w1 w2", 60)
    body = json.dumps({"prompt": "w1 w2", "max_tokens": 60, "stream": True}).encode()
    head = f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    with socket.create_connection(("127.0.0.1", running.port), timeout=60) as made:
        made.sendall(b"POST /v1/completions HTTP/1.1\r\nConnection: close\r\n" + head + body)
        found = made.recv(1)
        made.shutdown(socket.SHUT_WR)
        while piece := made.recv(65536):
            found += piece
    assert found.count(b"data: ") > 3 and found.endswith(b"data: [DONE]\n\n\r\n0\r\n\r\n")


def test_an_encoder_alone(tmp_path: Path) -> None:
    with tilewright.init_backend("cpu") as be:
        app = App(None, encoder(be, tmp_path), names=("rows", "rows"))
        with Running(app) as running:
            assert len(running.post(ROWS, input="w1", model="rows")["data"][0]["embedding"]) == 48
            assert running.error(TEXTS, prompt="w1")[2].startswith("rows makes embeddings alone")
            found = running.ask("GET", "/v1/models")[2]["data"]
            assert [one["id"] for one in found] == ["rows"]
