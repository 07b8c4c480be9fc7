"""Losses, and classes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .activations import log_softmax
from .case import Case


def reduced(found: Any, reduction: str) -> Any:
    return {"none": lambda x: x, "sum": np.sum, "mean": np.mean}[reduction](found)


def smooth(d: Any, beta: float) -> Any:
    return np.where(np.abs(d) < beta, d * d / 2 / (beta or 1), np.abs(d) - beta / 2)


def huber(d: Any, delta: float) -> Any:
    return np.where(np.abs(d) <= delta, d * d / 2, delta * (np.abs(d) - delta / 2))


def log(x: Any) -> Any:
    return np.maximum(np.log(x), -100)


def with_logits(x: Any, y: Any, pos_weight: Any = None) -> Any:
    p = 1 if pos_weight is None else pos_weight
    return (1 - y) * np.logaddexp(0, x) + p * y * np.logaddexp(0, -x)


ELEMENTS: dict[str, tuple[Callable[..., Any], dict[str, list[Any]]]] = {
    "mse_loss": (lambda x, y: (x - y) ** 2, {}),
    "l1_loss": (lambda x, y: np.abs(x - y), {}),
    "smooth_l1_loss": (lambda x, y, beta: smooth(x - y, beta), {"beta": [1.0, 0.5, 0.0, 2.0]}),
    "huber_loss": (lambda x, y, delta: huber(x - y, delta), {"delta": [1.0, 0.5, 2.0]}),
    "binary_cross_entropy": (lambda x, y: -(y * log(x) + (1 - y) * log(1 - x)), {}),
    "binary_cross_entropy_with_logits": (with_logits, {}),
    "kl_div": (lambda x, y: np.where(y > 0, y * np.log(np.maximum(y, 1e-300)), 0) - y * x, {}),
    "soft_margin_loss": (lambda x, y: np.logaddexp(0, -x * y), {}),
    "hinge_embedding_loss": (
        lambda x, y, margin: np.where(y == 1, x, np.maximum(0, margin - x)),
        {"margin": [1.0, 0.5, 3.0]}),
    "poisson_nll_loss": (
        lambda x, y, eps, log_input: np.exp(x) - y * x if log_input else x - y * np.log(x + eps),
        {"eps": [1e-8, 0.5], "log_input": [True, False]}),
}  # fmt: skip
WEIGHTED = ["mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "binary_cross_entropy",
            "binary_cross_entropy_with_logits"]  # fmt: skip


def of_elements(case: Case) -> Case:
    draw = case.draw
    name = draw.one_of(list(ELEMENTS))
    formula, takes = ELEMENTS[name]
    dtype, shape = case.real(), case.shape()
    x_values = y_values = "small"
    if name == "binary_cross_entropy":
        x_values = "inside"
    if "binary" in name:
        y_values = "inside"
    if name in ("soft_margin_loss", "hinge_embedding_loss"):
        y_values = "signs"
    if name in ("kl_div", "poisson_nll_loss"):
        y_values = "above"
    options: dict[str, Any] = {key: draw.one_of(values) for key, values in takes.items()}
    if options.get("log_input") is False:
        x_values = "above"
    x, y = within(case, shape, dtype, x_values), within(case, shape, dtype, y_values)
    if name in WEIGHTED and draw.rarely(3):
        options["weight"] = case.array(shape, dtype)
    if draw.below(3):
        options["reduction"] = draw.one_of(["mean", "sum", "none"])
    case.calls(name, x, y, **options)

    def whole(x: Any, y: Any, weight: Any = None, reduction: str = "mean", **numbers: Any) -> Any:
        found = formula(x, y, **numbers)
        return reduced(found if weight is None else found * weight, reduction)

    return case.to(formula=whole).maybe_gradient(dtype)


def within(case: Case, shape: Any, dtype: str, values: str) -> Any:
    """ "inside": probabilities; "above": above 0; "signs": -1 and 1."""
    if values == "small":
        return case.array(shape, dtype)
    rng = case.draw.rng
    if values == "signs":
        return case.content(rng.integers(0, 2, shape) * 2 - 1, dtype)
    if values == "inside":
        return case.content(rng.integers(1, 8, shape) / 8, dtype)
    return case.content(rng.integers(1, 17, shape) / 4, dtype)


def of_classes(case: Case) -> Case:
    draw = case.draw
    name = draw.one_of(["cross_entropy", "nll_loss"])
    dtype = case.real()
    classes = draw.one_of([3, 1, 2, 7, 33, 100])
    shape = draw.one_of([[4, classes], [classes], [2, classes, 3], [1, classes], [0, classes],
                         [17, classes], [2, classes, 2, 3]])  # fmt: skip
    x = case.array(shape, dtype, draw.one_of(["small", "normal"]))
    target_shape = shape[:0] if len(shape) == 1 else [shape[0], *shape[2:]]
    target = case.indices(target_shape, classes, draw.one_of(["int64", "int32", "uint8"]))
    options: dict[str, Any] = {}
    if draw.rarely(3):
        options["weight"] = within(case, [classes], dtype, "above")
    if draw.rarely(3):
        options["ignore_index"] = draw.one_of([0, 1, -100])
    if draw.below(3):
        options["reduction"] = draw.one_of(["mean", "sum", "none"])
    if name == "cross_entropy" and draw.rarely(3):
        options["label_smoothing"] = draw.one_of([0.25, 0.5, 0.0, 1.0])
    case.calls(name, x, target, **options)
    if not set(options) & {"weight", "ignore_index", "label_smoothing"}:

        def formula(x: Any, target: Any, reduction: str = "mean") -> Any:
            axis = 0 if x.ndim == 1 else 1
            if name == "cross_entropy":
                x = log_softmax(x, axis)
            found = np.take_along_axis(x, np.expand_dims(target.astype(np.int64), axis), axis)
            return reduced(-found.squeeze(axis), reduction)

        case.formula = formula
    return case.maybe_gradient(dtype)


def one_hot(case: Case) -> Case:
    dtype = case.draw.one_of(["int64", "int32", "uint8", "int8"])
    case.calls("one_hot", case.indices(case.shape(0, 3), 5, dtype), case.draw.one_of([5, 7]))
    return case.to(formula=lambda x, n: np.eye(n, dtype=np.int64)[x.astype(np.int64)])


KINDS = [of_elements, of_elements, of_classes, of_classes, one_hot]
