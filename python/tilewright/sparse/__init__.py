"""Sparse matrices on the device: SciPy's coo_array, csr_array, csc_array and bsr_array by their
names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilewright.namespace.creation import ones
from tilewright.operands import to_integer
from tilewright.sparse import linalg, structure
from tilewright.sparse.base import SparseArray
from tilewright.sparse.batch import csr_batch
from tilewright.sparse.bsr import bsr_array
from tilewright.sparse.compressed import csc_array, csr_array
from tilewright.sparse.coo import coo_array
from tilewright.sparse.elements import sampled_addmm

if TYPE_CHECKING:
    from tilewright.namespace.devices import Device

__all__ = [
    "SparseArray",
    "bsr_array",
    "coo_array",
    "csc_array",
    "csr_array",
    "csr_batch",
    "eye_array",
    "issparse",
    "linalg",
    "sampled_addmm",
]


def issparse(x: Any) -> bool:
    """Whether x is one of this package's sparse arrays."""
    return isinstance(x, SparseArray)


def eye_array(
    m: int,
    n: int | None = None,
    *,
    k: int = 0,
    dtype: Any = "float32",
    format: str = "csr",
    device: Device | None = None,
) -> SparseArray:
    """A matrix with ones where the column is k more than the row."""
    from tilewright.namespace.devices import to_backend

    call = "eye_array"
    backend = to_backend(call, device)
    shape = structure.to_shape(call, (m, m if n is None else n))
    at, wanted = to_integer(call, "k", k), structure.to_dtype(call, dtype)
    first = max(-at, 0)
    size = max(min(shape[0] - first, shape[1] - max(at, 0)), 0)
    row = structure.counted(size, backend) + first
    made = coo_array._made(ones(size, dtype=wanted, device=backend), row, row + at, shape)
    return made.asformat(format)


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
