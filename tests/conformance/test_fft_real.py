"""fft_real(): rows of real numbers of all lengths that kernels take, there and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import tilewright as tw
from tilewright import Backend

from .arguments import POSITIVE, Call, EmptyCalls, Flag, In, Name, Number, Out, Size
from .test_fft import has_passes, joined, longest_of_sums, parts, runs, steps_of
from .workspace import Array, Workspace

if TYPE_CHECKING:
    from fuzz import call as fuzz
    from fuzz.draw import Draw

CALL: Call = {
    "input": In(4 * 3 * 6),
    "roots": In(4 * 2 * 6),
    "output": Out(4 * 3 * 4 * 2),
    "rows": Size(3),
    "n": Size(6, positive=True),
    "inverse": Flag(False),
    "scale": Number(1.0, wrong=POSITIVE),
    "dtype": Name("float32", also_wrong=("int32", "float16")),
}
EMPTY: EmptyCalls = [({"rows": 0}, ("input", "output"))]

PRIMES = (2, 3, 5, 7, 11, 13)
ROWS = (1, 2, 7, 16, 33)


def is_taken(n: int) -> bool:
    for prime in PRIMES:
        while n % prime == 0:
            n //= prime
    return n == 1


ALL_SHORT = [n for n in range(1, 201) if is_taken(n)]
LONG = [208, 243, 256, 343, 360, 500, 512, 605, 625, 728, 768, 845, 1000, 1024]


def reference(x: Array, n: int, inverse: bool, scale: float) -> Array:
    return np.asarray((np.fft.irfft(x, n) * n if inverse else np.fft.rfft(x)) * scale)


def check(
    ws: Workspace, rng: np.random.Generator, rows: int, n: int, inverse: bool, dtype: str
) -> None:
    """Within 8 roundings of the size of a row together, and 40 of each number."""
    scale = 1 / n if inverse else 1.5
    half = n // 2 + 1
    x = rng.normal(size=(rows, half, 2) if inverse else (rows, n)).astype(dtype)
    wide = joined(x) if inverse else x.astype("float64")
    exact = reference(wide, n, inverse, scale)
    out = ws.room((rows, n) if inverse else (rows, half, 2), dtype)
    roots = ws.input(parts(ws.be.fft_roots(n, real=True), dtype))
    ws.be.fft_real(ws.input(x), roots, out, rows, n, inverse, scale, dtype)
    got = ws.read(out).astype("float64") if inverse else joined(ws.read(out))
    off, eps = np.abs(got - exact), float(np.finfo(dtype).eps)
    size = np.sqrt(np.mean(np.abs(exact) ** 2, axis=1, keepdims=True))
    assert np.sqrt(np.mean(off**2)) <= 8 * eps * np.sqrt(np.mean(size**2)), (n, rows)
    # Of few numbers, none of which is as large as what it is made of.
    assert (off <= 40 * eps * (size + scale * np.sqrt(n) / n)).all(), (n, rows)


@pytest.mark.sampled(8)
@pytest.mark.essential
@pytest.mark.parametrize("inverse", [False, True])
@pytest.mark.parametrize("first", range(0, len(ALL_SHORT), 10))
def test_every_short_length(
    be: Backend, rng: np.random.Generator, first: int, inverse: bool
) -> None:
    for n in ALL_SHORT[first : first + 10]:
        with Workspace(be) as ws:
            check(ws, rng, ROWS[n % len(ROWS)], n, inverse, "float32")


@pytest.mark.sampled(6)
@pytest.mark.essential
@pytest.mark.parametrize("inverse", [False, True])
@pytest.mark.parametrize("n", LONG)
def test_long(be: Backend, rng: np.random.Generator, n: int, inverse: bool) -> None:
    for rows in (1, 5, 40):
        if n > 512 and n % 2 and be.name == "level-zero":
            break
        with Workspace(be) as ws:
            check(ws, rng, rows, n, inverse, "float32")


@pytest.mark.sampled(6)
@pytest.mark.parametrize("inverse", [False, True])
@pytest.mark.parametrize("n", [1, 2, 3, 8, 9, 13, 26, 60, 125, 130, 256, 512, 960])
def test_float64(be: Backend, rng: np.random.Generator, n: int, inverse: bool) -> None:
    with Workspace(be) as ws:
        if not runs(be, "float64"):
            x = ws.room((n + 2, 2), "float64")
            with pytest.raises(tw.Unsupported, match=r"^fft_real: .* has no float64 in kernels"):
                be.fft_real(x, x, ws.room((n + 2, 2), "float64"), 1, n, dtype="float64")
            return
        for rows in (1, 3, 37):
            check(ws, rng, rows, n, inverse, "float64")


@pytest.mark.essential
@pytest.mark.parametrize("n", [2 * 3600, 30030, 1 << 16, 3**9, 2 * 3**9])
def test_longer_than_a_workgroup_holds(be: Backend, rng: np.random.Generator, n: int) -> None:
    """The CPU backend takes rows apart by itself."""
    with Workspace(be) as ws:
        if be.name == "cpu":
            for rows in (1, 2, 17):
                for inverse in (False, True):
                    check(ws, rng, rows, n, inverse, "float32")
            check(ws, rng, 3, n, False, "float64")
            return
        if n == 2 * 3600 and be.name == "webgpu":
            check(ws, rng, 2, n, False, "float32")
            return
        x, roots, out = (ws.room((n, 2)) for _ in range(3))
        with pytest.raises(
            tw.Unsupported, match=rf"^fft_real: n is {n}, and the workgroups of .* by fft"
        ):
            be.fft_real(x, roots, out, 1, n)


def test_imaginary_parts_that_no_real_row_has(ws: Workspace, rng: np.random.Generator) -> None:
    """They are not read, not even where they are no numbers."""
    for n in (1, 2, 3, 8, 15, 30, 128, 225):
        half = n // 2 + 1
        x = rng.normal(size=(19, half, 2)).astype("float32")
        x[:, 0, 1] = np.nan
        if n % 2 == 0:
            x[:, -1, 1] = np.nan
        roots, out = ws.input(parts(steps_of(n)[0], "float32")), ws.room((19, n))
        ws.be.fft_real(ws.input(x), roots, out, 19, n, True, 1 / n)
        exact = np.fft.irfft(joined(np.nan_to_num(x)), n)
        assert np.abs(ws.read(out) - exact).max() <= 1e-6 * max(1, n**0.5)


def test_special_values_stay_in_their_row(ws: Workspace) -> None:
    for n in (15, 24, 128):
        x = np.ones((20, n), "float32")
        x[3, 2] = np.nan
        x[17, 0] = np.inf
        out = ws.room((20, n // 2 + 1, 2))
        ws.be.fft_real(ws.input(x), ws.input(parts(steps_of(n)[0], "float32")), out, 20, n)
        bad = ~np.isfinite(ws.read(out)).all(axis=(1, 2))
        assert np.flatnonzero(bad).tolist() == [3, 17]


@pytest.mark.sampled(6)
@pytest.mark.essential
@pytest.mark.parametrize("inverse", [False, True])
@pytest.mark.parametrize(
    "n", [17, 34, 37, 51, 61, 97, 106, 124, 194, 285, 289, 322, 323, 361, 475, 570, 722, 782, 1020]
)
def test_passes_of_sums(be: Backend, rng: np.random.Generator, n: int, inverse: bool) -> None:
    with Workspace(be) as ws:
        for rows in (1, 3, 40):
            check(ws, rng, rows, n, inverse, "float32")
        if runs(be, "float64"):
            check(ws, rng, 3, n, inverse, "float64")


@pytest.mark.essential
@pytest.mark.parametrize("inverse", [False, True])
@pytest.mark.parametrize(
    "n", [97, 101, 202, 303, 404, 1616, 3232, 3333, 1009, 2018, 9409, 10403, 20011, 40022]
)
def test_other_factors(be: Backend, rng: np.random.Generator, n: int, inverse: bool) -> None:
    """The CPU backend takes any length, GPUs what they have passes for."""
    with Workspace(be) as ws:
        if be.name != "cpu" and not (has_passes(n) and n <= longest_of_sums(be, "float32")):
            x = ws.room((n + 2, 2))
            roots = ws.input(parts(be.fft_roots(n, real=True), "float32"))
            why = "the workgroups of" if has_passes(n) else "kernels of"
            with pytest.raises(tw.Unsupported, match=f"^fft_real: n is {n}, and {why}"):
                be.fft_real(x, roots, ws.room((n + 2, 2)), 1, n, inverse)
            return
        for rows in (1, 3, 33 if n < 5000 else 2):
            check(ws, rng, rows, n, inverse, "float32")
            if runs(be, "float64"):
                check(ws, rng, rows, n, inverse, "float64")


def test_roots_that_are_too_few(be: Backend) -> None:
    with Workspace(be) as ws:
        x = ws.room((202, 2))
        with pytest.raises(tw.InvalidArgument, match=r"^fft_real: roots "):
            be.fft_real(x, ws.room((202, 2)), ws.room((202, 2)), 1, 202)


def generate(draw: Draw, name: str) -> fuzz.Call:
    """For the fuzzer."""
    from fuzz import call as fuzz
    from fuzz.ops.rows import operand, room

    n = 1
    for _ in range(draw.below(6)):
        n *= draw.one_of([2, 2, 2, 3, 4, 5, 7, 11, 13, 17, 23])
        if n > 22:
            break
    rows, inverse = draw.size_or_zero(40), bool(draw.below(2))
    scale, half = draw.one_of([1.0, 1 / n, 0.25]), n // 2 + 1
    real, halves = (rows, n), (rows, half, 2)
    x = draw.normal(halves if inverse else real, "float32")
    exact: Array = np.empty(real if inverse else halves)
    if rows:
        exact = reference(joined(x) if inverse else x.astype("float64"), n, inverse, scale)
        exact = exact if inverse else np.stack([exact.real, exact.imag], -1)
    out = room(draw, real if inverse else halves, "float32")
    values: dict[str, Any] = {
        "input": operand(draw, x),
        "roots": operand(draw, parts(steps_of(n)[0], "float32")),
        "output": out,
        "rows": rows,
        "n": n,
        "inverse": inverse,
        "scale": scale,
        "dtype": "float32",
    }
    tolerance = 1e-5 * scale * n**0.5 * 4
    return fuzz.Call(name, values, [fuzz.Result(out, exact, tolerance)], empty=rows == 0)
