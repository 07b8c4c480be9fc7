"""Wrong arguments of linear algebra, each of which a message names, and matrices of no elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tilewright as tw
from tilewright import Backend, InvalidArgument
from tilewright import linalg as la

from .arrays import on


def test_wrong_least_squares(be: Backend) -> None:
    a, b = on(be, np.eye(3, 2, dtype=np.float32)), tw.ones(3, device=be)
    for value in ("x", [1], 1j, np.ones(2), b, True, 10**400, object()):
        with pytest.raises(InvalidArgument, match=r"^lstsq: rcond is .*, expected a number"):
            la.lstsq(a, b, value)
    with tw.CpuBackend() as cpu:
        there = tw.ones(3, device=cpu)
        for given, said in [((3, b), "a has shape .*, expected a matrix"),
                            ((a, [1.0]), "a has shape .*, expected as many rows"),
                            (("x", b), "a is 'x'"), (([1], [2]), "a is .*write tw.asarray"),
                            ((a, there), "b ")]:  # fmt: skip
            with pytest.raises(InvalidArgument, match=f"^lstsq: {said}"):
                la.lstsq(*given)
        del there, given


MANY = np.ones(2)
OPTIONS: list[tuple[str, Callable[[Any, Any], Any], list[Any]]] = [
    ("vector_norm: ord", lambda x, v: la.vector_norm(x, ord=v), [MANY, None, "fro", True, 1j]),
    ("matrix_norm: ord", lambda x, v: la.matrix_norm(x, ord=v), [MANY, "two", True, 1j, 3]),
    ("matrix_norm: keepdims", lambda x, v: la.matrix_norm(x, ord="nuc", keepdims=v), [MANY, 1, 0]),
    ("cond: p", lambda x, v: la.cond(x, v), [MANY, "two", True, 1j, [2]]),
    ("diagonal: offset", lambda x, v: la.diagonal(x, offset=v), [MANY, 0.0, np.nan, True, "0"]),
    ("trace: offset", lambda x, v: la.trace(x, offset=v), [MANY, 0.0, np.nan, True, "0"]),
    ("eigh: UPLO", lambda x, v: la.eigh(x, v), [MANY, None, "X", ["L"]]),
    ("eigvalsh: UPLO", lambda x, v: la.eigvalsh(x, v), [MANY, None, "X"]),
    ("qr: mode", lambda x, v: la.qr(x, v), [MANY, None, "raw", ["r"]]),
    ("matrix_rank: tol", lambda x, v: la.matrix_rank(x, v), ["", "x", 1j, [1], True]),
    ("matrix_rank: rtol", lambda x, v: la.matrix_rank(x, rtol=v), ["", 1j, 10**400, np.zeros(2)]),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(OPTIONS)))
def test_wrong_options(be: Backend, number: int) -> None:
    name, call, values = OPTIONS[number]
    x = on(be, np.eye(3, dtype=np.float32))
    if not name.startswith("matrix_rank"):
        values = [*values, tw.ones((2, 3), device=be)]
    for value in values:
        with pytest.raises(InvalidArgument, match=f"^{name} is "):
            call(x, value)


def test_numbers_of_any_kind(be: Backend) -> None:
    x = on(be, np.float32([[3, 0], [0, -4]]))
    for one in (1, 1.0, np.int32(1), np.float32(1), np.int64(1)):
        assert la.vector_norm(x, ord=one).item() == 7
        assert la.matrix_norm(x, ord=one).item() == 4
    assert la.vector_norm(x, ord=np.float32(np.inf)).item() == 4
    assert la.diagonal(x, offset=np.int64(1)).tolist() == [0]


def test_no_elements(be: Backend) -> None:
    for shape in ((0, 0), (2, 0, 0), (0, 3), (3, 0)):
        x = tw.zeros(shape, device=be)
        for order in (2, 1, np.inf, "nuc", "fro"):
            for keepdims in (False, True):
                got = la.matrix_norm(x, ord=order, keepdims=keepdims)  # type: ignore[arg-type]
                assert got.shape == shape[:-2] + (1, 1) * keepdims and not got.any()
        for p in (None, 1, -2):
            with pytest.raises(la.LinAlgError, match=r"cond: x has shape .*expected matrices with"):
                la.cond(x, p)
    assert la.cond(tw.zeros((0, 3, 3), device=be)).shape == (0,)
