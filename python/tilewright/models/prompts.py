"""What callers give as texts or tokens, checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tilewright.operands import invalid, shown, to_integer


def listed(call: str, name: str, given: Any, expected: str) -> list[Any]:
    """The elements of what is no text, no bytes and no mapping."""
    if not isinstance(given, str | bytes | bytearray | Mapping):
        try:
            return list(given)
        except TypeError:
            pass
    invalid(call, f"{name} is {shown(given)}, expected {expected}")


def tokens_of(call: str, name: str, given: Any) -> list[int]:
    every = listed(call, name, given, "tokens")
    return [
        one if type(one) is int else to_integer(call, f"{name}[{i}]", one)
        for i, one in enumerate(every)
    ]


def several(call: str, given: Any) -> tuple[list[Any], bool]:
    """Prompts, each a text or tokens, and whether there is one that stands alone."""
    if isinstance(given, str):
        return [given], True
    every = listed(call, "prompts", given, "a text, tokens, or a list of either")
    if every and isinstance(every[0], int | np.integer) and not isinstance(every[0], bool):
        return [every], True
    return every, False


def stops_of(call: str, given: Any) -> tuple[str, ...]:
    """Texts that end an answer: one, or several."""
    every = [given] if isinstance(given, str) else listed(call, "stop", given, "a text or several")
    for one in every:
        if not isinstance(one, str) or not one:
            invalid(call, f"stop has {shown(one)}, expected texts of a character or more")
    return tuple(every)
