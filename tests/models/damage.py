"""Files of models, damaged in every way: `cd tests && python -m models.damage --count 100000`.

What is damaged, and how, follows from a number alone. A file may be refused, by a ModelError, or
read; nothing else may come of it.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import random
import struct
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from tilewright.models.files import (
    ModelError,
    StoredTensors,
    gguf_tokens,
    open_folder,
    open_gguf,
    open_safetensors,
)
from tilewright.models.files.dtypes import KINDS

from . import made, unigrams

INTEGERS = (
    0, 1, 2, 3, 4, 7, 8, 9, 13, 24, 31, 32, 33, 64, 127, 128, 255, 256, 1 << 16, (1 << 31) - 1,
    1 << 31, (1 << 32) - 1, 1 << 32, 1 << 40, (1 << 61) + 1, (1 << 62), (1 << 63) - 1, 1 << 63,
    (1 << 64) - 32, (1 << 64) - 1,
)  # fmt: skip
WORDS = (
    "-1", "0", "1", "1e999", "-1e999", "NaN", "Infinity", "1.5", "true", "null", '"x"', "[]", "{}",
    "18446744073709551615", "18446744073709551616", "9223372036854775807", "9" * 70, "9" * 5000,
    "1e30", "[[", "[" * 200, '{"a":' * 200, '"\\ud800"', '"\\u0000"', '"', "\\", ",", ":", "}",
    '"__metadata__"', '"a":1,', "\ufeff", "../", "1e-400", "-0",
)  # fmt: skip

# More than files need: what is read of a header of JSON, as objects of Python.
MOST_MEMORY_FACTOR, MOST_MEMORY_BASE = 40, 400_000


def damaged(raw: bytes, draw: random.Random) -> bytes:
    """A file with a few things wrong with it."""
    data = bytearray(raw)
    for _ in range(draw.choice((1, 1, 1, 2, 4))):
        at = draw.randrange(len(data)) if data else 0
        match draw.randrange(10):
            case 0:
                data[at : at + 1] = bytes([draw.randrange(256)])
            case 1 if data:
                data[at] ^= 1 << draw.randrange(8)
            case 2:
                value = draw.choice((*INTEGERS, len(data), max(len(data) - at, 0)))
                data[at : at + 8] = struct.pack("<Q", value % (1 << 64))
            case 3:
                data[at : at + 4] = struct.pack("<I", draw.choice(INTEGERS) % (1 << 32))
            case 4:
                del data[at:]
            case 5:
                del data[at : at + draw.choice((1, 4, 8, 32, 100))]
            case 6:
                data[at:at] = draw.randbytes(draw.choice((1, 4, 8, 32, 100)))
            case 7:
                piece = data[at : at + draw.choice((1, 8, 32, 200))]
                to = draw.randrange(len(data) + 1)
                data[to:to] = piece
            case 8:
                data += draw.randbytes(draw.choice((1, 31, 1000)))
            case _:
                word = draw.choice(WORDS).encode("utf-8", "surrogatepass")
                data[at : at + draw.choice((0, 1, len(word)))] = word
    return bytes(data)


def damaged_text(raw: bytes, draw: random.Random) -> bytes:
    """JSON in which a word or a number is another one."""
    text = raw.decode()
    for _ in range(draw.choice((1, 1, 2, 3))):
        starts = [i for i, sign in enumerate(text) if sign in '0123456789"[{,:tfn']
        if not starts:
            break
        at = draw.choice(starts)
        end = at + 1
        while end < len(text) and text[end] not in ',:]}"':
            end += 1
        text = text[:at] + draw.choice(WORDS) + text[draw.choice((at, at + 1, end)) :]
    return text.encode("utf-8", "surrogatepass")


def damaged_safetensors(raw: bytes, draw: random.Random) -> bytes:
    """Half of them with a length that is that of the damaged header."""
    if draw.randrange(2):
        return damaged(raw, draw)
    end = 8 + int.from_bytes(raw[:8], "little")
    header = draw.choice((damaged, damaged_text))(raw[8:end], draw)
    return struct.pack("<Q", len(header)) + header + raw[end:]


def damaged_json(raw: bytes, draw: random.Random) -> bytes:
    return draw.choice((damaged, damaged_text))(raw, draw)


def read_tensors(found: StoredTensors) -> None:
    """All that there is, by its first and last byte."""
    for tensor in found.values():
        kind = KINDS[tensor.dtype]
        with contextlib.suppress(ModelError):
            array = tensor.blocks() if kind.is_blocks else tensor.array()
            flat = array.reshape(-1).view(np.uint8)
            if flat.size:
                assert 0 <= int(flat[0]) + int(flat[-1]) <= 510
    assert found.total_bytes <= sum(file.size for file in found.files)


def read_safetensors(path: Path) -> None:
    with open_safetensors(path) as found:
        read_tensors(found)


def read_gguf(path: Path) -> None:
    with open_gguf(path) as found:
        read_tensors(found)
        for key in found.metadata:
            with contextlib.suppress(ModelError):
                assert found.metadata[key] is not None


def read_tokens(path: Path) -> None:
    with open_gguf(path) as found:
        made_of_it = gguf_tokens(found.metadata)
        made_of_it.tokenizer.encode("a few words, 12 \u00e9")


def read_folder(path: Path) -> None:
    open_folder(path.parent)


@dataclass(frozen=True)
class Kind:
    name: str
    path: Path
    raw: bytes
    damage: Callable[[bytes, random.Random], bytes]
    read: Callable[[Path], None]


def kinds(folder: Path) -> Iterator[Kind]:
    """Files that are right, each in a folder of its own."""

    def path(name: str) -> Path:
        (folder / name.replace(".", "_")).mkdir()
        return folder / name.replace(".", "_") / name

    one = made.safetensors_file(
        path("a.safetensors"),
        {
            "weights": ("F32", (2, 3), bytes(24)),
            "bias": ("BF16", (3,), bytes(6)),
            "mask": ("BOOL", (2, 2), bytes(4)),
            "none": ("I64", (0, 4), b""),
            "small": ("F8_E4M3", (5,), bytes(5)),
        },
        {"format": "pt", "by": "\u00e9"},
    )
    yield Kind("safetensors", one, one.read_bytes(), damaged_safetensors, read_safetensors)
    two = made.gguf_file(path("a.gguf"))
    yield Kind("gguf", two, two.read_bytes(), damaged, read_gguf)
    part = path("m-00001-of-00002.gguf")
    for number in (0, 1):
        file = part.with_name(f"m-0000{number + 1}-of-00002.gguf")
        file.write_bytes(made.part_by_hand(number, 2, made.gguf_info(f"t{number}", (1,), 0, 0)))
    yield Kind("split gguf", part, part.read_bytes(), damaged, read_gguf)
    three = path("model.safetensors.index.json")
    names = {"a": "model-1.safetensors", "b": "model-1.safetensors"}
    made.safetensors_file(three.with_name(names["a"]), dict.fromkeys(names, ("U8", (1,), b"\1")))
    three.write_text(json.dumps({"metadata": {}, "weight_map": names}))
    yield Kind("index", three, three.read_bytes(), damaged_json, read_safetensors)
    for name, content in made.FOLDER.items():
        home = folder / f"folder_{name.replace('/', '_')}"
        for other, text in made.FOLDER.items():
            (home / other).parent.mkdir(parents=True, exist_ok=True)
            (home / other).write_text(json.dumps(text))
        at = home / name
        read = read_folder if at.parent == home else lambda path: read_folder(path.parent)
        yield Kind(name, at, json.dumps(content).encode(), damaged_json, read)
    for make in (made.byte_level_file, made.scores_file, made.word_piece_file):
        file = make(path(f"{make.__name__}.gguf"))
        yield Kind(make.__name__, file, file.read_bytes(), damaged, read_tokens)
    table = unigrams.charsmap({"\u00e9": "e", "\u3000": " "})
    file = unigrams.unigram_file(path("unigram.gguf"), unigrams.small(table=table), table)
    yield Kind("unigram", file, file.read_bytes(), damaged, read_tokens)


def attempt(kind: Kind, number: int, *, measured: bool = False) -> bool:
    """Whether a damaged file was read all the same."""
    raw = kind.damage(kind.raw, random.Random(f"{kind.name} {number}"))
    kind.path.write_bytes(raw)
    if measured:
        tracemalloc.start()
    try:
        kind.read(kind.path)
        return True
    except ModelError as error:
        assert str(kind.path.parent) in str(error), f"no file is named: {error}"
        return False
    finally:
        if measured:
            most = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            bound = MOST_MEMORY_BASE + MOST_MEMORY_FACTOR * len(raw)
            assert most <= bound, f"{most} bytes of memory for a file of {len(raw)}"


def run(folder: Path, count: int, only: str | None = None) -> dict[str, tuple[int, int]]:
    """Of each kind how many were tried and how many of these were read; the number of what fails
    is in the error."""
    found = {}
    for kind in kinds(folder):
        if only not in (None, kind.name):
            continue
        assert kind.path.read_bytes() == kind.raw
        kind.read(kind.path)
        is_slow = kind.read is read_tokens
        tried = range(count // 20 if is_slow else count)
        read = 0
        for number in tried:
            try:
                read += attempt(kind, number, measured=number % 50 == 0)
            except BaseException as error:
                error.add_note(f"{kind.name}, number {number}")
                raise
        found[kind.name] = (len(tried), read)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100_000, help="of all kinds together")
    parser.add_argument("--only", help="one kind")
    options = parser.parse_args()
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        share = 1 if options.only else len(made.FOLDER) + 4
        for name, (tried, read) in run(Path(folder), options.count // share, options.only).items():
            print(f"{name}: {tried} damaged files, {read} read, the others refused")
    print(f"{time.perf_counter() - start:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
