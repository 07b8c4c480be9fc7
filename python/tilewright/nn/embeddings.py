"""Rows of a table by their numbers, and what the rows get back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright.call_forms import kept_by_form
from tilewright.nn.running import floats, wide_of
from tilewright.operands import invalid, name_of, to_integer

if TYPE_CHECKING:
    from tilewright.array import Array


def _padding(call: str, padding_idx: Any, rows: int) -> int | None:
    if padding_idx is None:
        return None
    at = to_integer(call, "padding_idx", padding_idx)
    if not -rows <= at < rows:
        invalid(call, f"padding_idx is {at}, expected one of the {rows} rows")
    return at % rows


@kept_by_form
def embedding(input: Any, weight: Array, /, padding_idx: int | None = None) -> Array:
    """The rows of weight that input has the numbers of, in a new last axis; padding_idx says which
    row gets no gradient. An index out of range raises; negative ones count from the end."""
    from tilewright.namespace.selection import take_for

    call = "embedding"
    (weight,) = floats(call, weight=weight)
    if weight.ndim != 2:
        invalid(call, f"weight has shape {weight.shape}, expected two dimensions")
    _padding(call, padding_idx, weight.shape[0])
    return take_for(call, weight, input, axis=0)


@kept_by_form
def embedding_backward(
    grad: Array, input: Any, num_embeddings: int, /, padding_idx: int | None = None
) -> Array:
    """The gradient of embedding() by weight: for each row the sum of what came for it, joined in
    float32 or float64 and in an order that is the same at each call. It is the product of a sparse
    matrix, which has a 1 where a row was taken."""
    from tilewright.namespace import histograms
    from tilewright.namespace.creation import arange, ones, zeros
    from tilewright.namespace.elementwise import where
    from tilewright.namespace.selection import take_for
    from tilewright.namespace.sorting import topk

    call = "embedding_backward"
    (grad,) = floats(call, grad=grad)
    rows = to_integer(call, "num_embeddings", num_embeddings)
    if not 1 <= rows < 2**31:
        invalid(call, f"num_embeddings is {rows}, expected 1 to 2**31 - 1")
    padding = _padding(call, padding_idx, rows)
    if grad.ndim < 1:
        invalid(call, "grad has no dimensions, expected rows along the last axis")
    # The numbers of rows, of which one out of range raises.
    numbers = arange(rows, dtype="int32", device=grad.backend)
    places = take_for(call, numbers, input).reshape(-1)
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
    # A row more takes what has none.
    all_rows = rows
    if padding is not None:
        places, all_rows = where(places == padding, rows, places), rows + 1
    ordered, order = topk(histograms._narrow(places, all_rows), places.size, largest=False)
    offsets = zeros(all_rows + 1, dtype=np.int32, device=grad.backend)
    offsets[1:] = histograms._ends(ordered, all_rows).astype(np.int32, copy=False)
    wide = wide_of(grad.dtype)
    lines = grad.reshape((-1, width)).astype(wide, copy=False)._contiguous()
    sums = grad.backend._new((all_rows, width), wide)
    grad.backend.sparse_matmul(
        offsets, order.astype(np.int32, copy=False)._contiguous(),
        ones(places.size, dtype=wide, device=grad.backend), lines, sums, all_rows, places.size,
        places.size, width, width, width, dtype=name_of(wide),
    )  # fmt: skip
    found: Array = sums[:rows].astype(grad.dtype, copy=False)
    return found
