"""Arithmetic, comparisons and functions of each element."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

import tilewright as tw
from tilewright.models.files.errors import ModelError
from tilewright.models.onnx.nodes import Node
from tilewright.models.onnx.operators.common import cast, device_array, on_host, xp
from tilewright.models.onnx.operators.registry import Run, operator, plain
from tilewright.nn.running import mapped
from tilewright.program import Value


def _pair(a: Any, b: Any) -> Any:
    """The namespace for two operands, of which one may be on the host."""
    return np if on_host(a, b) else tw


def _checked(a: Any, b: Any) -> None:
    if a.dtype != b.dtype:
        raise ModelError(f"its inputs are {a.dtype} and {b.dtype}, expected one dtype")


UNARY = {
    "Abs": "abs", "Neg": "negative", "Floor": "floor", "Ceil": "ceil", "Sqrt": "sqrt",
    "Exp": "exp", "Log": "log", "Not": "logical_not", "Sign": "sign", "Cos": "cos", "Sin": "sin",
    "Tan": "tan", "Cosh": "cosh", "Sinh": "sinh", "Tanh": "tanh", "IsNaN": "isnan",
    "Reciprocal": "reciprocal", "Acos": "acos", "Acosh": "acosh", "Asin": "asin",
    "Asinh": "asinh", "Atan": "atan", "Atanh": "atanh", "BitwiseNot": "bitwise_invert",
}  # fmt: skip
BINARY = {
    "Add": "add", "Sub": "subtract", "Mul": "multiply", "Equal": "equal", "Greater": "greater",
    "GreaterOrEqual": "greater_equal", "Less": "less", "LessOrEqual": "less_equal",
    "And": "logical_and", "Or": "logical_or", "Xor": "logical_xor", "BitwiseAnd": "bitwise_and",
    "BitwiseOr": "bitwise_or", "BitwiseXor": "bitwise_xor",
}  # fmt: skip


def _unary(name: str) -> Run:
    own, others = getattr(tw, name), getattr(np, name)

    def run(x: Any) -> Any:
        if not isinstance(x, np.ndarray):
            return own(x)
        with np.errstate(all="ignore"):
            return np.asarray(others(x))

    return run


def _binary(name: str) -> Run:
    own, others = getattr(tw, name), getattr(np, name)

    def run(a: Any, b: Any) -> Any:
        _checked(a, b)
        if not on_host(a, b):
            return own(a, b)
        with np.errstate(all="ignore"):
            return np.asarray(others(a, b))

    return run


for _op, _name in UNARY.items():
    plain(_op, _unary(_name), anywhere=True)
for _op, _name in BINARY.items():
    plain(_op, _binary(_name), anywhere=True)


def _div(a: Any, b: Any) -> Any:
    _checked(a, b)
    space = _pair(a, b)
    with np.errstate(all="ignore"):
        if a.dtype.kind in "iu":
            # Towards 0, as C has it.
            low = space.floor_divide(a, b)
            if a.dtype.kind == "u":
                return np.asarray(low) if space is np else low
            up = space.logical_and(
                space.not_equal(space.remainder(a, b), 0),
                space.not_equal(space.less(a, 0), space.less(b, 0)),
            )
            found = space.where(up, low + 1, low)
            return np.asarray(found) if space is np else found
        found = space.divide(a, b)
    return np.asarray(found) if space is np else found


plain("Div", _div, anywhere=True)


@operator("Mod", anywhere=True)
def _mod(node: Node) -> Run:
    as_c = node.flag("fmod")

    def run(a: Any, b: Any) -> Any:
        _checked(a, b)
        space = _pair(a, b)
        with np.errstate(all="ignore"):
            found = (space.fmod if as_c else space.remainder)(a, b)
        return np.asarray(found) if space is np else found

    return run


def _pow(a: Any, b: Any) -> Any:
    space = _pair(a, b)
    with np.errstate(all="ignore"):
        if a.dtype == b.dtype:
            found = space.power(a, b) if space is np else tw.pow(a, b)
        elif space is np:
            found = np.power(a, b).astype(a.dtype)
        elif a.dtype.kind == "f" or b.dtype.kind not in "f":
            found = tw.pow(a, cast(b, a.dtype))
        else:
            found = tw.pow(cast(a, b.dtype), b).astype(a.dtype)
    return np.asarray(found) if space is np else found


plain("Pow", _pow, anywhere=True)


@operator("BitShift")
def _shift(node: Node) -> Run:
    way = node.string("direction", "", ("LEFT", "RIGHT"))
    return tw.bitwise_left_shift if way == "LEFT" else tw.bitwise_right_shift


def _many(name: str) -> Run:
    own, others = getattr(tw, name), getattr(np, name)

    def run(*values: Any) -> Any:
        for one in values[1:]:
            _checked(values[0], one)
        space = others if on_host(*values) else own
        return functools.reduce(space, values)

    return run


plain("Max", _many("maximum"), anywhere=True)
plain("Min", _many("minimum"), anywhere=True)
plain("Sum", _many("add"))


def _mean(*values: Any) -> Any:
    return _many("add")(*values) / len(values)


plain("Mean", _mean)


@operator("Where", anywhere=True)
def _where(node: Node) -> Run:
    def run(condition: Any, yes: Any, no: Any) -> Any:
        _checked(yes, no)
        if on_host(condition, yes, no):
            return np.where(condition, yes, no)
        return tw.where(device_array(condition), device_array(yes), device_array(no))

    return run


@operator("Clip", anywhere=True)
def _clip(node: Node) -> Run:
    if node.version < 11:
        low = node.number("min", float(np.finfo(np.float32).min))
        high = node.number("max", float(np.finfo(np.float32).max))
        return lambda x: xp(x).clip(x, low, high)

    def run(x: Any, low: Any = None, high: Any = None) -> Any:
        space = np if on_host(x, low, high) else tw
        # In this order: where the bounds cross, it is the upper one.
        if low is not None:
            x = space.maximum(x, low)
        return x if high is None else space.minimum(x, high)

    return run


def _round(x: Any) -> Any:
    return tw.round(x)


plain("Round", _round)


@operator("IsInf")
def _isinf(node: Node) -> Run:
    low, high = node.flag("detect_negative", 1), node.flag("detect_positive", 1)

    def run(x: Any) -> Any:
        if low and high:
            return tw.isinf(x)
        if not (low or high):
            return tw.zeros(x.shape, dtype="bool")
        return tw.logical_and(tw.isinf(x), x < 0 if low else x > 0)

    return run


def _identity(x: Any) -> Any:
    return x


plain("Identity", _identity, anywhere=True, as_is=True)


# Formulas that are one launch -----------------------------------------------------------------


def formula(name: str, run: Callable[..., Value], *numbers: tuple[str, float]) -> None:
    """An operator of one input and of attributes that are numbers, as a program of its own."""

    def make(node: Node) -> Run:
        given = [node.number(one, default) for one, default in numbers]
        return lambda x: mapped(name, run, _floats(x), [x, *given])

    operator(name)(make)


def _floats(x: Any) -> Any:
    if x.dtype.kind != "f":
        raise ModelError(f"its input is {x.dtype}, expected floats")
    return x


def _choose(condition: Value, yes: Value | float, no: Value | float) -> Value:
    return condition.where(yes, no)


def _erf(x: Value) -> Value:
    return x.erf()


def _sigmoid(x: Value) -> Value:
    return x.sigmoid()


def _hard_sigmoid(x: Value, alpha: Value, beta: Value) -> Value:
    return (x * alpha + beta).clip(0.0, 1.0)


def _leaky(x: Value, alpha: Value) -> Value:
    return _choose(x < 0, x * alpha, x)


def _elu(x: Value, alpha: Value) -> Value:
    return _choose(x < 0, x.expm1() * alpha, x)


def _celu(x: Value, alpha: Value) -> Value:
    return _choose(x < 0, (x / alpha).expm1() * alpha, x)


def _selu(x: Value, alpha: Value, gamma: Value) -> Value:
    return _choose(x > 0, x, x.expm1() * alpha) * gamma


def _thresholded(x: Value, alpha: Value) -> Value:
    return _choose(x > alpha, x, 0.0)


def _shrink(x: Value, lambd: Value, bias: Value) -> Value:
    return _choose(x < -lambd, x + bias, _choose(x > lambd, x - bias, 0.0))


def _softplus(x: Value) -> Value:
    return x.max(0.0) + (-x.abs()).exp().log1p()


def _softsign(x: Value) -> Value:
    return x / (x.abs() + 1)


def _mish(x: Value) -> Value:
    return x * _softplus(x).tanh()


def _swish(x: Value, alpha: Value) -> Value:
    return x * (x * alpha).sigmoid()


def _hard_swish(x: Value) -> Value:
    return x * (x * (1 / 6) + 0.5).clip(0.0, 1.0)


formula("Erf", _erf)
formula("Sigmoid", _sigmoid)
formula("HardSigmoid", _hard_sigmoid, ("alpha", 0.2), ("beta", 0.5))
formula("LeakyRelu", _leaky, ("alpha", 0.01))
formula("Elu", _elu, ("alpha", 1.0))
formula("Celu", _celu, ("alpha", 1.0))
formula("Selu", _selu, ("alpha", 1.6732632423543772), ("gamma", 1.0507009873554805))
formula("ThresholdedRelu", _thresholded, ("alpha", 1.0))
formula("Shrink", _shrink, ("lambd", 0.5), ("bias", 0.0))
formula("Softplus", _softplus)
formula("Softsign", _softsign)
formula("Mish", _mish)
formula("Swish", _swish, ("alpha", 1.0))
formula("HardSwish", _hard_swish)


def _relu(x: Any) -> Any:
    return tw.maximum(x, 0)


plain("Relu", _relu)


@operator("Gelu")
def _gelu(node: Node) -> Run:
    kind = node.string("approximate", "none", ("none", "tanh"))
    return lambda x: tw.nn.gelu(x, kind)


def _prelu(x: Any, slope: Any) -> Any:
    _checked(x, slope)
    return tw.where(x < 0, x * slope, x)


plain("PRelu", _prelu)


@operator("SwiGLU")
def _swiglu(node: Node) -> Run:
    alpha = node.number("alpha", 1.0)

    def run(a: Any, b: Any) -> Any:
        return mapped("SwiGLU", _swish, a, [a, alpha]) * b

    return run
