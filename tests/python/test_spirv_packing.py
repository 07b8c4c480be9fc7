"""How the build packs SPIR-V modules; the tests of kernels unpack them."""

from __future__ import annotations

import random
import struct
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "cmake"))

from spirv_packing import packed


def unpacked(data: bytes) -> bytes:
    words: list[int] = []
    at = 0

    def number() -> int:
        nonlocal at
        value = shift = 0
        while True:
            value |= (data[at] & 127) << shift
            shift += 7
            at += 1
            if data[at - 1] < 128:
                return value

    while at < len(data):
        words += [number() for _ in range(number())]
        length, back = number(), number()
        for _ in range(length):
            words.append(words[-back])
    return struct.pack(f"<{len(words)}I", *words)


def words(*values: int) -> bytes:
    return struct.pack(f"<{len(values)}I", *values)


@pytest.mark.parametrize(
    "modules",
    [
        [],
        [words(0)],
        [words(0, 127, 128, 2**31, 2**32 - 1)],
        [words(*[7] * 100)],
        [words(*range(50)), words(*range(50))],
        [words(*range(50)), words(*range(10, 60))],
        [words(1, 2, 1, 2, 1, 2, 3)],
    ],
)
def test_what_comes_back(modules: list[bytes]) -> None:
    assert unpacked(packed(modules)) == b"".join(modules)


def test_what_comes_back_of_modules_that_are_much_alike() -> None:
    draw = random.Random(20260701)
    first = [draw.randrange(2 ** draw.choice([4, 12, 32])) for _ in range(2000)]
    modules = []
    for _ in range(5):
        again = [draw.randrange(2**32) if draw.random() < 0.02 else word for word in first]
        modules.append(words(*again[: draw.randrange(1000, 2000)]))
    data = packed(modules)
    assert unpacked(data) == b"".join(modules)
    assert len(data) < len(b"".join(modules)) / 3
