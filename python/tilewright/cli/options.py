"""What several commands share: how they end, and the argument types that name things."""

from __future__ import annotations

import argparse
import difflib
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NoReturn

from .catalog import Case

OK = 0
FAILED = 1
WRONG_USE = 2
INTERRUPTED = 130


class Parser(argparse.ArgumentParser):
    """Wrong use is one line, and where to read on."""

    def error(self, message: str) -> NoReturn:
        self.exit(WRONG_USE, f"{self.prog}: {message} (see {self.prog} --help)\n")


class WrongUse(Exception):
    """Arguments that parse, but name what is not there."""


def unknown(what: str, name: str, known: Iterable[str]) -> WrongUse:
    names = list(known)
    close = difflib.get_close_matches(name, names, 1)
    hint = f'did you mean "{close[0]}"?' if close else f"there are {', '.join(names)}"
    return WrongUse(f'{what} "{name}" is unknown; {hint}')


def names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def seconds(text: str) -> float:
    value = float(text)
    if not 0 <= value < 1e6:
        raise argparse.ArgumentTypeError(f"{text} is not a time")
    return value


def matching(patterns: Sequence[str], cases: Sequence[Case]) -> list[Case]:
    """The cases that are named: by op, by op and variant, or by a pattern of either."""

    def matches(case: Case, pattern: str) -> bool:
        return any(fnmatchcase(name, pattern) for name in (case.op, case.name))

    for pattern in patterns:
        if not any(matches(case, pattern) for case in cases):
            known = dict.fromkeys(name for case in cases for name in (case.op, case.name))
            raise unknown("op", pattern, known)
    return [case for case in cases if any(matches(case, pattern) for pattern in patterns)]


def add_numbers(
    parser: argparse.ArgumentParser, numbers: Iterable[tuple[str, int | float, str]]
) -> None:
    """Options of a number each: the name, what it is unless given, and its meaning."""
    for name, default, meaning in numbers:
        parser.add_argument(
            f"--{name}", type=type(default), default=default, metavar="N",
            help=f"{meaning}; default: %(default)s",
        )  # fmt: skip


def write(path: Path, content: bytes) -> None:
    try:
        path.write_bytes(content)
    except OSError as error:
        raise WrongUse(f"cannot write {path}: {error.strerror}") from error
