"""./dev bench: the benchmark programs of benchmarks/."""

from __future__ import annotations

import argparse
from pathlib import Path

import system
from project import Environment
from shell import BUILD, ROOT, Failed, run, say, succeeds

PYTHON = ROOT / "benchmarks/python"
CPP = ROOT / "benchmarks/cpp"
BUILT = BUILD / "with-benchmarks/benchmarks/cpp"


def add_command(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "bench",
        help="run the benchmarks",
        description=f"Runs all benchmarks or the named ones: {', '.join(programs())}.",
        allow_abbrev=False,
    )
    parser.add_argument("which", nargs="*", metavar="WHICH", help="names; all if none is given")
    parser.add_argument(
        "--peers",
        action="store_true",
        help="install what they compare with: torch, whose default build for Linux is several "
        "gigabytes (docs/building.md has the small one). Without it, its columns are left out",
    )
    parser.set_defaults(call=call, passes_on=False)


def programs() -> dict[str, Path]:
    """The benchmarks by name; what starts with an underscore is shared code."""
    files = [*sorted(PYTHON.glob("*.py")), *sorted(CPP.glob("*.cpp"))]
    return {path.stem: path for path in files if not path.name.startswith("_")}


def call(options: argparse.Namespace, _: list[str]) -> int:
    known = programs()
    unknown = [name for name in options.which if name not in known]
    if unknown:
        raise Failed(f"no benchmark is called {', '.join(unknown)}; there are {', '.join(known)}")
    chosen = {name: known[name] for name in options.which or known}
    environment = Environment()
    environment.install_project()
    if options.peers:
        environment.install_groups("peers")
    if any(path.parent == CPP for path in chosen.values()):
        build_cpp(environment)
    if not succeeds([environment.python, "-c", "import torch"]):
        print("torch is not installed, so nothing is compared with it (--peers installs it)")
    failed = []
    for name, path in chosen.items():
        say(name)
        if path.parent == CPP:
            code = run([BUILT / name], check=False)
        else:
            code = environment.run("python", path, check=False)
        if code != 0:
            failed.append(name)
    if failed:
        raise Failed(f"failed: {', '.join(failed)}")
    return 0


def build_cpp(environment: Environment) -> None:
    system.require(system.CPP, system.BENCHMARK)
    python = f"-DPython_EXECUTABLE={environment.python}"
    environment.run("cmake", "--preset", "with-benchmarks", python)
    environment.run("cmake", "--build", "--preset", "with-benchmarks")
