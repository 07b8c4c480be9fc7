"""moments of map_reduce(): the mean and the squares off it, of every layout, against float64; and
what is made of them, in how many launches."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import tilewright as tw
from hypothesis import given
from hypothesis import strategies as st
from tilewright import Backend, InvalidArgument, Program, Unsupported

from .elements import FLOATS, has, shown, stored, stored_dtype
from .folds import U, along, identity
from .test_map_reduce import SHAPES
from .workspace import Workspace

Array = npt.NDArray[Any]


def wide_of(dtype: str) -> str:
    return "float64" if dtype == "float64" else "float32"


def exact(x: Array, axes: Sequence[int]) -> tuple[Array, Array]:
    values = along(x.astype(np.longdouble), axes)
    first = values[..., :1]
    off = (values - first).mean(-1, keepdims=True)
    return (first + off)[..., 0], ((values - first - off) ** 2).sum(-1)


def check(
    ws: Workspace, x: Array, axes: Sequence[int], dtype: str, operand: Any = None, slack: float = 24
) -> tuple[Array, Array]:
    """The mean is within that of a sum. The squares are within `slack` units of themselves, however
    far the mean is from 0; on the CPU they are off a mean that is rounded."""
    values = shown(x, dtype)
    mean, squares = exact(values, axes)
    wide = wide_of(dtype)
    out = [ws.room(mean.shape, wide) for _ in range(2)]
    given = ws.input(x) if operand is None else operand(ws)
    ws.be.map_reduce(identity(dtype), "moments", x.shape, axes, [given], [], out)
    got_mean, got_squares = (ws.read(one) for one in out)
    of_sum = np.abs(along(values, axes)).astype(np.longdouble).mean(-1)
    off = np.abs(got_mean - mean)
    assert (off <= 24 * U[wide] * of_sum).all(), (x.shape, axes, float(off.max()))
    of_mean = 24 * U[wide] * of_sum if ws.be.name == "cpu" else 0 * of_sum
    off = np.abs(got_squares - squares)
    bound = slack * U[wide] * squares + of_mean**2 * along(values, axes).shape[-1]
    assert (off <= bound).all(), (x.shape, axes, float((off / np.maximum(squares, 1e-300)).max()))
    return got_mean, got_squares


DISTRIBUTIONS: dict[str, Callable[[np.random.Generator, Sequence[int]], Array]] = {
    "normal": lambda rng, shape: rng.standard_normal(shape),
    "far": lambda rng, shape: 1e4 + rng.standard_normal(shape),
    "rising": lambda rng, shape: np.arange(math.prod(shape)).reshape(shape) / 1024.0 - 7,
    "constant": lambda rng, shape: np.full(shape, 1234.5678),
}


def refused(be: Backend, dtype: str) -> None:
    with Workspace(be) as ws, pytest.raises(Unsupported, match=dtype):
        given = ws.input(np.zeros(4, stored_dtype(dtype)))
        be.map_reduce(identity(dtype), "moments", (4,), (0,), [given], [], [ws.room(8)] * 2)


@pytest.mark.sampled(16)
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("kind", DISTRIBUTIONS)
def test_every_layout(be: Backend, rng: np.random.Generator, kind: str, dtype: str) -> None:
    if not has(be, dtype):
        return refused(be, dtype)
    for shape, axes in SHAPES:
        if 0 in shape:
            continue
        x = stored(DISTRIBUTIONS[kind](rng, shape), dtype)
        with Workspace(be) as ws:
            check(ws, x, axes, dtype)


@pytest.mark.parametrize("length", [1, 2, 3, 4, 5, 15, 16, 17, 63, 257, 1023, 4099, 65_537])
def test_every_length(be: Backend, rng: np.random.Generator, length: int) -> None:
    """Far from 0, in rows and in columns: what is read side by side, and ends of rows."""
    x = (1e4 + rng.standard_normal((5, length))).astype("f4")
    with Workspace(be) as ws:
        check(ws, x, (1,), "float32")
        check(ws, np.ascontiguousarray(x.T), (0,), "float32")
        check(ws, x, (0, 1), "float32")


@pytest.mark.sampled(20)
@pytest.mark.parametrize("shape", [(10_000_000,), (1_000_000, 10), (10, 1_000_000)], ids=str)
@pytest.mark.parametrize("kind", ["far", "rising"])
def test_long(be: Backend, rng: np.random.Generator, kind: str, shape: Any) -> None:
    x = DISTRIBUTIONS[kind](rng, shape).astype("f4")
    for axis in range(len(shape)):
        with Workspace(be) as ws:
            check(ws, x, (axis,), "float32")


def test_outliers(be: Backend, rng: np.random.Generator) -> None:
    """One element that is far off all others, wherever it lies: first, among them, or last."""
    for n in (7, 300, 70_001):
        for place in (0, 1, n // 2, n - 1):
            for size in (1e3, -1e9):
                x = rng.standard_normal(n).astype("f4")
                x[place] = size
                with Workspace(be) as ws:
                    check(ws, x, (0,), "float32")


@pytest.mark.parametrize("dtype", FLOATS)
def test_special_values(be: Backend, dtype: str) -> None:
    """As NumPy's mean and var, without another row's becoming of it."""
    if not has(be, dtype):
        return refused(be, dtype)
    for n in (1, 3, 37, 5000):
        rows = []
        for value in (np.nan, np.inf, -np.inf):
            for place in {0, n // 2, n - 1}:
                row = np.ones(n)
                row[place] = value
                rows.append(row)
        both = np.ones(n)
        both[0], both[-1] = np.inf, -np.inf
        x = stored(np.stack([*rows, both, np.zeros(n)]), dtype)
        with np.errstate(invalid="ignore"):
            values = shown(x, dtype).astype("f8")
            means, spreads = values.mean(1), values.var(1) * n
        wide = wide_of(dtype)
        for rows_of, axis in ((x, 1), (np.ascontiguousarray(x.T), 0)):
            with Workspace(be) as ws:
                out = [ws.room(means.shape, wide) for _ in range(2)]
                be.map_reduce(
                    identity(dtype), "moments", rows_of.shape, (axis,), [ws.input(rows_of)], [], out
                )
                np.testing.assert_array_equal(ws.read(out[0]), means)
                np.testing.assert_array_equal(ws.read(out[1]), spreads)


def test_large_and_small_numbers(be: Backend) -> None:
    """What the squares hold, and what they do not."""
    for scale in (1e17, 1e-17):
        x = (np.arange(1000) % 7 * scale).astype("f4")
        with Workspace(be) as ws:
            check(ws, x, (0,), "float32")
    with Workspace(be) as ws:
        out = [ws.room(1) for _ in range(2)]
        x = ws.input((np.arange(1000) % 2 * 1e30).astype("f4"))
        be.map_reduce(identity("float32"), "moments", (1000,), (0,), [x], [], out)
        np.testing.assert_allclose(ws.read(out[0]), 5e29, rtol=2e-6)
        assert ws.read(out[1])[0] == np.inf


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_strides(be: Backend, rng: np.random.Generator, dtype: str) -> None:
    """A part of a buffer, by steps, from its end, and with an axis of step 0."""
    host = stored(100 + rng.standard_normal((6, 40, 9)), dtype)
    for look in (np.s_[1::2, ::-1, 2:7], np.s_[:, 3:39:3, ::2], np.s_[::-1, 1, :]):
        part = host[look]
        lies = (
            [step // host.itemsize for step in part.strides],
            (part.ctypes.data - host.ctypes.data) // host.itemsize,
        )
        for axes in [(0,), (part.ndim - 1,), tuple(range(part.ndim))]:
            with Workspace(be) as ws:
                check(ws, part, axes, dtype, lambda ws, lies=lies: (ws.input(host), *lies))
    row = host[0, 0]
    with Workspace(be) as ws:
        spread = np.broadcast_to(row, (300, 9))
        for axes in [(0,), (1,), (0, 1)]:
            check(ws, spread, axes, dtype, lambda ws: (ws.input(row), (0, 1)))


@given(
    shape=st.lists(st.integers(1, 9), min_size=1, max_size=5),
    data=st.data(),
    seed=st.integers(0, 2**32 - 1),
)
def test_any_request(be: Backend, shape: list[int], data: st.DataObject, seed: int) -> None:
    axes = data.draw(st.lists(st.integers(0, len(shape) - 1), unique=True))
    x = (50 + np.random.default_rng(seed).standard_normal(shape)).astype("f4")
    with Workspace(be) as ws:
        check(ws, x, axes, "float32")


def test_programs(be: Backend, rng: np.random.Generator) -> None:
    """Squares of two inputs and a number in front; both results, one further input and a number
    behind."""
    front, behind = Program(), Program()
    front.output(front.input("float32") * front.input("float32") + front.number("float32"))
    mean, squares = behind.input("float32"), behind.input("float32")
    behind.output(mean + behind.input("float32"), squares / behind.number("float32"))
    a, b = (rng.standard_normal((33, 70)).astype("f4") for _ in range(2))
    more = rng.standard_normal(33).astype("f4")
    values = a.astype("f8") * b + 3
    with Workspace(be) as ws:
        out = [ws.room(33) for _ in range(2)]
        be.map_reduce(
            front, "moments", a.shape, (1,), [ws.input(a), ws.input(b)], [3.0], out, behind,
            [ws.input(more)], [70.0],
        )  # fmt: skip
        np.testing.assert_allclose(ws.read(out[0]), values.mean(1) + more, rtol=2e-6, atol=2e-6)
        np.testing.assert_allclose(ws.read(out[1]), values.var(1), rtol=4e-6)


def test_one_of_both(be: Backend, rng: np.random.Generator) -> None:
    x = rng.standard_normal((3, 20_000)).astype("f4")
    for which, expected in enumerate([x.mean(1, dtype="f8"), x.var(1, dtype="f8") * 20_000]):
        behind = Program()
        behind.output((behind.input("float32"), behind.input("float32"))[which])
        with Workspace(be) as ws:
            out = ws.room(3)
            be.map_reduce(
                identity("float32"), "moments", x.shape, (1,), [ws.input(x)], [], [out], behind
            )
            np.testing.assert_allclose(ws.read(out), expected, rtol=1e-5, atol=1e-6)


def test_same_request_same_bits(be: Backend, rng: np.random.Generator) -> None:
    x = (9 + rng.standard_normal((333, 4097))).astype("f4")
    for axes in [(0,), (1,), (0, 1)]:
        with Workspace(be) as ws:
            runs = [check(ws, x, axes, "float32") for _ in range(3)]
            assert len({b"".join(one.tobytes() for one in run) for run in runs}) == 1


def test_beyond_one_binding(be: Backend) -> None:
    """200 MB, also where a binding holds less: in pieces."""
    n = 50_000_000
    x = (np.arange(n, dtype="i4") % 1000).astype("f4")
    x += 20_000
    buffer, out = be.alloc(4 * n), [be.alloc(4) for _ in range(2)]
    be.copy_htod(buffer, x)
    try:
        be.map_reduce(identity("float32"), "moments", (n,), (0,), [buffer], [], out)
        got = np.empty(2, "f4")
        for i in range(2):
            be.copy_dtoh(got[i : i + 1], out[i])
        np.testing.assert_allclose(got, [20_499.5, (1e6 - 1) / 12 * n], rtol=2e-6)
    finally:
        for one in (buffer, *out):
            be.free(one)


def test_wrong_arguments(be: Backend) -> None:
    one, other = Program(), Program()
    one.output(one.input("float32"))
    other.input("float32")
    other.output(other.input("int32"))
    with Workspace(be) as ws:
        x, out = ws.room(4), [ws.room(4) for _ in range(2)]
        with pytest.raises(InvalidArgument, match="gives int32, expected floats, which moments"):
            be.map_reduce(identity("int32"), "moments", (4,), (0,), [x], [], out)
        with pytest.raises(InvalidArgument, match="gives bool, expected floats, which moments"):
            be.map_reduce(identity("bool"), "moments", (4,), (0,), [x], [], out)
        with pytest.raises(InvalidArgument, match="has 2 outputs, and 1 are given"):
            be.map_reduce(identity("float32"), "moments", (4,), (0,), [x], [], out[:1])
        with pytest.raises(InvalidArgument, match="inputs, the first two of which are the results"):
            be.map_reduce(identity("float32"), "moments", (4,), (0,), [x], [], out[:1], one)
        with pytest.raises(InvalidArgument, match="second input of behind is int32, expected floa"):
            be.map_reduce(identity("float32"), "moments", (4,), (0,), [x], [], out[:1], other)
        with pytest.raises(InvalidArgument, match="moments of no elements"):
            be.map_reduce(identity("float32"), "moments", (3, 0), (1,), [0], [], out)
        be.map_reduce(identity("float32"), "moments", (0, 3), (1,), [0], [], [0, 0])
        for one_of_rows in ("map_rows", "scan"):
            message = "moments" if one_of_rows == "map_rows" else "op is 'moments'"
            with pytest.raises(InvalidArgument, match=message):
                if one_of_rows == "map_rows":
                    be.map_rows(
                        [("moments", identity("float32"))], (4,), (0,), [x], None, [], [], one, [],
                        [out[0]],
                    )  # fmt: skip
                else:
                    be.scan(identity("float32"), "moments", (4,), 0, [x], [], out[0])


# What is made of them ----------------------------------------------------------------------------


def launches(be: Backend, work: Callable[[], Any]) -> int:
    work()
    be.synchronize()
    with be.profile() as profile:
        work()
        be.synchronize()
    return len(profile.records)


def test_launches(be: Backend, rng: np.random.Generator) -> None:
    """Each element is read once for both: few long rows in pieces, which one more launch joins."""
    many = 1 << 20
    x = tw.asarray(rng.standard_normal(many).astype("f4"), device=be)
    joined = 1 if be.name == "cpu" else 2
    for view in (x, x[::2], x.reshape(2, -1), x.reshape(-1, 2)):
        axis = 0 if view.ndim == 1 or view.shape[1] == 2 else 1
        for call in (tw.var, tw.std):
            assert launches(be, lambda call=call, view=view, axis=axis: call(view, axis=axis)) == (
                joined
            )
    rows = x.reshape(many // 128, 128)
    assert launches(be, lambda: tw.var(rows, axis=1)) == 1
    for shape in [(2, 256, 64, 8), (6, 31, 32, 34)]:
        images = x[: math.prod(shape)].reshape(shape)
        count = launches(be, lambda images=images: tw.nn.batch_norm(images, training=True))
        assert 2 <= count <= 1 + joined


def test_variances_of_arrays(be: Backend, rng: np.random.Generator) -> None:
    """By ddof, out, keepdims and axes, far from 0."""
    host = (1e4 + rng.standard_normal((7, 300, 11))).astype("f4")
    x, wide = tw.asarray(host, device=be), host.astype("f8")
    of_mean = 1e-5 if be.name == "cpu" else 0  # the square of what the rounded mean is off
    for axis in (None, 0, 1, 2, (0, 2), (1, 2), -1):
        for ddof in (0, 1, 2.5):
            expected = wide.var(axis, ddof=ddof)
            np.testing.assert_allclose(
                tw.var(x, axis, ddof=ddof).numpy(), expected, rtol=4e-6, atol=of_mean
            )
            np.testing.assert_allclose(
                tw.std(x, axis, ddof=ddof, keepdims=True).numpy(),
                wide.std(axis, ddof=ddof, keepdims=True), rtol=4e-6,
                atol=10 * of_mean,
            )  # fmt: skip
            # The methods, which are the functions in every form.
            for options in ({"ddof": ddof}, {"correction": ddof, "keepdims": True}):
                for name in ("var", "std"):
                    np.testing.assert_array_equal(
                        getattr(x, name)(axis, **options).numpy(),
                        getattr(tw, name)(x, axis, **options).numpy(),
                    )
    for both in ({"ddof": 1, "correction": 1}, {"ddof": 1, "where": True, "of": 2}):
        with pytest.raises((tw.InvalidArgument, TypeError)):
            x.var(**both)
    out = tw.empty((7, 11), dtype="float32", device=be)
    tw.var(x, 1, out=out)
    np.testing.assert_allclose(out.numpy(), wide.var(1), rtol=4e-6, atol=of_mean)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        for ddof in (7, 9):
            np.testing.assert_array_equal(
                tw.var(x[:, :2, 0], 0, ddof=ddof).numpy(), host[:, :2, 0].var(0, ddof=ddof)
            )
    nothing = tw.zeros((3, 0), dtype="float32", device=be)
    assert np.isnan(tw.var(nothing, axis=1).numpy()).all()
    assert tw.var(nothing, axis=0).shape == (0,)
