"""What each elementwise op of a program gives, in NumPy: one row for each op."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .elements import FLOATS, INTEGERS

Array = npt.NDArray[Any]

NUMBERS = INTEGERS + FLOATS
ALL = ("bool", *NUMBERS)
BITS = ("bool", *INTEGERS)


@dataclass(frozen=True)
class Reference:
    dtypes: tuple[str, ...]
    of: Callable[..., Any]
    """Of floats in more digits, and of integers and bool as they are."""
    ulps: float = 0
    """The error of a float result, in units of the last place of what it is computed in."""
    domain: str = "any"
    gives_bool: bool = False
    takes_bool: bool = False
    """As its first operand."""
    at_x: bool = False
    """Whether the error counts at the largest operand, since the result may cancel."""


def _integer_pow(x: Array, y: Array) -> Array:
    bits = 8 * x.dtype.itemsize
    wrapped = [
        pow(int(a), int(b), 1 << bits) if b >= 0 else None for a, b in zip(x, y, strict=True)
    ]
    for i, one in enumerate(wrapped):
        if one is None:
            a, odd = int(x[i]), int(y[i]) % 2 == 1
            wrapped[i] = 1 if a == 1 or (a == -1 and not odd) else -1 if a == -1 else 0
    return np.array([w % (1 << bits) for w in wrapped], np.uint64).astype(x.dtype)


def _pow(x: Array, y: Array) -> Array:
    return np.power(x, y) if x.dtype.kind == "f" else _integer_pow(x, y)


def _left(x: Array, y: Array) -> Array:
    bits = 8 * x.dtype.itemsize
    inside = (y >= 0) & (y < bits)
    return np.where(inside, x << np.where(inside, y, 0).astype(x.dtype), 0).astype(x.dtype)


def _right(x: Array, y: Array) -> Array:
    bits = 8 * x.dtype.itemsize
    inside = (y >= 0) & (y < bits)
    shifted = x >> np.where(inside, y, 0).astype(x.dtype)
    return np.where(inside, shifted, np.where(x < 0, -1, 0).astype(x.dtype)).astype(x.dtype)


def _sign(x: Array) -> Array:
    return np.where(x == 0, np.zeros((), x.dtype), np.sign(x))


def _erf(x: Array) -> Array:
    return np.vectorize(math.erf, otypes=[np.float64])(x.astype(np.float64))


def _erfc(x: Array) -> Array:
    return np.vectorize(math.erfc, otypes=[np.float64])(x.astype(np.float64))


def _sigmoid(x: Array) -> Array:
    e = np.exp(-np.abs(x))
    return np.where(x < 0, e, 1) / (1 + e)


def _gelu(x: Array) -> Array:
    half = 0.5 * x * _erfc(-x.astype(np.float64) / math.sqrt(2))
    return np.where(x == -np.inf, 0.0, half)


def _gelu_tanh(x: Array) -> Array:
    with np.errstate(all="ignore"):
        inner = 2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)
        return np.where(x == -np.inf, 0.0, x * _sigmoid(inner))


def _silu(x: Array) -> Array:
    return np.where(x == -np.inf, 0.0, x * _sigmoid(x))


def _clip(x: Array, low: Array, high: Array) -> Array:
    return np.minimum(np.maximum(x, low), high)


def _selu(x: Array) -> Array:
    below = 1.6732632423543772 * np.expm1(np.minimum(x, 0))
    return 1.0507009873554805 * np.where(x > 0, x, below)


def _hardswish(x: Array) -> Array:
    above = np.maximum(x, -3)
    return above * (np.minimum(above + 3, 6) / 6)


def _softsign(x: Array) -> Array:
    near = np.clip(x, -1e30, 1e30)
    return near / (np.abs(near) + 1)


def _real(
    of: Callable[..., Any], ulps: float, domain: str = "any", at_x: bool = False
) -> Reference:
    return Reference(FLOATS, of, ulps, domain, at_x=at_x)


def _test(of: Callable[..., Any]) -> Reference:
    return Reference(FLOATS, of, gives_bool=True)


REFERENCES: dict[str, Reference] = {
    "add": Reference(NUMBERS, np.add),
    "sub": Reference(NUMBERS, np.subtract),
    "mul": Reference(NUMBERS, np.multiply),
    "div": _real(np.divide, 0),
    "floor_divide": Reference(NUMBERS, np.floor_divide, 2),
    "remainder": Reference(NUMBERS, np.remainder),
    "pow": Reference(NUMBERS, _pow, 2, "pow"),
    "max": Reference(NUMBERS, np.maximum),
    "min": Reference(NUMBERS, np.minimum),
    "clip": Reference(NUMBERS, _clip),
    "abs": Reference(NUMBERS, np.abs),
    "neg": Reference(NUMBERS, np.negative),
    "sign": Reference(NUMBERS, _sign),
    "square": Reference(NUMBERS, np.square),
    "reciprocal": _real(lambda x: 1 / x, 0),
    "floor": _real(np.floor, 0),
    "ceil": _real(np.ceil, 0),
    "trunc": _real(np.trunc, 0),
    "round": _real(np.rint, 0),
    "sqrt": _real(np.sqrt, 0),
    "rsqrt": _real(lambda x: 1 / np.sqrt(x), 1),
    "cbrt": _real(np.cbrt, 2),
    "hypot": _real(np.hypot, 2),
    "exp": _real(np.exp, 2, "small"),
    "exp2": _real(np.exp2, 2, "small"),
    "expm1": _real(np.expm1, 3, "small"),
    "log": _real(np.log, 2),
    "log2": _real(np.log2, 2),
    "log10": _real(np.log10, 2),
    "log1p": _real(np.log1p, 2),
    "logaddexp": _real(np.logaddexp, 4, "small", at_x=True),
    "sin": _real(np.sin, 3),
    "cos": _real(np.cos, 3),
    "tan": _real(np.tan, 5),
    "asin": _real(np.arcsin, 4, "unit"),
    "acos": _real(np.arccos, 4, "unit"),
    "atan": _real(np.arctan, 4),
    "atan2": _real(np.arctan2, 5),
    "sinh": _real(np.sinh, 4, "small"),
    "cosh": _real(np.cosh, 4, "small"),
    "tanh": _real(np.tanh, 4, "small"),
    "asinh": _real(np.arcsinh, 4),
    "acosh": _real(np.arccosh, 4),
    "atanh": _real(np.arctanh, 4, "unit"),
    "relu": _real(lambda x: np.where(x < 0, 0, x), 0),
    "sigmoid": _real(_sigmoid, 4, "small"),
    "silu": _real(_silu, 4, "small"),
    "gelu": _real(_gelu, 3, "small", at_x=True),
    "gelu_tanh": _real(_gelu_tanh, 3, "small", at_x=True),
    "erf": _real(_erf, 4, "small"),
    "leaky_relu": _real(lambda x, a: np.where(x > 0, x, x * a), 0),
    "elu": _real(lambda x, a: np.where(x > 0, x, a * np.expm1(np.minimum(x, 0))), 4, "small"),
    "selu": _real(_selu, 4, "small"),
    "hardsigmoid": _real(lambda x: np.clip(x + 3, 0, 6) / 6, 3, at_x=True),
    "hardswish": _real(_hardswish, 4, at_x=True),
    "softsign": _real(_softsign, 2),
    "copysign": _real(np.copysign, 0),
    "nextafter": _real(np.nextafter, 0, "next"),
    "signbit": _test(np.signbit),
    "isnan": _test(np.isnan),
    "isinf": _test(np.isinf),
    "isfinite": _test(np.isfinite),
    "bitwise_and": Reference(BITS, np.bitwise_and),
    "bitwise_or": Reference(BITS, np.bitwise_or),
    "bitwise_xor": Reference(BITS, np.bitwise_xor),
    "bitwise_invert": Reference(BITS, np.invert),
    "left_shift": Reference(INTEGERS, _left, domain="shift"),
    "right_shift": Reference(INTEGERS, _right, domain="shift"),
    "equal": Reference(ALL, np.equal, gives_bool=True),
    "not_equal": Reference(ALL, np.not_equal, gives_bool=True),
    "less": Reference(NUMBERS, np.less, gives_bool=True),
    "less_equal": Reference(NUMBERS, np.less_equal, gives_bool=True),
    "greater": Reference(NUMBERS, np.greater, gives_bool=True),
    "greater_equal": Reference(NUMBERS, np.greater_equal, gives_bool=True),
    "where": Reference(ALL, np.where, takes_bool=True),
}
