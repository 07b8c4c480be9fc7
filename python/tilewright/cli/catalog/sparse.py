"""Products of sparse matrices."""

from __future__ import annotations

import numpy as np

from .case import AnyArray, Case, Draw, Problem, by, sizes

EACH = 8  # elements of a row


def _sparse_matmul(draw: Draw, rows: int, n: int) -> Problem:
    nnz = EACH * rows
    offsets = np.arange(0, nnz + 1, EACH, dtype=np.int32)
    columns = np.random.default_rng(rows).integers(0, rows, nnz).astype(np.int32)

    def in_numpy(
        offsets: AnyArray, columns: AnyArray, values: AnyArray, x: AnyArray, out: object = None
    ) -> AnyArray:
        # Indices come as they are, whatever the numbers are computed in.
        x = x.reshape(rows, n)
        found: AnyArray = np.zeros((rows, n), values.dtype)
        for j in range(EACH):
            places = columns[j::EACH].astype(np.int64)
            found += values[j::EACH, None] * x[places]
        return found

    return Problem(
        shape=f"{by(rows, rows)} with {nnz} elements by {n}",
        inputs=[offsets, columns, draw.normal(nnz), draw.normal(rows, n)],
        output=draw.zeros(rows, n),
        call=lambda be, x, out: be.sparse_matmul(
            x[0], x[1], x[2], x[3], out, rows, rows, nnz, n, n, n, 1.0, 0.0, False, draw.dtype
        ),
        numpy=in_numpy,
        flops=2 * nnz * n,
        slack=16.0,
    )


BLOCK = 4


def _sparse_blocks(draw: Draw, rows: int, n: int) -> Problem:
    """EACH blocks in a row of them."""
    nnz, size = EACH * rows, BLOCK
    offsets = np.arange(0, nnz + 1, EACH, dtype=np.int32)
    columns = np.random.default_rng(rows).integers(0, rows, nnz).astype(np.int32)

    def in_numpy(
        offsets: AnyArray, columns: AnyArray, values: AnyArray, x: AnyArray, out: object = None
    ) -> AnyArray:
        lines = x.reshape(rows, size, n)[columns.astype(np.int64)]
        products = values.reshape(nnz, size, size) @ lines
        found: AnyArray = products.reshape(rows, EACH, size, n).sum(axis=1)
        return found.reshape(rows * size, n)

    return Problem(
        shape=f"{by(rows, rows)} with {nnz} blocks {by(size, size)} by {n}",
        inputs=[offsets, columns, draw.normal(nnz * size * size), draw.normal(rows * size, n)],
        output=draw.zeros(rows * size, n),
        call=lambda be, x, out: be.sparse_matmul(
            x[0], x[1], x[2], x[3], out, rows, rows, nnz, n, n, n, 1.0, 0.0, False, draw.dtype,
            size, size,
        ),
        numpy=in_numpy,
        flops=2 * nnz * size * size * n,
        slack=16.0,
    )  # fmt: skip


def _sparse_batch(draw: Draw, rows: int, batch: int) -> Problem:
    """One matrix by many vectors."""
    nnz = EACH * rows
    offsets = np.arange(0, nnz + 1, EACH, dtype=np.int32)
    columns = np.random.default_rng(rows).integers(0, rows, nnz).astype(np.int32)

    def in_numpy(
        offsets: AnyArray, columns: AnyArray, values: AnyArray, x: AnyArray, out: object = None
    ) -> AnyArray:
        products = values * x.reshape(batch, rows)[:, columns.astype(np.int64)]
        found: AnyArray = products.reshape(batch, rows, EACH).sum(axis=-1)
        return found

    return Problem(
        shape=f"{by(rows, rows)} with {nnz} elements by {batch} vectors",
        inputs=[offsets, columns, draw.normal(nnz), draw.normal(batch, rows)],
        output=draw.zeros(batch, rows),
        call=lambda be, x, out: be.sparse_matmul(
            x[0], x[1], x[2], x[3], out, rows, rows, nnz, 1, 1, 1, 1.0, 0.0, False, draw.dtype,
            1, 1, batch, 0, 0, 0, rows, rows,
        ),
        numpy=in_numpy,
        flops=2 * nnz * batch,
        slack=16.0,
    )  # fmt: skip


CASES = [
    Case(
        "sparse_matmul", "Sparse matrices", _sparse_matmul,
        sizes((1009, 1), (1 << 17, 1), (1 << 22, 1)), variant="vector",
    ),
    Case(
        "sparse_matmul", "Sparse matrices", _sparse_matmul,
        sizes((1009, 33), (1 << 15, 64), (1 << 18, 64)), variant="matrix",
    ),
    Case(
        "sparse_matmul", "Sparse matrices", _sparse_blocks,
        sizes((251, 1), (1 << 15, 1), (1 << 19, 1)), variant="blocks",
    ),
    Case(
        "sparse_matmul", "Sparse matrices", _sparse_batch,
        sizes((127, 9), (1 << 13, 16), (1 << 17, 64)), variant="batch",
    ),
]  # fmt: skip
