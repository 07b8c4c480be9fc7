"""Gradients of group_norm() and instance_norm() by what is summed of each channel of a sample."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tilewright.nn.norms import Groups, NormGradients, itself
from tilewright.nn.rows import in_rows
from tilewright.nn.running import mapped, reduced

if TYPE_CHECKING:
    from tilewright.array import Array
    from tilewright.program import Value

# Elements of a channel of a sample from which on these are fewer walks.
LONG_LINE = 64

# Of lines of grad and x, one for each channel of a sample: what is found, and 1 / length.


def _second(grad: Value, x: Value, *_: Value) -> Value:
    return x


def _line_off_mean(grad: Value, x: Value, *rest: Value) -> Value:
    off = x - rest[0] * rest[-1]
    return off * off


def _first(grad: Value, *_: Value) -> Value:
    return grad


def _first_with_off(grad: Value, x: Value, *rest: Value) -> Value:
    return grad * (x - rest[0] * rest[-1])


def _all_found(*rest: Value) -> tuple[Value, ...]:
    return rest[:-1]


# Of what was found in the lines of a group, and the weight: 1 / count, length, 1 / length, eps.


def _total_of_lines(total: Value, *_: Value) -> Value:
    return total


def _squares_of_lines(total: Value, squares: Value, *rest: Value) -> Value:
    whole, inverse, length, of_line, _ = rest[-5:]
    off = total * of_line - whole * inverse
    return squares + off * off * length


def _grads_of_lines(
    total: Value, squares: Value, grads: Value, with_off: Value, weight: Value, *_: Value
) -> Value:
    return grads * weight


def _off_of_lines(total: Value, grads: Value, with_off: Value, rest: tuple[Value, ...]) -> Value:
    """The sum of grad times x off the group's mean."""
    whole, inverse, of_line = rest
    return with_off + grads * (total * of_line - whole * inverse)


def _grads_with_off_of_lines(
    total: Value, squares: Value, grads: Value, with_off: Value, weight: Value, *rest: Value
) -> Value:
    whole, _, _, inverse, _, of_line, _ = rest
    return _off_of_lines(total, grads, with_off, (whole, inverse, of_line)) * weight


def _by_weight_of_lines(
    total: Value, squares: Value, grads: Value, with_off: Value, weight: Value, *rest: Value
) -> Value:
    whole, all_squares, _, _, inverse, _, of_line, eps = rest
    off = _off_of_lines(total, grads, with_off, (whole, inverse, of_line))
    return off * (1 / (all_squares * inverse + eps).sqrt())


def _ends_of_lines(
    whole: Value, squares: Value, grads: Value, with_off: Value, inverse: Value, length: Value,
    of_line: Value, eps: Value,
) -> tuple[Value, ...]:  # fmt: skip
    """The mean, one over the deviation, and what comes off the gradient: a part of x off the mean
    and an offset."""
    var = squares * inverse + eps
    scale = 1 / var.sqrt()
    return whole * inverse, scale, with_off / var * inverse * scale, grads * inverse * scale


def _by_x_of_lines(
    grad: Value, x: Value, weight: Value, mean: Value, scale: Value, slope: Value, offset: Value
) -> Value:
    return grad * weight * scale - ((x - mean) * slope + offset)


def by_lines(
    call: str, grads: Array, groups: Groups, weight: Array, eps: float
) -> NormGradients:  # fmt: skip
    """Of x as [samples, groups, channels, ...]. Grad and x are read by the sums and by the map, and
    weight and bias need the sums alone: three launches, and one for each of weight and bias."""
    x, lines = groups.x, tuple(range(3, groups.x.ndim))
    length = math.prod(x.shape[3:])
    _, found = in_rows(
        call, x, [grads, x], lines,
        [("sum", _second), ("sum", _line_off_mean), ("sum", _first), ("sum", _first_with_off)],
        ends=_all_found, end_count=4, numbers=[1 / length],
    )  # fmt: skip
    own = weight[(slice(None),) * 3 + (0,) * len(lines)]
    by_weight, ends = in_rows(
        call, found[0], [*found, own], [2],
        [("sum", _total_of_lines), ("sum", _squares_of_lines), ("sum", _grads_of_lines),
         ("sum", _grads_with_off_of_lines)],
        _by_weight_of_lines, ends=_ends_of_lines, end_count=4,
        numbers=[1 / groups.count, length, 1 / length, eps],
    )  # fmt: skip
    assert by_weight is not None
    made = mapped(call, _by_x_of_lines, x, [grads, x, weight, *(groups.over(one) for one in ends)])
    shape = (x.shape[1] * x.shape[2],)
    sums = [
        reduced("sum", itself, one, [one], [0], x.dtype).reshape(shape)
        for one in (by_weight, found[2])
    ]
    return NormGradients(made, *sums)
