"""What losses of two Arrays of one shape have in common: a formula, weights, and a sum or mean."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from tilewright.nn.running import alike, floats, mapped, reduced, spread, to_number
from tilewright.operands import invalid, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tilewright.array import Array
    from tilewright.program import Value

    Grad = Array | float

REDUCTIONS = ("none", "mean", "sum")


def to_reduction(call: str, reduction: Any, *further: str) -> str:
    expected = (*REDUCTIONS, *further)
    if not isinstance(reduction, str) or reduction not in expected:
        names = ", ".join(repr(one) for one in expected[:-1])
        invalid(call, f"reduction is {shown(reduction)}, expected {names} or {expected[-1]!r}")
    return str(reduction)


def to_grad(call: str, grad: Any, like: Array, shape: tuple[int, ...]) -> Array | float:
    """The gradient by a loss of this shape: an Array of it, or a number for all."""
    from tilewright.array import Array

    if not isinstance(grad, Array):
        return to_number(call, "grad", grad)
    (found,) = floats(call, grad=grad)
    like.backend._own(call, "grad", found)
    if found.shape != shape:
        invalid(call, f"grad has shape {found.shape}, expected {shape} as the loss has")
    return found


@cache
def _weighed(formula: Callable[..., Value], weights: tuple[str, ...]) -> Callable[..., Value]:
    """A formula of input, target, weights that are given, and numbers; times `weight`."""

    def whole(*values: Value) -> Value:
        input, target, *others = values
        named = dict(zip(weights, others[: len(weights)], strict=True))
        weight = named.pop("weight", None)
        found = formula(input, target, *others[len(weights) :], **named)
        return found if weight is None else found * weight

    return whole


@cache
def _slope(formula: Callable[..., Value], weights: tuple[str, ...]) -> Callable[..., Value]:
    whole = _weighed(formula, weights)

    def gradient(grad: Value, scale: Value, *values: Value) -> Value:
        return whole(*values) * (grad * scale)

    return gradient


@cache
def _slope_over(formula: Callable[..., Value], weights: tuple[str, ...]) -> Callable[..., Value]:
    whole = _weighed(formula, weights)

    def gradient(grad: Value, total: Value, *values: Value) -> Value:
        return whole(*values) * (grad / total)

    return gradient


def quotient(total: Value, count: Value) -> Value:
    return total / count


def divisor_of(reduction: str, shape: tuple[int, ...], size: int) -> float:
    if reduction == "batchmean":
        return float(shape[0] if shape else 1)
    return float(size if reduction == "mean" else 1)


def _operands(
    call: str, input: Any, target: Any, weights: dict[str, Any], numbers: Sequence[float]
) -> tuple[list[Array | float], tuple[str, ...]]:
    input, target = alike(call, input=input, target=target)
    named = {name: one for name, one in weights.items() if one is not None}
    views = [
        spread(call, name, floats(call, **{"input": input, name: one})[1], input.shape)
        for name, one in named.items()
    ]
    return [input, target, *views, *numbers], tuple(named)


def _itself(x: Value) -> Value:
    return x


def _total(like: Array, operands: Sequence[Array | float], names: tuple[str, ...]) -> Array:
    """What a mean of weighted losses is over."""
    weight = operands[2 + names.index("weight")]
    return reduced("sum", _itself, like, [weight], range(like.ndim))


def loss(
    call: str, formula: Callable[..., Value], input: Any, target: Any, reduction: Any, /,
    numbers: Sequence[float] = (), further: tuple[str, ...] = (), by_weight: bool = False,
    **weights: Any,
) -> Array:  # fmt: skip
    """`by_weight` says that a mean is over the sum of `weight` instead of the count."""
    how = to_reduction(call, reduction, *further)
    operands, names = _operands(call, input, target, weights, numbers)
    whole = _weighed(formula, names)
    if how == "none":
        return mapped(call, whole, input, operands)
    if by_weight and how == "mean" and "weight" in names:
        total = _total(input, operands, names)
        return reduced(
            "sum", whole, input, operands, range(input.ndim), input.dtype, quotient,
            inputs=[total],
        )  # fmt: skip
    return reduced(
        "sum", whole, input, operands, range(input.ndim), input.dtype, quotient,
        [divisor_of(how, input.shape, input.size)],
    )  # fmt: skip


def loss_gradient(
    call: str, formula: Callable[..., Value], grad: Any, input: Any, target: Any,
    reduction: Any, /,
    numbers: Sequence[float] = (), further: tuple[str, ...] = (), by_weight: bool = False,
    **weights: Any,
) -> Array:  # fmt: skip
    how = to_reduction(call, reduction, *further)
    operands, names = _operands(call, input, target, weights, numbers)
    grad = to_grad(call, grad, input, input.shape if how == "none" else ())
    if not isinstance(grad, float):
        grad = spread(call, "grad", grad, input.shape)
    if by_weight and how == "mean" and "weight" in names:
        total = _total(input, operands, names)
        total = spread(call, "weight", total, input.shape)
        return mapped(call, _slope_over(formula, names), input, [grad, total, *operands])
    divisor = divisor_of(how, input.shape, input.size)
    scale = 1 / divisor if divisor else 1.0
    return mapped(call, _slope(formula, names), input, [grad, scale, *operands])
