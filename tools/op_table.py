"""Writes the table of ops into README.md: what each backend really computes.

    python tools/op_table.py            write it
    python tools/op_table.py --check    fail where README.md has another one

Every case of the catalog runs at its smallest size in each dtype and is held against NumPy, on the
best device of each backend, one that is emulated in software where there is no other. The column of
a backend that does not open here, or whose device lacks a dtype, stays as README.md has it, and is
named. A wrong result ends the run.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

import tilewright
from tilewright._core import backend_names
from tilewright.cli.catalog import CASES, FLOATS
from tilewright.cli.measure import Outcome, run

README = Path(__file__).resolve().parent.parent / "README.md"
MARKED = re.compile(r"(<!-- ops -->\n)(.*?)(<!-- /ops -->)", re.DOTALL)

Column = Mapping[str, str]
"""What a backend computes, by op."""


class NotHere(Exception):
    """This machine cannot show what a backend computes."""


def table(columns: Mapping[str, Column]) -> str:
    lines = [
        f"| op | cases | {' | '.join(f'`{name}`' for name in columns)} |",
        f"|---|---|{'---|' * len(columns)}",
    ]
    for op in dict.fromkeys(case.op for case in CASES):
        variants = ", ".join(case.variant for case in CASES if case.op == op and case.variant)
        cells = (column.get(op, "") for column in columns.values())
        lines.append(f"| `{op}` | {variants} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def columns_of(text: str) -> dict[str, Column]:
    """What `table` was given."""
    rows = [[cell.strip(" `") for cell in line.strip("|").split("|")] for line in text.splitlines()]
    if not rows:
        return {}
    names, _, *ops = rows
    return {
        name: {cells[0]: cells[place] for cells in ops} for place, name in enumerate(names[2:], 2)
    }


def measured(backend_name: str) -> Column:
    try:
        backend = tilewright.init_backend(backend_name)
    except tilewright.BackendUnavailable as error:
        raise NotHere(str(error)) from error
    with backend:
        stored = {str(dtype) for dtype in backend.capabilities().dtypes}
        if not set(FLOATS) <= stored:
            raise NotHere(f"{backend.device.id}, {backend.device.name}, has no float16")
        outcomes = [
            run(backend, case, "small", dtype, seconds=0) for case in CASES for dtype in case.dtypes
        ]
    for outcome in outcomes:
        if outcome.status in ("wrong", "failed"):
            sys.exit(
                f"{backend_name}: {outcome.name} {outcome.dtype} is {outcome.status}: "
                f"{outcome.message}"
            )
    return {
        op: _cell(outcome for outcome in outcomes if outcome.op == op)
        for op in dict.fromkeys(outcome.op for outcome in outcomes)
    }


def _cell(outcomes: Iterable[Outcome]) -> str:
    """The dtypes, each with the cases that it lacks."""
    by_dtype: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        by_dtype.setdefault(outcome.dtype, []).append(outcome)
    parts = []
    for dtype, same in by_dtype.items():
        lacking = [o.variant or "the plain case" for o in same if o.status == "unsupported"]
        if not lacking:
            parts.append(dtype)
        elif len(lacking) < len(same):
            parts.append(f"{dtype} (not {', '.join(lacking)})")
    return ", ".join(parts) or "no"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    os.environ["TILEWRIGHT_ALLOW_SOFTWARE"] = "1"
    before = README.read_text()
    marked = MARKED.search(before)
    if not marked:
        sys.exit(f"{README.name} has no <!-- ops --> and <!-- /ops --> lines")
    written = columns_of(marked[2])
    columns: dict[str, Column] = {}
    for name in backend_names():
        try:
            columns[name] = measured(name)
        except NotHere as reason:
            if name in written:
                columns[name] = written[name]
                print(f"not compared: {name}: {reason}")
    after = MARKED.sub(lambda marks: marks[1] + table(columns) + marks[3], before)
    if arguments.check and after != before:
        sys.exit(f"the table of ops is out of date: run {sys.executable} tools/op_table.py")
    if not arguments.check:
        README.write_text(after)


if __name__ == "__main__":
    main()
