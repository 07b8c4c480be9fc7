"""SentencePiece's table of what characters become, checked before anything is looked up in it."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from tilewright.models.files.errors import fail

SIZE_BYTES, UNIT_BYTES = 4, 4
LABELS = np.arange(1, 256, dtype=np.int64)
# Of a unit: its label has this bit where it is a value, and so has no children.
IS_VALUE = 1 << 31
MOST_AT_ONCE = 1 << 10
# Of the characters that become something together, in bytes.
MOST_DEEP = 1 << 10


def check_charsmap(file: object, key: str, data: bytes) -> None:
    """The size of a double array, its units, and the texts that their values point into, each of
    them ended by a zero."""

    def wrong(what: str) -> NoReturn:
        fail(file, f"{key} {what}: it is cut short or damaged")

    if len(data) < SIZE_BYTES:
        wrong(f"has {len(data)} bytes, expected the size of a trie in the first {SIZE_BYTES}")
    size = int.from_bytes(data[:SIZE_BYTES], "little")
    if size > len(data) - SIZE_BYTES:
        wrong(f"has a trie of {size} bytes, where {len(data) - SIZE_BYTES} are left")
    if not size or size % UNIT_BYTES:
        wrong(f"has a trie of {size} bytes, expected a multiple of {UNIT_BYTES} above 0")
    texts = data[SIZE_BYTES + size :]
    if not texts.endswith(b"\0"):
        wrong("has texts that do not end with a zero")
    try:
        texts.decode()
    except UnicodeDecodeError as error:
        wrong(f"has texts that are no UTF-8 at byte {error.start}")
    units = np.frombuffer(data, "<u4", size // UNIT_BYTES, SIZE_BYTES).astype(np.int64)
    raw = np.frombuffer(texts, np.uint8)
    seen = np.zeros(len(units), np.bool_)
    seen[0] = True
    level = np.zeros(1, np.int64)
    for _ in range(MOST_DEEP):
        below = []
        # Some at a time, for a level may be as wide as the file is long.
        for first in range(0, len(level), MOST_AT_ONCE):
            found = _children(units, raw, level[first : first + MOST_AT_ONCE], wrong)
            new = np.unique(found[~seen[found]])
            seen[new] = True
            below.append(new)
        level = np.concatenate(below)
        if not level.size:
            return
    wrong(f"has a trie more than {MOST_DEEP} bytes deep")


def _children(units: Any, texts: Any, here: Any, wrong: Any) -> Any:
    """The units that these lead to, after a look at the values that they have."""
    held = units[here]
    bases = here ^ ((held >> 10) << ((held & (1 << 9)) >> 6))
    outside = (bases | 255) >= len(units)
    if outside.any():
        at = here[outside][0]
        wrong(f"has unit {at} point beyond the {len(units)} units of its trie")
    ends = bases[(held >> 8) & 1 == 1]
    values = units[ends] & (IS_VALUE - 1)
    far = values >= len(texts)
    if far.any():
        wrong(f"has a value of {values[far][0]}, where there are {len(texts)} bytes of texts")
    within = (texts[values] & 0xC0) == 0x80
    if within.any():
        wrong(f"has a value of {values[within][0]}, which lies within a character")
    places = bases[:, None] ^ LABELS
    is_child = (units[places] & (IS_VALUE | 255)) == LABELS
    return places[is_child]
