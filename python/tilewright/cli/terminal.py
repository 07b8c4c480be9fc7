"""What the screen can show: its width, colours, and one line that is drawn over."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Mapping
from typing import TextIO

_STYLES = {
    "bold": "1",
    "dim": "2",
    "red": "1;31",
    "green": "32",
    "yellow": "33",
    "cyan": "36",
}


def width() -> int:
    """Columns of the terminal; 120 where there is none."""
    return shutil.get_terminal_size((120, 24)).columns


def is_terminal(stream: TextIO) -> bool:
    return stream.isatty() and os.environ.get("TERM") != "dumb"


class Painter:
    """Colours text for a stream; leaves it alone where NO_COLOR is set or nobody looks."""

    def __init__(self, stream: TextIO) -> None:
        self._on = is_terminal(stream) and not os.environ.get("NO_COLOR")

    def __call__(self, style: str, text: str) -> str:
        if not self._on or not text.strip():
            return text
        return f"\033[{_STYLES[style]}m{text}\033[0m"


class Progress:
    """A bar on the last line of a terminal's standard error; nothing elsewhere."""

    def __init__(self, total: int, stream: TextIO | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._shown = is_terminal(self._stream)
        self._paint = Painter(self._stream)
        self._total = total
        self._start = time.monotonic()
        encoding = (self._stream.encoding or "").lower()
        self._full, self._empty = ("━", "─") if encoding.startswith("utf") else ("#", "-")

    def show(self, done: int, what: str) -> None:
        if not self._shown:
            return
        left = ""
        if done >= 3:
            seconds = (time.monotonic() - self._start) / done * (self._total - done)
            left = f"{seconds:.0f} s left"
        cells = 24
        filled = cells * done // self._total
        bar = self._paint("cyan", self._full * filled)
        bar += self._paint("dim", self._empty * (cells - filled))
        room = width() - cells - 26
        text = f"{bar} {done:>3}/{self._total}  {what[:room]:<{max(room, 0)}}{left:>12}"
        self._stream.write(f"\r\033[2K{text}")
        self._stream.flush()

    def clear(self) -> None:
        if self._shown:
            self._stream.write("\r\033[2K")
            self._stream.flush()


def facts(painter: Painter, rows: Mapping[str, str], indent: str = "") -> str:
    """Names and values, one pair a line, the values below each other."""
    longest = max(map(len, rows), default=0)
    return "\n".join(
        f"{indent}{painter('dim', name.ljust(longest))}  {value}" for name, value in rows.items()
    )
