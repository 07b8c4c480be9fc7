"""tilewright tune: which of several kernels for the same op is quickest on this device.

The JSON has the keys `tilewright`, `date`, `device`, `path`, `written`, `interrupted`, `results`
and `rejected`. A result has `case`, `shape`, `dtype`, `point`, `sizes`, `flags`, `rule`, `best`,
`gain` and `seconds` by candidate; what was rejected has `point`, `candidate` (both empty for a
shape that did not run at all), `shape` and `why`.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any

import tilewright
from tilewright import _core

from . import environment
from .options import FAILED, INTERRUPTED, OK, WrongUse, matching, names, seconds, unknown
from .terminal import Painter, Progress, facts
from .tuning import results
from .tuning.process import WorkerFailed
from .tuning.search import Finding, Rejected, Search
from .tuning.shapes import TUNED_DTYPES, Shape, tuned_cases, usual_sizes

HELP = "find the quickest kernels for this device and keep them for later runs"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--device", default="auto", metavar="NAME", help="auto (default), a backend or a device id"
    )
    parser.add_argument(
        "--ops",
        metavar="NAMES",
        help=f"only these, by comma, of {', '.join(case.name for case in tuned_cases())}",
    )
    parser.add_argument(
        "--sizes",
        metavar="SIZES",
        help="instead of the usual ones, by comma: 1000x1000x64 is m x n x k of a gemm",
    )
    parser.add_argument(
        "--dtypes", metavar="NAMES", default=",".join(TUNED_DTYPES), help="default: %(default)s"
    )
    parser.add_argument("--quick", action="store_true", help="one usual size of each")
    parser.add_argument(
        "--timeout",
        type=seconds,
        default=60.0,
        metavar="S",
        help="after which a kernel is given up that does not end (default: 60)",
    )
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--dry-run", action="store_true", help="measure, but keep nothing")
    what.add_argument("--show", action="store_true", help="print what is kept, and end")
    what.add_argument("--reset", action="store_true", help="remove what is kept, and end")
    parser.add_argument("--json", action="store_true", help="print the results as JSON")


def run(arguments: argparse.Namespace) -> int:
    shapes = _shapes(arguments)
    if not environment.known_device(arguments.device):
        raise unknown("device", arguments.device, environment.device_names())
    if arguments.show or arguments.reset:
        return _kept(arguments)
    progress = Progress(len(shapes))
    search = Search(arguments.device, arguments.timeout, progress.show)
    findings: list[Finding] = []
    table = _Table()
    interrupted = False
    try:
        opened = _hello(search)
        shapes = [shape for shape in shapes if shape.dtype in opened["dtypes"]]
        if not arguments.json:
            table.head(opened["device"])
        try:
            for finding in search.findings(shapes):
                findings.append(finding)
                if not arguments.json:
                    progress.clear()
                    table.row(finding)
        except KeyboardInterrupt:
            interrupted = True
    finally:
        progress.clear()
        search.close()
    written = bool(findings) and not arguments.dry_run
    if written:
        _write(opened, findings)
    if arguments.json:
        report = {
            "tilewright": tilewright.__version__,
            "date": datetime.now().astimezone().isoformat(timespec="seconds"),
            "device": opened["device"],
            "path": opened["path"],
            "written": written,
            "interrupted": interrupted,
            "results": [asdict(finding) | {"gain": finding.gain} for finding in findings],
            "rejected": [asdict(rejected) for rejected in search.rejected],
        }
        print(json.dumps(report, indent=2))
    else:
        table.end(findings, search.rejected, opened["path"] if written else "", interrupted)
    if interrupted:
        return INTERRUPTED
    return FAILED if not findings or any(r.candidate for r in search.rejected) else OK


def _shapes(arguments: argparse.Namespace) -> list[Shape]:
    dtypes = names(arguments.dtypes)
    for dtype in dtypes:
        if dtype not in TUNED_DTYPES:
            raise unknown("dtype", dtype, TUNED_DTYPES)
    cases = tuned_cases()
    if arguments.ops is not None:
        cases = matching(names(arguments.ops), cases)
    shapes = []
    for case in cases:
        sizes = usual_sizes(case, arguments.quick)
        if arguments.sizes is not None:
            sizes = [_sizes(text, case.name, len(sizes[0])) for text in names(arguments.sizes)]
        shapes += [Shape(case.name, s, t) for t in case.dtypes if t in dtypes for s in sizes]
    if not shapes:
        raise WrongUse(f"none of these ops has a case in {' or '.join(dtypes)}")
    return shapes


def _sizes(text: str, case: str, wanted: int) -> tuple[int, ...]:
    parts = text.split("x")
    if len(parts) != wanted or not all(part.isdecimal() and int(part) > 0 for part in parts):
        what = f"{wanted} numbers from 1 joined by x"
        raise WrongUse(f'--sizes "{text}" is not {what}, as {case} needs')
    return tuple(map(int, parts))


def _hello(search: Search) -> dict[str, Any]:
    try:
        return search.hello()
    except WorkerFailed as failure:
        raise tilewright.BackendUnavailable(str(failure)) from None


def _write(opened: dict[str, Any], findings: Sequence[Finding]) -> None:
    if not opened["path"]:
        raise WrongUse("there is no folder to keep the results in: set TILEWRIGHT_CACHE_DIR")
    path = Path(opened["path"])
    try:
        kept = results.kept_lines(path, opened["head"]) if opened["loaded"] else {}
        results.write(path, opened["head"], results.merged(kept, findings))
    except OSError as error:
        raise WrongUse(f"cannot write {path}: {error.strerror}") from error


def _kept(arguments: argparse.Namespace) -> int:
    with tilewright.init_backend(arguments.device) as backend:
        choices = _core._choices_of(backend)
        device = backend.device.id
    if choices is None or not choices.path:
        raise WrongUse(f"nothing is kept for {device}")
    path = Path(choices.path)
    there = path.exists()
    taken = choices.loaded is not None
    content = path.read_text(encoding="utf-8", errors="replace") if taken else ""
    if arguments.reset:
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise WrongUse(f"cannot remove {path}: {error.strerror}") from error
    if arguments.json:
        print(json.dumps({"path": str(path), "exists": there, "content": content}, indent=2))
    elif arguments.reset:
        print(f"removed {path}" if there else f"there was no {path}")
    elif not taken:
        print(f"{path}: {'of no use here' if there else 'not there'}")
    else:
        print(f"{path}\n\n{content}", end="")
    return OK


class _Table:
    def __init__(self) -> None:
        self._paint = Painter(sys.stdout)

    def head(self, device: dict[str, Any]) -> None:
        print(self._paint("bold", f"tilewright {tilewright.__version__} tune"))
        rows = {"device": f"{device['id']}  {device['name']}", "driver": device["driver"]}
        print(facts(self._paint, rows, "  "))
        columns = f"{'op':<24}{'shape':<20}{'rule':<16}{'quickest':<16}"
        print(self._paint("bold", f"\n{columns}{'ms':>9}{'gain':>8}"), flush=True)

    def row(self, finding: Finding) -> None:
        name = f"{finding.case} {finding.dtype.replace('float', 'f')}"
        changed = finding.best != finding.rule
        best = self._paint("green", f"{finding.best:<16}") if changed else f"{'the same':<16}"
        gain = f"{finding.gain - 1:+.0%}" if changed else ""
        milliseconds = finding.seconds[finding.best] * 1e3
        print(
            f"{name:<24}{finding.shape:<20}{finding.rule:<16}{best}{milliseconds:>9.3f}{gain:>8}",
            flush=True,
        )

    def end(
        self,
        findings: Sequence[Finding],
        rejected: Sequence[Rejected],
        path: str,
        interrupted: bool,
    ) -> None:
        print()
        for one in rejected:
            what = f"{one.point} {one.candidate}" if one.candidate else "left out"
            print(self._paint("red", f"{what} ({one.shape}): {one.why}"))
        changed = sum(finding.best != finding.rule for finding in findings)
        print(f"{len(findings)} choices measured, {changed} better than the rule's.")
        if interrupted:
            print(self._paint("yellow", "Interrupted: the rest was left out."))
        print(f"Kept in {path}" if path else "Nothing was written.")
