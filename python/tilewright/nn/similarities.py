"""How alike lines of two Arrays are, and how far apart, with their gradients."""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from tilewright.call_forms import kept_by_form
from tilewright.namespace.complex_math import choose
from tilewright.nn.rows import in_rows
from tilewright.nn.running import floats, launch, to_number, to_truth, wide_of
from tilewright.nn.softmaxes import along
from tilewright.operands import invalid, to_axis

if TYPE_CHECKING:
    from collections.abc import Callable

    from tilewright.array import Array
    from tilewright.program import Value


class PairGradients(NamedTuple):
    """The gradients by the first and the second Array."""

    x1: Array
    x2: Array


def to_pair(call: str, names: tuple[str, str], x1: Any, x2: Any) -> tuple[Array, Array]:
    """Views of the shape that both broadcast to."""
    from tilewright.namespace.manipulation import broadcast_shapes, broadcast_to

    x1, x2 = floats(call, **{names[0]: x1, names[1]: x2})
    if x1.shape == x2.shape:
        return x1, x2
    try:
        shape = broadcast_shapes(x1.shape, x2.shape)
    except ValueError:
        invalid(call, f"{names[1]} has shape {x2.shape}, which does not broadcast with {x1.shape}")
    return broadcast_to(x1, shape), broadcast_to(x2, shape)


def gradient_of(like: Array, shape: tuple[int, ...]) -> Array:
    """A new Array for the gradient by each element of a view of this shape, not rounded where these
    are added up."""
    dtype = like.dtype if like.shape == shape else wide_of(like.dtype)
    found: Array = like.backend._new(shape, dtype)
    return found


def to_shape_of(found: Array, like: Array) -> Array:
    """The gradient by an Array that was broadcast: what came for each of its elements."""
    from tilewright.namespace import reductions

    if found.shape == like.shape:
        return found
    more = found.ndim - like.ndim
    axes = [i for i in range(found.ndim) if i < more or (like.shape[i - more] != found.shape[i])]
    total: Array = reductions.sum(found, tuple(axes), keepdims=True)
    return total.reshape(like.shape, copy=False).astype(like.dtype, copy=False)


# Cosines ------------------------------------------------------------------------------------------
#
# A line is measured by its largest element, or by eps, so that no square overflows.


def _first_size(a: Value, b: Value, eps: Value) -> Value:
    return abs(a)


def _second_size(a: Value, b: Value, m: Value, eps: Value) -> Value:
    return abs(b)


def _unit(most: Value, eps: Value) -> Value:
    size = most.max(eps)
    return choose(size == 0, 1.0, size)


def _first_square(a: Value, b: Value, m: Value, n: Value, eps: Value) -> Value:
    y = a / _unit(m, eps)
    return y * y


def _second_square(a: Value, b: Value, m: Value, n: Value, s: Value, eps: Value) -> Value:
    y = b / _unit(n, eps)
    return y * y


def _product(a: Value, b: Value, m: Value, n: Value, s: Value, t: Value, eps: Value) -> Value:
    return (a / _unit(m, eps)) * (b / _unit(n, eps))


def _length(square: Value, least: Value, is_smooth: bool) -> Value:
    """In units: eps at least, or with eps among the squares."""
    return (square + least * least).sqrt() if is_smooth else square.sqrt().max(least)


@cache
def _cosine_ends(is_smooth: bool) -> Callable[..., Value]:
    def ends(m: Value, n: Value, s: Value, t: Value, product: Value, eps: Value) -> Value:
        first = _length(s, eps / _unit(m, eps), is_smooth)
        second = _length(t, eps / _unit(n, eps), is_smooth)
        return product / first / second

    return ends


@cache
def _cosine_parts(is_smooth: bool) -> Callable[..., tuple[Value, ...]]:
    """The factors of a gradient: with c of the other line and c of the own one, c as cosine."""

    def ends(m: Value, n: Value, s: Value, t: Value, product: Value, eps: Value) -> Any:
        least = eps / _unit(m, eps), eps / _unit(n, eps)
        first, second = _length(s, least[0], is_smooth), _length(t, least[1], is_smooth)
        cosine = product / first / second
        both = 1 / first / second / _unit(m, eps) / _unit(n, eps)
        of_first = cosine / (first * _unit(m, eps)) / (first * _unit(m, eps))
        of_second = cosine / (second * _unit(n, eps)) / (second * _unit(n, eps))
        if not is_smooth:
            of_first = choose(s.sqrt() > least[0], of_first, 0.0)
            of_second = choose(t.sqrt() > least[1], of_second, 0.0)
        return cosine, both, of_first, of_second

    return ends


COSINE_FOLDS = (
    ("max", _first_size), ("max", _second_size), ("sum", _first_square), ("sum", _second_square),
    ("sum", _product),
)  # fmt: skip


def cosines(call: str, a: Array, b: Array, axis: int, eps: float, is_smooth: bool) -> Array:
    """Of each pair of lines, in the dtype that is computed in: one launch. There are elements."""
    _, (found,) = in_rows(
        call, a, [a, b], [axis], COSINE_FOLDS, ends=_cosine_ends(is_smooth), end_count=1,
        numbers=[eps],
    )  # fmt: skip
    return found


def cosine_parts(
    call: str, a: Array, b: Array, axis: int, eps: float, is_smooth: bool
) -> list[Array]:
    """The cosines and the factors of their gradients, as views of the shape of both."""
    _, found = in_rows(
        call, a, [a, b], [axis], COSINE_FOLDS, ends=_cosine_parts(is_smooth), end_count=4,
        numbers=[eps],
    )  # fmt: skip
    return [along(a, axis, one) for one in found]


def _cosine_gradients(
    grad: Value, a: Value, b: Value, both: Value, of_first: Value, of_second: Value
) -> tuple[Value, Value]:
    return grad * (b * both - a * of_first), grad * (a * both - b * of_second)


def _to_eps(call: str, eps: Any) -> float:
    least = to_number(call, "eps", eps)
    if not least >= 0:
        invalid(call, f"eps is {least}, expected 0 or more")
    return least


def _without(shape: tuple[int, ...], axis: int) -> tuple[int, ...]:
    return (*shape[:axis], *shape[axis + 1 :])


def check_shape(call: str, grad: Array, shape: tuple[int, ...]) -> None:
    if grad.shape != shape:
        invalid(call, f"grad has shape {grad.shape}, expected {shape} as the result has")


@kept_by_form
def cosine_similarity(x1: Array, x2: Array, dim: int = 1, eps: float = 1e-8) -> Array:
    """The product of lines along an axis over both lengths, each of them eps at least: one launch.
    x1 and x2 broadcast; no square overflows on the way."""
    from tilewright.namespace.creation import zeros

    call = "cosine_similarity"
    a, b = to_pair(call, ("x1", "x2"), x1, x2)
    axis, least = to_axis(call, dim, a.shape, "dim"), _to_eps(call, eps)
    if 0 in a.shape:
        return zeros(_without(a.shape, axis), dtype=a.dtype, device=a.backend)
    found: Array = cosines(call, a, b, axis, least, False).astype(a.dtype, copy=False)
    return found


@kept_by_form
def cosine_similarity_backward(
    grad: Array, x1: Array, x2: Array, dim: int = 1, eps: float = 1e-8
) -> PairGradients:
    """The gradients of cosine_similarity() by x1 and x2: two launches."""
    call = "cosine_similarity_backward"
    a, b = to_pair(call, ("x1", "x2"), x1, x2)
    (_, grad) = floats(call, x1=a, grad=grad)
    axis, least = to_axis(call, dim, a.shape, "dim"), _to_eps(call, eps)
    check_shape(call, grad, _without(a.shape, axis))
    found = [gradient_of(one, a.shape) for one in (x1, x2)]
    if a.size:
        _, *parts = cosine_parts(call, a, b, axis, least, False)
        launch(_cosine_gradients, a, [along(a, axis, grad), a, b, *parts], found, a.shape)
    return PairGradients(to_shape_of(found[0], x1), to_shape_of(found[1], x2))


# Distances ----------------------------------------------------------------------------------------


def off(a: Value, b: Value, eps: Value) -> Value:
    return abs(a - b + eps)


def measured(size: Value, most: Value, p: Value, power: str) -> Value:
    """A power of a size, in units of the largest one."""
    y = size / choose(most == 0, 1.0, most)
    if power == "1":
        return y
    return y * y if power == "2" else y.pow(p)


def distance(most: Value, total: Value, p: Value, power: str) -> Value:
    if power == "1":
        return most * total
    return most * (total.sqrt() if power == "2" else total.pow(1 / p))


def power_of(p: float) -> str:
    return {1.0: "1", 2.0: "2"}.get(p, "any")


def slope(a: Value, b: Value, length: Value, eps: Value, p: Value, power: str) -> Value:
    """Of a distance by an element of a: 0 where all of the line is."""
    y = (a - b + eps) / length
    if power == "1":
        along_line = y.sign()
    elif power == "2":
        along_line = y
    else:
        along_line = choose(y == 0, 0.0, y.sign() * abs(y).pow(p - 1))
    return choose(length == 0, 0.0, along_line)


def to_p(call: str, p: Any) -> float:
    power = to_number(call, "p", p)
    if not 0 < power < math.inf:
        invalid(call, f"p is {power}, expected a finite number above 0")
    return power


def _most(a: Value, b: Value, eps: Value, p: Value) -> Value:
    return off(a, b, eps)


@cache
def _sum(power: str) -> Callable[..., Value]:
    def total(a: Value, b: Value, most: Value, eps: Value, p: Value) -> Value:
        return measured(off(a, b, eps), most, p, power)

    return total


@cache
def _end(power: str) -> Callable[..., Value]:
    def end(most: Value, total: Value, eps: Value, p: Value) -> Value:
        return distance(most, total, p, power)

    return end


def _distances(call: str, a: Array, b: Array, p: float, eps: float) -> Array:
    power = power_of(p)
    _, (found,) = in_rows(
        call, a, [a, b], [a.ndim - 1], [("max", _most), ("sum", _sum(power))], ends=_end(power),
        end_count=1, numbers=[eps, p],
    )  # fmt: skip
    return found


@cache
def _distance_gradients(power: str) -> Callable[..., tuple[Value, Value]]:
    def gradients(
        grad: Value, a: Value, b: Value, length: Value, eps: Value, p: Value
    ) -> tuple[Value, Value]:
        by_first = grad * slope(a, b, length, eps, p, power)
        return by_first, -by_first

    return gradients


@kept_by_form
def pairwise_distance(
    x1: Array, x2: Array, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False
) -> Array:
    """The length of x1 - x2 + eps along the last axis, as the p-th root of a sum of p-th powers:
    one launch. x1 and x2 broadcast."""
    from tilewright.namespace.creation import zeros

    call = "pairwise_distance"
    a, b = to_pair(call, ("x1", "x2"), x1, x2)
    if a.ndim == 0:
        invalid(call, "x1 has no dimensions, expected at least one")
    number, power = to_number(call, "eps", eps), to_p(call, p)
    keeps = to_truth(call, "keepdim", keepdim)
    lines = a.shape[:-1]
    if a.size:
        found = _distances(call, a, b, power, number).astype(a.dtype, copy=False)
    else:
        found = zeros(lines, dtype=a.dtype, device=a.backend)
    whole: Array = found.reshape((*lines, 1), copy=False) if keeps else found
    return whole


@kept_by_form
def pairwise_distance_backward(
    grad: Array, x1: Array, x2: Array, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False
) -> PairGradients:
    """The gradients of pairwise_distance() by x1 and x2: two launches."""
    call = "pairwise_distance_backward"
    a, b = to_pair(call, ("x1", "x2"), x1, x2)
    if a.ndim == 0:
        invalid(call, "x1 has no dimensions, expected at least one")
    (_, grad) = floats(call, x1=a, grad=grad)
    number, power = to_number(call, "eps", eps), to_p(call, p)
    lines = a.shape[:-1]
    keeps = to_truth(call, "keepdim", keepdim)
    check_shape(call, grad, (*lines, 1) if keeps else lines)
    found = [gradient_of(one, a.shape) for one in (x1, x2)]
    if a.size:
        length = along(a, a.ndim - 1, _distances(call, a, b, power, number))
        came = along(a, a.ndim - 1, grad.reshape(lines))
        launch(
            _distance_gradients(power_of(power)), a, [came, a, b, length, number, power], found,
            a.shape,
        )  # fmt: skip
    return PairGradients(to_shape_of(found[0], x1), to_shape_of(found[1], x2))
