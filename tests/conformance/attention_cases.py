"""Attention with options: what a case is, its operands, and what NumPy makes of it in float64."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from . import bounds, references
from .page_rows import narrowed, widened
from .workspace import Array, Workspace, normal


@dataclass(frozen=True)
class Options:
    """`queries` and `keys` of each sequence; `room` is what `keys` are made for."""

    queries: tuple[int, ...]
    keys: tuple[int, ...]
    heads: int = 2
    kv_heads: int = 1
    dim: int = 16
    value_dim: int | None = None
    causal: bool = False
    q_offset: int = 0
    left: int | None = None
    right: int | None = None
    at_end: bool = False
    soft_cap: float = 0.0
    mask: str = ""  # "bool" or "added", then the axes that it has
    layout: str = "dense"  # or lengths, packed, paged, paged packed
    room: int = 0
    page_size: int = 4
    scale: float | None = None
    stored: str = ""  # how pages are: float16 or int8, else as q

    @property
    def used_scale(self) -> float:
        return float(np.float32(self.scale or 1 / np.sqrt(self.dim)))

    @property
    def values(self) -> int:
        return self.value_dim or self.dim

    @property
    def packed(self) -> bool:
        return "packed" in self.layout

    @property
    def paged(self) -> bool:
        return "paged" in self.layout

    @property
    def most_keys(self) -> int:
        most = max(self.room, *self.keys)
        return -(-most // self.page_size) * self.page_size if self.paged else most

    def __str__(self) -> str:
        told = [f"q{self.queries}", f"k{self.keys}"] if len(self.queries) < 4 else ["many"]
        told += [f"{self.heads}/{self.kv_heads}", f"{self.dim}->{self.values}", self.layout]
        told += [f"causal{self.q_offset}"] if self.causal else []
        told += ["end"] if self.at_end else []
        told += (
            [f"window{self.left},{self.right}"] if (self.left, self.right) != (None, None) else []
        )
        told += [f"cap{self.soft_cap}"] if self.soft_cap else []
        told += [self.stored] if self.stored else []
        return "-".join([*told, *([self.mask.replace(" ", "")] if self.mask else [])]).replace(
            " ", ""
        )


@dataclass
class Operands:
    """Of each sequence q [heads, queries, dim], k and v [kv_heads, keys, ..], and the mask [heads,
    queries, keys] as what is added in float64."""

    q: list[Array]
    k: list[Array]
    v: list[Array]
    mask: Array | None  # as it is given
    #: of int8, [sequence][kv_heads, keys] of k and of v; the rows are whole numbers then
    scales: tuple[list[Array], list[Array]] | None = None

    def rows(self, which: str) -> list[Array]:
        """The numbers of k or of v."""
        rows: list[Array] = getattr(self, which)
        if self.scales is None:
            return rows
        return [widened(*one) for one in zip(rows, self.scales["kv".index(which)], strict=True)]


def draw(rng: np.random.Generator, case: Options, dtype: str) -> Operands:
    q = [normal(rng, (case.heads, n, case.dim), dtype) for n in case.queries]
    stored = "float32" if case.stored == "int8" else case.stored or dtype
    k = [normal(rng, (case.kv_heads, n, case.dim), stored) for n in case.keys]
    v = [normal(rng, (case.kv_heads, n, case.values), stored) for n in case.keys]
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
        mask = rng.random(shape) < 0.7 if kind == "bool" else normal(rng, shape, dtype)
        if kind == "added":
            mask[rng.random(shape) < 0.2] = -np.inf
    return Operands(q, k, v, mask, scales)


def seen_by(case: Options, queries: int, keys: int) -> Array:
    """Which keys each query sees, but for the mask."""
    place = np.arange(queries)[:, None] + (keys - queries if case.at_end else case.q_offset)
    key = np.arange(keys)
    seen = np.ones((queries, keys), bool)
    if case.causal:
        seen &= key <= place
    if case.left is not None:
        seen &= key >= place - case.left
    if case.right is not None:
        seen &= key <= place + case.right
    return seen


def expected(case: Options, given: Operands) -> list[tuple[Array, Array]]:
    """Of each sequence the output, and how far from it one may be."""
    results = []
    for i, (q, k, v) in enumerate(zip(given.q, given.rows("k"), given.rows("v"), strict=True)):
        seen = np.broadcast_to(
            seen_by(case, q.shape[1], k.shape[1]), (case.heads, q.shape[1], k.shape[1])
        )
        if 0 in seen.shape:
            zeros = np.zeros((case.heads, q.shape[1], case.values))
            results.append((zeros, np.full(zeros.shape, bounds.SMALLEST)))
            continue
        scores = references.attention_scores(q[None], k[None], case.used_scale, False, 0)[0]
        sizes = references.attention_scores(abs(q)[None], abs(k)[None], case.used_scale, False, 0)[
            0
        ]
        if case.soft_cap:
            cap = float(np.float32(case.soft_cap))
            scores = cap * np.tanh(scores / cap)
            sizes = sizes + 8 * abs(scores)
        if given.mask is not None:
            whole = (len(case.queries), case.heads, max(case.queries), case.most_keys)
            own = np.broadcast_to(given.mask, whole)[i, :, : q.shape[1], : k.shape[1]]
            if own.dtype == bool:
                seen = seen & own
            else:
                added = own.astype(np.float64)
                scores = scores + added
                sizes = sizes + np.where(np.isfinite(added), abs(added), 0)
        scores = np.where(seen, scores, -np.inf)
        some = np.isfinite(scores).any(-1, keepdims=True)
        weights = np.where(some, references.softmax(np.where(some, scores, 0), -1), 0)
        wide = references.repeated_heads(v[None], case.heads)[0]
        within = bounds.attention(weights, np.nan_to_num(wide), scores, sizes, case.dim)
        results.append((weights @ np.nan_to_num(wide), within))
    return results


def strewn(arrays: list[Array], room: int, filler: float) -> Array:
    """Sequences [heads, n, dim] in [batch, heads, room, dim]."""
    heads, _, dim = arrays[0].shape
    whole = np.full((len(arrays), heads, room, dim), filler, arrays[0].dtype)
    for i, one in enumerate(arrays):
        whole[i, :, : one.shape[1]] = one
    return whole


def starts_of(sizes: tuple[int, ...]) -> Array:
    return np.cumsum([0, *sizes]).astype(np.int32)


def in_pages(
    rng: np.random.Generator, case: Options, given: Operands
) -> tuple[Array, Array, Array, Array | None]:
    """Pages of k and of v, [pages, page_size, kv_heads, dim], in any order, the table, and of int8
    the scales; what is not used is NaN, and places of the table without keys are no pages."""
    slots = case.most_keys // case.page_size
    used = [-(-n // case.page_size) for n in case.keys]
    pages = sum(used) + 2
    order = rng.permutation(pages)
    dtype = given.k[0].dtype
    filler = 99 if given.scales is not None else np.nan
    k = np.full((pages, case.page_size, case.kv_heads, case.dim), filler, dtype)
    v = np.full((pages, case.page_size, case.kv_heads, case.values), filler, dtype)
    scales = np.full((pages, 2, case.kv_heads, case.page_size), np.nan, np.float32)
    table = np.full((len(case.keys), slots), -7, np.int32)
    at = 0
    for i, n in enumerate(case.keys):
        for slot in range(used[i]):
            page, first = order[at], slot * case.page_size
            past = min(n, first + case.page_size)
            table[i, slot] = page
            k[page, : past - first] = given.k[i][:, first:past].swapaxes(0, 1)
            v[page, : past - first] = given.v[i][:, first:past].swapaxes(0, 1)
            if given.scales is not None:
                for which in range(2):
                    scales[page, which, :, : past - first] = given.scales[which][i][:, first:past]
            at += 1
    return k, v, table, None if given.scales is None else scales


def run(
    ws: Workspace, rng: np.random.Generator, case: Options, given: Operands, dtype: str
) -> list[Array]:
    """What the device makes of each sequence."""
    batch, heads, kv_heads = len(case.queries), case.heads, case.kv_heads
    options: dict[str, Any] = {
        "soft_cap": case.soft_cap,
        "window_left": case.left,
        "window_right": case.right,
        "value_dim": case.value_dim,
        "at_end": case.at_end,
    }
    if case.packed:
        packed = np.concatenate([one.swapaxes(0, 1) for one in given.q])
        seq_q = len(packed)
        q = (ws.input(packed), (0, case.dim, heads * case.dim, 1))
        out = ws.room((seq_q, heads, case.values), dtype)
        o: Any = (out, (0, case.values, heads * case.values, 1))
        options["q_starts"] = ws.input(starts_of(case.queries))
    else:
        seq_q = max(case.queries)
        q = ws.input(strewn(given.q, seq_q, np.nan))
        o = out = ws.room((batch, heads, seq_q, case.values), dtype)
    seq_kv = case.most_keys
    if case.paged:
        pages_k, pages_v, table, scales = in_pages(rng, case, given)
        k, v = (
            (
                ws.input(one),
                (case.page_size * kv_heads * dim, dim, kv_heads * dim, 1),
            )
            for one, dim in ((pages_k, case.dim), (pages_v, case.values))
        )
        options |= {
            "page_table": ws.input(table),
            "page_size": case.page_size,
            "pages": len(pages_k),
        }
        if case.stored:
            options["page_dtype"] = case.stored
        if scales is not None:
            options["page_scales"] = ws.input(scales)
    elif case.packed:
        k, v = (
            (ws.input(np.concatenate([one.swapaxes(0, 1) for one in rows])),
             (0, dim, kv_heads * dim, 1))
            for rows, dim in ((given.k, case.dim), (given.v, case.values))
        )  # fmt: skip
        seq_kv = sum(case.keys)
        options["kv_starts"] = ws.input(starts_of(case.keys))
    else:
        k, v = (ws.input(strewn(rows, seq_kv, np.nan)) for rows in (given.k, given.v))
    if case.layout == "lengths" or case.paged:
        options["kv_lengths"] = ws.input(np.array(case.keys, np.int32))
    if given.mask is not None:
        whole = (batch, heads, seq_q, case.most_keys)
        view = np.broadcast_to(given.mask, whole)
        strides = tuple(step // given.mask.itemsize for step in view.strides)
        options["mask"] = (ws.input(given.mask), strides)
        options["mask_dtype"] = given.mask.dtype.name
    ws.be.attention(
        q, k, v, o, batch, heads, seq_q, seq_kv, case.dim, case.used_scale, case.causal,
        case.q_offset, kv_heads, dtype, **options,
    )  # fmt: skip
    got = ws.read(out)
    if case.packed:
        cuts = starts_of(case.queries)[1:-1]
        return [one.swapaxes(0, 1) for one in np.split(got, cuts)]
    return [got[i, :, :n] for i, n in enumerate(case.queries)]


def check(ws: Workspace, rng: np.random.Generator, case: Options, dtype: str) -> None:
    given = draw(rng, case, dtype)
    got = run(ws, rng, case, given, dtype)
    for own, (exact, tolerance) in zip(got, expected(case, given), strict=True):
        bounds.assert_within(own, exact, tolerance)
