"""Factorisations of matrices, and what follows from them: solutions, inverses and determinants."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, overload

import numpy as np

from tilewright import _core
from tilewright.array import Array
from tilewright.namespace import reductions
from tilewright.namespace.creation import arange, eye
from tilewright.namespace.dtypes import result_type
from tilewright.namespace.manipulation import broadcast_shapes, broadcast_to
from tilewright.namespace.mixed import together
from tilewright.namespace.products import diagonal
from tilewright.namespace.selection import take, take_along_axis
from tilewright.operands import (
    FLOAT32,
    HALVES,
    INT32,
    complex_dtype,
    invalid,
    name_of,
    parts_dtype,
    shown,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from tilewright.operands import ArrayLike


class LinAlgError(_core.Error, np.linalg.LinAlgError):
    """A matrix has no such result: it is singular, not positive definite, or not finite."""


class QRResult(NamedTuple):
    """What qr() gives."""

    Q: Array
    R: Array


class SlogdetResult(NamedTuple):
    """What slogdet() gives."""

    sign: Array
    logabsdet: Array


class Matrices:
    """The matrices in the last two axes of an Array of floats or complex numbers, one behind
    another, as the trait takes them."""

    def __init__(self, call: str, name: str, x: Any, square: bool = False) -> None:
        if not isinstance(x, Array):
            invalid(call, f"{name} is {shown(x)}, expected an Array; write tw.asarray({name})")
        if x.ndim < 2:
            invalid(call, f"{name} has shape {x.shape}, expected two dimensions at least")
        if square and x.shape[-1] != x.shape[-2]:
            invalid(call, f"{name} has shape {x.shape}, expected square matrices")
        self.call = call
        self.x: Array = of_floats(call, name, x)._contiguous()
        self.backend = x.backend
        self.around = x.shape[:-2]
        self.rows, self.columns = x.shape[-2:]
        self.count = math.prod(self.around)
        self.dtype = self.x.dtype
        self.is_complex = self.dtype.kind == "c"
        #: of the real numbers that elements consist of, or are as large as
        self.parts = parts_dtype(self.dtype) if self.is_complex else self.dtype

    def new(self, *shape: int, dtype: np.dtype[Any] | None = None) -> Array:
        """One result for each matrix."""
        result: Array = self.backend._new((*self.around, *shape), dtype or self.dtype)
        return result

    def run(self, name: str, buffers: list[Any], *arguments: Any) -> None:
        """The trait's call, whose last arguments say what the elements are."""
        if self.x.size:
            getattr(self.backend, name)(*buffers, *arguments, self.is_complex, name_of(self.parts))

    def checked(self, status: Array, why: Callable[[int], str]) -> None:
        """Raises LinAlgError where a status is not 0."""
        if not self.x.size:
            return
        found = status.numpy().reshape(self.count, -1)[:, 0]
        if not found.any():
            return
        at = int(np.flatnonzero(found)[0])
        place = np.unravel_index(at, self.around) if self.around else ()
        which = f"matrix {tuple(map(int, place))}" if self.around else "the matrix"
        raise LinAlgError(f"{self.call}: {which} {why(int(found[at]))}")


def of_floats(call: str, name: str, x: Array) -> Array:
    """In a dtype that is factored: integers and bool in float32."""
    if x.dtype in HALVES:
        invalid(call, f"{name} is {x.dtype}, expected float32; write {name}.astype('float32')")
    return x if x.dtype.kind in "fc" else x.astype(FLOAT32)


def _not_finite_or_slow(status: int) -> str:
    return "has an element that is not finite" if status < 0 else "did not converge"


def cholesky(x: Array, /, *, upper: bool = False) -> Array:
    """L of L @ conj(L).mT, lower triangular, or with `upper` its conjugate transpose, of symmetric
    or Hermitian matrices that are positive definite. One triangle is read."""
    if not isinstance(upper, bool):
        invalid("cholesky", f"upper is {shown(upper)}, expected True or False")
    m = Matrices("cholesky", "x", x, square=True)
    factor, status = m.new(m.rows, m.rows), m.new(dtype=INT32)
    m.run("cholesky", [m.x, factor, status], m.rows, m.count, upper)
    m.checked(status, lambda k: f"is not positive definite: its leading part of order {k} is not")
    return factor


def factored(m: Matrices) -> tuple[Array, Array, Array]:
    """The triangles L and U in one, the order of the rows, and for each matrix where the first
    pivot of 0 is and how many rows were exchanged."""
    n = m.rows
    factors, permutation = m.new(n, n), m.new(n, dtype=INT32)
    status = m.new(2, dtype=INT32)
    m.run("lu", [m.x, factors, permutation, status], n, m.count)
    return factors, permutation, status


def solved(
    call: str, a: Array, b: Array, *, upper: bool, unit: bool = False, trans: str = "none"
) -> Array:
    """b becomes the solution of triangular systems, of as many matrices as there are."""
    m = Matrices(call, "a", a, square=True)
    columns = b.shape[-1]
    if b.size:
        m.run("triangular_solve", [m.x, b, b], m.rows, columns, m.count, upper, trans, unit, False)
    return b


def _refuse_singular(m: Matrices, status: Array) -> None:
    m.checked(status, lambda k: f"is singular: pivot {k} of {m.rows} is 0")


def solve(a: ArrayLike, b: ArrayLike) -> Array:
    """X of a @ X = b, by LU factors with partial pivoting. b of one dimension is a vector, else
    matrices; leading dimensions are broadcast."""
    x1, x2 = together("solve", x1=a, x2=b)
    x1.backend._own("solve", "x2", x2)
    dtype = result_type(of_floats("solve", "x1", x1).dtype, of_floats("solve", "x2", x2).dtype)
    m = Matrices("solve", "x1", x1.astype(dtype, copy=False), square=True)
    right = x2.astype(dtype, copy=False)
    if right.ndim == 0:
        invalid("solve", "x2 has no dimension, expected a vector or matrices")
    is_vector = right.ndim == 1
    if is_vector:
        right = right[:, None]
    if right.shape[-2] != m.rows:
        invalid(
            "solve",
            f"x1 has shape {x1.shape} and x2 {x2.shape}, expected {m.rows} rows in both",
        )
    around = broadcast_shapes(m.around, right.shape[:-2])
    factors, permutation, status = factored(m)
    _refuse_singular(m, status)
    right = broadcast_to(right, (*around, *right.shape[-2:]))
    if around != m.around:
        factors = broadcast_to(factors, (*around, *factors.shape[-2:]))
        permutation = broadcast_to(permutation, (*around, m.rows))
    x = _rows_in_order(right, permutation)
    solved("solve", factors, x, upper=False, unit=True)
    solved("solve", factors, x, upper=True)
    return x[..., 0] if is_vector else x


def _rows_in_order(b: Array, permutation: Array) -> Array:
    if b.size == 0:
        return b.copy()
    if b.ndim == 2:
        return take(b, permutation, axis=0)
    return take_along_axis(b, broadcast_to(permutation[..., None], b.shape), axis=-2)


def inv(a: Array) -> Array:
    """The inverses of square matrices, by LU factors with partial pivoting."""
    m = Matrices("inv", "x", a, square=True)
    factors, permutation, status = factored(m)
    _refuse_singular(m, status)
    return _inverses(m, factors, permutation)


def existing_inverses(x: Array) -> tuple[Array, Array]:
    """inv() of matrices, and which of them are singular and have none."""
    m = Matrices("cond", "x", x, square=True)
    factors, permutation, status = factored(m)
    return _inverses(m, factors, permutation), status[..., 0] != 0


def _inverses(m: Matrices, factors: Array, permutation: Array) -> Array:
    places = arange(m.rows, dtype=INT32, device=m.backend)
    result = (permutation[..., None] == places).astype(m.dtype)
    solved("inv", factors, result, upper=False, unit=True)
    return solved("inv", factors, result, upper=True)


def _signs(status: Array, dtype: np.dtype[Any]) -> Array:
    """1 for an even number of exchanges, -1 for an odd one."""
    odd = status[..., 1] & 1
    signs: Array = (1 - 2 * odd).astype(dtype)
    return signs


def _ones(m: Matrices) -> Array:
    result = m.new()
    result[...] = 1
    return result


def det(a: Array) -> Array:
    """The determinants of square matrices."""
    m = Matrices("det", "x", a, square=True)
    if m.x.size == 0:
        return _ones(m)
    factors, _, status = factored(m)
    result: Array = reductions.prod(diagonal(factors), axis=-1) * _signs(status, m.parts)
    return result


def slogdet(a: Array) -> SlogdetResult:
    """The signs of determinants, or what complex ones are divided by their magnitude, and the
    logarithms of their magnitudes."""
    import tilewright as tw

    m = Matrices("slogdet", "x", a, square=True)
    if m.x.size == 0:
        zeros = m.new(dtype=m.parts)
        zeros[...] = 0
        return SlogdetResult(_ones(m), zeros)
    factors, _, status = factored(m)
    on_it = diagonal(factors)
    signs = reductions.prod(tw.sign(on_it), axis=-1) * _signs(status, m.parts)
    return SlogdetResult(signs, reductions.sum(tw.log(tw.abs(on_it)), axis=-1))


@overload
def qr(a: Array, mode: Literal["reduced", "complete"] = "reduced") -> QRResult: ...
@overload
def qr(a: Array, mode: Literal["r"]) -> Array: ...
@overload
def qr(a: Array, mode: str) -> QRResult | Array: ...
def qr(a: Array, mode: str = "reduced") -> QRResult | Array:
    """Q with orthonormal columns and R upper triangular, whose product x is: with k the smaller of
    x's sizes, Q has k columns, or for mode "complete" as many as rows. For "r" it is R alone."""
    if not isinstance(mode, str) or mode not in ("reduced", "complete", "r"):
        invalid("qr", f'mode is {shown(mode)}, expected "reduced", "complete" or "r"')
    m = Matrices("qr", "x", a)
    k = min(m.rows, m.columns)
    columns = m.rows if mode == "complete" else k
    q, r = m.new(m.rows, columns), m.new(columns, m.columns)
    if k == 0 and q.size:
        q[...] = eye(m.rows, dtype=m.dtype, device=m.backend)
    m.run("qr", [m.x, q, r], m.rows, m.columns, m.count, mode == "complete")
    return r if mode == "r" else QRResult(q, r)


def complex_of(m: Matrices) -> np.dtype[Any]:
    return complex_dtype(m.parts)
