"""Virtual environments with the project and its tools in them, kept up to date by stamps."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import system
from shell import BUILD, ROOT, output, run, say, succeeds

# What the installed package is made of.
SOURCES = ("csrc", "cmake", "python", "third_party", "CMakeLists.txt", "pyproject.toml")
# Kept between builds, so that only what has changed is compiled.
BUILD_FOLDER = BUILD / "python"


class Environment:
    """One virtual environment."""

    def __init__(self, path: Path = ROOT / ".venv", interpreter: str = sys.executable) -> None:
        self.path = path
        self.interpreter = interpreter
        self.bin = path / "bin"
        self.python = self.bin / "python"

    def variables(self) -> dict[str, str]:
        """The environment variables of a process that uses this environment."""
        return {
            "VIRTUAL_ENV": str(self.path),
            "PATH": f"{self.bin}{os.pathsep}{os.environ.get('PATH', '')}",
        }

    def run(
        self,
        program: str,
        *arguments: str | Path,
        env: dict[str, str] | None = None,
        check: bool = True,
    ) -> int:
        """Runs a program of this environment."""
        variables = {**self.variables(), **(env or {})}
        return run([self.bin / program, *arguments], env=variables, check=check)

    def pip(self, *arguments: str | Path, env: dict[str, str] | None = None) -> None:
        quiet = ("--disable-pip-version-check", "--quiet")
        self.run("python", "-m", "pip", *arguments, *quiet, env=env)

    def create(self) -> None:
        """Makes the environment if it is not there, is broken, or has a pip without groups."""
        has_pip = "import pip; assert [*map(int, pip.__version__.split('.')[:2])] >= [25, 1]"
        if succeeds([self.python, "-c", has_pip]):
            return
        system.require(system.VENV)
        say(f"making {self.path.relative_to(ROOT)}")
        run([self.interpreter, "-m", "venv", "--clear", self.path])
        self.pip("install", "pip>=25.1")

    def install_build_tools(self) -> None:
        """What a build of the project takes from Python packages."""
        self.install_groups("build")
        self.install_groups("libraries", options=("--no-deps",))

    def install_groups(self, *groups: str, options: Iterable[str] = ()) -> None:
        """Installs dependency groups of pyproject.toml, with options of pip."""
        self.create()
        state = digest(["pyproject.toml"])
        missing = [group for group in groups if not self.is_stamped(group, state)]
        if not missing:
            return
        say(f"installing what {', '.join(missing)} needs")
        self.pip("install", *options, *(f"--group={group}" for group in missing))
        for group in missing:
            self.stamp(group, state)

    def install_project(self, *, with_cpp_tests: bool = False) -> None:
        """Builds the project and installs it; the C++ tests stay in BUILD_FOLDER."""
        system.require(system.CPP, system.PYTHON_HEADERS)
        if with_cpp_tests:
            system.require(system.DOCTEST, system.LEVEL_ZERO)
        self.install_build_tools()
        states = {"project": digest(SOURCES)}
        if with_cpp_tests:
            states["cpp-tests"] = digest([*SOURCES, "tests/cpp"])
        if all(self.is_stamped(name, state) for name, state in states.items()):
            return
        say("building and installing tilewright (some minutes the first time)")
        self.pip(
            "install",
            "--no-build-isolation",
            f"--config-settings=build-dir={BUILD_FOLDER}",
            f"--config-settings=cmake.define.TILEWRIGHT_TESTS={'ON' if with_cpp_tests else 'OFF'}",
            ROOT,
        )
        for name, state in states.items():
            self.stamp(name, state)

    def install_extra(self, extra: str) -> None:
        """Installs what an extra of the project needs, such as "plot"."""
        self.pip("install", f"tilewright[{extra}]")

    def is_stamped(self, name: str, state: str) -> bool:
        stamp = self.path / "stamps" / name
        return stamp.exists() and stamp.read_text() == state

    def stamp(self, name: str, state: str) -> None:
        stamp = self.path / "stamps" / name
        stamp.parent.mkdir(exist_ok=True)
        stamp.write_text(state)

    def package(self) -> Path:
        """The folder of the installed package, which is its CMake prefix too."""
        code = "import importlib.util as u; print(u.find_spec('tilewright').origin)"
        return Path(output([self.python, "-I", "-c", code])).parent


def files(path: Path) -> Iterator[Path]:
    if path.is_file():
        yield path
    elif path.is_dir() and path.name != "__pycache__":
        for entry in sorted(path.iterdir()):
            yield from files(entry)


def digest(paths: Iterable[str]) -> str:
    """One value for the names and contents of all files in paths of the checkout."""
    total = hashlib.sha256()
    for path in paths:
        for file in files(ROOT / path):
            content = hashlib.sha256(file.read_bytes()).hexdigest()
            total.update(f"{file.relative_to(ROOT)} {content}\n".encode())
    return total.hexdigest()
