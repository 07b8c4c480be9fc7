"""The bounds themselves: honest float32 results pass, broken ones do not. Needs no device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from . import bounds, references

Array = Any
DTYPES = ["float32", "float16"]


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(11)


def rejected(got: Array, exact: Array, tolerance: Array) -> bool:
    try:
        bounds.assert_within(got, exact, tolerance)
    except AssertionError:
        return True
    return False


Spoil = Callable[[Array], Array]


def holds(got: Array, exact: Array, tolerance: Array, spoil: list[Spoil]) -> None:
    """got passes; with one element a thousandth off, or spoiled as given, it does not."""
    assert not rejected(got, exact, tolerance)
    # The median: neither the easiest element nor one that is nearly zero.
    order = np.argsort(np.abs(got), axis=None)
    at = np.unravel_index(order[got.size // 2], got.shape)
    off = got.copy()
    off[at] *= 1 + 1e-3
    assert rejected(off, exact, tolerance)
    off[at] = np.nan
    assert rejected(off, exact, tolerance)
    for change in spoil:
        assert rejected(change(got).astype(got.dtype), exact, tolerance)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("k", [1, 3, 17, 257, 4097])
def test_inner_product(rng: np.random.Generator, k: int, dtype: str) -> None:
    a, b = rng.standard_normal((9, k)).astype(dtype), rng.standard_normal((k, 7)).astype(dtype)
    wide_a, wide_b = a.astype(np.float64), b.astype(np.float64)
    got = (a.astype(np.float32) @ b.astype(np.float32)).astype(dtype)
    tolerance = bounds.inner_product(abs(wide_a) @ abs(wide_b), k)
    one_term_less = wide_a[:, 1:] @ wide_b[1:]
    holds(got, wide_a @ wide_b, tolerance, [lambda _: one_term_less, lambda x: -x, np.zeros_like])


def test_inner_product_one_by_one(rng: np.random.Generator) -> None:
    """A running sum is the least exact order there is, and still within the bound."""
    for k in (257, 4097, 65537):
        a, b = rng.standard_normal((2, k, 50)).astype(np.float32)
        got = np.zeros(50, np.float32)
        for i in range(k):
            got += a[i] * b[i]
        wide = a.astype(np.float64) * b
        bounds.assert_within(got, wide.sum(0), bounds.inner_product(abs(wide).sum(0), k))


def test_inner_product_in_float16_is_rejected(rng: np.random.Generator) -> None:
    a, b = rng.standard_normal((2, 257, 50)).astype(np.float16)
    got = np.zeros(50, np.float16)
    for i in range(257):
        got += a[i] * b[i]
    wide = a.astype(np.float64) * b
    assert rejected(got, wide.sum(0), bounds.inner_product(abs(wide).sum(0), 257))


@pytest.mark.parametrize("n", [3, 257, 65537, 1_000_003])
def test_summation(rng: np.random.Generator, n: int) -> None:
    x = rng.random((3, n), np.float32)
    exact = x.astype(np.float64).sum(1)
    tolerance = bounds.summation(exact, n)
    spoil = [lambda got: got * (1 + 1e-5)]
    if n < 100_000:
        spoil.append(lambda got: got - x[:, 1])
    holds(x.sum(1, dtype=np.float32), exact, tolerance, spoil)


def test_a_running_sum_is_rejected(rng: np.random.Generator) -> None:
    x = 0.1 + 0.01 * rng.random(10_000_000, np.float32)
    exact = x.astype(np.float64).sum()
    running = np.cumsum(x, dtype=np.float32)[-1]
    assert rejected(np.asarray(running), exact, bounds.summation(exact, x.size))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("op", [*references.UNARY])
def test_unary(rng: np.random.Generator, op: str, dtype: str) -> None:
    x = rng.uniform(0.1, 4, 999).astype(dtype)
    exact = references.UNARY[op](x)
    tolerance = bounds.elementwise(op, exact, x.astype(np.float64))
    holds(exact.astype(dtype), exact, tolerance, [lambda got: got * (1 + 2e-3)])
    if dtype == "float32":
        assert rejected((exact * (1 + 3e-6)).astype(dtype), exact, tolerance)


@pytest.mark.parametrize("op", [*references.BINARY])
def test_binary(rng: np.random.Generator, op: str) -> None:
    a, b = rng.uniform(0.1, 4, (2, 999)).astype(np.float32)
    exact = references.BINARY[op](a, b)
    tolerance = bounds.elementwise(op, exact, exact)
    holds(exact.astype(np.float32), exact, tolerance, [lambda got: got * (1 + 1e-6)])


@pytest.mark.parametrize("n", [1, 17, 257, 65537])
def test_softmax(rng: np.random.Generator, n: int) -> None:
    x = rng.standard_normal((5, n)).astype(np.float32)
    exact = references.softmax(x, 1)
    below = x.max(1, keepdims=True) - x.astype(np.float64)
    e = np.exp(x - x.max(1, keepdims=True))
    holds(
        e / e.sum(1, keepdims=True), exact, bounds.softmax(exact, below, n),
        [lambda got: got * (1 + 2e-5)],
    )  # fmt: skip


@pytest.mark.parametrize("n", [2, 17, 257, 65537])
def test_log_softmax(rng: np.random.Generator, n: int) -> None:
    x = rng.standard_normal((5, n)).astype(np.float32)
    exact = references.log_softmax(x, 1)
    off = x - x.max(1, keepdims=True)
    below = x.max(1, keepdims=True) - x.astype(np.float64)
    holds(
        off - np.log(np.exp(off).sum(1, keepdims=True)), exact,
        bounds.log_softmax(exact, below, n), [lambda got: got + 2e-5],
    )  # fmt: skip


@pytest.mark.parametrize("seq_kv", [1, 17, 257, 2049])
def test_attention(rng: np.random.Generator, seq_kv: int) -> None:
    q, k, v = (rng.standard_normal((1, 1, n, 32)).astype(np.float32) for n in (9, seq_kv, seq_kv))
    scale = float(np.float32(32**-0.5))
    scores = references.attention_scores(q, k, scale, False, 0)
    sizes = references.attention_scores(abs(q), abs(k), scale, False, 0)
    weights = references.softmax(scores, -1)
    tolerance = bounds.attention(weights, v.astype(np.float64), scores, sizes, 32)
    scores32 = np.float32(scale) * q @ np.swapaxes(k, -1, -2)
    e = np.exp(scores32 - scores32.max(-1, keepdims=True))
    got = (e / e.sum(-1, keepdims=True)) @ v
    shorter = weights[..., 1:] @ v[:, :, 1:]
    holds(got, weights @ v, tolerance, [lambda _: shorter])


@pytest.mark.parametrize("cols", [3, 257, 65537])
def test_norms(rng: np.random.Generator, cols: int) -> None:
    x = (3 + rng.standard_normal((7, cols))).astype(np.float32)
    weight, bias = rng.standard_normal((2, cols)).astype(np.float32)
    wide = x.astype(np.float64)
    exact = references.rmsnorm(x, weight, 1e-5)
    root = np.sqrt((x * x).mean(1, keepdims=True) + np.float32(1e-5))
    holds(x / root * weight, exact, bounds.rmsnorm(exact, cols), [lambda got: got * (1 + 1e-5)])

    exact = references.layer_norm(x, weight, bias, 1e-5)
    tolerance = bounds.layer_norm(wide, weight.astype(np.float64), bias.astype(np.float64), 1e-5)
    centred = x - x.mean(1, keepdims=True)
    got = centred / np.sqrt((centred**2).mean(1, keepdims=True) + np.float32(1e-5)) * weight + bias
    without_bias = got - bias
    holds(got, exact, tolerance, [lambda _: without_bias, lambda got: got * (1 + 1e-4)])


def test_a_variance_in_one_pass_is_rejected(rng: np.random.Generator) -> None:
    x = (1000 + rng.standard_normal((7, 1025))).astype(np.float32)
    ones, zeros = np.ones(1025, np.float32), np.zeros(1025, np.float32)
    mean = x.mean(1, keepdims=True)
    variance = (x * x).mean(1, keepdims=True) - mean * mean
    exact = references.layer_norm(x, ones, zeros, 1e-5)
    tolerance = bounds.layer_norm(x.astype(np.float64), ones, zeros, 1e-5)
    assert rejected((x - mean) / np.sqrt(np.abs(variance) + 1e-5), exact, tolerance)


@pytest.mark.parametrize("dtype", DTYPES)
def test_rotation(rng: np.random.Generator, dtype: str) -> None:
    x = rng.standard_normal((3, 5, 64)).astype(dtype)
    angles = rng.uniform(0, 6, (5, 32))
    cos, sin = np.cos(angles).astype(dtype), np.sin(angles).astype(dtype)
    exact = references.rope(x, cos, sin)
    wide = (a.astype(np.float64) for a in (x, cos, sin))
    wrong_way = references.rope(x, cos, -sin)
    holds(exact.astype(dtype), exact, bounds.rotation(*wide), [lambda _: wrong_way])


def test_what_is_not_a_number() -> None:
    nan, inf = np.nan, np.inf
    one = np.array([1, nan, inf, -inf], np.float32)
    bounds.assert_within(one, np.array([1, nan, inf, -inf]))
    for at, value in [(0, nan), (1, 1.0), (2, -inf), (2, 3.0)]:
        other = one.tolist()
        other[at] = value
        assert rejected(one, np.array(other), 0.1)
        assert rejected(np.array(other, np.float32), one.astype(np.float64), 0.1)


def test_storing_rounds_once_more() -> None:
    third = np.array([1 / 3])
    bounds.assert_within(np.float16(third), third)
    assert rejected(np.nextafter(np.float16(third), np.float16(1)), third, 0)
    bounds.assert_within(np.array([np.inf], np.float16), np.array([70000.0]))
    assert rejected(np.array([65504], np.float16), np.array([70000.0]), 0)
    bounds.assert_within(np.array([65504], np.float16), np.array([65519.0]))


def test_another_shape_is_rejected() -> None:
    assert rejected(np.ones((3, 1), np.float32), np.ones((1, 3)), 1)
