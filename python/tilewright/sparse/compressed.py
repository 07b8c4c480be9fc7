"""Sparse arrays whose elements lie row by row, or column by column."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from tilewright.array import Array
from tilewright.namespace.selection import nonzero, take
from tilewright.namespace.sorting import argsort
from tilewright.sparse import reading, structure
from tilewright.sparse.base import SparseArray
from tilewright.sparse.coo import coo_array

if TYPE_CHECKING:
    from typing import Self

    from tilewright.namespace.devices import Device


class _Across(NamedTuple):
    """The places of a matrix compressed along the other axis, and where their elements are."""

    indptr: Array
    indices: Array
    order: Array


class _Kept:
    """What was found out about indices, which stay as they are; matrices that share them share
    it."""

    across: _Across | None = None
    is_canonical: bool | None = None


class _Compressed(SparseArray):
    """Elements along the axis `major`: those of its i-th row or column are indptr[i] to
    indptr[i + 1]."""

    major: ClassVar[int]
    _data: Array
    indices: Array
    indptr: Array
    _kept: _Kept

    def __init__(
        self,
        arg1: Any,
        shape: Any = None,
        dtype: Any = None,
        copy: bool = False,
        *,
        device: Device | None = None,
    ) -> None:
        given = reading.Given(f"{self.format}_array", arg1, shape, dtype, device)
        self.backend = given.backend
        self._kept = _Kept()
        if given.is_sparse or given.is_dense or (not given.is_shape and len(arg1) == 2):
            found = given.sparse() if given.is_sparse else coo_array._of(given)
            own: Any = found.tocsr() if self.major == 0 else found.tocsc()
            self.shape, self._data = own.shape, own._data
            self.indices, self.indptr, self._kept = own.indices, own.indptr, own._kept
        elif given.is_shape:
            self.shape, self._data = given.shape_alone(), given.no_values()
            self.indices = given.no_indices()
            self.indptr = given.no_indices(self.shape[self.major] + 1)
        else:
            parts = given.compressed(self.major)
            self.shape, self._data, self.indices, self.indptr = parts
        if copy:
            self._data, self.indices = self._data.copy(), self.indices.copy()
            self.indptr, self._kept = self.indptr.copy(), _Kept()

    @classmethod
    def _made(
        cls,
        data: Array,
        indices: Array,
        indptr: Array,
        shape: tuple[int, int],
        kept: _Kept | None = None,
    ) -> Self:
        """Of Arrays that are right."""
        made = cls.__new__(cls)
        made.backend, made.shape = data.backend, shape
        made._data, made.indices, made.indptr = data, indices, indptr
        made._kept = _Kept() if kept is None else kept
        return made

    @property
    def data(self) -> Array:
        return self._data

    @data.setter
    def data(self, value: Array) -> None:
        self._data = reading.replacement(f"{self.format}_array", value, self._data)

    def _places(self) -> tuple[Array, Array]:
        """The major and minor index of each element."""
        return structure.expanded(self.indptr, self.nnz), self.indices

    def _own_shape(self) -> tuple[int, int]:
        return self.shape if self.major == 0 else (self.shape[1], self.shape[0])

    def _across(self) -> _Across:
        """Kept for the next time: the indices of a sparse array stay as they are."""
        if self._kept.across is None:
            major, minor = self._places()
            size = self._own_shape()[1]
            order = argsort(minor)
            indptr = structure.compressed(take(minor, order), size)
            self._kept.across = _Across(indptr, take(major, order), order)
        return self._kept.across

    @property
    def has_canonical_format(self) -> bool:
        """Whether the indices of each row, or column, ascend, no two of them equal. Waits for the
        device where it was not asked before."""
        if self._kept.is_canonical is None:
            self._kept.is_canonical = structure.is_canonical(*self._places())
        return self._kept.is_canonical

    @property
    def has_sorted_indices(self) -> bool:
        """Whether the indices of each row, or column, do not fall. Waits for the device."""
        if self.nnz < 2:
            return True
        major, minor = self._places()
        return not bool(((major[1:] == major[:-1]) & (minor[1:] < minor[:-1])).any())

    def sort_indices(self) -> None:
        """Puts the elements of each row, or column, in order."""
        if self.has_sorted_indices:
            return
        order = structure.order_of(*self._places(), self._own_shape())
        self.indices, self._data = take(self.indices, order), take(self._data, order)
        self._kept = _Kept()

    def sum_duplicates(self) -> None:
        """Puts elements in order and adds up those of one place."""
        if self.has_canonical_format:
            return
        self.sort_indices()
        major, self.indices, self._data = structure.joined(*self._places(), self._data)
        self.indptr = structure.compressed(major, self._own_shape()[0])
        self._kept = _Kept()

    def eliminate_zeros(self) -> None:
        """Drops the elements that are 0."""
        (places,) = nonzero(self._data != 0)
        major = take(self._places()[0], places)
        self.indices, self._data = take(self.indices, places), take(self._data, places)
        self.indptr = structure.compressed(major, self._own_shape()[0])
        self._kept = _Kept()

    def copy(self) -> Self:
        return self._made(
            self._data.copy(), self.indices.copy(), self.indptr.copy(), self.shape
        )  # fmt: skip

    def _rows_and_columns(self) -> tuple[Array, Array]:
        major, minor = self._places()
        return (major, minor) if self.major == 0 else (minor, major)

    def _with(self, data: Array) -> Self:
        return self._made(data, self.indices, self.indptr, self.shape, self._kept)

    def _other_way(self, cls: Any) -> Any:
        """The same matrix compressed along the other axis."""
        across = self._across()
        return cls._made(take(self._data, across.order), across.indices, across.indptr, self.shape)

    def tocoo(self, copy: bool = False) -> coo_array:
        row, col = self._rows_and_columns()
        made = coo_array._made(self._data, row, col, self.shape)
        return made.copy() if copy else made

    def _to_scipy(self, cls: Any) -> Any:
        parts = (self._data.numpy(), self.indices.numpy(), self.indptr.numpy())
        return cls(parts, shape=self.shape)


class csr_array(_Compressed):
    """A sparse matrix row by row, as `data`, `indices` (of columns) and `indptr`.

    Made of a dense matrix, another sparse array (SciPy's too), (data, indices, indptr),
    (data, (row, col)), or of a shape alone, without elements.
    """

    format = "csr"
    major = 0

    def transpose(self) -> csc_array:
        return csc_array._made(
            self._data, self.indices, self.indptr, self.shape[::-1], self._kept
        )  # fmt: skip

    def tocsr(self, copy: bool = False) -> csr_array:
        return self.copy() if copy else self

    def tocsc(self, copy: bool = False) -> csc_array:
        made: csc_array = self._other_way(csc_array)
        return made.copy() if copy else made

    def _by_rows(self) -> tuple[Array, Array, Array]:
        return self.indptr, self.indices, self._data

    def to_scipy(self) -> Any:
        return self._to_scipy(reading.of_scipy("csr_array"))


class csc_array(_Compressed):
    """A sparse matrix column by column, as `data`, `indices` (of rows) and `indptr`. Products go
    through its places row by row, which are kept.

    Made of what csr_array is made of.
    """

    format = "csc"
    major = 1

    def transpose(self) -> csr_array:
        return csr_array._made(
            self._data, self.indices, self.indptr, self.shape[::-1], self._kept
        )  # fmt: skip

    def tocsc(self, copy: bool = False) -> csc_array:
        return self.copy() if copy else self

    def tocsr(self, copy: bool = False) -> csr_array:
        made: csr_array = self._other_way(csr_array)
        return made.copy() if copy else made

    def _by_rows(self) -> tuple[Array, Array, Array]:
        across = self._across()
        return across.indptr, across.indices, take(self._data, across.order)

    def to_scipy(self) -> Any:
        return self._to_scipy(reading.of_scipy("csc_array"))
