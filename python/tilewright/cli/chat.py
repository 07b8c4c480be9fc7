"""tilewright chat: a conversation with a model; each line of the input is said to it."""

from __future__ import annotations

import argparse
import sys

import tilewright

from . import generate
from .options import OK, WrongUse

HELP = "a conversation with a model"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    generate.add_model(parser)
    parser.add_argument("--system", metavar="TEXT", help="what the model is told first")
    generate.add_sampling(parser, max_tokens=512, temperature=0.7)


def run(arguments: argparse.Namespace) -> int:
    with tilewright.init_backend(arguments.device) as backend:
        model = generate.load(arguments, backend)
        if model.template is None:
            raise WrongUse(
                f"{arguments.model} has no chat template; tilewright generate goes on with a text"
            )
        said = [] if arguments.system is None else [{"role": "system", "content": arguments.system}]
        while True:
            if sys.stdin.isatty():
                sys.stdout.write("> ")
                sys.stdout.flush()
            line = sys.stdin.readline()
            if not line:
                return OK
            if not line.strip():
                continue
            said.append({"role": "user", "content": line.strip()})
            answer = ""
            for piece in model.stream(
                model.chat_tokens(said), arguments.max_tokens, **generate.sampling(arguments)
            ):
                answer += piece
                sys.stdout.write(piece)
                sys.stdout.flush()
            sys.stdout.write("\n")
            said.append({"role": "assistant", "content": answer})
