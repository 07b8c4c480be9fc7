"""Solvers of linear systems by products with the matrix alone. Vectors and the numbers between them
stay on the device; what tells how far the solution is comes to the host every few steps.

They have SciPy's names, arguments and results: the solution, and 0 or the number of steps where it
did not converge. That number knows the residual, and a ConvergenceWarning says it.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from tilewright.array import Array
from tilewright.linalg import inv
from tilewright.namespace.creation import asarray, zeros
from tilewright.namespace.elementwise import sqrt, where
from tilewright.namespace.linear import matmul
from tilewright.namespace.manipulation import concat
from tilewright.namespace.products import vecdot
from tilewright.namespace.selection import nonzero, take
from tilewright.operands import FLOAT16, INT32, invalid, shown, to_integer
from tilewright.sparse import structure

if TYPE_CHECKING:
    from tilewright.sparse.base import SparseArray

__all__ = ["BlockJacobi", "ConvergenceWarning", "Info", "bicgstab", "block_jacobi", "cg", "gmres"]

#: Steps between looks at the residual.
EVERY = 16


class ConvergenceWarning(RuntimeWarning):
    """A solver ended before the residual was small enough."""


class Info(int):
    """0 where a solver converged, else how many steps it took; as SciPy has it.

    `residual` is the norm of b - A x, computed anew for the solution, `tolerance` what it was to
    come below, and `iterations` the steps.
    """

    residual: float
    tolerance: float
    iterations: int

    def __new__(cls, converged: bool, residual: float, tolerance: float, iterations: int) -> Info:
        made = super().__new__(cls, 0 if converged else max(iterations, 1))
        made.residual, made.tolerance, made.iterations = residual, tolerance, iterations
        return made


class Operator(Protocol):
    """What is multiplied by: a sparse array, a matrix, or what has a shape and @."""

    @property
    def shape(self) -> tuple[int, ...]: ...

    def __matmul__(self, x: Any, /) -> Any: ...


Preconditioner = Array | Operator | str | None


class System:
    """A x = b with its preconditioner, checked."""

    def __init__(
        self,
        call: str,
        a: Any,
        b: Any,
        x0: Any,
        rtol: float,
        atol: float,
        maxiter: int | None,
        m: Preconditioner,
        check_every: int,
    ) -> None:
        self.call, self.a = call, a
        shape = getattr(a, "shape", None)
        if not isinstance(shape, tuple) or not hasattr(a, "__matmul__"):
            invalid(call, f"A is {shown(a)}, expected a sparse array or a matrix")
        if len(shape) != 2 or shape[0] != shape[1]:
            invalid(call, f"A has shape {shape}, expected a square matrix")
        self.n = shape[0]
        like = next((one for one in (b, a, x0) if hasattr(one, "backend")), None)
        if like is None:
            invalid(call, f"b is {shown(b)}, expected an Array; write tw.asarray(b)")
        backend = like.backend
        b = b if isinstance(b, Array) else asarray(b, device=backend)
        if b.shape != (self.n,):
            invalid(call, f"b has shape {b.shape}, expected {(self.n,)} as A has rows")
        dtype = np.dtype(getattr(a, "dtype", b.dtype))
        if b.dtype.kind in "fc":
            dtype = np.result_type(dtype, b.dtype)
        if dtype not in map(np.dtype, ("float32", "float64", "complex64", "complex128")):
            invalid(
                call, f"A is {dtype}, expected float32, float64, complex64 or complex128; write "
                "A.astype('float32')"
            )  # fmt: skip
        self.b: Array = b.astype(dtype, copy=False)
        self.dtype, self.backend = dtype, backend
        self.start = self._start(x0)
        for name, value in (("rtol", rtol), ("atol", atol)):
            if not (isinstance(value, (int, float, np.floating)) and 0 <= value < math.inf):
                invalid(call, f"{name} is {shown(value)}, expected a number of 0 or more")
        steps = 10 * self.n if maxiter is None else to_integer(call, "maxiter", maxiter)
        if steps < 0:
            invalid(call, f"maxiter is {steps}, expected 0 or more")
        self.most = steps
        self.every = to_integer(call, "check_every", check_every)
        if self.every < 1:
            invalid(call, f"check_every is {self.every}, expected 1 or more")
        self.precondition = self._preconditioner(m)
        size = self.norm(self.b)
        self.tolerance = max(float(atol), float(rtol) * size)
        if size == 0:  # the solution is 0, wherever one starts
            self.start = zeros(self.n, dtype=self.dtype, device=self.backend)

    def _start(self, x0: Any) -> Array:
        if x0 is None:
            return zeros(self.n, dtype=self.dtype, device=self.backend)
        x = x0 if isinstance(x0, Array) else asarray(x0, device=self.backend)
        if x.shape != (self.n,):
            invalid(self.call, f"x0 has shape {x.shape}, expected {(self.n,)} as A has columns")
        return x.astype(self.dtype, copy=True)

    def _preconditioner(self, m: Preconditioner) -> Callable[[Array], Array]:
        if m is None:
            return lambda r: r
        if isinstance(m, str):
            if m != "jacobi":
                invalid(self.call, f"M is {m!r}, expected 'jacobi', an Array or a matrix")
            diagonal = self.a.diagonal()
            missing = diagonal == 0
            if bool(missing.any()):
                at = int(missing.astype(INT32).argmax())
                invalid(
                    self.call, f"M is 'jacobi', but the diagonal of A is 0 at {at}; write M=None"
                )
            m = 1 / diagonal.astype(self.dtype, copy=False)
        shape = getattr(m, "shape", None)
        if shape == (self.n,):
            inverse: Any = m if isinstance(m, Array) else asarray(m, device=self.backend)
            inverse = inverse.astype(self.dtype, copy=False)
            return lambda r: inverse * r
        if shape != (self.n, self.n):
            invalid(
                self.call, f"M is {shown(m)}, expected 'jacobi', a vector of {self.n} or a matrix "
                f"of shape {(self.n, self.n)}"
            )  # fmt: skip
        matrix: Any = m
        return lambda r: matrix @ r

    def residual(self, x: Array) -> Array:
        return self.b - self.a @ x  # type: ignore[no-any-return]

    def norm(self, x: Array) -> float:
        """Read from the device."""
        return math.sqrt(max(float(np.real(vecdot(x, x).item())), 0.0))

    def is_small(self, norm: float) -> bool:
        return norm <= self.tolerance

    def result(self, x: Array, residual: float, steps: int) -> tuple[Array, Info]:
        info = Info(self.is_small(residual), residual, self.tolerance, steps)
        if info:
            warnings.warn(
                f"{self.call}: not converged after {steps} iterations: the residual is "
                f"{residual:.3g}, expected {self.tolerance:.3g} or less",
                ConvergenceWarning,
                stacklevel=3,
            )
        return x, info


class BlockJacobi:
    """The inverses of the square blocks along a matrix's diagonal, as a matrix, by
    block_jacobi()."""

    def __init__(self, inverses: Array, n: int) -> None:
        self.inverses, self.shape = inverses, (n, n)
        self.dtype = inverses.dtype

    def __matmul__(self, x: Array) -> Array:
        n, (count, size, _) = self.shape[0], self.inverses.shape
        if x.shape[:1] != (n,) or x.ndim > 2:
            invalid("matmul", f"x2 has shape {x.shape}, expected {n} rows")
        columns = 1 if x.ndim == 1 else x.shape[1]
        lines = x.reshape((n, columns))
        if count * size != n:
            behind = zeros((count * size - n, columns), dtype=x.dtype, device=x.backend)
            lines = concat([lines, behind])
        found = matmul(self.inverses, lines.reshape((count, size, columns)))
        return found.reshape((count * size, columns))[:n].reshape(x.shape)


def block_jacobi(A: SparseArray, blocksize: int, *, dtype: Any = None) -> BlockJacobi:
    """A preconditioner M for the solvers: the inverses of the blocks of so many rows and columns
    along A's diagonal, of which the last one may be smaller. LinAlgError where one has none."""
    from tilewright.sparse import elements

    call = "block_jacobi"
    if not getattr(A, "_is_sparse", False):
        invalid(call, f"A is {shown(A)}, expected a sparse array")
    n = A.shape[0]
    if A.shape[1] != n:
        invalid(call, f"A has shape {A.shape}, expected a square matrix")
    size = to_integer(call, "blocksize", blocksize)
    if not 1 <= size <= max(n, 1):
        invalid(call, f"blocksize is {size}, expected 1 to {max(n, 1)}")
    wanted = structure.to_dtype(call, A.dtype if dtype is None else dtype)
    if wanted == FLOAT16:
        invalid(call, "dtype is float16, expected float32 or another that has inverses")
    coo = elements.canonical(A)
    count = -(-n // size)
    blocks = zeros(count * size * size, dtype=wanted, device=A.backend)
    (places,) = nonzero(coo.row // size == coo.col // size)
    if places.size:
        row, col = take(coo.row, places), take(coo.col, places)
        data = take(coo.data, places).astype(wanted, copy=False)
        blocks[row // size * (size * size) + row % size * size + col % size] = data
    blocks = blocks.reshape((count, size, size), copy=False)
    for i in range(n - (count - 1) * size if count else 0, size):
        blocks[-1, i, i] = 1  # beyond the matrix
    return BlockJacobi(inv(blocks), n)


def _quotient(a: Array, b: Array) -> Array:
    """0 where there is nothing to divide by: the solution is exact there."""
    none = b == 0
    return where(none, 0 * a, a / where(none, b + 1, b))


Callback = Callable[[Array], Any] | None


def _run(
    system: System, callback: Callback, begin: Callable[[Array, Array], Any]
) -> tuple[Array, Info]:
    """Steps of a method until what it takes for the residual is small, and the residual is so
    itself: where it is not, for rounding errors, the method starts again from there."""
    x, steps = system.start, 0
    r = system.residual(x)
    norm = system.norm(r)
    while not system.is_small(norm) and steps < system.most and math.isfinite(norm):
        before = norm
        state = begin(x, r)
        while steps < system.most:
            for _ in range(min(system.every, system.most - steps)):
                x, r = state.step()
                steps += 1
                if callback is not None:
                    callback(x)
            guess = system.norm(r)
            if system.is_small(guess) or not math.isfinite(guess):
                break
        r = system.residual(x)
        norm = system.norm(r)
        if not norm < 0.9 * before:
            break  # no further by this precision
    return system.result(x, norm, steps)


class _ConjugateGradients:
    def __init__(self, system: System, x: Array, r: Array) -> None:
        self.system, self.x, self.r = system, x, r
        z = system.precondition(r)
        self.p, self.rz = z, vecdot(r, z)

    def step(self) -> tuple[Array, Array]:
        q = self.system.a @ self.p
        alpha = _quotient(self.rz, vecdot(self.p, q))
        self.x = self.x + alpha * self.p
        self.r = self.r - alpha * q
        z = self.system.precondition(self.r)
        rz = vecdot(self.r, z)
        self.p = z + _quotient(rz, self.rz) * self.p
        self.rz = rz
        return self.x, self.r


class _BiConjugateGradients:
    def __init__(self, system: System, x: Array, r: Array) -> None:
        self.system, self.x, self.r = system, x, r
        self.shadow, self.p, self.rho = r, r, vecdot(r, r)

    def step(self) -> tuple[Array, Array]:
        system = self.system
        p = system.precondition(self.p)
        v = system.a @ p
        alpha = _quotient(self.rho, vecdot(self.shadow, v))
        s = self.r - alpha * v
        t_of = system.precondition(s)
        t = system.a @ t_of
        omega = _quotient(vecdot(t, s), vecdot(t, t))
        self.x = self.x + alpha * p + omega * t_of
        self.r = s - omega * t
        rho = vecdot(self.shadow, self.r)
        beta = _quotient(rho, self.rho) * _quotient(alpha, omega)
        self.p = self.r + beta * (self.p - omega * v)
        self.rho = rho
        return self.x, self.r


def cg(
    A: Operator,
    b: Array,
    x0: Array | None = None,
    *,
    rtol: float = 1e-5,
    atol: float = 0.0,
    maxiter: int | None = None,
    M: Preconditioner = None,
    callback: Callback = None,
    check_every: int = EVERY,
) -> tuple[Array, Info]:
    """x of A x = b by conjugate gradients, A symmetric or Hermitian and positive definite, until
    the residual's norm is at most max(rtol * norm(b), atol). M is about the inverse of A: a matrix,
    a vector of its diagonal, or "jacobi" for that of A. Gives x and an Info: 0 where it converged.
    The residual is read every `check_every` steps."""
    system = System("cg", A, b, x0, rtol, atol, maxiter, M, check_every)
    return _run(system, callback, lambda x, r: _ConjugateGradients(system, x, r))


def bicgstab(
    A: Operator,
    b: Array,
    x0: Array | None = None,
    *,
    rtol: float = 1e-5,
    atol: float = 0.0,
    maxiter: int | None = None,
    M: Preconditioner = None,
    callback: Callback = None,
    check_every: int = EVERY,
) -> tuple[Array, Info]:
    """cg() for any square matrix, by stabilised biconjugate gradients."""
    system = System("bicgstab", A, b, x0, rtol, atol, maxiter, M, check_every)
    return _run(system, callback, lambda x, r: _BiConjugateGradients(system, x, r))


def gmres(
    A: Operator,
    b: Array,
    x0: Array | None = None,
    *,
    rtol: float = 1e-5,
    atol: float = 0.0,
    restart: int | None = None,
    maxiter: int | None = None,
    M: Preconditioner = None,
    callback: Callback = None,
) -> tuple[Array, Info]:
    """x of A x = b for any square matrix by generalised minimal residuals, started again after
    `restart` products, 20 unless given. `maxiter` counts these restarts, and so do the steps that
    Info has. callback gets x after each. M is that of cg(), from the right."""
    system = System("gmres", A, b, x0, rtol, atol, maxiter, M, 1)
    deep = 20 if restart is None else to_integer("gmres", "restart", restart)
    if deep < 1:
        invalid("gmres", f"restart is {deep}, expected 1 or more")
    deep = min(deep, max(system.n, 1))
    x, cycles = system.start, 0
    r = system.residual(x)
    norm = system.norm(r)
    while not system.is_small(norm) and cycles < system.most and math.isfinite(norm):
        before = norm
        x = x + system.precondition(_minimal(system, r, norm, deep))
        cycles += 1
        if callback is not None:
            callback(x)
        r = system.residual(x)
        norm = system.norm(r)
        if not norm < before:
            break
    return system.result(x, norm, cycles)


def _minimal(system: System, r: Array, norm: float, deep: int) -> Array:
    """Of the space that r and its products span, what leaves the least residual. Only the small
    matrix of the basis comes to the host."""
    basis = zeros((deep + 1, system.n), dtype=system.dtype, device=system.backend)
    upper = zeros((deep + 1, deep), dtype=system.dtype, device=system.backend)
    basis[0] = r / norm
    for j in range(deep):
        known = basis[: j + 1]
        w = system.a @ system.precondition(basis[j])
        for _ in range(2):  # once more, against rounding errors
            along = known.conj() @ w
            w = w - along @ known
            upper[: j + 1, j] += along
        length = sqrt(vecdot(w, w).real) if system.dtype.kind == "c" else sqrt(vecdot(w, w))
        upper[j + 1, j] = length
        basis[j + 1] = w * _quotient(length * 0 + 1, length)
    host = upper.numpy()
    right = np.zeros(deep + 1, host.dtype)
    right[0] = norm
    if not np.isfinite(host).all():
        return zeros(system.n, dtype=system.dtype, device=system.backend)
    y = np.linalg.lstsq(host, right, rcond=None)[0]
    return asarray(y.astype(system.dtype), device=system.backend) @ basis[:deep]
