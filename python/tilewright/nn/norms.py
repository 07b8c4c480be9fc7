"""Normalisations of channels, and what all share: elements off the mean of their group, over its
deviation, and their gradients."""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, overload

from tilewright import _core
from tilewright.array import Array
from tilewright.call_forms import kept_by_form
from tilewright.namespace.mixed import an_array
from tilewright.nn.running import (
    FLOAT32,
    FLOAT64,
    alike,
    floats,
    launch,
    mapped,
    program_of,
    reduced,
    to_number,
    to_truth,
    wide_name,
    wide_of,
)
from tilewright.operands import invalid, shown
from tilewright.program import Program

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tilewright.program import Value


class NormGradients(NamedTuple):
    """The gradients by x, and by weight and bias, None where there is no weight."""

    x: Array
    weight: Array | None
    bias: Array | None


def itself(x: Value) -> Value:
    return x


@cache
def _moments_programs(dtype: str, wide: str) -> tuple[Program, Program]:
    """Elements as they are computed in, and of their moments the mean and the variance."""
    behind = Program()
    mean, squares = behind.input(wide), behind.input(wide)
    behind.output(mean)
    behind.output(squares / behind.number(wide))
    return program_of(itself, (dtype,), wide, (wide,)), behind


def _hat(x: Value, mean: Value, var: Value, eps: Value) -> Value:
    scale = 1 / (var + eps).sqrt()
    return (x - mean) * scale


@cache
def _normal(has_weight: bool, has_bias: bool) -> Callable[..., Value]:
    def formula(x: Value, mean: Value, var: Value, eps: Value, *others: Value) -> Value:
        found = _hat(x, mean, var, eps)
        if has_weight:
            found = found * others[0]
        return found + others[-1] if has_bias else found

    return formula


def product_with_hat(grad: Value, x: Value, mean: Value, var: Value, eps: Value) -> Value:
    return grad * _hat(x, mean, var, eps)


def _by_x_of_channels(
    grad: Value, x: Value, mean: Value, var: Value, eps: Value, weight: Value, total: Value,
    total_with_hat: Value, count: Value,
) -> Value:  # fmt: skip
    """The same where weight is one for the group, and the totals are of grad."""
    hat = _hat(x, mean, var, eps)
    return (grad - (total + hat * total_with_hat) / count) * weight / (var + eps).sqrt()


def _by_x_alone(grad: Value, var: Value, eps: Value, weight: Value) -> Value:
    return grad * weight / (var + eps).sqrt()


def to_eps(call: str, eps: Any) -> float:
    least = to_number(call, "eps", eps)
    if not least >= 0:
        invalid(call, f"eps is {least}, expected 0 or more")
    return least


class Groups:
    """Elements in groups: those along some axes, and the moments of each as views."""

    def __init__(self, x: Array, axes: Sequence[int]) -> None:
        self.x, self.axes = x, tuple(axes)
        self.count = float(math.prod(x.shape[i] for i in self.axes))

    def over(self, line: Array) -> Array:
        """One value for each group, as a view of x's shape."""
        own = iter(line.strides)
        strides = [0 if i in self.axes else next(own) for i in range(self.x.ndim)]
        return line._view(self.x.shape, strides, line.offset)

    def moments(self) -> tuple[Array, Array]:
        """Mean and variance of each group, in float32 or float64: one reading of x."""
        x, wide = self.x, wide_of(self.x.dtype)
        left = tuple(size for i, size in enumerate(x.shape) if i not in self.axes)
        mean, var = (x.backend._new(left, wide) for _ in range(2))
        if 0 not in left:
            front, behind = _moments_programs(x.stored_as, wide_name(x.dtype))
            x.backend.map_reduce(
                front, "moments", x.shape, self.axes, [x], [], [mean, var], behind, [],
                [self.count],
            )  # fmt: skip
        return mean, var


def channels_of(call: str, name: str, given: Any, x: Array, *, wide: bool = False) -> Array | None:
    """One number for each channel, which are axis 1."""
    if given is None:
        return None
    found = an_array(call, given, name)
    x.backend._own(call, name, found)
    expected = (x.dtype, wide_of(x.dtype)) if wide else (x.dtype,)
    if found.dtype not in expected:
        invalid(call, f"{name} is {found.dtype}, expected {expected[-1]}")
    if found.shape != x.shape[1:2]:
        invalid(call, f"{name} has shape {found.shape}, expected {x.shape[1:2]}, one a channel")
    return found


def _normalised(
    call: str, x: Array, mean: Array, var: Array, eps: float, weight: Array | None,
    bias: Array | None,
) -> Array:  # fmt: skip
    others = [one for one in (weight, bias) if one is not None]
    formula = _normal(weight is not None, bias is not None)
    return mapped(call, formula, x, [x, mean, var, eps, *others])


# Of channels -------------------------------------------------------------------------------------


def _of_channel(line: Array, x: Array) -> Array:
    return line._view(x.shape, (0, line.strides[0]) + (0,) * (x.ndim - 2), line.offset)


def _batch(
    call: str, x: Array, running_mean: Any, running_var: Any, training: Any
) -> tuple[bool, Groups, Array | None, Array | None]:
    is_training = to_truth(call, "training", training)
    if x.ndim < 2:
        invalid(call, f"x has shape {x.shape}, expected [batch, channels, ...]")
    mean = channels_of(call, "running_mean", running_mean, x, wide=True)
    var = channels_of(call, "running_var", running_var, x, wide=True)
    if (mean is None) != (var is None) or (mean is None and not is_training):
        invalid(
            call,
            "running_mean and running_var are expected, both of them"
            + (", or neither" if is_training else " where training is False"),
        )
    groups = Groups(x, [i for i in range(x.ndim) if i != 1])
    if is_training and groups.count < 2:
        invalid(call, f"x has shape {x.shape}, expected more than one element of each channel")
    return is_training, groups, mean, var


def _moved(
    mean: Value, var: Value, new_mean: Value, new_var: Value, momentum: Value, factor: Value
) -> tuple[Value, Value]:
    rest = 1 - momentum
    return mean * rest + new_mean * momentum, var * rest + new_var * (momentum * factor)


@cache
def _inference_program(dtype: str, has_weight: bool, has_bias: bool) -> Program:
    lines = (dtype,) * (int(has_weight) + int(has_bias))
    return program_of(
        _normal(has_weight, has_bias), (dtype, dtype, dtype, None, *lines), dtype, (dtype,)
    )


def _at_once(x: Any, mean: Any, var: Any, weight: Any, bias: Any, eps: Any) -> Array | None:
    """batch_norm() by running statistics of what a launch takes as it is; None for all else."""
    if type(x) is not Array or type(eps) is not float or not eps >= 0:
        return None
    shape, dtype, be = x.shape, x.dtype, x.backend
    if len(shape) < 2 or dtype not in (FLOAT32, FLOAT64) or mean is None or var is None:
        return None
    channels, behind = shape[1:2], (0,) * (len(shape) - 2)
    operands = [x]
    for one in (mean, var, weight, bias):
        if one is None:
            continue
        if (
            type(one) is not Array or one.shape != channels or one.dtype != dtype
            or one.backend is not be
        ):  # fmt: skip
            return None
        operands.append(one._view(shape, (0, *one.strides, *behind), one.offset))
    result = be._new(shape, dtype)
    program = _inference_program(x.stored_as, weight is not None, bias is not None)
    be.map(program, shape, operands, (eps,), (result,))
    return result


@overload
def batch_norm(
    x: Array,
    /,
    running_mean: Array | None = None,
    running_var: Array | None = None,
    weight: Array | None = None,
    bias: Array | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
    *,
    return_statistics: Literal[True],
) -> tuple[Array, Array, Array]: ...
@overload
def batch_norm(
    x: Array,
    /,
    running_mean: Array | None = None,
    running_var: Array | None = None,
    weight: Array | None = None,
    bias: Array | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
    *,
    return_statistics: Literal[False] = False,
) -> Array: ...
@overload
def batch_norm(
    x: Array,
    /,
    running_mean: Array | None = None,
    running_var: Array | None = None,
    weight: Array | None = None,
    bias: Array | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
    *,
    return_statistics: bool = False,
) -> tuple[Array, Array, Array] | Array: ...
@kept_by_form
def batch_norm(
    x: Array, /, running_mean: Array | None = None, running_var: Array | None = None,
    weight: Array | None = None, bias: Array | None = None, training: bool = False,
    momentum: float = 0.1, eps: float = 1e-5, *, return_statistics: bool = False,
) -> Array | tuple[Array, Array, Array]:  # fmt: skip
    """Each channel, axis 1, off its mean and over its deviation, times weight and plus bias. These
    are of the batch in `training`, and the running ones, where given, move towards them in place;
    else they are the running ones. One launch, in training two, or three where channels are few and
    long, and one for what runs. With return_statistics the result, mean and variance, which the
    gradient takes."""
    call = "batch_norm"
    if training is False and return_statistics is False and type(momentum) is float:
        found = _at_once(x, running_mean, running_var, weight, bias, eps)
        if found is not None:
            return found
    with_statistics = to_truth(call, "return_statistics", return_statistics)
    (x,) = floats(call, x=x)
    is_training, groups, mean, var = _batch(call, x, running_mean, running_var, training)
    factor = channels_of(call, "weight", weight, x)
    offset = channels_of(call, "bias", bias, x)
    rate, least = to_number(call, "momentum", momentum), to_eps(call, eps)
    if is_training:
        found_mean, found_var = groups.moments()
        if mean is not None and var is not None:
            for one in (mean, var):
                _core._make_writable(one, call)
            operands: list[Any] = [
                mean,
                var,
                found_mean,
                found_var,
                rate,
                groups.count / (groups.count - 1),
            ]
            launch(_moved, x, operands, [mean, var], mean.shape)
        mean, var = found_mean, found_var
    assert mean is not None and var is not None
    views = [None if one is None else _of_channel(one, x) for one in (mean, var, factor, offset)]
    assert views[0] is not None and views[1] is not None
    result = _normalised(call, x, views[0], views[1], least, views[2], views[3])
    return (result, mean, var) if with_statistics else result


def _statistics(call: str, given: Any, x: Array) -> tuple[Array, Array]:
    if not isinstance(given, (tuple, list)) or len(given) != 2:
        invalid(
            call, f"statistics is {shown(given)}, expected the mean and variance of each channel"
        )
    found = []
    for name, one in zip(("mean", "variance"), given, strict=True):
        line = an_array(call, one, f"statistics: the {name}")
        x.backend._own(call, "statistics", line)
        if line.dtype != wide_of(x.dtype) or line.shape != x.shape[1:2]:
            invalid(
                call,
                f"statistics: the {name} is {line.dtype} of shape {line.shape}, expected "
                f"{wide_of(x.dtype)} of shape {x.shape[1:2]}",
            )
        found.append(line)
    return found[0], found[1]


@kept_by_form
def batch_norm_backward(
    grad: Array, x: Array, /, running_mean: Array | None = None,
    running_var: Array | None = None, weight: Array | None = None, training: bool = False,
    eps: float = 1e-5, *, statistics: tuple[Array, Array] | None = None,
) -> NormGradients:  # fmt: skip
    """The gradients of batch_norm() by x, weight and bias: in training four launches, or three with
    the `statistics`, mean and variance, that it gave."""
    call = "batch_norm_backward"
    grad, x = alike(call, grad=grad, x=x)
    is_training, groups, mean, var = _batch(call, x, running_mean, running_var, training)
    factor = channels_of(call, "weight", weight, x)
    least = to_eps(call, eps)
    if is_training:
        found = groups.moments() if statistics is None else _statistics(call, statistics, x)
        mean, var = found
    elif statistics is not None:
        invalid(call, "statistics is given, expected None where training is False")
    assert mean is not None and var is not None
    means, variances = _of_channel(mean, x), _of_channel(var, x)
    scale: Any = 1.0 if factor is None else _of_channel(factor, x)
    wanted = is_training or factor is not None
    by_bias = by_weight = None
    if wanted:
        by_bias = reduced("sum", itself, x, [grad], groups.axes)
        operands: list[Any] = [grad, x, means, variances, least]
        by_weight = reduced("sum", product_with_hat, x, operands, groups.axes)
    if is_training:
        assert by_bias is not None and by_weight is not None
        operands = [grad, x, means, variances, least, scale, _of_channel(by_bias, x),
                    _of_channel(by_weight, x), groups.count]  # fmt: skip
        by_x = mapped(call, _by_x_of_channels, x, operands)
    else:
        by_x = mapped(call, _by_x_alone, x, [grad, variances, least, scale])
    if factor is None:
        return NormGradients(by_x, None, None)
    return NormGradients(by_x, _rounded(by_weight, x), _rounded(by_bias, x))


def _rounded(line: Array | None, x: Array) -> Array:
    assert line is not None
    found: Array = line.astype(x.dtype, copy=False)
    return found
