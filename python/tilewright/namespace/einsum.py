"""Sums of products as einsum writes them."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, NamedTuple

from tilewright import _core
from tilewright.array import Array
from tilewright.call_forms import kept_by_form
from tilewright.namespace import reductions
from tilewright.namespace.linear import matmul
from tilewright.namespace.mixed import beside, check_layout, first_array, written
from tilewright.namespace.products import _pair, diagonal_of
from tilewright.operands import invalid, shown, to_dtype, to_integer
from tilewright.shapes import permuted
from tilewright.small_floats import can_cast


@kept_by_form
def einsum(
    *operands: Any, out: Array | None = None, optimize: Any = False, dtype: Any = None,
    order: str = "K", casting: str = "safe",
) -> Array:  # fmt: skip
    """Sums of products by NumPy's notation, such as "ij,jk->ik" before the operands or a list of
    integers behind each, two operands at a time, each time those that leave the least, whatever
    `optimize` says. Of one operand, it is a view where nothing is summed."""
    subscripts, given = _notation(operands)
    check_layout("einsum", order)
    if not all(isinstance(one, Array) for one in given):
        like = first_array("einsum", "operands", given)
        given = tuple(beside("einsum", f"operands[{i}]", one, like) for i, one in enumerate(given))
    if dtype is not None:
        given = _cast_to(given, dtype, casting)
    found = _of_two(subscripts, *given) if len(given) == 2 else None
    if found is None:
        found = _of_many(subscripts, given)
    return found if out is None else written("einsum", out, found)


def _notation(operands: tuple[Any, ...]) -> tuple[str, tuple[Any, ...]]:
    """The subscripts as text, and the operands."""
    if operands and isinstance(operands[0], str):
        return operands[0], operands[1:]
    what = 'expected a string such as "ij,jk->ik", or a list of integers behind each operand'
    if len(operands) < 2 or not isinstance(operands[1], (list, tuple)):
        given = operands[0] if operands else "not given"
        invalid("einsum", f"subscripts is {shown(given)}: {what}")
    count = len(operands) // 2
    lists = list(operands[1 : 2 * count : 2])
    text = ",".join(map(_letters, lists))
    if len(operands) % 2:
        text += "->" + _letters(operands[-1])
    return text, tuple(operands[0 : 2 * count : 2])


def _letters(labels: Any) -> str:
    """A list of integers as letters, in the order of these."""
    if not isinstance(labels, (list, tuple)):
        invalid("einsum", f"subscripts is {shown(labels)}, expected a list of integers and ...")
    text = ""
    for one in labels:
        if one is Ellipsis:
            text += "..."
            continue
        at = to_integer("einsum", "subscripts", one)
        if not 0 <= at < 52:
            invalid("einsum", f"subscripts has {at}, expected 0 to 51")
        text += chr(ord("A") + at) if at < 26 else chr(ord("a") + at - 26)
    return text


def _cast_to(operands: tuple[Any, ...], dtype: Any, casting: str) -> tuple[Any, ...]:
    wanted = to_dtype("einsum", dtype)
    for i, one in enumerate(operands):
        if not can_cast(one.dtype, wanted, casting):
            what = f"operands[{i}] is {one.dtype}, no {wanted} by {casting!r}"
            raise TypeError(f"einsum: {what}; write casting='unsafe'")
    return tuple(one.astype(wanted, copy=False) for one in operands)


def _of_many(subscripts: str, operands: tuple[Any, ...]) -> Array:
    given, result = _read(subscripts, tuple(one.ndim for one in operands))
    terms = list(zip(given, operands, strict=True))
    for _, one in terms:
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
