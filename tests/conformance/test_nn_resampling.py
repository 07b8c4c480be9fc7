"""interpolate() and its gradient, and channels that are shuffled, against NumPy in float64."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tilewright as tw
from tilewright import Backend, InvalidArgument

from .networks import FLOATS, Host, dtypes_of, gradient, held, host, near, on

RNG = np.random.default_rng(20261202)
START = RNG.bit_generator.state


@pytest.fixture(autouse=True)
def the_same_draws() -> None:
    """Whichever tests came before."""
    RNG.bit_generator.state = START


def cubic(x: float, a: float) -> float:
    x = abs(x)
    if x < 1:
        return (a + 2) * x**3 - (a + 3) * x**2 + 1
    return a * (x**3 - 5 * x**2 + 8 * x - 4) if x < 2 else 0.0


def matrix(
    kind: str, length: int, out: int, aligned: bool = False, scale: float | None = None,
    smooth: bool = False,
) -> Host:  # fmt: skip
    """What each output is of, element by element, as torch's documentation and source say it."""
    found = np.zeros((out, length))
    step = (length - 1) / max(out - 1, 1) if aligned else length / out
    if scale is not None and not aligned:
        step = 1 / scale
    for p in range(out):
        if kind == "area":
            first, past = p * length // out, -(-(p + 1) * length // out)
            found[p, first:past] = 1 / (past - first)
        elif kind.startswith("nearest"):
            middle = 0.5 if kind == "nearest-exact" else 0
            found[p, min(math.floor((p + middle) * step), length - 1)] = 1
        elif smooth:
            reach = (1 if kind == "linear" else 2) * max(step, 1)
            centre = step * (p + 0.5)
            first = max(int(centre - reach + 0.5), 0)
            past = min(int(centre + reach + 0.5), length)
            for i in range(first, past):
                away = (i - centre + 0.5) / max(step, 1)
                weight = max(0.0, 1 - abs(away)) if kind == "linear" else cubic(away, -0.5)
                found[p, i] = weight
            found[p] /= found[p].sum()
        else:
            at = step * p if aligned else step * (p + 0.5) - 0.5
            if kind == "linear":
                at = max(at, 0.0)
            first = min(math.floor(at), length - 1)
            behind = min(max(at - first, 0.0), 1.0)
            weights = [1 - behind, behind]
            if kind == "cubic":
                weights = [cubic(behind - k, -0.75) for k in range(-1, 3)]
            for k, weight in enumerate(weights, 0 if kind == "linear" else -1):
                found[p, min(max(first + k, 0), length - 1)] += weight
    return found


KINDS = {
    "linear": "linear", "bilinear": "linear", "trilinear": "linear", "bicubic": "cubic",
    "nearest": "nearest", "nearest-exact": "nearest-exact", "area": "area",
}  # fmt: skip

# mode, shape, and the arguments
CASES: list[tuple[str, tuple[int, ...], dict[str, Any]]] = [
    ("nearest", (2, 3, 7), {"size": 13}),
    ("nearest", (1, 2, 5, 8), {"scale_factor": 2}),
    ("nearest", (1, 2, 9, 8), {"size": (4, 8)}),
    ("nearest", (2, 1, 3, 4, 5), {"size": (5, 4, 7)}),
    ("nearest-exact", (1, 2, 9, 8), {"size": (4, 13)}),
    ("nearest-exact", (2, 2, 6), {"scale_factor": 1.5}),
    ("linear", (2, 3, 8), {"size": 12}),
    ("linear", (2, 3, 7), {"size": 3, "align_corners": True}),
    ("linear", (1, 1, 5), {"scale_factor": 2.5}),
    ("bilinear", (2, 3, 5, 7), {"scale_factor": 2}),
    ("bilinear", (2, 3, 5, 7), {"size": (9, 3), "align_corners": True}),
    ("bilinear", (1, 2, 8, 6), {"size": (1, 1), "align_corners": True}),
    ("bilinear", (1, 2, 16, 9), {"size": (5, 20), "antialias": True}),
    ("bicubic", (1, 2, 5, 6), {"size": (11, 9)}),
    ("bicubic", (1, 2, 5, 6), {"size": (3, 13), "align_corners": True}),
    ("bicubic", (1, 1, 17, 12), {"size": (6, 5), "antialias": True}),
    ("bicubic", (2, 1, 1, 2), {"scale_factor": (3, 1)}),
    ("trilinear", (1, 2, 3, 4, 5), {"size": (5, 7, 4)}),
    ("trilinear", (1, 2, 3, 4, 5), {"scale_factor": (2, 1, 1.5), "align_corners": True}),
    ("area", (2, 3, 7, 8), {"size": (3, 4)}),
    ("area", (1, 2, 7), {"size": 2}),
    ("bilinear", (0, 3, 5, 7), {"scale_factor": 2}),
]


def matrices(mode: str, shape: tuple[int, ...], options: dict[str, Any]) -> list[Host]:
    axes = len(shape) - 2
    size, scale = options.get("size"), options.get("scale_factor")
    sizes = size if isinstance(size, tuple) else (size,) * axes
    scales = scale if isinstance(scale, tuple) else (scale,) * axes
    aligned, smooth = bool(options.get("align_corners")), bool(options.get("antialias"))
    return [
        matrix(KINDS[mode], n, math.floor(n * by) if one is None else one, aligned, by, smooth)
        for n, one, by in zip(shape[2:], sizes, scales, strict=True)
    ]


def along(x: Host, ways: list[Host], back: bool = False) -> Host:
    for i, way in enumerate(ways):
        x = np.moveaxis(np.moveaxis(x, i + 2, -1) @ (way if back else way.T), -1, i + 2)
    return x


@pytest.mark.sampled(6)
@pytest.mark.parametrize("index", range(len(CASES)))
def test_interpolate(be: Backend, index: int) -> None:
    mode, shape, options = CASES[index]
    ways = matrices(mode, shape, options)
    for dtype in dtypes_of(be, False):
        x = held(RNG.uniform(-2, 2, shape), dtype)
        exact = along(x, ways)
        got = tw.nn.interpolate(on(be, x, dtype), mode=mode, **options)
        if mode.startswith("nearest"):
            np.testing.assert_array_equal(host(got), exact)
        near(got, exact, dtype, 64, 4)
        grad = held(RNG.uniform(-2, 2, exact.shape), dtype)
        by_x = along(grad, ways, back=True)
        for like in (on(be, x, dtype), shape):
            back = tw.nn.interpolate_backward(on(be, grad, dtype), like, mode=mode, **options)
            near(back, by_x, dtype, 64, 8)


@pytest.mark.parametrize("index", range(0, len(CASES), 2))
def test_parts_are_the_whole(be: Backend, index: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where outputs along an axis are made part by part."""
    mode, shape, options = CASES[index]
    if mode == "area":
        mode, options = "bicubic", {"size": (20, 5)}
        shape = (*shape[:2], 5, 7)
    monkeypatch.setattr("tilewright.nn.resampling.MOST_OUTPUTS", 4)
    ways = matrices(mode, shape, options)
    for dtype in dtypes_of(be, False):
        x = held(RNG.uniform(-2, 2, shape), dtype)
        exact = along(x, ways)
        near(tw.nn.interpolate(on(be, x, dtype), mode=mode, **options), exact, dtype, 64, 4)
        grad = held(RNG.uniform(-2, 2, exact.shape), dtype)
        back = tw.nn.interpolate_backward(on(be, grad, dtype), shape, mode=mode, **options)
        near(back, along(grad, ways, back=True), dtype, 64, 8)


def test_what_is_too_large_is_said_first(be: Backend) -> None:
    """Before the host makes tables of what no buffer holds."""
    x = on(be, np.ones((2, 4, 9, 8)))
    most = be.device.limits["max_buffer_bytes"]
    rows = min(2**31 - 1, most // 4 + 1)
    for given in (
        {"size": 2**31 - 1},
        {"scale_factor": 1e8},
        {"size": (rows, 1), "mode": "bicubic", "antialias": True},
    ):
        with pytest.raises(InvalidArgument, match="bytes"):
            tw.nn.interpolate(x, **given)


def test_views(be: Backend) -> None:
    x = held(RNG.uniform(-2, 2, (2, 3, 6, 5)), "float32")
    a = on(be, np.ascontiguousarray(x.transpose(3, 2, 0, 1))).transpose(2, 3, 1, 0)
    exact = along(x, [matrix("linear", 6, 11), matrix("linear", 5, 8)])
    near(tw.nn.interpolate(a, (11, 8), mode="bilinear"), exact, "float32", 64, 4)


def test_what_weighs_nothing_is_nothing(be: Backend) -> None:
    x = on(be, [[[np.nan, 1, np.inf, 2]]])
    got = host(tw.nn.interpolate(x, 7, mode="linear", align_corners=True))[0, 0]
    np.testing.assert_array_equal(got, [np.nan, np.nan, 1, np.inf, np.inf, np.inf, 2])


@pytest.mark.parametrize("dtype", [*FLOATS, "int32"])
def test_shuffles(be: Backend, dtype: str) -> None:
    if dtype not in be.capabilities().storage_dtypes:
        with pytest.raises(tw.Unsupported):
            on(be, np.zeros(2), dtype) + 1
        return
    numbers = np.arange(2 * 12 * 3 * 5) % 256
    a = on(be, numbers.reshape(2, 12, 3, 5), dtype)
    wide = numbers.reshape(2, 3, 2, 2, 3, 5).transpose(0, 1, 4, 2, 5, 3).reshape(2, 3, 6, 10)
    got = tw.nn.pixel_shuffle(a, 2)
    assert got.dtype == a.dtype
    np.testing.assert_array_equal(host(got), wide)
    np.testing.assert_array_equal(host(tw.nn.pixel_unshuffle(got, 2)), host(a))
    np.testing.assert_array_equal(host(tw.nn.pixel_shuffle_backward(got, 2)), host(a))
    np.testing.assert_array_equal(host(tw.nn.pixel_unshuffle_backward(a, 2)), wide)
    np.testing.assert_array_equal(host(tw.nn.pixel_shuffle(a[0], 2)), wide[0])


def test_shuffles_are_permutations(be: Backend) -> None:
    x = RNG.uniform(-1, 1, (1, 9, 2, 2))
    weight = RNG.uniform(-1, 1, (1, 1, 6, 6))
    got = tw.nn.pixel_shuffle_backward(on(be, weight), 3)

    def loss(x: Host) -> float:
        wide = x.reshape(1, 1, 3, 3, 2, 2).transpose(0, 1, 4, 2, 5, 3).reshape(1, 1, 6, 6)
        return float((wide * weight).sum())

    near(got, gradient(loss, x), "float32", 64)


def test_wrong_arguments(be: Backend) -> None:
    x, nn = on(be, np.ones((1, 4, 6, 6))), tw.nn
    calls: list[tuple[str, Callable[[], Any]]] = [
        ("interpolate: x is int32, expected floats", lambda: nn.interpolate(x.astype("int32"), 3)),
        ("interpolate: mode is 'cubic'.*, expected one of 'nearest'",
         lambda: nn.interpolate(x, 3, mode="cubic")),
        ("interpolate: mode is ", lambda: nn.interpolate(x, 3, mode=[])),
        ("interpolate: x has shape .*, expected 3 dim",
         lambda: nn.interpolate(x, 3, mode="linear")),
        ("interpolate: x has shape .*, expected 3 or 4 or 5 dim",
         lambda: nn.interpolate(x[0, 0], 3)),
        ("interpolate: size is None.* and scale_factor is None", lambda: nn.interpolate(x)),
        ("interpolate: size is 3.* and scale_factor is 2", lambda: nn.interpolate(x, 3, 2)),
        ("interpolate: size is .3, 3, 3.*, expected 2 integers",
         lambda: nn.interpolate(x, (3, 3, 3))),
        ("interpolate: size is 0.*, which gives 0 elements", lambda: nn.interpolate(x, 0)),
        ("interpolate: scale_factor is 0.1.*, which gives 0",
         lambda: nn.interpolate(x, scale_factor=0.1)),
        ("interpolate: scale_factor is -1.*, expected a number above 0",
         lambda: nn.interpolate(x, scale_factor=-1)),
        ("interpolate: align_corners is True, expected None: mode is 'nearest'",
         lambda: nn.interpolate(x, 3, align_corners=True)),
        ("interpolate: align_corners is 1.*, expected True or False",
         lambda: nn.interpolate(x, 3, mode="bilinear", align_corners=1)),
        ("interpolate: antialias is True, expected False: mode is 'nearest'",
         lambda: nn.interpolate(x, 3, antialias=True)),
        ("interpolate_backward: grad has shape", lambda: nn.interpolate_backward(x, x, 3)),
        ("pixel_shuffle: x has 4 channels, expected a multiple of 9",
         lambda: nn.pixel_shuffle(x, 3)),
        ("pixel_shuffle: upscale_factor is 0", lambda: nn.pixel_shuffle(x, 0)),
        ("pixel_shuffle: x has shape .6, 6., expected 3", lambda: nn.pixel_shuffle(x[0, 0], 2)),
        ("pixel_unshuffle: x has shape .*, expected multiples of 4",
         lambda: nn.pixel_unshuffle(x, 4)),
    ]  # fmt: skip
    for message, call in calls:
        with pytest.raises(InvalidArgument, match=message):
            call()
