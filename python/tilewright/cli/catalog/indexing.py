"""Elements by masks and arrays of indices, searches, and what is joined."""

from __future__ import annotations

import numpy as np

from .case import AnyArray, Case, Draw, Problem, by, sizes

GROUP = "indexing"
MASK_BLOCK = 4096


def _places(count: int, of: int) -> AnyArray:
    """Different ones, in random order."""
    return np.random.default_rng(count).permutation(of)[:count].astype(np.int64)


def _gather_elements(draw: Draw, n: int, picked: int) -> Problem:
    output = draw.zeros(picked)
    return Problem(
        shape=f"{picked} of {n}",
        inputs=[draw.normal(n), _places(picked, n)],
        output=output,
        call=lambda be, x, out: be.gather_elements(
            (x[0], (0,)), [(x[1], "int64", n, 1, 0)], out, (picked,), draw.dtype
        ),
        numpy=lambda x, indices, out=None: np.take(x, indices, out=out, mode="clip"),
        moved=2 * output.nbytes + 8 * picked,
        own_float16=True,
    )


def _scatter_elements(draw: Draw, n: int, picked: int) -> Problem:
    source, before = draw.normal(picked), draw.normal(n)

    def in_numpy(source: AnyArray, indices: AnyArray, out: AnyArray | None = None) -> AnyArray:
        if out is None:
            out = before.astype(source.dtype)
        out[indices] = source
        return out

    return Problem(
        shape=f"{picked} of {n}",
        inputs=[source, _places(picked, n)],
        output=before,
        call=lambda be, x, out: be.scatter_elements(
            x[0], [(x[1], "int64", n, 1, 0)], (out, (0,)), (picked,), draw.dtype
        ),
        numpy=in_numpy,
        moved=2 * source.nbytes + 8 * picked,
        own_float16=True,
    )


def _counts(mask: AnyArray) -> AnyArray:
    of_blocks = np.add.reduceat(mask, np.arange(0, mask.size, MASK_BLOCK), dtype=np.uint32)
    return np.concatenate(([0], np.cumsum(of_blocks))).astype(np.uint32)


def _mask_counts(draw: Draw, n: int) -> Problem:
    mask = draw.normal(n) > 0
    return Problem(
        shape=by(n),
        inputs=[mask],
        output=np.zeros_like(_counts(mask)),
        call=lambda be, x, out: be.mask_counts(x[0], out, n),
        numpy=lambda mask, out=None: _counts(mask),
    )


def _compact(draw: Draw, n: int) -> Problem:
    mask = draw.normal(n) > 0
    count = int(mask.sum())
    return Problem(
        shape=f"{count} of {n}",
        inputs=[mask, _counts(mask), draw.normal(n)],
        output=draw.zeros(count),
        call=lambda be, x, out: be.compact(x[0], x[1], x[2], out, n, count, draw.dtype),
        numpy=lambda mask, counts, x, out=None: x[mask],
        own_float16=True,
    )


def _nonzero(draw: Draw, rows: int, cols: int) -> Problem:
    mask = draw.normal(rows, cols) > 0
    count = int(mask.sum())
    return Problem(
        shape=f"{count} of {by(rows, cols)}",
        inputs=[mask, _counts(mask.reshape(-1))],
        output=np.zeros((2, count), np.int64),
        call=lambda be, x, out: be.nonzero(x[0], x[1], out, (rows, cols), count),
        numpy=lambda mask, counts, out=None: np.stack(np.nonzero(mask)),
    )


def _search_sorted(draw: Draw, n: int, count: int) -> Problem:
    return Problem(
        shape=f"{count} in {n}",
        inputs=[np.sort(draw.normal(n), kind="stable"), draw.normal(count)],
        output=np.zeros(count, np.int64),
        call=lambda be, x, out: be.search_sorted(x[0], x[1], out, n, count, False, draw.dtype),
        numpy=lambda x, values, out=None: np.asarray(np.searchsorted(x, values)),
        own_float16=True,
    )


def _concat(draw: Draw, n: int, parts: int) -> Problem:
    lengths = [n * (i + 1) // parts - n * i // parts for i in range(parts)]
    return Problem(
        shape=f"{parts} of {n // parts}",
        inputs=[draw.normal(length) for length in lengths],
        output=draw.zeros(n),
        call=lambda be, x, out: be.concat(list(x), lengths, out, (n,), 0, draw.dtype),
        numpy=lambda *x, out=None: np.concatenate(x, out=out),
        own_float16=True,
    )


_VECTORS = sizes((4099,), (1 << 23,), (1 << 26,))
_PICKED = sizes((4099, 1001), (1 << 23, 1 << 22), (1 << 26, 1 << 25))
_ROWS = sizes((7, 129), (8192, 1024), (16384, 4096))

CASES = [
    Case("gather_elements", GROUP, _gather_elements, _PICKED),
    Case("scatter_elements", GROUP, _scatter_elements, _PICKED),
    Case("mask_counts", GROUP, _mask_counts, _VECTORS),
    Case("compact", GROUP, _compact, _VECTORS),
    Case("nonzero", GROUP, _nonzero, _ROWS),
    Case("search_sorted", GROUP, _search_sorted, _PICKED),
    Case("concat", GROUP, _concat, sizes((4099, 7), (1 << 23, 15), (1 << 26, 15))),
]
