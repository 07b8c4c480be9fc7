"""Products by vector of quantised weights, beside those of float weights and torch's.

    python benchmarks/python/quantised.py [--device webgpu:0] [--threads N] [--rows N] [--cols N]

Each format is read once for each product: GB/s are of its bytes on the device, the part is that of
a copy on the device, which reads and writes. The sides take turns; shown are medians of the times,
and of the ratios turn by turn. Above 1 we are the faster ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import harness
from turns import Call, in_turns, options, seconds, torch_beside

# Weights that take turns, so that none is left in a cache: so many bytes in all.
SPREAD = 1 << 29
MOST_COPIES = 24


def rounds(calls: list[Call]) -> Call:
    """Each call of a list in its turn."""

    def endless() -> Iterator[Call]:
        while True:
            yield from calls

    following = endless()
    return lambda: next(following)()


def copies_of(nbytes: int) -> int:
    return max(1, min(MOST_COPIES, SPREAD // nbytes))


def main() -> None:
    parser = options(__doc__, turns=7)
    parser.add_argument("--rows", type=int, default=4096, help="default: %(default)s")
    parser.add_argument("--cols", type=int, default=11008, help="default: %(default)s")
    parser.add_argument("--vectors", type=int, default=1, help="default: %(default)s")
    parser.add_argument("--calls", type=int, help="in a sample; default: 200 on GPUs, else 5")
    arguments = parser.parse_args()
    harness.threads(arguments.threads)
    import numpy as np
    import tilewright
    from tilewright.quant.formats import FORMATS

    rows, cols, m = arguments.rows, arguments.cols, arguments.vectors
    rng = np.random.default_rng(0)
    with tilewright.init_backend(arguments.device) as be:
        calls = arguments.calls or (5 if be.name == "cpu" else 200)
        torch = torch_beside(be, arguments.threads)
        print(f"{be.device.name}; {torch}; {m} x {cols} by {rows} x {cols}")
        nothing = be.synchronize
        size = SPREAD // 4
        source, target = be.alloc(size), be.alloc(size)
        copy = lambda: be.copy_dtod(target, source, size)  # noqa: E731
        in_turns({"tilewright": (copy, nothing)}, 1, 1)
        bandwidth = 2 * size / min(seconds(copy, nothing, 5) for _ in range(5))
        print(f"a copy on the device: {bandwidth / 1e9:.0f} GB/s, read and written")
        be.free(source)
        be.free(target)

        x = {name: be.alloc(m * cols * 4) for name in ("float32", "float16")}
        y = be.alloc(m * rows * 4)
        for name, buffer in x.items():
            be.copy_htod(buffer, rng.standard_normal((m, cols)).astype(name))

        def made(nbytes: int, host: Any) -> list[int]:
            buffers = [be.alloc(nbytes) for _ in range(copies_of(nbytes))]
            for buffer in buffers:
                be.copy_htod(buffer, host)
            return buffers

        def product(dtype: str, weights: int) -> Call:
            sizes, ends = (m, rows, cols, 1), (0, y, rows, dtype)
            return lambda: be.gemm(
                "none", "transpose", *sizes, x[dtype], cols, weights, cols, *ends
            )

        def quantised(format: str, dtype: str, weights: int) -> Call:
            sizes = (m, rows, cols, cols, rows)
            return lambda: be.quantized_matmul(x[dtype], weights, y, format, *sizes, dtype)

        peers: dict[str, tuple[Call, Call]] = {}
        if torch.module is not None:
            t = torch.module
            for name, kind in (("torch bfloat16", t.bfloat16), ("torch float32", t.float32)):
                a = t.randn(m, cols, device=torch.where).to(kind)
                wide = t.randn(rows, cols, device=torch.where).to(kind)
                ws = [wide.clone() for _ in range(copies_of(wide.nbytes))]
                linear = t.nn.functional.linear
                peers[name] = (rounds([partial(linear, a, w) for w in ws]), torch.wait)

        floats: dict[str, tuple[Call, Call]] = {}
        for dtype in ("float32", "float16"):
            if not be.supports("gemm", dtype):
                continue
            host = rng.standard_normal((rows, cols), np.float32).astype(dtype)
            call = rounds([product(dtype, weights) for weights in made(host.nbytes, host)])
            floats[f"our {dtype}"] = (call, nothing)
            own, ratios = in_turns({"tilewright": (call, nothing), **peers}, arguments.turns, calls)
            rate = rows * cols * np.dtype(dtype).itemsize / own
            print(
                f"{dtype:8s} {own * 1e6:9.1f} us {rate / 1e9:7.0f} GB/s "
                f"{rate / bandwidth:5.2f} of a copy  {ratios}",
                flush=True,
            )
        for format, kind in FORMATS.items():
            groups = rows * cols // 32
            nbytes = kind.planes(groups).bytes
            buffers = made(nbytes, rng.integers(0, 60, nbytes, np.uint8))
            for dtype in ("float32", "float16"):
                if not be.supports("quantized_matmul", dtype, format):
                    continue
                call = rounds([quantised(format, dtype, weights) for weights in buffers])
                sides = {"tilewright": (call, nothing), **floats, **peers}
                own, ratios = in_turns(sides, arguments.turns, calls)
                rate = nbytes / own
                print(
                    f"{format:5s} by {dtype} {own * 1e6:9.1f} us {rate / 1e9:7.0f} GB/s "
                    f"{rate / bandwidth:5.2f} of a copy  {ratios}",
                    flush=True,
                )
            for buffer in buffers:
                be.free(buffer)


if __name__ == "__main__":
    main()
