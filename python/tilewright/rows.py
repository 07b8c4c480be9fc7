"""The array tier's ops on rows: softmax, norms, gather and scatter."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, overload

import numpy as np

from tilewright import _core
from tilewright.array import Array
from tilewright.forms import also_trait_call
from tilewright.operands import INT32, Operands, invalid, read_host
from tilewright.small_floats import BFLOAT16

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tilewright.operands import ArrayLike, BufferLike

MOST_INT32 = np.iinfo(np.int32).max


class RowOps(Operands):
    @overload
    def softmax(self, x: ArrayLike, axis: int = -1, *, out: Array | None = None) -> Array: ...
    @overload
    def softmax(
        self,
        input: BufferLike,
        output: BufferLike,
        shape: Sequence[int],
        axis: int,
        dtype: str = "float32",
        log: bool = False,
    ) -> None: ...
    @also_trait_call("input output shape axis", "dtype log")
    def softmax(self, x: ArrayLike, axis: int = -1, *, out: Array | None = None) -> Array:
        """exp(x) / sum(exp(x)) along an axis."""
        return self._softmax(x, axis, out)

    @overload
    def rmsnorm(
        self, x: ArrayLike, weight: ArrayLike | None = None, eps: float = 1e-5, *,
        out: Array | None = None,
    ) -> Array: ...  # fmt: skip
    @overload
    def rmsnorm(
        self,
        x: BufferLike,
        weight: BufferLike | None,
        out: BufferLike,
        rows: int,
        cols: int,
        eps: float,
        dtype: str = "float32",
        residual: BufferLike | None = None,
        sum: BufferLike | None = None,
    ) -> None: ...
    @also_trait_call("x weight out rows cols eps", "dtype residual sum")
    def rmsnorm(
        self, x: ArrayLike, weight: ArrayLike | None = None, eps: float = 1e-5, *,
        out: Array | None = None,
    ) -> Array:  # fmt: skip
        """x * weight / sqrt(mean(x^2) + eps) along the last axis."""
        operand, parameters = self._with_parameters("rmsnorm", x, weight=weight)
        rows, cols = self._rows("rmsnorm", operand, **parameters)
        result = self._result("rmsnorm", out, operand.shape, operand.dtype, *parameters.values())
        super().rmsnorm(
            operand, parameters.get("weight"), result, rows, cols, eps, operand.stored_as
        )
        return result

    @overload
    def layer_norm(
        self,
        x: ArrayLike,
        weight: ArrayLike | None = None,
        bias: ArrayLike | None = None,
        eps: float = 1e-5,
        *,
        out: Array | None = None,
    ) -> Array: ...
    @overload
    def layer_norm(
        self,
        x: BufferLike,
        weight: BufferLike | None,
        bias: BufferLike | None,
        out: BufferLike,
        rows: int,
        cols: int,
        eps: float,
        dtype: str = "float32",
        residual: BufferLike | None = None,
        sum: BufferLike | None = None,
    ) -> None: ...
    @also_trait_call("x weight bias out rows cols eps", "dtype residual sum")
    def layer_norm(
        self,
        x: ArrayLike,
        weight: ArrayLike | None = None,
        bias: ArrayLike | None = None,
        eps: float = 1e-5,
        *,
        out: Array | None = None,
    ) -> Array:
        """(x - mean(x)) / sqrt(var(x) + eps) * weight + bias along the last axis."""
        operand, parameters = self._with_parameters("layer_norm", x, weight=weight, bias=bias)
        rows, cols = self._rows("layer_norm", operand, **parameters)
        result = self._result("layer_norm", out, operand.shape, operand.dtype, *parameters.values())
        super().layer_norm(
            operand, parameters.get("weight"), parameters.get("bias"), result, rows, cols, eps,
            operand.stored_as,
        )  # fmt: skip
        return result

    def _with_parameters(
        self, call: str, x: ArrayLike, **parameters: ArrayLike | None
    ) -> tuple[Array, dict[str, Array]]:
        """x, and the parameters that are given."""
        given = {name: one for name, one in parameters.items() if one is not None}
        operand, *others = self._read(call, x=x, **given)
        return operand, dict(zip(given, others, strict=True))

    @staticmethod
    def _rows(call: str, x: Array, **parameters: Array) -> tuple[int, int]:
        if x.ndim == 0:
            invalid(call, "x has no dimension, expected at least one")
        for name, one in parameters.items():
            if one.shape != x.shape[-1:]:
                invalid(
                    call,
                    f"{name} has shape {one.shape}, expected {x.shape[-1:]}, the last axis of x",
                )
        return math.prod(x.shape[:-1]), x.shape[-1]

    # Rows by index -------------------------------------------------------------------------------

    def _indices(self, call: str, indices: ArrayLike, rows: int) -> Array:
        """Row numbers on the device. Those of the host are checked, and negative ones count from
        the end, as in NumPy; those on the device follow the trait's rule."""
        if isinstance(indices, Array):
            self._own(call, "indices", indices)
            if indices.dtype != INT32:
                invalid(call, f"indices is {indices.dtype}, expected int32")
            return indices._contiguous()
        values = read_host(call, "indices", indices)
        if values.size == 0 and isinstance(indices, (list, tuple)):
            values = values.astype(INT32)
        if values.dtype.kind not in "iu":
            invalid(
                call,
                f"indices is {values.dtype}, expected integers; write indices.astype(np.int32)",
            )
        # In a type that counts the rows too. Of uint64, what int64 does not count is too large.
        if values.dtype == np.uint64:
            wide = np.minimum(values, np.uint64(rows)).astype(np.int64)
        else:
            wide = values.astype(np.int64, copy=False)
        wrong = np.argwhere((wide < -rows) | (wide >= rows))
        if len(wrong):
            at = tuple(int(i) for i in wrong[0])
            place = f"indices{list(at)}" if at else "indices"
            invalid(call, f"{place} is {values[at]}, expected {-rows} to {rows - 1}")
        from_front = np.where(wide < 0, wide + rows, wide)
        if rows > MOST_INT32 and from_front.max(initial=0) > MOST_INT32:
            raise _core.Unsupported(
                f"{call}: indices reach row {from_front.max()}; the device counts rows in int32, "
                f"to {MOST_INT32}"
            )
        return self._upload(from_front.astype(INT32))

    def _read_moved(self, call: str, **given: ArrayLike) -> list[Array]:
        """Operands whose rows are moved as they are: floats as _read() takes them, or bfloat16."""
        arrays = [one for one in given.values() if isinstance(one, Array)]
        if len(arrays) < len(given) or not all(
            getattr(one, "dtype", None) is BFLOAT16 for one in arrays
        ):
            return list(self._read(call, **given))
        for name, one in zip(given, arrays, strict=True):
            self._own(call, name, one)
        return [one._contiguous() for one in arrays]

    @overload
    def gather(
        self, table: ArrayLike, indices: ArrayLike, *, out: Array | None = None
    ) -> Array: ...
    @overload
    def gather(
        self,
        table: BufferLike,
        indices: BufferLike,
        output: BufferLike,
        table_rows: int,
        row_size: int,
        count: int,
        dtype: str = "float32",
    ) -> None: ...
    @also_trait_call("table indices output table_rows row_size count")
    def gather(self, table: ArrayLike, indices: ArrayLike, *, out: Array | None = None) -> Array:
        """table[indices]: rows along the first axis, of bfloat16 too. Of indices in an Array, one
        outside gives a row of NaN."""
        (source,) = self._read_moved("gather", table=table)
        if source.ndim == 0:
            invalid("gather", "table has no dimension, expected at least one")
        rows = self._indices("gather", indices, source.shape[0])
        shape = rows.shape + source.shape[1:]
        result = self._result("gather", out, shape, source.dtype, source, rows)
        row_size = math.prod(source.shape[1:])
        super().gather(source, rows, result, source.shape[0], row_size, rows.size, source.stored_as)
        return result

    @overload
    def scatter(
        self,
        output: ArrayLike,
        indices: ArrayLike,
        source: ArrayLike,
        *,
        out: Array | None = None,
    ) -> Array: ...
    @overload
    def scatter(
        self,
        source: BufferLike,
        indices: BufferLike,
        output: BufferLike,
        output_rows: int,
        row_size: int,
        count: int,
        dtype: str = "float32",
    ) -> None: ...
    @also_trait_call("source indices output output_rows row_size count")
    def scatter(
        self,
        output: ArrayLike,
        indices: ArrayLike,
        source: ArrayLike,
        *,
        out: Array | None = None,
    ) -> Array:
        """output[indices] = source, rows along the first axis; other rows stay. An Array is written
        in place and returned; anything else, or with `out`, is copied first. Of equal indices the
        last one counts."""
        target, rows_in = self._read_moved("scatter", output=output, source=source)
        if target.ndim == 0:
            invalid("scatter", "output has no dimension, expected at least one")
        rows = self._indices("scatter", indices, target.shape[0])
        shape = rows.shape + target.shape[1:]
        if rows_in.shape != shape:
            invalid(
                "scatter",
                f"source has shape {rows_in.shape}, expected {shape}: the shape of indices, then "
                "that of a row of output",
            )
        if out is not None:
            result = self._result("scatter", out, target.shape, target.dtype, rows_in, rows)
            result[...] = target
            target = result
        elif target.overlaps(rows_in) or target.overlaps(rows):
            invalid("scatter", "output shares its buffer with an input, expected another Array")
        super().scatter(
            rows_in, rows, target, target.shape[0], math.prod(target.shape[1:]), rows.size,
            target.stored_as,
        )  # fmt: skip
        if out is None and isinstance(output, Array) and output is not target:
            # A view with gaps, of which a copy was written.
            output[...] = target
            return output
        return target
