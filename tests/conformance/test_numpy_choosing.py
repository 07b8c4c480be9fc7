"""NumPy's functions that choose elements of Arrays, and those that write the chosen ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tilewright as tw
from tilewright import Backend, InvalidArgument

from .arrays import on, same, values
from .numpy_names import SHAPES, Host, agree

WRITERS: dict[str, Callable[..., Any]] = {
    "copyto": lambda x, m, v: np.copyto(
        x, v[: x.shape[-1]] if x.shape[-1] <= 3 else v[:1], where=m
    ),
    "place": np.place,
    "putmask": np.putmask,
}


@pytest.mark.parametrize("name", WRITERS)
def test_written(be: Backend, rng: np.random.Generator, name: str) -> None:
    for shape in ((0, 3), (1,), (3,), (5, 3), (2, 4, 3)):
        for cut in (lambda x: x, lambda x: x.T if x.shape[-1] == x.shape[0] else x[::-1]):

            def write(x: Any, m: Any, v: Any, cut: Any = cut) -> Any:
                x = x.copy()
                WRITERS[name](cut(x), m, v)
                return x

            mask = rng.uniform(size=shape) < 0.5
            agree(be, write, values(rng, shape, "float32"), mask, values(rng, (3,), "float32"))
            agree(be, write, values(rng, shape, "int32"), mask, values(rng, (50,), "int32")[:3])
    x = on(be, np.zeros(3, "int32"))
    with pytest.raises((TypeError, InvalidArgument)):
        WRITERS[name](x, on(be, np.ones(4, "bool")), np.float32([1.5, 2]))


def test_copied_to(be: Backend) -> None:
    x = on(be, np.zeros((2, 3), "float32"))
    np.copyto(x, [1, 2, 3])
    same(x, np.float32([[1, 2, 3]] * 2))
    np.copyto(x[:, 1], 9, where=np.array([True, False]))
    same(x, np.float32([[1, 9, 3], [1, 2, 3]]))
    with pytest.raises(TypeError, match="src is float32, no int32 by casting 'same_kind'"):
        np.copyto(x.astype("int32"), x)
    with pytest.raises(TypeError, match="where is int8, expected bool"):
        np.copyto(x, 1, where=np.ones(3, "int8"))


def test_fill_diagonal(be: Backend, rng: np.random.Generator) -> None:
    for shape in ((3, 3), (2, 5), (9, 3), (0, 3), (3, 3, 3), (2, 3, 4), (4,)):
        for value in (7, [1, 2], np.arange(5.0, dtype="float32")):
            for wrap in (False, True):

                def fill(x: Any, v: Any = value, w: bool = wrap) -> Any:
                    x = x.copy()
                    np.fill_diagonal(x, v, w)
                    return x

                agree(be, fill, values(rng, shape, "float32"))


def test_selected(be: Backend, rng: np.random.Generator) -> None:
    for shape in SHAPES:
        a, b = values(rng, shape, "float32"), values(rng, shape, "float32")
        agree(be, lambda x, y: np.select([x > 3, x < y], [x, y], 0.5), a, b)
        agree(be, lambda x, y: np.select([x > 3], [x[..., :1]]), a, b)
        agree(be, lambda x, y: np.extract(x > y, x), a, b)
    with pytest.raises(TypeError, match=r"condlist\[0\] is float32, expected bool"):
        np.select([on(be, a)], [on(be, b)])
    with pytest.raises(InvalidArgument, match="condlist has 1 conditions and choicelist 2"):
        np.select([on(be, a > 0)], [on(be, b)] * 2)


def test_chosen(be: Backend, rng: np.random.Generator) -> None:
    which = np.int32([[0, 1, 2], [2, 1, 0]])
    parts = [
        values(rng, (2, 3), "float32"),
        values(rng, (3,), "float32"),
        values(rng, (2, 1), "float32"),
    ]
    agree(be, lambda i, *c: np.choose(i, c), which, *parts)
    agree(be, lambda i, *c: i.choose(list(c)), which, *parts)
    for mode in ("wrap", "clip"):
        agree(be, lambda i, *c, m=mode: np.choose(i, c, mode=m), which * 3 - 4, *parts)
    with pytest.raises(InvalidArgument, match="numbers that are none of the 3 choices"):
        np.choose(on(be, which + 1), [on(be, one) for one in parts])


def test_compressed(be: Backend, rng: np.random.Generator) -> None:
    host: Host = values(rng, (4, 5), "int32")
    for axis in (None, 0, -1):
        for mask in ([True, False, True], [0, 0], []):
            agree(be, lambda x, a=axis, m=mask: np.compress(m, x, axis=a), host)
            agree(be, lambda x, a=axis, m=mask: x.compress(m, a), host)
    out = tw.zeros((2, 5), dtype="int32", device=be)
    assert np.compress([1, 0, 1], on(be, host), axis=0, out=out) is out
    same(out, host[[0, 2]])


def test_sorted_by_several(be: Backend, rng: np.random.Generator) -> None:
    a, b = values(rng, (3, 40), "int32", 0, 4), values(rng, (3, 40), "int32", 0, 4)
    for axis in (0, -1):
        agree(be, lambda x, y, a=axis: np.lexsort((x, y), axis=a).astype("int32"), a, b)
