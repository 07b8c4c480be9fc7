"""Sparse matrices of dense ones, beside these."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tilewright as tw

from .case import Case

FORMATS = ["csr", "csc", "coo", "bsr"]


def made(x: Any, how: str) -> Any:
    return getattr(tw.sparse, f"{how}_array")(x)


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
        a = made(x, how).asformat(then)
        if name == "toarray":
            return a.toarray()
        return dense(calls[name](a))

    case.call = call
    if name == "list" and case.operands[0].view(case.operands[0].base).shape[0] == 0:
        return case.to(beside="cpu")
    return case.to(formula=lambda x, *_: calls[name](x), loose=True, ulps=8)


def pairs(case: Case) -> Case:
    """Of a matrix and another, or a dense one."""
    draw = case.draw
    x, (rows, columns), dtype = matrix(case)
    name = draw.one_of(["@ x", "x @", "@", "+", "*", "-", "sampled", "* row"])
    how, then = draw.one_of(FORMATS), draw.one_of(FORMATS)
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


KINDS = [alone, pairs, pairs, parts]
