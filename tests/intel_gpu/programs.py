"""Kernels of programs, which are made as they run, as files: the driver on the CPU keeps them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

CODE = """
import pathlib, sys
import tilewright
from tilewright import Program

folder = pathlib.Path(sys.argv[1])
be = tilewright.init_backend("level-zero:0")
n = 1 << 12
inputs = [be.alloc(8 * n) for _ in range(3)]
output = be.alloc(8 * n)

def keep(name, program, shape=(n,), strides=(1,)):
    before = set(folder.glob("*.spv"))
    count = len(program.inputs)
    be.map(program, shape, [(b, strides) for b in inputs[:count]], [], [(output, strides)])
    (made,) = set(folder.glob("*.spv")) - before
    made.rename(folder / f"program.{name}.spv")

def program_of(op, dtype):
    program = Program()
    count = Program._operands(op)
    program.output(program.apply(op, *(
        program.input("bool" if op == "where" and i == 0 else dtype) for i in range(count)
    )))
    return program

for op in Program.ops():
    try:
        keep(f"OP={op}", program_of(op, "float32"))
    except tilewright.InvalidArgument:
        keep(f"OP={op}", program_of(op, "int32"))
for op in ("floor_divide", "pow", "max"):
    # Of the smallest elements a work-item makes the most.
    for dtype in ("int64", "int8", "int16", "bfloat16", "float16"):
        keep(f"OP={op}.T={dtype}", program_of(op, dtype))

# More values than registers hold, if they were all kept until the end.
chain = Program()
x = chain.input()
values = [(x * float(i)).exp() for i in range(40)]
total = values[0]
for one in values[1:]:
    total = total + one
chain.output(total)
keep("chain", chain)
keep("chain.WALK=rows", chain, (64, 32), (48, 1))
keep("chain.WALK=strided", chain, (8, 8, 9), (90, 10, 1))

# A launch of many parameters of an optimiser.
before = set(folder.glob("*.spv"))
with tilewright.device(be):
    params = [tilewright.zeros(n) for n in range(1, 16)]
    tilewright.nn.optim.AdamW(params, amsgrad=True).step([tilewright.ones(n) for n in range(1, 16)])
for i, made in enumerate(sorted(set(folder.glob("*.spv")) - before)):
    made.rename(folder / f"program.many.PART={i}.spv")
"""


def made(folder: Path) -> list[Path]:
    """The modules of programs of each op alone, and of long ones."""
    kept = folder / "programs"
    kept.mkdir()
    variables = {"ZE_CPU_MODULES": str(kept), "TILEWRIGHT_CACHE_DIR": str(folder / "cache")}
    subprocess.run(
        [sys.executable, "-c", CODE, kept],
        env={**os.environ, **variables},
        check=True,
        timeout=900,
    )
    return sorted(kept.glob("program.*.spv"))
