"""softmax, log_softmax, softmin and normalize, and their gradients, against NumPy in float64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tilewright as tw
from tilewright import Backend, InvalidArgument

from .networks import Host, dtypes_of, gradient, held, near, on

RNG = np.random.default_rng(20261126)
START = RNG.bit_generator.state


@pytest.fixture(autouse=True)
def the_same_draws() -> None:
    """Whichever tests came before."""
    RNG.bit_generator.state = START


SHAPES = (((5,), 0), ((3, 17), -1), ((3, 17), 0), ((2, 5, 3), 1), ((4, 1), 1), ((0, 3), 1))


def log_softmax(x: Host, dim: int) -> Host:
    most = x.max(axis=dim, keepdims=True, initial=-np.inf)
    return np.asarray(x - most - np.log(np.exp(x - most).sum(axis=dim, keepdims=True)))


def softmax(x: Host, dim: int) -> Host:
    return np.exp(log_softmax(x, dim))


def softmin(x: Host, dim: int) -> Host:
    return softmax(-x, dim)


def normalize(x: Host, p: float, dim: int, eps: float = 1e-12) -> Host:
    if x.size == 0:
        return x
    norm = np.linalg.norm(x, ord=p, axis=dim, keepdims=True)
    return np.asarray(x / np.maximum(norm, eps))


REFERENCES: dict[str, Callable[..., Host]] = {
    "softmax": softmax, "log_softmax": log_softmax, "softmin": softmin,
}  # fmt: skip


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", REFERENCES)
def test_softmaxes(be: Backend, name: str) -> None:
    forward, backward = getattr(tw.nn, name), getattr(tw.nn, f"{name}_backward")
    of = REFERENCES[name]
    for dtype in dtypes_of(be):
        for shape, dim in SHAPES if dtype == "float32" else SHAPES[3:4]:
            x, grad = (held(RNG.uniform(-6, 6, shape), dtype) for _ in range(2))
            a, g = on(be, x, dtype), on(be, grad, dtype)
            exact = of(x, dim)
            result = forward(a, dim)
            near(result, exact, dtype, 16)
            by_x = gradient(lambda one, grad=grad, dim=dim: float((of(one, dim) * grad).sum()), x)
            size = 1 if dtype != "float64" else 1e9  # differences have 8 digits
            near(backward(g, a, dim), by_x, dtype, 64 * size, 6)
            if dtype in ("float32", "float64"):
                near(backward(g, a, dim, result=result), by_x, dtype, 64 * size, 6)
            if dtype == "float32" and len(shape) == 2:
                near(forward(a.T, 1 - dim % 2).T, exact, dtype, 16)
                near(backward(g.T, a.T, 1 - dim % 2).T, by_x, dtype, 64, 6)


# Samples of few elements, rows and columns, short and long.
MANY_SHAPES = (
    ((70, 3, 4), 1), ((33, 15), 1), ((1000, 7), 1), ((40, 1, 7), 1), ((300, 1), 1), ((17, 33), 1),
    ((5, 1030), 1), ((3, 9001), 1), ((2, 144, 300), 1), ((1, 50, 3), 1), ((700, 65), 0),
)  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_rows_and_columns(be: Backend, name: str, dtype: str) -> None:
    if dtype not in dtypes_of(be):
        with pytest.raises(tw.Unsupported):
            on(be, np.zeros(3), dtype)
        return
    for shape, dim in MANY_SHAPES:
        x = held(RNG.uniform(-6, 6, shape), dtype)
        near(getattr(tw.nn, name)(on(be, x, dtype), dim), REFERENCES[name](x, dim), dtype, 16)


def test_large_and_equal(be: Backend) -> None:
    """No exponential overflows, and what is far below the largest keeps its digits."""
    x = np.float32([[1e4, -1e4, 0, 9999], [-3e38, 3e38, 0, 0], [7, 7, 7, 7], [-np.inf, 1, 2, 3]])
    with np.errstate(all="ignore"):
        exact = log_softmax(x.astype(np.float64), 1)
    found = tw.nn.log_softmax(on(be, x), 1).numpy()
    np.testing.assert_allclose(found[[0, 2, 3]], exact[[0, 2, 3]], rtol=3e-7, atol=1e-7)
    # -3e38 less 3e38 is more than float32 holds.
    assert found[1].tolist() == [-np.inf, 0, np.float32(-3e38), np.float32(-3e38)]
    np.testing.assert_allclose(
        tw.nn.softmax(on(be, x), 1).numpy()[[0, 2, 3]], np.exp(exact)[[0, 2, 3]], atol=1e-6
    )
    assert np.isnan(tw.nn.log_softmax(on(be, [[np.nan, 1], [2, 3]]), 1).numpy()[:, 0]).tolist() == [
        True, False,
    ]  # fmt: skip


@pytest.mark.sampled(3)
@pytest.mark.parametrize("p", [1.0, 2.0, 3.0, 0.5, np.inf, -np.inf])
def test_normalize(be: Backend, p: float) -> None:
    # Powers other than these two are of exponentials.
    for dtype in dtypes_of(be, p not in (1.0, 2.0, np.inf, -np.inf)):
        for shape, dim in SHAPES[2:4] if dtype == "float32" else SHAPES[3:4]:
            x = held(RNG.uniform(0.5, 6, shape) * RNG.choice([-1, 1], shape), dtype)
            grad = held(RNG.uniform(-2, 2, shape), dtype)
            a, g = on(be, x, dtype), on(be, grad, dtype)
            near(tw.nn.normalize(a, p, dim), normalize(x, p, dim), dtype, 32)
            by_x = gradient(
                lambda one, grad=grad, dim=dim: float((normalize(one, p, dim) * grad).sum()), x
            )
            size = 1 if dtype != "float64" else 1e9
            near(tw.nn.normalize_backward(g, a, p, dim), by_x, dtype, 64 * size, 4)


def test_normalize_at_the_ends(be: Backend) -> None:
    x = np.float32([[3e37, 4e37], [3e-20, 4e-20], [0, 0], [3, -4]])
    found = tw.nn.normalize(on(be, x), eps=1e-30).numpy()
    np.testing.assert_allclose(found, [[0.6, 0.8], [0.6, 0.8], [0, 0], [0.6, -0.8]], rtol=1e-6)
    near(tw.nn.normalize(on(be, [[3, 4]]), eps=10), [[0.3, 0.4]], "float32")
    # Below eps it is a division by that alone.
    got = tw.nn.normalize_backward(on(be, [[1, 2]]), on(be, [[3, 4]]), eps=10)
    near(got, [[0.1, 0.2]], "float32")
    # Elements that are equally large share the gradient of their size.
    got = tw.nn.normalize_backward(on(be, [[1, 2, 4]]), on(be, [[2, -2, 1]]), np.inf)
    near(got, [[0.25, 1.25, 2]], "float32")
    zero = tw.nn.normalize_backward(on(be, [[1, 2]]), on(be, [[0, 0]]), eps=0.5)
    near(zero, [[2, 4]], "float32")


def test_wrong_arguments(be: Backend) -> None:
    x, nn = on(be, np.ones((3, 4))), tw.nn
    calls: list[tuple[str, Callable[[], Any]]] = [
        ("softmax: dim is 2, expected one of the 2 axes", lambda: nn.softmax(x, 2)),
        ("log_softmax: x is int32, expected floats", lambda: nn.log_softmax(on(be, [1], "int32"))),
        ("softmin: x is .*, expected an Array", lambda: nn.softmin([1.0])),
        ("softmax_backward: x has shape .4, 3.", lambda: nn.softmax_backward(x, x.T)),
        ("softmax_backward: result has shape", lambda: nn.softmax_backward(x, x, result=x.T)),
        ("log_softmax: out is", lambda: nn.log_softmax(x, out=x.T)),
        ("normalize: p is 0.0, expected more than 0", lambda: nn.normalize(x, 0)),
        ("normalize: eps is -1.0, expected 0 or more", lambda: nn.normalize(x, eps=-1)),
        ("normalize: p is -1.0, expected more than 0, or minus infinity",
         lambda: nn.normalize(x, -1)),
    ]  # fmt: skip
    for message, call in calls:
        with pytest.raises(InvalidArgument, match=message):
            call()
    with pytest.raises(InvalidArgument, match="dim is 0, expected one of the 0 axes"):
        tw.nn.softmax(on(be, 1.0), 0)
