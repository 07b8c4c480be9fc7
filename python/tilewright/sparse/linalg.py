"""Solvers of linear systems by products with the matrix alone. Vectors and the numbers between them
stay on the device; what tells how far the solution is comes to the host every few steps.

They have SciPy's names, arguments and results: the solution, and 0 or the number of steps where it
did not converge. That number knows the residual, and a ConvergenceWarning says it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tilewright.array import Array
from tilewright.namespace.creation import asarray, zeros
from tilewright.namespace.elementwise import sqrt
from tilewright.namespace.products import vecdot
from tilewright.operands import invalid, to_integer
from tilewright.sparse.methods import (
    BiConjugateGradients,
    ConjugateGradients,
    Method,
    RealConjugateGradients,
    Steps,
    quotient,
)
from tilewright.sparse.preconditioners import BlockJacobi, block_jacobi
from tilewright.sparse.systems import (
    ConvergenceWarning,
    Info,
    Operator,
    Preconditioner,
    System,
)

__all__ = ["BlockJacobi", "ConvergenceWarning", "Info", "bicgstab", "block_jacobi", "cg", "gmres"]

#: Steps between looks at the residual.
EVERY = 16


Callback = Callable[[Array], Any] | None


def _of_whole(system: System, callback: Callable[[Array], Any]) -> Callable[[Array], Any]:
    return lambda x: callback(system.whole(x))


def _run(
    system: System, callback: Callback, method: Callable[[System, Array, Array], Method]
) -> tuple[Array, Info]:
    """Steps of a method until what it takes for the residual is small, and the residual is so
    itself: where it is not, for rounding errors, the method starts again from there."""
    x, taken = system.start, 0
    if callback is not None and system.scale is not None:
        callback = _of_whole(system, callback)
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
    deep = min(deep, system.n or 1)
    x, cycles = system.start, 0
    r = system.residual(x)
    norm = system.norm(r)
    while not system.is_small(norm) and cycles < system.most and np.all(np.isfinite(norm)):
        before = norm
        x = x + system.precondition(_minimal(system, r, norm, deep))
        cycles += 1
        if callback is not None:
            callback(system.whole(x))
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
