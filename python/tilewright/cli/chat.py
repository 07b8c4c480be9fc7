"""tilewright chat: a conversation with a model; each line of the input is said to it."""

from __future__ import annotations

import argparse
import sys
from typing import TypeAlias

import tilewright

from . import generate
from .options import OK, WrongUse

HELP = "a conversation with a model"

Message: TypeAlias = dict[str, str]


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
            line = read_line()
            if line is None:
                return OK
            if not line:
                continue
            kept = fitting(model, [*said, {"role": "user", "content": line}], arguments.max_tokens)
            if kept is None:
                say(f"(that is too long: all that is said has room for {model.context} tokens)")
                continue
            said = kept
            answer = ""
            for piece in model.stream(
                model.chat_tokens(said), arguments.max_tokens, **generate.sampling(arguments)
            ):
                answer += piece
                sys.stdout.write(piece)
                sys.stdout.flush()
            sys.stdout.write("\n")
            said.append({"role": "assistant", "content": answer})


def read_line() -> str | None:
    """What is said next, None at the end of the input."""
    if sys.stdin is None:
        raise WrongUse("standard input is closed")
    if sys.stdin.isatty():
        sys.stdout.write("> ")
        sys.stdout.flush()
    try:
        line = sys.stdin.readline()
        line.encode()
    except UnicodeError:
        raise WrongUse("the input is not UTF-8") from None
    return line.strip() if line else None


def fitting(
    model: tilewright.models.Decoder, said: list[Message], most: int
) -> list[Message] | None:
    """What was said without its oldest questions and answers, so that `most` tokens of an answer
    fit behind it, or a quarter of the context; the system's message stays, and the last question,
    with room for a token at least. None where there is none."""
    first = 1 if said[0]["role"] == "system" else 0
    room = max(min(most, model.context // 4), 1)
    kept = list(said)
    while (count := len(model.chat_tokens(kept))) + room > model.context:
        if len(kept) < first + 3:
            return kept if count < model.context else None
        del kept[first : first + 2]
    return kept


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
