"""Creation, manipulation and conversion of Arrays against NumPy."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tilewright as tw
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from tilewright import Backend

from .arrays import DTYPES, FLOATS, INTEGERS, on, same, values


def test_arrays_of_every_dtype_go_there_and_back(be: Backend, rng: np.random.Generator) -> None:
    for dtype in DTYPES:
        for shape in [(), (0,), (3,), (2, 0, 3), (3, 4, 5)]:
            host = np.asarray(values(rng, shape, dtype))
            x = on(be, host)
            same(x, host)
            assert x.tolist() == host.tolist() and x.nbytes == host.nbytes
            assert (
                x.strides == tuple(s // max(1, host.itemsize) for s in host.strides) or not x.size
            )
            same(on(be, np.from_dlpack(x)), host)
            same(tw.from_dlpack(host, device=be), host)


def test_every_cast(be: Backend) -> None:
    host = np.array([0, 1, 2, 100], np.float64)
    for a in DTYPES:
        for b in DTYPES:
            x = on(be, host.astype(a))
            same(x.astype(b), host.astype(a).astype(b))
            same(x[::-1].astype(b), host.astype(a)[::-1].astype(b))
    x = on(be, host)
    assert x.astype("float64", copy=False) is x and x.astype("float64") is not x
    assert tw.astype(x, tw.int8).dtype == np.int8
    with pytest.raises(tw.InvalidArgument, match="astype: dtype is 'clongdouble'"):
        x.astype("clongdouble")


def test_creation(be: Backend) -> None:
    with tw.device(be):
        for dtype in DTYPES:
            same(tw.zeros((2, 3), dtype=dtype), np.zeros((2, 3), dtype))
            same(tw.ones((2, 0), dtype=dtype), np.ones((2, 0), dtype))
            same(tw.full((), 1, dtype=dtype), np.full((), 1, dtype))
            assert tw.empty(5, dtype=dtype).shape == (5,)
            if dtype != "bool":
                same(tw.arange(3, 60, 7, dtype=dtype), np.arange(3, 60, 7, dtype=dtype))
            same(tw.eye(3, 5, k=1, dtype=dtype), np.eye(3, 5, 1, dtype=dtype))
            like = tw.zeros((2, 2), dtype=dtype)
            for made in (tw.ones_like(like), tw.full_like(like, 1)):
                same(made, np.ones((2, 2), dtype))
            same(tw.zeros_like(like, dtype="int8"), np.zeros((2, 2), np.int8))
            assert tw.empty_like(like).dtype == np.dtype(dtype)
        for k in (-9, -3, -1, 0, 2, 5, 9):
            same(tw.eye(4, 6, k=k), np.eye(4, 6, k, dtype=np.float32))
        same(tw.eye(3), np.eye(3, dtype=np.float32))
        same(tw.arange(5), np.arange(5))
        same(tw.arange(5, 1, -2), np.arange(5, 1, -2))
        same(tw.arange(0, 1, 0.25), np.arange(0, 1, 0.25, np.float32))
        same(tw.arange(5.0), np.arange(5, dtype=np.float32))
        for endpoint in (True, False):
            same(tw.linspace(0, 1, 7, endpoint=endpoint),
                np.linspace(0, 1, 7, endpoint=endpoint).astype(np.float32))  # fmt: skip
        same(tw.linspace(2, 3, 1), np.float32([2]))
        assert tw.linspace(2, 3, 0).shape == (0,)
        assert tw.full(2, True).dtype == np.bool_ and tw.full(2, 1).dtype == np.int64
        assert tw.full(2, 1.0).dtype == np.float32 and tw.zeros(2).backend is be
        for indexing in ("xy", "ij"):
            hosts = [np.arange(n, dtype=np.int32) for n in (2, 3, 4)]
            for count in (1, 2, 3):
                mesh = np.meshgrid(*hosts[:count], indexing=indexing)
                made = tw.meshgrid(*(tw.asarray(h) for h in hosts[:count]), indexing=indexing)
                for got, expected in zip(made, mesh, strict=True):
                    same(got, expected)


def test_triangles(be: Backend, rng: np.random.Generator) -> None:
    for dtype in DTYPES:
        host = values(rng, (2, 5, 4), dtype)
        for k in (-7, -1, 0, 2, 7):
            same(tw.tril(on(be, host), k=k), np.tril(host, k))
            same(tw.triu(on(be, host), k=k), np.triu(host, k))


def test_asarray(be: Backend) -> None:
    with tw.device(be):
        x = tw.asarray([[1, 2], [3, 4]])
        assert x.dtype == np.int64 and tw.asarray(x) is x and tw.asarray(x, copy=True) is not x
        assert tw.asarray([1.5, 2]).dtype == np.float32 and tw.asarray(True).dtype == np.bool_
        assert tw.asarray(np.ones(2)).dtype == np.float64
        assert tw.asarray(np.ones(2, ">f4")).dtype == np.float32
        assert tw.asarray([1, 2], dtype="uint8").dtype == np.uint8
        same(tw.asarray([x[0], [5, 6]]), np.array([[1, 2], [5, 6]]))
        same(tw.asarray(x, dtype=tw.float16), np.array([[1, 2], [3, 4]], np.float16))
        for wrong in ("a", None, {}, [1, "a"], [[1], [2, 3]], np.ones(2, np.clongdouble), 2**70):
            with pytest.raises(tw.InvalidArgument, match=r"^asarray: obj"):
                tw.asarray(wrong)
        for value, dtype in ((300, "uint8"), ([-1], "uint16"), (2**40, "int32")):
            with pytest.raises(tw.InvalidArgument, match="does not hold"):
                tw.asarray(value, dtype=dtype)
        with pytest.raises(tw.InvalidArgument, match="copy is False"):
            tw.asarray([1], copy=False)
        with pytest.raises(tw.InvalidArgument, match="copy is False"):
            tw.asarray(x, dtype="int8", copy=False)


SHUFFLES: dict[str, Callable[[Any, Any], Any]] = {
    "permute_dims": lambda xp, x: xp.permute_dims(x, (2, 0, 1)),
    "matrix_transpose": lambda xp, x: xp.matrix_transpose(x),
    "moveaxis": lambda xp, x: xp.moveaxis(x, (0, 1), (-1, 0)),
    "moveaxis one": lambda xp, x: xp.moveaxis(x, 2, 0),
    "expand_dims": lambda xp, x: xp.expand_dims(x, axis=(0, -1)),
    "squeeze": lambda xp, x: xp.squeeze(xp.expand_dims(x, axis=1), axis=1),
    "flip": lambda xp, x: xp.flip(x),
    "flip some": lambda xp, x: xp.flip(x, axis=(0, 2)),
    "roll": lambda xp, x: xp.roll(x, 7),
    "roll axis": lambda xp, x: xp.roll(x, -1, axis=1),
    "roll axes": lambda xp, x: xp.roll(x, (1, 2), axis=(0, 2)),
    "roll nothing": lambda xp, x: xp.roll(x, 0, axis=0),
    "concat": lambda xp, x: xp.concat([x, x[:, :1], x], axis=1),
    "concat flat": lambda xp, x: xp.concat([x, x[0]], axis=None),
    "stack": lambda xp, x: xp.stack([x, x[::-1]], axis=-1),
    "unstack": lambda xp, x: xp.unstack(x, axis=1)[2],
    "broadcast_to": lambda xp, x: xp.broadcast_to(x[:, :1], (5, 2, 3, 4)),
    "broadcast_arrays": lambda xp, x: xp.broadcast_arrays(x[0], x[:, :1])[1],
    "repeat": lambda xp, x: xp.repeat(x, 3),
    "repeat axis": lambda xp, x: xp.repeat(x, 2, axis=1),
    "repeat each": lambda xp, x: xp.repeat(x, [0, 3, 1], axis=1),
    "repeat each of all": lambda xp, x: xp.repeat(x, list(range(24))),
    "diff": lambda xp, x: xp.diff(x, 1),
    "repeat nothing": lambda xp, x: xp.repeat(x, 0, axis=0),
    "tile": lambda xp, x: xp.tile(x, (2, 1, 3)),
    "tile more": lambda xp, x: xp.tile(x, (2, 1, 1, 2)),
    "tile fewer": lambda xp, x: xp.tile(x, (2,)),
    "reshape": lambda xp, x: xp.reshape(x, (4, -1)),
}


class NumpyToo:
    """NumPy with unstack, which came with NumPy 2.1."""

    @staticmethod
    def unstack(x: Any, axis: int = 0) -> Any:
        return tuple(np.moveaxis(x, axis, 0))

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)


@pytest.mark.parametrize("name", SHUFFLES)
def test_manipulation(be: Backend, rng: np.random.Generator, name: str) -> None:
    shuffle = SHUFFLES[name]
    for dtype in ("bool", "int8", "float16", "float32", "int64"):
        host = values(rng, (2, 3, 4), dtype)
        x = on(be, host)
        same(shuffle(tw, x), shuffle(NumpyToo(), host))
        same(shuffle(tw, x[:, ::-1]), shuffle(NumpyToo(), host[:, ::-1]))


def test_diff(be: Backend, rng: np.random.Generator) -> None:
    for dtype in (*DTYPES,):
        host = values(rng, (4, 6), dtype)
        x = on(be, host)
        same(tw.diff(x), np.diff(host))
        same(tw.diff(x, axis=0, n=2), np.diff(host, axis=0, n=2))
    same(tw.diff(x, prepend=x[:, :1]), np.diff(host, prepend=host[:, :1]))


def test_concat_meets_in_one_dtype(be: Backend) -> None:
    a, b = np.arange(3, dtype=np.int16), np.arange(2, dtype=np.float32)
    same(tw.concat([on(be, a), on(be, b)]), np.concatenate([a, b]))
    same(np.concatenate([on(be, a), on(be, a)]), np.concatenate([a, a]))
    out = tw.empty(6, dtype="int16", device=be)
    assert tw.concat([on(be, a), on(be, a)], out=out) is out
    same(out, np.concatenate([a, a]))
    same(np.stack([on(be, a), on(be, a)]), np.stack([a, a]))
    same(np.reshape(on(be, a), (3, 1)), a.reshape(3, 1))
    same(np.where(on(be, a > 1), 1, on(be, a)), np.where(a > 1, np.int16(1), a))


@given(data=st.data(), shape=hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4))
def test_reshapes_of_views(be: Backend, data: st.DataObject, shape: Any) -> None:
    host = np.arange(np.prod(shape, dtype=int), dtype=np.int16).reshape(shape)
    order = data.draw(st.permutations(range(len(shape))))
    index = tuple(data.draw(st.sampled_from([slice(None), slice(None, None, -1), slice(1, None)]))
        for _ in shape)  # fmt: skip
    part, view = host.transpose(order), on(be, host).transpose(order)
    part, view = part[(*index, ...)], view[index]
    factors = [f for f in range(1, part.size + 1) if part.size % f == 0] if part.size else [1]
    first = data.draw(st.sampled_from(factors))
    for new in ((first, -1), (-1,), part.shape[::-1]):
        if part.size == 0 and -1 in new:
            continue
        got = view.reshape(new)
        same(got, part.reshape(new))
        kept = np.shares_memory(part.reshape(new), part)
        assert got.overlaps(view) == (kept and part.size > 0)
        if not kept and part.size:
            with pytest.raises(tw.InvalidArgument, match="without a copy"):
                view.reshape(new, copy=False)
    same(view.flatten(), part.flatten())
    same(view.ravel(), part.ravel())


def test_methods(be: Backend) -> None:
    host = np.arange(24, dtype=np.int32).reshape(2, 3, 1, 4)
    x = on(be, host)
    same(x.T, host.T)
    same(x.mT, np.swapaxes(host, -1, -2))
    same(x.transpose(1, 0, 2, 3), host.transpose(1, 0, 2, 3))
    same(x.swapaxes(0, -1), host.swapaxes(0, -1))
    same(x.squeeze(), host.squeeze())
    same(x.squeeze(2), host.squeeze(2))
    same(x.copy(), host)
    for made in (copy.copy(x.T), copy.deepcopy(x.T), x.T.copy()):
        same(made, host.T)
        assert made.is_contiguous and not made.overlaps(x)
    x.fill(3)
    same(x, np.full_like(host, 3))
    assert (x.itemsize, x.device, x.__array_namespace__()) == (4, be, tw)
    assert x.to_device(be) is x
    with pytest.raises(tw.InvalidArgument, match="mT"):
        _ = x[0, 0, 0].mT
    with pytest.raises(tw.InvalidArgument, match="axis 0 has 2"):
        x.squeeze(0)
    with pytest.raises(tw.InvalidArgument, match="axes is"):
        x.transpose(0, 1)
    with pytest.raises(tw.InvalidArgument, match="different axes"):
        x.transpose(0, 0, 1, 2)
    with pytest.raises(tw.InvalidArgument, match="api_version"):
        x.__array_namespace__(api_version="1.0")


def test_what_is_pickled_comes_back(be: Backend) -> None:
    with tw.device("cpu"):
        host = np.arange(6, dtype=np.uint16).reshape(2, 3)
        for view in (tw.asarray(host), tw.asarray(host).T):
            again = pickle.loads(pickle.dumps(view))
            same(again, view.numpy())
            assert again.backend is view.backend
    assert pickle.loads(pickle.dumps(tw.add)) is tw.add and copy.copy(tw.exp) is tw.exp


def test_devices() -> None:
    before = tw.default_device()
    with tw.device("cpu") as be:
        assert tw.default_device() is be and tw.zeros(1).device is be
        assert tw.zeros(1, device="cpu:0").device is be
        own = tw.CpuBackend()
        own.init()
        with tw.device(own):
            assert tw.zeros(1).device is own
        x = tw.zeros(3, device=own)
        y = x.to_device("cpu")
        assert y.device is be and y.tolist() == [0, 0, 0]
        assert tw.asarray(x, device=be).device is be
        own.close()
        del x
    assert tw.default_device() is before
    tw.set_default_device("cpu")
    assert tw.ones(2).device is be
    tw.set_default_device(before)
    for wrong in (3, None, "nonsense"):
        with pytest.raises((tw.InvalidArgument, tw.BackendUnavailable)):
            tw.set_default_device(wrong) if wrong is not None else tw.zeros(1, device=3)  # type: ignore[arg-type]


def test_dtypes_and_inspection(be: Backend) -> None:
    assert tw.float32 == np.float32 and tw.zeros(1, device=be).dtype == tw.float32
    assert tw.isdtype(tw.int8, "signed integer") and not tw.isdtype(tw.int8, "unsigned integer")
    assert tw.isdtype(tw.float16, ("integral", "real floating")) and tw.isdtype("bool", tw.bool)
    assert tw.can_cast(tw.int8, tw.int16) and not tw.can_cast(tw.int16, tw.int8)
    assert not tw.can_cast(tw.int64, tw.uint64) and tw.can_cast(tw.float32, tw.float64)
    assert tw.result_type(tw.int8, 3, tw.uint8) == tw.int16
    for dtypes in (("int8", "uint16", "float32"), ("int16", "uint16", "complex64", "bool"),
                   ("uint64", "int8", "float64")):  # fmt: skip
        assert tw.result_type(*dtypes) == np.result_type(*dtypes)
    assert tw.result_type(tw.int8, 3.0) == tw.float32 and tw.result_type(1, True) == tw.int64
    for dtype in FLOATS:
        assert tw.finfo(dtype).bits == np.finfo(dtype).bits
        assert tw.finfo(tw.zeros(1, dtype=dtype, device=be)).max == float(np.finfo(dtype).max)
    for dtype in INTEGERS:
        assert (tw.iinfo(dtype).min, tw.iinfo(dtype).max) == (
            np.iinfo(dtype).min, np.iinfo(dtype).max)  # fmt: skip
    for call in (lambda: tw.finfo("int8"), lambda: tw.iinfo("float32"), lambda: tw.isdtype("int8",
        "nonsense"), lambda: tw.result_type()):  # fmt: skip
        with pytest.raises(tw.InvalidArgument):
            call()
    info = tw.__array_namespace_info__()
    assert set(info.dtypes(device=be)) == {*DTYPES, "complex64", "complex128"}
    assert set(info.dtypes(device=be, kind="real floating")) == set(FLOATS)
    assert info.default_dtypes(device=be)["integral"] == tw.int64
    assert info.capabilities()["boolean indexing"] and "cpu:0" in info.devices()
    assert tw.__array_api_version__ == "2025.12"
    assert tw.broadcast_shapes((2, 1), (3,), ()) == (2, 3)


def test_what_manipulation_refuses(be: Backend) -> None:
    x = on(be, np.arange(6, dtype=np.int32).reshape(2, 3))
    wrong: list[tuple[str, Callable[[], Any]]] = [
        ("reshape: shape is", lambda: tw.reshape(x, (4, 2))),
        ("reshape: shape is", lambda: x.reshape(-1, -1)),
        ("permute_dims: axes", lambda: tw.permute_dims(x, (0,))),
        ("permute_dims: axes is 2", lambda: tw.permute_dims(x, (0, 2))),
        ("moveaxis: source has", lambda: tw.moveaxis(x, (0, 1), 0)),
        ("expand_dims: axis is 4", lambda: tw.expand_dims(x, axis=4)),
        ("flip: axis is -3", lambda: tw.flip(x, axis=-3)),
        ("broadcast_to: x of shape", lambda: tw.broadcast_to(x, (3,))),
        ("do not broadcast together", lambda: tw.broadcast_to(x, (3, 3))),
        ("do not broadcast together", lambda: tw.broadcast_shapes((2,), (3,))),
        (r"concat: arrays\[1\] has shape", lambda: tw.concat([x, x[:, :2]])),
        ("concat: arrays is", lambda: tw.concat([])),
        (r"concat: arrays\[0\] is", lambda: tw.concat([1, 2])),  # type: ignore[list-item]
        ("concat: arrays have no dimension", lambda: tw.concat([x[0, 0], x[0, 0]])),
        ("concat: out overlaps", lambda: tw.concat([x[0], x[1]], out=x.reshape(6))),
        (r"stack: arrays\[1\] has shape", lambda: tw.stack([x, x[0]])),
        ("unstack: x has no dimension", lambda: tw.unstack(x[0, 0])),
        ("roll: shift has 2", lambda: tw.roll(x, (1, 2), axis=0)),
        ("reshape: shape is .*more elements than 64 bits count", lambda: x[:0].reshape(2**63, 0)),
        (
            "reshape: shape is .*more elements than 64 bits count",
            lambda: x[:0].reshape((2**62, 4, 0)),
        ),
        ("repeat: repeats is -1", lambda: tw.repeat(x, -1)),
        ("repeat: repeats has -2", lambda: tw.repeat(x, [1, -2], axis=0)),
        (
            "repeat: repeats is int64 of shape .2,.* 3 integers",
            lambda: tw.repeat(x, [1, 2], axis=1),
        ),
        ("tile: shape", lambda: tw.tile(x, (-1,))),
        ("eye: n_rows", lambda: tw.eye(1.5)),  # type: ignore[arg-type]
        ("tril: x is", lambda: tw.tril(x[0])),
        ("arange: step is 0", lambda: tw.arange(1, 2, 0)),
        ("linspace: num is -1", lambda: tw.linspace(0, 1, -1)),
        ("meshgrid: indexing", lambda: tw.meshgrid(x[0], indexing="yx")),
        ("zeros: dtype is", lambda: tw.zeros(3, dtype="longdouble")),
        ("full: fill_value is", lambda: tw.full(3, "a")),
        ("from_dlpack: x is", lambda: tw.from_dlpack(3)),
    ]
    for message, call in wrong:
        with pytest.raises(tw.InvalidArgument, match=message):
            call()


def test_repeats_of_an_array(be: Backend) -> None:
    host = np.arange(6, dtype=np.float32).reshape(2, 3)
    x, counts = on(be, host), on(be, np.array([2, 0, 3], np.int32))
    same(tw.repeat(x, counts, axis=1), np.repeat(host, [2, 0, 3], axis=1))
    same(tw.repeat(x, counts[:1]), np.repeat(host, 2))
    same(np.repeat(x, counts[::-1], axis=1), np.repeat(host, [3, 0, 2], axis=1))
    assert (np.shape(x), np.ndim(x), np.size(x)) == ((2, 3), 2, 6)
