"""Losses of scores of labels: of several that a sample has, and of the margin to the others."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from tilewright.call_forms import kept_by_form
from tilewright.namespace.complex_math import choose
from tilewright.nn.classes import Targets
from tilewright.nn.formulas import one_minus_sigmoid, softplus
from tilewright.nn.reduced_losses import divisor_of, quotient, to_grad, to_reduction
from tilewright.nn.running import alike, floats, mapped, reduced, spread, to_number
from tilewright.nn.softmaxes import along
from tilewright.operands import invalid, shown

if TYPE_CHECKING:
    from collections.abc import Callable

    from tilewright.array import Array
    from tilewright.nn.reduced_losses import Grad
    from tilewright.program import Value


def _count(shape: tuple[int, ...]) -> int:
    size = 1
    for one in shape:
        size *= one
    return size


def _of_labels(
    call: str, formula: Callable[..., Value], like: Array, operands: list[Any], axis: int, how: str
) -> Array:
    """A sum over the labels of each line, over how many they are, and what `how` makes of lines."""
    lines = tuple(size for i, size in enumerate(like.shape) if i != axis)
    labels = float(like.shape[axis])
    axes = [axis] if how == "none" else range(like.ndim)
    divisor = 1.0 if how == "none" else divisor_of(how, lines, _count(lines))
    return reduced("sum", formula, like, operands, axes, like.dtype, quotient, [labels * divisor])


def _grad_of_lines(call: str, grad: Any, like: Array, axis: int, how: str) -> tuple[Any, float]:
    """By each label's loss: what came, as a number or a view, and what it is times."""
    lines = tuple(size for i, size in enumerate(like.shape) if i != axis)
    came = to_grad(call, grad, like, lines if how == "none" else ())
    divisor = divisor_of(how, lines, _count(lines)) * like.shape[axis]
    scale = 1 / divisor if divisor else 1.0
    if isinstance(came, float):
        return came, scale
    return (
        along(like, axis, came) if how == "none" else spread(call, "grad", came, like.shape)
    ), scale


# Several labels -----------------------------------------------------------------------------------


def _soft_margin(x: Value, t: Value, weight: Value) -> Value:
    return (t * softplus(-x) + (1 - t) * softplus(x)) * weight


def _soft_margin_slope(grad: Value, scale: Value, x: Value, t: Value, weight: Value) -> Value:
    return ((1 - t) * x.sigmoid() - t * one_minus_sigmoid(x)) * weight * (grad * scale)


def _labels(call: str, input: Any, target: Any, weight: Any) -> tuple[Array, Array, Any]:
    input, target = alike(call, input=input, target=target)
    if input.ndim == 0:
        invalid(call, "input has no dimensions, expected at least one, of labels")
    if weight is None:
        return input, target, 1.0
    own = floats(call, input=input, weight=weight)[1]
    return input, target, spread(call, "weight", own, input.shape)


@kept_by_form
def multilabel_soft_margin_loss(
    input: Array, target: Array, *, weight: Array | None = None, reduction: str = "mean"
) -> Array:
    """The mean over the last axis of binary_cross_entropy_with_logits(), of labels of 0 and 1;
    `weight` has one number for each label."""
    call = "multilabel_soft_margin_loss"
    how = to_reduction(call, reduction)
    x, t, weights = _labels(call, input, target, weight)
    return _of_labels(call, _soft_margin, x, [x, t, weights], x.ndim - 1, how)


@kept_by_form
def multilabel_soft_margin_loss_backward(
    grad: Grad, input: Array, target: Array, *, weight: Array | None = None,
    reduction: str = "mean",
) -> Array:  # fmt: skip
    """The gradient of multilabel_soft_margin_loss() by input."""
    call = "multilabel_soft_margin_loss_backward"
    how = to_reduction(call, reduction)
    x, t, weights = _labels(call, input, target, weight)
    came, scale = _grad_of_lines(call, grad, x, x.ndim - 1, how)
    return mapped(call, _soft_margin_slope, x, [came, scale, x, t, weights])


# Margins ------------------------------------------------------------------------------------------

# No target that int32 holds is ignored but this one.
NEVER = -(2**31)


def _power(call: str, p: Any) -> int:
    if not isinstance(p, int) or isinstance(p, bool) or p not in (1, 2):
        invalid(call, f"p is {shown(p)}, expected 1 or 2")
    return p


def _margins(call: str, input: Any, target: Any, weight: Any) -> Targets:
    (input,) = floats(call, input=input)
    if input.ndim > 2:
        invalid(call, f"input has shape {input.shape}, expected one or two dimensions")
    return Targets(call, input, target, weight, NEVER)


@cache
def _margin(p: int) -> Callable[..., Value]:
    def of(
        x: Value, own: Value, place: Value, picked: Value, weight: Value, margin: Value
    ) -> Value:
        lack = (margin - picked + x).relu()
        return choose(own == place, 0.0, (lack if p == 1 else lack * lack) * weight)

    return of


@cache
def _margin_slope(p: int) -> Callable[..., Value]:
    def of(
        x: Value, own: Value, place: Value, picked: Value, weight: Value, margin: Value
    ) -> Value:
        lack = (margin - picked + x).relu()
        by_lack = choose(lack > 0, x * 0 + 1, 0.0) if p == 1 else lack * 2
        return choose(own == place, 0.0, by_lack * weight)

    return of


@cache
def _margin_gradient(p: int) -> Callable[..., Value]:
    def of(
        grad: Value, scale: Value, total: Value, x: Value, own: Value, place: Value, *values: Value
    ) -> Value:
        slope = _margin_slope(p)(x, own, place, *values)
        return choose(own == place, -total, slope) * (grad * scale)

    return of


@kept_by_form
def multi_margin_loss(
    input: Array, target: Any, *, p: int = 1, margin: float = 1.0, weight: Array | None = None,
    reduction: str = "mean",
) -> Array:  # fmt: skip
    """What each class but the target's lacks to be the margin below it, to the power of p, times
    the target's weight, summed over the number of classes. An index that is no class raises."""
    call = "multi_margin_loss"
    how, power, number = (
        to_reduction(call, reduction),
        _power(call, p),
        to_number(call, "margin", margin),
    )
    of = _margins(call, input, target, weight)
    operands = [
        of.input, *of.meetings(), of.along(of.picked(of.input)), of.along(of.weights()), number
    ]  # fmt: skip
    return _of_labels(call, _margin(power), of.input, operands, of.axis, how)


@kept_by_form
def multi_margin_loss_backward(
    grad: Grad, input: Array, target: Any, *, p: int = 1, margin: float = 1.0,
    weight: Array | None = None, reduction: str = "mean",
) -> Array:  # fmt: skip
    """The gradient of multi_margin_loss() by input."""
    call = "multi_margin_loss_backward"
    how, power, number = (
        to_reduction(call, reduction),
        _power(call, p),
        to_number(call, "margin", margin),
    )
    of = _margins(call, input, target, weight)
    x = of.input
    operands = [x, *of.meetings(), of.along(of.picked(x)), of.along(of.weights()), number]
    came, scale = _grad_of_lines(call, grad, x, of.axis, how)
    total = along(x, of.axis, reduced("sum", _margin_slope(power), x, operands, [of.axis]))
    return mapped(call, _margin_gradient(power), x, [came, scale, total, *operands])
