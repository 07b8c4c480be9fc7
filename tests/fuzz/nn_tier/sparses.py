"""Sparse matrices of dense ones, beside these."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tilewright as tw

from .case import Case

FORMATS = ["csr", "csc", "coo", "bsr"]


def made(x: Any, how: str) -> Any:
    return (
        to(tw.sparse.csr_array(x), how) if how == "bsr" else getattr(tw.sparse, f"{how}_array")(x)
    )


def to(a: Any, how: str) -> Any:
    """In blocks as large as they may be up to 3."""
    if how != "bsr":
        return a.asformat(how)
    return a.tobsr([max([n for n in (1, 2, 3) if size and size % n == 0] or [1])
                    for size in a.shape])  # fmt: skip


def dense(x: Any) -> Any:
    return x.toarray() if tw.sparse.issparse(x) else x


def matrix(case: Case) -> tuple[Any, list[int], str]:
    draw = case.draw
    dtype = draw.one_of(["float32", "float16", "complex64"] + ["float64"] * draw.doubles)
    shape = [draw.one_of([3, 1, 5, 17, 0, 40]), draw.one_of([4, 1, 3, 33, 0])]
    return case.array(shape, dtype, "counts"), shape, dtype


def alone(case: Case) -> Case:
    """Of one matrix."""
    draw = case.draw
    x, _, _ = matrix(case)
    calls: dict[str, Callable[..., Any]] = {
        "toarray": lambda a: a + 0,
        "T": lambda a: a.T,
        "negative": lambda a: -a,
        "times": lambda a: a * 2.5,
        "over": lambda a: a / 4,
        "sum": lambda a: a.sum(),
        "sum 0": lambda a: a.sum(axis=0),
        "sum 1": lambda a: a.sum(axis=1),
        "sum -1": lambda a: a.sum(axis=-1),
        "diagonal": lambda a: a.diagonal(),
        "conj": lambda a: a.conj(),
        "rows": lambda a: a[1:3],
        "columns": lambda a: a[:, ::-1],
        "both": lambda a: a[::2, 1:],
        "list": lambda a: a[[0, -1, 0]],
    }
    name, how, then = draw.one_of(list(calls)), draw.one_of(FORMATS), draw.one_of(FORMATS)
    case.calls("relu", x, how, then)
    case.name, case.given = f"sparse {name}", len(case.arguments) - 2

    def call(_: Any, x: Any, how: str, then: str) -> Any:
        a = to(made(x, how), then)
        if name == "toarray":
            return a.toarray()
        return dense(calls[name](a))

    case.call = call
    return case.to(formula=lambda x, *_: calls[name](x), loose=True, ulps=8)


def pairs(case: Case) -> Case:
    """Of a matrix and another, or a dense one."""
    draw = case.draw
    x, (rows, columns), dtype = matrix(case)
    name = draw.one_of(["@ x", "x @", "@", "+", "*", "-", "sampled", "* row"])
    # Blocks have zeros of their own, at which products are sampled too.
    how, then = draw.one_of(FORMATS[:3] if name == "sampled" else FORMATS), draw.one_of(FORMATS)
    width = draw.one_of([2, 1, 5, 33])
    given: list[Any] = [x]
    if name == "@ x":
        lead = draw.one_of([[], [], [2]])
        vector = not lead and draw.below(2)
        given.append(case.array([columns] if vector else [*lead, columns, width], dtype))
    elif name == "x @":
        given.append(case.array([rows] if draw.below(2) else [width, rows], dtype))
    elif name == "@":
        given.append(case.array([columns, width], dtype, "counts"))
    elif name == "sampled":
        given += [case.array([rows, width], dtype), case.array([width, columns], dtype)]
    elif name == "* row":
        given.append(case.array(draw.one_of([[1, columns], [columns], [rows, 1]]), dtype))
    else:
        given.append(case.array([rows, columns], dtype, "counts"))
    case.calls("relu", *given, how, then)
    case.name, case.given = f"sparse {name}", len(case.arguments) - 2

    def call(_: Any, x: Any, y: Any, *more: Any) -> Any:
        a = made(x, how)
        if name == "@ x":
            return a @ y
        if name == "x @":
            return y @ a
        if name == "sampled":
            return dense(tw.sparse.sampled_addmm(a, y, more[0], beta=0.5, alpha=2.0))
        if name == "* row":
            return dense(a.multiply(y))
        b = made(y, then)
        if name == "@":
            return dense(a @ b)
        return dense(a + b if name == "+" else a - b if name == "-" else a * b)

    def formula(x: Any, y: Any, *more: Any) -> Any:
        if name == "x @":
            return y @ x
        if name in ("@ x", "@"):
            return x @ y
        if name == "sampled":
            return np.where(x != 0, 2 * (y @ more[0]) + 0.5 * x, 0)
        return x + y if name == "+" else x - y if name == "-" else x * y

    case.call = call
    return case.to(formula=formula, loose=True, ulps=32)


def parts(case: Case) -> Case:
    """Of elements and where they are, in any order and some of them twice."""
    draw = case.draw
    rows, columns, count = draw.one_of([3, 1, 9]), draw.one_of([4, 1, 7]), draw.one_of([5, 0, 30])
    dtype = draw.one_of(["float32"] + ["float64"] * draw.doubles)
    integers = draw.one_of(["int32", "int64"])
    data = case.array([count], dtype)
    at = case.indices([count], rows, integers), case.indices([count], columns, integers)
    how = draw.one_of(["csr", "csc", "coo"])
    case.calls("relu", data, *at, (rows, columns))
    case.name = f"sparse {how} of parts"
    case.call = lambda _, data, row, col, shape: getattr(tw.sparse, f"{how}_array")(
        (data, (row, col)), shape=shape).toarray()  # fmt: skip

    def formula(data: Any, row: Any, col: Any, shape: Any) -> Any:
        found = np.zeros(shape)
        np.add.at(found, (row, col), data)
        return found

    return case.to(formula=formula)


def compressed(case: Case) -> Case:
    """Of offsets and indices, of which some make no sense."""
    draw = case.draw
    rows, columns, count = draw.one_of([3, 1, 9]), draw.one_of([4, 1, 7]), draw.one_of([5, 0, 30])
    offsets = np.sort(draw.rng.integers(0, count + 1, rows + 1))
    offsets[0], offsets[-1] = 0, count
    indices = draw.rng.integers(0, columns, count)
    kind = draw.below(6)
    if kind == 1:
        offsets = draw.rng.integers(-2, count + 3, rows + 1)
    elif kind == 2 and count:
        indices[draw.below(count)] = draw.one_of([-1, columns, 2**31 - 1, -(2**31)])
    elif kind == 3:
        offsets[draw.below(rows + 1)] = draw.one_of([2**31 - 1, -1, -(2**31)])
    integers = draw.one_of(["int32", "int64"])
    data = case.array([count], "float32")
    case.calls("relu", data, case.content(indices, integers), case.content(offsets, integers),
               (rows, columns))  # fmt: skip
    then = draw.one_of(["toarray", "@", "sum", "T", "rows"])
    case.name = f"sparse {then} of offsets"

    def call(be: Any, data: Any, indices: Any, offsets: Any, shape: Any) -> Any:
        a = tw.sparse.csr_array((data, indices, offsets), shape=shape, device=be)
        if then == "@":
            return a @ tw.ones(a.shape[1], device=be)
        if then == "sum":
            return a.sum(axis=0)
        return dense(a[::-1] if then == "rows" else a.T if then == "T" else a)

    def formula(data: Any, indices: Any, offsets: Any, shape: Any) -> Any:
        found = np.zeros(shape)
        np.add.at(found, (np.repeat(np.arange(rows), np.diff(offsets)), indices), data)
        calls = {"@": lambda a: a.sum(axis=1), "sum": lambda a: a.sum(axis=0), "T": lambda a: a.T,
                 "rows": lambda a: a[::-1]}  # fmt: skip
        return calls.get(then, lambda a: a)(found)

    case.call = call
    return case.to(formula=formula)


def batch(case: Case) -> Case:
    draw = case.draw
    rows, columns, count, many = (draw.one_of([3, 1, 9]), draw.one_of([4, 1]),
                                  draw.one_of([5, 0, 30]), draw.one_of([2, 1, 0]))  # fmt: skip
    offsets = np.sort(draw.rng.integers(0, count + 1, rows + 1))
    offsets[0], offsets[-1] = 0, count
    data = case.array([many, count], "float32")
    indices = case.content(draw.rng.integers(0, columns, count), "int32")
    x = case.array(draw.one_of([[columns], [columns, 3], [many, columns, 2]]), "float32")
    case.calls("relu", data, indices, case.content(offsets, "int32"), x, (rows, columns))
    case.name = "sparse batch"

    def call(be: Any, data: Any, indices: Any, offsets: Any, x: Any, shape: Any) -> Any:
        a = tw.sparse.csr_batch((data, indices, offsets), shape=shape, device=be)
        return a @ x, a.toarray(), a.mT.toarray()

    case.call = call
    return case.to(loose=True)


KINDS = [alone, pairs, pairs, parts, compressed, batch]
