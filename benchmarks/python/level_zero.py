"""Matrix products of the level-zero backend beside a plain tiled kernel on the same device.

python benchmarks/python/level_zero.py --only 1024

With TILEWRIGHT_ALLOW_SOFTWARE=1 it runs on a CPU driver as well.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import harness

if __name__ == "__main__":
    CHOSEN = harness.arguments(str(__doc__))

import numpy as np
import tilewright
from numpy.typing import NDArray

Case = tuple[str, float, dict[str, harness.Call]]

SIZES = (256, 512, 1024, 2048)
PLAIN = Path(__file__).with_name("plain_gemm.cl")
#: of a workgroup of the plain kernel
TILE = 16

RANDOM = np.random.default_rng(0)


def compiled(source: Path) -> bytes:
    """SPIR-V of an OpenCL C file, by the compiler that the shipped kernels are built with."""
    with tempfile.TemporaryDirectory() as folder:
        module = Path(folder) / "module.spv"
        subprocess.run(
            [
                *(sys.executable, "-m", "ziglang", "clang"),
                *("-x", "cl", "-cl-std=CL2.0", "-target", "spirv64v1.2-unknown-unknown"),
                *("-O2", "-Xclang", "-disable-llvm-passes", "-cl-no-stdinc"),
                *("-c", str(source), "-o", str(module)),
            ],
            check=True,
        )
        return module.read_bytes()


def normal(n: int) -> NDArray[np.float32]:
    return RANDOM.standard_normal((n, n), dtype=np.float32)


def products(be: tilewright.Backend) -> Iterator[Case]:
    plain = be.kernel(compiled(PLAIN), entry=PLAIN.stem, trusted=True)
    for n in SIZES:
        a, b = be.array(normal(n)), be.array(normal(n))
        ours, theirs = be.full((n, n), 0.0), be.full((n, n), 0.0)

        def product(n: int = n, x: Sequence[tilewright.Array] = (a, b, ours)) -> None:
            be.gemm("none", "none", n, n, n, 1.0, x[0], n, x[1], n, 0.0, x[2], n)
            be.synchronize()

        def plain_product(n: int = n, x: Sequence[tilewright.Array] = (a, b, theirs)) -> None:
            plain(*x, grid=(n // TILE, n // TILE), params=(n,))
            be.synchronize()

        product()
        plain_product()
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=0, atol=1e-5 * n)
        yield f"gemm {n} float32", 2.0 * n**3, {"tilewright": product, "plain": plain_product}


def main() -> None:
    try:
        opened = tilewright.init_backend("level-zero")
    except tilewright.BackendUnavailable as error:
        print(f"left out: {error}")
        return
    with opened as be:
        results = [
            harness.measure(case, work, "GFLOP/s", sides, CHOSEN.repeats, CHOSEN.sample)
            for case, work, sides in products(be)
            if CHOSEN.only in case
        ]
        harness.report(results, be.device.name, CHOSEN, ("tilewright", "numpy"))


if __name__ == "__main__":
    main()
