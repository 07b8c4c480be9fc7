"""Attention by torch's names and rules, and its gradients by blocks of queries."""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tilewright import _core
from tilewright.array import Array
from tilewright.attention import default_scale, walking_on
from tilewright.call_forms import kept_by_form
from tilewright.nn.running import (
    FLOAT32,
    floats,
    mapped,
    reduced,
    spread,
    to_number,
    to_truth,
    wide_of,
)
from tilewright.operands import FLOAT16, invalid, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tilewright.attention import Window
    from tilewright.program import Value

# Of the scores of a block of queries.
MOST_BLOCK_BYTES = 1 << 24


class AttentionGradients(NamedTuple):
    """The gradients by query, key and value."""

    query: Array
    key: Array
    value: Array


def _where(condition: Value, yes: Value, no: Value) -> Value:
    return condition.program.apply("where", condition, yes, no)


class Form(NamedTuple):
    """What scores go through: the operands of formulas follow from it."""

    capped: bool
    mask: str  # "", "bool" or "added"
    placed: bool

    def scores(self, values: list[Value]) -> tuple[Value, Value]:
        """The scores from products, and what a score changes by with its product. Takes its values
        from the front: products, the mask, the first and the last key of each query, keys; scale,
        cap and -infinity."""
        product = values.pop(0)
        mask = values.pop(0) if self.mask else None
        places = [values.pop(0) for _ in range(3)] if self.placed else []
        scale, cap, least = (values.pop(0) for _ in range(3))
        score, slope = product * scale, scale
        if self.capped:
            bent = (score / cap).tanh()
            score, slope = bent * cap, scale * (1 - bent * bent)
        if mask is not None:
            score = _where(mask, score, least) if self.mask == "bool" else score + mask
        if places:
            first, last, key = places
            score = _where((key < first) | (key > last), least, score)
        return score, slope


@cache
def _score(form: Form) -> Callable[..., Value]:
    return lambda *values: form.scores(list(values))[0]


@cache
def _power(form: Form) -> Callable[..., Value]:
    def formula(*values: Value) -> Value:
        *given, top, zero = values
        score, _ = form.scores(list(given))
        return (score - _where(top == given[-1], zero, top)).exp()

    return formula


@cache
def _weight(form: Form) -> Callable[..., Value]:
    def formula(*values: Value) -> Value:
        *given, top, total, zero = values
        score, _ = form.scores(list(given))
        power = (score - _where(top == given[-1], zero, top)).exp()
        return power / _where(total == zero, total + 1, total)

    return formula


def _product(a: Value, b: Value) -> Value:
    return a * b


@cache
def _by_product(form: Form) -> Callable[..., Value]:
    def formula(*values: Value) -> Value:
        *given, weight, by_weight, joint = values
        return weight * (by_weight - joint) * form.scores(list(given))[1]

    return formula


class Attended:
    """A call: its operands as [batch, kv heads, heads that share one, rows, ..] and [batch, kv
    heads, keys, ..], and what its scores go through."""

    def __init__(
        self, call: str, query: Any, key: Any, value: Any, attn_mask: Any, dropout_p: float,
        is_causal: bool, scale: float | None, enable_gqa: bool, window: Window | None,
        soft_cap: float,
    ) -> None:  # fmt: skip
        self.call = call
        q, k, v = floats(call, query=query, key=key, value=value)
        self.query, self.key, self.value = q, k, v
        if to_number(call, "dropout_p", dropout_p) != 0:
            raise _core.Unsupported(
                f"{call}: dropout_p is {shown(dropout_p)}, and weights are never stored to be "
                "dropped; pass 0, and drop elements of the result by tw.nn.dropout"
            )
        self.causal = to_truth(call, "is_causal", is_causal)
        grouped = to_truth(call, "enable_gqa", enable_gqa)
        for name, one in (("query", q), ("key", k), ("value", v)):
            if one.ndim < 2 or one.ndim != q.ndim:
                expected = "2 dimensions or more" if one is q else f"{q.ndim} dimensions as query"
                invalid(call, f"{name} has shape {one.shape}, expected {expected}")
        if k.shape[-1] != q.shape[-1]:
            invalid(call, f"key has shape {k.shape}, expected rows of {q.shape[-1]} as query has")
        if v.shape[:-1] != k.shape[:-1]:
            invalid(call, f"value has shape {v.shape}, expected rows as key has, {k.shape}")
        heads = q.shape[-3] if q.ndim > 2 else 1
        kv_heads = k.shape[-3] if q.ndim > 2 else 1
        shares = grouped and kv_heads > 0 and heads % kv_heads == 0
        if k.shape[:-3] != q.shape[:-3] or (heads != kv_heads and not shares):
            words = "with enable_gqa a divisor of its heads" if grouped else "its heads"
            invalid(
                call,
                f"key has shape {k.shape}, expected the batch of query, {q.shape}, and {words}",
            )
        self.heads, self.kv_heads, self.share = heads, kv_heads, heads // max(1, kv_heads)
        self.batch = math.prod(q.shape[:-3])
        self.rows, self.keys = q.shape[-2], k.shape[-2]
        self.dim, self.value_dim = q.shape[-1], v.shape[-1]
        self.scale = default_scale(self.dim) if scale is None else to_number(call, "scale", scale)
        self.cap = to_number(call, "soft_cap", soft_cap)
        if not 0 <= self.cap < math.inf:
            invalid(call, f"soft_cap is {shown(soft_cap)}, expected a finite number of 0 or more")
        self.window = (None, None) if window is None else q.backend._window(call, window)
        for i, size in enumerate(self.window):
            if size is not None and size < 0:
                invalid(call, f"window[{i}] is {size}, expected 0 or more")
        self.mask: Array | None = None
        if attn_mask is not None:
            self.mask = self._mask(attn_mask)

    def _mask(self, given: Any) -> Array:
        """As a view [batch, heads, rows, keys]."""
        from tilewright.namespace.mixed import an_array

        mask = an_array(self.call, given, "attn_mask")
        self.query.backend._own(self.call, "attn_mask", mask)
        if mask.dtype not in (np.dtype(np.bool_), self.query.dtype):
            invalid(
                self.call,
                f"attn_mask is {mask.dtype}, expected bool or {self.query.dtype} as query is",
            )
        if self.causal:
            invalid(self.call, "attn_mask goes without is_causal")
        whole = (*self.query.shape[:-1], self.keys)
        shape = (self.batch, self.heads, self.rows, self.keys)
        mask = walking_on(mask)
        lacking = (1,) * (4 - mask.ndim) + mask.shape
        if len(lacking) == 4 and len(whole) <= 4:
            return spread(self.call, "attn_mask", mask.reshape(lacking), shape)
        return spread(self.call, "attn_mask", mask, whole).reshape(shape)

    @property
    def form(self) -> Form:
        kind = "" if self.mask is None else "bool" if self.mask.dtype.kind == "b" else "added"
        return Form(self.cap != 0, kind, self.causal or self.window != (None, None))

    @property
    def is_empty(self) -> bool:
        sizes = (self.batch, self.heads, self.kv_heads, self.rows, self.keys, self.dim)
        return 0 in (*sizes, self.value_dim)

    def queries(self, x: Array) -> Array:
        """The query, or what has its rows, in the dtype that is computed in."""
        wide = x if x.dtype == wide_of(x.dtype) else x.astype(wide_of(x.dtype))
        return wide.reshape(self.batch, self.kv_heads, self.share, self.rows, x.shape[-1])

    def of_keys(self, x: Array) -> Array:
        wide = x if x.dtype == wide_of(x.dtype) else x.astype(wide_of(x.dtype))
        return wide.reshape(self.batch, self.kv_heads, self.keys, x.shape[-1])

    def blocks(self) -> Iterator[tuple[int, int]]:
        each = self.batch * self.heads * self.keys * wide_of(self.query.dtype).itemsize
        step = max(1, MOST_BLOCK_BYTES // each)
        for first in range(0, self.rows, step):
            yield first, min(self.rows, first + step)

    def block(self, x: Array, first: int, past: int) -> Array:
        """Rows of queries() as a matrix for each kv head."""
        return x[:, :, :, first:past].reshape(self.batch, self.kv_heads, -1, x.shape[-1])

    def operands(self, products: Array, first: int, past: int) -> list[Any]:
        """What Form.scores() takes for a block of them."""
        shape = products.shape
        given: list[Any] = [products]
        if self.mask is not None:
            of_block = self.mask[:, :, first:past]
            given.append(
                of_block.reshape(self.batch, self.kv_heads, self.share, past - first, self.keys)
            )
        if self.form.placed:
            be = self.query.backend
            place = np.arange(first, past)
            left, right = self.window
            low = np.zeros_like(place) if left is None else place - min(left, self.rows)
            high = np.full_like(place, self.keys) if right is None else (
                place + min(right, self.keys)
            )  # fmt: skip
            if self.causal:
                high = np.minimum(high, place)
            for numbers, rows in ((low, True), (high, True), (np.arange(self.keys), False)):
                one = be.array(numbers.astype(np.int32))
                one = one.reshape(-1, 1) if rows else one
                given.append(spread(self.call, "window", one, shape))
        return [*given, self.scale, self.cap, -math.inf]

    def weights(self, products: Array, given: list[Any]) -> Array:
        """The softmax of a block's scores; 0 in rows that see nothing."""
        form, shape = self.form, products.shape
        top = reduced("max", _score(form), products, given, (4,)).reshape(*shape[:-1], 1)
        tops = spread(self.call, "query", top, shape)
        total = reduced("sum", _power(form), products, [*given, tops, 0.0], (4,))
        totals = spread(self.call, "query", total.reshape(*shape[:-1], 1), shape)
        return mapped(self.call, _weight(form), products, [*given, tops, totals, 0.0])

    def products(self, rows: Array, keys: Array, first: int, past: int) -> Array:
        found = rows @ keys.swapaxes(-1, -2)
        return found.reshape(self.batch, self.kv_heads, self.share, past - first, self.keys)


def _plain(q: Any, k: Any, v: Any, causal: Any) -> Array | None:
    """The common form: of whole Arrays of one number of heads, which the trait takes as they are.
    None for any other."""
    if type(q) is not Array or type(causal) is not bool or not q._same_floats(k, v):
        return None
    shape = q.shape
    fits = (
        len(shape) == 4
        and len(k.shape) == 4
        and k.shape == v.shape
        and (shape[:2], shape[3]) == (k.shape[:2], k.shape[3])
        and 0 not in shape
        and k.shape[2] > 0
        and q.dtype in (FLOAT32, FLOAT16)
        and q.is_contiguous
        and k.is_contiguous
        and v.is_contiguous
    )
    if not fits:
        return None
    batch, heads, rows, dim = shape
    be = q.backend
    result: Array = be._new(shape, q.dtype)
    _core.Backend.attention(
        be, q, k, v, result, batch, heads, rows, k.shape[2], dim, default_scale(dim), causal, 0,
        heads, q.stored_as,
    )  # fmt: skip
    return result


@kept_by_form
def scaled_dot_product_attention(
    query: Array, key: Array, value: Array, attn_mask: Array | None = None,
    dropout_p: float = 0.0, is_causal: bool = False, scale: float | None = None,
    enable_gqa: bool = False, *, window: Window | None = None, soft_cap: float = 0.0,
) -> Array:  # fmt: skip
    """softmax(scale * query key^T) value, of [.., heads, rows, dim]: float32 and float16 by the
    trait's attention, other dtypes by blocks of queries. attn_mask is of bool, true where a key may
    be seen, or added to the scores. With enable_gqa key and value may have fewer heads. Rows that
    see no key are 0. window and soft_cap are those of Backend.attention."""
    call = "scaled_dot_product_attention"
    has_options = any(one is not None for one in (attn_mask, scale, window))
    are_default = type(dropout_p) is type(soft_cap) is float and dropout_p == soft_cap == 0
    if enable_gqa is False and are_default and not has_options:
        found = _plain(query, key, value, is_causal)
        if found is not None:
            return found
    a = Attended(
        call, query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa, window,
        soft_cap,
    )  # fmt: skip
    be, shape = a.query.backend, (*a.query.shape[:-1], a.value_dim)
    if a.is_empty:
        return be.zeros(shape, a.query.dtype)
    if a.query.dtype in (FLOAT32, FLOAT16) and a.scale > 0:
        found = be.attention(
            a.query.reshape(a.batch, a.heads, a.rows, a.dim),
            a.key.reshape(a.batch, a.kv_heads, a.keys, a.dim),
            a.value.reshape(a.batch, a.kv_heads, a.keys, a.value_dim),
            causal=a.causal, scale=a.scale, mask=a.mask, soft_cap=a.cap, window=window,
        )  # fmt: skip
        return found.reshape(shape)
    queries, keys, values = a.queries(a.query), a.of_keys(a.key), a.of_keys(a.value)
    result = be.empty((*queries.shape[:-1], a.value_dim), queries.dtype)
    for first, past in a.blocks():
        products = a.products(a.block(queries, first, past), keys, first, past)
        weights = a.weights(products, a.operands(products, first, past))
        rows = weights.reshape(a.batch, a.kv_heads, -1, a.keys) @ values
        result[:, :, :, first:past] = rows.reshape(
            a.batch, a.kv_heads, a.share, past - first, a.value_dim
        )
    return result.reshape(shape).astype(a.query.dtype)


def scaled_dot_product_attention_backward(
    grad: Array, query: Array, key: Array, value: Array, attn_mask: Array | None = None,
    dropout_p: float = 0.0, is_causal: bool = False, scale: float | None = None,
    enable_gqa: bool = False, *, window: Window | None = None, soft_cap: float = 0.0,
) -> AttentionGradients:  # fmt: skip
    """The gradients by query, key and value, from products and softmaxes of blocks of queries, of
    which at most 16 MB of scores exist at a time."""
    call = "scaled_dot_product_attention_backward"
    a = Attended(
        call, query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa, window,
        soft_cap,
    )  # fmt: skip
    (g, _) = floats(call, grad=grad, query=a.query)
    if g.shape != (*a.query.shape[:-1], a.value_dim):
        invalid(
            call,
            f"grad has shape {g.shape}, expected {(*a.query.shape[:-1], a.value_dim)}, that of the "
            "result",
        )
    be, dtype = a.query.backend, a.query.dtype
    if a.is_empty:
        return AttentionGradients(*(be.zeros(x.shape, dtype) for x in (a.query, a.key, a.value)))
    queries, grads = a.queries(a.query), a.queries(g)
    keys, values = a.of_keys(a.key), a.of_keys(a.value)
    by_query = be.empty(queries.shape, queries.dtype)
    by_key, by_value = be.zeros(keys.shape, keys.dtype), be.zeros(values.shape, values.dtype)
    for first, past in a.blocks():
        rows, by_rows = a.block(queries, first, past), a.block(grads, first, past)
        products = a.products(rows, keys, first, past)
        given = a.operands(products, first, past)
        weights = a.weights(products, given)
        by_weights = a.products(by_rows, values, first, past)
        joint = reduced("sum", _product, products, [weights, by_weights], (4,))
        joint = spread(call, "grad", joint.reshape(*products.shape[:-1], 1), products.shape)
        by_products = mapped(
            call, _by_product(a.form), products, [*given, weights, by_weights, joint]
        ).reshape(a.batch, a.kv_heads, -1, a.keys)
        of_block = (by_products @ keys).reshape(a.batch, a.kv_heads, a.share, past - first, a.dim)
        by_query[:, :, :, first:past] = of_block
        by_key += by_products.swapaxes(-1, -2) @ rows
        by_value += weights.reshape(a.batch, a.kv_heads, -1, a.keys).swapaxes(-1, -2) @ by_rows
    return AttentionGradients(
        by_query.reshape(a.query.shape).astype(dtype),
        by_key.reshape(a.key.shape).astype(dtype),
        by_value.reshape(a.value.shape).astype(dtype),
    )
