"""What several commands share: how they end, and the argument types that name things."""

from __future__ import annotations

import argparse
import difflib
from collections.abc import Iterable
from typing import NoReturn

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
