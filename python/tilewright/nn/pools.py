"""Pooling along one to three axes: a reduction over windows, which are views."""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright.namespace.complex_math import choose
from tilewright.nn.running import floats, launch, mapped, reduced, to_truth
from tilewright.nn.windows import Windows
from tilewright.operands import invalid, to_integer
from tilewright.program import Program

if TYPE_CHECKING:
    from collections.abc import Callable

    from tilewright.array import Array
    from tilewright.nn.windows import Sizes
    from tilewright.program import Value

INT32 = np.dtype(np.int32)
MOST_INT32 = 2**31 - 1


def _itself(x: Value) -> Value:
    return x


# Of the largest ----------------------------------------------------------------------------------


@cache
def _place_of(dtype: str, axes: int) -> Program:
    """The place in its plane of an element that is the largest of its window, of the element, the
    largest and where it is along each axis; else, and in the padding, more than any place. Numbers
    are the plane's sizes and steps."""
    program = Program()
    x, largest = program.input(dtype), program.input(dtype)
    found = (x == largest) | (x.isnan() & largest.isnan())
    place: Any = None
    for _ in range(axes):
        at = program.input("int32")
        size, step = program.number("int32"), program.number("int32")
        found = found & (at >= 0) & (at < size)
        place = at * step if place is None else place + at * step
    program.output(choose(found, place, MOST_INT32))
    return program


def _places(x: Array, windows: Windows, padded: Array, largest: Array) -> Array:
    """Where in its plane the largest of each window is, the first one of them, counted row by
    row."""
    from tilewright.namespace.manipulation import broadcast_to

    result = x.backend._new(windows.shape, INT32)
    if 0 in windows.shape:
        return result
    axes = len(windows.axes)
    lines, numbers = [], []
    steps = [math.prod(one.length for one in windows.axes[i + 1 :]) for i in range(axes)]
    for i, one in enumerate(windows.axes):
        line = np.arange(-one.padding, one.padded - one.padding, dtype=np.int32)
        ways = x.backend._upload(line)._view((one.out, one.window), (one.stride, one.dilation), 0)
        ones = [1] * (2 * axes)
        ones[i], ones[axes + i] = ways.shape
        lines.append(broadcast_to(ways.reshape(tuple(ones), copy=False), windows.whole))
        numbers += [one.length, steps[i]]
    best = broadcast_to(largest.reshape((*windows.shape, *(1,) * axes)), windows.whole)
    x.backend.map_reduce(
        _place_of(x.stored_as, axes), "min", windows.whole, windows.inner,
        [windows.of(padded), best, *lines], numbers, [result],
    )  # fmt: skip
    return result


def _along(x: Array, windows: Windows, i: int, line: np.ndarray[Any, Any]) -> Array:
    """The host's numbers for an axis, as a view of the outputs' shape."""
    from tilewright.namespace.manipulation import broadcast_to

    there = x.backend._upload(line).reshape((-1,) + (1,) * (len(windows.axes) - i - 1))
    return broadcast_to(there, windows.shape)


def _largest(x: Array, windows: Windows, padded: Array) -> Array:
    return reduced(
        "max", _itself, x, [windows.of(padded)], windows.inner, x.dtype, shape=windows.whole
    )


def _max_pool(
    call: str, axes: int, x: Any, kernel_size: Any, stride: Any, padding: Any, dilation: Any,
    ceil_mode: Any, return_indices: Any,
) -> Any:  # fmt: skip
    (x,) = floats(call, x=x)
    windows = Windows(call, x, axes, kernel_size, stride, padding, dilation, ceil_mode)
    with_places = to_truth(call, "return_indices", return_indices)
    padded = windows.padded(x, -math.inf)
    found = _largest(x, windows, padded)
    return (found, _places(x, windows, padded, found)) if with_places else found


def _own(grad: Value, place: Value, own: Value) -> Value:
    return choose(place == own, grad, 0.0)


def _max_pool_backward(
    call: str, axes: int, grad: Any, x: Any, kernel_size: Any, stride: Any, padding: Any,
    dilation: Any, ceil_mode: Any, indices: Any,
) -> Array:  # fmt: skip
    from tilewright.namespace.manipulation import broadcast_to
    from tilewright.namespace.mixed import an_array

    grad, x = floats(call, grad=grad, x=x)
    windows = Windows(call, x, axes, kernel_size, stride, padding, dilation, ceil_mode)
    _check_grad(call, grad, windows)
    if indices is None:
        padded = windows.padded(x, -math.inf)
        indices = _places(x, windows, padded, _largest(x, windows, padded))
    else:
        x.backend._own(call, "indices", an_array(call, indices, "indices"))
        if indices.shape != windows.shape or indices.dtype != INT32:
            invalid(
                call,
                f"indices is {indices.dtype} of shape {indices.shape}, expected int32 of shape "
                f"{windows.shape}",
            )
    if x.size == 0:
        return mapped(call, _itself, x, [x])
    plane = tuple(one.length for one in windows.axes)
    numbers = x.backend._upload(np.arange(math.prod(plane), dtype=np.int32).reshape(plane))
    whole = (*x.shape, *(one.window for one in windows.axes))
    own = broadcast_to(numbers.reshape((*plane, *(1,) * axes)), whole)
    operands = [
        windows.covering(windows.spread(grad, 0)), windows.covering(windows.spread(indices, -1)),
        own,
    ]  # fmt: skip
    inner = range(x.ndim, len(whole))
    return reduced("sum", _own, x, operands, inner, x.dtype, shape=whole)


def _check_grad(call: str, grad: Array, windows: Windows) -> None:
    if grad.shape != windows.shape:
        invalid(call, f"grad has shape {grad.shape}, expected {windows.shape} as the result has")


# Of the mean -------------------------------------------------------------------------------------


@cache
def _over(axes: int) -> Callable[..., Value]:
    """A sum over the product of the counts of each axis."""

    def quotient(total: Value, *counts: Value) -> Value:
        count = counts[0]
        for one in counts[1:]:
            count = count * one
        return total / count

    return quotient


def _divisors(x: Array, windows: Windows, include_pad: bool, override: int | None) -> list[Any]:
    """What sums are over: a number, or one for each axis and output."""
    counts = windows.counts(include_pad)
    if override is not None:
        return [float(override)]
    if all((line == line[0]).all() for line in counts):
        return [float(math.prod(int(line[0]) for line in counts))]
    wide = np.float64 if x.dtype == np.float64 else np.float32
    return [_along(x, windows, i, line.astype(wide)) for i, line in enumerate(counts)]


def _mean_options(
    call: str, count_include_pad: Any, divisor_override: Any
) -> tuple[bool, int | None]:
    include = to_truth(call, "count_include_pad", count_include_pad)
    if divisor_override is None:
        return include, None
    override = to_integer(call, "divisor_override", divisor_override)
    if override == 0:
        invalid(call, "divisor_override is 0, expected another number")
    return include, override


def _avg_pool(
    call: str, axes: int, x: Any, kernel_size: Any, stride: Any, padding: Any, ceil_mode: Any,
    count_include_pad: Any, divisor_override: Any,
) -> Array:  # fmt: skip
    (x,) = floats(call, x=x)
    windows = Windows(call, x, axes, kernel_size, stride, padding, 1, ceil_mode)
    include, override = _mean_options(call, count_include_pad, divisor_override)
    divisors = _divisors(x, windows, include, override)
    arrays = [one for one in divisors if not isinstance(one, float)]
    return reduced(
        "sum", _itself, x, [windows.of(windows.padded(x, 0))], windows.inner, x.dtype,
        _over(len(divisors)), [one for one in divisors if isinstance(one, float)], arrays,
        windows.whole,
    )  # fmt: skip


def _avg_pool_backward(
    call: str, axes: int, grad: Any, x: Any, kernel_size: Any, stride: Any, padding: Any,
    ceil_mode: Any, count_include_pad: Any, divisor_override: Any,
) -> Array:  # fmt: skip
    grad, x = floats(call, grad=grad, x=x)
    windows = Windows(call, x, axes, kernel_size, stride, padding, 1, ceil_mode)
    include, override = _mean_options(call, count_include_pad, divisor_override)
    _check_grad(call, grad, windows)
    if x.size == 0:
        return mapped(call, _itself, x, [x])
    divisors = _divisors(x, windows, include, override)
    parts = grad
    numbers = [one for one in divisors if isinstance(one, float)]
    if not numbers:
        from tilewright.nn.running import wide_of

        # Not rounded before they are summed.
        parts = x.backend._new(grad.shape, wide_of(grad.dtype))
        launch(_over(len(divisors)), grad, [grad, *divisors], [parts], grad.shape)
        numbers = [1.0]
    whole = (*x.shape, *(one.window for one in windows.axes))
    view = windows.covering(windows.spread(parts, 0))
    return reduced(
        "sum", _itself, x, [view], range(x.ndim, len(whole)), x.dtype, _over(1), numbers,
        shape=whole,
    )  # fmt: skip


def max_pool1d(
    x: Array, /, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0,
    dilation: Sizes = 1, ceil_mode: bool = False, return_indices: bool = False,
) -> Any:  # fmt: skip
    """The largest of each window along the last axis of [batch, channels, length], or without
    batch; NaN where there is one. With return_indices also where each is in its plane, as int32."""
    return _max_pool(
        "max_pool1d", 1, x, kernel_size, stride, padding, dilation, ceil_mode, return_indices
    )


def max_pool2d(
    x: Array, /, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0,
    dilation: Sizes = 1, ceil_mode: bool = False, return_indices: bool = False,
) -> Any:  # fmt: skip
    """max_pool1d() along the last two axes."""
    return _max_pool(
        "max_pool2d", 2, x, kernel_size, stride, padding, dilation, ceil_mode, return_indices
    )


def max_pool3d(
    x: Array, /, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0,
    dilation: Sizes = 1, ceil_mode: bool = False, return_indices: bool = False,
) -> Any:  # fmt: skip
    """max_pool1d() along the last three axes."""
    return _max_pool(
        "max_pool3d", 3, x, kernel_size, stride, padding, dilation, ceil_mode, return_indices
    )


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


def max_pool2d_backward(
    grad: Array, x: Array, /, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0,
    dilation: Sizes = 1, ceil_mode: bool = False, *, indices: Array | None = None,
) -> Array:  # fmt: skip
    """The gradient of max_pool2d() by x, as max_pool1d_backward()."""
    return _max_pool_backward(
        "max_pool2d_backward", 2, grad, x, kernel_size, stride, padding, dilation, ceil_mode,
        indices,
    )  # fmt: skip


def max_pool3d_backward(
    grad: Array, x: Array, /, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0,
    dilation: Sizes = 1, ceil_mode: bool = False, *, indices: Array | None = None,
) -> Array:  # fmt: skip
    """The gradient of max_pool3d() by x, as max_pool1d_backward()."""
    return _max_pool_backward(
        "max_pool3d_backward", 3, grad, x, kernel_size, stride, padding, dilation, ceil_mode,
        indices,
    )  # fmt: skip


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


def avg_pool2d(
    x: Array, /, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0,
    ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int | None = None,
) -> Array:  # fmt: skip
    """avg_pool1d() along the last two axes."""
    return _avg_pool(
        "avg_pool2d", 2, x, kernel_size, stride, padding, ceil_mode, count_include_pad,
        divisor_override,
    )  # fmt: skip


def avg_pool3d(
    x: Array, /, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0,
    ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int | None = None,
) -> Array:  # fmt: skip
    """avg_pool1d() along the last three axes."""
    return _avg_pool(
        "avg_pool3d", 3, x, kernel_size, stride, padding, ceil_mode, count_include_pad,
        divisor_override,
    )  # fmt: skip


def avg_pool1d_backward(
    grad: Array, x: Array, /, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0,
    ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int | None = None,
) -> Array:  # fmt: skip
    """The gradient of avg_pool1d() by x, of which only the shape counts."""
    return _avg_pool_backward(
        "avg_pool1d_backward", 1, grad, x, kernel_size, stride, padding, ceil_mode,
        count_include_pad, divisor_override,
    )  # fmt: skip


def avg_pool2d_backward(
    grad: Array, x: Array, /, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0,
    ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int | None = None,
) -> Array:  # fmt: skip
    """The gradient of avg_pool2d() by x, of which only the shape counts."""
    return _avg_pool_backward(
        "avg_pool2d_backward", 2, grad, x, kernel_size, stride, padding, ceil_mode,
        count_include_pad, divisor_override,
    )  # fmt: skip


def avg_pool3d_backward(
    grad: Array, x: Array, /, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0,
    ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int | None = None,
) -> Array:  # fmt: skip
    """The gradient of avg_pool3d() by x, of which only the shape counts."""
    return _avg_pool_backward(
        "avg_pool3d_backward", 3, grad, x, kernel_size, stride, padding, ceil_mode,
        count_include_pad, divisor_override,
    )  # fmt: skip
