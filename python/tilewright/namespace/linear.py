"""The standard's matrix product."""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, Any

from tilewright import _core
from tilewright.array import Array
from tilewright.namespace import complex_reductions, reductions
from tilewright.namespace.complex_functions import FLOAT64
from tilewright.namespace.dtypes import result_type
from tilewright.namespace.manipulation import broadcast_shapes, broadcast_to
from tilewright.namespace.options import with_options
from tilewright.operands import FLOAT16, FLOAT32, has_own_dtype, invalid, name_of, read_host, shown
from tilewright.program import Program
from tilewright.reading import dtype_of_list
from tilewright.small_floats import BFLOAT16, converted, own_dtype, recognised

if TYPE_CHECKING:
    import numpy as np

    from tilewright.operands import ArrayLike


# What Backend.matmul() takes as it is.
_OF_KERNELS = (FLOAT32, FLOAT16)


def matmul(
    x1: ArrayLike, x2: ArrayLike, /, out: Array | None = None, dtype: Any = None,
    casting: str = "same_kind", order: str = "K", subok: bool = True,
) -> Array:  # fmt: skip
    """x1 @ x2 with NumPy's rules for vectors, matrices and batches; float16 and bfloat16 are
    summed in float32.

    Floats and complex numbers have kernels for it. Other dtypes are summed element by element,
    right but far slower.
    """
    if out is None and dtype is None and order == "K":
        found = _core._product(x1, x2)
        if found is not None:
            return found
    elif dtype is not None or order != "K":
        options = {"dtype": dtype, "casting": casting, "order": order}
        return with_options("matmul", (x1, x2), out, options)
    if isinstance(x1, Array) and isinstance(x2, Array):
        dtype = getattr(x1, "dtype", None)
        if dtype is getattr(x2, "dtype", None) and dtype in _OF_KERNELS:
            return x1.backend.matmul(x1, x2, out=out)
    like = x1 if isinstance(x1, Array) else x2
    if not isinstance(like, Array):
        invalid("matmul", f"x1 is {shown(x1)}, expected an Array; write tw.asarray(x1)")
    both: list[Any] = [x1, x2]
    for i, one in enumerate(both):
        if isinstance(one, (list, tuple, range)):
            # Its numbers take the dtype of the Array where that is of their kind.
            values = read_host("matmul", f"x{i + 1}", one)
            if not has_own_dtype(one):
                wanted = dtype_of_list(values, like.dtype, like.backend, "matmul", f"x{i + 1}")
                values = converted(values, wanted)
            both[i] = values
    dtypes = [own_dtype(one.dtype) for one in both if hasattr(one, "dtype")]
    wanted = result_type(*dtypes)
    for i, one in enumerate(both):
        if not hasattr(one, "dtype"):
            continue
        if isinstance(one, Array):
            both[i] = one.astype(wanted, copy=False)
        elif wanted != one.dtype or wanted == BFLOAT16:
            both[i] = converted(recognised(one), wanted)
    if wanted.kind == "c":
        from tilewright.namespace.creation import asarray

        a, b = (asarray(one, dtype=wanted, device=like.backend) for one in both)
        return complex_reductions.matmul(a, b, wanted, out)
    if wanted == BFLOAT16:
        return _of_bfloat16(both[0], both[1], out)
    if wanted in (FLOAT16, FLOAT32):
        return like.backend.matmul(*both, out=out)
    from tilewright.namespace.creation import asarray

    a, b = (asarray(one, dtype=wanted, device=like.backend) for one in both)
    if wanted == FLOAT64:
        return _multiplied(a, b, out, FLOAT64)
    return _summed(a, b, wanted, out)


def _of_bfloat16(x1: Any, x2: Any, out: Array | None) -> Array:
    """The product of bfloat16: the kernels of float32, which holds all of it, rounded once."""
    like = x1 if isinstance(x1, Array) else x2
    wide = [
        (one if isinstance(one, Array) else like.backend._upload(one)).astype(FLOAT32)
        for one in (x1, x2)
    ]
    product = like.backend.matmul(*wide)
    if out is None:
        return product.astype(BFLOAT16)
    target = reductions._out("matmul", like, out, product.shape, BFLOAT16)
    target[...] = product
    return target


@cache
def _product(dtype: str) -> Program:
    program = Program()
    a, b = program.input(dtype), program.input(dtype)
    program.output(a & b if dtype == "bool" else a * b)
    return program


def _matrices(a: Array, b: Array) -> tuple[Array, Array]:
    """Vectors as matrices of one row and one column."""
    for name, one in (("x1", a), ("x2", b)):
        if one.ndim == 0:
            invalid("matmul", f"{name} has no dimension, expected a vector or matrices")
    left = a[None, :] if a.ndim == 1 else a
    right = b[:, None] if b.ndim == 1 else b
    if left.shape[-1] != right.shape[-2]:
        invalid(
            "matmul",
            f"x1 of shape {a.shape} has rows of {left.shape[-1]}, but x2 of shape {b.shape} has "
            f"columns of {right.shape[-2]}",
        )
    return left, right


def _stored(x: Array) -> tuple[Array, str, int]:
    """Matrices side by side as gemm reads them, whether they are meant transposed, and their
    leading dimension."""
    if x.mT.is_contiguous and not x.is_contiguous:
        return x.mT, "transpose", x.shape[-2]
    return x._contiguous(), "none", x.shape[-1]


def _multiplied(a: Array, b: Array, out: Array | None, dtype: np.dtype[Any]) -> Array:
    """The product of two of float64, int8 or uint8 in a dtype that batched_gemm writes for them."""
    left, right = _matrices(a, b)
    batch = broadcast_shapes(left.shape[:-2], right.shape[:-2])
    m, k, n = left.shape[-2], left.shape[-1], right.shape[-1]
    shape = (*batch, *((m,) if a.ndim > 1 else ()), *((n,) if b.ndim > 1 else ()))
    count = math.prod(batch)
    strides = []
    for i, one in enumerate((left, right)):
        if math.prod(one.shape[:-2]) not in (1, count):
            one = broadcast_to(one, (*batch, *one.shape[-2:]))
        strides.append(math.prod(one.shape[-2:]) if math.prod(one.shape[:-2]) > 1 else 0)
        left, right = (one, right) if i == 0 else (left, one)
    (left, trans_a, lda), (right, trans_b, ldb) = _stored(left), _stored(right)
    result = a.backend._new(shape, dtype)
    if result.size:
        a.backend.batched_gemm(
            trans_a, trans_b, m, n, k, 1.0, left if k else 0, lda, strides[0], right if k else 0,
            ldb, strides[1], 0.0, result, n, m * n, count, name_of(a.dtype),
        )  # fmt: skip
    if out is None:
        return result
    target = reductions._out("matmul", a, out, shape, dtype)
    target[...] = result
    return target


def _summed(a: Array, b: Array, dtype: np.dtype[Any], out: Array | None) -> Array:
    """The product of dtypes that have no kernels for it: each element a sum of its own."""
    left, right = _matrices(a, b)
    batch = broadcast_shapes(left.shape[:-2], right.shape[:-2])
    m, k, n = left.shape[-2], left.shape[-1], right.shape[-1]
    rows = broadcast_to(left[..., :, None, :], (*batch, m, n, k))
    columns = broadcast_to(right.mT[..., None, :, :], (*batch, m, n, k))
    shape = (*batch, *((m,) if a.ndim > 1 else ()), *((n,) if b.ndim > 1 else ()))
    result = reductions._reduced(
        "matmul", "any" if dtype.kind == "b" else "sum", _product(name_of(dtype)),
        [rows, columns], (len(batch) + 2,), (*batch, m, n), dtype,
    ).reshape(shape)  # fmt: skip
    if out is None:
        return result
    target = reductions._out("matmul", a, out, shape, dtype)
    target[...] = result
    return target
