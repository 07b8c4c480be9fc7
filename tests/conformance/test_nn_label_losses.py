"""Losses of labels, of margins between classes and of normal distributions, and their gradients,
against NumPy in float64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tilewright as tw
from tilewright import Backend, IndexOutOfRange, InvalidArgument

from .networks import Host, near, on
from .pair_losses import check, reduced

RNG = np.random.default_rng(20261204)
START = RNG.bit_generator.state
REDUCTIONS = ("none", "mean", "sum")


@pytest.fixture(autouse=True)
def the_same_draws() -> None:
    """Whichever tests came before."""
    RNG.bit_generator.state = START


def likelihood(x: Host, t: Host, var: Host, eps: float, full: bool) -> Host:
    whole = np.maximum(var, eps)
    if var.shape == x.shape[:-1] and var.shape != x.shape:
        whole = whole[..., None]
    found = 0.5 * (np.log(whole) + (x - t) ** 2 / whole)
    return np.asarray(found + (0.5 * np.log(2 * np.pi) if full else 0))


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("shape", [(4, 5), (4,), (4, 1)])
def test_gaussian_nll_loss(be: Backend, shape: tuple[int, ...], reduction: str) -> None:
    nn = tw.nn
    for full in (False, True):
        check(
            be, RNG, nn.gaussian_nll_loss,
            lambda g, x, t, v, **how: nn.gaussian_nll_loss_backward(g, x, t, v, **how),
            lambda x, t, v, full=full: reduced(likelihood(x, t, v, 0.01, full), reduction),
            [RNG.uniform(-2, 2, (4, 5)), RNG.uniform(-2, 2, (4, 5)), RNG.uniform(0.2, 2, shape)],
            {"eps": 0.01, "full": full, "reduction": reduction}, (0, 2), True, 32,
        )  # fmt: skip


def test_small_variances(be: Backend) -> None:
    """Count as eps, and so do their gradients, as torch has it."""
    x, t = on(be, [1.0, 2.0]), on(be, [0.0, 0.0])
    near(tw.nn.gaussian_nll_loss(x, t, on(be, [0.0, 0.5]), eps=0.5, reduction="none"),
         [0.5 * np.log(0.5) + 1, 0.5 * np.log(0.5) + 4], "float32")  # fmt: skip
    found = tw.nn.gaussian_nll_loss_backward(1, x, t, on(be, [0.0, 0.5]), eps=0.5, reduction="sum")
    near(found.input, [2, 4], "float32")
    near(found.var, [-1, -7], "float32")
    found = tw.nn.gaussian_nll_loss_backward(1, x, t, 2.0, reduction="sum")
    near(found.input, [0.5, 1], "float32")
    assert found.var is None
    near(tw.nn.gaussian_nll_loss(x, t, 2.0), 0.5 * np.log(2) + 0.625, "float32")


def soft_margin(x: Host, t: Host, weight: Any = 1.0) -> Host:
    def softplus(one: Host) -> Host:
        return np.asarray(np.maximum(one, 0) + np.log1p(np.exp(-abs(one))))

    return np.asarray(((t * softplus(-x) + (1 - t) * softplus(x)) * weight).mean(axis=-1))


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("shape", [(4, 5), (5,), (2, 3, 5)])
def test_multilabel_soft_margin_loss(be: Backend, shape: tuple[int, ...], reduction: str) -> None:
    nn = tw.nn
    x, t = RNG.uniform(-4, 4, shape), RNG.integers(0, 2, shape) * 1.0
    forward, backward = nn.multilabel_soft_margin_loss, nn.multilabel_soft_margin_loss_backward
    check(
        be, RNG, forward, backward, lambda x, t: reduced(soft_margin(x, t), reduction), [x, t],
        {"reduction": reduction}, (0,),
    )  # fmt: skip
    check(
        be, RNG, lambda x, t, w, **how: forward(x, t, weight=w, **how),
        lambda g, x, t, w, **how: backward(g, x, t, weight=w, **how),
        lambda x, t, w: reduced(soft_margin(x, t, w), reduction), [x, t, RNG.uniform(0, 2, 5)],
        {"reduction": reduction}, (0,),
    )  # fmt: skip


def margins(x: Host, t: Host, p: int, margin: float, weight: Any = None) -> Host:
    found = np.zeros(t.shape)
    for place in np.ndindex(t.shape):
        goal = int(t[place])
        for j in range(x.shape[-1]):
            if j != goal:
                lack = max(0.0, margin - x[place][goal] + x[place][j]) ** p
                found[place] += lack * (1 if weight is None else weight[goal]) / x.shape[-1]
    return found


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("p", [1, 2])
def test_multi_margin_loss(be: Backend, p: int, reduction: str) -> None:
    nn = tw.nn
    forward, backward = nn.multi_margin_loss, nn.multi_margin_loss_backward
    for shape in ((4, 5), (5,)):
        x, t = RNG.uniform(-2, 2, shape), RNG.integers(0, 5, shape[:-1])
        target = on(be, t, "int32")
        check(
            be, RNG, lambda x, t=target, **how: forward(x, t, **how),
            lambda g, x, t=target, **how: backward(g, x, t, **how),
            lambda x, t=t: reduced(margins(x, t, p, 0.7), reduction), [x],
            {"p": p, "margin": 0.7, "reduction": reduction}, (0,), False,
        )  # fmt: skip
        w = RNG.uniform(0, 2, 5)
        check(
            be, RNG, lambda x, w, t=target, **how: forward(x, t, weight=w, **how),
            lambda g, x, w, t=target, **how: backward(g, x, t, weight=w, **how),
            lambda x, w, t=t: reduced(margins(x, t, p, 0.7, w), reduction), [x, w],
            {"p": p, "margin": 0.7, "reduction": reduction}, (0,), False,
        )  # fmt: skip


def test_classes_out_of_range(be: Backend) -> None:
    x = on(be, np.ones((2, 3)))
    for wrong in (3, -1, -100):
        for call in (
            lambda w=wrong: tw.nn.multi_margin_loss(x, on(be, [0, w], "int32")),
            lambda w=wrong: tw.nn.multi_margin_loss_backward(1, x, on(be, [0, w], "int32")),
        ):
            with pytest.raises(IndexOutOfRange, match=r"multi_margin_loss.*out of range"):
                call().numpy()
                be.synchronize()


def test_wrong_arguments(be: Backend) -> None:
    x, nn = on(be, np.ones((3, 4))), tw.nn
    t = on(be, [0, 1, 2], "int32")
    calls: list[tuple[str, Callable[[], Any]]] = [
        ("gaussian_nll_loss: target has shape .4, 3., expected .3, 4.",
         lambda: nn.gaussian_nll_loss(x, x.T, x)),
        ("gaussian_nll_loss: var has shape .4, 3., which does not broadcast",
         lambda: nn.gaussian_nll_loss(x, x, x.T)),
        ("gaussian_nll_loss: full is 1", lambda: nn.gaussian_nll_loss(x, x, x, full=1)),
        ("gaussian_nll_loss: var is 'a'", lambda: nn.gaussian_nll_loss(x, x, "a")),
        ("multilabel_soft_margin_loss: weight has shape .3,., which does not broadcast",
         lambda: nn.multilabel_soft_margin_loss(x, x, weight=x[:, 0])),
        ("multilabel_soft_margin_loss_backward: grad has shape .3, 4., expected .3,.",
         lambda: nn.multilabel_soft_margin_loss_backward(x, x, x, reduction="none")),
        ("multi_margin_loss: p is 3 .int., expected 1 or 2",
         lambda: nn.multi_margin_loss(x, t, p=3)),
        ("multi_margin_loss: target has shape .2,., expected .3,.",
         lambda: nn.multi_margin_loss(x, t[:2])),
        ("multi_margin_loss: input has shape .1, 3, 4., expected one or two",
         lambda: nn.multi_margin_loss(x[None], t)),
        ("multi_margin_loss: weight has shape .3,., expected .4,., one for each class",
         lambda: nn.multi_margin_loss(x, t, weight=x[:, 0])),
    ]  # fmt: skip
    for message, call in calls:
        with pytest.raises(InvalidArgument, match=message):
            call()
