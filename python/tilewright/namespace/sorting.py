"""The standard's sorts, and selections."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from tilewright import _core
from tilewright.array import Array
from tilewright.call_forms import kept_by_form
from tilewright.namespace.arguments import check_fields, check_sort
from tilewright.operands import invalid, name_of, shown, to_integer
from tilewright.reading import default_integer
from tilewright.shapes import permuted, to_one_axis

if TYPE_CHECKING:
    from collections.abc import Sequence

KINDS = (None, "stable", "quicksort", "mergesort", "heapsort")


class TopK(NamedTuple):
    """What topk() gives."""

    values: Array
    indices: Array


class _Rows:
    """An array with one axis last and its elements side by side, as sorts take it."""

    def __init__(self, call: str, x: Any, axis: Any) -> None:
        if not isinstance(x, Array):
            invalid(call, f"x is {shown(x)}, expected an Array; write tw.asarray(x)")
        if x.dtype.kind == "c":
            invalid(call, f"x is {x.dtype}, which has no order; sort its real part or abs(x)")
        if axis is None:
            x, axis = x.reshape(-1), 0
        self.axis = to_one_axis(call, axis, x.ndim)
        self.order = [i for i in range(x.ndim) if i != self.axis] + [self.axis]
        view = permuted(call, x, self.order) if self.axis != x.ndim - 1 else x
        self.x: Array = view._contiguous()
        #: whether the elements are the caller's own
        self.is_shared = self.x is view
        self.length = x.shape[self.axis]
        self.count = math.prod(x.shape[i] for i in self.order[:-1])

    def new(self, dtype: Any, length: int | None = None) -> Array:
        shape = (*self.x.shape[:-1], self.length if length is None else length)
        result: Array = self.x.backend._new(shape, dtype)
        return result

    def back(self, result: Array) -> Array:
        """With the axis where it was."""
        if self.axis == result.ndim - 1:
            return result
        places = sorted(range(result.ndim), key=self.order.__getitem__)
        return permuted("sort", result, places)._contiguous()


def _check(call: str, descending: Any, stable: Any, kind: Any = None) -> None:
    if not isinstance(descending, bool):
        invalid(call, f"descending is {shown(descending)}, expected True or False")
    if stable is not None and not isinstance(stable, bool):
        invalid(call, f"stable is {shown(stable)}, expected True or False")
    if kind not in KINDS:
        invalid(call, f"kind is {shown(kind)}, expected one of {KINDS[1:]}; every sort is stable")


def sort(
    a: Array, axis: int | None = -1, kind: str | None = None, order: None = None, *,
    stable: bool | None = True, descending: bool = False,
) -> Array:  # fmt: skip
    """The elements in order along an axis, of the array flattened for None. NaN comes last, also in
    descending order; equal elements stay in their order, whatever `stable` and `kind` say."""
    if kind is None and order is None and (stable is None or type(stable) is bool):
        found = _core._sorted(a, axis, descending, False)
        if found is not None:
            return found
    _check("sort", descending, stable, kind)
    check_fields("sort", order)
    rows = _Rows("sort", a, axis)
    result = rows.new(a.dtype) if rows.is_shared else rows.x
    if a.size:
        a.backend.sort(rows.x, result, rows.count, rows.length, descending, a.stored_as)
    return rows.back(result)


def sort_in_place(
    x: Array, axis: int = -1, kind: str | None = None, *, descending: bool = False,
    stable: bool | None = True,
) -> None:  # fmt: skip
    """x.sort()."""
    _check("sort", descending, stable, kind)
    if axis is None:
        invalid("sort", "axis is None, expected an axis; x.flatten() makes one of all")
    at = to_one_axis("sort", axis, x.ndim)
    if at == x.ndim - 1 and x.is_contiguous and x.dtype.kind != "c":
        if x.size:
            rows = math.prod(x.shape[:-1])
            x.backend.sort(x, x, rows, x.shape[-1], descending, x.stored_as)
        return
    x[...] = sort(x, at, descending=descending)


def argsort(
    a: Array, axis: int | None = -1, kind: str | None = None, order: None = None, *,
    stable: bool | None = True, descending: bool = False,
) -> Array:  # fmt: skip
    """Where the elements of sort() are along the axis."""
    if kind is None and order is None and (stable is None or type(stable) is bool):
        found = _core._sorted(a, axis, descending, True)
        if found is not None:
            return found
    _check("argsort", descending, stable, kind)
    check_fields("argsort", order)
    rows = _Rows("argsort", a, axis)
    result = rows.new(default_integer(a.backend))
    if a.size:
        a.backend.argsort(
            rows.x, result, rows.count, rows.length, descending, a.stored_as, name_of(result.dtype)
        )
    return rows.back(result)


@kept_by_form
def topk(x: Array, k: int, /, *, axis: int = -1, largest: bool = True) -> TopK:
    """The k largest elements along an axis, in descending order, or the k least, and where they
    are: the first elements of sort(), of equal ones the first, without sorting the others."""
    if not isinstance(largest, bool):
        invalid("topk", f"largest is {shown(largest)}, expected True or False")
    rows = _Rows("topk", x, axis)
    count = to_integer("topk", "k", k)
    if not 0 <= count <= rows.length:
        invalid("topk", f"k is {count}, expected 0 to {rows.length}, the elements of the axis")
    values, indices = rows.new(x.dtype, count), rows.new(default_integer(x.backend), count)
    if values.size:
        x.backend.topk(
            rows.x, values, indices, rows.count, rows.length, count, largest, x.stored_as,
            name_of(indices.dtype),
        )  # fmt: skip
    return TopK(rows.back(values), rows.back(indices))


def _check_places(call: str, kth: Any, rows: _Rows) -> None:
    given: Sequence[Any] = kth if isinstance(kth, (tuple, list)) else (kth,)
    for one in given:
        at = to_integer(call, "kth", one)
        if not -rows.length <= at < rows.length:
            places = f"{-rows.length} to {rows.length - 1}"
            invalid(call, f"kth is {at}, expected {places}, a place on the axis")


@kept_by_form
def partition(
    a: Array, kth: int | Sequence[int], axis: int | None = -1, kind: str = "introselect",
    order: None = None,
) -> Array:  # fmt: skip
    """What is at the places `kth` of sort(), with nothing larger before and nothing less behind."""
    check_sort("partition", kind, order)
    rows = _Rows("partition", a, axis)
    _check_places("partition", kth, rows)
    return sort(a, axis)


@kept_by_form
def argpartition(
    a: Array, kth: int | Sequence[int], axis: int | None = -1, kind: str = "introselect",
    order: None = None,
) -> Array:  # fmt: skip
    """Where the elements of partition() are along the axis."""
    check_sort("argpartition", kind, order)
    rows = _Rows("argpartition", a, axis)
    _check_places("argpartition", kth, rows)
    return argsort(a, axis)
