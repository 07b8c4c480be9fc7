"""attention, attention_scores and weighted_sum."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
from conformance import bounds, references

from ..call import Call, Operand, Result
from ..draw import Array, Draw
from . import generates
from .attention_options import with_options
from .rows import operand, room

#: what a call without options has
PLAIN = dict.fromkeys(
    ("mask", "window_left", "window_right", "value_dim", "kv_lengths", "page_table", "page_size",
     "pages", "q_starts", "kv_starts", "page_dtype", "page_scales")
) | {"mask_dtype": "bool", "soft_cap": 0.0, "at_end": False}  # fmt: skip
MOST = 1 << 20  # products of one element of a query with one of a key


def some_heads(draw: Draw) -> tuple[int, int]:
    kv_heads = draw.one_of([1, 2, 3, 5])
    return kv_heads * draw.one_of([1, 2, 3, 4, 8]), kv_heads


def laid(draw: Draw, array: Array) -> tuple[Operand, Callable[[Array], Array]]:
    """The array as an operand, contiguous or with gaps and its axes in any order, and what finds it
    in the operand's elements."""
    if draw.below(2):
        return operand(draw, array), lambda whole: whole
    *outer, last = range(array.ndim)
    strides, within = [1] * array.ndim, array.shape[last] + draw.one_of([0, 0, 1, 4])
    for axis in draw.one_of(list(itertools.permutations(outer))):
        strides[axis] = within
        within *= array.shape[axis] + draw.one_of([0, 0, 0, 1, 3])
    offset = draw.one_of([0, 1, 4, 64])
    reach = sum((size - 1) * step for size, step in zip(array.shape, strides, strict=True))
    steps = [step * array.itemsize for step in strides]

    def part(whole: Array) -> Array:
        return np.lib.stride_tricks.as_strided(whole[offset:], array.shape, steps)

    whole = np.full(offset + reach + 1, np.nan, array.dtype)
    part(whole)[...] = array
    return Operand(whole, draw.integer(0, 40), walk=(strides, offset)), part


@generates("attention")
def attention(draw: Draw, name: str) -> Call:
    if draw.below(2):
        return with_options(draw)
    batch = draw.one_of([1, 2, 3])
    heads, kv_heads = some_heads(draw)
    head_dim = draw.one_of([8, 1, 2, 3, 16, 31, 32, 33, 64, 80, 96, 128, 129, 256, 300])
    left = max(1, MOST // (batch * heads * head_dim))
    seq_q = draw.size(min(left, 600))
    seq_kv = draw.size(min(max(1, left // seq_q), 5000))
    causal, dtype = bool(draw.below(2)), draw.dtype()
    q_offset = draw.one_of([0, max(0, seq_kv - seq_q), draw.integer(0, seq_kv), 2**40])
    scale = draw.one_of([float(np.float32(1 / np.sqrt(head_dim))), 1.0, 1e-3])
    q = draw.normal((batch, heads, seq_q, head_dim), dtype)
    k, v = (draw.normal((batch, kv_heads, seq_kv, head_dim), dtype) for _ in range(2))
    seen = min(seq_kv, q_offset + seq_q) if causal else seq_kv
    # What a cache has room for and no query sees may be anything.
    k[:, :, seen:], v[:, :, seen:] = np.nan, np.nan
    scale32 = float(np.float32(scale))
    keys, values_ = k[:, :, :seen], v[:, :, :seen]
    scores = references.attention_scores(q, keys, scale32, causal, q_offset)
    sizes = references.attention_scores(abs(q), abs(keys), scale32, False, 0)
    weights = references.softmax(scores, -1)
    wide = references.repeated_heads(values_, heads)
    tolerance = bounds.attention(weights, wide, scores, sizes, head_dim)
    out, part = laid(draw, np.full(q.shape, np.nan, dtype))
    values = {
        "q": laid(draw, q)[0],
        "k": laid(draw, k)[0],
        "v": laid(draw, v)[0],
        "o": out,
        "batch": batch,
        "heads": heads,
        "seq_q": seq_q,
        "seq_kv": seq_kv,
        "head_dim": head_dim,
        "scale": scale,
        "causal": causal,
        "q_offset": q_offset,
        "kv_heads": None if kv_heads == heads and draw.below(2) else kv_heads,
        "dtype": dtype,
        **PLAIN,
    }
    return Call(name, values, [Result(out, weights @ wide, tolerance, part)])


@generates("attention_scores")
def attention_scores(draw: Draw, name: str) -> Call:
    heads, kv_heads = some_heads(draw)
    head_dim, dtype = draw.size(300), draw.dtype()
    seq = draw.size_or_zero(max(1, (1 << 18) // (heads * head_dim)))
    q = draw.with_specials(draw.normal((heads, head_dim), dtype))
    keys = draw.with_specials(draw.normal((kv_heads, seq, head_dim), dtype))
    scale = draw.one_of([1.0, 0.125, 1.7])
    scale32 = float(np.float32(scale))
    wide, query = references.repeated_heads(keys, heads), q.astype(np.float64)
    with np.errstate(all="ignore"):
        exact = scale32 * np.einsum("hsd,hd->hs", wide, query)
        magnitudes = scale32 * np.einsum("hsd,hd->hs", abs(wide), abs(query))
        tolerance = bounds.inner_product(magnitudes, head_dim)
    if seq == 0:
        out, part = room(draw, (heads, seq), dtype), lambda whole: whole
        query_operand, key_operand = operand(draw, q), operand(draw, keys)
    else:
        out, part = laid(draw, np.full((heads, seq), np.nan, dtype))
        query_operand, key_operand = laid(draw, q)[0], laid(draw, keys)[0]
    values = {
        "q": query_operand,
        "keys": key_operand,
        "scores": out,
        "seq": seq,
        "head_dim": head_dim,
        "scale": scale,
        "heads": heads,
        "kv_heads": None if kv_heads == heads and draw.below(2) else kv_heads,
        "dtype": dtype,
    }
    return Call(name, values, [Result(out, exact, tolerance, part)], empty=seq == 0)


@generates("weighted_sum")
def weighted_sum(draw: Draw, name: str) -> Call:
    heads, kv_heads = some_heads(draw)
    dim, dtype = draw.size(2000), draw.dtype()
    count = draw.size_or_zero(max(1, (1 << 18) // (heads * dim)))
    weights = draw.with_specials(draw.normal((heads, count), dtype))
    rows = draw.with_specials(draw.normal((kv_heads, count, dim), dtype))
    wide, by = references.repeated_heads(rows, heads), weights.astype(np.float64)
    with np.errstate(all="ignore"):
        exact = np.einsum("hc,hcd->hd", by, wide)
        magnitudes = np.einsum("hc,hcd->hd", abs(by), abs(wide))
        tolerance = bounds.inner_product(magnitudes, count)
    out, part = laid(draw, np.full((heads, dim), np.nan, dtype))
    some = laid if count != 0 else lambda draw, array: (operand(draw, array), None)
    values = {
        "weights": some(draw, weights)[0],
        "rows": some(draw, rows)[0],
        "output": out,
        "count": count,
        "dim": dim,
        "heads": heads,
        "kv_heads": None if kv_heads == heads and draw.below(2) else kv_heads,
        "dtype": dtype,
    }
    return Call(name, values, [Result(out, exact, tolerance, part)], empty=count == 0)
