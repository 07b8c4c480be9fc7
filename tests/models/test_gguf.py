"""Files of GGUF: as the package gguf writes them, split ones, and wrong ones."""

from __future__ import annotations

import math
import struct
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
import tilewright as tw
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType
from tilewright.models.files import ModelError, open_gguf
from tilewright.models.files.dtypes import GGML
from tilewright.quant.formats import FORMATS

from .made import (
    NUMBERS,
    gguf_by_hand,
    gguf_file,
    gguf_info,
    gguf_value,
    gguf_values,
    part_by_hand,
    text,
    write,
)

PLAIN = {
    "F32": "float32", "F16": "float16", "F64": "float64", "BF16": "bfloat16",
    "I8": "int8", "I16": "int16", "I32": "int32", "I64": "int64",
}  # fmt: skip
U32, U64 = "<I", "<Q"
STRING, ARRAY = 8, 9


def test_values_of_every_type(tmp_path: Path) -> None:
    writer = gguf.GGUFWriter(tmp_path / "a.gguf", "llama")
    gguf_values(writer)
    write(writer)
    found = open_gguf(tmp_path / "a.gguf").metadata
    assert found["general.architecture"] == "llama"
    for kind, value in NUMBERS.items():
        assert found[f"one.{kind}"] == value
        assert type(found[f"one.{kind}"]) is type(value)
    assert len(found) == 1 + len(NUMBERS) + 5
    for key, dtype, values in (
        ("many.ints", np.int32, [1, -2, 3]),
        ("many.floats", np.float32, [0.5, 1.5]),
        ("many.bools", np.bool_, [True, False]),
    ):
        array = found[key]
        assert isinstance(array, np.ndarray) and array.dtype == dtype
        assert array.tolist() == values
    assert found["many.strings"] == ["a", "", "\u00e9"]
    lists = found["many.lists"]
    assert isinstance(lists, list)
    assert [one.tolist() for one in lists] == [[1, 2], [3]]
    assert "nothing" not in found and found.get("nothing") is None


@pytest.mark.parametrize("kind", [0, 1, 2, 3, 4, 5, 6, 7, 10, 11, 12])
def test_arrays_of_every_type(kind: int, tmp_path: Path) -> None:
    """Also those that the package does not write."""
    form = {
        0: "B",
        1: "b",
        2: "H",
        3: "h",
        4: "I",
        5: "i",
        6: "f",
        7: "?",
        10: "Q",
        11: "q",
        12: "d",
    }
    values = [1, 0, 1]
    raw = struct.pack("<IQ", kind, 3) + struct.pack(f"<3{form[kind]}", *values)
    empty = struct.pack("<IQ", kind, 0)
    path = tmp_path / "a.gguf"
    path.write_bytes(gguf_by_hand([gguf_value("x", ARRAY, raw), gguf_value("y", ARRAY, empty)]))
    found = open_gguf(path).metadata
    for key, expected in (("x", values), ("y", [])):
        array = found[key]
        assert isinstance(array, np.ndarray)
        assert array.dtype == np.dtype(form[kind])
        assert array.tolist() == expected


def test_every_type_is_known() -> None:
    for number, kind in GGML.items():
        if number in {4, 5, 31, 32, 33, 36, 37, 38}:
            continue  # gone from ggml, and from the package
        theirs = GGMLQuantizationType(number)
        assert PLAIN.get(theirs.name, theirs.name.lower()) == kind.name
        # The package's q8_1 is of before its scales were float16; no file has it.
        if kind.name != "q8_1":
            assert GGML_QUANT_SIZES[theirs] == (kind.block, kind.bytes)
    assert {one.value for one in GGMLQuantizationType} <= set(GGML)


@pytest.mark.parametrize("kind", PLAIN)
def test_every_plain_type(kind: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    dtype = np.dtype("uint16" if kind == "BF16" else PLAIN[kind])
    arrays = {
        f"t{i}": rng.integers(0, 100, shape).astype(dtype)
        for i, shape in enumerate(((5,), (2, 3), (4, 1, 2), (2, 3, 4, 5)))
    }
    writer = gguf.GGUFWriter(tmp_path / "a.gguf", "llama")
    for name, array in arrays.items():
        writer.add_tensor(name, array, raw_dtype=GGMLQuantizationType[kind])
    write(writer)
    with open_gguf(tmp_path / "a.gguf") as found:
        assert list(found) == list(arrays)
        assert found.total_bytes == sum(array.nbytes for array in arrays.values())
        for name, array in arrays.items():
            assert (found[name].dtype, found[name].shape) == (PLAIN[kind], array.shape)
            read = found[name].array()
            assert read.dtype == dtype and not read.flags.writeable
            np.testing.assert_array_equal(read, array)
            with pytest.raises(ModelError, match=f"it is {PLAIN[kind]}, of which there are no bl"):
                found[name].blocks()


@pytest.mark.parametrize("kind", [one for one in GGMLQuantizationType if one.name not in PLAIN])
def test_every_type_of_blocks(kind: GGMLQuantizationType, tmp_path: Path) -> None:
    block, size = GGML_QUANT_SIZES[kind]
    if kind == GGMLQuantizationType.Q8_1:
        size = 36
    shape, rows = (
        (2, 3, 2 * block),
        np.random.default_rng(0).integers(0, 256, (6, 2 * size), np.uint8),
    )
    raw = gguf_by_hand([], [gguf_info("w", shape[::-1], kind.value, 0)], rows.tobytes())
    path = tmp_path / "a.gguf"
    path.write_bytes(raw)
    tensor = open_gguf(path)["w"]
    name = kind.name.lower()
    assert (tensor.dtype, tensor.shape, tensor.nbytes) == (name, shape, rows.size)
    assert tensor.is_quantized == (name in FORMATS)
    if name in FORMATS:
        np.testing.assert_array_equal(tensor.blocks(), rows)
        assert not tensor.blocks().flags.writeable
        with pytest.raises(ModelError, match="there are no arrays: blocks"):
            tensor.array()
    else:
        for read in (tensor.array, tensor.blocks):
            with pytest.raises(
                ModelError, match=rf"a\.gguf: tensor 'w': it is {name}, .* cannot be"
            ):
                read()
    narrow = gguf_by_hand([], [gguf_info("w", (block // 2, 2), kind.value, 0)], bytes(size))
    path.write_bytes(narrow)
    with pytest.raises(
        ModelError, match=f"{block // 2} elements .*, expected a multiple of {block}"
    ):
        open_gguf(path)


@pytest.mark.parametrize("name", FORMATS)
def test_blocks_are_taken_by_quant(name: str, tmp_path: Path) -> None:
    """From the file to the device, the values that the package gives."""
    kind = GGMLQuantizationType[name.upper()]
    block, size = GGML_QUANT_SIZES[kind]
    rows = np.random.default_rng(1).integers(0, 256, (3, 2 * size), np.uint8)
    writer = gguf.GGUFWriter(tmp_path / "a.gguf", "llama")
    writer.add_tensor("w", rows, raw_dtype=kind)
    write(writer)
    tensor = open_gguf(tmp_path / "a.gguf")["w"]
    with tw.device("cpu"), np.errstate(all="ignore"):
        made = tw.quant.QuantizedTensor.from_blocks(tensor.blocks(), tensor.dtype, tensor.shape)
        found = made.dequantize().numpy()
        np.testing.assert_array_equal(found, gguf.dequantize(rows, kind).reshape(3, 2 * block))


def test_scalars_and_nothing(tmp_path: Path) -> None:
    infos = [
        gguf_info("scalar", (), 0, 0),
        gguf_info("empty", (4, 0), 0, 32),
        gguf_info("no blocks", (0, 3), 12, 32),
    ]
    path = tmp_path / "a.gguf"
    path.write_bytes(gguf_by_hand([], infos, struct.pack("<f", 2.5)))
    found = open_gguf(path)
    assert found["scalar"].array().shape == () and found["scalar"].array() == 2.5
    assert found["empty"].array().shape == (0, 4)
    assert found["no blocks"].blocks().shape == (3, 0)
    assert found.total_bytes == 4
    path.write_bytes(gguf_by_hand())
    assert len(open_gguf(path)) == 0
    # Nothing is behind the last name.
    raw = b"GGUF" + struct.pack("<IQQ", 2, 1, 0) + gguf_info("e", (0,), 0, 0)
    path.write_bytes(raw)
    assert open_gguf(path)["e"].array().size == 0


@pytest.mark.parametrize("alignment", [8, 32, 64, 4096])
def test_alignment(alignment: int, tmp_path: Path) -> None:
    writer = gguf.GGUFWriter(tmp_path / "a.gguf", "llama")
    writer.add_custom_alignment(alignment)
    for i in range(3):
        writer.add_tensor(f"t{i}", np.full(3, i, np.float32))
    write(writer)
    found = open_gguf(tmp_path / "a.gguf")
    for i in range(3):
        assert found[f"t{i}"].offset % alignment == 0
        np.testing.assert_array_equal(found[f"t{i}"].array(), np.full(3, i, np.float32))


def test_version_2(tmp_path: Path) -> None:
    path = tmp_path / "a.gguf"
    path.write_bytes(gguf_by_hand([gguf_value("x", 4, struct.pack(U32, 7))], version=2))
    assert dict(open_gguf(path).metadata) == {"x": 7}


def split(folder: Path) -> list[Path]:
    writer = gguf.GGUFWriter(folder / "m.gguf", "llama", split_max_tensors=2)
    for i in range(5):
        writer.add_tensor(f"t{i}", np.full((2, 3), i, np.float32))
    write(writer)
    return sorted(folder.glob("m-*.gguf"))


def test_split_files(tmp_path: Path) -> None:
    parts = split(tmp_path)
    assert [part.name for part in parts] == [f"m-0000{i}-of-00003.gguf" for i in (1, 2, 3)]
    for part in parts:
        found = open_gguf(part)
        assert list(found) == [f"t{i}" for i in range(5)]
        assert all((found[f"t{i}"].array() == i).all() for i in range(5))
        assert found.metadata["general.architecture"] == "llama"
        assert len(found.files) == 3
        assert found.total_bytes == 5 * 24


def test_wrong_split_files(tmp_path: Path) -> None:
    parts = split(tmp_path)
    alone = tmp_path / "alone.gguf"
    alone.write_bytes(parts[0].read_bytes())
    with pytest.raises(ModelError, match=r"alone\.gguf: split\.count is 3, expected 1 by its name"):
        open_gguf(alone)
    parts[0].rename(tmp_path / "m-00001-of-00002.gguf")
    with pytest.raises(ModelError, match=r"-00001-of-00003\.gguf: it cannot be opened"):
        open_gguf(parts[1])
    parts[1].rename(tmp_path / "m-00002-of-00002.gguf")
    with pytest.raises(ModelError, match=r"split\.count is 3, expected 2 by its name"):
        open_gguf(tmp_path / "m-00001-of-00002.gguf")
    with pytest.raises(ModelError, match=r"its name says part 00003 of 2, expected one of 1 to 2"):
        open_gguf(tmp_path / "m-00003-of-00002.gguf")


def test_parts_in_each_others_place(tmp_path: Path) -> None:
    parts = split(tmp_path)
    raw = parts[1].read_bytes()
    parts[2].write_bytes(raw)
    with pytest.raises(ModelError, match=r"00003-of-00003\.gguf: split\.no is 1, expected 2"):
        open_gguf(parts[0])


def test_tensors_of_parts(tmp_path: Path) -> None:
    first, second = (tmp_path / f"m-0000{i}-of-00002.gguf" for i in (1, 2))
    first.write_bytes(part_by_hand(0, 2, gguf_info("a", (1,), 0, 0)))
    second.write_bytes(part_by_hand(1, 2, gguf_info("a", (1,), 0, 0)))
    with pytest.raises(ModelError, match=r"00002\.gguf: tensor 'a' is in this part and in"):
        open_gguf(first)
    second.write_bytes(part_by_hand(1, 2))
    with pytest.raises(ModelError, match=r"split\.tensors\.count is 2, but the parts have 1"):
        open_gguf(first)


def header(version: int, tensors: int = 0, values: int = 0) -> bytes:
    return b"GGUF" + struct.pack("<IQQ", version, tensors, values)


def one(info: bytes, data: bytes = bytes(64), *values: bytes) -> bytes:
    return gguf_by_hand(list(values), [info], data)


def nested(depth: int) -> bytes:
    return struct.pack("<IQ", ARRAY, 1) * depth + struct.pack("<IQI", 4, 1, 5)


ALIGNMENT = "general.alignment"
HUGE = 2**64 - 1
WRONG: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "it is empty"),
    "magic": (b"GGML" + bytes(20), "begins with b'GGML', expected b'GGUF'"),
    "short magic": (b"GG", "begins with b'GG', expected"),
    "no version": (b"GGUF\3", "the version takes 4 bytes"),
    "version 1": (header(1), "its version is 1, expected 2 or 3"),
    "version 4": (header(4), "its version is 4, expected 2 or 3"),
    "big-endian": (b"GGUF" + struct.pack(">IQQ", 3, 0, 0), "is 3 in big-endian order"),
    "no counts": (b"GGUF\3\0\0\0", "the number of tensors takes 8 bytes"),
    "huge tensors": (header(3, HUGE), f"there are to be {HUGE} tensors in 8 bytes"),
    "many tensors": (header(3, 2**31) + bytes(1000), "there are to be 2147483648 tensors"),
    "huge values": (header(3, 0, HUGE), f"there are to be {HUGE} values of metadata in 0 bytes"),
    "negative values": (header(3, 0, 2**63), "values of metadata in 0 bytes"),
    "a long name": (
        gguf_by_hand([struct.pack(U64, 70000) + bytes(70100)], counts=(0, 1)),
        "has 70000 bytes, expected at most 65535",
    ),
    "a name without end": (
        header(3, 0, 1) + struct.pack(U64, 1000) + bytes(100), "name 0 of the metadata takes 1000",
    ),
    "a name that wraps": (
        header(3, 0, 1) + struct.pack(U64, HUGE) + bytes(100),
        f"has {HUGE} bytes, expected at most",
    ),
    "not UTF-8": (
        gguf_by_hand([gguf_value(b"\xff", 4, bytes(4))]), r"is b'\\xff', expected UTF-8",
    ),
    "a key twice": (
        gguf_by_hand([gguf_value("x", 4, bytes(4))] * 2), "the metadata has 'x' twice",
    ),
    "a type": (gguf_by_hand([gguf_value("x", 13, bytes(8))]), "'x' is of type 13, expected"),
    "a string without end": (
        gguf_by_hand([gguf_value("x", STRING, struct.pack(U64, HUGE))]), f"'x' takes {HUGE} bytes",
    ),
    "a huge array": (
        gguf_by_hand([gguf_value("x", ARRAY, struct.pack("<IQ", 4, 2**62))]),
        "there are to be 4611686018427387904 elements of 'x'",
    ),
    "a huge array of strings": (
        gguf_by_hand([gguf_value("x", ARRAY, struct.pack("<IQ", STRING, HUGE))]), "elements of 'x'",
    ),
    "strings without end": (
        gguf_by_hand([gguf_value("x", ARRAY, struct.pack("<IQQQ", STRING, 2, 0, HUGE))]),
        "a string of the value of 'x' reaches beyond",
    ),
    "fewer strings": (
        header(3, 0, 1) + gguf_value("x", ARRAY, struct.pack("<IQQ", STRING, 2, 8) + bytes(8)),
        "a string of the value of 'x' reaches beyond",
    ),
    "an array of no type": (
        gguf_by_hand([gguf_value("x", ARRAY, struct.pack("<IQ", 99, 0))]), "an array of type 99",
    ),
    "deep arrays": (
        gguf_by_hand([gguf_value("x", ARRAY, nested(4))]), "arrays more than 4 deep",
    ),
    "very deep arrays": (
        gguf_by_hand([gguf_value("x", ARRAY, nested(100_000))]), "arrays more than 4 deep",
    ),
    "alignment of 0": (
        gguf_by_hand([gguf_value(ALIGNMENT, 4, bytes(4))]), "alignment is 0, expected a power of",
    ),
    "alignment of 24": (
        gguf_by_hand([gguf_value(ALIGNMENT, 4, struct.pack(U32, 24))]), "alignment is 24, expected",
    ),
    "alignment of 2**31": (
        gguf_by_hand([gguf_value(ALIGNMENT, 4, struct.pack(U32, 2**31))]),
        "alignment is 2147483648, expected a power of two",
    ),
    "alignment as a string": (
        gguf_by_hand([gguf_value(ALIGNMENT, STRING, text("32"))]), "alignment is '32', expected an",
    ),
    "five axes": (one(gguf_info("a", (1,) * 5, 0, 0)), "'a' has 5 axes, expected at most 4"),
    "huge axes": (one(gguf_info("a", (), 0, 0, 2**32 - 1)), "'a' has 4294967295 axes"),
    "a tensor's type": (one(gguf_info("a", (1,), 99, 0)), "'a' is of ggml's type 99, expected"),
    "beyond 64 bits": (one(gguf_info("a", (2**32, 2**32), 0, 0)), r"expected below 2\*\*63"),
    "a wrap to nothing": (one(gguf_info("a", (2**32,) * 4, 0, 0)), r"expected below 2\*\*63"),
    "nothing beyond 64 bits": (one(gguf_info("a", (2**63, 0), 0, 0)), r"expected below 2\*\*63"),
    "large": (one(gguf_info("a", (2**40,), 0, 0)), "'a' is bytes .* it is cut short"),
    "outside": (one(gguf_info("a", (4,), 0, 64)), "'a' is bytes .*, but the file ends at byte"),
    "an offset that wraps": (one(gguf_info("a", (4,), 0, 2**64 - 32)), "'a' is bytes"),
    "an offset between": (one(gguf_info("a", (4,), 0, 8)), "offset 8, expected a multiple of 32"),
    "overlapping": (
        gguf_by_hand([], [gguf_info("a", (16,), 0, 0), gguf_info("b", (1,), 0, 32)], bytes(64)),
        "tensors 'a' and 'b' overlap",
    ),
    "the same bytes": (
        gguf_by_hand([], [gguf_info("a", (4,), 0, 0), gguf_info("b", (4,), 0, 0)], bytes(64)),
        "tensors 'a' and 'b' overlap",
    ),
    "a tensor twice": (
        gguf_by_hand([], [gguf_info("a", (1,), 0, 0), gguf_info("a", (1,), 0, 32)], bytes(64)),
        "there are two tensors of the name 'a'",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_wrong_files(name: str, tmp_path: Path) -> None:
    raw, message = WRONG[name]
    path = tmp_path / "wrong.gguf"
    path.write_bytes(raw)
    with pytest.raises(ModelError, match=r"wrong\.gguf: .*" + message):
        open_gguf(path)


@pytest.mark.parametrize(
    ("kind", "raw", "message"),
    [
        (7, b"\2", "'x' is a bool of 2, expected 0 or 1"),
        (STRING, text(b"a\xff"), r"'x' is b'a\\xff', expected UTF-8"),
        (ARRAY, struct.pack("<IQ", 7, 2) + b"\0\3", "'x' has a bool of 3, expected 0 or 1"),
        (ARRAY, struct.pack("<IQ", STRING, 2) + text("a") + text(b"\xfe"), r"'x'\[1\] is b'\\xfe'"),
    ],
)
def test_values_that_are_wrong_when_read(
    kind: int, raw: bytes, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "a.gguf"
    path.write_bytes(gguf_by_hand([gguf_value("x", kind, raw)]))
    with pytest.raises(ModelError, match=message):
        open_gguf(path).metadata["x"]


def test_many_tensors_by_their_package(tmp_path: Path) -> None:
    """What its reader finds is what this one finds."""
    path = gguf_file(tmp_path / "a.gguf")
    theirs, ours = gguf.GGUFReader(path), open_gguf(path)
    assert [one.name for one in theirs.tensors] == list(ours)
    for tensor in theirs.tensors:
        found: Any = ours[tensor.name]
        assert found.offset == tensor.data_offset
        assert found.nbytes == tensor.n_bytes
        assert list(found.shape) == [int(size) for size in tensor.shape][::-1]
        assert math.prod(found.shape) == tensor.n_elements
    assert set(ours.metadata) == {key for key in theirs.fields if not key.startswith("GGUF.")}
