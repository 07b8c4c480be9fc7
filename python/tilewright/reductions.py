"""The array tier's products, places, truths and cumulative sums."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright.array import Array
from tilewright.operands import Operands, invalid, name_of, shown, to_axis
from tilewright.program import Program
from tilewright.reading import default_integer

if TYPE_CHECKING:
    from tilewright.operands import ArrayLike


@cache
def _cast(dtype: str, to: str) -> Program:
    program = Program()
    program.output(program.input(dtype).cast(to))
    return program


class ReductionOps(Operands):
    """What is made of elements along axes, besides sum, max, min and mean."""

    def _elements(self, op: str, x: ArrayLike) -> Array:
        """Any Array of this backend, of any dtype and any strides."""
        if isinstance(x, Array):
            self._own(op, "x", x)
            return x
        (operand,) = self._read(op, x=x)
        return operand

    def _summed(self, dtype: np.dtype[Any]) -> np.dtype[Any]:
        """What sums and products of a dtype are in, as in NumPy: integers in the device's largest,
        unsigned ones too."""
        if dtype.kind not in "biu":
            return dtype
        signed = default_integer(self)
        return np.dtype(f"uint{8 * signed.itemsize}") if dtype.kind == "u" else signed

    def _join(self, op: str, x: ArrayLike, axis: Any, keepdims: Any) -> Array:
        operand = self._elements(op, x)
        shape = operand.shape
        given = range(len(shape)) if axis is None else axis
        axes = given if isinstance(given, (tuple, list, range)) else (given,)
        if len(axes) > len(shape):
            invalid(op, f"axis is {shown(axis)}, expected at most {len(shape)} axes")
        axes = sorted(to_axis(op, one, shape) for one in axes)
        if len(set(axes)) != len(axes):
            invalid(op, f"axis is {shown(axis)}, expected different axes")
        if not isinstance(keepdims, bool):
            invalid(op, f"keepdims is {shown(keepdims)}, expected True or False")
        kept = [1 if i in axes else size for i, size in enumerate(shape)]
        left = tuple(size for i, size in enumerate(kept) if keepdims or i not in axes)
        joined, behind = operand.dtype, None
        if op == "prod":
            joined = result = self._summed(operand.dtype)
        elif op in ("any", "all"):
            result = np.dtype(np.bool_)
        else:
            result = default_integer(self)
            behind = _cast("int32", "int32") if result == np.int32 else None
        output = self._new(left, result)
        if not math.prod(left):
            return output
        front = _cast(operand.stored_as, name_of(joined))
        self.map_reduce(front, op, shape, axes, [operand], [], [output], behind)
        return output

    def prod(
        self, x: ArrayLike, axis: int | Sequence[int] | None = None, keepdims: bool = False
    ) -> Array:
        """Over one axis, several, or all of them; of integers in 64 bits, where the device has
        them."""
        return self._join("prod", x, axis, keepdims)

    def any(
        self, x: ArrayLike, axis: int | Sequence[int] | None = None, keepdims: bool = False
    ) -> Array:
        """Whether an element is not 0."""
        return self._join("any", x, axis, keepdims)

    def all(
        self, x: ArrayLike, axis: int | Sequence[int] | None = None, keepdims: bool = False
    ) -> Array:
        """Whether no element is 0."""
        return self._join("all", x, axis, keepdims)

    def argmax(self, x: ArrayLike, axis: int | None = None, keepdims: bool = False) -> Array:
        """Where the first of the largest elements is, without an axis among all: int64, or int32
        where the device has no int64."""
        return self._join("argmax", x, self._one_axis("argmax", axis), keepdims)

    def argmin(self, x: ArrayLike, axis: int | None = None, keepdims: bool = False) -> Array:
        """Where the first of the smallest elements is, as argmax() has it."""
        return self._join("argmin", x, self._one_axis("argmin", axis), keepdims)

    def _one_axis(self, op: str, axis: Any) -> Any:
        if isinstance(axis, (tuple, list)):
            invalid(op, f"axis is {shown(axis)}, expected one axis or None")
        return axis

    def cumsum(self, x: ArrayLike, axis: int | None = None) -> Array:
        """The sum of each element and all before it, without an axis of all elements in a row; of
        integers in 64 bits, where the device has them."""
        operand = self._elements("cumsum", x)
        if axis is None:
            operand = operand.reshape(-1)
        along = 0 if axis is None else to_axis("cumsum", axis, operand.shape)
        result = self._new(operand.shape, self._summed(operand.dtype))
        if result.size:
            front = _cast(operand.stored_as, name_of(result.dtype))
            self.scan(front, "sum", operand.shape, along, [operand], [], result)
        return result
