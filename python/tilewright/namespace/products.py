"""Products of Arrays along axes: vecdot, tensordot, outer, cross, kron, and what einsum writes."""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, Any

from tilewright.array import Array
from tilewright.call_forms import kept_by_form
from tilewright.namespace import reductions
from tilewright.namespace.dtypes import result_type
from tilewright.namespace.linear import _product, matmul
from tilewright.namespace.manipulation import broadcast_shapes, broadcast_to, stack
from tilewright.namespace.mixed import together, written
from tilewright.operands import invalid, name_of, shown, to_integer
from tilewright.program import Program
from tilewright.shapes import permuted, to_axes

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import numpy.typing as npt

    from tilewright.operands import ArrayLike


def _pair(call: str, x1: Any, x2: Any) -> tuple[Array, Array, np.dtype[Any]]:
    """Two Arrays of one device, in their common dtype; one of both may be what the host has."""
    if not (isinstance(x1, Array) and isinstance(x2, Array)):
        x1, x2 = together(call, x1=x1, x2=x2)
    x1.backend._own(call, "x2", x2)
    if x1.dtype is x2.dtype:
        return x1, x2, x1.dtype
    dtype = result_type(x1.dtype, x2.dtype)
    return x1.astype(dtype, copy=False), x2.astype(dtype, copy=False), dtype


def _times(a: Array, b: Array) -> Array:
    product: Array = a * b
    return product


def _sum_of_products(call: str, x1: Array, x2: Array, axis: int, dtype: np.dtype[Any]) -> Array:
    """Over one axis of two Arrays of one shape."""
    if dtype.kind == "c":
        return reductions.sum(x1 * x2, axis=axis)
    op = "any" if dtype.kind == "b" else "sum"
    shape = x1.shape[:axis] + x1.shape[axis + 1 :]
    return reductions._reduced(call, op, _product(name_of(dtype)), [x1, x2], (axis,), shape, dtype)


@kept_by_form
def vecdot(x1: Array, x2: Array, /, *, axis: int = -1) -> Array:
    """The sums of products along one axis, which other axes are broadcast around."""
    x1, x2, dtype = _pair("vecdot", x1, x2)
    at = [to_axes("vecdot", axis, one.ndim)[0] - one.ndim for one in (x1, x2)]
    if at[0] != at[1] and (isinstance(axis, int) and axis >= 0):
        invalid("vecdot", f"axis is {axis} of shapes {x1.shape} and {x2.shape}; count from the end")
    if x1.shape[at[0]] != x2.shape[at[1]]:
        invalid(
            "vecdot",
            f"x1 of shape {x1.shape} and x2 of shape {x2.shape} differ along axis {axis}",
        )
    if dtype.kind == "c":
        x1 = _namespace().conj(x1)
    shape = broadcast_shapes(x1.shape, x2.shape)
    x1, x2 = broadcast_to(x1, shape), broadcast_to(x2, shape)
    return _sum_of_products("vecdot", x1, x2, len(shape) + at[0], dtype)


@kept_by_form
def tensordot(a: Array, b: Array, axes: int | tuple[Sequence[int], Sequence[int]] = 2) -> Array:
    """The sums of products over axes of both: the last `axes` of x1 with the first of x2, or those
    of two sequences. One matrix product."""
    a, b, _ = _pair("tensordot", a, b)
    if isinstance(axes, int) and not isinstance(axes, bool):
        if not 0 <= axes <= min(a.ndim, b.ndim):
            invalid("tensordot", f"axes is {axes}, of arrays of {a.ndim} and {b.ndim} dimensions")
        of_1 = tuple(range(a.ndim - axes, a.ndim))
        of_2 = tuple(range(axes))
    else:
        if not isinstance(axes, (tuple, list)) or len(axes) != 2:
            invalid("tensordot", f"axes is {shown(axes)}, expected an integer or two sequences")
        of_1 = to_axes("tensordot", axes[0], a.ndim, "axes[0]")
        of_2 = to_axes("tensordot", axes[1], b.ndim, "axes[1]")
    sizes = [[x.shape[i] for i in of] for x, of in ((a, of_1), (b, of_2))]
    if sizes[0] != sizes[1]:
        invalid(
            "tensordot",
            f"axes {of_1} of shape {a.shape} and {of_2} of shape {b.shape} differ in size",
        )
    rest_1 = [i for i in range(a.ndim) if i not in of_1]
    rest_2 = [i for i in range(b.ndim) if i not in of_2]
    shape = tuple(a.shape[i] for i in rest_1) + tuple(b.shape[i] for i in rest_2)
    inner = math.prod(sizes[0])
    left = permuted("tensordot", a, [*rest_1, *of_1])
    right = permuted("tensordot", b, [*of_2, *rest_2])
    rows = math.prod(left.shape[: len(rest_1)])
    columns = math.prod(right.shape[len(of_2) :])
    return matmul(left.reshape(rows, inner), right.reshape(inner, columns)).reshape(shape)


@kept_by_form
def outer(x1: Array, x2: Array, /) -> Array:
    """Every element of a vector times every one of another."""
    x1, x2, _ = _pair("outer", x1, x2)
    for name, one in (("x1", x1), ("x2", x2)):
        if one.ndim != 1:
            invalid("outer", f"{name} has shape {one.shape}, expected a vector")
    return _times(x1[:, None], x2[None, :])


@cache
def _difference(dtype: str) -> Program:
    program = Program()
    a, b, c, d = (program.input(dtype) for _ in range(4))
    program.output(a * b - c * d)
    return program


@kept_by_form
def cross(x1: Array, x2: Array, /, *, axis: int = -1) -> Array:
    """The vector at right angles to two of 3 elements, which lie along one axis."""
    x1, x2, dtype = _pair("cross", x1, x2)
    if dtype.kind == "b":
        invalid("cross", "x1 and x2 are bool, expected numbers")
    shape = broadcast_shapes(x1.shape, x2.shape)
    at = to_axes("cross", axis, len(shape))[0]
    x1, x2 = broadcast_to(x1, shape), broadcast_to(x2, shape)
    for name, one in (("x1", x1), ("x2", x2)):
        if one.shape[at] != 3:
            invalid("cross", f"{name} has {one.shape[at]} elements along axis {axis}, expected 3")
    a, b = ([_at(one, at, i) for i in range(3)] for one in (x1, x2))
    if dtype.kind == "c":
        rows = [a[i - 2] * b[i - 1] - a[i - 1] * b[i - 2] for i in range(3)]
        return stack(rows, axis=at)
    result = x1.backend._new(shape, dtype)
    for i in range(3 if result.size else 0):
        row = _at(result, at, i)
        factors = [a[i - 2], b[i - 1], a[i - 1], b[i - 2]]
        x1.backend.map(_difference(name_of(dtype)), row.shape, factors, [], [row])
    return result


def _at(x: Array, axis: int, index: int) -> Array:
    return x[(slice(None),) * axis + (index,)]


@kept_by_form
def kron(a: ArrayLike, b: ArrayLike) -> Array:
    """b once for each element of a, times that element."""
    a, b, _ = _pair("kron", a, b)
    rank = max(a.ndim, b.ndim)
    a = a.reshape((1,) * (rank - a.ndim) + a.shape)
    b = b.reshape((1,) * (rank - b.ndim) + b.shape)
    blocks = _times(a[(slice(None), None) * rank], b[(None, slice(None)) * rank])
    return blocks.reshape(tuple(m * n for m, n in zip(a.shape, b.shape, strict=True)))


def dot(a: Any, b: Any, out: Array | None = None) -> Array:
    """NumPy's dot: over the last axis of a and the last but one of b; of a number the product."""
    a, b, _ = _pair("dot", a, b)
    if a.ndim == 0 or b.ndim == 0:
        found = _times(a, b)
    else:
        found = matmul(a, b) if b.ndim <= 2 else tensordot(a, b, axes=((-1,), (-2,)))
    return written("dot", out, found)


@kept_by_form
def inner(a: ArrayLike, b: ArrayLike, /) -> Array:
    """NumPy's inner: over the last axis of both."""
    a, b, _ = _pair("inner", a, b)
    if a.ndim == 0 or b.ndim == 0:
        return _times(a, b)
    return tensordot(a, b, axes=((-1,), (-1,)))


@kept_by_form
def diagonal(x: Array, /, *, offset: int = 0) -> Array:
    """A view of the diagonals of the matrices in the last two axes, `offset` above the middle."""
    if not isinstance(x, Array):
        invalid("diagonal", f"x is {shown(x)}, expected an Array; write tw.asarray(x)")
    if x.ndim < 2:
        invalid("diagonal", f"x has shape {x.shape}, expected two dimensions at least")
    return diagonal_of(x, x.ndim - 2, x.ndim - 1, to_integer("diagonal", "offset", offset))


def diagonal_of(x: Array, row_axis: int, column_axis: int, offset: int = 0) -> Array:
    """Where both axes step at once, as the last axis of a view."""
    down, right = max(-offset, 0), max(offset, 0)
    long = min(x.shape[row_axis] - down, x.shape[column_axis] - right)
    strides = x.strides
    others = [i for i in range(x.ndim) if i not in (row_axis, column_axis)]
    start = x.offset
    if long > 0:
        start += down * strides[row_axis] + right * strides[column_axis]
    return x._view(
        (*(x.shape[i] for i in others), max(long, 0)),
        [*(strides[i] for i in others), strides[row_axis] + strides[column_axis]],
        start,
    )


@kept_by_form
def trace(x: Array, /, *, offset: int = 0, dtype: npt.DTypeLike | None = None) -> Array:
    """The sums of diagonal()."""
    return reductions.sum(
        diagonal(x, offset=to_integer("trace", "offset", offset)), axis=-1, dtype=dtype
    )


def _namespace() -> Any:
    import tilewright

    return tilewright
