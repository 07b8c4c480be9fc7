"""The array tier's matrix product."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tilewright.array import Array
from tilewright.elementwise import broadcast_shape
from tilewright.operands import FLOAT32, INT32, Operands, invalid, to_dtype

if TYPE_CHECKING:
    import numpy.typing as npt

    from tilewright.operands import ArrayLike


class Product(NamedTuple):
    """op(A) [m, k] times op(B) [k, n], once for each matrix of a batch shape."""

    m: int
    n: int
    k: int
    lda: int
    ldb: int
    trans_a: str
    trans_b: str
    batch: tuple[int, ...]
    shape: tuple[int, ...]  # of the result, without the axis that a vector lacks


def plan(a: tuple[int, ...], b: tuple[int, ...], trans_a: bool, trans_b: bool) -> Product:
    """NumPy's rules: a vector counts as a row on the left and a column on the right, leading axes
    are a batch and broadcast."""
    for name, shape, flag in (("a", a, trans_a), ("b", b, trans_b)):
        if not shape:
            invalid("matmul", f"{name} has no dimension, expected a vector or matrices")
        if flag and len(shape) == 1:
            invalid("matmul", f"transpose_{name} is True, but {name} is a vector")
    rows_a, cols_a = (1, a[0]) if len(a) == 1 else a[-2:]
    rows_b, cols_b = (b[0], 1) if len(b) == 1 else b[-2:]
    m, k = (cols_a, rows_a) if trans_a else (rows_a, cols_a)
    k_b, n = (cols_b, rows_b) if trans_b else (rows_b, cols_b)
    if k != k_b:
        invalid(
            "matmul",
            f"a of shape {a}{' transposed' if trans_a else ''} has rows of {k}, but b of shape "
            f"{b}{' transposed' if trans_b else ''} has columns of {k_b}",
        )
    batch = broadcast_shape("matmul: batches", a[:-2], b[:-2])
    ends = (() if len(a) == 1 else (m,)) + (() if len(b) == 1 else (n,))
    return Product(
        m,
        n,
        k,
        max(1, cols_a),
        max(1, cols_b),
        "transpose" if trans_a else "none",
        "transpose" if trans_b else "none",
        batch,
        batch + ends,
    )


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
        ("float16" or "bfloat16") rounds float32 inputs first. out_dtype float32 keeps the sums of
        float16 inputs as they are.
        """
        left, right = self._read("matmul", a=a, b=b)
        for name, flag in (("transpose_a", transpose_a), ("transpose_b", transpose_b)):
            if not isinstance(flag, bool):
                invalid("matmul", f"{name} is {flag!r}, expected True or False")
        p = plan(left.shape, right.shape, transpose_a, transpose_b)
        dtype = left.dtype
        if out_dtype is not None:
            dtype = to_dtype("matmul", out_dtype)
            if dtype not in (left.dtype, FLOAT32):
                invalid("matmul", f"out_dtype is {dtype}, expected {left.dtype}, as a and b are")
        if precision is not None and left.dtype != FLOAT32:
            invalid("matmul", f"precision is {precision!r}, but a and b are {left.dtype}")
        if out is None and beta != 0:
            invalid("matmul", f"beta is {beta}, but there is no out to add to")
        result = self._result("matmul", out, p.shape, dtype, left, right)
        if precision is not None:
            self._rounded_product(p, precision, alpha, left, right, beta, result)
        elif self._is_matrix_by_vector(p, left, right, result) and alpha == 1 and beta == 0:
            self._matrix_by_vector(p, left, right, result)
        else:
            self._product(p, alpha, left, right, beta, result)
        return result

    @staticmethod
    def _is_matrix_by_vector(p: Product, left: Array, right: Array, result: Array) -> bool:
        if result.dtype != left.dtype or p.k == 0:
            return False
        by_vector = right.ndim == 1 and p.trans_a == "none"
        return by_vector or (left.ndim == 1 and right.ndim == 2 and p.trans_b == "transpose")

    def _matrix_by_vector(self, p: Product, left: Array, right: Array, result: Array) -> None:
        if right.ndim == 1:
            rows = math.prod(left.shape[:-1])
            self.matmul_vec(left, rows, p.k, right, result, result.stored_as)
        else:
            self.matmul_vec(right, p.n, p.k, left, result, result.stored_as)

    def _product(
        self, p: Product, alpha: float, left: Array, right: Array, beta: float, result: Array
    ) -> None:
        dtype, out_dtype = left.stored_as, result.stored_as
        count = math.prod(p.batch)
        one_b = math.prod(right.shape[:-2]) == 1
        if count == 1 or (one_b and p.trans_a == "none" and left.shape[:-2] == p.batch):
            # One B for all: the matrices of A, one below the other, are one matrix.
            self.gemm(
                p.trans_a, p.trans_b, p.m * count, p.n, p.k, alpha, left, p.lda, right, p.ldb,
                beta, result, max(1, p.n), dtype, out_dtype,
            )  # fmt: skip
            return
        left, stride_a = self._batch_of(left, p.batch)
        right, stride_b = self._batch_of(right, p.batch)
        self.batched_gemm(
            p.trans_a, p.trans_b, p.m, p.n, p.k, alpha, left, p.lda, stride_a,
            right, p.ldb, stride_b, beta, result, max(1, p.n), p.m * p.n, count, dtype, out_dtype,
        )  # fmt: skip

    def _batch_of(self, operand: Array, batch: tuple[int, ...]) -> tuple[Array, int]:
        """The operand as something that one stride walks over the whole batch, and that stride."""
        own = operand.shape[:-2]
        size = math.prod(operand.shape[-2:])
        if math.prod(own) == 1:
            return operand, 0
        if math.prod(own) == math.prod(batch):
            return operand, size
        order = np.arange(math.prod(own), dtype=INT32).reshape(own)
        indices = self._upload(np.ascontiguousarray(np.broadcast_to(order, batch)))
        repeated = self._new((*batch, *operand.shape[-2:]), operand.dtype)
        super().gather(
            operand, indices, repeated, math.prod(own), size, math.prod(batch), operand.stored_as
        )
        return repeated, size

    def _rounded_product(
        self,
        p: Product,
        precision: str,
        alpha: float,
        left: Array,
        right: Array,
        beta: float,
        result: Array,
    ) -> None:
        def one(a: Array, b: Array, c: Array) -> None:
            self.gemm_mixed_precision(
                precision, p.trans_a, p.trans_b, p.m, p.n, p.k, alpha, a, p.lda, b, p.ldb,
                beta, c, max(1, p.n),
            )  # fmt: skip

        count = math.prod(p.batch)
        if count == 1:
            one(left, right, result)
            return
        # The trait has no batch of these; each matrix gets buffers of its own.
        left, stride_a = self._batch_of(left, p.batch)
        right, stride_b = self._batch_of(right, p.batch)
        a = self._matrix(left)
        b = self._matrix(right)
        c = self._new((p.m, p.n), FLOAT32)
        for i in range(count):
            self.copy_dtod(a, left, a.nbytes, 0, i * stride_a * 4)
            self.copy_dtod(b, right, b.nbytes, 0, i * stride_b * 4)
            self.copy_dtod(c, result, c.nbytes, 0, i * c.nbytes)
            one(a, b, c)
            self.copy_dtod(result, c, c.nbytes, i * c.nbytes, 0)

    def _matrix(self, batch: Array) -> Array:
        return self._new(batch.shape[-2:], batch.dtype)
