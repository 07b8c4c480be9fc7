"""NumPy's elementwise functions, comparisons, diagonals, products and sets of Arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tilewright as tw
from tilewright import Backend, InvalidArgument

from .arrays import INTEGERS, on, same, values
from .numpy_names import SHAPES, agree

SPECIAL = np.float32([np.nan, np.inf, -np.inf, 0.0, -0.0, 2.5, -2.5, 1e-3])
UNARY = [
    "deg2rad", "degrees", "fabs", "fix", "iscomplex", "iscomplexobj", "isneginf", "isposinf",
    "isreal", "isrealobj", "modf", "nan_to_num", "rad2deg", "radians", "sinc",
]  # fmt: skip
BINARY = [
    "array_equal", "array_equiv", "allclose", "divmod", "fmax", "fmin", "fmod", "heaviside",
    "isclose",
]  # fmt: skip


@pytest.mark.parametrize("name", UNARY)
def test_of_one(be: Backend, rng: np.random.Generator, name: str) -> None:
    call = getattr(np, name)
    for shape in ((), *SHAPES):
        agree(be, call, np.asarray(values(rng, shape, "float32")))
    for dtype in ("int8", "uint16", "bool", "float16"):
        # NumPy computes small integers in float16.
        agree(be, call, values(rng, (5,), dtype), tolerance=2e-2 if dtype == "float16" else 2e-3)
    specials = SPECIAL if name != "nan_to_num" else SPECIAL[3:]
    agree(be, call, specials[~np.isinf(specials)] if name == "sinc" else specials)
    agree(be, lambda x: call(x[::2, ::-1]), values(rng, (5, 6), "float32"))


@pytest.mark.parametrize("name", BINARY)
def test_of_two(be: Backend, rng: np.random.Generator, name: str) -> None:
    call: Callable[..., Any] = getattr(np, name)
    for shape in SHAPES:
        a, b = values(rng, shape, "float32"), values(rng, shape[-1:], "float32")
        agree(be, call, a, b + np.float32(0.01))
        agree(be, call, values(rng, shape, "int32"), values(rng, shape, "int32", 1, 9))
    agree(be, call, values(rng, (9,), "int8"), values(rng, (9,), "uint8", 1, 9))
    agree(be, call, values(rng, (9,), "uint16", 0, 99), values(rng, (1,), "uint16", 1, 9))
    if name not in ("divmod", "fmod"):
        agree(be, call, SPECIAL, SPECIAL[::-1].copy())
        agree(be, call, SPECIAL, SPECIAL)


def test_remainders_of_c(be: Backend) -> None:
    x, y = np.meshgrid(np.float32([5.5, -5.5, 0.5, -1e-20, 7, -7]), np.float32([2, -2, 1, np.inf]))
    same(np.fmod(on(be, x), on(be, y)), np.fmod(x, y))
    same(tw.fmod(on(be, np.int32([7, -7, 7, -7])), on(be, np.int32([3, 3, -3, -3]))),
         np.int32([1, -1, 1, -1]))  # fmt: skip


@pytest.mark.parametrize("dtype", INTEGERS)
def test_divisors(be: Backend, rng: np.random.Generator, dtype: str) -> None:
    if not be.supports("map", dtype):
        with pytest.raises(tw.Unsupported):
            tw.gcd(on(be, np.ones(3, dtype)), on(be, np.ones(3, dtype)))
        return
    most = np.iinfo(dtype).max
    a = rng.integers(0, most, 40, dtype, endpoint=True)
    b = rng.integers(0, most, 40, dtype, endpoint=True)
    # Neighbours in Fibonacci's sequence take the most steps.
    worst = [1, 1]
    while sum(worst[-2:]) <= most:
        worst.append(sum(worst[-2:]))
    a[:3], b[:3] = [worst[-1], 0, 12], [worst[-2], 0, 18]
    a = a.astype(dtype)
    same(np.gcd(on(be, a), on(be, b.astype(dtype))), np.gcd(a, b.astype(dtype)))
    small = (a % 11).astype(dtype), (b % 11).astype(dtype)
    same(np.lcm(on(be, small[0]), on(be, small[1])), np.lcm(*small))
    with pytest.raises(InvalidArgument, match="float32, expected integers"):
        np.gcd(on(be, SPECIAL), 2)


def test_comparisons(be: Backend) -> None:
    x = on(be, SPECIAL)
    assert np.array_equal(x, x) is False and np.array_equal(x, x, equal_nan=True) is True
    assert np.allclose(x, x, equal_nan=True) and not np.allclose(x, x)
    assert not np.array_equal(x, x[1:]) and np.array_equiv(x[3:4], x[3:5])
    same(np.nan_to_num(x, nan=7, posinf=8, neginf=9), np.nan_to_num(SPECIAL, True, 7, 8, 9))
    assert np.nan_to_num(x, copy=False) is x
    same(x, np.nan_to_num(SPECIAL))


def test_rounded(be: Backend, rng: np.random.Generator) -> None:
    for decimals in (0, 1, 3, -1, -2, -12):
        agree(be, lambda x, d=decimals: np.round(x, d), values(rng, (40,), "float32", -500, 500))
        agree(be, lambda x, d=decimals: np.round(x, d), np.arange(-60, 60, 5, "int32"))
    agree(be, lambda x: x.round(1), np.float32([np.inf, np.nan, 3e38, 0.25]))


def test_diagonals(be: Backend, rng: np.random.Generator) -> None:
    for shape in ((3, 3), (2, 5), (5, 2), (0, 3), (2, 3, 4)):
        host = values(rng, shape, "int32")
        for k in (0, 1, -1, 4, -7):
            agree(be, lambda x, k=k: np.diagonal(x, k, -1, 0), host)
            agree(be, lambda x, k=k: np.trace(x, k).astype("int32"), host)
            agree(be, lambda x, k=k: np.diag(x.reshape(-1), k), host)
            agree(be, lambda x, k=k: np.diagflat(x, k), host)
    for n in (None, 0, 1, 5):
        for increasing in (True, False):
            agree(be, lambda x, n=n, i=increasing: np.vander(x, n, i), np.float32([1.5, 2, -3]))
    x = on(be, values(rng, (3, 4), "float32"))
    assert np.diag(x).overlaps(x) and np.diagonal(x).overlaps(x)
    same(tw.tri(3, 5, 1, device=be), np.tri(3, 5, 1, dtype="float32"))
    for name in ("tril_indices_from", "triu_indices_from"):
        agree(be, lambda x, n=name: getattr(np, n)(x, 1), values(rng, (3, 4), "int8"))
    with pytest.raises(InvalidArgument, match="axis1 and axis2 are both axis 1"):
        np.diagonal(x, 0, 1, -1)


def test_products(be: Backend, rng: np.random.Generator) -> None:
    a, b = values(rng, (4, 3), "float32"), values(rng, (4, 3), "float32")
    for name in ("outer", "cross", "vdot", "vecdot"):
        agree(be, getattr(np, name), a, b, tolerance=1e-4)
    agree(be, lambda x, y: np.cross(x, y, axisa=0, axisb=0, axisc=0), a[:3], b[:3], tolerance=1e-4)
    agree(be, np.matvec, a, b[0], tolerance=1e-4)
    agree(be, np.vecmat, b[:, 0].copy(), a, tolerance=1e-4)
    pair = (a + 1j * b).astype("complex64"), (b - 1j * a).astype("complex64")
    agree(be, np.vdot, *pair, tolerance=1e-4)
    agree(be, lambda x, y: np.vecmat(x[:, 0], y), *pair, tolerance=1e-4)
    with pytest.raises(InvalidArgument, match="a has 12 elements and b 3"):
        np.vdot(on(be, a), on(be, b[0]))


SETS = ["intersect1d", "setdiff1d", "setxor1d", "union1d"]


@pytest.mark.parametrize("name", SETS)
def test_sets(be: Backend, rng: np.random.Generator, name: str) -> None:
    for size in (0, 1, 50):
        a, b = values(rng, (size,), "int32", -20, 20), values(rng, (30,), "int32", -20, 20)
        agree(be, getattr(np, name), a, b)
        agree(be, getattr(np, name), b.reshape(5, 6).astype("int16"), a.astype("float32"))
    if name != "union1d":
        agree(be, lambda x, y: getattr(np, name)(x, y, assume_unique=True), np.int32([3, 1, 2]),
              np.int32([5, 1]))  # fmt: skip
    if name == "intersect1d":
        agree(be, lambda x, y: np.intersect1d(x, y, return_indices=True), a, b)


def test_powers_of_integers(be: Backend) -> None:
    x = on(be, np.int32([1, 2, 3]))
    calls: list[Callable[[], Any]] = [
        lambda: x**-1, lambda: tw.pow(x, -2), lambda: np.power(x, -1), lambda: x ** np.int32(-1),
        lambda: x.__ipow__(-3), lambda: (x == 1) ** -1, lambda: x ** -(10**30),
    ]  # fmt: skip
    for call in calls:
        with pytest.raises(ValueError, match=r"pow: x2 is .*-.*expected 0 or more"):
            call()
    same(x**0, np.int32([1, 1, 1]))
    same(x**3, np.int32([1, 8, 27]))
    np.testing.assert_allclose((x.astype("float32") ** -1).numpy(), [1, 1 / 2, 1 / 3], rtol=1e-6)
    np.testing.assert_allclose((x**-1.0).numpy(), [1, 1 / 2, 1 / 3], rtol=1e-6)
