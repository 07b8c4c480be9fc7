"""What a catalog entry is made of."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

AnyArray = NDArray[Any]

FLOATS = ("float32", "float16")
SIZES = ("small", "medium", "large")


@dataclass(frozen=True)
class Problem:
    """One op at one size and dtype: its arguments, the call, and the same work in NumPy.

    `numpy` computes in the dtype of the arrays it gets: given float64 it is the reference, given
    float32 it is what the op is timed against. It may write into `out`, or return another array.
    """

    shape: str
    inputs: Sequence[AnyArray]
    output: AnyArray
    call: Callable[[Any, Sequence[int], int], None]
    numpy: Callable[..., AnyArray]
    flops: float = 0.0
    """Additions and multiplications; 0 where counting them says nothing."""
    moved: int | None = None
    """Bytes that the op reads and writes at least, where it is not all of its buffers."""
    slack: float = 8.0
    """Rounding errors of float32 that the result may carry before it is stored."""
    own_float16: bool = False
    """NumPy's own float16 does the same work, and may be quicker than a detour by float32."""

    @property
    def bytes(self) -> int:
        if self.moved is not None:
            return self.moved
        return self.output.nbytes + sum(x.nbytes for x in self.inputs)

    @property
    def allowed_error(self) -> float:
        if self.output.dtype.kind != "f":
            return 0.0
        eps = float(np.finfo(np.float32).eps)
        stored = self.output.dtype
        rounding = float(np.finfo(stored).eps) if stored.kind == "f" else 0.0
        return rounding + self.slack * eps


class Draw:
    """Random arrays of one dtype, the same ones in every run.

    Numbers come from one block whose length is a prime, so that equal rows or tiles, which could
    hide a wrong index, do not occur, and filling a large array costs no more than a copy.
    """

    _block = np.random.default_rng(20240229).standard_normal(1_000_003, dtype=np.float32)

    def __init__(self, dtype: str) -> None:
        self.dtype = dtype
        self._start = 0

    def normal(self, *shape: int) -> AnyArray:
        self._start = (self._start + 611_953) % self._block.size
        numbers = np.resize(np.roll(self._block, -self._start), shape)
        return numbers.astype(self.dtype, copy=False)

    def positive(self, *shape: int) -> AnyArray:
        """Away from zero, for logarithms and divisors."""
        numbers: AnyArray = np.abs(self.normal(*shape)) + np.asarray(0.125, self.dtype)
        return numbers

    def zeros(self, *shape: int) -> AnyArray:
        return np.zeros(shape, self.dtype)

    def rows(self, count: int, of: int) -> AnyArray:
        """`count` different row numbers below `of`, in random order."""
        return np.random.default_rng(count).permutation(of)[:count].astype(np.int32)


@dataclass(frozen=True)
class Case:
    """An op of the trait with one set of options, at three sizes."""

    op: str
    group: str
    build: Callable[..., Problem]
    """Called with a Draw and one of `sizes`."""
    sizes: Mapping[str, tuple[int, ...]]
    variant: str = ""
    dtypes: tuple[str, ...] = FLOATS
    compute_bound: bool = False
    """Whether arithmetic limits it at real sizes, and not the bytes it moves."""

    @property
    def name(self) -> str:
        return f"{self.op}.{self.variant}" if self.variant else self.op

    def problem(self, size: str, dtype: str) -> Problem:
        return self.build(Draw(dtype), *self.sizes[size])


def sizes(
    small: tuple[int, ...], medium: tuple[int, ...], large: tuple[int, ...]
) -> Mapping[str, tuple[int, ...]]:
    return dict(zip(SIZES, (small, medium, large), strict=True))


def by(*lengths: int) -> str:
    """A shape as text: 64x56x56, 1024^3."""
    if len(lengths) > 1 and len(set(lengths)) == 1:
        return f"{lengths[0]}^{len(lengths)}"
    return "x".join(map(str, lengths))


def count(n: int) -> str:
    """A number of elements as text: 4M, 4097."""
    for unit, power in (("M", 20), ("K", 10)):
        if n >= 1 << power and n % (1 << power) == 0:
            return f"{n >> power}{unit}"
    return str(n)


def softmax_scale(head_dim: int) -> float:
    return 1.0 / math.sqrt(head_dim)
