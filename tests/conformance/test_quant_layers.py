"""Convolutions and layers of 8 bits against exact integers of NumPy."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import tilewright as tw
from tilewright import InvalidArgument

from .workspace import Array


def extremes(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> Array:
    """Any numbers, and many of the largest ones."""
    low, high = (-128, 127) if dtype == "int8" else (0, 255)
    x = rng.integers(low, high + 1, shape)
    return np.where(rng.random(shape) < 0.7, rng.choice([low, high], shape), x).astype(dtype)


def convolved(x: Array, w: Array, stride: int, padding: int, dilation: int, groups: int) -> Array:
    """Sums over taps, in int64."""
    n, channels = x.shape[:2]
    whole = np.pad(x, [(0, 0), (0, 0), (padding, padding), (padding, padding)])
    out = [(size - dilation * (k - 1) - 1) // stride + 1
           for size, k in zip(whole.shape[2:], w.shape[2:], strict=True)]  # fmt: skip
    parts = whole.reshape(n, groups, channels // groups, *whole.shape[2:])
    filters = w.reshape(groups, -1, *w.shape[1:])
    total = np.zeros((n, groups, filters.shape[1], *out), np.int64)
    for r, s in itertools.product(*map(range, w.shape[2:])):
        rows, columns = (
            slice(t * dilation, t * dilation + (o - 1) * stride + 1, stride)
            for t, o in zip((r, s), out, strict=True)
        )
        total += np.einsum("ngcpq,gkc->ngkpq", parts[..., rows, columns], filters[..., r, s])
    return total.reshape(n, len(w), *out)


CASES: list[tuple[Any, ...]] = [
    ((2, 3, 7, 6), (4, 3, 3, 3), 1, 1, 1, 1),
    ((1, 8, 9, 9), (8, 1, 3, 3), 2, 1, 1, 8),
    ((1, 600, 4, 3), (2, 300, 2, 2), 1, 0, 1, 2),
    ((1, 2, 23, 22), (2, 2, 20, 19), 1, 1, 1, 1),
    ((1, 1, 37, 37), (1, 1, 34, 35), 1, 0, 1, 1),
    ((1, 2, 9, 9), (3, 2, 3, 2), 1, 2, 2, 1),
    ((0, 2, 5, 5), (3, 2, 3, 2), 1, 0, 1, 1),
]


@pytest.mark.parametrize("dtypes", [("int8", "int8"), ("uint8", "int8"), ("uint8", "uint8")])
@pytest.mark.parametrize("case", CASES, ids=lambda one: f"{one[0]}-{one[1]}")
def test_convolution(
    be: tw.Backend, rng: np.random.Generator, case: Any, dtypes: tuple[str, str]
) -> None:
    shape, filters, *options = case
    x, w = extremes(rng, shape, dtypes[0]), extremes(rng, filters, dtypes[1])
    zeros = tuple(128 if one == "uint8" else 3 for one in dtypes)
    bias = rng.integers(-1000, 1000, filters[0], dtype=np.int32)
    exact = convolved(x.astype(int) - zeros[0], w.astype(int) - zeros[1], *options)
    on_device = [tw.asarray(one, device=be) for one in (x, w)]
    got = tw.quant.qconv2d(*on_device, bias, *zeros, *options)
    assert got.dtype == np.int32
    np.testing.assert_array_equal(got.numpy(), exact + bias[:, None, None])
    plain = tw.quant.qconv2d(*on_device, None, *zeros, *options)
    np.testing.assert_array_equal(plain.numpy(), exact)


@pytest.mark.parametrize("k", [1, 17, 300, 5000])
def test_linear(be: tw.Backend, rng: np.random.Generator, k: int) -> None:
    w = extremes(rng, (7, k), "int8")
    bias = rng.integers(-9, 9, 7, dtype=np.int32)
    for shape in ((2, 3, k), (k,), (0, k)):
        x = extremes(rng, shape, "uint8")
        exact = (x.astype(np.int64) - 100) @ (w.astype(np.int64) - 1).T + bias
        given = [tw.asarray(one, device=be) for one in (x, w, bias)]
        got = tw.quant.qlinear(*given, 100, 1)
        assert got.dtype == np.int32
        np.testing.assert_array_equal(got.numpy(), exact)


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_requantized(be: tw.Backend, rng: np.random.Generator, dtype: str) -> None:
    """To the bit: one product and one rounding in float32."""
    sums = rng.integers(-(2**31), 2**31, (3, 5, 40), dtype=np.int32)
    sums[0] //= 100_000
    low, high = (-128, 127) if dtype == "int8" else (0, 255)
    for multiplier, axis in ((1e-3, None), (rng.uniform(1e-8, 1e-2, 5).astype("f4"), 1)):
        by = np.float32(multiplier) if axis is None else multiplier[:, None]
        steps = np.clip(np.rint(sums.astype(np.float32) * by), -1024, 1024)
        expected = np.clip(steps + 7, low, high).astype(dtype)
        given = tw.asarray(sums, device=be)
        got = tw.quant.requantize(given, multiplier, 7, axis=axis, dtype=dtype)
        assert got.dtype == dtype
        np.testing.assert_array_equal(got.numpy(), expected)


def test_wrong_layers(be: tw.Backend) -> None:
    quant = tw.quant

    def made(*shape: int, dtype: str = "int8") -> tw.Array:
        return tw.zeros(shape, dtype=dtype, device=be)

    x, w = made(1, 4, 5, 5), made(2, 4, 3, 3)
    calls: list[tuple[Any, str]] = [
        (lambda: quant.qconv2d(made(4, 5, 5), w), r"x has the shape \(4, 5, 5\), expected four"),
        (
            lambda: quant.qconv2d(x, made(2, 4, 3, 3, dtype="float32")),
            "w is float32, expected int8",
        ),
        (lambda: quant.qconv2d(x, made(2, 3, 3, 3)), "groups is 1, expected one by which x"),
        (lambda: quant.qconv2d(x, w, groups=3), "groups is 3, expected one by which x"),
        (lambda: quant.qconv2d(x, made(2, 4, 6, 6)), "weight spans 6 along axis 0"),
        (lambda: quant.qconv2d(x, made(2, 4, 0, 3)), "expected no size of 0"),
        (lambda: quant.qconv2d(x, w, np.zeros(2)), "bias is float64 .*, expected int32"),
        (lambda: quant.qconv2d(x, w, np.zeros(3, "i4")), r"bias is int32 of shape \(3,\)"),
        (lambda: quant.qconv2d(x, w, None, 128), "zero_point is 128, expected -128 to 127"),
        (lambda: quant.qlinear(made(3, 4), made(2, 5)), r"x has the shape \(3, 4\), expected 5"),
        (lambda: quant.qlinear(made(3, 4), made(4)), r"w has the shape \(4,\), expected two axes"),
        (lambda: quant.requantize(made(3), 1.0), "sums is int8, expected int32"),
        (lambda: quant.requantize(made(3, dtype="int32"), 0.0), "multiplier is 0.0, expected"),
        (lambda: quant.requantize(made(3, dtype="int32"), np.nan), "multiplier is nan, expected"),
        (
            lambda: quant.requantize(made(3, dtype="int32"), [1.0, -1.0, 1.0], axis=0),
            "multiplier is -1.0 at 1, expected",
        ),
    ]
    for call, said in calls:
        with pytest.raises(InvalidArgument, match=said):
            call()
