"""Activations and their gradients, by the names and arguments of torch.nn.functional: each one
launch. `NAME(x, ...)` has its gradient in `NAME_backward(grad, x, ...)`. Those that are a function
of programs wait as elementwise functions do, and are one launch with what they come of."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from tilewright import _core
from tilewright.array import Array
from tilewright.namespace.complex_math import choose
from tilewright.nn import formulas as f
from tilewright.nn.running import (
    FLOAT32,
    FLOAT64,
    alike,
    floats,
    launch,
    mapped,
    reduced,
    to_number,
)
from tilewright.operands import invalid, shown, to_axis

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tilewright.program import Value

    class Activation(Protocol):
        """Of an Array of floats of any strides; `out` may be x itself."""

        def __call__(
            self, x: Array, /, *numbers: float, out: Array | None = None, **named: float
        ) -> Array: ...

    class Gradient(Protocol):
        """The gradient by x, of that by the result."""

        def __call__(
            self,
            grad: Array,
            x: Array,
            /,
            *numbers: float,
            out: Array | None = None,
            **named: float,
        ) -> Array: ...


def _numbers(
    call: str, check: Callable[..., str | None] | None, wanted: Mapping[str, float | None],
    given: tuple[Any, ...], named: dict[str, Any],
) -> list[float]:  # fmt: skip
    """The arguments behind the Arrays, in the order of the table."""
    if not wanted and not given and not named:
        return []
    if len(given) > len(wanted):
        raise TypeError(f"{call}() takes {len(wanted)} numbers, got {len(given)}")
    for name in named:
        if name not in wanted:
            raise TypeError(f"{call}() got an unexpected keyword argument {name!r}")
    found = dict(wanted)
    for i, name in enumerate(wanted):
        if i < len(given):
            if name in named:
                raise TypeError(f"{call}() got multiple values for argument {name!r}")
            found[name] = given[i]
        elif name in named:
            found[name] = named[name]
        elif wanted[name] is None:
            raise TypeError(f"{call}() missing the required argument {name!r}")
    numbers = {name: to_number(call, name, one) for name, one in found.items()}
    wrong = None if check is None else check(**numbers)
    if wrong is not None:
        invalid(call, wrong)
    return list(numbers.values())


_elementwise = _core._elementwise_functions()
WIDE = (FLOAT32, FLOAT64)


def gradient_of(slope: Callable[..., Value]) -> Callable[..., Value]:
    """Where the slope is 0 no gradient goes through, infinity neither; where x is NaN it is NaN."""

    def gradient(grad: Value, x: Value, *numbers: Value) -> Value:
        factor = slope(x, *numbers)
        through = choose(factor == 0, 0.0, grad * factor)
        return choose(x.isnan(), x, through)

    return gradient


def activation(
    name: str, says: str, formula: Callable[..., Value], slope: Callable[..., Value],
    check: Callable[..., str | None] | None = None,
    called_here: str = "", fixed: tuple[float, ...] = (),
    usual_formula: Callable[..., Value] | None = None, /,
    **numbers: float | None,
) -> tuple[Activation, Gradient]:  # fmt: skip
    """A function and its gradient; `numbers` are its arguments with their defaults, None for those
    that have to be given. `called_here` is its name among elementwise functions, where that is
    another one, which takes the `fixed` numbers before these. `usual_formula` is the function of
    the defaults."""
    gradient = gradient_of(slope)
    backward_name = f"{name}_backward"
    of_elements = _elementwise.get(called_here or name)
    usual = list(numbers.values())

    def forward(x: Any, /, *given: Any, out: Any = None, **named: Any) -> Array:
        operand = x if type(x) is Array and x.dtype in WIDE else alike(name, x=x)[0]
        values = _numbers(name, check, numbers, given, named) if given or named else usual
        # Numbers beside floats of 16 bits are not rounded to these.
        if of_elements is not None and out is None and (operand.dtype in WIDE or not numbers):
            return of_elements(operand, *fixed, *values)
        if None in values:
            values = _numbers(name, check, numbers, given, named)
        if usual_formula is not None and values == usual:
            return mapped(name, usual_formula, x, [operand], out)
        return mapped(name, formula, x, [operand, *values], out)

    def backward(grad: Any, x: Any, /, *given: Any, out: Any = None, **named: Any) -> Array:
        operands = alike(backward_name, grad=grad, x=x)
        values = _numbers(backward_name, check, numbers, given, named)
        return mapped(backward_name, gradient, x, [*operands, *values], out)

    described = (
        (forward, name, ("x",), says),
        (backward, backward_name, ("grad", "x"), f"The gradient of {name}() by x."),
    )
    for function, called, arrays, text in described:
        function.__name__ = function.__qualname__ = called
        function.__module__ = "tilewright.nn"
        function.__doc__ = text
        function.__signature__ = _signature(arrays, numbers)  # type: ignore[attr-defined]
    return forward, backward


def _signature(arrays: tuple[str, ...], numbers: Mapping[str, float | None]) -> inspect.Signature:
    parameter = inspect.Parameter
    return inspect.Signature(
        [
            *(parameter(one, parameter.POSITIONAL_ONLY) for one in arrays),
            *(
                parameter(
                    one, parameter.POSITIONAL_OR_KEYWORD,
                    default=parameter.empty if default is None else default,
                )
                for one, default in numbers.items()
            ),
            parameter("out", parameter.KEYWORD_ONLY, default=None),
        ]
    )  # fmt: skip


def _no_zero(name: str) -> Callable[..., str | None]:
    def check(**numbers: float) -> str | None:
        return f"{name} is 0, expected another number" if numbers[name] == 0 else None

    return check


def _ordered(low: str, high: str) -> Callable[..., str | None]:
    def check(**numbers: float) -> str | None:
        if numbers[low] <= numbers[high]:
            return None
        return f"{low} is {numbers[low]} and {high} {numbers[high]}, expected {low} <= {high}"

    return check


def _from_zero(name: str) -> Callable[..., str | None]:
    def check(**numbers: float) -> str | None:
        return None if numbers[name] >= 0 else f"{name} is {numbers[name]}, expected 0 or more"

    return check


# fmt: off
relu, relu_backward = activation(
    "relu", "max(x, 0).", lambda x: x.relu(), lambda x: f.step(x, 0.0))
relu6, relu6_backward = activation(
    "relu6", "min(max(x, 0), 6).", lambda x: f.within(x, 0.0, 6.0), lambda x: f.inside(x, 0, 6),
    None, "clip", (0.0, 6.0))
leaky_relu, leaky_relu_backward = activation(
    "leaky_relu", "x, and below 0 x * negative_slope.",
    lambda x, a: x.leaky_relu(a), lambda x, a: choose(x > 0, 1.0, a), negative_slope=0.01)
elu, elu_backward = activation(
    "elu", "x, and below 0 alpha * (exp(x) - 1).", lambda x, a: x.elu(a), f.elu_slope, alpha=1.0)
celu, celu_backward = activation(
    "celu", "x, and below 0 alpha * (exp(x / alpha) - 1).",
    lambda x, a: choose(x > 0, x, a * (x / a).expm1()),
    lambda x, a: choose(x > 0, 1.0, (x / a).exp()), _no_zero("alpha"), alpha=1.0)
selu, selu_backward = activation(
    "selu", "elu() of an alpha and times a scale that keep mean 0 and variance 1.",
    lambda x: x.selu(), f.selu_slope)
silu, silu_backward = activation(
    "silu", "x * sigmoid(x).", lambda x: x.silu(), f.silu_slope)
mish, mish_backward = activation(
    "mish", "x * tanh(softplus(x)).", f.mish, f.mish_slope)
softplus, softplus_backward = activation(
    "softplus", "log(1 + exp(x * beta)) / beta, and x where x * beta is above the threshold.",
    f.softplus_of, f.softplus_slope, _no_zero("beta"), "", (), f.usual_softplus, beta=1.0,
    threshold=20.0)
softsign, softsign_backward = activation(
    "softsign", "x / (1 + abs(x)).", lambda x: x.softsign(), f.softsign_slope)
sigmoid, sigmoid_backward = activation(
    "sigmoid", "1 / (1 + exp(-x)).", lambda x: x.sigmoid(), f.sigmoid_slope)
logsigmoid, logsigmoid_backward = activation(
    "logsigmoid", "log(sigmoid(x)).", f.logsigmoid, f.one_minus_sigmoid)
hardsigmoid, hardsigmoid_backward = activation(
    "hardsigmoid", "min(max(x + 3, 0), 6) / 6.",
    lambda x: x.hardsigmoid(), lambda x: f.inside(x, -3, 3, 1 / 6))
hardswish, hardswish_backward = activation(
    "hardswish", "x * hardsigmoid(x).", lambda x: x.hardswish(), f.hardswish_slope)
hardtanh, hardtanh_backward = activation(
    "hardtanh", "min(max(x, min_val), max_val).", lambda x, low, high: x.clip(low, high), f.inside,
    _ordered("min_val", "max_val"), "clip", min_val=-1.0, max_val=1.0)
hardshrink, hardshrink_backward = activation(
    "hardshrink", "x, and 0 from -lambd to lambd.", lambda x, a: choose(abs(x) <= a, 0.0, x),
    f.shrunk_slope, _from_zero("lambd"), lambd=0.5)
softshrink, softshrink_backward = activation(
    "softshrink", "x nearer to 0 by lambd, and 0 from -lambd to lambd.", f.shrunk, f.shrunk_slope,
    _from_zero("lambd"), lambd=0.5)
tanhshrink, tanhshrink_backward = activation(
    "tanhshrink", "x - tanh(x).", lambda x: x - x.tanh(), f.tanhshrink_slope)
threshold, threshold_backward = activation(
    "threshold", "x above the threshold, and `value` elsewhere.",
    lambda x, low, value: choose(x <= low, value, x), lambda x, low, value: f.step(x, low),
    threshold=None, value=None)
tanh, tanh_backward = activation(
    "tanh", "The hyperbolic tangent.", lambda x: x.tanh(), f.tanh_slope)
rrelu, rrelu_backward = activation(
    "rrelu", "x, and below 0 x times the mean of lower and upper, as in evaluation.",
    lambda x, low, high: x.leaky_relu((low + high) * 0.5),
    lambda x, low, high: choose(x > 0, 1.0, (low + high) * 0.5), _ordered("lower", "upper"),
    lower=1 / 8, upper=1 / 3)
_gelu, _gelu_backward = activation("gelu", "", lambda x: x.gelu(), f.gelu_slope)
_gelu_tanh, _gelu_tanh_backward = activation(
    "gelu", "", lambda x: x.gelu_tanh(), f.gelu_tanh_slope, None, "gelu_tanh")
# fmt: on


def _is_tanh(call: str, approximate: Any) -> bool:
    if not isinstance(approximate, str) or approximate not in ("none", "tanh"):
        invalid(call, f"approximate is {shown(approximate)}, expected 'none' or 'tanh'")
    return bool(approximate == "tanh")


def gelu(x: Array, /, approximate: str = "none", *, out: Array | None = None) -> Array:
    """x times the normal distribution at x, or its approximation by "tanh"."""
    return (_gelu_tanh if _is_tanh("gelu", approximate) else _gelu)(x, out=out)


def gelu_backward(
    grad: Array, x: Array, /, approximate: str = "none", *, out: Array | None = None
) -> Array:
    """The gradient of gelu() by x."""
    is_tanh = _is_tanh("gelu_backward", approximate)
    return (_gelu_tanh_backward if is_tanh else _gelu_backward)(grad, x, out=out)


# With weights, or of two halves -----------------------------------------------------------------


def _weighed(call: str, x: Array, weight: Array) -> Array:
    """A view of the slopes by x's shape: one for all, or for each channel, which is axis 1."""
    from tilewright.namespace.manipulation import broadcast_to

    if weight.ndim > 1:
        invalid(call, f"weight has shape {weight.shape}, expected one dimension")
    if weight.size == 1:
        return broadcast_to(weight.reshape(()), x.shape)
    if x.ndim < 2 or weight.size != x.shape[1]:
        channels = x.shape[1] if x.ndim > 1 else 1
        invalid(
            call, f"weight has {weight.size} elements, expected 1 or {channels} as x has channels"
        )
    return broadcast_to(weight.reshape((-1,) + (1,) * (x.ndim - 2)), x.shape)


def _prelu(x: Value, weight: Value) -> Value:
    return choose(x > 0, x, x * weight)


def _prelu_slope(x: Value, weight: Value) -> Value:
    return choose(x > 0, 1.0, weight)


_prelu_gradient = gradient_of(_prelu_slope)


def _prelu_weight_gradient(grad: Value, x: Value) -> Value:
    return choose(x > 0, 0.0, grad * x)


def prelu(x: Array, weight: Array, /, *, out: Array | None = None) -> Array:
    """x, and below 0 x * weight: one for all, or one for each channel, which is axis 1."""
    x, weight = floats("prelu", x=x, weight=weight)
    return mapped("prelu", _prelu, x, [x, _weighed("prelu", x, weight)], out)


def prelu_backward(grad: Array, x: Array, weight: Array, /) -> tuple[Array, Array]:
    """The gradients of prelu() by x and by weight: two launches."""
    call = "prelu_backward"
    grad, x = alike(call, grad=grad, x=x)
    x, weight = floats(call, x=x, weight=weight)
    spread_weight = _weighed(call, x, weight)
    by_x = mapped(call, _prelu_gradient, x, [grad, x, spread_weight])
    axes = [i for i in range(x.ndim) if i != 1 or weight.size == 1]
    by_weight = reduced("sum", _prelu_weight_gradient, x, [grad, x], axes, weight.dtype)
    return by_x, by_weight.reshape(weight.shape)


def _halves(call: str, x: Array, dim: Any) -> tuple[Array, Array]:
    axis = to_axis(call, dim, x.shape, "dim")
    size = x.shape[axis]
    if size % 2:
        invalid(call, f"axis {axis} of x has {size} elements, expected an even number")
    before = (slice(None),) * axis
    return x[(*before, slice(0, size // 2))], x[(*before, slice(size // 2, size))]


def _glu(a: Value, b: Value) -> Value:
    return a * b.sigmoid()


def _glu_gradient(grad: Value, a: Value, b: Value, is_second: Value) -> Value:
    weight = b.sigmoid()
    return grad * weight * choose(is_second, a * f.one_minus_sigmoid(b), 1.0)


def glu(x: Array, /, dim: int = -1) -> Array:
    """The first half of an axis times sigmoid() of the second."""
    (x,) = alike("glu", x=x)
    a, b = _halves("glu", x, dim)
    return mapped("glu", _glu, a, [a, b])


def glu_backward(grad: Array, x: Array, /, dim: int = -1) -> Array:
    """The gradient of glu() by x."""
    from tilewright.namespace.manipulation import broadcast_to, expand_dims

    call = "glu_backward"
    grad, x = floats(call, grad=grad, x=x)
    a, b = _halves(call, x, dim)
    if grad.shape != a.shape:
        invalid(call, f"grad has shape {grad.shape}, expected {a.shape}, half of x")
    # Both halves as a dimension more, which the operands are the same along.
    axis = dim % x.ndim
    halves = (*a.shape[:axis], 2, *a.shape[axis:])
    is_second = x.backend._upload(np.array([False, True]).reshape((2,) + (1,) * (x.ndim - axis)))
    operands = [broadcast_to(expand_dims(one, axis=axis), halves) for one in (grad, a, b)]
    result = x.backend._new(x.shape, x.dtype)
    operands.append(broadcast_to(is_second, halves))
    launch(_glu_gradient, x, operands, [result.reshape(halves)], halves)
    return result
