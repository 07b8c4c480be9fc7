"""Products of int8 into int32 beside our float32 ones, and beside torch's.

    python benchmarks/python/int8_products.py [--device webgpu:0] [--threads N] [--drawn N]
        [--kernels]

torch works on CUDA beside a GPU, there by tensor cores (`torch._int_mm`). The sides take turns;
shown are our median time and the medians of the ratios turn by turn. Above 1 we are the faster
ones. With `--kernels` our times are those of the launches by the GPU's clock. `--drawn` adds shapes
drawn by a seed.
"""

from __future__ import annotations

from typing import Any

import harness
from turns import Call, in_turns, options, torch_beside

SHAPES = [(4096, 4096, 4096), (1024, 1024, 1024), (128, 11008, 4096), (32, 4096, 4096)]


def kernel_seconds(be: Any, call: Call, calls: int) -> float:
    with be.profile() as profile:
        for _ in range(calls):
            call()
        be.synchronize()
    return float(sum(record.duration_ns for record in profile.records)) * 1e-9 / calls


def main() -> None:
    parser = options(__doc__, turns=5)
    parser.add_argument("--drawn", type=int, default=0, help="shapes; default: %(default)s")
    parser.add_argument("--kernels", action="store_true", help="by the GPU's clock")
    arguments = parser.parse_args()
    harness.threads(arguments.threads)
    import numpy as np
    import tilewright

    random = np.random.default_rng(0)
    drawn = np.exp(random.uniform(np.log(16), np.log(6000), (arguments.drawn, 3))).astype(int)
    shapes = [*SHAPES, *(tuple(int(size) for size in one) for one in drawn)]
    with tilewright.init_backend(arguments.device) as be:
        torch = torch_beside(be, arguments.threads)
        print(f"{be.device.name}; {torch}")
        for m, n, k in shapes:
            a, b, c = (be.alloc(size * 4) for size in (m * k, n * k, m * n))
            sizes = (m, n, k, 1, a, k, b, k, 0, c, n)

            def product(dtype: str, sizes: tuple[Any, ...] = sizes) -> Call:
                return lambda: be.gemm("none", "transpose", *sizes, dtype)

            calls = (
                200 if m * n * k < 1 << 30 and be.name != "cpu" else 10 if be.name != "cpu" else 2
            )
            sides = {
                "tilewright": (product("int8"), be.synchronize),
                "our float32": (product("float32"), be.synchronize),
            }
            # What torch._int_mm takes.
            if torch.module is not None and m > 16 and n % 8 == 0 and k % 8 == 0:
                t = torch.module
                x = t.zeros((m, k), dtype=t.int8, device=torch.where)
                w = t.zeros((n, k), dtype=t.int8, device=torch.where).T
                sides["torch"] = (lambda x=x, w=w, t=t: t._int_mm(x, w), torch.wait)
            own, ratios = in_turns(sides, arguments.turns, calls)
            if arguments.kernels:
                own = kernel_seconds(be, product("int8"), calls)
                ratios = f"{kernel_seconds(be, product('float32'), calls) / own:.2f} of our float32"
            print(
                f"{m:5d} x {n:5d} x {k:5d} {own * 1e6:10.1f} us "
                f"{2e-12 * m * n * k / own:7.2f} TOP/s {ratios}",
                flush=True,
            )
            for one in (a, b, c):
                be.free(one)


if __name__ == "__main__":
    main()
