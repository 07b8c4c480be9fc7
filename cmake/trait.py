"""What the declarations of the trait's ops say, as C++: each op is spelled once, in
csrc/include/tilewright/backend.hpp.

    python trait.py HEADER OPS requests OUTPUT   the requests that have files of their own in OPS
    python trait.py HEADER OPS calls OUTPUT      the public methods of those ops: check, then do
    python trait.py HEADER OPS bindings OUTPUT   every op as a method of Python's Backend
"""

from __future__ import annotations

import keyword
import re
import sys
from dataclasses import dataclass
from pathlib import Path

FIRST, LAST = "// Linear algebra", "// Kernels of one's own"
DECLARATION = re.compile(r"((?:  ///[^\n]*\n)*)  void (\w+)\(([^;]*)\);")


@dataclass(frozen=True)
class Parameter:
    type: str
    name: str
    default: str | None

    @property
    def python_name(self) -> str:
        return f"{self.name}_" if keyword.iskeyword(self.name) else self.name


@dataclass(frozen=True)
class Op:
    name: str
    doc: str
    parameters: list[Parameter]

    @property
    def takes_operands(self) -> bool:
        """Programs, or lists of operands: Python's form of these is written by hand."""
        words = ("Program", "IndexOperand", "span<const MapOperand>")
        return any(word in one.type for one in self.parameters for word in words)


def parts_of(text: str) -> list[str]:
    """What commas part that are not in brackets."""
    parts, depth = [""], 0
    for character in text:
        depth += (character in "<({") - (character in ">)}")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts]


def parameter(text: str) -> Parameter:
    declared, _, default = " ".join(text.split()).partition(" = ")
    kind, _, name = declared.rpartition(" ")
    return Parameter(kind, name.lstrip("&*"), default or None)


def ops_of(header: str) -> list[Op]:
    """The ops, in the order of the header."""
    ops: list[Op] = []
    for comment, name, parameters in DECLARATION.findall(header.split(FIRST)[1].split(LAST)[0]):
        # Of calls without a line between them the first has the comment of all.
        doc = " ".join(line.strip("/ ") for line in comment.splitlines()) or ops[-1].doc
        ops.append(Op(name, doc, [parameter(part) for part in parts_of(parameters)]))
    return ops


def requests(ops: list[Op]) -> str:
    lines = ["#pragma once", "", '#include "core/requests.hpp"']
    return "\n".join([*lines, *(f'#include "core/ops/{op.name}.hpp"' for op in ops), ""])


def calls(ops: list[Op]) -> str:
    lines = ['#include "core/all_requests.hpp"', '#include "tilewright/backend.hpp"', ""]
    lines += ["namespace tilewright {", ""]
    for op in ops:
        declared = ", ".join(f"{one.type} {one.name}" for one in op.parameters)
        given = ", ".join(one.name for one in op.parameters)
        lines += [
            f"void Backend::{op.name}({declared}) {{",
            f'  Call call(*state_, "{op.name}");',
            f"  const auto request = checked_{op.name}(call, {given});",
            "  call.checked();",
            f"  if (request) do_{op.name}(*request);",
            "}",
            "",
        ]
    return "\n".join([*lines, "}  // namespace tilewright", ""])


def bindings(ops: list[Op]) -> str:
    lines = []
    for op in ops:
        arguments = [
            f'arg("{one.python_name}")'
            if one.default is None
            else f'with_default<{one.type}>("{one.python_name}", {one.default})'
            for one in op.parameters
        ]
        lines.append(
            f'def_op(cls, "{op.name}", &Backend::{op.name}, R"({op.doc})",\n'
            f"       {', '.join(arguments)});"
        )
    return "\n".join([*lines, ""])


def main() -> None:
    header, folder, what, output = sys.argv[1:]
    ops = ops_of(Path(header).read_text(encoding="utf-8"))
    own = [op for op in ops if (Path(folder) / f"{op.name}.hpp").exists()]
    strangers = {path.stem for path in Path(folder).glob("*.hpp")} - {op.name for op in own}
    if strangers:
        sys.exit(f"{folder}: {', '.join(sorted(strangers))} is no op that {header} declares")
    text = {
        "requests": lambda: requests(own),
        "calls": lambda: calls(own),
        "bindings": lambda: bindings([op for op in ops if not op.takes_operands]),
    }[what]()
    Path(output).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
