"""Thousands of damaged files of each kind, and what large lies cost."""

from __future__ import annotations

import struct
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
from tilewright.models.files import ModelError, open_gguf, open_safetensors

from . import damage, made

COUNT = 2500


def test_damaged_files(tmp_path: Path) -> None:
    found = damage.run(tmp_path, COUNT)
    assert len(found) == 8 + len(made.FOLDER)
    for name, (tried, read) in found.items():
        # Both happen, or it is not looked at what is damaged.
        assert 0 < read < tried, name


LIES: dict[str, tuple[Callable[[Path], object], Callable[[int], bytes]]] = {
    "lists": (open_safetensors, lambda n: made.safetensors_by_hand(b'{"a":[' + b"[]," * n)),
    "objects": (open_safetensors, lambda n: made.safetensors_by_hand(b'{"a":[' + b"{}," * n)),
    "names": (
        open_safetensors,
        lambda n: made.safetensors_by_hand({str(i): [] for i in range(n)}),
    ),
    "tensors": (
        open_safetensors,
        lambda n: made.safetensors_by_hand({str(i): made.entry("U8", [0], 0, 0) for i in range(n)}),
    ),
    "quotes": (open_safetensors, lambda n: made.safetensors_by_hand(b'{"' + b'\\"' * n)),
    "infos": (
        open_gguf,
        lambda n: made.gguf_by_hand([], [made.gguf_info(str(i), (), 0, 0) for i in range(n)]),
    ),
    "empty strings": (
        open_gguf,
        lambda n: made.gguf_by_hand(
            [made.gguf_value("x", 9, struct.pack("<IQ", 8, n) + bytes(8 * n))]
        ),
    ),
    "empty arrays": (
        open_gguf,
        lambda n: made.gguf_by_hand(
            [made.gguf_value("x", 9, struct.pack("<IQ", 9, n) + struct.pack("<IQ", 0, 0) * n)]
        ),
    ),
    "values": (
        open_gguf,
        lambda n: made.gguf_by_hand([made.gguf_value(str(i), 0, b"\0") for i in range(n)]),
    ),
}


@pytest.mark.parametrize("name", LIES)
def test_memory_follows_the_file(name: str, tmp_path: Path) -> None:
    """What is made of a file of a megabyte is a small multiple of it."""
    read, make = LIES[name]
    raw = make(20_000)
    path = tmp_path / "large"
    path.write_bytes(raw)
    tracemalloc.start()
    try:
        read(path)
    except ModelError:
        pass
    finally:
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert most <= damage.MOST_MEMORY_BASE + damage.MOST_MEMORY_FACTOR * len(raw)
