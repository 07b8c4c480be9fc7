"""Views and assignment through them against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tilewright as tw
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from tilewright import Backend

from .arrays import DTYPES, on, same, values


def index_of(shape: tuple[int, ...]) -> st.SearchStrategy[Any]:
    return hnp.basic_indices(shape, allow_newaxis=True, allow_ellipsis=True, max_dims=6)


@given(data=st.data(), shape=hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=5))
def test_any_basic_index_is_numpys(be: Backend, data: st.DataObject, shape: Any) -> None:
    host = np.arange(np.prod(shape, dtype=int), dtype=np.int32).reshape(shape)
    there = on(be, host)
    first = data.draw(index_of(shape))
    part, view = host[first], there[first]
    same(view, part)
    # A view of the view.
    second = data.draw(index_of(np.shape(part)))
    same(view[second], np.asarray(part)[second])
    assert view.overlaps(there) == (np.size(part) > 0)


@given(
    data=st.data(),
    shape=hnp.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=5),
    dtype=st.sampled_from(["int16", "float32", "bool"]),
)
def test_assignment_is_numpys(be: Backend, data: st.DataObject, shape: Any, dtype: str) -> None:
    host = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)
    there = on(be, host)
    for _ in range(3):
        index = data.draw(index_of(shape))
        target = np.shape(host[index])
        kind = data.draw(st.sampled_from(["number", "array", "host", "own view"]))
        if kind == "number":
            value: Any = data.draw(st.integers(0, 1) if dtype == "bool" else st.integers(-99, 99))
            host[index] = value
            there[index] = value
            continue
        if kind == "own view":
            other = data.draw(index_of(shape))
            source = np.array(host[other])
            if target == () and source.ndim:
                continue  # NumPy has a rule of its own for elements
            trial = host.copy()
            try:
                trial[index] = source
            except ValueError:
                with pytest.raises(tw.InvalidArgument, match="does not broadcast"):
                    there[index] = there[other]
                continue
            host = trial
            there[index] = there[other]
            continue
        own = tuple(1 if data.draw(st.booleans()) else size for size in target)
        new = np.arange(np.prod(own, dtype=int)).reshape(own).astype(data.draw(
            st.sampled_from(["int32", "float32", "uint8"])))  # fmt: skip
        host[index] = new
        there[index] = on(be, new) if kind == "array" else new
    same(there, host)


def test_assignment_casts(be: Backend) -> None:
    for source in DTYPES:
        for target in ("bool", "uint8", "int32", "float32"):
            host = np.array([0, 1, 1, 0], source)
            x = tw.zeros(4, dtype=target, device=be)
            x[...] = on(be, host)
            same(x, host.astype(target))
    x = tw.zeros(3, dtype="int32", device=be)
    x[0] = 2.9
    x[1] = -2.9
    x[2] = True
    assert x.tolist() == [2, -2, 1]
    x[...] = [1.5, 2.5, 3.5]
    assert x.tolist() == [1, 2, 3]
    x[...] = np.float64(7.5)
    assert x.tolist() == [7, 7, 7]
    for wrong, message in [(2**31, "int32 does not hold"), (float("nan"), "NaN"),
                           (float("inf"), "infinity")]:  # fmt: skip
        with pytest.raises((tw.InvalidArgument, ValueError, OverflowError), match=message):
            x[0] = wrong
    for strange in ("a", None, {}):
        with pytest.raises(tw.InvalidArgument, match="assignment: value is"):
            x[0] = strange
    with pytest.raises(tw.InvalidArgument, match=r"value of shape \(2,\) does not broadcast"):
        x[...] = on(be, np.ones(2))
    x[...] = on(be, np.ones((1, 1, 3)))
    assert x.tolist() == [1, 1, 1]
    with pytest.raises(TypeError, match="deleted"):
        del x[0]


def test_views_share_memory(be: Backend) -> None:
    x = on(be, np.arange(12, dtype=np.float32).reshape(3, 4))
    row, column, last = x[1], x[:, 1], x[-1, -1]
    x += 1
    assert row.tolist() == [5, 6, 7, 8] and column.tolist() == [2, 6, 10] and last.item() == 12
    column[...] = 0
    assert x[:, 1].tolist() == [0, 0, 0] and row.tolist() == [5, 0, 7, 8]
    assert row.is_contiguous and not column.is_contiguous
    assert (column.strides, column.offset, column.shape) == ((4,), 1, (3,))
    assert x[::-1].strides == (-4, 1) and x[None].strides[1:] == (4, 1)
    del x
    assert column.tolist() == [0, 0, 0]


def test_indices_that_are_no_ints(be: Backend) -> None:
    host = np.arange(6, dtype=np.int32).reshape(2, 3)
    x = on(be, host)
    same(x[np.int64(1)], host[1])
    same(x[tw.asarray(1, device=be)], host[1])
    same(x[np.array(1), tw.asarray(2, device=be)], np.asarray(host[1, 2]))
    same(x[tw.asarray(0, device=be) : 2], host)
    for index in (2, -3, (0, 3), (0, -4)):
        with pytest.raises(IndexError, match="out of range for axis"):
            x[index]
    for index in ((0, 0, 0), (..., ...)):
        with pytest.raises(IndexError):
            x[index]
    with pytest.raises(IndexError):
        x[2**70]
    for index in (1.5, "a", {}):
        with pytest.raises(IndexError, match="an index is"):
            x[index]
    with pytest.raises(ValueError, match="zero"):
        x[::0]


def test_masks_take_one_number(be: Backend, rng: np.random.Generator) -> None:
    for dtype in DTYPES:
        host = values(rng, (5, 7), dtype)
        x, mask = on(be, host), values(rng, (5, 7), "bool")
        x[on(be, mask)] = 1
        host[mask] = 1
        same(x, host)
        x[mask] = on(be, np.zeros((), np.int32))
        host[mask] = 0
        same(x, host)
        x[:, ::2][on(be, mask[:, 0])] = 1
        host[:, ::2][mask[:, 0]] = 1
        same(x, host)
    x = on(be, np.array([1.0, -1.0], np.float32))
    x[x < 0] = 0
    assert x.tolist() == [1, 0]
    with pytest.raises(IndexError, match="mask of shape"):
        x[on(be, np.ones(3, bool))] = 0


def test_masks_keep_no_room_that_they_do_not_need(be: Backend) -> None:
    side = 256
    host = np.arange(side * side, dtype=np.float32).reshape(side, side)
    x, few = on(be, host), np.zeros((side, side), bool)
    few[3, 5] = few[200, 7] = True
    for mask in (few, ~few, np.zeros_like(few)):
        there = on(be, mask)
        before = be.memory_stats().active_bytes
        found = x[there]
        places = tw.nonzero(there)
        same(found, host[mask])
        for one, expected in zip(places, np.nonzero(mask), strict=True):
            assert one.tolist() == expected.tolist()
        needed = found.nbytes + sum(one.nbytes for one in places)
        assert be.memory_stats().active_bytes - before <= max(2 * needed, 4096)


def test_keys_of_arrays_beside_others(be: Backend) -> None:
    host = np.arange(2 * 3 * 4 * 5, dtype=np.float32).reshape(2, 3, 4, 5)
    rows, columns = np.array([[1], [0]], np.int32), np.array([2, -1, 0], np.int32)
    for dtype in ("float32", "complex64"):
        whole = host.astype(dtype)
        x, i, j = on(be, whole), on(be, rows), on(be, columns)
        for there, key in (
            ((slice(None), j), (slice(None), columns)),
            ((Ellipsis, j), (Ellipsis, columns)),
            ((i, slice(None), j), (rows, slice(None), columns)),
            ((i, None, j), (rows, None, columns)),
            ((1, slice(None), j), (1, slice(None), columns)),
            ((slice(None), 1, j), (slice(None), 1, columns)),
            ((i, j, slice(None, None, -2)), (rows, columns, slice(None, None, -2))),
            ((None, i, Ellipsis, j), (None, rows, Ellipsis, columns)),
        ):
            same(x[there], whole[key])
            changed, expected = x.copy(), whole.copy()
            changed[there] = 7
            expected[key] = 7
            same(changed, expected)
            given = np.arange(whole[key].shape[-1]).astype(dtype)
            changed[there] = on(be, given)
            expected[key] = given
            same(changed, expected)
        with pytest.raises(IndexError, match="broadcast"):
            x[j, on(be, np.zeros(2, np.int32))]
        with pytest.raises(IndexError, match="out of range for axis 0"):
            x[2, :, j]


def test_iteration_and_protocols(be: Backend) -> None:
    host = np.arange(6, dtype=np.int32).reshape(2, 3)
    x = on(be, host)
    rows = list(x)
    assert len(rows) == 2 and all(isinstance(row, tw.Array) for row in rows)
    rows[0][...] = 9
    assert x.tolist() == [[9, 9, 9], [3, 4, 5]]
    a, b, c = x[1]
    assert (int(a), float(b), complex(c), bool(a)) == (3, 4.0, 5 + 0j, True)
    assert [10, 20, 30, 40][a] == 40 and x.item(1, 2) == 5
    assert 4 in x and 8 not in x
    with pytest.raises(TypeError, match="not iterated"):
        iter(a)
    with pytest.raises(TypeError, match="no index"):
        [1, 2][x[0]]  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="no index"):
        [1, 2][on(be, np.float32(1))]  # type: ignore[call-overload]
    with pytest.raises(tw.InvalidArgument, match="6 elements"):
        int(x)


def test_what_needs_rows_gets_a_copy(be: Backend, rng: np.random.Generator) -> None:
    host = rng.uniform(-1, 1, (6, 8)).astype(np.float32)
    x = on(be, host)
    cuts: list[Any] = [lambda v: v.T, lambda v: v[1:, ::2], lambda v: v[::-1], lambda v: v[2:]]
    for cut in cuts:
        view, part = cut(x), np.ascontiguousarray(cut(host))
        for op in (be.softmax, be.exp, be.neg, be.sum, lambda v: be.rmsnorm(v, np.ones(v.shape[-1],
            np.float32))):  # fmt: skip
            np.testing.assert_array_equal(op(view).numpy(), op(be.array(part)).numpy())
        np.testing.assert_array_equal(view.numpy(), part)
        np.testing.assert_array_equal(np.from_dlpack(view), part)
        out = be.empty((8, 6) if part.shape == (8, 6) else part.shape)
        be.add(view, view, out=out)
        same(out, part + part)
        # Into a view with gaps.
        wide = be.zeros((*part.shape, 2))
        be.exp(view, out=wide[..., 1])
        np.testing.assert_array_equal(wide[..., 1].numpy(), be.exp(be.array(part)).numpy())
        assert not wide[..., 0].numpy().any()
    buffer = be.alloc(192)
    with pytest.raises(tw.InvalidArgument, match=r"does not lie row by row .* write src\.copy"):
        be.copy_dtod(buffer, x.T, 4)
    be.free(buffer)
    with pytest.raises(tw.InvalidArgument, match="out does not lie row by row"):
        be.rmsnorm(x, np.ones(8, np.float32), out=be.zeros((8, 6)).T)


PRODUCTS: list[tuple[tuple[int, ...], Any, tuple[int, ...], Any]] = [
    ((5, 3), lambda v: v.T, (5, 7), lambda v: v),
    ((3, 5), lambda v: v, (7, 5), lambda v: v.T),
    ((5, 3), lambda v: v.T, (7, 5), lambda v: v.T),
    ((9, 8), lambda v: v[2:6, 1:6], (5, 4), lambda v: v),
    ((6, 5), lambda v: v[::2], (10, 4), lambda v: v[::2]),
    ((6, 5), lambda v: v[::-1], (5, 4), lambda v: v[:, ::-1]),
    ((6, 10), lambda v: v[:, ::2], (5, 4), lambda v: v),
    ((4, 5, 3), lambda v: v.mT, (4, 5, 2), lambda v: v),
    ((4, 3, 5), lambda v: v[::2], (2, 5, 2), lambda v: v[::-1]),
    ((2, 3, 4, 5), lambda v: v.transpose(0, 2, 1, 3), (5, 3), lambda v: v),
    ((2, 3, 4, 5), lambda v: v.transpose(1, 0, 2, 3), (3, 2, 6, 5), lambda v: v.mT),
    ((4, 6), lambda v: v[:, None, :5], (4, 5, 3), lambda v: v),
    ((4, 5, 6), lambda v: v[:, :, 1], (5, 4), lambda v: v.T[0]),
    ((7, 6), lambda v: v[1:, 3], (6, 4), lambda v: v[:, 1:]),
    ((1, 6), lambda v: v[:, 1:], (5, 1), lambda v: v[::1]),
    ((6, 1), lambda v: v.T[:, :5], (1, 5), lambda v: v.T),
]


@pytest.mark.parametrize("case", range(len(PRODUCTS)))
def test_products_of_views(be: Backend, rng: np.random.Generator, case: int, dtype: str) -> None:
    shape_a, cut_a, shape_b, cut_b = PRODUCTS[case]
    a, b = (rng.integers(-3, 4, shape).astype(dtype) for shape in (shape_a, shape_b))
    x, y = cut_a(on(be, a)), cut_b(on(be, b))
    left, right = cut_a(a), cut_b(b)
    same(x @ y, np.matmul(left, right))
    same(be.matmul(x, y, alpha=2.0), 2 * np.matmul(left, right))
    if x.ndim > 1 and y.ndim > 1:
        same(be.matmul(x.mT, y, transpose_a=True), np.matmul(left, right))
        same(be.matmul(x, y.mT, transpose_b=True), np.matmul(left, right))


def test_a_product_into_a_view(be: Backend, rng: np.random.Generator) -> None:
    a, b = (rng.integers(-3, 4, shape).astype(np.float32) for shape in ((4, 5), (5, 3)))
    out = be.zeros((3, 4))
    x, y = on(be, a), on(be, b)
    be.matmul(x, y, out=out.T)
    same(out, (a @ b).T)
    be.matmul(x, y, beta=1.0, out=out.T)
    same(out, 2 * (a @ b).T)
    square = on(be, a[:4, :4].copy())
    square @= square.T
    same(square, a[:4, :4] @ a[:4, :4].T)


def test_scatter_into_a_view(be: Backend) -> None:
    x = be.zeros((4, 6))
    view = x[:, ::2]
    assert be.scatter(view, [1, 3], np.ones((2, 3), np.float32)) is view
    expected = np.zeros((4, 6), np.float32)
    expected[[1, 3], ::2] = 1
    same(x, expected)
