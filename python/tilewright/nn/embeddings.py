"""Rows of a table by their numbers, and what the rows get back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright.call_forms import kept_by_form
from tilewright.nn.running import floats, wide_of
from tilewright.operands import invalid, name_of, to_integer

if TYPE_CHECKING:
    from tilewright.array import Array


def to_padding(call: str, padding_idx: Any, rows: int) -> int | None:
    if padding_idx is None:
        return None
    at = to_integer(call, "padding_idx", padding_idx)
    if not -rows <= at < rows:
        invalid(call, f"padding_idx is {at}, expected one of the {rows} rows")
    return at % rows


def to_places(call: str, input: Any, rows: int, like: Array) -> Array:
    """The numbers of rows as int32, of which one out of range raises."""
    from tilewright.namespace.creation import arange
    from tilewright.namespace.selection import take_for

    return take_for(call, arange(rows, dtype="int32", device=like.backend), input)


def sums_by_row(
    places: Array, rows: int, padding: int | None, lines: Array, dtype: np.dtype[Any],
    columns: Array | None = None, values: Array | None = None,
) -> Array:  # fmt: skip
    """For each row of a table the sum of the lines [any, width] of the places that are its number,
    in the lines' dtype: that of a place has its own number unless `columns` says another, and
    counts `values` times."""
    from tilewright.namespace import histograms
    from tilewright.namespace.creation import ones, zeros
    from tilewright.namespace.elementwise import where
    from tilewright.namespace.selection import take
    from tilewright.namespace.sorting import topk

    backend, wide, width = lines.backend, lines.dtype, lines.shape[1]
    # A row more takes what has none.
    all_rows = rows
    if padding is not None:
        places, all_rows = where(places == padding, rows, places), rows + 1
    ordered, order = topk(histograms._narrow(places, all_rows), places.size, largest=False)
    offsets = zeros(all_rows + 1, dtype=np.int32, device=backend)
    offsets[1:] = histograms._ends(ordered, all_rows).astype(np.int32, copy=False)
    order = order.astype(np.int32, copy=False)
    if values is None:
        weights = ones(places.size, dtype=wide, device=backend)
    else:
        weights = take(values, order)
    which = order if columns is None else take(columns, order)
    sums = backend._new((all_rows, width), wide)
    backend.sparse_matmul(
        offsets, which._contiguous(), weights._contiguous(), lines._contiguous(), sums, all_rows,
        lines.shape[0], places.size, width, width, width, dtype=name_of(wide),
    )  # fmt: skip
    found: Array = sums[:rows].astype(dtype, copy=False)
    return found


@kept_by_form
def embedding(input: Any, weight: Array, /, padding_idx: int | None = None) -> Array:
    """The rows of weight that input has the numbers of, in a new last axis; padding_idx says which
    row gets no gradient. An index out of range raises; negative ones count from the end."""
    from tilewright.namespace.selection import take_for

    call = "embedding"
    (weight,) = floats(call, weight=weight)
    if weight.ndim != 2:
        invalid(call, f"weight has shape {weight.shape}, expected two dimensions")
    to_padding(call, padding_idx, weight.shape[0])
    return take_for(call, weight, input, axis=0)


@kept_by_form
def embedding_backward(
    grad: Array, input: Any, num_embeddings: int, /, padding_idx: int | None = None
) -> Array:
    """The gradient of embedding() by weight: for each row the sum of what came for it, joined in
    float32 or float64 and in an order that is the same at each call. It is the product of a sparse
    matrix, which has a 1 where a row was taken."""
    from tilewright.namespace.creation import zeros

    call = "embedding_backward"
    (grad,) = floats(call, grad=grad)
    rows = to_integer(call, "num_embeddings", num_embeddings)
    if not 1 <= rows < 2**31:
        invalid(call, f"num_embeddings is {rows}, expected 1 to 2**31 - 1")
    padding = to_padding(call, padding_idx, rows)
    if grad.ndim < 1:
        invalid(call, "grad has no dimensions, expected rows along the last axis")
    places = to_places(call, input, rows, grad).reshape(-1)
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
    lines = grad.reshape((-1, width)).astype(wide_of(grad.dtype), copy=False)
    return sums_by_row(places, rows, padding, lines, grad.dtype)
