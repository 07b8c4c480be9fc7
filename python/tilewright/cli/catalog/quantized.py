"""Ops on quantised weights."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tilewright.quant.formats import FORMATS, pack

from .case import AnyArray, Case, Draw, Problem, by, sizes
from .linear import gate, normed

GROUP = "Quantised weights"


def _weights(format: str, rows: int, cols: int) -> tuple[AnyArray, AnyArray]:
    """Planes of weights in [-1, 1], and the weights, exact in float32."""
    rng = np.random.default_rng(rows + cols)
    scales = (rng.integers(1, 16, (rows * cols // 32, 1)) / 1024).astype(np.float16)
    bits = scales.view(np.uint8)
    if format == "q8_0":
        q = rng.integers(-127, 128, (len(scales), 32), np.int8)
        blocks = np.concatenate([bits, q.view(np.uint8)], axis=1)
    else:
        nibbles = rng.integers(0, 256, (len(scales), 16), np.uint8)
        q = np.concatenate([nibbles & 15, nibbles >> 4], axis=1).astype(np.int8) - np.int8(8)
        blocks = np.concatenate([bits, nibbles], axis=1)
    values = scales.astype(np.float32) * q.astype(np.float32)
    return pack(FORMATS[format], blocks), values.reshape(rows, cols)


def _dequantize(format: str) -> Callable[[Draw, int, int], Problem]:
    def build(draw: Draw, rows: int, cols: int) -> Problem:
        planes, values = _weights(format, rows, cols)
        return Problem(
            shape=by(rows, cols),
            inputs=[planes],
            output=draw.zeros(rows, cols),
            call=lambda be, b, out: be.dequantize(b[0], out, format, rows, cols, draw.dtype),
            numpy=lambda planes, out=None: values,
        )

    return build


def _matmul(format: str) -> Callable[[Draw, int, int, int], Problem]:
    def build(draw: Draw, m: int, n: int, k: int) -> Problem:
        planes, values = _weights(format, n, k)
        return Problem(
            shape=f"{m}x{k}, {n}",
            inputs=[draw.normal(m, k), planes],
            output=draw.zeros(m, n),
            call=lambda be, b, out: be.quantized_matmul(
                b[0], b[1], out, format, m, n, k, k, n, draw.dtype
            ),
            numpy=lambda x, planes, out=None: np.matmul(x, values.T.astype(x.dtype)),
            flops=2.0 * m * n * k,
            slack=64.0,
        )

    return build


def _layer(format: str) -> Callable[[Draw, int, int, int], Problem]:
    """Of a norm, and gated."""

    def build(draw: Draw, m: int, n: int, k: int) -> Problem:
        planes, values = _weights(format, 2 * n, k)
        return Problem(
            shape=f"{m}x{k}, {n}",
            inputs=[draw.normal(m, k), planes, draw.normal(k)],
            output=draw.zeros(m, n),
            call=lambda be, b, out: be.quantized_matmul(
                b[0], b[1], out, format, m, n, k, k, n, draw.dtype, activation="silu", gated=True,
                norm_eps=1e-5, norm_weight=b[2],
            ),
            numpy=lambda x, planes, norm, out=None: gate(
                np.matmul(normed(x, norm), values.T.astype(x.dtype))
            ),
            flops=4.0 * m * n * k,
            slack=64.0,
        )  # fmt: skip

    return build


_WEIGHTS = sizes((67, 96), (2048, 2048), (4096, 11008))
_BY_VECTOR = sizes((1, 67, 96), (1, 4096, 4096), (1, 4096, 11008))
_BY_ROWS = sizes((33, 67, 96), (128, 1024, 1024), (512, 4096, 4096))
CASES = [
    *(
        Case("dequantize", GROUP, _dequantize(one), _WEIGHTS, one)
        for one in ("q8_0", "q4_0")
    ),
    *(
        Case("quantized_matmul", GROUP, _matmul(one), _BY_VECTOR, f"{one}_vector")
        for one in ("q8_0", "q4_0")
    ),
    Case("quantized_matmul", GROUP, _layer("q4_0"), _BY_VECTOR, "q4_0_normed_vector"),
    Case(
        "quantized_matmul", GROUP, _matmul("q4_0"), _BY_ROWS, "q4_0_rows", compute_bound=True
    ),
]  # fmt: skip
