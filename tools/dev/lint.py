"""./dev lint: formats, checks and types, all with pinned tools."""

from __future__ import annotations

import argparse
from pathlib import Path

from project import Environment
from shell import output, say

CPP_SUFFIXES = {".cpp", ".hpp", ".h", ".inc"}
TYPED = (
    *("python/tilewright", "tools/op_table.py", "tools/dev", "examples/python"),
    "cmake/wgsl_to_opencl",
)


def add_command(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "lint",
        help="check formats, types and stubs",
        description="clang-format, ruff, mypy, the stubs of the compiled module and a CMake "
        "configuration without warnings.",
        allow_abbrev=False,
    )
    parser.add_argument("--fix", action="store_true", help="mend what the tools can mend")
    parser.set_defaults(call=call, passes_on=False)


def call(options: argparse.Namespace, _: list[str]) -> int:
    environment = Environment()
    environment.install_project()
    environment.install_groups("lint")
    fix: bool = options.fix
    checks: list[tuple[str, list[str]]] = [
        ("clang-format", ["clang-format", *(["-i"] if fix else ["-n", "-Werror"]), *cpp_files()]),
        ("ruff check", ["ruff", "check", *(["--fix"] if fix else []), "."]),
        ("ruff format", ["ruff", "format", *([] if fix else ["--check"]), "."]),
        # Apart, because programs of different folders share names.
        *((f"mypy {folder}", ["mypy", folder]) for folder in TYPED),
        ("stubs", ["stubtest", "tilewright._core", "--allowlist=tools/dev/stubs.allow"]),
        ("CMake", cmake_configuration(environment)),
    ]
    failed = []
    for name, command in checks:
        say(name)
        if environment.run(str(command[0]), *command[1:], check=False) != 0:
            failed.append(name)
    print(f"lint: {', '.join(failed)} failed" if failed else "lint: no complaints", flush=True)
    return int(bool(failed))


def cpp_files() -> list[str]:
    listed = output(["git", "ls-files", "--cached", "--others", "--exclude-standard"]).splitlines()
    return [name for name in listed if Path(name).suffix in CPP_SUFFIXES]


def cmake_configuration(environment: Environment) -> list[str]:
    return [
        "cmake",
        "--preset=default",
        "--fresh",
        "-Werror=author",
        "--log-level=WARNING",
        f"-DPython_EXECUTABLE={environment.python}",
        "-DTILEWRIGHT_PYTHON=ON",
        "-DTILEWRIGHT_EXAMPLES=ON",
    ]
