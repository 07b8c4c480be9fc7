"""conv2d_forward with an activation at its end: in every kernel, and in the same launches."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import tilewright as tw
from tilewright import Activation, InvalidArgument, _core

from . import bounds, references
from .activations import SLOPE, bent, slack
from .convolutions import Conv
from .workspace import Array, Workspace, integers, keeps_subnormals, normal

# Of each way that backends take, by the kernel of GPUs that ends it: of those that compile
# templates, and of others where it is another.
SPOTS, FEW = ("conv2d_spots", "conv2d_forward"), ("conv2d_spots_few", "conv2d_forward")
CONVS: dict[str, tuple[Conv, str | tuple[str, str]]] = {
    "few filters": (Conv((2, 3, 9, 8), (2, 3, 3, 3), pad=(1, 1)), FEW),
    "few outputs": (Conv((1, 64, 4, 3), (3, 64, 3, 3), pad=(1, 1)), "conv2d_forward"),
    "tiles": (Conv((2, 5, 11, 13), (33, 5, 3, 2), stride=(2, 1)), SPOTS),
    "one by one": (Conv((1, 17, 9, 11), (12, 17, 1, 1)), SPOTS),
    "places beyond vectors": (Conv((1, 33, 7, 7), (11, 33, 1, 1)), SPOTS),
    "depthwise": (Conv((2, 17, 9, 9), (17, 1, 3, 3), pad=(1, 1), groups=17), FEW),
    "taps": (Conv((2, 32, 13, 11), (24, 32, 3, 2), stride=(2, 1), pad=(1, 2)), "conv2d_taps"),
    "taps of groups": (Conv((1, 48, 6, 6), (96, 16, 2, 3), groups=3), "conv2d_taps"),
    "taps in fours": (Conv((1, 16, 8, 8), (16, 16, 3, 3), pad=(1, 1)), "conv2d_taps"),
    "winograd": (Conv((1, 37, 9, 12), (10, 37, 3, 3), pad=(1, 1)), "conv2d_winograd_output"),
    "winograd of odd rows": (Conv((2, 32, 7, 9), (9, 32, 3, 3)), "conv2d_winograd_output"),
    "small images": (Conv((5, 12, 7, 8), (21, 12, 3, 3), stride=(2, 2), pad=(1, 1)), SPOTS),
    "matrix units": (Conv((2, 20, 9, 7), (35, 20, 3, 3), pad=(1, 1)), SPOTS),
    "matrix units one by one": (Conv((2, 24, 4, 6), (20, 24, 1, 1)), SPOTS),
    "meetings": (
        Conv((1, 3, 5, 5), (4, 3, 2, 2), stride=(2**40, 2**40), pad=(2**31, 2**31)),
        "conv2d_meetings",
    ),
}


def forward(
    ws: Workspace, conv: Conv, x: Array, w: Array, bias: Array | None, dtype: str, name: str
) -> Array:
    out = ws.room(conv.y, dtype)
    ws.be.conv2d_forward(
        ws.input(x), conv.x, ws.input(w), conv.w, out, conv.y, *conv.window,
        None if bias is None else ws.input(bias), dtype, name, SLOPE,
    )  # fmt: skip
    return ws.read(out)


@pytest.fixture
def direct_or_not(ws: Workspace, case: str) -> Iterator[None]:
    """Winograd's products, and tiles of matrix units, wherever they can be taken, of the cases that
    are theirs alone."""
    choices = _core._choices_of(ws.be)
    if choices is None or ws.be.name == "cpu":
        yield
        return
    candidates = {"winograd": "winograd", "matrix": "32x32"}
    choices.force("conv2d_forward", candidates.get(case.split()[0], "direct"))
    yield
    choices.force("conv2d_forward", "")


def reference(conv: Conv, x: Array, w: Array, bias: Array | None) -> Array:
    if conv.stride[0] < 2**30:
        return references.conv2d(x, w, bias, *conv.window)
    # Whose one output sees padding alone, or whose few are all that is there.
    found = np.zeros(conv.y)
    for p in range(conv.y[2]):
        for q in range(conv.y[3]):
            for r in range(conv.w[2]):
                for s in range(conv.w[3]):
                    i = p * conv.stride[0] + r - conv.pad[0]
                    j = q * conv.stride[1] + s - conv.pad[1]
                    if 0 <= i < conv.x[2] and 0 <= j < conv.x[3]:
                        taps = w[:, :, r, s].astype(np.float64)
                        found[:, :, p, q] += x[:, :, i, j].astype(np.float64) @ taps.T
    return found if bias is None else found + bias.astype(np.float64)[:, None, None]


@pytest.mark.essential
@pytest.mark.sampled(40)
@pytest.mark.usefixtures("direct_or_not")
@pytest.mark.parametrize("name", list(Activation))
@pytest.mark.parametrize("case", CONVS)
def test_against_float64(
    ws: Workspace, rng: np.random.Generator, case: str, name: str, dtype: str
) -> None:
    conv, _ = CONVS[case]
    subnormals = keeps_subnormals(ws.be)
    # Sums of integers are exact: what is off is the activation's.
    x, w, bias = (integers(rng, shape, dtype) for shape in (conv.x, conv.w, conv.w[0]))
    x = (x / 8).astype(dtype)
    bias = (bias / 4).astype(dtype)
    for b in (None, bias):
        sums = reference(conv, x, w, b)
        exact = bent(name, sums)
        got = forward(ws, conv, x, w, b, dtype, name)
        bounds.assert_within(got, exact, slack(name, sums, exact, 0.0, subnormals))
    x, w = normal(rng, conv.x, dtype), normal(rng, conv.w, dtype)
    sums = reference(conv, x, w, bias)
    sizes = reference(conv, abs(x), abs(w), abs(bias))
    # Winograd's products spread what a window holds.
    off = bounds.inner_product(sizes, int(np.prod(conv.w[1:])))
    off = np.broadcast_to(off.max() * 4, off.shape) if case.startswith("winograd") else off
    exact = bent(name, sums)
    got = forward(ws, conv, x, w, bias, dtype, name)
    bounds.assert_within(got, exact, slack(name, sums, exact, off, subnormals))


@pytest.mark.essential
@pytest.mark.sampled(11)
@pytest.mark.usefixtures("direct_or_not")
@pytest.mark.parametrize("case", CONVS)
def test_launches(ws: Workspace, rng: np.random.Generator, case: str) -> None:
    """An activation adds none, and is in the kernel that the case is for."""
    conv, last = CONVS[case]
    x, w, b = (normal(rng, shape, "float32") for shape in (conv.x, conv.w, conv.w[0]))
    kernels = {}
    for name in ("none", "silu"):
        forward(ws, conv, x, w, b, "float32", name)
        ws.be.synchronize()
        with ws.be.profile() as profile:
            forward(ws, conv, x, w, b, "float32", name)
            ws.be.synchronize()
        kernels[name] = [one.kernel for one in profile.records]
    assert kernels["none"] == kernels["silu"]
    if ws.be.name == "cpu":
        assert kernels["silu"] == ["conv2d_forward"]
    else:
        if isinstance(last, tuple):
            last = last[0 if ws.be.name == "webgpu" else 1]
        assert kernels["silu"][-1].startswith(last), kernels


@pytest.mark.parametrize("name", list(Activation))
def test_special_values(ws: Workspace, name: str, dtype: str) -> None:
    x = np.array([0, -0.5, 3, -3, 6, 7, -20, 88, -88, np.inf, np.nan], dtype)
    conv = Conv((1, 1, 1, x.size), (1, 1, 1, 1))
    got = forward(ws, conv, x.reshape(conv.x), np.ones(conv.w, dtype), None, dtype, name)
    wide = x.astype(np.float64)
    exact = bent(name, wide)
    bound = slack(name, np.where(np.isfinite(wide), wide, 0), exact, 0.0, keeps_subnormals(ws.be))
    bounds.assert_within(got.reshape(-1), exact, bound)


def test_slopes(ws: Workspace, rng: np.random.Generator, dtype: str) -> None:
    conv = Conv((1, 2, 6, 5), (3, 2, 3, 3))
    x, w = integers(rng, conv.x, dtype), integers(rng, conv.w, dtype)
    sums = references.conv2d(x, w, None, *conv.window)
    for slope in (0.0, -0.5, 0.125, 1.0, 3.0):
        out = ws.room(conv.y, dtype)
        ws.be.conv2d_forward(
            ws.input(x), conv.x, ws.input(w), conv.w, out, conv.y, *conv.window, None, dtype,
            "leaky_relu", slope,
        )  # fmt: skip
        bounds.assert_within(ws.read(out), np.where(sums > 0, sums, slope * sums), 0.0)


def test_array_tier_and_networks(ws: Workspace, rng: np.random.Generator) -> None:
    """conv1d() to conv3d() are the plain ones and then the activation."""
    nn, be = tw.nn, ws.be
    for axes, conv in ((1, nn.conv1d), (2, nn.conv2d), (3, nn.conv3d)):
        x = tw.asarray(normal(rng, (2, 4, *(6, 7, 5)[:axes]), "float32"), device=be)
        w = tw.asarray(normal(rng, (3, 4, *(3, 2, 2)[:axes]), "float32"), device=be)
        b = tw.asarray(normal(rng, (3,), "float32"), device=be)
        plain = conv(x, w, b, padding=1)
        for name, after in (
            ("relu", nn.relu(plain)),
            ("hardswish", nn.hardswish(plain)),
            ("leaky_relu", nn.leaky_relu(plain, 0.2)),
            ("none", plain),
            (None, plain),
        ):
            got = conv(x, w, b, padding=1, activation=name, negative_slope=0.2)
            np.testing.assert_allclose(got.numpy(), after.numpy(), rtol=2e-6, atol=2e-6)
        if axes == 2:
            got = be.conv2d(x, w, b, padding=1, activation="relu6")
            np.testing.assert_array_equal(got.numpy(), np.clip(plain.numpy(), 0, 6))
        with pytest.raises(InvalidArgument, match=r"activation is 'swish'.*, expected None or"):
            conv(x, w, activation="swish")
        with pytest.raises(InvalidArgument, match="negative_slope is inf, expected a finite"):
            conv(x, w, negative_slope=float("inf"))
        with pytest.raises(InvalidArgument, match=r"negative_slope is array.*, expected a number"):
            conv(x, w, negative_slope=np.array([1, 2]))  # type: ignore[arg-type]
