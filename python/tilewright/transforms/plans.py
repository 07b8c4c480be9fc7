"""Plans: the tables of a length on a device, and the products and passes that transform rows by
them. A scale is part of a table, so that it costs nothing."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright.array import Array
from tilewright.namespace import complex_math
from tilewright.namespace.complex_math import Z
from tilewright.namespace.linear import matmul
from tilewright.namespace.manipulation import broadcast_to
from tilewright.program import Program
from tilewright.transforms import tables
from tilewright.transforms.kept import Plan, found
from tilewright.transforms.lengths import smooth_from, takes_steps, without_passes
from tilewright.transforms.steps import InSteps, RealRows, takes, takes_real_rows

if TYPE_CHECKING:
    from tilewright.backend import Backend


# The longest transform that is a product with a matrix, where there are no kernels for it.
LONGEST_PRODUCT = 160


def is_product(n: int, device: str) -> bool:
    """Whether a transform of real numbers, or to these, is best done as one product."""
    return not takes_steps(n, device) and n <= LONGEST_PRODUCT


def product(x: Array, table: Array, of_complex: bool, to_complex: bool) -> Array:
    """Rows of parts or of real numbers times a real matrix."""
    rows = x._contiguous()
    rows = (rows._parts() if of_complex else rows).reshape(-1, table.shape[0])
    result = matmul(rows, table)
    if not to_complex:
        return result.reshape(*x.shape[:-1], table.shape[1])
    paired: Array = result.reshape(*x.shape[:-1], table.shape[1] // 2, 2)._paired()
    return paired


class Direct(Plan):
    """One product with a matrix of roots."""

    def __init__(
        self, backend: Backend, parts: np.dtype[Any], n: int, sign: int, scale: float
    ) -> None:
        super().__init__(backend, parts)
        self.matrix = self.real_table(tables.of_parts(tables.matrix(n, sign) * scale))

    def __call__(self, x: Array) -> Array:
        return product(x, self.matrix, of_complex=True, to_complex=True)


class Split(Plan):
    """Rows as a matrix: its columns are transformed, turned by roots, and then its rows."""

    def __init__(
        self, backend: Backend, parts: np.dtype[Any], n: int, sign: int, scale: float, first: int
    ) -> None:
        super().__init__(backend, parts)
        self.shape = (first, n // first)
        self.columns = plan(backend, parts, first, sign)
        self.rows = plan(backend, parts, n // first, sign)
        self.within = [self.columns, self.rows]
        places = np.outer(*(np.arange(size, dtype=np.int64) for size in self.shape))
        self.turns = self.complex_table(tables.roots(places, n, sign) * scale)

    def __call__(self, x: Array) -> Array:
        columns = x.reshape(*x.shape[:-1], *self.shape).swapaxes(-1, -2)
        turned = self.columns(columns).swapaxes(-1, -2) * self.turns
        return self.rows(turned).swapaxes(-1, -2).reshape(x.shape)


class Convolution(Plan):
    """Bluestein's: any length as a convolution with a chirp, by transforms of a longer one."""

    def __init__(
        self, backend: Backend, parts: np.dtype[Any], n: int, sign: int, scale: float, longer: int
    ) -> None:
        super().__init__(backend, parts)
        self.n = n
        self.forward = plan(backend, parts, longer, -1)
        self.back = plan(backend, parts, longer, 1)
        self.within = [self.forward, self.back]
        chirp = tables.chirp(n, sign)
        self.before = self.complex_table(chirp)
        self.behind = self.complex_table(chirp * (scale / longer))
        answer = np.zeros(longer, complex)
        answer[:n] = chirp.conj()
        answer[longer - n + 1 :] = chirp[:0:-1].conj()
        self.answer = self.complex_table(np.fft.fft(answer))
        self.longer = longer

    def __call__(self, x: Array) -> Array:
        padded = x.backend._new((*x.shape[:-1], self.longer), self.complex)
        padded[..., self.n :] = 0
        target = padded[..., : self.n]
        both = x, broadcast_to(self.before, target.shape)
        x.backend.map(
            _product(self.parts_name), target.shape, _both_parts(*both), [], _both_parts(target)
        )
        convolved = self.back(self.forward(padded) * self.answer)
        result: Array = convolved[..., : self.n] * self.behind
        return result


@cache
def _product(parts: str) -> Program:
    """Of two complex numbers."""
    program = Program()
    one, other = (Z(program.input(parts), program.input(parts)) for _ in range(2))
    both = complex_math.multiply(one, other)
    program.output(both.re, both.im)
    return program


@cache
def _halves(parts: str, to_real: bool) -> Program:
    """What a row of real numbers has to do with half as many complex ones, each of two of them."""
    program = Program()
    one, other, turn = (Z(program.input(parts), program.input(parts)) for _ in range(3))
    even = Z(one.re + other.re, one.im - other.im)
    odd = complex_math.multiply(Z(one.re - other.re, one.im + other.im), turn)
    if to_real:
        program.output(even.re - odd.im, even.im + odd.re)
    else:
        program.output(even.re * 0.5 + odd.re, even.im * 0.5 + odd.im)
    return program


@cache
def _ends(parts: str, outputs: int) -> Program:
    """The sum and the difference of two, each with an imaginary part of 0 where that is asked."""
    program = Program()
    a, b = program.input(parts), program.input(parts)
    zero = program.constant(0.0, parts)
    program.output(*((a + b, a - b) if outputs == 2 else (a + b, zero, a - b, zero)))
    return program


class FromReal(Plan):
    """Of rows of real numbers, the first n // 2 + 1 of the transform."""

    def __init__(self, backend: Backend, parts: np.dtype[Any], n: int, scale: float) -> None:
        super().__init__(backend, parts)
        self.n = n
        self.matrix = self.whole = self.half = None
        if is_product(n, backend.name):
            self.matrix = self.real_table(tables.from_real(n) * scale)
        elif n % 2:
            self.whole = plan(backend, parts, n, -1, scale)
            self.within = [self.whole]
        else:
            self.half = plan(backend, parts, n // 2, -1, scale)
            self.within = [self.half]
            turns = tables.roots(np.arange(1, n // 2), n, -1)
            self.turns = self.complex_table(-0.5j * turns)

    def __call__(self, x: Array) -> Array:
        n = self.n
        if self.matrix is not None:
            return product(x, self.matrix, of_complex=False, to_complex=True)
        if self.whole is not None:
            return self.whole(x.astype(self.complex))[..., : n // 2 + 1]
        assert self.half is not None
        half = n // 2
        z = self.half(x._contiguous().reshape(*x.shape[:-1], half, 2)._paired())
        result = x.backend._new((*x.shape[:-1], half + 1), self.complex)
        first, last = result[..., 0], result[..., half]
        ends = [first._part(0), first._part(1), last._part(0), last._part(1)]
        zero = z[..., 0]
        name = self.parts_name
        x.backend.map(_ends(name, 4), zero.shape, [zero._part(0), zero._part(1)], [], ends)
        inner = z[..., 1:], z[..., :0:-1], broadcast_to(self.turns, z[..., 1:].shape)
        target = result[..., 1:half]
        if target.size:
            x.backend.map(
                _halves(name, False), target.shape, _both_parts(*inner), [], _both_parts(target)
            )
        return result


class ToReal(Plan):
    """From the first n // 2 + 1 of a transform to the n real numbers."""

    def __init__(self, backend: Backend, parts: np.dtype[Any], n: int, scale: float) -> None:
        super().__init__(backend, parts)
        self.n = n
        self.matrix = self.whole = self.half = None
        if is_product(n, backend.name):
            self.matrix = self.real_table(tables.to_real(n) * scale)
        elif n % 2:
            self.whole = plan(backend, parts, n, 1, scale)
            self.within = [self.whole]
        else:
            self.half = plan(backend, parts, n // 2, 1, scale)
            self.within = [self.half]
            self.turns = self.complex_table(tables.roots(np.arange(1, n // 2), n, 1))

    def __call__(self, x: Array) -> Array:
        n, half = self.n, self.n // 2
        if self.matrix is not None:
            return product(x, self.matrix, of_complex=True, to_complex=False)
        if self.whole is not None:
            full = x.backend._new((*x.shape[:-1], n), self.complex)
            full[..., : half + 1] = x
            full[..., 0]._part(1)[...] = 0
            full[..., half + 1 :] = x[..., :0:-1]
            mirrored = full[..., half + 1 :]._part(1)
            mirrored *= -1
            return self.whole(full)._part(0)._contiguous()
        assert self.half is not None
        z = x.backend._new((*x.shape[:-1], half), self.complex)
        ends = [x[..., 0]._part(0), x[..., half]._part(0)]
        name = self.parts_name
        x.backend.map(_ends(name, 2), ends[0].shape, ends, [], _both_parts(z[..., 0]))
        target = z[..., 1:]
        inner = x[..., 1:half], x[..., half - 1 : 0 : -1], broadcast_to(self.turns, target.shape)
        if target.size:
            x.backend.map(
                _halves(name, True), target.shape, _both_parts(*inner), [], _both_parts(target)
            )
        return self.half(z)._parts().reshape(*x.shape[:-1], n)


def _both_parts(*arrays: Array) -> list[Array]:
    return [x._part(i) for x in arrays for i in range(2)]


def plan(backend: Backend, parts: np.dtype[Any], n: int, sign: int, scale: float = 1.0) -> Plan:
    """Of complex rows: sign is -1 for the transform, 1 for its inverse."""

    def make() -> Plan:
        if takes(backend, parts, n):
            return InSteps(backend, parts, n, sign, scale)
        if n <= LONGEST_PRODUCT:
            return Direct(backend, parts, n, sign, scale)
        rest = without_passes(n, backend.name)
        if rest < min(n, LONGEST_PRODUCT + 1):
            return Split(backend, parts, n, sign, scale, n // rest)
        return Convolution(backend, parts, n, sign, scale, smooth_from(2 * n - 1))

    return found(backend, (parts, n, sign, scale), make)


def from_real(backend: Backend, parts: np.dtype[Any], n: int, scale: float) -> Plan:
    key = (parts, n, "from real", scale)
    if takes_real_rows(backend, parts, n):
        return found(backend, key, lambda: RealRows(backend, parts, n, -1, scale))
    return found(backend, key, lambda: FromReal(backend, parts, n, scale))


def to_real(backend: Backend, parts: np.dtype[Any], n: int, scale: float) -> Plan:
    key = (parts, n, "to real", scale)
    if takes_real_rows(backend, parts, n):
        return found(backend, key, lambda: RealRows(backend, parts, n, 1, scale))
    return found(backend, key, lambda: ToReal(backend, parts, n, scale))
