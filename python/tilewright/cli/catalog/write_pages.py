"""The op write_pages."""

from __future__ import annotations

import numpy as np

from .case import Case, Draw, Problem, sizes


def _write_pages(draw: Draw, tokens: int, kv_heads: int, dim: int) -> Problem:
    page_size = 16
    pages = -(-tokens // page_size)
    slots = np.arange(tokens, dtype=np.int32)

    def numpy(x: np.ndarray, slots: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        result = np.zeros((pages * page_size, 2 * kv_heads, dim), x.dtype) if out is None else out
        result.reshape(-1, 2 * kv_heads, dim)[slots] = x
        return result

    return Problem(
        shape=f"{tokens} tokens, {kv_heads} heads of {dim}",
        inputs=[draw.normal(tokens, 2 * kv_heads, dim), slots],
        output=draw.zeros(pages * page_size, 2 * kv_heads, dim),
        call=lambda be, x, out: be.write_pages(
            x[0], out, x[1], tokens, 0, kv_heads, dim, pages, page_size, draw.dtype
        ),
        numpy=numpy,
    )


CASES = [
    Case(
        "write_pages",
        "Neural network",
        _write_pages,
        sizes((5, 2, 20), (512, 8, 128), (16384, 8, 128)),
    )
]
