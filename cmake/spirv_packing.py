"""Packs SPIR-V modules, which are much alike, one after the other: LZ77 over words.

The bytes are a sequence of runs, each four numbers: how many words come as they are, these words,
how many are repeated from before, and from how many words back. A number has seven bits a byte, the
lowest first, with the highest bit set in all but its last. csrc/gpu/spirv_kernels.cpp unpacks them.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable

# The shortest repetition, and how many places with the same words are tried.
SHORTEST = 3
TRIED = 8


def number(value: int, out: bytearray) -> None:
    while value >= 128:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)


def packed(modules: Iterable[bytes]) -> bytes:
    words = array("I", b"".join(modules))
    out = bytearray()
    seen: dict[tuple[int, ...], list[int]] = {}

    def run(first: int, end: int, length: int, back: int) -> None:
        number(end - first, out)
        for word in words[first:end]:
            number(word, out)
        number(length, out)
        number(back, out)

    def note(at: int) -> None:
        seen.setdefault(tuple(words[at : at + SHORTEST]), []).append(at)

    plain = at = 0
    while at < len(words):
        length, back = 0, 0
        for start in reversed(seen.get(tuple(words[at : at + SHORTEST]), [])[-TRIED:]):
            here = alike(words, start, at)
            if here > length:
                length, back = here, at - start
        if length >= SHORTEST:
            run(plain, at, length, back)
            for i in range(at, at + length):
                note(i)
            plain = at = at + length
        else:
            note(at)
            at += 1
    run(plain, len(words), 0, 0)
    return bytes(out)


def alike(words: array[int], a: int, b: int) -> int:
    """How many words from two places on are the same, `a` before `b`."""
    length = 0
    while b + length < len(words) and words[a + length] == words[b + length]:
        length += 1
    return length
