"""Tensors of a file as NumPy's arrays, whose sizes are checked against what is there first."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tilewright.models.files.errors import fail, shown
from tilewright.models.files.mapped import MappedFile, inside
from tilewright.models.onnx.dtypes import KNOWN, dtype_of, host_dtype, name_of

Host = npt.NDArray[Any]

#: where elements lie that are not raw, by the kind of element
FIELDS = {
    1: "float_data", 14: "float_data", 11: "double_data", 15: "double_data", 7: "int64_data",
    12: "uint64_data", 13: "uint64_data",
}  # fmt: skip
#: of 4 bits, two in a byte: what they are held as
NIBBLES = {21: np.dtype(np.uint8), 22: np.dtype(np.int8)}
MOST_DIMENSIONS = 64
EXTERNAL = 1


class Files:
    """A file and those beside it that its tensors lie in, each mapped once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._mapped: dict[Path, MappedFile] = {}

    def external(self, where: str, entries: dict[str, str], nbytes: int) -> memoryview:
        """The bytes of a tensor in a file of its own, of the model's folder."""
        location = entries.get("location", "")
        path = inside(self.path.parent, location, self.path, f"{where}: location")
        numbers = {}
        for key, default in (("offset", 0), ("length", nbytes)):
            text = entries.get(key, str(default))
            if not (text.isascii() and text.isdigit() and len(text) <= 20):
                fail(self.path, f"{where}: {key} is {shown(text)}, expected a number of bytes")
            numbers[key] = int(text)
        if numbers["length"] != nbytes:
            fail(
                self.path, f"{where}: length is {numbers['length']}, expected {nbytes} by its shape"
            )
        if path not in self._mapped:
            self._mapped[path] = MappedFile(path)
        file = self._mapped[path]
        end = numbers["offset"] + nbytes
        if end > file.size:
            fail(
                self.path,
                f"{where}: it ends at byte {end} of {location}, which has {file.size}",
            )
        return memoryview(file.data)[numbers["offset"] : end]


def shape_of(files: Files, where: str, dims: Any) -> tuple[int, ...]:
    shape = tuple(int(one) for one in dims)
    if len(shape) > MOST_DIMENSIONS:
        fail(files.path, f"{where}: it has {len(shape)} dimensions, expected at most 64")
    for one in shape:
        if one < 0:
            fail(files.path, f"{where}: its shape is {shape}, expected no negative size")
    if math.prod(max(one, 1) for one in shape) >= 1 << 60:
        fail(files.path, f"{where}: its shape is {shape}, more elements than any memory has")
    return shape


def read_tensor(files: Files, where: str, proto: Any) -> Host:
    """A TensorProto; `where` says which one in messages. What is raw is a view of the file."""
    shape = shape_of(files, where, proto.dims)
    if proto.data_type in NIBBLES:
        return _nibbles(files, where, proto, shape)
    dtype = dtype_of(proto.data_type)
    if dtype is None:
        fail(files.path, f"{where}: it is {name_of(proto.data_type)}, expected {KNOWN}")
    if proto.HasField("segment"):
        fail(files.path, f"{where}: it is a segment of a tensor, expected a whole one")
    host = host_dtype(dtype)
    count = math.prod(shape)
    nbytes = count * host.itemsize
    little = host.newbyteorder("<") if dtype == host else host
    if proto.data_location == EXTERNAL:
        entries = {one.key: one.value for one in proto.external_data}
        raw: Any = files.external(where, entries, nbytes)
    elif proto.HasField("raw_data"):
        raw = proto.raw_data
        if len(raw) != nbytes:
            fail(
                files.path,
                f"{where}: it has {len(raw)} bytes, expected {nbytes} of {name_of(proto.data_type)}"
                f" of shape {shape}",
            )
    else:
        return _listed(files, where, proto, host, shape, count)
    return np.frombuffer(raw, little, count).reshape(shape).astype(host, copy=False)


def _nibbles(files: Files, where: str, proto: Any, shape: tuple[int, ...]) -> Host:
    """Numbers of 4 bits as such of 8, the lower half of a byte first."""
    count = math.prod(shape)
    nbytes = -(-count // 2)
    if proto.data_location == EXTERNAL:
        entries = {one.key: one.value for one in proto.external_data}
        packed: Host = np.frombuffer(files.external(where, entries, nbytes), np.uint8)
    elif proto.HasField("raw_data"):
        packed = np.frombuffer(proto.raw_data, np.uint8)
    else:
        packed = np.array(proto.int32_data, np.int64).astype(np.uint8)
    if packed.size != nbytes:
        fail(files.path, f"{where}: it has {packed.size} bytes, expected {nbytes} of shape {shape}")
    numbers = np.stack([packed & 15, packed >> 4], axis=-1).reshape(-1)[:count].reshape(shape)
    if NIBBLES[proto.data_type].kind == "i":
        return (numbers.astype(np.int8) ^ 8) - 8
    return numbers


def _listed(
    files: Files, where: str, proto: Any, host: Any, shape: tuple[int, ...], count: int
) -> Host:
    """Elements that stand one by one in a field."""
    field = FIELDS.get(proto.data_type, "int32_data")
    data = getattr(proto, field)
    width = 2 if host.kind == "c" else 1
    if len(data) != count * width:
        fail(
            files.path,
            f"{where}: {field} has {len(data)} elements, expected {count * width} of "
            f"{name_of(proto.data_type)} of shape {shape}",
        )
    if proto.data_type in (10, 16):
        # The bits, as integers.
        given = np.array(data, np.int64)
        if ((given < 0) | (given > 0xFFFF)).any():
            fail(files.path, f"{where}: int32_data has what 16 bits do not hold")
        bits: Host = given.astype(np.uint16).view(host)
        return bits.reshape(shape)
    if host.kind == "c":
        parts: Host = np.array(data, np.float32 if host.itemsize == 8 else np.float64).view(host)
        return parts.reshape(shape)
    given = np.array(data, {"float_data": np.float32, "double_data": np.float64,
                            "int64_data": np.int64, "uint64_data": np.uint64,
                            "int32_data": np.int32}[field])  # fmt: skip
    result = given.astype(host, copy=False)
    if host.kind != "b" and given.dtype.kind in "iu" and (result != given).any():
        fail(files.path, f"{where}: {field} has what {host.name} does not hold")
    return result.reshape(shape)
