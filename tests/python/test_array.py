"""Arrays: made, read, reshaped, shared, and freed."""

from __future__ import annotations

import gc
import math
import operator
import threading
import weakref
from typing import Any

import numpy as np
import pytest
import tilewright as tw


def test_an_array_says_what_it_is(be: tw.Backend) -> None:
    x = be.array(np.zeros((2, 3), np.float16))
    assert (x.shape, x.dtype, x.ndim, x.size, x.nbytes, len(x)) == ((2, 3), np.float16, 2, 6, 12, 2)
    assert x.backend is be
    for name in ("shape", "dtype", "backend", "handle"):
        with pytest.raises(AttributeError):
            setattr(x, name, None)
    with pytest.raises(TypeError):
        len(be.array(1.0))
    assert "shape=(2, 3), dtype=float16, backend='cpu'" in repr(x)
    assert "0." in repr(x)
    assert repr(be.zeros(5000)) == (
        "Array([0., 0., 0., ..., 0., 0., 0.], shape=(5000,), dtype=float32, backend='cpu')"
    )


@pytest.mark.parametrize(
    "shape",
    [(1001,), (7, 6, 90), (2, 501), (6, 6, 6, 6), (40, 1, 40), (7,) * 4, (0, 2000), (1000,)],
)
def test_the_middle_of_many_elements_is_left_out_as_numpy_does(
    be: tw.Backend, shape: tuple[int, ...]
) -> None:
    host = np.random.default_rng(1).normal(0, 100, shape).astype(np.float32)
    x = be.array(host)
    for array, values in ((x, host), (x.T, host.T), (x[::-1], host[::-1])):
        expected = np.array2string(values, separator=", ", prefix="Array(")
        assert repr(array).startswith(f"Array({expected}, shape={values.shape}, ")
        assert str(array) == f"{array}" == str(values)
    with np.printoptions(threshold=10, edgeitems=1):
        expected = np.array2string(host, separator=", ", prefix="Array(")
        assert repr(x).startswith(f"Array({expected}, ")


@pytest.mark.parametrize("value", [0.1, np.float32(0.1), 3, True, 1 + 2j, [0.1, 2], [[]], [True]])
def test_printed_are_the_elements(be: tw.Backend, value: Any) -> None:
    x = tw.asarray(value, device=be)
    assert str(x) == f"{x}" == str(x.numpy()[()])


def test_what_is_recorded_is_shown_without_values(be: tw.Backend) -> None:
    x = be.zeros(5000)
    with be.record():
        y = x + 1.0
        assert repr(y) == str(y) == "Array(shape=(5000,), dtype=float32, backend='cpu')"


@pytest.mark.parametrize("shape", [(), (0,), (1,), (3, 0, 2), (2, 3, 4), (1,) * 8])
@pytest.mark.parametrize("dtype", ["float32", "float16", "int32"])
def test_arrays_go_there_and_back(be: tw.Backend, shape: tuple[int, ...], dtype: str) -> None:
    host = np.random.default_rng(0).uniform(-100, 100, shape).astype(dtype)
    x = be.array(host)
    for back in (x.numpy(), np.asarray(x), np.array(x), np.from_dlpack(x)):
        assert back.dtype == dtype and back.shape == shape
        assert (back == host).all()


def test_what_can_become_an_array(be: tw.Backend) -> None:
    assert be.array([1, 2]).dtype == np.float32
    assert be.array(3).shape == ()
    assert be.array([[1.5, 2], (3, 4)]).numpy().tolist() == [[1.5, 2], [3, 4]]
    assert be.array([1, 2], dtype="int32").dtype == np.int32
    assert be.array(np.float64(2), dtype=np.float32).item() == 2
    assert be.array(np.arange(3), dtype=tw.DType.float16).numpy().tolist() == [0, 1, 2]
    data = np.arange(12, dtype=np.float32).reshape(3, 4)
    for view in (data.T, data[::2], data[:, ::-1], np.asfortranarray(data)):
        assert (be.array(view).numpy() == view).all()
    copied = be.array(be.array(data))
    assert (copied.numpy() == data).all()
    with tw.CpuBackend() as other:
        assert (be.array(other.array(data)).numpy() == data).all()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (np.zeros(2), r"x is float64, expected .*; write x\.astype\(np\.float32\)"),
        (np.float64(1), "x is float64"),
        ([np.float64(1), 2.0], "x is float64"),
        ([np.zeros(2), np.zeros(2)], "x is float64"),
        (np.arange(2), r"x is int64, .*; write x\.astype"),
        (np.array([True]), "x is bool"),
        (np.zeros(2, ">f4"), "x is >f4"),
        (np.zeros(2, np.complex64), "dtype complex64"),
        (np.array(["a"]), "dtype <U1"),
        ("abc", r"x is 'abc' \(str\), expected numbers"),
        (None, "dtype object"),
        ({"a": 1}, "dtype object"),
        ([[1], [2, 3]], "cannot be read as an array"),
        (10**400, "dtype object"),
    ],
)
def test_what_cannot(be: tw.Backend, given: Any, message: str) -> None:
    with pytest.raises(tw.InvalidArgument, match=f"^array: .*{message}"):
        be.array(given)
    assert be.memory_stats().allocations == 0


def test_full_takes_a_number() -> None:
    for dtype in (None, "float32", "int32"):
        for value in (None, "3", object()):
            with pytest.raises(tw.InvalidArgument, match=r"^full: fill_value is .* a number"):
                tw.full(3, value, dtype=dtype, device="cpu")


def test_empty_zeros_and_full(be: tw.Backend) -> None:
    assert be.empty((2, 3)).shape == be.empty(np.array([2, 3])).shape == (2, 3)
    assert be.zeros(3, "float16").numpy().tolist() == [0, 0, 0]
    assert be.full((2, 2), 1.5).numpy().tolist() == [[1.5, 1.5], [1.5, 1.5]]
    assert be.full(2, 7, "int32").numpy().tolist() == [7, 7]
    wrong: list[Any] = [-1, (2, -1), 2.0, (2.0,), "3", None, {3}, (None,), True]
    for shape in wrong:
        with pytest.raises(tw.InvalidArgument, match=r"^empty: shape"):
            be.empty(shape)
    for dtype in (
        "clongdouble",
        "longdouble",
        None,
        3,
        "nonsense",
        object(),
        tw.Array.__new__(tw.Array),
    ):
        with pytest.raises(tw.InvalidArgument, match="zeros: dtype is"):
            be.zeros(3, dtype)  # type: ignore[arg-type]
    for value in ("1", None, True, [1]):
        with pytest.raises(tw.InvalidArgument, match="full: value is"):
            be.full(3, value)  # type: ignore[arg-type]
    for value in (1 << 40, math.nan, math.inf, np.float32("nan"), np.float64(1e300)):
        with pytest.raises(tw.InvalidArgument, match="full: value is"):
            be.full(3, value, "int32")
    with pytest.raises(tw.InvalidArgument, match="empty: shape is"):
        be.empty((1 << 40, 1 << 20))
    with pytest.raises(tw.InvalidArgument, match="64 bits"):
        be.empty((1 << 40, 1 << 40))
    with pytest.raises(tw.InvalidArgument, match=r"zeros: shape is .*64 bits"):
        be.zeros((1 << 40, 0, 1 << 40))
    with pytest.raises(tw.InvalidArgument, match="zeros: shape has 65 dimensions"):
        be.zeros((1,) * 65)


def test_numpy_into_an_array_that_is_there(be: tw.Backend) -> None:
    x = be.array([[1.0, 2.0], [3.0, 4.0]])
    wide = np.full((2, 4), -1, np.float32)
    assert x.numpy(out=wide[:, ::2]) is not None
    assert wide.tolist() == [[1, -1, 2, -1], [3, -1, 4, -1]]
    wrong: list[Any] = [np.zeros(4, np.float32), np.zeros((2, 2)), [1], "out"]
    for out in wrong:
        with pytest.raises(tw.InvalidArgument, match="numpy: out is"):
            x.numpy(out=out)
    frozen = np.zeros((2, 2), np.float32)
    frozen.flags.writeable = False
    with pytest.raises(tw.InvalidArgument, match="writable"):
        x.numpy(out=frozen)


def test_asarray_converts_and_refuses_to_share(be: tw.Backend) -> None:
    x = be.array([1.0, 2.0])
    assert np.asarray(x, dtype=np.float64).dtype == np.float64
    with pytest.raises(ValueError, match="copying"):
        x.__array__(copy=False)


def test_item_float_and_bool(be: tw.Backend) -> None:
    one = be.array([[2.5]])
    assert one.item() == 2.5 and float(one) == 2.5 and bool(one)
    assert not bool(be.zeros(1))
    assert be.array([3], dtype="int32").item() == 3
    for ask in (tw.Array.item, float, bool):
        with pytest.raises(tw.InvalidArgument, match="2 elements"):
            ask(be.zeros(2))  # type: ignore[arg-type]


def test_reshape_shares_memory(be: tw.Backend) -> None:
    x = be.array(np.arange(6, dtype=np.float32))
    y = x.reshape(2, 3)
    assert y.shape == (2, 3) and x.reshape((3, -1)).shape == (3, 2) and x.reshape(-1).shape == (6,)
    assert be.zeros((0, 3)).reshape(3, 0).shape == (3, 0)
    assert y.handle == x.handle
    del x
    gc.collect()
    be.square(y, out=y)
    assert y.numpy().tolist() == [[0, 1, 4], [9, 16, 25]]
    assert be.memory_stats().allocations == 1
    hollow = tw.Array.__new__(tw.Array)
    wrong: list[Any] = [5, (2, 2), (-1, -1), (-1, 4), "a", None, (2.0, 3.0), (1 << 70,), hollow]
    for shape in wrong:
        with pytest.raises(tw.InvalidArgument, match="reshape: shape is"):
            y.reshape(shape)


def test_operators(be: tw.Backend) -> None:
    a = np.array([[1, -2, 3]], np.float32)
    x = be.array(a)
    pairs: list[tuple[tw.Array, Any]] = [
        (x + x, a + a),
        (x + 1, a + 1),
        (1 + x, a + 1),
        (a + x, a + a),
        (x - a, a - a),
        (2 - x, 2 - a),
        (x * 2, a * 2),
        (2.0 * x, a * 2),
        (x / 2, a / 2),
        (6 / x, 6 / a),
        (x**2, a**2),
        (2**x, 2**a),
        (-x, -a),
        (abs(x), abs(a)),
        (x @ a.T.copy(), a @ a.T),
        (a.T @ x, a.T @ a),
    ]
    for got, expected in pairs:
        assert isinstance(got, tw.Array)
        np.testing.assert_allclose(got.numpy(), expected, rtol=1e-6)
    total = x
    total += 1
    assert total is x and (x.numpy() == a + 1).all()


def test_arrays_free_themselves(be: tw.Backend) -> None:
    for _ in range(3):
        x = be.array(np.zeros(1000, np.float32))
        y = be.add(x, 1)
        assert be.memory_stats().allocations == 2
        del x, y
        assert be.memory_stats().allocations == 0
    loop: list[Any] = [be.zeros(3)]
    loop.append(loop)
    del loop
    gc.collect()
    assert be.memory_stats().allocations == 0
    kept = [be.zeros(3)]
    thread = threading.Thread(target=kept.clear)
    thread.start()
    thread.join()
    assert be.memory_stats().allocations == 0


def test_arrays_outlive_close_and_a_free_by_hand(be: tw.Backend) -> None:
    x, y = be.zeros(3), be.zeros(3)
    be.free(y.handle)
    del y
    be.close()
    assert repr(x) == "Array(shape=(3,), dtype=float32, backend='cpu')"
    with pytest.raises(tw.NotInitialized):
        x.numpy()
    be.init()
    assert repr(x) == "Array(shape=(3,), dtype=float32, backend='cpu')"
    with pytest.raises(tw.InvalidArgument, match="was freed"):
        x.numpy()
    fresh = be.array([1.0])
    del x
    assert fresh.item() == 1


def test_an_array_without_init_is_refused(be: tw.Backend) -> None:
    hollow = tw.Array.__new__(tw.Array)
    with pytest.raises(tw.InvalidArgument, match="unary: input "):
        be.unary("relu", hollow, hollow, 1)
    with pytest.raises((TypeError, AttributeError)):
        _ = hollow.handle
    with pytest.raises(tw.InvalidArgument, match="add: b is of type Array, which was never init"):
        be.add(1, hollow)
    with pytest.raises(tw.InvalidArgument, match="array: x is of type Array, which was never init"):
        be.array(hollow)


def test_what_an_array_is_made_of_is_checked(be: tw.Backend) -> None:
    assert tw.Array(be, (2,), "float16").dtype == np.float16
    assert tw.Array(be, 2, np.float32).shape == (2,)
    x = be.array([1.0, 2.0])
    assert tw.Array(be, (2, 1), x.dtype, x).numpy().tolist() == [[1], [2]]
    wrong: list[tuple[tuple[Any, ...], str]] = [
        ((be, (2,), np.dtype("datetime64[s]")), "dtype is dtype.'<M8"),
        ((be, (2,), None), "dtype is None"),
        ((be, (-2,), x.dtype), r"shape\[0\] is -2"),
        ((be, "2", x.dtype), "shape is '2'"),
        ((be, (1,) * 65, x.dtype), "65 dimensions"),
        ((be, (1 << 40, 1 << 40), x.dtype), "64 bits"),
        ((be, (2,), x.dtype, 3), "shared is 3"),
        ((be, (1,), x.dtype, x[1:]), "shared is .* starts with its memory"),
        ((x, (2,), x.dtype), "backend is Array"),
    ]
    for arguments, message in wrong:
        with pytest.raises(tw.InvalidArgument, match=f"^Array: .*{message}"):
            tw.Array(*arguments)
    with pytest.raises(tw.InvalidArgument, match="already initialised"):
        x.__init__(be, (3,), x.dtype)  # type: ignore[misc]
    base = tw._core.ArrayBase
    for arguments in [
        (be, [2], x.dtype),
        (be, (2.0,), x.dtype),
        (be, (-1,), x.dtype),
        (be, (2,), "float32"),
        (None, (2,), x.dtype),
        (be, (1,) * 65, x.dtype),
    ]:
        with pytest.raises(tw.InvalidArgument, match=r"^Array: "):
            base(*arguments)  # type: ignore[arg-type]


def test_arrays_compare_element_by_element(be: tw.Backend) -> None:
    a, b = np.array([1.0, 2, 3], np.float32), np.array([3.0, 2, 1], np.float32)
    x, y = be.array(a), be.array(b)
    for compare in (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge):
        for got, expected in [
            (compare(x, y), compare(a, b)),
            (compare(x, 2.0), compare(a, 2.0)),
            (compare(2, y), compare(2, b)),
            (compare(x, b), compare(a, b)),
            (compare(a, y), compare(a, b)),
        ]:
            assert got.dtype == np.bool_ and got.tolist() == expected.tolist()
    for nothing in (None, "a", {}):
        assert (x == nothing) is False and (x != nothing) is True
        with pytest.raises(TypeError):
            _ = x < nothing
    with pytest.raises(TypeError, match="unhashable"):
        hash(x)
    assert 1.0 in x and 5.0 not in x
    with pytest.raises(tw.InvalidArgument, match="3 elements"):
        bool(x == y)
    assert be.array(3.0) and not be.zeros(())


def test_arrays_are_weakly_referenced_and_collected(be: tw.Backend) -> None:
    x = be.zeros(3)
    seen = weakref.ref(x)
    assert seen() is x
    del x
    assert seen() is None
    assert be.memory_stats().allocations == 0
