"""Kernels that one build compiled are taken by another while nothing of them has changed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "cmake"))

from spirv_cache import Cache, Kept, cache_of

# Of a tree, by name; the last is a file that the kernel includes.
FILES = (
    "kernels/wgsl/rope.wgsl",
    "kernels/opencl/wgsl.h",
    "core/program/elementwise.def",
    "zig",
    "kernels/wgsl/items.wgsl",
)
KEPT = Kept("int x;\n", ["items.wgsl"], {"rope.T=f32.spv": b"\0\1", "rope.T=f32.cl": b"void"})


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in FILES:
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(name)
    return tmp_path


def cache(tree: Path, folder: Path) -> Cache:
    return Cache(folder, tree / FILES[0], tree / "kernels" / "opencl", tree / "zig")


def test_what_is_kept_comes_back(tree: Path) -> None:
    folder = tree / "kept"
    assert cache(tree, folder).load() is None
    cache(tree, folder).store(KEPT)
    assert cache(tree, folder).load() == KEPT
    again = Kept("int y;\n", [], {})
    cache(tree, folder).store(again)
    assert cache(tree, folder).load() == again
    assert [file.name for file in folder.iterdir()] == ["rope.zip"]


@pytest.mark.parametrize("name", FILES)
def test_a_change_of_any_file_counts(tree: Path, name: str) -> None:
    folder = tree / "kept"
    cache(tree, folder).store(KEPT)
    (tree / name).write_text("something else")
    assert cache(tree, folder).load() is None


def test_an_included_file_that_is_gone_counts(tree: Path) -> None:
    folder = tree / "kept"
    cache(tree, folder).store(KEPT)
    (tree / FILES[-1]).unlink()
    assert cache(tree, folder).load() is None


def test_a_folder_has_to_be_named(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = (tree / FILES[0], tree / "kernels" / "opencl", tree / "zig")
    monkeypatch.delenv("SPIRV_CACHE", raising=False)
    assert cache_of(*files) is None
    monkeypatch.setenv("SPIRV_CACHE", str(tree / "kept"))
    named = cache_of(*files)
    assert named is not None
    assert named.file == tree / "kept" / "rope.zip"


@pytest.mark.parametrize("content", [b"", b"PK\3\4 and no more"])
def test_a_damaged_archive_counts_as_none(tree: Path, content: bytes) -> None:
    folder = tree / "kept"
    cache(tree, folder).store(KEPT)
    (folder / "rope.zip").write_bytes(content)
    assert cache(tree, folder).load() is None
    cache(tree, folder).store(KEPT)
    assert cache(tree, folder).load() == KEPT
