"""Views of all windows of an array."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.array import Array
from tilewright.namespace.mixed import an_array
from tilewright.operands import invalid, to_shape
from tilewright.shapes import to_one_axis

__all__ = ["sliding_window_view"]


def sliding_window_view(
    x: Array, window_shape: int | Sequence[int], axis: int | Sequence[int] | None = None, *,
    subok: bool = False, writeable: bool = False,
) -> Array:  # fmt: skip
    """A view of the windows of a shape at each place along axes, all of them unless some are named;
    the windows' own axes are the last ones. It is written as any view is, whatever `writeable`
    says."""
    x = an_array("sliding_window_view", x)
    window = to_shape("sliding_window_view", window_shape)
    if axis is None:
        axes = list(range(x.ndim))
    else:
        given = list(axis) if isinstance(axis, Sequence) else [axis]
        axes = [to_one_axis("sliding_window_view", one, x.ndim) for one in given]
    if len(window) != len(axes):
        invalid("sliding_window_view", f"window_shape has {len(window)} sizes, expected one for "
                f"each of {len(axes)} axes")  # fmt: skip
    shape = list(x.shape)
    for size, at in zip(window, axes, strict=True):
        shape[at] -= size - 1
        if size < 1 or shape[at] < 1:
            invalid("sliding_window_view", f"window_shape is {window}, expected 1 to the sizes of "
                    f"axes {axes} of shape {x.shape}")  # fmt: skip
    strides = [*x.strides, *(x.strides[at] for at in axes)]
    return x._view((*shape, *window), strides, x.offset)
