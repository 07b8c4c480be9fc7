"""Matrix products."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .case import AnyArray, Case, Draw, Problem, by, sizes
from .numpy_ops import to_bfloat16, to_float16

GROUP = "Linear algebra"
_SLACK = 64.0


def _gemm(draw: Draw, m: int, n: int, k: int) -> Problem:
    return Problem(
        shape=by(m, n, k),
        inputs=[draw.normal(m, k), draw.normal(k, n)],
        output=draw.zeros(m, n),
        call=lambda be, x, c: be.gemm(
            "none", "none", m, n, k, 1.0, x[0], k, x[1], n, 0.0, c, n, draw.dtype
        ),
        numpy=np.matmul,
        flops=2.0 * m * n * k,
        slack=_SLACK,
    )


def _gemm_transposed(draw: Draw, m: int, n: int, k: int) -> Problem:
    return Problem(
        shape=by(m, n, k),
        inputs=[draw.normal(m, k), draw.normal(n, k)],
        output=draw.zeros(m, n),
        call=lambda be, x, c: be.gemm(
            "none", "transpose", m, n, k, 0.5, x[0], k, x[1], k, 0.0, c, n, draw.dtype
        ),
        numpy=lambda a, b, out=None: np.matmul(a * a.dtype.type(0.5), b.T, out=out),
        flops=2.0 * m * n * k,
        slack=_SLACK,
    )


def _gemm_to_float32(draw: Draw, m: int, n: int, k: int) -> Problem:
    return Problem(
        shape=by(m, n, k),
        inputs=[draw.normal(m, k), draw.normal(k, n)],
        output=np.zeros((m, n), np.float32),
        call=lambda be, x, c: be.gemm(
            "none", "none", m, n, k, 1.0, x[0], k, x[1], n, 0.0, c, n, draw.dtype, "float32"
        ),
        numpy=np.matmul,
        flops=2.0 * m * n * k,
        slack=_SLACK,
    )


def _gemm_bytes(draw: Draw, m: int, n: int, k: int) -> Problem:
    return Problem(
        shape=by(m, n, k),
        inputs=[draw.normal(m, k), draw.normal(n, k)],
        output=np.zeros((m, n), np.int32),
        call=lambda be, x, c: be.gemm(
            "none", "transpose", m, n, k, 1.0, x[0], k, x[1], k, 0.0, c, n, draw.dtype
        ),
        numpy=lambda a, b, out=None: np.matmul(a.astype(np.float64), b.T.astype(np.float64)),
        flops=2.0 * m * n * k,
    )


def _batched_gemm(draw: Draw, batch: int, m: int, n: int, k: int) -> Problem:
    return Problem(
        shape=by(batch, m, n, k),
        inputs=[draw.normal(batch, m, k), draw.normal(batch, k, n)],
        output=draw.zeros(batch, m, n),
        call=lambda be, x, c: be.batched_gemm(
            *("none", "none", m, n, k, 1.0, x[0], k, m * k, x[1], n, k * n),
            *(0.0, c, n, m * n, batch, draw.dtype),
        ),
        numpy=np.matmul,
        flops=2.0 * batch * m * n * k,
        slack=_SLACK,
    )


def _gemm_f16(draw: Draw, m: int, n: int, k: int) -> Problem:
    return Problem(
        shape=by(m, n, k),
        inputs=[draw.normal(m, k), draw.normal(k, n)],
        output=draw.zeros(m, n),
        call=lambda be, x, c: be.gemm_f16(
            "none", "none", m, n, k, 1.0, x[0], k, x[1], n, 0.0, c, n
        ),
        numpy=np.matmul,
        flops=2.0 * m * n * k,
        slack=_SLACK,
    )


def _mixed(
    precision: str, rounded: Callable[[AnyArray], AnyArray]
) -> Callable[[Draw, int, int, int], Problem]:
    def build(draw: Draw, m: int, n: int, k: int) -> Problem:
        return Problem(
            shape=by(m, n, k),
            inputs=[draw.normal(m, k), draw.normal(k, n)],
            output=draw.zeros(m, n),
            call=lambda be, x, c: be.gemm_mixed_precision(
                precision, "none", "none", m, n, k, 1.0, x[0], k, x[1], n, 0.0, c, n
            ),
            numpy=lambda a, b, out=None: np.matmul(rounded(a), rounded(b), out=out),
            flops=2.0 * m * n * k,
            slack=_SLACK,
        )

    return build


def _matmul_vec(draw: Draw, rows: int, cols: int) -> Problem:
    return Problem(
        shape=by(rows, cols),
        inputs=[draw.normal(rows, cols), draw.normal(cols)],
        output=draw.zeros(rows),
        call=lambda be, x, y: be.matmul_vec(x[0], rows, cols, x[1], y, draw.dtype),
        numpy=np.matmul,
        flops=2.0 * rows * cols,
        slack=_SLACK,
    )


_MATRICES = sizes((33, 17, 65), (1024, 1024, 1024), (4096, 4096, 4096))

CASES = [
    Case("gemm", GROUP, _gemm, _MATRICES, compute_bound=True),
    Case("gemm", GROUP, _gemm_transposed, _MATRICES, "transposed", compute_bound=True),
    Case(
        "gemm",
        GROUP,
        _gemm_to_float32,
        _MATRICES,
        "to_float32",
        dtypes=("float16",),
        compute_bound=True,
    ),
    Case("gemm", GROUP, _gemm_bytes, _MATRICES, "bytes", dtypes=("int8",), compute_bound=True),
    Case(
        "batched_gemm",
        GROUP,
        _batched_gemm,
        sizes((3, 33, 17, 65), (16, 256, 256, 256), (32, 1024, 1024, 1024)),
        compute_bound=True,
    ),
    Case("gemm_f16", GROUP, _gemm_f16, _MATRICES, dtypes=("float16",), compute_bound=True),
    *(
        Case(
            "gemm_mixed_precision",
            GROUP,
            _mixed(precision, rounded),
            _MATRICES,
            precision,
            dtypes=("float32",),
            compute_bound=True,
        )
        for precision, rounded in (
            ("float16", to_float16),
            ("bfloat16", to_bfloat16),
            ("high", lambda x: x),
        )
    ),
    Case("matmul_vec", GROUP, _matmul_vec, sizes((67, 129), (2048, 4096), (8192, 8192))),
]
