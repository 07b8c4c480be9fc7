"""JSON of files that may be damaged or made to do harm."""

from __future__ import annotations

import json
import math
import re
from typing import Any

from tilewright.models.files.errors import fail, shown

MOST_DEEP = 64
# model_max_length is 1e30 written out in many files.
MOST_DIGITS = 64

# A string, also one that does not end, or a bracket. Possessive: linear whatever comes.
_STRING_OR_BRACKET = re.compile(rb'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)|[\[{]|[\]}]', re.DOTALL)


def parse_json(data: bytes, file: object) -> object:
    """What a file says; of objects, each name once."""

    def pairs(found: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(found)
        if len(made) < len(found):
            seen: set[str] = set()
            for key, _ in found:
                if key in seen:
                    fail(file, f"the key {shown(key)} is there twice in one object")
                seen.add(key)
        return made

    def constant(word: str) -> None:
        fail(file, f"it has the number {word}, which JSON has not")

    def integer(digits: str) -> int:
        if len(digits) > MOST_DIGITS:
            fail(file, f"it has an integer of {len(digits)} digits, expected at most {MOST_DIGITS}")
        return int(digits)

    def real(digits: str) -> float:
        value = float(digits)
        if not math.isfinite(value):
            fail(file, f"it has the number {shown(digits)}, which float64 does not hold")
        return value

    _check_depth(data, file)
    try:
        found: object = json.loads(
            data.decode(),
            object_pairs_hook=pairs,
            parse_constant=constant,
            parse_int=integer,
            parse_float=real,
        )
    except UnicodeDecodeError as error:
        fail(file, f"byte {error.start} is not UTF-8")
    except json.JSONDecodeError as error:
        fail(file, f"it is not JSON: {error.msg} at line {error.lineno}, column {error.colno}")
    except RecursionError:
        fail(file, "its objects and lists lie deeper in each other than there is room for")
    return found


def _check_depth(data: bytes, file: object) -> None:
    depth = 0
    for match in _STRING_OR_BRACKET.finditer(data):
        first = data[match.start()]
        if first in b"[{":
            depth += 1
            if depth > MOST_DEEP:
                fail(file, f"its objects and lists lie more than {MOST_DEEP} deep in each other")
        elif first in b"]}":
            depth -= 1
