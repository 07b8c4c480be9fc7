"""What people have that is no folder or file of a model: the message says what makes one of it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tilewright as tw
from tilewright.models import ModelError

from .made import FOLDER

POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"


def write(at: Path, name: str, content: Any = "x") -> None:
    at.mkdir(exist_ok=True)
    (at / name).write_text(content if isinstance(content, str) else json.dumps(content))


def config(at: Path, **changed: Any) -> None:
    write(at, "config.json", FOLDER["config.json"] | changed)


def pickled(at: Path) -> str:
    config(at)
    write(at, "pytorch_model.bin")
    return (
        r"; there is pytorch_model\.bin, which holds code .*: load it with transformers and save_"
    )


def shards(at: Path) -> str:
    config(at)
    write(at, "model-00001-of-00002.safetensors")
    return r"; there is model-00001-of-00002\.safetensors, but not the index"


def adapter(at: Path) -> str:
    write(at, "adapter_config.json", {})
    return (
        r"adapter_config\.json says that it is an adapter: load it with peft, merge_and_unload\(\)"
    )


def adapter_with_a_config(at: Path) -> str:
    config(at)
    write(at, "adapter_model.safetensors")
    return adapter(at)


def packed(at: Path) -> str:
    config(at, quantization_config={"quant_method": "gptq", "bits": 4})
    return r"config\.json: quantization_config is an object .*, expected none: weights that another"


def pointer(at: Path) -> str:
    config(at)
    write(at, "model.safetensors", POINTER)
    return r"model\.safetensors: it is a pointer of Git LFS, not the file: git lfs pull"


FOLDERS: list[Callable[[Path], str]] = [
    pickled, shards, adapter, adapter_with_a_config, packed, pointer,
]  # fmt: skip


@pytest.mark.parametrize("make", FOLDERS, ids=lambda one: one.__name__)
def test_folders(make: Callable[[Path], str], tmp_path: Path) -> None:
    expected = make(tmp_path)
    with pytest.raises(ModelError, match=expected):
        tw.models.load(tmp_path, "cpu")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("model.safetensors", "it has tensors alone, expected the folder that it is in"),
        (
            "model.pt",
            r"it is not a folder, expected one with config\.json, or a file of GGUF or ONN",
        ),
        ("model.GGUF", "it is a pointer of Git LFS"),
        ("model.ONNX", "it is a pointer of Git LFS"),
    ],
)
def test_files(name: str, message: str, tmp_path: Path) -> None:
    write(tmp_path, name, POINTER)
    with pytest.raises(ModelError, match=message):
        tw.models.load(tmp_path / name, "cpu")


def test_a_name_of_the_hub() -> None:
    message = (
        "there is no such folder, .*; hf download meta/Llama-3 --local-dir Llama-3 fetches one"
    )
    with pytest.raises(ModelError, match=message):
        tw.models.load("meta/Llama-3", "cpu")
    with pytest.raises(ModelError, match=r"no such folder, expected one with config\.json$"):
        tw.models.load("/no/where", "cpu")


def test_a_gguf_by_any_name(tmp_path: Path) -> None:
    """By how it begins."""
    for name in ("model.bin", "model.GGUF", "model"):
        (tmp_path / name).write_bytes(b"GGUF\x03\x00\x00\x00")
        with pytest.raises(ModelError, match=r"bytes"):
            tw.models.load(tmp_path / name, "cpu")
    shutil.copy(tmp_path / "model", tmp_path / "other.gguf")
    with pytest.raises(ModelError, match=r"bytes"):
        tw.models.load(tmp_path / "other.gguf", "cpu")
