"""conv1d to conv3d and conv_transpose1d to conv_transpose3d, and their gradients."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewright.call_forms import kept_by_form
from tilewright.nn.convolving import (
    ConvGradients,
    conv,
    conv_backward,
    conv_transpose,
    conv_transpose_backward,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tilewright.array import Array
    from tilewright.nn.windows import Sizes

    # In front and behind alike, a pair for each axis, or "same" and "valid".
    Paddings = Sizes | str | Sequence[tuple[int, int]]

ALL = (True, True, True)


@kept_by_form
def conv1d(
    x: Array, weight: Array, bias: Array | None = None, stride: Sizes = 1, padding: Paddings = 0,
    dilation: Sizes = 1, groups: int = 1, padding_mode: str = "zeros", *,
    activation: str | None = None, negative_slope: float = 0.01, addend: Array | None = None,
) -> Array:  # fmt: skip
    """Filters weight [filters, channels / groups, window] over x [batch, channels, length], and
    bias [filters]. padding is as much on both sides of each axis, a pair for each, "same" or
    "valid"; padding_mode "zeros", "reflect", "replicate" or "circular". What comes of it goes
    through an activation, where one is given, in the same launch: a name of tw.Activation. An
    addend of the result's shape is added before that, such as the other branch of a residual
    layer. conv1d_backward() is of what comes before both."""
    return conv(
        "conv1d", 1, x, weight, bias, stride, padding, dilation, groups, padding_mode,
        activation, negative_slope, addend,
    )  # fmt: skip


@kept_by_form
def conv1d_backward(
    grad: Array, x: Array, weight: Array, stride: Sizes = 1, padding: Paddings = 0,
    dilation: Sizes = 1, groups: int = 1, padding_mode: str = "zeros", *,
    wanted: Sequence[bool] = ALL,
) -> ConvGradients:  # fmt: skip
    """The gradients of conv1d() by x, weight and bias, those of the three that are `wanted`."""
    return conv_backward(
        "conv1d_backward", 1, grad, x, weight, stride, padding, dilation, groups, padding_mode,
        wanted,
    )  # fmt: skip


@kept_by_form
def conv2d(
    x: Array, weight: Array, bias: Array | None = None, stride: Sizes = 1, padding: Paddings = 0,
    dilation: Sizes = 1, groups: int = 1, padding_mode: str = "zeros", *,
    activation: str | None = None, negative_slope: float = 0.01, addend: Array | None = None,
) -> Array:  # fmt: skip
    """Filters weight [filters, channels / groups, height, width] over x [batch, channels, height,
    width], and bias, with paddings and activations as in conv1d()."""
    return conv(
        "conv2d", 2, x, weight, bias, stride, padding, dilation, groups, padding_mode,
        activation, negative_slope, addend,
    )  # fmt: skip


@kept_by_form
def conv2d_backward(
    grad: Array, x: Array, weight: Array, stride: Sizes = 1, padding: Paddings = 0,
    dilation: Sizes = 1, groups: int = 1, padding_mode: str = "zeros", *,
    wanted: Sequence[bool] = ALL,
) -> ConvGradients:  # fmt: skip
    """The gradients of conv2d() by x, weight and bias, those of the three that are `wanted`."""
    return conv_backward(
        "conv2d_backward", 2, grad, x, weight, stride, padding, dilation, groups, padding_mode,
        wanted,
    )  # fmt: skip


@kept_by_form
def conv3d(
    x: Array, weight: Array, bias: Array | None = None, stride: Sizes = 1, padding: Paddings = 0,
    dilation: Sizes = 1, groups: int = 1, padding_mode: str = "zeros", *,
    activation: str | None = None, negative_slope: float = 0.01, addend: Array | None = None,
) -> Array:  # fmt: skip
    """Filters weight [filters, channels / groups, depth, height, width] over x [batch, channels,
    depth, height, width], and bias, with paddings and activations as in conv1d()."""
    return conv(
        "conv3d", 3, x, weight, bias, stride, padding, dilation, groups, padding_mode,
        activation, negative_slope, addend,
    )  # fmt: skip


@kept_by_form
def conv3d_backward(
    grad: Array, x: Array, weight: Array, stride: Sizes = 1, padding: Paddings = 0,
    dilation: Sizes = 1, groups: int = 1, padding_mode: str = "zeros", *,
    wanted: Sequence[bool] = ALL,
) -> ConvGradients:  # fmt: skip
    """The gradients of conv3d() by x, weight and bias, those of the three that are `wanted`."""
    return conv_backward(
        "conv3d_backward", 3, grad, x, weight, stride, padding, dilation, groups, padding_mode,
        wanted,
    )  # fmt: skip


@kept_by_form
def conv_transpose1d(
    x: Array, weight: Array, bias: Array | None = None, stride: Sizes = 1, padding: Sizes = 0,
    output_padding: Sizes = 0, groups: int = 1, dilation: Sizes = 1,
) -> Array:  # fmt: skip
    """The gradient of conv1d() by its x, as a layer, and bias [results]. weight is [channels,
    results / groups, window]."""
    return conv_transpose(
        "conv_transpose1d", 1, x, weight, bias, stride, padding, output_padding, groups, dilation
    )  # fmt: skip


@kept_by_form
def conv_transpose1d_backward(
    grad: Array, x: Array, weight: Array, stride: Sizes = 1, padding: Sizes = 0,
    output_padding: Sizes = 0, groups: int = 1, dilation: Sizes = 1, *,
    wanted: Sequence[bool] = ALL,
) -> ConvGradients:  # fmt: skip
    """The gradients of conv_transpose1d() by x, weight and bias, those that are `wanted`."""
    return conv_transpose_backward(
        "conv_transpose1d_backward", 1, grad, x, weight, stride, padding, output_padding, groups,
        dilation, wanted,
    )  # fmt: skip


@kept_by_form
def conv_transpose2d(
    x: Array, weight: Array, bias: Array | None = None, stride: Sizes = 1, padding: Sizes = 0,
    output_padding: Sizes = 0, groups: int = 1, dilation: Sizes = 1,
) -> Array:  # fmt: skip
    """The gradient of conv2d() by its x, as a layer, and bias [results]. weight is [channels,
    results / groups, height, width]."""
    return conv_transpose(
        "conv_transpose2d", 2, x, weight, bias, stride, padding, output_padding, groups, dilation
    )  # fmt: skip


@kept_by_form
def conv_transpose2d_backward(
    grad: Array, x: Array, weight: Array, stride: Sizes = 1, padding: Sizes = 0,
    output_padding: Sizes = 0, groups: int = 1, dilation: Sizes = 1, *,
    wanted: Sequence[bool] = ALL,
) -> ConvGradients:  # fmt: skip
    """The gradients of conv_transpose2d() by x, weight and bias, those that are `wanted`."""
    return conv_transpose_backward(
        "conv_transpose2d_backward", 2, grad, x, weight, stride, padding, output_padding, groups,
        dilation, wanted,
    )  # fmt: skip


@kept_by_form
def conv_transpose3d(
    x: Array, weight: Array, bias: Array | None = None, stride: Sizes = 1, padding: Sizes = 0,
    output_padding: Sizes = 0, groups: int = 1, dilation: Sizes = 1,
) -> Array:  # fmt: skip
    """The gradient of conv3d() by its x, as a layer, and bias [results]. weight is [channels,
    results / groups, depth, height, width]."""
    return conv_transpose(
        "conv_transpose3d", 3, x, weight, bias, stride, padding, output_padding, groups, dilation
    )  # fmt: skip


@kept_by_form
def conv_transpose3d_backward(
    grad: Array, x: Array, weight: Array, stride: Sizes = 1, padding: Sizes = 0,
    output_padding: Sizes = 0, groups: int = 1, dilation: Sizes = 1, *,
    wanted: Sequence[bool] = ALL,
) -> ConvGradients:  # fmt: skip
    """The gradients of conv_transpose3d() by x, weight and bias, those that are `wanted`."""
    return conv_transpose_backward(
        "conv_transpose3d_backward", 3, grad, x, weight, stride, padding, output_padding, groups,
        dilation, wanted,
    )  # fmt: skip
