"""Functions of the namespace whose calls go without Python once one of their form was noted, and
short lists of numbers as Arrays."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import tilewright as tw
from tilewright import Backend, _core

from .test_kept_functions import TURNS, Arguments, drawn, given, refuses_each_time, same, whole


def pairs(be: Backend, turn: int, *shape: int) -> tw.Array:
    return drawn(be, turn, *shape) + 1j * drawn(be, turn + 5, *shape)


def with_nan(be: Backend, turn: int) -> tw.Array:
    x = drawn(be, turn, 4, 6).numpy()
    x[turn % 4, 2] = math.nan
    x[0, turn % 6] = math.inf
    return tw.asarray(x, device=be)


CALLS: dict[str, tuple[Any, Arguments]] = {
    "vecdot": (tw.vecdot, lambda be, i: given(drawn(be, i, 4, 6), drawn(be, i + 1, 6))),
    "vecdot, axis 0": (
        tw.vecdot, lambda be, i: given(drawn(be, i, 4, 6), drawn(be, i + 1, 4, 6), axis=-2)
    ),
    "tensordot": (tw.tensordot, lambda be, i: given(drawn(be, i, 4, 6), drawn(be, i + 1, 4, 6))),
    "tensordot of axes": (
        tw.tensordot,
        lambda be, i: given(drawn(be, i, 4, 6), drawn(be, i, 5, 4, 6), axes=((0, 1), (1, 2))),
    ),
    "einsum": (
        tw.einsum, lambda be, i: given("ij,kj->ik", drawn(be, i, 4, 6), drawn(be, i, 3, 6))
    ),
    "cross": (tw.cross, lambda be, i: given(drawn(be, i, 4, 3), drawn(be, i + 1, 4, 3))),
    "kron": (tw.kron, lambda be, i: given(drawn(be, i, 2, 3), drawn(be, i, 3, 2))),
    "trace": (tw.trace, lambda be, i: given(drawn(be, i, 2, 4, 4), 1, 1, 2)),
    "norm": (tw.linalg.norm, lambda be, i: given(drawn(be, i, 4, 6))),
    "vector_norm": (
        tw.linalg.vector_norm, lambda be, i: given(drawn(be, i, 4, 6)[:, ::2], axis=1, ord=3)
    ),
    "matrix_power": (tw.linalg.matrix_power, lambda be, i: given(drawn(be, i, 3, 3), 3)),
    "matrix_power of 1": (tw.linalg.matrix_power, lambda be, i: given(drawn(be, i, 3, 3), 0)),
    "tril": (tw.tril, lambda be, i: given(drawn(be, i, 4, 6), k=1)),
    "meshgrid": (tw.meshgrid, lambda be, i: given(drawn(be, i, 4), drawn(be, i, 3))),
    "isclose": (
        tw.isclose,
        lambda be, i: given(with_nan(be, i), with_nan(be, i) + 1e-6, equal_nan=bool(i % 2)),
    ),
    "isclose of integers": (
        tw.isclose, lambda be, i: given(whole(be, i, 4, 5), whole(be, i + 1, 4, 5), atol=1)
    ),
    "nan_to_num": (tw.nan_to_num, lambda be, i: given(with_nan(be, i), posinf=2.5)),
    "median": (tw.median, lambda be, i: given(with_nan(be, i), axis=1)),
    "quantile": (tw.quantile, lambda be, i: given(drawn(be, i, 4, 6), 0.3, keepdims=True)),
    "roll": (tw.roll, lambda be, i: given(drawn(be, i, 4, 6), (1, -2), axis=(0, 1))),
    "tile": (tw.tile, lambda be, i: given(drawn(be, i, 2, 3), (2, 1, 3))),
    "pad": (tw.pad, lambda be, i: given(drawn(be, i, 2, 3), 2, constant_values=7)),
    "gradient": (tw.gradient, lambda be, i: given(drawn(be, i, 7), 0.5)),
    "interp": (
        tw.interp,
        lambda be, i: given(drawn(be, i, 5), tw.sort(drawn(be, i + 1, 6)), drawn(be, i, 6)),
    ),
    "topk": (tw.topk, lambda be, i: given(drawn(be, i, 4, 6), 2)),
    "moveaxis": (tw.moveaxis, lambda be, i: given(drawn(be, i, 2, 3, 4), 0, -1)),
    "split": (tw.split, lambda be, i: given(drawn(be, i, 6, 2), 3)),
    "nanmean": (tw.nanmean, lambda be, i: given(with_nan(be, i), 0)),
    "quantiles of an Array": (
        tw.quantile, lambda be, i: given(drawn(be, i, 4, 6), tw.asarray([i / 7, 0.5], device=be))
    ),
    "roll by an Array": (tw.roll, lambda be, i: given(drawn(be, i, 9), whole(be, i, 9, 1)[0])),
    "split at an Array": (
        tw.split, lambda be, i: given(drawn(be, i, 9), tw.asarray([i + 1], device=be))
    ),
    "repeat by an Array": (
        tw.repeat, lambda be, i: given(drawn(be, i, 3), tw.asarray([i, 1, 2], device=be))
    ),
    "cov": (tw.cov, lambda be, i: given(drawn(be, i, 3, 8))),
    "no elements": (tw.linalg.norm, lambda be, i: given(drawn(be, i, 0, 6), axis=0)),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_again_and_again(name: str, be: Backend) -> None:
    function, arguments = CALLS[name]
    for turn in range(TURNS):
        args, named = arguments(be, turn)
        same(function(*args, **named), function.__wrapped__(*args, **named))


def test_complex_products(be: Backend) -> None:
    for turn in range(TURNS):
        a, b = pairs(be, turn, 3, 4), pairs(be, turn + 1, 4, 2)
        np.testing.assert_allclose((a @ b).numpy(), a.numpy() @ b.numpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("equal_nan", [False, True])
def test_whole_arrays(equal_nan: bool, be: Backend) -> None:
    for turn in range(TURNS):
        x, y = with_nan(be, turn), with_nan(be, turn + 1)
        for one, other in ((x, x), (x, x.copy()), (x, y), (tw.zeros_like(x), tw.zeros_like(x))):
            a, b = one.numpy(), other.numpy()
            assert tw.allclose(one, other, equal_nan=equal_nan) == np.allclose(
                a, b, equal_nan=equal_nan
            )
            assert tw.array_equal(one, other, equal_nan) == np.array_equal(a, b, equal_nan)


WRONG: list[tuple[Any, Arguments]] = [
    (tw.vecdot, lambda be, i: given(drawn(be, i, 4, 6), drawn(be, i, 5))),
    (tw.vecdot, lambda be, i: given(drawn(be, i, 4), 2.0)),
    (tw.tensordot, lambda be, i: given(drawn(be, i, 4, 6), drawn(be, i, 4, 6), axes=True)),
    (tw.einsum, lambda be, i: given("ij,jk->iq", drawn(be, i, 4, 6), drawn(be, i, 6, 2))),
    (tw.linalg.norm, lambda be, i: given(drawn(be, i, 4, 6), "nun")),
    (tw.linalg.matrix_power, lambda be, i: given(drawn(be, i, 4, 6), 2)),
    (tw.quantile, lambda be, i: given(drawn(be, i, 4), 1.5)),
    (tw.isclose, lambda be, i: given(drawn(be, i, 4), drawn(be, i, 5))),
    (tw.roll, lambda be, i: given(drawn(be, i, 4), 1.0)),
    (tw.tril, lambda be, i: given(drawn(be, i, 4))),
]


@pytest.mark.parametrize("i", range(len(WRONG)))
def test_what_is_wrong_stays_wrong(i: int, be: Backend) -> None:
    function, arguments = WRONG[i]
    refuses_each_time(function, arguments(be, 0))


LISTS: list[Any] = [
    [1, 2, 3], (1, 2), [1.5, -0.0, math.nan, math.inf], [1, 2.5], 7, -3.25, [2**31 - 1], [-(2**31)],
    [0.1], [1e-45], [3.4028234e38], list(range(600)), [[1, 2], [3, 4]], [], [True, 1], [1 + 2j, 1],
    True, np.float64(1.5), [1e300, 1.0], [2**24 + 1, 0.5], [2**53 + 1, 0.5],
]  # fmt: skip


@pytest.mark.parametrize("i", range(len(LISTS)))
def test_numbers_of_lists(i: int, be: Backend) -> None:
    """As NumPy reads them, in the default dtype of their kind."""
    numbers = LISTS[i]
    host = np.asarray(numbers)
    integer = tw.arange(1, device=be).dtype
    wanted = {"b": np.bool_, "i": integer, "f": np.float32, "c": np.complex64}[host.dtype.kind]
    if isinstance(numbers, np.generic):
        wanted = host.dtype.type
        if host.dtype not in tw.__array_namespace_info__().dtypes(device=be).values():
            with pytest.raises(tw.Unsupported):
                tw.asarray(numbers, device=be)
            return
    with np.errstate(over="ignore"):
        expected = host.astype(wanted)
    for copy in (None, True):
        found = tw.asarray(numbers, device=be, copy=copy)
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
        np.testing.assert_array_equal(found.numpy(), expected)
        if expected.dtype.kind == "f":
            np.testing.assert_array_equal(np.signbit(found.numpy()), np.signbit(expected))


def test_short_lists_go_without_numpy(be: Backend) -> None:
    for one in ([1, 2, 3], (1.5, 2), 7, 2.5):
        found = _core._listed(be, one)
        assert found is not None
        same(found, tw.asarray(np.asarray(one), dtype=found.dtype, device=be))
    for other in ([True], [1, None], "1", [[1]], [], [2**70], [1e300], np.float32(1), range(3)):
        assert _core._listed(be, other) is None


@pytest.mark.parametrize(
    "wrong", [[2**70], [2**63], [1, "a"], ["1"], [None], [[1], [1, 2]], object()]
)
def test_lists_that_are_refused(wrong: Any, be: Backend) -> None:
    with pytest.raises(tw.Error, match="asarray: obj"):
        tw.asarray(wrong, device=be)
