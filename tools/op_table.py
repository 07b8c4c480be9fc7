"""Writes the table of ops into README.md: what each backend that opens here really computes.

    python tools/op_table.py            write it
    python tools/op_table.py --check    fail where README.md has another one

Every case of the catalog runs at its smallest size in each dtype and is held against NumPy. A
backend that does not open has no column; a wrong result ends the run.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable
from pathlib import Path

import tilewright
from tilewright._core import backend_names
from tilewright.cli.catalog import CASES
from tilewright.cli.measure import Outcome, run

README = Path(__file__).resolve().parent.parent / "README.md"
MARKED = re.compile(r"(<!-- ops -->\n).*?(<!-- /ops -->)", re.DOTALL)


def table() -> str:
    found = {name: outcomes for name in backend_names() if (outcomes := _outcomes(name))}
    lines = [
        f"| op | cases | {' | '.join(f'`{name}`' for name in found)} |",
        f"|---|---|{'---|' * len(found)}",
    ]
    for op in dict.fromkeys(case.op for case in CASES):
        variants = ", ".join(case.variant for case in CASES if case.op == op and case.variant)
        cells = (_cell(o for o in outcomes if o.op == op) for outcomes in found.values())
        lines.append(f"| `{op}` | {variants} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _outcomes(backend_name: str) -> list[Outcome]:
    """Nothing where the backend does not open."""
    try:
        backend = tilewright.init_backend(backend_name)
    except tilewright.BackendUnavailable:
        return []
    with backend:
        outcomes = [
            run(backend, case, "small", dtype, seconds=0) for case in CASES for dtype in case.dtypes
        ]
    for outcome in outcomes:
        if outcome.status in ("wrong", "failed"):
            sys.exit(
                f"{backend_name}: {outcome.name} {outcome.dtype} is {outcome.status}: "
                f"{outcome.message}"
            )
    return outcomes


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
    before = README.read_text()
    if not MARKED.search(before):
        sys.exit(f"{README.name} has no <!-- ops --> and <!-- /ops --> lines")
    after = MARKED.sub(lambda marks: marks[1] + table() + marks[2], before)
    if arguments.check and after != before:
        sys.exit(f"the table of ops is out of date: run {sys.executable} tools/op_table.py")
    if not arguments.check:
        README.write_text(after)


if __name__ == "__main__":
    main()
