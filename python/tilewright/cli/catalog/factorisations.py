"""Factorisations of matrices. What has no NumPy form of its own is multiplied out."""

from __future__ import annotations

import numpy as np

from .case import AnyArray, Case, Draw, Problem, by, sizes

GROUP = "Factorisations"
_SLACK = 400.0
_ONE = sizes((65,), (1024,), (4096,))
_SLOW = sizes((33,), (256,), (1024,))


def _well(draw: Draw, n: int) -> AnyArray:
    """A matrix far from singular."""
    matrix: AnyArray = draw.normal(n, n) / np.asarray(n**0.5, draw.dtype)
    well: AnyArray = matrix + 3 * np.eye(n, dtype=draw.dtype)
    return well


def _positive(draw: Draw, n: int) -> AnyArray:
    matrix = _well(draw, n)
    product: AnyArray = matrix @ matrix.T
    return product


def _integers(*shape: int) -> AnyArray:
    return np.zeros(shape, np.int32)


def _cholesky(draw: Draw, n: int) -> Problem:
    return Problem(
        shape=by(n, n),
        inputs=[_positive(draw, n), _integers(1)],
        output=draw.zeros(n, n),
        call=lambda be, x, out: be.cholesky(x[0], out, x[1], n, dtype=draw.dtype),
        numpy=lambda a, status, out=None: np.linalg.cholesky(a),
        flops=n**3 / 3,
        slack=_SLACK,
    )


def _eliminated(a: AnyArray, *_: AnyArray, out: AnyArray | None = None) -> AnyArray:
    """LU factors without an exchange, which these matrices need none of."""
    x = a.copy()
    for k in range(len(x)):
        x[k + 1 :, k] /= x[k, k]
        x[k + 1 :, k + 1 :] -= np.outer(x[k + 1 :, k], x[k, k + 1 :])
    return x


def _lu(draw: Draw, n: int) -> Problem:
    matrix = draw.normal(n, n) / 8 + n * np.eye(n, dtype=draw.dtype)
    return Problem(
        shape=by(n, n),
        inputs=[matrix.astype(draw.dtype), _integers(n), _integers(2)],
        output=draw.zeros(n, n),
        call=lambda be, x, out: be.lu(x[0], out, x[1], x[2], n, dtype=draw.dtype),
        numpy=_eliminated,
        flops=2 * n**3 / 3,
        slack=_SLACK,
    )


def _triangular_solve(draw: Draw, n: int) -> Problem:
    def in_numpy(a: AnyArray, b: AnyArray, out: AnyArray | None = None) -> AnyArray:
        return np.linalg.solve(np.tril(a), b)

    return Problem(
        shape=by(n, n),
        inputs=[_well(draw, n), draw.normal(n, n)],
        output=draw.zeros(n, n),
        call=lambda be, x, out: be.triangular_solve(x[0], x[1], out, n, n, dtype=draw.dtype),
        numpy=in_numpy,
        flops=float(n**3),
        slack=_SLACK,
    )


def _qr(draw: Draw, m: int, columns: int | None = None) -> Problem:
    n = m if columns is None else columns
    return Problem(
        shape=by(m, n),
        inputs=[_well(draw, m)[:, :n].copy(), draw.zeros(m, n)],
        output=draw.zeros(n, n),
        call=lambda be, x, out: be.qr(x[0], x[1], out, m, n, dtype=draw.dtype),
        numpy=lambda a, q, out=None: np.linalg.qr(a)[1],
        flops=4 * n**2 * (m - n / 3),
        slack=_SLACK,
    )


def _eigh(draw: Draw, n: int) -> Problem:
    return Problem(
        shape=by(n, n),
        inputs=[_positive(draw, n), draw.zeros(n, n), _integers(1)],
        output=draw.zeros(n),
        call=lambda be, x, out: be.eigh(x[0], out, x[1], x[2], n, dtype=draw.dtype),
        numpy=lambda a, vectors, status, out=None: np.linalg.eigh(a)[0],
        slack=_SLACK,
    )


def _svd(draw: Draw, n: int) -> Problem:
    return Problem(
        shape=by(n, n),
        inputs=[_well(draw, n), draw.zeros(n, n), draw.zeros(n, n), _integers(1)],
        output=draw.zeros(n),
        call=lambda be, x, out: be.svd(x[0], x[1], out, x[2], x[3], n, n, dtype=draw.dtype),
        numpy=lambda a, u, vh, status, out=None: np.linalg.svd(a)[1],
        slack=_SLACK,
    )


def _eig(draw: Draw, n: int) -> Problem:
    """Of triangular matrices, whose eigenvalues are on their diagonals."""

    def in_numpy(a: AnyArray, *_: AnyArray, out: AnyArray | None = None) -> AnyArray:
        values = np.diag(a)
        return np.stack([values, np.zeros_like(values)], axis=-1)

    upper = np.triu(draw.normal(n, n), 1) / 64 + np.diag(np.arange(1, n + 1))
    return Problem(
        shape=by(n, n),
        inputs=[upper.astype(draw.dtype), draw.zeros(n, n, 2), _integers(1)],
        output=draw.zeros(n, 2),
        call=lambda be, x, out: be.eig(x[0], out, x[1], x[2], n, dtype=draw.dtype),
        numpy=in_numpy,
        slack=_SLACK,
    )


_TYPES = ("float32",)
CASES = [
    Case("cholesky", GROUP, _cholesky, _ONE, dtypes=_TYPES, compute_bound=True),
    Case("lu", GROUP, _lu, _ONE, dtypes=_TYPES, compute_bound=True),
    Case("triangular_solve", GROUP, _triangular_solve, _ONE, dtypes=_TYPES, compute_bound=True),
    Case("qr", GROUP, _qr, _ONE, dtypes=_TYPES, compute_bound=True),
    Case("eigh", GROUP, _eigh, _SLOW, dtypes=_TYPES, compute_bound=True),
    Case("svd", GROUP, _svd, _SLOW, dtypes=_TYPES, compute_bound=True),
    Case("eig", GROUP, _eig, _SLOW, dtypes=_TYPES, compute_bound=True),
]
