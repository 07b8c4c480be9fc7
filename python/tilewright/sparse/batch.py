"""Many sparse matrices of one shape in CSR, which are multiplied in one go."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright.array import Array
from tilewright.namespace.selection import take
from tilewright.operands import INT32, invalid, read_host, shown, to_integer
from tilewright.sparse import base, reading, structure
from tilewright.sparse.compressed import csr_array

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Self

    from tilewright.namespace.devices import Device


def _two_dimensions(call: str, name: str, given: Any) -> Any:
    own = given if isinstance(given, Array) else read_host(call, name, given)
    if own.ndim not in (1, 2):
        invalid(call, f"{name} has shape {own.shape}, expected one or two dimensions")
    return own


class csr_batch:
    """Matrices in CSR, all of one shape and of as many elements: `data` [matrices, elements], with
    `indices` [elements] and `indptr` [rows + 1] of a pattern that all have, or with a first
    dimension of matrices as well, of which each has its own.

    `shape` is (matrices, rows, columns), or (rows, columns) as an argument.
    """

    __array_ufunc__ = None
    __array_priority__ = 30.0
    __hash__ = None  # type: ignore[assignment]

    shape: tuple[int, int, int]

    ndim = 3
    format = "csr"

    def __init__(
        self,
        arg1: tuple[Any, Any, Any],
        shape: Any = None,
        dtype: Any = None,
        *,
        device: Device | None = None,
    ) -> None:
        call = "csr_batch"
        if not isinstance(arg1, tuple) or len(arg1) != 3:
            invalid(call, f"arg1 is {shown(arg1)}, expected (data, indices, indptr)")
        given = reading.Given(call, arg1, None, dtype, device)
        self.backend = given.backend
        data, indices, indptr = (
            _two_dimensions(call, name, one)
            for name, one in zip(("data", "indices", "indptr"), arg1, strict=True)
        )
        if data.ndim != 2:
            invalid(call, f"data has shape {data.shape}, expected [matrices, elements]")
        count, nnz = data.shape
        for name, one in (("indices", indices), ("indptr", indptr)):
            if one.ndim == 2 and one.shape[0] != count:
                invalid(call, f"{name} has shape {one.shape}, expected {count} rows as data has")
        if indices.shape[-1] != nnz:
            invalid(call, f"indices has shape {indices.shape}, expected {nnz} columns as data has")
        if indptr.shape[-1] == 0:
            invalid(call, f"indptr has shape {indptr.shape}, expected one more than there are rows")
        rows = indptr.shape[-1] - 1
        across = int(indices.max()) + 1 if shape is None and indices.size else 0
        self.shape = (count, *_shape_of(call, shape, count, (rows, across)))
        if self.shape[1] != rows:
            invalid(call, f"shape is {shape}, expected {rows} rows as indptr has")
        flat = structure.to_values(call, data.reshape(-1), given.dtype, self.backend)
        self._data = flat.reshape((count, nnz), copy=False)
        places = structure.to_indices(
            call, "indices", indices.reshape(-1), self.shape[2], "columns", self.backend
        )
        self.indices = places.reshape(indices.shape, copy=False)
        self.indptr = _offsets(call, indptr, rows, nnz, self.backend)

    @classmethod
    def _made(cls, data: Array, indices: Array, indptr: Array, shape: tuple[int, int, int]) -> Self:
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
        self._data = reading.replacement("csr_batch", value, self._data)

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._data.dtype

    @property
    def nnz(self) -> int:
        """The elements of each matrix that are stored."""
        return int(self._data.shape[1])

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, key: int) -> csr_array:
        """One of the matrices."""
        at = to_integer("csr_batch", "key", key)
        if not -len(self) <= at < len(self):
            raise IndexError(f"csr_batch: index {at} is out of range for {len(self)} matrices")
        own = [one[at] if one.ndim == 2 else one for one in (self.indices, self.indptr)]
        parts = [one._contiguous() for one in (self._data[at], *own)]
        return csr_array._made(parts[0], parts[1], parts[2], self.shape[1:])

    def __iter__(self) -> Iterator[csr_array]:
        return (self[i] for i in range(len(self)))

    def astype(self, dtype: Any, copy: bool = True) -> Self:
        wanted = structure.to_dtype("astype", dtype)
        data = self._data.astype(wanted, copy=copy)
        return self._made(data, self.indices, self.indptr, self.shape)

    def toarray(self) -> Array:
        """All matrices, [matrices, rows, columns]; elements of one place add up."""
        eye = np.eye(self.shape[2], dtype=self.dtype)
        return self @ structure.to_device("toarray", "eye", eye, self.backend)

    def transpose(self) -> csr_batch:
        """Each matrix transposed. Where all have one pattern, so do these."""
        count, rows, cols = self.shape
        nnz, own = self.nnz, self.indices.ndim == 2 or self.indptr.ndim == 2
        shape = (count, cols, rows)
        if not own:
            one = csr_array._made(
                structure.counted(nnz, self.backend), self.indices, self.indptr, (rows, cols)
            )  # fmt: skip
            across = one._across()
            data = take(self._data, across.order, axis=1)
            return csr_batch._made(data, across.indices, across.indptr, shape)
        patterns = [one._across() for one in self]
        return csr_batch._made(
            _stacked([take(one.data, p.order) for one, p in zip(self, patterns, strict=True)]),
            _stacked([p.indices for p in patterns]), _stacked([p.indptr for p in patterns]), shape,
        )  # fmt: skip

    @property
    def mT(self) -> csr_batch:
        return self.transpose()

    def __matmul__(self, other: Any) -> Array:
        """By a vector or a matrix for all of them, or by a batch of as many matrices."""
        x = structure.to_device("matmul", "x2", other, self.backend)
        count, _, cols = self.shape
        if not 1 <= x.ndim <= 3:
            invalid("matmul", f"x2 has shape {x.shape}, expected one to three dimensions")
        if x.shape[0 if x.ndim == 1 else -2] != cols:
            invalid(
                "matmul", f"x1 has shape {self.shape} and x2 {x.shape}, expected {cols} rows in x2"
            )
        if x.ndim == 3 and x.shape[0] != count:
            invalid(
                "matmul",
                f"x1 has shape {self.shape} and x2 {x.shape}, expected {count} matrices in x2",
            )
        dtype = base._common("matmul", self.dtype, x.dtype)
        data, x = self._data.astype(dtype, copy=False), x.astype(dtype, copy=False)
        lines = x.reshape((cols, 1)) if x.ndim == 1 else x
        found = structure.multiply_each(self.indptr, self.indices, data._contiguous(), lines, cols)
        return found.reshape(found.shape[:2]) if x.ndim == 1 else found

    def __repr__(self) -> str:
        return (
            f"<csr_batch: {self.nnz} stored elements each, shape={self.shape}, "
            f"dtype={self.dtype}, backend={self.backend.name!r}>"
        )


def _shape_of(call: str, shape: Any, count: int, found: tuple[int, int]) -> tuple[int, int]:
    if shape is None:
        return found
    if isinstance(shape, (tuple, list)) and len(shape) == 3:
        if shape[0] != count:
            invalid(call, f"shape is {shown(shape)}, expected {count} matrices as data has")
        shape = tuple(shape[1:])
    return structure.to_shape(call, shape)


def _offsets(call: str, indptr: Any, rows: int, nnz: int, backend: Any) -> Array:
    """Looked at matrix by matrix, on the host."""
    if indptr.ndim == 1:
        return structure.to_offsets(call, indptr, rows, "rows", nnz, backend)
    if isinstance(indptr, Array):
        backend._own(call, "indptr", indptr)
    host = indptr.numpy() if isinstance(indptr, Array) else indptr
    if host.dtype.kind not in "iu":
        invalid(call, f"indptr is {host.dtype}, expected integers")
    for i, one in enumerate(host):
        if one[0] != 0 or one[-1] != nnz or (one[1:] < one[:-1]).any():
            invalid(
                call, f"indptr[{i}] is {shown(one)}, expected offsets that ascend from 0 to {nnz}"
            )
    device = structure.to_device(
        call, "indptr", indptr if isinstance(indptr, Array) else host.astype(np.int32), backend
    )
    return device.astype(INT32, copy=False)._contiguous()


def _stacked(parts: list[Array]) -> Array:
    from tilewright.namespace.manipulation import stack

    return stack(parts)._contiguous()
