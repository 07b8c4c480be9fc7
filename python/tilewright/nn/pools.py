"""Pooling along one to three axes, and its gradients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Protocol, cast, overload

from tilewright.call_forms import kept_by_form
from tilewright.nn.running import floats, to_truth
from tilewright.nn.windows import check_grad, max_gradient, pooled, pooled_backward, windows_of
from tilewright.operands import invalid, to_integer

if TYPE_CHECKING:
    from collections.abc import Callable

    from tilewright.array import Array
    from tilewright.nn.windows import Sizes

    class MaxPool(Protocol):
        @overload
        def __call__(
            self,
            x: Array,
            /,
            kernel_size: Sizes,
            stride: Sizes | None = None,
            padding: Sizes = 0,
            dilation: Sizes = 1,
            ceil_mode: bool = False,
            return_indices: Literal[False] = False,
        ) -> Array: ...
        @overload
        def __call__(
            self,
            x: Array,
            /,
            kernel_size: Sizes,
            stride: Sizes | None = None,
            padding: Sizes = 0,
            dilation: Sizes = 1,
            ceil_mode: bool = False,
            *,
            return_indices: Literal[True],
        ) -> tuple[Array, Array]: ...
        @overload
        def __call__(
            self,
            x: Array,
            /,
            kernel_size: Sizes,
            stride: Sizes | None = None,
            padding: Sizes = 0,
            dilation: Sizes = 1,
            ceil_mode: bool = False,
            return_indices: bool = False,
        ) -> Array | tuple[Array, Array]: ...


def _as_max_pool(function: Callable[..., Array | tuple[Array, Array]]) -> MaxPool:
    """With the types of what return_indices gives."""
    return cast("MaxPool", kept_by_form(function))


def _max_pool(
    call: str, axes: int, x: Any, kernel_size: Any, stride: Any, padding: Any, dilation: Any,
    ceil_mode: Any, return_indices: Any,
) -> Array | tuple[Array, Array]:  # fmt: skip
    (x,) = floats(call, x=x)
    windows = windows_of(call, x, axes, kernel_size, stride, padding, dilation, ceil_mode)
    with_places = to_truth(call, "return_indices", return_indices)
    found, places = pooled("max", x, windows, with_places=with_places)
    return found if places is None else (found, places)


def _max_pool_backward(
    call: str, axes: int, grad: Any, x: Any, kernel_size: Any, stride: Any, padding: Any,
    dilation: Any, ceil_mode: Any, indices: Any,
) -> Array:  # fmt: skip
    grad, x = floats(call, grad=grad, x=x)
    windows = windows_of(call, x, axes, kernel_size, stride, padding, dilation, ceil_mode)
    return max_gradient(call, grad, x, windows, indices)


def _mean_options(call: str, count_include_pad: Any, divisor_override: Any) -> tuple[str, float]:
    """The op of pool(), and what sums are over, if it is not what the windows hold."""
    op = "mean_padded" if to_truth(call, "count_include_pad", count_include_pad) else "mean"
    if divisor_override is None:
        return op, 0
    override = to_integer(call, "divisor_override", divisor_override)
    if override == 0:
        invalid(call, "divisor_override is 0, expected another number")
    return op, float(override)


def _avg_pool(
    call: str, axes: int, x: Any, kernel_size: Any, stride: Any, padding: Any, ceil_mode: Any,
    count_include_pad: Any, divisor_override: Any,
) -> Array:  # fmt: skip
    (x,) = floats(call, x=x)
    windows = windows_of(call, x, axes, kernel_size, stride, padding, 1, ceil_mode)
    op, divisor = _mean_options(call, count_include_pad, divisor_override)
    return pooled(op, x, windows, divisor)[0]


def _avg_pool_backward(
    call: str, axes: int, grad: Any, x: Any, kernel_size: Any, stride: Any, padding: Any,
    ceil_mode: Any, count_include_pad: Any, divisor_override: Any,
) -> Array:  # fmt: skip
    grad, x = floats(call, grad=grad, x=x)
    windows = windows_of(call, x, axes, kernel_size, stride, padding, 1, ceil_mode)
    op, divisor = _mean_options(call, count_include_pad, divisor_override)
    check_grad(call, grad, windows)
    return pooled_backward(op, grad, x, windows, divisor)


@_as_max_pool
def max_pool1d(
    x: Array, /, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0,
    dilation: Sizes = 1, ceil_mode: bool = False, return_indices: bool = False,
) -> Array | tuple[Array, Array]:  # fmt: skip
    """The largest of each window along the last axis of [batch, channels, length], or without
    batch; NaN where there is one. With return_indices also where each is in its plane, as int32."""
    return _max_pool(
        "max_pool1d", 1, x, kernel_size, stride, padding, dilation, ceil_mode, return_indices
    )


@_as_max_pool
def max_pool2d(
    x: Array, /, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0,
    dilation: Sizes = 1, ceil_mode: bool = False, return_indices: bool = False,
) -> Array | tuple[Array, Array]:  # fmt: skip
    """max_pool1d() along the last two axes."""
    return _max_pool(
        "max_pool2d", 2, x, kernel_size, stride, padding, dilation, ceil_mode, return_indices
    )


@_as_max_pool
def max_pool3d(
    x: Array, /, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0,
    dilation: Sizes = 1, ceil_mode: bool = False, return_indices: bool = False,
) -> Array | tuple[Array, Array]:  # fmt: skip
    """max_pool1d() along the last three axes."""
    return _max_pool(
        "max_pool3d", 3, x, kernel_size, stride, padding, dilation, ceil_mode, return_indices
    )


@kept_by_form
def max_pool1d_backward(
    grad: Array, x: Array, /, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0,
    dilation: Sizes = 1, ceil_mode: bool = False, *, indices: Array | None = None,
) -> Array:  # fmt: skip
    """The gradient of max_pool1d() by x, which the first of the largest gets; `indices` are those
    that it gave, and are found again where they are not at hand."""
    return _max_pool_backward(
        "max_pool1d_backward", 1, grad, x, kernel_size, stride, padding, dilation, ceil_mode,
        indices,
    )  # fmt: skip


@kept_by_form
def max_pool2d_backward(
    grad: Array, x: Array, /, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0,
    dilation: Sizes = 1, ceil_mode: bool = False, *, indices: Array | None = None,
) -> Array:  # fmt: skip
    """The gradient of max_pool2d() by x, as max_pool1d_backward()."""
    return _max_pool_backward(
        "max_pool2d_backward", 2, grad, x, kernel_size, stride, padding, dilation, ceil_mode,
        indices,
    )  # fmt: skip


@kept_by_form
def max_pool3d_backward(
    grad: Array, x: Array, /, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0,
    dilation: Sizes = 1, ceil_mode: bool = False, *, indices: Array | None = None,
) -> Array:  # fmt: skip
    """The gradient of max_pool3d() by x, as max_pool1d_backward()."""
    return _max_pool_backward(
        "max_pool3d_backward", 3, grad, x, kernel_size, stride, padding, dilation, ceil_mode,
        indices,
    )  # fmt: skip


@kept_by_form
def avg_pool1d(
    x: Array, /, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0,
    ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int | None = None,
) -> Array:  # fmt: skip
    """The mean of each window along the last axis of [batch, channels, length], or without batch.
    The padding counts as zeros, unless count_include_pad is False; divisor_override is what sums
    are over instead."""
    return _avg_pool(
        "avg_pool1d", 1, x, kernel_size, stride, padding, ceil_mode, count_include_pad,
        divisor_override,
    )  # fmt: skip


@kept_by_form
def avg_pool2d(
    x: Array, /, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0,
    ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int | None = None,
) -> Array:  # fmt: skip
    """avg_pool1d() along the last two axes."""
    return _avg_pool(
        "avg_pool2d", 2, x, kernel_size, stride, padding, ceil_mode, count_include_pad,
        divisor_override,
    )  # fmt: skip


@kept_by_form
def avg_pool3d(
    x: Array, /, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0,
    ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int | None = None,
) -> Array:  # fmt: skip
    """avg_pool1d() along the last three axes."""
    return _avg_pool(
        "avg_pool3d", 3, x, kernel_size, stride, padding, ceil_mode, count_include_pad,
        divisor_override,
    )  # fmt: skip


@kept_by_form
def avg_pool1d_backward(
    grad: Array, x: Array, /, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0,
    ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int | None = None,
) -> Array:  # fmt: skip
    """The gradient of avg_pool1d() by x, of which only the shape counts."""
    return _avg_pool_backward(
        "avg_pool1d_backward", 1, grad, x, kernel_size, stride, padding, ceil_mode,
        count_include_pad, divisor_override,
    )  # fmt: skip


@kept_by_form
def avg_pool2d_backward(
    grad: Array, x: Array, /, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0,
    ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int | None = None,
) -> Array:  # fmt: skip
    """The gradient of avg_pool2d() by x, of which only the shape counts."""
    return _avg_pool_backward(
        "avg_pool2d_backward", 2, grad, x, kernel_size, stride, padding, ceil_mode,
        count_include_pad, divisor_override,
    )  # fmt: skip


@kept_by_form
def avg_pool3d_backward(
    grad: Array, x: Array, /, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0,
    ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int | None = None,
) -> Array:  # fmt: skip
    """The gradient of avg_pool3d() by x, of which only the shape counts."""
    return _avg_pool_backward(
        "avg_pool3d_backward", 3, grad, x, kernel_size, stride, padding, ceil_mode,
        count_include_pad, divisor_override,
    )  # fmt: skip
