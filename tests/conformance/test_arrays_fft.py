"""Fourier transforms of Arrays against NumPy's in complex128."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tilewright as tw
from tilewright import Backend, InvalidArgument
from tilewright.transforms import kept
from tilewright.transforms.lengths import smooth_from
from tilewright.transforms.steps import longest_step_across

from .arrays import Host, on, same

# By products alone, by several of them, and by a convolution; odd, even and prime.
LENGTHS = [
    *(1, 2, 3, 4, 5, 7, 8, 16, 31, 60, 64, 127, 128, 135, 251, 256, 300, 509, 521, 768, 997, 1024),
    *(2000, 2047, 4096, 6561, 10007, 16384, 49152),
    *(17, 97, 101, 202, 1507, 1616, 1617, 2018, 9409, 23264, 46337),
    *(34, 62, 285, 322, 323, 361, 570, 920, 1156, 2185, 17000),
]
PARTS = ("float32", "float64")
NORMS = ("backward", "ortho", "forward")


def drawn(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> Host:
    host = rng.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        host = host + 1j * rng.standard_normal(shape)
    return host.astype(dtype)


def complex_of(parts: str) -> str:
    return "complex64" if parts == "float32" else "complex128"


def close(got: tw.Array, exact: Any, parts: str, dtype: str) -> None:
    """In all within 8 roundings of the size of the result, each element within 80."""
    assert got.dtype == dtype
    assert got.shape == exact.shape
    if exact.size == 0:
        return
    error = np.abs(got.numpy() - exact)
    size = np.sqrt(np.mean(np.abs(exact) ** 2))
    epsilon = float(np.finfo(parts).eps)
    assert np.sqrt(np.mean(error**2)) <= 8 * epsilon * size
    assert error.max() <= 80 * epsilon * size


@pytest.mark.sampled(16)
@pytest.mark.parametrize("parts", PARTS)
@pytest.mark.parametrize("n", LENGTHS)
def test_lengths(be: Backend, rng: np.random.Generator, n: int, parts: str) -> None:
    dtype = complex_of(parts)
    host = drawn(rng, (3, n), dtype)
    x, wide = on(be, host), host.astype("complex128")
    close(tw.fft.fft(x), np.fft.fft(wide), parts, dtype)
    close(tw.fft.ifft(x), np.fft.ifft(wide), parts, dtype)
    real = on(be, host.real.copy())
    close(tw.fft.rfft(real), np.fft.rfft(wide.real), parts, dtype)
    half = wide[:, : n // 2 + 1]
    close(tw.fft.irfft(on(be, half.astype(dtype)), n=n), np.fft.irfft(half, n=n), parts, parts)


@pytest.mark.parametrize("n", [6, 7, 200, 521, 1024])
@pytest.mark.parametrize("norm", NORMS)
def test_norms(be: Backend, rng: np.random.Generator, n: int, norm: str) -> None:
    host = drawn(rng, (2, n), "complex64")
    x, wide = on(be, host), host.astype("complex128")
    real, half = on(be, host.real.copy()), wide[:, : n // 2 + 1]
    for name in ("fft", "ifft"):
        exact = getattr(np.fft, name)(wide, norm=norm)
        close(getattr(tw.fft, name)(x, norm=norm), exact, "float32", "complex64")
    for name in ("rfft", "ihfft"):
        exact = getattr(np.fft, name)(wide.real, norm=norm)
        close(getattr(tw.fft, name)(real, norm=norm), exact, "float32", "complex64")
    for name in ("irfft", "hfft"):
        exact = getattr(np.fft, name)(half, n=n, norm=norm)
        got = getattr(tw.fft, name)(on(be, half.astype("complex64")), n=n, norm=norm)
        close(got, exact, "float32", "float32")


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("n", [None, 1, 4, 9, 34, 40, 285, 600])
def test_an_axis_is_cut_or_filled_up(
    be: Backend, rng: np.random.Generator, n: int | None, axis: int
) -> None:
    host = drawn(rng, (11, 6, 9), "complex64")
    wide = host.astype("complex128")
    for name in ("fft", "ifft"):
        exact = getattr(np.fft, name)(wide, n, axis)
        close(getattr(tw.fft, name)(on(be, host), n=n, axis=axis), exact, "float32", "complex64")
    for name in ("irfft", "hfft"):
        exact = getattr(np.fft, name)(wide, n, axis)
        close(getattr(tw.fft, name)(on(be, host), n=n, axis=axis), exact, "float32", "float32")
    for name in ("rfft", "ihfft"):
        exact = getattr(np.fft, name)(wide.real, n, axis)
        got = getattr(tw.fft, name)(on(be, host.real.copy()), n=n, axis=axis)
        close(got, exact, "float32", "complex64")


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"axes": (0, 2)},
        {"axes": (2, 0)},
        {"axes": (-1,)},
        {"s": (6, 8), "axes": (1, 2)},
        {"s": (3, -1), "axes": (0, 1)},
        {"norm": "ortho"},
        {"norm": "forward", "axes": (1, 2)},
    ],
    ids=str,
)
def test_several_axes(be: Backend, rng: np.random.Generator, options: dict[str, Any]) -> None:
    host = drawn(rng, (4, 5, 7), "complex64")
    wide = host.astype("complex128")
    x, real = on(be, host), on(be, host.real.copy())
    for name in ("fftn", "ifftn", "fft2", "ifft2"):
        exact = getattr(np.fft, name)(wide, **options)
        close(getattr(tw.fft, name)(x, **options), exact, "float32", "complex64")
    for name in ("rfftn", "rfft2"):
        exact = getattr(np.fft, name)(wide.real, **options)
        close(getattr(tw.fft, name)(real, **options), exact, "float32", "complex64")
    for name in ("irfftn", "irfft2"):
        exact = getattr(np.fft, name)(wide, **options)
        close(getattr(tw.fft, name)(x, **options), exact, "float32", "float32")


@pytest.mark.sampled(4)
@pytest.mark.parametrize("n", [17, 34, 97, 101, 285, 361, 1156, 1616, 4099, 4242, 17000])
def test_other_factors_along_an_axis(be: Backend, rng: np.random.Generator, n: int) -> None:
    host = drawn(rng, (2, n, 3), "complex64")
    wide = host.astype("complex128")
    close(tw.fft.fft(on(be, host), axis=1), np.fft.fft(wide, axis=1), "float32", "complex64")
    close(tw.fft.ifft(on(be, host), axis=1), np.fft.ifft(wide, axis=1), "float32", "complex64")


@pytest.mark.parametrize("n", [17, 34, 62, 97, 285, 322, 361])
def test_long_primes_are_one_launch(be: Backend, rng: np.random.Generator, n: int) -> None:
    """Of rows, and along an axis in the middle as far as one step goes there."""
    host = drawn(rng, (3, n, 2), "complex64")
    wide, x = host.astype("complex128"), on(be, host)
    rows = on(be, np.ascontiguousarray(host.swapaxes(1, 2)))
    across = 1 if n <= longest_step_across(be) else 2
    for call, exact, axis, launches in [
        (lambda: tw.fft.fft(rows), np.fft.fft(wide, axis=1), 1, 1),
        (lambda: tw.fft.ifft(rows), np.fft.ifft(wide, axis=1), 1, 1),
        (lambda: tw.fft.fft(x, axis=1), np.fft.fft(wide, axis=1), None, across),
    ]:
        call()
        with be.profile() as profile:
            found = call()
        assert [one.kernel for one in profile.records] == ["fft"] * launches
        exact = exact if axis is None else exact.swapaxes(1, 2)
        close(found, exact, "float32", "complex64")
    real = on(be, host.real.swapaxes(1, 2).copy())
    half = tw.fft.rfft(real)
    with be.profile() as profile:
        tw.fft.rfft(real)
        tw.fft.irfft(half, n=n)
    assert len(profile.records) == 2


def test_views(be: Backend, rng: np.random.Generator) -> None:
    """Nothing is read but the view, and nothing is written to it."""
    host = drawn(rng, (9, 40, 3), "complex64")
    for cut in (np.s_[::2, 1::3], np.s_[::-1, ::-1, 1], np.s_[:, None, 3:35, 0], np.s_[4]):
        whole = on(be, host)
        for axis in (0, -1):
            exact = np.fft.fft(host[cut].astype("complex128"), axis=axis)
            close(tw.fft.fft(whole[cut], axis=axis), exact, "float32", "complex64")
            exact = np.fft.rfft(host[cut].real.astype("float64"), axis=axis)
            close(tw.fft.rfft(whole[cut].real, axis=axis), exact, "float32", "complex64")
        same(whole, host)
    row = on(be, np.float32([1, 2, 3]))
    close(tw.fft.fft(tw.broadcast_to(row, (4, 3))), np.fft.fft([[1, 2, 3]] * 4), "float32",
          "complex64")  # fmt: skip


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint32", "int64", "float16"])
def test_what_has_no_fractions_is_read_as_float32(
    be: Backend, rng: np.random.Generator, dtype: str
) -> None:
    host = rng.integers(0, 2, (2, 12)).astype(dtype)
    wide = host.astype("float64")
    close(tw.fft.fft(on(be, host)), np.fft.fft(wide), "float32", "complex64")
    close(tw.fft.rfft(on(be, host)), np.fft.rfft(wide), "float32", "complex64")
    close(tw.fft.irfft(on(be, host)), np.fft.irfft(wide), "float32", "float32")


def test_no_elements(be: Backend) -> None:
    x = tw.zeros((3, 0, 8), dtype="complex64", device=be)
    for name in ("fft", "ifft", "irfft", "hfft"):
        assert getattr(tw.fft, name)(x).shape == getattr(np.fft, name)(x.numpy()).shape
    assert tw.fft.rfft(x.real, axis=0).shape == (2, 0, 8)
    same(tw.fft.fft(tw.zeros((2, 0), device=be), n=3), np.zeros((2, 3), "complex64"))


def test_imaginary_parts_that_real_rows_do_not_have(be: Backend, rng: np.random.Generator) -> None:
    """Those of the first element, and of the last where n is even, are left out, as NumPy does."""
    for n in (4, 5, 600, 1023):
        host = drawn(rng, (n // 2 + 1,), "complex64")
        exact = np.fft.irfft(host.astype("complex128"), n=n)
        close(tw.fft.irfft(on(be, host), n=n), exact, "float32", "float32")


def test_infinities_and_nan_reach_every_element_of_their_row(be: Backend) -> None:
    host = np.ones((3, 300), "complex64")
    host[1, 7] = np.nan
    got = tw.fft.fft(on(be, host)).numpy()
    assert np.isnan(got[1]).all()
    assert np.isfinite(got[[0, 2]]).all()


def test_frequencies_and_shifts(be: Backend, rng: np.random.Generator) -> None:
    for n in (1, 2, 7, 10):
        for name in ("fftfreq", "rfftfreq"):
            exact = getattr(np.fft, name)(n, 0.1)
            same(getattr(tw.fft, name)(n, d=0.1, device=be), exact.astype("float32"))
            got = getattr(tw.fft, name)(n, 0.1, dtype="float64", device=be)
            same(got, exact)
    host = drawn(rng, (5, 4, 3), "complex64")
    for axes in (None, 0, (0, 2), -1, ()):
        for name in ("fftshift", "ifftshift"):
            same(getattr(tw.fft, name)(on(be, host), axes=axes), getattr(np.fft, name)(host, axes))


def test_numpys_names(be: Backend, rng: np.random.Generator) -> None:
    """np.fft stays on the device; what it has no form for there raises."""
    host = drawn(rng, (4, 30), "complex64")
    got = np.fft.fft(on(be, host), 16, 0)
    assert isinstance(got, tw.Array)
    close(got, np.fft.fft(host.astype("complex128"), 16, 0), "float32", "complex64")
    same(np.fft.fftshift(on(be, host)), np.fft.fftshift(host))


def test_plans_are_kept_and_let_go_of(be: Backend) -> None:
    x = tw.ones((2, 1000), dtype="complex64", device=be)
    tw.fft.forget_plans()
    before = be.memory_stats().allocations
    tw.fft.fft(x)
    kept = be.memory_stats().allocations
    assert kept > before
    for _ in range(3):
        tw.fft.fft(x)
    assert be.memory_stats().allocations == kept
    tw.fft.forget_plans()
    assert be.memory_stats().allocations == before


@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft"])
def test_calls_that_come_again(be: Backend, name: str) -> None:
    """A form that came before is not checked again; what is like it but wrong is."""
    call: Callable[..., tw.Array] = getattr(tw.fft, name)
    numpy: Callable[..., Host] = getattr(np.fft, name)
    host = np.arange(24, dtype=np.float32).reshape(4, 6)
    if name != "rfft":
        host = host + 1j * host[::-1]
    x = on(be, host.astype(np.complex64 if host.dtype.kind == "c" else np.float32))
    for _ in range(2):
        for axis in (-1, 0, 1):
            for norm in ("backward", "ortho", "forward"):
                got = call(x, axis=axis, norm=norm).numpy()
                np.testing.assert_allclose(got, numpy(host, axis=axis, norm=norm), atol=1e-3)
        again = call(x[::2, ::-1]).numpy()
        np.testing.assert_allclose(again, numpy(host[::2, ::-1]), atol=1e-3)
    for wrong in ({"axis": True}, {"axis": 1.0}, {"axis": 2}, {"norm": "x"}, {"n": 6.0}, {"n": 0}):
        with pytest.raises(tw.InvalidArgument):
            call(x, **wrong)
    np.testing.assert_allclose(call(x, axis=np.int64(1), norm=None).numpy(), numpy(host), atol=1e-3)


def test_what_a_form_at_hand_raises_is_said(be: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only tables that are gone are made again in silence."""
    x = tw.ones(12, dtype="complex64", device=be)
    for _ in range(2):
        tw.fft.fft(x)

    def full(*arguments: Any) -> None:
        raise tw.OutOfMemory("fft: no room")

    monkeypatch.setattr(type(be), "fft", full)
    tried: list[str] = []
    monkeypatch.setattr(kept, "found", lambda *arguments: tried.append("made"))
    with pytest.raises(tw.OutOfMemory, match="no room"):
        tw.fft.fft(x)
    assert not tried


def test_a_backend_goes_with_its_tables(be: Backend) -> None:
    other = type(be)(adapter_index=be.config["adapter_index"])
    other.init()
    tw.fft.fft(tw.ones(8, dtype="complex64", device=other))
    tw.arange(9, device=other)
    there = weakref.ref(other)
    del other
    gc.collect()
    assert there() is None


def test_tables_are_kept_within_a_bound(be: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also those that a plan has of others: what is live stays below it."""
    tw.fft.forget_plans()
    monkeypatch.setattr(kept, "MOST_BYTES", 200_000)
    before = be.memory_stats().active_bytes
    for n in (37 * 41, 29, 43 * 47, 31 * 47, 23, 53 * 59, 37, 31 * 53, 29 * 37):
        x = tw.ones((1, n), dtype="complex64", device=be)
        close(tw.fft.fft(x), np.fft.fft(np.ones((1, n))), "float32", "complex64")
        del x
        assert 0 < be.memory_stats().active_bytes - before <= 200_000


def test_after_a_close(be: Backend) -> None:
    """Tables are made anew by a backend that was closed and opened again."""
    with type(be)(adapter_index=be.config["adapter_index"]) as other:
        exact = np.fft.fft(np.arange(200))
        for _ in range(2):
            x = tw.arange(200, dtype="float32", device=other)
            close(tw.fft.fft(x), exact, "float32", "complex64")
            del x
            other.close()
            other.init()
        tw.fft.forget_plans()


def test_recorded(be: Backend, rng: np.random.Generator) -> None:
    """With a plan that is there, a transform is launches alone."""
    host = drawn(rng, (2, 300), "complex64")
    x = tw.zeros((2, 300), dtype="complex64", device=be)
    tw.fft.fft(x)
    with be.record() as r:
        y = tw.fft.fft(x)
    x[...] = on(be, host)
    r.replay()
    close(y, np.fft.fft(host.astype("complex128")), "float32", "complex64")
    r.drop()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: tw.fft.fft([1.0]), r"fft: x is .*expected an Array; write tw\.asarray\(x\)"),
        (lambda x: tw.fft.fft(x, n=0), "fft: n is 0, expected 1 or more"),
        (lambda x: tw.fft.fft(x, n=2.5), "fft: n is 2.5"),
        (lambda x: tw.fft.fft(x, axis=2), "fft: axis is 2, expected one of the 2 axes"),
        (lambda x: tw.fft.fft(x, axis=(0, 1)), "axis is .*expected an integer; tw.fft.fftn takes"),
        (lambda x: tw.fft.fft(x, norm="both"), "norm is 'both' .*expected \"backward\", \"ortho\""),
        (lambda x: tw.fft.rfft(x), r"rfft: x is complex64, expected real numbers; write tw\.fft"),
        (lambda x: tw.fft.ihfft(x), "ihfft: x is complex64, expected real numbers"),
        (lambda x: tw.fft.irfft(x[:, :1]), "irfft: n is 0, what the axis has, expected 1 or more"),
        (lambda x: tw.fft.fft(x[0, 0]), "fft: x has no dimension"),
        (lambda x: tw.fft.fftn(x, axes=(0, 0)), "fftn: axes is .*expected different axes"),
        (lambda x: tw.fft.fftn(x, s=(1, 2, 3)), "fftn: s has 3 lengths, but x has 2 axes"),
        (lambda x: tw.fft.fftn(x, s=(1,), axes=(0, 1)), "fftn: s has 1 lengths for 2 axes"),
        (lambda x: tw.fft.fftn(x, s=4), "fftn: s is 4"),
        (lambda x: tw.fft.fftn(x, axes=()), "fftn: there is no axis to transform"),
        (lambda x: tw.fft.ifft2(x[0]), "ifft2: axes is -2, expected one of the 1 axes"),
        (lambda x: tw.fft.fftfreq(0, device=x.device), "fftfreq: n is 0, expected 1 or more"),
        (lambda x: tw.fft.rfftfreq(4, 0, device=x.device), "rfftfreq: d is 0"),
        (lambda x: tw.fft.fftfreq(4, dtype="int32", device=x.device), "dtype is 'int32'"),
        (lambda x: tw.fft.fftshift(1), "fftshift: x is 1 "),
        (lambda x: tw.fft.fftshift(x, axes=2), "fftshift: axes is 2"),
    ],
)  # fmt: skip
def test_errors(be: Backend, call: Any, message: str) -> None:
    x = tw.ones((2, 3), dtype="complex64", device=be)
    with pytest.raises(InvalidArgument, match=message):
        call(x)


def test_lengths_of_small_factors() -> None:
    for least in (1, 2, 11, 121, 1000, 1031, 10**6 + 1):
        length = smooth_from(least)
        smaller = [m for m in range(least, length) if _is_smooth(m)]
        assert length >= least
        assert _is_smooth(length)
        assert not smaller


def _is_smooth(n: int) -> bool:
    for prime in (2, 3, 5, 7):
        while n % prime == 0:
            n //= prime
    return n == 1


def test_lengths_to_fill_up_to() -> None:
    def is_fast(n: int) -> bool:
        for prime in (2, 3, 5, 7):
            while n % prime == 0:
                n //= prime
        return n == 1

    fast = [n for n in range(1, 3000) if is_fast(n)]
    for n in range(1, 2500):
        assert tw.fft.next_fast_len(n) == next(one for one in fast if one >= n)
    with pytest.raises(InvalidArgument, match="next_fast_len: target is 0, expected 1 or more"):
        tw.fft.next_fast_len(0)
