"""Inverses of parts of sparse matrices, by which solvers need fewer steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilewright.array import Array
from tilewright.linalg import inv
from tilewright.namespace.creation import zeros
from tilewright.namespace.linear import matmul
from tilewright.namespace.manipulation import concat
from tilewright.namespace.selection import nonzero, take
from tilewright.operands import FLOAT16, invalid, shown, to_integer
from tilewright.sparse import elements, structure

if TYPE_CHECKING:
    from tilewright.sparse.base import SparseArray


class BlockJacobi:
    """The inverses of the square blocks along a matrix's diagonal, as a matrix, by
    block_jacobi()."""

    def __init__(self, inverses: Array, n: int) -> None:
        self.inverses, self.shape = inverses, (n, n)
        self.dtype = inverses.dtype

    def __matmul__(self, x: Array) -> Array:
        n, (count, size, _) = self.shape[0], self.inverses.shape
        if x.shape[:1] != (n,) or x.ndim > 2:
            invalid("matmul", f"x2 has shape {x.shape}, expected {n} rows")
        columns = 1 if x.ndim == 1 else x.shape[1]
        lines = x.reshape((n, columns))
        if count * size != n:
            behind = zeros((count * size - n, columns), dtype=x.dtype, device=x.backend)
            lines = concat([lines, behind])
        found = matmul(self.inverses, lines.reshape((count, size, columns)))
        return found.reshape((count * size, columns))[:n].reshape(x.shape)


def block_jacobi(A: SparseArray, blocksize: int, *, dtype: Any = None) -> BlockJacobi:
    """A preconditioner M for the solvers: the inverses of the blocks of so many rows and columns
    along A's diagonal, of which the last one may be smaller. LinAlgError where one has none."""
    call = "block_jacobi"
    if not getattr(A, "_is_sparse", False):
        invalid(call, f"A is {shown(A)}, expected a sparse array")
    n = A.shape[0]
    if A.shape[1] != n:
        invalid(call, f"A has shape {A.shape}, expected a square matrix")
    size = to_integer(call, "blocksize", blocksize)
    if not 1 <= size <= max(n, 1):
        invalid(call, f"blocksize is {size}, expected 1 to {max(n, 1)}")
    wanted = structure.to_dtype(call, A.dtype if dtype is None else dtype)
    if wanted == FLOAT16:
        invalid(call, "dtype is float16, expected float32 or another that has inverses")
    coo = elements.canonical(A)
    count = -(-n // size)
    blocks = zeros(count * size * size, dtype=wanted, device=A.backend)
    (places,) = nonzero(coo.row // size == coo.col // size)
    if places.size:
        row, col = take(coo.row, places), take(coo.col, places)
        data = take(coo.data, places).astype(wanted, copy=False)
        blocks[row // size * (size * size) + row % size * size + col % size] = data
    blocks = blocks.reshape((count, size, size), copy=False)
    for i in range(n - (count - 1) * size if count else size, size):
        blocks[-1, i, i] = 1  # beyond the matrix
    return BlockJacobi(inv(blocks), n)
