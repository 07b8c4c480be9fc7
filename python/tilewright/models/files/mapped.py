"""A file as memory that is read when it is touched."""

from __future__ import annotations

import mmap
import os
import stat
from pathlib import Path

from tilewright.models.files.errors import fail, shown

LFS = b"version https://git-lfs.github.com/spec/"


def to_path(path: object) -> Path:
    if not isinstance(path, str | os.PathLike) or isinstance(path, bytes):
        fail("path", f"it is {shown(path)}, expected a string or a path")
    text = os.fspath(path)
    if not isinstance(text, str):
        fail("path", f"it is {shown(text)}, expected a string or a path")
    return Path(text)


class MappedFile:
    """A regular file, mapped to read only. Its memory ends when it is closed and no array that
    views it is left. A file that is cut short meanwhile ends the process that reads what was lost,
    so files are replaced, not written over."""

    __slots__ = ("_map", "name", "path", "size")

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = str(path)
        self._map: mmap.mmap | None = None
        try:
            # Opened without waiting: a pipe would wait for who writes it.
            handle = os.open(
                path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
            )
        except (OSError, ValueError) as error:
            fail(self.name, f"it cannot be opened: {_reason(error)}")
        try:
            state = os.fstat(handle)
            if not stat.S_ISREG(state.st_mode):
                fail(self.name, "it is not a regular file")
            self.size = state.st_size
            if self.size == 0:
                fail(self.name, "it is empty")
            self._map = mmap.mmap(handle, self.size, access=mmap.ACCESS_READ)
        except (OSError, ValueError, OverflowError) as error:
            fail(self.name, f"it cannot be mapped: {_reason(error)}")
        finally:
            os.close(handle)
        if self._map[: len(LFS)] == LFS:
            fail(self.name, "it is a pointer of Git LFS, not the file: git lfs pull fetches that")

    @property
    def data(self) -> mmap.mmap:
        if self._map is None:
            fail(self.name, "it is closed; open it again")
        return self._map

    def close(self) -> None:
        """Arrays that are there stay valid: the last of them ends the mapping."""
        self._map = None

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"MappedFile({self.name!r}, {self.size} bytes)"


def read_small(path: Path, most: int) -> bytes:
    """The bytes of a file, of which there may be so many."""
    file = MappedFile(path)
    if file.size > most:
        fail(path, f"it has {file.size} bytes, expected at most {most}")
    return file.data[:]


def inside(folder: Path, name: str, file: object, key: str) -> Path:
    """The path of a file that another one names. The name is looked at, not where links lead:
    caches of downloads are folders of links to elsewhere."""
    parts = name.split("/")
    if not name or "\0" in name or "\\" in name or ":" in name or {"", ".", ".."} & set(parts):
        fail(file, f"{key} is {shown(name)}, expected a path within the folder")
    try:
        os.fsencode(name)
    except UnicodeError:
        fail(file, f"{key} is {shown(name)}, expected the name of a file")
    return folder / name


def _reason(error: Exception) -> str:
    return error.strerror or str(error) if isinstance(error, OSError) else str(error)
