"""Numbers by equal steps, made on the device."""

from __future__ import annotations

import weakref
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright import _core, tracing
from tilewright.operands import LIMITS, invalid, name_of, stored
from tilewright.program import Program

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tilewright.array import Array
    from tilewright.backend import Backend

FLOAT32 = np.dtype(np.float32)
FLOAT64 = np.dtype(np.float64)

# Elements are counted by a row and a column, both from one table of so many.
SIDE = 4096
_with_integers: weakref.WeakSet[Backend] = weakref.WeakSet()
# What integers are counted in, the first that holds them.
COUNTERS = tuple(np.dtype(name) for name in ("int32", "uint32", "int64", "uint64"))
# Up to which float64 has every integer.
EXACT = 2**53


def _parts(count: int) -> Iterator[tuple[int, int, int]]:
    """Rows, columns and what came before, of parts of at most SIDE rows."""
    done = 0
    while done < count:
        rows = min((count - done) // SIDE, SIDE)
        columns = SIDE if rows else count - done
        yield max(rows, 1), columns, done
        done += max(rows, 1) * columns


def first_integers(backend: Backend) -> Array:
    """The first SIDE ones as uint32, kept while the backend is open."""
    kept: Array | None = backend.__dict__.get("_first_integers")
    if kept is not None:
        try:
            backend.buffer_bytes(kept)
        except _core.Error:
            pass  # a close() has freed them
        else:
            tracing.keep(kept)
            return kept
    # In a thread of its own, since this one may record.
    made = tracing.aside(lambda: backend._upload(np.arange(SIDE, dtype=np.uint32)))
    backend.__dict__["_first_integers"] = made
    _with_integers.add(backend)
    return made


def forget() -> None:
    """Frees what first_integers() keeps."""
    for backend in list(_with_integers):
        backend.__dict__.pop("_first_integers", None)


def _table(backend: Backend) -> list[Any]:
    """The inputs that rows and columns are counted by."""
    table = first_integers(backend)
    return [(table, (1, 0)), (table, (0, 1))]


@cache
def _of_integers(words: str, signed: str, wanted: str) -> Program:
    program = Program()
    row, column = program.input("uint32"), program.input("uint32")
    first, step = program.number(words), program.number(words)
    value = (row * SIDE + column).cast(words) * step + first
    program.output(value.cast(signed).cast(wanted))
    return program


@cache
def _times_step(wanted: str) -> Program:
    program = Program()
    row, column = program.input("uint32"), program.input("uint32")
    before, step = program.number(wanted), program.number(wanted)
    program.output(((row * SIDE + column).cast(wanted) + before) * step)
    return program


@cache
def _added(wide: str, wanted: str) -> Program:
    program = Program()
    value, first = program.input(wide), program.number(wide)
    program.output((value + first).cast(wanted))
    return program


@cache
def _of_pairs(wanted: str) -> Program:
    """The sum of two numbers, each a float32 and what that left, rounded once."""
    program = Program()
    a, b, left_a, left_b = (program.input("float32") for _ in range(4))
    near = a + b
    of_b = near - a
    left = (a - (near - of_b)) + (b - of_b) + (left_a + left_b)
    program.output((near + left).cast(wanted))
    return program


def fill(call: str, result: Array, first: float, by: float, delta: float) -> None:
    """Numbers from `first` on, in a result of one dimension that lies row by row: exact where both
    are integers, else with steps of `delta` in float64."""
    backend = result.backend
    is_whole = are_whole(first, by) or (isinstance(first, int) and isinstance(by, int))
    if not is_whole or not _integers(backend, result, int(first), int(by)):
        _floats(backend, call, result, float(first), delta)


def _integers(backend: Backend, result: Array, first: int, step: int) -> bool:
    """Fills a result of one dimension with first, first + step ...; False where the device has no
    integers that hold these."""
    last = first + (result.size - 1) * step
    low, high = min(first, last), max(first, last)
    there = stored(backend)
    for kept in COUNTERS:
        if LIMITS[kept][0] <= low and high <= LIMITS[kept][1] and kept in there:
            break
    else:
        return False
    # Words wrap around, and so are right where a product is beyond them.
    words = "uint32" if kept.itemsize == 4 else "uint64"
    past = 1 << (8 * kept.itemsize)
    program = _of_integers(words, name_of(kept), name_of(result.dtype))
    inputs = _table(backend)
    for rows, columns, done in _parts(result.size):
        numbers = [(first + done * step) % past, step % past]
        backend.map(program, (rows, columns), inputs, numbers, [(result, (columns, 1), done)])
    return True


def _floats(backend: Backend, call: str, result: Array, first: float, step: float) -> None:
    """Fills a result with first + i * step, each rounded to float64, as NumPy does; where the
    device has no float64, by two float32 for each number."""
    if FLOAT64 in stored(backend):
        _wide(backend, result, first, step)
    elif result.dtype.kind == "f":
        if max(abs(first), abs(first + result.size * step)) > float(np.finfo(FLOAT32).max):
            raise _core.Unsupported(
                f"{call}: {backend.device.name} has no float64, and the numbers go beyond float32"
            )
        _narrow(backend, result, first, step)
    else:
        raise _core.Unsupported(
            f"{call}: {backend.device.name} has no float64, by which steps that are no integers "
            f"are counted in {result.dtype}; write dtype='float32' and "
            f".astype({name_of(result.dtype)!r})"
        )


def _wide(backend: Backend, result: Array, first: float, step: float) -> None:
    # Two launches, since one might round the product and the sum together.
    products = backend._new((min(result.size, SIDE * SIDE),), FLOAT64)
    inputs = _table(backend)
    times, added = _times_step("float64"), _added("float64", name_of(result.dtype))
    for rows, columns, done in _parts(result.size):
        count = rows * columns
        target = (products, (columns, 1))
        backend.map(times, (rows, columns), inputs, [float(done), step], [target])
        backend.map(added, (count,), [(products, (1,))], [first], [(result, (1,), done)])


def _narrow(backend: Backend, result: Array, first: float, step: float) -> None:
    program = _of_pairs(name_of(result.dtype))
    for rows, columns, done in _parts(result.size):
        across = _pair(backend, first + (np.arange(rows) * SIDE + done) * step, (1, 0))
        along = _pair(backend, np.arange(columns) * step, (0, 1))
        inputs = [across[0], along[0], across[1], along[1]]
        backend.map(program, (rows, columns), inputs, [], [(result, (columns, 1), done)])


def _pair(backend: Backend, values: np.ndarray[Any, Any], strides: tuple[int, int]) -> list[Any]:
    near = values.astype(FLOAT32)
    left = (values - near).astype(FLOAT32)
    return [(backend._upload(one), strides) for one in (near, left)]


def are_whole(*numbers: float) -> bool:
    """Whether float64 has nothing to round: all are integers."""
    return all(abs(one) < EXACT and float(one).is_integer() for one in numbers)


def check_held(call: str, dtype: np.dtype[Any], first: int, last: int) -> None:
    if dtype.kind not in "iu":
        return
    least, most = LIMITS[dtype]
    for one in (first, last):
        if not least <= one <= most:
            invalid(call, f"the numbers go from {first} to {last}, which {dtype} does not hold")
