"""Products of few rows by a large matrix beside torch, float32, turn by turn.

    python benchmarks/python/few_rows.py [--device cpu] [--threads N] [--turns N]
        [--rows N ...] [--shape K N]

The matrix lies row by row (`a @ b`) or column by column (`a @ b.T`), as the weights of a layer do.
Shown are our microseconds, the matrix's bytes a second, and how many times as fast as torch we are,
both by the median of the turns.
"""

from __future__ import annotations

import harness
from turns import in_turns, options, torch_beside

ROWS = [1, 2, 4, 8, 16, 32, 64]


def main() -> None:
    parser = options(__doc__, turns=21)
    parser.add_argument("--rows", type=int, nargs="+", default=ROWS, help="default: %(default)s")
    parser.add_argument(
        "--shape", type=int, nargs=2, default=[4096, 4096], metavar=("K", "N"),
        help="of the matrix; default: %(default)s",
    )  # fmt: skip
    arguments = parser.parse_args()
    harness.threads(arguments.threads)
    import numpy as np
    import tilewright as tw

    be = tw.init_backend(arguments.device)
    torch = torch_beside(be, arguments.threads)
    k, n = arguments.shape
    rng = np.random.default_rng(1)
    host = rng.standard_normal((k, n), np.float32)
    print(f"{be.device.name}, {arguments.threads} threads; {torch}; {k} x {n}")
    for rows in arguments.rows:
        x = rng.standard_normal((rows, k), np.float32)
        a = tw.asarray(x, device=be)
        for name, turned in (("a @ b", False), ("a @ b.T", True)):
            there = np.ascontiguousarray(host.T) if turned else host
            b = tw.asarray(there, device=be)
            b = b.T if turned else b
            sides = {"tilewright": ((lambda a=a, b=b: a @ b), be.synchronize)}
            if torch.module is not None:
                p, q = (torch.module.from_numpy(one).to(torch.where) for one in (x, there))
                q = q.T if turned else q
                sides["torch"] = ((lambda p=p, q=q: p @ q), torch.wait)
            own, ratios = in_turns(sides, arguments.turns, (1 << 24) // (rows * k * n) + 1)
            rate = 4e-9 * k * n / own
            print(f"{rows:3d} rows {name:8s} {own * 1e6:9.1f} us {rate:6.1f} GB/s {ratios}")


if __name__ == "__main__":
    main()
