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


CASES = [
    Case(
        "sparse_matmul", "Sparse matrices", _sparse_matmul,
        sizes((1009, 1), (1 << 17, 1), (1 << 22, 1)), variant="vector",
    ),
    Case(
        "sparse_matmul", "Sparse matrices", _sparse_matmul,
        sizes((1009, 33), (1 << 15, 64), (1 << 18, 64)), variant="matrix",
    ),
]  # fmt: skip
