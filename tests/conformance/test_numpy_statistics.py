"""NumPy's statistics and functions of samples, and what its reductions take."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tilewright as tw
from tilewright import Backend, InvalidArgument

from .arrays import on, same, values
from .numpy_names import SHAPES, agree


def holed(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    host = values(rng, shape, "float32")
    host[rng.uniform(size=shape) < 0.3] = np.nan
    return host


WITHOUT_NAN = [
    "nanargmax", "nanargmin", "nancumprod", "nancumsum", "nanmedian", "nanstd", "nanvar",
]  # fmt: skip


@pytest.mark.parametrize("name", WITHOUT_NAN)
def test_without_nan(be: Backend, rng: np.random.Generator, name: str) -> None:
    for shape in ((1,), (7,), (6, 9), (2, 3, 8)):
        host = holed(rng, shape)
        for axis in (None, 0, -1):
            agree(be, lambda x, a=axis: getattr(np, name)(x, axis=a), host, tolerance=1e-3)
    agree(be, getattr(np, name), values(rng, (2, 5), "int32", 1, 4), tolerance=1e-4)
    agree(be, getattr(np, name), np.float32([np.nan, np.nan]))


def test_quantiles_without_nan(be: Backend, rng: np.random.Generator) -> None:
    for q in (0.3, 1, [0.0, 0.77]):
        for axis in (None, 0, -1, (0, 1)):
            agree(be, lambda x, q=q, a=axis: np.nanquantile(x, q, axis=a), holed(rng, (9, 8)))
    agree(be, lambda x: np.nanpercentile(x, 40, axis=1, keepdims=True), holed(rng, (3, 8)))
    with pytest.raises(InvalidArgument, match=r"nanquantile: q is 2 .*, expected 0 to 1"):
        np.nanquantile(on(be, holed(rng, (3,))), 2)


@pytest.mark.parametrize("name", ["sum", "prod", "mean", "any", "all", "std", "var", "max", "min"])
def test_reductions_of_some(be: Backend, rng: np.random.Generator, name: str) -> None:
    for shape in SHAPES:
        mask = rng.uniform(size=shape) < 0.6
        for dtype in ("float32", "int32", "bool"):
            if dtype == "bool" and name in ("std", "var"):
                continue
            host = values(rng, shape, dtype, 1, 3)
            for axis in (None, 0, -1):
                options: dict[str, Any] = {"axis": axis}
                if name in ("max", "min"):
                    options["initial"] = True if dtype == "bool" else 2
                call = getattr(np, name)
                agree(be, lambda x, w, c=call, o=options: c(x, where=w, **o), host, mask,
                      tolerance=1e-4)  # fmt: skip
                agree(be, lambda x, w, o=options: getattr(x, name)(where=w, **o), host, mask,
                      tolerance=1e-4)  # fmt: skip


def test_reductions_by_arguments(be: Backend, rng: np.random.Generator) -> None:
    host = values(rng, (4, 5), "float32", 1, 2)
    for name in ("sum", "prod", "max", "min"):
        agree(be, lambda x, n=name: getattr(np, n)(x, axis=0, initial=1.5), host)
        agree(be, lambda x, n=name: getattr(np, n)(x, axis=0, initial=3), host[:0])
    for name in ("max", "min"):
        for number in (0, 1):
            agree(be, lambda x, n=name, i=number: getattr(np, n)(x, axis=0, initial=i), host > 1.5)
    for name in ("std", "var"):
        for ddof in (1, 2.5):
            agree(be, lambda x, n=name, d=ddof: getattr(np, n)(x, axis=1, ddof=d), host)
            agree(be, lambda x, n=name, d=ddof: getattr(x, n)(ddof=d), host)
    half = host.astype("float16")
    same(np.mean(on(be, half), axis=0, dtype="float32"), half.astype("float32").mean(0))
    assert on(be, half).std(dtype="float32").dtype == np.float32
    same(on(be, host).sum(0, "float32"), tw.sum(on(be, host), axis=0).numpy())
    with pytest.raises(InvalidArgument, match="where is given without initial"):
        np.max(on(be, host), where=on(be, host > 1))
    with pytest.raises(InvalidArgument, match="correction and ddof are given"):
        tw.std(on(be, host), correction=1, ddof=1)


def test_averages(be: Backend, rng: np.random.Generator) -> None:
    host, weights = values(rng, (3, 9), "float32"), values(rng, (3, 9), "float32", 0.5, 2)
    agree(be, lambda x, w: np.average(x, weights=w, returned=True), host, weights)
    agree(be, lambda x, w: np.average(x, axis=1, weights=w[0], keepdims=True), host, weights)
    agree(be, lambda x, w: np.average(x, axis=(1, 0), weights=w.T), host, weights)
    agree(be, np.average, values(rng, (5,), "int32"))
    for axis in (None, 0, -1):
        agree(be, lambda x, a=axis: np.ptp(x, axis=a), host)
    with pytest.raises(TypeError, match="name their axis"):
        np.average(on(be, host), weights=on(be, weights[0]))


def test_covariances(be: Backend, rng: np.random.Generator) -> None:
    host, other = values(rng, (3, 9), "float32"), values(rng, (2, 9), "float32")
    for options in ({}, {"bias": True}, {"ddof": 0}, {"rowvar": False}):
        agree(be, lambda x, o=options: np.cov(x, **o), host, tolerance=1e-3)
    agree(be, np.cov, host, other, tolerance=1e-3)
    agree(be, np.cov, host[0], tolerance=1e-3)
    agree(be, lambda x, f, a: np.cov(x, fweights=f, aweights=a), host, np.arange(1, 10),
          np.arange(0.5, 9, dtype="float32"), tolerance=1e-3)  # fmt: skip
    agree(be, np.corrcoef, host, other, tolerance=1e-4)
    agree(be, np.corrcoef, (host + 1j * host[::-1]).astype("complex64"), tolerance=1e-4)


@pytest.mark.parametrize("name", ["convolve", "correlate"])
def test_sliding_products(be: Backend, rng: np.random.Generator, name: str) -> None:
    for mode in ("full", "same", "valid"):
        for a, b in ((7, 3), (3, 7), (4, 4), (8, 4), (1, 5), (0, 2)):
            for dtype in ("float32", "int32", "complex64"):
                x, y = values(rng, (a,), "float32"), values(rng, (b,), "float32")
                if dtype == "complex64":
                    x, y = x + 1j * x, y - 2j * y
                agree(be, lambda x, y, m=mode: getattr(np, name)(x, y, m), x.astype(dtype),
                      y.astype(dtype), tolerance=1e-3)  # fmt: skip


def test_slopes_and_integrals(be: Backend, rng: np.random.Generator) -> None:
    host, places = (
        values(rng, (6, 7), "float32"),
        np.cumsum(rng.uniform(0.5, 2, 7)).astype("float32"),
    )
    for order in (1, 2):
        agree(be, lambda y, o=order: np.gradient(y, edge_order=o), host)
        agree(be, lambda y, o=order: np.gradient(y, 0.5, 2, edge_order=o), host)
        agree(be, lambda y, x, o=order: np.gradient(y, x, axis=-1, edge_order=o), host, places,
              tolerance=1e-4)  # fmt: skip
        agree(be, lambda y, o=order: np.gradient(y, edge_order=o), values(rng, (2,), "int32"))
    for axis in (0, -1):
        agree(be, lambda y, a=axis: np.trapezoid(y, dx=0.5, axis=a), host)
    agree(be, np.trapezoid, host, places, tolerance=1e-4)
    agree(be, np.trapezoid, host[0, :1])
    agree(be, lambda x: np.ediff1d(x, to_begin=[7], to_end=np.float32([8, 9])), host)


def test_interpolation(be: Backend, rng: np.random.Generator) -> None:
    places = np.cumsum(rng.uniform(0.5, 2, 20)).astype("float32")
    heights = values(rng, (20,), "float32")
    at = np.concatenate([rng.uniform(-3, 40, 30), places[::3], [np.nan]]).astype("float32")
    for options in ({}, {"left": -1.5, "right": 9}, {"period": 7.0}):
        agree(be, lambda x, p, h, o=options: np.interp(x, p, h, **o), at, places, heights,
              tolerance=1e-4)  # fmt: skip
    agree(be, np.interp, at.reshape(-1, 2)[:5], places[:1], heights[:1])
    with pytest.raises(InvalidArgument, match=r"xp has shape \(20,\) and fp \(19,\)"):
        np.interp(on(be, at), places, heights[1:])


def test_unwrapped(be: Backend, rng: np.random.Generator) -> None:
    host = (np.cumsum(rng.uniform(-2, 2, (3, 30)), axis=1) % 6.28).astype("float32")
    agree(be, np.unwrap, host, tolerance=1e-4)
    agree(be, lambda x: np.unwrap(x, axis=0, discont=4), host, tolerance=1e-4)
    agree(be, lambda x: np.unwrap(x, period=360), np.int32([350, 10, 180, 0, 359, 179]))
