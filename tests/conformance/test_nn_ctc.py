"""ctc_loss() and its gradient against the sum over every path."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tilewright as tw
from tilewright import Backend, IndexOutOfRange, InvalidArgument

from .networks import Host, dtypes_of, gradient, held, host, near, on

RNG = np.random.default_rng(20261209)
START = RNG.bit_generator.state


@pytest.fixture(autouse=True)
def the_same_draws() -> None:
    """Whichever tests came before."""
    RNG.bit_generator.state = START


def said(path: tuple[int, ...], blank: int) -> list[int]:
    """The labels of a path: what follows itself is one, and blanks are none."""
    return [one for one, _ in itertools.groupby(path) if one != blank]


def of_paths(log_probs: Host, labels: list[int], blank: int) -> float:
    """Of log_probs [steps, classes]."""
    total = 0.0
    for path in itertools.product(range(log_probs.shape[1]), repeat=log_probs.shape[0]):
        if said(path, blank) == labels:
            total += np.exp(sum(log_probs[t, one] for t, one in enumerate(path)))
    return -np.log(total) if total > 0 else np.inf


def losses(x: Host, labels: list[list[int]], steps: list[int], blank: int) -> Host:
    return np.array([of_paths(x[:n, i], labels[i], blank) for i, n in enumerate(steps)])


def log_softmax(x: Host) -> Host:
    return np.asarray(x - np.log(np.exp(x).sum(axis=-1, keepdims=True)))


LABELS = [[1, 2], [2, 2], [], [1]]
STEPS = [5, 4, 3, 1]


def padded(labels: list[list[int]], width: int) -> Host:
    """What is behind the labels counts nothing."""
    return np.array([one + [2] * (width - len(one)) for one in labels])


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("blank", [0, 1])
def test_values_and_gradients(be: Backend, blank: int, reduction: str) -> None:
    labels = [[one if one != blank else 0 for one in each] for each in LABELS]
    counts = [len(one) for one in labels]

    def of(x: Host) -> Host:
        found = losses(x, labels, STEPS, blank)
        if reduction == "mean":
            return np.asarray((found / np.maximum(counts, 1)).mean())
        return found if reduction == "none" else np.asarray(found.sum())

    for dtype in dtypes_of(be):
        x = held(log_softmax(RNG.uniform(-2, 2, (5, 4, 3))), dtype)
        exact = of(x)
        grad = held(RNG.uniform(0.5, 2, exact.shape), dtype)
        for targets, steps, lengths in (
            (on(be, padded(labels, 3), "int32"), on(be, STEPS, "int32"), on(be, counts, "int32")),
            (np.array([one for each in labels for one in each]), STEPS, counts),
        ):
            got = tw.nn.ctc_loss(
                on(be, x, dtype), targets, steps, lengths, blank=blank, reduction=reduction
            )
            near(got, exact, dtype, 64, 4)
            by = tw.nn.ctc_loss_backward(
                on(be, grad, dtype), on(be, x, dtype), targets, steps, lengths, blank=blank,
                reduction=reduction,
            )  # fmt: skip
            slope = gradient(lambda one, grad=grad: float((of(one) * grad).sum()), x)
            size = 1 if dtype != "float64" else 1e8
            near(by, slope, dtype, 128 * size, 4)


def test_labels_that_no_path_has(be: Backend) -> None:
    x = on(be, log_softmax(RNG.uniform(-2, 2, (2, 2, 3))))
    labels = on(be, [[1, 1], [1, 2]], "int32")
    args = (x, labels, [2, 2], [2, 2])
    exact = losses(host(x), [[1, 1], [1, 2]], [2, 2], 0)
    assert np.isinf(exact[0])
    near(tw.nn.ctc_loss(*args, reduction="none"), exact, "float32", 64)
    near(tw.nn.ctc_loss(*args, reduction="none", zero_infinity=True), [0, exact[1]], "float32", 64)
    near(tw.nn.ctc_loss(*args), np.inf, "float32")
    near(tw.nn.ctc_loss(*args, zero_infinity=True), exact[1] / 4, "float32", 64)
    by = host(tw.nn.ctc_loss_backward(1, *args, reduction="sum", zero_infinity=True))
    assert (by[:, 0] == 0).all() and (by[:, 1].sum(axis=-1) < -0.99).all()
    by = host(tw.nn.ctc_loss_backward(1, *args, reduction="sum"))
    assert np.isnan(by[:, 0]).any() and np.isfinite(by[:, 1]).all()
    # A class that is not likely at all.
    masked = np.log(np.float32([[1, 1, 1e-30], [1, 1, 1e-30]]) / 2)
    masked[:, 2] = -np.inf
    got = tw.nn.ctc_loss(on(be, masked), on(be, [1], "int32"), 2, 1, reduction="none")
    near(got, -np.log(0.75), "float32", 64)


def test_without_batch(be: Backend) -> None:
    x = log_softmax(RNG.uniform(-2, 2, (5, 3)))
    args = (on(be, x), on(be, [2, 1], "int32"), [5], [2])
    near(tw.nn.ctc_loss(*args, reduction="none"), of_paths(x, [2, 1], 0), "float32", 64)
    by = tw.nn.ctc_loss_backward(1, *args, reduction="none")
    near(by, gradient(lambda one: of_paths(one, [2, 1], 0), x), "float32", 256)


def test_long_sequences(be: Backend) -> None:
    """Of steps that are all alike: each path is as likely, and as many are as there are ways to
    place the labels."""
    steps = 300
    x = np.full((steps, 1, 2), np.log(0.5))
    got = tw.nn.ctc_loss(on(be, x), on(be, [[1]], "int32"), [steps], [1], reduction="none")
    exact = steps * np.log(2) - np.log(steps * (steps + 1) / 2)
    near(got, [exact], "float32", 512)


def test_one_launch_a_step(be: Backend) -> None:
    x, labels = on(be, log_softmax(np.ones((40, 3, 5)))), on(be, np.ones((3, 4)), "int32")
    steps, counts = on(be, [40, 40, 30], "int32"), on(be, [4, 2, 1], "int32")
    for most, call in (
        (40 + 24, lambda: tw.nn.ctc_loss(x, labels, steps, counts)),
        (80 + 40, lambda: tw.nn.ctc_loss_backward(1, x, labels, steps, counts)),
    ):
        call()
        be.synchronize()
        with be.profile() as profile:
            call()
            be.synchronize()
        assert len(profile.records) <= most, len(profile.records)


def test_wrong_arguments(be: Backend) -> None:
    x, nn = on(be, np.zeros((5, 2, 3))), tw.nn
    labels = on(be, np.ones((2, 2)), "int32")
    calls: list[tuple[str, Callable[[], Any]]] = [
        ("ctc_loss: log_probs has shape .3,., expected 3 dim",
         lambda: nn.ctc_loss(x[0, 0], labels, [5], [2])),
        ("ctc_loss: blank is 3, expected one of the 3 classes",
         lambda: nn.ctc_loss(x, labels, [5, 5], [2, 2], blank=3)),
        ("ctc_loss: targets is float32, expected integers",
         lambda: nn.ctc_loss(x, x[0], [5, 5], [2, 2])),
        ("ctc_loss: targets has shape .1, 2, 2., expected .2, labels.",
         lambda: nn.ctc_loss(x, labels[None], [5, 5], [2, 2])),
        ("ctc_loss: input_lengths is .5, 6..*, expected 0 to 5",
         lambda: nn.ctc_loss(x, labels, [5, 6], [2, 2])),
        ("ctc_loss: target_lengths is .2, 3..*, expected 0 to 2",
         lambda: nn.ctc_loss(x, labels, [5, 5], [2, 3])),
        ("ctc_loss: target_lengths is .2, 3..*, expected 2 integers whose sum is 4",
         lambda: nn.ctc_loss(x, labels.reshape(-1), [5, 5], [2, 3])),
        ("ctc_loss: target_lengths is an Array, expected the host's",
         lambda: nn.ctc_loss(x, labels.reshape(-1), [5, 5], labels[0])),
        ("ctc_loss_backward: grad has shape .5, 2, 3., expected .2,.",
         lambda: nn.ctc_loss_backward(x, x, labels, [5, 5], [2, 2], reduction="none")),
    ]  # fmt: skip
    for message, call in calls:
        with pytest.raises(InvalidArgument, match=message):
            call()
    with pytest.raises(IndexOutOfRange, match="ctc_loss: index"):
        nn.ctc_loss(x, labels + 2, [5, 5], [2, 2]).numpy()
        be.synchronize()
