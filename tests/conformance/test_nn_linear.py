"""tw.nn.linear with the norm of what goes in, a residual and `out`, in every dtype of floats."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tilewright as tw
from tilewright import Backend, InvalidArgument

from . import references
from .networks import EPS, Host, dtypes_of, held, host, on

RNG = np.random.default_rng(20261127)
START = RNG.bit_generator.state
#: roundings of what is added up, of which each dtype makes a few
ROUNDINGS = 8


@pytest.fixture(autouse=True)
def the_same_draws() -> None:
    """Whichever tests came before."""
    RNG.bit_generator.state = START


def draw(*shape: int, dtype: str = "float32") -> Host:
    return held(RNG.standard_normal(shape), dtype)


def near(got: tw.Array, exact: Host, magnitudes: Host, dtype: str) -> None:
    assert got.dtype == dtype and got.shape == exact.shape
    assert (abs(host(got) - exact) <= ROUNDINGS * EPS[dtype] * magnitudes).all()


def silu(x: Host) -> Host:
    return x / (1 + np.exp(-x))


@pytest.mark.parametrize("gated", [False, True])
@pytest.mark.parametrize("shape", [(8,), (1, 24), (3, 7), (2, 3, 40), (9, 64)], ids=str)
def test_normed_and_added(be: Backend, shape: tuple[int, ...], gated: bool) -> None:
    for dtype in dtypes_of(be):
        features, results = shape[-1], 5
        x, norm = draw(*shape, dtype=dtype), draw(features, dtype=dtype)
        weight = draw(2 * results if gated else results, features, dtype=dtype)
        bias = draw(len(weight), dtype=dtype)
        residual = draw(*shape[:-1], results, dtype=dtype)
        normed = references.rmsnorm(x, norm, 0.25)
        sums = normed @ weight.T + bias
        off = abs(normed) @ abs(weight).T + abs(bias)
        first, second, of_second = sums[..., :results], sums[..., results:], off[..., results:]
        exact, size = silu(first), 1.2 * off[..., :results]
        if gated:
            size = size * (abs(second) + of_second) + abs(exact) * of_second
            exact = exact * second
        of_x, of_weight, of_bias, of_norm, of_residual = (
            on(be, one, dtype) for one in (x, weight, bias, norm, residual)
        )
        got = tw.nn.linear(
            of_x, of_weight, of_bias, activation="silu", gated=gated, norm=of_norm, eps=0.25,
            residual=of_residual,
        )  # fmt: skip
        near(got, exact + residual, size + abs(residual), dtype)
        np.testing.assert_array_equal(host(of_residual), residual)


def test_eps_alone_and_a_norm_alone(be: Backend) -> None:
    x, weight, norm = draw(3, 16), draw(4, 16), draw(16)
    given = on(be, x), on(be, weight)
    for options, exact in (
        ({"eps": 0.5}, references.rmsnorm(x, np.ones(16), 0.5)),
        ({"norm": on(be, norm)}, references.rmsnorm(x, norm, 1e-5)),
    ):
        got = tw.nn.linear(*given, **options)
        near(got, exact @ weight.T, abs(exact) @ abs(weight).T, "float32")


@pytest.mark.parametrize("rows", [1, 4, 19])
def test_added_where_the_residual_lies(be: Backend, rows: int) -> None:
    for dtype in dtypes_of(be):
        x, weight = draw(rows, 16, dtype=dtype), draw(6, 16, dtype=dtype)
        residual = draw(rows, 6, dtype=dtype)
        place = on(be, residual, dtype)
        waits = place * 2
        got = tw.nn.linear(on(be, x, dtype), on(be, weight, dtype), residual=place, out=place)
        assert got is place
        near(got, x @ weight.T + residual, abs(x) @ abs(weight).T + abs(residual), dtype)
        near(waits, 2 * residual, 2 * abs(residual), dtype)


@pytest.mark.parametrize("rows", [1, 6, 12])
def test_weights_in_blocks(be: Backend, rows: int) -> None:
    weights = tw.quant.quantize_blocks(on(be, draw(10, 64)), "q8_0")
    weight = host(weights.dequantize())
    for dtype in ("float32", "float16"):
        x, norm = draw(rows, 64, dtype=dtype), draw(64, dtype=dtype)
        bias, residual = draw(10, dtype=dtype), draw(rows, 5, dtype=dtype)
        normed = references.rmsnorm(x, norm, 1e-5)
        sums, off = normed @ weight.T + bias, abs(normed) @ abs(weight).T + abs(bias)
        first, second = silu(sums[:, :5]), sums[:, 5:]
        size = 1.2 * off[:, :5] * (abs(second) + off[:, 5:]) + abs(first) * off[:, 5:]
        got = tw.nn.linear(
            on(be, x, dtype), weights, on(be, bias, dtype), activation="silu", gated=True,
            norm=on(be, norm, dtype), residual=on(be, residual, dtype),
        )  # fmt: skip
        near(got, first * second + residual, size + abs(residual), dtype)


def test_what_is_wrong_with_blocks(be: Backend) -> None:
    weights = tw.quant.quantize_blocks(tw.ones((3, 32), device=be), "q4_0")
    x = tw.ones((2, 32), device=be)
    with pytest.raises(InvalidArgument, match="x is bfloat16, expected float32 or float16 with"):
        tw.nn.linear(x.astype("bfloat16"), weights)
    with pytest.raises(InvalidArgument, match=r"x has shape \(2, 31\), expected 32 elements"):
        tw.nn.linear(x[:, 1:], weights)
    with pytest.raises(InvalidArgument, match="norm is float16, expected float32 as x is"):
        tw.nn.linear(x, weights, norm=tw.ones(32, dtype="float16", device=be))
    with tw.init_backend("cpu") as other, pytest.raises(InvalidArgument, match="one device"):
        tw.nn.linear(tw.ones((2, 32), device=other), weights)


def test_out(be: Backend) -> None:
    """A part of an Array with gaps, and one that is read as well."""
    x, weight, residual = draw(3, 5), draw(5, 5), draw(3, 5)
    exact, size = x @ weight.T + residual, abs(x) @ abs(weight).T + abs(residual)
    wide = tw.zeros((3, 8), device=be)
    given = on(be, x)
    got = tw.nn.linear(given, on(be, weight), residual=on(be, residual), out=wide[:, 2:7])
    near(got, exact, size, "float32")
    near(wide[:, 2:7], exact, size, "float32")
    assert (wide.numpy()[:, [0, 1, 7]] == 0).all()
    got = tw.nn.linear(given, on(be, weight), residual=on(be, residual), out=given)
    assert got is given
    near(got, exact, size, "float32")


def test_no_elements(be: Backend) -> None:
    one = tw.ones((4,), device=be)
    none = tw.nn.linear(tw.ones((0, 4), device=be), tw.ones((3, 4), device=be), norm=one)
    assert none.shape == (0, 3)
    added = tw.nn.linear(
        tw.ones((2, 0), device=be), tw.ones((3, 0), device=be), residual=tw.ones((2, 3), device=be)
    )
    np.testing.assert_array_equal(added.numpy(), np.ones((2, 3)))


def test_what_is_wrong(be: Backend) -> None:
    def ones(*shape: int, dtype: str = "float32") -> tw.Array:
        return tw.ones(shape, dtype=dtype, device=be)

    x, weight = ones(2, 4), ones(3, 4)
    wrong: list[tuple[str, Callable[[], Any]]] = [
        (r"norm has shape \(3,\), expected \(4,\)", lambda: tw.nn.linear(x, weight, norm=ones(3))),
        (r"x is None", lambda: tw.nn.linear(None, weight)),  # type: ignore[arg-type]
        (r"weight is None", lambda: tw.nn.linear(x, None)),  # type: ignore[arg-type]
        (r"eps is -1.0, expected 0 or more", lambda: tw.nn.linear(x, weight, eps=-1.0)),
        (r"eps is nan", lambda: tw.nn.linear(x, weight, eps=np.nan)),
        (
            r"residual has shape \(3,\), expected \(2, 3\)",
            lambda: tw.nn.linear(x, weight, residual=ones(3)),
        ),
        (
            r"residual is int32, expected floats",
            lambda: tw.nn.linear(x, weight, residual=ones(2, 3, dtype="int32")),
        ),
        (
            r"out is float32 of shape \(3, 2\), expected float32 of shape \(2, 3\)",
            lambda: tw.nn.linear(x, weight, out=ones(3, 2)),
        ),
        (r"weight has 3 results", lambda: tw.nn.linear(x, weight, gated=True, residual=ones(2, 1))),
    ]
    for message, call in wrong:
        with pytest.raises(InvalidArgument, match=message):
            call()
