"""Sorts and selections beside NumPy and torch.

    python benchmarks/python/sorts.py [--device webgpu:0] [--threads N] [--quick]

torch works on CUDA beside a GPU; NumPy is asked on the processor alone, for its quickest sort and
for its stable one. The sides take turns; shown are medians of the times, and of the ratios turn by
turn. Above 1 we are the faster ones.
"""

from __future__ import annotations

from typing import Any

import harness
from turns import Call, in_turns, options, torch_beside

DTYPES = ("int32", "float32", "int64", "float64", "int8", "int16", "float16")
OPS = ("sort", "argsort", "topk")
K = 100


def ours(be: Any, op: str, dtype: str, shape: tuple[int, int], buffers: dict[str, int]) -> Call:
    source, values, places = buffers["source"], buffers["values"], buffers["places"]
    if op == "sort":
        return lambda: be.sort(source, values, *shape, False, dtype)
    if op == "argsort":
        return lambda: be.argsort(source, places, *shape, False, dtype)
    return lambda: be.topk(source, values, places, *shape, min(K, shape[1]), False, dtype)


def in_numpy(op: str, x: Any, kind: str | None) -> Call:
    import numpy as np

    if op == "topk":
        return lambda: np.argpartition(x, min(K, x.shape[1] - 1))
    return lambda: getattr(np, op)(x, kind=kind)


def in_torch(torch: Any, op: str, x: Any) -> Call:
    if op == "topk":
        return lambda: torch.topk(x, min(K, x.shape[1]), largest=False)
    return lambda: getattr(torch, op)(x, stable=True)


def main() -> None:
    parser = options(__doc__, turns=5)
    parser.add_argument("--quick", action="store_true", help="small arrays alone")
    arguments = parser.parse_args()
    harness.threads(arguments.threads)
    import numpy as np
    import tilewright

    with tilewright.init_backend(arguments.device) as be:
        on_cpu = be.name == "cpu"
        torch = torch_beside(be, arguments.threads)
        on_cuda = torch.where == "cuda"
        print(f"{be.device.name}; {torch}")
        largest = 10**7 if on_cpu else 10**8
        shapes = [(1, 10**6), (1, 10**4), (250_000, 4), (10_000, 100), (4000, 256), (1000, 1000)]
        if not arguments.quick:
            shapes.append((1, largest))
        random = np.random.default_rng(0)
        for shape in shapes:
            for dtype in DTYPES:
                if np.dtype(dtype).kind == "i":
                    limits = np.iinfo(dtype)
                    x = random.integers(limits.min, limits.max, shape, dtype)
                else:
                    x = random.standard_normal(shape).astype(dtype)
                buffers = {
                    name: be.alloc(size)
                    for name, size in (
                        ("source", x.nbytes),
                        ("values", x.nbytes),
                        ("places", 8 * x.size),
                    )
                }
                be.copy_htod(buffers["source"], x)
                for op in OPS:
                    sides: dict[str, tuple[Call, Call]] = {
                        "tilewright": (ours(be, op, dtype, shape, buffers), be.synchronize)
                    }
                    if on_cpu:
                        sides["numpy"] = (in_numpy(op, x, None), lambda: None)
                        if op != "topk":
                            sides["stable numpy"] = (in_numpy(op, x, "stable"), lambda: None)
                    if on_cuda:
                        t = torch.module.from_numpy(x).cuda()
                        sides["torch"] = (in_torch(torch.module, op, t), torch.wait)
                    own, ratios = in_turns(sides, arguments.turns, 1)
                    print(
                        f"{op:8s} of {shape[0]} x {shape[1]:9d} {dtype:8s} "
                        f"{own * 1e3:9.3f} ms  {ratios}",
                        flush=True,
                    )
                for buffer in buffers.values():
                    be.free(buffer)


if __name__ == "__main__":
    main()
