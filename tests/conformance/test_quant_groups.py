"""int4 in groups: made on the device, and of what GPTQ and AWQ store."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tilewright as tw
from tilewright import InvalidArgument
from tilewright.quant.groups import AWQ_ORDER

from .int4_groups import AWQ, pack_rows, rounded
from .workspace import normal


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize(
    ("shape", "size"),
    [((5, 256), 128), ((2, 3, 96), 32), ((7, 192), 64), ((1, 160), None), ((0, 64), 64)],
    ids=str,
)
def test_groups_made_on_the_device(
    be: tw.Backend, rng: np.random.Generator, shape: tuple[int, ...], size: int | None,
    symmetric: bool,
) -> None:  # fmt: skip
    host = normal(rng, shape, "float32")
    if host.size:
        host[0, ..., :32] = 0
        host[-1, ..., -32:] = np.abs(host[-1, ..., -32:])
    w = tw.quant.quantize_int4(tw.asarray(host, device=be), size, symmetric=symmetric)
    assert w.shape == shape and w.format == ("q4_0" if symmetric else "q4_1")
    rows = host.reshape(-1, shape[-1] if size is None else size)
    q, scale, least = rounded(rows, symmetric) if host.size else (rows, rows, rows)
    expected = scale.astype(np.float32) * q + least
    np.testing.assert_allclose(w.dequantize().numpy(), expected.reshape(shape), rtol=3e-7, atol=0)
    off = np.abs(expected.reshape(shape) - host)
    steps = np.repeat(scale, rows.shape[1], axis=1).reshape(shape) if host.size else host
    assert (off <= 0.51 * steps + (0 if symmetric else 0.01 * np.abs(steps))).all()
    if host.size and len(shape) == 2:
        x = normal(rng, (3, shape[1]), "float32")
        got = (tw.asarray(x, device=be) @ w.T).numpy()
        np.testing.assert_allclose(got, x @ expected.reshape(shape).T, rtol=1e-4, atol=1e-3)


def draw(rng: np.random.Generator, k: int, n: int, group: int, symmetric: bool) -> Any:
    q = rng.integers(0, 16, (k, n))
    zeros = np.full((k // group, n), 8) if symmetric else rng.integers(1, 16, (k // group, n))
    scales = rng.uniform(0.01, 0.1, (k // group, n)).astype(np.float16)
    each = [np.repeat(one, group, axis=0) for one in (zeros, scales)]
    return q, zeros, scales, each[1].astype(np.float64) * (q - each[0])


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize(("k", "n", "group"), [(128, 8, 128), (256, 24, 64), (96, 40, 32)])
def test_gptq_and_awq(
    be: tw.Backend, rng: np.random.Generator, k: int, n: int, group: int, symmetric: bool
) -> None:
    q, zeros, scales, exact = draw(rng, k, n, group, symmetric)
    quant = tw.quant
    order = np.arange(k, dtype=np.int32) // group
    packed = pack_rows(q.T).T
    for w in (
        quant.from_gptq(packed, pack_rows(zeros - 1), scales, device=be),
        quant.from_gptq(packed, pack_rows(zeros), scales, order, zero_offset=0, device=be),
        quant.from_awq(pack_rows(q, AWQ), pack_rows(zeros, AWQ), scales, device=be),
    ):
        assert w.shape == (n, k) and w.format == ("q4_0" if symmetric else "q4_1")
        got = w.dequantize().numpy().T
        if symmetric:
            np.testing.assert_array_equal(got, exact.astype(np.float32))
        else:
            # The product of scale and zero is a float16.
            assert (np.abs(got - exact) <= 15 * 0.1 * 2.0**-11).all()


def test_no_outputs(be: tw.Backend) -> None:
    scales, zeros = np.zeros((2, 0), np.float16), np.zeros((2, 0), np.int32)
    of_awq = tw.quant.from_awq(np.zeros((64, 0), np.int32), zeros, scales, device=be)
    of_gptq = tw.quant.from_gptq(np.zeros((8, 0), np.int32), zeros, scales, device=be)
    for w in (of_awq, of_gptq):
        assert w.shape == (0, 64) and w.dequantize().shape == (0, 64)


def test_words_of_awq_are_read_as_they_are_written() -> None:
    assert [AWQ_ORDER.index(i) for i in (0, 1, 2, 3)] == [0, 2, 4, 6]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"x": 3}, "x is 3 .*, expected an Array"),
        ({"dtype": "int32"}, "x is int32, expected float32 or float16"),
        ({"group_size": 48}, "group_size is 48 .*, expected a multiple of 32 that divides the 128"),
        ({"group_size": 256}, "group_size is 256 .*divides the 128 weights"),
        ({"group_size": 0}, "group_size is 0 .*, expected a multiple"),
        ({"symmetric": 1}, "symmetric is 1 .*, expected True or False"),
        ({"shape": (4, 33), "group_size": None}, "group_size is None.*the 33 weights"),
    ],
)
def test_wrong_groups(be: tw.Backend, given: dict[str, Any], said: str) -> None:
    options = {"shape": (4, 128), "dtype": "float32"} | given
    x = tw.zeros(options.pop("shape"), dtype=options.pop("dtype"), device=be)
    x = options.pop("x", x)
    with pytest.raises(InvalidArgument, match=said):
        tw.quant.quantize_int4(x, **options)


@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        ("scales", lambda x: x.astype("f4"), "scales is float32, expected float16"),
        ("scales", lambda x: x[0], r"scales has shape \(8,\), expected \(any, any\)"),
        ("scales", lambda x: x[:, :4], r"qweight has shape .*, expected \(any, 4\)"),
        ("qweight", lambda x: x.view("u4"), "qweight is uint32, expected int32"),
        ("qweight", lambda x: x[:3], "scales has 2 groups for 24 inputs"),
        ("qzeros", lambda x: x[:1], r"qzeros has shape \(1, 1\), expected \(2, 1\)"),
        ("g_idx", lambda x: x[::-1].copy(), r"g_idx\[0\] is 1, expected 0: groups in order"),
        ("g_idx", lambda x: x[:3], r"g_idx has shape \(3,\), expected \(128,\)"),
        ("zero_offset", lambda x: 2, "zero_offset is 2, expected 0 or 1"),
        ("scales", lambda x: [[1.0], [2.0, 3.0]], "scales of type list cannot be read as an array"),
    ],
)
def test_wrong_files(
    be: tw.Backend, rng: np.random.Generator, name: str, change: Any, said: str
) -> None:
    q, zeros, scales, _ = draw(rng, 128, 8, 64, False)
    parts: dict[str, Any] = {
        "qweight": pack_rows(q.T).T, "qzeros": pack_rows(zeros), "scales": scales,
        "g_idx": np.arange(128, dtype=np.int32) // 64, "zero_offset": 0,
    }  # fmt: skip
    parts[name] = change(parts[name])
    with pytest.raises(InvalidArgument, match=said):
        tw.quant.from_gptq(**parts, device=be)
