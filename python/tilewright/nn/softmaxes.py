"""Functions of whole lines of an axis: softmax and its kin, and normalize."""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tilewright.array import Array
from tilewright.call_forms import kept_by_form
from tilewright.namespace.complex_math import choose
from tilewright.nn.formulas import constant
from tilewright.nn.rows import in_rows
from tilewright.nn.running import alike, mapped, reduced, to_number
from tilewright.operands import invalid, to_axis

if TYPE_CHECKING:
    from collections.abc import Callable

    from tilewright.program import Value

# What the trait's op takes, of softmax() and log_softmax(), which is one launch.
OWN_KERNEL = (np.dtype(np.float32), np.dtype(np.float16))


def along(x: Array, axis: int, line: Array) -> Array:
    """One value for each line of an axis, as a view of x's shape."""
    from tilewright.namespace.manipulation import broadcast_to

    shape = tuple(1 if i == axis else size for i, size in enumerate(x.shape))
    return broadcast_to(line.reshape(shape), x.shape)


def _itself(x: Value, *_: Value) -> Value:
    return x


def _above(x: Value, most: Value, *_: Value) -> Value:
    return (x - most).exp()


# What is found of each line of x: the largest, and the sum of exp() of what is off it.
LARGEST_AND_SUM: list[tuple[str, Callable[..., Value]]] = [("max", _itself), ("sum", _above)]


def _most_and_log(most: Value, total: Value) -> tuple[Value, Value]:
    return most, total.log()


def largest(x: Array, axis: int) -> Array:
    return reduced("max", _itself, x, [x], [axis])


def log_sums(x: Array, axis: int) -> tuple[Array, Array]:
    """The largest of each line, and the logarithm of the sum of exp() of what is off it: x less the
    one and less the other is log_softmax(x), of which no difference cancels."""
    if 0 in x.shape:
        most = largest(x, axis)
        return most, most
    _, (most, log) = in_rows(
        "log_softmax", x, [x], [axis], LARGEST_AND_SUM, ends=_most_and_log, end_count=2
    )
    return most, log


def _part(x: Value, most: Value, total: Value) -> Value:
    return (x - most).exp() * (1 / total)


def _log_part(x: Value, most: Value, total: Value) -> Value:
    return x - most - total.log()


def _line_by_line(
    call: str, x: Array, dim: Any, formula: Callable[..., Value], out: Array | None
) -> Array:
    axis = to_axis(call, dim, x.shape, "dim")
    if 0 in x.shape:
        return mapped(call, _itself, x, [x], out)
    if x.dtype in OWN_KERNEL:
        own = x.backend._log_softmax if formula is _log_part else x.backend._softmax
        return own(x, axis, out)
    made, _ = in_rows(call, x, [x], [axis], LARGEST_AND_SUM, formula, out=out)
    assert made is not None
    return made


def softmax(x: Array, /, dim: int = -1, *, out: Array | None = None) -> Array:
    """exp(x) / sum(exp(x)) along an axis: one launch."""
    if type(x) is Array and type(dim) is int and x.dtype in OWN_KERNEL and x.size:
        rank = len(x.shape)
        if -rank <= dim < rank:
            return x.backend._softmax(x, dim, out)
    (x,) = alike("softmax", x=x)
    return _line_by_line("softmax", x, dim, _part, out)


@kept_by_form
def softmin(x: Array, /, dim: int = -1, *, out: Array | None = None) -> Array:
    """softmax(-x)."""
    (x,) = alike("softmin", x=x)
    return _line_by_line("softmin", -x, dim, _part, out)


@kept_by_form
def log_softmax(x: Array, /, dim: int = -1, *, out: Array | None = None) -> Array:
    """The logarithm of softmax(), whose digits hold where that is 0: one launch."""
    if type(x) is Array and type(dim) is int and x.dtype in OWN_KERNEL and x.size:
        rank = len(x.shape)
        if -rank <= dim < rank:
            return x.backend._log_softmax(x, dim, out)
    (x,) = alike("log_softmax", x=x)
    return _line_by_line("log_softmax", x, dim, _log_part, out)


def _product(a: Value, b: Value, *_: Value) -> Value:
    return a * b


# Of grad, the result, and the sum along the line.


def _softmax_gradient(grad: Value, y: Value, total: Value) -> Value:
    return y * (grad - total)


def _softmin_gradient(grad: Value, y: Value, total: Value) -> Value:
    return y * (total - grad)


def _log_softmax_gradient(grad: Value, y: Value, total: Value) -> Value:
    return grad - y.exp() * total


# Of x, grad, and what is found of x and then of grad.


def _above_beside_grad(x: Value, grad: Value, most: Value) -> Value:
    return (x - most).exp()


def _product_with_part(x: Value, grad: Value, most: Value, total: Value) -> Value:
    return grad * _part(x, most, total)


def _softmax_gradient_of_x(x: Value, grad: Value, most: Value, total: Value, all_: Value) -> Value:
    return _part(x, most, total) * (grad - all_)


def _softmin_gradient_of_x(x: Value, grad: Value, most: Value, total: Value, all_: Value) -> Value:
    return _part(x, most, total) * (all_ - grad)


def _grad_of(x: Value, grad: Value, *_: Value) -> Value:
    return grad


def _log_softmax_gradient_of_x(
    x: Value, grad: Value, most: Value, total: Value, all_: Value
) -> Value:
    return grad - _part(x, most, total) * all_


class _Gradient(NamedTuple):
    """What is summed and made with the result at hand, and without it."""

    summed: Callable[..., Value]
    formula: Callable[..., Value]
    summed_of_x: Callable[..., Value]
    formula_of_x: Callable[..., Value]


_OF_SOFTMAX = _Gradient(_product, _softmax_gradient, _product_with_part, _softmax_gradient_of_x)
_OF_SOFTMIN = _Gradient(_product, _softmin_gradient, _product_with_part, _softmin_gradient_of_x)
_OF_LOG_SOFTMAX = _Gradient(_itself, _log_softmax_gradient, _grad_of, _log_softmax_gradient_of_x)


def _gradient(
    call: str, of: _Gradient, grad: Any, x: Any, dim: Any, result: Any, *, negated: bool = False
) -> Array:
    grad, x = alike(call, grad=grad, x=x)
    axis = to_axis(call, dim, x.shape, "dim")
    if result is not None:
        _, result = alike(call, x=x, result=result)
    if 0 in x.shape:
        return mapped(call, _itself, x, [x])
    if result is not None:
        made, _ = in_rows(call, x, [grad, result], [axis], [("sum", of.summed)], of.formula)
    else:
        made, _ = in_rows(
            call, x, [-x if negated else x, grad], [axis],
            [("max", _itself), ("sum", _above_beside_grad), ("sum", of.summed_of_x)],
            of.formula_of_x,
        )  # fmt: skip
    assert made is not None
    return made


@kept_by_form
def softmax_backward(
    grad: Array, x: Array, /, dim: int = -1, *, result: Array | None = None
) -> Array:
    """The gradient of softmax() by x: one launch, which reads the result where it is given."""
    return _gradient("softmax_backward", _OF_SOFTMAX, grad, x, dim, result)


def softmin_backward(
    grad: Array, x: Array, /, dim: int = -1, *, result: Array | None = None
) -> Array:
    """The gradient of softmin() by x, as softmax_backward()."""
    return _gradient("softmin_backward", _OF_SOFTMIN, grad, x, dim, result, negated=True)


@kept_by_form
def log_softmax_backward(
    grad: Array, x: Array, /, dim: int = -1, *, result: Array | None = None
) -> Array:
    """The gradient of log_softmax() by x, as softmax_backward()."""
    return _gradient("log_softmax_backward", _OF_LOG_SOFTMAX, grad, x, dim, result)


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
    if not (power > 0 or power == -math.inf):
        invalid(call, f"p is {power}, expected more than 0, or minus infinity")
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


def _extreme(x: Array, axis: int, p: float) -> Array:
    """The largest size of each line, or with p of minus infinity the smallest."""
    return along(x, axis, reduced("max" if p > 0 else "min", _size, x, [x], [axis]))


@kept_by_form
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
        return mapped(call, _over_largest, x, [x, _extreme(x, axis, power), least], out)
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


def _is_extreme(x: Value, size: Value) -> Value:
    return choose(abs(x) == size, constant(1.0, x), 0.0)


def _across_extreme(grad: Value, x: Value, size: Value, eps: Value) -> Value:
    return choose(size > eps, grad * (x / size), 0.0)


def _extreme_gradient(
    grad: Value, x: Value, size: Value, count: Value, total: Value, eps: Value
) -> Value:
    own = choose(abs(x) == size, x.sign() * (total / count), 0.0)
    return (grad - own) / size.max(eps)


@kept_by_form
def normalize_backward(
    grad: Array, x: Array, /, p: float = 2.0, dim: int = 1, eps: float = 1e-12
) -> Array:
    """The gradient of normalize() by x: four launches. Of an infinite p elements that are equally
    large share it."""
    call = "normalize_backward"
    grad, x = alike(call, grad=grad, x=x)
    power, least, axis = _to_p(call, p), _to_eps(call, eps), to_axis(call, dim, x.shape, "dim")
    if 0 in x.shape:
        return mapped(call, _itself, x, [x])
    if math.isinf(power):
        size = _extreme(x, axis, power)
        count = along(x, axis, reduced("sum", _is_extreme, x, [x, size], [axis]))
        total = along(x, axis, reduced("sum", _across_extreme, x, [grad, x, size, least], [axis]))
        return mapped(call, _extreme_gradient, x, [grad, x, size, count, total, least])
    most, length = _lengths(x, axis, power)
    total = along(x, axis, reduced("sum", _across, x, [grad, x, most, length, least], [axis]))
    formula = _normalize_gradient({1.0: _sign_of, 2.0: _as_it_is}.get(power, _signed_power))
    return mapped(call, formula, x, [grad, x, most, length, total, least, power])
