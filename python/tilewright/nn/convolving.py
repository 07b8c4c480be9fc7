"""Convolutions along one to three axes, and transposed ones, with their gradients.

All are the trait's convolution of two axes. One axis has a height of 1 beside it; of three, depth
is taken in front of it: what a filter's depth meets becomes channels, by one copy."""

from __future__ import annotations

from functools import cache, lru_cache
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

from tilewright.nn.edges import MODES, pad_axes, pad_axes_backward
from tilewright.nn.running import FLOAT32, FLOAT64, floats, to_activation, wide_of
from tilewright.nn.windows import to_sizes
from tilewright.operands import invalid, shown, to_integer
from tilewright.program import Program
from tilewright.small_floats import BFLOAT16

if TYPE_CHECKING:
    from tilewright.array import Array


class ConvGradients(NamedTuple):
    """The gradients by x, by weight and by bias, None for what is not asked for."""

    x: Array | None
    weight: Array | None
    bias: Array | None


# So many bytes of what depth meets are laid out at a time.
MOST_UNFOLDED = 256 << 20


class Plan(NamedTuple):
    """A convolution of x [batch, channels, *lengths] by weight, x as its edges are laid around it.
    `around` is what is laid there by a copy, `pads` what the convolution itself takes as zeros."""

    axes: int
    batch: int
    channels: int
    filters: int
    lengths: tuple[int, ...]
    window: tuple[int, ...]
    out: tuple[int, ...]
    stride: tuple[int, ...]
    pads: tuple[int, ...]
    around: tuple[tuple[int, int], ...]
    mode: str
    dilation: tuple[int, ...]
    groups: int

    @property
    def padded(self) -> tuple[int, ...]:
        return tuple(n + sum(both) for n, both in zip(self.lengths, self.around, strict=True))


def _operands(call: str, axes: int, x: Array, weight: Array, x_name: str) -> tuple[Array, bool]:
    """x with a batch, and whether it has one."""
    if weight.ndim != axes + 2 or 0 in weight.shape:
        invalid(
            call,
            f"weight has shape {weight.shape}, expected {axes + 2} dimensions, none of them 0",
        )
    if x.ndim not in (axes + 1, axes + 2):
        invalid(
            call,
            f"{x_name} has shape {x.shape}, expected {axes + 2} dimensions, [batch, channels, "
            f"...], or {axes + 1} without batch",
        )
    is_batched = x.ndim == axes + 2
    return (x if is_batched else x.reshape((1, *x.shape), copy=False)), is_batched


def _groups(call: str, groups: Any, what: str, count: int) -> int:
    number = to_integer(call, "groups", groups)
    if number < 1 or count % number:
        invalid(call, f"groups is {number}, expected a divisor of {count}, {what}")
    return number


def _paddings(
    call: str, padding: Any, axes: int, window: tuple[int, ...], stride: tuple[int, ...],
    dilation: tuple[int, ...],
) -> tuple[tuple[int, int], ...]:  # fmt: skip
    """In front of each axis and behind it."""
    if isinstance(padding, str) and padding == "valid":
        return ((0, 0),) * axes
    if isinstance(padding, str) and padding == "same":
        if any(one != 1 for one in stride):
            invalid(call, f'padding is "same" with stride {stride}, expected stride 1')
        reach = [(k - 1) * gap for k, gap in zip(window, dilation, strict=True)]
        return tuple((one // 2, one - one // 2) for one in reach)
    if isinstance(padding, str):
        invalid(call, f'padding is {shown(padding)}, expected integers, pairs, "same" or "valid"')
    pairs = (
        isinstance(padding, (tuple, list))
        and len(padding) == axes
        and any(isinstance(one, (tuple, list)) for one in padding)
    )
    if not pairs:
        return tuple((one, one) for one in to_sizes(call, "padding", padding, axes, 0))
    found = []
    for one in padding:
        front, behind = to_sizes(call, "padding", one, 2, 0)
        found.append((front, behind))
    return tuple(found)


def _is_plain(given: Any) -> bool:
    """Whether what is equal to it is of the same type too."""
    return type(given) in (int, str) or (
        type(given) is tuple and all(type(one) is int for one in given)
    )


def _plan(
    call: str, axes: int, x: Array, weight: Array, stride: Any, padding: Any, dilation: Any,
    groups: Any, padding_mode: Any,
) -> Plan:  # fmt: skip
    options = (stride, padding, dilation, groups, padding_mode)
    plan_of = _kept_plan if all(map(_is_plain, options)) else _made_plan
    return plan_of(call, axes, x.shape, weight.shape, *options)


def _made_plan(
    call: str, axes: int, x_shape: tuple[int, ...], weight_shape: tuple[int, ...], stride: Any,
    padding: Any, dilation: Any, groups: Any, padding_mode: Any,
) -> Plan:  # fmt: skip
    if not isinstance(padding_mode, str) or padding_mode not in ("zeros", *MODES):
        invalid(
            call,
            f"padding_mode is {shown(padding_mode)}, expected one of zeros, {', '.join(MODES)}",
        )
    steps = to_sizes(call, "stride", stride, axes, 1)
    gaps = to_sizes(call, "dilation", dilation, axes, 1)
    batch, channels, *lengths = x_shape
    filters, deep, *window = weight_shape
    count = _groups(call, groups, "the filters of weight", filters)
    if deep * count != channels:
        invalid(
            call,
            f"weight has shape {weight_shape} with {count} groups, expected {deep * count} "
            f"channels of x, which has shape {x_shape}",
        )
    both = _paddings(call, padding, axes, tuple(window), steps, gaps)
    out = []
    for i, (n, k, s, pair, gap) in enumerate(zip(lengths, window, steps, both, gaps, strict=True)):
        room = n + sum(pair) - (k - 1) * gap - 1
        if n == 0 or room < 0:
            invalid(
                call,
                f"weight spans {(k - 1) * gap + 1} along axis {i}, dilation counted, more than the "
                f"{n + sum(pair)} of x with its padding",
            )
        out.append(room // s + 1)
    # What differs on the two sides, or is not zeros, is laid around x.
    is_own = [padding_mode == "zeros" and front == behind for front, behind in both]
    return Plan(
        axes, batch, channels, filters, tuple(lengths), tuple(window), tuple(out), steps,
        tuple(pair[0] if own else 0 for pair, own in zip(both, is_own, strict=True)),
        tuple((0, 0) if own else pair for pair, own in zip(both, is_own, strict=True)),
        padding_mode, gaps, count,
    )  # fmt: skip


_kept_plan = lru_cache(maxsize=512)(_made_plan)


# Two axes -----------------------------------------------------------------------------------------


def _flat(sizes: tuple[int, ...], filler: int) -> tuple[int, int]:
    """The last two axes' sizes; one axis has a height beside it."""
    two = (filler, *sizes)[-2:]
    return two[0], two[1]


class Flat(NamedTuple):
    """The trait's convolution: images, filters and results of four dimensions."""

    image: tuple[int, int, int, int]
    filter: tuple[int, int, int, int]
    result: tuple[int, int, int, int]
    stride: tuple[int, int]
    pad: tuple[int, int]
    dilation: tuple[int, int]
    groups: int

    def options(self) -> dict[str, Any]:
        return {
            "stride": self.stride,
            "padding": self.pad,
            "dilation": self.dilation,
            "groups": self.groups,
        }


@lru_cache(maxsize=512)
def _flat_plan(plan: Plan) -> Flat:
    """Of all images at once; those of three axes are the places of depth."""
    images, deep = plan.batch, plan.channels // plan.groups
    depth = 1
    if plan.axes == 3:
        images *= plan.out[0]
        depth = plan.window[0]
    return Flat(
        (images, plan.channels * depth, *_flat(plan.padded, 1)),
        (plan.filters, deep * depth, *_flat(plan.window, 1)),
        (images, plan.filters, *_flat(plan.out, 1)),
        _flat(plan.stride, 1), _flat(plan.pads, 0), _flat(plan.dilation, 1), plan.groups,
    )  # fmt: skip


def _unfolded(plan: Plan, x: Array, first: int, count: int) -> Array:
    """Of so many samples of x [batch, channels, depth, ...] for each place of the result's depth
    what a filter's depth meets there, as channels."""
    x = x[first : first + count]
    pad = plan.pads[0]
    if pad:
        x = pad_axes(x, 2, ((pad, pad),), "zeros")
    strides = x.strides
    shape = (count, plan.out[0], plan.channels, plan.window[0], *x.shape[3:])
    ways = (strides[0], strides[2] * plan.stride[0], strides[1], strides[2] * plan.dilation[0])
    view = x._view(shape, (*ways, *strides[3:]), x.offset)
    return view.reshape(
        (count * plan.out[0], plan.channels * plan.window[0], *x.shape[3:]), copy=True
    )


def _folded(plan: Plan, unfolded: Array, x: Array) -> None:
    """Adds up in x, samples [count, channels, depth, ...] of zeros, what _unfolded laid out."""
    count = x.shape[0]
    shape = (count, plan.out[0], plan.channels, plan.window[0], *x.shape[3:])
    places = unfolded.reshape(shape, copy=False)
    for k in range(plan.window[0]):
        # Of output p it is the place p * stride + k * dilation - pad.
        start = k * plan.dilation[0] - plan.pads[0]
        step = plan.stride[0]
        low = -(min(start, 0) // step)
        high = min(plan.out[0], (x.shape[2] - 1 - start) // step + 1)
        if high <= low:
            continue
        begin = start + low * step
        own = x[:, :, begin : begin + (high - low - 1) * step + 1 : step]
        own += places[:, low:high, :, k].transpose((0, 2, 1, *range(3, x.ndim)))


def _samples(plan: Plan, x: Array) -> int:
    """How many samples are laid out at a time."""
    one = plan.out[0] * plan.channels * plan.window[0] * prod(plan.padded[1:]) * x.itemsize
    return max(1, min(plan.batch, MOST_UNFOLDED // max(one, 1)))


def _parts(plan: Plan, x: Array) -> list[tuple[int, int]]:
    step = _samples(plan, x)
    return [(i, min(step, plan.batch - i)) for i in range(0, plan.batch, step)]


def _of_depth(plan: Plan, y: Array, count: int) -> Array:
    """[count * depth, filters, ...] of the result as [count, filters, depth, ...], a view."""
    shape = (count, plan.out[0], plan.filters, *plan.out[1:])
    return y.reshape(shape, copy=False).transpose((0, 2, 1, 3, 4))


def _to_depth(plan: Plan, grad: Array, first: int, count: int) -> Array:
    part = grad[first : first + count].transpose((0, 2, 1, 3, 4))
    return part.reshape((count * plan.out[0], plan.filters, *plan.out[1:]))


def _forward(
    plan: Plan, x: Array, weight: Array, bias: Array | None, activation: str = "none",
    slope: float = 0.01, addend: Array | None = None,
) -> Array:  # fmt: skip
    be = x.backend
    flat = _flat_plan(plan)
    result = be._new((plan.batch, plan.filters, *plan.out), x.dtype)
    if 0 in result.shape:
        return result
    options = (flat.stride, flat.pad, flat.dilation, flat.groups)
    if plan.axes < 3:
        be.conv2d_forward(
            x._contiguous(), flat.image, weight._contiguous(), flat.filter, result, flat.result,
            *options, None if bias is None else bias._contiguous(), x.stored_as, activation, slope,
            None if addend is None else addend._contiguous(),
        )  # fmt: skip
        return result
    filters = weight.reshape(flat.filter)
    for first, count in _parts(plan, x):
        there = be.conv2d(
            _unfolded(plan, x, first, count), filters, bias, *options, activation=activation,
            slope=slope, addend=None if addend is None else _to_depth(plan, addend, first, count),
        )  # fmt: skip
        result[first : first + count] = _of_depth(plan, there, count)
    return result


def _by_data(plan: Plan, grad: Array, weight: Array) -> Array:
    """The gradient by x as its edges lie around it."""
    from tilewright.namespace.creation import zeros

    be = grad.backend
    flat = _flat_plan(plan)
    shape = (plan.batch, plan.channels, *plan.padded)
    if 0 in shape:
        return be._new(shape, grad.dtype)
    if plan.axes < 3:
        found: Array = be._new(shape, grad.dtype)
        be.conv2d_backward_data(
            grad._contiguous(), flat.result, weight._contiguous(), flat.filter, found, flat.image,
            flat.stride, flat.pad, flat.dilation, flat.groups, grad.stored_as,
        )  # fmt: skip
        return found
    filters = weight.reshape(flat.filter)
    result = zeros(shape, dtype=wide_of(grad.dtype), device=be)
    for first, count in _parts(plan, grad):
        there = be.conv2d_backward_data(
            _to_depth(plan, grad, first, count), filters,
            (count * plan.out[0], *flat.image[1:]), **flat.options(),
        )  # fmt: skip
        _folded(plan, there.astype(result.dtype, copy=False), result[first : first + count])
    return result.astype(grad.dtype, copy=False)


def _by_filter(plan: Plan, x: Array, grad: Array) -> Array:
    be = x.backend
    flat = _flat_plan(plan)
    shape = (plan.filters, plan.channels // plan.groups, *plan.window)
    if plan.axes < 3:
        found: Array = be._new(shape, x.dtype)
        be.conv2d_backward_filter(
            x._contiguous(), flat.image, grad._contiguous(), flat.result, found, flat.filter,
            flat.stride, flat.pad, flat.dilation, flat.groups, x.stored_as,
        )  # fmt: skip
        return found
    total: Array | None = None
    for first, count in _parts(plan, x) or [(0, 0)]:
        part = be.conv2d_backward_filter(
            _unfolded(plan, x, first, count), _to_depth(plan, grad, first, count), flat.filter,
            **flat.options(),
        )  # fmt: skip
        total = part if total is None else total.astype(wide_of(x.dtype), copy=False) + part
    assert total is not None
    return total.astype(x.dtype, copy=False).reshape(shape, copy=False)


def by_bias(grad: Array) -> Array:
    axes = (0, *range(2, grad.ndim))
    total: Array = grad.astype(wide_of(grad.dtype), copy=False).sum(axis=axes)
    return total.astype(grad.dtype, copy=False)


# What is called -----------------------------------------------------------------------------------


def _operands_of(call: str, **given: Any) -> tuple[list[Array], Any]:
    """As they are computed with, and the dtype of results: bfloat16 is computed in float32."""
    found = floats(call, **given)
    dtype = found[0].dtype
    if dtype == FLOAT64:
        name = next(iter(given))
        invalid(
            call,
            f"{name} is float64, expected float16, bfloat16 or float32; write "
            f"{name}.astype('float32')",
        )
    if dtype == BFLOAT16:
        found = [one.astype(FLOAT32) for one in found]
    return found, dtype


def _stored(gradients: ConvGradients, dtype: Any) -> ConvGradients:
    return ConvGradients(
        *(None if one is None else one.astype(dtype, copy=False) for one in gradients)
    )


def _bias(call: str, bias: Array | None, filters: int) -> None:
    if bias is not None and bias.shape != (filters,):
        invalid(call, f"bias has shape {bias.shape}, expected {(filters,)}")


def conv(
    call: str, axes: int, x: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any,
    groups: Any, padding_mode: Any, activation: Any = None, negative_slope: Any = 0.01,
    addend: Any = None,
) -> Array:  # fmt: skip
    given = {"x": x, "weight": weight} | ({} if bias is None else {"bias": bias})
    given |= {} if addend is None else {"addend": addend}
    (x, weight, *others), dtype = _operands_of(call, **given)
    x, is_batched = _operands(call, axes, x, weight, "x")
    plan = _plan(call, axes, x, weight, stride, padding, dilation, groups, padding_mode)
    bent, slope = to_activation(call, activation, negative_slope)
    offsets = None if bias is None else others[0]
    _bias(call, offsets, plan.filters)
    added = None
    if addend is not None:
        shape = (plan.batch, plan.filters, *plan.out)
        added = _of_result(call, "addend", others[-1], shape, is_batched)
    padded = pad_axes(x, 2, plan.around, plan.mode)
    result = _forward(plan, padded, weight, offsets, bent, slope, added).astype(dtype, copy=False)
    return result if is_batched else result.reshape(result.shape[1:], copy=False)


def to_wanted(call: str, wanted: Any) -> tuple[bool, bool, bool]:
    if (
        not isinstance(wanted, (tuple, list))
        or len(wanted) != 3
        or not all(isinstance(one, bool) for one in wanted)
    ):
        invalid(call, f"wanted is {shown(wanted)}, expected three of True and False")
    return wanted[0], wanted[1], wanted[2]


def _of_result(
    call: str, name: str, given: Array, shape: tuple[int, ...], is_batched: bool
) -> Array:
    expected = shape if is_batched else shape[1:]
    if given.shape != expected:
        invalid(call, f"{name} has shape {given.shape}, expected {expected}")
    return given if is_batched else given.reshape(shape, copy=False)


def conv_backward(
    call: str, axes: int, grad: Any, x: Any, weight: Any, stride: Any, padding: Any, dilation: Any,
    groups: Any, padding_mode: Any, wanted: Any,
) -> ConvGradients:  # fmt: skip
    (grad, x, weight), dtype = _operands_of(call, grad=grad, x=x, weight=weight)
    x, is_batched = _operands(call, axes, x, weight, "x")
    plan = _plan(call, axes, x, weight, stride, padding, dilation, groups, padding_mode)
    grad = _of_result(call, "grad", grad, (plan.batch, plan.filters, *plan.out), is_batched)
    of_x, of_weight, of_bias = to_wanted(call, wanted)
    by_x = by_weight = None
    if of_x:
        by_x = pad_axes_backward(_by_data(plan, grad, weight), 2, plan.around, plan.mode)
        by_x = by_x if is_batched else by_x.reshape(by_x.shape[1:], copy=False)
    if of_weight:
        by_weight = _by_filter(plan, pad_axes(x, 2, plan.around, plan.mode), grad)
    return _stored(ConvGradients(by_x, by_weight, by_bias(grad) if of_bias else None), dtype)


class Transposed(NamedTuple):
    """The convolution that a transposed one is the data gradient of, and how many zeros behind x
    the last places of its result come from."""

    plan: Plan
    behind: tuple[int, ...]


def _transposed(
    call: str, axes: int, x: Array, weight: Array, stride: Any, padding: Any, output_padding: Any,
    groups: Any, dilation: Any,
) -> Transposed:  # fmt: skip
    steps = to_sizes(call, "stride", stride, axes, 1)
    pads = to_sizes(call, "padding", padding, axes, 0)
    more = to_sizes(call, "output_padding", output_padding, axes, 0)
    gaps = to_sizes(call, "dilation", dilation, axes, 1)
    batch, channels, *lengths = x.shape
    deep, filters, *window = weight.shape
    count = _groups(call, groups, "the channels of x", channels)
    if deep != channels:
        invalid(
            call,
            f"weight has shape {weight.shape}, expected {channels} in front, the channels of x, "
            f"whose shape is {x.shape}",
        )
    out, behind = [], []
    for i, (n, k, s, p, extra, gap) in enumerate(
        zip(lengths, window, steps, pads, more, gaps, strict=True)
    ):
        if extra >= max(s, gap):
            invalid(
                call,
                f"output_padding is {shown(output_padding)}, expected less than {max(s, gap)} "
                f"along axis {i}, the larger of stride and dilation",
            )
        size = (n - 1) * s - 2 * p + (k - 1) * gap + extra + 1
        if n == 0 or size < 1:
            invalid(
                call,
                f"padding is {shown(padding)}: of {n} elements along axis {i} nothing is left, "
                "expected less",
            )
        out.append(size)
        behind.append(extra // s)
    rows = tuple(n + b for n, b in zip(lengths, behind, strict=True))
    plan = Plan(
        axes, batch, filters * count, channels, tuple(out), tuple(window), rows, steps, pads,
        ((0, 0),) * axes, "zeros", gaps, count,
    )  # fmt: skip
    return Transposed(plan, tuple(behind))


@cache
def _sum(dtype: str) -> Program:
    program = Program()
    program.output(program.input(dtype) + program.input(dtype))
    return program


def conv_transpose(
    call: str, axes: int, x: Any, weight: Any, bias: Any, stride: Any, padding: Any,
    output_padding: Any, groups: Any, dilation: Any,
) -> Array:  # fmt: skip
    from tilewright.namespace.manipulation import broadcast_to

    given = {"x": x, "weight": weight} | ({} if bias is None else {"bias": bias})
    (x, weight, *others), dtype = _operands_of(call, **given)
    x, is_batched = _operands(call, axes, x, weight, "x")
    plan, behind = _transposed(
        call, axes, x, weight, stride, padding, output_padding, groups, dilation
    )
    if others:
        _bias(call, others[0], plan.channels)
    around = tuple((0, one) for one in behind)
    result = _by_data(plan, pad_axes(x, 2, around, "zeros"), weight)
    if others and 0 not in result.shape:
        offsets = others[0].reshape((-1, *(1,) * axes))
        result.backend.map(
            _sum(result.stored_as), result.shape,
            [result, broadcast_to(offsets, result.shape)], [], [result],
        )  # fmt: skip
    result = result.astype(dtype, copy=False)
    return result if is_batched else result.reshape(result.shape[1:], copy=False)


def conv_transpose_backward(
    call: str, axes: int, grad: Any, x: Any, weight: Any, stride: Any, padding: Any,
    output_padding: Any, groups: Any, dilation: Any, wanted: Any,
) -> ConvGradients:  # fmt: skip
    (grad, x, weight), dtype = _operands_of(call, grad=grad, x=x, weight=weight)
    x, is_batched = _operands(call, axes, x, weight, "x")
    plan, behind = _transposed(
        call, axes, x, weight, stride, padding, output_padding, groups, dilation
    )
    grad = _of_result(call, "grad", grad, (plan.batch, plan.channels, *plan.lengths), is_batched)
    of_x, of_weight, of_bias = to_wanted(call, wanted)
    around = tuple((0, one) for one in behind)
    by_x = by_weight = None
    if of_x:
        by_x = pad_axes_backward(_forward(plan, grad, weight, None), 2, around, "zeros")
        by_x = by_x if is_batched else by_x.reshape(by_x.shape[1:], copy=False)
    if of_weight:
        by_weight = _by_filter(plan, grad, pad_axes(x, 2, around, "zeros"))
    return _stored(ConvGradients(by_x, by_weight, by_bias(grad) if of_bias else None), dtype)
