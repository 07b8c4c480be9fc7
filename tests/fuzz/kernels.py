"""Kernels of one's own in WGSL: programs that are right, and the same with a few words changed."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import tilewright as tw

from .call import Array, Fault
from .draw import Draw

TEXT = """
struct Params {{ {fields} }}
@group(0) @binding(0) var<storage, read> a: array<i32>;
@group(0) @binding(1) var<storage, read> b: array<i32>;
@group(0) @binding(2) var<storage, read_write> c: array<i32>;
var<immediate> params: Params;
const GROUP = {group}u;

fn clipped(x: i32) -> i32 {{ return clamp(x, -1000, {most}); }}

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {{
  let i = id.x;
  if i >= params.n {{ return; }}
  var x = a[i];
  let y = b[i];
  {statements}
  c[i] = x;
}}
"""

OPERATORS: dict[str, Any] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "&": np.bitwise_and,
    "|": np.bitwise_or,
    "^": np.bitwise_xor,
}
CALLS: dict[str, Any] = {"min": np.minimum, "max": np.maximum}


class Program:
    """Statements on x and y, as text and in NumPy."""

    def __init__(self, draw: Draw) -> None:
        self.most = draw.integer(0, 100)
        self.k = draw.integer(-5, 5)
        self.others = [
            draw.one_of(["f32", "vec2<u32>", "vec4<f32>", "i32"]) for _ in range(draw.below(3))
        ]
        self.first = bool(draw.below(2))
        self.group = draw.one_of([64, 1, 3, 32, 100, 256])
        self.todo = [self._statement(draw) for _ in range(draw.integer(1, 6))]

    @staticmethod
    def _statement(draw: Draw) -> tuple[str, str]:
        kind = draw.one_of([*OPERATORS, *CALLS, "clipped", "select", "abs"])
        return kind, draw.one_of(["y", "x", str(draw.integer(-9, 9)), "params.k"])

    @property
    def text(self) -> str:
        fields = ["n: u32", "k: i32"] if self.first else ["k: i32", "n: u32"]
        fields += [f"other{i}: {kind}" for i, kind in enumerate(self.others)]
        words = {
            "clipped": "x = clipped(x);",
            "select": "x = select(x, {}, x < y);",
            "abs": "x = abs(x);",
        }
        lines = [
            words.get(kind, f"x = {kind}(x, {{}});" if kind in CALLS else f"x = x {kind} ({{}});")
            for kind, _ in self.todo
        ]
        statements = "\n  ".join(
            line.format(value) for line, (_, value) in zip(lines, self.todo, strict=True)
        )
        return TEXT.format(
            fields=", ".join(fields), group=self.group, most=self.most, statements=statements
        )

    def params(self, n: int) -> list[Any]:
        zero = {"f32": 0.0, "i32": 0, "vec2<u32>": [0, 0], "vec4<f32>": [0.0] * 4}
        return [*((n, self.k) if self.first else (self.k, n)), *(zero[k] for k in self.others)]

    def run(self, a: Array, b: Array) -> Array:
        x = a.copy()
        for kind, value in self.todo:
            other = {"x": x, "y": b, "params.k": np.int32(self.k)}.get(value)
            if other is None:
                other = np.int32(int(value))
            if kind == "clipped":
                x = np.clip(x, -1000, self.most)
            elif kind == "select":
                x = np.where(x < b, other, x)
            elif kind == "abs":
                x = np.abs(x)
            else:
                x = {**OPERATORS, **CALLS}[kind](x, other)
        return np.asarray(x, np.int32)


def valid(be: tw.Backend, draw: Draw) -> None:
    program, n = Program(draw), draw.size(3000)
    draw.says(program.text)
    a, b = (draw.rng.integers(-(2**31), 2**31, n).astype(np.int32) for _ in range(2))
    if draw.below(2):
        a, b = a % 50 - 25, b % 50 - 25
    c = np.full(n + 20, 77, np.int32)
    x, y, out = be.array(a), be.array(b), be.array(c)
    kernel = be.kernel(program.text, trusted=bool(draw.below(2)))
    grid = -(-n // program.group) + draw.below(3)
    kernel(x, y, out, grid=grid, params=program.params(n))
    c[:n] = program.run(a, b)
    for name, array, expected in (("a", x, a), ("b", y, b), ("c", out, c)):
        got = array.numpy()
        if not np.array_equal(got, expected):
            at = int(np.flatnonzero(got != expected)[0])
            raise Fault(f"{program.text}\n{name}[{at}] is {got[at]}, expected {expected[at]}")


WORDS = ["{", "}", "(", ")", ";", ",", "<", ">", "0", "-1", "4294967296", "1e39", "u32", "i32"]
WORDS += ["array", "vec3", "struct", "fn", "var", "let", "const", "override", "@group(0)", "f16"]
WORDS += ["@binding(9)", "a", "params", "/*", "*/", "//", '"', "\\", "\0", "é", "😀", "enable", "_"]


def changed(draw: Draw, text: str, other: str) -> str:
    """A few words gone, twice there, elsewhere, or others; an end; or the end of `other`."""
    words = re.findall(r"\w+|\s+|[^\w\s]", text)
    for _ in range(draw.integer(1, 2)):
        at = draw.below(len(words))
        kind = draw.below(7)
        if kind == 0:
            del words[at : at + draw.integer(1, 3)]
        elif kind == 1:
            words.insert(at, draw.one_of(WORDS))
        elif kind == 2:
            words[at] = draw.one_of(WORDS)
        elif kind == 3:
            words[at:at] = words[at : at + draw.integer(1, 10)]
        elif kind == 4:
            words[at] = draw.one_of(words)
        elif kind == 5:
            del words[at:]
        else:
            words[at:] = [other[draw.below(len(other)) :]]
        words = words or [" "]
    return "".join(words)


def mutated(be: tw.Backend, draw: Draw) -> bool:
    """Whether it was refused. What compiles runs, within its buffers."""
    program, n = Program(draw), 100
    text = changed(draw, program.text, Program(draw).text)
    draw.says(text)
    before = be.array(np.arange(n, dtype=np.int32))
    arrays = [be.array(np.arange(n, dtype=np.int32)) for _ in range(3)]
    after = be.array(np.arange(n, dtype=np.int32))
    try:
        kernel = be.kernel(text)
    except (tw.KernelError, tw.InvalidArgument, tw.Unsupported):
        return True
    if len(kernel.bindings) > 3:
        return False
    buffers = arrays[: len(kernel.bindings)]
    params = draw.rng.bytes(kernel.params_bytes)
    try:
        kernel(*buffers, grid=draw.integer(0, 5), params=params)
    except (tw.KernelError, tw.InvalidArgument, tw.Unsupported):
        return True
    for array in (before, after):
        if not np.array_equal(array.numpy(), np.arange(n)):
            raise Fault(f"{text}\nwrites what it is not given")
    for array, binding in zip(arrays, kernel.bindings, strict=False):
        if not binding.writable and not np.array_equal(array.numpy(), np.arange(n)):
            raise Fault(f"{text}\nwrites {binding.name}, which it reads")
    return False
