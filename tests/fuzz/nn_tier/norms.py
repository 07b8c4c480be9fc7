"""Normalisations."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .case import Case

EPS = [1e-5, 1.0, 1e-3, 0.25]


def normed(x: Any, axes: Any, eps: float, mean: bool = True) -> Any:
    if mean:
        x = x - x.mean(axis=axes, keepdims=True)
    return x / np.sqrt((x * x).mean(axis=axes, keepdims=True) + eps)


def of_channels(x: Any, line: Any) -> Any:
    return line.reshape(-1, *[1] * (x.ndim - 2))


def or_gradient(case: Case, dtype: str) -> Case:
    """Of lines of equal numbers it is roundings times the elements of a line over the root of
    eps."""
    name = case.name
    case.maybe_gradient(dtype)
    return case if case.name == name else case.to(ulps=1 << 14)


def last_axes(case: Case) -> Case:
    draw = case.draw
    name = draw.one_of(["layer_norm", "rms_norm", "add_layer_norm", "add_rms_norm"])
    dtype, shape = case.real(), case.shape(1)
    count = draw.integer(1, min(3, len(shape)))
    lines = tuple(shape[-count:])
    x = case.array(shape, dtype)
    given: list[Any] = [x, case.array(shape, dtype)] if "add" in name else [x]
    given.append(lines[0] if count == 1 and draw.below(2) else lines)
    options: dict[str, Any] = {"weight": case.maybe(lines, dtype)}
    if "layer" in name:
        options["bias"] = case.maybe(lines, dtype)
    options["eps"] = draw.one_of(EPS)
    if "add" in name:
        return case.calls(name, *given, **options, return_sum=bool(draw.below(2)))
    case.calls(name, *given, **options)

    def formula(x: Any, _: Any, weight: Any = None, bias: Any = None, eps: float = 0) -> Any:
        found = normed(x, tuple(range(-count, 0)), eps, name == "layer_norm")
        found = found if weight is None else found * weight
        return found if bias is None else found + bias

    # Lines of equal numbers are divided by the root of eps, which makes roundings larger.
    return or_gradient(case.to(formula=formula, ulps=512), dtype)


def channels(case: Case) -> Case:
    draw = case.draw
    name = draw.one_of(["group_norm", "instance_norm"])
    dtype, shape = case.real(), case.shape(2, 5)
    groups = draw.one_of([1, 2, 3])
    if name == "group_norm":
        shape[1] = groups * draw.one_of([1, 2, 3, 0, 4])
        if math.prod(shape) > 20000:
            shape = [2, shape[1], 5]
    x = case.array(shape, dtype)
    options: dict[str, Any] = {
        "weight": case.maybe([shape[1]], dtype),
        "bias": case.maybe([shape[1]], dtype),
        "eps": draw.one_of(EPS),
    }
    case.calls(name, x, *([groups] if name == "group_norm" else []), **options)

    def formula(x: Any, count: Any = None, weight: Any = None, bias: Any = None,
                eps: float = 0) -> Any:  # fmt: skip
        count = x.shape[1] if count is None else count
        if x.size == 0:
            return x
        split = x.reshape(x.shape[0], count, -1)
        found = normed(split, 2, eps).reshape(x.shape)
        found = found if weight is None else found * of_channels(x, weight)
        return found if bias is None else found + of_channels(x, bias)

    return or_gradient(case.to(formula=formula, ulps=512), dtype)


def batch_norm(case: Case) -> Case:
    draw = case.draw
    dtype, shape = case.real(), case.shape(2, 5)
    training = draw.below(2) == 1
    x, line = case.array(shape, dtype), [shape[1]]
    options: dict[str, Any] = {}
    if not training or draw.below(2):
        options["running_mean"] = case.array(line, dtype, "small", written=training)
        options["running_var"] = case.array(line, dtype, "positive", written=training)
    options |= {"weight": case.maybe(line, dtype), "bias": case.maybe(line, dtype)}
    options |= {"training": training, "eps": draw.one_of(EPS)}
    if training and draw.below(2):
        options |= {"momentum": draw.one_of([0.1, 1.0, 0.0, 0.5])}
    if draw.rarely(3):
        options |= {"return_statistics": True}
    case.calls("batch_norm", x, **options).to(ulps=512)
    if training or "return_statistics" in options:
        return case

    def formula(x: Any, running_mean: Any, running_var: Any, weight: Any, bias: Any, eps: float,
                training: bool) -> Any:  # fmt: skip
        found = (x - of_channels(x, running_mean)) / np.sqrt(of_channels(x, running_var) + eps)
        found = found if weight is None else found * of_channels(x, weight)
        return found if bias is None else found + of_channels(x, bias)

    return or_gradient(case.to(formula=formula), dtype)


def local_response(case: Case) -> Case:
    dtype, shape = case.real(), case.shape(3, 5)
    size = case.draw.integer(1, 6)
    case.calls("local_response_norm", case.array(shape, dtype), size, alpha=0.5, beta=0.75, k=1.0)
    return case.maybe_gradient(dtype)


KINDS = [last_axes, last_axes, channels, channels, batch_norm, local_response]
