"""Steps of solvers, which change what they go on with in place, and are recorded."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tilewright import _core
from tilewright._core import InvalidArgument
from tilewright.array import Array
from tilewright.namespace.creation import zeros
from tilewright.namespace.elementwise import where
from tilewright.program import Program
from tilewright.sparse.preconditioners import BlockJacobi

if TYPE_CHECKING:
    from tilewright._core import Recording
    from tilewright.sparse.systems import System


def quotient(a: Array, b: Array) -> Array:
    """0 where there is nothing to divide by: the solution is exact there."""
    none = b == 0
    return where(none, 0 * a, a / where(none, b + 1, b))


class Method:
    """Steps that change x, r and what else a method goes on with in place, so that they can be
    recorded: so many different ones in turns."""

    turns = 1

    def __init__(self, system: System, x: Array, r: Array) -> None:
        self.system = system
        self.x, self.r = self._own(x), self._own(r)

    def _own(self, x: Array) -> Array:
        own = zeros(x.shape, dtype=self.system.dtype, device=self.system.backend)
        own[...] = x
        return own

    def step(self, turn: int) -> None:
        raise NotImplementedError


class ConjugateGradients(Method):
    def __init__(self, system: System, x: Array, r: Array) -> None:
        super().__init__(system, x, r)
        z = system.precondition(self.r)
        self.p, self.rz = self._own(z), self._own(system.dot(self.r, z))

    def step(self, turn: int) -> None:
        system, p = self.system, self.p
        q = system.a @ p
        alpha = quotient(self.rz, system.dot(p, q))
        self.x += alpha * p
        self.r -= alpha * q
        z = system.precondition(self.r)
        rz = system.dot(self.r, z)
        p *= quotient(rz, self.rz)
        p += z
        self.rz[...] = rz


class RealConjugateGradients(Method):
    """For a vector of real numbers and a preconditioner that is none or a diagonal: the same in as
    few launches as can be."""

    turns = 2

    def __init__(self, system: System, x: Array, r: Array) -> None:
        super().__init__(system, x, r)
        self.scales = [] if system.diagonal is None else [self._own(system.diagonal)]
        self.p = self._own(system.precondition(self.r))
        first = self._own(system.dot(self.r, self.p))
        self.rz = (first, self._own(first))
        self.pq = self._own(first)
        self.programs = real_programs(system.dtype.name, len(self.scales))

    def step(self, turn: int) -> None:
        backend, shape, p, r = self.system.backend, self.system.shape, self.p, self.r
        product, forward, scaled, turned = self.programs
        before, after, pq = ((one, (0,)) for one in (self.rz[turn], self.rz[1 - turn], self.pq))
        q = self.system.a @ p
        backend.map_reduce(product, "sum", shape, (0,), [p, q], [], [self.pq])
        backend.map(forward, shape, [before, pq, p, q, self.x, r], [], [self.x, r])
        backend.map_reduce(
            scaled, "sum", shape, (0,), [r, *self.scales], [], [self.rz[1 - turn]]
        )  # fmt: skip
        backend.map(turned, shape, [after, before, p, r, *self.scales], [], [p])


@functools.lru_cache
def real_programs(dtype: str, scales: int) -> tuple[Program, Program, Program, Program]:
    """p q; x and r a step on; r z; and p for the next step."""

    def inputs(count: int) -> tuple[Program, list[Any]]:
        program = Program()
        return program, [program.input(dtype) for _ in range(count)]

    def quotient(a: Any, b: Any) -> Any:
        return (b == 0).where(a * 0, a / (b == 0).where(b + 1, b))

    product, (p, q) = inputs(2)
    product.output(p * q)
    forward, (rz, pq, p, q, x, r) = inputs(6)
    alpha = quotient(rz, pq)
    forward.output(x + alpha * p, r - alpha * q)
    scaled, (r, *scale) = inputs(1 + scales)
    scaled.output(r * (r * scale[0] if scale else r))
    turned, (after, before, p, r, *scale) = inputs(4 + scales)
    turned.output((r * scale[0] if scale else r) + quotient(after, before) * p)
    return product, forward, scaled, turned


class BiConjugateGradients(Method):
    def __init__(self, system: System, x: Array, r: Array) -> None:
        super().__init__(system, x, r)
        self.shadow, self.p = self._own(r), self._own(r)
        self.rho = self._own(system.dot(r, r))

    def step(self, turn: int) -> None:
        system = self.system
        p = system.precondition(self.p)
        v = system.a @ p
        alpha = quotient(self.rho, system.dot(self.shadow, v))
        s = self.r - alpha * v
        t_of = system.precondition(s)
        t = system.a @ t_of
        omega = quotient(system.dot(t, s), system.dot(t, t))
        self.x += alpha * p + omega * t_of
        self.r[...] = s - omega * t
        rho = system.dot(self.shadow, self.r)
        beta = quotient(rho, self.rho) * quotient(alpha, omega)
        self.p[...] = self.r + beta * (self.p - omega * v)
        self.rho[...] = rho


class Steps:
    """The steps of a method, recorded once where all that they do is this package's."""

    def __init__(self, method: Method, callback: Callable[[Array], Any] | None) -> None:
        self.method, self.callback = method, callback
        system = method.system
        self.is_recorded = callback is None and is_known(system.a) and system.is_known
        self.recordings: dict[int, Recording] = {}
        self.taken = 0

    def run(self, count: int) -> None:
        for _ in range(count):
            turn = self.taken % self.method.turns
            self.taken += 1
            if self.is_recorded and turn not in self.recordings:
                self._record(turn)
            if self.is_recorded:
                self.recordings[turn].replay()
                continue
            self.method.step(turn)
            if self.callback is not None:
                self.callback(self.method.x.copy())

    def _record(self, turn: int) -> None:
        before = _core._set_deferred_here(True)
        try:
            with self.method.system.backend.record() as recording:
                self.method.step(turn)
            self.recordings[turn] = recording
        except InvalidArgument:  # another thread records
            self.is_recorded = False
        finally:
            _core._set_deferred_here(before)


def is_known(matrix: Any) -> bool:
    """Whether products with it only queue work."""
    return isinstance(matrix, (Array, BlockJacobi)) or (
        getattr(matrix, "_is_sparse", False) and matrix.format in ("csr", "csc", "bsr")
    )
