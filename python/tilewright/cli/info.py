"""tilewright info: devices and versions, the report that a bug report can quote.

The JSON has the keys `versions`, `devices` (each as DeviceInfo), `tuning` (by device the `path`
of its file of results and how many `choices` it gave, null for none), `auto` (`id`, null where
nothing can be used, and `why`), `variables` (the TILEWRIGHT_ ones that are set) and `folders`.
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

import tilewright

from . import environment
from .options import OK
from .terminal import Painter, facts

HELP = "devices, versions and settings, as a bug report needs them"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--json", action="store_true", help="print the report as JSON")
    for option, content in (
        ("cmake-dir", "the folder for -Dtilewright_DIR, which find_package(tilewright) needs"),
        ("include-dir", "the folder of the C++ headers"),
        ("library-dir", "the folder of the C++ library"),
    ):
        what.add_argument(
            f"--{option}",
            dest="folder",
            action="store_const",
            const=option,
            help=f"print only {content}",
        )


def run(arguments: argparse.Namespace) -> int:
    if arguments.folder:
        print(environment.folders()[arguments.folder])
        return OK
    report = collect()
    print(json.dumps(report, indent=2) if arguments.json else _text(report))
    return OK


def collect() -> dict[str, Any]:
    return {
        "versions": environment.versions(),
        "devices": [environment.device_facts(device) for device in tilewright.devices()],
        "tuning": environment.tuning(),
        "auto": environment.auto_choice(),
        "variables": environment.set_variables(),
        "folders": {name: str(path) for name, path in environment.folders().items()},
    }


def _text(report: dict[str, Any]) -> str:
    paint = Painter(sys.stdout)
    versions = dict(report["versions"])
    lines = [paint("bold", f"tilewright {versions.pop('tilewright')}")]
    versions["numpy"] += f" ({versions.pop('numpy_blas')})"
    versions["package"] = str(environment.package_folder())
    lines += [facts(paint, versions, "  "), "", paint("bold", "devices")]
    for device in report["devices"]:
        tuning = report["tuning"].get(device["id"])
        lines += _device(device, tuning, device["id"] == report["auto"]["id"], paint)
    auto = report["auto"]
    lines += ["", f"{paint('bold', 'auto')} takes {auto['id'] or 'nothing'}: {auto['why']}"]
    if report["variables"]:
        lines += ["", paint("bold", "variables"), facts(paint, report["variables"], "  ")]
    return "\n".join(lines)


def _device(
    device: dict[str, Any], tuning: dict[str, Any] | None, chosen: bool, paint: Painter
) -> list[str]:
    mark = paint("green", "*") if chosen else " "
    if not device["available"]:
        state = paint("yellow", "not available")
        return [f"{mark} {device['id']}  {state}: {device['reason']}"]
    rows = {
        "kind": device["kind"],
        "driver": device["driver"],
        "memory": environment.bytes_text(device["memory_bytes"]),
        "through": _implementation(device),
        "features": ", ".join(device["features"]),
        "matrices": "; ".join(device["matrix_shapes"]),
        "limits": ", ".join(f"{name} {value}" for name, value in device["limits"].items()),
        "tuning": _tuning(tuning),
    }
    shown = {name: value for name, value in rows.items() if value}
    return [f"{mark} {device['id']}  {device['name']}", facts(paint, shown, "    ")]


def _implementation(device: dict[str, Any]) -> str:
    if not device["implementation"]:
        return ""
    return f"{device['implementation']}: {device['implementation_why']}"


def _tuning(tuning: dict[str, Any] | None) -> str:
    if tuning is None:
        return ""
    if tuning["choices"] is None:
        return "none (tilewright tune finds the quickest kernels)"
    return f"{tuning['choices']} kernels chosen by {tuning['path']}"
