"""tilewright bench: every op on one device, checked against NumPy, then timed beside it, or with
--model a decoder.

The JSON has the keys `tilewright`, `date`, `device`, `versions`, `size`, `interrupted` and
`results`. A result has `name`, `op`, `variant`, `group`, `dtype`, `shape`, `status` (ok, wrong,
unsupported or failed), `message`, `error`, `allowed_error`, `seconds`, `numpy_seconds`, `ratio`,
`gflops` and `gbytes`; what was not measured is null.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import tilewright

from . import bench_model, environment, measure, table
from .catalog import CASES, FLOATS, SIZES, Case
from .measure import Outcome
from .options import FAILED, INTERRUPTED, OK, WrongUse, matching, names, seconds, unknown, write
from .terminal import Painter, Progress, width

HELP = "every op on one device: checked against NumPy, timed, and compared with it; or a model"

Job = tuple[Case, str]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--device", default="auto", metavar="NAME", help="auto (default), a backend or a device id"
    )
    parser.add_argument(
        "--ops",
        metavar="NAMES",
        help='only these, by comma: "gemm,softmax", "unary.exp", "conv2d*"; --list shows all',
    )
    parser.add_argument(
        "--dtypes", metavar="NAMES", default=",".join(FLOATS), help="default: %(default)s"
    )
    parser.add_argument(
        "--size", choices=SIZES, default="medium", help="of the inputs (default: medium)"
    )
    parser.add_argument(
        "--seconds",
        type=seconds,
        default=30.0,
        metavar="S",
        help="how long to time in all, besides the checks (default: 30); 0 only checks",
    )
    parser.add_argument(
        "--json",
        nargs="?",
        const="-",
        metavar="FILE",
        help="write the results as JSON; without a file to standard output instead of the table",
    )
    parser.add_argument("--plot", metavar="FILE", help="draw the results into a PNG file")
    parser.add_argument("--list", action="store_true", help="name the ops and end")
    bench_model.add_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    if arguments.model is not None:
        if arguments.json not in (None, "-"):
            _check_folders([Path(arguments.json)])
        return bench_model.run(arguments)
    jobs = _jobs(arguments.ops, arguments.dtypes)
    if arguments.list:
        print("\n".join(dict.fromkeys(case.name for case, _ in jobs)))
        return OK
    if not environment.known_device(arguments.device):
        raise unknown("device", arguments.device, environment.device_names())
    files = [Path(name) for name in (arguments.json, arguments.plot) if name not in (None, "-")]
    _check_folders(files)
    if arguments.plot:
        if arguments.seconds == 0:
            raise WrongUse("--plot draws times: give it --seconds above 0")
        from . import plot  # before the work, since matplotlib may be missing

    with tilewright.init_backend(arguments.device) as backend:
        report = {
            "tilewright": tilewright.__version__,
            "date": datetime.now().astimezone().isoformat(timespec="seconds"),
            "device": environment.device_facts(backend.device),
            "versions": environment.versions(),
            "size": arguments.size,
        }
        outcomes, interrupted = _measure(
            backend, jobs, arguments, report, show=arguments.json != "-"
        )
    report |= {
        "interrupted": interrupted,
        "results": [outcome.as_json() for outcome in outcomes],
    }
    if arguments.json:
        text = json.dumps(report, indent=2) + "\n"
        if arguments.json == "-":
            sys.stdout.write(text)
        else:
            write(Path(arguments.json), text.encode())
    if arguments.plot:
        if any(outcome.seconds for outcome in outcomes):
            write(Path(arguments.plot), plot.draw(report, outcomes))
        else:
            print(f"tilewright: no op was timed, {arguments.plot} not written", file=sys.stderr)
    if interrupted:
        return INTERRUPTED
    return FAILED if any(o.status in ("wrong", "failed") for o in outcomes) else OK


def _measure(
    backend: Any,
    jobs: Sequence[Job],
    arguments: argparse.Namespace,
    report: dict[str, Any],
    show: bool,
) -> tuple[list[Outcome], bool]:
    """Runs the jobs and prints them as they come, until the last one or Ctrl-C."""
    paint = Painter(sys.stdout)
    rows = table.Table(width(), paint)
    progress = Progress(len(jobs))
    outcomes: list[Outcome] = []
    interrupted = False
    start = time.monotonic()
    if show:
        print(table.head(report, paint, width()), flush=True)
    try:
        for done, (case, dtype) in enumerate(jobs):
            progress.show(done, f"{case.name} {dtype}")
            outcome = measure.run(
                backend, case, arguments.size, dtype, arguments.seconds / len(jobs)
            )
            outcomes.append(outcome)
            progress.clear()
            if show:
                print(rows.row(outcome), flush=True)
    except KeyboardInterrupt:
        progress.clear()
        interrupted = True
    if show:
        print(table.summary(outcomes, time.monotonic() - start, paint))
        if interrupted:
            print(paint("yellow", f"Interrupted: {len(jobs) - len(outcomes)} were left out."))
        else:
            print(table.explanation(width(), paint))
    return outcomes, interrupted


def _jobs(ops: str | None, dtypes: str) -> list[Job]:
    wanted_dtypes = names(dtypes)
    for dtype in wanted_dtypes:
        if dtype not in FLOATS:
            raise unknown("dtype", dtype, FLOATS)
    cases = CASES if ops is None else matching(names(ops), CASES)
    jobs = [(case, dtype) for case in cases for dtype in case.dtypes if dtype in wanted_dtypes]
    if not jobs:
        raise WrongUse(f"none of these ops has a case in {' or '.join(wanted_dtypes)}")
    return jobs


def _check_folders(files: Sequence[Path]) -> None:
    """Before the work, which takes a while."""
    for path in files:
        if not path.parent.is_dir():
            raise WrongUse(f"cannot write {path}: {path.parent} is not a folder")
