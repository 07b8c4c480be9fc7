"""conv2d_forward and conv2d_backward_data of 3x3 windows, which backends may take by Winograd's
products: numbers that these would spread, and little memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tilewright as tw

from .convolutions import Conv, backward_data, forward
from .workspace import Workspace, integers

CONV = Conv((2, 40, 13, 18), (26, 40, 3, 3), pad=(1, 1))
PLACES = [(0, 3, 4, 4), (1, 16, 3, 7), (0, 0, 0, 0), (1, 39, 12, 17), (0, 20, 11, 16)]


def sums(x: Any, w: Any, bias: Any) -> Any:
    """Of all windows in float64, and what they come to in float32 or float16."""
    padded = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))
    total = np.zeros(CONV.y) + bias.astype(np.float64)[:, None, None]
    with np.errstate(invalid="ignore", over="ignore"):
        for c in range(CONV.x[1]):
            total += np.einsum("nhwrs,krs->nkhw", windows[:, c], w[:, c].astype(np.float64))
        return total.astype(x.dtype)


def check_special(got: Any, exact: Any) -> None:
    """The same where it is not finite; integers elsewhere, but beside numbers near the largest."""
    beyond = ~np.isfinite(exact)
    np.testing.assert_array_equal(np.isfinite(got), ~beyond)
    np.testing.assert_array_equal(got[beyond], exact[beyond])
    rtol = 2e-3 if got.dtype == np.float16 else 1e-6
    np.testing.assert_allclose(got[~beyond], exact[~beyond], rtol=rtol)


@pytest.mark.essential
@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf, 3e38, -3e38])
@pytest.mark.parametrize("where", PLACES, ids=str)
def test_special_pixels_reach_only_the_windows_that_see_them(
    ws: Workspace,
    rng: np.random.Generator,
    where: tuple[int, int, int, int],
    special: float,
    dtype: str,
) -> None:
    """3e38 overflows in sums of pixels, which no window's sum is; in float16 it is infinity."""
    x, w, b = (integers(rng, shape, dtype) for shape in (CONV.x, CONV.w, CONV.w[0]))
    w[w == 0] = 1
    w[: CONV.w[0] // 2] *= np.asarray(0.25, dtype)
    finite = sums(x, w, b)
    with np.errstate(over="ignore"):
        x[where] = special
    got, exact = forward(ws, CONV, x, w, b, dtype), sums(x, w, b)
    check_special(got, exact)
    image, _, row, column = where
    seen = np.zeros(CONV.y, bool)
    seen[image, :, max(row - 1, 0) : row + 2, max(column - 1, 0) : column + 2] = True
    np.testing.assert_array_equal(got[~seen], finite[~seen])


@pytest.mark.parametrize("special", [np.nan, np.inf, 3e38])
def test_special_taps_reach_only_their_filter(
    ws: Workspace, rng: np.random.Generator, special: float
) -> None:
    x, w, b = (integers(rng, shape, np.float32) for shape in (CONV.x, CONV.w, CONV.w[0]))
    finite = sums(x, w, b)
    w[19, 2, 1, 0] = special
    got = forward(ws, CONV, x, w, b, "float32")
    others = np.arange(CONV.w[0]) != 19
    np.testing.assert_array_equal(got[:, others], finite[:, others])
    exact = sums(x, w, b)
    beyond = ~np.isfinite(exact)
    assert beyond.any()
    np.testing.assert_array_equal(np.isfinite(got), ~beyond)
    np.testing.assert_array_equal(got[beyond], exact[beyond])


@pytest.mark.parametrize("activation", ["none", "relu", "relu6", "tanh"])
def test_special_sums_are_bent_once(
    ws: Workspace, rng: np.random.Generator, activation: Any
) -> None:
    x, w, b = (integers(rng, shape, np.float32) for shape in (CONV.x, CONV.w, CONV.w[0]))
    x[0, 3, 4, 4], x[1, 0, 0, 0] = np.inf, np.nan
    exact = sums(x, w, b)
    out = ws.room(CONV.y, "float32")
    ws.be.conv2d_forward(
        ws.input(x), CONV.x, ws.input(w), CONV.w, out, CONV.y, *CONV.window, ws.input(b),
        "float32", activation,
    )  # fmt: skip
    got = ws.read(out)
    with np.errstate(over="ignore", invalid="ignore"):
        bent = {
            "none": exact,
            "relu": np.maximum(exact, 0),
            "relu6": np.clip(exact, 0, 6),
            "tanh": np.tanh(exact.astype(np.float64)),
        }[activation]
    np.testing.assert_array_equal(np.isnan(got), np.isnan(bent))
    np.testing.assert_allclose(got, bent, rtol=1e-6)


def test_infinity_beside_a_tap_of_zero_is_nan(ws: Workspace) -> None:
    x, w = np.full(CONV.x, np.inf, np.float32), np.zeros(CONV.w, np.float32)
    w[0] = 1
    got = forward(ws, CONV, x, w, None, "float32")
    assert (got[:, 0] == np.inf).all()
    assert np.isnan(got[:, 1:]).all()


@pytest.mark.parametrize("special", [np.nan, -np.inf])
def test_special_gradients_reach_only_their_windows(
    ws: Workspace, rng: np.random.Generator, special: float
) -> None:
    conv = Conv((1, 40, 16, 14), (48, 40, 3, 3), pad=(1, 1))
    g, w = integers(rng, conv.y, np.float32), integers(rng, conv.w, np.float32)
    w[w == 0] = 2
    before = backward_data(ws, conv, g, w, "float32")
    g[0, 7, 5, 6] = special
    got = backward_data(ws, conv, g, w, "float32")
    seen = np.zeros(conv.x, bool)
    seen[:, :, 4:7, 5:8] = True
    np.testing.assert_array_equal(got[~seen], before[~seen])
    assert not np.isfinite(got[seen]).any()


def test_little_memory_is_enough(rng: np.random.Generator, ws: Workspace) -> None:
    """What the products of factors need beside the operands is not there."""
    conv = Conv((1, 64, 16, 16), (64, 64, 3, 3), pad=(1, 1))
    x, w = integers(rng, conv.x, np.float32), integers(rng, conv.w, np.float32)
    expected = forward(ws, conv, x, w, None, "float32")
    with tw.init_backend(ws.be.device.id, memory_limit=520_000) as be, Workspace(be) as little:
        got = forward(little, conv, x, w, None, "float32")
    np.testing.assert_array_equal(got, expected)
