"""Activations, softmaxes and normalize, and their gradients, with `out=`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import erf

from .case import Case


def sigmoid(x: Any) -> Any:
    return 0.5 * (1 + np.tanh(x / 2))


def softplus(x: Any) -> Any:
    return np.logaddexp(x, 0)


FORMULAS: dict[str, Callable[..., Any]] = {
    "relu": lambda x: np.maximum(x, 0),
    "relu6": lambda x: np.clip(x, 0, 6),
    "leaky_relu": lambda x, negative_slope=0.01: np.where(x > 0, x, x * negative_slope),
    "elu": lambda x, alpha=1.0: np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0))),
    "celu": lambda x, alpha=1.0: np.where(x > 0, x, alpha * np.expm1(x / alpha)),
    "selu": lambda x: 1.0507009873554805 * np.where(
        x > 0, x, 1.6732632423543772 * np.expm1(np.minimum(x, 0))),
    "silu": lambda x: np.where(np.isneginf(x), 0, x * sigmoid(x)),
    "mish": lambda x: np.where(np.isneginf(x), 0, x * np.tanh(softplus(x))),
    "softplus": lambda x, beta=1.0, threshold=20.0: np.where(
        x * beta > threshold, x, softplus(x * beta) / beta),
    "softsign": lambda x: np.where(np.isinf(x), np.sign(x), x / (1 + np.abs(x))),
    "sigmoid": sigmoid,
    "logsigmoid": lambda x: -softplus(-x),
    "hardsigmoid": lambda x: np.clip(x + 3, 0, 6) / 6,
    "hardswish": lambda x: np.where(np.isneginf(x), 0, x * np.clip(x + 3, 0, 6) / 6),
    "hardtanh": lambda x, min_val=-1.0, max_val=1.0: np.clip(x, min_val, max_val),
    "hardshrink": lambda x, lambd=0.5: np.where(np.abs(x) <= lambd, 0, x),
    "softshrink": lambda x, lambd=0.5: np.where(
        np.isnan(x), x, np.sign(x) * np.maximum(np.abs(x) - lambd, 0)),
    "tanhshrink": lambda x: x - np.tanh(x),
    "threshold": lambda x, threshold, value: np.where(x <= threshold, value, x),
    "tanh": np.tanh,
    "rrelu": lambda x, lower=1 / 8, upper=1 / 3: np.where(x > 0, x, x * (lower + upper) / 2),
    "gelu": lambda x, approximate="none": np.where(np.isneginf(x), 0, x / 2 * (
        1 + (erf(x / 2**0.5) if approximate == "none" else
             np.tanh((2 / np.pi) ** 0.5 * (x + 0.044715 * x**3))))),
}  # fmt: skip
#: numbers that are taken, of each name
NUMBERS: dict[str, list[Any]] = {
    "negative_slope": [0.01, 1.0, 0.25, -2.0, 0.0], "alpha": [1.0, 2.0, 0.3, -1.5],
    "beta": [1.0, 2.0, 0.5], "threshold": [20.0, 1.0, 0.0], "min_val": [-1.0, 0.0, -0.3],
    "max_val": [1.0, 3.0, 0.7], "lambd": [0.5, 0.0, 1.0, 0.2], "value": [0.0, 7.0, -0.1],
    "lower": [0.125, 0.0], "upper": [0.25, 0.5, 1.0], "approximate": ["none", "tanh"],
}  # fmt: skip
TAKES = {
    "leaky_relu": ["negative_slope"], "elu": ["alpha"], "celu": ["alpha"],
    "softplus": ["beta", "threshold"], "hardtanh": ["min_val", "max_val"],
    "hardshrink": ["lambd"], "softshrink": ["lambd"], "threshold": ["threshold", "value"],
    "rrelu": ["lower", "upper"], "gelu": ["approximate"],
}  # fmt: skip


def activation(case: Case) -> Case:
    draw = case.draw
    name = draw.one_of(list(FORMULAS))
    dtype, shape = case.real(), case.shape()
    out = draw.below(4)
    values = draw.one_of(["small", "normal", "special"])
    x = case.array(shape, dtype, values, through=out == 3)
    takes = TAKES.get(name, [])
    given = draw.integer(0, len(takes)) if name != "threshold" else 2
    numbers = {key: draw.one_of(NUMBERS[key]) for key in takes[:given]}
    if draw.below(2):
        case.calls(name, x, *numbers.values())
    else:
        case.calls(name, x, **numbers)
    case.formula = FORMULAS[name]
    return case.maybe_out(shape, dtype, x, out).to(ulps=16)


def activation_gradient(case: Case) -> Case:
    draw = case.draw
    name = draw.one_of([*FORMULAS, "prelu"])
    dtype, shape = case.real(), case.shape()
    out = draw.below(4)
    x = case.array(shape, dtype, "normal", through=out == 3)
    grad = case.array(shape, dtype, through=out == 3)
    if name == "prelu":
        weight = case.array([1], dtype)
        return case.calls("prelu_backward", grad, x, weight)
    numbers = {key: draw.one_of(NUMBERS[key]) for key in TAKES.get(name, [])}
    case.calls(f"{name}_backward", grad, x, **numbers)
    return case.maybe_out(shape, dtype, draw.one_of([x, grad]), out)


def prelu(case: Case) -> Case:
    dtype, shape = case.real(), case.shape()
    out = case.draw.below(4)
    x = case.array(shape, dtype, through=out == 3)
    many = len(shape) > 1 and case.draw.below(2)
    case.calls("prelu", x, case.array([shape[1] if many else 1], dtype))

    def formula(x: Any, weight: Any) -> Any:
        weight = weight.reshape(-1, *[1] * (x.ndim - 2)) if many else weight[0]
        return np.where(x > 0, x, x * weight)

    return case.maybe_out(shape, dtype, x, out).to(formula=formula)


def log_softmax(x: Any, dim: int = -1) -> Any:
    most = np.max(x, axis=dim, keepdims=True, initial=-np.inf)
    off = x - most
    return off - np.log(np.exp(off).sum(axis=dim, keepdims=True))


LINES: dict[str, Callable[..., Any]] = {
    "softmax": lambda x, dim=-1: np.exp(log_softmax(x, dim)),
    "softmin": lambda x, dim=-1: np.exp(log_softmax(-x, dim)),
    "log_softmax": log_softmax,
}


def lines(case: Case) -> Case:
    draw = case.draw
    name = draw.one_of(list(LINES))
    dtype, shape = case.real(), case.shape(1)
    out = draw.below(4)
    if draw.rarely(4):
        lows = np.where(draw.rng.integers(0, 3, shape) == 0, -np.inf, 1.0)
        x, out = case.content(lows * draw.rng.integers(1, 9, shape), dtype), out % 3
    else:
        x = case.array(shape, dtype, draw.one_of(["small", "normal"]), through=out == 3)
    dim = case.axis(len(shape))
    if draw.rarely(4):
        dim = -1
        case.calls(name, x)
    else:
        case.calls(name, x, dim)
    case.formula = LINES[name]
    case.to(ulps=16).maybe_out(shape, dtype, x, out)
    if "out" in case.options:
        return case
    return case.maybe_gradient(dtype)


def normalize(case: Case) -> Case:
    draw = case.draw
    dtype, shape = case.real(), case.shape(1)
    values = draw.one_of(["small", "normal"])
    out = draw.below(4)
    x = case.array(shape, dtype, values, through=out == 3)
    p, dim = draw.one_of([2.0, 1.0, 3.0, float("inf"), 2.5]), case.axis(len(shape))
    case.calls("normalize", x, p, dim)
    case.maybe_out(shape, dtype, x, out)
    # The gradient of a line of zeros is as large as 1 / eps.
    if "out" in case.options or p == float("inf") or values == "small":
        return case
    return case.maybe_gradient(dtype)


def glu(case: Case) -> Case:
    dtype, shape = case.real(), case.shape(1)
    dim = case.draw.integer(-len(shape), len(shape) - 1)
    shape[dim] = shape[dim] // 2 * 2 if len(shape) < 6 else 2
    case.calls("glu", case.array(shape, dtype, "normal"), dim)

    def formula(x: Any, dim: int) -> Any:
        a, b = np.split(x, 2, dim)
        return a * sigmoid(b)

    return case.to(formula=formula, ulps=16).maybe_gradient(dtype)


KINDS = [activation, activation, activation_gradient, prelu, lines, lines, normalize, glu]
