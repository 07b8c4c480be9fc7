"""Similarities and distances of lines, losses of these, and their gradients, against NumPy in
float64."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tilewright as tw
from tilewright import Backend, InvalidArgument

from .networks import Host, near, on
from .pair_losses import check, reduced

RNG = np.random.default_rng(20261203)
START = RNG.bit_generator.state
REDUCTIONS = ("none", "mean", "sum")


@pytest.fixture(autouse=True)
def the_same_draws() -> None:
    """Whichever tests came before."""
    RNG.bit_generator.state = START


def cosine(x: Host, y: Host, axis: int = 1, eps: float = 1e-8) -> Host:
    lengths = [np.maximum(np.sqrt((one**2).sum(axis=axis)), eps) for one in (x, y)]
    return np.asarray((x * y).sum(axis=axis) / lengths[0] / lengths[1])


def distance(x: Host, y: Host, p: float = 2.0, eps: float = 1e-6) -> Host:
    return np.asarray((abs(x - y + eps) ** p).sum(axis=-1) ** (1 / p))


def draw(*shape: int) -> Host:
    return RNG.uniform(0.5, 2, shape) * RNG.choice([-1, 1], shape)


SHAPES = [
    ((3, 5), (3, 5), 1), ((2, 4, 3), (2, 4, 3), 1), ((6,), (6,), 0), ((2, 1, 5), (3, 5), -1),
    ((2, 70), (2, 70), 0),
]  # fmt: skip


@pytest.mark.parametrize(("first", "second", "axis"), SHAPES)
def test_cosine_similarity(
    be: Backend, first: tuple[int, ...], second: tuple[int, ...], axis: int
) -> None:
    nn = tw.nn
    check(
        be, RNG, nn.cosine_similarity, nn.cosine_similarity_backward,
        lambda x, y: cosine(x, y, axis), [draw(*first), draw(*second)], {"dim": axis}, (0, 1),
    )  # fmt: skip


def test_cosines_of_all_sizes(be: Backend) -> None:
    """No square overflows, and lines shorter than eps are measured by that."""
    x = np.float32([[3e30, 4e30], [3e-30, 4e-30], [0, 0], [3, 4]])
    y = np.float32([[1e38, 0], [1, 0], [1, 1], [-4, 3]])
    found = tw.nn.cosine_similarity(on(be, x), on(be, y))
    near(found, [0.6, 3e-22, 0, 0], "float32", 8)
    near(tw.nn.cosine_similarity(on(be, x[3:]), on(be, x[3:]), eps=10), [0.25], "float32")
    # Where a length is eps it has no slope.
    found = tw.nn.cosine_similarity_backward(on(be, [2.0]), on(be, x[3:]), on(be, x[3:]), eps=10)
    near(found.x1, [[0.06, 0.08]], "float32")
    nothing = on(be, np.ones((0, 3)))
    assert tw.nn.cosine_similarity(nothing, nothing).shape == (0,)
    near(tw.nn.cosine_similarity(nothing, nothing, 0), np.zeros(3), "float32")


@pytest.mark.parametrize("p", [1.0, 2.0, 3.0, 0.7])
def test_pairwise_distance(be: Backend, p: float) -> None:
    nn = tw.nn
    for first, second in (((3, 5), (3, 5)), ((7,), (7,)), ((2, 1, 4), (3, 4))):
        x = draw(*first)
        y = RNG.uniform(3, 5, second)  # far from where sizes have no slope
        check(
            be, RNG, nn.pairwise_distance, nn.pairwise_distance_backward,
            lambda x, y: distance(x, y, p), [x, y], {"p": p}, (0, 1), p not in (1.0, 2.0), 16,
        )  # fmt: skip
    kept = nn.pairwise_distance(on(be, np.ones((2, 3))), on(be, np.zeros((2, 3))), 1, 0, True)
    near(kept, [[3], [3]], "float32")
    near(nn.pairwise_distance(kept * 1e30, kept * 0, 2), [3e30, 3e30], "float32")


def test_no_distance_has_no_slope(be: Backend) -> None:
    x = on(be, np.ones((2, 3)))
    for p in (1, 2, 3):
        found = tw.nn.pairwise_distance_backward(on(be, [1.0, 1.0]), x, x, p, 0)
        near(found.x1, np.zeros((2, 3)), "float32")


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_cosine_embedding_loss(be: Backend, reduction: str) -> None:
    nn = tw.nn

    def of(x: Host, y: Host, t: Host) -> Host:
        squares = [(one**2).sum(axis=-1) + 1e-12 for one in (x, y)]
        like = (x * y).sum(axis=-1) / np.sqrt(squares[0] * squares[1])
        return reduced(np.where(t == 1, 1 - like, np.maximum(like + 0.1, 0)), reduction)

    goal = np.array([1.0, -1, 1, -1, -1, -1])
    check(
        be, RNG, nn.cosine_embedding_loss, nn.cosine_embedding_loss_backward, of,
        [draw(6, 5), draw(6, 5), goal], {"margin": -0.1, "reduction": reduction}, (0, 1), False,
    )  # fmt: skip
    check(
        be, RNG, nn.cosine_embedding_loss, nn.cosine_embedding_loss_backward, of,
        [draw(5), draw(5), np.array(1.0)], {"margin": -0.1, "reduction": reduction}, (0, 1), False,
    )  # fmt: skip


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_margin_ranking_loss(be: Backend, reduction: str) -> None:
    nn = tw.nn

    def of(x: Host, y: Host, t: Host) -> Host:
        return reduced(np.maximum(0, -t * (x - y) + 0.3), reduction)

    goal = RNG.choice([-1.0, 1.0], (4, 5))
    check(
        be, RNG, nn.margin_ranking_loss, nn.margin_ranking_loss_backward, of,
        [draw(4, 5), draw(4, 5), goal], {"margin": 0.3, "reduction": reduction}, (0, 1), False,
    )  # fmt: skip


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize(("p", "swap"), list(itertools.product([1.0, 2.0, 3.0], [False, True])))
def test_triplet_margin_loss(be: Backend, p: float, swap: bool, reduction: str) -> None:
    nn = tw.nn

    def of(a: Host, b: Host, c: Host) -> Host:
        far = distance(a, c, p)
        far = np.minimum(far, distance(b, c, p)) if swap else far
        return reduced(np.maximum(0, distance(a, b, p) - far + 1.5), reduction)

    # All differences are far from 0.
    a, b, c = RNG.uniform(0, 1, (6, 5)), RNG.uniform(2, 3, (6, 5)), RNG.uniform(4, 4.5, (6, 5))
    a[3:] = RNG.uniform(6, 6.3, (3, 5))
    options = {"margin": 1.5, "p": p, "swap": swap, "reduction": reduction}
    check(
        be, RNG, nn.triplet_margin_loss, nn.triplet_margin_loss_backward, of, [a, b, c], options,
        (0, 1, 2), p == 3.0, 32,
    )  # fmt: skip


def test_few_launches(be: Backend) -> None:
    nn = tw.nn
    x, y, z = (on(be, draw(6, 5)) for _ in range(3))
    goal, came = on(be, np.ones(6)), on(be, np.ones(6))
    calls: list[tuple[int, Callable[[], Any]]] = [
        (1, lambda: nn.cosine_similarity(x, y)),
        (2, lambda: nn.cosine_similarity_backward(came, x, y)),
        (1, lambda: nn.pairwise_distance(x, y)),
        (2, lambda: nn.pairwise_distance_backward(came, x, y)),
        (2, lambda: nn.triplet_margin_loss(x, y, z, swap=True)),
        (2, lambda: nn.triplet_margin_loss_backward(1, x, y, z, swap=True)),
        (2, lambda: nn.cosine_embedding_loss(x, y, goal)),
        (2, lambda: nn.cosine_embedding_loss_backward(1, x, y, goal)),
        (1, lambda: nn.margin_ranking_loss(x, y, z)),
        (1, lambda: nn.margin_ranking_loss_backward(1, x, y, z)),
    ]
    for launches, call in calls:
        call()
        be.synchronize()
        with be.profile() as profile:
            call()
            be.synchronize()
        assert len(profile.records) <= launches, [one.name for one in profile.records]


def test_wrong_arguments(be: Backend) -> None:
    x, y, nn = on(be, np.ones((3, 4))), on(be, np.ones((2, 5))), tw.nn
    goal = on(be, np.ones(3))
    calls: list[tuple[str, Callable[[], Any]]] = [
        ("cosine_similarity: x2 has shape .2, 5., which does not broadcast with .3, 4.",
         lambda: nn.cosine_similarity(x, y)),
        ("cosine_similarity: x2 is float16, expected float32 as x1 is",
         lambda: nn.cosine_similarity(x, x.astype("float16"))),
        ("cosine_similarity: eps is -1.0", lambda: nn.cosine_similarity(x, x, eps=-1)),
        ("cosine_similarity: dim is 2", lambda: nn.cosine_similarity(x, x, 2)),
        ("cosine_similarity_backward: grad has shape .3, 4., expected .3,.",
         lambda: nn.cosine_similarity_backward(x, x, x)),
        ("pairwise_distance: p is inf, expected a finite number",
         lambda: nn.pairwise_distance(x, x, np.inf)),
        ("pairwise_distance: keepdim is 1", lambda: nn.pairwise_distance(x, x, keepdim=1)),
        ("cosine_embedding_loss: target has shape .3, 4., expected .3,.",
         lambda: nn.cosine_embedding_loss(x, x, x)),
        ("cosine_embedding_loss: input1 has shape .3, 4. and input2 .2, 5.",
         lambda: nn.cosine_embedding_loss(x, y, goal)),
        ("margin_ranking_loss: input2 has shape .2, 5., expected .3, 4.",
         lambda: nn.margin_ranking_loss(x, y, x)),
        ("margin_ranking_loss: reduction is 'all'",
         lambda: nn.margin_ranking_loss(x, x, x, reduction="all")),
        ("triplet_margin_loss: negative has shape .2, 5., expected .3, 4.",
         lambda: nn.triplet_margin_loss(x, x, y)),
        ("triplet_margin_loss: p is 0.0", lambda: nn.triplet_margin_loss(x, x, x, p=0)),
        ("triplet_margin_loss_backward: grad has shape .3,., expected ..",
         lambda: nn.triplet_margin_loss_backward(goal, x, x, x)),
    ]  # fmt: skip
    for message, call in calls:
        with pytest.raises(InvalidArgument, match=message):
            call()
