"""Operands of complex functions in every form: Arrays, real ones, numbers, views, broadcasts, and
results in place, against NumPy."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tilewright as tw
from tilewright import Backend

from .arrays import Host

OPERATORS = (operator.add, operator.sub, operator.mul, operator.truediv, operator.pow)
IN_PLACE = (operator.iadd, operator.isub, operator.imul, operator.itruediv, operator.ipow)
NUMBERS = (2, -3, 0.5, 1j, 2 - 0.25j, True, np.float32(1.5), np.complex64(1 - 1j))


def drawn(rng: np.random.Generator, shape: tuple[int, ...]) -> Host:
    return (rng.uniform(0.5, 2, shape) + 1j * rng.uniform(-2, 2, shape)).astype(np.complex64)


def close(got: Any, expected: Any) -> None:
    wanted = np.asarray(expected)
    found = np.asarray(got.numpy())
    assert found.shape == wanted.shape
    assert found.dtype == (np.complex64 if wanted.dtype.kind == "c" else wanted.dtype)
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)


def shapes() -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    return [((3, 5), (3, 5)), ((3, 5), (5,)), ((3, 1), (1, 5)), ((), (4,)), ((2, 1, 3), (4, 1)),
            ((0, 3), (3,)), ((1,), (0,))]  # fmt: skip


@pytest.mark.parametrize("op", OPERATORS)
def test_pairs(be: Backend, rng: np.random.Generator, op: Callable[..., Any]) -> None:
    for one, other in shapes():
        a, b = drawn(rng, one), drawn(rng, other)
        real = rng.uniform(0.5, 2, other).astype(np.float32)
        x, y, r = (tw.asarray(h, device=be) for h in (a, b, real))
        wide = np.complex128
        close(op(x, y), op(a.astype(wide), b.astype(wide)))
        close(op(y, x), op(b.astype(wide), a.astype(wide)))
        close(op(x, r), op(a.astype(wide), real))
        close(op(r, x), op(real, a.astype(wide)))
        integers = tw.asarray(np.ones(other, np.uint8), device=be)
        close(op(x, integers), op(a.astype(wide), np.ones(other)))


@pytest.mark.parametrize("op", OPERATORS)
def test_numbers(be: Backend, rng: np.random.Generator, op: Callable[..., Any]) -> None:
    a = drawn(rng, (4, 3))
    real = rng.uniform(0.5, 2, 5).astype(np.float32)
    x, r = tw.asarray(a, device=be), tw.asarray(real, device=be)
    for number in NUMBERS:
        close(op(x, number), op(a.astype(np.complex128), complex(number)))
        close(op(number, x), op(complex(number), a.astype(np.complex128)))
        if isinstance(number, complex):
            close(op(r, number), op(real.astype(np.complex128), number))
            close(op(number, r), op(number, real.astype(np.complex128)))


def test_powers_by_integers(be: Backend, rng: np.random.Generator) -> None:
    a = drawn(rng, (7,)) / 2
    x = tw.asarray(a, device=be)
    for exponent in (*range(-5, 6), 64, -64):
        expected = a.astype(np.complex128) ** exponent
        got = (x**exponent).numpy()
        assert np.all(np.abs(got - expected) <= 1e-4 * np.abs(expected) + 1e-30), exponent
    close(x**65, a.astype(np.complex128) ** 65)


@pytest.mark.parametrize("op", IN_PLACE)
def test_in_place(be: Backend, rng: np.random.Generator, op: Callable[..., Any]) -> None:
    a, b = drawn(rng, (4, 6)), drawn(rng, (6,))
    real = rng.uniform(0.5, 2, (4, 1)).astype(np.float32)
    for value in (b, real, 2, 0.5, 1 - 1j, a):
        given = tw.asarray(value, device=be) if isinstance(value, np.ndarray) else value
        for place in (np.s_[...], np.s_[::2, 1:], np.s_[::-1, ::-1]):
            if value is a and place != np.s_[...]:
                continue
            host, x = a.astype(np.complex128), tw.asarray(a, device=be)
            other = value if np.isscalar(value) else np.broadcast_to(value, a.shape)[place]
            used = given
            if isinstance(given, tw.Array):
                used = tw.broadcast_to(given, a.shape)[place]
            host[place] = op(host[place].copy(), other)
            view = x[place]
            assert op(view, used) is view
            close(x, host)


def test_in_place_of_itself_further_on(be: Backend, rng: np.random.Generator) -> None:
    a = drawn(rng, (9,))
    for op, function in ((operator.iadd, np.add), (operator.imul, np.multiply)):
        x = tw.asarray(a, device=be)
        view = x[1:]
        op(view, x[:-1])
        expected = np.concatenate([a[:1], function(a[1:], a[:-1])])
        close(x, expected)
        x = tw.asarray(a, device=be)
        view = x[...]
        op(view, tw.imag(x))
        close(x, function(a, a.imag))
        x = tw.asarray(a, device=be)
        view = x[...]
        op(view, x[::-1])
        close(x, function(a, a[::-1]))


def test_what_waits_is_computed_before_a_write(be: Backend, rng: np.random.Generator) -> None:
    a, b = drawn(rng, (5,)), rng.uniform(1, 2, 5).astype(np.float32)
    x, r = tw.asarray(a, device=be), tw.asarray(b, device=be)
    waits = tw.real(x) * 2 + r
    x += 1
    x *= x
    close(x, (a.astype(np.complex128) + 1) ** 2)
    close(waits, a.real * 2 + b)
    deferred = r * 3 + 1
    close(x * deferred, (a.astype(np.complex128) + 1) ** 2 * (b * 3 + 1))
    close(deferred * 1j, (b * 3 + 1) * 1j)


def test_functions_in_place_and_out(be: Backend, rng: np.random.Generator) -> None:
    a = drawn(rng, (3, 4))
    x = tw.asarray(a, device=be)
    out = tw.empty((3, 4), dtype="complex64", device=be)
    assert tw.multiply(x, x, out=out) is out
    close(out, a.astype(np.complex128) ** 2)
    assert tw.conj(x, out=out) is out
    close(out, a.conj())
    size = tw.empty((3, 4), device=be)
    assert tw.abs(x, out=size) is size
    close(size, np.abs(a))
    with pytest.raises(tw.InvalidArgument, match=r"out has shape \(3, 5\), expected \(3, 4\)"):
        tw.add(x, x, out=tw.empty((3, 5), dtype="complex64", device=be))
    with pytest.raises(tw.InvalidArgument, match="which no float holds"):
        x + 10**400
    with pytest.raises(tw.InvalidArgument, match="broadcast"):
        x + x[:, :3]
    close(tw.conj(x), a.conj())
    close(tw.angle(x), np.angle(a))
    close(x[1:, ::-1].conj(), a[1:, ::-1].conj())
