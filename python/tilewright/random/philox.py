"""Philox4x32-10 as programs: four words of 32 bits for each place of a stream.

Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3 (2011).
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tilewright.namespace.ranges import SIDE, first_integers
from tilewright.operands import stored
from tilewright.program import Program, Value

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tilewright.array import Array
    from tilewright.backend import Backend

    # What four words of a block, the numbers of a call and its inputs become.
    Finish = Callable[["Words", list[Value], bool], list[Value]]

FACTORS = 0xD2511F53, 0xCD9E8D57
STEPS = 0x9E3779B9, 0xBB67AE85
ROUNDS = 10
MASK = 0xFFFFFFFF
UINT64 = np.dtype(np.uint64)


class Words(NamedTuple):
    """A block, each a value of uint32."""

    a: Value
    b: Value
    c: Value
    d: Value


class Stream(NamedTuple):
    """Where a stream is: its key, its number of 64 bits, and how many blocks it has given."""

    key: tuple[int, int]
    number: tuple[int, int]
    place: int

    def words(self, beyond: int) -> list[int]:
        place = (self.place + beyond) & 0xFFFFFFFFFFFFFFFF
        return [place & MASK, place >> 32, *self.number, *self.key]


def product(x: Value, factor: Value | int, wide: bool) -> tuple[Value, Value]:
    """The high and the low word of a product of words."""
    if wide:
        whole = x.cast("uint64") * (factor if isinstance(factor, int) else factor.cast("uint64"))
        return (whole >> 32).cast("uint32"), whole.cast("uint32")
    # By halves, of which no sum overflows.
    low, high, of_low, of_high = x & 0xFFFF, x >> 16, factor & 0xFFFF, factor >> 16
    first = low * of_high + (low * of_low >> 16)
    second = high * of_low + (first & 0xFFFF)
    return high * of_high + (first >> 16) + (second >> 16), x * factor


def _rounds(block: Words, key: tuple[Value, Value], wide: bool) -> Words:
    a, b, c, d = block
    for i in range(ROUNDS):
        first, second = (
            one + (i * step & MASK) if i else one for one, step in zip(key, STEPS, strict=True)
        )
        high_a, low_a = product(a, FACTORS[0], wide)
        high_c, low_c = product(c, FACTORS[1], wide)
        a, b, c, d = high_c ^ b ^ first, low_c, high_a ^ d ^ second, low_a
    return Words(a, b, c, d)


def _words(program: Program, wide: bool, listed: bool) -> Words:
    """The block of a place, and where the stream is: a row and a column of a grid, or `listed` as
    an input."""
    places = [program.input("uint32") for _ in range(1 if listed else 2)]
    low, high, c, d, first, second = (program.number("uint32") for _ in range(6))
    place = (places[0] if listed else places[0] * SIDE + places[1]) + low
    return _rounds(Words(place, high + (place < low).cast("uint32"), c, d), (first, second), wide)


def is_wide(backend: Backend) -> bool:
    """Whether products of words are computed in 64 bits: where the processor, or the compiler of a
    GPU's kernels, has one instruction for the two words of a product of two."""
    return backend.name == "cpu" or (backend.name == "webgpu" and UINT64 in stored(backend))


class Draw(NamedTuple):
    """A distribution: how many results a block has, and what of."""

    results: int
    finish: Finish
    numbers: tuple[str, ...] = ()  # their dtypes
    inputs: tuple[str, ...] = ()  # dtypes of what is there for each result, one after the other
    picks: tuple[int, ...] = ()  # which of a block's results it gives, where these are not all


@cache
def _program(draw: Draw, wide: bool, listed: bool) -> Program:
    program = Program()
    words = _words(program, wide, listed)
    numbers = [program.number(dtype) for dtype in draw.numbers]
    inputs = [program.input(dtype) for dtype in draw.inputs]
    program.output(*draw.finish(words, [*numbers, *inputs], wide))
    return program


def run(
    backend: Backend,
    stream: Stream,
    draw: Draw,
    numbers: list[Any],
    result: Array,
    inputs: Sequence[Array] = (),
) -> None:
    """Fills a result of one dimension, of a whole number of blocks, with its part of a stream.
    Inputs lie as the result does, row by row; the draw gets those of each of its results."""
    apart = draw.results
    blocks = result.size // apart
    given = draw.picks or range(apart)
    if blocks == 0:
        return
    program = _program(draw, is_wide(backend), False)
    side = min(blocks, SIDE)
    count = first_integers(backend)
    done = 0
    while done < blocks:
        rows, columns = min((blocks - done) // side, side), side
        if rows == 0:
            rows, columns = 1, blocks - done
        strides = (columns * apart, apart)
        start = done * apart
        backend.map(
            program,
            (rows, columns),
            [
                (count, (1, 0)),
                (count, (0, 1)),
                *((one, strides, start + i) for i in given for one in inputs),
            ],
            [*stream.words(done), *numbers],
            [(result, strides, start + i) for i in given],
        )
        done += rows * columns


def run_at(
    backend: Backend,
    stream: Stream,
    draw: Draw,
    numbers: list[Any],
    places: Array,
    result: Array,
    inputs: Sequence[Array] = (),
) -> None:
    """The same of some places of the stream alone, of a draw that gives one result a block."""
    program = _program(draw, is_wide(backend), True)
    numbers = [*stream.words(0), *numbers]
    backend.map(program, (result.size,), [places, *inputs], numbers, [result])
