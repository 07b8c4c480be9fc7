"""./dev bench: the benchmark programs of benchmarks/."""

from __future__ import annotations

import argparse
from pathlib import Path

import system
from project import Environment
from shell import BUILD, ROOT, Failed, run, say, succeeds

PYTHON = ROOT / "benchmarks/python"
CPP = ROOT / "benchmarks/cpp"


def add_command(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    names = ", ".join(sorted({path.stem for path in programs()}))
    parser = commands.add_parser(
        "bench",
        help="run the benchmarks",
        description=f"Runs all benchmarks or the named ones: {names}. Further options, written "
        "--name=value, go to the programs.",
        allow_abbrev=False,
    )
    parser.add_argument("which", nargs="*", metavar="WHICH", help="names; all if none is given")
    parser.add_argument(
        "--peers",
        action="store_true",
        help="install what they compare with: torch, whose default build for Linux is several "
        "gigabytes (docs/building.md has the small one). Without it, its columns are left out",
    )
    parser.set_defaults(call=call, passes_on=True)


def programs() -> list[Path]:
    """The files of benchmarks/ that are programs; the others are what those share."""
    python = [path for path in sorted(PYTHON.glob("*.py")) if "__main__" in path.read_text()]
    return [*python, *sorted(CPP.glob("*.cpp"))]


def call(options: argparse.Namespace, rest: list[str]) -> int:
    known = programs()
    unknown = set(options.which) - {path.stem for path in known}
    if unknown:
        raise Failed(f"no benchmark is called {', '.join(sorted(unknown))} (see ./dev bench -h)")
    chosen = [path for path in known if path.stem in options.which or not options.which]
    environment = Environment()
    environment.install_project()
    if options.peers:
        environment.install_groups("peers")
    if any(path.parent == CPP for path in chosen):
        build_cpp(environment)
    if not succeeds([environment.python, "-c", "import torch"]):
        print("torch is not installed, so nothing is compared with it (--peers installs it)")
    failed = []
    for path in chosen:
        say(str(path.relative_to(ROOT)))
        if path.parent == CPP:
            code = run(
                [BUILD / "with-benchmarks/lib" / f"benchmark_{path.stem}", *rest], check=False
            )
        else:
            code = environment.run("python", path, *rest, check=False)
        if code != 0:
            failed.append(path.name)
    if failed:
        raise Failed(f"failed: {', '.join(failed)}")
    return 0


def build_cpp(environment: Environment) -> None:
    system.require(system.CPP, system.BENCHMARK)
    python = f"-DPython_EXECUTABLE={environment.python}"
    environment.run("cmake", "--preset", "with-benchmarks", python)
    environment.run("cmake", "--build", "--preset", "with-benchmarks")
