"""python tests/fuzz: random calls, for a time or by their numbers."""

from __future__ import annotations

import argparse
import dataclasses
import faulthandler
import json
import os
import sys
import traceback
from pathlib import Path

import tilewright as tw

from . import batch, supervise
from .call import Fault
from .process import limit_address_space


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python tests/fuzz",
        description="Random calls, valid and not, against NumPy in float64: for some minutes, in "
        "processes of their own, or the cases of these numbers in this process.",
        allow_abbrev=False,
    )
    parser.add_argument("--backend", default="cpu", help="a backend's name, or a device's id")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--case", help="numbers, by comma, or FIRST:PAST")
    parser.add_argument("--choices", help="of the one case, instead of those of its seed")
    parser.add_argument("--only", default="", help="names of calls, by comma")
    parser.add_argument("--results", type=Path, help="a file for the counts")
    options = parser.parse_args()
    only = tuple(filter(None, options.only.split(",")))
    if options.case is None:
        found = supervise.run(options.backend, options.minutes, options.seed, only)
        if options.results is not None:
            options.results.write_text(json.dumps(dataclasses.asdict(found)))
        return int(found.faults > 0)
    cases = supervise.numbers(options.case)
    choices = None if options.choices is None else supervise.numbers(options.choices)
    return here(options.backend, options.seed, cases, choices, only)


def here(
    device: str, seed: int, cases: list[int], choices: list[int] | None, only: tuple[str, ...]
) -> int:
    """Says on stdout which case begins, and at the end what was wrong."""
    faulthandler.enable()
    faulthandler.register(supervise.SHOW_THREADS)
    os.environ.setdefault("TILEWRIGHT_ALLOW_SOFTWARE", "1")
    with tw.init_backend(device) as be:
        try:
            with batch.bench(be) as bench:
                bench.only = only
                limit_address_space(supervise.ADDRESS_SPACE)
                for case, draw in batch.run(bench, seed, cases, choices):
                    print(f"case {case} {bench.counts['valid']} {bench.counts['refused']}")
                    if len(cases) == 1:
                        draw.on_choice = lambda value: print(f"choice {value}", flush=True)
                    draw.on_about = lambda about: print(about, flush=True)
                    sys.stdout.flush()
            batch.check_nothing_left(be)
        except Fault as fault:
            print(f"fault\n{fault}")
            if fault.__cause__ is not None:
                traceback.print_exception(fault.__cause__, file=sys.stdout)
            return 1
    print(f"end {bench.counts['valid']} {bench.counts['refused']}", flush=True)
    return 0
