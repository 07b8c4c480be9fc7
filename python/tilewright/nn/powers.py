"""What is pooled as powers: norms of windows, and local response normalisation."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from tilewright.call_forms import kept_by_form
from tilewright.namespace.complex_math import choose
from tilewright.nn.running import alike, floats, mapped, to_number, wide_of
from tilewright.nn.windows import check_grad, pooled, pooled_backward, windows_of
from tilewright.operands import invalid, to_integer

if TYPE_CHECKING:
    from tilewright.array import Array
    from tilewright.nn.windows import Sizes, Windows
    from tilewright.program import Value


def _wide(x: Array) -> Array:
    """Powers of 16 bits are not rounded before they are summed."""
    found: Array = x.astype(wide_of(x.dtype), copy=False)
    return found


# Norms of windows --------------------------------------------------------------------------------

# Norms are those of a mean of powers and of how many elements it is of. Exponents of 1 and 2 take
# no powers.


def _first_norm(mean: Value, count: Value) -> Value:
    return mean * count


def _first_gradient(grad: Value, mean: Value, count: Value) -> Value:
    return grad * count


def _square(x: Value) -> Value:
    return x * x


def _square_norm(mean: Value, count: Value) -> Value:
    return (mean * count).sqrt()


def _square_gradient(grad: Value, mean: Value, count: Value) -> Value:
    return choose(mean == 0, 0.0, grad * count * 0.5 / (mean * count).sqrt())


def _power(x: Value, p: Value) -> Value:
    return x**p


def _norm(mean: Value, count: Value, p: Value) -> Value:
    return (mean * count) ** (1.0 / p)


def _gradient(grad: Value, mean: Value, count: Value, p: Value) -> Value:
    root = 1.0 / p
    return choose(mean == 0, 0.0, grad * count * root * (mean * count) ** (root - 1.0))


def _by_square(x: Value, back: Value) -> Value:
    return x * back * 2.0


def _by_power(x: Value, back: Value, p: Value) -> Value:
    return p * x ** (p - 1.0) * back


def _exponent(call: str, norm_type: Any) -> float:
    p = to_number(call, "norm_type", norm_type)
    if not 0 < p < math.inf:
        invalid(call, f"norm_type is {p}, expected a finite number above 0")
    return p


def _lp_windows(
    call: str, axes: int, x: Array, kernel_size: Any, stride: Any, ceil_mode: Any
) -> tuple[Windows, float]:
    windows = windows_of(call, x, axes, kernel_size, stride, 0, 1, ceil_mode)
    return windows, float(math.prod(one.window for one in windows.axes))


def _means(x: Array, windows: Windows, p: float) -> Array:
    """Of powers, in what they are computed in."""
    wide = _wide(x)
    if p == 1:
        return pooled("mean", wide, windows)[0]
    powers = mapped("", _square, wide, [wide]) if p == 2 else mapped("", _power, wide, [wide, p])
    return pooled("mean", powers, windows)[0]


def _lp_pool(
    call: str, axes: int, x: Any, norm_type: Any, kernel_size: Any, stride: Any, ceil_mode: Any
) -> Array:
    (x,) = floats(call, x=x)
    p = _exponent(call, norm_type)
    windows, count = _lp_windows(call, axes, x, kernel_size, stride, ceil_mode)
    means = _means(x, windows, p)
    out = x.backend._new(means.shape, x.dtype)
    if p == 1:
        return mapped(call, _first_norm, out, [means, count], out)
    if p == 2:
        return mapped(call, _square_norm, out, [means, count], out)
    return mapped(call, _norm, out, [means, count, p], out)


def _lp_pool_backward(
    call: str, axes: int, grad: Any, x: Any, norm_type: Any, kernel_size: Any, stride: Any,
    ceil_mode: Any,
) -> Array:  # fmt: skip
    grad, x = floats(call, grad=grad, x=x)
    p = _exponent(call, norm_type)
    windows, count = _lp_windows(call, axes, x, kernel_size, stride, ceil_mode)
    check_grad(call, grad, windows)
    means = _means(x, windows, p)
    if p == 1:
        by_means = mapped(call, _first_gradient, means, [grad, means, count])
        back = pooled_backward("mean", by_means, _wide(x), windows)
        found: Array = back.astype(x.dtype, copy=False)
        return found
    if p == 2:
        by_means = mapped(call, _square_gradient, means, [grad, means, count])
    else:
        by_means = mapped(call, _gradient, means, [grad, means, count, p])
    back = pooled_backward("mean", by_means, _wide(x), windows)
    if p == 2:
        return mapped(call, _by_square, x, [x, back])
    return mapped(call, _by_power, x, [x, back, p])


@kept_by_form
def lp_pool1d(
    x: Array, /, norm_type: float, kernel_size: Sizes, stride: Sizes | None = None,
    ceil_mode: bool = False,
) -> Array:  # fmt: skip
    """(sum(x**norm_type))**(1 / norm_type) of each window along the last axis of [batch, channels,
    length], or without batch. A window that ceil_mode lets reach beyond the end counts as if it
    were whole, with the mean of its powers, as in torch."""
    return _lp_pool("lp_pool1d", 1, x, norm_type, kernel_size, stride, ceil_mode)


@kept_by_form
def lp_pool2d(
    x: Array, /, norm_type: float, kernel_size: Sizes, stride: Sizes | None = None,
    ceil_mode: bool = False,
) -> Array:  # fmt: skip
    """lp_pool1d() along the last two axes."""
    return _lp_pool("lp_pool2d", 2, x, norm_type, kernel_size, stride, ceil_mode)


@kept_by_form
def lp_pool3d(
    x: Array, /, norm_type: float, kernel_size: Sizes, stride: Sizes | None = None,
    ceil_mode: bool = False,
) -> Array:  # fmt: skip
    """lp_pool1d() along the last three axes."""
    return _lp_pool("lp_pool3d", 3, x, norm_type, kernel_size, stride, ceil_mode)


@kept_by_form
def lp_pool1d_backward(
    grad: Array, x: Array, /, norm_type: float, kernel_size: Sizes, stride: Sizes | None = None,
    ceil_mode: bool = False,
) -> Array:  # fmt: skip
    """The gradient of lp_pool1d() by x; 0 where all of a window is 0."""
    return _lp_pool_backward(
        "lp_pool1d_backward", 1, grad, x, norm_type, kernel_size, stride, ceil_mode
    )


@kept_by_form
def lp_pool2d_backward(
    grad: Array, x: Array, /, norm_type: float, kernel_size: Sizes, stride: Sizes | None = None,
    ceil_mode: bool = False,
) -> Array:  # fmt: skip
    """The gradient of lp_pool2d() by x, as lp_pool1d_backward()."""
    return _lp_pool_backward(
        "lp_pool2d_backward", 2, grad, x, norm_type, kernel_size, stride, ceil_mode
    )


@kept_by_form
def lp_pool3d_backward(
    grad: Array, x: Array, /, norm_type: float, kernel_size: Sizes, stride: Sizes | None = None,
    ceil_mode: bool = False,
) -> Array:  # fmt: skip
    """The gradient of lp_pool3d() by x, as lp_pool1d_backward()."""
    return _lp_pool_backward(
        "lp_pool3d_backward", 3, grad, x, norm_type, kernel_size, stride, ceil_mode
    )


# Local response normalisation --------------------------------------------------------------------


def _normalised(x: Value, mean: Value, alpha: Value, beta: Value, k: Value) -> Value:
    return x * (k + alpha * mean) ** -beta


def _shares(grad: Value, x: Value, mean: Value, alpha: Value, beta: Value, k: Value) -> Value:
    return grad * x * (k + alpha * mean) ** (-1.0 - beta)


def _response_gradient(
    grad: Value, x: Value, mean: Value, shares: Value, alpha: Value, beta: Value, k: Value
) -> Value:
    return grad * (k + alpha * mean) ** -beta - alpha * beta * 2.0 * x * shares


def _channel_means(x: Array, size: int, before: int) -> Array:
    """Sums over `size` channels from so many before each one on, over `size`."""
    result = x.backend._new(x.shape, x.dtype)
    if result.size:
        batch, channels = x.shape[:2]
        plane = (channels, math.prod(x.shape[2:]))
        x.backend.pool(
            "mean", x, result, batch, plane, plane, (size, 1), (1, 1), (before, 0), (1, 1), size,
            None, x.stored_as,
        )  # fmt: skip
    return result


def _response_options(
    call: str, x: Array, size: Any, alpha: Any, beta: Any, k: Any
) -> tuple[int, list[float]]:
    if x.ndim < 3:
        invalid(call, f"x has shape {x.shape}, expected 3 dimensions at least, [batch, channels, "
                      "...]")  # fmt: skip
    count = to_integer(call, "size", size)
    if count < 1:
        invalid(call, f"size is {count}, expected 1 or more")
    numbers = (("alpha", alpha), ("beta", beta), ("k", k))
    return count, [to_number(call, name, value) for name, value in numbers]


@kept_by_form
def local_response_norm(
    x: Array, /, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
) -> Array:
    """x / (k + alpha * mean(x**2))**beta of [batch, channels, ...]; the mean is over `size`
    channels around each one, of which those that are not there are 0."""
    call = "local_response_norm"
    (x,) = floats(call, x=x)
    count, numbers = _response_options(call, x, size, alpha, beta, k)
    wide = _wide(x)
    means = _channel_means(mapped(call, _square, wide, [wide]), count, count // 2)
    return mapped(call, _normalised, x, [x, means, *numbers])


@kept_by_form
def local_response_norm_backward(
    grad: Array, x: Array, /, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
) -> Array:
    """The gradient of local_response_norm() by x."""
    call = "local_response_norm_backward"
    grad, x = alike(call, grad=grad, x=x)
    count, numbers = _response_options(call, x, size, alpha, beta, k)
    wide = _wide(x)
    means = _channel_means(mapped(call, _square, wide, [wide]), count, count // 2)
    shares = mapped(call, _shares, means, [grad, x, means, *numbers])
    # The channels whose windows have one lie around it the other way round.
    shares = _channel_means(shares, count, (count - 1) // 2)
    return mapped(call, _response_gradient, x, [grad, x, means, shares, *numbers])
