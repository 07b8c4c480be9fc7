"""The array tier's matrix product."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewright.operands import Operands, to_dtype

if TYPE_CHECKING:
    import numpy.typing as npt

    from tilewright.array import Array
    from tilewright.operands import ArrayLike


class LinearAlgebraOps(Operands):
    def matmul(
        self,
        a: ArrayLike,
        b: ArrayLike,
        *,
        transpose_a: bool = False,
        transpose_b: bool = False,
        alpha: float = 1.0,
        beta: float = 0.0,
        precision: str | None = None,
        out_dtype: npt.DTypeLike | None = None,
        out: Array | None = None,
    ) -> Array:
        """alpha * a @ b, with NumPy's rules for vectors, matrices and batches.

        transpose_a and transpose_b swap the last two axes. beta adds beta * out. precision
        ("float16" or "bfloat16") rounds float32 inputs first; "high" lets matrix units take them as
        sums of float16, with 22 digits. out_dtype float32 keeps the sums of float16 inputs as they
        are.
        """
        wanted = None if out_dtype is None else to_dtype("matmul", out_dtype, "out_dtype")
        return self._matmul(a, b, transpose_a, transpose_b, alpha, beta, precision, wanted, out)
