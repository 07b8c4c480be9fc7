"""Weights on a device: what an architecture asks for, taken from the tensors of files."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright._core import OutOfMemory
from tilewright.models import memory
from tilewright.models.files.errors import fail
from tilewright.namespace.creation import asarray, empty
from tilewright.operands import FLOAT16, FLOAT32, invalid
from tilewright.quant.blocks import quantize_blocks
from tilewright.quant.formats import FORMATS as BLOCKS
from tilewright.quant.tensor import QuantizedTensor

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tilewright.array import Array
    from tilewright.backend import Backend
    from tilewright.models.files.tensors import StoredTensor, StoredTensors

#: what `weights=` may be, and what matrices are then held as
FORMATS: dict[str, str | None] = {"float32": None, "float16": None, "int8": "q8_0", "int4": "q4_0"}


#: what tensors may be that are no blocks
FLOATS = ("float32", "float16", "bfloat16", "float64")


@dataclass(frozen=True)
class Wanted:
    """Tensors of a model that lie below each other in one array of the device, [rows, *rest]:
    `names` of the file with their rows. A matrix may be held in blocks, and a table of words in
    those of the file; what else there is, is not."""

    names: tuple[str, ...]
    rows: tuple[int, ...]
    rest: tuple[int, ...] = ()
    is_matrix: bool = False
    is_words: bool = False

    @property
    def shape(self) -> tuple[int, ...]:
        return (sum(self.rows), *self.rest)


def vector(name: str, size: int) -> Wanted:
    return Wanted((name,), (size,))


def table(name: str, rows: int, columns: int) -> Wanted:
    return Wanted((name,), (rows,), (columns,))


def words(name: str, rows: int, columns: int) -> Wanted:
    """What tables.look_up() takes rows of."""
    return Wanted((name,), (rows,), (columns,), is_words=True)


def matrix(names: str | Sequence[str], rows: int | Sequence[int], columns: int) -> Wanted:
    every = (names,) if isinstance(names, str) else tuple(names)
    sizes = (rows,) * len(every) if isinstance(rows, int) else tuple(rows)
    return Wanted(every, sizes, (columns,), is_matrix=True)


class Weights(Mapping[str, "Array | QuantizedTensor"]):
    """The weights of a model by the names that its file has. What lies in one array with others
    is a view of it."""

    def __init__(self, backend: Backend, dtype: np.dtype[Any]) -> None:
        self.backend = backend
        #: what is computed in, and what all weights but those in blocks are held in
        self.dtype = dtype
        self._joined: dict[tuple[str, ...], Array | QuantizedTensor | Stacked] = {}
        self._views: dict[str, Array | QuantizedTensor] = {}

    def __getitem__(self, name: str) -> Array | QuantizedTensor:
        return self._views[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._views)

    def __len__(self) -> int:
        return len(self._views)

    @property
    def nbytes(self) -> int:
        """On the device."""
        return sum(one.nbytes for one in self._joined.values())

    def joined(self, *names: str) -> Any:
        """The array in which these lie below each other."""
        return self._joined[names]

    def _add(self, wanted: Wanted, held: Array | QuantizedTensor | Stacked) -> None:
        self._joined[wanted.names] = held
        first = 0
        for name, rows in zip(wanted.names, wanted.rows, strict=True):
            if isinstance(held, Stacked):
                self._views[name] = held.parts[wanted.names.index(name)]
            elif len(wanted.names) == 1 or isinstance(held, QuantizedTensor):
                self._views[name] = held
            else:
                self._views[name] = held[first : first + rows]
            first += rows


def chosen_dtype(
    backend: Backend, tensors: StoredTensors, weights: str | None, wanted: Sequence[Wanted],
    exceeds_float16: bool = False,
) -> tuple[np.dtype[Any], str | None]:  # fmt: skip
    """What is computed in, and the blocks that matrices are held in: as asked, or as the file."""
    if weights is not None and weights not in FORMATS:
        invalid("load", f"weights is {weights!r}, expected one of {', '.join(map(repr, FORMATS))}")
    if weights == "float16" and exceeds_float16:
        others = ", ".join(repr(one) for one in (None, *FORMATS) if one != weights)
        invalid(
            "load",
            f"weights is {weights!r}, which the states of this model exceed; expected {others}",
        )
    if weights in ("float32", "float16"):
        return np.dtype(weights), None
    held = [tensors[name].dtype for one in wanted if one.is_matrix for name in one.names]
    is_half = all(name in ("float16", "bfloat16") for name in held)
    is_half = is_half and not exceeds_float16 and backend.supports("gemm", "float16")
    dtype = FLOAT16 if is_half else FLOAT32
    return dtype, FORMATS[weights] if weights is not None else None


def checked(tensors: StoredTensors, wanted: Iterable[Wanted]) -> None:
    """ModelError where a tensor is missing, has another shape than the configuration says, or is
    of no dtype that there are arrays or blocks of."""
    for one in wanted:
        for name, rows in zip(one.names, one.rows, strict=True):
            found = tensors.tensor(name, (rows, *one.rest))
            if not (found.is_quantized or found.dtype in FLOATS):
                known = ", ".join((*FLOATS, *BLOCKS))
                fail(found.file, f"tensor {name!r} is {found.dtype}, expected one of {known}")


def held_bytes(
    tensors: StoredTensors, one: Wanted, dtype: np.dtype[Any], format: str | None, as_stored: bool
) -> int:
    """What it takes on the device."""
    size = math.prod(one.shape)
    stored = [tensors[name] for name in one.names]
    if as_stored and _stays(one, stored):
        return sum(
            tensor.nbytes if tensor.is_quantized else math.prod(tensor.shape) * dtype.itemsize
            for tensor in stored
        )
    if _is_packed(one, format):
        assert format is not None
        return size // BLOCKS[format].block * BLOCKS[format].bytes
    return size * dtype.itemsize


def passing_bytes(
    tensors: StoredTensors, one: Wanted, dtype: np.dtype[Any], format: str | None, as_stored: bool
) -> int:
    """What is on the device beside it while it is made: its parts as the file has them, and what
    is packed."""
    stored = [tensors[name] for name in one.names]
    if as_stored and _stays(one, stored):
        return 0
    part = max(
        4 * math.prod(tensor.shape) + tensor.nbytes * tensor.is_quantized for tensor in stored
    )
    if _is_packed(one, format):
        return part + math.prod(one.shape) * dtype.itemsize * (len(stored) > 1)
    return 0 if len(stored) == 1 and stored[0].dtype == dtype.name else part


def _stays(one: Wanted, stored: Sequence[StoredTensor]) -> bool:
    """Whether it is held in the blocks of the file."""
    return (one.is_matrix or one.is_words) and any(tensor.is_quantized for tensor in stored)


def _is_packed(one: Wanted, format: str | None) -> bool:
    return format is not None and one.is_matrix and one.rest[-1] % BLOCKS[format].block == 0


def load_weights(
    backend: Backend, tensors: StoredTensors, wanted: Sequence[Wanted], weights: str | None,
    progress: Callable[[int, int], None] | None = None,
    beside: Callable[[np.dtype[Any]], Mapping[str, int]] | None = None,
    exceeds_float16: bool = False,
) -> Weights:  # fmt: skip
    """All that is wanted, on the device. Memory is asked for before the first byte is sent, with
    what lies `beside` weights of a dtype. `exceeds_float16` says that what is computed does."""
    checked(tensors, wanted)
    dtype, format = chosen_dtype(backend, tensors, weights, wanted, exceeds_float16)
    is_stored = weights is None
    sizes = [held_bytes(tensors, one, dtype, format, is_stored) for one in wanted]
    passing = max(passing_bytes(tensors, one, dtype, format, is_stored) for one in wanted)
    others = [
        (key, sum(held_bytes(tensors, one, dtype, name, False) for one in wanted))
        for key, name in FORMATS.items()
        if name is not None and key != weights
    ]
    asked = (tensors.name, sum(sizes), {} if beside is None else beside(dtype), passing, others)
    memory.check(backend, *asked)
    loaded = Weights(backend, dtype)
    done = 0
    for one, size in zip(wanted, sizes, strict=True):
        blocks = format if _is_packed(one, format) else None
        try:
            held = _held(backend, tensors, one, dtype, blocks, is_stored)
        except OutOfMemory:
            memory.refuse(backend, *asked)
        loaded._add(one, held)
        done += size
        if progress is not None:
            progress(done, sum(sizes))
    return loaded


def _held(
    backend: Backend, tensors: StoredTensors, one: Wanted, dtype: np.dtype[Any],
    format: str | None, as_stored: bool,
) -> Array | QuantizedTensor | Stacked:  # fmt: skip
    stored = [tensors[name] for name in one.names]
    kinds = {tensor.dtype for tensor in stored}
    if as_stored and _stays(one, stored):
        if len(kinds) == 1:
            blocks = np.concatenate([tensor.blocks() for tensor in stored])
            return QuantizedTensor.from_blocks(blocks, stored[0].dtype, one.shape, device=backend)
        return Stacked([_as_stored(backend, tensor, dtype) for tensor in stored])
    if len(stored) == 1:
        held = on_device(backend, stored[0]).astype(dtype, copy=False)
    else:
        held = empty(one.shape, dtype=dtype, device=backend)
        first = 0
        for tensor, rows in zip(stored, one.rows, strict=True):
            held[first : first + rows] = on_device(backend, tensor)
            first += rows
    return held if format is None else quantize_blocks(held, format)


def _as_stored(
    backend: Backend, stored: StoredTensor, dtype: np.dtype[Any]
) -> Array | QuantizedTensor:
    if stored.is_quantized:
        return QuantizedTensor.from_blocks(
            stored.blocks(), stored.dtype, stored.shape, device=backend
        )
    return on_device(backend, stored).astype(dtype, copy=False)


class Stacked:
    """Matrices below each other that are held in different ways: what each of them gives is side by
    side."""

    __slots__ = ("parts",)

    def __init__(self, parts: Sequence[Array | QuantizedTensor]) -> None:
        self.parts = tuple(parts)

    @property
    def nbytes(self) -> int:
        return sum(one.nbytes for one in self.parts)


def on_device(backend: Backend, stored: StoredTensor) -> Array:
    """A tensor of floats, or what blocks stand for; float64 is rounded."""
    if stored.is_quantized:
        blocks = QuantizedTensor.from_blocks(
            stored.blocks(), stored.dtype, stored.shape, device=backend
        )
        return blocks.dequantize(FLOAT32)
    host = stored.host()
    if stored.dtype == "float64":
        host = host.astype(np.float32)
    return asarray(np.ascontiguousarray(host), device=backend)
