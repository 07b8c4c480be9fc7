"""Sparse arrays as lists of elements with their places."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilewright.array import Array
from tilewright.namespace.selection import nonzero, take
from tilewright.sparse import reading, structure
from tilewright.sparse.base import SparseArray

if TYPE_CHECKING:
    from typing import Self

    from tilewright.namespace.devices import Device
    from tilewright.sparse.compressed import csc_array, csr_array


class coo_array(SparseArray):
    """A sparse matrix as `data`, `row` and `col`, in any order. Elements of one place add up.

    Made of a dense matrix, another sparse array (SciPy's too), (data, (row, col)), or of a shape
    alone, without elements.
    """

    format = "coo"
    _data: Array
    row: Array
    col: Array

    def __init__(
        self,
        arg1: Any,
        shape: Any = None,
        dtype: Any = None,
        copy: bool = False,
        *,
        device: Device | None = None,
    ) -> None:
        self._take(reading.Given("coo_array", arg1, shape, dtype, device))
        if copy:
            self._data, self.row, self.col = self._data.copy(), self.row.copy(), self.col.copy()

    @classmethod
    def _of(cls, given: reading.Given) -> coo_array:
        """Of what another class was given."""
        made = cls.__new__(cls)
        made._take(given)
        return made

    def _take(self, given: reading.Given) -> None:
        self.backend = given.backend
        if given.is_sparse:
            coo = given.sparse().tocoo()
            self.shape, self._data, self.row, self.col = coo.shape, coo._data, coo.row, coo.col
        elif given.is_dense:
            dense = given.dense()
            self.shape = (dense.shape[0], dense.shape[1])
            row, col = nonzero(dense)
            self.row, self.col = row.astype("int32", copy=False), col.astype("int32", copy=False)
            self._data = dense[row, col]
        elif given.is_shape:
            self.shape, self._data = given.shape_alone(), given.no_values()
            self.row, self.col = given.no_indices(), given.no_indices()
        else:
            self.shape, self._data, self.row, self.col = given.places()

    @classmethod
    def _made(cls, data: Array, row: Array, col: Array, shape: tuple[int, int]) -> coo_array:
        """Of Arrays that are right."""
        made = cls.__new__(cls)
        made.backend, made.shape = data.backend, shape
        made._data, made.row, made.col = data, row, col
        return made

    @property
    def data(self) -> Array:
        return self._data

    @data.setter
    def data(self, value: Array) -> None:
        self._data = reading.replacement("coo_array", value, self._data)

    @property
    def coords(self) -> tuple[Array, Array]:
        return self.row, self.col

    @property
    def has_canonical_format(self) -> bool:
        """Whether elements are in the order of rows and columns, no two at one place. Waits for the
        device."""
        return structure.is_canonical(self.row, self.col)

    def sum_duplicates(self) -> None:
        """Puts elements in order and adds up those of one place."""
        if self.nnz < 2 or self.has_canonical_format:
            return
        order = structure.order_of(self.row, self.col, self.shape)
        row, col, data = (take(one, order) for one in (self.row, self.col, self._data))
        self.row, self.col, self._data = structure.joined(row, col, data)

    def eliminate_zeros(self) -> None:
        """Drops the elements that are 0."""
        (kept,) = nonzero(self._data != 0)
        self.row, self.col, self._data = (
            take(one, kept) for one in (self.row, self.col, self._data)
        )

    def copy(self) -> coo_array:
        return self._made(self._data.copy(), self.row.copy(), self.col.copy(), self.shape)

    def transpose(self) -> coo_array:
        return self._made(self._data, self.col, self.row, self.shape[::-1])

    def tocoo(self, copy: bool = False) -> coo_array:
        return self.copy() if copy else self

    def tocsr(self, copy: bool = False) -> csr_array:
        """In CSR, in order and without duplicates, as SciPy does it."""
        from tilewright.sparse.compressed import csr_array

        ordered = self if self.nnz < 2 or self.has_canonical_format else self.copy()
        ordered.sum_duplicates()
        indptr = structure.compressed(ordered.row, self.shape[0])
        made = csr_array._made(ordered._data, ordered.col, indptr, self.shape)
        return made.copy() if copy and ordered is self else made

    def tocsc(self, copy: bool = False) -> csc_array:
        transposed = self.transpose().tocsr(copy=copy).transpose()
        return transposed

    def _rows_and_columns(self) -> tuple[Array, Array]:
        return self.row, self.col

    def _by_rows(self) -> tuple[Array, Array, Array]:
        csr = self.tocsr()
        return csr.indptr, csr.indices, csr.data

    def _with(self, data: Array) -> Self:
        return self._made(data, self.row, self.col, self.shape)  # type: ignore[return-value]

    def to_scipy(self) -> Any:
        places = (self.row.numpy(), self.col.numpy())
        return reading.of_scipy("coo_array")((self._data.numpy(), places), shape=self.shape)
