"""Sparse matrices that tests multiply: rows of very different lengths among them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from tilewright import sparse

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Csr:
    """A matrix in CSR, or with blocks in BSR, as the trait takes it: rows, cols and columns are
    then of blocks, and values [nnz, rows, columns] of a block."""

    rows: int
    cols: int
    offsets: Array
    columns: Array
    values: Array
    blocks: tuple[int, int] = (1, 1)

    @property
    def nnz(self) -> int:
        return len(self.columns)

    @property
    def longest(self) -> int:
        return int(np.diff(self.offsets).max(initial=0)) * self.blocks[1]

    def times(self, x: Array, values: Array | None = None) -> Array:
        """The product, summed by rows in the dtype of values and x."""
        values = self.values if values is None else values
        n = x.shape[1]
        blocks = values.reshape(self.nnz, *self.blocks)
        lines = x.reshape(self.cols, self.blocks[1], n)[self.columns]
        products = np.einsum("zik,zkj->zij", blocks, lines)
        sums = np.zeros((self.rows, self.blocks[0], n), products.dtype)
        some = np.flatnonzero(np.diff(self.offsets))
        if some.size:
            sums[some] = np.add.reduceat(products, self.offsets[some], axis=0)
        return sums.reshape(self.rows * self.blocks[0], n)

    def dense(self) -> Array:
        """Duplicates summed."""
        full = np.zeros((self.rows, self.cols), self.values.dtype)
        rows = np.repeat(np.arange(self.rows), np.diff(self.offsets))
        np.add.at(full, (rows, self.columns), self.values)
        return full


def blocked(a: Csr, blocks: tuple[int, int], rng: np.random.Generator) -> Csr:
    """The same places, of blocks."""
    values = draw(rng, (a.nnz, *blocks), a.values.dtype.name)
    return Csr(a.rows, a.cols, a.offsets, a.columns, values, blocks)


def draw(rng: np.random.Generator, shape: Any, dtype: str) -> Array:
    x = rng.standard_normal(shape)
    if dtype.startswith("complex"):
        x = x + 1j * rng.standard_normal(shape)
    return np.asarray(x.astype(dtype))


def of_lengths(rng: np.random.Generator, lengths: Array, cols: int, dtype: str) -> Csr:
    """Rows of so many elements, in any columns: duplicates and no order."""
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    nnz = int(offsets[-1])
    columns = rng.integers(0, max(cols, 1), nnz).astype(np.int32)
    return Csr(len(lengths), cols, offsets, columns, draw(rng, nnz, dtype))


def power_law(rng: np.random.Generator, rows: int, nnz: int) -> Array:
    """Lengths of rows of which few have most of all elements."""
    weights = 1 / np.arange(1, rows + 1) ** 1.2
    return np.asarray(rng.multinomial(nnz, rng.permutation(weights / weights.sum())))


def made(kind: str, rng: np.random.Generator, dtype: str) -> Csr:
    """One of KINDS."""
    if kind == "stencil":
        lengths, cols = np.full(1000, 5), 1000
    elif kind == "power-law":
        lengths, cols = power_law(rng, 3001, 40_000), 2003
    elif kind == "empty rows":
        lengths, cols = rng.integers(0, 2, 5000) * rng.integers(0, 9, 5000), 77
        lengths[-700:] = lengths[:300] = 0
    elif kind == "one full row":
        lengths, cols = np.zeros(4001, int), 500
        lengths[2000] = 70_001
    elif kind == "1 x N":
        lengths, cols = np.array([20_011]), 20_011
    elif kind == "N x 1":
        lengths, cols = rng.integers(0, 2, 20_011), 1
    elif kind == "one element":
        lengths, cols = np.array([1]), 1
    elif kind == "no elements":
        lengths, cols = np.zeros(700, int), 3
    elif kind == "no columns":
        lengths, cols = np.zeros(5, int), 0
    else:
        assert kind == "long rows"
        lengths, cols = rng.integers(2000, 5000, 17), 6007
    return of_lengths(rng, lengths, cols, dtype)


KINDS = ["stencil", "power-law", "empty rows", "one full row", "1 x N", "N x 1", "one element",
         "no elements", "no columns", "long rows"]  # fmt: skip

# Of SciPy -----------------------------------------------------------------------------------------

FORMATS = ["csr", "csc", "coo"]
CLASSES: dict[str, Any] = {
    "csr": sparse.csr_array,
    "csc": sparse.csc_array,
    "coo": sparse.coo_array,
}


def random(shape: tuple[int, int], format: str, dtype: str, seed: int = 0) -> Any:
    """Of whole numbers, whose sums are exact, with duplicates where the format has them."""
    rng = np.random.default_rng(seed)
    nnz = min(3 * max(shape), shape[0] * shape[1] * 2) if min(shape) else 0
    row, col = (rng.integers(0, max(size, 1), nnz, dtype=np.int32) for size in shape)
    data = rng.integers(-4, 5, nnz).astype(dtype)
    if dtype.startswith("complex"):
        data = (data + 1j * rng.integers(-4, 5, nnz)).astype(dtype)
    coo = sp.coo_array((data, (row, col)), shape=shape)
    return coo if format == "coo" else coo.asformat(format)


def same(got: sparse.SparseArray, expected: Any) -> None:
    """Equal as whole matrices, exactly."""
    assert got.shape == expected.shape and got.dtype == expected.dtype
    np.testing.assert_array_equal(got.toarray().numpy(), expected.toarray())


def stencil(side: int, dtype: str = "float32", shift: float = 0.1) -> Any:
    """The Laplace operator of a square by five points, and a little on its diagonal."""
    n = side * side
    inner = np.ones(n - 1)
    inner[side - 1 :: side] = 0
    outer = np.ones(n - side)
    parts = [-outer, -inner, np.full(n, 4 + shift), -inner, -outer]
    return sp.diags_array(parts, offsets=[-side, -1, 0, 1, side]).tocsr().astype(dtype)
