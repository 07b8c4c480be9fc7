"""Where random choices come from."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from conformance.bounds import SMALLEST

Array = npt.NDArray[Any]
T = TypeVar("T")

# On both sides of what vectors, subgroups, workgroups and tiles hold.
AWKWARD = [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 127, 128, 129]
AWKWARD += [255, 256, 257, 511, 513, 1000, 1023, 1025, 2049, 4095, 4097, 10007, 65535, 65537]


class Draw:
    """The choices of one case. The first option of each is the plainest: a case is shrunk by
    running it again with smaller `choices`, after whose end all others are 0."""

    def __init__(
        self,
        seed: int,
        case: int,
        choices: Sequence[int] | None = None,
        subnormals: bool = True,
        doubles: bool = True,
    ) -> None:
        self._random = random.Random(f"{seed} {case}")
        self._given = choices
        self.choices: list[int] = []
        #: what the case does, for whoever reads of a fault
        self.about = ""
        #: hears of each choice as it is made, and of what the case does
        self.on_choice: Callable[[int], None] = lambda _: None
        self.on_about: Callable[[str], None] = lambda _: None
        #: whether the device keeps float32 numbers below 2^-126; inputs have none where it does not
        self.subnormals = subnormals
        #: whether it computes with float64
        self.doubles = doubles
        # Apart, so that the contents of buffers stay when choices change.
        self.rng = np.random.default_rng([seed, case])

    def below(self, n: int) -> int:
        """0 to n - 1."""
        at = len(self.choices)
        if self._given is None:
            value = self._random.randrange(n)
        else:
            value = min(self._given[at], n - 1) if at < len(self._given) else 0
        self.choices.append(value)
        self.on_choice(value)
        return value

    def says(self, about: object) -> None:
        """What comes now, before it is done."""
        self.about = str(about)
        self.on_about(self.about)

    def integer(self, low: int, high: int) -> int:
        """low to high, both included."""
        return low + self.below(high - low + 1)

    def one_of(self, options: Sequence[T]) -> T:
        return options[self.below(len(options))]

    def rarely(self, one_in: int) -> bool:
        return self.below(one_in) == one_in - 1

    def size(self, most: int) -> int:
        """1 to most, often beside a power of two."""
        fitting = [size for size in AWKWARD if size <= most]
        kind = self.below(4)
        if kind == 0:
            return self.integer(1, min(most, 9))
        return self.integer(1, most) if kind == 1 else self.one_of(fitting)

    def size_or_zero(self, most: int) -> int:
        return 0 if self.rarely(16) else self.size(most)

    def shape(
        self, most_dimensions: int, most_elements: int, least_dimensions: int = 0
    ) -> list[int]:
        shape: list[int] = []
        left = most_elements
        for _ in range(self.integer(least_dimensions, most_dimensions)):
            shape.append(self.size_or_zero(left))
            left //= max(1, shape[-1])
        order = self.below(3)
        return shape if order == 0 else shape[::-1] if order == 1 else shape[1:] + shape[:1]

    def deep_shape(self, most_elements: int) -> list[int]:
        """Of more dimensions than a kernel walks one by one."""
        shape: list[int] = []
        left = most_elements
        for _ in range(self.integer(9, 32)):
            shape.append(min(left, self.one_of([1, 2, 1, 3])))
            left //= shape[-1]
        return shape

    def any_shape(self, most_dimensions: int, most_elements: int) -> list[int]:
        """With one dimension at least, and now and then with many."""
        if self.rarely(8):
            return self.deep_shape(most_elements)
        return self.shape(most_dimensions, most_elements, 1)

    # Numbers --------------------------------------------------------------------------------------

    def dtype(self) -> str:
        return self.one_of(["float32", "float16"])

    def normal(self, shape: int | Sequence[int], dtype: str) -> Array:
        """Of mean zero, as bounds.py assumes them for sums."""
        return np.asarray(self.rng.standard_normal(shape)).astype(dtype)

    def integers(self, shape: int | Sequence[int], dtype: str) -> Array:
        """-2 to 2: sums of products of these are exact."""
        return np.asarray(self.rng.integers(-2, 3, shape)).astype(dtype)

    def int32(self, shape: int | Sequence[int]) -> Array:
        """As many of each length as of the next."""
        values = self.rng.integers(-(2**31), 2**31, shape) >> self.rng.integers(0, 32, shape)
        return np.asarray(values, np.int32)

    def spread(self, shape: int | Sequence[int], dtype: str) -> Array:
        """Both signs, all orders of magnitude."""
        limit = 20 if dtype == "float16" else 140
        exponents = self.rng.integers(-limit, limit, shape)
        with np.errstate(over="ignore"):
            return np.asarray(self.rng.standard_normal(shape) * 2.0**exponents).astype(dtype)

    def anything(self, shape: int | Sequence[int], dtype: str) -> Array:
        """Bits: subnormals, infinities and NaN of every kind."""
        size = np.dtype(dtype).itemsize
        count = int(np.prod(shape))
        return np.frombuffer(self.rng.bytes(size * count), dtype).reshape(shape)

    def numbers(self, shape: int | Sequence[int], dtype: str) -> Array:
        """For ops on single elements, which hold for every number there is."""
        kind = self.below(4)
        values = [self.normal, self.integers, self.spread, self.anything][kind](shape, dtype)
        if not self.subnormals:
            values = np.where(np.abs(values) < SMALLEST, values.dtype.type(0), values)
        return self.with_specials(values)

    def with_specials(self, values: Array) -> Array:
        """Now and then NaN or infinity in a few places."""
        if values.size == 0 or not self.rarely(6):
            return values
        values = values.copy()
        places = self.rng.integers(0, values.size, self.integer(1, 3))
        values.reshape(-1)[places] = self.one_of([np.nan, np.inf, -np.inf])
        return values
