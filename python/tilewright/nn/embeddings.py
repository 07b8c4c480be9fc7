"""Rows of a table by their numbers, and what the rows get back."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright import tracing
from tilewright.namespace.complex_math import choose
from tilewright.nn.running import floats, wide_of
from tilewright.operands import invalid, to_integer
from tilewright.program import Program

if TYPE_CHECKING:
    from tilewright.array import Array


def _padding(call: str, padding_idx: Any, rows: int) -> int | None:
    if padding_idx is None:
        return None
    at = to_integer(call, "padding_idx", padding_idx)
    if not -rows <= at < rows:
        invalid(call, f"padding_idx is {at}, expected one of the {rows} rows")
    return at % rows


def embedding(input: Any, weight: Array, /, padding_idx: int | None = None) -> Array:
    """The rows of weight that input has the numbers of, in a new last axis; padding_idx says which
    row gets no gradient. An index out of range raises; negative ones count from the end."""
    from tilewright.namespace.selection import take

    call = "embedding"
    (weight,) = floats(call, weight=weight)
    if weight.ndim != 2:
        invalid(call, f"weight has shape {weight.shape}, expected two dimensions")
    _padding(call, padding_idx, weight.shape[0])
    return take(weight, input, axis=0)


@cache
def _joined(key: str, dtype: str) -> Program:
    """What has been summed of a row, where the element before is of that row too."""
    program = Program()
    own, before = program.input(key), program.input(key)
    here, there = program.input(dtype), program.input(dtype)
    program.output(choose(own == before, here + there, here))
    return program


def _row_sums(ordered: Array, sums: Array, longest: int) -> Array:
    """Of rows in the order of their keys, of which `longest` at most are of one: to each the sum of
    those before it of its key. Which sums meet which is the same at each call."""
    from tilewright.namespace.manipulation import broadcast_to

    keys = broadcast_to(ordered.reshape((-1, 1)), sums.shape)
    program = _joined(ordered.dtype.name, sums.stored_as)
    step = 1
    while step < longest:
        wider = sums.backend._new(sums.shape, sums.dtype)
        wider[:step] = sums[:step]
        sums.backend.map(
            program, (sums.shape[0] - step, sums.shape[1]),
            [keys[step:], keys[:-step], sums[step:], sums[:-step]], [], [wider[step:]],
        )  # fmt: skip
        sums = wider
        step *= 2
    return sums


def embedding_backward(
    grad: Array, input: Any, num_embeddings: int, /, padding_idx: int | None = None
) -> Array:
    """The gradient of embedding() by weight: for each row the sum of what came for it, joined in
    float32 or float64 and in an order that is the same at each call."""
    from tilewright.namespace import histograms
    from tilewright.namespace.creation import zeros
    from tilewright.namespace.elementwise import where
    from tilewright.namespace.selection import take
    from tilewright.namespace.sorting import topk

    call = "embedding_backward"
    (grad,) = floats(call, grad=grad)
    rows = to_integer(call, "num_embeddings", num_embeddings)
    if rows < 1:
        invalid(call, f"num_embeddings is {rows}, expected 1 or more")
    padding = _padding(call, padding_idx, rows)
    if grad.ndim < 1:
        invalid(call, "grad has no dimensions, expected rows along the last axis")
    # The numbers of rows, of which one out of range raises.
    places = take(grad.backend._upload(np.arange(rows, dtype=np.int32)), input).reshape(-1)
    shape = getattr(input, "shape", np.shape(input) if not hasattr(input, "shape") else ())
    if grad.shape[:-1] != tuple(shape):
        invalid(
            call,
            f"grad has shape {grad.shape}, expected {(*shape, grad.shape[-1])} for an input of "
            f"shape {tuple(shape)}",
        )
    width = grad.shape[-1]
    if 0 in grad.shape:
        return zeros((rows, width), dtype=grad.dtype, device=grad.backend)
    if padding is not None:
        places = where(places == padding, rows, places)
    narrow = histograms._narrow(places, rows + 1)
    ordered, order = topk(narrow, narrow.size, largest=False)
    lines = grad.reshape((-1, width)).astype(wide_of(grad.dtype), copy=False)
    ends = histograms._ends(ordered, rows + 1)
    counts = histograms._between(ends)[:rows].reshape((rows, 1))
    # Where the host need not wait to know it; else steps that join nothing cost less than that.
    is_known = grad.backend.name == "cpu" and not tracing.is_under_way()
    longest = int(counts.max().item()) if is_known else ordered.size
    sums = _row_sums(ordered, take(lines, order, axis=0), longest)
    last = take(sums, (ends[:rows] - 1).astype(ends.dtype, copy=False), axis=0, mode="clip")
    found: Array = where(counts > 0, last, 0)
    return found.astype(grad.dtype, copy=False)
