"""Files of GGUF, versions 2 and 3: metadata, what is where, and the bytes of tensors."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path

from tilewright.models.files.dtypes import GGML
from tilewright.models.files.errors import fail, shown
from tilewright.models.files.gguf_metadata import (
    MOST_NAME_BYTES,
    U32,
    U64,
    Cursor,
    GgufMetadata,
)
from tilewright.models.files.mapped import MappedFile, to_path
from tilewright.models.files.tensors import StoredTensor, StoredTensors, bytes_of, check_apart

MAGIC = b"GGUF"
VERSIONS = (2, 3)
# ggml has no more axes.
MOST_AXES = 4
DEFAULT_ALIGNMENT, MOST_ALIGNMENT = 32, 1 << 20
# A name's length, a number of axes, a type and an offset; a name's length, a type and a byte.
TENSOR_BYTES, VALUE_BYTES = 24, 13
PART = re.compile(r"(?P<name>.*)-(?P<number>[0-9]{5})-of-(?P<count>[0-9]{5})\.gguf", re.DOTALL)


class GgufTensors(StoredTensors):
    """Tensors of a file of GGUF, or of all parts of a split one, and the `metadata` of the first.
    Shapes are in NumPy's order: the last axis is the one whose elements lie side by side."""

    metadata: GgufMetadata


def is_gguf(path: Path) -> bool:
    """By its name, or by how it begins."""
    if path.suffix.lower() == ".gguf":
        return True
    if not path.is_file():
        return False
    with contextlib.suppress(OSError), path.open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC
    return False


def open_gguf(path: object) -> GgufTensors:
    """Maps a file. Of one that is split, NAME-00001-of-00003.gguf, any part opens all."""
    file = to_path(path)
    parts = _parts(file)
    opened: list[tuple[MappedFile, GgufMetadata, dict[str, StoredTensor]]] = []
    tensors: dict[str, StoredTensor] = {}
    for number, part in enumerate(parts):
        mapped = MappedFile(part)
        metadata, its = _read(mapped)
        _check_part(mapped, metadata, number, len(parts))
        for name, tensor in its.items():
            if name in tensors:
                fail(mapped, f"tensor {shown(name)} is in this part and in {tensors[name].file}")
            tensors[name] = tensor
        opened.append((mapped, metadata, its))
    first, metadata, _ = opened[0]
    told = _whole(first, metadata, "split.tensors.count")
    if len(parts) > 1 and told != len(tensors):
        fail(first, f"split.tensors.count is {told}, but the parts have {len(tensors)} tensors")
    made = GgufTensors(str(parts[0]), tensors, [mapped for mapped, _, _ in opened])
    made.metadata = metadata
    return made


def _parts(file: Path) -> list[Path]:
    found = PART.fullmatch(file.name)
    if found is None:
        return [file]
    count = int(found["count"])
    if not 1 <= int(found["number"]) <= count:
        fail(file, f"its name says part {found['number']} of {count}, expected one of 1 to {count}")
    return [
        file.with_name(f"{found['name']}-{number:05}-of-{count:05}.gguf")
        for number in range(1, count + 1)
    ]


def _check_part(file: MappedFile, metadata: GgufMetadata, number: int, count: int) -> None:
    """By what the file says of itself, against what its name says."""
    told = _whole(file, metadata, "split.count")
    if (told or 1) != count:
        names = f"NAME-00001-of-{told or 1:05}.gguf and so on"
        fail(file, f"split.count is {told}, expected {count} by its name; such parts are {names}")
    if count > 1 and _whole(file, metadata, "split.no") != number:
        told = _whole(file, metadata, "split.no")
        fail(file, f"split.no is {told}, expected {number} by its name")


def _whole(file: MappedFile, metadata: GgufMetadata, key: str) -> int | None:
    if key not in metadata:
        return None
    found = metadata[key]
    if type(found) is not int or found < 0:
        fail(file, f"{key} is {shown(found)}, expected an integer from 0")
    return found


def _read(file: MappedFile) -> tuple[GgufMetadata, dict[str, StoredTensor]]:
    at = Cursor(file, 0)
    magic = file.data[:4]
    if magic != MAGIC:
        fail(file, f"it begins with {shown(magic)}, expected {shown(MAGIC)}: it is not a GGUF file")
    at.skip(4, "the first word")
    version = at.take(U32, "the version")
    if version not in VERSIONS:
        what = "expected 2 or 3; write it anew with llama.cpp's tools"
        if version & 0xFFFF == 0 and version:
            swapped = int.from_bytes(version.to_bytes(4, "little"), "big")
            what = f"which is {swapped} in big-endian order, expected a file in little-endian order"
        fail(file, f"its version is {version}, {what}")
    count = at.count(TENSOR_BYTES, "tensors")
    metadata = GgufMetadata(file)
    metadata.scan(at, at.count(VALUE_BYTES, "values of metadata"))
    alignment = _alignment(file, metadata)
    infos = [_info(at, i) for i in range(count)]
    start = -(-at.pos // alignment) * alignment
    tensors: dict[str, StoredTensor] = {}
    for name, number, shape, offset in infos:
        if name in tensors:
            fail(file, f"there are two tensors of the name {shown(name)}")
        tensors[name] = _tensor(file, name, number, shape, offset, start, alignment)
    check_apart(file, list(tensors.values()), is_full=False)
    return metadata, tensors


def _alignment(file: MappedFile, metadata: GgufMetadata) -> int:
    found = _whole(file, metadata, "general.alignment")
    if found is None:
        return DEFAULT_ALIGNMENT
    if not 1 <= found <= MOST_ALIGNMENT or found & (found - 1):
        fail(file, f"general.alignment is {found}, expected a power of two up to {MOST_ALIGNMENT}")
    return found


def _info(at: Cursor, i: int) -> tuple[str, int, tuple[int, ...], int]:
    name = at.string(f"the name of tensor {i}", MOST_NAME_BYTES)
    where = f"tensor {shown(name)}"
    axes = at.take(U32, where)
    if axes > MOST_AXES:
        fail(at.file, f"{where} has {axes} axes, expected at most {MOST_AXES}")
    shape = tuple(at.take(U64, where) for _ in range(axes))[::-1]
    return name, at.take(U32, where), shape, at.take(U64, where)


def _tensor(
    file: MappedFile,
    name: str,
    number: int,
    shape: tuple[int, ...],
    offset: int,
    start: int,
    alignment: int,
) -> StoredTensor:
    where = f"tensor {shown(name)}"
    kind = GGML.get(number)
    if kind is None:
        fail(file, f"{where} is of ggml's type {number}, expected one of 0 to {max(GGML)}")
    nbytes = bytes_of(file, name, kind, shape, shape[-1] if shape else 1)
    if offset % alignment:
        fail(file, f"{where} has offset {offset}, expected a multiple of {alignment}")
    if nbytes == 0:
        # Nothing lies anywhere, and behind the last name there need not be padding.
        return StoredTensor(name, kind.name, shape, file, 0, 0)
    if start + offset + nbytes > file.size:
        what = f"the file ends at byte {file.size}: it is cut short or damaged"
        fail(file, f"{where} is bytes {start + offset} to {start + offset + nbytes}, but {what}")
    return StoredTensor(name, kind.name, shape, file, start + offset, nbytes)
