"""Systems of linear equations and their preconditioners, checked, and what a solver says of its
solution."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from tilewright._core import InvalidArgument
from tilewright.array import Array
from tilewright.namespace.creation import asarray, zeros
from tilewright.namespace.elementwise import abs, where
from tilewright.namespace.products import vecdot
from tilewright.namespace.reductions import max
from tilewright.operands import INT32, invalid, shown, to_integer
from tilewright.sparse.methods import is_known

if TYPE_CHECKING:
    from tilewright.backend import Backend


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
        made = super().__new__(cls, 0 if converged else iterations or 1)
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
        self.backend: Backend = like.backend
        b = self._array("b", b)
        if a is not like and hasattr(a, "backend") and a.backend is not self.backend:
            invalid(call, "A and b are on different devices; move one with .to_device()")
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
        self.dtype = dtype
        self.start = self._start(x0)
        relative, absolute = self._number("rtol", rtol), self._number("atol", atol)
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
        #: by what b, x and the residual are divided while it is solved, where norms of theirs are
        #: of squares that the dtype does not hold; powers of two
        self.scale: Any = None
        if not np.all((size > self._reach[0]) & (size < self._reach[1])):
            size = self._rescale()
        self.tolerance: Any = np.maximum(
            absolute if self.scale is None else absolute / self.scale,
            relative * size if relative else np.zeros_like(size),
        )
        if np.any(size == 0):  # the solution is 0, wherever one starts
            none = asarray(np.asarray(size == 0), device=self.backend)
            self.start = where(none, 0 * self.b, self.start)

    def _array(self, name: str, given: Any) -> Array:
        if not isinstance(given, Array):
            try:
                return asarray(given, device=self.backend)
            except (InvalidArgument, TypeError):
                invalid(self.call, f"{name} is {shown(given)}, expected an Array of numbers")
        self.backend._own(self.call, name, given)
        return given

    def _number(self, name: str, value: Any) -> float:
        is_number = isinstance(value, (int, float, np.integer, np.floating))
        try:
            number = float(value) if is_number and not isinstance(value, bool) else math.nan
        except OverflowError:
            number = math.inf
        if not 0 <= number < math.inf:
            invalid(self.call, f"{name} is {shown(value)}, expected a number of 0 or more")
        return number

    def _real(self, name: str, dtype: Any) -> None:
        """What is beside a system of real numbers is real too."""
        if self.dtype.kind == "f" and np.dtype(dtype).kind == "c":
            invalid(self.call, f"{name} is {np.dtype(dtype)}, expected {self.dtype} as A and b are")

    @property
    def _reach(self) -> tuple[float, float]:
        """Between which the squares of norms, and of residuals that are much smaller, are held."""
        info = np.finfo(self.dtype)
        eps = float(info.eps)
        return float(info.tiny) ** 0.5 / eps, float(info.max) ** 0.5 * eps

    def _rescale(self) -> Any:
        """Divides b and where one starts by powers of two, one for each right-hand side; gives the
        norms of b."""
        parts = [self.b.real, self.b.imag] if self.dtype.kind == "c" else [self.b]
        most = np.zeros(self.shape[1:])
        if self.n:
            most = np.max([max(abs(one), axis=0).numpy() for one in parts], axis=0)
        exponents = np.where((most > 0) & np.isfinite(most), np.frexp(most)[1], 0)
        least = np.finfo(self.dtype).minexp
        self.scale = np.ldexp(1.0, np.clip(exponents, least, -least))
        real = self.b.real.dtype if self.dtype.kind == "c" else self.dtype
        by = asarray(np.asarray(1 / self.scale, dtype=real), device=self.backend)
        self.b, self.start = self.b * by, self.start * by
        return self.norm(self.b)

    def whole(self, x: Array) -> Array:
        """The solution of the system that was given."""
        if self.scale is None:
            return x
        real = x.real.dtype if self.dtype.kind == "c" else self.dtype
        found: Array = x * asarray(np.asarray(self.scale, dtype=real), device=self.backend)
        return found

    def _start(self, x0: Any) -> Array:
        if x0 is None:
            return zeros(self.shape, dtype=self.dtype, device=self.backend)
        x = self._array("x0", x0)
        self._real("x0", x.dtype)
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
            inverse: Any = self._array("M", m)
            self._real("M", inverse.dtype)
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
        self._real("M", getattr(m, "dtype", self.dtype))
        if getattr(m, "backend", self.backend) is not self.backend:
            invalid(self.call, "M is on another device than b; move it with .to_device()")
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
        return bool(np.all((norm <= self.tolerance) & np.isfinite(norm)))

    def is_nearer(self, norm: Any, before: Any) -> bool:
        """Whether one of those that are not small enough is."""
        return bool(np.any((norm < before) & (norm > self.tolerance)))

    def result(self, x: Array, residual: Any, steps: int) -> tuple[Array, Info]:
        is_small, tolerance = self.is_small(residual), self.tolerance
        if self.scale is not None:
            x, residual, tolerance = self.whole(x), residual * self.scale, tolerance * self.scale
        info = Info(is_small, residual, tolerance, steps)
        if info:
            with np.errstate(invalid="ignore"):
                worst = np.argmax(np.atleast_1d(residual - tolerance))
            left, wanted = np.atleast_1d(residual)[worst], np.atleast_1d(tolerance)[worst]
            warnings.warn(
                f"{self.call}: not converged after {steps} iterations: the residual is "
                f"{left:.3g}, expected {wanted:.3g} or less",
                ConvergenceWarning,
                stacklevel=3,
            )
        return x, info
