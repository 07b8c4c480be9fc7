"""Copies, which take bytes at any place."""

from __future__ import annotations

import numpy as np

from ..call import Call, Fault, Operand, Result
from ..draw import Array, Draw
from . import generates

MOST = 70_000  # bytes


def some_bytes(draw: Draw, size: int) -> Array:
    return np.frombuffer(draw.rng.bytes(size), np.uint8)


def part(draw: Draw, size: int) -> tuple[int, int]:
    """An offset, and a length from there on; either may be 0."""
    offset = draw.one_of([0, draw.integer(0, size), size - 1 if size else 0])
    return offset, draw.one_of([size - offset, draw.integer(0, size - offset)])


@generates("copy_dtod")
def copy_dtod(draw: Draw, name: str) -> Call:
    source, target = (Operand(some_bytes(draw, draw.size(MOST))) for _ in range(2))
    source_at, size = part(draw, source.array.size)
    size = min(size, target.array.size)
    target_at = draw.integer(0, target.array.size - size)
    if draw.rarely(3) and 2 * size <= source.array.size:
        # Within one buffer, apart from each other.
        target = source
        source_at, target_at = 0, draw.integer(size, source.array.size - size)
        if draw.below(2):
            source_at, target_at = target_at, source_at
    exact = target.array.copy()
    exact[target_at : target_at + size] = source.array[source_at : source_at + size].copy()
    values = {
        "dst": target,
        "src": source,
        "bytes": size,
        "dst_offset": target_at,
        "src_offset": source_at,
    }
    return Call(name, values, [Result(target, exact, bits=exact)], empty=size == 0)


@generates("copy_htod")
def copy_htod(draw: Draw, name: str) -> Call:
    target = Operand(some_bytes(draw, draw.size(MOST)))
    offset, size = part(draw, target.array.size)
    data = some_bytes(draw, size)
    exact = target.array.copy()
    exact[offset : offset + size] = data
    host = draw.one_of([data, data.tobytes(), np.repeat(data, 2)[::2], memoryview(data.tobytes())])
    values = {"dst": target, "src": host, "offset": offset}
    return Call(name, values, [Result(target, exact, bits=exact)], empty=size == 0)


@generates("copy_dtoh")
def copy_dtoh(draw: Draw, name: str) -> Call:
    source = Operand(some_bytes(draw, draw.size(MOST)))
    offset, size = part(draw, source.array.size)
    wide = np.full(2 * size, 7, np.uint8)
    host = draw.one_of([wide[:size], wide[: 2 * size : 2]])
    expected = source.array[offset : offset + size]

    def check() -> None:
        if not np.array_equal(host, expected):
            raise Fault(f"{call}\nthe host got other bytes")
        host[...] = 7
        if not (wide == 7).all():
            raise Fault(f"{call}\nbytes beside the host's were written")

    values = {"dst": host, "src": source, "offset": offset}
    call = Call(name, values, empty=size == 0, also=check)
    return call


@generates("buffer_bytes")
def buffer_bytes(draw: Draw, name: str) -> Call:
    return Call(name, {"buffer": Operand(some_bytes(draw, draw.size(100)))})


@generates("view")
def view(draw: Draw, name: str) -> Call:
    offset, size = draw.integer(0, 100), draw.integer(1, 100)
    buffer = Operand(some_bytes(draw, offset + size), draw.integer(0, 40))
    return Call(name, {"buffer": buffer, "offset": offset, "bytes": size})
