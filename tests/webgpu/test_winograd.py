"""conv2d_forward by Winograd's products: numbers that these would spread, and work in pieces."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import tilewright
from conformance.convolutions import Conv, check_forward, forward
from conformance.workspace import Workspace, integers, normal
from tilewright import _core

from .conftest import DEVICE

CONV = Conv((2, 37, 9, 12), (10, 37, 3, 3), pad=(1, 1))
POINT = "conv2d_forward"


@pytest.fixture(scope="module")
def backend() -> Iterator[tilewright.Backend]:
    with tilewright.init_backend(DEVICE) as backend:
        yield backend


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(11)


def by(
    backend: tilewright.Backend, candidate: str, run: Callable[[Workspace], Any]
) -> tuple[Any, dict[str, Any]]:
    """What run() returns, and the choice that was made for it."""
    choices = _core._choices_of(backend)
    assert choices is not None
    choices.watch(True)
    choices.force(POINT, candidate)
    try:
        with Workspace(backend) as ws:
            result = run(ws)
        (made,) = (one for one in choices.take_made() if one["point"] == POINT)
        return result, made
    finally:
        choices.force(POINT, "")
        choices.watch(False)


def both(backend: tilewright.Backend, conv: Conv, x: Any, w: Any, b: Any, dtype: str) -> list[Any]:
    """The results by the windows and by Winograd's products."""
    results = []
    for candidate in ("direct", "winograd"):
        result, made = by(backend, candidate, lambda ws: forward(ws, conv, x, w, b, dtype))
        assert made["taken"] == candidate
        results.append(result)
    return results


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf, 3e38, -3e38])
@pytest.mark.parametrize("where", [(0, 3, 4, 4), (1, 16, 3, 7), (0, 0, 0, 0), (1, 5, 8, 11)])
def test_special_pixels_reach_only_the_windows_that_see_them(
    backend: tilewright.Backend,
    rng: np.random.Generator,
    where: tuple[int, int, int, int],
    special: float,
    dtype: str,
) -> None:
    """3e38 overflows in sums of pixels, which no window's sum is; in float16 it is infinity."""
    x, w, b = (integers(rng, shape, dtype) for shape in (CONV.x, CONV.w, CONV.w[0]))
    w[w == 0] = 1
    w[: CONV.w[0] // 2] *= np.asarray(0.25, dtype)
    with np.errstate(over="ignore"):
        x[where] = special
    direct, winograd = both(backend, CONV, x, w, b, dtype)
    np.testing.assert_array_equal(np.isfinite(winograd), np.isfinite(direct))
    beyond = ~np.isfinite(direct)
    np.testing.assert_array_equal(winograd[beyond], direct[beyond])
    seen = np.zeros(CONV.y, bool)
    image, _, y, x_at = where
    seen[image, :, max(y - 1, 0) : y + 2, max(x_at - 1, 0) : x_at + 2] = True
    np.testing.assert_array_equal(winograd[~seen], direct[~seen])
    np.testing.assert_allclose(
        winograd[seen], direct[seen], rtol=2e-3 if dtype == "float16" else 1e-6
    )


@pytest.mark.parametrize("special", [np.nan, np.inf, 3e38])
def test_special_taps_reach_only_their_filter(
    backend: tilewright.Backend, rng: np.random.Generator, special: float
) -> None:
    x, w = (integers(rng, shape, np.float32) for shape in (CONV.x, CONV.w))
    w[4, 2, 1, 0] = special
    direct, winograd = both(backend, CONV, x, w, None, "float32")
    others = np.arange(CONV.w[0]) != 4
    np.testing.assert_array_equal(winograd[:, others], direct[:, others])
    np.testing.assert_array_equal(np.isfinite(winograd), np.isfinite(direct))
    beyond = ~np.isfinite(direct)
    np.testing.assert_array_equal(winograd[beyond], direct[beyond])


def test_infinity_beside_a_tap_of_zero_is_nan(backend: tilewright.Backend) -> None:
    x, w = np.full(CONV.x, np.inf, np.float32), np.zeros(CONV.w, np.float32)
    w[0] = 1
    direct, winograd = both(backend, CONV, x, w, None, "float32")
    np.testing.assert_array_equal(winograd, direct)
    assert (winograd[:, 0] == np.inf).all()
    assert np.isnan(winograd[:, 1:]).all()


@pytest.mark.parametrize(("limit", "pieces"), [(500_000, 8), (1_000_000, 4), (4_000_000, 1)])
def test_little_memory_is_used_in_pieces(rng: np.random.Generator, limit: int, pieces: int) -> None:
    conv = Conv((5, 40, 13, 11), (24, 40, 3, 3), pad=(1, 1))
    with tilewright.init_backend(DEVICE, memory_limit=limit) as backend:
        choices = _core._choices_of(backend)
        assert choices is not None
        choices.force(POINT, "winograd")
        with Workspace(backend) as ws:
            check_forward(ws, rng, conv, "float16", integers)
        with Workspace(backend) as ws:
            x, w = (ws.input(integers(rng, shape, np.float16)) for shape in (conv.x, conv.w))
            out = ws.room(conv.y, "float16")
            with backend.profile() as profile:
                backend.conv2d_forward(
                    x, conv.x, w, conv.w, out, conv.y, *conv.window, None, "float16"
                )
    launched = [record.kernel for record in profile.records]
    assert launched.count("conv2d_winograd_filter") == 1
    assert launched.count("conv2d_winograd_input") == pieces
    assert launched.count("conv2d_winograd_output") == pieces


def test_without_room_the_windows_are_summed(rng: np.random.Generator) -> None:
    conv = Conv((1, 64, 6, 6), (64, 64, 3, 3), pad=(1, 1))
    x, w = (normal(rng, shape, np.float16) for shape in (conv.x, conv.w))
    with tilewright.init_backend(DEVICE, memory_limit=100_000) as backend:
        choices = _core._choices_of(backend)
        assert choices is not None
        choices.force(POINT, "winograd")
        choices.watch(True)
        with Workspace(backend) as ws:
            forward(ws, conv, x, w, None, "float16")
        assert not [one for one in choices.take_made() if one["point"] == POINT]


def test_many_channels_are_winograds(backend: tilewright.Backend, rng: np.random.Generator) -> None:
    """With the rule's choice left alone."""
    conv = Conv((2, 256, 40, 38), (256, 256, 3, 3), pad=(1, 1))
    x, w = (normal(rng, shape, np.float32) for shape in (conv.x, conv.w))
    got, made = by(backend, "", lambda ws: forward(ws, conv, x, w, None, "float32"))
    assert made["taken"] == made["rule"] == "winograd"
    direct, made = by(backend, "direct", lambda ws: forward(ws, conv, x, w, None, "float32"))
    assert made["taken"] == "direct"
    np.testing.assert_allclose(got, direct, rtol=0, atol=2e-3)
