"""Convolutions."""

from __future__ import annotations

from typing import Any

import tilewright as tw
from tilewright.models.files.errors import ModelError
from tilewright.models.onnx.nodes import Node
from tilewright.models.onnx.operators.common import check_room
from tilewright.models.onnx.operators.registry import Run, operator
from tilewright.models.onnx.operators.windows import Windows, spatial

CONVOLUTIONS = {1: tw.nn.conv1d, 2: tw.nn.conv2d, 3: tw.nn.conv3d}
TRANSPOSED = {1: tw.nn.conv_transpose1d, 2: tw.nn.conv_transpose2d, 3: tw.nn.conv_transpose3d}


def _axes(x: Any) -> int:
    axes = len(spatial(x))
    if axes > 3:
        raise ModelError(f"its input has shape {tuple(x.shape)}, expected at most three axes")
    return axes


def _bent(x: Any, name: str, slope: float) -> Any:
    """What a convolution's activation makes of x."""
    if name == "none":
        return x
    if name == "leaky_relu":
        return tw.nn.leaky_relu(x, slope)
    if name == "gelu_tanh":
        return tw.nn.gelu(x, approximate="tanh")
    return getattr(tw.nn, name)(x)


@operator("Conv")
def _conv(node: Node) -> Run:
    windows, groups = Windows.of(node), node.integer("group", 1)
    bent, slope = node.activation

    def run(x: Any, weight: Any, bias: Any = None, other: Any = None) -> Any:
        axes = _axes(x)
        if weight.ndim != x.ndim:
            raise ModelError(f"its filters have shape {tuple(weight.shape)}, of {tuple(x.shape)}")
        placed = windows.at(spatial(x), weight.shape[2:])
        if windows.kernel and windows.kernel != tuple(weight.shape[2:]):
            raise ModelError(f"kernel_shape is {windows.kernel}, of {tuple(weight.shape)}")
        steps = (
            placed.strides, placed.front if placed.is_even else placed.pads, placed.dilations,
            groups,
        )  # fmt: skip
        if other is None or other.shape == (x.shape[0], weight.shape[0], *placed.out()):
            return CONVOLUTIONS[axes](
                x, weight, bias, *steps, activation=bent, negative_slope=slope, addend=other
            )
        # One of them is broadcast.
        return _bent(CONVOLUTIONS[axes](x, weight, bias, *steps) + other, bent, slope)

    return run


@operator("ConvTranspose", grows=True)
def _conv_transpose(node: Node) -> Run:
    windows, groups = Windows.of(node), node.integer("group", 1)
    more, wanted = node.integers("output_padding"), node.integers("output_shape")

    def run(x: Any, weight: Any, bias: Any = None) -> Any:
        axes = _axes(x)
        lengths = spatial(x)
        if weight.ndim != x.ndim:
            raise ModelError(f"its filters have shape {tuple(weight.shape)}, of {tuple(x.shape)}")
        kernel = tuple(weight.shape[2:])
        strides = windows.strides or (1,) * axes
        gaps = windows.dilations or (1,) * axes
        extra = more or (0,) * axes
        if not len(strides) == len(gaps) == len(extra) == axes or min(extra) < 0:
            raise ModelError(f"its windows are along {axes} axes")
        whole = [
            (n - 1) * s + (k - 1) * d + 1
            for n, s, k, d in zip(lengths, strides, kernel, gaps, strict=True)
        ]
        check_room((x.shape[0], weight.shape[1] * max(groups, 1), *whole))
        if wanted is not None or windows.auto in ("SAME_UPPER", "SAME_LOWER"):
            sizes = (
                wanted[-axes:] if wanted else [n * s for n, s in zip(lengths, strides, strict=True)]
            )
            pads = []
            for size, full, e in zip(sizes, whole, extra, strict=True):
                total = full + e - size
                less = total // 2
                pads.append(
                    (less, total - less) if windows.auto == "SAME_UPPER" else (total - less, less)
                )
        else:
            flat = windows.pads or (0,) * 2 * axes
            if len(flat) != 2 * axes:
                raise ModelError(f"pads are {flat}, along {axes} axes")
            pads = [(flat[i], flat[axes + i]) for i in range(axes)]
        own = TRANSPOSED[axes]
        is_even = all(a == b >= 0 for a, b in pads) and all(
            e < max(s, d) for e, s, d in zip(extra, strides, gaps, strict=True)
        )
        if is_even:
            return own(
                x, weight, bias, strides, tuple(a for a, _ in pads), tuple(extra), groups, gaps
            )
        # All of it, with the bias behind what is cut or laid around.
        found = own(x, weight, None, strides, 0, 0, groups, gaps)
        key, around = [slice(None)] * 2, [(0, 0)] * 2
        for (front, behind), e, full in zip(pads, extra, whole, strict=True):
            end = full + e - behind
            if end <= front:
                raise ModelError(f"pads are {pads}: nothing is left")
            key.append(slice(max(front, 0), min(end, full)))
            around.append((max(-front, 0), max(end - full, 0)))
        found = found[tuple(key)]
        if any(a or b for a, b in around):
            check_room([n + a + b for n, (a, b) in zip(found.shape, around, strict=True)])
            found = tw.pad(found, around)
        return found if bias is None else found + bias.reshape((-1, *(1,) * axes))

    return run
