"""attention with masks, caps, windows, lengths, pages and packed batches."""

from __future__ import annotations

from typing import Any

import numpy as np
from conformance.attention_cases import Operands, Options, expected, in_pages, starts_of, strewn
from conformance.page_rows import narrowed

from ..call import Call, Operand, Result
from ..draw import Array, Draw
from .rows import operand

MOST = 1 << 19  # products of one element of a query with one of a key


def options_of(draw: Draw) -> Options:
    layout = draw.one_of(["dense", "lengths", "packed", "paged", "paged packed"])
    batch = draw.integer(1, 4)
    kv_heads = draw.one_of([1, 2, 3])
    heads = kv_heads * draw.one_of([1, 2, 4])
    dim = draw.one_of([8, 1, 3, 16, 33, 64, 128, 256])
    left = max(1, MOST // (batch * heads * dim))
    most_q = draw.size(min(left, 200))
    most_kv = draw.size(min(max(1, left // most_q), 1500))
    queries, keys = [most_q] * batch, [most_kv] * batch
    if "packed" in layout:
        queries = [draw.integer(0, most_q) for _ in range(batch - 1)] + [most_q]
    if layout != "dense":
        keys = [draw.integer(0, most_kv) for _ in range(batch - 1)] + [most_kv]
    masks = ["", "bool bhqk", "added bhqk", "bool bk", "added hq"]
    at_end = bool(draw.below(2))
    return Options(
        tuple(queries), tuple(keys), heads, kv_heads, dim,
        draw.one_of([None, None, 4, 65]), bool(draw.below(2)),
        0 if at_end else draw.integer(0, most_kv + 3),
        draw.one_of([None, draw.integer(0, most_kv)]),
        draw.one_of([None, draw.integer(0, most_kv)]),
        at_end, draw.one_of([0.0, 2.0, 50.0]),
        "" if "packed" in layout else draw.one_of(masks), layout,
        most_kv + draw.one_of([0, 0, 5]) if "lengths" in layout else 0, draw.one_of([1, 3, 16]),
        stored=draw.one_of(["", "float16", "int8"]) if "paged" in layout else "",
    )  # fmt: skip


def drawn(draw: Draw, case: Options, dtype: str) -> Operands:
    q = [draw.normal((case.heads, n, case.dim), dtype) for n in case.queries]
    stored = "float32" if case.stored == "int8" else case.stored or dtype
    k = [draw.normal((case.kv_heads, n, case.dim), stored) for n in case.keys]
    v = [draw.normal((case.kv_heads, n, case.values), stored) for n in case.keys]
    scales = None
    if case.stored == "int8":
        (k, of_k), (v, of_v) = (
            map(list, zip(*map(narrowed, rows), strict=True)) for rows in (k, v)
        )
        scales = of_k, of_v
    mask = None
    if case.mask:
        kind, axes = case.mask.split()
        whole = (len(case.queries), case.heads, max(case.queries), case.most_keys)
        shape = [size if name in axes else 1 for name, size in zip("bhqk", whole, strict=True)]
        hidden = draw.rng.random(shape) < 0.3
        mask = ~hidden if kind == "bool" else draw.normal(shape, dtype)
        if kind == "added":
            mask[hidden] = -np.inf
    return Operands(q, k, v, mask, scales)


def packed(draw: Draw, arrays: list[Array]) -> Operand:
    """Sequences [heads, n, dim] behind each other as [rows, heads, dim]."""
    heads, _, dim = arrays[0].shape
    whole = np.concatenate([one.swapaxes(0, 1) for one in arrays])
    return Operand(whole, draw.integer(0, 40), walk=([0, dim, heads * dim, 1], 0))


def with_options(draw: Draw) -> Call:
    case = options_of(draw)
    dtype = draw.dtype()
    given = drawn(draw, case, dtype)
    batch = len(case.queries)
    seq_q, seq_kv = max(case.queries), case.most_keys
    values: dict[str, Any] = dict.fromkeys(
        (
            "mask",
            "kv_lengths",
            "page_table",
            "page_size",
            "pages",
            "q_starts",
            "kv_starts",
            "page_dtype",
            "page_scales",
        )
    )
    if case.packed:
        seq_q = sum(case.queries)
        values["q"] = packed(draw, given.q)
        values["q_starts"] = operand(draw, starts_of(case.queries))
    else:
        values["q"] = operand(draw, strewn(given.q, seq_q, np.nan))
    if case.paged:
        *pages, table, scales = in_pages(draw.rng, case, given)
        for name, one in zip("kv", pages, strict=True):
            _, size, heads, dim = one.shape
            strides = [size * heads * dim, dim, heads * dim, 1]
            values[name] = Operand(one, draw.integer(0, 40), walk=(strides, 0))
        values["page_table"] = operand(draw, table)
        values |= {"page_size": case.page_size, "pages": len(pages[0])}
        values["page_dtype"] = case.stored or None
        if scales is not None:
            values["page_scales"] = operand(draw, scales)
    elif case.packed:
        seq_kv = sum(case.keys)
        values |= {"k": packed(draw, given.k), "v": packed(draw, given.v)}
        values["kv_starts"] = operand(draw, starts_of(case.keys))
    else:
        values["k"], values["v"] = (
            operand(draw, strewn(rows, seq_kv, np.nan)) for rows in (given.k, given.v)
        )
    if case.paged or case.layout == "lengths":
        values["kv_lengths"] = operand(draw, np.array(case.keys, np.int32))
    if given.mask is not None:
        whole = (batch, case.heads, seq_q, seq_kv)
        view = np.broadcast_to(given.mask, whole)
        strides = [step // given.mask.itemsize for step in view.strides]
        values["mask"] = Operand(given.mask, draw.integer(0, 40), walk=(strides, 0))
    found = expected(case, given)
    if case.packed:
        exact, tolerance = (
            np.concatenate([one[i].swapaxes(0, 1) for one in found]) for i in range(2)
        )
        out = packed(draw, [np.full(one[0].shape, np.nan, dtype) for one in found])
    else:
        exact, tolerance = (np.stack([one[i] for one in found]) for i in range(2))
        out = operand(draw, np.full(exact.shape, np.nan, dtype))
    values |= {
        "o": out,
        "batch": batch,
        "heads": case.heads,
        "seq_q": seq_q,
        "seq_kv": seq_kv,
        "head_dim": case.dim,
        "scale": case.used_scale,
        "causal": case.causal,
        "q_offset": case.q_offset,
        "kv_heads": case.kv_heads,
        "dtype": dtype,
        "mask_dtype": "bool" if given.mask is None else given.mask.dtype.name,
        "soft_cap": case.soft_cap,
        "window_left": case.left,
        "window_right": case.right,
        "value_dim": case.value_dim,
        "at_end": case.at_end,
    }
    return Call("attention", values, [Result(out, exact, tolerance)])
