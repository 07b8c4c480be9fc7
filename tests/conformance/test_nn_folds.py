"""unfold() and fold() against loops of NumPy."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tilewright as tw
from tilewright import Backend, InvalidArgument

from .networks import Host, dtypes_of, held, host, near, on

RNG = np.random.default_rng(20261205)
START = RNG.bit_generator.state


@pytest.fixture(autouse=True)
def the_same_draws() -> None:
    """Whichever tests came before."""
    RNG.bit_generator.state = START


def two(given: Any) -> tuple[int, int]:
    return given if isinstance(given, tuple) else (given, given)


def meetings(
    lengths: tuple[int, int], window: Any, dilation: Any, padding: Any, stride: Any
) -> list[tuple[int, int, int, int]]:
    """Each tap and output that meet an element, with its row and column."""
    k, d, p, s = (two(one) for one in (window, dilation, padding, stride))
    out = [
        (n + 2 * b - (a - 1) * c - 1) // e + 1
        for n, a, c, b, e in zip(lengths, k, d, p, s, strict=True)
    ]
    found = []
    for tap, place in itertools.product(
        itertools.product(range(k[0]), range(k[1])), itertools.product(range(out[0]), range(out[1]))
    ):
        row, column = (o * a + t * b - c for o, a, t, b, c in zip(place, s, tap, d, p, strict=True))
        if 0 <= row < lengths[0] and 0 <= column < lengths[1]:
            found.append((tap[0] * k[1] + tap[1], place[0] * out[1] + place[1], row, column))
    return found


def unfolded(x: Host, window: Any, dilation: Any, padding: Any, stride: Any) -> Host:
    k, d, p, s = (two(one) for one in (window, dilation, padding, stride))
    places = 1
    for n, a, c, b, e in zip(x.shape[2:], k, d, p, s, strict=True):
        places *= (n + 2 * b - (a - 1) * c - 1) // e + 1
    found = np.zeros((*x.shape[:2], k[0] * k[1], places))
    for tap, place, row, column in meetings(x.shape[2:], window, dilation, padding, stride):
        found[:, :, tap, place] = x[:, :, row, column]
    return found.reshape(x.shape[0], -1, places)


def folded(
    x: Host, lengths: tuple[int, int], window: Any, dilation: Any, padding: Any, stride: Any
) -> Host:
    k = two(window)
    parts = x.reshape(x.shape[0], -1, k[0] * k[1], x.shape[2])
    found = np.zeros((*parts.shape[:2], *lengths))
    for tap, place, row, column in meetings(lengths, window, dilation, padding, stride):
        found[:, :, row, column] += parts[:, :, tap, place]
    return found


CASES: list[tuple[Any, Any, Any, Any]] = [
    ((2, 3), 1, 0, 1), (3, 1, 1, 1), (3, 1, 1, 2), (2, 1, 0, 2), (2, 1, 0, 3), ((5, 2), 2, 2, 1),
    (3, 2, 1, 2), ((2, 3), 3, (1, 2), 2), (4, (2, 1), 0, (3, 2)), (2, 3, 0, 4), (3, 3, 1, (4, 6)),
    (1, 1, 0, 1), ((9, 1), 1, 4, (2, 1)),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_folds(be: Backend, case: tuple[Any, Any, Any, Any]) -> None:
    lengths = (9, 10)
    for dtype in dtypes_of(be, False):
        x = held(RNG.uniform(-2, 2, (2, 3, *lengths)), dtype)
        columns = unfolded(x, *case)
        got = tw.nn.unfold(on(be, x, dtype), *case)
        assert got.dtype == dtype
        np.testing.assert_array_equal(host(got), columns)
        y = held(RNG.uniform(-2, 2, columns.shape), dtype)
        whole = folded(y, lengths, *case)
        near(tw.nn.fold(on(be, y, dtype), lengths, *case), whole, dtype, 16, 4)
        # Each is the gradient of the other.
        near(tw.nn.unfold_backward(on(be, y, dtype), lengths, *case), whole, dtype, 16, 4)
        np.testing.assert_array_equal(host(tw.nn.fold_backward(on(be, x, dtype), *case)), columns)


def test_views_and_planes_without_batch(be: Backend) -> None:
    x = RNG.uniform(-2, 2, (3, 6, 5)).astype(np.float32)
    turned = on(be, np.ascontiguousarray(x.transpose(2, 0, 1))).transpose((1, 2, 0))
    got = tw.nn.unfold(turned, 2, 1, 1, 2)
    np.testing.assert_array_equal(got.numpy(), unfolded(x[None], 2, 1, 1, 2)[0])
    back = tw.nn.fold(got, (6, 5), 2, 1, 1, 2)
    np.testing.assert_allclose(back.numpy(), x, rtol=1e-6)
    assert tw.nn.unfold(on(be, np.ones((0, 3, 4, 4))), 2).shape == (0, 12, 9)
    assert tw.nn.fold(on(be, np.ones((0, 12, 9))), 4, 2).shape == (0, 3, 4, 4)


def test_what_is_not_finite_stays_where_it_is(be: Backend) -> None:
    x = np.ones((1, 4, 9), np.float32)
    x[0, 1, 4] = np.inf
    got = tw.nn.fold(on(be, x), 4, 2).numpy()
    np.testing.assert_array_equal(np.argwhere(np.isinf(got)), [[0, 0, 1, 2]])
    assert np.isfinite(np.delete(got.reshape(-1), 6)).all()


def test_few_launches(be: Backend) -> None:
    x, columns = on(be, np.ones((1, 2, 32, 32))), on(be, np.ones((1, 50, 784)))
    for most, call in (
        (1, lambda: tw.nn.unfold(x, 5)),
        (6, lambda: tw.nn.fold(columns, 32, 5)),
    ):
        call()
        be.synchronize()
        with be.profile() as profile:
            call()
            be.synchronize()
        assert len(profile.records) <= most, [one.name for one in profile.records]


def test_wrong_arguments(be: Backend) -> None:
    x, nn = on(be, np.ones((1, 2, 6, 6))), tw.nn
    calls: list[tuple[str, Callable[[], Any]]] = [
        ("unfold: x is int32, expected floats", lambda: nn.unfold(x.astype("int32"), 2)),
        ("unfold: x has shape .6, 6., expected 4 dim", lambda: nn.unfold(x[0, 0], 2)),
        ("unfold: kernel_size is 0", lambda: nn.unfold(x, 0)),
        ("unfold: stride is .2, 0.", lambda: nn.unfold(x, 2, stride=(2, 0))),
        ("unfold: an axis has 6 elements and 0 of padding on each side, expected 7",
         lambda: nn.unfold(x, 3, 3)),
        ("fold: x has shape .1, 2, 6, 6., expected 3 dim", lambda: nn.fold(x, 6, 2)),
        ("fold: x has shape .1, 2, 36., expected a multiple of 4, .*, and 25 places",
         lambda: nn.fold(x.reshape((1, 2, 36)), 6, 2)),
        ("fold: output_size is .6,.", lambda: nn.fold(x[0], (6,), 2)),
        ("unfold_backward: grad has shape", lambda: nn.unfold_backward(x[0], 6, 2)),
        ("fold_backward: grad has shape .6, 6.", lambda: nn.fold_backward(x[0, 0], 2)),
    ]  # fmt: skip
    for message, call in calls:
        with pytest.raises(InvalidArgument, match=message):
            call()
