"""The ops fft and fft_real."""

from __future__ import annotations

import numpy as np

from .case import AnyArray, Case, Draw, Problem, by, sizes


def _of_rows(x: AnyArray, roots: AnyArray, out: AnyArray | None = None) -> AnyArray:
    z = np.fft.fft(x[..., 0] + 1j * x[..., 1])
    return np.stack([z.real, z.imag], -1).astype(x.dtype)


def _fft(draw: Draw, rows: int, n: int) -> Problem:
    angles = -2 * np.pi * np.arange(n) / n
    roots = np.stack([np.cos(angles), np.sin(angles)], -1).astype(draw.dtype)
    return Problem(
        shape=by(rows, n),
        inputs=[draw.normal(rows, n, 2), roots],
        output=draw.zeros(rows, n, 2),
        call=lambda be, x, out: be.fft(x[0], x[1], out, rows, n, dtype=draw.dtype),
        numpy=_of_rows,
        flops=5.0 * rows * n * np.log2(n),
    )


def _of_real_rows(x: AnyArray, roots: AnyArray, out: AnyArray | None = None) -> AnyArray:
    z = np.fft.rfft(x)
    return np.stack([z.real, z.imag], -1).astype(x.dtype)


def _fft_real(draw: Draw, rows: int, n: int) -> Problem:
    angles = -2 * np.pi * np.arange(n) / n
    roots = np.stack([np.cos(angles), np.sin(angles)], -1).astype(draw.dtype)
    return Problem(
        shape=by(rows, n),
        inputs=[draw.normal(rows, n), roots],
        output=draw.zeros(rows, n // 2 + 1, 2),
        call=lambda be, x, out: be.fft_real(x[0], x[1], out, rows, n, dtype=draw.dtype),
        numpy=_of_real_rows,
        flops=2.5 * rows * n * np.log2(n),
    )


_ROWS = sizes((17, 360), (4096, 1024), (65536, 1024))
CASES = [
    Case("fft", "Fourier transforms", _fft, _ROWS, dtypes=("float32",)),
    Case("fft_real", "Fourier transforms", _fft_real, _ROWS, dtypes=("float32",)),
]
