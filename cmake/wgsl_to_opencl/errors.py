"""What the translator says where it cannot go on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn


@dataclass(frozen=True)
class Place:
    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


class TranslationError(Exception):
    """Of a kernel; its text begins with the file and the line."""


def fail(at: Place, what: str) -> NoReturn:
    raise TranslationError(f"{at}: {what}")
