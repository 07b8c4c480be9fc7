"""tilewright generate: what a model says behind a prompt, as it comes."""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any

import tilewright
from tilewright.models.decoders.cache import STORED

from .kinds import check_no_onnx, to_decoder
from .options import OK, add_numbers

HELP = "what a model says behind a prompt"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_model(parser)
    parser.add_argument("prompt", metavar="TEXT", help="the text that is gone on with")
    add_sampling(parser, max_tokens=128, temperature=0.0)
    parser.add_argument("--times", action="store_true", help="say at the end how long it took")


def add_model(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "model", metavar="MODEL", help="a Hugging Face folder with a decoder, or a GGUF file"
    )
    parser.add_argument("--device", default="auto", help="default: %(default)s")
    parser.add_argument(
        "--weights", choices=("float32", "float16", "int8", "int4"),
        help="what matrices are held as; default: as the files have them",
    )  # fmt: skip
    add_cache(parser)
    parser.add_argument(
        "--context", type=int, default=4096, metavar="N",
        help="tokens of all that is said; default: %(default)s",
    )  # fmt: skip


def add_cache(parser: argparse.ArgumentParser, of: str = "") -> None:
    parser.add_argument(
        "--cache", choices=STORED,
        help=f"{of}what keys and values are held as; default: as they are computed",
    )  # fmt: skip


def add_sampling(parser: argparse.ArgumentParser, max_tokens: int, temperature: float) -> None:
    add_numbers(
        parser,
        (
            ("max-tokens", max_tokens, "at most so many"),
            ("temperature", temperature, "0 takes the likeliest token"),
            ("top-k", 0, "draw from so many of the likeliest; 0: from all"),
            ("top-p", 1.0, "draw from the likeliest that have this share together"),
            ("min-p", 0.0, "draw from those with this part of the likeliest's share"),
            ("repetition-penalty", 1.0, "what came before is less likely by this"),
        ),
    )
    parser.add_argument("--seed", type=int, metavar="N", help="draw the same tokens again")
    parser.add_argument(
        "--stop", action="append", default=[], metavar="TEXT",
        help="end in front of this text, as often as wanted",
    )  # fmt: skip


def sampling(arguments: argparse.Namespace) -> dict[str, Any]:
    names = ("temperature", "top_k", "top_p", "min_p", "repetition_penalty", "seed", "stop")
    return {name: getattr(arguments, name) for name in names}


def load(
    arguments: argparse.Namespace, backend: tilewright.Backend, cache_tokens: int | None = None
) -> tilewright.models.Decoder:
    check_no_onnx(arguments.model)
    model = tilewright.models.load(
        arguments.model, backend, arguments.weights, context=arguments.context,
        cache_tokens=cache_tokens, cache=arguments.cache,
    )  # fmt: skip
    return to_decoder(arguments.model, model)


def run(arguments: argparse.Namespace) -> int:
    with tilewright.init_backend(arguments.device) as backend:
        model = load(arguments, backend)
        start = time.perf_counter()
        first = None
        pieces = 0
        for piece in model.stream(arguments.prompt, arguments.max_tokens, **sampling(arguments)):
            first = time.perf_counter() if first is None else first
            pieces += 1
            sys.stdout.write(piece)
            sys.stdout.flush()
        sys.stdout.write("\n")
        end = time.perf_counter()
    if arguments.times and first is not None:
        rest = f", then {(pieces - 1) / (end - first):.1f} pieces/s" if pieces > 1 else ""
        print(f"first piece after {first - start:.3f} s{rest}", file=sys.stderr)
    return OK
