"""Products of sparse matrices beside SciPy and torch.

    python benchmarks/python/sparse_matrices.py [--device webgpu:0] [--threads N] [--side N]
        [--dtype NAME]

Matrices are the five-point stencil of a square of `side` points, and one of as many rows and
elements whose rows' lengths fall as a power law, in CSR, by a vector, and those of a quarter of the
side by 64 columns. With --blocks they are in BSR: 8 square blocks of so many rows in each row of
blocks, of as many elements as the stencil, by a vector, beside SciPy. It is asked on the processor,
on one thread as it works, torch on CUDA beside a GPU. The sides take turns; shown are medians of
the times, how many bytes of the matrix, x and y there are in a second, and medians of the ratios
turn by turn. Above 1 we are the faster ones.
"""

from __future__ import annotations

from typing import Any

import harness
from turns import Call, in_turns, options, torch_beside


def stencil(np: Any, side: int, dtype: str) -> tuple[Any, Any, Any]:
    """data, indices and indptr."""
    n = side * side
    steps = np.array([-side, -1, 0, 1, side])
    columns = np.arange(n)[:, None] + steps
    inside = (columns >= 0) & (columns < n)
    across = np.arange(n) % side
    inside[:, 1] &= across > 0
    inside[:, 3] &= across < side - 1
    values = np.broadcast_to(np.array([-1, -1, 4, -1, -1], dtype), columns.shape)
    indptr = np.concatenate([[0], np.cumsum(inside.sum(axis=1))]).astype(np.int32)
    return values[inside], columns[inside].astype(np.int32), indptr


def power_law(np: Any, rows: int, nnz: int, dtype: str) -> tuple[Any, Any, Any]:
    random = np.random.default_rng(0)
    weights = random.permutation(1 / np.arange(1, rows + 1) ** 0.8)
    lengths = random.multinomial(nnz, weights / weights.sum())
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    columns = random.integers(0, rows, nnz, np.int32)
    return random.standard_normal(nnz, np.float32).astype(dtype), columns, indptr


def sides_of(
    be: Any, torch: Any, parts: tuple[Any, Any, Any], x: Any, in_scipy: bool
) -> dict[str, tuple[Call, Call]]:
    import tilewright.sparse

    rows = len(parts[2]) - 1
    a = tilewright.sparse.csr_array(parts, shape=(rows, rows), device=be)
    on_device = be.array(x)
    n = 1 if x.ndim == 1 else x.shape[1]
    y = be.empty(x.shape, x.dtype)
    arguments = (a.indptr, a.indices, a.data, on_device, y, rows, rows, a.nnz, n, n, n, 1.0, 0.0)
    dtype = x.dtype.name
    sides: dict[str, tuple[Call, Call]] = {
        "tilewright": (lambda: be.sparse_matmul(*arguments, False, dtype), be.synchronize)
    }
    if in_scipy:
        import scipy.sparse

        matrix: Any = scipy.sparse.csr_array(parts, shape=(rows, rows))
        sides["scipy"] = (lambda: matrix @ x, lambda: None)
    if torch.where == "cuda":
        t = torch.module
        of_torch = t.sparse_csr_tensor(
            *(t.from_numpy(one).cuda() for one in (parts[2], parts[1], parts[0])), (rows, rows)
        )
        by = t.from_numpy(x).cuda()
        sides["torch"] = (lambda: of_torch @ by, torch.wait)
    return sides


def blocks_of(be: Any, size: int, elements: int, dtype: str) -> tuple[dict[str, Any], int, str]:
    """Ours and SciPy's products of blocks by a vector, the bytes that they move, and what it is."""
    import numpy as np
    import scipy.sparse
    import tilewright.sparse

    each = 8
    rows = max(elements // (each * size * size), 1)
    random = np.random.default_rng(0)
    # Side by side, as of meshes: a column is not far from its row.
    columns = np.arange(rows)[:, None] + np.sort(random.integers(-50, 50, (rows, each)), axis=1)
    indices = np.clip(columns, 0, rows - 1).astype(np.int32).reshape(-1)
    indptr = np.arange(0, each * rows + 1, each, dtype=np.int32)
    data = random.standard_normal((each * rows, size, size), np.float32).astype(dtype)
    x = random.standard_normal(rows * size, np.float32).astype(dtype)
    shape = (rows * size, rows * size)
    a = tilewright.sparse.bsr_array((data, indices, indptr), shape=shape, device=be)
    on_device = tilewright.asarray(x, device=be)
    y = tilewright.empty(x.shape, dtype=dtype, device=be)
    arguments = (a.indptr, a.indices, a.data, on_device, y, rows, rows, each * rows, 1, 1, 1)
    options = {"dtype": dtype, "block_rows": size, "block_cols": size}
    matrix: Any = scipy.sparse.bsr_array((data, indices, indptr), shape=shape)
    sides = {
        "tilewright": (lambda: be.sparse_matmul(*arguments, **options), be.synchronize),
        "scipy": (lambda: matrix @ x, lambda: None),
    }
    moved = sum(one.nbytes for one in (data, indices, indptr)) + 2 * x.nbytes
    return sides, moved, f"{each * rows} blocks {size} x {size} by a vector"


def main() -> None:
    parser = options(__doc__, turns=7)
    parser.add_argument("--side", type=int, default=4096, help="default: %(default)s")
    parser.add_argument("--columns", type=int, nargs="*", default=[1, 64], help="of x")
    parser.add_argument("--dtype", default="float32", help="default: %(default)s")
    parser.add_argument("--blocks", type=int, nargs="*", default=[], help="sizes")
    arguments = parser.parse_args()
    harness.threads(arguments.threads)
    import numpy as np
    import tilewright

    with tilewright.init_backend(arguments.device) as be:
        torch = torch_beside(be, arguments.threads)
        on_cpu = be.name == "cpu"
        for size in arguments.blocks:
            sides, moved, name = blocks_of(be, size, 5 * arguments.side**2, arguments.dtype)
            own, ratios = in_turns(sides, arguments.turns, 1 if on_cpu else 10)
            print(
                f"{name} {arguments.dtype}: {own * 1e3:9.3f} ms, {moved / own / 1e9:7.1f} GB/s  "
                f"{ratios}",
                flush=True,
            )
        if arguments.blocks:
            return
        print(f"{be.device.name}; {'SciPy' if on_cpu else torch}")
        for name in ("stencil", "power law"):
            for n in arguments.columns:
                side = arguments.side if n == 1 else max(arguments.side // 4, 1)
                rows = side**2
                parts = (
                    stencil(np, side, arguments.dtype)
                    if name == "stencil"
                    else power_law(np, rows, 5 * rows, arguments.dtype)
                )
                shape = (rows,) if n == 1 else (rows, n)
                x = np.random.default_rng(1).standard_normal(shape, np.float32)
                x = x.astype(arguments.dtype)
                sides = sides_of(be, torch, parts, x, on_cpu)
                own, ratios = in_turns(sides, arguments.turns, 1 if on_cpu else 10)
                moved = sum(one.nbytes for one in parts) + 2 * x.nbytes
                print(
                    f"{name:9s} {rows} rows, {parts[0].size} elements by {n:2d} "
                    f"{arguments.dtype}: {own * 1e3:9.3f} ms, {moved / own / 1e9:7.1f} GB/s  "
                    f"{ratios}",
                    flush=True,
                )
                del sides


if __name__ == "__main__":
    main()
