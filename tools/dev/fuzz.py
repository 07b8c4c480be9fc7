"""./dev fuzz: random calls, for a time, on each backend."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import system
import ze_cpu
from project import Environment
from shell import ROOT, say

import tests

BACKENDS = ("cpu", "webgpu", "level-zero")
#: kinds of cases on the trait and its first Arrays, and those on what stands on them
TRAIT = ("valid", "invalid", "array", "wrong_array", "sequence", "limited", "several", "threaded",
         "kernel", "wrong_kernel", "spirv_kernel", "wrong_spirv")  # fmt: skip
ARRAYS = ("namespace", "layers")
#: of the latter, those that every test run repeats
FIRST = {"cpu": 4000, "webgpu": 800, "level-zero": 400}


@dataclass
class Counts:
    """What one backend came to."""

    backend: str
    valid: int = 0
    refused: int = 0
    processes: int = 0
    faults: int = 0


def add_command(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "fuzz",
        help="random calls against NumPy in float64",
        description="Runs random calls, valid and not, in processes of their own, and prints the "
        "smallest call found for each that does what it should not.",
        allow_abbrev=False,
    )
    parser.add_argument(
        "--backend",
        action="append",
        metavar="NAME",
        help="a backend, or a device such as webgpu:0; all of them otherwise",
    )
    parser.add_argument("--minutes", type=float, default=10.0, help="for each backend")
    parser.add_argument("--seed", type=int, default=0, help="another draws other calls (0)")
    parser.set_defaults(call=call, passes_on=False)


def call(options: argparse.Namespace, _: list[str]) -> int:
    environment = Environment()
    environment.install_project()
    environment.install_groups("test")
    counts = run(environment, options.minutes, options.seed, options.backend)
    return int(any(one.faults for one in counts))


def prepared(environment: Environment, wanted: list[str]) -> dict[str, str]:
    """The variables of a run on these backends."""
    variables = os.environ | environment.variables() | tests.WATCHED | tests.ONE_THREAD
    if any(name.startswith("webgpu") for name in wanted):
        system.require(tests.gpu(environment))
    if any(name.startswith("level-zero") for name in wanted):
        variables |= tests.level_zero_driver(environment, with_tests=False)
    return variables


def here() -> list[str]:
    return [name for name in BACKENDS if name != "level-zero" or ze_cpu.RUNS_HERE]


def first_cases(environment: Environment) -> list[Counts]:
    """The same cases of Arrays each time, however quick the machine is."""
    counts = []
    variables = prepared(environment, here())
    for backend in here():
        words = [str(environment.python), "tests/fuzz", "--backend", backend]
        words += ["--case", f"0:{FIRST[backend]}", "--only", ",".join(ARRAYS)]
        print(f"$ {shlex.join(words)}", flush=True)
        done = subprocess.run(
            words, cwd=ROOT, env=variables, capture_output=True, text=True, check=False,
            timeout=1200,
        )  # fmt: skip
        if done.returncode != 0:
            print("\n".join((done.stdout + done.stderr).splitlines()[-60:]))
        counts.append(Counts(backend, processes=1, faults=int(done.returncode != 0)))
    return counts


def run(
    environment: Environment, minutes: float, seed: int = 0, backends: list[str] | None = None,
    only: tuple[str, ...] = (),
) -> list[Counts]:  # fmt: skip
    """All backends at once, of the installed project; each says what it finds as it goes."""
    wanted = backends or here()
    variables = prepared(environment, wanted)
    say(f"{minutes:g} minutes of random calls, seed {seed}, on {', '.join(wanted)}")
    with tempfile.TemporaryDirectory() as folder:
        results = [Path(folder, str(i)) for i in range(len(wanted))]
        running = []
        for backend, file in zip(wanted, results, strict=True):
            words = [str(environment.python), "tests/fuzz", "--backend", backend]
            words += [f"--minutes={minutes}", f"--seed={seed}", f"--results={file}"]
            words += ["--only", ",".join(only)] if only else []
            print(f"$ {shlex.join(words)}", flush=True)
            running.append(subprocess.Popen(words, cwd=ROOT, env=variables))
        codes = [process.wait() for process in running]
        return [
            counted(backend, file, code)
            for backend, file, code in zip(wanted, results, codes, strict=True)
        ]


def counted(backend: str, file: Path, code: int) -> Counts:
    """A run that ended without results is a fault."""
    if not file.exists():
        return Counts(backend, faults=1)
    said = json.loads(file.read_text())
    counts = Counts(backend, **{name: said[name] for name in ("valid", "refused", "processes")})
    counts.faults = max(said["faults"], int(code != 0))
    return counts
