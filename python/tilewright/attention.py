"""The array tier's attention, and what goes with it: scores, weighted sums, rotary positions."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from tilewright.array import Array
from tilewright.forms import also_trait_call
from tilewright.namespace.manipulation import broadcast_to
from tilewright.operands import (
    check_rank,
    invalid,
    read_host,
    shown,
    to_host,
    to_integer,
)
from tilewright.pages import PageOps

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tilewright.operands import ArrayLike, BufferLike, OperandLike

    # Keys before and behind a query's place; None: all.
    Window = Sequence[int | None]


def padded_to(rank: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    return (1,) * (rank - len(shape)) + shape


def default_scale(head_dim: int) -> float:
    return 1 / math.sqrt(max(1, head_dim))


def walking_on(mask: Array) -> Array:
    """A copy where strides lead back, which the trait's masks do not."""
    return mask._contiguous() if any(step < 0 for step in mask.strides) else mask


class AttentionOps(PageOps):
    @overload
    def attention(
        self,
        q: ArrayLike,
        k: ArrayLike,
        v: ArrayLike,
        *,
        causal: bool = False,
        scale: float | None = None,
        q_offset: int = 0,
        mask: ArrayLike | None = None,
        soft_cap: float = 0,
        window: Window | None = None,
        at_end: bool = False,
        lengths: ArrayLike | None = None,
        page_table: ArrayLike | None = None,
        q_starts: ArrayLike | None = None,
        kv_starts: ArrayLike | None = None,
        scales: Array | None = None,
        out: Array | None = None,
    ) -> Array: ...
    @overload
    def attention(
        self,
        q: OperandLike,
        k: OperandLike,
        v: OperandLike,
        o: OperandLike,
        batch: int,
        heads: int,
        seq_q: int,
        seq_kv: int,
        head_dim: int,
        scale: float,
        causal: bool,
        q_offset: int = 0,
        kv_heads: int | None = None,
        dtype: str = "float32",
        mask: OperandLike | None = None,
        mask_dtype: str = "bool",
        soft_cap: float = 0,
        window_left: int | None = None,
        window_right: int | None = None,
        value_dim: int | None = None,
        at_end: bool = False,
        kv_lengths: BufferLike | None = None,
        page_table: BufferLike | None = None,
        page_size: int | None = None,
        pages: int | None = None,
        q_starts: BufferLike | None = None,
        kv_starts: BufferLike | None = None,
        page_dtype: str | None = None,
        page_scales: BufferLike | None = None,
    ) -> None: ...
    @also_trait_call(
        "q k v o batch heads seq_q seq_kv head_dim scale causal",
        "q_offset kv_heads dtype mask mask_dtype soft_cap window_left window_right value_dim "
        "at_end kv_lengths page_table page_size pages q_starts kv_starts page_dtype page_scales",
    )
    def attention(
        self,
        q: ArrayLike,
        k: ArrayLike,
        v: ArrayLike,
        *,
        causal: bool = False,
        scale: float | None = None,
        q_offset: int = 0,
        mask: ArrayLike | None = None,
        soft_cap: float = 0,
        window: Window | None = None,
        at_end: bool = False,
        lengths: ArrayLike | None = None,
        page_table: ArrayLike | None = None,
        q_starts: ArrayLike | None = None,
        kv_starts: ArrayLike | None = None,
        scales: Array | None = None,
        out: Array | None = None,
    ) -> Array:
        """softmax(scale * q k^T) v, for arrays [batch, heads, seq, dim]; the first axes may be left
        out. k and v may have fewer heads, and v rows of another length. Slices and transposes whose
        rows of dim are whole are used where they lie. scale is 1/sqrt(dim) unless given.

        Query i stands at place i + q_offset, or with at_end where the last query stands at the
        last key. causal: it sees keys up to its place; window: from `left` before it to `right`
        behind it, either of which may be None. soft_cap: scores s become soft_cap * tanh(s /
        soft_cap). mask: what broadcasts to [batch, heads, seq of q, seq of k], bools that are true
        where a key may be seen, or numbers that are added to the scores. A row that sees no key is
        0.

        lengths: how many of its keys each sequence has. page_table [batch, pages of a sequence]: k
        and v are [pages, page_size, heads, dim], and these pages are a sequence's keys. q_starts,
        kv_starts [batch + 1]: q is [rows, heads, dim], k and v too, and sequence b has the rows
        from starts[b] to starts[b + 1]. With page_table, q_starts goes with lengths. Pages may be
        float16 beside any q, or int8 with scales [pages, 2, heads, page_size], as write_pages()
        makes them."""
        call = "attention"
        if page_table is not None and isinstance(k, Array) and isinstance(v, Array):
            (queries,) = self._read_rows(call, q=q)
            keys, values = k, v
            if not k.dtype == v.dtype == queries.dtype:
                self._check_stored(call, queries, k=k, v=v)
            else:
                keys, values = self._read_rows(call, k=k, v=v)
        else:
            queries, keys, values = self._read_rows(call, q=q, k=k, v=v)
        if not (
            mask is lengths is page_table is q_starts is kv_starts is scales is None
            and window is None
            and soft_cap == 0
            and not at_end
            and keys.shape == values.shape
        ):
            return self._attend(
                call, queries, keys, values, causal, scale, q_offset, mask, soft_cap, window,
                at_end, lengths, page_table, q_starts, kv_starts, scales, out,
            )  # fmt: skip
        for name, one in (("q", queries), ("k", keys), ("v", values)):
            check_rank(call, name, one, 2, 3, 4)
        batch, heads, seq_q, dim = padded_to(4, queries.shape)
        kv_batch, kv_heads, seq_kv, kv_dim = padded_to(4, keys.shape)
        if (kv_batch, kv_dim) != (batch, dim):
            invalid(
                call,
                f"k has shape {keys.shape}, expected the batch ({batch}) and dim ({dim}) of q, "
                f"whose shape is {queries.shape}",
            )
        result = self._result_rows(call, out, queries.shape, queries.dtype, queries, keys, values)
        super().attention(
            queries, keys, values, result, batch, heads, seq_q, seq_kv, dim,
            default_scale(dim) if scale is None else scale, causal, q_offset, kv_heads,
            queries.stored_as,
        )  # fmt: skip
        return result

    def _attend(
        self, call: str, queries: Array, keys: Array, values: Array, causal: bool,
        scale: float | None, q_offset: int, mask: ArrayLike | None, soft_cap: float,
        window: Window | None, at_end: bool, lengths: ArrayLike | None,
        page_table: ArrayLike | None, q_starts: ArrayLike | None, kv_starts: ArrayLike | None,
        scales: Array | None, out: Array | None,
    ) -> Array:  # fmt: skip
        """attention() with any of its options, of operands that are read."""
        packed = q_starts is not None
        if kv_starts is not None and page_table is not None:
            invalid(call, "kv_starts goes without page_table")
        if (kv_starts is None) == packed and page_table is None:
            there, missing = ("q_starts", "kv_starts") if packed else ("kv_starts", "q_starts")
            invalid(call, f"{there} needs {missing}, which is not given")
        for name, one, ranks in (
            ("q", queries, (3,) if packed else (2, 3, 4)),
            ("k", keys, (4,) if page_table is not None else (3,) if packed else (2, 3, 4)),
        ):
            check_rank(call, name, one, *ranks)
        if values.shape[:-1] != keys.shape[:-1]:
            invalid(call, f"v has shape {values.shape}, expected rows as k has, {keys.shape}")
        # Heads in front of rows.
        q_rows = queries.transpose(1, 0, 2) if packed else queries
        batch, heads, seq_q, dim = padded_to(4, q_rows.shape)
        order = (0, 2, 1, 3) if page_table is not None else (1, 0, 2) if packed else None
        k_rows = keys if order is None else keys.transpose(*order)
        v_rows = values if order is None else values.transpose(*order)
        kv_batch, kv_heads, seq_kv, kv_dim = padded_to(4, k_rows.shape)
        given: dict[str, Any] = {}
        if packed:
            starts = self._numbers(call, "q_starts", q_starts, None)
            batch = starts.shape[0] - 1
            given["q_starts"] = starts
            if batch < 1:
                invalid(call, f"q_starts has shape {starts.shape}, expected 2 numbers or more")
        if kv_starts is not None:
            given["kv_starts"] = self._numbers(call, "kv_starts", kv_starts, (batch + 1,))
        if page_table is not None:
            table = self._numbers(call, "page_table", page_table, (batch, None))
            given |= {"page_table": table, "page_size": seq_kv, "pages": kv_batch}
            if keys.dtype != queries.dtype:
                given["page_dtype"] = keys.stored_as
            of_rows = (kv_batch, 2, kv_heads, seq_kv)
            if (found := self._scales(call, scales, keys, of_rows)) is not None:
                given["page_scales"] = found
            seq_kv *= table.shape[1]
        elif scales is not None:
            invalid(call, "scales needs page_table, which is not given")
        elif not packed and kv_batch != batch:
            invalid(call, f"k has shape {keys.shape}, expected the batch of q, {batch}")
        if kv_dim != dim:
            invalid(call, f"k has shape {keys.shape}, expected rows of {dim}, the dim of q")
        if lengths is not None:
            given["kv_lengths"] = self._numbers(call, "lengths", lengths, (batch,))
        if mask is not None:
            if packed:
                invalid(call, "mask goes without q_starts")
            view = self._mask(call, mask, (batch, heads, seq_q, seq_kv), queries)
            given |= {"mask": view, "mask_dtype": view.stored_as}
        if window is not None:
            left, right = self._window(call, window)
            given |= {"window_left": left, "window_right": right}
        if values.shape[-1] != dim:
            given["value_dim"] = values.shape[-1]
        shape = (*queries.shape[:-1], values.shape[-1])
        result = self._result_rows(call, out, shape, queries.dtype, queries, keys, values)
        super().attention(
            q_rows, k_rows, v_rows, result.transpose(1, 0, 2) if packed else result, batch, heads,
            seq_q, seq_kv, dim, default_scale(dim) if scale is None else scale, causal, q_offset,
            kv_heads, queries.stored_as, soft_cap=soft_cap, at_end=at_end, **given,
        )  # fmt: skip
        return result

    @staticmethod
    def _window(call: str, window: Window) -> tuple[int | None, int | None]:
        if not isinstance(window, (tuple, list)) or len(window) != 2:
            invalid(call, f"window is {shown(window)}, expected (left, right)")
        left, right = (
            None if one is None else to_integer(call, f"window[{i}]", one)
            for i, one in enumerate(window)
        )
        return left, right

    def _mask(
        self, call: str, mask: ArrayLike, shape: tuple[int, int, int, int], queries: Array
    ) -> Array:
        """The mask as a view of this shape, of bools or of the dtype of q."""
        if not isinstance(mask, Array):
            host = read_host(call, "mask", mask)
            wanted = host.dtype if host.dtype == np.bool_ else queries.dtype
            mask = self._upload(np.ascontiguousarray(to_host(call, "mask", host, wanted)))
        self._own(call, "mask", mask)
        if mask.dtype not in (np.dtype(np.bool_), queries.dtype):
            invalid(call, f"mask is {mask.dtype}, expected bool or {queries.dtype}, as q")
        fits = mask.ndim <= 4 and all(
            size in (1, whole) for size, whole in zip(mask.shape[::-1], shape[::-1], strict=False)
        )
        if not fits:
            invalid(call, f"mask has shape {mask.shape}, expected what broadcasts to {shape}")
        return broadcast_to(walking_on(mask), shape)

    @overload
    def attention_scores(
        self,
        q: ArrayLike,
        keys: ArrayLike,
        *,
        scale: float | None = None,
        out: Array | None = None,
    ) -> Array: ...
    @overload
    def attention_scores(
        self,
        q: OperandLike,
        keys: OperandLike,
        scores: OperandLike,
        seq: int,
        head_dim: int,
        scale: float,
        heads: int = 1,
        kv_heads: int | None = None,
        dtype: str = "float32",
    ) -> None: ...
    @also_trait_call("q keys scores seq head_dim scale", "heads kv_heads dtype")
    def attention_scores(
        self,
        q: ArrayLike,
        keys: ArrayLike,
        *,
        scale: float | None = None,
        out: Array | None = None,
    ) -> Array:
        """scale * keys . q for one query: q [heads, dim] or [dim], keys [kv_heads, seq, dim] or
        [seq, dim]; gives [heads, seq] or [seq]. scale is 1/sqrt(dim) unless given."""
        call = "attention_scores"
        query, rows = self._read_rows(call, q=q, keys=keys)
        check_rank(call, "q", query, 1, 2)
        check_rank(call, "keys", rows, 2, 3)
        heads, dim = padded_to(2, query.shape)
        kv_heads, seq, keys_dim = padded_to(3, rows.shape)
        if keys_dim != dim:
            invalid(call, f"keys has shape {rows.shape}, expected rows of {dim}, the dim of q")
        result = self._result_rows(call, out, (*query.shape[:-1], seq), query.dtype, query, rows)
        super().attention_scores(
            query, rows, result, seq, dim, default_scale(dim) if scale is None else scale,
            heads, kv_heads, query.stored_as,
        )  # fmt: skip
        return result

    @overload
    def weighted_sum(
        self, weights: ArrayLike, rows: ArrayLike, *, out: Array | None = None
    ) -> Array: ...
    @overload
    def weighted_sum(
        self,
        weights: OperandLike,
        rows: OperandLike,
        output: OperandLike,
        count: int,
        dim: int,
        heads: int = 1,
        kv_heads: int | None = None,
        dtype: str = "float32",
    ) -> None: ...
    @also_trait_call("weights rows output count dim", "heads kv_heads dtype")
    def weighted_sum(
        self, weights: ArrayLike, rows: ArrayLike, *, out: Array | None = None
    ) -> Array:
        """The sum of rows by weights: weights [heads, count] or [count], rows [kv_heads, count,
        dim] or [count, dim]; gives [heads, dim] or [dim]. Slices and transposes whose rows are
        whole are used where they lie."""
        call = "weighted_sum"
        factors, summed = self._read_rows(call, weights=weights, rows=rows)
        check_rank(call, "weights", factors, 1, 2)
        check_rank(call, "rows", summed, 2, 3)
        heads, count = padded_to(2, factors.shape)
        kv_heads, rows_count, dim = padded_to(3, summed.shape)
        if rows_count != count:
            invalid(call, f"rows has shape {summed.shape}, expected {count} rows, as weights has")
        shape = (*factors.shape[:-1], dim)
        result = self._result_rows(call, out, shape, factors.dtype, factors, summed)
        super().weighted_sum(
            factors, summed, result, count, dim, heads, kv_heads, factors.stored_as
        )
        return result

    @overload
    def rope(
        self,
        x: ArrayLike,
        cos: ArrayLike,
        sin: ArrayLike,
        *,
        position: int = 0,
        positions: ArrayLike | None = None,
        pairing: str = "halves",
        rotary_dim: int | None = None,
        inverse: bool = False,
        out: Array | None = None,
    ) -> Array: ...
    @overload
    def rope(
        self,
        x: OperandLike,
        cos: BufferLike,
        sin: BufferLike,
        output: OperandLike,
        batch: int,
        heads: int,
        seq: int,
        head_dim: int,
        table_rows: int,
        position: int = 0,
        dtype: str = "float32",
        pairing: str = "halves",
        rotary_dim: int | None = None,
        positions: BufferLike | None = None,
        positions_per_sequence: int = 1,
        inverse: bool = False,
    ) -> None: ...
    @also_trait_call(
        "x cos sin output batch heads seq head_dim table_rows",
        "position dtype pairing rotary_dim positions positions_per_sequence inverse",
    )
    def rope(
        self,
        x: ArrayLike,
        cos: ArrayLike,
        sin: ArrayLike,
        *,
        position: int = 0,
        positions: ArrayLike | None = None,
        pairing: str = "halves",
        rotary_dim: int | None = None,
        inverse: bool = False,
        out: Array | None = None,
    ) -> Array:
        """x [batch, heads, seq, dim], whose first axes may be left out, rotated by the rows from
        `position` on of cos and sin [rows, rotary_dim/2]. Slices and transposes whose rows of dim
        are whole are used where they lie. pairing: "halves" turns the elements i and i +
        rotary_dim/2, "neighbours" 2i and 2i + 1. rotary_dim: how many of the first elements are
        rotated, all unless given; the others are copied. positions, in place of position, are of
        each sequence [batch], or of each place [batch, seq]; one outside the table gives NaN.
        inverse: rotates back, which is the gradient too."""
        call = "rope"
        operand, cosines, sines = self._read_rows(call, x=x, cos=cos, sin=sin)
        cosines, sines = cosines._contiguous(), sines._contiguous()
        check_rank(call, "x", operand, 2, 3, 4)
        batch, heads, seq, dim = padded_to(4, operand.shape)
        check_rank(call, "cos", cosines, 2)
        rotated = dim if rotary_dim is None else to_integer(call, "rotary_dim", rotary_dim)
        if cosines.shape[1] * 2 != rotated:
            half = "x" if rotary_dim is None else "rotary_dim"
            invalid(
                call,
                f"cos has shape {cosines.shape}, expected rows of {rotated / 2:g}, half of {half}",
            )
        if sines.shape != cosines.shape:
            invalid(call, f"sin has shape {sines.shape}, expected {cosines.shape}, that of cos")
        numbers, of_each = None, 1
        if positions is not None:
            of_places = np.ndim(positions) == 2
            shape = (batch, seq) if of_places else (batch,)
            numbers = self._numbers(call, "positions", positions, shape)
            of_each = seq if of_places else 1
        result = self._result_rows(call, out, operand.shape, operand.dtype, cosines, sines)
        super().rope(
            operand, cosines, sines, result, batch, heads, seq, dim, cosines.shape[0], position,
            operand.stored_as, pairing, rotary_dim, numbers, of_each, inverse,
        )  # fmt: skip
        return result
