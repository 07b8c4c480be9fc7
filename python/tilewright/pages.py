"""The array tier's pages of keys and values: what may be in them, and what writes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

import numpy as np

from tilewright import _core
from tilewright.array import Array
from tilewright.forms import also_trait_call
from tilewright.operands import (
    FLOAT16,
    FLOAT32,
    INT32,
    Operands,
    check_rank,
    invalid,
    read_host,
    shown,
    to_integer,
)

if TYPE_CHECKING:
    from tilewright.operands import ArrayLike, BufferLike, OperandLike

INT8 = np.dtype(np.int8)


class PageOps(Operands):
    def _check_stored(self, call: str, beside: Array, **pages: Array) -> None:
        """Refuses pages that are stored as none may be beside these floats."""
        for name, one in pages.items():
            self._own(call, name, one)
            if one.dtype not in (beside.dtype, FLOAT16, INT8):
                floats = "float16" if beside.dtype == FLOAT16 else f"{beside.dtype}, float16"
                invalid(call, f"{name} is {one.dtype}, expected {floats} or int8")
        if len({one.dtype for one in pages.values()}) > 1:
            told = " and ".join(f"{name} {one.dtype}" for name, one in pages.items())
            invalid(call, f"{told}, expected one dtype")

    def _scales(
        self, call: str, scales: Array | None, pages: Array, shape: tuple[int, ...]
    ) -> Array | None:
        """Those of pages of int8."""
        if (scales is not None) != (pages.dtype == INT8):
            told = "needs scales, which is not given" if scales is None else "has no scales"
            invalid(call, f"a cache of {pages.dtype} {told}")
        if scales is None:
            return None
        if not isinstance(scales, Array):
            invalid(call, f"scales is {shown(scales)}, expected an Array")
        self._own(call, "scales", scales)
        if scales.dtype != FLOAT32 or scales.shape != shape:
            invalid(
                call,
                f"scales is {scales.dtype} of shape {scales.shape}, expected float32 of {shape}",
            )
        return scales

    def _numbers(
        self, call: str, name: str, given: ArrayLike | None, shape: tuple[int | None, ...] | None
    ) -> Array:
        """Numbers of int32 on the device; of any one dimension where no shape is asked for."""
        if isinstance(given, Array):
            self._own(call, name, given)
            if given.dtype != INT32:
                invalid(call, f"{name} is {given.dtype}, expected int32")
            numbers = given._contiguous()
        else:
            values = read_host(call, name, given)
            if values.dtype.kind not in "iu":
                if not isinstance(given, (list, tuple)) or not np.equal(values, values // 1).all():
                    invalid(call, f"{name} is {values.dtype}, expected integers")
                values = values.astype(np.int64)
            limits = np.iinfo(np.int32)
            numbers = self._upload(np.clip(values, limits.min, limits.max).astype(INT32))
        wanted = (None,) if shape is None else shape
        fits = len(numbers.shape) == len(wanted) and all(
            size in (None, own) for size, own in zip(wanted, numbers.shape, strict=True)
        )
        if not fits:
            words = "one dimension" if shape is None else f"shape {shape}"
            invalid(call, f"{name} has shape {numbers.shape}, expected {words}")
        return numbers

    @overload
    def write_pages(
        self,
        x: Array,
        cache: Array,
        slots: ArrayLike,
        *,
        heads: int = 0,
        scales: Array | None = None,
        cos: ArrayLike | None = None,
        sin: ArrayLike | None = None,
        positions: ArrayLike | None = None,
        pairing: str = "halves",
        rotary_dim: int | None = None,
    ) -> None: ...
    @overload
    def write_pages(
        self,
        x: OperandLike,
        cache: OperandLike,
        slots: BufferLike,
        tokens: int,
        heads: int,
        kv_heads: int,
        head_dim: int,
        pages: int,
        page_size: int,
        dtype: str = "float32",
        page_dtype: str | None = None,
        page_scales: BufferLike | None = None,
        cos: BufferLike | None = None,
        sin: BufferLike | None = None,
        positions: BufferLike | None = None,
        table_rows: int = 0,
        pairing: str = "halves",
        rotary_dim: int | None = None,
    ) -> None: ...
    @also_trait_call(
        "x cache slots tokens heads kv_heads head_dim pages page_size",
        "dtype page_dtype page_scales cos sin positions table_rows pairing rotary_dim",
    )
    def write_pages(
        self,
        x: Array,
        cache: Array,
        slots: ArrayLike,
        *,
        heads: int = 0,
        scales: Array | None = None,
        cos: ArrayLike | None = None,
        sin: ArrayLike | None = None,
        positions: ArrayLike | None = None,
        pairing: str = "halves",
        rotary_dim: int | None = None,
    ) -> None:
        """Keys and values of tokens to the pages that attention() reads: x is [tokens, heads + 2 *
        kv_heads, dim], `heads` of queries, then keys, then values, and cache is [pages, page_size,
        2 * kv_heads, dim], of x's dtype, float16 or int8. slots [tokens] say where, page *
        page_size + place; what is in no page is left out.

        With cos and sin [rows, rotary_dim/2] keys are rotated on their way, and the queries in x
        where they lie, each token by the row of its positions [tokens], as by rope(). Of int8,
        scales [pages, 2, kv_heads, page_size] get what each row is to be multiplied by."""
        call = "write_pages"
        for name, one in (("x", x), ("cache", cache)):
            if not isinstance(one, Array):
                invalid(call, f"{name} is {shown(one)}, expected an Array")
        tokens_of = {"cos": cos, "sin": sin, "positions": positions}
        rotates = any(one is not None for one in tokens_of.values())
        for name, option in tokens_of.items():
            if rotates and option is None:
                invalid(
                    call, f"{name} is not given, which the others of cos, sin and positions need"
                )
        count = to_integer(call, "heads", heads)
        if rotates:
            rows, cosines, sines = self._read_rows(call, x=x, cos=cos, sin=sin)
            if count and rows is not x:
                invalid(call, "x has rows with gaps or backwards, expected an Array of whole rows")
        else:
            (rows,) = self._read_rows(call, x=x)
        check_rank(call, "x", rows, 3)
        check_rank(call, "cache", cache, 4)
        self._check_stored(call, rows, cache=cache)
        tokens, all_heads, dim = rows.shape
        pages, page_size, both, cache_dim = cache.shape
        if cache_dim != dim or both % 2 or all_heads != count + both or count < 0:
            invalid(
                call,
                f"x has shape {rows.shape} with {count} heads of queries and cache "
                f"{cache.shape}, expected (tokens, heads + 2 * kv_heads, dim) and "
                "(pages, page_size, 2 * kv_heads, dim)",
            )
        found = self._scales(call, scales, cache, (pages, 2, both // 2, page_size))
        given: dict[str, Any] = {}
        if rotates:
            cosines, sines = cosines._contiguous(), sines._contiguous()
            check_rank(call, "cos", cosines, 2)
            rotated = dim if rotary_dim is None else to_integer(call, "rotary_dim", rotary_dim)
            if cosines.shape[1] * 2 != rotated:
                invalid(
                    call,
                    f"cos has shape {cosines.shape}, expected rows of {rotated / 2:g}, half of "
                    f"{'a row' if rotary_dim is None else 'rotary_dim'}",
                )
            if sines.shape != cosines.shape:
                invalid(call, f"sin has shape {sines.shape}, expected {cosines.shape}, that of cos")
            given = {
                "cos": cosines, "sin": sines, "table_rows": cosines.shape[0], "pairing": pairing,
                "positions": self._numbers(call, "positions", positions, (tokens,)),
                "rotary_dim": rotary_dim,
            }  # fmt: skip
            if count:
                _core._make_writable(rows, call)
        elif rotary_dim is not None:
            invalid(call, "rotary_dim needs cos, which is not given")
        numbers = self._numbers(call, "slots", slots, (tokens,))
        _core._make_writable(cache, call)
        if found is not None:
            _core._make_writable(found, call)
            given["page_scales"] = found
        super().write_pages(
            rows, cache, numbers, tokens, count, both // 2, dim, pages, page_size, rows.stored_as,
            cache.stored_as, **given,
        )  # fmt: skip
