"""What sparse arrays of all formats have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

import numpy as np

from tilewright.array import Array
from tilewright.namespace import reductions
from tilewright.namespace.creation import ones, zeros
from tilewright.namespace.dtypes import result_type
from tilewright.namespace.selection import nonzero, take
from tilewright.namespace.sorting import argsort
from tilewright.operands import INT32, invalid, shown, to_integer
from tilewright.sparse import elements, structure

if TYPE_CHECKING:
    from typing import Self

    from tilewright.backend import Backend
    from tilewright.operands import ArrayLike
    from tilewright.sparse.bsr import bsr_array
    from tilewright.sparse.compressed import csc_array, csr_array
    from tilewright.sparse.coo import coo_array


class SparseArray:
    """A matrix of which only some elements are stored, on a device. Its Arrays are those that
    SciPy's class of the same name has."""

    # NumPy's arrays and tilewright's leave operators to it.
    __array_ufunc__ = None
    __array_priority__ = 30.0
    __hash__ = None  # type: ignore[assignment]
    _is_sparse = True

    format: str
    shape: tuple[int, int]
    backend: Backend

    ndim = 2

    @property
    def data(self) -> Array:
        raise NotImplementedError

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.data.dtype

    @property
    def nnz(self) -> int:
        """The elements that are stored, duplicates and zeros among them."""
        return self.data.size

    @property
    def size(self) -> int:
        return self.nnz

    @property
    def device(self) -> Backend:
        return self.backend

    @property
    def T(self) -> SparseArray:
        return self.transpose()

    @property
    def mT(self) -> SparseArray:
        return self.transpose()

    # Of each format ---------------------------------------------------------------------------

    def transpose(self) -> SparseArray:
        raise NotImplementedError

    def tocsr(self, copy: bool = False) -> csr_array:
        raise NotImplementedError

    def tocsc(self, copy: bool = False) -> csc_array:
        raise NotImplementedError

    def tocoo(self, copy: bool = False) -> coo_array:
        raise NotImplementedError

    def _rows_and_columns(self) -> tuple[Array, Array]:
        """Of each element."""
        raise NotImplementedError

    def _by_rows(self) -> tuple[Array, Array, Array]:
        """indptr, indices and data of the matrix in CSR."""
        raise NotImplementedError

    def _with(self, data: Array) -> Self:
        """The same places with other elements."""
        raise NotImplementedError

    def _flat(self) -> Array:
        """The elements in the order of _rows_and_columns()."""
        return self.data

    def to_scipy(self) -> Any:
        """SciPy's array of this format, on the host."""
        raise NotImplementedError

    # Of all -----------------------------------------------------------------------------------

    def asformat(self, format: str | None, copy: bool = False) -> SparseArray:
        """In another format: "csr", "csc" or "coo"; tobsr() makes blocks."""
        if format is None or format == self.format:
            return self.copy() if copy else self
        ways: dict[str, Any] = {"csr": self.tocsr, "csc": self.tocsc, "coo": self.tocoo}
        if not isinstance(format, str) or format not in ways:
            invalid("asformat", f"format is {shown(format)}, expected 'csr', 'csc' or 'coo'")
        found: SparseArray = ways[format](copy=copy)
        return found

    def tobsr(self, blocksize: Any = None, copy: bool = False) -> bsr_array:
        """In dense blocks of so many rows and columns."""
        from tilewright.sparse.bsr import of_coo

        return of_coo("tobsr", self.tocoo(), blocksize)

    def copy(self) -> Self:
        return self._with(self.data.copy())

    def astype(self, dtype: Any, copy: bool = True) -> Self:
        wanted = structure.to_dtype("astype", dtype)
        return self._with(self.data.astype(wanted, copy=copy))

    def conj(self) -> Self:
        return self._with(self.data.conj())

    def toarray(self) -> Array:
        """The whole matrix, as an Array."""
        result = zeros(self.shape, dtype=self.dtype, device=self.backend)
        if self.nnz:
            coo = self.tocoo()
            if not coo.has_canonical_format:
                coo = coo.copy()
                coo.sum_duplicates()
            result[coo.row, coo.col] = coo.data
        return result

    def todense(self) -> Array:
        """toarray()."""
        return self.toarray()

    def diagonal(self, k: int = 0) -> Array:
        """The elements of which the column is k more than the row."""
        at = to_integer("diagonal", "k", k)
        rows, cols = self.shape
        size = max(min(rows + min(at, 0), cols - max(at, 0)), 0)
        result = zeros(size, dtype=self.dtype, device=self.backend)
        if self.nnz == 0 or size == 0:
            return result
        row, col = self._rows_and_columns()
        (places,) = nonzero(col - row == at)
        if places.size:
            line = take(row if at >= 0 else col, places)
            order = argsort(line)
            line, found = take(line, order), take(take(self._flat(), places), order)
            line, _, found = structure.joined(line, line, found)
            result[line] = found
        return result

    def sum(self, axis: int | None = None) -> Array:
        """Of all elements, or along an axis: a vector, as SciPy's sparse arrays have it."""
        if axis is None:
            return reductions.sum(self._flat())
        at = to_integer("sum", "axis", axis)
        if not -2 <= at < 2:
            invalid("sum", f"axis is {at}, expected 0 or 1, or None")
        of = self if at % 2 == 1 else self.transpose()
        return of @ ones(of.shape[1], dtype=self.dtype, device=self.backend)

    def mean(self, axis: int | None = None) -> Array:
        """The sum by the number of elements, stored or not."""
        if axis is None:
            count = self.shape[0] * self.shape[1]
        else:
            count = self.shape[to_integer("mean", "axis", axis) % 2]
        return self.sum(axis) / count

    def count_nonzero(self) -> int:
        """The elements that are stored and not 0."""
        return int(reductions.sum((self._flat() != 0).astype(INT32)))

    @overload
    def dot(self, other: SparseArray) -> csr_array: ...
    @overload
    def dot(self, other: ArrayLike) -> Array: ...
    def dot(self, other: Any) -> csr_array | Array:
        """self @ other."""
        product: csr_array | Array = self @ other
        return product

    # Operators --------------------------------------------------------------------------------

    def _dense(self, call: str, other: Any, most: int = 2) -> Array:
        if isinstance(other, (int, float, complex, np.generic)):
            invalid(call, f"x2 is {shown(other)}, expected a vector or a matrix; write A * {other}")
        dense = structure.to_device(call, "x2", other, self.backend)
        if not 1 <= dense.ndim <= most:
            expected = "one or two" if most == 2 else "one to three"
            invalid(call, f"x2 has shape {dense.shape}, expected {expected} dimensions")
        return dense

    def _factor(self, other: Any) -> tuple[Array, np.dtype[Any]]:
        """What it is multiplied by, in the dtype of the product: a vector, a matrix or a batch."""
        x = self._dense("matmul", other, 3)
        if x.shape[0 if x.ndim == 1 else -2] != self.shape[1]:
            invalid(
                "matmul",
                f"x1 has shape {self.shape} and x2 {x.shape}, expected {self.shape[1]} rows in x2",
            )
        own = self.dtype
        if x.dtype == own and own in structure.DTYPES:
            return x, own
        dtype = _common("matmul", own, x.dtype)
        return x.astype(dtype, copy=False), dtype

    @overload
    def __matmul__(self, other: SparseArray) -> csr_array: ...
    @overload
    def __matmul__(self, other: ArrayLike) -> Array: ...
    def __matmul__(self, other: Any) -> csr_array | Array:
        if isinstance(other, SparseArray):
            return _multiplied(self, other)
        x, dtype = self._factor(other)
        indptr, indices, data = self._by_rows()
        if data.dtype != dtype:
            data = data.astype(dtype)
        return structure.multiply(indptr, indices, data, x, self.shape[1])

    def __rmatmul__(self, other: Any) -> Array:
        x = self._dense("matmul", other, 3)
        if x.shape[-1] != self.shape[0]:
            invalid(
                "matmul",
                f"x1 has shape {x.shape} and x2 {self.shape}, expected {x.shape[-1]} rows in x2",
            )
        return self.transpose() @ x if x.ndim == 1 else (self.transpose() @ x.mT).mT

    def _common(self, call: str, dtype: np.dtype[Any]) -> np.dtype[Any]:
        return _common(call, self.dtype, dtype)

    def _number(self, call: str, other: Any) -> Any:
        if not _is_number(other):
            invalid(call, f"x2 is {shown(other)}, expected a number")
        return other

    def multiply(self, other: Any) -> SparseArray:
        """By elements: a number, a dense matrix, row or column, or a sparse array."""
        if _is_number(other):
            return self._with(_in_floats(self.data * other))
        if not isinstance(other, SparseArray):
            dense = self._dense("multiply", other)
            dtype = _common("multiply", self.dtype, dense.dtype)
            return self._with(elements.by_dense(self, dense, dtype))
        if other.shape != self.shape:
            invalid(
                "multiply",
                f"x2 has shape {other.shape}, expected {self.shape}, that of x1; write A @ x for "
                "a product of matrices",
            )
        self.backend._own("multiply", "x2", other.data)
        made = elements.of_both(self, other, _common("multiply", self.dtype, other.dtype))
        return made if self.format != "csc" else made.tocsc()

    def __mul__(self, other: Any) -> SparseArray:
        return self.multiply(other)

    def __rmul__(self, other: Any) -> SparseArray:
        return self.multiply(other)

    @overload
    def __getitem__(self, key: tuple[int, int]) -> Array: ...
    @overload
    def __getitem__(self, key: Any) -> SparseArray: ...
    def __getitem__(self, key: Any) -> SparseArray | Array:
        """An element as an Array; slices, indices and masks of rows and of columns as a sparse
        array. Rows may be repeated and in any order."""
        return elements.chosen(self, key)

    def __truediv__(self, other: Any) -> Self:
        return self._with(_in_floats(self.data / self._number("divide", other)))

    def __neg__(self) -> Self:
        return self._with(-self.data)

    def __pos__(self) -> Self:
        return self

    @overload
    def __add__(self, other: SparseArray) -> SparseArray: ...
    @overload
    def __add__(self, other: ArrayLike) -> Array: ...
    def __add__(self, other: Any) -> SparseArray | Array:
        return self._plus("add", other, 1)

    @overload
    def __radd__(self, other: SparseArray) -> SparseArray: ...
    @overload
    def __radd__(self, other: ArrayLike) -> Array: ...
    def __radd__(self, other: Any) -> SparseArray | Array:
        return self._plus("add", other, 1)

    @overload
    def __sub__(self, other: SparseArray) -> SparseArray: ...
    @overload
    def __sub__(self, other: ArrayLike) -> Array: ...
    def __sub__(self, other: Any) -> SparseArray | Array:
        return self._plus("subtract", other, -1)

    @overload
    def __rsub__(self, other: SparseArray) -> SparseArray: ...
    @overload
    def __rsub__(self, other: ArrayLike) -> Array: ...
    def __rsub__(self, other: Any) -> SparseArray | Array:
        return (-self)._plus("subtract", other, 1)

    def _plus(self, call: str, other: Any, sign: int) -> SparseArray | Array:
        if isinstance(other, (int, float, complex)) and other == 0:
            return self.copy()
        shape = getattr(other, "shape", None)
        if shape != self.shape:
            invalid(
                call, f"x1 has shape {self.shape} and x2 is {shown(other)}, expected a matrix of "
                "the same shape"
            )  # fmt: skip
        if not isinstance(other, SparseArray):
            dense = structure.to_device(call, "x2", other, self.backend)
            return self.toarray() + dense if sign == 1 else self.toarray() - dense
        self.backend._own(call, "x2", other.data)
        dtype = _common(call, self.dtype, other.dtype)
        made = elements.sum_of_both(self, other, dtype, sign)
        return made if self.format != "csc" else made.tocsc()

    def __bool__(self) -> bool:
        if self.shape == (1, 1):
            return self.count_nonzero() != 0
        invalid("bool", f"the truth of a sparse array of shape {self.shape} is not defined")

    def __len__(self) -> int:
        raise TypeError("the length of a sparse array is ambiguous; use shape[0] or nnz")

    def __repr__(self) -> str:
        return (
            f"<{self.format}_array: {self.nnz} stored elements, shape={self.shape}, "
            f"dtype={self.dtype}, backend={self.backend.name!r}>"
        )


def _is_number(x: Any) -> bool:
    return isinstance(x, (int, float, complex, np.generic)) or (
        isinstance(x, (Array, np.ndarray)) and x.ndim == 0
    )


def _in_floats(data: Array) -> Array:
    if data.dtype not in structure.DTYPES:
        invalid("multiply", f"the result is {data.dtype}, expected a float or complex dtype")
    return data


def _common(call: str, first: np.dtype[Any], second: np.dtype[Any]) -> np.dtype[Any]:
    """What both are multiplied in."""
    dtype: np.dtype[Any] = result_type(first, second)
    if second.kind in "iub":
        dtype = first
    if dtype not in structure.DTYPES:
        invalid(call, f"x2 is {second}, expected one of {', '.join(map(str, structure.DTYPES))}")
    return dtype


def _of_places(data: Array, row: Array, col: Array, shape: tuple[int, int]) -> csr_array:
    """In CSR, in order and without duplicates."""
    from tilewright.sparse.coo import coo_array

    made = coo_array._made(data, row, col, shape)
    made.sum_duplicates()
    return made.tocsr()


def _multiplied(a: SparseArray, b: SparseArray) -> csr_array:
    """The product of sparse matrices: all products of elements in the order of their places, and
    those of one place added up."""
    if a.shape[1] != b.shape[0]:
        invalid(
            "matmul",
            f"x1 has shape {a.shape} and x2 {b.shape}, expected {a.shape[1]} rows in x2",
        )
    backend = a.backend
    backend._own("matmul", "x2", b.data)
    dtype = _common("matmul", a.dtype, b.dtype)
    shape = (a.shape[0], b.shape[1])
    row, inner = a._rows_and_columns()
    indptr, indices, values = b._by_rows()
    of_b, of_a, _ = elements.elements_of_rows(indptr, inner)
    left = take(a._flat().astype(dtype, copy=False), of_a)
    data = left * take(values.astype(dtype, copy=False), of_b)
    return _of_places(data, take(row, of_a), take(indices, of_b), shape)
