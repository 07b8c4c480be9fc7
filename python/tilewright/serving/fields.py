"""Fields of a body, read one by one; what is wrong is named with its value."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Mapping
from typing import Any, NoReturn

from tilewright.models.files.errors import shown
from tilewright.serving.errors import ApiError, refuse


def parse_body(body: bytes) -> dict[str, Any]:
    """The object of JSON that a body is."""
    try:
        found = json.loads(body.decode(), parse_constant=no_constant)
    except RecursionError:
        raise ApiError(400, "the body is nested too deeply") from None
    except ValueError as error:
        raise ApiError(400, f"the body is no JSON: {error}") from None
    if not isinstance(found, dict):
        raise ApiError(400, f"the body is {shown(found)}, expected an object of JSON")
    return found


def no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")


class Fields:
    """What a request says; what is null is as what is not there."""

    def __init__(
        self, body: Mapping[str, Any], known: Collection[str], unsupported: Mapping[str, Any]
    ) -> None:
        """`unsupported` are fields that may only be what does nothing: of each such values."""
        self.body = {name: value for name, value in body.items() if value is not None}
        for name, value in self.body.items():
            if name in known:
                continue
            if name not in unsupported:
                refuse(name[:80], f"the field {shown(name)} is unknown; there are "
                       f"{', '.join(sorted(known))}", "unknown_field")  # fmt: skip
            if not any(type(value) is type(one) and value == one for one in unsupported[name]):
                refuse(name, f"{name} is {shown(value)}, which is not supported here; leave it out",
                       "unsupported_field")  # fmt: skip

    def integer(self, name: str, low: int, high: int, default: int | None = None) -> int | None:
        value = self.body.get(name, default)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            refuse(name, f"{name} is {shown(value)}, expected an integer from {low} to {high}")
        return value

    def real(self, name: str, low: float, high: float, default: float) -> float:
        value = self.body.get(name, default)
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not low <= value <= high or not math.isfinite(value):
            refuse(name, f"{name} is {shown(value)}, expected a number from {low:g} to {high:g}")
        return float(value)

    def flag(self, name: str, default: bool = False) -> bool:
        value = self.body.get(name, default)
        if not isinstance(value, bool):
            refuse(name, f"{name} is {shown(value)}, expected true or false")
        return value

    def text(self, name: str, default: str | None = None) -> str | None:
        value = self.body.get(name, default)
        return None if value is None else checked_text(name, value)

    def texts(self, name: str, most: int) -> list[str]:
        """A text, or a list of a few."""
        value = self.body.get(name, [])
        every = [value] if isinstance(value, str) else value
        if not isinstance(every, list) or len(every) > most:
            refuse(name, f"{name} is {shown(value)}, expected a text or a list of at most {most}")
        found = [checked_text(f"{name}[{i}]", one, name) for i, one in enumerate(every)]
        if not all(found):
            refuse(name, f"{name} has an empty text, expected one of a character or more")
        return found


def checked_text(where: str, value: Any, param: str | None = None) -> str:
    if not isinstance(value, str):
        refuse(param or where, f"{where} is {shown(value)}, expected a text")
    try:
        value.encode()
    except UnicodeEncodeError:
        refuse(param or where, f"{where} is {shown(value)}, which is half of a character")
    return value
