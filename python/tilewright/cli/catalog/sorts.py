"""Sorts and selections."""

from __future__ import annotations

import numpy as np

from .case import AnyArray, Case, Draw, Problem, by, sizes

GROUP = "Sorts and selections"


def _reference(x: AnyArray, result: AnyArray) -> AnyArray:
    """Places as numbers, where the reference is asked for."""
    return result.astype(x.dtype) if x.dtype == np.float64 else result


def _sort(draw: Draw, rows: int, length: int) -> Problem:
    return Problem(
        shape=by(rows, length),
        inputs=[draw.normal(rows, length)],
        output=draw.zeros(rows, length),
        call=lambda be, x, out: be.sort(x[0], out, rows, length, False, draw.dtype),
        numpy=lambda x, out=None: np.sort(x),
        slack=0.0,
        own_float16=True,
    )


def _argsort(draw: Draw, rows: int, length: int) -> Problem:
    return Problem(
        shape=by(rows, length),
        inputs=[draw.normal(rows, length)],
        output=np.zeros((rows, length), np.int32),
        call=lambda be, x, out: be.argsort(x[0], out, rows, length, False, draw.dtype, "int32"),
        numpy=lambda x, out=None: _reference(x, np.argsort(x, kind="stable")),
        slack=0.0,
        own_float16=True,
    )


def _topk(draw: Draw, rows: int, length: int) -> Problem:
    """Values; their places go to what is the second input."""
    k = min(64, length // 4)

    def in_numpy(x: AnyArray, places: AnyArray, out: AnyArray | None = None) -> AnyArray:
        return np.sort(np.partition(x, length - k)[:, length - k :])[:, ::-1]

    return Problem(
        shape=f"{k} of {by(rows, length)}",
        inputs=[draw.normal(rows, length), np.zeros((rows, k), np.int32)],
        output=draw.zeros(rows, k),
        call=lambda be, x, out: be.topk(
            x[0], out, x[1], rows, length, k, True, draw.dtype, "int32"
        ),
        numpy=in_numpy,
        slack=0.0,
        own_float16=True,
    )


_ROWS = sizes((7, 129), (1, 1 << 22), (1, 1 << 26))

CASES = [
    Case("sort", GROUP, _sort, _ROWS),
    Case("argsort", GROUP, _argsort, _ROWS),
    Case("topk", GROUP, _topk, _ROWS),
]
