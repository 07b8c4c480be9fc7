"""A layer's product with what is in front of it and what follows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .case import AnyArray, Case, Draw, Problem, by, sizes


def _silu(x: AnyArray) -> AnyArray:
    return np.asarray(x / (1 + np.exp(-x)))


def normed(x: AnyArray, weight: AnyArray) -> AnyArray:
    return np.asarray(x * weight / np.sqrt(np.mean(x * x, -1, keepdims=True) + 1e-5))


def gate(sums: AnyArray) -> AnyArray:
    """Silu of the first half of each row times the second."""
    n = sums.shape[-1] // 2
    return np.asarray(_silu(sums[:, :n]) * sums[:, n:])


def _linear(gated: bool, is_normed: bool = False) -> Callable[[Draw, int, int, int], Problem]:
    def build(draw: Draw, m: int, n: int, k: int) -> Problem:
        wide = 2 * n if gated else n

        def reference(
            x: AnyArray, weight: AnyArray, bias: AnyArray, norm: AnyArray, out: object = None
        ) -> AnyArray:
            sums = np.matmul(normed(x, norm) if is_normed else x, weight.T) + bias
            return gate(sums) if gated else np.asarray(np.maximum(sums, 0))

        return Problem(
            shape=f"{by(m, k)}, {n}",
            inputs=[draw.normal(m, k), draw.normal(wide, k), draw.normal(wide), draw.normal(k)],
            output=draw.zeros(m, n),
            call=lambda be, b, out: be.linear(
                "transpose", m, n, k, b[0], k, b[1], k, out, n, b[2], "silu" if gated else "relu",
                gated=gated, dtype=draw.dtype, norm_eps=1e-5 if is_normed else None,
                norm_weight=b[3] if is_normed else None,
            ),
            numpy=reference,
            flops=2.0 * m * wide * k,
            slack=64.0,
        )  # fmt: skip

    return build


_BY_VECTOR = sizes((1, 67, 96), (1, 4096, 4096), (1, 14336, 4096))
_BY_ROWS = sizes((33, 67, 96), (128, 1024, 1024), (512, 4096, 4096))
CASES = [
    Case("linear", "Neural network", _linear(gated=False), _BY_ROWS, "relu", compute_bound=True),
    Case("linear", "Neural network", _linear(gated=True), _BY_VECTOR, "gated_vector"),
    Case("linear", "Neural network", _linear(True, is_normed=True), _BY_VECTOR, "normed_vector"),
]
