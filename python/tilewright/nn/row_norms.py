"""Normalisations of groups and lines within each sample, and their gradients: one launch each."""

from __future__ import annotations

import math
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tilewright.array import Array
from tilewright.call_forms import kept_by_form
from tilewright.nn.line_norms import LONG_LINE, by_lines
from tilewright.nn.norms import (
    Groups,
    NormGradients,
    channels_of,
    itself,
    to_eps,
)
from tilewright.nn.rows import Programs, in_rows, programs_of
from tilewright.nn.running import FLOAT32, FLOAT64, alike, floats, mapped, reduced
from tilewright.operands import invalid, shown, to_integer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tilewright.program import Value


class _Split(NamedTuple):
    """x by a shape whose groups lie along some axes, weight and bias as views of it, and the axes
    that these lack."""

    groups: Groups
    weight: Array | None
    bias: Array | None
    lacked: tuple[int, ...]


def _in_groups(call: str, x: Array, num_groups: int, weight: Any, bias: Any) -> _Split:
    if x.ndim < 2:
        invalid(call, f"x has shape {x.shape}, expected [batch, channels, ...]")
    channels = x.shape[1]
    if num_groups < 1 or channels % num_groups:
        invalid(call, f"num_groups is {num_groups}, expected a divisor of the {channels} channels")
    per = channels // num_groups
    shape = (x.shape[0], num_groups, per, *x.shape[2:])
    split = x.reshape(shape)
    views = [
        None if one is None else one._view(
            shape, (0, one.strides[0] * per, one.strides[0]) + (0,) * (x.ndim - 2), one.offset
        )
        for one in (channels_of(call, "weight", weight, x), channels_of(call, "bias", bias, x))
    ]  # fmt: skip
    lacked = (0, *range(3, len(shape)))
    return _Split(Groups(split, range(2, len(shape))), views[0], views[1], lacked)


def in_lines(call: str, x: Array, normalized_shape: Any, weight: Any, bias: Any) -> _Split:
    from tilewright.namespace.manipulation import broadcast_to

    given = (normalized_shape,) if not isinstance(normalized_shape, (tuple, list)) else (
        normalized_shape
    )  # fmt: skip
    sizes = tuple(to_integer(call, "normalized_shape", one) for one in given)
    first = x.ndim - len(sizes)
    if not sizes or first < 0 or x.shape[first:] != sizes:
        invalid(
            call,
            f"normalized_shape is {shown(normalized_shape)}, expected the last sizes of x's shape "
            f"{x.shape}",
        )
    views: list[Array | None] = []
    for name, one in (("weight", weight), ("bias", bias)):
        if one is None:
            views.append(None)
            continue
        _, found = floats(call, **{"x": x, name: one})
        if found.shape != sizes:
            invalid(call, f"{name} has shape {found.shape}, expected {sizes}")
        views.append(broadcast_to(found, x.shape))
    return _Split(Groups(x, range(first, x.ndim)), views[0], views[1], tuple(range(first)))


def _own(x: Value, *_: Value) -> Value:
    return x


def _square_off_mean(x: Value, *rest: Value) -> Value:
    total, inverse, _ = rest[-3:]
    off = x - total * inverse
    return off * off


@cache
def _normal_of_row(has_weight: bool, has_bias: bool) -> Callable[..., Value]:
    def formula(x: Value, *rest: Value) -> Value:
        total, squares, inverse, eps = rest[-4:]
        mean, scale = total * inverse, 1 / (squares * inverse + eps).sqrt()
        found = (x - mean) * scale
        if has_weight:
            found = found * rest[0]
        return found + rest[-5] if has_bias else found

    return formula


def _normalise_groups(call: str, x: Array, split: _Split, eps: Any) -> Array:
    least = to_eps(call, eps)
    groups = split.groups
    if 0 in x.shape:
        return mapped(call, itself, x, [x])
    others = [one for one in (split.weight, split.bias) if one is not None]
    made, _ = in_rows(
        call, groups.x, [groups.x, *others], groups.axes,
        [("sum", _own), ("sum", _square_off_mean)],
        _normal_of_row(split.weight is not None, split.bias is not None),
        numbers=[1 / groups.count, least],
    )  # fmt: skip
    assert made is not None
    found: Array = made.reshape(x.shape)
    return found


class _Plan(NamedTuple):
    """A normalisation of groups of one shape: another one that x is read by, the lines of channels
    as views of it, and its programs."""

    shape: tuple[int, ...]
    of_lines: tuple[int, ...]
    axes: tuple[int, ...]
    inverse: float
    programs: Programs


@lru_cache(maxsize=256)
def _plan_of(
    shape: tuple[int, ...], groups: int, dtype: str, has_weight: bool, has_bias: bool
) -> _Plan:
    per = shape[1] // groups
    split = (shape[0], groups, per, *shape[2:])
    programs = programs_of(
        (("sum", _own), ("sum", _square_off_mean)), _normal_of_row(has_weight, has_bias), None,
        (dtype,) * (1 + has_weight + has_bias), dtype, 2, dtype, 0,
    )  # fmt: skip
    of_lines = (0, per, 1, *(0,) * (len(shape) - 2))
    return _Plan(split, of_lines, tuple(range(2, len(split))), 1 / math.prod(split[2:]), programs)


def _groups_at_once(x: Any, groups: Any, weight: Any, bias: Any, eps: Any) -> Array | None:
    """The norm of groups of what a launch takes as it is; None for all else."""
    if type(x) is not Array or type(groups) is not int or type(eps) is not float or not eps >= 0:
        return None
    shape, dtype, be = x.shape, x.dtype, x.backend
    if (
        len(shape) < 2 or dtype not in (FLOAT32, FLOAT64) or x.size == 0 or groups < 1
        or shape[1] % groups or not x.is_contiguous
    ):  # fmt: skip
        return None
    plan = _plan_of(shape, groups, x.stored_as, weight is not None, bias is not None)
    operands = [x]
    for one in (weight, bias):
        if one is None:
            continue
        if (
            type(one) is not Array or one.shape != shape[1:2] or one.dtype != dtype
            or one.backend is not be or not one.is_contiguous
        ):  # fmt: skip
            return None
        operands.append(one._view(plan.shape, plan.of_lines, one.offset))
    result = be._new(shape, dtype)
    numbers = (plan.inverse, eps)
    be.map_rows(
        [(op, program, numbers) for op, program in plan.programs.folds], plan.shape, plan.axes,
        operands, plan.programs.elements, numbers, [result], None, (), (),
    )  # fmt: skip
    return result


# Of grad, x and perhaps weight, what was found, and 1 / count and eps.


def _second(grad: Value, x: Value, *rest: Value) -> Value:
    return x


def _second_off_mean(grad: Value, x: Value, *rest: Value) -> Value:
    total, _, inverse, _ = rest[-4:]
    off = x - total * inverse
    return off * off


@cache
def _by_x_of_row(has_weight: bool) -> tuple[Callable[..., Value], ...]:
    """What is summed of grad, and of its product with x off its mean, and the gradient by x."""

    def weighed(grad: Value, x: Value, *rest: Value) -> Value:
        return grad * rest[0] if has_weight else grad

    def with_off(grad: Value, x: Value, *rest: Value) -> Value:
        total, _, _, inverse, _ = rest[-5:]
        return weighed(grad, x, *rest) * (x - total * inverse)

    def by_x(grad: Value, x: Value, *rest: Value) -> Value:
        total, all_, squares, all_with_off, inverse, eps = rest[-6:]
        whole = squares * inverse + eps
        slope = all_with_off / whole
        off = (all_ + (x - total * inverse) * slope) * inverse
        return (weighed(grad, x, *rest) - off) * (1 / whole.sqrt())

    return weighed, with_off, by_x


def _moments_of_row(
    total: Value, all_: Value, squares: Value, all_with_off: Value, inverse: Value, eps: Value
) -> tuple[Value, Value]:
    """The mean, and one over the deviation."""
    return total * inverse, 1 / (squares * inverse + eps).sqrt()


def _product_off(grad: Value, x: Value, mean: Value, scale: Value) -> Value:
    return grad * ((x - mean) * scale)


def _groups_gradient(call: str, grad: Array, x: Array, split: _Split, eps: Any) -> NormGradients:
    least, groups = to_eps(call, eps), split.groups
    grads = grad.reshape(groups.x.shape)
    has_weight = split.weight is not None
    moments: list[Array] = []
    in_channels = groups.x.ndim > x.ndim
    is_long = in_channels and 0 not in x.shape and math.prod(x.shape[2:]) >= LONG_LINE
    if split.weight is not None and is_long:
        found = by_lines(call, grads, groups, split.weight, least)
        return found._replace(x=found.x.reshape(x.shape))
    if 0 in x.shape:
        made: Array | None = mapped(call, itself, groups.x, [groups.x])
        moments = [reduced("sum", itself, groups.x, [groups.x], groups.axes)] * 2
    else:
        weighed, with_off, by_row = _by_x_of_row(has_weight)
        operands = [grads, groups.x] + ([split.weight] if split.weight is not None else [])
        made, moments = in_rows(
            call, groups.x, operands, groups.axes,
            # Those that need nothing of each other are found in one walk of a long row.
            [("sum", _second), ("sum", weighed), ("sum", _second_off_mean), ("sum", with_off)],
            by_row, ends=_moments_of_row if has_weight else None, end_count=2 * has_weight,
            numbers=[1 / groups.count, least],
        )  # fmt: skip
    assert made is not None
    by_x = made.reshape(x.shape)
    if not has_weight:
        return NormGradients(by_x, None, None)
    hat: list[Any] = [grads, groups.x, *(groups.over(one) for one in moments)]
    shape = tuple(size for i, size in enumerate(groups.x.shape) if i not in split.lacked)
    own = shape if groups.x.ndim == x.ndim else (math.prod(shape),)
    by_weight = reduced("sum", _product_off, groups.x, hat, split.lacked, x.dtype)
    by_bias = reduced("sum", itself, groups.x, [grads], split.lacked, x.dtype)
    return NormGradients(by_x, by_weight.reshape(own), by_bias.reshape(own))


ONE_LAUNCH = (np.dtype(np.float32), np.dtype(np.float16))


def is_one_launch(x: Array) -> bool:
    return x.dtype in ONE_LAUNCH


def _at_once(
    op: str, x: Array, normalized_shape: Any, parameters: Sequence[Any], eps: Any
) -> Array | None:
    """The trait's norm of what is given as that takes it; None for all else."""
    sizes = normalized_shape if type(normalized_shape) is tuple else (normalized_shape,)
    if type(x) is not Array or type(eps) is not float or not eps >= 0 or not sizes:
        return None
    dtype, shape = x.dtype, x.shape
    lines, length = x.size, 1
    for size in sizes:
        if type(size) is not int:
            return None
        length *= size
    if dtype not in ONE_LAUNCH or lines == 0 or shape[len(shape) - len(sizes) :] != sizes:
        return None
    be = x.backend
    for one in parameters:
        if one is None:
            continue
        if (
            type(one) is not Array or one.shape != sizes or one.dtype != dtype
            or one.backend is not be or not one.is_contiguous
        ):  # fmt: skip
            return None
    result = be._new(shape, dtype)
    getattr(be, op)(x._contiguous(), *parameters, result, lines // length, length, eps, x.stored_as)
    return result


def in_one_launch(
    op: str, x: Array, split: _Split, parameters: Sequence[Any], eps: float,
    residual: Array | None = None, with_sum: bool = False,
) -> tuple[Array, Array | None]:  # fmt: skip
    """The trait's norm of lines of the last axes, and of which sums."""
    be = x.backend
    result = be._new(x.shape, x.dtype)
    total = be._new(x.shape, x.dtype) if with_sum else None
    if x.size == 0:
        return result, total
    count = math.prod(x.shape[i] for i in split.groups.axes)
    lines = [None if one is None else floats(op, x=one)[0]._contiguous() for one in parameters]
    getattr(be, op)(
        x._contiguous(), *lines, result, x.size // count, count, eps, dtype=x.stored_as,
        residual=None if residual is None else residual._contiguous(), sum=total,
    )  # fmt: skip
    return result, total


@kept_by_form
def group_norm(
    x: Array, num_groups: int, /, weight: Array | None = None, bias: Array | None = None,
    eps: float = 1e-5,
) -> Array:  # fmt: skip
    """The channels, axis 1, in so many groups: each of them in each sample off its mean and over
    its deviation, times the weight and plus the bias of the channel. One launch."""
    call = "group_norm"
    found = _groups_at_once(x, num_groups, weight, bias, eps)
    if found is not None:
        return found
    (x,) = floats(call, x=x)
    count = to_integer(call, "num_groups", num_groups)
    return _normalise_groups(call, x, _in_groups(call, x, count, weight, bias), eps)


@kept_by_form
def group_norm_backward(
    grad: Array, x: Array, num_groups: int, /, weight: Array | None = None, eps: float = 1e-5
) -> NormGradients:
    """The gradients of group_norm() by x, weight and bias."""
    call = "group_norm_backward"
    grad, x = alike(call, grad=grad, x=x)
    count = to_integer(call, "num_groups", num_groups)
    return _groups_gradient(call, grad, x, _in_groups(call, x, count, weight, None), eps)


@kept_by_form
def instance_norm(
    x: Array, /, weight: Array | None = None, bias: Array | None = None, eps: float = 1e-5
) -> Array:
    """group_norm() with each channel in a group of its own."""
    call = "instance_norm"
    if type(x) is Array and x.ndim > 1:
        made = _groups_at_once(x, x.shape[1], weight, bias, eps)
        if made is not None:
            return made
    (x,) = floats(call, x=x)
    count = max(1, x.shape[1]) if x.ndim > 1 else 1
    return _normalise_groups(call, x, _in_groups(call, x, count, weight, bias), eps)


@kept_by_form
def instance_norm_backward(
    grad: Array, x: Array, /, weight: Array | None = None, eps: float = 1e-5
) -> NormGradients:
    """The gradients of instance_norm() by x, weight and bias."""
    call = "instance_norm_backward"
    grad, x = alike(call, grad=grad, x=x)
    count = max(1, x.shape[1]) if x.ndim > 1 else 1
    return _groups_gradient(call, grad, x, _in_groups(call, x, count, weight, None), eps)


@kept_by_form
def layer_norm(
    x: Array, normalized_shape: int | tuple[int, ...], /, weight: Array | None = None,
    bias: Array | None = None, eps: float = 1e-5,
) -> Array:  # fmt: skip
    """The last axes, whose sizes are normalized_shape, off their mean and over their deviation,
    times weight and plus bias of that shape. One launch."""
    call = "layer_norm"
    found = _at_once(call, x, normalized_shape, (weight, bias), eps)
    if found is not None:
        return found
    (x,) = floats(call, x=x)
    split = in_lines(call, x, normalized_shape, weight, bias)
    least = to_eps(call, eps)
    if is_one_launch(x):
        return in_one_launch("layer_norm", x, split, [weight, bias], least)[0]
    return _normalise_groups(call, x, split, eps)


@kept_by_form
def layer_norm_backward(
    grad: Array, x: Array, normalized_shape: int | tuple[int, ...], /,
    weight: Array | None = None, eps: float = 1e-5,
) -> NormGradients:  # fmt: skip
    """The gradients of layer_norm() by x, weight and bias."""
    call = "layer_norm_backward"
    grad, x = alike(call, grad=grad, x=x)
    split = in_lines(call, x, normalized_shape, weight, None)
    return _groups_gradient(call, grad, x, split, eps)


# Of the root of the mean square ------------------------------------------------------------------


def _square(x: Value, *_: Value) -> Value:
    return x * x


@cache
def _rms(has_weight: bool) -> Callable[..., Value]:
    def formula(x: Value, *rest: Value) -> Value:
        squares, inverse, eps = rest[-3:]
        found = x * (1 / (squares * inverse + eps).sqrt())
        return found * rest[0] if has_weight else found

    return formula


# Of grad, x and perhaps weight, what was found, and 1 / count and eps.


def _square_of_second(grad: Value, x: Value, *_: Value) -> Value:
    return x * x


@cache
def _rms_by_x(has_weight: bool) -> tuple[Callable[..., Value], ...]:
    def with_x(grad: Value, x: Value, *rest: Value) -> Value:
        return grad * rest[0] * x if has_weight else grad * x

    def by_x(grad: Value, x: Value, *rest: Value) -> Value:
        squares, total, inverse, eps = rest[-4:]
        whole = squares * inverse + eps
        own = grad * rest[0] if has_weight else grad
        return (own - x * (total * inverse / whole)) * (1 / whole.sqrt())

    return with_x, by_x


def _scale_of_row(squares: Value, total: Value, inverse: Value, eps: Value) -> Value:
    return 1 / (squares * inverse + eps).sqrt()


def _product(grad: Value, x: Value, scale: Value) -> Value:
    return grad * x * scale


class RmsGradients(NamedTuple):
    """The gradients by x, and by weight, None where there is none."""

    x: Array
    weight: Array | None


@kept_by_form
def rms_norm(
    x: Array, normalized_shape: int | tuple[int, ...], /, weight: Array | None = None,
    eps: float = 1e-5,
) -> Array:  # fmt: skip
    """The last axes, whose sizes are normalized_shape, over the root of their mean square, times
    weight. One launch."""
    call = "rms_norm"
    found = _at_once("rmsnorm", x, normalized_shape, (weight,), eps)
    if found is not None:
        return found
    (x,) = floats(call, x=x)
    least, split = to_eps(call, eps), in_lines(call, x, normalized_shape, weight, None)
    if is_one_launch(x):
        return in_one_launch("rmsnorm", x, split, [weight], least)[0]
    if 0 in x.shape:
        return mapped(call, itself, x, [x])
    operands = [x] if split.weight is None else [x, split.weight]
    made, _ = in_rows(
        call, x, operands, split.groups.axes, [("sum", _square)], _rms(split.weight is not None),
        numbers=[1 / split.groups.count, least],
    )  # fmt: skip
    assert made is not None
    return made


@kept_by_form
def rms_norm_backward(
    grad: Array, x: Array, normalized_shape: int | tuple[int, ...], /,
    weight: Array | None = None, eps: float = 1e-5,
) -> RmsGradients:  # fmt: skip
    """The gradients of rms_norm() by x and weight: one launch each."""
    call = "rms_norm_backward"
    grad, x = alike(call, grad=grad, x=x)
    least, split = to_eps(call, eps), in_lines(call, x, normalized_shape, weight, None)
    has_weight = split.weight is not None
    scales: list[Array] = []
    if 0 in x.shape:
        made: Array | None = mapped(call, itself, x, [x])
        scales = [reduced("sum", itself, x, [x], split.groups.axes)]
    else:
        with_x, by_row = _rms_by_x(has_weight)
        operands = [grad, x] + ([split.weight] if split.weight is not None else [])
        made, scales = in_rows(
            call, x, operands, split.groups.axes, [("sum", _square_of_second), ("sum", with_x)],
            by_row, ends=_scale_of_row if has_weight else None, end_count=int(has_weight),
            numbers=[1 / split.groups.count, least],
        )  # fmt: skip
    assert made is not None
    if not has_weight:
        return RmsGradients(made, None)
    lines = [grad, x, split.groups.over(scales[0])]
    return RmsGradients(made, reduced("sum", _product, x, lines, split.lacked, x.dtype))
