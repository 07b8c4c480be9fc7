"""Products of Arrays along axes: vecdot, tensordot, outer, cross, kron, and what einsum writes."""

from __future__ import annotations

import math
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from tilewright import _core
from tilewright.array import Array
from tilewright.call_forms import kept_by_form
from tilewright.namespace import reductions
from tilewright.namespace.dtypes import result_type
from tilewright.namespace.linear import _product, matmul
from tilewright.namespace.manipulation import broadcast_shapes, broadcast_to, stack
from tilewright.operands import invalid, name_of, shown, to_integer
from tilewright.program import Program
from tilewright.shapes import permuted, to_axes

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import numpy.typing as npt


def _pair(call: str, x1: Any, x2: Any) -> tuple[Array, Array, np.dtype[Any]]:
    """Two Arrays of one device, in their common dtype."""
    for name, one in (("x1", x1), ("x2", x2)):
        if not isinstance(one, Array):
            invalid(call, f"{name} is {shown(one)}, expected an Array; write tw.asarray({name})")
    x1.backend._own(call, "x2", x2)
    if x1.dtype is x2.dtype:
        return x1, x2, x1.dtype
    dtype = result_type(x1.dtype, x2.dtype)
    return x1.astype(dtype, copy=False), x2.astype(dtype, copy=False), dtype


def _times(a: Array, b: Array) -> Array:
    product: Array = a * b
    return product


def _sum_of_products(call: str, x1: Array, x2: Array, axis: int, dtype: np.dtype[Any]) -> Array:
    """Over one axis of two Arrays of one shape."""
    if dtype.kind == "c":
        return reductions.sum(x1 * x2, axis=axis)
    op = "any" if dtype.kind == "b" else "sum"
    shape = x1.shape[:axis] + x1.shape[axis + 1 :]
    return reductions._reduced(call, op, _product(name_of(dtype)), [x1, x2], (axis,), shape, dtype)


@kept_by_form
def vecdot(x1: Array, x2: Array, /, *, axis: int = -1) -> Array:
    """The sums of products along one axis, which other axes are broadcast around."""
    x1, x2, dtype = _pair("vecdot", x1, x2)
    at = [to_axes("vecdot", axis, one.ndim)[0] - one.ndim for one in (x1, x2)]
    if at[0] != at[1] and (isinstance(axis, int) and axis >= 0):
        invalid("vecdot", f"axis is {axis} of shapes {x1.shape} and {x2.shape}; count from the end")
    if x1.shape[at[0]] != x2.shape[at[1]]:
        invalid(
            "vecdot",
            f"x1 of shape {x1.shape} and x2 of shape {x2.shape} differ along axis {axis}",
        )
    if dtype.kind == "c":
        x1 = _namespace().conj(x1)
    shape = broadcast_shapes(x1.shape, x2.shape)
    x1, x2 = broadcast_to(x1, shape), broadcast_to(x2, shape)
    return _sum_of_products("vecdot", x1, x2, len(shape) + at[0], dtype)


@kept_by_form
def tensordot(
    x1: Array, x2: Array, /, *, axes: int | tuple[Sequence[int], Sequence[int]] = 2
) -> Array:
    """The sums of products over axes of both: the last `axes` of x1 with the first of x2, or those
    of two sequences. One matrix product."""
    x1, x2, _ = _pair("tensordot", x1, x2)
    if isinstance(axes, int) and not isinstance(axes, bool):
        if not 0 <= axes <= min(x1.ndim, x2.ndim):
            invalid("tensordot", f"axes is {axes}, of arrays of {x1.ndim} and {x2.ndim} dimensions")
        of_1 = tuple(range(x1.ndim - axes, x1.ndim))
        of_2 = tuple(range(axes))
    else:
        if not isinstance(axes, (tuple, list)) or len(axes) != 2:
            invalid("tensordot", f"axes is {shown(axes)}, expected an integer or two sequences")
        of_1 = to_axes("tensordot", axes[0], x1.ndim, "axes[0]")
        of_2 = to_axes("tensordot", axes[1], x2.ndim, "axes[1]")
    sizes = [[x.shape[i] for i in of] for x, of in ((x1, of_1), (x2, of_2))]
    if sizes[0] != sizes[1]:
        invalid(
            "tensordot",
            f"axes {of_1} of shape {x1.shape} and {of_2} of shape {x2.shape} differ in size",
        )
    rest_1 = [i for i in range(x1.ndim) if i not in of_1]
    rest_2 = [i for i in range(x2.ndim) if i not in of_2]
    shape = tuple(x1.shape[i] for i in rest_1) + tuple(x2.shape[i] for i in rest_2)
    inner = math.prod(sizes[0])
    left = permuted("tensordot", x1, [*rest_1, *of_1])
    right = permuted("tensordot", x2, [*of_2, *rest_2])
    rows = math.prod(left.shape[: len(rest_1)])
    columns = math.prod(right.shape[len(of_2) :])
    return matmul(left.reshape(rows, inner), right.reshape(inner, columns)).reshape(shape)


@kept_by_form
def outer(x1: Array, x2: Array, /) -> Array:
    """Every element of a vector times every one of another."""
    x1, x2, _ = _pair("outer", x1, x2)
    for name, one in (("x1", x1), ("x2", x2)):
        if one.ndim != 1:
            invalid("outer", f"{name} has shape {one.shape}, expected a vector")
    return _times(x1[:, None], x2[None, :])


@cache
def _difference(dtype: str) -> Program:
    program = Program()
    a, b, c, d = (program.input(dtype) for _ in range(4))
    program.output(a * b - c * d)
    return program


@kept_by_form
def cross(x1: Array, x2: Array, /, *, axis: int = -1) -> Array:
    """The vector at right angles to two of 3 elements, which lie along one axis."""
    x1, x2, dtype = _pair("cross", x1, x2)
    if dtype.kind == "b":
        invalid("cross", "x1 and x2 are bool, expected numbers")
    shape = broadcast_shapes(x1.shape, x2.shape)
    at = to_axes("cross", axis, len(shape))[0]
    x1, x2 = broadcast_to(x1, shape), broadcast_to(x2, shape)
    for name, one in (("x1", x1), ("x2", x2)):
        if one.shape[at] != 3:
            invalid("cross", f"{name} has {one.shape[at]} elements along axis {axis}, expected 3")
    a, b = ([_at(one, at, i) for i in range(3)] for one in (x1, x2))
    if dtype.kind == "c":
        rows = [a[i - 2] * b[i - 1] - a[i - 1] * b[i - 2] for i in range(3)]
        return stack(rows, axis=at)
    result = x1.backend._new(shape, dtype)
    for i in range(3 if result.size else 0):
        row = _at(result, at, i)
        factors = [a[i - 2], b[i - 1], a[i - 1], b[i - 2]]
        x1.backend.map(_difference(name_of(dtype)), row.shape, factors, [], [row])
    return result


def _at(x: Array, axis: int, index: int) -> Array:
    return x[(slice(None),) * axis + (index,)]


@kept_by_form
def kron(a: Array, b: Array, /) -> Array:
    """b once for each element of a, times that element."""
    a, b, _ = _pair("kron", a, b)
    rank = max(a.ndim, b.ndim)
    a = a.reshape((1,) * (rank - a.ndim) + a.shape)
    b = b.reshape((1,) * (rank - b.ndim) + b.shape)
    blocks = _times(a[(slice(None), None) * rank], b[(None, slice(None)) * rank])
    return blocks.reshape(tuple(m * n for m, n in zip(a.shape, b.shape, strict=True)))


def dot(a: Array, b: Array, /) -> Array:
    """NumPy's dot: over the last axis of a and the last but one of b."""
    a, b, _ = _pair("dot", a, b)
    if a.ndim == 0 or b.ndim == 0:
        return _times(a, b)
    if b.ndim <= 2:
        return matmul(a, b)
    return tensordot(a, b, axes=((-1,), (-2,)))


@kept_by_form
def inner(a: Array, b: Array, /) -> Array:
    """NumPy's inner: over the last axis of both."""
    a, b, _ = _pair("inner", a, b)
    if a.ndim == 0 or b.ndim == 0:
        return _times(a, b)
    return tensordot(a, b, axes=((-1,), (-1,)))


@kept_by_form
def diagonal(x: Array, /, *, offset: int = 0) -> Array:
    """A view of the diagonals of the matrices in the last two axes, `offset` above the middle."""
    if not isinstance(x, Array):
        invalid("diagonal", f"x is {shown(x)}, expected an Array; write tw.asarray(x)")
    if x.ndim < 2:
        invalid("diagonal", f"x has shape {x.shape}, expected two dimensions at least")
    return diagonal_of(x, x.ndim - 2, x.ndim - 1, to_integer("diagonal", "offset", offset))


def diagonal_of(x: Array, row_axis: int, column_axis: int, offset: int = 0) -> Array:
    """Where both axes step at once, as the last axis of a view."""
    down, right = max(-offset, 0), max(offset, 0)
    long = min(x.shape[row_axis] - down, x.shape[column_axis] - right)
    strides = x.strides
    others = [i for i in range(x.ndim) if i not in (row_axis, column_axis)]
    start = x.offset
    if long > 0:
        start += down * strides[row_axis] + right * strides[column_axis]
    return x._view(
        (*(x.shape[i] for i in others), max(long, 0)),
        [*(strides[i] for i in others), strides[row_axis] + strides[column_axis]],
        start,
    )


@kept_by_form
def trace(x: Array, /, *, offset: int = 0, dtype: npt.DTypeLike | None = None) -> Array:
    """The sums of diagonal()."""
    return reductions.sum(
        diagonal(x, offset=to_integer("trace", "offset", offset)), axis=-1, dtype=dtype
    )


def _namespace() -> Any:
    import tilewright

    return tilewright


# einsum ------------------------------------------------------------------------------------------


@kept_by_form
def einsum(subscripts: str, /, *operands: Array) -> Array:
    """Sums of products by NumPy's notation, such as "ij,jk->ik", two operands at a time, each time
    those that leave the least. Of one operand, it is a view where nothing is summed."""
    if not isinstance(subscripts, str):
        what = 'expected a string such as "ij,jk->ik"'
        invalid("einsum", f"subscripts is {shown(subscripts)}: {what}")
    if len(operands) == 2 and all(isinstance(one, Array) for one in operands):
        found = _of_two(subscripts, *operands)
        if found is not None:
            return found
    ranks = tuple(one.ndim if isinstance(one, Array) else 0 for one in operands)
    given, result = _read(subscripts, ranks)
    terms = list(zip(given, operands, strict=True))
    for _, one in terms:
        if not isinstance(one, Array):
            invalid("einsum", f"an operand is {shown(one)}, expected an Array; write tw.asarray()")
        terms[0][1].backend._own("einsum", "an operand", one)
    sizes = _sizes(subscripts, terms)
    terms = [_plain(labels, x, sizes) for labels, x in terms]
    while len(terms) > 1:
        i, j = _next(terms, result, sizes)
        (a, x), (b, y) = terms[i], terms[j]
        terms = [term for at, term in enumerate(terms) if at not in (i, j)]
        kept = set(result).union(*(labels for labels, _ in terms))
        terms.append(_contracted(a, x, b, y, kept))
    labels, x = _summed(*terms[0], set(result))
    return permuted("einsum", x, [labels.index(one) for one in result])


class Contraction(NamedTuple):
    """Of two operands: the order of their axes, batches, rows and columns that these are, what
    comes of it, and the order of its axes. No shapes where it is a plain product of elements."""

    orders: tuple[tuple[int, ...] | None, tuple[int, ...] | None]
    shapes: tuple[tuple[int, ...], tuple[int, ...]]
    result: tuple[int, ...]
    order: tuple[int, ...] | None


def _of_two(subscripts: str, x: Array, y: Array) -> Array | None:
    """The common form: none of the labels twice in one operand, or in neither another nor the
    result."""
    how = _contraction(subscripts, x.shape, y.shape)
    if how is None:
        return None
    x, y, _ = _pair("einsum", x, y)
    left, right = (
        (one if order is None else one._permuted(order)).reshape(shape)
        for one, order, shape in zip((x, y), how.orders, how.shapes, strict=True)
    )
    product = matmul(left, right).reshape(how.result)
    return product if how.order is None else product._permuted(how.order)


@lru_cache(512)
def _contraction(
    subscripts: str, of_x: tuple[int, ...], of_y: tuple[int, ...]
) -> Contraction | None:
    (a, b), result = _read(subscripts, (len(of_x), len(of_y)))
    sizes = dict(zip(a, of_x, strict=True))
    for label, size in zip(b, of_y, strict=True):
        if sizes.setdefault(label, size) != size:
            return None
    both = set(a) & set(b)
    inner = [one for one in a if one in both and one not in result]
    alone = any(one not in both and one not in result for one in (*a, *b))
    if len(set(a)) < len(a) or len(set(b)) < len(b) or alone or not inner:
        return None
    batch = [one for one in a if one in both and one in result]
    left, right = ([one for one in of if one not in both] for of in (a, b))

    def count(some: list[str]) -> int:
        return math.prod(sizes[one] for one in some)

    def order(labels: list[str], wanted: list[str]) -> tuple[int, ...] | None:
        found = tuple(labels.index(one) for one in wanted)
        return None if found == tuple(range(len(found))) else found

    lead = tuple(sizes[one] for one in batch)
    labels = [*batch, *left, *right]
    return Contraction(
        (order(a, [*batch, *left, *inner]), order(b, [*batch, *inner, *right])),
        ((*lead, count(left), count(inner)), (*lead, count(inner), count(right))),
        tuple(sizes[one] for one in labels),
        order(labels, result),
    )


@lru_cache(512)
def _read(subscripts: str, ranks: tuple[int, ...]) -> tuple[list[list[str]], list[str]]:
    """The labels of each operand of these many dimensions, and of the result; "..." are labels of
    their own."""

    def refuse(why: str) -> _core.InvalidArgument:
        return _core.InvalidArgument(f"einsum: subscripts is {shown(subscripts)}: {why}")

    text = subscripts.replace(" ", "")
    left, arrow, right = text.partition("->")
    parts = left.split(",")
    if len(parts) != len(ranks) or not ranks:
        raise refuse(f"{len(parts)} operands, but {len(ranks)} are given")
    if not all(sign.isalpha() for sign in (left + right).replace("...", "").replace(",", "")):
        raise refuse("other signs than letters, commas, ... and ->")
    around = [rank - len(part.replace("...", "")) for part, rank in zip(parts, ranks, strict=True)]
    widest = max((n for n, part in zip(around, parts, strict=True) if "..." in part), default=0)

    def labels(part: str, count: int) -> list[str]:
        head, dots, tail = part.partition("...")
        many = [f".{i}" for i in range(widest - count, widest)] if dots else []
        return [*head, *many, *tail]

    found = []
    for part, count, rank in zip(parts, around, ranks, strict=True):
        if count < 0 or (count > 0 and "..." not in part):
            raise refuse(f"{part!r} is for another shape than one of {rank} dimensions")
        found.append(labels(part, count))
    every = [one for part in found for one in part]
    if arrow:
        result = labels(right, widest)
        if len(set(result)) != len(result):
            raise refuse(f"{right!r} has a letter twice")
        unknown = [one for one in result if one not in every]
        if unknown:
            raise refuse(f"no operand has the {unknown[0]!r} of the result")
    else:
        dots = [f".{i}" for i in range(widest)]
        once = sorted({one for one in every if every.count(one) == 1 and one[0] != "."})
        result = [*dots, *once]
    return found, result


def _sizes(subscripts: str, terms: list[tuple[list[str], Array]]) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for labels, x in terms:
        for label, size in zip(labels, x.shape, strict=True):
            known = sizes.get(label, 1)
            if 1 not in (known, size) and known != size:
                invalid("einsum", f"{label!r} of {subscripts!r} is {known} long and {size} long")
            sizes[label] = size if known == 1 else known
    return sizes


def _plain(labels: list[str], x: Array, sizes: dict[str, int]) -> tuple[list[str], Array]:
    """Without a label twice (its diagonal) and without sizes of 1 that are broadcast."""
    labels = list(labels)
    for i in reversed(range(len(labels))):
        if x.shape[i] == 1 and sizes[labels[i]] != 1:
            x = x[(slice(None),) * i + (0,)]
            del labels[i]
    while len(set(labels)) != len(labels):
        twice = next(one for one in labels if labels.count(one) > 1)
        i = labels.index(twice)
        j = labels.index(twice, i + 1)
        x = diagonal_of(x, i, j)
        labels = [one for at, one in enumerate(labels) if at not in (i, j)] + [twice]
    return labels, x


def _summed(labels: list[str], x: Array, kept: set[str]) -> tuple[list[str], Array]:
    axes = tuple(i for i, one in enumerate(labels) if one not in kept)
    if axes:
        boolean = x.dtype.kind == "b"
        x = reductions.any(x, axis=axes) if boolean else reductions.sum(x, axis=axes, dtype=x.dtype)
    return [one for one in labels if one in kept], x


def _next(
    terms: list[tuple[list[str], Array]], result: list[str], sizes: dict[str, int]
) -> tuple[int, int]:
    """The two whose product leaves the least; of those alike, the first."""
    best = None
    for j in range(1, len(terms)):
        for i in range(j):
            others = set(result).union(
                *(labels for at, (labels, _) in enumerate(terms) if at not in (i, j))
            )
            both = set(terms[i][0]) | set(terms[j][0])
            cost = (math.prod(sizes[one] for one in both & others), i, j)
            if best is None or cost < best:
                best = cost
    assert best is not None
    return best[1], best[2]


def _contracted(
    a: list[str], x: Array, b: list[str], y: Array, kept: set[str]
) -> tuple[list[str], Array]:
    a, x = _summed(a, x, kept | set(b))
    b, y = _summed(b, y, kept | set(a))
    x, y, _ = _pair("einsum", x, y)
    both = [one for one in a if one in b]
    batch = [one for one in both if one in kept]
    inner = [one for one in both if one not in kept]
    left = [one for one in a if one not in b]
    right = [one for one in b if one not in a]
    sizes = dict(zip(a, x.shape, strict=True)) | dict(zip(b, y.shape, strict=True))
    x = permuted("einsum", x, [a.index(one) for one in [*batch, *left, *inner]])
    labels = [*batch, *left, *right]
    if not inner:
        y = permuted("einsum", y, [b.index(one) for one in [*batch, *right]])
        steps = (slice(None),) * len(batch)
        return labels, x[(..., *(None,) * len(right))] * y[(*steps, *(None,) * len(left), ...)]
    y = permuted("einsum", y, [b.index(one) for one in [*batch, *inner, *right]])

    def count(some: list[str]) -> int:
        return math.prod(sizes[one] for one in some)

    shape = tuple(sizes[one] for one in labels)
    lead = tuple(sizes[one] for one in batch)
    product = matmul(
        x.reshape(*lead, count(left), count(inner)), y.reshape(*lead, count(inner), count(right))
    )
    return labels, product.reshape(shape)
