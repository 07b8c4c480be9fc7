"""Sparse arrays of dense blocks, which lie row by row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

from tilewright.array import Array
from tilewright.namespace import reductions
from tilewright.namespace.creation import zeros
from tilewright.namespace.manipulation import broadcast_to
from tilewright.namespace.selection import nonzero, take
from tilewright.namespace.sorting import argsort
from tilewright.operands import INT32, invalid, read_host, shown, to_integer
from tilewright.sparse import elements, reading, structure
from tilewright.sparse.base import SparseArray
from tilewright.sparse.coo import coo_array

if TYPE_CHECKING:
    from typing import Self

    from tilewright.namespace.devices import Device
    from tilewright.operands import ArrayLike
    from tilewright.sparse.compressed import csc_array, csr_array


def to_blocksize(call: str, given: Any, shape: tuple[int, int]) -> tuple[int, int]:
    if not isinstance(given, (tuple, list)) or len(given) != 2:
        invalid(call, f"blocksize is {shown(given)}, expected two sizes, of rows and columns")
    first, second = (to_integer(call, "blocksize", one) for one in given)
    for size, block, what in zip(shape, (first, second), ("rows", "columns"), strict=True):
        if block < 1 or size % block:
            invalid(
                call, f"blocksize is {(first, second)}, expected sizes of 1 or more that divide "
                f"the {size} {what}"
            )  # fmt: skip
    return first, second


class bsr_array(SparseArray):
    """A sparse matrix of blocks: `data` [blocks, rows, columns], of which those from indptr[i] to
    indptr[i + 1] stand in the i-th row of blocks, at the columns of blocks `indices`.

    Made of a dense matrix or another sparse array (SciPy's too) with a `blocksize`, of (data,
    indices, indptr), or of a shape alone.
    """

    format = "bsr"
    _data: Array
    indices: Array
    indptr: Array

    def __init__(
        self,
        arg1: Any,
        shape: Any = None,
        dtype: Any = None,
        copy: bool = False,
        blocksize: Any = None,
        *,
        device: Device | None = None,
    ) -> None:
        call = "bsr_array"
        if reading.is_scipy(arg1) and arg1.format == "bsr" and blocksize in (None, arg1.blocksize):
            shape = arg1.shape if shape is None else shape
            arg1 = (arg1.data, arg1.indices, arg1.indptr)
        given = reading.Given(call, arg1, shape, dtype, device)
        self.backend = given.backend
        if isinstance(arg1, tuple) and len(arg1) == 3:
            self._take_blocks(call, given, blocksize)
        else:
            if given.is_shape:
                made = coo_array._made(
                    given.no_values(), given.no_indices(), given.no_indices(), given.shape_alone()
                )
            else:
                made = given.sparse().tocoo() if given.is_sparse else coo_array._of(given)
            if blocksize is None and isinstance(arg1, bsr_array):
                blocksize = arg1.blocksize
            own = of_coo(call, made, blocksize)
            self.shape, self._data = own.shape, own._data
            self.indices, self.indptr = own.indices, own.indptr
        if copy:
            self._data, self.indices = self._data.copy(), self.indices.copy()
            self.indptr = self.indptr.copy()

    def _take_blocks(self, call: str, given: reading.Given, blocksize: Any) -> None:
        data, indices, indptr = given.arg
        own = data if isinstance(data, Array) else read_host(call, "data", data)
        if own.ndim != 3 or 0 in own.shape[1:]:
            invalid(call, f"data has shape {own.shape}, expected blocks, [blocks, rows, columns]")
        block = (int(own.shape[1]), int(own.shape[2]))
        if blocksize is not None and tuple(blocksize) != block:
            invalid(call, f"blocksize is {shown(blocksize)}, expected {block} as data has, or None")
        flat = structure.to_values(call, own.reshape((own.size,)), given.dtype, self.backend)
        indices, indptr = (
            one if isinstance(one, Array) else read_host(call, name, one)
            for name, one in (("indices", indices), ("indptr", indptr))
        )
        count = int(own.shape[0])
        if indices.shape != (count,):
            invalid(call, f"indices has shape {indices.shape}, expected {(count,)} as data")
        if given._shape is None:
            across = int(indices.max()) + 1 if indices.size else 0
            shape = (max(indptr.size - 1, 0) * block[0], across * block[1])
            given._shape = structure.to_shape(call, shape)
        shape = given._shape
        to_blocksize(call, block, shape)
        self.shape = shape
        self.indptr = structure.to_offsets(
            call, indptr, shape[0] // block[0], "rows of blocks", count, self.backend
        )
        self.indices = structure.to_indices(
            call, "indices", indices, shape[1] // block[1], "columns of blocks", self.backend
        )
        self._data = flat.reshape((count, *block), copy=False)

    @classmethod
    def _made(cls, data: Array, indices: Array, indptr: Array, shape: tuple[int, int]) -> Self:
        """Of Arrays that are right."""
        made = cls.__new__(cls)
        made.backend, made.shape = data.backend, shape
        made._data, made.indices, made.indptr = data, indices, indptr
        return made

    @property
    def data(self) -> Array:
        return self._data

    @data.setter
    def data(self, value: Array) -> None:
        self._data = reading.replacement("bsr_array", value, self._data)

    @property
    def blocksize(self) -> tuple[int, int]:
        return self._data.shape[1], self._data.shape[2]

    @property
    def has_canonical_format(self) -> bool:
        """Whether the indices of each row of blocks ascend, no two of them equal. Waits for the
        device."""
        return structure.is_canonical(self._block_rows(), self.indices)

    def _block_rows(self) -> Array:
        return structure.expanded(self.indptr, self.indices.size)

    def _flat(self) -> Array:
        return self._data.reshape((-1,)) if self._data.size else self._data.reshape((0,))

    def _rows_and_columns(self) -> tuple[Array, Array]:
        rows, columns = self.blocksize
        within = [structure.counted(size, self.backend) for size in (rows, columns)]
        shape = self._data.shape
        row = self._block_rows().reshape((-1, 1, 1)) * rows + within[0].reshape((1, -1, 1))
        col = self.indices.reshape((-1, 1, 1)) * columns + within[1].reshape((1, 1, -1))
        if 0 in shape:
            none = zeros(0, dtype=INT32, device=self.backend)
            return none, none
        spread = [broadcast_to(one, shape).reshape((-1,)) for one in (row, col)]
        # Of one block a view repeats its only row or column.
        return spread[0]._contiguous(), spread[1]._contiguous()

    def _by_rows(self) -> tuple[Array, Array, Array]:
        csr = self.tocsr()
        return csr.indptr, csr.indices, csr.data

    def _with(self, data: Array) -> Self:
        return self._made(data.reshape(self._data.shape), self.indices, self.indptr, self.shape)

    def copy(self) -> Self:
        return self._made(self._data.copy(), self.indices.copy(), self.indptr.copy(), self.shape)

    def tocoo(self, copy: bool = False) -> coo_array:
        row, col = self._rows_and_columns()
        data = self._flat()
        return coo_array._made(data.copy() if copy else data, row, col, self.shape)

    def tocsr(self, copy: bool = False) -> csr_array:
        return self.tocoo().tocsr(copy=copy)

    def tocsc(self, copy: bool = False) -> csc_array:
        return self.tocoo().tocsc(copy=copy)

    def tobsr(self, blocksize: Any = None, copy: bool = False) -> bsr_array:
        if blocksize is None or tuple(blocksize) == self.blocksize:
            return self.copy() if copy else self
        return of_coo("tobsr", self.tocoo(), blocksize)

    def transpose(self) -> bsr_array:
        order = argsort(self.indices)
        indices = take(self._block_rows(), order)
        indptr = structure.compressed(take(self.indices, order), self.shape[1] // self.blocksize[1])
        data = take(self._data, order, axis=0).transpose((0, 2, 1)).copy()
        return self._made(data, indices, indptr, self.shape[::-1])

    @overload
    def __matmul__(self, other: SparseArray) -> csr_array: ...
    @overload
    def __matmul__(self, other: ArrayLike) -> Array: ...
    def __matmul__(self, other: Any) -> csr_array | Array:
        """By a dense operand block by block."""
        if isinstance(other, SparseArray):
            return super().__matmul__(other)
        x, dtype = self._factor(other)
        return structure.multiply(
            self.indptr, self.indices, self._data.astype(dtype, copy=False), x,
            self.shape[1] // self.blocksize[1],
        )  # fmt: skip

    def to_scipy(self) -> Any:
        parts = (self._data.numpy(), self.indices.numpy(), self.indptr.numpy())
        return reading.of_scipy("bsr_array")(parts, shape=self.shape)


def of_coo(call: str, coo: coo_array, blocksize: Any) -> bsr_array:
    """The blocks that elements stand in, with zeros beside them."""
    rows, columns = to_blocksize(call, blocksize, coo.shape)
    coo = elements.canonical(coo)
    backend, shape = coo.backend, coo.shape
    across = shape[1] // columns
    row, col = coo.row // rows, coo.col // columns
    order = structure.order_of(row, col, (shape[0] // rows, max(across, 1)))
    row, col = take(row, order), take(col, order)
    is_first = structure.fresh(row, col)
    (starts,) = nonzero(is_first)
    count = starts.size
    if count * rows * columns > structure.MOST:
        invalid(
            call,
            f"blocksize is {(rows, columns)}: {count} blocks have more elements than int32 counts",
        )
    data = zeros(count * rows * columns, dtype=coo.dtype, device=backend)
    if count:
        block = reductions.cumulative_sum(is_first.astype(INT32), dtype=INT32) - 1
        own_row, own_col = take(coo.row, order), take(coo.col, order)
        place = (block * rows + own_row % rows) * columns + own_col % columns
        data[place] = take(coo.data, order)
    return bsr_array._made(
        data.reshape((count, rows, columns), copy=False), take(col, starts),
        structure.compressed(take(row, starts), shape[0] // rows), shape,
    )  # fmt: skip
