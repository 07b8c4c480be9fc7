"""bilinear() and its gradients against NumPy in float64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tilewright as tw
from tilewright import Backend, InvalidArgument

from .networks import Host, on
from .pair_losses import check

RNG = np.random.default_rng(20261207)
START = RNG.bit_generator.state


@pytest.fixture(autouse=True)
def the_same_draws() -> None:
    """Whichever tests came before."""
    RNG.bit_generator.state = START


def form(x: Host, y: Host, w: Host, b: Any = 0.0) -> Host:
    return np.asarray(np.einsum("...i,kij,...j->...k", x, w, y) + b)


@pytest.mark.parametrize("lead", [(4,), (2, 3), ()])
def test_bilinear(be: Backend, lead: tuple[int, ...]) -> None:
    hosts = [RNG.uniform(-1, 1, shape) for shape in ((*lead, 5), (*lead, 3), (6, 5, 3), (6,))]
    nn = tw.nn
    check(
        be, RNG, nn.bilinear, lambda g, x, y, w, b: nn.bilinear_backward(g, x, y, w), form, hosts,
        {}, (0, 1, 2, 3), False, 16,
    )  # fmt: skip
    check(
        be, RNG, nn.bilinear, nn.bilinear_backward, form, hosts[:3], {}, (0, 1, 2), False, 16
    )  # fmt: skip


def test_wanted(be: Backend) -> None:
    x, y, w = on(be, np.ones((2, 3))), on(be, np.ones((2, 4))), on(be, np.ones((5, 3, 4)))
    grad = on(be, np.ones((2, 5)))
    found = tw.nn.bilinear_backward(grad, x, y, w, wanted=(False, True, False, True))
    assert found.input1 is None and found.weight is None
    assert found.input2 is not None and found.bias is not None
    np.testing.assert_array_equal(found.input2.numpy(), np.full((2, 4), 15))
    np.testing.assert_array_equal(found.bias.numpy(), np.full(5, 2))


def test_wrong_arguments(be: Backend) -> None:
    x, y, w = on(be, np.ones((2, 3))), on(be, np.ones((2, 4))), on(be, np.ones((5, 3, 4)))
    nn = tw.nn
    calls: list[tuple[str, Callable[[], Any]]] = [
        ("bilinear: weight has shape .3, 4., expected three", lambda: nn.bilinear(x, y, w[0])),
        ("bilinear: weight has shape .5, 3, 4., expected .results, 4, 3.",
         lambda: nn.bilinear(y, x, w)),
        ("bilinear: input1 has shape .2, 3. and input2 .1, 4., expected lines alike",
         lambda: nn.bilinear(x, y[:1], w)),
        ("bilinear: bias has shape .2, 3., expected .5,.", lambda: nn.bilinear(x, y, w, x)),
        ("bilinear_backward: grad has shape .2, 3., expected .2, 5.",
         lambda: nn.bilinear_backward(x, x, y, w)),
        ("bilinear_backward: wanted is True",
         lambda: nn.bilinear_backward(x, x, y, w, wanted=True)),
    ]  # fmt: skip
    for message, call in calls:
        with pytest.raises(InvalidArgument, match=message):
            call()
