"""Modes and keywords of NumPy's functions: pads, parts of sets, spaced Arrays, einsum, windows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tilewright as tw
from numpy.random import Generator
from tilewright import Backend, InvalidArgument, Unsupported

from .arrays import on, values


def compared(got: Any, expected: Any) -> None:
    if isinstance(expected, (tuple, list)):
        assert len(got) == len(expected)
        for one, other in zip(got, expected, strict=True):
            compared(one, other)
        return
    host = got.numpy() if isinstance(got, tw.Array) else np.asarray(got)
    assert host.shape == np.shape(expected)
    np.testing.assert_allclose(host, expected, rtol=2e-5, atol=2e-5)


def agree(be: Backend, call: Callable[..., Any], *given: Any) -> None:
    """call(namespace, *arrays) of NumPy and of tilewright."""
    with tw.device(be):
        got = call(tw, *(on(be, one) for one in given))
    compared(got, call(np, *given))


WIDTHS = (2, ((1, 2), (0, 3)), ((5, 0), (7, 9)), ((0, 0), (0, 11)))


@pytest.mark.parametrize("dtype", ["float32", "int32"])
@pytest.mark.parametrize("mode", ["linear_ramp", "maximum", "mean", "median", "minimum"])
def test_pads_of_what_is_computed(be: Backend, rng: Generator, mode: str, dtype: str) -> None:
    host = values(rng, (3, 4), dtype)
    for width in WIDTHS:
        agree(be, lambda xp, x, w=width: xp.pad(x, w, mode), host)
        agree(be, lambda xp, x, w=width: xp.pad(x.T, w, mode), host)
    if mode == "linear_ramp":
        ends = ((1, 7), (-3, 12))
        agree(be, lambda xp, x: xp.pad(x, ((3, 2), (3, 5)), mode, end_values=ends), host)
    else:
        for length in (1, 2, ((1, 2), (3, 9))):
            agree(be, lambda xp, x, n=length: xp.pad(x, 2, mode, stat_length=n), host)


@pytest.mark.parametrize("mode", ["reflect", "symmetric"])
def test_pads_turned_around(be: Backend, rng: Generator, mode: str) -> None:
    for dtype in ("float32", "int32"):
        host = values(rng, (3, 4), dtype)
        for width in WIDTHS:
            agree(be, lambda xp, x, w=width: xp.pad(x, w, mode, reflect_type="odd"), host)
            agree(be, lambda xp, x, w=width: xp.pad(x, w, mode, reflect_type="odd"), host[:, :1])


def test_pads_by_axis_and_empty_ones(be: Backend, rng: Generator) -> None:
    host = values(rng, (3, 4), "float32")
    agree(be, lambda xp, x: xp.pad(x, {0: (1, 2), -1: 3}), host)
    agree(be, lambda xp, x: xp.pad(x, {1: (0, 2)}, "edge"), host)
    found = tw.pad(on(be, host), ((1, 2), (0, 3)), "empty")
    assert found.shape == (6, 7)
    compared(found[1:4, :4], host)
    x = on(be, host)
    for call, error, says in (
        (lambda: tw.pad(x, 1, "odd"), InvalidArgument, "mode is 'odd'.*expected one of constant"),
        (lambda: tw.pad(x, 1, "reflect", reflect_type="no"), InvalidArgument, "reflect_type is"),
        (lambda: tw.pad(x, 1, "mean", stat_length=0), InvalidArgument, "stat_length has 0"),
        (lambda: tw.pad(x, 1, lambda *_: None), Unsupported, r"np\.pad\(x\.numpy"),
        (lambda: tw.pad(x[:0], 1, "maximum"), InvalidArgument, "nothing along axis 0"),
        (lambda: tw.pad(x, {2: 1}), InvalidArgument, "axis is 2"),
    ):
        with pytest.raises(error, match=f"pad: .*{says}"):
            call()


@pytest.mark.parametrize("shape", [(7, 2), (5, 2, 2), (9, 1), (1, 3), (0, 3), (4, 0)])
def test_different_parts(be: Backend, rng: Generator, shape: tuple[int, ...]) -> None:
    for dtype in ("int32", "float32", "bool"):
        host = rng.integers(0, 2, shape).astype(dtype)
        for axis in (0, -1):
            if 0 in shape and shape[axis] and axis:
                continue  # NumPy refuses parts without elements
            agree(be, lambda xp, x, at=axis: xp.unique(x, axis=at), host)
            agree(be, lambda xp, x, at=axis: xp.unique(x, True, True, True, at), host)
    special = np.float32([[0.0, np.nan], [-0.0, np.nan], [np.inf, 1]])
    assert tw.unique(on(be, special), axis=0).shape == (3, 2)
    with pytest.raises(InvalidArgument, match="unique: axis is 3"):
        tw.unique(on(be, special), axis=3)
    with pytest.raises(InvalidArgument, match=r"unique: x is complex64"):
        tw.unique(on(be, np.ones((2, 2), np.complex64)), axis=0)


def test_spaced_arrays(be: Backend) -> None:
    low, high = np.float32([0, 1]), np.float32([20, 33])
    for count in (0, 1, 2, 7):
        for end in (True, False):
            agree(be, lambda xp, a, b, n=count, e=end: xp.linspace(a, b, n, e), low, high)
    agree(be, lambda xp, a: xp.linspace(a, 5, 4, retstep=True, axis=-1), low)
    agree(be, lambda xp, a, b: xp.linspace(a[:, None], b, 3, axis=1), low, high)
    agree(be, lambda xp, a, b: xp.linspace(a, b, 7, dtype="int32"), low, high)
    agree(be, lambda xp, a, b: xp.linspace(a, b, 5), np.complex64([1j, 2]), high)
    agree(be, lambda xp: xp.linspace(0, 1, 5, retstep=True))
    agree(be, lambda xp: xp.linspace(1j, 1, 3, False, True))
    agree(be, lambda xp: xp.linspace([0, 1], [2, 3], 3))
    with pytest.raises(InvalidArgument, match="linspace: num is -1"):
        tw.linspace(on(be, low), 1, -1)


def test_grids_of_vectors(be: Backend) -> None:
    a, b = np.float32([1, 2, 3]), np.float32([4, 5])
    for indexing in ("xy", "ij"):
        for options in ({"sparse": True}, {"copy": False}, {"sparse": True, "copy": False}):
            agree(be, lambda xp, x, y, i=indexing, o=options: xp.meshgrid(x, y, indexing=i, **o),
                  a, b)  # fmt: skip
    x = on(be, a)
    (view,) = tw.meshgrid(x, copy=False)
    view[0] = 9
    assert x[0].item() == 9
    compared(tw.meshgrid(x, b, 7), np.meshgrid(np.float32([9, 2, 3]), b, 7))


def test_angles(be: Backend) -> None:
    agree(be, lambda xp, z: xp.angle(z, True), np.complex64([1j, 1 + 1j, -2]))
    agree(be, lambda xp, z: xp.angle(z, deg=True), np.float32([-1, 2]))


def test_sums_of_products_by_lists(be: Backend, rng: Generator) -> None:
    x, m = values(rng, (3, 4), "float32"), values(rng, (3, 3), "float32")
    agree(be, lambda xp, x, m: xp.einsum(x, [0, 1], m, [2, 0], [1, 2]), x, m)
    agree(be, lambda xp, x: xp.einsum(x, [0, 1]), x)
    agree(be, lambda xp, x: xp.einsum(x, [..., 1], [1, ...]), x)
    agree(be, lambda xp, x, m: xp.einsum(m, [30, 2], x, [2, 4]), x, m)
    agree(be, lambda xp, m: xp.einsum("ij,jk", m, m, optimize="greedy", dtype="float32"), m)
    agree(be, lambda _, m: np.einsum(m, [0, 0]), m)
    out = tw.zeros((3, 3), device=be)
    assert tw.einsum("ij,jk->ik", on(be, m), m, out=out) is out
    compared(out, m @ m)
    with pytest.raises(InvalidArgument, match=r"einsum: subscripts has 52, expected 0 to 51"):
        tw.einsum(on(be, m), [0, 52])
    with pytest.raises(InvalidArgument, match=r"einsum: operands is .*write tw\.asarray"):
        tw.einsum("ij,jk", m, m)
    with pytest.raises(TypeError, match="no int32 by 'safe'; write casting='unsafe'"):
        tw.einsum("ij->i", on(be, m), dtype="int32")


def test_arrays_of_the_host_beside_arrays(be: Backend, rng: Generator) -> None:
    m = values(rng, (3, 3), "float32") + 9 * np.eye(3, dtype=np.float32)
    x = on(be, m)
    for name in ("dot", "inner", "kron", "matmul", "outer", "tensordot", "vecdot", "vdot"):
        call = getattr(tw, name)
        compared(call(x, m), getattr(np, name)(m, m))
        compared(call(m, x), getattr(np, name)(m, m))
        with pytest.raises(InvalidArgument, match=r"write tw\.asarray"):
            call(m, m)
    for name, other in (("solve", m), ("solve", m[0]), ("lstsq", m[0])):
        call, exact = getattr(tw.linalg, name), getattr(np.linalg, name)(m, other)
        for got in (call(x, other), call(m, on(be, other))):
            compared(got[0] if name == "lstsq" else got, exact[0] if name == "lstsq" else exact)
    for got in (tw.linalg.multi_dot([x, m, m]), tw.linalg.multi_dot([m, m, x])):
        np.testing.assert_allclose(got.numpy(), m @ m @ m, rtol=1e-4)
    compared(tw.broadcast_arrays(m, x[0]), np.broadcast_arrays(m, m[0]))
    compared(tw.searchsorted([1, 2, 5], on(be, np.float32([0, 3]))), [0, 2])
    compared(tw.where(m > 0, x, m), m)
    compared(tw.clip(x, m, 2), np.clip(m, m, 2))
    compared(tw.dot(3, x), 3 * m)
    compared(tw.dot(x, 2.5), 2.5 * m)
    out = tw.zeros_like(x)
    assert tw.dot(x, m, out) is out
    compared(tw.einsum("ij,jk", x, m), m @ m)


def test_ends_of_differences(be: Backend, rng: Generator) -> None:
    host = values(rng, (3, 4), "float32")
    agree(be, lambda xp, x: xp.diff(x, prepend=0), host)
    agree(be, lambda xp, x: xp.diff(x, axis=0, append=7.5), host)
    agree(be, lambda xp, x: xp.diff(x[0], prepend=x[0, 0]), host)
    agree(be, lambda xp, x: xp.diff(x, prepend=0, append=[[1], [2], [3]]), host)
    agree(be, lambda xp, x: xp.append(x, 300), np.uint8([1, 2]))
    agree(be, lambda xp, x: xp.append(x, [300]), np.uint8([1, 2]))


def test_filled_with_arrays(be: Backend) -> None:
    agree(be, lambda xp: xp.full((3, 2), [1, 2]))
    agree(be, lambda xp, v: xp.full((3, 2), v, "int32"), np.float32([1, 2]))
    agree(be, lambda xp, v: xp.full_like(v, v[:1], shape=(2, 2)), np.float32([1, 2]))
    with pytest.raises(InvalidArgument, match=r"does not broadcast to \(2, 3\)"):
        tw.full((2, 3), [1, 2], device=be)


def test_windows_are_views(be: Backend, rng: Generator) -> None:
    host = values(rng, (4, 5), "float32")
    view: Any = np.lib.stride_tricks.sliding_window_view
    x = on(be, host)
    for shape, axis in (((2, 2), None), (3, 1), ((2, 1), (0, 0)), ((), ())):
        compared(tw.sliding_window_view(x, shape, axis), view(host, shape, axis))
        compared(view(x.T, shape, axis), view(host.T, shape, axis))
    found = tw.sliding_window_view(x, 3, axis=1)
    found[0, 0, 0] = 50
    assert x[0, 0].item() == 50
    compared(found.sum(axis=-1), view(x.numpy(), 3, 1).sum(axis=-1))
    with pytest.raises(InvalidArgument, match=r"window_shape is \(6,\), expected 1 to the sizes"):
        tw.sliding_window_view(x, 6, 1)
    with pytest.raises(InvalidArgument, match="window_shape has 1 sizes"):
        tw.sliding_window_view(x, 2)


def test_folds_of_ufuncs(be: Backend, rng: Generator) -> None:
    host = values(rng, (5, 7), "int32")
    for name in ("bitwise_and", "bitwise_or", "bitwise_xor", "gcd", "logical_xor"):
        fold = getattr(np, name).reduce
        for options in ({}, {"axis": 1}, {"axis": None}, {"axis": 1, "keepdims": True}):
            agree(be, lambda _, x, f=fold, o=options: f(x, **o), host)
        agree(be, lambda _, x, f=fold: f(x[:0]), host)
    agree(be, lambda _, x: np.bitwise_and.reduce(x, axis=0, initial=3), np.uint8([[7, 2], [3, 6]]))
    nothing = on(be, host[:0])
    with pytest.raises(ValueError, match="no elements along axis 0"):
        nothing.__array_ufunc__(np.lcm, "reduce", nothing)


@pytest.mark.parametrize("name", ["maximum", "minimum"])
def test_extremes_at_places(be: Backend, rng: Generator, name: str) -> None:
    ufunc = getattr(np, name)

    def changed(x: Any, places: Any, given: Any) -> Any:
        made = x.copy()
        ufunc.at(made, places, given)
        return made

    host, given = values(rng, (5, 3), "float32"), values(rng, (4, 3), "float32", -20, 20)
    given[1, 1] = np.nan
    places = np.asarray([0, 3, 0, -1])
    agree(be, lambda _, x, v: changed(x, places, v), host, given)
    agree(be, lambda _, x: changed(x.T, ([1, 1], [2, 2]), [9.5, -9.5]), host)
    agree(be, lambda _, x: changed(x, np.asarray([], "int64"), 1), host)
    agree(be, lambda _, x: changed(x, [2, 2, 2], 0), values(rng, (4,), "int32"))
    with pytest.raises(TypeError, match="b is float32, which int32 does not hold"):
        ufunc.at(on(be, np.int32([1])), 0, on(be, np.float32(1)))


def test_texts(be: Backend, rng: Generator) -> None:
    host = values(rng, (3, 4), "float32")
    x = on(be, host)
    for call in (tw.array2string, np.array2string):
        assert call(x, separator=", ", precision=1) == np.array2string(
            host, separator=", ", precision=1
        )
    assert np.array_str(x) == tw.array_str(x) == np.array_str(host) == str(x)
    assert tw.array_str(x, precision=1) == np.array_str(host, precision=1)
    assert np.array_repr(x) == tw.array_repr(x) == repr(x)
    many = on(be, np.arange(5000, dtype=np.float32))
    shortened = np.array2string(np.arange(5000, dtype=np.float32), threshold=10, edgeitems=2)
    assert tw.array2string(many, threshold=10, edgeitems=2) == shortened


def test_fits_with_what_they_leave(be: Backend) -> None:
    x = np.arange(9, dtype=np.float32)
    y = x * x + 1
    agree(be, lambda xp, x, y: xp.polyfit(x, y, 1, full=True)[:3], x, y)
    agree(be, lambda xp, x, y: xp.polyfit(x, y, 1, cov=True), x, y)
    agree(be, lambda xp, x, y: xp.polyfit(x, xp.stack([y, x], 1), 1, cov="unscaled"), x, y)
    with pytest.raises(InvalidArgument, match="polyfit: x has 2 elements, expected more than 2"):
        tw.polyfit(on(be, x[:2]), on(be, y[:2]), 1, cov=True)


def test_nans_left_out_of_a_choice(be: Backend) -> None:
    host, mask = np.float32([1, np.nan, 5, 7]), np.asarray([True, True, False, True])
    agree(be, lambda xp, x, w: xp.nanmax(x, initial=3.0, where=w), host, mask)
    agree(be, lambda xp, x, w: xp.nanmean(x, where=w), host, mask)
    agree(be, lambda xp, x, w: xp.nanvar(x, ddof=1, where=w), host, mask)
    agree(be, lambda xp, x: xp.nanstd(x, correction=1), host)
    agree(be, lambda xp, x, w: xp.nansum(x, where=w, initial=2), host, mask)


def test_messages_say_what_to_write(be: Backend) -> None:
    x = on(be, np.ones(2, np.float32))
    host = np.ones(2, np.float32)
    big, signed = on(be, np.uint32([1])), on(be, np.int32([-1]))
    if "int64" in {str(one.value) for one in be.capabilities().storage_dtypes}:
        wide = big.astype("uint64"), signed.astype("int64")
        with pytest.raises(InvalidArgument, match=r'write x1\.astype\("int64"\) where its numbers'):
            tw.add(*wide)
        with pytest.raises(InvalidArgument, match=r'write x2\.astype\("int64"\)'):
            tw.add(*wide[::-1])
    for call, says in (
        (lambda: tw.sqrt([1, 4]), r"sqrt: x is .*write tw\.asarray\(x\)"),
        (lambda: tw.where([True], 1, 2), r"where: condition is .*write tw\.asarray\(condition\)"),
        (lambda: tw.ones_like([1]), r"ones_like: x is .*write tw\.asarray\(x\)"),
        (lambda: tw.add(x, x, out=host), r"add: out is .*x\.numpy\(\)"),
        (lambda: np.add(host, x, out=host), r"out is .*x\.numpy\(\)"),
        (lambda: tw.array(i for i in range(3)), r"obj is .*generator.*write tw\.array\(list\("),
        (lambda: tw.array([object()]), "obj has object, expected numbers"),
    ):
        with pytest.raises(InvalidArgument, match=says):
            call()
