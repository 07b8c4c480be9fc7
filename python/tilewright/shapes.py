"""Shapes and strides of views."""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Any

from tilewright import _core

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tilewright.array import Array


def to_axes(call: str, axis: Any, rank: int, name: str = "axis") -> tuple[int, ...]:
    """Axes counted from the front, none of them twice; one integer is one axis."""
    if type(axis) is int and -rank <= axis < rank:
        return (axis % rank,)
    given = tuple(axis) if isinstance(axis, (tuple, list, range)) else (axis,)
    axes: list[int] = []
    for one in given:
        try:
            if isinstance(one, bool):
                raise TypeError
            at = operator.index(one)
        except TypeError:
            raise _core.InvalidArgument(
                f"{call}: {name} is {_core._shown(axis)}, expected integers"
            ) from None
        if not -rank <= at < rank:
            raise _core.InvalidArgument(
                f"{call}: {name} is {at}, expected one of the {rank} axes of the array"
            )
        axes.append(at % rank)
    if len(set(axes)) != len(axes):
        raise _core.InvalidArgument(
            f"{call}: {name} is {_core._shown(axis)}, expected different axes"
        )
    return tuple(axes)


def to_one_axis(call: str, axis: Any, rank: int, name: str = "axis") -> int:
    """One axis counted from the front."""
    axes = to_axes(call, axis, rank, name)
    if len(axes) != 1:
        raise _core.InvalidArgument(f"{call}: {name} is {_core._shown(axis)}, expected one axis")
    return axes[0]


def to_new_shape(shape: tuple[int, ...], size: int, sizes: Any) -> tuple[int, ...]:
    """The shape of the same elements; one size may be -1."""

    def refuse() -> _core.InvalidArgument:
        return _core.InvalidArgument(
            f"reshape: shape is {_core._shown(sizes)}, expected one of {size} elements like {shape}"
        )

    try:
        if isinstance(sizes, (str, bytes, dict, set)):
            raise TypeError
        given = tuple(sizes) if hasattr(sizes, "__iter__") else (sizes,)
        if any(isinstance(one, bool) for one in given):
            raise TypeError
        new = [operator.index(one) for one in given]
    except Exception as error:
        raise refuse() from error
    unknown = [i for i, one in enumerate(new) if one == -1]
    if len(unknown) > 1 or len(new) > 64 or any(one < -1 for one in new):
        raise refuse()
    if unknown:
        others = math.prod(one for one in new if one != -1)
        if others == 0 or size % others:
            raise refuse()
        new[unknown[0]] = size // others
    if math.prod(new) != size:
        raise refuse()
    if math.prod(one for one in new if one) >= 2**63:
        raise _core.InvalidArgument(
            f"reshape: shape is {_core._shown(sizes)}, more elements than 64 bits count"
        )
    return tuple(new)


def rows(shape: Sequence[int], stride: int = 1) -> list[int]:
    """The strides of elements that lie row by row, `stride` apart."""
    steps = [0] * len(shape)
    for i in reversed(range(len(shape))):
        steps[i] = stride
        stride *= shape[i]
    return steps


def permuted(call: str, x: Array, axes: Any) -> Array:
    """A view with the axes in another order."""
    order = to_axes(call, axes, x.ndim, "axes")
    if len(order) != x.ndim:
        raise _core.InvalidArgument(
            f"{call}: axes is {_core._shown(axes)}, expected all {x.ndim} axes of shape {x.shape}"
        )
    return x._permuted(order)
