"""Sorts and selections, of every dtype."""

from __future__ import annotations

import numpy as np
from conformance import sorts
from conformance.elements import DTYPES, stored_dtype

from ..call import Call, Operand, Result
from ..draw import Array, Draw
from . import generates
from .rows import operand

MOST = 1 << 16  # elements


def _room(draw: Draw, shape: tuple[int, ...], dtype: str) -> Operand:
    bits = stored_dtype(dtype)
    filled = np.full(int(np.prod(shape)) * bits.itemsize, 0xFF, np.uint8)
    return operand(draw, filled.view(bits).reshape(shape))


def _rows(draw: Draw) -> tuple[Array, str]:
    length = draw.size_or_zero(MOST if draw.rarely(6) else 4000)
    rows = draw.size_or_zero(max(1, (MOST if length < 100 else 8192) // max(1, length)))
    dtype = draw.one_of(["float32", *DTYPES])
    return sorts.draw(draw.rng, (rows, length), dtype, draw.one_of(["any", "equal"])), dtype


@generates("sort", "argsort")
def sort(draw: Draw, name: str) -> Call:
    x, dtype = _rows(draw)
    descending = bool(draw.below(2))
    places = sorts.order(x, dtype, descending)
    source = operand(draw, x)
    values = {
        "input": source,
        "rows": x.shape[0],
        "length": x.shape[1],
        "descending": descending,
        "dtype": dtype,
    }
    if name == "sort":
        exact = sorts.taken(x, places)
        out = source if draw.rarely(3) else _room(draw, x.shape, dtype)
        result = Result(out, 0.0, bits=exact)
        return Call(name, {**values, "output": out}, [result], empty=x.size == 0)
    wide = draw.one_of(["int64", "int32"])
    indices = _room(draw, x.shape, wide)
    results = [Result(indices, 0.0, bits=places.astype(wide))]
    given = {**values, "indices": indices, "index_dtype": wide}
    return Call(name, given, results, empty=x.size == 0)


@generates("topk")
def topk(draw: Draw, name: str) -> Call:
    x, dtype = _rows(draw)
    largest = bool(draw.below(2))
    k = draw.integer(0, x.shape[1])
    wide = draw.one_of(["int64", "int32"])
    places = sorts.order(x, dtype, largest)[:, :k]
    exact = sorts.taken(x, places)
    values, indices = _room(draw, exact.shape, dtype), _room(draw, exact.shape, wide)
    given = {
        "input": operand(draw, x),
        "values": values,
        "indices": indices,
        "rows": x.shape[0],
        "length": x.shape[1],
        "k": k,
        "largest": largest,
        "dtype": dtype,
        "index_dtype": wide,
    }
    results = [
        Result(values, 0.0, bits=exact),
        Result(indices, 0.0, bits=places.astype(wide)),
    ]
    return Call(name, given, results, empty=0 in (*x.shape, k))
