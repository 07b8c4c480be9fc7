"""Lengths that the trait's fft() transforms: those of factors that it has passes of, in one step or
in Stockham's steps of shorter ones, each of which reads and writes all elements once; in one step
all others on the CPU, and short ones on WebGPU."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright import tracing
from tilewright.array import Array
from tilewright.transforms import tables
from tilewright.transforms.kept import Plan, found
from tilewright.transforms.lengths import is_convolved, power_from, steps, takes_steps

if TYPE_CHECKING:
    from collections.abc import Callable

    from tilewright.backend import Backend

#: of one step on the CPU
LONGEST_ON_CPU = 1 << 14
#: of real rows there whose length is even, which the backend takes apart itself
LONGEST_REAL_ON_CPU = 1 << 21
#: on GPUs, where neighbouring lines share a workgroup's memory, by their backend
LONGEST_ACROSS = {"cpu": 4096, "webgpu": 512, "level-zero": 256}
#: on WebGPU where so few bytes stay in the caches, and a workgroup has memory for four lines
LONGEST_OF_FEW, FEW_BYTES, FOUR_LINES_BYTES = 1024, 16 << 20, 4 * 1089 * 8


def longest_step(backend: Backend, parts: np.dtype[Any]) -> int:
    """What the trait's fft() takes on such a device."""
    if backend.name == "cpu":
        return LONGEST_ON_CPU
    if backend.name == "level-zero":
        return 512
    held = backend.device.limits["max_workgroup_memory_bytes"] // (2 * parts.itemsize)
    return min(4096, (held - 1) * 16 // 17)


def longest_step_across(backend: Backend) -> int:
    """What is best taken in one step along an axis that is not the last one."""
    return LONGEST_ACROSS[backend.name]


def takes(backend: Backend, parts: np.dtype[Any], n: int) -> bool:
    """Whether the trait's fft() transforms such a length: on a GPU what is convolved as a whole, by
    transforms that a workgroup holds, in one step as well."""
    if backend.name == "cpu" or takes_steps(n, backend.name):
        return True
    if backend.name != "webgpu":
        return False
    return is_convolved(n) and power_from(2 * n - 1) <= longest_step(backend, parts)


def _steps(n: int, longest: int, device: str) -> tuple[int, ...]:
    return steps(n, longest) if takes_steps(n, device) else (n,)


def roots_of(backend: Backend, n: int, real: bool = False) -> tables.Host:
    """What the trait's fft() or fft_real() takes as roots."""
    if takes_steps(n, backend.name):
        return tables.roots(np.arange(n), n, -1)
    return backend.fft_roots(n, real)


def longest_step_of_few(backend: Backend, parts: np.dtype[Any]) -> int:
    """The same of arrays of FEW_BYTES at most, of which one step less is worth more."""
    longest = longest_step_across(backend)
    if backend.name != "webgpu" or parts.itemsize > 4:
        return longest
    held = backend.device.limits["max_workgroup_memory_bytes"]
    return LONGEST_OF_FEW if held >= FOUR_LINES_BYTES else longest


class Tables(Plan):
    """The roots of the steps of a length, for transforms and inverses of any scale."""

    def __init__(self, backend: Backend, parts: np.dtype[Any], n: int, longest: int) -> None:
        super().__init__(backend, parts)
        self.steps: list[tuple[int, int, Array, Array | None]] = []
        rest = n
        for size in _steps(n, longest, backend.name):
            whole, rest = rest, rest // size
            roots = self.complex_table(roots_of(backend, size))
            turns = self.complex_table(tables.turns(whole)) if rest > 1 else None
            self.steps.append((size, rest, roots, turns))


class InSteps(Plan):
    """Of one direction and scale, along any axis."""

    def __init__(
        self, backend: Backend, parts: np.dtype[Any], n: int, sign: int, scale: float
    ) -> None:
        super().__init__(backend, parts)
        self.n, self.inverse, self.scale = n, sign > 0, scale
        #: in rows, and along other axes: the same ones where both take the same steps
        self.across = self._tables(longest_step_across(backend))
        longest = longest_step(backend, parts)
        #: of arrays that are small
        self.of_few = self.across
        if takes_steps(n, backend.name):
            self.of_few = self._tables(longest_step_of_few(backend, parts))
        self.of_rows = self._tables(longest) if n <= longest else None
        #: one step along another axis would leave the caches
        self.is_moved = not takes_steps(n, backend.name) and n > longest_step_across(backend)
        every = (self.of_rows, self.across, self.of_few)
        self.within = list({id(one): one for one in every if one is not None}.values())

    def _tables(self, longest: int) -> Tables:
        key = (self.parts.name, "steps", *_steps(self.n, longest, self.backend.name))
        made = found(self.backend, key, lambda: Tables(self.backend, self.parts, self.n, longest))
        assert isinstance(made, Tables)
        return made

    def __call__(self, x: Array) -> Array:
        return self.along(x, x.ndim - 1)

    def along(self, x: Array, axis: int) -> Array:
        ready = self.ready(x, axis)
        return super().along(x, axis) if ready is None else ready(x)

    def ready(self, x: Array, axis: int) -> Callable[[Array], Array] | None:
        if self.is_moved and axis < x.ndim - 1:
            return None
        outer, done = math.prod(x.shape[:axis]), math.prod(x.shape[axis + 1 :])
        taken = self.of_few if x.nbytes <= FEW_BYTES else self.across
        if done == 1 and self.of_rows is not None:
            taken = self.of_rows
        launches = []
        for size, middle, roots, turns in taken.steps:
            scale = self.scale if middle == 1 else 1.0
            launches.append((roots, (outer, size, middle, done, self.inverse, scale, turns)))
            done *= size

        def run(x: Array) -> Array:
            tracing.keep(self)
            now, backend = x._contiguous(), self.backend
            for roots, how in launches:
                result = backend._new(x.shape, self.complex)
                backend.fft(now, roots, result, *how, self.parts_name)
                now = result
            return now

        return run


# Of real rows ------------------------------------------------------------------------------------


def takes_real_rows(backend: Backend, parts: np.dtype[Any], n: int) -> bool:
    """Whether the trait's fft_real() transforms such rows: even ones are complex ones of half the
    length."""
    if not takes_steps(n, backend.name):
        return backend.name == "cpu"
    if n % 2 == 0 and backend.name == "cpu":
        return n <= LONGEST_REAL_ON_CPU
    length = n // 2 if n % 2 == 0 else n
    return length <= longest_step(backend, parts)


class Roots(Plan):
    """Those of rows of one length."""

    def __init__(self, backend: Backend, parts: np.dtype[Any], n: int) -> None:
        super().__init__(backend, parts)
        self.all = self.complex_table(roots_of(backend, n, real=True))


class RealRows(Plan):
    """Of one direction and scale: sign is -1 from real numbers, 1 to these."""

    def __init__(
        self, backend: Backend, parts: np.dtype[Any], n: int, sign: int, scale: float
    ) -> None:
        super().__init__(backend, parts)
        self.n, self.inverse, self.scale = n, sign > 0, scale
        made = found(backend, (parts.name, "roots", n), lambda: Roots(backend, parts, n))
        assert isinstance(made, Roots)
        self.roots = made.all
        self.within = [made]

    def __call__(self, x: Array) -> Array:
        count, dtype = (self.n, self.parts) if self.inverse else (self.n // 2 + 1, self.complex)
        result = self.backend._new((*x.shape[:-1], count), dtype)
        rows = math.prod(x.shape[:-1])
        self.backend.fft_real(
            x._contiguous(), self.roots, result, rows, self.n, self.inverse, self.scale,
            self.parts_name,
        )  # fmt: skip
        return result

    def ready(self, x: Array, axis: int) -> Callable[[Array], Array] | None:
        if axis < x.ndim - 1:
            return None

        def run(x: Array) -> Array:
            tracing.keep(self)
            return self(x)

        return run
