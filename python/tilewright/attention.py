"""The array tier's attention, and what goes with it: scores, weighted sums, rotary positions."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, overload

from tilewright.forms import also_trait_call
from tilewright.operands import Operands, check_rank, invalid

if TYPE_CHECKING:
    from tilewright.array import Array
    from tilewright.operands import ArrayLike, BufferLike, OperandLike


def padded_to(rank: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    return (1,) * (rank - len(shape)) + shape


def default_scale(head_dim: int) -> float:
    return 1 / math.sqrt(max(1, head_dim))


class AttentionOps(Operands):
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
    ) -> None: ...
    @also_trait_call(
        "q k v o batch heads seq_q seq_kv head_dim scale causal", "q_offset kv_heads dtype"
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
        out: Array | None = None,
    ) -> Array:
        """softmax(scale * q k^T) v, for arrays [batch, heads, seq, dim]; the first axes may be left
        out. k and v may have fewer heads. Slices and transposes whose rows of dim are whole are
        used where they lie. scale is 1/sqrt(dim) unless given. causal: query i sees
        keys up to i + q_offset."""
        call = "attention"
        queries, keys, values = self._read_rows(call, q=q, k=k, v=v)
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
        if padded_to(4, values.shape) != padded_to(4, keys.shape):
            invalid(call, f"v has shape {values.shape}, expected {keys.shape}, that of k")
        result = self._result_rows(call, out, queries.shape, queries.dtype, queries, keys, values)
        super().attention(
            queries, keys, values, result, batch, heads, seq_q, seq_kv, dim,
            default_scale(dim) if scale is None else scale, causal, q_offset, kv_heads,
            queries.stored_as,
        )  # fmt: skip
        return result

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
        out: Array | None = None,
    ) -> Array: ...
    @overload
    def rope(
        self,
        x: BufferLike,
        cos: BufferLike,
        sin: BufferLike,
        output: BufferLike,
        batch: int,
        heads: int,
        seq: int,
        head_dim: int,
        table_rows: int,
        position: int = 0,
        dtype: str = "float32",
    ) -> None: ...
    @also_trait_call("x cos sin output batch heads seq head_dim table_rows", "position dtype")
    def rope(
        self,
        x: ArrayLike,
        cos: ArrayLike,
        sin: ArrayLike,
        *,
        position: int = 0,
        out: Array | None = None,
    ) -> Array:
        """x [batch, heads, seq, dim], whose first axes may be left out, rotated by the rows from
        `position` on of cos and sin [rows, dim/2]."""
        call = "rope"
        operand, cosines, sines = self._read(call, x=x, cos=cos, sin=sin)
        check_rank(call, "x", operand, 2, 3, 4)
        batch, heads, seq, dim = padded_to(4, operand.shape)
        check_rank(call, "cos", cosines, 2)
        if cosines.shape[1] * 2 != dim:
            invalid(call, f"cos has shape {cosines.shape}, expected rows of {dim / 2:g}, half of x")
        if sines.shape != cosines.shape:
            invalid(call, f"sin has shape {sines.shape}, expected {cosines.shape}, that of cos")
        result = self._result(call, out, operand.shape, operand.dtype, cosines, sines)
        super().rope(
            operand, cosines, sines, result, batch, heads, seq, dim, cosines.shape[0], position,
            operand.stored_as,
        )  # fmt: skip
        return result
