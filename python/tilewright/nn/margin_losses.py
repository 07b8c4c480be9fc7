"""Losses of how two or three Arrays lie to each other, and their gradients by each of them."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from tilewright.call_forms import kept_by_form
from tilewright.namespace.complex_math import choose
from tilewright.nn import similarities
from tilewright.nn.reduced_losses import divisor_of, loss, quotient, to_grad, to_reduction
from tilewright.nn.rows import in_rows
from tilewright.nn.running import (
    alike,
    floats,
    launch,
    mapped,
    reduced,
    spread,
    to_number,
    to_truth,
)
from tilewright.nn.similarities import cosine_parts, cosines, to_p
from tilewright.nn.softmaxes import along
from tilewright.operands import invalid

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tilewright.array import Array
    from tilewright.nn.reduced_losses import Grad
    from tilewright.program import Value


class InputGradients(NamedTuple):
    """The gradients by the first and the second input."""

    input1: Array
    input2: Array


class TripletGradients(NamedTuple):
    anchor: Array
    positive: Array
    negative: Array


def _scaled(
    call: str, grad: Any, like: Array, shape: tuple[int, ...], how: str
) -> tuple[Any, float]:
    """The gradient by losses of a shape, as a number or a view of it, and what it is times."""
    found = to_grad(call, grad, like, shape if how == "none" else ())
    size = 1
    for one in shape:
        size *= one
    divisor = divisor_of(how, shape, size)
    if not isinstance(found, float):
        found = spread(call, "grad", found, shape)
    return found, 1 / divisor if divisor else 1.0


# Rankings -----------------------------------------------------------------------------------------


def _ranking(x: Value, y: Value, margin: Value, target: Value) -> Value:
    return (margin - target * (x - y)).relu()


def _ranking_slopes(
    grad: Value, scale: Value, x: Value, y: Value, target: Value, margin: Value
) -> tuple[Value, Value]:
    by_second = choose(margin - target * (x - y) >= 0, target * (grad * scale), 0.0)
    return -by_second, by_second


@kept_by_form
def margin_ranking_loss(
    input1: Array, input2: Array, target: Array, *, margin: float = 0.0, reduction: str = "mean"
) -> Array:
    """What target * (input1 - input2), of targets of 1 and -1, lacks to the margin."""
    call = "margin_ranking_loss"
    alike(call, input1=input1, input2=input2)
    numbers = [to_number(call, "margin", margin)]
    return loss(call, _ranking, input1, input2, reduction, numbers, target=target)


@kept_by_form
def margin_ranking_loss_backward(
    grad: Grad, input1: Array, input2: Array, target: Array, *, margin: float = 0.0,
    reduction: str = "mean",
) -> InputGradients:  # fmt: skip
    """The gradients of margin_ranking_loss() by both inputs: one launch."""
    call = "margin_ranking_loss_backward"
    x, y = alike(call, input1=input1, input2=input2)
    how, number = to_reduction(call, reduction), to_number(call, "margin", margin)
    goal = spread(call, "target", floats(call, input1=x, target=target)[1], x.shape)
    came, scale = _scaled(call, grad, x, x.shape, how)
    found = [x.backend._new(x.shape, x.dtype) for _ in range(2)]
    if x.size:
        launch(_ranking_slopes, x, [came, scale, x, y, goal, number], found, x.shape)
    return InputGradients(*found)


# Cosines ------------------------------------------------------------------------------------------

# What torch adds to squares of lengths is the square of this.
COSINE_EPS = 1e-6


def _cosine_loss(cosine: Value, target: Value, margin: Value) -> Value:
    apart = choose(target == -1, (cosine - margin).relu(), 0.0)
    return choose(target == 1, 1 - cosine, apart)


def _cosine_slopes(
    grad: Value, scale: Value, target: Value, cosine: Value, x: Value, y: Value, both: Value,
    of_first: Value, of_second: Value, margin: Value,
) -> tuple[Value, Value]:  # fmt: skip
    came = grad * scale
    apart = choose((target == -1) & (cosine > margin), came, 0.0)
    came = choose(target == 1, -came, apart)
    return came * (y * both - x * of_first), came * (x * both - y * of_second)


def _cosine_operands(
    call: str, input1: Any, input2: Any, target: Any
) -> tuple[Array, Array, Array, tuple[int, ...]]:
    x, y, goal = floats(call, input1=input1, input2=input2, target=target)
    if x.shape != y.shape or x.ndim not in (1, 2):
        invalid(
            call,
            f"input1 has shape {x.shape} and input2 {y.shape}, expected one shape of one or two "
            "dimensions",
        )
    if goal.shape != x.shape[:-1]:
        invalid(call, f"target has shape {goal.shape}, expected {x.shape[:-1]}, one for each line")
    return x, y, goal, x.shape[:-1]


@kept_by_form
def cosine_embedding_loss(
    input1: Array, input2: Array, target: Array, *, margin: float = 0.0, reduction: str = "mean"
) -> Array:
    """1 less the cosine of each pair of lines where the target is 1, and what it is above the
    margin where that is -1."""
    from tilewright.namespace.creation import zeros

    call = "cosine_embedding_loss"
    how, number = to_reduction(call, reduction), to_number(call, "margin", margin)
    x, y, goal, lines = _cosine_operands(call, input1, input2, target)
    if x.size:
        found = cosines(call, x, y, x.ndim - 1, COSINE_EPS, True)
    else:
        found = zeros(lines, dtype=x.dtype, device=x.backend)
    return _reduced(call, how, _cosine_loss, x, [found, goal, number], lines)


def _reduced(
    call: str, how: str, formula: Callable[..., Value], like: Array,
    operands: Sequence[Array | float], shape: tuple[int, ...],
) -> Array:  # fmt: skip
    if how == "none":
        return mapped(call, formula, like, operands, None, shape)
    size = 1
    for one in shape:
        size *= one
    return reduced(
        "sum", formula, like, operands, range(len(shape)), like.dtype, quotient,
        [divisor_of(how, shape, size)], shape=shape,
    )  # fmt: skip


@kept_by_form
def cosine_embedding_loss_backward(
    grad: Grad, input1: Array, input2: Array, target: Array, *, margin: float = 0.0,
    reduction: str = "mean",
) -> InputGradients:  # fmt: skip
    """The gradients of cosine_embedding_loss() by both inputs: two launches."""
    call = "cosine_embedding_loss_backward"
    how, number = to_reduction(call, reduction), to_number(call, "margin", margin)
    x, y, goal, lines = _cosine_operands(call, input1, input2, target)
    came, scale = _scaled(call, grad, x, lines, how)
    found = [x.backend._new(x.shape, x.dtype) for _ in range(2)]
    if x.size:
        axis = x.ndim - 1
        cosine, both, of_first, of_second = cosine_parts(call, x, y, axis, COSINE_EPS, True)
        came = came if isinstance(came, float) else along(x, axis, came)
        launch(
            _cosine_slopes, x,
            [came, scale, along(x, axis, goal), cosine, x, y, both, of_first, of_second, number],
            found, x.shape,
        )  # fmt: skip
    return InputGradients(*found)


# Triplets -----------------------------------------------------------------------------------------


class _Triplet(NamedTuple):
    """Anchor, positive and negative, and the numbers of their distances."""

    arrays: tuple[Array, Array, Array]
    margin: float
    p: float
    eps: float
    swaps: bool

    @property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        return ((0, 1), (0, 2), (1, 2)) if self.swaps else ((0, 1), (0, 2))


def _triplet(
    call: str, anchor: Any, positive: Any, negative: Any, margin: Any, p: Any, eps: Any, swap: Any
) -> _Triplet:
    a, b, c = alike(call, anchor=anchor, positive=positive, negative=negative)
    if a.ndim == 0:
        invalid(call, "anchor has no dimensions, expected at least one")
    numbers = (to_number(call, "margin", margin), to_p(call, p), to_number(call, "eps", eps))
    return _Triplet((a, b, c), *numbers, to_truth(call, "swap", swap))


@cache
def _most_of(i: int, j: int, at: int) -> Callable[..., Value]:
    def most(*values: Value) -> Value:
        return similarities.off(values[i], values[j], values[-2])

    return most


@cache
def _total_of(i: int, j: int, at: int, power: str) -> Callable[..., Value]:
    """Behind the largest of a pair, which was found as number `at`."""

    def total(*values: Value) -> Value:
        *_, eps, p = values
        size = similarities.off(values[i], values[j], eps)
        return similarities.measured(size, values[3 + at], p, power)

    return total


@cache
def _distances_of(power: str, count: int) -> Callable[..., tuple[Value, ...]]:
    def ends(*values: Value) -> Any:
        p = values[-1]
        found = tuple(
            similarities.distance(values[2 * i], values[2 * i + 1], p, power) for i in range(count)
        )
        return found

    return ends


def _distances(call: str, of: _Triplet) -> list[Array]:
    """Of each pair, in the dtype that is computed in: one launch."""
    power, folds = similarities.power_of(of.p), []
    for at, (i, j) in enumerate(of.pairs):
        folds.append(("max", _most_of(i, j, 2 * at)))
        folds.append(("sum", _total_of(i, j, 2 * at, power)))
    like = of.arrays[0]
    _, found = in_rows(
        call, like, of.arrays, [like.ndim - 1], folds, ends=_distances_of(power, len(of.pairs)),
        end_count=len(of.pairs), numbers=[of.eps, of.p],
    )  # fmt: skip
    return found


def _hinge(near: Value, far: Value, margin: Value) -> Value:
    return (near - far + margin).relu()


def _swapped_hinge(near: Value, far: Value, across: Value, margin: Value) -> Value:
    return (near - far.min(across) + margin).relu()


@kept_by_form
def triplet_margin_loss(
    anchor: Array, positive: Array, negative: Array, *, margin: float = 1.0, p: float = 2.0,
    eps: float = 1e-6, swap: bool = False, reduction: str = "mean",
) -> Array:  # fmt: skip
    """How much nearer than the margin the negative is to the anchor than the positive is, in
    pairwise_distance()s; with `swap` the positive counts as an anchor too, where it is nearer to
    the negative."""
    from tilewright.namespace.creation import zeros

    call = "triplet_margin_loss"
    how = to_reduction(call, reduction)
    of = _triplet(call, anchor, positive, negative, margin, p, eps, swap)
    like = of.arrays[0]
    lines = like.shape[:-1]
    if like.size:
        found = _distances(call, of)
    else:
        found = [zeros(lines, dtype=like.dtype, device=like.backend) for _ in of.pairs]
    formula = _swapped_hinge if of.swaps else _hinge
    return _reduced(call, how, formula, like, [*found, of.margin], lines)


@cache
def _triplet_slopes(power: str, swaps: bool) -> Callable[..., tuple[Value, ...]]:
    def gradients(grad: Value, scale: Value, a: Value, b: Value, c: Value, *values: Value) -> Any:
        *lengths, margin, eps, p = values
        near, far = lengths[:2]
        is_swapped = lengths[2] < far if swaps else None
        least = far if is_swapped is None else far.min(lengths[2])
        came = choose(near - least + margin > 0, grad * scale, 0.0)
        by_near = came * similarities.slope(a, b, near, eps, p, power)
        by_far = came * similarities.slope(a, c, far, eps, p, power)
        if is_swapped is None:
            return by_near - by_far, -by_near, by_far
        # Of equal ones each gets half.
        is_equal = lengths[2] == far
        share = choose(is_equal, 0.5, choose(is_swapped, came * 0 + 1, 0.0))
        across = came * similarities.slope(b, c, lengths[2], eps, p, power) * share
        by_far = by_far * (1 - share)
        return by_near - by_far, -by_near - across, by_far + across

    return gradients


@kept_by_form
def triplet_margin_loss_backward(
    grad: Grad, anchor: Array, positive: Array, negative: Array, *, margin: float = 1.0,
    p: float = 2.0, eps: float = 1e-6, swap: bool = False, reduction: str = "mean",
) -> TripletGradients:  # fmt: skip
    """The gradients of triplet_margin_loss() by anchor, positive and negative: two launches."""
    call = "triplet_margin_loss_backward"
    how = to_reduction(call, reduction)
    of = _triplet(call, anchor, positive, negative, margin, p, eps, swap)
    like = of.arrays[0]
    came, scale = _scaled(call, grad, like, like.shape[:-1], how)
    found = [like.backend._new(like.shape, like.dtype) for _ in range(3)]
    if like.size:
        axis = like.ndim - 1
        came = came if isinstance(came, float) else along(like, axis, came)
        lengths = [along(like, axis, one) for one in _distances(call, of)]
        formula = _triplet_slopes(similarities.power_of(of.p), of.swaps)
        operands = [came, scale, *of.arrays, *lengths, of.margin, of.eps, of.p]
        launch(formula, like, operands, found, like.shape)
    return TripletGradients(*found)
