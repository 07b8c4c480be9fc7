"""The array tier's convolution and its gradients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias, overload

from tilewright.forms import also_trait_call
from tilewright.operands import Operands, check_rank, invalid, shown, to_integer, to_shape

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tilewright.array import Array
    from tilewright.operands import ArrayLike, BufferLike

    IntOrPair: TypeAlias = int | Sequence[int]


def to_pair(call: str, name: str, value: Any) -> tuple[int, int]:
    """(height, width); an integer is both."""
    if isinstance(value, (tuple, list)):
        if len(value) != 2:
            invalid(call, f"{name} is {shown(value)}, expected an integer or two")
        first, second = (to_integer(call, f"{name}[{i}]", one) for i, one in enumerate(value))
        return first, second
    both = to_integer(call, name, value)
    return both, both


class ConvolutionOps(Operands):
    def conv2d(
        self,
        x: ArrayLike,
        w: ArrayLike,
        bias: ArrayLike | None = None,
        stride: IntOrPair = 1,
        padding: IntOrPair = 0,
        dilation: IntOrPair = 1,
        groups: int = 1,
        *,
        activation: str = "none",
        slope: float = 0.01,
        addend: ArrayLike | None = None,
        out: Array | None = None,
    ) -> Array:
        """x [N,C,H,W] with the filters w [K,C/groups,R,S] and bias [K]; gives [N,K,P,Q], to which
        the addend of that shape is added, or what an Activation makes of it, of leaky_relu with a
        slope."""
        given = {"x": x, "w": w}
        given |= {} if bias is None else {"bias": bias}
        given |= {} if addend is None else {"addend": addend}
        image, filters, *others = self._read("conv2d", **given)
        offsets = None if bias is None else others[0]
        added = None if addend is None else others[-1]
        check_rank("conv2d", "x", image, 4)
        check_rank("conv2d", "w", filters, 4)
        if offsets is not None and offsets.shape != filters.shape[:1]:
            invalid("conv2d", f"bias has shape {offsets.shape}, expected {filters.shape[:1]}")
        steps = to_pair("conv2d", "stride", stride)
        pads = to_pair("conv2d", "padding", padding)
        gaps = to_pair("conv2d", "dilation", dilation)
        sizes = []
        for i, side in enumerate(("height", "width")):
            for name, pair, least in (
                ("stride", steps, 1),
                ("padding", pads, 0),
                ("dilation", gaps, 1),
            ):
                if pair[i] < least:
                    invalid("conv2d", f"{name}[{i}] is {pair[i]}, expected {least} or more")
            span = image.shape[2 + i] + 2 * pads[i]
            window = gaps[i] * (filters.shape[2 + i] - 1) + 1
            if window > span:
                invalid(
                    "conv2d",
                    f"w spans {window} in {side} (dilation counted), more than the {span} of x "
                    "with its padding",
                )
            sizes.append((span - window) // steps[i] + 1)
        shape = (image.shape[0], filters.shape[0], *sizes)
        if added is not None and added.shape != shape:
            invalid("conv2d", f"addend has shape {added.shape}, expected {shape}")
        inputs = [one for one in (image, filters, offsets, added) if one is not None]
        result = self._result("conv2d", out, shape, image.dtype, *inputs)
        self.conv2d_forward(
            image, image.shape, filters, filters.shape, result, shape, steps, pads, gaps,
            groups, offsets, image.stored_as, activation, slope, added,
        )  # fmt: skip
        return result

    @overload
    def conv2d_backward_data(
        self,
        grad_output: ArrayLike,
        w: ArrayLike,
        input_shape: Sequence[int],
        *,
        stride: IntOrPair = 1,
        padding: IntOrPair = 0,
        dilation: IntOrPair = 1,
        groups: int = 1,
        out: Array | None = None,
    ) -> Array: ...
    @overload
    def conv2d_backward_data(
        self,
        grad_output: BufferLike,
        output_shape: Sequence[int],
        filter: BufferLike,
        filter_shape: Sequence[int],
        grad_input: BufferLike,
        input_shape: Sequence[int],
        stride: Sequence[int],
        pad: Sequence[int],
        dilation: Sequence[int] = (1, 1),
        groups: int = 1,
        dtype: str = "float32",
    ) -> None: ...
    @also_trait_call(
        "grad_output output_shape filter filter_shape grad_input input_shape stride pad",
        "dilation groups dtype",
    )
    def conv2d_backward_data(
        self,
        grad_output: ArrayLike,
        w: ArrayLike,
        input_shape: Sequence[int],
        *,
        stride: IntOrPair = 1,
        padding: IntOrPair = 0,
        dilation: IntOrPair = 1,
        groups: int = 1,
        out: Array | None = None,
    ) -> Array:
        """The gradient of conv2d for its x, which had `input_shape`."""
        call = "conv2d_backward_data"
        grad, filters = self._read(call, grad_output=grad_output, w=w)
        check_rank(call, "grad_output", grad, 4)
        check_rank(call, "w", filters, 4)
        shape = to_shape(call, input_shape)
        if len(shape) != 4:
            invalid(call, f"input_shape is {shape}, expected 4 sizes")
        result = self._result(call, out, shape, grad.dtype, grad, filters)
        super().conv2d_backward_data(
            grad, grad.shape, filters, filters.shape, result, shape,
            to_pair(call, "stride", stride), to_pair(call, "padding", padding),
            to_pair(call, "dilation", dilation), groups, grad.stored_as,
        )  # fmt: skip
        return result

    @overload
    def conv2d_backward_filter(
        self,
        x: ArrayLike,
        grad_output: ArrayLike,
        filter_shape: Sequence[int],
        *,
        stride: IntOrPair = 1,
        padding: IntOrPair = 0,
        dilation: IntOrPair = 1,
        groups: int = 1,
        out: Array | None = None,
    ) -> Array: ...
    @overload
    def conv2d_backward_filter(
        self,
        input: BufferLike,
        input_shape: Sequence[int],
        grad_output: BufferLike,
        output_shape: Sequence[int],
        grad_filter: BufferLike,
        filter_shape: Sequence[int],
        stride: Sequence[int],
        pad: Sequence[int],
        dilation: Sequence[int] = (1, 1),
        groups: int = 1,
        dtype: str = "float32",
    ) -> None: ...
    @also_trait_call(
        "input input_shape grad_output output_shape grad_filter filter_shape stride pad",
        "dilation groups dtype",
    )
    def conv2d_backward_filter(
        self,
        x: ArrayLike,
        grad_output: ArrayLike,
        filter_shape: Sequence[int],
        *,
        stride: IntOrPair = 1,
        padding: IntOrPair = 0,
        dilation: IntOrPair = 1,
        groups: int = 1,
        out: Array | None = None,
    ) -> Array:
        """The gradient of conv2d for its w, which had `filter_shape`."""
        call = "conv2d_backward_filter"
        image, grad = self._read(call, x=x, grad_output=grad_output)
        check_rank(call, "x", image, 4)
        check_rank(call, "grad_output", grad, 4)
        shape = to_shape(call, filter_shape)
        if len(shape) != 4:
            invalid(call, f"filter_shape is {shape}, expected 4 sizes")
        result = self._result(call, out, shape, image.dtype, image, grad)
        super().conv2d_backward_filter(
            image, image.shape, grad, grad.shape, result, shape,
            to_pair(call, "stride", stride), to_pair(call, "padding", padding),
            to_pair(call, "dilation", dilation), groups, image.stored_as,
        )  # fmt: skip
        return result
