"""tw.quant: weights in blocks, and integers with scales."""

from __future__ import annotations

from typing import Any

import gguf
import numpy as np
import pytest
import tilewright as tw
from tilewright.quant.formats import FORMATS

from . import blocks, bounds
from .workspace import Array, normal

REFUSED = tw.InvalidArgument


def weights(
    be: tw.Backend, rng: np.random.Generator, format: str, shape: tuple[int, ...]
) -> tuple[tw.quant.QuantizedTensor, Array]:
    """On the device, and the blocks."""
    raw = blocks.draw(rng, format, int(np.prod(shape[:-1])), shape[-1])
    return tw.quant.QuantizedTensor.from_blocks(raw, format, shape, device=be), raw


@pytest.mark.parametrize("format", FORMATS)
def test_blocks_of_a_file(be: tw.Backend, rng: np.random.Generator, format: str) -> None:
    shape = (2, 3, 256)
    w, raw = weights(be, rng, format, shape)
    exact = blocks.values(format, raw).reshape(shape)
    np.testing.assert_array_equal(w.dequantize().numpy(), exact)
    np.testing.assert_array_equal(w.dequantize("float16").numpy(), exact.astype(np.float16))
    of_bytes = tw.quant.QuantizedTensor.from_blocks(raw.tobytes(), format.upper(), shape, device=be)
    np.testing.assert_array_equal(of_bytes.dequantize().numpy(), exact)
    assert (w.format, w.shape, w.ndim, w.size) == (format, shape, 3, 1536)
    assert w.device is be
    assert w.nbytes == w.packed.nbytes
    assert format in repr(w)
    assert w.T.shape == shape[::-1]
    assert w.T.T is w


@pytest.mark.parametrize("format", FORMATS)
def test_many_blocks_are_repacked_in_turns(
    be: tw.Backend, rng: np.random.Generator, format: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tw.quant.formats, "AT_ONCE", 24)
    w, raw = weights(be, rng, format, (7, 768))
    np.testing.assert_array_equal(w.dequantize().numpy(), blocks.values(format, raw))


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("shape", [(96,), (0, 96), (1, 96), (2, 3, 96), (21, 96)], ids=str)
def test_product(
    be: tw.Backend, rng: np.random.Generator, shape: tuple[int, ...], dtype: str
) -> None:
    w, raw = weights(be, rng, "q5_0", (13, 96))
    host = normal(rng, shape, dtype)
    x = tw.asarray(host, device=be)
    exact = host.astype(np.float64) @ blocks.values("q5_0", raw).astype(np.float64).T
    sums = np.abs(host.astype(np.float64)) @ blocks.magnitudes("q5_0", raw).T
    tolerance = bounds.inner_product(sums, 96) + 2 * bounds.U * sums
    for y in (x @ w.T, tw.quant.matmul(x, w)):
        assert y.dtype == dtype
        assert y.device is be
        bounds.assert_within(y.numpy(), exact, tolerance)


def test_product_of_views(be: tw.Backend, rng: np.random.Generator) -> None:
    w, raw = weights(be, rng, "q4_k", (5, 256))
    host = normal(rng, (256, 9), "float32")
    x = tw.asarray(host, device=be)
    exact = host.T[1:4].astype(np.float64) @ blocks.values("q4_k", raw).astype(np.float64).T
    sums = np.abs(host.T[1:4].astype(np.float64)) @ blocks.magnitudes("q4_k", raw).T
    bounds.assert_within((x.T[1:4] @ w.T).numpy(), exact, bounds.inner_product(sums, 256))


@pytest.mark.parametrize("format", ["q8_0", "q4_0", "q4_1"])
def test_blocks_made_on_the_device_are_those_of_gguf(
    be: tw.Backend, rng: np.random.Generator, format: str
) -> None:
    host = normal(rng, (37, 160), "float32")
    host[3] = 0
    host[4, :32] = -host[5, 0]
    w = tw.quant.quantize_blocks(tw.asarray(host, device=be), format)
    raw = gguf.quants.quantize(host, blocks.kind_of(format))
    np.testing.assert_array_equal(w.packed.numpy(), blocks.planes(format, raw))
    assert w.shape == host.shape


def test_wrong_blocks(be: tw.Backend, rng: np.random.Generator) -> None:
    make = tw.quant.QuantizedTensor.from_blocks
    raw = blocks.draw(rng, "q4_0", 2, 64)
    with pytest.raises(REFUSED, match=r"format is 'q4'.*q4_0"):
        make(raw, "q4", (2, 64), device=be)
    with pytest.raises(REFUSED, match=r"shape is \(2, 65\).* 32"):
        make(raw, "q4_0", (2, 65), device=be)
    with pytest.raises(REFUSED, match=r"shape is \(2, -32\)|negative|-32"):
        make(raw, "q4_0", (2, -32), device=be)
    with pytest.raises(REFUSED, match="blocks has 72 bytes, expected 108"):
        make(raw, "q4_0", (3, 64), device=be)
    with pytest.raises(REFUSED, match="blocks is of float32"):
        make(raw.astype(np.float32), "q4_0", (2, 64), device=be)
    with pytest.raises(REFUSED, match="blocks is 7"):
        make(7, "q4_0", (2, 64), device=be)
    with pytest.raises(REFUSED, match=r"packed is uint8 of shape \(5,\)"):
        tw.quant.QuantizedTensor("q4_0", (2, 64), tw.zeros(5, dtype="uint8", device=be))
    w = make(raw, "q4_0", (2, 64), device=be)
    with pytest.raises(REFUSED, match="dtype is int32"):
        w.dequantize("int32")
    with pytest.raises(REFUSED, match="format is 'q4_k'"):
        tw.quant.quantize_blocks(tw.zeros((2, 256), device=be), "q4_k")
    wrong: Any = [1]
    with pytest.raises(REFUSED, match=r"format is \[1\] \(list\), expected one of q8_0"):
        tw.quant.quantize_blocks(tw.zeros((2, 64), device=be), wrong)
    with pytest.raises(REFUSED, match=r"QuantizedTensor of q4_0, .* write x.dequantize"):
        np.asarray(w)
    with pytest.raises(REFUSED, match=r"shape is \(2, 33\)"):
        tw.quant.quantize_blocks(tw.zeros((2, 33), device=be), "q4_0")


def test_wrong_products(be: tw.Backend, rng: np.random.Generator) -> None:
    w, _ = weights(be, rng, "q8_0", (3, 64))
    deep, _ = weights(be, rng, "q8_0", (2, 3, 64))
    x: Any = tw.zeros((2, 64), device=be)
    with pytest.raises(REFUSED, match="x is "):
        tw.quant.matmul(np.zeros((2, 64), np.float32), w)  # type: ignore[arg-type]
    with pytest.raises(REFUSED, match=r"w is .*expected a QuantizedTensor"):
        tw.quant.matmul(x, x)
    with pytest.raises(REFUSED, match=r"w has the shape \(2, 3, 64\)"):
        tw.quant.matmul(x, deep)
    with pytest.raises(REFUSED, match=r"x has the shape \(2, 32\), expected 64"):
        tw.quant.matmul(x[:, :32], w)
    with pytest.raises(REFUSED, match="x is int32"):
        tw.quant.matmul(x.astype("int32"), w)


LIMITS = {"int8": (-128, 127), "uint8": (0, 255)}


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_integers_are_numpys(
    be: tw.Backend, rng: np.random.Generator, axis: int | None, dtype: str
) -> None:
    host = normal(rng, (5, 7, 3), "float32") * np.float32(3)
    host[0, 0] = np.nan, np.inf, -np.inf
    host[1, 0] = 1e30, -1e30, 0.0
    low, high = LIMITS[dtype]
    scale: Any = np.float32(0.037)
    zero: Any = 3
    if axis is not None:
        scale = rng.uniform(0.01, 0.1, host.shape[axis]).astype(np.float32)
        zero = rng.integers(low, high + 1, host.shape[axis])
    shape = [1, 1, 1]
    if axis is not None:
        shape[axis] = -1
    s, z = np.reshape(scale, shape), np.reshape(zero, shape).astype(np.float32)
    with np.errstate(all="ignore"):
        exact = np.where(np.isnan(host), z, np.clip(np.rint(host / s), -1024, 1024) + z)
    exact = np.clip(exact, low, high).astype(dtype)
    x = tw.asarray(host, device=be)
    q = tw.quant.quantize(x, scale, zero, axis=axis, dtype=dtype)
    assert q.dtype == dtype
    np.testing.assert_array_equal(q.numpy(), exact)
    back = tw.quant.dequantize(q, scale, zero, axis=axis)
    np.testing.assert_array_equal(back.numpy(), (exact.astype(np.float32) - z) * s)


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_by_its_own_range(
    be: tw.Backend, rng: np.random.Generator, axis: int | None, symmetric: bool, dtype: str
) -> None:
    host = normal(rng, (6, 50), "float32") + np.float32(0.7)
    host[2] = 0
    low, high = LIMITS[dtype]
    other = None if axis is None else 1 - axis
    least = np.minimum(host.min(other, keepdims=True), 0)
    most = np.maximum(host.max(other, keepdims=True), 0)
    scale = np.abs(host).max(other, keepdims=True) / np.float32(127)
    if not symmetric:
        scale = (most - least) / np.float32(255)
    scale = np.where(scale == 0, np.float32(1), scale)
    zero = np.full(scale.shape, 0.0 if dtype == "int8" else 128.0, np.float32)
    if not symmetric:
        zero = np.clip(np.rint(np.float32(low) - least / scale), low, high)
    exact = np.clip(np.rint(host / scale) + zero, low, high).astype(dtype)
    x = tw.asarray(host, device=be)
    q, s, z = tw.quant.quantize_dynamic(x, axis=axis, symmetric=symmetric, dtype=dtype)
    shape = () if axis is None else (host.shape[axis],)
    assert (q.dtype, s.dtype, z.dtype) == (np.dtype(dtype), np.float32, np.int32)
    np.testing.assert_array_equal(s.numpy(), scale.reshape(shape))
    np.testing.assert_array_equal(z.numpy(), zero.reshape(shape))
    np.testing.assert_array_equal(q.numpy(), exact)


def test_its_own_range_shows_what_is_not_finite(be: tw.Backend) -> None:
    x = tw.asarray(np.float32([[1, np.nan], [np.inf, 2], [127, -3]]), device=be)
    q, scale, _ = tw.quant.quantize_dynamic(x, axis=0)
    assert np.isfinite(scale.numpy()).tolist() == [False, False, True]
    assert q.numpy()[2].tolist() == [127, -3]
    with pytest.raises(REFUSED, match="x is int32"):
        tw.quant.quantize_dynamic(x.astype("int32"))
    with pytest.raises(REFUSED, match=r"x has the shape \(0, 2\)"):
        tw.quant.quantize_dynamic(x[:0])
    with pytest.raises(REFUSED, match="axis"):
        tw.quant.quantize_dynamic(x, axis=2)


def test_scales_on_the_device(be: tw.Backend, rng: np.random.Generator) -> None:
    x = tw.asarray(normal(rng, (4, 50), "float32"), device=be)
    scale, zero = tw.quant.calibrate(x, axis=0, symmetric=False)
    q = tw.quant.quantize(x, scale, zero, axis=0)
    back = tw.quant.dequantize(q, scale, zero, axis=0).numpy()
    # Half a step, and half a one more at the ends, where the zero point is rounded.
    assert (np.abs(back - x.numpy()) <= 1.01 * scale.numpy()[:, None]).all()
    assert (scale.dtype, zero.dtype, scale.shape) == (np.float32, np.int32, (4,))


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_range_of_all_elements(
    be: tw.Backend, rng: np.random.Generator, symmetric: bool, dtype: str
) -> None:
    host = normal(rng, (3, 400), "float32") + np.float32(1)
    scale, zero = tw.quant.calibrate(tw.asarray(host, device=be), symmetric=symmetric, dtype=dtype)
    wide = host.astype(np.float64)
    if symmetric:
        expected = np.abs(wide).max() / 127, 0 if dtype == "int8" else 128
    else:
        step = (wide.max() - wide.min()) / 255
        expected = step, int(np.rint(LIMITS[dtype][0] - wide.min() / step))
    assert scale.numpy() == np.float32(expected[0])
    assert zero.numpy() == expected[1]


def test_percentile_leaves_out_what_lies_beyond(be: tw.Backend, rng: np.random.Generator) -> None:
    host = normal(rng, (2, 2000), "float32")
    host[:, 7] = 1e4
    x = tw.asarray(host, device=be)
    expected = np.percentile(np.abs(host), 99.0, axis=1) / 127
    for part in (99.0, np.float32(99), np.int64(99)):
        scale, _ = tw.quant.calibrate(x, "percentile", axis=0, percentile=part)
        np.testing.assert_allclose(scale.numpy(), expected, rtol=1e-5)


def error(host: Array, scale: Array) -> float:
    q = np.clip(np.rint(host / scale), -128, 127)
    return float(np.mean((q * scale - host).astype(np.float64) ** 2))


def test_mse_is_the_least_of_its_parts(be: tw.Backend, rng: np.random.Generator) -> None:
    host = normal(rng, 3000, "float32") ** 3
    found, zero = tw.quant.calibrate(tw.asarray(host, device=be), "mse")
    whole = np.abs(host).max() / 127
    parts = np.linspace(1.0, 0.2, 81)
    errors = [error(host, np.float32(whole * part)) for part in parts]
    assert error(host, found.numpy()) <= min(errors) * (1 + 1e-4)
    assert min(errors) < errors[0]
    assert zero.item() == 0


def test_entropy_cuts_off_a_lonely_tail(be: tw.Backend, rng: np.random.Generator) -> None:
    host = np.append(normal(rng, 20000, "float32"), np.float32([40.0]))
    scale, _ = tw.quant.calibrate(tw.asarray(host, device=be), "entropy")
    assert 2.5 < scale.item() * 127 < 8
    flat = np.linspace(-1, 1, 20001, dtype=np.float32)
    scale, _ = tw.quant.calibrate(tw.asarray(flat, device=be), "entropy")
    assert 0.9 < scale.item() * 127 <= 1.001


def test_nothing_but_zeros_has_a_scale(be: tw.Backend) -> None:
    x = tw.zeros((2, 9), device=be)
    for method in ("minmax", "percentile", "mse", "entropy"):
        scale, zero = tw.quant.calibrate(x, method)
        assert (scale.item(), zero.item()) == (1.0, 0)


def test_ranges_at_the_ends_of_float32(be: tw.Backend) -> None:
    """Of which neither sums nor bins are held."""
    wide = tw.asarray(np.float32([3e38, -3e38, 1e38]), device=be)
    scale, zero = tw.quant.calibrate(wide, "percentile", symmetric=False, percentile=100)
    np.testing.assert_allclose(scale.numpy(), 6e38 / 255, rtol=1e-6)
    assert abs(zero.item()) <= 1
    for size in (3e38, 2e-38, 1e-45):
        host = np.float32([size, 0, -size])
        scale, zero = tw.quant.calibrate(tw.asarray(host, device=be), "entropy")
        least, most = (size / 127, size / 127) if size > 1e-37 else (0, 1)
        assert least * 0.99 <= scale.item() <= most * 1.01 and zero.item() == 0


@pytest.mark.parametrize(
    "scale", [0.0, -1.0, np.nan, np.inf, 1e-60, 1e60], ids=str
)  # fmt: skip
def test_wrong_scales(be: tw.Backend, scale: float) -> None:
    x = tw.ones((3, 2), device=be)
    q = x.astype("int8")
    for call, one in ((tw.quant.quantize, x), (tw.quant.dequantize, q)):
        with pytest.raises(REFUSED, match=r"scale is .*expected finite"):
            call(one, scale)
        with pytest.raises(REFUSED, match=r"scale is .* at 1, expected finite"):
            call(one, np.array([1.0, scale]), axis=1)


def test_wrong_integers(be: tw.Backend) -> None:
    x = tw.ones((3, 2), device=be)
    with pytest.raises(REFUSED, match="zero_point is 128, expected -128 to 127"):
        tw.quant.quantize(x, 1.0, 128)
    with pytest.raises(REFUSED, match="zero_point is -1, expected 0 to 255"):
        tw.quant.quantize(x, 1.0, -1, dtype="uint8")
    with pytest.raises(REFUSED, match=r"zero_point is 0.5"):
        tw.quant.quantize(x, 1.0, 0.5)
    with pytest.raises(REFUSED, match=r"axis is 2|axis 2"):
        tw.quant.quantize(x, np.ones(3), axis=2)
    with pytest.raises(REFUSED, match=r"scale has the shape \(3,\), expected the shape \(2,\)"):
        tw.quant.quantize(x, np.ones(3), axis=1)
    with pytest.raises(REFUSED, match=r"scale has the shape \(3,\), expected one number"):
        tw.quant.quantize(x, np.ones(3))
    with pytest.raises(REFUSED, match="dtype is int32"):
        tw.quant.quantize(x, 1.0, dtype="int32")
    with pytest.raises(REFUSED, match="q is float32"):
        tw.quant.dequantize(x, 1.0)


def test_wrong_calibrations(be: tw.Backend) -> None:
    x = tw.ones((3, 2), device=be)
    with pytest.raises(REFUSED, match="method is 'max'"):
        tw.quant.calibrate(x, "max")
    with pytest.raises(REFUSED, match="expected axis=None"):
        tw.quant.calibrate(x, "entropy", axis=0)
    with pytest.raises(REFUSED, match="percentile is 101"):
        tw.quant.calibrate(x, "percentile", percentile=101)
    with pytest.raises(REFUSED, match="method is array"):
        tw.quant.calibrate(x, np.ones(2))  # type: ignore[arg-type]
    for one in (x, 2, np.ones(2)):
        with pytest.raises(REFUSED, match=r"calibrate: symmetric is .*expected True or False"):
            tw.quant.calibrate(x, symmetric=one)  # type: ignore[arg-type]
        with pytest.raises(REFUSED, match=r"quantize_dynamic: symmetric is .*expected True or"):
            tw.quant.quantize_dynamic(x, symmetric=one)  # type: ignore[arg-type]
    with pytest.raises(REFUSED, match="x has NaN"):
        tw.quant.calibrate(x * np.nan)
    with pytest.raises(REFUSED, match=r"x has the shape \(0, 2\)"):
        tw.quant.calibrate(x[:0])


@pytest.mark.parametrize("shape", [(1, 1, 1), (3, 17, 5), (7, 2050, 3), (2, 0, 3)], ids=str)
@pytest.mark.parametrize("zeros", [(0, 0), (-128, 127), (5, -9)], ids=str)
def test_products_of_integers_are_exact(
    be: tw.Backend, rng: np.random.Generator, shape: tuple[int, int, int], zeros: tuple[int, int]
) -> None:
    m, k, n = shape
    a = rng.integers(-128, 128, (m, k), np.int8)
    b = rng.integers(-128, 128, (k, n), np.int8)
    a[:1] = b[:, :1] = -128
    got = tw.quant.qmatmul(tw.asarray(a, device=be), tw.asarray(b, device=be), *zeros)
    assert got.dtype == np.int32
    exact = (a.astype(np.int64) - zeros[0]) @ (b.astype(np.int64) - zeros[1])
    np.testing.assert_array_equal(got.numpy(), exact)


def test_products_of_batches(be: tw.Backend, rng: np.random.Generator) -> None:
    a = rng.integers(0, 256, (2, 3, 300), np.uint8)
    b = rng.integers(-128, 128, (300, 4), np.int8)
    got = tw.quant.qmatmul(tw.asarray(a, device=be), tw.asarray(b, device=be), 130, 0)
    np.testing.assert_array_equal(got.numpy(), (a.astype(np.int64) - 130) @ b.astype(np.int64))


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_sums_and_rectified(be: tw.Backend, rng: np.random.Generator, dtype: str) -> None:
    low, high = LIMITS[dtype]
    a, b = (rng.integers(low, high + 1, shape).astype(dtype) for shape in ((9, 31), (31,)))
    x, y = (tw.asarray(one, device=be) for one in (a, b))
    zero = low + 100
    sa, sb, s = np.float32(0.031), np.float32(0.27), np.float32(0.3)
    sums = (a.astype(np.float32) - zero) * sa + (b.astype(np.float32) - 3) * sb
    exact = np.clip(np.rint(sums / s) + np.float32(zero), low, high).astype(dtype)
    got = tw.quant.qadd(x, sa, zero, y, sb, 3, s, zero)
    assert got.dtype == dtype
    np.testing.assert_array_equal(got.numpy(), exact)
    got = tw.quant.qrelu(x, zero)
    assert got.dtype == dtype
    np.testing.assert_array_equal(got.numpy(), np.maximum(a, np.asarray(zero, dtype)))


def test_wrong_sums(be: tw.Backend) -> None:
    a = tw.zeros((2, 3), dtype="int8", device=be)
    with pytest.raises(REFUSED, match="q is float32"):
        tw.quant.qrelu(tw.zeros(3, device=be))
    with pytest.raises(REFUSED, match="zero_point is 128"):
        tw.quant.qrelu(a, 128)
    with pytest.raises(REFUSED, match="b is float32"):
        tw.quant.qadd(a, 1.0, 0, tw.zeros(3, device=be), 1.0, 0, 1.0)
    with pytest.raises(REFUSED, match=r"scale is 0.0"):
        tw.quant.qadd(a, 1.0, 0, a, 1.0, 0, 0.0)


def test_wrong_products_of_integers(be: tw.Backend) -> None:
    a = tw.zeros((2, 3), dtype="int8", device=be)
    with pytest.raises(REFUSED, match="b is float32"):
        tw.quant.qmatmul(a, tw.zeros((3, 2), device=be))
    with pytest.raises(REFUSED, match=r"b has the shape \(2, 3\), expected 3 rows"):
        tw.quant.qmatmul(a, a)
    with pytest.raises(REFUSED, match=r"a_zero_point is 200|zero_point is 200"):
        tw.quant.qmatmul(a, a.T, 200)
