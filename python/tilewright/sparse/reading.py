"""What sparse arrays are made of."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright.array import Array
from tilewright.namespace.creation import zeros
from tilewright.namespace.devices import to_backend
from tilewright.operands import INT32, check_stored, invalid, read_host, shown
from tilewright.sparse import structure

if TYPE_CHECKING:
    from tilewright.backend import Backend
    from tilewright.namespace.devices import Device
    from tilewright.sparse.base import SparseArray


def is_scipy(x: Any) -> bool:
    """SciPy's matrices and arrays, without importing it."""
    return hasattr(x, "tocoo") and hasattr(x, "format") and not hasattr(x, "_is_sparse")


def of_scipy(name: str) -> Any:
    """A class of scipy.sparse, which is imported here alone."""
    return getattr(importlib.import_module("scipy.sparse"), name)


def _own_backend(arg: Any) -> Backend | None:
    """That of the first Array in it."""
    if isinstance(arg, Array):
        return arg.backend
    if getattr(arg, "_is_sparse", False):
        return arg.backend  # type: ignore[no-any-return]
    if isinstance(arg, (tuple, list)):
        for one in arg:
            found = _own_backend(one) if isinstance(one, (Array, tuple, list)) else None
            if found is not None:
                return found
    return None


def replacement(call: str, value: Any, before: Array) -> Array:
    """For `A.data = value`."""
    ok = isinstance(value, Array) and value.shape == before.shape
    if not ok or value.dtype not in structure.DTYPES or value.backend is not before.backend:
        invalid(
            call, f"data is {shown(value)}, expected an Array of floats or complex numbers of "
            f"shape {before.shape} on the same device"
        )  # fmt: skip
    return value  # type: ignore[no-any-return]


class Given:
    """The arguments of a constructor."""

    def __init__(self, call: str, arg: Any, shape: Any, dtype: Any, device: Device | None) -> None:
        self.call, self.arg = call, arg
        own = _own_backend(arg)
        self.backend: Backend = own if own is not None and device is None else (
            to_backend(call, device)
        )  # fmt: skip
        self.dtype = None if dtype is None else structure.to_dtype(call, dtype)
        if self.dtype is not None:
            check_stored(call, self.backend, self.dtype)
        self._shape = None if shape is None else structure.to_shape(call, shape)
        self.is_sparse = bool(getattr(arg, "_is_sparse", False)) or is_scipy(arg)
        self.is_shape = (
            isinstance(arg, tuple)
            and len(arg) == 2
            and all(hasattr(one, "__index__") and not hasattr(one, "shape") for one in arg)
        )
        self.is_dense = not (self.is_sparse or isinstance(arg, tuple))

    def _check_shape(self, shape: tuple[int, int]) -> None:
        if self._shape is not None and self._shape != shape:
            invalid(self.call, f"shape is {self._shape}, expected {shape} as arg1 has, or None")

    def sparse(self) -> SparseArray:
        """On this device, in the format that it has where that is one of these."""
        from tilewright.sparse.compressed import csc_array, csr_array
        from tilewright.sparse.coo import coo_array

        given = self.arg
        if is_scipy(given):
            if given.ndim != 2:
                invalid(self.call, f"arg1 has shape {given.shape}, expected two dimensions")
            if given.format not in ("csr", "csc", "coo"):
                given = given.tocoo()
            classes: dict[str, Any] = {"csr": csr_array, "csc": csc_array, "coo": coo_array}
            if given.format == "coo":
                parts: Any = (given.data, (given.row, given.col))
            else:
                parts = (given.data, given.indices, given.indptr)
            found = classes[given.format](
                parts, shape=given.shape, dtype=self.dtype, device=self.backend
            )
        else:
            found = given if given.backend is self.backend else _moved(given, self.backend)
            if self.dtype is not None:
                found = found.astype(self.dtype, copy=False)
        self._check_shape(found.shape)
        return found  # type: ignore[no-any-return]

    def dense(self) -> Array:
        given = self.arg if isinstance(self.arg, Array) else read_host(self.call, "arg1", self.arg)
        if given.ndim != 2:
            invalid(self.call, f"arg1 has shape {given.shape}, expected two dimensions")
        self._check_shape(structure.to_shape(self.call, given.shape))
        flat = structure.to_values(self.call, given.reshape(-1), self.dtype, self.backend)
        return flat.reshape(given.shape)

    def shape_alone(self) -> tuple[int, int]:
        shape = structure.to_shape(self.call, self.arg)
        self._check_shape(shape)
        return shape

    def no_values(self) -> Array:
        return zeros(0, dtype=self.dtype or np.float32, device=self.backend)

    def no_indices(self, size: int = 0) -> Array:
        return zeros(size, dtype=INT32, device=self.backend)

    def places(self) -> tuple[tuple[int, int], Array, Array, Array]:
        """Of (data, (row, col)): the shape, data, row, col."""
        if len(self.arg) != 2 or not isinstance(self.arg[1], (tuple, list)):
            invalid(self.call, f"arg1 is {shown(self.arg)}, expected (data, (row, col))")
        data = structure.to_values(self.call, self.arg[0], self.dtype, self.backend)
        given = self.arg[1]
        if len(given) != 2:
            invalid(self.call, f"arg1 has {len(given)} arrays of indices, expected row and col")
        indices = [
            one if isinstance(one, Array) else read_host(self.call, name, one)
            for name, one in zip(("row", "col"), given, strict=True)
        ]
        for name, one in zip(("row", "col"), indices, strict=True):
            if one.shape != data.shape:
                invalid(self.call, f"{name} has shape {one.shape}, expected {data.shape} as data")
        shape = self._shape
        if shape is None:
            if data.size == 0:
                invalid(self.call, "shape is None, expected a shape where there are no elements")
            shape = structure.to_shape(self.call, [int(one.max()) + 1 for one in indices])
        row, col = (
            structure.to_indices(self.call, name, one, size, what, self.backend)
            for name, one, size, what in zip(
                ("row", "col"), indices, shape, ("rows", "columns"), strict=True
            )
        )
        return shape, data, row, col

    def compressed(self, major: int) -> tuple[tuple[int, int], Array, Array, Array]:
        """Of (data, indices, indptr) along an axis: the shape, data, indices, indptr."""
        if len(self.arg) != 3:
            invalid(
                self.call, f"arg1 has {len(self.arg)} parts, expected (data, indices, indptr), "
                "(data, (row, col)), a matrix or a shape"
            )  # fmt: skip
        names = ("rows", "columns")
        data = structure.to_values(self.call, self.arg[0], self.dtype, self.backend)
        indices, indptr = (
            one if isinstance(one, Array) else read_host(self.call, name, one)
            for name, one in zip(("indices", "indptr"), self.arg[1:], strict=True)
        )
        if indices.shape != data.shape:
            invalid(self.call, f"indices has shape {indices.shape}, expected {data.shape} as data")
        shape = self._shape
        if shape is None:
            own = max(indptr.size - 1, 0)
            other = int(indices.max()) + 1 if indices.size else 0
            shape = structure.to_shape(self.call, (own, other) if major == 0 else (other, own))
        indptr = structure.to_offsets(
            self.call, indptr, shape[major], names[major], data.size, self.backend
        )
        indices = structure.to_indices(
            self.call, "indices", indices, shape[1 - major], names[1 - major], self.backend
        )
        return shape, data, indices, indptr


def _moved(given: Any, backend: Backend) -> Any:
    """On another device, by way of the host."""
    from tilewright.sparse.coo import coo_array

    coo = given.tocoo()
    row, col, data = (one.to_device(backend) for one in (coo.row, coo.col, coo.data))
    return coo_array._made(data, row, col, coo.shape)
