"""Where things are, and how commands are run and shown."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"
DIST = ROOT / "dist"


class Failed(Exception):
    """Ends ./dev with a message for the person who typed it."""


def say(text: str) -> None:
    bold = ("\033[1m", "\033[0m") if sys.stdout.isatty() else ("", "")
    print(f"{bold[0]}== {text}{bold[1]}", flush=True)


def run(
    command: Sequence[str | Path],
    *,
    cwd: Path = ROOT,
    env: Mapping[str, str] | None = None,
    check: bool = True,
) -> int:
    """Runs a command with its output shown; a failure ends ./dev unless check is off."""
    words = [str(word) for word in command]
    print(f"$ {shlex.join(words)}", flush=True)
    code = subprocess.run(words, cwd=cwd, env={**os.environ, **(env or {})}, check=False).returncode
    if check and code != 0:
        raise Failed(f"`{shlex.join(words)}` ended with {code}")
    return code


def succeeds(
    command: Sequence[str | Path], stdin: str = "", env: Mapping[str, str] | None = None
) -> bool:
    """Whether a command can be run and ends with 0; its output is not shown."""
    try:
        words = [str(word) for word in command]
        done = subprocess.run(
            words,
            input=stdin,
            env={**os.environ, **(env or {})},
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError:
        return False
    return done.returncode == 0


def output(command: Sequence[str | Path]) -> str:
    """What a command prints; a failure ends ./dev with what it said."""
    words = [str(word) for word in command]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Failed(f"`{shlex.join(words)}` ended with {done.returncode}:\n{done.stderr.strip()}")
    return done.stdout.strip()
