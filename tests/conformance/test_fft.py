"""fft(): lengths of all factors, along every axis, in one step and in several, both ways."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import tilewright as tw
from tilewright import Backend

from .arguments import POSITIVE, Call, EmptyCalls, Flag, In, Name, Number, Out, Size
from .workspace import Array, Workspace

if TYPE_CHECKING:
    from fuzz import call as fuzz
    from fuzz.draw import Draw

CALL: Call = {
    "input": In(4 * 2 * 2 * 6 * 3 * 2),
    "roots": In(4 * 2 * 6),
    "output": Out(4 * 2 * 2 * 6 * 3 * 2),
    "outer": Size(2),
    "n": Size(6, positive=True),
    "middle": Size(3),
    "inner": Size(2),
    "inverse": Flag(False),
    "scale": Number(1.0, wrong=POSITIVE),
    "turns": In(4 * 2 * (8 + 3)),
    "dtype": Name("float32", also_wrong=("int32", "float16")),
}
EMPTY: EmptyCalls = [
    ({name: 0}, ("input", "output", "turns")) for name in ("outer", "middle", "inner")
]

ONE_PASS = [1, 2, 3, 4, 5, 7, 8, 9, 11, 13, 16]
#: every radix behind every other, and what is long
PASSES = [6, 10, 12, 14, 15, 18, 21, 22, 24, 25, 26, 27, 32, 33, 35, 36, 39, 45, 48, 49, 55, 64, 65]
PASSES += [72, 77, 81, 91, 96, 99, 100, 117, 121, 128, 143, 144, 169, 176, 208, 243, 256, 343, 360]
LONG = [512, 625, 729, 1000, 1001, 1024]
# n, shape around it: outer, middle, inner
SHAPES = [
    (1, 1, 1),
    (3, 1, 1),
    (70, 1, 1),
    (1, 17, 1),
    (2, 1, 5),
    (3, 5, 7),
    (1, 2, 33),
    (2, 40, 1),
]


def steps_of(n: int) -> tuple[Array, Array]:
    """The roots of a length, and its turns."""
    step = 1
    while step * step < n:
        step *= 2
    places = np.append(np.arange(step), step * np.arange(-(-n // step)))
    return tuple(np.exp(-2j * np.pi * (x / n)) for x in (np.arange(n), places))  # type: ignore


def parts(z: Array, dtype: str) -> Array:
    return np.stack([z.real, z.imag], -1).astype(dtype)


def joined(x: Array) -> Array:
    return np.asarray(x[..., 0].astype(np.float64) + 1j * x[..., 1])


def reference(x: Array, inverse: bool, scale: float, turned: bool) -> Array:
    """Of complex numbers [outer, n, middle, inner]."""
    n, middle = x.shape[1:3]
    result = (np.fft.ifft(x, axis=1) * n if inverse else np.fft.fft(x, axis=1)) * scale
    if turned:
        angles = np.outer(np.arange(n), np.arange(middle)) / (n * middle)
        result = result * np.exp((2j if inverse else -2j) * np.pi * angles)[:, :, None]
    return np.asarray(result.swapaxes(1, 2))


def runs(be: Backend, dtype: str) -> bool:
    return be.supports("fft", dtype)


def assert_near(got: Array, expected: Array, dtype: str) -> None:
    """Within 8 roundings of the size of all of a line's numbers together, and 40 of each."""
    eps = float(np.finfo(dtype).eps)
    off = np.abs(joined(got) - expected)
    size = np.sqrt(np.mean(np.abs(expected) ** 2, axis=2, keepdims=True))
    assert np.sqrt(np.mean(off**2)) <= 8 * eps * np.sqrt(np.mean(size**2))
    assert (off <= 40 * eps * size).all()


def run(
    ws: Workspace, x: Array, inverse: bool, scale: float, turned: bool, dtype: str
) -> Array | None:
    """The output, of complex numbers [outer, n, middle, inner]; none where it is refused."""
    outer, n, middle, inner = x.shape
    roots = ws.input(parts(ws.be.fft_roots(n), dtype))
    turns = ws.input(parts(steps_of(n * middle)[1], dtype)) if turned else None
    out = ws.room((outer, middle, n, inner, 2), dtype)
    source = ws.input(parts(x, dtype))

    def call() -> None:
        ws.be.fft(source, roots, out, outer, n, middle, inner, inverse, scale, turns, dtype)

    if not runs(ws.be, dtype):
        with pytest.raises(tw.Unsupported, match=r"^fft: .* has no float64 in kernels"):
            call()
        return None
    call()
    return ws.read(out)


def check(
    ws: Workspace,
    rng: np.random.Generator,
    shape: tuple[int, int, int, int],
    inverse: bool,
    turned: bool,
    dtype: str = "float32",
) -> None:
    x = parts(rng.normal(size=shape) + 1j * rng.normal(size=shape), dtype)
    scale = 1 / shape[1] if inverse else 1.0
    got = run(ws, joined(x), inverse, scale, turned, dtype)
    if got is not None:
        assert_near(got, reference(joined(x), inverse, scale, turned), dtype)


@pytest.mark.sampled(6)
@pytest.mark.essential
@pytest.mark.parametrize("n", ONE_PASS)
def test_every_radix(be: Backend, rng: np.random.Generator, n: int) -> None:
    with Workspace(be) as ws:
        for outer, middle, inner in SHAPES:
            for inverse in (False, True):
                check(ws, rng, (outer, n, middle, inner), inverse, turned=middle > 1)


@pytest.mark.sampled(6)
@pytest.mark.essential
@pytest.mark.parametrize("first", range(0, len(PASSES), 6))
def test_passes_of_every_radix(be: Backend, rng: np.random.Generator, first: int) -> None:
    for n in PASSES[first : first + 6]:
        with Workspace(be) as ws:
            outer, middle, inner = SHAPES[n % len(SHAPES)]
            check(ws, rng, (outer, n, middle, inner), bool(n % 2), turned=False)
            check(ws, rng, (1, n, 3, 2), bool(n % 3), turned=True)


@pytest.mark.sampled(6)
@pytest.mark.essential
@pytest.mark.parametrize("n", LONG)
def test_long(be: Backend, rng: np.random.Generator, n: int) -> None:
    with Workspace(be) as ws:
        for outer, middle, inner in [(1, 1, 1), (5, 1, 1), (1, 9, 2), (1, 1, 65), (2, 3, 1)]:
            check(ws, rng, (outer, n, middle, inner), bool(n % 2), turned=True)


@pytest.mark.parametrize("n", [1, 8, 13, 60, 1024])
def test_float64(be: Backend, rng: np.random.Generator, n: int) -> None:
    with Workspace(be) as ws:
        for outer, middle, inner in SHAPES:
            check(ws, rng, (outer, n, middle, inner), False, True, "float64")
            if not runs(be, "float64"):
                return


@pytest.mark.parametrize("lengths", [(8, 9), (1000, 13), (32, 32, 32), (5, 16, 7, 4)], ids=str)
@pytest.mark.parametrize("inverse", [False, True])
def test_steps(
    be: Backend, rng: np.random.Generator, lengths: tuple[int, ...], inverse: bool
) -> None:
    """One long transform, as Stockham's steps of short ones."""
    whole, rows = int(np.prod(lengths)), 3
    x = parts(rng.normal(size=(rows, whole)) + 1j * rng.normal(size=(rows, whole)), "float32")
    with Workspace(be) as ws:
        now, done = ws.input(x), 1
        for n in lengths:
            middle = whole // (done * n)
            roots, turns = steps_of(n)[0], steps_of(n * middle)[1]
            then = ws.room((rows, whole, 2))
            be.fft(
                now, ws.input(parts(roots, "float32")), then, rows, n, middle, done, inverse, 1.0,
                ws.input(parts(turns, "float32")) if middle > 1 else None,
            )  # fmt: skip
            now, done = then, done * n
        got = ws.read(now)
        expected = np.fft.ifft(joined(x)) * whole if inverse else np.fft.fft(joined(x))
        assert_near(got[:, None], expected[:, None], "float32")


#: every prime that is a pass of sums, one of them alone
SUMS = [17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97]
#: before, behind and between other passes, twice, and beside other primes
WITH_SUMS = [34, 51, 62, 95, 102, 272, 285, 289, 292, 322, 323, 361, 391, 408, 475, 493, 510]
WITH_SUMS += [884, 920, 1843]
#: of which Level Zero has no kernels
LONG_WITH_SUMS = [570, 782, 1156, 1615]


def longest_of_sums(be: Backend, dtype: str) -> int:
    """What one step takes where a prime is a pass of sums."""
    if be.name != "webgpu":
        return 512
    held = be.device.limits["max_workgroup_memory_bytes"] // (2 * np.dtype(dtype).itemsize)
    return min(4096, (held - 1) * 16 // 17)


def has_passes(n: int) -> bool:
    for prime in range(2, 98):
        while n % prime == 0:
            n //= prime
    return n == 1


@pytest.mark.sampled(6)
@pytest.mark.essential
@pytest.mark.parametrize("n", SUMS)
def test_passes_of_sums(be: Backend, rng: np.random.Generator, n: int) -> None:
    with Workspace(be) as ws:
        for outer, middle, inner in SHAPES:
            check(ws, rng, (outer, n, middle, inner), bool(inner % 2), turned=middle > 1)
        check(ws, rng, (3, n, 1, 1), True, turned=False)


@pytest.mark.sampled(6)
@pytest.mark.essential
@pytest.mark.parametrize("n", WITH_SUMS + LONG_WITH_SUMS)
def test_passes_of_sums_beside_others(be: Backend, rng: np.random.Generator, n: int) -> None:
    with Workspace(be) as ws:
        if be.name == "level-zero" and n in LONG_WITH_SUMS:
            x = ws.room((n, 2))
            with pytest.raises(tw.Unsupported, match=rf"^fft: n is {n}, and the workgroups of"):
                be.fft(x, x, ws.room((n, 2)), 1, n)
            return
        for outer, middle, inner in [(1, 1, 1), (7, 1, 1), (1, 9, 2), (1, 1, 65), (2, 3, 1)]:
            check(ws, rng, (outer, n, middle, inner), bool(outer % 2), turned=middle > 1)
        check(ws, rng, (3, n, 1, 1), True, turned=False)


@pytest.mark.parametrize("n", [17, 34, 97, 285, 289])
def test_passes_of_sums_in_float64(be: Backend, rng: np.random.Generator, n: int) -> None:
    with Workspace(be) as ws:
        for outer, middle, inner in SHAPES:
            check(ws, rng, (outer, n, middle, inner), bool(outer % 2), middle > 1, "float64")
            if not runs(be, "float64"):
                return


def test_scales_that_only_float64_tells_apart(ws: Workspace) -> None:
    """The second call does not take the first one's plan."""
    if not runs(ws.be, "float64"):
        return
    x = np.ones((1, 4, 1, 1), complex)
    for scale in (0.25, 0.25 * (1 + 2**-40)):
        got = run(ws, x, False, scale, False, "float64")
        assert got is not None
        assert got.reshape(-1)[0] == 4 * scale


def test_special_values_stay_in_their_line(ws: Workspace) -> None:
    x = np.ones((4, 12, 3, 2), complex)
    x[1, 5, 2, 0] = np.nan
    x[2, 0, 0, 1] = np.inf
    got = run(ws, x, False, 1.0, False, "float32")
    assert got is not None
    bad = ~np.isfinite(got).all(axis=(2, 4))
    assert np.argwhere(bad).tolist() == [[1, 2, 0], [2, 0, 1]]


#: sums of 17 to 97 numbers, alone and between other passes; what is convolved alone, beside fewer
#: and as many lines as a vector has, as a square, and as a whole; lengths on both sides of each
OTHER = [17, 34, 89, 97, 17 * 19, 4 * 97, 97 * 97, 101, 103, 2 * 101, 15 * 101, 16 * 101, 17 * 101]
OTHER += [211, 1009, 2 * 1009, 32 * 1009, 101 * 103, 16 * 4093, 16 * 4099, 4099, 131 * 131]


#: of which all is convolved, and not a factor
CONVOLVED = [101, 103, 202, 1515, 211, 1009, 2018, 10403, 65584, 4099, 17161]


def longest_convolved(be: Backend, dtype: str) -> int:
    """Up to which length a workgroup surely holds the power of two that is twice as long."""
    if be.name != "webgpu":
        return 0
    held = be.device.limits["max_workgroup_memory_bytes"] // (2 * np.dtype(dtype).itemsize)
    return 1 << min(4096, (held - 1) * 16 // 17).bit_length() - 2


@pytest.mark.essential
@pytest.mark.parametrize("n", OTHER)
def test_other_factors(be: Backend, rng: np.random.Generator, n: int) -> None:
    """The CPU backend takes any length, GPUs passes of sums, WebGPU what is convolved as a whole in
    a workgroup."""
    with Workspace(be) as ws:
        for dtype in ("float32", "float64"):
            if be.name == "cpu" or not runs(be, dtype):
                continue
            longest = longest_convolved(be, dtype) if n in CONVOLVED else 0
            if has_passes(n):
                longest = longest_of_sums(be, dtype)
            if n <= longest:
                for outer, middle, inner in [(1, 1, 1), (7, 1, 1), (1, 5, 1), (2, 2, 5)]:
                    for inverse in (False, True):
                        check(ws, rng, (outer, n, middle, inner), inverse, middle > 1, dtype)
            elif not longest < n <= 2 * longest:
                x = ws.room((n, 2), dtype)
                roots = ws.input(parts(be.fft_roots(n), dtype))
                why = "the workgroups of .* hold" if longest else "kernels of .* take"
                with pytest.raises(tw.Unsupported, match=f"^fft: n is {n}, and {why}"):
                    be.fft(x, roots, ws.room((n, 2), dtype), 1, n, dtype=dtype)
        if be.name != "cpu":
            return
        most = 40 if n < 5000 else 3
        for outer, middle, inner in [(1, 1, 1), (3, 1, 1), (most, 1, 1), (1, 5, 1), (2, 2, 5)]:
            check(ws, rng, (outer, n, middle, inner), outer == 3, turned=middle > 1)
        for outer in (1, 19 if n < 5000 else 2):
            check(ws, rng, (outer, n, 1, 1), True, False, "float64")


def test_special_values_of_other_factors(be: Backend) -> None:
    """By fft() where it takes such lengths, elsewhere by a plan's convolution."""
    for n in (97, 101, 1616):
        x = np.ones((40, n, 1, 1), complex)
        x[3, n - 1] = np.nan
        x[37, 0] = np.inf
        with Workspace(be) as ws:
            convolved = n in CONVOLVED and n <= longest_convolved(be, "float32")
            if be.name == "cpu" or has_passes(n) or convolved:
                got = run(ws, x, False, 1.0, False, "float32")
                assert got is not None
                found = got[:, 0, :, 0]
            else:
                numbers = parts(x[..., 0, 0], "float32")
                to = ws.room(numbers.shape)
                be.fft_plan((n,), 40).run(ws.input(numbers), to)
                found = ws.read(to)
            finite = np.isfinite(found).all(axis=-1)
            assert np.flatnonzero(~finite.all(axis=1)).tolist() == [3, 37]
            assert not finite[3].any()


def test_roots_of_a_length(be: Backend) -> None:
    for n in (1, 12, 97):
        assert np.abs(be.fft_roots(n) - steps_of(n)[0]).max() < 1e-15
    assert be.fft_roots(101).size > 3 * 101
    assert be.fft_roots(2 * 101, real=True).size == be.fft_roots(101).size + 101
    for wrong in (0, -1, 2**40 + 1):
        with pytest.raises(tw.InvalidArgument, match=r"fft_roots: n is .*expected 1 to"):
            be.fft_roots(wrong)


def test_roots_that_are_too_few(be: Backend) -> None:
    with Workspace(be) as ws:
        x = ws.room((101, 2))
        with pytest.raises(tw.InvalidArgument, match=r"^fft: roots "):
            be.fft(x, ws.room((101, 2)), ws.room((101, 2)), 1, 101)


@pytest.mark.essential
@pytest.mark.parametrize("n", [4096 * 3, 1 << 15, 30030, 3**9])
def test_longer_than_a_workgroup_holds(be: Backend, rng: np.random.Generator, n: int) -> None:
    """The CPU backend takes rows apart by itself."""
    with Workspace(be) as ws:
        if be.name == "cpu":
            for outer, inner in [(1, 1), (2, 1), (17, 1), (1, 3)]:
                check(ws, rng, (outer, n, 1, inner), outer == 2, False)
            check(ws, rng, (1, n, 1, 1), True, False, "float64")
            return
        x, roots, out = (ws.room((n, 2)) for _ in range(3))
        with pytest.raises(tw.Unsupported, match=rf"^fft: n is {n}, and the workgroups of .* hold"):
            be.fft(x, roots, out, 1, n)


def generate(draw: Draw, name: str) -> fuzz.Call:
    """For the fuzzer."""
    from fuzz import call as fuzz
    from fuzz.ops.rows import operand, room

    n = 1
    for _ in range(draw.below(6)):
        n *= draw.one_of([2, 2, 2, 3, 4, 5, 7, 11, 13, 17, 23])
        if n > 22:
            break
    shape = [draw.size_or_zero(most) for most in (5, 5, 5)]
    outer, middle, inner = shape
    inverse, turned = bool(draw.below(2)), bool(draw.below(2))
    scale = draw.one_of([1.0, 1 / n, 0.25])
    x = draw.normal((outer, n, middle, inner, 2), "float32")
    empty = 0 in shape
    exact = np.empty((outer, middle, n, inner), complex)
    if not empty:
        exact = reference(joined(x), inverse, scale, turned)
    roots, turns = steps_of(n)[0], steps_of(max(1, n * middle))[1]
    out = room(draw, (outer, middle, n, inner, 2), "float32")
    values: dict[str, Any] = {
        "input": operand(draw, x),
        "roots": operand(draw, parts(roots, "float32")),
        "output": out,
        "outer": outer,
        "n": n,
        "middle": middle,
        "inner": inner,
        "inverse": inverse,
        "scale": scale,
        "turns": operand(draw, parts(turns, "float32")) if turned and not empty else None,
        "dtype": "float32",
    }
    both = np.stack([exact.real, exact.imag], -1)
    tolerance = 1e-5 * scale * n**0.5 * 4
    return fuzz.Call(name, values, [fuzz.Result(out, both, tolerance)], empty=empty)
