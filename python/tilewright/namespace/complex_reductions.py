"""Reductions and products of complex Arrays."""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, Any

from tilewright.array import Array
from tilewright.call_forms import kept_by_form
from tilewright.namespace import elementwise
from tilewright.namespace.manipulation import moveaxis
from tilewright.operands import check_stored, invalid, name_of, parts_dtype, to_dtype
from tilewright.program import Program
from tilewright.shapes import permuted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    import numpy.typing as npt


def wanted_dtype(call: str, x: Array, dtype: npt.DTypeLike | None) -> np.dtype[Any] | None:
    """The complex dtype of a sum or product; none where it is real."""
    if dtype is None:
        return x.dtype if x.dtype.kind == "c" else None
    wanted = to_dtype(call, dtype)
    if wanted.kind == "c":
        check_stored(call, x.backend, wanted)
        return wanted
    if x.dtype.kind == "c":
        invalid(call, f"dtype is {wanted} and x is {x.dtype}, expected a complex dtype")
    return None


def _as(x: Array, dtype: np.dtype[Any]) -> Array:
    return x if x.dtype == dtype else x.astype(dtype)


def _placed(call: str, result: Array, out: Array | None) -> Array:
    if out is None:
        return result
    from tilewright.namespace.reductions import _out

    target = _out(call, result, out, result.shape, result.dtype)
    target[...] = result
    return target


def by_parts(
    call: str,
    reduce: Callable[..., Array],
    x: Array,
    axes: Sequence[int],
    keepdims: bool,
    out: Array | None,
    dtype: np.dtype[Any],
) -> Array:
    """A reduction that is the same of both parts."""
    parts = _as(x, dtype)._parts()
    return _placed(call, reduce(parts, axis=tuple(axes), keepdims=keepdims)._paired(), out)


def prod(
    x: Array, axes: Sequence[int], keepdims: bool, out: Array | None, dtype: np.dtype[Any]
) -> Array:
    """Halves are multiplied until one is left."""
    kept = [i for i in range(x.ndim) if i not in axes]
    shape = tuple(
        1 if i in axes else size for i, size in enumerate(x.shape) if keepdims or i not in axes
    )
    count = math.prod(x.shape[i] for i in axes)
    left = tuple(x.shape[i] for i in kept)
    line = _as(permuted("prod", x, (*kept, *axes)).reshape((*left, count)), dtype)
    while count > 1:
        half = count // 2
        product = line[..., :half] * line[..., half : 2 * half]
        if count % 2:
            product[..., :1] *= line[..., -1:]
        line, count = product, half
    if count == 0:
        result = x.backend._new(shape, dtype)
        result[...] = 1
    else:
        result = line.reshape(shape, copy=line is x or line.overlaps(x) or None)
    return _placed("prod", result, out)


def spread(
    call: str,
    x: Array,
    axes: Sequence[int],
    correction: float,
    keepdims: bool,
    out: Array | None,
) -> Array:
    """The mean square of the distance from the mean: the variances of both parts."""
    from tilewright.namespace.reductions import sum, var

    parts = var(x._parts(), axis=tuple(axes), correction=correction, keepdims=keepdims)
    both = sum(parts, axis=-1)
    return _placed(call, elementwise.sqrt(both) if call == "std" else both, out)


def cumulative_prod(x: Array, along: int, result: Array) -> None:
    """Each with the product before it, over twice as many at each step."""
    line = moveaxis(_as(x, result.dtype), along, -1)
    step = 1
    while step < x.shape[along]:
        longer = line.copy()
        longer[..., step:] *= line[..., :-step]
        line, step = longer, 2 * step
    moveaxis(result, along, -1)[...] = line


@cache
def _turn_program(parts: str) -> Program:
    program = Program()
    re, im = program.input(parts), program.input(parts)
    program.output(-im, re)
    return program


@kept_by_form
def _product(a: Array, b: Array, dtype: np.dtype[Any]) -> Array:
    from tilewright.namespace.linear import matmul as real_matmul

    a, b = _as(a, dtype), _as(b, dtype)
    for name, one in (("x1", a), ("x2", b)):
        if one.ndim == 0:
            invalid("matmul", f"{name} has no dimension, expected a vector or matrices")
    left = a[None, :] if a.ndim == 1 else a
    right = b[:, None] if b.ndim == 1 else b
    k, n = right.shape[-2:]
    if left.shape[-1] != k:
        invalid(
            "matmul",
            f"x1 of shape {a.shape} has rows of {left.shape[-1]}, but x2 of shape {b.shape} has "
            f"columns of {k}",
        )
    turned = a.backend._new((*right.shape[:-2], k, 2, n), dtype)
    turned[..., 0, :] = right
    second = turned[..., 1, :]
    turn = _turn_program(name_of(parts_dtype(dtype)))
    both, to = [right._part(0), right._part(1)], [second._part(0), second._part(1)]
    a.backend.map(turn, right.shape, both, [], to)
    rows = left._parts().reshape((*left.shape[:-1], 2 * k))
    whole = real_matmul(rows, turned._parts().reshape((*right.shape[:-2], 2 * k, 2 * n)))
    result = whole.reshape((*whole.shape[:-1], n, 2))._paired()
    if b.ndim == 1:
        result = result[..., 0]
    if a.ndim == 1:
        result = result[..., 0, :] if b.ndim > 1 else result[..., 0]
    return result


def matmul(a: Array, b: Array, dtype: np.dtype[Any], out: Array | None) -> Array:
    """One real product of twice the columns: each element of b becomes [[re, im], [-im, re]],
    which turns rows of parts into rows of parts."""
    from tilewright.namespace.reductions import _out

    result = _product(a, b, dtype)
    if out is None:
        return result
    target = _out("matmul", a, out, result.shape, result.dtype)
    target[...] = result
    return target
