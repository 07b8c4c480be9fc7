"""Arrays by masks and arrays of indices against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tilewright as tw
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from tilewright import Backend, InvalidArgument

from .arrays import DTYPES, INTEGERS, VIEWS, on, same, values


def on_device(be: Backend, key: Any) -> Any:
    """A key with Arrays in the place of NumPy's."""
    if isinstance(key, tuple):
        return tuple(on_device(be, one) for one in key)
    return on(be, key) if isinstance(key, np.ndarray) else key


@st.composite
def keys(draw: st.DrawFn, shape: tuple[int, ...]) -> Any:
    """Arrays of indices, masks, slices, integers, None and Ellipsis, as NumPy may take them."""
    by = draw(hnp.array_shapes(min_dims=0, max_dims=2, min_side=0, max_side=3))
    left = list(shape)
    items: list[Any] = []
    ellipsis = False
    while left and draw(st.integers(0, 9)) > 0:
        size = left[0]
        kind = draw(st.sampled_from(["array", "array", "mask", "slice", "int", "none", "..."]))
        if kind == "none":
            items.append(None)
        elif kind == "...":
            if ellipsis:
                continue
            ellipsis = True
            items.append(Ellipsis)
            del left[: draw(st.integers(0, len(left) - 1))]
        elif kind == "mask":
            dims = draw(st.integers(1, min(2, len(left))))
            items.append(draw(hnp.arrays(bool, tuple(left[:dims]))))
            del left[:dims]
        elif kind == "slice":
            items.append(draw(st.slices(size)))
            del left[0]
        elif size == 0:
            items.append(slice(None))
            del left[0]
        elif kind == "int":
            items.append(draw(st.integers(-size, size - 1)))
            del left[0]
        else:
            own = tuple(1 if draw(st.integers(0, 4)) == 0 else n for n in by)
            dtype = draw(st.sampled_from(["int64", "int32", "int8", "uint16"]))
            low = 0 if dtype[0] == "u" else -size
            items.append(draw(hnp.arrays(dtype, own, elements=st.integers(low, size - 1))))
            del left[0]
    return tuple(items)


@settings(max_examples=60)
@given(data=st.data(), shape=hnp.array_shapes(min_dims=1, max_dims=4, min_side=0, max_side=5))
def test_any_index_is_numpys(be: Backend, data: st.DataObject, shape: Any) -> None:
    dtype = data.draw(st.sampled_from(["int16", "float32", "bool", "int64"]))
    host = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)
    there = on(be, host)
    cut = data.draw(hnp.basic_indices(shape))
    host, there = host[cut], there[cut]
    if not isinstance(host, np.ndarray):
        return
    key = data.draw(keys(host.shape))
    try:
        part = host[key]
    except IndexError:
        with pytest.raises(IndexError):
            there[on_device(be, key)]
        return
    same(there[on_device(be, key)], part)
    same(there[key], part)
    # Assignment, where nothing is set twice.
    at = np.arange(host.size).reshape(host.shape)[key]
    if np.unique(at).size != np.size(at):
        return
    new = (np.arange(np.size(part)) + 3).reshape(np.shape(part)).astype("int32")
    if data.draw(st.booleans()):
        new = new[..., :1] if new.ndim and new.shape[-1] else new
    host = host.copy()
    mine = there.copy()
    host[key] = new
    mine[on_device(be, key)] = on(be, new)
    same(mine, host)
    host[key] = 1
    mine[key] = 1
    same(mine, host)


@pytest.mark.sampled(12)
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype(be: Backend, rng: np.random.Generator, dtype: str) -> None:
    host = values(rng, (7, 9), dtype)
    there = on(be, host)
    for cut in VIEWS.values():
        x, view = cut(host), cut(there)
        mask = rng.random(x.shape) < 0.4
        rows, cols = rng.integers(-x.shape[0], x.shape[0], 11), rng.integers(0, x.shape[1], 11)
        for key in (
            mask,
            rows,
            (rows, cols),
            (slice(None), cols),
            mask[:, 0] if x.ndim == 2 else 0,
        ):
            same(view[on_device(be, key)], x[key])
        mine = view.copy()
        own = x.copy()
        chosen = np.unique(rows % x.shape[0])
        own[chosen] = x[chosen[::-1]]
        mine[chosen] = view[chosen[::-1]]
        own[:, cols[:1]] = 1
        mine[:, on(be, cols[:1])] = 1
        own[mask] = own[mask][::-1]
        mine[on(be, mask)] = mine[on(be, mask)][::-1]
        same(mine, own)
    # Into a view, whose neighbours stay.
    target = there[1::2, ::2]
    target[[0, 2], 1:3] = there[[3, 4], 5:7]
    host[1::2, ::2][[0, 2], 1:3] = host[[3, 4], 5:7]
    same(there, host)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_every_dtype_of_indices(be: Backend, rng: np.random.Generator, dtype: str) -> None:
    low = 0 if dtype[0] == "u" else -90
    host = rng.integers(0, 99, (90, 3)).astype(np.int32)
    index = rng.integers(low, 90, (3, 5)).astype(dtype)
    x, there = on(be, host), on(be, index)
    same(x[there], host[index])
    same(x[there[:, ::2], there[:, ::2] % 3], host[index[:, ::2], index[:, ::2] % 3])
    host[np.unique(index)] = -1
    x[there] = -1
    same(x, host)


def test_long_ones(be: Backend, rng: np.random.Generator) -> None:
    n = 300_001
    host = rng.integers(-100, 100, n).astype(np.float32)
    x = on(be, host)
    index = rng.integers(-n, n, 100_003)
    same(x[on(be, index)], host[index])
    same(x[x > 0], host[host > 0])
    for dtype in ("int8", "int64"):
        same(x.astype(dtype)[x > 90], host.astype(dtype)[host > 90])
    (found,) = tw.nonzero(x == 0)
    same(found, np.nonzero(host == 0)[0])
    order = rng.permutation(n)
    mine = tw.zeros(n, dtype="uint8", device=be)
    mine[on(be, order)] = on(be, (order % 251).astype(np.uint8))
    same(mine, (np.arange(n) % 251).astype(np.uint8))
    wide = rng.integers(0, 9, (500, 600)).astype(np.int16)
    rows = rng.integers(0, 500, 700)
    same(on(be, wide)[on(be, rows)], wide[rows])
    same(on(be, wide)[:, on(be, rows)], wide[:, rows])


def test_in_place_operators(be: Backend) -> None:
    host = np.arange(12, dtype=np.int32).reshape(3, 4)
    x = on(be, host)
    index = np.array([2, 0])
    x[on(be, index)] += 10
    host[index] += 10
    x[x > 12] -= 5
    host[host > 12] -= 5
    x[[0, 1], [1, 2]] *= 3
    host[[0, 1], [1, 2]] *= 3
    same(x, host)
    # As NumPy: once for equal ones.
    x[[0, 0, 0], 0] += 1
    host[[0, 0, 0], 0] += 1
    same(x, host)


def test_of_equal_places_one_stays(be: Backend) -> None:
    for dtype in ("uint8", "float16", "float32", "int64"):
        x = tw.zeros(4, dtype=dtype, device=be)
        x[[1, 1, 2, 1]] = on(be, np.array([3, 4, 5, 6], dtype))
        got = x.tolist()
        assert got[0] == got[3] == 0 and got[2] == 5
        assert got[1] == 6 if be.name == "cpu" else got[1] in (3, 4, 6)


@pytest.mark.essential
@pytest.mark.parametrize("shape", [(600_000,), (400, 2000), (1200, 90)])
def test_on_the_cpu_the_last_of_equal_places_stays(shape: tuple[int, ...]) -> None:
    """Where threads share the elements: places that no cache holds, rows, and both in any order."""
    rng = np.random.default_rng(0)
    with tw.init_backend("cpu") as be:
        for count in (70_001, 300_000 // (shape[-1] if len(shape) > 1 else 1)):
            for key in (
                rng.integers(-shape[0], shape[0], count),
                rng.integers(0, 9, (2, count // 2)),
            ):
                if key.size * (shape[1] if len(shape) > 1 else 1) > 4_000_000:
                    continue
                for start in (slice(None), slice(None, None, -1)):
                    x = rng.random(shape).astype("float32")
                    value = rng.random((*key.shape, *shape[1:])).astype("float32")
                    target = on(be, x)
                    target[start][on(be, key)] = on(be, value)
                    expected = x.copy()
                    # NumPy does not promise which one stays.
                    flat = expected[start]
                    at = key.reshape(-1) % shape[0]
                    last = {int(place): i for i, place in enumerate(at)}
                    rows = value.reshape(-1, *shape[1:])
                    flat[list(last.keys())] = rows[list(last.values())]
                    assert np.array_equal(np.asarray(target), expected)


def test_on_the_cpu_nothing_is_written_where_one_is_out_of_range(rng: np.random.Generator) -> None:
    with tw.init_backend("cpu") as be:
        for n, width in ((600_000, None), (3000, 70)):
            x = rng.random(n if width is None else (n, width))
            key = rng.integers(0, n, 100_000 if width is None else 3000)
            key[[-500, -400, -1]] = n + 7, n + 9, n + 11
            target = on(be, x)
            with pytest.raises(IndexError, match=rf"index {n + 7} is out of range"):
                target[on(be, key)] = 0
            assert np.array_equal(np.asarray(target), x)


def test_assignment_from_its_own(be: Backend) -> None:
    host = np.arange(10, dtype=np.int64)
    x = on(be, host)
    x[x[::-1] % 10] = x
    host[host[::-1] % 10] = host.copy()
    same(x, host)
    x[x] = x[::-1]
    host[host.copy()] = host[::-1].copy()
    same(x, host)


def test_out_of_range(be: Backend) -> None:
    x = on(be, np.arange(15, dtype=np.float32).reshape(5, 3))
    for index in ([5], [-6], [0, 99], np.array([[7]])):
        with pytest.raises(IndexError, match=r"index -?\d+ is out of range for axis 0 of 5 elem"):
            x[index]
        with pytest.raises(tw.IndexOutOfRange, match="axis 0 of 5"):
            x[index] = 1
    with pytest.raises(tw.IndexOutOfRange, match="axis 1 of 3"):
        x[:, [3]]
    with pytest.raises(tw.IndexOutOfRange):
        x[0:0][[0]]
    # Those on the device: by the cpu backend at once, by others at the next read.
    for dtype, index in (("int8", -6), ("int32", 5), ("int64", -(2**40)), ("uint64", 2**63),
                         ("uint16", 65535)):  # fmt: skip
        there = on(be, np.array([0, 1, index, 2]).astype(dtype))
        message = rf"^x\[\.\.\.\]: index {index} is out of range for axis 0 of 5 elements$"
        with pytest.raises(tw.IndexOutOfRange, match=message):
            x[there].numpy()
        with pytest.raises(IndexError, match=r"^x\[\.\.\.\] = value: index .* axis 1 of 3"):
            x[:, there if index != -6 else there + there] = 7
            be.synchronize()
        # Once, and then all is well; nothing outside was written to.
        be.synchronize()
        x[...] = on(be, np.arange(15, dtype=np.float32).reshape(5, 3))
        same(x[there[:2]], np.arange(6, dtype=np.float32).reshape(2, 3))
    for shown in (lambda: x[there], lambda: (x[there], x)[1]):
        # To print is to read: an error is raised, not lost.
        with pytest.raises(tw.IndexOutOfRange, match=message.replace("-6", "65535")):
            repr(shown())
        be.synchronize()
    pair = on(be, np.array([1, 2])), on(be, np.array([0, 3]))
    with pytest.raises(tw.IndexOutOfRange, match="index 3 is out of range for axis 1 of 3"):
        x[pair].numpy()
    with pytest.raises(tw.IndexOutOfRange, match=r"^take: index 9 "):
        tw.take(x, on(be, np.array([9])), axis=0).numpy()
    with pytest.raises(tw.IndexOutOfRange, match="axis 0 of 5"):
        event = None
        tw.take(x, on(be, np.array([9])), axis=0)
        event = be.event()
        event.wait()
    be.synchronize()


@pytest.mark.parametrize(
    "dtypes", [("int32", "int32"), ("int8", "uint64"), ("int64", "uint16", "int16")]
)
@pytest.mark.parametrize("shape", [(7,), (2, 3), (3, 1, 4)])
def test_arrays_of_one_shape_for_the_first_axes(
    be: Backend, rng: np.random.Generator, dtypes: tuple[str, ...], shape: tuple[int, ...]
) -> None:
    host = rng.standard_normal((5, 4, 6, 3), np.float32)
    for x, array in ((host, on(be, host)), (host[::-1, :, ::2], on(be, host)[::-1, :, ::2])):
        key = tuple(
            rng.integers(0 if dtype[0] == "u" else -size, size, shape).astype(dtype)
            for dtype, size in zip(dtypes, x.shape, strict=False)
        )
        there = tuple(on(be, one) for one in key)
        backwards = tuple(on(be, one[..., ::-1].copy())[..., ::-1] for one in key)
        same(array[there], x[key])
        same(array[backwards], x[key])
        mine, theirs = array.copy(), x.copy()
        # The same where two pairs of indices are equal, of which either is written last.
        value = 2 * x[key] + 1
        mine[there], theirs[key] = on(be, value), value
        same(mine, theirs)
        mine[there], theirs[key] = 2.5, 2.5
        same(mine, theirs)


@pytest.mark.parametrize("size", [1, 5, 4096, 4097, 100_000])
def test_a_read_that_finds_an_index_out_of_range_writes_nothing(be: Backend, size: int) -> None:
    x, kept = on(be, np.arange(5.0, dtype=np.float32)), on(be, np.arange(size).astype(np.uint8))
    wrong = on(be, np.array([1, 5]))
    host = np.full(size, 255, np.uint8)
    with pytest.raises(tw.IndexOutOfRange, match="index 5 is out of range for axis 0 of 5"):
        gathered = x[wrong]
        be.copy_dtoh(host, kept)
    assert (host == 255).all()
    be.copy_dtoh(host, kept)
    same(kept, host)
    gathered = x[on(be, np.array([1, 4]))]
    host[:] = 255
    be.copy_dtoh(host, kept)
    assert (host == np.arange(size).astype(np.uint8)).all()
    same(gathered, np.array([1, 4], np.float32))


def test_wrong_indices(be: Backend) -> None:
    x = on(be, np.zeros((4, 3), np.float32))
    for wrong in ([0.5], np.zeros(2), on(be, np.zeros(2)), "a", {}, 1.5):
        with pytest.raises(IndexError):
            x[wrong]
        with pytest.raises(IndexError):
            x[wrong] = 1
    for mask in (np.ones(3, bool), np.ones((4, 2), bool), np.ones((4, 3, 1), bool)):
        for one in (mask, on(be, mask)):
            with pytest.raises(IndexError, match="mask"):
                x[one]
            with pytest.raises(IndexError, match="mask"):
                x[one] = 0
    with pytest.raises(IndexError, match="do not broadcast"):
        x[[0, 1], [0, 1, 2]]
    with pytest.raises(IndexError, match="3 items"):
        x[[0], [0], [0]]
    with pytest.raises(IndexError, match="Ellipsis"):
        x[..., [0], ...]
    with pytest.raises(tw.InvalidArgument, match=r"a value of shape \(3,\) does not broadcast"):
        x[[0, 1], 0] = on(be, np.ones(3))
    with pytest.raises(tw.InvalidArgument, match="does not broadcast"):
        x[x == 0] = on(be, np.ones(5))


def test_bools_of_no_dimension(be: Backend) -> None:
    host = np.arange(6).reshape(2, 3)
    x = on(be, host)
    for key in (True, False, (True, slice(None), 1), (..., False), (None, True), ([1], True)):
        same(x[key], host[key])
    x[True] = 4
    x[False] = 5
    assert x.tolist() == [[4, 4, 4], [4, 4, 4]]


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex(be: Backend, rng: np.random.Generator, dtype: str) -> None:
    host = (rng.normal(size=(6, 7)) + 1j * rng.normal(size=(6, 7))).astype(dtype)
    x = on(be, host)
    mask, rows, cols = rng.random((6, 7)) < 0.5, np.array([5, -6, 0]), np.array([[0], [3]])
    for key in (mask, mask[:, 0], rows, (rows, slice(1, None, 2)), (..., rows), (cols, rows)):
        same(x[on_device(be, key)], host[key])
    same(x.T[::-1][on(be, mask.T)], host.T[::-1][mask.T])
    same(tw.take(x, rows, axis=1), np.take(host, rows, axis=1))
    along = np.argsort(rng.random((6, 7)))
    same(tw.take_along_axis(x, along), np.take_along_axis(host, along, 1))
    # Of equal indices a GPU leaves any one.
    x[[5, -5, 0], 1::2] = x[[1, 2, 3], :3]
    host[[5, -5, 0], 1::2] = host[[1, 2, 3], :3]
    x[on(be, mask)] = 2 - 1j
    host[mask] = 2 - 1j
    x[mask.T[0]] *= 3
    host[mask.T[0]] *= 3
    x[[1, 1]] = 4
    host[[1, 1]] = 4
    same(x, host)
    for got, expected in zip(tw.nonzero(x), np.nonzero(host), strict=True):
        same(got, expected)
    with pytest.raises(tw.InvalidArgument, match="which have an order"):
        tw.searchsorted(x[0], x[1])


def test_numbers_at_indices(be: Backend) -> None:
    """More numbers than a device keeps, in every dtype, and those that look alike."""
    stored = {str(one) for one in be.capabilities().storage_dtypes}
    for dtype in DTYPES:
        if dtype not in stored:
            continue
        like = np.dtype(dtype)
        numbers: list[Any] = [True, False, *range(2, 40)]
        if like.kind == "i":
            numbers += [-1, 3.9, -3.9]
        if like.kind == "f":
            numbers += [0.0, -0.0, float("inf"), float("nan"), 0.1]
        expected = np.arange(60).astype(like)
        x = tw.asarray(expected, device=be)
        i = tw.asarray(np.array([3, 50, -1], np.int32), device=be)
        for turn, number in enumerate(numbers):
            if like.kind == "b" and number not in (0, 1):
                continue
            at = i + turn % 8 - 4
            x[at] = number
            expected[np.asarray(at)] = np.asarray(number).astype(like)
            if turn % 7 == 0:
                assert np.asarray(x).tobytes() == expected.tobytes(), (dtype, number)
        assert np.asarray(x).tobytes() == expected.tobytes(), dtype


def test_a_number_at_indices_of_itself(be: Backend) -> None:
    x = tw.asarray(np.array([2, 0, 1, 3], np.int32), device=be)
    x[x] = 7
    np.testing.assert_array_equal(np.asarray(x), [7, 7, 7, 7])
    y = tw.asarray(np.arange(6, dtype=np.int32), device=be)
    y[y[:3]] = 9
    np.testing.assert_array_equal(np.asarray(y), [9, 9, 9, 3, 4, 5])


def test_numbers_that_a_dtype_does_not_hold(be: Backend) -> None:
    x = tw.asarray(np.arange(6, dtype=np.int8), device=be)
    i = tw.asarray(np.array([1, 2], np.int32), device=be)
    for number in (300, -129, 1e9):
        with pytest.raises(InvalidArgument, match=r"value is .*, which int8 does not hold"):
            x[i] = number
    with pytest.raises(ValueError, match="NaN"):
        x[i] = float("nan")
    np.testing.assert_array_equal(np.asarray(x), np.arange(6))
