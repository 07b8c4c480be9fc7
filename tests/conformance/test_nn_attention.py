"""scaled_dot_product_attention and its gradients against NumPy in float64, by differences."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import tilewright as tw
from tilewright import Backend, InvalidArgument
from tilewright.nn import attention

from .networks import Host, dtypes_of, gradient, held, host, near, on


def attended(
    q: Host, k: Host, v: Host, mask: Host | None = None, causal: bool = False,
    scale: float | None = None, window: tuple[int | None, int | None] = (None, None),
    cap: float = 0,
) -> Host:  # fmt: skip
    """Of [batch, heads, rows, dim]."""
    share = q.shape[1] // k.shape[1]
    k, v = np.repeat(k, share, 1), np.repeat(v, share, 1)
    scores = q @ k.swapaxes(-1, -2) * (scale or 1 / math.sqrt(q.shape[-1]))
    scores = cap * np.tanh(scores / cap) if cap else scores
    if mask is not None:
        scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
    off = np.arange(k.shape[2]) - np.arange(q.shape[2])[:, None]
    left, right = window
    hidden = (off > 0) & causal
    hidden |= False if left is None else off < -left
    hidden |= False if right is None else off > right
    scores = np.where(hidden, -np.inf, scores)
    top = scores.max(-1, keepdims=True)
    powers = np.exp(scores - np.where(np.isfinite(top), top, 0))
    total = powers.sum(-1, keepdims=True)
    return np.asarray(powers / np.where(total == 0, 1, total) @ v)


CASES: list[tuple[tuple[int, ...], dict[str, Any]]] = [  # batch, heads, kv heads, rows, keys, dims
    ((1, 1, 1, 3, 4, 2, 2), {}),
    ((2, 2, 2, 3, 5, 4, 3), {"is_causal": True}),
    ((1, 4, 2, 4, 4, 3, 3), {"enable_gqa": True, "scale": 0.7}),
    ((2, 2, 1, 3, 4, 2, 5), {"enable_gqa": True, "mask": "bool", "soft_cap": 1.5}),
    ((2, 1, 1, 3, 4, 2, 2), {"mask": "added", "window": (2, 1)}),
    ((1, 2, 2, 6, 6, 2, 2), {"is_causal": True, "window": (2, None), "soft_cap": 4.0}),
]


def drawn(sizes: tuple[int, ...], options: dict[str, Any], dtype: str) -> tuple[Any, ...]:
    batch, heads, kv_heads, rows, keys, dim, value_dim = sizes
    rng = np.random.default_rng(batch + 7 * rows)
    q, k, v, g = (
        held(rng.normal(size=(batch, h, n, d)), dtype)
        for h, n, d in (
            (heads, rows, dim), (kv_heads, keys, dim), (kv_heads, keys, value_dim),
            (heads, rows, value_dim),
        )
    )  # fmt: skip
    mask = None
    if options.get("mask") == "bool":
        mask = rng.random((batch, 1, rows, keys)) < 0.6
        mask[0, 0, 1] = False
    elif "mask" in options:
        mask = held(rng.normal(size=(1, heads, rows, keys)), dtype)
        mask[0, 0, 2] = -np.inf
    return q, k, v, g, mask


def of(options: dict[str, Any]) -> dict[str, Any]:
    return {
        "causal": options.get("is_causal", False),
        "scale": options.get("scale"),
        "window": options.get("window", (None, None)),
        "cap": options.get("soft_cap", 0),
    }


@pytest.mark.parametrize(("sizes", "options"), CASES, ids=str)
@pytest.mark.parametrize("block", [1 << 24, 100])
def test_it_and_its_gradients(
    be: Backend, monkeypatch: pytest.MonkeyPatch, sizes: tuple[int, ...], options: dict[str, Any],
    block: int,
) -> None:  # fmt: skip
    """Also where a block has a query or two."""
    monkeypatch.setattr(attention, "MOST_BLOCK_BYTES", block)
    given = {name: value for name, value in options.items() if name != "mask"}
    for dtype in dtypes_of(be):
        q, k, v, g, mask = drawn(sizes, options, dtype)
        a, b, c, by = (on(be, x, dtype) for x in (q, k, v, g))
        attn_mask = None if mask is None else on(be, mask, "bool" if mask.dtype == bool else dtype)
        got = tw.nn.scaled_dot_product_attention(a, b, c, attn_mask, **given)
        near(got, attended(q, k, v, mask, **of(options)), dtype, 32)
        found = tw.nn.scaled_dot_product_attention_backward(by, a, b, c, attn_mask, **given)
        if dtype in ("float16", "bfloat16") and block == 100:
            continue  # differences of many elements take their time
        inputs = [q, k, v]
        for i, one in enumerate(found):

            def loss(x: Host, i: int = i) -> float:
                changed = [*inputs[:i], x, *inputs[i + 1 :]]  # noqa: B023
                return float((attended(*changed, mask, **of(options)) * g).sum())  # noqa: B023

            size = 1e9 if dtype == "float64" else 1  # differences have 8 digits
            near(one, gradient(loss, inputs[i]), dtype, 64 * size, 6)


def test_rows_that_see_nothing_have_no_gradient(be: Backend) -> None:
    q, k, v = (on(be, np.random.default_rng(i).normal(size=(1, 1, 3, 4))) for i in range(3))
    mask = on(be, np.array([[True, True, False], [False] * 3, [False, True, True]]), "bool")
    assert not host(tw.nn.scaled_dot_product_attention(q, k, v, mask))[0, 0, 1].any()
    found = tw.nn.scaled_dot_product_attention_backward(v, q, k, v, mask)
    assert not host(found.query)[0, 0, 1].any()
    assert all(np.isfinite(host(one)).all() and host(one).any() for one in found)


@pytest.mark.parametrize("lead", [(), (3,), (2, 1, 3), (2, 2, 1, 3)])
def test_axes_in_front(be: Backend, lead: tuple[int, ...]) -> None:
    rng = np.random.default_rng(5)
    q, k, v = (rng.normal(size=(*lead, n, 4)).astype("float32") for n in (5, 6, 6))
    mask = rng.random((*lead[-1:], 5, 6)) < 0.8
    wide = [x.reshape(-1, 1, *x.shape[-2:]).astype(np.float64) for x in (q, k, v)]
    whole = np.broadcast_to(mask, (*lead, 5, 6)).reshape(-1, 1, 5, 6)
    exact = attended(*wide, whole).reshape(*lead, 5, 4)
    a, b, c = (on(be, x) for x in (q, k, v))
    near(tw.nn.scaled_dot_product_attention(a, b, c, on(be, mask, "bool")), exact, "float32", 32)
    found = tw.nn.scaled_dot_product_attention_backward(a, a, b, c, on(be, mask, "bool"))
    assert [one.shape for one in found] == [q.shape, k.shape, v.shape]


@pytest.mark.parametrize("kind", ["bool", "float32"])
def test_a_mask_that_is_turned_around(be: Backend, kind: str) -> None:
    rng = np.random.default_rng(6)
    q, k, v = (rng.normal(size=(1, 2, n, 4)).astype("float32") for n in (5, 6, 6))
    mask: Any = rng.random((5, 6)) < 0.8 if kind == "bool" else rng.normal(size=(5, 6))
    a, b, c, there = (on(be, x, dtype) for x, dtype in
                      ((q, "float32"), (k, "float32"), (v, "float32"), (mask, kind)))  # fmt: skip
    wide = [x.astype(np.float64) for x in (q, k, v)]
    for turned in ((slice(None, None, -1),), (..., slice(None, None, -1))):
        exact = attended(*wide, np.broadcast_to(mask[turned], (1, 2, 5, 6)))
        near(tw.nn.scaled_dot_product_attention(a, b, c, there[turned]), exact, "float32", 32)
        near(be.attention(a, b, c, mask=there[turned]), exact, "float32", 32)


@pytest.mark.parametrize("empty", ["batch", "rows", "keys"])
def test_without_elements(be: Backend, empty: str) -> None:
    sizes = {"batch": 2, "rows": 3, "keys": 4} | {empty: 0}
    q = be.zeros((sizes["batch"], 2, sizes["rows"], 5))
    k = v = be.zeros((sizes["batch"], 2, sizes["keys"], 5))
    got = tw.nn.scaled_dot_product_attention(q, k, v)
    assert got.shape == q.shape and not host(got).any()
    found = tw.nn.scaled_dot_product_attention_backward(q, q, k, v)
    assert [one.shape for one in found] == [q.shape, k.shape, v.shape]
    assert not any(host(one).any() for one in found)


def test_what_is_wrong_is_named(be: Backend) -> None:
    x = be.zeros((1, 4, 3, 2))
    sdpa = tw.nn.scaled_dot_product_attention
    wrong: list[tuple[Any, str]] = [
        (lambda: sdpa(x, x[..., :1], x), r"key has shape .*expected rows of 2"),
        (lambda: sdpa(x, x, x[:, :, :2]), "value has shape .*expected rows as key"),
        (lambda: sdpa(x, x[:, :2], x[:, :2]), "key has shape .*its heads"),
        (lambda: sdpa(x, x[:, :3], x[:, :3], enable_gqa=True), "a divisor of its heads"),
        (lambda: sdpa(x, x[0], x[0]), "key has shape .*expected 4 dimensions as query"),
        (lambda: sdpa(x, x, x, be.zeros((2, 3))), "attn_mask has shape"),
        (lambda: sdpa(x, x, x, be.zeros((3, 3), "int32")), "attn_mask is int32"),
        (lambda: sdpa(x, x, x, be.zeros((3, 3)), is_causal=True), "attn_mask goes without"),
        (lambda: sdpa(x, x, x, is_causal=1), "is_causal is 1"),
        (lambda: sdpa(x, x, x, enable_gqa="yes"), "enable_gqa is 'yes'"),
        (lambda: sdpa(x, x, x, soft_cap=-1), "soft_cap is -1"),
        (lambda: sdpa(x, x, x, window=(-1, 0)), r"window\[0\] is -1"),
        (lambda: sdpa(x, x, x, scale="a"), "scale is 'a'"),
        (
            lambda: tw.nn.scaled_dot_product_attention_backward(x[:, :1], x, x, x),
            "grad has shape",
        ),
    ]
    for call, words in wrong:
        with pytest.raises(InvalidArgument, match=words):
            call()
    with pytest.raises(tw.Unsupported, match=r"dropout_p is 0\.5"):
        sdpa(x, x, x, dropout_p=0.5)
