"""What holds for every test, and interpreters of their own for what could end a process."""

from __future__ import annotations

import os
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

# Mesa's layer that sorts the devices writes errors to stderr where no display server is found.
os.environ.setdefault("NODEVICE_SELECT", "1")
# Before anything imports SciPy, Dask for one.
os.environ["SCIPY_ARRAY_API"] = "1"

HERE = Path(__file__).parent

Run = Callable[..., subprocess.CompletedProcess[str]]


# Where each device has families of cases, of which `./dev test` runs one in so many.
SAMPLED = {HERE / "conformance": 4, HERE / "webgpu": 3}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Of a test's cases `./dev test` runs one in n of each device, drawn by name, and at least one;
    the others are exhaustive. n is what the test is marked with, sampled(n), or SAMPLED's of its
    folder."""
    families: dict[tuple[str, str, str], list[pytest.Function]] = {}
    for item in items:
        if not isinstance(item, pytest.Function) or not hasattr(item, "callspec"):
            continue
        if share_of(item) > 1 and not item.get_closest_marker("exhaustive"):
            device = str(item.callspec.params.get("device", ""))
            families.setdefault((item.module.__name__, item.originalname, device), []).append(item)
    for cases in families.values():
        drawn = sorted(cases, key=lambda case: zlib.crc32(case.name.encode()))
        for case in drawn[-(-len(cases) // share_of(cases[0])) :]:
            case.add_marker(pytest.mark.exhaustive)
    draw = os.environ.get("TILEWRIGHT_TEST_DRAW")
    if draw:
        leave_to_others(config, items, draw)


def leave_to_others(config: pytest.Config, items: list[pytest.Item], draw: str) -> None:
    """SEED/N keeps one in N of the exhaustive tests, and leaves the others to other seeds."""
    seed, _, n = draw.rpartition("/")
    left = [
        item
        for item in items
        if item.get_closest_marker("exhaustive")
        and zlib.crc32(f"{seed} {item.nodeid}".encode()) % int(n)
    ]
    gone = set(left)
    items[:] = [item for item in items if item not in gone]
    if left:
        config.hook.pytest_deselected(items=left)


def share_of(item: pytest.Function) -> int:
    for mark in item.iter_markers("sampled"):
        return int(mark.args[0])
    return SAMPLED.get(item.path.parent, 1)


@pytest.fixture(scope="session")
def quiet_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where display libraries, which some drivers load, find nothing to complain of."""
    folder = tmp_path_factory.mktemp("runtime")
    folder.chmod(0o700)
    return folder


@pytest.fixture
def run_python(quiet_folder: Path, request: pytest.FixtureRequest) -> Run:
    """Runs code in an interpreter of its own, with these variables and no other TILEWRIGHT_*."""

    def run(code: str, **variables: str) -> subprocess.CompletedProcess[str]:
        clean = {k: v for k, v in os.environ.items() if not k.startswith("TILEWRIGHT_")}
        clean.setdefault("XDG_RUNTIME_DIR", str(quiet_folder))
        paths = [str(HERE), str(request.path.parent), *filter(None, [clean.get("PYTHONPATH")])]
        return subprocess.run(
            [sys.executable, "-c", "from child import *\n" + code],
            env=clean | {"PYTHONPATH": os.pathsep.join(paths)} | variables,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    return run


@pytest.fixture
def succeeds(run_python: Run) -> Callable[..., str]:
    """Runs code that must end well and print nothing to stderr; what it prints otherwise."""

    def run(code: str, **variables: str) -> str:
        done = run_python(code, **variables)
        assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
        return done.stdout

    return run


@pytest.fixture(scope="session")
def compile_c(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, Path], Path]:
    """Makes a library of this name from a C file."""

    def build(name: str, source: Path) -> Path:
        library = tmp_path_factory.mktemp("library") / name
        compiler = os.environ.get("CC", "cc")
        subprocess.run(
            [compiler, "-shared", "-fPIC", "-O1", "-Wall", "-o", library, source, "-ldl"],
            check=True,
        )
        return library

    return build


@pytest.fixture(scope="session")
def on_load(compile_c: Callable[[str, Path], Path]) -> str:
    """The path of a library that does as ON_LOAD says where it is loaded."""
    return str(compile_c("libon_load.so", HERE / "on_load.c"))


@pytest.fixture(params=[4, pytest.param(40, marks=pytest.mark.exhaustive)])
def repeats(request: pytest.FixtureRequest) -> int:
    """How often to do what goes wrong only now and then."""
    return int(request.param)
