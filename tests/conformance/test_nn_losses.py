"""Losses of two Arrays and their gradients against NumPy in float64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
import tilewright as tw
from tilewright import Backend, InvalidArgument

from .networks import Host, derivative, dtypes_of, held, near, on

RNG = np.random.default_rng(20261127)
START = RNG.bit_generator.state


@pytest.fixture(autouse=True)
def the_same_draws() -> None:
    """Whichever tests came before."""
    RNG.bit_generator.state = START


def softplus(x: Host) -> Host:
    return np.asarray(np.maximum(x, 0) + np.log1p(np.exp(-abs(x))))


def smooth(x: Host, y: Host, beta: float) -> Host:
    off = abs(x - y)
    if beta == 0:
        return off
    return np.asarray(np.where(off < beta, off**2 / beta / 2, off - beta / 2))


def huber(x: Host, y: Host, delta: float) -> Host:
    off = abs(x - y)
    return np.asarray(np.where(off <= delta, off**2 / 2, delta * (off - delta / 2)))


def entropy(p: Host, t: Host) -> Host:
    with np.errstate(divide="ignore"):
        return -(t * np.maximum(np.log(p), -100) + (1 - t) * np.maximum(np.log1p(-p), -100))


def logit_entropy(x: Host, t: Host, pos_weight: Any = 1.0) -> Host:
    return np.asarray((1 - t) * softplus(x) + pos_weight * t * softplus(-x))


def divergence(x: Host, t: Host) -> Host:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(t == 0, 0, t * (np.log(t) - x)))


class Case(NamedTuple):
    of: Callable[..., Host]
    options: dict[str, Any] = {}  # noqa: RUF012
    low: float = -3
    high: float = 3
    is_share: bool = False
    """Whether targets lie from 0 to 1."""
    are_signs: bool = False
    exponentials: bool = False


CASES: dict[str, Case] = {
    "mse_loss": Case(lambda x, y: (x - y) ** 2),
    "l1_loss": Case(lambda x, y: abs(x - y)),
    "smooth_l1_loss": Case(lambda x, y: smooth(x, y, 1)),
    "smooth_l1_loss of 0.3": Case(lambda x, y: smooth(x, y, 0.3), {"beta": 0.3}),
    "smooth_l1_loss of 0": Case(lambda x, y: smooth(x, y, 0), {"beta": 0}),
    "huber_loss": Case(lambda x, y: huber(x, y, 1)),
    "huber_loss of 2": Case(lambda x, y: huber(x, y, 2), {"delta": 2.0}),
    "binary_cross_entropy": Case(entropy, {}, 0.05, 0.95, True, exponentials=True),
    "binary_cross_entropy_with_logits": Case(logit_entropy, {}, -8, 8, True, exponentials=True),
    "kl_div": Case(divergence, {}, -5, 0, True, exponentials=True),
    "kl_div of logarithms": Case(
        lambda x, t: np.exp(t) * (t - x), {"log_target": True}, -5, 0, exponentials=True
    ),
    "soft_margin_loss": Case(
        lambda x, t: softplus(-t * x), {}, -8, 8, are_signs=True, exponentials=True
    ),
    "hinge_embedding_loss": Case(
        lambda x, t: np.where(t == 1, x, np.maximum(0, 2.5 - x)),
        {"margin": 2.5},
        0,
        2.4,
        are_signs=True,
    ),
    "poisson_nll_loss": Case(lambda x, t: np.exp(x) - t * x, {}, -2, 2, exponentials=True),
    "poisson_nll_loss of rates": Case(
        lambda x, t: x - t * np.log(x + 1e-2),
        {"log_input": False, "eps": 1e-2},
        0.25,
        4,
        exponentials=True,
    ),
}


def calls_of(name: str) -> tuple[Callable[..., tw.Array], Callable[..., tw.Array]]:
    plain = name.split()[0]
    return getattr(tw.nn, plain), getattr(tw.nn, f"{plain}_backward")


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", CASES)
def test_values_and_gradients(be: Backend, name: str) -> None:
    of, options, low, high, is_share, are_signs, exponentials = CASES[name]
    forward, backward = calls_of(name)
    for dtype in dtypes_of(be, exponentials):
        shape = (11, 5)
        x = held(RNG.uniform(low, high, shape), dtype)
        t = held(RNG.uniform(*((0, 1) if is_share else (low, high)), shape), dtype)
        t = np.where(t > (low + high) / 2, 1, -1) * 1.0 if are_signs else t
        # Kinks are where differences are 0, 0.3, 1 or 2.
        off = abs(x - t)
        for kink in (0, 0.3, 1, 2) if not (is_share or are_signs) else ():
            t = np.where(abs(off - kink) < 0.05, held(x - 0.5, dtype), t)
        a, b = on(be, x, dtype), on(be, t, dtype)
        exact, slope = of(x, t), derivative(lambda one, t=t: of(one, t), x)
        more = 2 if not exponentials else 8
        near(forward(a, b, reduction="none", **options), exact, dtype, 8 * more)
        near(forward(a, b, reduction="sum", **options), exact.sum(), dtype, 16 * more,
             abs(exact).sum())  # fmt: skip
        near(forward(a, b, **options), exact.mean(), dtype, 16 * more, abs(exact).mean())
        size = 1 if dtype != "float64" else 1e9  # differences have 8 digits
        grad = held(RNG.uniform(-2, 2, shape), dtype)
        largest = abs(slope).max() * 2
        near(backward(on(be, grad, dtype), a, b, reduction="none", **options), grad * slope, dtype,
             16 * more * size, largest)  # fmt: skip
        near(backward(1.5, a, b, **options), 1.5 * slope / x.size, dtype, 16 * more * size,
             largest / x.size)  # fmt: skip
        near(backward(on(be, 2, dtype), a, b, reduction="sum", **options), 2 * slope, dtype,
             16 * more * size, largest)  # fmt: skip


def test_weights(be: Backend) -> None:
    x, t = RNG.uniform(-5, 5, (4, 6)), RNG.uniform(0, 1, (4, 6))
    x, t, w, p = (held(one, "float32") for one in (x, t, RNG.uniform(0, 3, (4, 1)),
                                                   RNG.uniform(0, 3, 6)))  # fmt: skip
    a, b, weight, pos_weight = (on(be, one) for one in (x, t, w, p))
    exact = w * logit_entropy(x, t, p)
    call, backward = calls_of("binary_cross_entropy_with_logits")
    near(call(a, b, weight=weight, pos_weight=pos_weight, reduction="none"), exact, "float32", 64)
    near(call(a, b, weight=weight, pos_weight=pos_weight), exact.mean(), "float32", 64)
    slope = derivative(lambda one: w * logit_entropy(one, t, p), x)
    near(backward(1, a, b, weight=weight, pos_weight=pos_weight, reduction="sum"), slope,
         "float32", 64)  # fmt: skip
    call, backward = calls_of("mse_loss")
    # torch's mean of these two is over the sum of the weights.
    total = np.broadcast_to(w, x.shape).sum()
    near(call(a.T, b.T, weight=weight.T), (w * (x - t) ** 2).sum() / total, "float32", 64)
    near(backward(2, a.T, b.T, weight=weight.T).T, 4 * w * (x - t) / total, "float32", 64)
    near(call(a, b, weight=weight, reduction="sum"), (w * (x - t) ** 2).sum(), "float32", 64)
    near(tw.nn.l1_loss(a, b, weight=weight), (w * abs(x - t)).sum() / total, "float32", 64)
    near(tw.nn.l1_loss_backward(3, a, b, weight=weight), 3 * w * np.sign(x - t) / total, "float32",
         64)  # fmt: skip
    one = on(be, [[1.0, 0], [0, 0]])
    near(tw.nn.mse_loss(one * 0 + 1, one * 0, weight=one), 1.0, "float32")
    near(tw.nn.huber_loss(a, b, weight=weight), (w * huber(x, t, 1)).mean(), "float32", 64)
    q = held(RNG.uniform(0.1, 0.9, (4, 6)), "float32")
    near(tw.nn.binary_cross_entropy(on(be, q), b, weight=weight), (w * entropy(q, t)).mean(),
         "float32", 64)  # fmt: skip


def test_kl_div_of_batches(be: Backend) -> None:
    x, t = RNG.uniform(-5, 0, (4, 6)), RNG.uniform(0, 1, (4, 6))
    x, t = held(x, "float32"), held(t, "float32")
    t[0, :3] = 0
    exact = divergence(x, t).sum() / 4
    near(tw.nn.kl_div(on(be, x), on(be, t), reduction="batchmean"), exact, "float32", 64)
    got = tw.nn.kl_div_backward(1, on(be, x), on(be, t), reduction="batchmean")
    near(got, -t / 4, "float32")


def test_extremes(be: Backend) -> None:
    x = np.array([-np.inf, -1e4, -100, 100, 1e4, np.inf, np.nan])
    for t, exact in ((0.0, [0, 0, 0, 100, 1e4, np.inf, np.nan]),
                     (1.0, [np.inf, 1e4, 100, 0, 0, 0, np.nan])):  # fmt: skip
        a, b = on(be, x), on(be, np.full(7, t))
        got = tw.nn.binary_cross_entropy_with_logits(a, b, reduction="none")
        near(got, exact, "float32")
        got = tw.nn.binary_cross_entropy_with_logits_backward(1, a, b, reduction="sum")
        slope = np.float64([0, 0, 0, 1, 1, 1, np.nan]) - t
        near(got, slope, "float32")
    p, t = np.array([0.0, 1, 0, 1, -0.5, 1.5]), np.array([0.0, 1, 1, 0, 0.5, 0.5])
    got = tw.nn.binary_cross_entropy(on(be, p), on(be, t), reduction="none")
    near(got, [0, 0, 100, 100, np.nan, np.nan], "float32")
    slope = tw.nn.binary_cross_entropy_backward(1, on(be, p[:4]), on(be, t[:4]), reduction="sum")
    assert np.isfinite(slope.numpy()).all()
    far = on(be, [1e4, -1e4]).astype("float16")
    # Sums of float16 are of float32.
    near(tw.nn.l1_loss(far, far * 0), 1e4, "float16")
    near(tw.nn.huber_loss(on(be, [np.inf]), on(be, [0.0])), np.inf, "float32")


def test_nothing(be: Backend) -> None:
    empty = on(be, np.ones((0, 3)))
    near(tw.nn.mse_loss(empty, empty, reduction="sum"), 0.0, "float32")
    near(tw.nn.mse_loss(empty, empty), np.nan, "float32")
    near(tw.nn.mse_loss(empty, empty, reduction="none"), np.ones((0, 3)), "float32")
    near(tw.nn.mse_loss_backward(1, empty, empty), np.ones((0, 3)), "float32")
    one = on(be, 3.0)
    near(tw.nn.mse_loss(one, one * 0), 9.0, "float32")
    near(tw.nn.mse_loss_backward(1, one, one * 0), 6.0, "float32")


def test_launches(be: Backend) -> None:
    """A mean is one reduction of a program, whatever the loss is, of few elements."""
    x, t = (on(be, held(RNG.uniform(0, 1, (30, 20)), "float32")) for _ in range(2))
    calls: list[Callable[[], Any]] = [
        lambda: tw.nn.binary_cross_entropy_with_logits(x[::2], t[::2]),
        lambda: tw.nn.smooth_l1_loss_backward(1, x[::2], t[::2]),
    ]
    for call in calls:
        be.synchronize()
        with be.profile() as profile:
            call()
            be.synchronize()
        assert len(profile.records) == 1, profile.records


def test_wrong_arguments(be: Backend) -> None:
    x, nn = on(be, np.ones((3, 4))), tw.nn
    calls: list[tuple[str, Callable[[], Any]]] = [
        ("mse_loss: input is .*, expected an Array", lambda: nn.mse_loss(1.0, x)),
        ("mse_loss: target has shape .4, 3., expected .3, 4. as input has",
         lambda: nn.mse_loss(x, x.T)),
        ("l1_loss: target is float16, expected float32 as input is",
         lambda: nn.l1_loss(x, x.astype("float16"))),
        ("l1_loss: target is int32, expected floats", lambda: nn.l1_loss(x, x.astype("int32"))),
        ("mse_loss: reduction is 'max'.*, expected 'none', 'mean' or 'sum'",
         lambda: nn.mse_loss(x, x, reduction="max")),
        ("mse_loss: reduction is 'batchmean'", lambda: nn.mse_loss(x, x, reduction="batchmean")),
        ("mse_loss: weight has shape .3,., which does not broadcast to .3, 4.",
         lambda: nn.mse_loss(x, x, weight=x[:, 0])),
        ("smooth_l1_loss: beta is -1.0, expected 0 or more",
         lambda: nn.smooth_l1_loss(x, x, beta=-1)),
        ("huber_loss: delta is 0.0, expected more than 0", lambda: nn.huber_loss(x, x, delta=0)),
        ("huber_loss_backward: delta is nan",
         lambda: nn.huber_loss_backward(1, x, x, delta=np.nan)),
        ("hinge_embedding_loss: margin is None, expected a number",
         lambda: nn.hinge_embedding_loss(x, x, margin=None)),
        ("poisson_nll_loss: log_input is 1", lambda: nn.poisson_nll_loss(x, x, log_input=1)),
        ("poisson_nll_loss: eps is 'a'", lambda: nn.poisson_nll_loss(x, x, eps="a")),
        ("poisson_nll_loss: eps is -1.0",
         lambda: nn.poisson_nll_loss(x, x, log_input=False, eps=-1)),
        ("kl_div: log_target is 1.*, expected True or False",
         lambda: nn.kl_div(x, x, log_target=1)),
        ("mse_loss_backward: grad has shape .3, 4., expected .. as the loss has",
         lambda: nn.mse_loss_backward(x, x, x)),
        ("mse_loss_backward: grad has shape .., expected .3, 4. as the loss has",
         lambda: nn.mse_loss_backward(x[0, 0], x, x, reduction="none")),
        ("mse_loss_backward: grad is None, expected a number",
         lambda: nn.mse_loss_backward(None, x, x)),
        ("mse_loss_backward: grad is int32, expected floats",
         lambda: nn.mse_loss_backward(x[0, 0].astype("int32"), x, x)),
    ]  # fmt: skip
    for message, call in calls:
        with pytest.raises(InvalidArgument, match=message):
            call()
