"""NumPy's own spellings, sequences, windows, polynomials, bits, parts and boxes of Arrays."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy
import pytest
import tilewright as tw
from numpy.random import Generator
from tilewright import Backend, InvalidArgument

from .arrays import on, same, values
from .numpy_names import SHAPES, agree

# Of Arrays its functions give Arrays.
np: Any = numpy
ONE = [
    "absolute", "arccos", "arcsin", "arcsinh", "arctan", "arctanh", "conjugate", "ndim", "rint",
    "shape", "size", "transpose",
]  # fmt: skip
TWO = ["arctan2", "mod", "power", "true_divide"]
OF_INTEGERS = ["bitwise_not", "invert"]
SHIFTS = ["left_shift", "right_shift"]


@pytest.mark.parametrize("name", ONE)
def test_spellings_of_one(be: Backend, rng: Generator, name: str) -> None:
    for shape in SHAPES:
        x = np.clip(values(rng, shape, "float32"), -0.95, 0.95)
        agree(be, getattr(np, name), x)
        got, expected = getattr(tw, name)(on(be, x)), getattr(np, name)(x)
        if isinstance(got, tw.Array):
            np.testing.assert_allclose(got.numpy(), expected, rtol=2e-5, atol=2e-6)
        else:
            assert got == expected
    with pytest.raises((InvalidArgument, TypeError)):
        getattr(tw, name)("x")


def test_hyperbolic(be: Backend, rng: Generator) -> None:
    x = np.float32(1.5) + np.abs(values(rng, (3, 5), "float32"))
    np.testing.assert_allclose(tw.arccosh(on(be, x)).numpy(), np.arccosh(x), rtol=2e-5)


@pytest.mark.parametrize("name", TWO)
def test_spellings_of_two(be: Backend, rng: Generator, name: str) -> None:
    for shape in SHAPES:
        a = np.abs(values(rng, shape, "float32")) + np.float32(0.5)
        b = np.abs(values(rng, shape[-1:], "float32")) + np.float32(0.75)
        got = getattr(tw, name)(on(be, a), on(be, b)).numpy()
        expected = getattr(np, name)(a.astype(np.float64), b.astype(np.float64))
        np.testing.assert_allclose(got, expected, rtol=1e-4, atol=2e-5)


@pytest.mark.parametrize("name", [*OF_INTEGERS, *SHIFTS])
def test_spellings_of_bits(be: Backend, rng: Generator, name: str) -> None:
    for dtype in ("int32", "uint8", "int16"):
        x = values(rng, (3, 5), dtype)
        given = (x, np.asarray([0, 1, 2, 3, 1], dtype)) if name in SHIFTS else (x,)
        same(getattr(tw, name)(*(on(be, one) for one in given)), getattr(np, name)(*given))


def test_joined_and_turned(be: Backend, rng: Generator) -> None:
    x, y = values(rng, (3, 4), "float32"), values(rng, (3, 2), "float32")
    a, b = on(be, x), on(be, y)
    same(tw.concatenate([a, b], 1), np.concatenate([x, y], 1))
    same(tw.concatenate((a, b), axis=None), np.concatenate((x, y), axis=None))
    same(np.concatenate([a, b], 1), np.concatenate([x, y], 1))
    out = on(be, np.zeros((3, 6), np.float32))
    assert tw.concatenate([a, b], 1, out=out) is out
    same(out, np.concatenate([x, y], 1))
    cube = values(rng, (2, 3, 4), "float32")
    same(tw.transpose(on(be, cube), (1, 2, 0)), np.transpose(cube, (1, 2, 0)))
    same(np.transpose(on(be, cube)), cube.T)
    same(tw.around(a, 1), np.around(x, 1))
    same(tw.identity(3, dtype="int32", device=be), np.identity(3, np.int32))
    same(tw.ascontiguousarray(a.T), np.ascontiguousarray(x.T))
    assert tw.asanyarray(a) is a
    assert tw.size(a, 0) == 3 and tw.size(a, (0, 1)) == 12 and np.size(a) == 12
    assert tw.shares_memory(a, a[1:]) and not tw.may_share_memory(a, b)
    assert np.shares_memory(a, a[1:]) and not np.shares_memory(a, b)
    assert tw.promote_types("int8", "uint8") == np.int16
    with pytest.raises(InvalidArgument, match="axis"):
        tw.concatenate([a, b], 5)


@pytest.mark.parametrize("count", [0, 1, 2, 7, 50])
def test_spaced(be: Backend, count: int) -> None:
    near = {"rtol": 3e-7, "atol": 0}
    for end in (True, False):
        np.testing.assert_allclose(
            tw.logspace(-3, 4, count, end, device=be).numpy(), np.logspace(-3, 4, count, end),
            **near,
        )  # fmt: skip
        np.testing.assert_allclose(
            tw.geomspace(2, 900, count, end, device=be).numpy(), np.geomspace(2, 900, count, end),
            **near,
        )  # fmt: skip
    both = tw.geomspace([1, 2], [100, 8], count, device=be)
    np.testing.assert_allclose(both.numpy(), np.geomspace([1, 2], [100, 8], count), **near)
    assert both.dtype == np.float32 and both.backend is be
    assert tw.logspace(0, 3, count, dtype="int32", device=be).dtype == np.int32


def test_what_is_not_spaced(be: Backend) -> None:
    with pytest.raises(InvalidArgument, match="num is -1"):
        tw.logspace(0, 1, -1, device=be)
    with pytest.raises(InvalidArgument, match="start is 0"):
        tw.geomspace(0, 1, device=be)
    with pytest.raises(InvalidArgument, match="start is 'a'"):
        tw.logspace("a", 1, device=be)
    with pytest.raises(InvalidArgument, match=r"stop is an Array.*write stop.numpy\(\)"):
        tw.geomspace(1, on(be, np.ones(2, np.float32)), device=be)
    with pytest.raises(InvalidArgument, match="M is -2"):
        tw.hanning(-2, device=be)


@pytest.mark.parametrize("count", [0, 1, 2, 16, 51])
def test_windows(be: Backend, count: int) -> None:
    for name in ("bartlett", "blackman", "hamming", "hanning"):
        got = getattr(tw, name)(count, device=be)
        np.testing.assert_allclose(got.numpy(), getattr(np, name)(count), rtol=3e-7, atol=1e-7)
    got = tw.kaiser(count, 8.6, device=be)
    np.testing.assert_allclose(got.numpy(), np.kaiser(count, 8.6), rtol=3e-7, atol=1e-7)


@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (2, 0, 4), (2, 3, 4)])
def test_indices(be: Backend, shape: tuple[int, ...]) -> None:
    whole: Any = tw.indices(shape, device=be)
    np.testing.assert_array_equal(whole.numpy(), np.indices(shape))
    parts = tw.indices(shape, sparse=True, device=be)
    for got, expected in zip(parts, np.indices(shape, sparse=True), strict=True):
        np.testing.assert_array_equal(got.numpy(), expected)
    if shape:
        made = tw.fromfunction(lambda *i: sum(i) * 2, shape, device=be)
        np.testing.assert_array_equal(made.numpy(), np.fromfunction(lambda *i: sum(i) * 2, shape))


def test_places_of_triangles(be: Backend, rng: Generator) -> None:
    x = values(rng, (4, 6), "float32")
    a = on(be, x)
    for k in (-2, 0, 1, 9):
        same(a[tw.tril_indices(4, k, 6, device=be)], x[np.tril_indices(4, k, 6)])
        same(a[tw.triu_indices(4, k, 6, device=be)], x[np.triu_indices(4, k, 6)])
    same(a[tw.diag_indices(4, device=be)], x[np.diag_indices(4)])
    rows, columns = np.asarray([2, 0]), np.asarray([True, False, False, True, True, False])
    same(a[tw.ix_(on(be, rows), on(be, columns))], x[np.ix_(rows, columns)])
    with pytest.raises(InvalidArgument, match="sequence 0 has shape"):
        tw.ix_(a)


@pytest.mark.parametrize("size", [0, 1, 2, 6, 40])
def test_polynomials_at(be: Backend, rng: Generator, size: int) -> None:
    p = values(rng, (size,), "float32")
    x = np.clip(values(rng, (3, 5), "float32"), -1, 1)
    exact = np.polyval(p.astype(np.float64), x.astype(np.float64))
    for coefficients in (on(be, p), p.tolist()):
        got = tw.polyval(coefficients, on(be, x))
        np.testing.assert_allclose(got.numpy(), exact, rtol=1e-5, atol=1e-5 * max(size, 1))
        assert got.dtype == np.float32
    got = np.polyval(on(be, p), on(be, x))
    np.testing.assert_allclose(got.numpy(), exact, rtol=1e-5, atol=1e-5 * max(size, 1))


def test_polynomials_joined(be: Backend, rng: Generator) -> None:
    a, b = values(rng, (5,), "float32"), values(rng, (3,), "float32")
    for call in (np.polyadd, np.polysub, np.polymul):
        agree(be, call, a, b)
        agree(be, call, b, a)
    for times in (0, 1, 2, 9):
        np.testing.assert_allclose(
            tw.polyder(on(be, a), times).numpy(), np.polyder(a, times), rtol=1e-6
        )
        np.testing.assert_allclose(
            tw.polyint(on(be, a), times).numpy(), np.polyint(a, times), rtol=1e-5, atol=1e-7
        )
    np.testing.assert_allclose(
        tw.polyint(on(be, a), 2, [3, 4]).numpy(), np.polyint(a, 2, [3, 4]), rtol=1e-5
    )
    short = tw.polyint(on(be, np.float32([4, 3])).astype("bfloat16"))
    assert short.dtype == tw.bfloat16 and short.tolist() == [2, 3, 0]
    with pytest.raises(InvalidArgument, match="is bfloat16, expected float32"):
        tw.polyfit(short, short, 1)
    with pytest.raises(InvalidArgument, match="m is -1"):
        tw.polyder(on(be, a), -1)
    with pytest.raises(InvalidArgument, match="k has 2 constants"):
        tw.polyint(on(be, a), 3, [1, 2])
    with pytest.raises(InvalidArgument, match="p has shape"):
        tw.polyval(on(be, np.ones((2, 2), np.float32)), on(be, a))


def test_polynomials_fitted(be: Backend, rng: Generator) -> None:
    x = np.linspace(-2, 3, 60).astype(np.float32)
    y = (np.float32(0.5) * x**3 - x + rng.standard_normal(60) * 0.01).astype(np.float32)
    w = rng.uniform(0.5, 2, 60).astype(np.float32)
    wide = x.astype(np.float64)
    for degree in (0, 1, 3, 5):
        got = tw.polyfit(on(be, x), on(be, y), degree).numpy()
        np.testing.assert_allclose(got, np.polyfit(wide, y, degree), rtol=2e-3, atol=2e-4)
        got = np.polyfit(on(be, x), on(be, y), degree, w=on(be, w)).numpy()
        np.testing.assert_allclose(got, np.polyfit(wide, y, degree, w=w), rtol=2e-3, atol=2e-4)
    several = np.stack([y, 2 * y + 1], 1)
    got = tw.polyfit(on(be, x), on(be, several), 3).numpy()
    np.testing.assert_allclose(got, np.polyfit(wide, several, 3), rtol=2e-3, atol=4e-4)
    with pytest.raises(InvalidArgument, match="deg is -1"):
        tw.polyfit(on(be, x), on(be, y), -1)
    with pytest.raises(InvalidArgument, match=r"y has shape \(59,\), expected 60 rows"):
        tw.polyfit(on(be, x), on(be, y[1:]), 1)
    with pytest.raises(InvalidArgument, match="w has shape"):
        tw.polyfit(on(be, x), on(be, y), 1, w=on(be, w[1:]))


def test_roots(be: Backend) -> None:
    if not be.supports("eig", "float32"):
        with pytest.raises(tw.Unsupported, match="eig"):
            tw.roots(on(be, np.float32([1, -6, 11, -6])))
    for p in ([1, -6, 11, -6], [2, 0, 2], [0, 0, 1, -3, 0, 0], [5], [0, 0], [1, 2]):
        host = np.asarray(p, np.float32)
        if np.count_nonzero(host) > 1 and not be.supports("eig", "float32"):
            continue
        got, expected = tw.roots(on(be, host)).numpy(), np.roots(host)
        assert got.shape == expected.shape
        np.testing.assert_allclose(
            np.sort_complex(np.round(got, 4)), np.sort_complex(np.round(expected, 4)), atol=2e-3
        )
    zeros = np.float32([1, 2, -3, 0.5])
    np.testing.assert_allclose(tw.poly(on(be, zeros)).numpy(), np.poly(zeros), rtol=1e-5)
    with pytest.raises(InvalidArgument, match="seq_of_zeros"):
        tw.poly(on(be, np.ones((2, 3), np.float32)))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64"])
def test_bits_counted(be: Backend, rng: Generator, dtype: str) -> None:
    limits = np.iinfo(dtype)
    if dtype not in [str(one.value) for one in be.capabilities().storage_dtypes]:
        with pytest.raises((tw.Unsupported, InvalidArgument)):
            on(be, np.zeros(1, dtype))
        return
    x = rng.integers(limits.min, limits.max, (3, 50), dtype, endpoint=True)
    x[0, :3] = limits.min, limits.max, 0
    same(tw.bitwise_count(on(be, x)), np.bitwise_count(x))
    same(np.bitwise_count(on(be, x)), np.bitwise_count(x))
    with pytest.raises(InvalidArgument, match="x is float32"):
        tw.bitwise_count(on(be, np.ones(2, np.float32)))


@pytest.mark.parametrize("order", ["big", "little"])
def test_bits_packed(be: Backend, rng: Generator, order: Any) -> None:
    x = rng.integers(0, 3, (3, 19), np.uint8)
    for axis in (None, 0, 1, -1):
        packed = np.packbits(x, axis, order)
        same(tw.packbits(on(be, x), axis, order), packed)
        same(np.packbits(on(be, x), axis, order), packed)
        for count in (None, 0, 5, 30, -3):
            expected = np.unpackbits(packed, axis, count, order)
            same(tw.unpackbits(on(be, packed), axis, count, order), expected)
    same(tw.packbits(on(be, x > 0)), np.packbits(x > 0))
    with pytest.raises(InvalidArgument, match="bitorder is 'middle'"):
        tw.packbits(on(be, x), bitorder="middle")
    with pytest.raises(InvalidArgument, match="a is int32"):
        tw.unpackbits(on(be, x.astype(np.int32)))
    with pytest.raises(InvalidArgument, match="count is -999"):
        tw.unpackbits(on(be, x), count=-999)


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_along_an_axis(be: Backend, rng: Generator, axis: int) -> None:
    x = values(rng, (2, 3, 4), "float32")
    a = on(be, x)
    calls: list[Any] = [lambda v: v[::-1] * 2, lambda v: v[:1] + v[1:2], lambda v: v[1],
                        lambda v: v[None, :2] + v[:2, None]]  # fmt: skip
    for call in calls:
        same(tw.apply_along_axis(call, axis, a), np.apply_along_axis(call, axis, x))
        same(np.apply_along_axis(call, axis, a), np.apply_along_axis(call, axis, x))
    with pytest.raises(InvalidArgument, match="no vector"):
        tw.apply_along_axis(lambda v: v, 0, on(be, np.ones((3, 0), np.float32)))


def test_over_axes(be: Backend, rng: Generator) -> None:
    x = values(rng, (2, 3, 4), "float32")
    got = tw.apply_over_axes(tw.sum, on(be, x), [0, 2])
    np.testing.assert_allclose(got.numpy(), np.apply_over_axes(np.sum, x, [0, 2]), rtol=1e-5)
    with pytest.raises(InvalidArgument, match="func gave shape"):
        tw.apply_over_axes(lambda v, axis: v.reshape(-1), on(be, x), 0)


def test_piecewise(be: Backend, rng: Generator) -> None:
    x = values(rng, (4, 5), "float32")
    parts: list[Any] = [lambda v: -v, lambda v, by=1: v * 2 * by]
    for call in (tw.piecewise, np.piecewise):
        a = on(be, x)
        same(call(a, [a < 0, a >= 0], parts), np.piecewise(x, [x < 0, x >= 0], parts))
        same(call(a, [a < 0], [5, lambda v: v]), np.piecewise(x, [x < 0], [5, lambda v: v]))
    with pytest.raises(InvalidArgument, match="funclist has 3"):
        tw.piecewise(on(be, x), [on(be, x) < 0], [1, 2, 3])


def test_zeros_trimmed(be: Backend) -> None:
    for given in ([0, 0, 1, 0, 2, 0], [0, 0], [], [1, 2], [0, 3]):
        x = np.asarray(given, np.float32)
        for trim in ("fb", "f", "b"):
            same(tw.trim_zeros(on(be, x), trim), np.trim_zeros(x, trim))
    with pytest.raises(InvalidArgument, match="trim is 'x'"):
        tw.trim_zeros(on(be, np.ones(3, np.float32)), "x")


def test_boxes(be: Backend, rng: Generator) -> None:
    points = rng.standard_normal((500, 3)).astype(np.float32)
    weights = rng.random(500).astype(np.float32)
    edges = [np.float32([-2, -1, 0, 2]), np.float32([-1, 1]), np.float32([0, 1, 3])]
    options: list[dict[str, Any]] = [
        {"bins": 4}, {"bins": [2, 3, 4]}, {"bins": edges}, {"bins": 3, "density": True},
        {"bins": 3, "range": [(-1, 1), (-2, 0.5), (0, 1)]},
    ]  # fmt: skip
    for one in options:
        for weighing in (None, weights):
            got = tw.histogramdd(
                on(be, points), weights=None if weighing is None else on(be, weighing), **one
            )
            expected = np.histogramdd(points, weights=weighing, **one)
            np.testing.assert_allclose(got.hist.numpy(), expected[0], rtol=2e-5, atol=1e-5)
            for mine, theirs in zip(got.bin_edges, expected[1], strict=True):
                np.testing.assert_allclose(mine.numpy(), theirs, rtol=1e-6, atol=1e-6)
    x, y = points[:, 0].copy(), points[:, 1].copy()
    for bins in (5, [3, 4], edges[0], [edges[0], edges[2]]):
        hist, x_edges, y_edges = np.histogram2d(on(be, x), on(be, y), bins)
        expected = np.histogram2d(x, y, bins)
        np.testing.assert_array_equal(hist.numpy(), expected[0])
        np.testing.assert_allclose(x_edges.numpy(), expected[1], rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(y_edges.numpy(), expected[2], rtol=1e-6, atol=1e-6)
    with pytest.raises(InvalidArgument, match="bins has 2 parts, expected 3"):
        tw.histogramdd(on(be, points), [2, 3])
    with pytest.raises(InvalidArgument, match="vectors of one size"):
        tw.histogram2d(on(be, x), on(be, y[1:]))


@pytest.mark.parametrize("dtype", ["float32", "int32", "bool", "complex64", "float16"])
def test_files(be: Backend, rng: Generator, tmp_path: Path, dtype: str) -> None:
    x = values(rng, (3, 4), dtype)
    a = on(be, x)
    tw.save(tmp_path / "one.npy", a.T)
    np.testing.assert_array_equal(np.load(tmp_path / "one.npy"), x.T)
    read: Any = tw.load(tmp_path / "one.npy", device=be)
    same(read, x.T)
    stream = io.BytesIO()
    np.save(stream, a)
    stream.seek(0)
    read = tw.load(stream, device=be)
    same(read, x)
    for call in (tw.savez, tw.savez_compressed, np.savez):
        call(tmp_path / "many.npz", a, other=a[1:])
        found = tw.load(tmp_path / "many.npz", device=be)
        assert isinstance(found, dict) and sorted(found) == ["arr_0", "other"]
        same(found["arr_0"], x)
        same(found["other"], x[1:])
        assert found["other"].backend is be


def test_files_that_are_none(be: Backend, tmp_path: Path) -> None:
    (tmp_path / "bad.npy").write_bytes(b"\x93NUMPY\x01\x00v\x00{broken")
    with pytest.raises(InvalidArgument, match=r"is no \.npy or \.npz file"):
        tw.load(tmp_path / "bad.npy", device=be)
    np.save(tmp_path / "objects.npy", np.asarray([{}], object), allow_pickle=True)
    with pytest.raises(InvalidArgument, match=r"is no \.npy or \.npz file"):
        tw.load(tmp_path / "objects.npy", device=be)
    with pytest.raises(FileNotFoundError):
        tw.load(tmp_path / "none.npy", device=be)
    a = on(be, np.ones(2, np.float32))
    with pytest.raises(InvalidArgument, match=r"arr is bfloat16.*astype\('float32'\)"):
        tw.save(tmp_path / "half.npy", a.astype("bfloat16"))
    with pytest.raises(InvalidArgument, match="arr_0 is given"):
        tw.savez(tmp_path / "many.npz", a, arr_0=a)
    with pytest.raises(InvalidArgument, match="arr is"):
        tw.save(tmp_path / "host.npy", "text")


SPECIAL = np.float32([1, 2.5, -3.75, 0, -0.0, np.inf, -np.inf, np.nan, 1e30, 1e-30, 1.5e-37, -7])


def _floats(be: Backend) -> list[str]:
    stored = [str(one.value) for one in be.capabilities().storage_dtypes]
    return [one for one in ("float16", "float32", "float64") if one in stored]


def _computes(be: Backend, dtype: str) -> bool:
    """WGSL has no functions of float64."""
    try:
        tw.exp(on(be, np.ones(1, dtype))).numpy()
    except tw.Unsupported:
        return False
    return True


def test_fractions_and_exponents(be: Backend, rng: Generator) -> None:
    for dtype in _floats(be):
        x = np.concatenate([SPECIAL.clip(-6e4, 6e4) if dtype == "float16" else SPECIAL,
                            values(rng, (40,), "float32")]).astype(dtype)  # fmt: skip
        fraction, exponent = tw.frexp(on(be, x))
        expected = np.frexp(x)
        same(fraction, expected[0])
        finite = np.isfinite(x)
        np.testing.assert_array_equal(exponent.numpy()[finite], expected[1][finite])
        assert exponent.dtype == np.int32
        by = rng.integers(-20, 20, x.shape).astype(np.int32)
        with np.errstate(all="ignore"):
            scaled = np.ldexp(x, by)
        # Devices may take subnormal numbers for 0.
        normal = ~(np.abs(scaled) < np.finfo(dtype).tiny)
        got = tw.ldexp(on(be, x), on(be, by)).numpy()
        np.testing.assert_array_equal(got[normal], scaled[normal])
        back = np.ldexp(*np.frexp(on(be, x)))
        np.testing.assert_array_equal(back.numpy(), x)
    a = on(be, np.float32([1.5, -2]))
    np.testing.assert_array_equal(tw.ldexp(a, 3).numpy(), [12, -16])
    np.testing.assert_array_equal(tw.ldexp(a, 500).numpy(), [np.inf, -np.inf])
    np.testing.assert_array_equal(tw.ldexp(a, -500).numpy(), [0, 0])
    parts = on(be, np.zeros(2, np.float32)), on(be, np.zeros(2, np.int32))
    assert tw.frexp(a, out=parts)[0] is parts[0]
    np.testing.assert_array_equal(parts[1].numpy(), [1, 2])
    for dtype in ("int8", "uint8", "int16", "uint16", "uint32"):
        exponents = on(be, np.array([3, 0], dtype))
        np.testing.assert_array_equal(tw.ldexp(a, exponents).numpy(), [12, -2])
    with pytest.raises(TypeError, match="x2 is float32, expected integers"):
        tw.ldexp(a, a)
    for dtype in ("float16", "bfloat16"):
        with pytest.raises(tw.Unsupported, match=f"spacing: x is {dtype}"):
            tw.spacing(a.astype(dtype))
    with pytest.raises(InvalidArgument, match="x is complex64"):
        tw.frexp(a.astype("complex64"))


def test_spacing(be: Backend) -> None:
    large = SPECIAL[np.abs(SPECIAL) > 1e-3]
    for dtype in _floats(be)[1:]:
        x = large.astype(dtype)
        with np.errstate(all="ignore"):
            same(tw.spacing(on(be, x)), np.spacing(x))
            same(np.spacing(on(be, x)), np.spacing(x))


def test_float_power(be: Backend) -> None:
    x, y = np.float32([1.1, 2, 3]), np.int32([2, -1, 20])
    a, b = on(be, x), on(be, y)
    if "float64" not in _floats(be) or not _computes(be, "float64"):
        with pytest.raises(tw.Unsupported, match="float64"):
            tw.float_power(a, b).numpy()
        return
    for call in (tw.float_power, np.float_power):
        got = call(a, b)
        assert got.dtype == np.float64
        np.testing.assert_allclose(got.numpy(), np.float_power(x, y), rtol=1e-6)


def test_bessel(be: Backend) -> None:
    for dtype in _floats(be):
        top = {"float16": 12, "float32": 85, "float64": 700}[dtype]
        x = np.linspace(-top, top, 1001).astype(dtype)
        if not _computes(be, dtype):
            with pytest.raises(tw.Unsupported, match="float64"):
                tw.i0(on(be, x))
            continue
        got, exact = tw.i0(on(be, x)).numpy(), np.i0(x.astype(np.float64))
        # The exponential is off by what its argument is rounded by.
        near = {"float16": 2e-3, "float32": 2e-5, "float64": 1e-12}[dtype]
        np.testing.assert_allclose(got.astype(np.float64), exact, rtol=near)
        assert got.dtype == dtype
    special = tw.i0(on(be, np.float32([0, np.inf, -np.inf, np.nan]))).numpy()
    np.testing.assert_array_equal(special, [1, np.inf, np.inf, np.nan])
    same(tw.i0(on(be, np.zeros((0, 3), np.float32))), np.zeros((0, 3), np.float32))
    with pytest.raises(InvalidArgument, match="x is complex64"):
        tw.i0(on(be, np.ones(2, np.complex64)))
