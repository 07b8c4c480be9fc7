"""Sums and means of bags of rows of a table, and what the rows get back: products of sparse
matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tilewright.array import Array
from tilewright.call_forms import kept_by_form
from tilewright.nn.embeddings import sums_by_row, to_padding, to_places
from tilewright.nn.running import floats, mapped, reduced, to_truth, wide_of
from tilewright.operands import INT32, invalid, name_of, read_host, shown
from tilewright.sparse import structure

if TYPE_CHECKING:
    from tilewright.program import Value

MODES = ("sum", "mean")


class EmbeddingBagGradients(NamedTuple):
    """The gradients by weight, and by per_sample_weights where there are such."""

    weight: Array
    per_sample_weights: Array | None


class _Bags(NamedTuple):
    """Bag i has the rows `places` from offsets[i] to offsets[i + 1], each `values` times."""

    weight: Array
    places: Array
    offsets: Array
    values: Array
    samples: Array | None
    mode: str
    padding: int | None

    @property
    def size(self) -> int:
        return self.offsets.size - 1


def _to_offsets(call: str, offsets: Any, include_last: bool, count: int, like: Array) -> Array:
    """As int32, with the end behind the last."""
    from tilewright.namespace.creation import asarray
    from tilewright.namespace.manipulation import concat

    if not isinstance(offsets, Array):
        host = read_host(call, "offsets", offsets)
        if host.dtype.kind not in "iu" or host.ndim != 1:
            invalid(call, f"offsets is {shown(offsets)}, expected integers in one dimension")
        ends = host if include_last else np.append(host, count)
        if ends.size and (ends[0] != 0 or ends[-1] != count or (np.diff(ends) < 0).any()):
            invalid(
                call, f"offsets is {shown(offsets)}, expected numbers that ascend from 0 to {count}"
            )
        return asarray(ends.astype(INT32), device=like.backend)
    like.backend._own(call, "offsets", offsets)
    if offsets.dtype.kind not in "iu" or offsets.ndim != 1:
        invalid(
            call,
            f"offsets is {offsets.dtype} of shape {offsets.shape}, expected integers in one "
            "dimension",
        )
    own = offsets.astype(INT32, copy=False)
    if include_last:
        return own._contiguous()
    return concat([own, asarray(np.array([count], INT32), device=like.backend)])


def _bags(
    call: str, input: Any, weight: Any, offsets: Any, mode: Any, per_sample_weights: Any,
    include_last_offset: Any, padding_idx: Any,
) -> _Bags:  # fmt: skip
    from tilewright.namespace.creation import ones
    from tilewright.namespace.elementwise import where

    (weight,) = floats(call, weight=weight)
    if weight.ndim != 2 or not weight.shape[0]:
        invalid(call, f"weight has shape {weight.shape}, expected two dimensions, and rows")
    if not isinstance(mode, str) or mode not in MODES:
        invalid(call, f"mode is {shown(mode)}, expected 'sum' or 'mean'")
    rows = weight.shape[0]
    padding = to_padding(call, padding_idx, rows)
    has_last = to_truth(call, "include_last_offset", include_last_offset)
    places = to_places(call, input, rows, weight)
    if places.ndim not in (1, 2) or (places.ndim == 2) != (offsets is None):
        expected = "None with an input of two dimensions, and of each bag the start with one"
        invalid(call, f"offsets is {shown(offsets)}, expected {expected}")
    if offsets is None:
        bags, length = places.shape
        ends = structure.counted(bags + 1, weight.backend) * length
    else:
        ends = _to_offsets(call, offsets, has_last, places.size, weight)
        if ends.size == 0:
            invalid(call, "offsets is empty, expected the end with include_last_offset")
    wide, samples = wide_of(weight.dtype), None
    if per_sample_weights is not None:
        samples = floats(call, weight=weight, per_sample_weights=per_sample_weights)[1]
        if samples.shape != places.shape:
            invalid(
                call,
                f"per_sample_weights has shape {samples.shape}, expected {places.shape} as input "
                "has",
            )
        if mode != "sum":
            invalid(call, f"mode is {mode!r}, expected 'sum' with per_sample_weights")
        values = samples.reshape(-1).astype(wide, copy=False)
    else:
        values = ones(places.size, dtype=wide, device=weight.backend)
    places = places.reshape(-1)
    if padding is not None:
        values = where(places == padding, 0.0, values)
    return _Bags(weight, places, ends, values, samples, mode, padding)


def _product(of: _Bags, columns: Array, lines: Array) -> Array:
    """Of bags [bags, width], each a sum of lines by their numbers."""
    width = lines.shape[1]
    result = lines.backend._new((of.size, width), lines.dtype)
    lines.backend.sparse_matmul(
        of.offsets, columns._contiguous(), of.values._contiguous(), lines._contiguous(), result,
        of.size, lines.shape[0], of.places.size, width, width, width, dtype=name_of(lines.dtype),
    )  # fmt: skip
    return result


def _counts(of: _Bags) -> Array:
    """How many rows each bag has, as floats."""
    from tilewright.namespace.creation import ones

    wide = of.values.dtype
    if of.padding is None:
        lengths: Array = (of.offsets[1:] - of.offsets[:-1]).astype(wide)
        return lengths
    one = ones((1, 1), dtype=wide, device=of.weight.backend)
    nowhere = structure.counted(of.places.size, of.weight.backend) * 0
    counts: Array = _product(of, nowhere, one).reshape(-1)
    return counts


def _over(x: Value, count: Value) -> Value:
    return x / count.max(1.0)


def _shared(of: _Bags, lines: Array) -> Array:
    """Lines of bags over how many rows these have."""
    from tilewright.namespace.manipulation import broadcast_to

    counts = broadcast_to(_counts(of).reshape((-1, 1)), lines.shape)
    return mapped("embedding_bag", _over, lines, [lines, counts])


@kept_by_form
def embedding_bag(
    input: Any, weight: Array, offsets: Any = None, *, mode: str = "mean",
    per_sample_weights: Array | None = None, include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Array:  # fmt: skip
    """The mean or sum of the rows of weight that each bag has the numbers of: a row of `input` of
    two dimensions, or what is from each of `offsets` on, up to the next. per_sample_weights
    multiplies rows of a sum; padding_idx is a row that counts nothing. A bag without rows is 0."""
    from tilewright.namespace.creation import zeros
    from tilewright.namespace.selection import take

    call = "embedding_bag"
    of = _bags(
        call, input, weight, offsets, mode, per_sample_weights, include_last_offset, padding_idx
    )
    table = of.weight
    shape = (of.size, table.shape[1])
    if 0 in shape or not of.places.size:
        return zeros(shape, dtype=table.dtype, device=table.backend)
    wide = of.values.dtype
    if table.dtype == wide:
        found = _product(of, of.places, table)
    else:
        lines = take(table, of.places, axis=0).astype(wide)
        found = _product(of, structure.counted(of.places.size, table.backend), lines)
    found = _shared(of, found) if of.mode == "mean" else found
    result: Array = found.astype(table.dtype, copy=False)
    return result


def _times(x: Value, y: Value) -> Value:
    return x * y


@kept_by_form
def embedding_bag_backward(
    grad: Array, input: Any, weight: Array, offsets: Any = None, *, mode: str = "mean",
    per_sample_weights: Array | None = None, include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> EmbeddingBagGradients:  # fmt: skip
    """The gradients of embedding_bag() by weight and per_sample_weights: sums in float32 or
    float64, in an order that is the same at each call."""
    from tilewright.namespace.creation import zeros
    from tilewright.namespace.elementwise import where
    from tilewright.namespace.selection import take

    call = "embedding_bag_backward"
    of = _bags(
        call, input, weight, offsets, mode, per_sample_weights, include_last_offset, padding_idx
    )
    table = of.weight
    grad = floats(call, weight=table, grad=grad)[1]
    if grad.shape != (of.size, table.shape[1]):
        invalid(call, f"grad has shape {grad.shape}, expected {(of.size, table.shape[1])}")
    if not grad.size or not of.places.size:
        nothing = zeros(table.shape, dtype=table.dtype, device=table.backend)
        none = of.samples
        return EmbeddingBagGradients(
            nothing,
            None if none is None else zeros(none.shape, dtype=none.dtype, device=table.backend),
        )
    lines = grad.astype(of.values.dtype, copy=False)
    lines = _shared(of, lines) if of.mode == "mean" else lines
    bags = structure.expanded(of.offsets, of.places.size)
    by_weight = sums_by_row(
        of.places, table.shape[0], of.padding, lines, table.dtype, bags, of.values
    )
    if of.samples is None:
        return EmbeddingBagGradients(by_weight, None)
    rows, came = take(table, of.places, axis=0), take(grad, bags, axis=0)
    by_sample = reduced("sum", _times, rows, [rows, came], [1], table.dtype)
    if of.padding is not None:
        by_sample = where(of.places == of.padding, 0.0, by_sample)
    return EmbeddingBagGradients(by_weight, by_sample.reshape(of.samples.shape))
