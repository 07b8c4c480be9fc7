"""Files of safetensors: as the package writes them, in shards, and wrong ones."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tilewright as tw
from tilewright.models.files import ModelError, StoredTensor, open_safetensors

from .made import SAFETENSORS, UNREADABLE, entry, safetensors_by_hand, safetensors_file

SHAPES: tuple[tuple[int, ...], ...] = ((), (3,), (2, 3), (0,), (4, 0, 2), (1, 1, 5, 1))
# With the bytes of an element.
NUMPY = {
    "BF16": "u2", "C64": "c8", "BOOL": "?", **{f"I{8 * n}": f"i{n}" for n in (1, 2, 4, 8)},
    **{f"U{8 * n}": f"u{n}" for n in (1, 2, 4, 8)}, **{f"F{8 * n}": f"f{n}" for n in (2, 4, 8)},
}  # fmt: skip


def values(kind: str, shape: tuple[int, ...], seed: int = 0) -> np.ndarray[Any, Any]:
    dtype = np.dtype(NUMPY.get(kind, "u1"))
    high = 2 if kind == "BOOL" else 100
    return np.random.default_rng(seed).integers(0, high, shape).astype(dtype)


@pytest.mark.parametrize("kind", SAFETENSORS)
def test_every_dtype(kind: str, tmp_path: Path) -> None:
    arrays = {f"t{i}": values(kind, shape, i) for i, shape in enumerate(SHAPES)}
    given = {name: (kind, array.shape, array.tobytes()) for name, array in arrays.items()}
    path = safetensors_file(tmp_path / "a.safetensors", given, {"format": "np"})
    with open_safetensors(path) as found:
        assert set(found) == set(arrays)
        assert found.total_bytes == sum(array.nbytes for array in arrays.values())
        assert found.metadata == {"format": "np"}
        for name, array in arrays.items():
            tensor = found[name]
            assert (tensor.dtype, tensor.shape) == (SAFETENSORS[kind], array.shape)
            assert tensor.nbytes == array.nbytes
            assert not tensor.is_quantized
            if kind in UNREADABLE:
                with pytest.raises(
                    ModelError, match=f"a.safetensors: tensor '{name}': it is float8"
                ):
                    tensor.array()
                continue
            read = tensor.array()
            assert (read.dtype, read.shape) == (array.dtype, array.shape)
            np.testing.assert_array_equal(read, array)
            with pytest.raises(ValueError, match="read-only"):
                read[...] = 0


def test_small_floats_are_packed(tmp_path: Path) -> None:
    header = {"a": entry("F4", [2, 3], 0, 3), "b": entry("F6_E2M3", [4], 3, 6)}
    header["c"] = entry("F6_E3M2", [0, 7], 6, 6)
    path = tmp_path / "small.safetensors"
    path.write_bytes(safetensors_by_hand(header, bytes(6)))
    found = open_safetensors(path)
    assert [(one.dtype, one.nbytes) for one in found.values()] == [
        ("float4_e2m1fn", 3),
        ("float6_e2m3fn", 3),
        ("float6_e3m2fn", 0),
    ]
    with pytest.raises(ModelError, match="it is float4_e2m1fn, of which there are no arrays"):
        found["a"].array()
    path.write_bytes(safetensors_by_hand({"a": entry("F4", [3], 0, 2)}, bytes(2)))
    with pytest.raises(
        ModelError, match="3 elements along its last axis, expected a multiple of 2"
    ):
        open_safetensors(path)


def test_views_outlive_the_file(tmp_path: Path) -> None:
    path = safetensors_file(tmp_path / "a.safetensors", {"x": ("F32", (2,), bytes(8))})
    found = open_safetensors(path)
    array = found["x"].array()
    found.close()
    found.close()
    assert array.sum() == 0
    with pytest.raises(ModelError, match=r"a\.safetensors: it is closed"):
        found["x"].array()
    assert repr(found) == f"SafetensorsTensors('{path}', 1 tensors)"


def test_nothing_is_copied(tmp_path: Path) -> None:
    path = safetensors_file(tmp_path / "a.safetensors", {"x": ("U8", (8,), bytes(8))})
    found = open_safetensors(path)
    a, b = found["x"].array(), found["x"].array()
    assert np.shares_memory(a, b) and not a.flags.owndata


def test_elements_on_any_byte(tmp_path: Path) -> None:
    """A header of an odd length, and views of it given on to Arrays."""
    array = values("F32", (5, 3))
    text = json.dumps({"x": entry("F32", [5, 3], 0, 60)}).encode()
    text += b" " * (len(text) % 2 == 0)
    path = tmp_path / "odd.safetensors"
    path.write_bytes(safetensors_by_hand(text, array.tobytes()))
    read = open_safetensors(path)["x"].array()
    assert not read.flags.aligned
    with tw.device("cpu"):
        np.testing.assert_array_equal(tw.asarray(read).numpy(), array)


@pytest.mark.parametrize("kind", [one for one in SAFETENSORS if one not in UNREADABLE])
def test_arrays_of_the_device(kind: str, tmp_path: Path) -> None:
    """bfloat16 among them, which NumPy has not."""
    array = values(kind, (2, 3))
    path = safetensors_file(tmp_path / "a.safetensors", {"x": (kind, (2, 3), array.tobytes())})
    with open_safetensors(path) as found, tw.device("cpu"):
        made = tw.asarray(found["x"].host())
        assert str(made.dtype) == SAFETENSORS[kind] and made.shape == (2, 3)
        if kind == "BF16":
            wide = (array.astype(np.uint32) << 16).view(np.float32)
            np.testing.assert_array_equal(made.astype("float32").numpy(), wide)
        else:
            np.testing.assert_array_equal(made.numpy(), array)


def test_a_bool_that_is_neither(tmp_path: Path) -> None:
    path = safetensors_file(tmp_path / "a.safetensors", {"x": ("BOOL", (3,), b"\0\1\2")})
    with pytest.raises(ModelError, match="tensor 'x': it is bool and has bytes other than 0 and 1"):
        open_safetensors(path)["x"].array()


def test_tensor_by_name_and_shape(tmp_path: Path) -> None:
    path = safetensors_file(tmp_path / "a.safetensors", {"x": ("F32", (2, 1), bytes(8))})
    found = open_safetensors(path)
    assert isinstance(found.tensor("x", (2, 1)), StoredTensor)
    with pytest.raises(ModelError, match=r"tensor 'x' has shape \(2, 1\), expected \(1, 2\)"):
        found.tensor("x", (1, 2))
    with pytest.raises(ModelError, match=r"a\.safetensors: there is no tensor 'y' among its 1"):
        found.tensor("y")
    with pytest.raises(ModelError, match="it is float32, of which there are no blocks: array"):
        found["x"].blocks()
    assert found.get("y") is None


def shards(folder: Path) -> dict[str, str]:
    """Two files and their index."""
    names = {}
    for i in (1, 2):
        file = f"model-0000{i}-of-00002.safetensors"
        given = {f"{i}.{k}": ("F32", (i,), bytes([i] * 4 * i)) for k in "ab"}
        safetensors_file(folder / file, given, {"format": "pt"})
        names |= dict.fromkeys(given, file)
    index(folder, names)
    return names


def index(folder: Path, names: object) -> Path:
    path = folder / "model.safetensors.index.json"
    path.write_text(json.dumps({"metadata": {"total_size": 24}, "weight_map": names}))
    return path


def test_shards(tmp_path: Path) -> None:
    names = shards(tmp_path)
    for path in (tmp_path, str(tmp_path), tmp_path / "model.safetensors.index.json"):
        found = open_safetensors(path)
        assert list(found) == list(names)
        assert found.total_bytes == 24
        assert len(found.files) == 2
        assert found["2.a"].array().tobytes() == bytes([2] * 8)
        assert found.metadata == {"format": "pt"}


def test_a_folder_with_one_file(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"there is neither model\.safetensors nor"):
        open_safetensors(tmp_path)
    safetensors_file(tmp_path / "model.safetensors", {"x": ("F32", (), bytes(4))})
    assert list(open_safetensors(tmp_path)) == ["x"]


def test_links_lead_anywhere(tmp_path: Path) -> None:
    """As in the cache of downloads."""
    (tmp_path / "store").mkdir()
    (tmp_path / "seen").mkdir()
    names = shards(tmp_path / "store")
    for i, file in enumerate(sorted((tmp_path / "store").iterdir())):
        (tmp_path / "seen" / file.name).symlink_to(file.rename(file.with_name(str(i))))
    assert list(open_safetensors(tmp_path / "seen")) == list(names)


OUTSIDE = (
    "../a.safetensors", "/a.safetensors", "x/../../a.safetensors", "..", ".", "", "a\0b", "a\\b",
    "./a.safetensors", "x//a.safetensors", "C:a.safetensors", "\ud800.safetensors",
)  # fmt: skip


@pytest.mark.parametrize("name", OUTSIDE)
def test_shards_stay_in_their_folder(name: str, tmp_path: Path) -> None:
    safetensors_file(tmp_path / "a.safetensors", {"x": ("F32", (), bytes(4))})
    (tmp_path / "in").mkdir()
    with pytest.raises(ModelError, match=r"a file of weight_map is .*, expected"):
        open_safetensors(index(tmp_path / "in", {"x": name}))


def test_wrong_indexes(tmp_path: Path) -> None:
    names = shards(tmp_path)
    first, second = sorted(set(names.values()))
    with pytest.raises(ModelError, match=r"tensor '1\.a' is in this file, and weight_map"):
        open_safetensors(index(tmp_path, names | {"1.a": second}))
    with pytest.raises(ModelError, match=f"weight_map has tensor 'c' in {first}, which has none"):
        open_safetensors(index(tmp_path, names | {"c": first}))
    with pytest.raises(
        ModelError, match=r"nowhere\.safetensors: it cannot be opened: No such file"
    ):
        open_safetensors(index(tmp_path, names | {"c": "nowhere.safetensors"}))
    for wrong in (None, [], {}, {"x": 3}, {"x": None}, 5):
        with pytest.raises(ModelError, match=r"model\.safetensors\.index\.json: weight_map"):
            open_safetensors(index(tmp_path, wrong))
    del names["1.b"]
    assert "1.b" not in open_safetensors(index(tmp_path, names))


F32 = ("F32", [2, 3])
DEEP = b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
WRONG: dict[str, tuple[Any, bytes, str]] = {
    "overlapping": (
        {"a": entry(*F32, 0, 24), "b": entry(*F32, 20, 44)}, bytes(44),
        "tensors 'a' and 'b' overlap at byte",
    ),
    "the same bytes": (
        {"a": entry(*F32, 0, 24), "b": entry(*F32, 0, 24)}, bytes(24), "'a' and 'b' overlap",
    ),
    "a hole": (
        {"a": entry(*F32, 0, 24), "b": entry(*F32, 32, 56)}, bytes(56), "belong to none",
    ),
    "a late start": ({"a": entry(*F32, 8, 32)}, bytes(32), "its tensors are bytes"),
    "bytes behind": ({"a": entry(*F32, 0, 24)}, bytes(32), "belong to no tensor"),
    "cut short": ({"a": entry(*F32, 0, 24)}, bytes(20), "'a' ends at byte 24 of the data"),
    "no data": ({"a": entry(*F32, 0, 24)}, b"", "'a' ends at byte 24 of the data"),
    "too few bytes": (
        {"a": entry(*F32, 0, 20)}, bytes(20), "20 bytes by its data_offsets, but shape",
    ),
    "backwards": ({"a": entry(*F32, 24, 0)}, bytes(24), "expected a start and an end"),
    "negative": ({"a": entry("F32", [-2], 0, 8)}, bytes(8), "integers from 0"),
    "negative offsets": ({"a": entry(*F32, -24, 0)}, bytes(24), "expected a start and an end"),
    "a bool as a size": ({"a": entry("U8", [True], 0, 1)}, bytes(1), "integers from 0"),
    "a float as a size": ({"a": entry("U8", [1.0], 0, 1)}, bytes(1), "integers from 0"),
    "a text as a shape": ({"a": entry("U8", "1", 0, 1)}, bytes(1), "integers from 0"),  # type: ignore[arg-type]
    "beyond 64 bits": (
        {"a": entry("F32", [2**32, 2**31], 0, 0)}, b"", r"expected below 2\*\*63 bytes",
    ),
    "nothing beyond 64 bits": (
        {"a": entry("F32", [2**40, 2**40, 0], 0, 0)}, b"", r"expected below 2\*\*63 bytes",
    ),
    "a wrap to the right size": (
        {"a": entry("U8", [2**32, 2**32, 1], 0, 0)}, b"", r"expected below 2\*\*63 bytes",
    ),
    "huge offsets": ({"a": entry("U8", [8], 2**64 - 8, 2**64)}, bytes(8), "ends at byte"),
    "many axes": ({"a": entry("U8", [1] * 65, 0, 1)}, bytes(1), "at most 64 integers"),
    "an unknown dtype": ({"a": entry("F31", [], 0, 4)}, bytes(4), "dtype 'F31', expected one of"),
    "no dtype": ({"a": {"shape": [], "data_offsets": [0, 4]}}, bytes(4), "expected an object of"),
    "more keys": ({"a": entry(*F32, 0, 24) | {"x": 1}}, bytes(24), "expected an object of"),
    "not an object": ({"a": [1]}, b"", "'a' is a list of length 1, expected an object"),
    "metadata of numbers": ({"__metadata__": {"a": 1}}, b"", r"__metadata__\['a'\] is 1"),
    "metadata as a list": ({"__metadata__": [1]}, b"", "__metadata__ is a list of length 1"),
    "a name twice": (
        b'{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},'
        b'"a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}}',
        bytes(2), "the key 'a' is there twice",
    ),
    "a list": (b"[]", b"", "header begins with b'\\['"),
    "spaces first": (b" {}", b"", "header begins with b' '"),
    "half an object": (b'{"a":', b"", "it is not JSON: .* at line 1, column"),
    "two objects": (b"{}{}", b"", "it is not JSON: Extra data"),
    "not UTF-8": (b'{"\xff":1}', b"", "byte 2 is not UTF-8"),
    "NaN": (b'{"a":NaN}', b"", "the number NaN"),
    "beyond float64": (b'{"a":1e999}', b"", "the number '1e999'"),
    "many digits": (b'{"a":' + b"9" * 5000 + b"}", b"", "an integer of 5000 digits"),
    "deep": (DEEP, b"", "more than 64 deep"),
    "deep without an end": (b'{"a":' + b'{"a":' * 100_000, b"", "more than 64 deep"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_wrong_files(name: str, tmp_path: Path) -> None:
    header, data, message = WRONG[name]
    path = tmp_path / "wrong.safetensors"
    path.write_bytes(safetensors_by_hand(header, data))
    with pytest.raises(ModelError, match=r"wrong\.safetensors: .*" + message):
        open_safetensors(path)


@pytest.mark.parametrize(
    "data", [b"", b"\0", b"\1" * 7, b"\xff" * 8, b"\xff" * 16, bytes(16), b"\3" + bytes(7) + b"{}"]
)
def test_wrong_lengths(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "wrong.safetensors"
    path.write_bytes(data)
    with pytest.raises(ModelError, match=r"wrong\.safetensors: it"):
        open_safetensors(path)


def test_what_is_not_a_file(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="it cannot be opened: No such file"):
        open_safetensors(tmp_path / "nowhere.safetensors")
    os.mkfifo(tmp_path / "pipe.safetensors")
    with pytest.raises(ModelError, match="it is not a regular file"):
        open_safetensors(tmp_path / "pipe.safetensors")
    for wrong in (3, None, b"a.safetensors"):
        with pytest.raises(ModelError, match="expected a string or a path"):
            open_safetensors(wrong)
    with pytest.raises(ModelError, match=r"it cannot be opened: .*null"):
        open_safetensors("a\0b")


def test_one_error_to_catch() -> None:
    assert issubclass(ModelError, tw.InvalidArgument)
    assert issubclass(ModelError, tw.Error)
    assert issubclass(ModelError, ValueError)
