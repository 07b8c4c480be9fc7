"""An op that ./dev new-op writes, built with the project: its tests pass on every backend."""

from __future__ import annotations

import filecmp
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import tilewright
from suite import passed

ROOT = Path(__file__).resolve().parents[2]
# Where ./dev builds. Absent where a wheel is tested.
BUILD = ROOT / "build/python"
TOOLS = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
NAME = "twice_over"
# The tests that take a call's arguments from its own test, and draw calls of it.
SHARED = ("views", "record", "zero_sizes", "errors", "supports", "fuzz")


def run(*command: str | Path) -> str:
    done = subprocess.run(
        [*map(str, command)], env={**os.environ, "PATH": TOOLS}, text=True, check=False,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-10_000:]
    return done.stdout


class Built:
    """What ./dev has built of the project, beside a build of a changed copy in another folder."""

    def __init__(self, copy: Path, own: Path) -> None:
        self.copy, self.own = copy, own
        self.inputs: dict[str, list[str]] = {}
        self.known: dict[str, bool] = {}
        cache = BUILD / "CMakeCache.txt"
        home = f"CMAKE_HOME_DIRECTORY:INTERNAL={ROOT}\n"
        if not cache.exists() or home not in cache.read_text():
            return
        known = run("ninja", "-C", BUILD, "-t", "deps").replace(f"{BUILD}/", "")
        for line in known.splitlines():
            built, is_heading, _ = line.partition(": #deps ")
            if is_heading:
                inputs = self.inputs.setdefault(built, [])
            elif line.startswith(" "):
                inputs.append(line.strip())
        # What all objects of a target begin with, the compiler does not list.
        for built, inputs in self.inputs.items():
            header = f"{built.partition('.dir/')[0]}.dir/cmake_pch.hxx.gch"
            if built.endswith(".o") and header in self.inputs:
                inputs.append(header)

    def share(self) -> int:
        """Puts what the copy would make alike into its build; how much that is."""
        alike = [
            built for built in self.inputs
            if built.startswith("csrc/") and built.endswith((".cpp.o", ".cpp")) and self.same(built)
        ]  # fmt: skip
        for built in alike:
            (self.own / built).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(BUILD / built, self.own / built)
        return len(alike)

    def same(self, name: str) -> bool:
        """Of a file that is there, or that was made of those that are."""
        if name not in self.known:
            made = self.made_alike(name) if name in self.inputs else None
            self.known[name] = self.equal(name) if made is None else made
        return self.known[name]

    def made_alike(self, name: str) -> bool:
        made = BUILD / name
        return made.exists() and all(
            (BUILD / one).stat().st_mtime <= made.stat().st_mtime and self.same(one)
            for one in self.inputs[name]
        )

    def equal(self, name: str) -> bool:
        file = BUILD / name
        if not file.is_relative_to(ROOT):
            return True
        is_made = file.is_relative_to(BUILD)
        other = self.own / name if is_made else self.copy / file.relative_to(ROOT)
        if not other.exists():
            # Not made yet; or not of the copy, as what is installed beside the project.
            return not is_made
        return filecmp.cmp(file, other, shallow=False)


@pytest.mark.exhaustive
def test_an_op_with_a_kernel(tmp_path: Path) -> None:
    """In a copy of the tree. What the op does not change is taken from the project's own build,
    where there is one. The rest is not optimised, which compiles sooner."""
    copy, own = tmp_path / "copy", tmp_path / "build"
    shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns("build", "dist", ".*", "__pycache__"))
    run(sys.executable, "-B", ROOT / "tools/dev", "new-op", NAME, "--root", copy)
    # With make, which goes by times alone: ninja makes again what it has not made itself.
    run(
        "cmake", "-S", copy, "-B", own, "-G", "Unix Makefiles", "-DTILEWRIGHT_PYTHON=ON",
        f"-DPython_EXECUTABLE={sys.executable}",
        "-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_CXX_FLAGS_DEBUG=-O0 -DNDEBUG",
    )  # fmt: skip
    built = Built(copy, own)
    shared = built.share()
    assert shared > 0 or not built.inputs, "nothing was taken from the build that is there"
    run("cmake", "--build", own, "--target", "_core", "--parallel", str(os.cpu_count()))
    tests = copy / "tests/conformance"
    backends = sorted({device.backend for device in tilewright.devices() if device.available})
    files = [tests / f"test_{one}.py" for one in (NAME, *SHARED)]
    # A backend that is named must be there, and each of these tests runs on all of them.
    assert passed(",".join(backends), *files, "-k", NAME, PYTHONPATH=str(own / "python")) > 0
