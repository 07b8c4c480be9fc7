"""What max_pool1d() to max_pool3d() took, back at its places, and the gradients of that."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from tilewright.call_forms import kept_by_form
from tilewright.namespace.mixed import an_array
from tilewright.nn.running import floats
from tilewright.nn.windows import to_sizes
from tilewright.operands import invalid, shown, to_integer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tilewright.array import Array
    from tilewright.nn.windows import Sizes


def _lengths(
    call: str, axes: int, x: Array, kernel_size: Any, stride: Any, padding: Any, output_size: Any
) -> tuple[int, ...]:
    """Of the result."""
    if x.ndim not in (axes + 1, axes + 2):
        invalid(
            call,
            f"x has shape {x.shape}, expected {axes + 2} dimensions, [batch, channels, ...], or "
            f"{axes + 1} without batch",
        )
    windows = to_sizes(call, "kernel_size", kernel_size, axes, 1)
    steps = windows if stride is None else to_sizes(call, "stride", stride, axes, 1)
    pads = to_sizes(call, "padding", padding, axes, 0)
    found = tuple(
        (n - 1) * s + k - 2 * p
        for n, k, s, p in zip(x.shape[-axes:], windows, steps, pads, strict=True)
    )
    if output_size is not None:
        if not isinstance(output_size, (tuple, list)) or len(output_size) not in (axes, x.ndim):
            invalid(
                call, f"output_size is {shown(output_size)}, expected {axes} or {x.ndim} integers"
            )
        given = tuple(to_integer(call, "output_size", one) for one in output_size)[-axes:]
        for one, plain, step in zip(given, found, steps, strict=True):
            if not plain - step < one < plain + step:
                invalid(
                    call,
                    f"output_size is {shown(output_size)}, expected less than the stride off "
                    f"{found} along each axis",
                )
        found = given
    if any(one < 1 for one in found):
        invalid(call, f"padding is {shown(padding)}: lengths would be {found}, expected less")
    return found


def _places(call: str, x: Array, indices: Any, axes: int) -> Array:
    """Of the elements of each plane."""
    found = an_array(call, indices, "indices")
    x.backend._own(call, "indices", found)
    if found.dtype.kind not in "iu" or found.shape != x.shape:
        invalid(
            call,
            f"indices are {found.dtype} of shape {found.shape}, expected integers of shape "
            f"{x.shape}, as max_pool{axes}d() gave them",
        )
    planes = math.prod(x.shape[:-axes])
    lines: Array = found.reshape((planes, math.prod(x.shape[-axes:])))
    return lines


def _unpool(
    call: str, axes: int, x: Any, indices: Any, kernel_size: Any, stride: Any, padding: Any,
    output_size: Any,
) -> Array:  # fmt: skip
    from tilewright.namespace.creation import zeros
    from tilewright.namespace.selection import walk_along

    (x,) = floats(call, x=x)
    lengths = _lengths(call, axes, x, kernel_size, stride, padding, output_size)
    places = _places(call, x, indices, axes)
    result = zeros((places.shape[0], math.prod(lengths)), dtype=x.dtype, device=x.backend)
    if x.size:
        walk_along(call, result, places, -1)[0].put(x.reshape(places.shape))
    return result.reshape((*x.shape[:-axes], *lengths), copy=False)


def _unpool_backward(
    call: str, axes: int, grad: Any, x: Any, indices: Any, kernel_size: Any, stride: Any,
    padding: Any, output_size: Any,
) -> Array:  # fmt: skip
    from tilewright.namespace.selection import walk_along

    grad, x = floats(call, grad=grad, x=x)
    lengths = _lengths(call, axes, x, kernel_size, stride, padding, output_size)
    places = _places(call, x, indices, axes)
    expected = (*x.shape[:-axes], *lengths)
    if grad.shape != expected:
        invalid(call, f"grad has shape {grad.shape}, expected {expected} as the result has")
    if not x.size:
        empty: Array = grad.backend._new(x.shape, x.dtype)
        return empty
    planes = grad.reshape((places.shape[0], math.prod(lengths)))
    found: Array = walk_along(call, planes, places, -1)[0].take().reshape(x.shape, copy=False)
    return found


@kept_by_form
def max_unpool1d(
    x: Array, indices: Array, kernel_size: Sizes, stride: Sizes | None = None,
    padding: Sizes = 0, output_size: Sequence[int] | None = None,
) -> Array:  # fmt: skip
    """The elements of x, of shape [batch, channels, length] or without batch, at the `indices` that
    max_pool1d() gave, and zeros elsewhere. The result is as long as what windows of these sizes
    were taken of, or output_size. Of equal indices one element stays."""
    return _unpool("max_unpool1d", 1, x, indices, kernel_size, stride, padding, output_size)


@kept_by_form
def max_unpool2d(
    x: Array, indices: Array, kernel_size: Sizes, stride: Sizes | None = None,
    padding: Sizes = 0, output_size: Sequence[int] | None = None,
) -> Array:  # fmt: skip
    """max_unpool1d() along the last two axes."""
    return _unpool("max_unpool2d", 2, x, indices, kernel_size, stride, padding, output_size)


@kept_by_form
def max_unpool3d(
    x: Array, indices: Array, kernel_size: Sizes, stride: Sizes | None = None,
    padding: Sizes = 0, output_size: Sequence[int] | None = None,
) -> Array:  # fmt: skip
    """max_unpool1d() along the last three axes."""
    return _unpool("max_unpool3d", 3, x, indices, kernel_size, stride, padding, output_size)


@kept_by_form
def max_unpool1d_backward(
    grad: Array, x: Array, indices: Array, kernel_size: Sizes, stride: Sizes | None = None,
    padding: Sizes = 0, output_size: Sequence[int] | None = None,
) -> Array:  # fmt: skip
    """The gradient of max_unpool1d() by x: what came at its places."""
    return _unpool_backward(
        "max_unpool1d_backward", 1, grad, x, indices, kernel_size, stride, padding, output_size
    )


@kept_by_form
def max_unpool2d_backward(
    grad: Array, x: Array, indices: Array, kernel_size: Sizes, stride: Sizes | None = None,
    padding: Sizes = 0, output_size: Sequence[int] | None = None,
) -> Array:  # fmt: skip
    """The gradient of max_unpool2d() by x."""
    return _unpool_backward(
        "max_unpool2d_backward", 2, grad, x, indices, kernel_size, stride, padding, output_size
    )


@kept_by_form
def max_unpool3d_backward(
    grad: Array, x: Array, indices: Array, kernel_size: Sizes, stride: Sizes | None = None,
    padding: Sizes = 0, output_size: Sequence[int] | None = None,
) -> Array:  # fmt: skip
    """The gradient of max_unpool3d() by x."""
    return _unpool_backward(
        "max_unpool3d_backward", 3, grad, x, indices, kernel_size, stride, padding, output_size
    )
