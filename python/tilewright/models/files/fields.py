"""Values of files by their names, each of the kind and within the bounds that are asked for."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from typing import Any, NoReturn, TypeVar

from tilewright.models.files.errors import fail, shown

Default = TypeVar("Default")

_REQUIRED: Any = object()

MOST_CHARACTERS = 4096
MOST_ITEMS = 4096


class Fields:
    """The values of one object of a file. What is null is as if it were not there. Errors name the
    file, the key, its value and what was expected."""

    __slots__ = ("_prefix", "file", "values")

    def __init__(self, file: object, values: object, prefix: str = "") -> None:
        if not isinstance(values, Mapping):
            what = f"{prefix.rstrip('.')} is " if prefix else "it is "
            fail(file, f"{what}{shown(values)}, expected an object")
        self.file, self.values, self._prefix = file, values, prefix

    def __contains__(self, key: str) -> bool:
        return self.values.get(key) is not None

    def fail(self, key: str, expected: str) -> NoReturn:
        found = self.values.get(key)
        said = "is not there" if found is None else f"is {shown(found)}"
        fail(self.file, f"{self._prefix}{key} {said}, expected {expected}")

    def integer(self, key: str, low: int, high: int, default: Default = _REQUIRED) -> int | Default:
        found = self._found(key)
        if found is None and default is not _REQUIRED:
            return default
        if type(found) is not int or not low <= found <= high:
            self.fail(key, f"an integer from {low} to {high}")
        return found

    def real(
        self, key: str, low: float, high: float, default: Default = _REQUIRED
    ) -> float | Default:
        found = self._found(key)
        if found is None and default is not _REQUIRED:
            return default
        if type(found) not in (int, float) or not low <= found <= high:
            self.fail(key, f"a number from {low:g} to {high:g}")
        return float(found)

    def flag(self, key: str, default: Default = _REQUIRED) -> bool | Default:
        found = self._found(key)
        if found is None and default is not _REQUIRED:
            return default
        if not isinstance(found, bool):
            self.fail(key, "true or false")
        return found

    def string(
        self,
        key: str,
        default: Default = _REQUIRED,
        *,
        most: int = MOST_CHARACTERS,
        choices: Collection[str] = (),
    ) -> str | Default:
        found = self._found(key)
        if found is None and default is not _REQUIRED:
            return default
        expected = f"one of {', '.join(choices)}" if choices else _text(most)
        if not _is_text(found, most) or (choices and found not in choices):
            self.fail(key, expected)
        return str(found)

    def strings(
        self, key: str, default: Default = _REQUIRED, *, most: int = MOST_ITEMS
    ) -> tuple[str, ...] | Default:
        found = self._items(key, f"a list of at most {most} strings", most, default)
        if found is None:
            return default
        if not all(_is_text(one, MOST_CHARACTERS) for one in found):
            self.fail(key, f"a list of strings, each {_text(MOST_CHARACTERS)}")
        return tuple(found)

    def integers(
        self,
        key: str,
        low: int,
        high: int,
        default: Default = _REQUIRED,
        *,
        most: int = MOST_ITEMS,
        or_one: bool = False,
    ) -> tuple[int, ...] | Default:
        """A list of integers; `or_one` also takes one that is not in a list."""
        one = " or one of these" if or_one else ""
        expected = f"a list of at most {most} integers from {low} to {high}{one}"
        if or_one and type(self._found(key)) is int:
            found: Iterable[Any] | None = (self._found(key),)
        else:
            found = self._items(key, expected, most, default)
        if found is None:
            return default
        if not all(type(item) is int and low <= item <= high for item in found):
            self.fail(key, expected)
        return tuple(found)

    def reals(
        self, key: str, low: float, high: float, default: Default = _REQUIRED, *, most: int
    ) -> tuple[float, ...] | Default:
        expected = f"a list of at most {most} numbers from {low:g} to {high:g}"
        found = self._items(key, expected, most, default)
        if found is None:
            return default
        if not all(type(one) in (int, float) and low <= one <= high for one in found):
            self.fail(key, expected)
        return tuple(map(float, found))

    def section(self, key: str) -> Fields | None:
        """An object within this one, where it is."""
        found = self._found(key)
        return None if found is None else Fields(self.file, found, f"{self._prefix}{key}.")

    def _items(self, key: str, expected: str, most: int, default: object) -> list[Any] | None:
        found = self._found(key)
        if found is None and default is not _REQUIRED:
            return None
        if not isinstance(found, list) or len(found) > most:
            self.fail(key, expected)
        return found

    def _found(self, key: str) -> Any:
        found = self.values.get(key)
        # A number in a message is short, and no comparison has to take infinity or NaN.
        if isinstance(found, float) and not math.isfinite(found):
            self.fail(key, "a finite number")
        return found


def _text(most: int) -> str:
    return f"a string of at most {most} characters"


def _is_text(value: object, most: int) -> bool:
    """Whether it is a string that is short enough and can be written as UTF-8."""
    return isinstance(value, str) and len(value) <= most and _is_unicode(value)


def _is_unicode(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True
