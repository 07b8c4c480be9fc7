"""Solvers of linear systems by products with the matrix alone. Vectors and the numbers between them
stay on the device; what tells how far the solution is comes to the host every few steps.

They have SciPy's names, arguments and results: the solution, and 0 or the number of steps where it
did not converge. That number knows the residual, and a ConvergenceWarning says it.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from tilewright.array import Array
from tilewright.namespace.creation import asarray, zeros
from tilewright.namespace.elementwise import sqrt, where
from tilewright.namespace.products import vecdot
from tilewright.operands import INT32, invalid, shown, to_integer
from tilewright.sparse.methods import (
    BiConjugateGradients,
    ConjugateGradients,
    Method,
    RealConjugateGradients,
    Steps,
    is_known,
    quotient,
)
from tilewright.sparse.preconditioners import BlockJacobi, block_jacobi

__all__ = ["BlockJacobi", "ConvergenceWarning", "Info", "bicgstab", "block_jacobi", "cg", "gmres"]

#: Steps between looks at the residual.
EVERY = 16


class ConvergenceWarning(RuntimeWarning):
    """A solver ended before the residual was small enough."""


class Info(int):
    """0 where a solver converged, else how many steps it took; as SciPy has it.

    `residual` is the norm of b - A x, computed anew for the solution, `tolerance` what it was to
    come below, and `iterations` the steps. Of several right-hand sides the first two are NumPy's
    arrays of one number each.
    """

    residual: Any
    tolerance: Any
    iterations: int

    def __new__(cls, converged: bool, residual: Any, tolerance: Any, iterations: int) -> Info:
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
        if b.shape[:1] != (self.n,) or b.ndim > 2:
            invalid(call, f"b has shape {b.shape}, expected {(self.n,)} as A has rows")
        self.shape = b.shape
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
        self.diagonal: Array | None = None
        self.is_known = m is None or isinstance(m, str) or is_known(m)
        self.precondition = self._preconditioner(m)
        size = self.norm(self.b)
        self.tolerance: Any = np.maximum(float(atol), float(rtol) * size)
        if np.any(size == 0):  # the solution is 0, wherever one starts
            none = asarray(np.asarray(size == 0), device=self.backend)
            self.start = where(none, 0 * self.b, self.start)

    def _start(self, x0: Any) -> Array:
        if x0 is None:
            return zeros(self.shape, dtype=self.dtype, device=self.backend)
        x = x0 if isinstance(x0, Array) else asarray(x0, device=self.backend)
        if x.shape != self.shape:
            invalid(self.call, f"x0 has shape {x.shape}, expected {self.shape} as b has")
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
            self.diagonal = inverse
            if len(self.shape) == 2:
                inverse = inverse.reshape((self.n, 1))
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

    def dot(self, x: Array, y: Array) -> Array:
        """Of each right-hand side."""
        return vecdot(x, y, axis=-len(self.shape))

    def norm(self, x: Array) -> Any:
        """Read from the device: a number, or one of each right-hand side."""
        squares = np.maximum(np.real(self.dot(x, x).numpy()).astype(np.float64), 0.0)
        return np.sqrt(squares)[()]

    def is_small(self, norm: Any) -> bool:
        return bool(np.all(norm <= self.tolerance))

    def is_nearer(self, norm: Any, before: Any) -> bool:
        """Whether one of those that are not small enough is."""
        return bool(np.any((norm < before) & (norm > self.tolerance)))

    def result(self, x: Array, residual: Any, steps: int) -> tuple[Array, Info]:
        info = Info(self.is_small(residual), residual, self.tolerance, steps)
        if info:
            worst = np.argmax(np.atleast_1d(residual - self.tolerance))
            left, wanted = np.atleast_1d(residual)[worst], np.atleast_1d(self.tolerance)[worst]
            warnings.warn(
                f"{self.call}: not converged after {steps} iterations: the residual is "
                f"{left:.3g}, expected {wanted:.3g} or less",
                ConvergenceWarning,
                stacklevel=3,
            )
        return x, info


Callback = Callable[[Array], Any] | None


def _run(
    system: System, callback: Callback, method: Callable[[System, Array, Array], Method]
) -> tuple[Array, Info]:
    """Steps of a method until what it takes for the residual is small, and the residual is so
    itself: where it is not, for rounding errors, the method starts again from there."""
    x, taken = system.start, 0
    r = system.residual(x)
    norm = system.norm(r)
    while not system.is_small(norm) and taken < system.most and np.all(np.isfinite(norm)):
        before = norm
        state = method(system, x, r)
        steps = Steps(state, callback)
        while taken < system.most:
            count = min(system.every, system.most - taken)
            steps.run(count)
            taken += count
            guess = system.norm(state.r)
            if system.is_small(guess) or not np.all(np.isfinite(guess)):
                break
        x = state.x
        r = system.residual(x)
        norm = system.norm(r)
        if not system.is_nearer(norm, 0.9 * before):
            break  # no further by this precision
    return system.result(x, norm, taken)


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
    the residual's norm is at most max(rtol * norm(b), atol). b may be a matrix, whose columns are
    solved for side by side. M is about the inverse of A: a matrix,
    a vector of its diagonal, or "jacobi" for that of A. Gives x and an Info: 0 where it converged.
    The residual is read every `check_every` steps."""
    system = System("cg", A, b, x0, rtol, atol, maxiter, M, check_every)
    is_real = system.dtype.kind == "f" and len(system.shape) == 1
    by_programs = is_real and (M is None or system.diagonal is not None)
    return _run(
        system, callback, RealConjugateGradients if by_programs else ConjugateGradients
    )  # fmt: skip


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
    return _run(system, callback, BiConjugateGradients)


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
    while not system.is_small(norm) and cycles < system.most and np.all(np.isfinite(norm)):
        before = norm
        x = x + system.precondition(_minimal(system, r, norm, deep))
        cycles += 1
        if callback is not None:
            callback(x)
        r = system.residual(x)
        norm = system.norm(r)
        if not system.is_nearer(norm, before):
            break
    return system.result(x, norm, cycles)


def _minimal(system: System, r: Array, norm: Any, deep: int) -> Array:
    """Of the space that r and its products span, what leaves the least residual. Only the small
    matrix of the basis comes to the host."""
    if len(system.shape) == 2:
        return _minimal_of_each(system, r, norm, deep)
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
        basis[j + 1] = w * quotient(length * 0 + 1, length)
    host = upper.numpy()
    right = np.zeros(deep + 1, host.dtype)
    right[0] = norm
    if not np.isfinite(host).all():
        return zeros(system.n, dtype=system.dtype, device=system.backend)
    y = np.linalg.lstsq(host, right, rcond=None)[0]
    return asarray(y.astype(system.dtype), device=system.backend) @ basis[:deep]


def _minimal_of_each(system: System, r: Array, norm: Any, deep: int) -> Array:
    """The same for each right-hand side, of which those that are 0 stay so."""
    n, count = system.shape
    made: dict[str, Any] = {"dtype": system.dtype, "device": system.backend}
    basis, upper = zeros((count, deep + 1, n), **made), zeros((count, deep + 1, deep), **made)
    length = sqrt(system.dot(r, r).real).astype(system.dtype, copy=False)
    basis[:, 0] = (r * quotient(length * 0 + 1, length)).mT
    for j in range(deep):
        known = basis[:, : j + 1]
        w = (system.a @ system.precondition(basis[:, j].mT)).mT.reshape((count, n, 1))
        for _ in range(2):  # once more, against rounding errors
            along = known.conj() @ w
            w = w - known.mT @ along
            upper[:, : j + 1, j] += along.reshape((count, j + 1))
        w = w.reshape((count, n))
        length = sqrt(vecdot(w, w).real).astype(system.dtype, copy=False).reshape((count, 1))
        upper[:, j + 1, j] = length.reshape((count,))
        basis[:, j + 1] = w * quotient(length * 0 + 1, length)
    host = upper.numpy()
    y = np.zeros((count, deep, 1), host.dtype)
    for i, one in enumerate(host):
        right = np.zeros(deep + 1, host.dtype)
        right[0] = norm[i]
        if np.isfinite(one).all():
            y[i, :, 0] = np.linalg.lstsq(one, right, rcond=None)[0]
    found = basis[:, :deep].mT @ asarray(y.astype(system.dtype), device=system.backend)
    return found.reshape((count, n)).mT
