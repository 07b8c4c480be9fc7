"""lp_pool and local_response_norm, and their gradients, against NumPy in float64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tilewright as tw
from tilewright import Backend, InvalidArgument

from .networks import Host, dtypes_of, gradient, held, near, on
from .test_nn_pools import Case, pooled

RNG = np.random.default_rng(20261203)
START = RNG.bit_generator.state


@pytest.fixture(autouse=True)
def the_same_draws() -> None:
    """Whichever tests came before."""
    RNG.bit_generator.state = START


LP = [
    (Case((2, 3, 9), 3, 2), 2.0),
    (Case((1, 2, 8), 3, 2, ceil_mode=True), 1.0),
    (Case((1, 2, 6, 5), 2), 3.0),
    (Case((1, 2, 5, 6), (2, 3), 1), 2.0),
    (Case((1, 1, 3, 4, 5), 2, 1), 2.5),
    (Case((0, 2, 4, 4), 2), 2.0),
]


def norms(x: Host, case: Case, p: float) -> Host:
    sizes = case.window if isinstance(case.window, tuple) else (case.window,) * case.axes
    means, _, _ = pooled(x**p, case, is_max=False)
    return np.asarray((means * np.prod(sizes)) ** (1 / p))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("index", range(len(LP)))
def test_lp_pool(be: Backend, index: int) -> None:
    case, p = LP[index]
    forward = getattr(tw.nn, f"lp_pool{case.axes}d")
    backward = getattr(tw.nn, f"lp_pool{case.axes}d_backward")
    options = (p, case.window, case.stride, case.ceil_mode)
    for dtype in dtypes_of(be, p not in (1, 2)):
        x = held(RNG.uniform(0.25, 2, case.shape), dtype)
        exact = norms(x, case, p)
        near(forward(on(be, x, dtype), *options), exact, dtype, 64, 4)
        grad = held(RNG.uniform(-2, 2, exact.shape), dtype)
        by_x = gradient(lambda x, grad=grad: float((norms(x, case, p) * grad).sum()), x)  # type: ignore[misc]
        got = backward(on(be, grad, dtype), on(be, x, dtype), *options)
        # Differences give fewer digits than float64 has.
        if dtype == "float64":
            np.testing.assert_allclose(got.numpy(), by_x, 0, 1e-7)
        else:
            near(got, by_x, dtype, 128, 8)


def test_norms_of_zeros(be: Backend) -> None:
    x = on(be, np.zeros((1, 1, 4)))
    near(tw.nn.lp_pool1d(x, 2, 2), [[[0, 0]]], "float32")
    near(tw.nn.lp_pool1d_backward(on(be, [[[1.0, 2]]]), x, 2, 2), np.zeros((1, 1, 4)), "float32")


def test_squares_of_16_bits_do_not_overflow(be: Backend) -> None:
    x = on(be, np.full((1, 1, 4), 1000.0), "float16")
    near(tw.nn.lp_pool1d(x, 2, 2), held(np.full((1, 1, 2), 1000 * 2**0.5), "float16"), "float16")
    got = tw.nn.local_response_norm(x, 1, 1.0, 0.5, 0.0)
    near(got, np.ones((1, 1, 4)), "float16", 8)


def response(x: Host, size: int, alpha: float, beta: float, k: float) -> Host:
    means = np.zeros(x.shape)
    for c in range(x.shape[1]):
        first, past = max(0, c - size // 2), min(x.shape[1], c + (size - 1) // 2 + 1)
        means[:, c] = (x[:, first:past] ** 2).sum(axis=1) / size
    return np.asarray(x / (k + alpha * means) ** beta)


@pytest.mark.parametrize(
    ("shape", "options"),
    [((2, 5, 3, 4), (3, 0.5, 0.75, 1.0)), ((1, 7, 6), (4, 1.0, 0.5, 2.0)),
     ((1, 3, 2, 2, 2), (9, 0.1, 1.0, 0.5)), ((2, 4, 1), (1, 1e-4, 0.75, 1.0)),
     ((0, 3, 4), (3, 0.5, 0.75, 1.0))],
)  # fmt: skip
def test_local_response_norm(
    be: Backend, shape: tuple[int, ...], options: tuple[int, float, float, float]
) -> None:
    for dtype in dtypes_of(be):
        x = held(RNG.uniform(-2, 2, shape), dtype)
        grad = held(RNG.uniform(-2, 2, shape), dtype)
        a, g = on(be, x, dtype), on(be, grad, dtype)
        near(tw.nn.local_response_norm(a, *options), response(x, *options), dtype, 32, 2)
        by_x = gradient(
            lambda x, grad=grad: float((response(x, *options) * grad).sum()),
            x,  # type: ignore[misc]
        )
        got = tw.nn.local_response_norm_backward(g, a, *options)
        if dtype == "float64":
            np.testing.assert_allclose(got.numpy(), by_x, 0, 1e-7)
        else:
            near(got, by_x, dtype, 64, 4)


def test_wrong_arguments(be: Backend) -> None:
    x, nn = on(be, np.ones((1, 2, 6, 6))), tw.nn
    calls: list[tuple[str, Callable[[], Any]]] = [
        ("lp_pool2d: x is int32, expected floats", lambda: nn.lp_pool2d(x.astype("int32"), 2, 2)),
        ("lp_pool2d: norm_type is 0.0, expected a finite", lambda: nn.lp_pool2d(x, 0, 2)),
        ("lp_pool2d: norm_type is 'x'.*, expected a number", lambda: nn.lp_pool2d(x, "x", 2)),
        ("lp_pool1d: x has shape", lambda: nn.lp_pool1d(x, 2, 2)),
        ("lp_pool2d_backward: grad has shape", lambda: nn.lp_pool2d_backward(x, x, 2, 2)),
        ("local_response_norm: size is 0", lambda: nn.local_response_norm(x, 0)),
        ("local_response_norm: x has shape .6, 6.", lambda: nn.local_response_norm(x[0, 0], 2)),
        ("local_response_norm: alpha is None", lambda: nn.local_response_norm(x, 2, None)),
        ("local_response_norm_backward: x has shape",
         lambda: nn.local_response_norm_backward(x, x[0], 2)),
    ]  # fmt: skip
    for message, call in calls:
        with pytest.raises(InvalidArgument, match=message):
            call()
