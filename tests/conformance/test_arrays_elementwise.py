"""Elementwise functions and operators of Arrays against NumPy: dtypes, views, aliasing, errors."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tilewright as tw
from tilewright import Backend

from . import arrays
from .arrays import DTYPES, FLOATS, INTEGERS, Host, near, on, same, values

NUMBERS = (*INTEGERS, *FLOATS)
BITS = ("bool", *INTEGERS)

# By name: NumPy's function, the dtypes, and the domain of values.
EXACT: dict[str, tuple[Callable[..., Any], tuple[str, ...]]] = {
    "add": (np.add, DTYPES),
    "subtract": (np.subtract, NUMBERS),
    "multiply": (np.multiply, DTYPES),
    "maximum": (np.maximum, DTYPES),
    "minimum": (np.minimum, DTYPES),
    "negative": (np.negative, NUMBERS),
    "positive": (np.positive, NUMBERS),
    "abs": (np.abs, DTYPES),
    "sign": (lambda x: np.where(x == 0, np.zeros((), x.dtype), np.sign(x)), NUMBERS),
    "square": (np.square, NUMBERS),
    "floor": (np.floor, FLOATS),
    "ceil": (np.ceil, FLOATS),
    "trunc": (np.trunc, FLOATS),
    "round": (np.round, FLOATS),
    "signbit": (np.signbit, FLOATS),
    "isnan": (np.isnan, DTYPES),
    "isinf": (np.isinf, DTYPES),
    "isfinite": (np.isfinite, DTYPES),
    "copysign": (np.copysign, FLOATS),
    "bitwise_and": (np.bitwise_and, BITS),
    "bitwise_or": (np.bitwise_or, BITS),
    "bitwise_xor": (np.bitwise_xor, BITS),
    "bitwise_invert": (np.invert, BITS),
    "equal": (np.equal, DTYPES),
    "not_equal": (np.not_equal, DTYPES),
    "less": (np.less, DTYPES),
    "less_equal": (np.less_equal, DTYPES),
    "greater": (np.greater, DTYPES),
    "greater_equal": (np.greater_equal, DTYPES),
    "logical_and": (np.logical_and, DTYPES),
    "logical_or": (np.logical_or, DTYPES),
    "logical_xor": (np.logical_xor, DTYPES),
    "logical_not": (np.logical_not, DTYPES),
}

# The error of a float result in units of the last place of what it is computed in.
CLOSE: dict[str, tuple[Callable[..., Any], float, float, float]] = {
    "divide": (np.divide, 1, -9, 9),
    "reciprocal": (np.reciprocal, 1, 0.5, 9),
    "sqrt": (np.sqrt, 1, 0, 9),
    "rsqrt": (lambda x: 1 / np.sqrt(x), 2, 0.5, 9),
    "cbrt": (np.cbrt, 2, -9, 9),
    "hypot": (np.hypot, 3, -9, 9),
    "exp": (np.exp, 3, -4, 4),
    "exp2": (np.exp2, 3, -4, 4),
    "expm1": (np.expm1, 4, -4, 4),
    "log": (np.log, 3, 2, 9),
    "log2": (np.log2, 3, 2, 9),
    "log10": (np.log10, 3, 2, 9),
    "log1p": (np.log1p, 3, 1, 9),
    "logaddexp": (np.logaddexp, 5, 1, 9),
    "sin": (np.sin, 4, -1, 1),
    "cos": (np.cos, 4, -1, 1),
    "tan": (np.tan, 6, -1, 1),
    "asin": (np.arcsin, 5, -1, 1),
    "acos": (np.arccos, 5, -1, 0.9),
    "atan": (np.arctan, 5, -9, 9),
    "atan2": (np.arctan2, 6, 1, 9),
    "sinh": (np.sinh, 5, -4, 4),
    "cosh": (np.cosh, 5, -4, 4),
    "tanh": (np.tanh, 5, -4, 4),
    "asinh": (np.arcsinh, 5, -9, 9),
    "acosh": (np.arccosh, 5, 2, 9),
    "atanh": (np.arctanh, 5, -0.9, 0.9),
}
PAIRS = ("divide", "hypot", "logaddexp", "atan2", "copysign", "nextafter")


def operands_of(name: str, function: Callable[..., Any]) -> int:
    return 2 if name in PAIRS or getattr(function, "nin", 1) == 2 else 1


def lacks(be: Backend, name: str, dtype: str) -> bool:
    """float64 on webgpu has what WGSL has, and two logarithms."""
    return be.name == "webgpu" and dtype == "float64" and name not in ("divide", "log",
        "log2", "reciprocal", "sqrt", "rsqrt")  # fmt: skip


@pytest.mark.sampled(16)
@pytest.mark.parametrize("name", EXACT)
def test_exact_functions(be: Backend, rng: np.random.Generator, name: str) -> None:
    function, dtypes = EXACT[name]
    call = getattr(tw, name)
    for dtype in dtypes:
        hosts = [values(rng, (7, 13), dtype) for _ in range(operands_of(name, function))]
        for host in hosts:
            if host.dtype.kind == "f":
                host[0, :4] = np.nan, np.inf, -np.inf, -0.0
        with np.errstate(all="ignore"):
            expected = function(*hosts)
        got = call(*(on(be, host) for host in hosts))
        if name == "sign":
            # NaN's sign is NaN; NumPy's 0 may be negative.
            same(abs(got), abs(expected))
        same(got, expected)


@pytest.mark.sampled(16)
@pytest.mark.parametrize("name", CLOSE)
def test_close_functions(be: Backend, rng: np.random.Generator, name: str) -> None:
    function, ulps, low, high = CLOSE[name]
    call = getattr(tw, name)
    count = operands_of(name, function)
    for dtype in (*FLOATS, "bool", "uint8", "int32"):
        if lacks(be, name, dtype):
            with pytest.raises(tw.Unsupported, match="float64"):
                call(*[on(be, np.ones(3))] * count)
            continue
        hosts = [values(rng, (7, 13), dtype, low, high) for _ in range(count)]
        if dtype in ("bool", "int32", "uint8"):
            hosts = [np.ones_like(host) for host in hosts]
        if name == "acosh" or (name == "atanh" and dtype not in FLOATS):
            hosts = [host * (1 if name == "acosh" else 0) + host * 0 for host in hosts]
        with np.errstate(all="ignore"):
            exact = function(*(host.astype(np.float64) for host in hosts))
        result = dtype if dtype in FLOATS else "float32"
        near(call(*(on(be, host) for host in hosts)), exact, ulps, result)


def test_rounding_of_integers_changes_nothing(be: Backend) -> None:
    for dtype in ("bool", *INTEGERS):
        host = np.array([0, 1, 1, 0, 1], dtype)
        for name in ("floor", "ceil", "trunc", "round"):
            same(getattr(tw, name)(on(be, host)), host)


def test_integer_division_and_shifts(be: Backend, rng: np.random.Generator) -> None:
    for dtype in INTEGERS:
        a, b = values(rng, (50,), dtype), values(rng, (50,), dtype, 1, 5)
        x, y = on(be, a), on(be, b)
        same(x // y, a // b)
        same(x % y, a % b)
        quotient, rest = divmod(x, y)
        same(quotient, a // b)
        same(rest, a % b)
        same(x << y, a << b)
        same(x >> y, a >> b)
        same(y**2, b**2)
        same(tw.pow(y, on(be, np.full(50, 2, dtype))), b**2)
    for dtype in FLOATS:
        a = values(rng, (50,), dtype)
        same(on(be, a) // 2, np.floor_divide(a, a.dtype.type(2)))
        same(on(be, a) % 2, np.remainder(a, a.dtype.type(2)))


def test_nextafter(be: Backend) -> None:
    for dtype in ("float32", "float64"):
        a, b = np.array([0, 1, -1, 5], dtype), np.array([1, 0, -2, 5], dtype)
        same(tw.nextafter(on(be, a), on(be, b)), np.nextafter(a, b))


@pytest.mark.parametrize("view", arrays.VIEWS)
def test_views_of_every_kind(be: Backend, rng: np.random.Generator, view: str) -> None:
    cut = arrays.VIEWS[view]
    for dtype in ("bool", "uint8", "int16", "float32", "int64"):
        host = values(rng, (6, 9), dtype)
        part, there = cut(host), cut(on(be, host))
        same(there, part)
        same(there == there, part == part)
        same(there | True if dtype == "bool" else there + 1, part | True if dtype == "bool" else
            part + part.dtype.type(1))  # fmt: skip
        # Of another layout beside it.
        other = np.ascontiguousarray(part)
        same(tw.maximum(there, on(be, other)), np.maximum(part, other))
        # Written in place, and nothing else.
        mine, whole = host.copy(), on(be, host)
        cut(mine)[...] = 1
        cut(whole)[...] = 1
        same(whole, mine)


SHAPES = [((), ()), ((5,), ()), ((0,), (1,)), ((3, 1), (1, 4)), ((2, 1, 4), (3, 1)), ((1, 1), (7,)),
          ((3, 0), (1, 1))]  # fmt: skip


@pytest.mark.parametrize("shapes", SHAPES, ids=str)
def test_broadcasting(be: Backend, rng: np.random.Generator, shapes: Any) -> None:
    a, b = (values(rng, shape, "int32") for shape in shapes)
    x, y = on(be, np.asarray(a)), on(be, np.asarray(b))
    same(x + y, np.asarray(a + b))
    same(x < y, np.asarray(a < b))
    mask = np.asarray(values(rng, shapes[1], "bool"))
    same(tw.where(on(be, mask), x, y), np.where(mask, a, b))


@pytest.mark.parametrize(
    "start", [0, *(pytest.param(i, marks=pytest.mark.exhaustive) for i in range(1, 6))]
)
def test_every_two_dtypes_meet_as_in_numpy(be: Backend, start: int) -> None:
    pairs = [(a, b) for a in DTYPES for b in DTYPES]
    for a, b in pairs[start::6]:
        signed = {np.dtype(a).kind, np.dtype(b).kind} == {"i", "u"}
        x, y = on(be, np.ones(3, a)), on(be, np.ones(3, b))
        if signed and "uint64" in (a, b):
            with pytest.raises(tw.InvalidArgument, match="no dtype holds both"):
                _ = x + y
            with pytest.raises(tw.InvalidArgument, match="no dtype holds both"):
                tw.result_type(x, y)
            continue
        expected = np.ones(3, a) + np.ones(3, b)
        same(x + y, expected)
        assert tw.result_type(x, b) == expected.dtype


def test_numbers_take_the_dtype_of_the_array(be: Backend) -> None:
    for dtype in DTYPES:
        x = on(be, np.ones(3, dtype))
        assert (x == 1).tolist() == [True] * 3
        if dtype == "bool":
            assert (x + 1).dtype == np.int64 and (x + 1.5).dtype == np.float32
            assert (x & True).dtype == np.bool_
            continue
        assert (x + True).dtype == x.dtype and (2 * x).dtype == x.dtype
        assert (x + 1.5).dtype == (x.dtype if dtype in FLOATS else np.float32)
        assert (x + np.float64(1)).dtype == np.promote_types(dtype, "float64")
        assert (
            (x + np.int8(1)).dtype
            == (np.promote_types(dtype, "int8") if dtype != "uint64" else x.dtype)
            if dtype != "uint64"
            else True
        )
    small = on(be, np.array([-128, 0, 127], np.int8))
    for number in (300, -300, 2**70, -(2**70)):
        for compare in ("less", "less_equal", "greater", "greater_equal", "equal", "not_equal"):
            host = np.array([-128, 0, 127], object)
            expected = getattr(operator, {"less": "lt", "less_equal": "le", "greater": "gt",
                "greater_equal": "ge", "equal": "eq", "not_equal": "ne"}[compare])  # fmt: skip
            assert getattr(tw, compare)(small, number).tolist() == [
                expected(v, number) for v in host
            ]
            assert getattr(tw, compare)(number, small).tolist() == [
                expected(number, v) for v in host
            ]
        with pytest.raises(tw.InvalidArgument, match=r"add: x2 is .* int8 does not hold"):
            small + number


def test_operands_of_the_host(be: Backend) -> None:
    x = on(be, np.arange(3, dtype=np.float32))
    for other in ([1, 2, 3], (1.0, 2.0, 3.0), np.float32([1, 2, 3]), range(1, 4)):
        same(x + other, np.float32([1, 3, 5]))  # type: ignore[operator]
        same(other + x, np.float32([1, 3, 5]))  # type: ignore[operator]
    same(x * np.arange(3), np.arange(3) * np.float32([0, 1, 2]))
    same(np.arange(3) * x, np.arange(3) * np.float32([0, 1, 2]))
    for wrong in ("a", None, {}, object()):
        with pytest.raises(TypeError):
            x + wrong  # type: ignore[operator]
        with pytest.raises(tw.InvalidArgument, match="add: x2 is"):
            tw.add(x, wrong)
    with pytest.raises(tw.InvalidArgument, match="x2 is of dtype"):
        x + np.ones(3, np.longdouble)


def test_in_place_and_out(be: Backend) -> None:
    for name, by in [("iadd", 3), ("isub", 3), ("imul", 3), ("ifloordiv", 3), ("imod", 3),
                     ("ipow", 2), ("iand", 3), ("ior", 3), ("ixor", 3), ("ilshift", 1),
                     ("irshift", 1)]:  # fmt: skip
        host = np.arange(20, dtype=np.int16).reshape(4, 5)
        there = on(be, host)
        view, part = there[::2, 1:], host[::2, 1:]
        kept = view
        view = getattr(operator, name)(view, by)
        assert view is kept
        getattr(operator, name)(part, by)
        same(there, host)
    floats = on(be, np.ones(3, np.float32))
    floats /= 2
    same(floats, np.full(3, 0.5, np.float32))
    whole = on(be, np.ones(3, np.int32))
    with pytest.raises(tw.InvalidArgument, match="out is int32, but the result is float32"):
        whole += 0.5
    with pytest.raises(tw.InvalidArgument, match="out has shape"):
        whole += on(be, np.ones((2, 3), np.int32))
    out = tw.empty(3, dtype="float64", device=be)
    assert tw.add(whole, whole, out=out) is out
    same(out, np.full(3, 2.0))
    with pytest.raises(tw.InvalidArgument, match="out is"):
        tw.add(whole, whole, out=np.ones(3))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="keyword"):
        tw.add(whole, whole, axis=0)
    with pytest.raises(TypeError, match="takes no keyword but out"):
        tw.rsqrt(whole, where=True)
    with pytest.raises(TypeError, match="takes 2 operands, and 1 is given"):
        tw.add(whole)  # type: ignore[call-arg]


def test_overlapping_operands_read_before_they_write(be: Backend) -> None:
    for dtype in ("uint8", "float32", "int32"):
        host = np.arange(300).astype(dtype)
        there = on(be, host)
        there[1:] += there[:-1]
        host[1:] += host[:-1]
        same(there, host)
        there[:-1] = there[1:]
        host[:-1] = host[1:].copy()
        same(there, host)
        there[...] = there[::-1]
        host[...] = host[::-1].copy()
        same(there, host)
        square, mine = there[:289].reshape(17, 17), host[:289].reshape(17, 17)
        square += square.T
        mine += mine.T.copy()
        same(there, host)
        tw.add(there[0], there[:100], out=there[100:200])
        host[100:200] = host[0] + host[:100]
        same(there, host)


def test_clip(be: Backend, rng: np.random.Generator) -> None:
    for dtype in NUMBERS:
        host = values(rng, (40,), dtype)
        x = on(be, host)
        low, high = (2, 5)
        same(tw.clip(x, low, high), np.clip(host, host.dtype.type(low), host.dtype.type(high)))
        same(tw.clip(x, low), np.maximum(host, host.dtype.type(low)))
        same(tw.clip(x, max=high), np.minimum(host, host.dtype.type(high)))
        same(tw.clip(x), host)
        same(tw.clip(x, on(be, host), high), np.minimum(host, host.dtype.type(high)))


def test_where(be: Backend) -> None:
    mask = np.array([True, False, True])
    for dtype in DTYPES:
        host = np.array([0, 1, 1], dtype)
        same(tw.where(on(be, mask), on(be, host), on(be, host[::-1].copy())),
            np.where(mask, host, host[::-1]))  # fmt: skip
        same(tw.where(on(be, mask), on(be, host), 0 if dtype != "bool" else False),
            np.where(mask, host, np.zeros((), dtype)))  # fmt: skip
    assert tw.where(on(be, mask), 1.0, 0).tolist() == [1.0, 0.0, 1.0]
    assert tw.where(on(be, np.array([2, 0, 3])), 1, 0).tolist() == [1, 0, 1]


def test_what_functions_refuse(be: Backend) -> None:
    flags, floats = on(be, np.array([True])), on(be, np.ones(1, np.float32))
    whole = on(be, np.ones(1, np.int32))
    wrong: list[tuple[str, Callable[[], Any]]] = [
        ("subtract: x1 is bool, expected numbers", lambda: flags - flags),
        ("negative: x is bool, expected numbers", lambda: -flags),
        ("bitwise_and: x1 is float32, expected integers or bool", lambda: floats & floats),
        ("bitwise_left_shift: x1 is bool, expected integers", lambda: flags << flags),
        ("bitwise_invert: x is float32", lambda: ~floats),
        ("add: x1 is 1.*, expected an Array", lambda: tw.add(1, 2)),
        ("exp: x is 2.0.*, expected an Array", lambda: tw.exp(2.0)),
        (r"do not broadcast", lambda: on(be, np.ones(2)) + on(be, np.ones(3))),
        ("clip: x is", lambda: tw.clip(3, 1, 2)),  # type: ignore[arg-type]
        ("never initialised", lambda: whole + tw.Array.__new__(tw.Array)),
    ]
    for message, call in wrong:
        with pytest.raises(tw.InvalidArgument, match=message):
            call()
    with pytest.raises(TypeError, match="takes 2 operands"):
        tw.add(whole)  # type: ignore[call-arg]
    with type(be)(adapter_index=be.config["adapter_index"]) as other:
        foreign = on(other, np.ones(1, np.int32))
        with pytest.raises(tw.InvalidArgument, match="x2 is an Array of another backend"):
            whole + foreign
        with pytest.raises(tw.InvalidArgument, match="out is an Array of another backend"):
            tw.add(whole, whole, out=foreign)


def test_more_elements_than_workgroups_count(be: Backend) -> None:
    host = np.arange(65_536 * 65 + 3, dtype=np.int32)
    x = on(be, host)
    same(x[::-1] + x, host[::-1] + host)


def test_ufuncs_of_numpy_stay_on_the_device(be: Backend) -> None:
    host: Host = np.linspace(0.1, 0.9, 7, dtype=np.float32)
    x = on(be, host)
    for ufunc in (np.exp, np.arcsin, np.absolute, np.rint, np.isnan, np.negative):
        got = ufunc(x)
        assert isinstance(got, tw.Array)
        np.testing.assert_allclose(got.numpy(), ufunc(host), rtol=1e-5)
    for two in (np.add, np.arctan2, np.power, np.less):
        for got in (two(x, host), two(host, x), two(x, 0.5)):
            assert isinstance(got, tw.Array) and got.backend is be
    out = tw.empty_like(x)
    assert np.add(x, 1, out=out) is out
    same(out, host + 1)
    for call in (lambda: np.isnat(x), lambda: np.sort_complex(x), lambda: np.real_if_close(x)):
        with pytest.raises(tw.Unsupported, match=r"x\.numpy\(\)"):
            call()


@pytest.mark.parametrize("by", [np.inf, -np.inf])
def test_remainders_of_infinity(be: Backend, by: float) -> None:
    """Of many numbers, none of which is 0."""
    host = np.float32([2.25, -1.5, -3, -9] * 8)
    same(on(be, host) % by, np.remainder(host, np.float32(by)))
    same(on(be, host) // by, np.floor_divide(host, np.float32(by)))


def test_atanh_is_nan_beyond_1(be: Backend) -> None:
    host = np.float32([1.5, 1e10, 6e18, -3e38])
    assert np.isnan(tw.atanh(on(be, host)).numpy()).all()
    if be.name == "cpu":
        assert np.isnan(tw.atanh(on(be, host.astype("float64"))).numpy()).all()
