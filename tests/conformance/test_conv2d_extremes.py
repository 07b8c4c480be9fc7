"""Convolutions of few elements whose strides, paddings and dilations are as large as a call takes,
and of filters and strides that are both wide."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from .convolutions import Conv, backward_data, backward_filter, forward
from .workspace import Workspace, integers

most = 2**63 - 1
einsum = functools.partial(np.einsum, optimize=True)


def meets(conv: Conv, axis: int) -> Any:
    """[output, tap, input] along an axis: 1 where the output sees the input through the tap. In
    Python's integers, which do not end."""
    outputs, taps, inputs = (shape[2 + axis] for shape in (conv.y, conv.w, conv.x))
    stride, pad, dilation = (pair[axis] for pair in (conv.stride, conv.pad, conv.dilation))
    seen = np.zeros((outputs, taps, inputs))
    for o in range(outputs):
        for r in range(taps):
            place = o * stride + r * dilation - pad
            if 0 <= place < inputs:
                seen[o, r, place] = 1
    return seen


def check(ws: Workspace, rng: np.random.Generator, conv: Conv, dtype: str) -> None:
    """All three ops against sums over what meets, exactly on integers."""
    n, groups = conv.x[0], conv.groups
    rows, columns = meets(conv, 0), meets(conv, 1)
    x, w, g = (integers(rng, shape, dtype) for shape in (conv.x, conv.w, conv.y))
    bias = integers(rng, conv.w[0], dtype)
    of_image, of_filter, of_output = "ngcij", "gkcrs", "ngkoq"
    images = x.reshape(n, groups, -1, *conv.x[2:]).astype(np.float64)
    filters = w.reshape(groups, -1, *conv.w[1:]).astype(np.float64)
    outputs = g.reshape(n, groups, -1, *conv.y[2:]).astype(np.float64)
    # What each output sees through each tap.
    windows = einsum(f"{of_image},ori,qsj->ngcorqs", images, rows, columns)
    y = einsum(f"ngcorqs,{of_filter}->{of_output}", windows, filters).reshape(conv.y)
    of_w = einsum(f"ngcorqs,{of_output}->{of_filter}", windows, outputs).reshape(conv.w)
    spread = einsum(f"{of_output},{of_filter}->ngcorqs", outputs, filters)
    of_x = einsum(f"ngcorqs,ori,qsj->{of_image}", spread, rows, columns).reshape(conv.x)
    with_bias = y + bias.astype(np.float64)[:, None, None]
    same = np.testing.assert_array_equal
    same(forward(ws, conv, x, w, None, dtype), y, str(conv))
    same(forward(ws, conv, x, w, bias, dtype), with_bias, str(conv))
    same(backward_data(ws, conv, g, w, dtype), of_x, str(conv))
    same(backward_filter(ws, conv, x, g, dtype), of_w, str(conv))


def large(rng: np.random.Generator) -> int:
    """Of any number of bits, often beside a power of two."""
    power = 1 << int(rng.integers(0, 62))
    if rng.random() < 0.5:
        return max(1, power + int(rng.integers(-2, 3)))
    return power + int(rng.random() * power)


def random_axis(rng: np.random.Generator) -> tuple[int, int, int, int, int]:
    """input, filter, stride, pad, dilation: few outputs, of which some see the input."""
    while True:
        size, taps = (int(v) for v in rng.integers(1, 6, 2))
        if rng.random() < 0.2:
            size, taps = (int(v) for v in rng.integers(1, 12, 2))
        dilation = large(rng)
        related = [dilation, dilation + 1, 2 * dilation - 1, dilation * 3 // 2, dilation // 2]
        stride = max(1, related[rng.integers(5)]) if rng.random() < 0.7 else large(rng)
        # An output sees an input, or the window just fits, or both are left to luck.
        window = dilation * (taps - 1) + 1
        least = max(0, (window - size + 1) // 2)
        place = int(rng.integers(0, 4)) * stride + int(rng.integers(0, taps)) * dilation
        pads = [place - int(rng.integers(0, size)), least, least + large(rng)]
        pad = pads[rng.choice(3, p=[0.7, 0.1, 0.2])]
        if pad < least or size + 2 * pad > most or max(stride, dilation) > most:
            continue
        if (size + 2 * pad - window) // stride < 12:
            return size, taps, stride, pad, dilation


def random_conv(rng: np.random.Generator) -> Conv:
    (h, r, sh, ph, dh), (w, s, sw, pw, dw) = random_axis(rng), random_axis(rng)
    groups = int(rng.integers(1, 3))
    channels, filters = (int(v) for v in rng.choice([1, 2, 3, 16], 2))
    return Conv(
        (int(rng.integers(1, 3)), channels * groups, h, w), (filters * groups, channels, r, s),
        (sh, sw), (ph, pw), (dh, dw), groups,
    )  # fmt: skip


FOUND = [
    Conv((1, 4, 1, 2), (1, 4, 1, 2), pad=(0, 2**61 - 1), dilation=(1, 2**62 - 1)),
    Conv((1, 1, 2, 2), (1, 1, 2, 2), pad=(2**31 - 1, 2**31 - 1), dilation=(2**32 - 1, 2**32 - 1)),
    Conv((1, 1, 1, 3), (1, 1, 1, 3), (1, 3), (0, 2**31 - 1), (1, 2**31 - 1)),
    Conv((2, 16, 2, 3), (32, 16, 3, 3), (1, 1), (2**32, 2**32), (2**32, 2**32 - 1)),
    Conv((1, 2, 1, 1), (2, 2, 2, 2), pad=(12500, 12500), dilation=(25000, 25000)),
    Conv((1, 3, 5, 5), (2, 3, 1, 1), (most, 2**62), (2, 2**61), (most, 2**32)),
]  # fmt: skip


@pytest.mark.parametrize("conv", FOUND, ids=str)
def test_found(ws: Workspace, rng: np.random.Generator, conv: Conv, dtype: str) -> None:
    check(ws, rng, conv, dtype)


def check_random(ws: Workspace, seed: int, cases: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(cases):
        with Workspace(ws.be) as one:
            check(one, rng, random_conv(rng), str(rng.choice(["float32", "float16"])))


def test_random(ws: Workspace) -> None:
    check_random(ws, 1, 60)


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(2, 7))
def test_many_random(ws: Workspace, seed: int) -> None:
    check_random(ws, seed, 1000)


WIDE = """
os.environ["TILEWRIGHT_ALLOW_SOFTWARE"] = "1"
be = tw.init_backend("DEVICE")

def same(result, expected):
    np.testing.assert_array_equal(result.numpy().ravel(), np.ravel(expected))

def check(turn, n, outputs):
    rng = np.random.default_rng(n)
    x, w, g = (rng.integers(-2, 3, k).astype("float32") for k in (n * outputs, n, outputs))
    shape = lambda a: a.reshape((1, 1, -1, 1) if turn else (1, 1, 1, -1))
    steps = dict(stride=(n, 1) if turn else (1, n))
    same(be.conv2d(shape(x), shape(w), **steps), x.reshape(outputs, n) @ w)
    of_x = be.conv2d_backward_data(shape(g), shape(w), shape(x).shape, **steps)
    same(of_x, np.outer(g, w))
    of_w = be.conv2d_backward_filter(shape(x), shape(g), shape(w).shape, **steps)
    same(of_w, g @ x.reshape(outputs, n))

def check_pixel(turn, n):
    x, w, g = (np.random.default_rng(i).integers(-2, 3, n).astype("float32") for i in range(3))
    shape = lambda a: a.reshape((1, 1, -1, 1) if turn else (1, 1, 1, -1))
    pad = dict(padding=(n - 1, 0) if turn else (0, n - 1))
    one = shape(x[:1])
    same(be.conv2d(one, shape(w), **pad), x[0] * w[::-1])
    same(be.conv2d_backward_data(shape(g), shape(w), (1, 1, 1, 1), **pad), g @ w[::-1])
    same(be.conv2d_backward_filter(one, shape(g), shape(w).shape, **pad), x[0] * g[::-1])
"""


@pytest.mark.parametrize("turn", [False, True], ids=["wide", "high"])
def test_wide_filters_at_wide_strides_end(
    device: str, succeeds: Callable[..., str], turn: bool
) -> None:
    """With as many steps as the operands have elements, not with that number's square."""
    code = WIDE.replace("DEVICE", device)
    succeeds(
        f"{code}\nfor outputs in 1, 2, 5: check({turn}, 400_000, outputs)\n"
        f"check_pixel({turn}, 2_000_000)"
    )


LITTLE = """
import resource

os.environ["TILEWRIGHT_ALLOW_SOFTWARE"] = "1"
be = tw.init_backend("DEVICE")

def run(taps, **window):
    x, w = np.ones((1, 1, 1, 1), "float32"), np.ones((1, 1, *taps), "float32")
    y = be.conv2d(x, w, **window)
    be.conv2d_backward_data(y, w, x.shape, **window)
    be.conv2d_backward_filter(x, y, w.shape, **window)
    be.synchronize()
    return y.shape

run((2, 2), padding=1)
run((2, 2), padding=50, dilation=100)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
assert run((2, 2), padding=12500, dilation=25000) == (1, 1, 1, 1)
assert run((3, 3), padding=12500, dilation=12500) == (1, 1, 1, 1)
assert run((1, 3), stride=(1, 3), padding=(0, 2**31 - 1), dilation=(1, 2**31 - 1))[3] == 1
assert run((40, 40), padding=25000, dilation=1250, stride=1250) == (1, 1, 2, 2)
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
assert after - before < 200_000, (before, after)
"""


def test_few_elements_take_little_memory(device: str, succeeds: Callable[..., str]) -> None:
    """However far apart the taps are that they meet."""
    succeeds(LITTLE.replace("DEVICE", device))
