"""Calls in their common form, which take a short way, give what the long way gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tilewright as tw
from tilewright import Backend, IndexOutOfRange, InvalidArgument, NotInitialized, Unsupported

from .arrays import on, same, values
from .deferral import waits

NAMES = ("sum", "prod", "max", "min", "mean", "any", "all", "count_nonzero")
VIEWS: list[Callable[[Any], Any]] = [
    lambda x: x,
    lambda x: x[1:, ::-1, ::2],
    lambda x: x.T,
    lambda x: x[:, :1],
]


def stored(be: Backend, *dtypes: str) -> list[str]:
    there = {str(one.value) for one in be.capabilities().storage_dtypes}
    return [one for one in dtypes if one in there]


@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "uint16", "int32", "uint64", "float16", "float32"]
)
def test_axes_are_as_lists_of_them(be: Backend, rng: np.random.Generator, dtype: str) -> None:
    if dtype not in stored(be, dtype):
        with pytest.raises(tw.Unsupported, match="has no"):
            on(be, np.ones(3, dtype))
        return
    host = values(rng, (3, 4, 5), dtype, -2, 2)
    for view in VIEWS if dtype in ("int32", "float32") else VIEWS[1:2]:
        x = view(on(be, host))
        for name in NAMES:
            function = getattr(tw, name)
            for axis in (0, 2, -1, -3):
                for keepdims in (False, True):
                    found = function(x, axis=axis, keepdims=keepdims)
                    same(found, function(x, axis=[axis], keepdims=keepdims).numpy())
                    same(found, function(x, axis=(axis,), keepdims=keepdims).numpy())
            for keepdims in (False, True):
                found = function(x, axis=(2, -3), keepdims=keepdims)
                same(found, function(x, axis=[0, 2], keepdims=keepdims).numpy())
                found = function(x, keepdims=keepdims)
                same(found, function(x, axis=[0, 1, 2], keepdims=keepdims).numpy())
                if name != "count_nonzero":
                    same(getattr(x, name)(keepdims=keepdims), found.numpy())
                    same(getattr(np, name)(x, keepdims=keepdims), found.numpy())
            if name != "count_nonzero":
                same(getattr(x, name)(1), function(x, axis=1).numpy())
                same(getattr(np, name)(x, axis=1), function(x, axis=1).numpy())


def test_integers_are_summed_as_numpy_sums_them(be: Backend, rng: np.random.Generator) -> None:
    wide = {"i": "int64", "u": "uint64", "b": "int64"}
    for dtype in stored(be, "bool", "int8", "uint8", "int16", "uint32", "int64"):
        host = values(rng, (7, 3), dtype, -9, 9)
        x = on(be, host)
        same(x.sum(), host.sum(dtype=wide[host.dtype.kind]))
        same(x.prod(axis=1), host.prod(axis=1, dtype=wide[host.dtype.kind]))
        same(x.max(axis=0), host.max(axis=0))
        same(x.argmin(axis=0, keepdims=True), host.argmin(axis=0, keepdims=True))
        same(tw.argmax(x.T), host.T.argmax())
        assert x.mean().dtype == np.float32
        assert x.mean(axis=0).tolist() == pytest.approx(host.mean(axis=0).tolist(), rel=1e-6)


def test_places_among_all_count_by_rows_of_a_view(be: Backend) -> None:
    host = np.int32([[3, 9, 1], [9, 0, 2]])
    for view in (lambda x: x, lambda x: x.T, lambda x: x[::-1, ::-1]):
        same(view(on(be, host)).argmax(), view(host).argmax())
        same(view(on(be, host)).argmin(axis=0), view(host).argmin(axis=0))


def test_axes_of_other_types(be: Backend) -> None:
    host = np.arange(6, dtype="float32").reshape(2, 3)
    x = on(be, host)
    for axis in (np.int64(1), np.int8(-1), np.array(1), [1]):
        same(x.sum(axis=axis), host.sum(axis=1))
    same(x.sum(axis=()), host)
    same(x.sum(0, "int32"), host.sum(0, "int32"))
    scalar = on(be, np.array(2.5, "float32"))
    for name in ("sum", "max", "mean"):
        same(getattr(scalar, name)(), np.float32(2.5))


@pytest.mark.parametrize("name", NAMES)
def test_wrong_axes_are_refused_in_words(be: Backend, name: str) -> None:
    x = on(be, np.ones((2, 3), "float32"))
    function = getattr(tw, name)
    for axis, words in [
        (2, f"{name}: axis is 2, expected one of the 2 axes of the array"),
        (-3, f"{name}: axis is -3, expected one of the 2 axes of the array"),
        (2**70, f"{name}: axis is {2**70}, expected one of the 2 axes"),
        (True, rf"{name}: axis is True \(bool\), expected integers"),
        (1.0, f"{name}: axis is 1.0 .*expected integers"),
        ((0, 0), rf"{name}: axis is \(0, 0\).*, expected different axes"),
    ]:
        with pytest.raises(InvalidArgument, match=words):
            function(x, axis=axis)
    with pytest.raises(InvalidArgument, match=f"{name}: keepdims is 1 .*expected True or False"):
        function(x, keepdims=1)
    with pytest.raises(InvalidArgument, match=f"{name}: axis is 0, expected one of the 0 axes"):
        function(on(be, np.float32(1)), axis=0)


def test_reductions_of_no_elements(be: Backend) -> None:
    x = on(be, np.ones((2, 0), "float32"))
    same(x.sum(), np.float32(0))
    same(x.prod(axis=1), np.ones(2, "float32"))
    same(x.any(), np.bool_(False))
    same(x.all(axis=0), np.ones(0, "bool"))
    same(x.max(axis=0), np.ones(0, "float32"))
    assert np.isnan(x.mean(axis=1).numpy()).all()
    with pytest.raises(
        InvalidArgument, match=r"argmax: axis is \(0,\) .*expected one axis or None"
    ):
        tw.argmax(x, axis=(0,))
    for call in (x.max, x.argmin):
        with pytest.raises(InvalidArgument, match="of no elements is not defined"):
            call()


@pytest.mark.parametrize("name", ["sum", "mean", "max", "all", "argmax"])
def test_what_waits_goes_into_the_reduction(be: Backend, name: str) -> None:
    host = np.arange(12, dtype="float32").reshape(3, 4)
    x, y = on(be, host), on(be, host[::-1].copy())
    with tw.deferred(True):
        for _ in range(3):  # a chain of this form is one program from its second time on
            with be.profile() as profile:
                chain = x * y + 1
                assert waits(chain)
                found = getattr(chain, name)(1)
                assert waits(chain)
                del chain  # else the end of the profile computes it
            exact = getattr(host * host[::-1] + 1, name)(1)
            np.testing.assert_allclose(found.numpy(), exact, rtol=1e-6)
        assert len(profile.records) == 1


def test_reductions_write_out_and_take_a_dtype(be: Backend) -> None:
    host = np.arange(6, dtype="int32").reshape(2, 3)
    x, out = on(be, host), tw.zeros(3, dtype="float32", device=be)
    assert x.sum(axis=0, dtype="float32", out=out) is out
    same(out, host.sum(axis=0, dtype="float32"))
    with pytest.raises(TypeError, match="unexpected keyword"):
        x.sum(initials=1)
    same(x.sum(initial=4), (host.sum() + 4).astype("int64"))


def test_a_closed_backend_says_so() -> None:
    be = tw.init_backend("cpu")
    x = on(be, np.ones(3, "float32"))
    be.close()
    for call in (x.sum, x.max, lambda: x[x], lambda: tw.zeros(3, dtype="float32", device=be)):
        with pytest.raises((NotInitialized, IndexOutOfRange, InvalidArgument)):
            call()


# Creation -----------------------------------------------------------------------------------------


def test_shapes_and_dtypes_of_any_kind(be: Backend) -> None:
    for shape in (3, (3,), [3], np.int64(3), (np.int16(3),), np.array([3])):
        for dtype in ("float32", np.float32, np.dtype("float32"), None):
            same(tw.zeros(shape, dtype=dtype, device=be), np.zeros(3, "float32"))
    same(tw.ones((2, 0, 3), dtype=int, device=be), np.ones((2, 0, 3), "int64"))
    same(tw.ones((), dtype=bool, device=be), np.ones((), "bool"))
    same(tw.full((2, 1), 2.5, device=be), np.full((2, 1), 2.5, "float32"))
    same(tw.full(2, -7, dtype="int8", device=be), np.full(2, -7, "int8"))
    same(tw.full(2, 7, dtype="float16", device=be), np.full(2, 7, "float16"))
    same(tw.full(2, 5, dtype="bool", device=be), np.full(2, 5, "bool"))
    same(tw.full(2, True, dtype="float32", device=be), np.ones(2, "float32"))
    same(tw.zeros(2, dtype="complex64", device=be), np.zeros(2, "complex64"))
    assert tw.empty((4, 2), dtype="uint8", device=be).shape == (4, 2)
    x = tw.zeros((2, 3), dtype="int16", device=be)[:, ::2]
    same(tw.ones_like(x), np.ones((2, 2), "int16"))
    same(tw.zeros_like(x, dtype="float32"), np.zeros((2, 2), "float32"))


def test_wrong_shapes_and_values_are_refused_in_words(be: Backend) -> None:
    for shape, words in [
        (True, r"zeros: shape\[0\] is True.*, expected an integer"),
        ((2, -1), r"zeros: shape\[1\] is -1, expected 0 or more"),
        (2.0, "zeros: shape is 2.0.*, expected a tuple of integers"),
        ((2**40, 2**40), "more bytes than 64 bits count"),
        ((1,) * 65, "65 dimensions, expected at most"),
    ]:
        with pytest.raises(InvalidArgument, match=words):
            tw.zeros(shape, dtype="float32", device=be)
    with pytest.raises(
        InvalidArgument, match=r"full: fill_value is 300 .*which uint8 does not hold"
    ):
        tw.full(3, 300, dtype="uint8", device=be)
    with pytest.raises(InvalidArgument, match=r"ones: dtype is 'text' .*expected bool"):
        tw.ones(3, dtype="text", device=be)
    with pytest.raises(InvalidArgument, match=r"ones: dtype is '' .*expected bool"):
        tw.ones(3, dtype="", device=be)
    if "float64" not in stored(be, "float64"):
        with pytest.raises(Unsupported, match=r"zeros: .* has no float64"):
            tw.zeros(3, dtype="float64", device=be)


# Indices ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["bool", "int16", "float16", "float32", "complex64"])
def test_one_array_of_indices(be: Backend, rng: np.random.Generator, dtype: str) -> None:
    host = values(rng, (5, 4, 6), "int16").astype(dtype)
    x = on(be, host)
    rows = np.array([[3, -1, 0], [2, -5, 2]])
    wide = np.arange(24).reshape(4, 6) % 5
    for index in (rows, rows.astype("int8"), rows.T, wide[::2, ::-1], wide[:1, :1], rows[:0]):
        i = on(be, np.ascontiguousarray(index))
        same(x[i], host[index])
        same(x[1:, ::2][i % 4], host[1:, ::2][index % 4])
        for value in (1, host[0], host[0, 0]):  # the same for equal places
            got, expected = x.copy(), host.copy()
            got[i] = value if isinstance(value, int) else on(be, value)
            expected[index] = value
            same(got, expected)
    apart = np.array([[3, -5], [1, 4]])
    for value in (host[apart][::-1], host[apart][:, :1], host[apart][:1, :, :, ::-1]):
        got, expected = x.copy(), host.copy()
        got[on(be, apart)] = on(be, np.ascontiguousarray(value))
        expected[apart] = value
        same(got, expected)
    part = on(be, rows)[:, ::-2]
    same(x[part], host[rows[:, ::-2]])


def test_assignment_of_what_it_reads(be: Backend) -> None:
    host = np.arange(6, dtype="int32")
    x = on(be, host)
    i = on(be, np.array([5, 4, 3, 2, 1, 0]))
    x[i] = x
    same(x, host[::-1])
    x[x] = x[::-1]
    expected = host[::-1].copy()
    expected[expected.copy()] = expected[::-1].copy()
    same(x, expected)
    with tw.deferred(True):
        waiting = x + 1
        x[i] = 0
        same(waiting, expected + 1)
        same(x, np.zeros(6, "int32"))


def test_numbers_by_masks_are_cast_as_assignment_casts(be: Backend) -> None:
    for dtype, value in [
        ("int32", 7), ("int32", 2.7), ("float32", 2), ("float16", 0.5), ("bool", True),
        ("bool", 3), ("uint8", 255), ("int32", True), ("complex64", 2.5),
    ]:  # fmt: skip
        host = np.zeros((3, 4), dtype)
        mask = np.arange(12).reshape(3, 4) % 3 == 0
        x, m = on(be, host), on(be, mask)
        x[m] = value
        host[mask] = value
        same(x, host)
    x = on(be, np.zeros((3, 4), "uint8"))
    with pytest.raises(InvalidArgument, match=r"assignment: value is 256 .*which uint8 does not"):
        x[m] = 256
    truths = on(be, mask)
    truths[truths] = False
    same(truths, np.zeros((3, 4), "bool"))
    with pytest.raises(IndexOutOfRange, match=r"a mask of shape \(4, 3\) for an Array of shape"):
        x[m.T] = 1
    rows = on(be, np.array([True, False, True]))
    x[rows] = 5
    same(x, np.repeat(np.uint8([[5], [0], [5]]), 4, 1))


def test_wrong_indices_are_refused_in_words(be: Backend) -> None:
    x = on(be, np.ones((3, 2), "float32"))
    i = on(be, np.array([0, 3]))
    with pytest.raises(IndexOutOfRange, match=r"x\[\.\.\.\]: index 3 is out of range for axis 0"):
        x[i].numpy()
    with pytest.raises(IndexOutOfRange, match=r"x\[\.\.\.\] = value: index 3 is out of range"):
        x[i] = 1
        be.synchronize()
    with pytest.raises(IndexOutOfRange, match="an index is of dtype float32, expected integers"):
        x[on(be, np.ones(2, "float32"))]
    i = on(be, np.array([0, 2]))
    with pytest.raises(InvalidArgument, match=r"a value of shape \(3, 2\) does not broadcast to"):
        x[i] = on(be, np.ones((3, 2), "float32"))
    with pytest.raises(IndexOutOfRange, match="0 dimensions"):
        on(be, np.float32(1))[i]
    message = "an index is an Array of another backend"
    with tw.init_backend("cpu") as other, pytest.raises(InvalidArgument, match=message):
        x[on(other, np.array([0]))]


# NumPy's functions --------------------------------------------------------------------------------


def test_what_numpys_arguments_say_is_looked_at_in_each_call(be: Backend) -> None:
    host = np.float32([[3, 1, 2], [1, 2, 3]])
    x = on(be, host)
    for _ in range(2):
        same(np.sum(x), host.sum())
        same(np.sum(x, keepdims=True), host.sum(keepdims=True))
        same(np.sum(x, axis=1), host.sum(axis=1))
        same(np.unique(x, axis=None), np.unique(host))
        with pytest.raises(Unsupported, match=r"np\.quantile\(x\.numpy\(\), \.\.\., weights="):
            np.quantile(x, 0.5, weights=host)
        same(np.copy(x, order="C"), host)
        with pytest.raises((InvalidArgument, Unsupported)):
            np.copy(x, order="F-wise")
        same(np.concatenate([x, x], 1), np.concatenate([host, host], 1))
        with pytest.raises(TypeError, match="missing"):
            np.take(x)
        np.testing.assert_allclose(np.exp(x).numpy(), np.exp(host), rtol=1e-6)
        same(np.add(x, 1), host + 1)
        same(np.add(2, x, dtype="float32"), 2 + host)
        same(np.matmul(x, x.T), host @ host.T)
        with pytest.raises(Unsupported, match=r"np\.isnat"):
            np.isnat(x)


def test_products_of_uninitialised_or_mixed_operands(be: Backend) -> None:
    host = np.arange(6, dtype="float32").reshape(2, 3)
    x = on(be, host)
    same(x @ on(be, host.T.astype("float16")), host @ host.T)
    with pytest.raises(InvalidArgument, match="of type Array, which was never initialised"):
        tw.matmul(x, tw.Array.__new__(tw.Array))
    message = "is an Array of another backend"
    with tw.init_backend("cpu") as other, pytest.raises(InvalidArgument, match=message):
        x @ on(other, host.T.copy())
