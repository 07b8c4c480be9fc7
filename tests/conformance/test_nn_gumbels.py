"""gumbel_softmax() and its gradient, by the noise that a Generator gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tilewright as tw
from tilewright import Backend, InvalidArgument

from .networks import Host, dtypes_of, gradient, held, host, near, on

RNG = np.random.default_rng(20261206)
START = RNG.bit_generator.state


@pytest.fixture(autouse=True)
def the_same_draws() -> None:
    """Whichever tests came before."""
    RNG.bit_generator.state = START


def softmax(x: Host, axis: int) -> Host:
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return np.asarray(e / e.sum(axis=axis, keepdims=True))


def test_values_and_gradients(be: Backend) -> None:
    for dtype in dtypes_of(be):
        for axis in (-1, 0):
            rng = tw.random.default_rng(3, device=be)
            state = rng.state
            wide = "float64" if dtype == "float64" else "float32"
            noise = host(tw.random.default_rng(3, device=be).gumbel(size=(4, 5), dtype=wide))
            x, grad = (
                held(RNG.uniform(-2, 2, (4, 5)), dtype),
                held(RNG.uniform(-1, 1, (4, 5)), dtype),
            )
            exact = softmax((x + noise) / 0.7, axis)
            got = tw.nn.gumbel_softmax(on(be, x, dtype), 0.7, dim=axis, rng=rng)
            near(got, exact, dtype, 64)
            assert rng.state != state
            hard = tw.nn.gumbel_softmax(on(be, x, dtype), 0.7, True, axis, rng=state)
            first = np.argmax(exact, axis=axis)
            np.testing.assert_array_equal(
                np.moveaxis(host(hard), axis, -1), np.eye(exact.shape[axis])[first]
            )

            def loss(one: Host, axis: int = axis, noise: Host = noise, grad: Host = grad) -> float:
                return float((softmax((one + noise) / 0.7, axis) * grad).sum())

            size = 1 if dtype != "float64" else 1e8
            for is_hard in (False, True):
                by = tw.nn.gumbel_softmax_backward(
                    on(be, grad, dtype), on(be, x, dtype), 0.7, is_hard, axis, rng=state
                )
                near(by, gradient(loss, x), dtype, 64 * size, 2)


def test_it_draws_classes(be: Backend) -> None:
    shares = np.array([0.1, 0.2, 0.7])
    x = on(be, np.broadcast_to(np.log(shares), (4000, 3)))
    hard = tw.nn.gumbel_softmax(x, 2.0, True, rng=tw.random.default_rng(1, device=be))
    np.testing.assert_array_equal(host(hard).sum(axis=1), np.ones(4000))
    np.testing.assert_allclose(host(hard).mean(axis=0), shares, atol=0.03)


def test_wrong_arguments(be: Backend) -> None:
    x, nn = on(be, np.ones((3, 4))), tw.nn
    rng = tw.random.default_rng(1, device=be)
    calls: list[tuple[str, Callable[[], Any]]] = [
        ("gumbel_softmax: tau is 0.0, expected more than 0",
         lambda: nn.gumbel_softmax(x, 0, rng=rng)),
        ("gumbel_softmax: hard is 1", lambda: nn.gumbel_softmax(x, hard=1, rng=rng)),
        ("gumbel_softmax: rng is 3 .*, expected a Generator", lambda: nn.gumbel_softmax(x, rng=3)),
        ("gumbel_softmax: dim is 2", lambda: nn.gumbel_softmax(x, dim=2, rng=rng)),
        ("gumbel_softmax_backward: grad has shape .4, 3.",
         lambda: nn.gumbel_softmax_backward(x.T, x, rng=rng)),
    ]  # fmt: skip
    for message, call in calls:
        with pytest.raises(InvalidArgument, match=message):
            call()
