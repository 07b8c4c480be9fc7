"""What ops take for themselves: within memory_limit, or a form that needs less, or a refusal before
anything is written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import tilewright
from tilewright import Backend

from . import references

Array = np.ndarray[Any, Any]


@dataclass
class Work:
    """An op with its inputs, where it starts to write, and what that is in the end."""

    inputs: list[Array]
    output: Array
    expected: Array
    call: Callable[..., None]  # backend, handles of the inputs, handle of the output


def gemm(dtype: str) -> Callable[[np.random.Generator], Work]:
    def work(rng: np.random.Generator) -> Work:
        m, n, k = 128, 128, 8192
        a, b = (rng.standard_normal(s).astype(dtype) for s in ((m, k), (k, n)))

        def call(be: Backend, inputs: list[Any], out: Any) -> None:
            be.gemm("none", "none", m, n, k, 1.0, inputs[0], k, inputs[1], n, 0.0, out, n, dtype)

        return Work([a, b], np.zeros((m, n), dtype), a.astype("f8") @ b.astype("f8"), call)

    return work


def scatter(rng: np.random.Generator) -> Work:
    rows = 300_000
    source = rng.standard_normal((5, 2)).astype("f4")
    indices = np.array([0, 7, rows - 1, 7, 3], np.int32)
    table = rng.standard_normal((rows, 2)).astype("f4")
    expected = table.copy()
    expected[indices] = source

    def call(be: Backend, inputs: list[Any], out: Any) -> None:
        be.scatter(inputs[0], inputs[1], out, rows, 2, 5)

    return Work([source, indices], table, expected, call)


def convolution(op: str) -> Callable[[np.random.Generator], Work]:
    def work(rng: np.random.Generator) -> Work:
        n, c, size, f = 1, 256, 12, 256
        x, w, y = (n, c, size, size), (f, c, 3, 3), (n, f, size - 2, size - 2)
        shapes = {"forward": (x, w, y), "backward_data": (y, w, x), "backward_filter": (x, y, w)}
        first, second, out = shapes[op]
        arrays = [rng.standard_normal(s).astype("f4") / 16 for s in (first, second)]

        def call(be: Backend, inputs: list[Any], output: Any) -> None:
            operands = (inputs[0], first, inputs[1], second, output, out)
            getattr(be, f"conv2d_{op}")(*operands, [1, 1], [0, 0])

        with tilewright.init_backend("cpu") as be:
            buffers = [be.array(a) for a in arrays]
            result = be.zeros(out)
            call(be, buffers, result)
            expected = result.numpy()
        return Work(arrays, np.zeros(out, "f4"), expected, call)

    return work


def attention(rng: np.random.Generator) -> Work:
    heads, keys, dim = 4, 8192, 64
    q = rng.standard_normal((1, heads, 1, dim)).astype("f4")
    k, v = (rng.standard_normal((1, 1, keys, dim)).astype("f4") for _ in range(2))
    scores = references.attention_scores(q, k, 0.125, False, 0)
    expected = references.softmax(scores, -1) @ references.repeated_heads(v, heads)

    def call(be: Backend, inputs: list[Any], out: Any) -> None:
        be.attention(*inputs, out, 1, heads, 1, keys, dim, 0.125, False, 0, 1)

    return Work([q, k, v], np.zeros(q.shape, "f4"), expected, call)


def reduction(rng: np.random.Generator) -> Work:
    x = rng.standard_normal((1, 1_000_000)).astype("f4")

    def call(be: Backend, inputs: list[Any], out: Any) -> None:
        be.reduce("sum", inputs[0], out, [1, 1_000_000], 1)

    return Work([x], np.zeros(1, "f4"), x.sum(1, dtype="f8"), call)


def transforms(rows: int) -> Callable[[np.random.Generator], Work]:
    def work(rng: np.random.Generator) -> Work:
        n = 480
        z = rng.standard_normal((rows, n)) + 1j * rng.standard_normal((rows, n))
        roots = np.exp(-2j * np.pi * np.arange(n) / n)
        expected = np.fft.fft(z)
        x, table, result = (
            np.stack([one.real, one.imag], -1).astype("f4") for one in (z, roots, expected)
        )

        def call(be: Backend, inputs: list[Any], out: Any) -> None:
            be.fft(*inputs, out, rows, n)

        return Work([x, table], np.zeros(x.shape, "f4"), result, call)

    return work


WORK: dict[str, Callable[[np.random.Generator], Work]] = {
    "gemm": gemm("float32"),
    "gemm in float16": gemm("float16"),
    "scatter": scatter,
    "conv2d_forward": convolution("forward"),
    "conv2d_backward_data": convolution("backward_data"),
    "conv2d_backward_filter": convolution("backward_filter"),
    "attention": attention,
    "reduce": reduction,
    "fft of one row": transforms(1),
    "fft": transforms(70),
}


@pytest.mark.sampled(16)
@pytest.mark.parametrize("name", WORK)
@pytest.mark.parametrize("room", [0, 100_000, 1_000_000, None], ids=str)
def test_scratch_stays_within_the_limit(
    device: str, rng: np.random.Generator, name: str, room: int | None
) -> None:
    """With so many bytes left beside the buffers."""
    work = WORK[name](rng)
    held = sum(a.nbytes for a in [*work.inputs, work.output])
    limit = None if room is None else held + room
    with tilewright.init_backend(device, memory_limit=limit) as be:
        *inputs, out = [be.alloc(a.nbytes) for a in [*work.inputs, work.output]]
        for handle, a in zip((*inputs, out), (*work.inputs, work.output), strict=True):
            be.copy_htod(handle, a)
        got = np.empty_like(work.output)
        try:
            work.call(be, inputs, out)
        except tilewright.OutOfMemory as error:
            assert room is not None
            assert error.requested_bytes > 0
            assert "raise memory_limit" in str(error)
            be.copy_dtoh(got, out)
            np.testing.assert_array_equal(got, work.output)
        else:
            be.copy_dtoh(got, out)
            scale = np.abs(work.expected).max()
            tolerance = (1e-2 if work.output.dtype == np.float16 else 1e-4) * scale
            np.testing.assert_allclose(got, work.expected, rtol=0, atol=tolerance)
        stats = be.memory_stats()
        assert stats.active_bytes == held
        assert stats.peak_scratch_bytes <= stats.peak_bytes - held
        assert stats.peak_bytes <= stats.limit_bytes
        if limit is not None:
            assert stats.limit_bytes == limit
            assert stats.active_bytes + stats.cached_bytes <= limit


def test_scratch_is_counted(device: str, rng: np.random.Generator) -> None:
    for name in ("gemm in float16", "attention"):
        work = WORK[name](rng)
        with tilewright.init_backend(device) as be:
            handles = [be.array(a) for a in [*work.inputs, work.output]]
            before = be.memory_stats()
            work.call(be, handles[:-1], handles[-1])
            after = be.memory_stats()
            assert before.peak_scratch_bytes == 0
            assert after.peak_scratch_bytes > 1000, name
            assert after.peak_bytes == before.active_bytes + after.peak_scratch_bytes
