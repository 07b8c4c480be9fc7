"""Factorisations beside SciPy and torch.

    python benchmarks/python/factorisations.py [--device webgpu:0] [--threads N] [--quick]

torch works on CUDA beside a GPU; SciPy is asked on the processor alone. Sizes are drawn, in each
run the same ones. The sides take turns; shown are medians of the times, and of the ratios turn by
turn. Above 1 we are the faster ones.
"""

from __future__ import annotations

import functools
from typing import Any

import harness
from turns import Call, in_turns, options, torch_beside

OPS = ("cholesky", "solve", "inv", "qr", "eigh", "svd", "matmul")
SLOW = ("eigh", "svd")


def in_scipy(op: str, x: Any, b: Any) -> Call:
    from scipy import linalg

    if op == "matmul":
        return lambda: x @ x
    if op == "cholesky":
        return lambda: linalg.cholesky(x, lower=True, check_finite=False)
    if op == "solve":
        return lambda: linalg.solve(x, b, check_finite=False)
    if op == "qr":
        return lambda: linalg.qr(x, mode="economic", check_finite=False)
    if op == "eigh":
        return lambda: linalg.eigh(x, driver="evd", check_finite=False)
    if op == "svd":
        return lambda: linalg.svd(x, full_matrices=False, check_finite=False)
    return lambda: linalg.inv(x, check_finite=False)


def ours(tw: Any, op: str, x: Any, b: Any) -> Call:
    if op == "matmul":
        return lambda: x @ x
    if op == "solve":
        return lambda: tw.linalg.solve(x, b)
    if op == "svd":
        return lambda: tw.linalg.svd(x, full_matrices=False)
    return functools.partial(getattr(tw.linalg, op), x)


def in_torch(torch: Any, op: str, x: Any, b: Any) -> Call:
    if op == "matmul":
        return lambda: x @ x
    if op == "solve":
        return lambda: torch.linalg.solve(x, b)
    if op == "svd":
        return lambda: torch.linalg.svd(x, full_matrices=False)
    return functools.partial(getattr(torch.linalg, op), x)


def main() -> None:
    parser = options(__doc__, turns=5)
    parser.add_argument("--quick", action="store_true", help="small matrices alone")
    arguments = parser.parse_args()
    harness.threads(arguments.threads)
    import numpy as np
    import tilewright as tw

    with tw.init_backend(arguments.device) as be:
        on_cpu = be.name == "cpu"
        torch = torch_beside(be, arguments.threads)
        print(f"{be.device.name}; {torch}")
        random = np.random.default_rng(0)
        sizes = [*random.integers(20, 60, 1), *random.integers(200, 500, 1)]
        if not arguments.quick:
            sizes += [*random.integers(800, 1500, 1), *random.integers(2000, 3000, 1), 4096]
        for n in map(int, sizes):
            for dtype in ("float32", "float64", "complex64", "complex128"):
                real = np.empty(0, dtype).real.dtype.name
                if not be.supports("gemm", real):
                    continue
                x = random.standard_normal((n, n)).astype(dtype)
                if dtype.startswith("complex"):
                    x = x + 1j * random.standard_normal((n, n)).astype(dtype)
                x = (x @ x.conj().T / n + np.eye(n)).astype(dtype)
                b = random.standard_normal((n, 8)).astype(dtype)
                device_x, device_b = (tw.asarray(one, device=be) for one in (x, b))
                for op in OPS:
                    if op in SLOW and (not be.supports(op, real) or n > 1500):
                        continue
                    call = ours(tw, op, device_x, device_b)
                    sides: dict[str, tuple[Call, Call]] = {"tilewright": (call, be.synchronize)}
                    if on_cpu:
                        sides["SciPy"] = (in_scipy(op, x, b), lambda: None)
                    if torch.module is not None and torch.where == "cuda":
                        there = (torch.module.from_numpy(one).cuda() for one in (x, b))
                        sides["torch"] = (in_torch(torch.module, op, *there), torch.wait)
                    calls = max(1, round(2e7 / n**3))
                    seconds, ratios = in_turns(sides, arguments.turns, calls)
                    print(f"{op:9} {dtype} {n:5}  {seconds * 1e3:9.3f} ms  {ratios}")


if __name__ == "__main__":
    main()
