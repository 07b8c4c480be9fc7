"""What is raised where a file of a model cannot be used."""

from __future__ import annotations

from typing import NoReturn

from tilewright import _core

LONGEST = 80


class ModelError(_core.InvalidArgument):
    """A file of a model is damaged or lacks what is asked of it; the message begins with its
    name."""


def fail(file: object, what: str) -> NoReturn:
    raise ModelError(f"{file}: {what}")


def shown(value: object) -> str:
    """A value of a file in a message: short, and in ASCII, whatever it is."""
    if isinstance(value, str | bytes):
        text = ascii(value[:LONGEST])
        return text if len(value) <= LONGEST else f"{text}... of length {len(value)}"
    if isinstance(value, int | float) or value is None:
        return repr(value)
    if isinstance(value, list | tuple | dict):
        return f"{'an object' if isinstance(value, dict) else 'a list'} of length {len(value)}"
    return f"of type {type(value).__name__}"
