"""Tensors of files, as the two formats have them: views of mapped memory, by name."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn, Self

import numpy as np

from tilewright.models.files.dtypes import KINDS, Kind
from tilewright.models.files.errors import fail, shown
from tilewright.models.files.mapped import MappedFile
from tilewright.small_floats import HOST

if TYPE_CHECKING:
    import numpy.typing as npt

# NumPy has no more axes.
MOST_AXES = 64


@dataclass(frozen=True, slots=True, eq=False)
class StoredTensor:
    """A tensor of a file: what it is and where it lies; nothing is read before it is asked for."""

    name: str
    dtype: str
    """"float32", "bfloat16", ..., or a format of blocks, such as "q4_k"."""
    shape: tuple[int, ...]
    file: MappedFile
    offset: int
    nbytes: int

    @property
    def is_quantized(self) -> bool:
        """Whether it is blocks(), for tilewright.quant, and not array()."""
        return KINDS[self.dtype].is_blocks

    def array(self) -> npt.NDArray[Any]:
        """A view of the file, which cannot be written; bfloat16 is its bits, of uint16. It lies as
        the file has it, perhaps not on a multiple of its elements' size."""
        kind = KINDS[self.dtype]
        if kind.dtype is None:
            other = "blocks() has it" if kind.is_blocks else "it cannot be read"
            self._fail(f"it is {self.dtype}, of which there are no arrays: {other}")
        found: npt.NDArray[Any] = np.ndarray(self.shape, kind.dtype, self.file.data, self.offset)
        if kind.dtype.kind == "b" and found.size and found.view(np.uint8).max() > 1:
            self._fail("it is bool and has bytes other than 0 and 1")
        return found

    def host(self) -> npt.NDArray[Any]:
        """array() as tilewright.asarray() takes it: bfloat16 under its name, not as integers."""
        found = self.array()
        return found.view(HOST) if self.dtype == "bfloat16" else found

    def blocks(self) -> npt.NDArray[np.uint8]:
        """The bytes of the blocks as [rows, bytes of a row], a view of the file, for
        tilewright.quant.QuantizedTensor.from_blocks(blocks, dtype, shape)."""
        kind = KINDS[self.dtype]
        if not kind.is_blocks:
            other = "array() has it" if kind.dtype is not None else "it cannot be read"
            self._fail(f"it is {self.dtype}, of which there are no blocks: {other}")
        shape = (math.prod(self.shape[:-1]), self.shape[-1] // kind.block * kind.bytes)
        return np.ndarray(shape, np.uint8, self.file.data, self.offset)

    def _fail(self, what: str) -> NoReturn:
        fail(self.file, f"tensor {shown(self.name)}: {what}")


class StoredTensors(Mapping[str, StoredTensor]):
    """Tensors by their names, in the order of their files."""

    def __init__(self, name: str, tensors: dict[str, StoredTensor], files: Sequence[MappedFile]):
        self.name = name
        self.files = tuple(files)
        self._tensors = tensors

    def __getitem__(self, name: str) -> StoredTensor:
        return self._tensors[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._tensors)

    def __len__(self) -> int:
        return len(self._tensors)

    def tensor(self, name: str, shape: Sequence[int] | None = None) -> StoredTensor:
        """The tensor of this name, which must have this shape."""
        found = self._tensors.get(name)
        if found is None:
            fail(self.name, f"there is no tensor {shown(name)} among its {len(self)}")
        if shape is not None and found.shape != tuple(shape):
            fail(
                found.file, f"tensor {shown(name)} has shape {found.shape}, expected {tuple(shape)}"
            )
        return found

    @property
    def total_bytes(self) -> int:
        """Of all tensors."""
        return sum(tensor.nbytes for tensor in self._tensors.values())

    def close(self) -> None:
        """Arrays that were made stay valid."""
        for file in self.files:
            file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {len(self)} tensors)"


def bytes_of(file: object, name: str, kind: Kind, shape: tuple[int, ...], row: int) -> int:
    """How many a tensor has; `row` elements lie together, whose number blocks must divide."""
    count = math.prod(size or 1 for size in shape)
    # As if there were no sizes of zero, which is how NumPy counts.
    if count * kind.bytes >= 1 << 63:
        fail(file, f"tensor {shown(name)} has shape {_shape(shape)}, expected below 2**63 bytes")
    if row % kind.block:
        what = f"expected a multiple of {kind.block}, which a block of {kind.name} has"
        fail(file, f"tensor {shown(name)} has {row} elements along its last axis, {what}")
    return 0 if 0 in shape else count // kind.block * kind.bytes


def check_apart(file: MappedFile, tensors: Sequence[StoredTensor], *, is_full: bool) -> None:
    """No two tensors share bytes and, where the file `is_full`, all bytes are a tensor's."""
    end, before = -1, ""
    for one in sorted((one for one in tensors if one.nbytes), key=lambda one: one.offset):
        if one.offset < end:
            both = f"tensors {shown(before)} and {shown(one.name)}"
            fail(file, f"{both} overlap at byte {one.offset}, expected each to have its own bytes")
        if is_full and before and one.offset > end:
            both = f"tensors {shown(before)} and {shown(one.name)}"
            fail(file, f"bytes {end} to {one.offset} between {both} belong to none")
        end, before = one.offset + one.nbytes, one.name


def _shape(shape: tuple[int, ...]) -> str:
    return str(shape) if len(shape) <= MOST_AXES else f"of {len(shape)} axes"
