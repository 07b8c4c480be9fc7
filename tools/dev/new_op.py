"""./dev new-op: the line and the row of an elementwise op, or the files of one with a kernel."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import new_kernel_op
from shell import ROOT, Failed

TABLE = Path("csrc/core/program/elementwise.def")
REFERENCES = Path("tests/conformance/map_references.py")
FUNCTIONS = (
    "csrc/cpu/kernels/program_functions.hpp",
    "csrc/kernels/opencl/program_functions.h",
    "csrc/kernels/wgsl/program_functions.wgsl",
)

# What an op of each rule of core/program/rules.hpp is held against.
ROWS = {
    "numeric": "Reference(NUMBERS, {numpy})",
    "real": "_real({numpy}, 2)",
    "whole": "Reference(INTEGERS, {numpy})",
    "bits": "Reference(BITS, {numpy})",
    "test": "_test({numpy})",
    "compare": "Reference(ALL, {numpy}, gives_bool=True)",
    "order": "Reference(NUMBERS, {numpy}, gives_bool=True)",
}


def add_command(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "new-op",
        help="write an op: the files of one with a kernel, or the lines of an elementwise one",
        description="Adds an op with a kernel of its own: its files, which copy elements on every "
        "backend, to go on from. With --elementwise, adds an elementwise op, for every dtype that "
        "its rule takes: one line of the table, and one row of its test. For instance "
        "`./dev new-op squash --elementwise real 'divide(a, magnitude(a) + 1)' "
        "--numpy 'lambda x: x / (1 + np.abs(x))'`.",
        allow_abbrev=False,
    )
    parser.add_argument("name", help="in small letters, digits and _")
    parser.add_argument(
        "--elementwise",
        nargs=2,
        metavar=("RULE", "SPELLING"),
        help=f"one of {', '.join(ROWS)}, and one expression of a, b and c",
    )
    parser.add_argument("--numpy", help="what it gives, as NumPy has it (np.NAME)")
    parser.add_argument("--root", type=Path, default=ROOT, help=argparse.SUPPRESS)
    parser.set_defaults(call=call, passes_on=False)


def call(options: argparse.Namespace, _: list[str]) -> int:
    if options.elementwise is None:
        if options.numpy is not None:
            raise Failed("--numpy says what an elementwise op gives; leave it out, or add one")
        new_kernel_op.write(options.root, options.name)
        return 0
    rule, spelling = options.elementwise
    write(options.root, options.name, rule, spelling, options.numpy)
    return 0


def operands_of(spelling: str) -> int:
    used = set(re.findall(r"\b[abc]\b", spelling))
    wanted = {"a", "b", "c"} - used
    if "a" in wanted or ("b" in wanted and "c" in used):
        raise Failed(f"the spelling is {spelling!r}, expected one of a, or of a and b, or of all")
    return len(used)


def functions_of(spelling: str) -> list[str]:
    return sorted(set(re.findall(r"\b([a-z]\w*)\(", spelling)))


def write(root: Path, name: str, rule: str, spelling: str, numpy: str | None) -> None:
    """Writes both files, or neither."""
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        raise Failed(f"the name is {name!r}, expected small letters, digits and _")
    if rule not in ROWS:
        raise Failed(f"the rule is {rule!r}, expected one of {', '.join(ROWS)}")
    table, references = root / TABLE, root / REFERENCES
    lines, rows = table.read_text(), references.read_text()
    if re.search(rf"^OP\({name},", lines, re.MULTILINE):
        raise Failed(f"there is an op {name} in {TABLE} already; take another name")
    line = f"OP({name}, {operands_of(spelling)}, {rule}, {spelling})\n"
    row = f'    "{name}": {ROWS[rule].format(numpy=numpy or f"np.{name}")},\n'
    end = rows.index("\n}\n", rows.index("REFERENCES:")) + 1
    table.write_text(lines.rstrip("\n") + "\n" + line)
    references.write_text(rows[:end] + row + rows[end:])
    print(f"{TABLE}: {line}{REFERENCES}: {row.strip()}")
    for function in functions_of(spelling):
        lacking = [
            file for file in FUNCTIONS if not is_there(root / Path(file).parent, file, function)
        ]
        if lacking:
            print(f"{function} is not in {', '.join(lacking)}: write it there")
    print(
        "Then: ./dev test tests/conformance/test_map.py; say in the row how many units in the last "
        "place the result may be off."
    )


def is_there(folder: Path, file: str, function: str) -> bool:
    """Whether a library of functions has one of this name, in itself or in what it includes."""
    pattern = re.compile(rf"\b{function}(_\w+|\()")
    suffix = Path(file).suffix
    return any(pattern.search(one.read_text()) for one in folder.glob(f"*{suffix}"))
