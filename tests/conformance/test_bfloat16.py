"""Arrays of bfloat16: moved bit by bit, computed in float32 and rounded to nearest even."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import tilewright as tw
from tilewright import Backend, InvalidArgument, Unsupported

from .arrays import VIEWS, on
from .elements import DTYPES, FLOATS, INTEGERS, bfloat16, has, shown

Host = npt.NDArray[Any]

# Ties to even both ways, just beside them, the ends of the range, subnormal numbers and NaN.
SPECIAL = np.array(
    [0.0, -0.0, 1 + 2.0**-8, 1 + 3 * 2.0**-8, 1 + 2.0**-8 + 2.0**-40, 1 + 2.0**-8 - 2.0**-40,
     -1 - 2.0**-8, 2.0**-126, 2.0**-133, 3 * 2.0**-134, 2.0**-134, -(2.0**-130), 1e-60,
     3.3895313892515355e38, 3.3961775292304957e38, 3.3961775292304955e38, 1e300, -1e300,
     np.inf, -np.inf, np.nan]
)  # fmt: skip
# Half a unit of the last place of 8 bits.
U = 2.0**-8
MOST = 2.0**128 - 2.0**120


def numbers(rng: np.random.Generator, shape: tuple[int, ...], low: float = -9) -> Host:
    """Random numbers that bfloat16 holds, in float32."""
    return shown(bfloat16(rng.uniform(low, 9, shape)), "bfloat16").astype(np.float32)


def make(be: Backend, values: npt.ArrayLike) -> tw.Array:
    return tw.asarray(np.asarray(values), dtype="bfloat16", device=be)


def bits(x: tw.Array) -> Host:
    assert x.dtype is tw.bfloat16
    return x.copy().view("uint16").numpy()


def same(got: tw.Array, exact: npt.ArrayLike) -> None:
    """The nearest bfloat16 to exact numbers, bit by bit but for those of NaN."""
    expected = bfloat16(exact)
    assert got.shape == expected.shape
    is_nan = np.isnan(shown(expected, "bfloat16"))
    np.testing.assert_array_equal(np.isnan(shown(bits(got), "bfloat16")), is_nan)
    np.testing.assert_array_equal(np.where(is_nan, 0, bits(got)), np.where(is_nan, 0, expected))


def near(got: tw.Array, exact: Host, computed: npt.ArrayLike) -> None:
    """Rounded once, and off by what its computation in float32 may be."""
    host = shown(bits(got), "bfloat16")
    assert got.shape == exact.shape
    np.testing.assert_array_equal(np.isnan(host), np.isnan(exact))
    bound = U * (1 + 2.0**-10) * abs(exact) + computed
    wrong = ~np.isnan(exact) & ~(abs(host - exact) <= bound)
    assert not wrong.any(), (host[wrong][:3], exact[wrong][:3])


# Made, cast and read -----------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
def test_host_floats_are_rounded_once(be: Backend, rng: np.random.Generator, dtype: str) -> None:
    with np.errstate(over="ignore"):
        host = np.concatenate([SPECIAL, rng.normal(0, 50, 1000)]).astype(dtype)
    same(make(be, host), host)
    same(make(be, host[::-3]), host[::-3])
    listed = [one for one in host.tolist()[:40] if one == one]
    same(tw.asarray(listed, dtype=tw.bfloat16, device=be), listed)


@pytest.mark.parametrize("dtype", [*INTEGERS, "bool"])
def test_host_integers_are_rounded_once(be: Backend, dtype: str) -> None:
    ends = [0, 1] if dtype == "bool" else [np.iinfo(dtype).min, 0, 3, np.iinfo(dtype).max]
    if np.dtype(dtype).itemsize == 8:
        # Ties of 8 bits, and what is just beside them in more digits than float64 has.
        ends += [2**62 + 2**54, 2**62 + 2**54 + 1, 2**62 + 2**54 - 1, 2**62 + 3 * 2**54]
    host = np.array(ends, dtype)
    exact = [float(one) for one in ends]
    expected = bfloat16(exact)
    if np.dtype(dtype).itemsize == 8:
        expected[-3:-1] = bfloat16([2.0**62 + 2.0**55, 2.0**62])
    np.testing.assert_array_equal(bits(make(be, host)), expected)


@pytest.mark.parametrize("dtype", DTYPES)
def test_casts(be: Backend, rng: np.random.Generator, dtype: str) -> None:
    if not has(be, dtype):
        with pytest.raises(tw.Unsupported):
            make(be, [1.5]).astype(dtype)
        return
    host = numbers(rng, (7, 33), 0 if dtype.startswith("u") else -9)
    x = make(be, host)
    wide = x.astype(dtype)
    assert wide.dtype == dtype
    back = wide.astype("bfloat16")
    if dtype in FLOATS:
        same(back, host.astype(np.float16) if dtype == "float16" else host)
    else:
        np.testing.assert_array_equal(wide.numpy(), host.astype(dtype))
        same(back, host.astype(dtype).astype(np.float64))
    same(wide[::-1, ::2].astype("bfloat16"), shown(bits(back), "bfloat16")[::-1, ::2])
    assert x.astype("bfloat16", copy=False) is x


def test_special_numbers_keep_their_bits(be: Backend) -> None:
    x = make(be, SPECIAL)
    expected = bfloat16(SPECIAL)
    np.testing.assert_array_equal(bits(x), expected)
    np.testing.assert_array_equal(bits(x[::-1]), expected[::-1])
    np.testing.assert_array_equal(
        x.astype("float32").numpy(), shown(expected, "bfloat16").astype(np.float32)
    )
    np.testing.assert_array_equal(bits(x.astype("float32").astype("bfloat16")), expected)
    assert str(x.tolist()) == str(shown(expected, "bfloat16").tolist())


def test_creation(be: Backend) -> None:
    half = tw.bfloat16
    same(tw.zeros((2, 0), dtype=half, device=be), np.zeros((2, 0)))
    same(tw.zeros((3, 5), dtype="bfloat16", device=be), np.zeros((3, 5)))
    same(tw.ones(3, dtype=half, device=be), np.ones(3))
    same(tw.full((2, 2), 0.3, dtype=half, device=be), np.full((2, 2), 0.3))
    same(be.full(3, 0.3, "bfloat16"), np.full(3, 0.3))
    same(tw.arange(300, dtype=half, device=be), np.arange(300.0))
    same(tw.arange(0, 2, 0.1, dtype=half, device=be), np.arange(0, 2, 0.1))
    same(tw.linspace(0, 1, 7, dtype=half, device=be), np.linspace(0, 1, 7))
    same(tw.eye(3, 4, k=1, dtype=half, device=be), np.eye(3, 4, k=1))
    x = make(be, [1.5, 2])
    same(tw.zeros_like(x), [0, 0])
    same(tw.full_like(x, 7), [7, 7])
    same(tw.asarray([x, [3.0, 0.3]], device=be), [[1.5, 2], [3, 0.3]])
    assert tw.asarray([x, np.float32([1, 2])], device=be).dtype == np.float32


# Moved -------------------------------------------------------------------------------------------

MOVES: dict[str, Callable[[Any, Any], Any]] = {
    "concat": lambda x, xp: xp.concat([x, x[:1]], axis=0),
    "stack": lambda x, xp: xp.stack([x, x], axis=-1),
    "roll": lambda x, xp: xp.roll(x, 3, axis=1),
    "flip": lambda x, xp: xp.flip(x),
    "repeat": lambda x, xp: xp.repeat(x, 3, axis=0),
    "tile": lambda x, xp: xp.tile(x, (2, 1)),
    "reshape": lambda x, xp: x.T.reshape(-1),
    "broadcast": lambda x, xp: xp.broadcast_to(x[:1], (3, *x.shape)),
    "take": lambda x, xp: xp.take(x, xp.asarray([0, -1, 0, 2]), axis=1),
    "indices": lambda x, xp: x[xp.asarray([[0], [-1]]), xp.asarray([1, 0, 2])],
    "pad": lambda x, xp: xp.pad(x, 2, mode="edge"),
    "tril": lambda x, xp: xp.tril(x, k=-1),
}


@pytest.mark.parametrize("move", MOVES)
@pytest.mark.parametrize("shape", [(3, 5), (1, 3), (17, 31)])
def test_moves(be: Backend, move: str, shape: tuple[int, ...]) -> None:
    count = int(np.prod(shape))
    # Every bit pattern but those of NaN, of which reading as a number may make another.
    host = (np.arange(count, dtype=np.uint32) * 40503 % 0x7F80).astype(np.uint16).reshape(shape)
    x = tw.asarray(host, device=be).view("bfloat16")

    class Here:
        """The namespace on this device."""

        def __getattr__(self, name: str) -> Any:
            found = getattr(tw, name)
            return (lambda one: found(one, device=be)) if name == "asarray" else found

    np.testing.assert_array_equal(bits(MOVES[move](x, Here())), MOVES[move](host, np))


@pytest.mark.parametrize("view", VIEWS)
def test_views_and_assignment(be: Backend, rng: np.random.Generator, view: str) -> None:
    host = numbers(rng, (9, 40))
    x = make(be, host)
    same(VIEWS[view](x), VIEWS[view](host))
    same(VIEWS[view](x) + 1, VIEWS[view](host) + np.float32(1))
    part, expected = VIEWS[view](x), host.copy()
    part[...] = 0.3
    VIEWS[view](expected)[...] = 0.3
    same(x, expected)
    fill = numbers(rng, VIEWS[view](host).shape)
    VIEWS[view](x)[...] = on(be, fill)
    VIEWS[view](expected)[...] = fill
    same(x, expected)


def test_masks_and_indices_are_written(be: Backend, rng: np.random.Generator) -> None:
    host = numbers(rng, (13, 7))
    x = make(be, host)
    mask = host > 2
    same(x[on(be, mask)], host[mask])
    x[on(be, mask)] = -1.0
    host[mask] = -1
    same(x, host)
    x[on(be, np.array([2, 5]))] = make(be, [[1], [2]])
    host[[2, 5]] = [[1], [2]]
    same(x, host)
    x[[0, 1], [3, 4]] = [0.1, 7]
    host[[0, 1], [3, 4]] = [0.1, 7]
    same(x, host)
    order = np.argsort(host, axis=0, kind="stable")
    same(tw.take_along_axis(x, on(be, order), axis=0), np.take_along_axis(host, order, axis=0))
    found = tw.nonzero(x > 2)[0].tolist()
    assert found == np.nonzero(shown(bfloat16(host), "bfloat16") > 2)[0].tolist()


@pytest.mark.parametrize("count", [0, 1, 2, 3, 255, 1000])
def test_sorts(be: Backend, rng: np.random.Generator, count: int) -> None:
    host = numbers(rng, (count,))
    host[::5] = np.nan
    x = make(be, host)
    same(tw.sort(x), np.sort(host))
    order = np.argsort(host, kind="stable")
    assert tw.argsort(x).tolist() == order.tolist()
    same(x[::-1][tw.argsort(x[::-1])], np.sort(host))
    largest = np.sort(host[host == host])[-2:][::-1]
    same(tw.topk(x, largest.size).values, largest)
    few = host[host == host] // 3
    same(tw.unique_values(make(be, few)), np.unique(few))


def test_rows_by_the_methods_of_backends(be: Backend, rng: np.random.Generator) -> None:
    host = numbers(rng, (9, 5))
    x = make(be, host)
    same(be.gather(x, [3, 0, -1]), host[[3, 0, -1]])
    same(be.gather(x[:, ::-1], on(be, np.int32([8, 9, 0]))),
         np.stack([host[8, ::-1], np.full(5, np.nan), host[0, ::-1]]))  # fmt: skip
    out = tw.zeros((2, 5), dtype="bfloat16", device=be)
    assert be.gather(x, [1, 2], out=out) is out
    same(out, host[1:3])
    be.scatter(x, [4, 2], out)
    host[[4, 2]] = host[1:3]
    same(x, host)
    view = x[:, ::2]
    assert be.scatter(view, [0], make(be, np.ones((1, 3)))) is view
    host[0, ::2] = 1
    same(x, host)
    with pytest.raises(InvalidArgument, match="scatter: "):
        be.scatter(x, [0], tw.zeros((1, 5), device=be))


# Computed ----------------------------------------------------------------------------------------

EXACT: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "div": lambda x, y: x / y,
}


@pytest.mark.parametrize("op", EXACT)
@pytest.mark.parametrize("count", [0, 1, 2, 3, 17, 1001])
def test_arithmetic_is_float32_rounded(
    be: Backend, rng: np.random.Generator, op: str, count: int
) -> None:
    a, b = numbers(rng, (count,)), numbers(rng, (count,), 0.5)
    x, y = make(be, a), make(be, b)
    same(EXACT[op](x, y), EXACT[op](a, b))
    same(EXACT[op](x[::-1], y[::-1]), EXACT[op](a[::-1], b[::-1]))
    same(EXACT[op](x, 2.5), EXACT[op](a, np.float32(2.5)))
    same(EXACT[op](3, y), EXACT[op](np.float32(3), b))
    x += y
    same(x, a + b)


def test_arithmetic_of_special_numbers(be: Backend) -> None:
    a = np.float32([np.inf, -np.inf, np.nan, 0.0, -0.0, 3e38, 1, 1])
    b = np.float32([np.inf, 1, 1, -0.0, -0.0, 3e38, 2.0**-9, 2.0**-7 + 2.0**-8])
    a, b = (shown(bfloat16(one), "bfloat16").astype(np.float32) for one in (a, b))
    x, y = make(be, a), make(be, b)
    with np.errstate(all="ignore"):
        same(x + y, a + b)
        same(x * y, a * b)
        same(x - y, a - b)
    assert (x == y).tolist() == (a == b).tolist()
    assert (x < y).tolist() == (a < b).tolist()
    assert tw.isnan(x).tolist() == np.isnan(a).tolist()
    assert tw.signbit(x).tolist() == np.signbit(a).tolist()
    # Of two zeros either.
    np.testing.assert_array_equal(tw.maximum(x, y).tolist(), np.maximum(a, b))
    same(tw.where(x > y, x, y), np.where(a > b, a, b))
    same(-x, -a)
    same(abs(x), abs(a))


def test_deferred_steps_round_as_each_alone(be: Backend, rng: np.random.Generator) -> None:
    a, b = numbers(rng, (3, 257)), numbers(rng, (3, 257))
    x, y = make(be, a), make(be, b)
    product = shown(bfloat16(a * b), "bfloat16").astype(np.float32)
    less = shown(bfloat16(product - b), "bfloat16").astype(np.float32)
    same((x * y - y) * x, less * a)
    tenth = shown(bfloat16(0.1), "bfloat16").astype(np.float32)
    same(x * y + 0.1, product + tenth)


UNARY: dict[str, tuple[Callable[..., Host], float]] = {
    "sqrt": (np.sqrt, 0.1), "exp": (np.exp, -3), "log": (np.log, 0.1), "sin": (np.sin, -3),
    "cos": (np.cos, -3), "tanh": (np.tanh, -3), "expm1": (np.expm1, -3), "log1p": (np.log1p, 0.1),
    "atan": (np.arctan, -3), "square": (np.square, -3), "reciprocal": (np.reciprocal, 0.5),
    "exp2": (np.exp2, -3), "log2": (np.log2, 0.1), "asinh": (np.arcsinh, -3),
    "floor": (np.floor, -9), "ceil": (np.ceil, -9), "round": (np.round, -9), "sign": (np.sign, -9),
}  # fmt: skip


@pytest.mark.parametrize("function", UNARY)
def test_functions(be: Backend, rng: np.random.Generator, function: str) -> None:
    reference, low = UNARY[function]
    host = numbers(rng, (5, 67), low)
    exact = reference(host.astype(np.float64))
    near(getattr(tw, function)(make(be, host)), exact, 2.0**-18 * abs(exact) + 2.0**-20)


def test_functions_of_two(be: Backend, rng: np.random.Generator) -> None:
    a, b = numbers(rng, (129,), 0.5), numbers(rng, (129,), 0.5)
    x, y = make(be, a), make(be, b)
    wide = a.astype(np.float64), b.astype(np.float64)
    for got, exact in (
        (x**2, wide[0] ** 2), (tw.pow(x, y / 4), None), (tw.hypot(x, y), np.hypot(*wide)),
        (tw.atan2(x, y), np.arctan2(*wide)), (x // y, np.floor_divide(a, b)),
        (tw.logaddexp(x, y), np.logaddexp(*wide)), (tw.clip(x, 1, 2), np.clip(wide[0], 1, 2)),
    ):  # fmt: skip
        if exact is None:
            exact = wide[0] ** shown(bfloat16(b / 4), "bfloat16")
        near(got, np.asarray(exact, np.float64), 2.0**-16 * abs(exact))


def test_results_go_to_out(be: Backend, rng: np.random.Generator) -> None:
    a, b = numbers(rng, (6, 11)), numbers(rng, (6, 11))
    x, y = make(be, a), make(be, b)
    out = tw.zeros((11, 6), dtype="bfloat16", device=be).T
    assert tw.add(x, y, out=out) is out
    same(out, a + b)
    wide = tw.zeros((6, 11), device=be)
    tw.add(x, y, out=wide)
    np.testing.assert_allclose(wide.numpy(), a + b, rtol=U)
    tw.multiply(on(be, a), on(be, b), out=x)
    same(x, a * b)
    with pytest.raises(InvalidArgument, match="out is int32"):
        tw.add(x, y, out=tw.zeros((6, 11), dtype="int32", device=be))


PROMOTED = {
    "bool": "bfloat16", "int8": "bfloat16", "uint8": "bfloat16", "int16": "float32",
    "uint16": "float32", "int32": "float64", "uint32": "float64", "int64": "float64",
    "uint64": "float64", "float16": "float32", "bfloat16": "bfloat16", "float32": "float32",
    "float64": "float64", "complex64": "complex64",
}  # fmt: skip


@pytest.mark.parametrize("other", PROMOTED)
def test_promotion(be: Backend, other: str) -> None:
    assert tw.result_type("bfloat16", other) == tw.result_type(other, "bfloat16") == PROMOTED[other]
    if not all(has(be, one) for one in (other, PROMOTED[other]) if one != "complex64"):
        with pytest.raises(tw.Unsupported):
            make(be, [1.5, 2]) + tw.asarray([1, 0], dtype=other, device=be)
        return
    x, y = make(be, [1.5, 2]), tw.asarray([1, 0], dtype=other, device=be)
    for met in (x + y, y + x, tw.where(x > 1, y, x), tw.concat([x, y])[:2]):
        assert met.dtype == PROMOTED[other]
    assert (x + y).tolist() == [2.5, 2]
    assert tw.can_cast("bfloat16", other) == (other == PROMOTED[other])
    assert tw.can_cast(other, "bfloat16") == (PROMOTED[other] == "bfloat16")


def test_python_numbers_keep_it(be: Backend) -> None:
    x = make(be, [1.5, 2])
    for one in (
        x + 1,
        1 - x,
        x * 0.1,
        x / 3,
        x**0.5,
        x + True,
        tw.maximum(x, 1),
    ):
        assert one.dtype is tw.bfloat16
    assert tw.add(x, [1, 2.5]).dtype == np.float32  # a list is an Array of its own
    assert (x + 1j).dtype == np.complex64
    assert (x + np.float64(1)).dtype == np.float64 if has(be, "float64") else True
    same(x * 0.1, shown(bfloat16([1.5, 2]), "bfloat16") * shown(bfloat16(0.1), "bfloat16"))


# Reduced and multiplied --------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(1,), (3, 5), (7, 300), (2, 3, 1025)])
@pytest.mark.parametrize("axis", [None, 0, -1])
def test_reductions(
    be: Backend, rng: np.random.Generator, shape: tuple[int, ...], axis: int | None
) -> None:
    host = numbers(rng, shape)
    x, wide = make(be, host), host.astype(np.float64)
    length = host.size if axis is None else shape[axis]
    off = 2.0**-24 * length * abs(wide).sum(axis=axis)
    near(tw.sum(x, axis=axis), wide.sum(axis=axis), off)
    near(tw.sum(x.T, axis=axis), wide.T.sum(axis=axis), 2.0**-24 * host.size * abs(wide).sum())
    near(tw.mean(x, axis=axis), wide.mean(axis=axis), off / length + 2.0**-30)
    near(tw.var(x, axis=axis), wide.var(axis=axis), 2.0**-16 * abs(wide).max() ** 2)
    near(tw.std(x, axis=axis), wide.std(axis=axis), 2.0**-12 * abs(wide).max())
    same(tw.max(x, axis=axis), host.max(axis=axis))
    same(tw.min(x, axis=axis), host.min(axis=axis))
    assert tw.argmax(x, axis=axis).tolist() == host.argmax(axis=axis).tolist()
    assert tw.any(x > 8, axis=axis).tolist() == (host > 8).any(axis=axis).tolist()
    assert tw.sum(x, axis=axis, dtype="float32").dtype == np.float32
    assert tw.count_nonzero(x, axis=axis).tolist() == np.count_nonzero(host, axis=axis).tolist()
    along = axis if axis is not None else -1
    near(tw.cumulative_sum(x, axis=along), wide.cumsum(axis=along),
         2.0**-24 * shape[along] * abs(wide).cumsum(axis=along))  # fmt: skip


def test_sums_are_joined_in_float32(be: Backend) -> None:
    """In bfloat16 they would stop at 256."""
    x = tw.ones(4096, dtype="bfloat16", device=be)
    assert tw.sum(x).item() == 4096
    assert tw.sum(x * 1).item() == 4096
    assert tw.mean(x).item() == 1
    assert tw.cumulative_sum(x)[-1].item() == 4096
    assert tw.sum(tw.zeros((0, 3), dtype="bfloat16", device=be), axis=0).tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("a", "b"),
    [((3, 5), (5, 7)), ((17, 33), (33, 9)), ((5,), (5,)), ((2, 4, 5), (5, 3)), ((5,), (5, 2)),
     ((3, 0), (0, 2)), ((0, 3), (3, 2)), ((64, 65), (65, 66))],
)  # fmt: skip
def test_products(
    be: Backend, rng: np.random.Generator, a: tuple[int, ...], b: tuple[int, ...]
) -> None:
    left, right = numbers(rng, a), numbers(rng, b)
    x, y = make(be, left), make(be, right)
    exact = left.astype(np.float64) @ right.astype(np.float64)
    off = 2.0**-24 * (a[-1] + 1) * (abs(left).astype(np.float64) @ abs(right).astype(np.float64))
    near(x @ y, exact, off)
    near(tw.matmul(x.T.copy().T, y), exact, off)
    out = tw.zeros(exact.shape, dtype="bfloat16", device=be)
    assert tw.matmul(x, y, out=out) is out
    near(out, exact, off)
    assert (x @ on(be, right)).dtype == np.float32
    near(tw.tensordot(x, y, axes=1), exact, off) if len(a) > 1 and len(b) > 1 else None


def test_statistics(be: Backend, rng: np.random.Generator) -> None:
    host = numbers(rng, (9, 51))
    x, wide = make(be, host), host.astype(np.float64)
    near(tw.median(x, axis=1), np.median(wide, axis=1), 0)
    near(tw.quantile(x, 0.3, axis=1), np.quantile(wide, 0.3, axis=1), 0.15)
    near(tw.nanvar(x, axis=0), wide.var(axis=0), 2.0**-12)
    near(tw.mean(x, axis=0, where=on(be, host > 0)), wide.mean(axis=0, where=host > 0), 2.0**-16)
    edges = np.float32([-9, -0.3, 0, 0.1, 9])
    assert tw.histogram(x, edges).hist.tolist() == np.histogram(host, edges)[0].tolist()
    assert tw.digitize(x, edges).tolist() == np.digitize(host, edges).tolist()
    places = np.arange(51) % 4
    near(tw.bincount(on(be, places.astype("int32")), x[0]), np.bincount(places, wide[0]), 2.0**-16)
    same(
        tw.nan_to_num(make(be, [np.nan, np.inf, -np.inf])),
        [0, MOST, -MOST],
    )


# Refused -----------------------------------------------------------------------------------------


def test_what_has_no_form_names_the_cast(be: Backend) -> None:
    x = make(be, np.eye(3))
    for call in (tw.linalg.inv, tw.linalg.svd, tw.linalg.qr, tw.linalg.eigh, tw.linalg.cholesky):
        with pytest.raises(InvalidArgument, match=r"bfloat16, expected float32; write x.astype"):
            call(x)
    for own in (be.relu, be.softmax, lambda one: be.matmul(one, one), lambda one: be.sum(one, 0)):
        with pytest.raises(InvalidArgument, match=r"is bfloat16, expected .*write \w.astype"):
            own(x)
    with pytest.raises(Unsupported, match=r"nextafter: bfloat16 .*write .astype\('float32'\)"):
        tw.nextafter(x, x)
    with pytest.raises(InvalidArgument, match="integers or bool"):
        x & x
    # Transforms take it as they take float16: in float32.
    assert tw.fft.fft(x).dtype == np.complex64
    np.testing.assert_allclose(tw.fft.fft(x).numpy(), np.fft.fft(np.eye(3)), atol=1e-6)


def test_recordings_and_other_devices(be: Backend) -> None:
    x = make(be, [1.5, 2, 0.3])
    with be.record() as recording:
        y = x * 2
    x[...] = 4
    recording.replay()
    same(y, [8, 8, 8])
    there = tw.init_backend("cpu")
    try:
        same(x.to_device(there), [4, 4, 4])
        same(tw.asarray(x, device=there, dtype="float32").astype("bfloat16"), [4, 4, 4])
        moved = x.to_device(there).to_device(be)
        same(moved, [4, 4, 4])
    finally:
        there.close()
