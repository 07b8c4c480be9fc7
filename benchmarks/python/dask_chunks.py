"""Sums and matrix products over Dask's chunks beside the same calls by hand.

    python benchmarks/python/dask_chunks.py [--device webgpu:0] [--size N] [--chunk N]
        [--ops sum,matmul] [--new] [--cluster]

Dask computes by tilewright.dask.get; threads is Dask's own scheduler with one thread. By hand is a
loop over the same chunks in one process; whole is the one call on one device, where it is 2 GB at
most. A graph is made once and computed at each turn, with --new made at each turn too. With
--cluster the chunks are in workers, one of each device named by --device (several by commas), and
by hand is beside it in this process on the first of them. The sides take turns; shown are medians
of the times, and of the ratios turn by turn: 0.8 is 1.25 times the time.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import harness
from turns import Call, in_turns, options

Sides = dict[str, tuple[Call, Call]]
MOST_BYTES_OF_ONE = 2 << 30


def by_hand(op: str, chunks: list[list[Any]]) -> Any:
    """The same operations as Dask's, chunk by chunk."""
    import tilewright as tw

    if op == "sum":
        return tw.stack([one.sum() for row in chunks for one in row]).sum()
    return [[_dot(row, [r[j] for r in chunks]) for j in range(len(chunks))] for row in chunks]


def _dot(row: list[Any], column: list[Any]) -> Any:
    total = row[0] @ column[0]
    for a, b in zip(row[1:], column[1:], strict=True):
        total += a @ b
    return total


def in_threads(graph: Callable[[], Any]) -> Call:
    return lambda: graph().persist(scheduler="threads", num_workers=1)


def main() -> None:
    parser = options(__doc__, turns=7)
    parser.add_argument("--size", type=int, default=4096, help="rows; default: %(default)s")
    parser.add_argument("--chunk", type=int, default=2048, help="default: %(default)s")
    parser.add_argument("--ops", default="sum,matmul", help="default: %(default)s")
    parser.add_argument("--new", action="store_true", help="a new graph at each turn")
    parser.add_argument("--cluster", action="store_true", help="chunks in workers")
    arguments = parser.parse_args()
    harness.threads(arguments.threads)
    import dask
    import dask.array as da
    import numpy as np
    import tilewright as tw
    from distributed import Client, wait
    from tilewright.dask import LocalCluster, get

    names = arguments.device.split(",")
    n, size = arguments.size, arguments.chunk
    tw.set_default_device(names[0])
    be = tw.default_device()
    random = tw.random.default_rng(0)
    sides = [min(size, n - start) for start in range(0, n, size)]
    chunks = [
        [random.standard_normal((rows, columns), dtype="float32") for columns in sides]
        for rows in sides
    ]
    is_one = n * n * 4 <= MOST_BYTES_OF_ONE
    with contextlib.ExitStack() as stack:
        if arguments.cluster:
            cluster = stack.enter_context(LocalCluster(names, dashboard_address=None))
            client = stack.enter_context(Client(cluster))
            host = np.block([[np.asarray(one) for one in row] for row in chunks])
            x: Any = da.from_array(host, chunks=size).to_backend("tilewright").persist()
            wait(x)
            client.run(lambda: None)

            def finished(graph: Callable[[], Any]) -> Call:
                """Workers keep the chunks of the result."""

                def call() -> object:
                    kept = graph().persist()
                    wait(kept)
                    client.run(lambda: tw.default_device().synchronize())
                    return kept

                return call
        else:
            stack.enter_context(dask.config.set(scheduler=get))
            x = da.block(
                [
                    [da.from_array(one, chunks=-1, asarray=False, name=False) for one in row]
                    for row in chunks
                ]
            ).persist()

            def finished(graph: Callable[[], Any]) -> Call:
                return lambda: graph().persist()

        print(f"{be.device.name}; {n} x {n} float32 in chunks of {size}")
        ours: dict[str, Callable[[], Any]] = {"sum": lambda: x.sum(), "matmul": lambda: x @ x}
        whole = tw.concat([tw.concat(row, axis=1) for row in chunks]) if is_one else None
        alone: dict[str, Call] = {"sum": lambda: whole.sum(), "matmul": lambda: whole @ whole}
        for op in arguments.ops.split(","):
            y = ours[op]()
            graph = ours[op] if arguments.new else lambda y=y: y
            sides_of_op: Sides = {
                "tilewright": (finished(graph), be.synchronize),
                "by hand": (lambda op=op: by_hand(op, chunks), be.synchronize),
            }
            if not arguments.cluster:
                sides_of_op["threads"] = (in_threads(graph), be.synchronize)
            if is_one:
                sides_of_op["whole"] = (alone[op], be.synchronize)
            own, ratios = in_turns(sides_of_op, arguments.turns, 1)
            print(f"{op:8s} {own * 1e3:9.3f} ms  {ratios}", flush=True)


if __name__ == "__main__":
    main()
