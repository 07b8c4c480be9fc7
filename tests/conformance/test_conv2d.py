"""conv2d_forward, conv2d_backward_data and conv2d_backward_filter."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tilewright import Backend

from . import bounds, references
from .convolutions import (
    Conv,
    Numbers,
    backward_data,
    backward_filter,
    check_forward,
    forward,
)
from .workspace import Workspace, integers, normal

CONVS = [
    Conv((1, 1, 1, 1), (1, 1, 1, 1)),
    Conv((1, 1, 4, 4), (1, 1, 3, 3)),
    Conv((2, 3, 17, 13), (5, 3, 3, 3), pad=(1, 1)),
    Conv((1, 17, 9, 11), (3, 17, 1, 1)),
    Conv((3, 16, 14, 14), (33, 16, 3, 3), pad=(1, 1)),
    Conv((1, 3, 23, 19), (4, 3, 7, 5), stride=(2, 3), pad=(3, 1)),
    Conv((2, 4, 19, 23), (6, 4, 3, 5), stride=(3, 2), pad=(0, 4), dilation=(2, 3)),
    Conv((2, 6, 11, 9), (4, 3, 3, 3), pad=(1, 1), groups=2),
    Conv((1, 6, 12, 7), (9, 2, 2, 3), stride=(1, 2), pad=(1, 0), dilation=(2, 1), groups=3),
    Conv((2, 17, 9, 9), (17, 1, 3, 3), pad=(1, 1), groups=17),
    Conv((1, 5, 13, 11), (10, 1, 5, 3), stride=(2, 1), pad=(2, 1), groups=5),
    # Filters of one channel each: rows that are long and short, in each step and size.
    Conv((1, 20, 14, 15), (20, 1, 3, 3), stride=(2, 2), pad=(1, 1), groups=20),
    Conv((2, 9, 20, 71), (9, 1, 3, 3), stride=(2, 2), pad=(1, 1), groups=9),
    Conv((1, 16, 9, 67), (32, 1, 5, 5), pad=(2, 2), groups=16),
    Conv((1, 18, 11, 12), (18, 1, 5, 5), stride=(2, 2), pad=(4, 3), groups=18),
    Conv((1, 16, 13, 12), (16, 1, 7, 7), pad=(3, 3), groups=16),
    Conv((2, 16, 13, 40), (16, 1, 2, 4), stride=(3, 3), pad=(1, 3), dilation=(2, 2), groups=16),
    Conv((1, 17, 1, 9), (17, 1, 1, 3), pad=(0, 1), groups=17),
    Conv((2, 16, 11, 41), (32, 1, 3, 3), pad=(2, 1), groups=16),
    Conv((3, 16, 5, 4), (16, 1, 3, 3), groups=16),
    Conv((1, 16, 34, 9), (16, 1, 3, 3), stride=(2, 2), pad=(0, 3), groups=16),
    # The same side by side.
    Conv((3, 37, 9, 8), (37, 1, 5, 5), stride=(2, 2), pad=(2, 2), groups=37),
    Conv((2, 33, 7, 7), (33, 1, 7, 7), pad=(3, 3), groups=33),
    Conv((3, 40, 8, 7), (40, 1, 3, 3), stride=(2, 2), pad=(1, 1), groups=40),
    Conv((1, 3, 8, 8), (2, 3, 8, 8)),
    Conv((1, 2, 5, 5), (2, 2, 3, 3), pad=(4, 3)),  # windows that see padding only
    Conv((1, 2, 7, 7), (3, 2, 1, 1), stride=(3, 2), pad=(1, 2)),
    Conv((1, 1, 1, 257), (3, 1, 1, 17), pad=(0, 8)),
    Conv((1, 1, 257, 1), (3, 1, 17, 1), pad=(8, 0)),
    Conv((65, 1, 3, 3), (2, 1, 2, 2)),
    Conv((1, 64, 56, 56), (64, 64, 3, 3), pad=(1, 1)),
    Conv((1, 16, 33, 35), (9, 16, 3, 3), pad=(24, 12), dilation=(24, 12)),  # taps far apart
    Conv((1, 3, 48, 33), (8, 3, 16, 16), stride=(16, 16)),  # windows side by side
    # Channels in whole steps of 16, which a backend may count on.
    Conv((2, 32, 13, 11), (32, 32, 3, 2), stride=(2, 1), pad=(1, 2), dilation=(1, 2)),
    Conv((3, 48, 9, 10), (96, 16, 2, 3), stride=(1, 3), pad=(2, 0), groups=3),
    Conv((2, 80, 7, 7), (16, 80, 1, 1), stride=(2, 2)),
    Conv((6, 16, 52, 52), (128, 16, 3, 3), pad=(1, 1)),
    # Single taps: one or two positions beyond whole vectors, odd numbers of filters and channels.
    Conv((2, 520, 7, 7), (37, 520, 1, 1)),
    Conv((1, 33, 10, 5), (12, 33, 1, 1)),
    Conv((1, 24, 13, 13), (71, 24, 1, 1)),
    # few channels, by steps of several tiles of positions
    Conv((1, 18, 23, 37), (47, 18, 1, 1)),
    Conv((2, 3, 50, 57), (11, 3, 1, 1)),
    Conv((1, 70, 15, 15), (46, 35, 1, 1), groups=2),
    # Windows of 3x3 that Winograd's products take: tiles that fill vectors and a few more, rows and
    # columns without a second half, many images, groups, filters that fill no group.
    Conv((1, 130, 14, 14), (37, 130, 3, 3), pad=(1, 1)),
    Conv((3, 37, 15, 21), (21, 37, 3, 3), pad=(1, 2)),
    Conv((1, 40, 37, 52), (48, 40, 3, 3)),
    Conv((2, 66, 12, 19), (70, 33, 3, 3), pad=(2, 0), groups=2),
    Conv((9, 64, 7, 7), (64, 64, 3, 3), pad=(1, 1)),
    # Small planes, whose taps see much padding, of several images: in steps, taps far apart,
    # groups, few filters and many, and more images than are taken at a time.
    Conv((5, 24, 8, 9), (20, 24, 7, 7), pad=(3, 3)),
    Conv((40, 9, 7, 7), (12, 9, 5, 5), stride=(2, 2), pad=(2, 2)),
    Conv((3, 40, 10, 11), (21, 40, 3, 3), pad=(3, 3), dilation=(3, 3)),
    Conv((3, 16, 7, 8), (96, 16, 5, 5), pad=(2, 2)),
    Conv((200, 6, 5, 4), (10, 3, 3, 3), pad=(1, 1), groups=2),
    # What positions see, side by side, in steps of two and one; rows that fill vectors.
    Conv((2, 40, 31, 29), (65, 40, 3, 3), stride=(2, 2), pad=(1, 1)),
    Conv((1, 70, 23, 14), (130, 35, 5, 2), stride=(3, 2), pad=(2, 1), groups=2),
    Conv((2, 36, 15, 13), (64, 36, 2, 3), stride=(2, 1), pad=(0, 2), dilation=(1, 2)),
    Conv((1, 5, 20, 126), (20, 5, 3, 3), pad=(1, 2)),
    # Gradients of filters as products of what is laid out: odd sizes, strides, and many positions.
    Conv((3, 17, 39, 37), (33, 17, 3, 2), stride=(2, 1), pad=(1, 2), dilation=(1, 2)),
    Conv((2, 3, 67, 65), (40, 3, 7, 7), stride=(2, 2), pad=(3, 3)),
    # the same as runs of turned rows: in pieces of long rows, apart where taps are, and flat
    Conv((1, 3, 20, 301), (9, 3, 7, 7), stride=(2, 2), pad=(3, 3)),
    Conv((2, 3, 11, 270), (5, 3, 3, 3), stride=(1, 2), pad=(1, 0)),
    Conv((3, 31, 19, 36), (10, 31, 3, 3), pad=(4, 4), dilation=(4, 4)),
    Conv((2, 12, 40, 41), (14, 6, 5, 3), stride=(2, 1), pad=(1, 7), dilation=(3, 1), groups=2),
    Conv((2, 150, 30, 31), (21, 150, 1, 1)),
    # Gradients of inputs whose lines are folded, of few channels and of strides; of filters that
    # are fewer than the channels.
    Conv((3, 8, 40, 41), (73, 8, 3, 3), pad=(1, 1)),
    Conv((2, 5, 37, 30), (97, 5, 5, 4), stride=(2, 3), pad=(2, 1), dilation=(1, 2)),
    Conv((5, 33, 21, 25), (64, 33, 1, 1)),
    Conv((2, 61, 33, 30), (18, 61, 3, 5), pad=(1, 6), dilation=(2, 1)),
    # Strides in which some positions are seen through few taps or none, or lie beyond all windows.
    Conv((2, 3, 37, 41), (33, 3, 7, 7), stride=(4, 3), pad=(3, 2)),
    Conv((2, 20, 23, 18), (21, 20, 1, 1), stride=(2, 3)),
    Conv((1, 18, 2, 9), (70, 18, 2, 2), stride=(3, 4), pad=(1, 1)),
    Conv((2, 9, 19, 17), (9, 1, 3, 3), stride=(2, 3), pad=(1, 0), dilation=(2, 3), groups=9),
    Conv((3, 12, 21, 15), (15, 4, 3, 3), stride=(2, 2), pad=(1, 1), groups=3),
    Conv((1, 7, 130, 131), (5, 7, 3, 3), pad=(1, 1)),
    # Small images, of which several are walked as one, and few channels in long steps.
    Conv((9, 33, 5, 6), (21, 33, 3, 3), pad=(2, 2), dilation=(2, 2)),
    Conv((5, 3, 24, 25), (40, 3, 7, 7), stride=(4, 4), pad=(3, 3)),
    Conv((3, 5, 20, 23), (18, 5, 5, 5), stride=(3, 3), pad=(2, 2)),
    Conv((2, 7, 26, 31), (17, 7, 5, 6), stride=(5, 5), pad=(3, 4)),
    Conv((11, 26, 12, 11), (9, 26, 5, 5), stride=(2, 2), pad=(2, 2)),
    Conv((4, 31, 9, 9), (18, 31, 2, 2), stride=(3, 3)),
    Conv((1, 40, 2, 2), (70, 40, 2, 2), stride=(2, 2), pad=(1, 1)),
    Conv((6, 24, 7, 8), (26, 12, 2, 2), stride=(2, 2), groups=2),
    # More channels than a panel has room for.
    Conv((3, 190, 7, 7), (13, 190, 7, 7), pad=(3, 3)),
    # Padding and dilation beyond the image: taps that see nothing anywhere.
    Conv((7, 19, 4, 3), (9, 19, 5, 5), pad=(4, 5), dilation=(2, 2)),
    Conv((3, 8, 6, 5), (20, 8, 3, 3), pad=(7, 6), dilation=(7, 6)),
    Conv((2, 6, 3, 3), (34, 6, 3, 3), pad=(6, 6)),
    # Gradients of filters with the taps side by side, of several images and of one; rows of blocks.
    Conv((6, 3, 13, 14), (84, 3, 3, 3), pad=(1, 1)),
    Conv((2, 3, 31, 33), (130, 3, 3, 3)),
    Conv((1, 16, 130, 131), (24, 16, 3, 3), stride=(2, 2), pad=(1, 1)),
]

convs = pytest.mark.parametrize("conv", CONVS, ids=str)


def check_backward_data(
    ws: Workspace, rng: np.random.Generator, conv: Conv, dtype: str, numbers: Numbers = normal
) -> None:
    g, w = numbers(rng, conv.y, dtype), numbers(rng, conv.w, dtype)
    exact = references.conv2d_backward_data(g, w, conv.x, *conv.window)
    size = references.conv2d_backward_data(abs(g), abs(w), conv.x, *conv.window)
    terms = conv.w[0] // conv.groups * conv.w[2] * conv.w[3]
    tolerance = 0.0 if numbers is integers else bounds.inner_product(size, terms)
    bounds.assert_within(backward_data(ws, conv, g, w, dtype), exact, tolerance)


def check_backward_filter(
    ws: Workspace, rng: np.random.Generator, conv: Conv, dtype: str, numbers: Numbers = normal
) -> None:
    x, g = numbers(rng, conv.x, dtype), numbers(rng, conv.y, dtype)
    exact = references.conv2d_backward_filter(x, g, conv.w, *conv.window)
    size = references.conv2d_backward_filter(abs(x), abs(g), conv.w, *conv.window)
    terms = conv.x[0] * conv.y[2] * conv.y[3]
    tolerance = 0.0 if numbers is integers else bounds.inner_product(size, terms)
    bounds.assert_within(backward_filter(ws, conv, x, g, dtype), exact, tolerance)


@pytest.mark.sampled(20)
@pytest.mark.essential
@convs
def test_forward(ws: Workspace, rng: np.random.Generator, conv: Conv, dtype: str) -> None:
    check_forward(ws, rng, conv, dtype)


@pytest.mark.sampled(12)
@pytest.mark.essential
@convs
def test_backward_data(ws: Workspace, rng: np.random.Generator, conv: Conv, dtype: str) -> None:
    check_backward_data(ws, rng, conv, dtype)


@pytest.mark.sampled(20)
@pytest.mark.essential
@convs
def test_backward_filter(ws: Workspace, rng: np.random.Generator, conv: Conv, dtype: str) -> None:
    check_backward_filter(ws, rng, conv, dtype)


@pytest.mark.sampled(20)
@pytest.mark.parametrize("check", [check_forward, check_backward_data, check_backward_filter])
@convs
def test_integers_are_exact(
    ws: Workspace, rng: np.random.Generator, conv: Conv, dtype: str, check: Callable[..., None]
) -> None:
    check(ws, rng, conv, dtype, integers)


def test_more_images_than_a_grid_dimension_holds(
    ws: Workspace, rng: np.random.Generator, dtype: str
) -> None:
    conv = Conv((65537, 1, 2, 2), (1, 1, 2, 2))
    check_forward(ws, rng, conv, dtype, integers)
    check_backward_data(ws, rng, conv, dtype, integers)
    check_backward_filter(ws, rng, conv, dtype, integers)


def test_an_image_of_many_pixels(ws: Workspace, rng: np.random.Generator, dtype: str) -> None:
    conv = Conv((1, 3, 257, 258), (3, 3, 3, 3), pad=(1, 1))
    check_forward(ws, rng, conv, dtype, integers)
    check_backward_data(ws, rng, conv, dtype, integers)
    check_backward_filter(ws, rng, conv, dtype, integers)


def test_no_images(ws: Workspace, dtype: str) -> None:
    """Without images the results are empty, and the filter's gradient a sum of nothing."""
    conv = Conv((0, 3, 5, 5), (2, 3, 3, 3))
    none, w = np.empty(0, dtype), np.ones(conv.w, dtype)
    assert forward(ws, conv, none, w, np.ones(2, dtype), dtype).size == 0
    assert backward_data(ws, conv, none, w, dtype).size == 0
    assert (backward_filter(ws, conv, none, none, dtype) == 0).all()


@pytest.mark.parametrize("special", [np.nan, np.inf])
def test_special_values_reach_only_the_windows_that_see_them(
    ws: Workspace, rng: np.random.Generator, special: float, dtype: str
) -> None:
    conv = Conv((1, 2, 9, 9), (3, 2, 3, 3), pad=(1, 1))
    x, w = normal(rng, conv.x, dtype), np.ones(conv.w, dtype)
    x[0, 1, 4, 4] = special
    got = forward(ws, conv, x, w, None, dtype)
    seen = np.zeros(conv.y, bool)
    seen[:, :, 3:6, 3:6] = True
    np.testing.assert_array_equal(got[seen], np.full(seen.sum(), special, dtype))
    assert np.isfinite(got[~seen]).all()


def test_padding_is_zero_also_beside_infinity(ws: Workspace, dtype: str) -> None:
    """A filter tap on padding adds 0 * tap, with a finite tap: nothing becomes NaN."""
    conv = Conv((1, 1, 3, 3), (1, 1, 3, 3), pad=(1, 1))
    got = forward(ws, conv, np.full(conv.x, np.inf, dtype), np.ones(conv.w, dtype), None, dtype)
    assert (got == np.inf).all()


@pytest.mark.parametrize("run", ["forward", "backward_data", "backward_filter"])
def test_same_request_same_bits(
    ws: Workspace, rng: np.random.Generator, dtype: str, run: str
) -> None:
    conv = Conv((3, 16, 28, 28), (32, 16, 3, 3), pad=(1, 1))
    x, w, g = (normal(rng, shape, dtype) for shape in (conv.x, conv.w, conv.y))
    results = set()
    for _ in range(4):
        if run == "forward":
            results.add(forward(ws, conv, x, w, None, dtype).tobytes())
        elif run == "backward_data":
            results.add(backward_data(ws, conv, g, w, dtype).tobytes())
        else:
            results.add(backward_filter(ws, conv, x, g, dtype).tobytes())
    assert len(results) == 1


sizes = st.integers(1, 9)
pairs = st.tuples(st.integers(1, 3), st.integers(1, 3))


@given(
    n=st.integers(1, 3),
    channels=st.integers(1, 4),
    filters=st.integers(1, 4),
    groups=st.integers(1, 3),
    image=st.tuples(sizes, sizes),
    window=pairs,
    stride=pairs,
    pad=st.tuples(st.integers(0, 3), st.integers(0, 3)),
    dilation=pairs,
    seed=st.integers(0, 2**32 - 1),
)
def test_adjoints(
    be: Backend,
    n: int,
    channels: int,
    filters: int,
    groups: int,
    image: tuple[int, int],
    window: tuple[int, int],
    stride: tuple[int, int],
    pad: tuple[int, int],
    dilation: tuple[int, int],
    seed: int,
) -> None:
    """<conv(x, w), g> = <x, backward_data(g, w)> = <w, backward_filter(x, g)>, exactly on
    integers; this needs no reference."""
    for i in range(2):
        assume(dilation[i] * (window[i] - 1) + 1 <= image[i] + 2 * pad[i])
    conv = Conv(
        (n, channels * groups, *image),
        (filters * groups, channels, *window),
        stride, pad, dilation, groups,
    )  # fmt: skip
    rng = np.random.default_rng(seed)
    x, w, g = (integers(rng, shape, np.float32) for shape in (conv.x, conv.w, conv.y))
    with Workspace(be) as ws:
        of_output = np.vdot(forward(ws, conv, x, w, None, "float32"), g)
        assert of_output == np.vdot(x, backward_data(ws, conv, g, w, "float32"))
        assert of_output == np.vdot(w, backward_filter(ws, conv, x, g, "float32"))
