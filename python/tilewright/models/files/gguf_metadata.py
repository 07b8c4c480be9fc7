"""What a GGUF file says of its model: values of 13 types under names, decoded when asked for."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from tilewright.models.files.errors import fail, shown
from tilewright.models.files.mapped import MappedFile

if TYPE_CHECKING:
    import numpy.typing as npt

Value: TypeAlias = "int | float | bool | str | npt.NDArray[Any] | list[Any]"

BOOL, STRING, ARRAY = 7, 8, 9
# By the number of a type, what struct and NumPy call it.
SCALARS = {
    0: "B",
    1: "b",
    2: "H",
    3: "h",
    4: "I",
    5: "i",
    6: "f",
    7: "B",
    10: "Q",
    11: "q",
    12: "d",
}
STRUCTS = {kind: struct.Struct(f"<{code}") for kind, code in SCALARS.items()}
DTYPES = {kind: np.dtype(f"<{code}") for kind, code in SCALARS.items()}
U32, U64 = STRUCTS[4], STRUCTS[10]

MOST_DEEP = 4
MOST_NAME_BYTES = 65535
# Of what a nested array says of itself.
ARRAY_BYTES = 12


class Cursor:
    """A place in a file. Nothing beyond its end is read, and no count that it has no bytes for is
    believed."""

    __slots__ = ("data", "end", "file", "pos")

    def __init__(self, file: MappedFile, pos: int) -> None:
        self.file, self.data, self.end, self.pos = file, file.data, file.size, pos

    def take(self, form: struct.Struct, what: str) -> Any:
        start = self.skip(form.size, what)
        return form.unpack_from(self.data, start)[0]

    def skip(self, size: int, what: str) -> int:
        """Where it was; it is behind so many bytes then."""
        start = self.pos
        if size > self.end - start:
            text = f"{what} takes {size} bytes from byte {start}, where {self.end - start} are left"
            fail(self.file, f"{text}: it is cut short or damaged")
        self.pos = start + size
        return start

    def count(self, least: int, what: str) -> int:
        """A number of items, each of at least so many bytes."""
        found: int = self.take(U64, f"the number of {what}")
        if found * least > self.end - self.pos:
            text = f"there are to be {found} {what} in {self.end - self.pos} bytes"
            fail(self.file, f"{text}: it is cut short or damaged")
        return found

    def string(self, what: str, most: int | None = None) -> str:
        size = self.take(U64, f"the length of {what}")
        if most is not None and size > most:
            fail(self.file, f"{what} has {size} bytes, expected at most {most}")
        start = self.skip(size, what)
        try:
            return self.data[start : self.pos].decode()
        except UnicodeDecodeError:
            text = shown(self.data[start : min(self.pos, start + 256)])
            fail(self.file, f"{what} is {text}, expected UTF-8")


def skip_value(at: Cursor, kind: int, key: str, depth: int = 0) -> None:
    """Goes behind a value, and checks that all of it lies within the file."""
    what = f"the value of {key}"
    if kind in SCALARS:
        at.skip(STRUCTS[kind].size, what)
    elif kind == STRING:
        at.skip(at.take(U64, what), what)
    elif kind == ARRAY:
        inner, count = _array(at, key, depth)
        if inner in SCALARS:
            at.skip(count * STRUCTS[inner].size, what)
        elif inner == STRING:
            _skip_strings(at, count, what)
        else:
            for _ in range(count):
                skip_value(at, ARRAY, key, depth + 1)
    else:
        fail(at.file, f"{key} is of type {kind}, expected one of 0 to 12")


def _array(at: Cursor, key: str, depth: int) -> tuple[int, int]:
    """The type and the number of its elements."""
    if depth == MOST_DEEP:
        fail(at.file, f"{key} has arrays more than {MOST_DEEP} deep in each other")
    inner = at.take(U32, f"the type of {key}")
    if inner in SCALARS:
        least = STRUCTS[inner].size
    elif inner in (STRING, ARRAY):
        least = U64.size if inner == STRING else ARRAY_BYTES
    else:
        fail(at.file, f"{key} is an array of type {inner}, expected one of 0 to 12")
    return inner, at.count(least, f"elements of {key}")


def _skip_strings(at: Cursor, count: int, what: str) -> None:
    # 150,000 of them: a loop that does little.
    data, last, pos, unpack = at.data, at.end - U64.size, at.pos, U64.unpack_from
    for _ in range(count):
        if pos > last:
            break
        pos += U64.size + unpack(data, pos)[0]
    else:
        if pos <= at.end:
            at.pos = pos
            return
    fail(at.file, f"a string of {what} reaches beyond byte {at.end}: it is cut short or damaged")


def read_value(at: Cursor, kind: int, key: str) -> Value:
    """A value that skip_value() has gone through."""
    if kind in SCALARS:
        found: int | float = at.take(STRUCTS[kind], key)
        if kind != BOOL:
            return found
        if found > 1:
            fail(at.file, f"{key} is a bool of {found}, expected 0 or 1")
        return bool(found)
    if kind == STRING:
        return at.string(key)
    inner, count = _array(at, key, 0)
    if inner == STRING:
        return [at.string(f"{key}[{i}]") for i in range(count)]
    if inner == ARRAY:
        return [read_value(at, ARRAY, key) for _ in range(count)]
    start = at.skip(count * STRUCTS[inner].size, key)
    values: npt.NDArray[Any] = np.ndarray((count,), DTYPES[inner], at.data, start).copy()
    if inner != BOOL:
        return values
    if count and values.max() > 1:
        fail(at.file, f"{key} has a bool of {values.max()}, expected 0 or 1")
    return values.view(np.bool_)


class GgufMetadata(Mapping[str, Value]):
    """Values by their names: numbers, bools and strings, NumPy's arrays of numbers, lists of
    strings and of arrays. They are decoded anew each time, so keep what is large."""

    def __init__(self, file: MappedFile) -> None:
        self.file = file
        self._places: dict[str, tuple[int, int]] = {}

    def scan(self, at: Cursor, count: int) -> None:
        """Takes in so many values from here on."""
        for i in range(count):
            key = at.string(f"name {i} of the metadata", MOST_NAME_BYTES)
            if key in self._places:
                fail(at.file, f"the metadata has {shown(key)} twice")
            kind = at.take(U32, f"the type of {shown(key)}")
            self._places[key] = (kind, at.pos)
            skip_value(at, kind, shown(key))

    def __getitem__(self, key: str) -> Value:
        kind, pos = self._places[key]
        return read_value(Cursor(self.file, pos), kind, shown(key))

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def __contains__(self, key: object) -> bool:
        return key in self._places
