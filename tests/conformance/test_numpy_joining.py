"""NumPy's functions that join, cut and turn arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tilewright as tw
from tilewright import Backend, InvalidArgument

from .arrays import on, same, values
from .numpy_names import SHAPES, agree

JOINED = ["column_stack", "dstack", "hstack", "vstack"]
TURNED = [
    "atleast_1d", "atleast_2d", "atleast_3d", "copy", "fliplr", "flipud", "ravel", "rot90",
]  # fmt: skip
CUT = ["array_split", "dsplit", "hsplit", "split", "vsplit"]


@pytest.mark.parametrize("name", JOINED)
def test_joined(be: Backend, rng: np.random.Generator, name: str) -> None:
    for shape in SHAPES:
        a, b = values(rng, shape, "float32"), values(rng, shape, "int16")
        agree(be, lambda x, y: getattr(np, name)([x, y]), a, b)
    x = on(be, np.ones((2, 3), "float32"))
    host = np.ones((2, 3), "float32")
    same(getattr(tw, name)([host, x]), getattr(np, name)([host, host]))
    with pytest.raises(InvalidArgument, match=rf"{name}: tup is .*expected an Array"):
        getattr(tw, name)([host, host])


def test_concatenate_and_stack(be: Backend, rng: np.random.Generator) -> None:
    a, b = values(rng, (2, 3), "float32"), values(rng, (2, 3), "int32")
    agree(be, lambda x, y: np.concatenate([x, y], axis=1, dtype="float32", casting="unsafe"), a, b)
    agree(be, lambda x, y: np.stack([x, x], axis=-1, dtype="float16"), a, b)
    x = on(be, a)
    same(np.concatenate([x, a]), np.concatenate([a, a]))
    same(np.stack([a, x]), np.stack([a, a]))
    out = tw.zeros((4, 3), device=be)
    assert np.concatenate([x, x], out=out) is out
    same(out, np.concatenate([a, a]))
    with pytest.raises(TypeError, match="dtype and out are given"):
        np.concatenate([x, x], out=out, dtype="float32")
    with pytest.raises(TypeError, match=r"arrays\[0\] is float32, no int32 by 'same_kind'"):
        np.concatenate([x, x], dtype="int32")


def test_append_and_block(be: Backend, rng: np.random.Generator) -> None:
    for shape in SHAPES:
        a, b = values(rng, shape, "float32"), values(rng, shape, "float32")
        for axis in (None, 0, -1):
            agree(be, lambda x, y, axis=axis: np.append(x, y, axis), a, b)
        agree(be, lambda x, y: np.block([[x], [y]]), a, b)
    agree(be, lambda x: np.block([[x, x[:, :1]], [x[:1], x[:1, :1]]]), values(rng, (3, 4), "int32"))
    with pytest.raises(InvalidArgument, match=r"lists of depths \[0, 1\] side by side"):
        tw.block([on(be, a), [on(be, b)]])


PLACES: tuple[Any, ...] = (0, 2, -1, [0, 1], [2, 0, 0], slice(0, 2), slice(None, None, -1), [], 99)


@pytest.mark.parametrize("axis", [None, 0, -1])
def test_delete_and_insert(be: Backend, rng: np.random.Generator, axis: int | None) -> None:
    for shape in ((3, 4), (3,), (0, 3)):
        host = values(rng, shape, "float32")
        for places in PLACES:
            agree(be, lambda x, p=places: np.delete(x, p, axis), host)
            agree(be, lambda x, p=places: np.insert(x, p, 3, axis), host)
    host = values(rng, (3, 4), "int32")
    agree(be, lambda x: np.delete(x, [True, False, True], 0), host)
    for places in (1, -1, [2]):
        agree(be, lambda x, v, p=places: np.insert(x, p, v, 0), host, values(rng, (4,), "int32"))
        agree(be, lambda x, v, p=places: np.insert(x, p, v, 1), host, values(rng, (3,), "int32"))
    agree(be, lambda x, v: np.insert(x, [0, 2], v, 1), host, values(rng, (3, 2), "int32"))


@pytest.mark.parametrize("name", TURNED)
def test_turned(be: Backend, rng: np.random.Generator, name: str) -> None:
    for shape in SHAPES:
        agree(be, getattr(np, name), values(rng, shape, "int32"))
    agree(be, lambda x: getattr(np, name)(x[::2, ::-1]), values(rng, (5, 6), "float32"))
    x = on(be, values(rng, (3, 4), "float32"))
    assert getattr(np, name)(x).overlaps(x) == (name != "copy")


def test_turned_by_arguments(be: Backend, rng: np.random.Generator) -> None:
    host = values(rng, (2, 3, 4), "int32")
    for k in range(-2, 6):
        agree(be, lambda x, k=k: np.rot90(x, k, (2, 0)), host)
    for axis in (0, 1, 2, -1, 3):
        for start in (0, 1, 3, -1, 4):
            agree(be, lambda x, a=axis, s=start: np.rollaxis(x, a, s), host)
    for shape in ((3, 3), 50, (0,), (2, 1, 5), -1):
        agree(be, lambda x, s=shape: np.resize(x, s), host)
    agree(be, lambda x: np.swapaxes(x, 0, -1), host)
    for order in ("C", "F", "A", "K"):
        agree(be, lambda x, o=order: np.copy(x, o), host)
        agree(be, lambda x, o=order: np.ravel(x, o), host)
    for order in ("C", "F"):
        agree(be, lambda x, o=order: np.reshape(x, (4, -1), o), host)
    with pytest.raises(InvalidArgument, match=r"order is 'X' .*, expected 'C', 'F' or 'A'"):
        on(be, host).ravel("X")


@pytest.mark.parametrize("name", CUT)
def test_cut(be: Backend, rng: np.random.Generator, name: str) -> None:
    for shape in ((), (6,), (4, 6), (2, 4, 6), (0, 2)):
        for cuts in (1, 2, 4, [1], [2, 1, 9], [-1]):
            agree(be, lambda x, c=cuts: getattr(np, name)(x, c), values(rng, shape, "float32"))
    x = on(be, values(rng, (4, 4, 4), "float32"))
    with pytest.raises(InvalidArgument, match="indices_or_sections is 0, expected 1 or more"):
        getattr(np, name)(x, 0)
    assert all(part.overlaps(x) for part in getattr(np, name)(x, 2))
