"""The array tier's elementwise ops and reductions."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from tilewright.array import Array
from tilewright.forms import also_trait_call
from tilewright.operands import (
    FLOAT16,
    FLOAT32,
    INT32,
    Operands,
    check_stored,
    invalid,
    name_of,
    shown,
    to_axis,
    to_dtype,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from tilewright.operands import ArrayLike, BufferLike


def runs(axes: Sequence[int]) -> list[tuple[int, int]]:
    """Sorted axes as [first, past the last) of neighbours, the last run first."""
    found: list[tuple[int, int]] = []
    for axis in axes:
        if found and found[-1][1] == axis:
            found[-1] = (found[-1][0], axis + 1)
        else:
            found.append((axis, axis + 1))
    return found[::-1]


class ElementwiseOps(Operands):
    # One input -----------------------------------------------------------------------------------

    def relu(self, x: ArrayLike, *, out: Array | None = None) -> Array:
        return self._unary("relu", x, out)

    def sigmoid(self, x: ArrayLike, *, out: Array | None = None) -> Array:
        return self._unary("sigmoid", x, out)

    def tanh(self, x: ArrayLike, *, out: Array | None = None) -> Array:
        return self._unary("tanh", x, out)

    def exp(self, x: ArrayLike, *, out: Array | None = None) -> Array:
        return self._unary("exp", x, out)

    def log(self, x: ArrayLike, *, out: Array | None = None) -> Array:
        return self._unary("log", x, out)

    def sqrt(self, x: ArrayLike, *, out: Array | None = None) -> Array:
        return self._unary("sqrt", x, out)

    def abs(self, x: ArrayLike, *, out: Array | None = None) -> Array:
        return self._unary("abs", x, out)

    def neg(self, x: ArrayLike, *, out: Array | None = None) -> Array:
        return self._unary("neg", x, out)

    def gelu_tanh(self, x: ArrayLike, *, out: Array | None = None) -> Array:
        return self._unary("gelu_tanh", x, out)

    def rsqrt(self, x: ArrayLike, *, out: Array | None = None) -> Array:
        return self._unary("rsqrt", x, out)

    def reciprocal(self, x: ArrayLike, *, out: Array | None = None) -> Array:
        return self._unary("reciprocal", x, out)

    def square(self, x: ArrayLike, *, out: Array | None = None) -> Array:
        return self._unary("square", x, out)

    @overload
    def silu(self, x: ArrayLike, *, out: Array | None = None) -> Array: ...
    @overload
    def silu(
        self, input: BufferLike, output: BufferLike, n: int, dtype: str = "float32"
    ) -> None: ...
    @also_trait_call("input output n")
    def silu(self, x: ArrayLike, *, out: Array | None = None) -> Array:
        return self._unary("silu", x, out)

    @overload
    def gelu(self, x: ArrayLike, *, out: Array | None = None) -> Array: ...
    @overload
    def gelu(
        self, input: BufferLike, output: BufferLike, n: int, dtype: str = "float32"
    ) -> None: ...
    @also_trait_call("input output n")
    def gelu(self, x: ArrayLike, *, out: Array | None = None) -> Array:
        return self._unary("gelu", x, out)

    @overload
    def cast(self, x: ArrayLike, dtype: npt.DTypeLike, *, out: Array | None = None) -> Array: ...
    @overload
    def cast(self, input: BufferLike, from_: str, output: BufferLike, to: str, n: int) -> None: ...
    @also_trait_call("input from_ output to n", optional="")
    def cast(self, x: ArrayLike, dtype: npt.DTypeLike, *, out: Array | None = None) -> Array:
        """x in another dtype, floats to the nearest even; integers as Array.astype() makes them."""
        wanted = to_dtype("cast", dtype)
        if isinstance(x, (np.ndarray, np.generic)) and x.dtype == INT32:
            x = self.array(x)
        if isinstance(x, Array):
            self._own("cast", "x", x)
            operand = x
        else:
            (operand,) = self._read("cast", x=x)
        check_stored("cast", self, wanted)
        if "c" in (wanted.kind, operand.dtype.kind):
            what = f"dtype is {shown(dtype)} and x is {operand.dtype}"
            invalid("cast", f"{what}, expected real ones; astype() takes complex ones")
        apart = (operand,) if operand.dtype != wanted else ()
        result = self._result("cast", out, operand.shape, wanted, *apart)
        if operand.is_contiguous and operand.dtype != wanted:
            super().cast(operand, operand.stored_as, result, name_of(wanted), operand.size)
        else:
            result[...] = operand
        return result

    # Two inputs ----------------------------------------------------------------------------------

    def add(self, a: ArrayLike, b: ArrayLike, *, out: Array | None = None) -> Array:
        return self._binary("add", "add", a, b, out)

    def sub(self, a: ArrayLike, b: ArrayLike, *, out: Array | None = None) -> Array:
        return self._binary("sub", "sub", a, b, out)

    def mul(self, a: ArrayLike, b: ArrayLike, *, out: Array | None = None) -> Array:
        return self._binary("mul", "mul", a, b, out)

    def div(self, a: ArrayLike, b: ArrayLike, *, out: Array | None = None) -> Array:
        return self._binary("div", "div", a, b, out)

    def pow(self, a: ArrayLike, b: ArrayLike, *, out: Array | None = None) -> Array:
        return self._binary("pow", "pow", a, b, out)

    def maximum(self, a: ArrayLike, b: ArrayLike, *, out: Array | None = None) -> Array:
        """The larger of each pair; max() reduces."""
        return self._binary("maximum", "max", a, b, out)

    def minimum(self, a: ArrayLike, b: ArrayLike, *, out: Array | None = None) -> Array:
        """The smaller of each pair; min() reduces."""
        return self._binary("minimum", "min", a, b, out)

    # Reductions ----------------------------------------------------------------------------------

    def _reduce(self, op: str, x: ArrayLike, axis: Any, keepdims: bool, out: Array | None) -> Array:
        (operand,) = self._read(op, x=x)
        shape = operand.shape
        if axis is None:
            axes = list(range(len(shape)))
        else:
            given = axis if isinstance(axis, (tuple, list)) else (axis,)
            if len(given) > len(shape):
                invalid(op, f"axis is {shown(axis)}, expected at most {len(shape)} axes")
            axes = sorted(to_axis(op, one, shape) for one in given)
            if len(set(axes)) != len(axes):
                invalid(op, f"axis is {shown(axis)}, expected different axes")
        if not isinstance(keepdims, bool):
            invalid(op, f"keepdims is {shown(keepdims)}, expected True or False")
        kept = [1 if i in axes else size for i, size in enumerate(shape)]
        final = tuple(size for i, size in enumerate(kept) if keepdims or i not in axes)
        if op in ("max", "min") and any(shape[i] == 0 for i in axes):
            invalid(op, f"x has shape {shape}, and the {op} of no elements is not defined")
        result = self._result(op, out, final, operand.dtype, operand)
        if not axes:
            self.copy_dtod(result, operand, operand.nbytes)
            return result
        neighbours = runs(axes)
        steps = operand
        if len(neighbours) > 1 and operand.dtype == FLOAT16:
            # Rounded once, at the end.
            steps = self.cast(operand, FLOAT32)
        for i, (first, last) in enumerate(neighbours):
            merged = (*steps.shape[:first], math.prod(steps.shape[first:last]), *steps.shape[last:])
            left = (*merged[:first], *merged[first + 1 :])
            done = i == len(neighbours) - 1 and steps.dtype == result.dtype
            target = result if done else self._new(left, steps.dtype)
            self.reduce(op, steps, target, merged, first, steps.stored_as)
            steps = target
        if steps.dtype != result.dtype:
            super().cast(steps, steps.stored_as, result, result.stored_as, result.size)
        return result

    def sum(
        self,
        x: ArrayLike,
        axis: int | Sequence[int] | None = None,
        keepdims: bool = False,
        *,
        out: Array | None = None,
    ) -> Array:
        """Over one axis, several, or all of them."""
        return self._reduce("sum", x, axis, keepdims, out)

    def max(
        self,
        x: ArrayLike,
        axis: int | Sequence[int] | None = None,
        keepdims: bool = False,
        *,
        out: Array | None = None,
    ) -> Array:
        """Over one axis, several, or all of them; maximum() compares two arrays."""
        return self._reduce("max", x, axis, keepdims, out)

    def min(
        self,
        x: ArrayLike,
        axis: int | Sequence[int] | None = None,
        keepdims: bool = False,
        *,
        out: Array | None = None,
    ) -> Array:
        """Over one axis, several, or all of them; minimum() compares two arrays."""
        return self._reduce("min", x, axis, keepdims, out)

    def mean(
        self,
        x: ArrayLike,
        axis: int | Sequence[int] | None = None,
        keepdims: bool = False,
        *,
        out: Array | None = None,
    ) -> Array:
        """Over one axis, several, or all of them."""
        return self._reduce("mean", x, axis, keepdims, out)
