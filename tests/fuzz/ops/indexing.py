"""What masks choose, and searches in ascending elements."""

from __future__ import annotations

import numpy as np

from ..call import Call, Operand, Result
from ..draw import Array, Draw
from . import generates
from .rows import operand

MASK_BLOCK = 4096
MOST = 20000
DTYPES = ("bool", "int8", "uint16", "float16", "int32", "float32", "int64", "uint64", "float64")


def some_mask(draw: Draw, n: int) -> Array:
    share = draw.one_of([0.0, 0.01, 0.5, 1.0])
    return np.asarray(np.random.default_rng(draw.below(1 << 30)).random(n) < share)


def counts_of(mask: Array) -> Array:
    blocks = [mask[i : i + MASK_BLOCK].sum() for i in range(0, mask.size, MASK_BLOCK)]
    return np.concatenate(([0], np.cumsum(blocks))).astype(np.uint32)


def room(draw: Draw, shape: object, dtype: str) -> Operand:
    return operand(draw, np.zeros(shape, dtype))  # type: ignore[call-overload]


@generates("mask_counts")
def mask_counts(draw: Draw, name: str) -> Call:
    mask = some_mask(draw, draw.size_or_zero(MOST))
    out = room(draw, counts_of(mask).shape, "uint32")
    values = {"mask": operand(draw, mask), "counts": out, "n": mask.size}
    return Call(name, values, [Result(out, counts_of(mask))])


@generates("compact")
def compact(draw: Draw, name: str) -> Call:
    dtype = draw.one_of(DTYPES)
    mask = some_mask(draw, draw.size_or_zero(MOST))
    x = np.random.default_rng(draw.below(1 << 30)).integers(0, 2, mask.size).astype(dtype)
    count = max(0, int(mask.sum()) - (draw.below(9) if draw.rarely(3) else 0))
    out = room(draw, count, dtype)
    values = {
        "mask": operand(draw, mask),
        "counts": operand(draw, counts_of(mask)),
        "source": operand(draw, x),
        "output": out,
        "n": mask.size,
        "count": count,
        "dtype": dtype,
    }
    return Call(name, values, [Result(out, x[mask][:count])], empty=count == 0)


@generates("nonzero")
def nonzero(draw: Draw, name: str) -> Call:
    shape, dtype = draw.shape(6, MOST, 1), draw.one_of(["int32", "int64"])
    mask = some_mask(draw, int(np.prod(shape)))
    count = max(0, int(mask.sum()) - (draw.below(9) if draw.rarely(3) else 0))
    found = np.stack(np.nonzero(mask.reshape(shape)))[:, :count].astype(dtype)
    out = room(draw, found.shape, dtype)
    values = {
        "mask": operand(draw, mask),
        "counts": operand(draw, counts_of(mask)),
        "output": out,
        "shape": shape,
        "count": count,
        "index_dtype": dtype,
    }
    return Call(name, values, [Result(out, found)], empty=0 in found.shape)


@generates("search_sorted")
def search_sorted(draw: Draw, name: str) -> Call:
    dtype, places = draw.one_of(DTYPES), draw.one_of(["int32", "int64"])
    random = np.random.default_rng(draw.below(1 << 30))
    n, count, right = draw.size_or_zero(3000), draw.size_or_zero(3000), draw.rarely(2)
    x = np.sort(random.integers(0, 90, n).astype(dtype))
    wanted = random.integers(0, 99, count).astype(dtype)
    found = np.searchsorted(x, wanted, "right" if right else "left").astype(places)
    out = room(draw, count, places)
    values = {
        "sorted": operand(draw, x),
        "values": operand(draw, wanted),
        "output": out,
        "n": n,
        "count": count,
        "right": right,
        "dtype": dtype,
        "index_dtype": places,
    }
    return Call(name, values, [Result(out, found)], empty=count == 0)
