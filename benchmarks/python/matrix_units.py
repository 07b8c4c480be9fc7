"""Products on matrix units beside the kernels without them and torch on CUDA, in TFLOP/s.

    TILEWRIGHT_WEBGPU=dawn python benchmarks/python/matrix_units.py [--device webgpu:0] [--seed N]

Ours are by the GPU's clock, all launches of a call, the median of the calls; torch's between two
events. "without" is the best of the kernels that need no units. TILEWRIGHT_DAWN_TOGGLES=
disable_robustness leaves out Dawn's bounds checks. "high" are products of float32 at precision
"high", 22 digits, beside torch's float32 without TF32; "int8" are products into int32, in TOP/s.
With --seed the sizes are drawn, from 64 to 4096 each, else they are those of a list.
"""

from __future__ import annotations

import argparse
import importlib
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np
import tilewright as tw
from tilewright import _core

CALLS = 7
FAMILIES = ("products", "high", "int8", "weights", "convolutions", "attention")
WIDE, WARM = 4096, 2e11  # products of that many multiplications before each measurement

PRODUCTS = [
    (4096, 4096, 4096, False),
    (4096, 4096, 4096, True),
    (8192, 8192, 8192, False),
    (2048, 28672, 4096, True),
    (2048, 2048, 2048, True),
    (1024, 1024, 1024, False),
    (32, 28672, 4096, True),
    (777, 1000, 1304, True),
]
WEIGHTS = [(m, 4096, 4096) for m in (16, 64, 256, 4096)] + [(1024, 14336, 4096)]
# images, channels, height, width, filters, side, stride
CONVOLUTIONS = [
    (32, 256, 56, 56, 256, 3, 1),
    (32, 64, 56, 56, 64, 3, 1),
    (32, 128, 56, 56, 128, 3, 2),
    (8, 512, 14, 14, 512, 3, 1),
    (32, 3, 224, 224, 64, 7, 2),
    (32, 256, 56, 56, 64, 1, 1),
]
# batch, heads, queries and keys, head size, causal
HEADS = [
    (1, 32, 4096, 128, True),
    (1, 32, 4096, 128, False),
    (1, 32, 2048, 64, True),
    (8, 16, 512, 64, False),
]


@dataclass(frozen=True)
class Case:
    what: str
    point: str
    operations: float
    call: Callable[[], object]
    peer: Callable[[Any], Callable[[], object]]


def half(rng: np.random.Generator, *shape: int) -> np.ndarray[Any, Any]:
    return rng.standard_normal(shape, np.float32).astype(np.float16)


def products(rng: np.random.Generator, sizes: list[tuple[int, int, int, bool]]) -> Iterator[Case]:
    for m, n, k, turned in sizes:
        a = tw.asarray(half(rng, m, k))
        b = tw.asarray(half(rng, n, k) if turned else half(rng, k, n))
        y = b.T if turned else b

        def peer(torch: Any, m: int = m, n: int = n, k: int = k, turned: bool = turned) -> Any:
            x = torch.randn(m, k, device="cuda", dtype=torch.float16)
            w = torch.randn(*((n, k) if turned else (k, n)), device="cuda", dtype=torch.float16)
            return lambda: x @ (w.T if turned else w)

        name = f"{m} x {n} x {k}{', B transposed' if turned else ''}"
        yield Case(name, "gemm_matrix", 2 * m * n * k, lambda a=a, y=y: a @ y, peer)


def high(rng: np.random.Generator, sizes: list[tuple[int, int, int, bool]]) -> Iterator[Case]:
    for m, n, k, turned in sizes:
        a = tw.asarray(rng.standard_normal((m, k), np.float32))
        b = tw.asarray(rng.standard_normal((n, k) if turned else (k, n), np.float32))

        def call(a: Any = a, b: Any = b, turned: bool = turned) -> object:
            return a.backend.matmul(a, b, transpose_b=turned, precision="high")

        def peer(torch: Any, m: int = m, n: int = n, k: int = k, turned: bool = turned) -> Any:
            torch.backends.cuda.matmul.allow_tf32 = False
            x = torch.randn(m, k, device="cuda")
            w = torch.randn(*((n, k) if turned else (k, n)), device="cuda")
            return lambda: x @ (w.T if turned else w)

        name = f"float32, {m} x {n} x {k}{', B transposed' if turned else ''}"
        yield Case(name, "gemm_matrix", 2 * m * n * k, call, peer)


def int8(
    be: tw.Backend, rng: np.random.Generator, sizes: list[tuple[int, int, int, bool]]
) -> Iterator[Case]:
    for m, rough_n, rough_k, turned in sizes:
        n, k = (max(8, size // 8 * 8) for size in (rough_n, rough_k))  # what torch._int_mm takes
        buffers = []
        for size in (m * k, n * k, 4 * m * n):
            buffers.append(be.alloc(size))
            be.copy_htod(buffers[-1], rng.integers(-128, 128, size, np.int8))
        a, b, c = buffers

        def call(
            x: tuple[Any, ...] = (m, n, k, 1, a, k, b, k if turned else n, 0, c, n),
            turned: bool = turned,
        ) -> object:
            return be.gemm("none", "transpose" if turned else "none", *x, "int8")

        def peer(torch: Any, m: int = m, n: int = n, k: int = k, turned: bool = turned) -> Any:
            x, w = (
                torch.randint(-128, 128, shape, dtype=torch.int8, device="cuda")
                for shape in ((m, k), (n, k) if turned else (k, n))
            )
            return lambda: torch._int_mm(x, w.T if turned else w)

        name = f"int8, {m} x {n} x {k}{', B transposed' if turned else ''}"
        yield Case(name, "gemm_bytes_matrix", 2 * m * n * k, call, peer)
        for buffer in buffers:
            be.free(buffer)


def weights(rng: np.random.Generator, sizes: list[tuple[int, int, int]]) -> Iterator[Case]:
    for m, n, k in sizes:
        x = tw.asarray(half(rng, m, k))
        w = tw.quant.quantize_blocks(tw.asarray(half(rng, n, k)), "q4_0")

        def peer(torch: Any, m: int = m, n: int = n, k: int = k) -> Any:
            a = torch.randn(m, k, device="cuda", dtype=torch.float16)
            b = torch.randn(n, k, device="cuda", dtype=torch.float16)
            return lambda: a @ b.T

        name = f"{m} x {k} by q4_0 of {n} x {k}"
        call = lambda x=x, w=w: x @ w.T  # noqa: E731
        yield Case(name, "quantized_matmul_matrix", 2 * m * n * k, call, peer)


def convolutions(rng: np.random.Generator) -> Iterator[Case]:
    for images, channels, height, width, filters, side, stride in CONVOLUTIONS:
        pad = side // 2
        x = tw.asarray(half(rng, images, channels, height, width))
        w = tw.asarray(half(rng, filters, channels, side, side))

        def peer(torch: Any, x: Any = x, w: Any = w, stride: int = stride, pad: int = pad) -> Any:
            a = torch.randn(*x.shape, device="cuda", dtype=torch.float16)
            b = torch.randn(*w.shape, device="cuda", dtype=torch.float16)
            return lambda: torch.nn.functional.conv2d(a, b, stride=stride, padding=pad)

        places = ((height - 1) // stride + 1) * ((width - 1) // stride + 1)
        call = lambda x=x, w=w, s=stride, p=pad: tw.nn.conv2d(x, w, stride=s, padding=p)  # noqa: E731
        yield Case(
            f"{side}x{side} of every {stride}, {images}x{channels}x{height}x{width} to {filters}",
            "conv2d_forward",
            2.0 * images * filters * places * channels * side * side,
            call,
            peer,
        )


def attention(rng: np.random.Generator) -> Iterator[Case]:
    for batch, heads, length, size, causal in HEADS:
        q, k, v = (tw.asarray(half(rng, batch, heads, length, size)) for _ in range(3))

        def peer(torch: Any, shape: Any = q.shape, causal: bool = causal) -> Any:
            a, b, c = (torch.randn(*shape, device="cuda", dtype=torch.float16) for _ in range(3))
            attend = torch.nn.functional.scaled_dot_product_attention
            return lambda: attend(a, b, c, is_causal=causal)

        def call(q: Any = q, k: Any = k, v: Any = v, causal: bool = causal) -> object:
            return tw.nn.scaled_dot_product_attention(q, k, v, is_causal=causal)

        operations = 4.0 * batch * heads * length * length * size / (2 if causal else 1)
        name = f"{batch} x {heads} heads, {length} x {size}{', causal' if causal else ''}"
        yield Case(name, "attention", operations, call, peer)


def ours(be: tw.Backend, call: Callable[[], object], warm: Callable[[], object]) -> float:
    """Microseconds."""
    call()
    warm()
    with be.profile() as profile:
        for _ in range(CALLS):
            call()
    launches = len(profile.records) // CALLS
    times = [one.duration_ns for one in profile.records]
    return median(sum(times[i * launches : (i + 1) * launches]) for i in range(CALLS)) / 1e3


def of_torch(torch: Any, call: Callable[[], object]) -> float:
    for _ in range(5):
        call()
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    for _ in range(20):
        call()
    end.record()
    torch.cuda.synchronize()
    return float(start.elapsed_time(end)) / 20 * 1e3


def needs_units(point: str, candidate: str) -> bool:
    if point == "conv2d_forward":
        return candidate not in ("direct", "winograd")
    return candidate.startswith("units-") or (point.endswith("_matrix") and candidate != "plain")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--device", default="webgpu:0", help="default: %(default)s")
    parser.add_argument("--seed", type=int, help="draw the sizes of products")
    parser.add_argument("--only", nargs="*", help=f"of {', '.join(FAMILIES)}")
    parser.add_argument("--plain", action="store_true", help="also without matrix units")
    arguments = parser.parse_args()
    try:
        torch = importlib.import_module("torch")
        torch.backends.cudnn.benchmark = True
        has_cuda = bool(torch.cuda.is_available())
    except ImportError:
        torch, has_cuda = None, False
    tw.set_default_device(arguments.device)
    rng = np.random.default_rng(arguments.seed or 0)
    sizes, quantized = PRODUCTS, WEIGHTS
    if arguments.seed is not None:
        drawn = [[int(n) for n in 2 ** rng.uniform(6, 12, 3)] for _ in range(12)]
        sizes = [(m, n, k, bool(rng.integers(2))) for m, n, k in drawn]
        quantized = [(m, n, max(32, k // 32 * 32)) for m, n, k in drawn[:6]]
    families = {
        "products": lambda: products(rng, sizes),
        "high": lambda: high(rng, sizes),
        "int8": lambda: int8(be, rng, sizes),
        "weights": lambda: weights(rng, quantized),
        "convolutions": lambda: convolutions(rng),
        "attention": lambda: attention(rng),
    }
    side = tw.asarray(half(rng, WIDE, WIDE))
    be = side.backend
    choices = _core._choices_of(be)
    assert choices is not None, "the cpu backend chooses nothing"

    def warm() -> None:
        for _ in range(math.ceil(WARM / WIDE**3)):
            side @ side

    print(
        f"{be.device.name}, {be.device.driver}; torch {'on CUDA' if has_cuda else 'is not there'}"
    )
    print("| TFLOP/s | | without | torch |\n|---|---|---|---|")
    for family in arguments.only or families:
        for case in families[family]():
            time = ours(be, case.call, warm)
            plain = []
            for candidate in choices.points[case.point] if arguments.plain else []:
                if needs_units(case.point, candidate):
                    continue
                choices.force(case.point, candidate)
                choices.watch(True)
                case.call()
                made = [one["taken"] for one in choices.take_made() if one["point"] == case.point]
                choices.watch(False)
                if candidate in made:
                    plain.append(ours(be, case.call, warm))
            choices.force(case.point, "")
            theirs = of_torch(torch, case.peer(torch)) if has_cuda else None
            rates = [
                case.operations / one / 1e6 for one in (time, *([min(plain)] if plain else []))
            ]
            cells = [f"{rates[0]:.0f}", f"{rates[1]:.0f}" if plain else ""]
            cells.append(f"{case.operations / theirs / 1e6:.0f}" if theirs else "")
            print(f"| {case.what} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
