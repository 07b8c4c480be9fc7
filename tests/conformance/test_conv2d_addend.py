"""conv2d_forward with an addend: in every kernel, before the activation."""

from __future__ import annotations

import numpy as np
import pytest
import tilewright as tw
from tilewright import Activation, InvalidArgument

from . import bounds
from .activations import SLOPE, bent, slack
from .convolutions import Conv
from .test_conv2d_activations import CONVS, direct_or_not, reference
from .workspace import Array, Workspace, integers, keeps_subnormals, normal

__all__ = ["direct_or_not"]  # a fixture

#: Of rows that are stored by themselves, with vectors that end beyond them, and of large planes.
MORE = {
    "rows of their own": Conv((1, 3, 5, 70), (9, 3, 3, 3), pad=(1, 1)),
    "columns beyond vectors": Conv((2, 40, 1, 33), (12, 40, 1, 1)),
    "large planes": Conv((1, 2, 40, 40), (2, 1, 5, 5), pad=(2, 2), groups=2),
    "strided planes": Conv((2, 6, 19, 40), (6, 1, 3, 3), stride=(2, 2), pad=(1, 1), groups=6),
    "small planes": Conv((5, 24, 8, 9), (20, 24, 7, 7), pad=(3, 3)),
    "small planes, many filters": Conv((3, 16, 7, 8), (96, 16, 5, 5), pad=(2, 2)),
    "small planes of one channel": Conv(
        (3, 37, 9, 8), (37, 1, 5, 5), stride=(2, 2), pad=(2, 2), groups=37
    ),
    "wide planes": Conv((1, 4, 9, 70), (8, 1, 5, 3), pad=(2, 0), groups=4),
}
CASES = {**{name: conv for name, (conv, _) in CONVS.items()}, **MORE}


def forward(
    ws: Workspace, conv: Conv, x: Array, w: Array, bias: Array | None, addend: Array, dtype: str,
    name: str,
) -> Array:  # fmt: skip
    out = ws.room(conv.y, dtype)
    ws.be.conv2d_forward(
        ws.input(x), conv.x, ws.input(w), conv.w, out, conv.y, *conv.window,
        None if bias is None else ws.input(bias), dtype, name, SLOPE, ws.input(addend),
    )  # fmt: skip
    return ws.read(out)


def once_more(ws: Workspace, sizes: Array, dtype: str) -> Array:
    """What sums may be off by where they round before the addend comes."""
    is_rounded = ws.be.name != "cpu" and dtype == "float16"
    return sizes * 2.0**-11 + 2.0**-25 if is_rounded else np.zeros_like(sizes)


@pytest.mark.essential
@pytest.mark.sampled(40)
@pytest.mark.usefixtures("direct_or_not")
@pytest.mark.parametrize("name", ["none", "relu", "relu6", "silu", "leaky_relu"])
@pytest.mark.parametrize("case", CASES)
def test_against_float64(
    ws: Workspace, rng: np.random.Generator, case: str, name: str, dtype: str
) -> None:
    conv = CASES[case]
    subnormals = keeps_subnormals(ws.be)
    # Sums of integers are exact: what is off is the activation's.
    x, w, bias = (integers(rng, shape, dtype) for shape in (conv.x, conv.w, conv.w[0]))
    addend = (integers(rng, conv.y, dtype) / 4).astype(dtype)
    x = (x / 8).astype(dtype)
    for b in (None, bias):
        sums = reference(conv, x, w, b)
        off = once_more(ws, abs(sums), dtype)
        exact = bent(name, sums + addend)
        got = forward(ws, conv, x, w, b, addend, dtype, name)
        bounds.assert_within(got, exact, slack(name, sums + addend, exact, off, subnormals))
    x, w, addend = (normal(rng, shape, dtype) for shape in (conv.x, conv.w, conv.y))
    sums = reference(conv, x, w, bias)
    sizes = reference(conv, abs(x), abs(w), abs(bias)) + abs(addend.astype(np.float64))
    # Winograd's products spread what a window holds.
    off = bounds.inner_product(sizes, int(np.prod(conv.w[1:])) + 1)
    off = np.broadcast_to(off.max() * 4, off.shape) if case.startswith("winograd") else off
    off = off + once_more(ws, abs(sums), dtype)
    exact = bent(name, sums + addend)
    got = forward(ws, conv, x, w, bias, addend, dtype, name)
    bounds.assert_within(got, exact, slack(name, sums + addend, exact, off, subnormals))


@pytest.mark.parametrize("name", list(Activation))
@pytest.mark.parametrize("place", ["x", "addend"])
def test_special_values(ws: Workspace, name: str, place: str, dtype: str) -> None:
    special = np.array([0, -0.5, 3, -3, 6, 7, -20, 88, -88, np.inf, -np.inf, np.nan], dtype)
    conv = Conv((1, 1, 1, special.size), (1, 1, 1, 1))
    ones = np.ones(conv.y, dtype)
    x, addend = (special.reshape(conv.x), ones) if place == "x" else (ones, special)
    got = forward(
        ws, conv, x.reshape(conv.x), np.ones(conv.w, dtype), None, addend.reshape(conv.y), dtype,
        name,
    )  # fmt: skip
    wide = special.astype(np.float64) + 1
    exact = bent(name, wide)
    # Of -infinity gelu is nearly 0, by an error that counts beside its argument.
    bound = slack(name, np.where(np.isfinite(wide), wide, 1), exact, 0.0, keeps_subnormals(ws.be))
    bounds.assert_within(got.reshape(-1), exact, bound)


@pytest.mark.parametrize("case", ["winograd", "taps", "depthwise", "tiles"])
def test_infinities(ws: Workspace, rng: np.random.Generator, case: str) -> None:
    """Of the addend and of the sums are in their own places alone."""
    conv = CASES[case]
    x, w = normal(rng, conv.x, "float32"), normal(rng, conv.w, "float32")
    addend = normal(rng, conv.y, "float32")
    addend[0, 0, 1, 2], addend[0, 1, 2, 1], addend[0, 2, 0, 0] = np.inf, -np.inf, np.nan
    x[0, 0, 2, 2] = np.inf
    with np.errstate(invalid="ignore"):
        wanted = np.maximum(reference(conv, x, w, None) + addend, 0)
    got = forward(ws, conv, x, w, None, addend, "float32", "relu")
    assert (np.isfinite(got) == np.isfinite(wanted)).all()
    assert (np.isnan(got) == np.isnan(wanted)).all()


def test_array_tier_and_networks(ws: Workspace, rng: np.random.Generator) -> None:
    """conv1d() to conv3d() are the plain ones, the sum, and then the activation."""
    nn, be = tw.nn, ws.be
    for axes, conv in ((1, nn.conv1d), (2, nn.conv2d), (3, nn.conv3d)):
        x = tw.asarray(normal(rng, (2, 4, *(6, 7, 5)[:axes]), "float32"), device=be)
        w = tw.asarray(normal(rng, (3, 4, *(3, 2, 2)[:axes]), "float32"), device=be)
        b = tw.asarray(normal(rng, (3,), "float32"), device=be)
        plain = conv(x, w, b, padding=1)
        other = tw.asarray(normal(rng, plain.shape, "float32"), device=be)
        for offsets, before in ((b, plain), (None, conv(x, w, padding=1))):
            got = conv(x, w, offsets, padding=1, activation="relu", addend=other)
            after = nn.relu(before + other).numpy()
            np.testing.assert_allclose(got.numpy(), after, rtol=4e-6, atol=4e-6)
        # Of one sample, and of any strides.
        got = conv(x[1], w, b, padding=1, addend=other[1])
        np.testing.assert_allclose(got.numpy(), (plain + other).numpy()[1], rtol=4e-6, atol=4e-6)
        turned = tw.flip(other, axis=-1)
        got = conv(x, w, b, padding=1, addend=turned)
        np.testing.assert_allclose(got.numpy(), (plain + turned).numpy(), rtol=4e-6, atol=4e-6)
        if axes == 2:
            got = be.conv2d(x, w, None, padding=1, activation="relu6", addend=other)
            after = np.clip(conv(x, w, padding=1).numpy() + other.numpy(), 0, 6)
            np.testing.assert_allclose(got.numpy(), after, rtol=4e-6, atol=4e-6)
            with pytest.raises(InvalidArgument, match=r"addend has shape \(3,\), expected \(2, 3"):
                be.conv2d(x, w, padding=1, addend=b)
        with pytest.raises(InvalidArgument, match=r"addend has shape \(3,\), expected \(2, 3"):
            conv(x, w, padding=1, addend=b)


def test_an_addend_that_is_the_output(ws: Workspace, rng: np.random.Generator) -> None:
    conv = Conv((1, 2, 3, 3), (2, 2, 1, 1))
    out = ws.room(conv.y, "float32")
    x, w = ws.input(normal(rng, conv.x, "float32")), ws.input(normal(rng, conv.w, "float32"))
    with pytest.raises(InvalidArgument, match="addend"):
        ws.be.conv2d_forward(
            x, conv.x, w, conv.w, out, conv.y, *conv.window, None, "float32", "none", 0.0, out
        )
