"""Reductions and scans of programs, beside NumPy and torch.

    python benchmarks/python/reductions.py [--device webgpu:0] [--threads N] [--quick]

torch works on CUDA beside a GPU and on the processor beside `cpu`; NumPy is asked on the processor
alone. The sides take turns, each sample several calls that are awaited together; shown are medians
of the times, and of the ratios turn by turn. Above 1 we are the faster ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import harness
from turns import Call, Torch, in_turns, options, torch_beside

DTYPES = ("float32", "float16", "int32", "float64")
OPS = ("sum", "max", "argmax", "cumsum")


def cases(quick: bool) -> Iterator[tuple[str, tuple[int, ...], int]]:
    yield "1M", (1 << 20,), 0
    if not quick:
        yield "64M", (1 << 26,), 0
    side = 1024 if quick else 4096
    yield f"rows of {side}^2", (side, side), 1
    yield f"columns of {side}^2", (side, side), 0


def ours(be: Any, op: str, dtype: str, shape: tuple[int, ...], axis: int, a: Any, out: Any) -> Call:
    import tilewright

    program = tilewright.Program()
    program.output(program.input(dtype))
    if op == "cumsum":
        return lambda: be.scan(program, "sum", shape, axis, [a], [], out)
    return lambda: be.map_reduce(program, op, shape, (axis,), [a], [], [out])


def in_numpy(op: str, dtype: str, x: Any, axis: int) -> Call:
    import numpy as np

    more = {"dtype": dtype} if op in ("sum", "cumsum") else {}
    return lambda: getattr(np, op)(x, axis=axis, **more)


def in_torch(torch: Torch, op: str, x: Any, axis: int) -> Call:
    t = torch.module.from_numpy(x).to(torch.where)
    more = {"dtype": t.dtype} if op in ("sum", "cumsum") else {}
    return lambda: getattr(torch.module, "amax" if op == "max" else op)(t, axis, **more)


def main() -> None:
    parser = options(__doc__, turns=7)
    parser.add_argument("--quick", action="store_true", help="small arrays alone")
    arguments = parser.parse_args()
    harness.threads(arguments.threads)
    import numpy as np
    import tilewright

    with tilewright.init_backend(arguments.device) as be:
        on_cpu = be.name == "cpu"
        torch = torch_beside(be, arguments.threads)
        print(f"{be.device.name}; {torch}")
        random = np.random.default_rng(0)
        for name, shape, axis in cases(arguments.quick):
            for dtype in DTYPES:
                if dtype not in be.capabilities().storage_dtypes:
                    print(f"{name}: no {dtype} on this device")
                    continue
                x = (random.random(shape, np.float32) * 100).astype(dtype)
                a, out = be.alloc(x.nbytes), be.alloc(max(x.nbytes, 8 * max(shape)))
                be.copy_htod(a, x)
                for op in OPS:
                    sides: dict[str, tuple[Call, Call]] = {
                        "tilewright": (
                            ours(be, op, dtype, shape, axis, a, out),
                            be.synchronize,
                        )
                    }
                    if on_cpu:
                        sides["numpy"] = (in_numpy(op, dtype, x, axis), lambda: None)
                    if torch.module is not None:
                        sides["torch"] = (in_torch(torch, op, x, axis), torch.wait)
                    own, ratios = in_turns(sides, arguments.turns, 1 if on_cpu else 10)
                    moved = x.nbytes * (2 if op == "cumsum" else 1)
                    rate = moved / own / 1e9
                    print(
                        f"{op:6s} of {name:16s} {dtype:8s} {own * 1e3:9.3f} ms "
                        f"{rate:6.0f} GB/s  {ratios}"
                    )
                be.free(a)
                be.free(out)


if __name__ == "__main__":
    main()
