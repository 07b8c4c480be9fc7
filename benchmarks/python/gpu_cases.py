"""The work that the GPU benchmark times: ours, and the same by each peer that is there."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import gpu_peers as peers
import gpu_timing as timing
import numpy as np
import tilewright
from gpu_peers import AnyArray, random

OURS = "tilewright"

#: The most that a result may differ from torch's, in parts of the largest element.
TOLERANCE = {"float32": 2e-5, "float16": 4e-3}

#: Bytes. A chain of ops takes its input from the host, which must not outweigh the ops.
LARGEST_FOR_ONNX = 64 << 20


@dataclass
class Peers:
    be: tilewright.Backend
    torch: Any
    onnx: peers.OnnxRuntime | None

    def queued(self, call: timing.Call) -> timing.Turn:
        return timing.queued(call, self.be.synchronize)

    def torch_queued(self, call: timing.Call) -> timing.Turn:
        return timing.queued(call, self.torch.cuda.synchronize)

    def on_torch(self, x: AnyArray) -> Any:
        return self.torch.from_numpy(x).cuda()

    def sides(
        self,
        name: str,
        call: timing.Call,
        out: tilewright.Array,
        theirs: Callable[[], Any] | None,
        onnx: Callable[[], timing.Turn] | None = None,
    ) -> dict[str, timing.Turn]:
        """Ours and what is there of the others; ours is held against torch's result first."""
        sides = {OURS: self.queued(call)}
        if theirs is not None:
            call()
            expected = theirs().cpu().numpy().reshape(out.shape)
            limit = TOLERANCE[str(out.dtype)] * float(np.abs(expected).max())
            worst = float(np.abs(out.numpy().astype(np.float32) - expected).max())
            if not worst <= limit:
                raise AssertionError(f"{name}: off by {worst:.3g}, allowed are {limit:.3g}")
            sides[peers.TORCH] = self.torch_queued(theirs)
        if self.onnx is not None and onnx is not None:
            try:
                sides[peers.ONNX] = onnx()
            except Exception as error:
                print(f"{name}: {peers.ONNX} is left out: {str(error)[:200]}")
        return sides


#: Makes the sides of the case of that name and work.
Sides = Callable[[str, float], dict[str, timing.Turn]]
Cases = Iterator[tuple[str, Callable[[], timing.Case]]]


def case(
    group: str, name: str, work: float, unit: str, sides: Sides
) -> tuple[str, Callable[[], timing.Case]]:
    """A case that takes its memory when it is asked for."""
    full = f"{group} {name}"
    return full, lambda: timing.Case(group, name, work, unit, sides(full, work))


def products(p: Peers) -> Cases:
    kinds = {"N": "none", "T": "transpose"}

    def product(n: int, kind: str, dtype: str) -> Sides:
        def sides(name: str, work: float) -> dict[str, timing.Turn]:
            scale = np.float32(1 / math.sqrt(n))
            a, b = random(n, n, dtype=dtype), (random(n, n)[::-1] * scale).astype(dtype)
            x, y, z = p.be.array(a), p.be.array(b), p.be.empty((n, n), dtype)
            args = (kinds[kind[0]], kinds[kind[1]], n, n, n, 1.0, x, n, y, n, 0.0, z, n, dtype)

            def call() -> None:
                p.be.gemm(*args)

            theirs = None
            if p.torch is not None:
                t = [p.on_torch(m) for m in (a, b)]
                left, right = (m.T if k == "T" else m for m, k in zip(t, kind, strict=True))
                theirs = lambda: left @ right  # noqa: E731
            onnx = None
            if p.onnx is not None and kind == "NN":
                runtime = p.onnx
                onnx = lambda: runtime.turn(  # noqa: E731
                    "MatMul", a, [b], inputs=["w0"], seconds=work / 25e12
                )
            return p.sides(name, call, z, theirs, onnx)

        return sides

    for n in (256, 512, 1000, 1023, 1024, 2048, 4096, 4097, 8192):
        yield case("gemm", f"{n}", 2.0 * n**3, "GFLOP/s", product(n, "NN", "float32"))
    for kind in ("TN", "NT", "TT"):
        yield case("gemm", f"4096 {kind}", 2.0 * 4096**3, "GFLOP/s", product(4096, kind, "float32"))
    for n in (1024, 2048, 4096, 8192):
        yield case("gemm float16", f"{n}", 2.0 * n**3, "GFLOP/s", product(n, "NN", "float16"))


def matrix_by_vector(p: Peers) -> Cases:
    def product(rows: int, cols: int) -> Sides:
        def sides(name: str, work: float) -> dict[str, timing.Turn]:
            a = random(rows, cols)
            b = random(cols) / np.float32(math.sqrt(cols))
            x, y, z = p.be.array(a), p.be.array(b), p.be.empty((rows,))

            def call() -> None:
                p.be.matmul_vec(x, rows, cols, y, z)

            theirs = None
            if p.torch is not None:
                s, t = p.on_torch(a), p.on_torch(b)
                theirs = lambda: s @ t  # noqa: E731
            onnx = None
            if p.onnx is not None and rows == cols and rows <= 8192:
                runtime, row = p.onnx, np.ascontiguousarray(b[None])
                onnx = lambda: runtime.turn(  # noqa: E731
                    "MatMul", row, [a / np.float32(math.sqrt(cols))], inputs=["w0"], seconds=2e-4
                )
            return p.sides(name, call, z, theirs, onnx)

        return sides

    for rows, cols in ((16384, 16384), (8192, 8192), (32000, 4096), (4096, 11008)):
        yield case("matmul_vec", f"{rows}x{cols}", 4.0 * rows * cols, "GB/s", product(rows, cols))


def elementwise(p: Peers) -> Cases:
    n = 16384
    shape = (n, n)

    def unary(op: str, dtype: str) -> Sides:
        def sides(name: str, work: float) -> dict[str, timing.Turn]:
            a = random(*shape, dtype=dtype)
            x, y = p.be.array(a), p.be.empty(shape, dtype)

            def call() -> None:
                p.be.unary(op, x, y, n * n, dtype)

            theirs = None
            if p.torch is not None:
                f = p.torch.nn.functional.gelu if op == "gelu" else getattr(p.torch, op)
                s = p.on_torch(a)
                theirs = lambda: f(s)  # noqa: E731
            return p.sides(name, call, y, theirs)

        return sides

    def binary(op: str, dtype: str) -> Sides:
        def sides(name: str, work: float) -> dict[str, timing.Turn]:
            a = random(*shape, dtype=dtype)
            x, y, z = p.be.array(a), p.be.array(a[::-1]), p.be.empty(shape, dtype)

            def call() -> None:
                p.be.binary(op, x, y, z, n * n, dtype)

            theirs = None
            if p.torch is not None:
                s, t = p.on_torch(a), p.on_torch(np.ascontiguousarray(a[::-1]))
                f = getattr(p.torch, op)
                theirs = lambda: f(s, t)  # noqa: E731
            return p.sides(name, call, z, theirs)

        return sides

    for op in ("relu", "exp", "tanh", "sigmoid", "gelu"):
        yield case("elementwise", op, 8.0 * n * n, "GB/s", unary(op, "float32"))
    for op in ("add", "mul"):
        yield case("elementwise", op, 12.0 * n * n, "GB/s", binary(op, "float32"))
    yield case("elementwise", "relu float16", 4.0 * n * n, "GB/s", unary("relu", "float16"))
    yield case("elementwise", "add float16", 6.0 * n * n, "GB/s", binary("add", "float16"))


def reductions(p: Peers) -> Cases:
    n = 16384

    def reduce(op: str, shape: tuple[int, ...], axis: int) -> Sides:
        def sides(name: str, work: float) -> dict[str, timing.Turn]:
            a = random(n, n)
            x = p.be.array(a)
            y = p.be.empty(shape[:axis] + shape[axis + 1 :] or (1,))

            def call() -> None:
                p.be.reduce(op, x, y, shape, axis)

            theirs = None
            if p.torch is not None:
                s = p.on_torch(a).reshape(shape)
                f = getattr(s, "amax" if op == "max" else op)
                theirs = lambda: f(axis)  # noqa: E731
            return p.sides(name, call, y, theirs)

        return sides

    for op in ("sum", "max"):
        yield case("reduce", f"{op} of rows", 4.0 * n * n, "GB/s", reduce(op, (n, n), 1))
        yield case("reduce", f"{op} of columns", 4.0 * n * n, "GB/s", reduce(op, (n, n), 0))
        yield case("reduce", f"{op} of all", 4.0 * n * n, "GB/s", reduce(op, (n * n,), 0))


def rows(p: Peers) -> Cases:
    def softmax(count: int, length: int) -> Sides:
        def sides(name: str, work: float) -> dict[str, timing.Turn]:
            a = random(count, length)
            x, y = p.be.array(a), p.be.empty((count, length))

            def call() -> None:
                p.be.softmax(x, y, (count, length), 1)

            theirs = None
            if p.torch is not None:
                s = p.on_torch(a)
                theirs = lambda: p.torch.softmax(s, 1)  # noqa: E731
            onnx = None
            if p.onnx is not None and a.nbytes <= LARGEST_FOR_ONNX:
                runtime = p.onnx
                onnx = lambda: runtime.turn(  # noqa: E731
                    "Softmax", a, attributes={"axis": -1}, seconds=work / 3e12
                )
            return p.sides(name, call, y, theirs, onnx)

        return sides

    def layer_norm(count: int, length: int) -> Sides:
        def sides(name: str, work: float) -> dict[str, timing.Turn]:
            a, w, b = random(count, length), random(length), random(length)
            x, weight, bias = (p.be.array(v) for v in (a, w, b))
            y = p.be.empty((count, length))

            def call() -> None:
                p.be.layer_norm(x, weight, bias, y, count, length, 1e-5)

            theirs = None
            if p.torch is not None:
                s, t, u = (p.on_torch(v) for v in (a, w, b))
                f = p.torch.nn.functional.layer_norm
                theirs = lambda: f(s, (length,), t, u, 1e-5)  # noqa: E731
            return p.sides(name, call, y, theirs)

        return sides

    for count, length in ((16384, 16384), (65536, 4096), (4096, 4096)):
        work = 8.0 * count * length
        yield case("rows", f"softmax {count}x{length}", work, "GB/s", softmax(count, length))
    yield case("rows", "layer_norm 65536x4096", 8.0 * 65536 * 4096, "GB/s", layer_norm(65536, 4096))


def convolutions(p: Peers) -> Cases:
    def conv(n: int, channels: int, size: int, filters: int, width: int, dtype: str) -> Sides:
        def sides(name: str, work: float) -> dict[str, timing.Turn]:
            pad = width // 2
            a = random(n, channels, size, size, dtype=dtype)
            scale = np.float32(1 / math.sqrt(channels * width * width))
            w = (random(filters, channels, width, width) * scale).astype(dtype)
            out = (n, filters, size, size)
            x, f, y = p.be.array(a), p.be.array(w), p.be.empty(out, dtype)
            args = (x, a.shape, f, w.shape, y, out, (1, 1), (pad, pad))

            def call() -> None:
                p.be.conv2d_forward(*args, dtype=dtype)

            theirs = None
            if p.torch is not None:
                s, t = p.on_torch(a), p.on_torch(w)
                theirs = lambda: p.torch.nn.functional.conv2d(s, t, padding=pad)  # noqa: E731
            onnx = None
            if p.onnx is not None and filters == channels:
                runtime, around = p.onnx, {"pads": [pad] * 4}
                onnx = lambda: runtime.turn(  # noqa: E731
                    "Conv", a, [w], inputs=["w0"], attributes=around, seconds=work / 15e12
                )
            return p.sides(name, call, y, theirs, onnx)

        return sides

    for n, channels, size, filters, width, dtype in (
        (16, 256, 56, 256, 3, "float32"),
        (1, 256, 56, 256, 3, "float32"),
        (16, 64, 56, 64, 3, "float32"),
        (16, 256, 56, 256, 1, "float32"),
        (16, 256, 56, 256, 3, "float16"),
    ):
        work = 2.0 * n * channels * filters * width**2 * size**2
        name = f"{width}x{width} {n}x{channels}x{size}x{size} to {filters} {dtype}"
        yield case("conv2d", name, work, "GFLOP/s", conv(n, channels, size, filters, width, dtype))


def attentions(p: Peers) -> Cases:
    def attention(
        heads: int,
        kv_heads: int,
        queries: int,
        keys: int,
        dim: int,
        causal: bool,
        dtype: str,
        visible: int,
    ) -> Sides:
        def sides(name: str, work: float) -> dict[str, timing.Turn]:
            q = random(1, heads, queries, dim, dtype=dtype)
            k = random(1, kv_heads, keys, dim, dtype=dtype)
            q_offset = visible - queries if causal else 0
            v = np.ascontiguousarray(k[:, :, ::-1])
            x, y, z = (p.be.array(m) for m in (q, k, v))
            o = p.be.empty(q.shape, dtype)
            args = (x, y, z, o, 1, heads, queries, keys, dim, dim**-0.5, causal)

            def call() -> None:
                p.be.attention(*args, q_offset, kv_heads, dtype)

            theirs = None
            if p.torch is not None:
                t = [p.on_torch(m) for m in (q, k[:, :, :visible], v[:, :, :visible])]
                f = p.torch.nn.functional.scaled_dot_product_attention
                theirs = lambda: f(  # noqa: E731
                    *t, is_causal=causal and queries > 1, enable_gqa=heads != kv_heads
                )
            onnx = None
            if p.onnx is not None and heads == kv_heads and queries == keys:
                runtime = p.onnx
                packed = random(1, queries, heads * dim, dtype=dtype)
                settings = {"num_heads": heads, "unidirectional": int(causal)}
                onnx = lambda: runtime.turn(  # noqa: E731
                    "MultiHeadAttention",
                    packed,
                    inputs=["x", "x"],
                    domain="com.microsoft",
                    attributes=settings,
                    seconds=work / 8e12,
                )
            return p.sides(name, call, o, theirs, onnx)

        return sides

    for heads, kv_heads, queries, keys, dim, causal, dtype in (
        (32, 32, 4096, 4096, 128, True, "float32"),
        (8, 8, 1024, 1024, 64, False, "float32"),
        (32, 32, 4096, 4096, 128, True, "float16"),
        (32, 8, 1, 4096, 128, False, "float32"),
        (32, 8, 1, 4096, 128, False, "float16"),
        (32, 32, 1, 4096, 128, False, "float32"),
        # Decoding: caches made for many more keys than there are yet.
        (32, 8, 1, 131072, 128, True, "float32"),
        (32, 8, 1, 131072, 128, True, "float16"),
        (32, 32, 1, 131072, 128, True, "float32"),
    ):
        decoding = causal and queries == 1
        visible = 4096 if decoding else keys
        work = 4.0 * heads * queries * visible * dim * (0.5 if causal and not decoding else 1.0)
        name = f"{heads}/{kv_heads} heads {queries}x{visible}x{dim}"
        name += f" of {keys}" if decoding else ""
        name += f"{' causal' if causal else ''} {dtype}"
        yield case(
            "attention",
            name,
            work,
            "GFLOP/s",
            attention(heads, kv_heads, queries, keys, dim, causal, dtype, visible),
        )


def calls(p: Peers) -> Cases:
    """Small ops, where the call is the cost, and transfers."""
    small = 1024
    host = np.empty(small, np.float32)
    back = np.empty(64 << 20, np.float32)

    def of_small_ops(count: int) -> Sides:
        def sides(name: str, work: float) -> dict[str, timing.Turn]:
            x, y = p.be.array(random(small)), p.be.empty((small,))

            def ours() -> None:
                for _ in range(count):
                    p.be.unary("relu", x, y, small)
                p.be.copy_dtoh(host, y)

            sides = {OURS: timing.whole(ours, 15)}
            if p.torch is not None:
                s = p.on_torch(random(small))
                t = p.torch.empty_like(s)
                clamp = p.torch.clamp_min

                def theirs() -> None:
                    for _ in range(count):
                        clamp(s, 0.0, out=t)
                    t.cpu()

                sides[peers.TORCH] = timing.whole(theirs, 15)
            return sides

        return sides

    def transfer(up: bool) -> Sides:
        def sides(name: str, work: float) -> dict[str, timing.Turn]:
            a = random(back.size)
            x = p.be.array(a)

            def ours_up() -> None:
                p.be.copy_htod(x, a)
                p.be.synchronize()

            def ours_down() -> None:
                p.be.copy_dtoh(back, x)

            sides = {OURS: timing.whole(ours_up if up else ours_down)}
            if p.torch is not None:
                s, t = p.on_torch(a), p.torch.from_numpy(a)
                into = p.torch.from_numpy(back)

                def theirs_up() -> None:
                    s.copy_(t)
                    p.torch.cuda.synchronize()

                def theirs_down() -> None:
                    into.copy_(s)

                sides[peers.TORCH] = timing.whole(theirs_up if up else theirs_down)
            return sides

        return sides

    def cold(name: str, work: float) -> dict[str, timing.Turn]:
        return {OURS: lambda: cold_start(p.be.device.id)}

    yield case("calls", "import to first product", 0, "ms", cold)
    yield case("calls", "1 small op and a read", 0, "us", of_small_ops(1))
    yield case("calls", "1,000 small ops and a read", 0, "ms", of_small_ops(1000))
    yield case("calls", "upload of 256 MB", 4.0 * back.size, "GB/s", transfer(True))
    yield case("calls", "download of 256 MB", 4.0 * back.size, "GB/s", transfer(False))


def cold_start(device: str) -> float:
    """Seconds from the import to the first product's result in a process that has NumPy."""
    program = f"""
import time
import numpy as np
x = np.random.default_rng(0).random((256, 256), dtype="float32")
start = time.perf_counter()
import tilewright
be = tilewright.init_backend({device!r})
a = be.array(x)
be.matmul(a, a).numpy()
print(time.perf_counter() - start)
"""
    # With compiled files, as an installed package has them: the first process writes them.
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": cache}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        for _ in range(2):
            done = subprocess.run(
                [sys.executable, "-c", program],
                env=environment,
                check=True,
                capture_output=True,
                text=True,
            )
    return float(done.stdout)


GROUPS = (
    products,
    matrix_by_vector,
    elementwise,
    reductions,
    rows,
    convolutions,
    attentions,
    calls,
)
