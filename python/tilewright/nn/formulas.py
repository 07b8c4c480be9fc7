"""Activations and their derivatives as formulas of values: in ops of programs, with no step that
overflows, or makes NaN of infinity, where the result does not."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tilewright.namespace.complex_math import choose

if TYPE_CHECKING:
    from tilewright.program import Value

# From here on exp(-x) is 0 in float64 and float32.
FAR = 800.0
SELU_ALPHA = 1.6732632423543772848170429916717
SELU_SCALE = 1.0507009873554804934193349852946
ROOT_2_OVER_PI = math.sqrt(2 / math.pi)
CUBIC = 0.044715


def constant(number: float, like: Value) -> Value:
    return like.program.constant(number, str(like.dtype))


def within(x: Value, low: float, high: float) -> Value:
    return x.clip(low, high)


def softplus(x: Value) -> Value:
    """log(1 + exp(x))."""
    return x.relu() + (-abs(x)).exp().log1p()


def one_minus_sigmoid(x: Value) -> Value:
    return (-x).sigmoid()


def elu_slope(x: Value, alpha: Value) -> Value:
    return choose(x > 0, 1.0, alpha * x.exp())


def selu_slope(x: Value) -> Value:
    return choose(x > 0, SELU_SCALE, x.exp() * (SELU_ALPHA * SELU_SCALE))


def gelu_slope(x: Value) -> Value:
    """Of the normal distribution and its density. The former is gelu(x) / x, whose digits hold far
    below 0 too."""
    size = abs(x)
    below = choose(size < 1e-30, 0.5, x.gelu() / x)
    slope = below + x * (x * x * -0.5).exp() * (1 / math.sqrt(2 * math.pi))
    return choose(size > 40.0, choose(x.signbit(), constant(0.0, x), 1.0), slope)


def gelu_tanh_slope(x: Value) -> Value:
    x = within(x, -30.0, 30.0)
    y = x * (x * x * CUBIC + 1) * (2 * ROOT_2_OVER_PI)
    weight = y.sigmoid()
    inner = (x * x * (3 * CUBIC) + 1) * (2 * ROOT_2_OVER_PI)
    return weight + x * weight * one_minus_sigmoid(y) * inner


def silu_slope(x: Value) -> Value:
    x = within(x, -FAR, FAR)
    weight = x.sigmoid()
    return weight + x * weight * one_minus_sigmoid(x)


def _mish_weight(x: Value) -> tuple[Value, Value]:
    """tanh(softplus(x)), and 1 less that."""
    e = (-abs(x)).exp()
    above = choose(x > 0, e * 2 + 1, e * (e + 2))
    rest = choose(x > 0, e * e * 2, 2.0)
    below = above + rest
    return above / below, rest / below


def mish(x: Value) -> Value:
    # From 20 on the quotient is 1, in float64 too.
    e = x.min(20.0).exp()
    above = e * (e + 2)
    return x.max(-FAR) * (above / (above + 2))


def mish_slope(x: Value) -> Value:
    x = within(x, -FAR, FAR)
    weight, rest = _mish_weight(x)
    return weight + x * rest * (weight + 1) * x.sigmoid()


def softplus_of(x: Value, beta: Value, threshold: Value) -> Value:
    y = x * beta
    return choose(y > threshold, x, softplus(y) / beta)


def usual_softplus(x: Value) -> Value:
    return choose(x > 20.0, x, softplus(x))


def softplus_slope(x: Value, beta: Value, threshold: Value) -> Value:
    y = x * beta
    return choose(y > threshold, 1.0, y.sigmoid())


def softsign_slope(x: Value) -> Value:
    part = 1 / (abs(x) + 1)
    return part * part


def sigmoid_slope(x: Value) -> Value:
    return x.sigmoid() * one_minus_sigmoid(x)


def logsigmoid(x: Value) -> Value:
    return -softplus(-x)


def hardswish_slope(x: Value) -> Value:
    return choose(x <= -3, 0.0, choose(x < 3, x / 3 + 0.5, 1.0))


def step(x: Value, low: Value | float) -> Value:
    """1 above `low`, and 0 else."""
    return choose(x > low, constant(1.0, x), 0.0)


def inside(x: Value, low: Value | float, high: Value | float, slope: float = 1.0) -> Value:
    """The slope of what is cut off at both ends."""
    return choose((x <= low) | (x >= high), constant(0.0, x), slope)


def tanh_slope(x: Value) -> Value:
    """1 - tanh(x)^2, whose digits hold far from 0 too."""
    y = x * 2
    return y.sigmoid() * one_minus_sigmoid(y) * 4


def tanhshrink_slope(x: Value) -> Value:
    y = x.tanh()
    return y * y


def shrunk(x: Value, lambd: Value) -> Value:
    return x - x.clip(-lambd, lambd)


def shrunk_slope(x: Value, lambd: Value) -> Value:
    return choose(abs(x) <= lambd, constant(0.0, x), 1.0)
