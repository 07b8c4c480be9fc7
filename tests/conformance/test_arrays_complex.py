"""Complex Arrays against NumPy in complex256 and complex128: functions, special values, views."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tilewright as tw
from tilewright import Backend

from .arrays import DTYPES, VIEWS, Host, on, same, values

COMPLEX = ("complex64", "complex128")

# By name: NumPy's function, and the largest error in eps of the size of the result. The sum of a
# power's roundings grows with its logarithm.
CLOSE: dict[str, tuple[Callable[..., Any], float]] = {
    "abs": (np.abs, 2),
    "acos": (np.arccos, 6),
    "acosh": (np.arccosh, 6),
    "angle": (np.angle, 4),
    "asin": (np.arcsin, 6),
    "asinh": (np.arcsinh, 6),
    "atan": (np.arctan, 6),
    "atanh": (np.arctanh, 6),
    "cos": (np.cos, 8),
    "cosh": (np.cosh, 8),
    "divide": (np.divide, 4),
    "exp": (np.exp, 6),
    "exp2": (np.exp2, 12),
    "expm1": (np.expm1, 12),
    "log": (np.log, 6),
    "log10": (np.log10, 6),
    "log1p": (np.log1p, 6),
    "log2": (np.log2, 6),
    "multiply": (np.multiply, 2),
    "pow": (np.power, 40),
    "reciprocal": (np.reciprocal, 3),
    "rsqrt": (lambda z: 1 / np.sqrt(z), 4),
    "sign": (np.sign, 3),
    "sin": (np.sin, 8),
    "sinh": (np.sinh, 8),
    "sqrt": (np.sqrt, 3),
    "square": (np.square, 2),
    "tan": (np.tan, 12),
    "tanh": (np.tanh, 12),
}
PAIRS = ("divide", "multiply", "pow")
ON_ALL = ("abs", "divide", "multiply", "reciprocal", "rsqrt", "sign", "sqrt", "square")


def drawn(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> Host:
    return (rng.uniform(-9, 9, shape) + 1j * rng.uniform(-9, 9, shape)).astype(dtype)


def lacks(be: Backend, name: str, dtype: str) -> bool:
    """float64 on webgpu has no more than WGSL has."""
    return be.name == "webgpu" and dtype == "complex128" and name not in ON_ALL


@pytest.mark.sampled(12)
@pytest.mark.parametrize("name", CLOSE)
def test_functions(be: Backend, rng: np.random.Generator, name: str) -> None:
    function, ulps = CLOSE[name]
    for dtype in COMPLEX:
        # Small and large ones, plain ones, and those near what functions are singular at.
        size, turn = np.exp(rng.uniform(-6, 2.5, 300)), np.exp(1j * rng.uniform(-3.2, 3.2, 300))
        near = rng.choice([1, -1, 1j, -1j], 300) * (1 + drawn(rng, (300,), "complex128") / 9000)
        host = np.concatenate([size * turn, near, drawn(rng, (301,), dtype)]).astype(dtype)
        hosts = [host, host[::-1].copy()][: 2 if name in PAIRS else 1]
        if name == "pow":
            hosts[1] = (hosts[1] / 4).astype(dtype)
        if lacks(be, name, dtype):
            with pytest.raises(tw.Unsupported, match="float64"):
                getattr(tw, name)(*(on(be, one) for one in hosts))
            continue
        exact = function(*(one.astype(np.clongdouble) for one in hosts))
        got = getattr(tw, name)(*(on(be, one) for one in hosts))
        parts = "float32" if dtype == "complex64" else "float64"
        assert got.dtype == np.dtype(parts if name in ("abs", "angle") else dtype)
        error = abs(got.numpy() - exact) / abs(exact)
        assert error.max() <= ulps * np.finfo(dtype).eps, (hosts[0][error.argmax()], error.max())


# Where parts are 0 of either sign, ordinary, infinite or NaN, as NumPy has it. What C99 leaves
# open, and what NumPy does not do as C99, is left out.
ENDS = [0.0, -0.0, 1.0, -1.0, 0.5, -2.0, np.inf, -np.inf, np.nan]
SIGNED = ("acos", "acosh", "asin", "asinh", "atan", "atanh", "log", "log1p", "reciprocal", "sign",
          "sqrt", "abs")  # fmt: skip
UNSIGNED = ("cos", "cosh", "exp", "sin", "sinh", "square", "tan", "tanh")


@pytest.mark.parametrize("name", [*SIGNED, *UNSIGNED])
def test_special_values(be: Backend, name: str) -> None:
    host = np.array([complex(x, y) for x in ENDS for y in ENDS], "complex64")
    function = CLOSE[name][0]
    with np.errstate(all="ignore"):
        exact = np.asarray(function(host.astype("complex128")), "complex128")
    got = np.asarray(getattr(tw, name)(on(be, host)).numpy(), "complex128")
    for x, y in ((got.real, exact.real), (got.imag, exact.imag)):
        open_sign = np.isinf(x) & np.isinf(y) & (name in UNSIGNED)
        open_sign &= ~(np.isfinite(host.real) & np.isfinite(host.imag))
        x, y = np.where(open_sign, abs(x), x), np.where(open_sign, abs(y), y)
        np.testing.assert_allclose(x, y, rtol=1e-6)
        if name in SIGNED:
            known = ~np.isnan(y)
            np.testing.assert_array_equal(np.signbit(x[known]), np.signbit(y[known]))


def test_expm1_is_as_the_standard_says(be: Backend) -> None:
    inf, nan = np.inf, np.nan
    cases = {
        complex(0, 0): complex(0, 0),
        complex(inf, 0): complex(inf, 0),
        complex(-inf, 2): complex(-1, 0),
        complex(-inf, inf): complex(-1, 0),
        complex(-inf, nan): complex(-1, 0),
        complex(inf, inf): complex(inf, nan),
        complex(inf, nan): complex(inf, nan),
        complex(nan, 0): complex(nan, 0),
        complex(nan, 1): complex(nan, nan),
        complex(1, inf): complex(nan, nan),
    }
    got = tw.expm1(on(be, np.array(list(cases), "complex64"))).numpy()
    np.testing.assert_array_equal(abs(got.real), abs(np.array(list(cases.values())).real))
    np.testing.assert_array_equal(abs(got.imag), abs(np.array(list(cases.values())).imag))


def test_nothing_overflows_on_the_way(be: Backend) -> None:
    big, small = 2.0**126, 2.0**-100
    z = on(be, np.array([big + big * 1j, 0.75 * big * 1j, small - small * 1j], "complex64"))
    host = z.numpy().astype("complex128")
    for name in ("abs", "sqrt", "log", "sign", "asin", "acos", "asinh", "acosh", "atan", "atanh"):
        got = getattr(tw, name)(z).numpy()
        np.testing.assert_allclose(got, CLOSE[name][0](host), rtol=1e-5, atol=0, err_msg=name)
    np.testing.assert_allclose((z / z).numpy(), 1, rtol=1e-6)
    np.testing.assert_allclose(tw.exp(on(be, np.array([95 + 1e-8j], "complex64"))).numpy().imag,
                               np.exp(95) * 1e-8, rtol=1e-4)  # fmt: skip


def test_operators_with_every_dtype(be: Backend, rng: np.random.Generator) -> None:
    z = drawn(rng, (3, 4), "complex64")
    for dtype in DTYPES:
        x = np.maximum(values(rng, (4,), dtype, 1, 9), np.ones(4, dtype))
        wide = np.result_type(z, x)
        for name in ("add", "subtract", "multiply", "divide"):
            function = getattr(np, name)
            for a, b in ((z, x), (x, z)):
                got = getattr(tw, name)(on(be, a), on(be, b))
                assert got.dtype == wide, (dtype, got.dtype)
                exact = function(a.astype("complex128"), b.astype("complex128"))
                np.testing.assert_allclose(got.numpy(), exact, rtol=1e-5)
        same(on(be, z) == on(be, x), z == x.astype("complex128"))


def test_numbers_beside_arrays(be: Backend) -> None:
    z, host = on(be, np.array([1 + 2j, -3j], "complex64")), np.array([1 + 2j, -3j], "complex64")
    for number in (2, 0.5, True, 1 - 1j, np.complex64(2j), np.float32(3), np.array([2j, 1])):
        for got, exact in (
            (z + number, host + number),
            (number - z, number - host),
            (z * number, host * number),
            (number / z, number / host),
        ):
            assert got.dtype == exact.dtype
            np.testing.assert_allclose(got.numpy(), exact, rtol=1e-6)
    # A real number leaves infinities alone, where a product of pairs has NaN.
    same(on(be, np.array([complex(np.inf, 1)], "complex64")) * 2,
         np.array([complex(np.inf, 2)], "complex64"))  # fmt: skip
    assert (on(be, np.ones(2, "float32")) * 1j).dtype == np.complex64
    assert (on(be, np.ones(2, "float64")) + 1j).dtype == np.complex128
    assert (on(be, np.ones(2, "int32")) + 1j).dtype == np.complex64
    assert tw.add(on(be, np.ones(2, "float16")), [1j, 2]).dtype == np.complex64
    assert tw.add(on(be, np.ones(2, "complex128")), [1, 2.5]).dtype == np.complex128


def test_powers(be: Backend) -> None:
    z = on(be, np.array([1 + 2j, -3j, 0, 2], "complex64"))
    host = z.numpy()
    for exponent in (0, 1, 2, 3, 7):
        same(z**exponent, (host**exponent).astype("complex64"))
    np.testing.assert_allclose((z[:2] ** -2).numpy(), host[:2] ** -2.0, rtol=1e-6)
    np.testing.assert_allclose((z**0.5).numpy(), host**0.5, rtol=1e-6)
    np.testing.assert_allclose((2**z).numpy(), 2**host, rtol=1e-6)
    np.testing.assert_allclose((z ** (1j - 1))[:2].numpy(), host[:2] ** (1j - 1), rtol=1e-6)
    np.testing.assert_array_equal((z ** on(be, np.zeros(4, "complex64"))).numpy(), np.ones(4))
    assert np.isnan((z**-1.5).numpy()[2])
    # Powers of 0 are 0 where the exponent's real part is above 0.
    exponents = np.array([3 + 2j, 2, 0.5 - 1j, -1 + 1j, 1j], "complex64")
    powers = (on(be, np.zeros(5, "complex64")) ** on(be, exponents)).numpy()
    np.testing.assert_array_equal(powers[:3], 0)
    assert np.isnan(powers[3:]).all()


def test_tests_and_choices(be: Backend) -> None:
    host = np.array([1 + 1j, complex(np.nan, 1), complex(1, np.inf), 0, 1j], "complex64")
    z = on(be, host)
    for name in ("isnan", "isinf", "isfinite", "logical_not"):
        same(getattr(tw, name)(z), getattr(np, name)(host))
    same(z == z, host == host)
    same(z != 1j, host != 1j)
    some = np.array([1, 0, 1, 1, 0])
    same(tw.logical_and(z, on(be, some)), np.logical_and(host, some))
    same(tw.where(z, 1, 2), np.where(host, 1, 2))
    same(tw.where(z == 1j, 1j, 2), np.where(host == 1j, 1j, 2).astype("complex64"))
    same(tw.where(z == 1j, 2, z), np.where(host == 1j, np.complex64(2), host))
    same(tw.where(on(be, np.array([True])), 1j, on(be, np.ones(5, "float32"))),
         np.full(5, 1j, "complex64"))  # fmt: skip
    same(tw.round(on(be, np.array([1.5 - 2.5j], "complex64"))), np.array([2 - 2j], "complex64"))


@pytest.mark.parametrize("view", VIEWS)
def test_views_and_parts(be: Backend, rng: np.random.Generator, view: str) -> None:
    cut = VIEWS[view]
    for dtype in COMPLEX:
        whole = drawn(rng, (6, 8), dtype)
        host, z = cut(whole), cut(on(be, whole))
        same(z, host)
        same(z.copy(), host)
        same(z.real, host.real)
        same(tw.imag(z), host.imag)
        same(z.conj(), host.conj())
        same(-z + z.conj(), -host + host.conj())
        np.testing.assert_allclose((z * z).numpy(), host * host, rtol=1e-5)
        same(z.reshape(-1), host.reshape(-1))


def test_writes_through_parts_and_views(be: Backend, rng: np.random.Generator) -> None:
    host = drawn(rng, (5, 6), "complex64")
    z = on(be, host)
    for x in (z, host):
        x.real[1] = 7
        x.imag[::2, 1] = x.real[::2, 2]
        x[2, ::-1] = x[3]
        x[:, 0] = 1 - 1j
        x[0] = 3
        x[4, 1:3] = np.array([1, 2], "int32")
        x[1:] += x[:-1]
        x *= 2
        x[3] -= 1j
        x[:, 1] = [1j, 2, 3, 4, 5.5]
        x[x == 3] = 9j
    same(z, host)
    w = z[:, ::2]
    w *= w
    np.testing.assert_allclose(z.numpy()[:, ::2], host[:, ::2] * host[:, ::2], rtol=1e-5)
    same(z[:, 1::2], host[:, 1::2])
    x = on(be, host.copy())
    tw.multiply(x[1:], x[:-1], out=x[1:])
    np.testing.assert_allclose(x.numpy()[1:], host[1:] * host[:-1], rtol=1e-5)
    out = tw.empty((5, 6), dtype="complex128", device=be)
    assert tw.add(x.real, 1, out=out) is out
    same(out, (x.numpy().real + np.float32(1)).astype("complex128"))


def test_reductions(be: Backend, rng: np.random.Generator) -> None:
    host = drawn(rng, (3, 5, 7), "complex64") / 4
    z = on(be, host)
    wide = host.astype("complex128")
    for axis in (None, 0, -1, (0, 2)):
        for name in ("sum", "prod", "mean", "var", "std", "any", "all"):
            got = getattr(tw, name)(z[:, ::-1], axis=axis, keepdims=axis == 0)
            exact = getattr(np, name)(wide[:, ::-1], axis=axis, keepdims=axis == 0)
            assert got.shape == exact.shape
            assert got.dtype.kind == exact.dtype.kind, name
            bound = 1e-4 * (abs(exact) if name == "prod" else 1) + 1e-30
            assert (abs(got.numpy() * 1 - exact) <= bound).all(), name
    for axis in (0, 1, 2):
        np.testing.assert_allclose(tw.cumulative_sum(z, axis=axis).numpy(),
                                   wide.cumsum(axis), rtol=1e-3, atol=1e-4)  # fmt: skip
        np.testing.assert_allclose(tw.cumulative_prod(z, axis=axis).numpy(),
                                   wide.cumprod(axis), rtol=1e-4)  # fmt: skip
    longer = tw.cumulative_sum(z[0, 0], include_initial=True)
    assert longer.shape == (8,) and longer[0].item() == 0
    assert tw.count_nonzero(on(be, np.array([0, 1j, 1], "complex64"))).item() == 2
    empty = on(be, np.zeros((0, 3), "complex64"))
    same(empty.sum(axis=0), np.zeros(3, "complex64"))
    same(empty.prod(axis=0), np.ones(3, "complex64"))
    assert tw.sum(z.real, dtype="complex128").dtype == np.complex128
    out = tw.empty((), dtype="complex64", device=be)
    assert tw.sum(z, out=out) is out and abs(out.item() - wide.sum()) < 1e-3


@pytest.mark.parametrize("dtype", COMPLEX)
def test_products(be: Backend, rng: np.random.Generator, dtype: str) -> None:
    shapes = [((3, 4), (4, 5)), ((4,), (4, 5)), ((3, 4), (4,)), ((4,), (4,)), ((3, 0), (0, 2)),
              ((2, 1, 3, 4), (5, 4, 2)), ((33, 65), (65, 17))]  # fmt: skip
    for of_a, of_b in shapes:
        a, b = drawn(rng, of_a, dtype), drawn(rng, of_b, dtype)
        exact = a.astype("complex128") @ b.astype("complex128")
        got = on(be, a) @ on(be, b)
        assert got.shape == np.shape(exact) and got.dtype == np.dtype(dtype)
        np.testing.assert_allclose(got.numpy(), exact, rtol=1e-4, atol=1e-3)
    a, x = drawn(rng, (4, 3), dtype), rng.uniform(-1, 1, (5, 4)).astype("float32")
    np.testing.assert_allclose((on(be, a).T @ on(be, x).mT).numpy(), a.T @ x.T, rtol=1e-4,
                               atol=1e-4)  # fmt: skip
    out = tw.empty((3, 3), dtype=dtype, device=be)
    tw.matmul(on(be, a).mT.conj(), on(be, a), out=out)
    np.testing.assert_allclose(out.numpy(), a.T.conj() @ a, rtol=1e-4, atol=1e-3)


def test_creation_and_the_way_back(be: Backend) -> None:
    with tw.device(be):
        same(tw.asarray([1, 2j]), np.array([1, 2j], "complex64"))
        same(tw.asarray(np.array([1, 2j])), np.array([1, 2j]))
        same(tw.asarray([1, 2], dtype="complex128"), np.array([1, 2], "complex128"))
        same(tw.full((2,), 1j), np.full(2, 1j, "complex64"))
        same(tw.eye(2, 3, k=1, dtype="complex64"), np.eye(2, 3, 1, "complex64"))
        same(tw.linspace(0, 1 + 2j, 5), np.linspace(0, 1 + 2j, 5).astype("complex64"))
        same(tw.zeros(3, dtype="complex64"), np.zeros(3, "complex64"))
        same(tw.triu(tw.full((3, 3), 2j)), np.triu(np.full((3, 3), 2j, "complex64")))
        same(tw.concat([tw.asarray([1j]), tw.asarray([2.0])]), np.array([1j, 2], "complex64"))
        same(tw.stack([tw.asarray([1j])] * 2), np.array([[1j], [1j]], "complex64"))
        z = tw.asarray([1 + 2j, 3])
    assert z.tolist() == [1 + 2j, 3] and z[0].item() == 1 + 2j and complex(z[1]) == 3
    assert repr(z).startswith("Array([1.+2.j, 3.+0.j], shape=(2,), dtype=complex64")
    same(copy.deepcopy(z), z.numpy())
    same(z.astype("complex128"), z.numpy().astype("complex128"))
    same(z.astype(bool), np.array([True, True]))
    same(on(be, np.arange(3)).astype("complex64"), np.arange(3).astype("complex64"))
    same(np.conjugate(z), z.numpy().conj())
    same(np.real(z), z.numpy().real)
    np.testing.assert_array_equal(np.from_dlpack(z[::-1]), z.numpy()[::-1])
    assert z.nbytes == 16 and 3 in z
    with pytest.raises(TypeError):
        float(z[0])


def test_pickling(be: Backend) -> None:
    z = on(be, np.array([1 + 2j, 3], "complex64"))
    back = pickle.loads(pickle.dumps(z))
    np.testing.assert_array_equal(back.numpy(), z.numpy())
    assert back.dtype == z.dtype


def test_real_arrays_have_parts_too(be: Backend) -> None:
    for dtype in DTYPES:
        x = on(be, np.arange(3).astype(dtype))
        assert x.real is x and x.conj() is x
        same(x.imag, np.zeros(3, dtype))
    same(tw.angle(on(be, np.array([1.0, -1.0], "float32"))), np.array([0, np.pi], "float32"))


def test_dtypes_know_them(be: Backend) -> None:
    assert tw.isdtype("complex64", "complex floating") and tw.isdtype("complex64", "numeric")
    assert not tw.isdtype("complex64", "real floating")
    assert tw.finfo("complex64") == tw.finfo("float32")
    assert tw.result_type("float32", "complex64") == np.complex64
    assert tw.result_type("float64", "complex64") == np.complex128
    assert tw.result_type("float64", 1j) == np.complex128
    assert tw.result_type("int8", 1j) == np.complex64
    assert tw.can_cast("float32", "complex64") and not tw.can_cast("complex64", "float64")
    info = tw.__array_namespace_info__()
    assert info.default_dtypes(device=be)["complex floating"] == np.complex64
    assert set(info.dtypes(device=be, kind="complex floating")) == set(COMPLEX)


def test_errors(be: Backend) -> None:
    z, x = on(be, np.ones(3, "complex64")), on(be, np.ones(3, "float32"))
    identity = tw.Program()
    identity.output(identity.input("float32"))
    cases: dict[str, Callable[[], Any]] = {
        "floor: x is complex64, expected real": lambda: tw.floor(z),
        "less: x1 is complex64": lambda: z < 1,
        "clip: x is complex64": lambda: tw.clip(z, 0, 1),
        "less: x2 is a complex number": lambda: x < 1j,
        "maximum: x2 is complex64": lambda: tw.maximum(x, z),
        "max: x is complex64": lambda: tw.max(z),
        "argmin: x is complex64": lambda: tw.argmin(z),
        "remainder: x1 is complex64": lambda: z % 2,
        "astype: the array is complex64.*real.astype": lambda: z.astype("float32"),
        "assignment: value is complex64.*value.real": lambda: x.__setitem__(0, z[0]),
        "assignment: value is a complex number": lambda: x.fill(1j),
        "assignment: value of shape \\(2,\\)": lambda: z.__setitem__(..., z[:2]),
        "out is float32, but the result is complex64": lambda: tw.add(x, z, out=x),
        "out has shape": lambda: tw.add(z, 1j, out=z[:2]),
        "do not broadcast": lambda: z + z[:2],
        "asarray: obj is complex128": lambda: tw.asarray([1j], dtype="int8", device=be),
        "sum: dtype is float32": lambda: tw.sum(z, dtype="float32"),
        "matmul: a is of dtype complex64": lambda: be.matmul(z, z),
        "relu: x is of dtype complex64": lambda: be.relu(z),
        "map: inputs is .* expected real numbers": lambda: be.map(identity, (3,), [z], [], [x]),
        "arange: stop is": lambda: tw.arange(0, 1j, device=be),
        "another backend": lambda: z + tw.asarray([1j], device=tw.init_backend("cpu")),
    }
    for message, call in cases.items():
        with pytest.raises(tw.InvalidArgument, match=message):
            call()
    with pytest.raises(TypeError):
        z + "1"
    with pytest.raises(tw.Unsupported, match="63 dimensions"):
        -tw.ones((1,) * 64, dtype="complex64", device=be)


@pytest.mark.essential
@pytest.mark.parametrize("dtype", COMPLEX)
def test_products_of_the_cpu(rng: np.random.Generator, dtype: str) -> None:
    """Side by side and apart, new and in place, they are the formula to the bit; so a number times
    its conjugate is real."""
    with tw.init_backend("cpu") as be:
        for n in (1, 2, 7, 8, 15, 16, 17, 33, 1001, 40_003):
            real = rng.standard_normal((4, n))
            a, b = ((re + 1j * im).astype(dtype) for re, im in (real[:2], real[2:]))
            if n > 16:
                a[3], b[5], b[9] = complex(np.inf, 1), complex(np.nan, 2), complex(0, -np.inf)
            expected = np.empty(n, dtype)
            with np.errstate(invalid="ignore"):
                expected.real = a.real * b.real - a.imag * b.imag
                expected.imag = a.real * b.imag + a.imag * b.real
            x, y = on(be, a), on(be, b)
            same(x * y, expected)
            spread = tw.zeros((n, 2), dtype=dtype, device=be)
            spread[:, 1] = x
            same(spread[:, 1] * y, expected)
            spread[:, 1] *= y
            same(spread[:, 1], expected)
            same(spread[:, 0], np.zeros(n, dtype))
            if n <= 16:
                assert not np.asarray(y * tw.conj(y)).imag.any()
            x *= y
            same(x, expected)
