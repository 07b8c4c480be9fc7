"""histogram, bincount and digitize against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tilewright as tw
from tilewright import Backend, InvalidArgument

from .arrays import DTYPES, FLOATS, INTEGERS, VIEWS, on, same, values


def counted(got: tw.Array, expected: Any) -> None:
    """The same numbers, as integers of the device."""
    assert got.dtype.kind == "i"
    np.testing.assert_array_equal(got.numpy(), expected)


def near(got: tw.Array, expected: Any, bound: float) -> None:
    assert got.shape == np.shape(expected)
    np.testing.assert_allclose(got.numpy(), expected, rtol=bound, atol=bound)


@pytest.mark.sampled(12)
@pytest.mark.parametrize("dtype", DTYPES)
def test_equal_bins(be: Backend, rng: np.random.Generator, dtype: str) -> None:
    host = values(rng, (7, 300), dtype)
    x = on(be, host)
    plain = host.astype("uint8") if dtype == "bool" else host
    for bins, within in [(10, None), (1, None), (7, (-2.3, 5.1)), (300, (0, 4)), (3, (2, 2))]:
        got = tw.histogram(x, bins, within)
        edges = np.histogram_bin_edges(plain, bins, within)
        # By edges: NumPy computes places of float16 that its edges do not bound.
        counted(got.hist, np.histogram(plain, edges)[0])
        shown = dtype if dtype in FLOATS else "float32"
        same(got.bin_edges, edges.astype(shown))
        same(tw.histogram_bin_edges(x, bins, within), edges.astype(shown))


@pytest.mark.parametrize("dtype", [*INTEGERS, *FLOATS])
def test_edges(be: Backend, rng: np.random.Generator, dtype: str) -> None:
    host = values(rng, (500,), dtype)
    host[:9] = [0, 1, 2, 3, 4, 5, 6, 7, 8]
    x = on(be, host)
    for edges in (
        np.float32([-3.5, 0, 0.1, 0.7, 4, 4, 8]),
        np.array([-200, -1, 0, 3, 3, 7, 70_000], "int32"),
        np.float32([-np.inf, 0, np.inf]),
        np.float32([2, 2]),
        np.float32([3, 3.5]),
    ):
        expected = np.histogram(host, edges)[0]
        got = tw.histogram(x, edges)
        counted(got.hist, expected)
        same(got.bin_edges, edges)
        counted(tw.histogram(x, on(be, edges))[0], expected)
    counted(tw.histogram(x, [0, 1, 4])[0], np.histogram(host, [0, 1, 4])[0])
    assert tw.histogram(x, [1.0])[0].shape == (0,)


def test_extremes(be: Backend) -> None:
    for dtype in INTEGERS:
        if np.dtype(dtype) not in {np.dtype(d.value) for d in be.capabilities().storage_dtypes
                                   if d.value != "bfloat16"}:  # fmt: skip
            continue
        limits = np.iinfo(dtype)
        host = np.array([limits.min, limits.min + 1, 0, limits.max - 1, limits.max], dtype)
        for edges in ([limits.min, limits.max], [limits.min, 0, limits.max - 1]):
            own = np.array(edges, dtype)
            counted(tw.histogram(on(be, host), own)[0], np.histogram(host, own)[0])
    for dtype in ("float16", "float32"):
        most = np.finfo(dtype).max
        tiny = np.finfo(dtype).smallest_subnormal
        host = np.array([-np.inf, -most, -tiny, -0.0, 0.0, tiny, most, np.inf, np.nan], dtype)
        x = on(be, host)
        for edges in ([-np.inf, 0, np.inf], [-most, 0, most], [0, tiny], [-tiny, 0], [np.inf] * 2):
            own = np.array(edges, dtype)
            counted(tw.histogram(x, own)[0], np.histogram(host, own)[0])
            for right in (False, True):
                counted(tw.digitize(x, own, right), np.digitize(host, own, right))


def test_nan(be: Backend) -> None:
    host = np.float32([1, np.nan, 2, 5, -1, np.nan])
    x = on(be, host)
    counted(tw.histogram(x, 4, (0, 2))[0], np.histogram(host, 4, (0, 2))[0])
    counted(tw.histogram(x, [0.0, 1.5, 6.0])[0], np.histogram(host, [0, 1.5, 6])[0])
    near(tw.histogram(x, 4, (0, 2), weights=x)[0], [0, 0, 1, 2], 0)
    for call in (lambda: tw.histogram(x), lambda: tw.histogram(x, "auto")):
        with pytest.raises(InvalidArgument, match=r"histogram: .*finite.* give a range"):
            call()


@pytest.mark.parametrize("view", VIEWS)
def test_views(be: Backend, rng: np.random.Generator, view: str) -> None:
    host = values(rng, (12, 40), "float32")
    cut, x = VIEWS[view](host), VIEWS[view](on(be, host))
    weights = values(rng, cut.shape, "float32")
    counted(tw.histogram(x, 6, (-9, 9))[0], np.histogram(cut, 6, (-9, 9))[0])
    exact = np.histogram(cut, 6, (-9, 9), weights=weights.astype("float64"))[0]
    near(tw.histogram(x, 6, (-9, 9), weights=on(be, weights))[0], exact, 1e-4)
    same(tw.digitize(x, [-1.0, 2.0]).astype("int32"), np.digitize(cut, [-1, 2]).astype("int32"))


@pytest.mark.sampled(8)
@pytest.mark.parametrize("dtype", [*DTYPES, "complex64"])
def test_weights(be: Backend, rng: np.random.Generator, dtype: str) -> None:
    host = values(rng, (3000,), "float32")
    real = "float32" if dtype == "complex64" else dtype
    weights = values(rng, (3000,), real).astype(dtype)
    if dtype == "complex64":
        weights += 1j * values(rng, (3000,), "float32")
    bound = {"float16": 2e-3, "float32": 1e-5, "complex64": 1e-5}.get(dtype, 1e-12)
    wide = "complex128" if dtype == "complex64" else "float64"
    # Few bins are summed at once, many by steps.
    for bins in (5, 77):
        exact = np.histogram(host, bins, (-9, 9), weights=weights.astype(wide))[0]
        got = tw.histogram(on(be, host), bins, (-9, 9), weights=on(be, weights))[0]
        assert got.dtype == tw.sum(on(be, weights)).dtype
        size = np.histogram(host, bins, (-9, 9), weights=abs(weights.astype(wide)))[0].max()
        np.testing.assert_allclose(got.numpy(), exact, rtol=0, atol=bound * size)


def test_sums_stay_in_their_bins(be: Backend) -> None:
    keys = np.arange(4000) % 50
    weights = np.ones(4000, "float32")
    weights[[3, 57]] = np.inf, np.nan
    weights[11] = 3e38
    exact = np.bincount(keys, weights)
    for groups in (50, 20):
        got = tw.bincount(on(be, keys[keys < groups].astype("int32")),
                          on(be, weights[keys < groups]))  # fmt: skip
        np.testing.assert_allclose(got.numpy(), exact[:groups], rtol=1e-6)


def test_density(be: Backend, rng: np.random.Generator) -> None:
    host, weights = values(rng, (2, 500), "float32"), values(rng, (2, 500), "float32", 0)
    edges = np.float32([-8, -2, 0, 7])
    x, w = on(be, host), on(be, weights)
    near(tw.histogram(x, edges, density=True)[0], np.histogram(host, edges, density=True)[0], 1e-6)
    exact = np.histogram(host, 9, density=True, weights=weights)[0]
    near(tw.histogram(x, 9, density=True, weights=w)[0], exact, 1e-5)
    integers = on(be, host.astype("int32"))
    exact = np.histogram(host.astype("int32"), 4, density=True)[0]
    near(tw.histogram(integers, 4, density=True)[0], exact, 1e-6)


RULES = ["auto", "doane", "fd", "rice", "scott", "sqrt", "sturges"]


@pytest.mark.parametrize("rule", RULES)
def test_rules(be: Backend, rng: np.random.Generator, rule: str) -> None:
    for host in (
        rng.standard_normal(700, np.float32),
        rng.integers(0, 9, 100, "int32"),
        np.full(9, 3, "float32"),
        np.zeros(0, "float32"),
    ):
        got, edges = tw.histogram(on(be, host), rule)
        expected = np.histogram_bin_edges(host, rule)
        assert edges.shape == expected.shape
        counted(got, np.histogram(host, expected)[0])
    host = rng.standard_normal(700, np.float32)
    got = tw.histogram_bin_edges(on(be, host), rule, (-1, 2))
    assert got.shape == np.histogram_bin_edges(host, rule, (-1, 2)).shape


@pytest.mark.parametrize("dtype", ["bool", *INTEGERS])
def test_bincount(be: Backend, rng: np.random.Generator, dtype: str) -> None:
    for count in (0, 1, 3000):
        host = abs(values(rng, (count,), dtype, 0, 100))
        for least in (0, 5, 300):
            counted(tw.bincount(on(be, host), minlength=least),
                    np.bincount(host.astype("int64"), minlength=least))  # fmt: skip
    weights = values(rng, (3000,), "float32")
    exact = np.bincount(host.astype("int64"), weights)
    near(tw.bincount(on(be, host), on(be, weights)), exact, 1e-3)


@pytest.mark.parametrize("largest", [255, 256, 65_535, 65_536, 70_001])
def test_bincount_of_many(be: Backend, rng: np.random.Generator, largest: int) -> None:
    host = rng.integers(0, largest + 1, 5000, "int32")
    host[7] = largest
    counted(tw.bincount(on(be, host)), np.bincount(host))
    weights = values(rng, (5000,), "float32")
    near(tw.bincount(on(be, host), on(be, weights)), np.bincount(host, weights), 1e-4)


@pytest.mark.parametrize("dtype", DTYPES)
def test_digitize(be: Backend, rng: np.random.Generator, dtype: str) -> None:
    host = values(rng, (5, 60), dtype)
    if dtype != "bool":
        host[0, :4] = [0, 1, 2, 3]
    x = on(be, host)
    for bins in ([0, 1, 3], [-1.5, 0.1, 2, 2, 900], [7.5, 2, 2, -1], np.float32([0.1, 0.7]), []):
        own = np.asarray(bins, np.float32 if dtype in ("float16", "float32") else None)
        for right in (False, True):
            expected = np.digitize(host, np.float32(own).astype("float64"), right)
            counted(tw.digitize(x, bins, right), expected)
    counted(tw.digitize(x[0, 0], [0, 1]), np.digitize(host[0, 0], [0, 1]))


def test_by_numpys_names(be: Backend, rng: np.random.Generator) -> None:
    host = rng.integers(0, 9, 200, "int32")
    x = on(be, host)
    counted(np.histogram(x, bins=4, range=(0, 8))[0], np.histogram(host, 4, (0, 8))[0])
    counted(np.bincount(x, minlength=12), np.bincount(host, minlength=12))
    counted(np.digitize(x, [2, 5], right=True), np.digitize(host, [2, 5], right=True))
    near(np.histogram_bin_edges(x, 4), np.histogram_bin_edges(host, 4), 1e-6)


def test_errors(be: Backend) -> None:
    x = tw.ones((2, 3), device=be)
    i = tw.ones(3, dtype="int32", device=be)
    for call, message in [
        (lambda: tw.histogram([1]), r"histogram: a is \[1\].*expected an Array"),
        (lambda: tw.histogram(x + 1j), "a is complex64, expected real numbers"),
        (lambda: tw.histogram(x, 0), "bins is 0, expected 1 or more"),
        (lambda: tw.histogram(x, 2.5), "bins is 2.5 .*expected an integer"),
        (lambda: tw.histogram(x, "stone"), "bins is 'stone'.*expected a number, edges or one of"),
        (lambda: tw.histogram(x, "auto", weights=x), "bins is 'auto', which weights"),
        (lambda: tw.histogram(x, [2, 1]), "bins does not ascend"),
        (lambda: tw.histogram(x, [[1, 2]]), r"bins has shape \(1, 2\), expected one dimension"),
        (lambda: tw.histogram(x, [1, np.nan]), "bins has NaN"),
        (lambda: tw.histogram(x, 3, (2, 1)), r"range is \(2, 1\).*smaller number first"),
        (lambda: tw.histogram(x, 3, (0, np.inf)), "range is .*expected finite numbers"),
        (lambda: tw.histogram(x, 3, 4), "range is 4 .*expected two numbers"),
        (lambda: tw.histogram(x, density=1), "density is 1 .*expected True or False"),
        (lambda: tw.histogram(x, weights=i), r"weights has shape \(3,\), expected \(2, 3\)"),
        (lambda: tw.bincount(x), r"x is float32 of shape \(2, 3\), expected integers"),
        (lambda: tw.bincount(-i), "x has -1, expected 0 or more"),
        (lambda: tw.bincount(i, minlength=-1), "minlength is -1, expected 0 or more"),
        (lambda: tw.digitize(x, [1, 3, 2]), "bins neither ascends nor descends"),
        (lambda: tw.digitize(x, [1], right=1), "right is 1 .*expected True or False"),
    ]:
        with pytest.raises(InvalidArgument, match=message):
            call()
