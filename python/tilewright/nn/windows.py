"""Windows that slide along axes, and poolings of what they have."""

from __future__ import annotations

import math
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tilewright.namespace import reductions
from tilewright.nn.running import FLOAT32, launch, reduced, spread, to_truth
from tilewright.operands import invalid, shown, to_integer

if TYPE_CHECKING:
    from tilewright.array import Array
    from tilewright.program import Value

    Sizes = int | tuple[int, ...]

INT32 = np.dtype(np.int32)
MANY_PLANES = 64


def to_sizes(call: str, name: str, given: Any, axes: int, least: int) -> tuple[int, ...]:
    """One number for each axis, or one for all."""
    each = given if isinstance(given, (tuple, list)) else (given,) * axes
    if len(each) != axes:
        invalid(call, f"{name} is {shown(given)}, expected {axes} integers, or one")
    sizes = tuple(to_integer(call, name, one) for one in each)
    for one in sizes:
        if one < least:
            invalid(call, f"{name} is {shown(given)}, expected integers of {least} or more")
    return sizes


class Axis(NamedTuple):
    """Output p has the input's places p * stride - padding + k * dilation for k < window."""

    length: int
    window: int
    stride: int
    padding: int
    dilation: int
    out: int


class SizesOfAxes(NamedTuple):
    """What pool() takes; without windows they are adaptive."""

    shape: tuple[int, ...]
    output_shape: tuple[int, ...]
    window: tuple[int, ...] = ()
    stride: tuple[int, ...] = ()
    pad: tuple[int, ...] = ()
    dilation: tuple[int, ...] = ()


class Windows:
    """Of an input whose last axes they slide along."""

    def __init__(
        self, call: str, shape: tuple[int, ...], axes: int, kernel_size: Any, stride: Any,
        padding: Any, dilation: Any, ceil_mode: Any,
    ) -> None:  # fmt: skip
        if len(shape) not in (axes + 1, axes + 2):
            invalid(
                call,
                f"x has shape {shape}, expected {axes + 2} dimensions, [batch, channels, ...], "
                f"or {axes + 1} without batch",
            )
        _check_elements(call, shape, axes)
        sizes = to_sizes(call, "kernel_size", kernel_size, axes, 1)
        steps = sizes if stride is None else to_sizes(call, "stride", stride, axes, 1)
        pads = to_sizes(call, "padding", padding, axes, 0)
        gaps = to_sizes(call, "dilation", dilation, axes, 1)
        up = to_truth(call, "ceil_mode", ceil_mode)
        self.lead = shape[: len(shape) - axes]
        self.axes = tuple(
            self._axis(call, *one, up)
            for one in zip(shape[len(shape) - axes :], sizes, steps, pads, gaps, strict=True)
        )
        self.shape = (*self.lead, *(one.out for one in self.axes))

    @staticmethod
    def _axis(
        call: str, length: int, window: int, stride: int, padding: int, dilation: int, up: bool
    ) -> Axis:
        if padding > window // 2:
            invalid(
                call, f"padding is {padding}, expected at most half of the kernel size, {window}"
            )
        reach = (window - 1) * dilation + 1
        room = length + 2 * padding - reach
        out = (-(-room // stride) if up else room // stride) + 1
        if up and (out - 1) * stride >= length + padding:
            out -= 1  # Each window starts in the input or in front of it.
        if out < 1:
            least = reach - stride + 1 if up else reach
            what = "of which a window starts with ceil_mode" if up else "which a window covers"
            invalid(
                call,
                f"an axis of x has {length} elements and {padding} of padding on each side, "
                f"expected {least} at least, {what}",
            )
        return Axis(length, window, stride, padding, dilation, out)

    @cached_property
    def are_planes(self) -> bool:
        """Whether there is one window, which is the whole of its plane."""
        return all(
            one.out == 1 and one.padding == 0 and one.dilation == 1 and one.window >= one.length
            for one in self.axes
        )

    @cached_property
    def sizes(self) -> SizesOfAxes:
        return SizesOfAxes(
            tuple(one.length for one in self.axes),
            tuple(one.out for one in self.axes),
            tuple(one.window for one in self.axes),
            tuple(one.stride for one in self.axes),
            tuple(one.padding for one in self.axes),
            tuple(one.dilation for one in self.axes),
        )


def are_plain(*given: Any) -> bool:
    """Whether they are integers, tuples of them or None, so that equal ones mean the same."""
    return all(
        one is None
        or type(one) is int
        or (type(one) is tuple and all(type(each) is int for each in one))
        for one in given
    )


def windows_of(
    call: str, x: Array, axes: int, kernel_size: Any, stride: Any, padding: Any, dilation: Any,
    ceil_mode: Any,
) -> Windows:  # fmt: skip
    """Kept, since to make them takes longer than a pooling of few elements."""
    given = (kernel_size, stride, padding, dilation)
    make = _kept if type(ceil_mode) is bool and are_plain(*given) else Windows
    return make(call, x.shape, axes, *given, ceil_mode)


@lru_cache(1024)
def _kept(*given: Any) -> Windows:
    return Windows(*given)


class Parts:
    """As many windows along each axis as output_size says, of as equal lengths as there are."""

    def __init__(self, call: str, x: Array, axes: int, output_size: Any) -> None:
        if x.ndim not in (axes + 1, axes + 2):
            invalid(call, f"x has shape {x.shape}, expected {axes + 2} dimensions, or one less")
        self.lead, self.lengths = x.shape[: x.ndim - axes], x.shape[x.ndim - axes :]
        if isinstance(output_size, (tuple, list)) and len(output_size) == axes:
            pairs = zip(output_size, self.lengths, strict=True)
            output_size = tuple(length if one is None else one for one, length in pairs)
        self.out = to_sizes(call, "output_size", output_size, axes, 1)
        _check_elements(call, x.shape, axes)
        self.shape = (*self.lead, *self.out)

    @property
    def are_planes(self) -> bool:
        return all(one == 1 for one in self.out)

    @property
    def sizes(self) -> SizesOfAxes:
        return SizesOfAxes(self.lengths, self.out)


def _check_elements(call: str, shape: tuple[int, ...], axes: int) -> None:
    if 0 in shape[len(shape) - axes :]:
        invalid(call, f"x has shape {shape}, expected elements along the last axes")


def _itself(x: Value) -> Value:
    return x


def _over(total: Value, count: Value) -> Value:
    return total / count


def pooled(
    op: str, x: Array, windows: Windows | Parts, divisor: float = 0, with_places: bool = False
) -> tuple[Array, Array | None]:
    """What windows have the most of or on average, and the places of the largest."""
    # A reduction cuts planes into parts, and a processor takes many of them one by one, but for
    # float32, of which it joins rows.
    is_cut = x.backend.name != "cpu" or x.dtype == FLOAT32 or math.prod(windows.lead) < MANY_PLANES
    if windows.are_planes and is_cut and not with_places and x.size:
        axes = tuple(range(len(windows.lead), x.ndim))
        if op == "max" or not divisor:
            reduction = reductions.max if op == "max" else reductions.mean
            return reduction(x, axes, keepdims=True), None
        found = reduced("sum", _itself, x, [x], axes, x.dtype, _over, [divisor])
        return found.reshape(windows.shape, copy=False), None
    result = x.backend._new(windows.shape, x.dtype)
    places = x.backend._new(windows.shape, INT32) if with_places else None
    if result.size:
        x.backend.pool(
            op, x._contiguous(), result, math.prod(windows.lead), *windows.sizes, divisor, places,
            x.stored_as,
        )  # fmt: skip
    return result, places


def pooled_backward(
    op: str, grad: Array, x: Array, windows: Windows | Parts, divisor: float = 0,
    places: Array | None = None,
) -> Array:  # fmt: skip
    """The gradient of pooled() by x."""
    result = x.backend._new(x.shape, x.dtype)
    if windows.are_planes and places is None and result.size:
        # Each element gets the same of its plane's.
        first = len(windows.lead)
        lines = spread(op, "grad", grad.reshape((*windows.lead, *(1,) * (x.ndim - first))), x.shape)
        count = divisor or float(math.prod(x.shape[first:]))
        launch(_over, x, [lines, count], [result], x.shape)
    elif result.size:
        x.backend.pool_backward(
            op, grad._contiguous(), result, math.prod(windows.lead), *windows.sizes, divisor,
            None if places is None else places._contiguous(), x.stored_as,
        )  # fmt: skip
    return result


def max_gradient(call: str, grad: Array, x: Array, windows: Windows | Parts, indices: Any) -> Array:
    """That of the largest by x, from the places that it gave, or where there are none by looking
    for them again."""
    from tilewright.namespace.mixed import an_array

    check_grad(call, grad, windows)
    if indices is None:
        _, indices = pooled("max", x, windows, with_places=True)
    else:
        indices = an_array(call, indices, "indices")
        x.backend._own(call, "indices", indices)
        if indices.shape != windows.shape or indices.dtype != INT32:
            invalid(
                call,
                f"indices is {indices.dtype} of shape {indices.shape}, expected int32 of shape "
                f"{windows.shape}",
            )
    return pooled_backward("max", grad, x, windows, places=indices)


def check_grad(call: str, grad: Array, windows: Windows | Parts) -> None:
    if grad.shape != windows.shape:
        invalid(call, f"grad has shape {grad.shape}, expected {windows.shape} as the result has")
