"""tilewright doctor: for each backend, what works here, what is missing, and what mends it.

The JSON has the keys `works` (whether the default device computes), `default` (its id, or null) and
`checks`, each with `backend`, `what`, `ok`, `found` and `mend` (empty where nothing is to do).
Checks of a backend that this machine or build lacks do not make the command fail.
"""

from __future__ import annotations

import argparse
import difflib
import json
import os
import sys
import textwrap
from dataclasses import asdict
from typing import Any

import numpy as np

import tilewright
from tilewright._core import backend_names

from . import drivers, environment, machine
from .catalog import CASES
from .check import Check
from .measure import run as run_case
from .options import FAILED, OK
from .terminal import Painter, width

HELP = "what each backend lacks on this machine, and the command that mends it"
_REINSTALL = f"{os.path.basename(sys.executable)} -m pip install --force-reinstall tilewright"
_UNKNOWN_LIMIT = 2**64 - 1
_NO_GPU = "no GPU with Vulkan"
_NO_LEVEL_ZERO = ("the Level Zero loader", "level-zero: no driver", "level-zero: no device")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print the findings as JSON")


def run(arguments: argparse.Namespace) -> int:
    checks = _settings()
    for name in backend_names():
        checks += _backend(name)
    default = environment.auto_choice()
    works = default["id"] is not None and all(
        check.ok for check in checks if check.backend == default["id"].partition(":")[0]
    )
    checks += _way_to_a_gpu()
    if arguments.json:
        report = {
            "works": works,
            "default": default["id"],
            "checks": [asdict(check) for check in checks],
        }
        print(json.dumps(report, indent=2))
    else:
        print(_text(checks, default, works))
    return OK if works else FAILED


def _settings() -> list[Check]:
    checks = []
    for name, value in environment.set_variables().items():
        if name in environment.VARIABLES:
            found = f"{name}={value}: {environment.VARIABLES[name]}"
            if fault := _fault(name, value):
                checks.append(
                    Check("settings", "variable", False, f"{found}; {fault}", f"unset {name}")
                )
            else:
                checks.append(Check("settings", "variable", True, found))
        else:
            close = difflib.get_close_matches(name, environment.VARIABLES, 1)
            hint = f"; did you mean {close[0]}?" if close else ""
            found = f"{name} is not read by tilewright{hint}"
            checks.append(Check("settings", "variable", False, found, f"unset {name}"))
    return checks


def _fault(name: str, value: str) -> str:
    """Why a library that a variable names cannot be one, whether a backend opens it here or not. A
    name without a folder is looked for by the system."""
    if not name.endswith("_LIBRARY") or not value or os.path.basename(value) == value:
        return ""
    if not os.path.isfile(value):
        return "there is no such file"
    try:
        with open(value, "rb") as file:
            start = file.read(4)
    except OSError as error:
        return f"it cannot be read ({error.strerror})"
    is_library = start == b"\x7fELF" or not sys.platform.startswith("linux")
    return "" if is_library else "it is no shared library"


def _way_to_a_gpu() -> list[Check]:
    """Why webgpu finds no hardware, where its library opens and it finds none."""
    devices = [device for device in tilewright.devices() if device.backend == "webgpu"]
    if all(device.available or _NO_GPU in device.reason for device in devices):
        return drivers.checks(machine.look(), devices)
    return []


def _backend(name: str) -> list[Check]:
    checks = []
    for device in tilewright.devices():
        if device.backend != name:
            continue
        if not device.available:
            checks.append(Check(name, "device", False, device.reason, _mend(device.reason)))
            continue
        checks.append(Check(name, "device", True, f"{device.id}, {device.name}"))
        checks += _device(device)
    return checks


def _device(device: Any) -> list[Check]:
    checks = []
    if device.implementation:
        found = f"{device.implementation}: {device.implementation_why}"
        checks.append(Check(device.backend, "through", True, found))
    if device.features:
        checks.append(Check(device.backend, "features", True, ", ".join(device.features)))
    if device.matrix_shapes:
        found = "; ".join(device.matrix_shapes)
        checks.append(Check(device.backend, "matrices", True, found))
    try:
        with tilewright.init_backend(device.id) as backend:
            if device.backend == "cpu":
                checks.append(_threads(device))
            checks.append(_memory(backend))
            checks += [_op(backend, op) for op in ("gemm", "unary.exp")]
    except tilewright.Error as error:
        checks.append(Check(device.backend, "opens", False, str(error), _mend(str(error))))
    return checks


def _threads(device: Any) -> Check:
    used = device.limits["threads"]
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    found = f"{used} for {usable} usable processors"
    return Check(device.backend, "threads", True, found)


def _memory(backend: Any) -> Check:
    """One buffer, written and read back."""
    sent = np.arange(1 << 16, dtype=np.int32)
    received = np.empty_like(sent)
    buffer = backend.alloc(sent.nbytes)
    backend.copy_htod(buffer, sent)
    backend.copy_dtoh(received, buffer)
    backend.free(buffer)
    limit = backend.memory_stats().limit_bytes
    same = bool(np.array_equal(sent, received))
    found = f"{environment.bytes_text(limit)} may be used"
    if limit == _UNKNOWN_LIMIT:
        found = "the device does not say how much may be used"
    if not same:
        found = "a buffer came back changed"
    return Check(backend.name, "memory", same, found, "" if same else _REINSTALL)


def _op(backend: Any, name: str) -> Check:
    """A small case of the catalog, held against NumPy. For the CPU's gemm that loads OpenBLAS."""
    case = next(case for case in CASES if case.name == name)
    outcome = run_case(backend, case, "small", "float32", 0)
    ok = outcome.status == "ok"
    found = f"right, error {outcome.error:.0e}" if ok else f"{outcome.status}: {outcome.message}"
    return Check(backend.name, name, ok, found, "" if ok else _mend(outcome.message))


def _mend(reason: str) -> str:
    """The command for a reason that names none itself."""
    for variable in (*environment.VARIABLES, "ZE_ENABLE_ALT_DRIVERS"):
        if variable in reason and os.environ.get(variable):
            return f"unset {variable}"
    if any(words in reason for words in _NO_LEVEL_ZERO):
        return drivers.level_zero_mend(machine.look(), reason)
    if "does not contain" in reason or _NO_GPU in reason or reason.startswith("level-zero:"):
        return ""
    return _REINSTALL


def _lines(check: Check, paint: Painter) -> list[str]:
    mark = paint("green", "ok     ") if check.ok else paint("yellow", "missing")
    found = textwrap.wrap(check.found, max(width() - 22, 40)) or [""]
    lines = [f"  {mark}  {check.what:<9}  {found[0]}"]
    lines += [" " * 22 + line for line in found[1:]]
    if check.mend:
        lines.append(" " * 22 + f"to mend it: {paint('cyan', check.mend)}")
    return lines


def _text(checks: list[Check], default: dict[str, str | None], works: bool) -> str:
    paint = Painter(sys.stdout)
    lines: list[str] = []
    for backend in dict.fromkeys(check.backend for check in checks):
        lines.append(paint("bold", backend))
        for check in checks:
            if check.backend == backend:
                lines += _lines(check, paint)
        lines.append("")
    if works:
        lines.append(paint("green", f"Ready: auto takes {default['id']} ({default['why']})."))
    elif default["id"] is None:
        lines.append(paint("red", f"Not ready: {default['why']}"))
    else:
        lines.append(paint("red", f"Not ready: {default['id']}, which auto takes, has a fault."))
    return "\n".join(lines)
