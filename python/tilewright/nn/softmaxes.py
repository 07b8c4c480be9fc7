"""Functions of whole lines of an axis: softmax and its kin, and normalize."""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright.namespace.complex_math import choose
from tilewright.nn.running import alike, mapped, reduced, to_number, wide_of
from tilewright.operands import invalid, to_axis

if TYPE_CHECKING:
    from collections.abc import Callable

    from tilewright.array import Array
    from tilewright.program import Value

# What the trait's op takes, which is one launch.
OWN_KERNEL = (np.dtype(np.float32), np.dtype(np.float16))


def along(x: Array, axis: int, line: Array) -> Array:
    """One value for each line of an axis, as a view of x's shape."""
    from tilewright.namespace.manipulation import broadcast_to

    shape = tuple(1 if i == axis else size for i, size in enumerate(x.shape))
    return broadcast_to(line.reshape(shape), x.shape)


def _itself(x: Value) -> Value:
    return x


def _above(x: Value, most: Value) -> Value:
    return (x - most).exp()


def _log(total: Value) -> Value:
    return total.log()


def largest(x: Array, axis: int) -> Array:
    return reduced("max", _itself, x, [x], [axis])


def log_sums(x: Array, axis: int) -> tuple[Array, Array]:
    """The largest of each line, and the logarithm of the sum of exp() of what is off it: x less the
    one and less the other is log_softmax(x), of which no difference cancels."""
    most = largest(x, axis)
    return most, reduced("sum", _above, x, [x, along(x, axis, most)], [axis], behind=_log)


def _part(x: Value, most: Value, total: Value) -> Value:
    return (x - most).exp() / total


def _log_part(x: Value, most: Value, log: Value) -> Value:
    return x - most - log


def _softmax(call: str, x: Array, dim: Any, out: Array | None) -> Array:
    axis = to_axis(call, dim, x.shape, "dim")
    if 0 in x.shape:
        return mapped(call, _itself, x, [x], out)
    if x.dtype in OWN_KERNEL:
        return x.backend._softmax(x, axis, out)
    most = along(x, axis, largest(x, axis))
    total = along(x, axis, reduced("sum", _above, x, [x, most], [axis]))
    return mapped(call, _part, x, [x, most, total], out)


def softmax(x: Array, /, dim: int = -1, *, out: Array | None = None) -> Array:
    """exp(x) / sum(exp(x)) along an axis: one launch of float32 and float16, three of others."""
    (x,) = alike("softmax", x=x)
    return _softmax("softmax", x, dim, out)


def softmin(x: Array, /, dim: int = -1, *, out: Array | None = None) -> Array:
    """softmax(-x)."""
    (x,) = alike("softmin", x=x)
    return _softmax("softmin", -x, dim, out)


def log_softmax(x: Array, /, dim: int = -1, *, out: Array | None = None) -> Array:
    """The logarithm of softmax(), whose digits hold where that is 0: three launches."""
    (x,) = alike("log_softmax", x=x)
    axis = to_axis("log_softmax", dim, x.shape, "dim")
    if 0 in x.shape:
        return mapped("log_softmax", _itself, x, [x], out)
    most, log = log_sums(x, axis)
    return mapped("log_softmax", _log_part, x, [x, along(x, axis, most), along(x, axis, log)], out)


def _product(a: Value, b: Value) -> Value:
    return a * b


def _softmax_gradient(grad: Value, y: Value, total: Value) -> Value:
    return y * (grad - total)


def _softmin_gradient(grad: Value, y: Value, total: Value) -> Value:
    return y * (total - grad)


def _log_softmax_gradient(grad: Value, y: Value, total: Value) -> Value:
    return grad - y.exp() * total


def _gradient(
    call: str, forward: Callable[..., Array], formula: Callable[..., Value],
    summed: Callable[..., Value], grad: Any, x: Any, dim: Any, result: Any,
) -> Array:  # fmt: skip
    grad, x = alike(call, grad=grad, x=x)
    axis = to_axis(call, dim, x.shape, "dim")
    if result is None:
        # float16 and bfloat16 are rounded at the end alone.
        result = forward(x.astype(wide_of(x.dtype), copy=False), axis)
    else:
        _, result = alike(call, x=x, result=result)
    if 0 in x.shape:
        return mapped(call, _itself, x, [x])
    operands = [grad] if summed is _itself else [grad, result]
    total = reduced("sum", summed, x, operands, [axis])
    return mapped(call, formula, x, [grad, result, along(x, axis, total)])


def softmax_backward(
    grad: Array, x: Array, /, dim: int = -1, *, result: Array | None = None
) -> Array:
    """The gradient of softmax() by x: two launches where its result is given, else one more or
    three."""
    return _gradient("softmax_backward", softmax, _softmax_gradient, _product, grad, x, dim, result)


def softmin_backward(
    grad: Array, x: Array, /, dim: int = -1, *, result: Array | None = None
) -> Array:
    """The gradient of softmin() by x, as softmax_backward()."""
    return _gradient("softmin_backward", softmin, _softmin_gradient, _product, grad, x, dim, result)


def log_softmax_backward(
    grad: Array, x: Array, /, dim: int = -1, *, result: Array | None = None
) -> Array:
    """The gradient of log_softmax() by x: two launches where its result is given, else five."""
    return _gradient(
        "log_softmax_backward", log_softmax, _log_softmax_gradient, _itself, grad, x, dim, result
    )


# Lines of length 1 ------------------------------------------------------------------------------


def _size(x: Value) -> Value:
    return abs(x)


def _unit(most: Value) -> Value:
    """What a line is measured in, so that no power of it overflows."""
    return choose(most == 0, 1.0, most)


def _powers(p: float) -> Callable[..., Value]:
    return {1.0: _first, 2.0: _second}.get(p, _any)


def _first(x: Value, most: Value, p: Value) -> Value:
    return abs(x / _unit(most))


def _second(x: Value, most: Value, p: Value) -> Value:
    y = x / _unit(most)
    return y * y


def _any(x: Value, most: Value, p: Value) -> Value:
    return abs(x / _unit(most)).pow(p)


def _root(p: float) -> Callable[..., Value]:
    return {1.0: _itself_of, 2.0: _root_of_second}.get(p, _root_of_any)


def _itself_of(total: Value, inverse: Value) -> Value:
    return total


def _root_of_second(total: Value, inverse: Value) -> Value:
    return total.sqrt()


def _root_of_any(total: Value, inverse: Value) -> Value:
    return total.pow(inverse)


def _over(x: Value, most: Value, length: Value, eps: Value) -> Value:
    unit = _unit(most)
    return x / unit / length.max(eps / unit)


def _over_largest(x: Value, most: Value, eps: Value) -> Value:
    return x / most.max(eps)


def _to_p(call: str, p: Any) -> float:
    power = to_number(call, "p", p)
    if not power > 0:
        invalid(call, f"p is {power}, expected more than 0")
    return power


def _to_eps(call: str, eps: Any) -> float:
    least = to_number(call, "eps", eps)
    if not least >= 0:
        invalid(call, f"eps is {least}, expected 0 or more")
    return least


def _lengths(x: Array, axis: int, p: float) -> tuple[Array, Array]:
    """The largest element of each line, and the line's length measured in that."""
    most = along(x, axis, reduced("max", _size, x, [x], [axis]))
    length = reduced("sum", _powers(p), x, [x, most, p], [axis], behind=_root(p), numbers=[1 / p])
    return most, along(x, axis, length)


def normalize(
    x: Array, /, p: float = 2.0, dim: int = 1, eps: float = 1e-12, *, out: Array | None = None
) -> Array:
    """x over its norm along an axis, or over eps where that is more: three launches. No power
    overflows on the way."""
    call = "normalize"
    (x,) = alike(call, x=x)
    power, least, axis = _to_p(call, p), _to_eps(call, eps), to_axis(call, dim, x.shape, "dim")
    if 0 in x.shape:
        return mapped(call, _itself, x, [x], out)
    if math.isinf(power):
        most = along(x, axis, reduced("max", _size, x, [x], [axis]))
        return mapped(call, _over_largest, x, [x, most, least], out)
    most, length = _lengths(x, axis, power)
    return mapped(call, _over, x, [x, most, length, least], out)


def _across(grad: Value, x: Value, most: Value, length: Value, eps: Value) -> Value:
    """What the gradient has along the line, where its length counts."""
    unit = _unit(most)
    y = x / unit / length
    return choose(length > eps / unit, grad * y, 0.0)


def _sign_of(y: Value, p: Value) -> Value:
    return y.sign()


def _as_it_is(y: Value, p: Value) -> Value:
    return y


def _signed_power(y: Value, p: Value) -> Value:
    return y.sign() * abs(y).pow(p - 1)


@cache
def _normalize_gradient(power: Callable[..., Value]) -> Callable[..., Value]:
    def gradient(
        grad: Value, x: Value, most: Value, length: Value, total: Value, eps: Value, p: Value
    ) -> Value:
        unit = _unit(most)
        least = eps / unit
        along_line = total * power(x / unit / length, p)
        off = choose(length > least, grad - along_line, grad)
        return off / unit / length.max(least)

    return gradient


def normalize_backward(
    grad: Array, x: Array, /, p: float = 2.0, dim: int = 1, eps: float = 1e-12
) -> Array:
    """The gradient of normalize() by x, of a finite p: four launches."""
    call = "normalize_backward"
    grad, x = alike(call, grad=grad, x=x)
    power, least, axis = _to_p(call, p), _to_eps(call, eps), to_axis(call, dim, x.shape, "dim")
    if math.isinf(power):
        invalid(call, "p is inf, expected a finite number")
    if 0 in x.shape:
        return mapped(call, _itself, x, [x])
    most, length = _lengths(x, axis, power)
    total = along(x, axis, reduced("sum", _across, x, [grad, x, most, length, least], [axis]))
    formula = _normalize_gradient({1.0: _sign_of, 2.0: _as_it_is}.get(power, _signed_power))
    return mapped(call, formula, x, [grad, x, most, length, total, least, power])
