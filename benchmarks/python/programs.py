"""Programs: elementwise work of any dtype and any strides as one launch, beside torch.

    python benchmarks/python/programs.py [--device webgpu:0] [--elements N] [--threads N]

torch works on CUDA beside a GPU and on the processor beside `cpu`, where NumPy is beside walks of
memory too, on its one thread. The sides take turns, each sample several calls that are awaited
together; shown are medians of the times, and of the ratios turn by turn. Above 1 we are the faster
ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import harness
from turns import Call, in_turns, options, torch_beside


@dataclass
class Row:
    name: str
    bytes: int
    ours: Call
    peers: dict[str, Call]


def rows(be: Any, torch: Any, where: str, count: int) -> list[Row]:
    import numpy as np
    import tilewright

    side = math.isqrt(count)
    random = np.random.default_rng(0)
    values = random.random(count, dtype=np.float32) + np.float32(0.5)
    a, b, out = (be.alloc(8 * count) for _ in range(3))
    be.copy_htod(a, values)
    be.copy_htod(b, values)

    def program(op: str, dtype: str, takes: int) -> Any:
        one = tilewright.Program()
        one.output(one.apply(op, *(one.input(dtype) for _ in range(takes))))
        return one

    def tensor(dtype: str, *shape: int) -> Any:
        if torch is None:
            return None
        made = torch.ones(*shape, device=where) * 1.25
        return made.to(getattr(torch, dtype))

    def torch_call(make: Callable[[], Call]) -> dict[str, Call]:
        return {} if torch is None else {"torch": make()}

    def one_op(op: str, dtype: str, takes: int, torch_name: str) -> Row:
        made = program(op, dtype, takes)

        def peer() -> Call:
            function = getattr(torch, torch_name)
            inputs = [tensor(dtype, count) for _ in range(takes)]
            result = tensor(dtype, count)
            return lambda: function(*inputs, out=result)

        return Row(
            f"{op}, {dtype}",
            (takes + 1) * count * np.dtype(dtype).itemsize,
            lambda: be.map(made, (count,), [a, b][:takes], [], [out]),
            torch_call(peer),
        )

    chain = tilewright.Program()
    x = chain.input("float32")
    k = [chain.number("float32") for _ in range(5)]
    chain.output(((x * k[0] + k[1]).max(k[2]) - k[3]) * k[4])

    def five_calls() -> None:
        be.binary_scalar("mul", a, 2.0, out, count)
        be.binary_scalar("add", out, 1.0, out, count)
        be.binary_scalar("max", out, 0.5, out, count)
        be.binary_scalar("sub", out, 0.25, out, count)
        be.binary_scalar("mul", out, 3.0, out, count)

    def torch_chain() -> Call:
        t = tensor("float32", count)
        return lambda: ((t * 2 + 1).clamp_min(0.5) - 0.25) * 3

    copy, add = program("abs", "float32", 1), program("add", "float32", 2)
    square = (side, side)

    def torch_transposed() -> Call:
        t, result = tensor("float32", *square), tensor("float32", *square)
        return lambda: torch.abs(t.t(), out=result)

    def torch_row() -> Call:
        t, row, result = (
            tensor("float32", *square),
            tensor("float32", side),
            tensor("float32", *square),
        )
        return lambda: torch.add(t, row, out=result)

    def walk(
        name: str,
        made: Any,
        shape: tuple[int, ...],
        inputs: list[Any],
        numpy_call: Callable[[Any, Any], object],
    ) -> Row:
        n = math.prod(shape)
        target = np.empty(shape, np.float32)

        def peer() -> object:
            return numpy_call(values, target)

        return Row(
            name,
            8 * n,
            lambda: be.map(made, shape, inputs, [], [out]),
            {"numpy": peer} if be.name == "cpu" else {},
        )

    edge = round((count // 2) ** (1 / 3))
    cube = (edge, edge, edge)
    triples = (count // 3, 3)

    return [
        Row(
            "a chain of five ops",
            8 * count,
            lambda: be.map(chain, (count,), [a], [2.0, 1.0, 0.5, 0.25, 3.0], [out]),
            {"five calls": five_calls, **torch_call(torch_chain)},
        ),
        one_op("add", "float32", 2, "add"),
        one_op("add", "float16", 2, "add"),
        one_op("add", "int8", 2, "add"),
        one_op("add", "int64", 2, "add"),
        one_op("mul", "float64", 2, "mul"),
        one_op("sin", "float32", 1, "sin"),
        one_op("log1p", "float32", 1, "log1p"),
        one_op("atan2", "float32", 2, "atan2"),
        Row(
            "a row added to a matrix",
            8 * side * side,
            lambda: be.map(add, square, [a, (b, (0, 1))], [], [out]),
            {
                "binary_broadcast": lambda: be.binary_broadcast(
                    "add", a, (side, 1), b, (0, 1), out, square
                ),
                **torch_call(torch_row),
            },
        ),
        Row(
            "abs of a transposed matrix",
            8 * side * side,
            lambda: be.map(copy, square, [(a, (1, side))], [], [out]),
            torch_call(torch_transposed),
        ),
        walk(
            "abs, matrix transposed",
            copy,
            square,
            [(a, (1, side))],
            lambda x, y: np.abs(x[: side * side].reshape(square).T, out=y),
        ),
        walk(
            "abs, dimensions turned",
            copy,
            cube,
            [(a, (1, edge * edge, edge))],
            lambda x, y: np.abs(x[: edge**3].reshape(cube).transpose(2, 0, 1), out=y),
        ),
        walk(
            "a row of 3 added to (n, 3)",
            add,
            triples,
            [a, (b, (0, 1))],
            lambda x, y: np.add(x[: 3 * triples[0]].reshape(triples), x[:3], out=y),
        ),
        walk(
            "abs, every second element",
            copy,
            (count // 2,),
            [(a, (2,))],
            lambda x, y: np.abs(x[: count // 2 * 2 : 2], out=y),
        ),
    ]


def main() -> None:
    parser = options(__doc__, turns=9)
    parser.add_argument("--elements", type=int, default=1 << 24, help="default: %(default)s")
    arguments = parser.parse_args()
    harness.threads(arguments.threads)
    import tilewright

    with tilewright.init_backend(arguments.device) as be:
        on_cpu = be.name == "cpu"
        torch = torch_beside(be, arguments.threads)
        print(f"{be.device.name}, {arguments.elements} elements; {torch}")
        for row in rows(be, torch.module, torch.where, arguments.elements):
            calls = 2 if on_cpu else 10
            sides = {"tilewright": (row.ours, be.synchronize)}
            for name, call in row.peers.items():
                sides[name] = (call, torch.wait if name in ("torch", "numpy") else be.synchronize)
            ours, ratios = in_turns(sides, arguments.turns, calls)
            rate = row.bytes / ours / 1e9
            print(f"{row.name:28s} {ours * 1e3:8.3f} ms {rate:6.0f} GB/s  {ratios}")


if __name__ == "__main__":
    main()
