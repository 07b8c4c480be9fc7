"""Eigenvalues and singular values, and what follows from them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple, overload

import numpy as np

from tilewright.array import Array
from tilewright.namespace import reductions
from tilewright.namespace.creation import eye
from tilewright.namespace.factorisations import (
    Matrices,
    _not_finite_or_slow,
    complex_of,
    of_floats,
)
from tilewright.namespace.linear import matmul
from tilewright.namespace.mixed import together
from tilewright.operands import INT32, invalid, shown

if TYPE_CHECKING:
    from tilewright.operands import ArrayLike


class EigResult(NamedTuple):
    """What eig() gives."""

    eigenvalues: Array
    eigenvectors: Array


class EighResult(NamedTuple):
    """What eigh() gives."""

    eigenvalues: Array
    eigenvectors: Array


class SVDResult(NamedTuple):
    """What svd() gives."""

    U: Array
    S: Array
    Vh: Array


def _symmetric(call: str, x: Any, uplo: Any, with_vectors: bool) -> tuple[Array, Array | None]:
    if not isinstance(uplo, str) or uplo not in ("L", "U", "l", "u"):
        invalid(call, f'UPLO is {shown(uplo)}, expected "L" or "U"')
    m = Matrices(call, "x", x, square=True)
    n = m.rows
    values, status = m.new(n, dtype=m.parts), m.new(dtype=INT32)
    vectors = m.new(n, n) if with_vectors else None
    m.run(
        "eigh", [m.x, values, 0 if vectors is None else vectors, status], n, m.count,
        uplo in ("U", "u"), with_vectors,
    )  # fmt: skip
    m.checked(status, _not_finite_or_slow)
    return values, vectors


def eigh(a: Array, UPLO: str = "L") -> EighResult:
    """The eigenvalues of symmetric or Hermitian matrices in ascending order, and their eigenvectors
    as columns. One triangle is read: the lower one, or for UPLO "U" the upper one."""
    values, vectors = _symmetric("eigh", a, UPLO, True)
    assert vectors is not None
    return EighResult(values, vectors)


def eigvalsh(a: Array, UPLO: str = "L") -> Array:
    """The eigenvalues of eigh() alone."""
    return _symmetric("eigvalsh", a, UPLO, False)[0]


def _any_square(call: str, x: Any, with_vectors: bool) -> tuple[Array, Array | None]:
    m = Matrices(call, "x", x, square=True)
    n = m.rows
    values, status = m.new(n, dtype=complex_of(m)), m.new(dtype=INT32)
    vectors = m.new(n, n, dtype=complex_of(m)) if with_vectors else None
    m.run("eig", [m.x, values, 0 if vectors is None else vectors, status], n, m.count, with_vectors)
    m.checked(status, _not_finite_or_slow)
    return values, vectors


def eig(a: Array) -> EigResult:
    """The eigenvalues of square matrices and their eigenvectors of length 1 as columns: complex,
    also where all of them are real."""
    values, vectors = _any_square("eig", a, True)
    assert vectors is not None
    return EigResult(values, vectors)


def eigvals(a: Array) -> Array:
    """The eigenvalues of eig() alone."""
    return _any_square("eigvals", a, False)[0]


def _singular(call: str, x: Any, full: bool, with_vectors: bool) -> tuple[Any, Array, Any]:
    m = Matrices(call, "x", x)
    k = min(m.rows, m.columns)
    values, status = m.new(k, dtype=m.parts), m.new(dtype=INT32)
    u: Any = 0
    vh: Any = 0
    if with_vectors:
        u = m.new(m.rows, m.rows if full else k)
        vh = m.new(m.columns if full else k, m.columns)
        if k == 0:
            for side in (u, vh):
                if side.size:
                    side[...] = eye(side.shape[-1], dtype=m.dtype, device=m.backend)
    m.run("svd", [m.x, u, values, vh, status], m.rows, m.columns, m.count, full, with_vectors)
    m.checked(status, _not_finite_or_slow)
    return u, values, vh


@overload
def svd(
    a: Array,
    full_matrices: bool = True,
    compute_uv: Literal[True] = True,
    hermitian: bool = False,
) -> SVDResult: ...
@overload
def svd(
    a: Array, full_matrices: bool = True, *, compute_uv: Literal[False], hermitian: bool = False
) -> Array: ...
@overload
def svd(
    a: Array, full_matrices: bool, compute_uv: Literal[False], hermitian: bool = False
) -> Array: ...
@overload
def svd(
    a: Array, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False
) -> SVDResult | Array: ...
def svd(
    a: Array, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False
) -> SVDResult | Array:
    """U, S and Vh with x = U @ diag(S) @ Vh: the singular values S in descending order, U and Vh
    square, or without full_matrices with as many columns and rows as there are values. Without
    compute_uv it is S alone. What is `hermitian` takes the same way."""
    if not isinstance(full_matrices, bool):
        invalid("svd", f"full_matrices is {shown(full_matrices)}, expected True or False")
    if not isinstance(compute_uv, bool):
        invalid("svd", f"compute_uv is {shown(compute_uv)}, expected True or False")
    u, values, vh = _singular("svd", a, full_matrices and compute_uv, compute_uv)
    return SVDResult(u, values, vh) if compute_uv else values


def svdvals(x: Array, /) -> Array:
    """The singular values of svd() alone."""
    return _singular("svdvals", x, False, False)[1]


# What follows -------------------------------------------------------------------------------------


def _ratio(call: str, name: str, value: Any) -> float:
    is_number = isinstance(value, (int, float, np.integer, np.floating))
    is_one = (
        isinstance(value, (Array, np.ndarray)) and value.ndim == 0 and value.dtype.kind in "iuf"
    )
    if (not is_number and not is_one) or isinstance(value, bool):
        invalid(call, f"{name} is {shown(value)}, expected a number or an Array")
    try:
        return float(value)
    except OverflowError:
        invalid(call, f"{name} is an integer beyond 1.8e308, expected a number that float64 holds")


def _cutoff(call: str, x: Array, values: Array, rtol: Any) -> Array:
    """Below it a singular value counts as 0: rtol times the largest one, of each matrix."""
    if rtol is None:
        rtol = max(x.shape[-2:]) * float(np.finfo(values.dtype).eps)
    rtol = rtol[..., None] if isinstance(rtol, Array) else _ratio(call, "rtol", rtol)
    cutoff: Array = reductions.max(values, axis=-1, keepdims=True) * rtol
    return cutoff


def _reciprocals(values: Array, cutoff: Array) -> Array:
    """Of singular values; 0 of those that count as 0."""
    import tilewright as tw

    kept = values > cutoff
    return tw.where(kept, 1 / tw.where(kept, values, 1.0), 0.0)


def _adjoint(x: Array) -> Array:
    import tilewright as tw

    return tw.conj(x.mT) if x.dtype.kind == "c" else x.mT


def pinv(a: Array, rcond: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Array:
    """The Moore-Penrose inverses. Singular values up to rtol (NumPy's rcond) times the largest one
    count as 0; rtol is the larger of x's sizes times its dtype's epsilon unless given."""
    m = Matrices("pinv", "x", a)
    if m.x.size == 0:
        return m.new(m.columns, m.rows)
    u, values, vh = _singular("pinv", m.x, False, True)
    cutoff = _cutoff("pinv", m.x, values, rcond if rtol is None else rtol)
    scaled = _adjoint(vh) * _reciprocals(values, cutoff)[..., None, :]
    return matmul(scaled, _adjoint(u))


def matrix_rank(A: Array, tol: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Array:
    """How many singular values are above rtol times the largest one, or above NumPy's tol; rtol is
    the larger of x's sizes times its dtype's epsilon unless given."""
    if isinstance(A, Array) and A.ndim < 2:
        A = A.reshape(1, -1)
    m = Matrices("matrix_rank", "x", A)
    if m.x.size == 0:
        return reductions.count_nonzero(m.new(0, dtype=m.parts), axis=-1)
    values = svdvals(m.x)
    if tol is not None:
        cutoff = tol[..., None] if isinstance(tol, Array) else _ratio("matrix_rank", "tol", tol)
    else:
        cutoff = _cutoff("matrix_rank", m.x, values, rtol)
    return reductions.count_nonzero(values > cutoff, axis=-1)


class LstsqResult(NamedTuple):
    """What lstsq() gives."""

    x: Array
    residuals: Array
    rank: int
    s: Array


def lstsq(a: ArrayLike, b: ArrayLike, rcond: Any = None) -> LstsqResult:
    """The X for which a @ X is nearest to b, the one of least norm where there are several; the
    sums of squares of what is left, where a has full rank and more rows than columns; its rank,
    and its singular values. By these: up to rcond times the largest one they count as 0."""
    import tilewright as tw
    from tilewright.namespace.products import _pair

    a, b = together("lstsq", a=a, b=b)
    if rcond is not None:
        rcond = _ratio("lstsq", "rcond", rcond)
    a, b, _ = _pair("lstsq", a, b)
    a, b = of_floats("lstsq", "a", a), of_floats("lstsq", "b", b)
    if a.ndim != 2 or b.ndim not in (1, 2):
        invalid("lstsq", f"a has shape {a.shape} and b {b.shape}, expected a matrix in a")
    if a.shape[0] != b.shape[0]:
        invalid("lstsq", f"a has shape {a.shape} and b {b.shape}, expected as many rows")
    is_vector = b.ndim == 1
    right = b[:, None] if is_vector else b
    rows, columns = a.shape
    if rcond is not None and rcond < 0:
        rcond = float(np.finfo(a.dtype).eps)
    if a.size == 0:
        x = tw.zeros((columns, right.shape[1]), dtype=a.dtype, device=a.backend)
        rank, values = 0, svdvals(a)
    else:
        u, values, vh = _singular("lstsq", a, False, True)
        cutoff = _cutoff("lstsq", a, values, rcond)
        rank = int(reductions.count_nonzero(values > cutoff))
        parts = matmul(_adjoint(u), right) * _reciprocals(values, cutoff)[:, None]
        x = matmul(_adjoint(vh), parts)
    left = tw.zeros(0, dtype=values.dtype, device=a.backend)
    if rank == columns and rows > columns:
        off = tw.abs(right - matmul(a, x))
        left = reductions.sum(off * off, axis=0)
    return LstsqResult(x[:, 0] if is_vector else x, left, rank, values)
