"""tilewright serve: a model behind HTTP, by the routes of OpenAI's clients, and a page to chat."""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import tilewright

from . import generate
from .kinds import check_no_onnx, to_encoder
from .options import OK, WrongUse, add_numbers

if TYPE_CHECKING:
    from tilewright.serving import App

HELP = "a model behind HTTP, for several clients at once, with a page to chat"
KEY = "TILEWRIGHT_API_KEY"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    generate.add_model(parser)
    parser.add_argument(
        "--cache-tokens", type=int, metavar="N",
        help="tokens of all texts together that are kept; default: four times --context",
    )  # fmt: skip
    parser.add_argument("--embed", metavar="MODEL", help="an encoder for embeddings, beside it")
    parser.add_argument("--name", metavar="NAME", help="what clients call MODEL; default: its file")
    parser.add_argument(
        "--embed-name",
        metavar="NAME",
        help="what clients call the model of --embed; default: its file",
    )
    parser.add_argument("--host", default="127.0.0.1", help="default: %(default)s, this machine")
    parser.add_argument(
        "--port", type=int, default=8000, metavar="N", help="0 takes a free one; default: 8000"
    )
    add_numbers(
        parser,
        (
            ("texts", 32, "texts that go on together"),
            ("queue", 256, "texts that wait; more are refused"),
            ("body", 4, "megabytes that a request may have"),
            ("grace", 5, "seconds that answers have to end after Ctrl-C"),
        ),
    )
    parser.add_argument(
        "--api-key", metavar="KEY", help=f"what clients have to send; also the variable {KEY}"
    )
    parser.add_argument(
        "--cors", metavar="ORIGIN", help="pages of this origin may ask, of * those of any"
    )
    parser.add_argument("--log", action="store_true", help="a line on standard error per request")


def run(arguments: argparse.Namespace) -> int:
    import asyncio

    from tilewright.serving import Limits, Server

    for name, low, high in (
        ("port", 0, 65535), ("texts", 1, 1024), ("queue", 0, 1 << 20), ("body", 1, 1024),
        ("grace", 0, 3600),
    ):  # fmt: skip
        value = getattr(arguments, name)
        if not low <= value <= high:
            raise WrongUse(f"--{name} is {value}, expected {low} to {high}")
    limits = Limits(body=arguments.body << 20, grace_seconds=arguments.grace)
    with tilewright.init_backend(arguments.device) as backend:
        app = app_of(arguments, backend)
        server = Server(
            app, arguments.host, arguments.port, cors=arguments.cors, limits=limits,
            log=log if arguments.log else None,
        )  # fmt: skip

        async def served() -> None:
            loop = asyncio.get_running_loop()
            # Where loops take no signals, Ctrl-C ends the command as others.
            with contextlib.suppress(NotImplementedError):
                for one in (signal.SIGINT, signal.SIGTERM):
                    loop.add_signal_handler(one, server.stop)
            await server.run(lambda: say(server.address, app.names, backend))

        try:
            asyncio.run(served())
        except OSError as error:
            where = f"{arguments.host} port {arguments.port}"
            raise WrongUse(f"{where} cannot be listened at: {error.strerror or error}") from None
        return OK


def app_of(arguments: argparse.Namespace, backend: tilewright.Backend) -> App:
    from tilewright.serving import App

    own = arguments.name or name_of(arguments.model)
    other_name = arguments.embed_name or name_of(arguments.embed or "")
    if arguments.embed is None and arguments.embed_name is not None:
        raise WrongUse("--embed-name is the name of the model of --embed, which is not there")
    # One path twice is one of another kind.
    is_other = arguments.embed is not None and Path(arguments.embed) != Path(arguments.model)
    if is_other and own == other_name:
        raise WrongUse(f"both models are called {own}; give --name NAME or --embed-name NAME")
    for path in (arguments.model, arguments.embed or ""):
        check_no_onnx(path)
    load = tilewright.models.load
    tokens = arguments.cache_tokens
    model = load(
        arguments.model, backend, arguments.weights, context=arguments.context,
        cache_tokens=4 * arguments.context if tokens is None else tokens, cache=arguments.cache,
    )  # fmt: skip
    decoder = model if isinstance(model, tilewright.models.Decoder) else None
    encoder = model if isinstance(model, tilewright.models.Encoder) else None
    if arguments.embed is not None:
        if encoder is not None:
            raise WrongUse(f"{arguments.model} is an encoder already; leave out --embed")
        encoder = to_encoder(arguments.embed, load(arguments.embed, backend))
    if decoder is not None:
        if decoder.tokenizer is None:
            raise WrongUse(f"{arguments.model} has no tokenizer.json, which texts need")
        decoder.engine.most_texts = arguments.texts
    names = (own, own if decoder is None else other_name)
    key = arguments.api_key or os.environ.get(KEY) or None
    return App(decoder, encoder, names=names, api_key=key, most_waiting=arguments.queue)


def name_of(path: str) -> str:
    return Path(path).resolve().name.removesuffix(".gguf")


def say(address: str, names: list[str], backend: tilewright.Backend) -> None:
    print(f"{' and '.join(names)} on {backend.device.id}: {address}", flush=True)


def log(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
