"""Activations in float64, and how far a result may be from them."""

from __future__ import annotations

import numpy as np

from . import bounds, references
from .workspace import Array

SLOPE = 0.25
UNARY = {"relu", "sigmoid", "tanh", "silu", "gelu", "gelu_tanh"}


def bent(name: str, x: Array) -> Array:
    """In float64."""
    x = np.asarray(x, np.float64)
    if name in UNARY:
        return np.asarray(references.UNARY[name](x))
    with np.errstate(invalid="ignore"):
        found = {
            "none": x,
            "relu6": np.clip(x, 0, 6),
            "leaky_relu": np.where(x > 0, x, SLOPE * x),
            "hardswish": np.where(x <= -3, 0, x * np.clip(x + 3, 0, 6) / 6),
        }[name]
    return np.where(np.isnan(x), np.nan, found)


def slack(name: str, x: Array, exact: Array, off: Array | float, subnormals: bool) -> Array:
    """Of the activation itself, and of arguments that are off: no slope is above 1.5."""
    if name in UNARY:
        own = bounds.elementwise(name, exact, x, subnormals)
    elif name in ("none", "relu6"):
        own = np.zeros_like(exact)
    else:
        own = 4 * bounds.ulp(exact) + 4 * bounds.ulp(x) * (name == "hardswish") + bounds.SMALLEST
    return np.asarray(own + 1.5 * np.asarray(off))


def ended(
    name: str, sums: Array, off: Array, n: int, gated: bool, subnormals: bool
) -> tuple[Array, Array]:
    """Of sums that are off: those of n results bent, with a gate times n others."""
    exact = bent(name, sums[:, :n])
    tolerance = slack(name, sums[:, :n], exact, off[:, :n], subnormals)
    if gated:
        second, of_second = sums[:, n:], off[:, n:]
        tolerance = tolerance * (np.abs(second) + of_second) + np.abs(exact) * of_second
        exact = exact * second
        tolerance = tolerance + bounds.ulp(exact)
    return exact, tolerance
