"""./dev test: every test there is, and one count at the end."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, field
from pathlib import Path

import browser
import intel_gpu
import lavapipe
import system
import ze_cpu
from project import BUILD_FOLDER, Environment
from shell import BUILD, ROOT, Failed, run, say, succeeds

# CMake presets with sanitizers, and what each looks for.
SANITIZERS = {
    "sanitize": "AddressSanitizer and UndefinedBehaviorSanitizer",
    "sanitize-threads": "ThreadSanitizer",
}

# Of what a failed test said, at the end of the run.
LINES_OF_A_FAILURE = 6
# On all backends at once, which share the processor.
FUZZ_MINUTES, FUZZ_MINUTES_OF_A_DRAW = 10, 5

CONFORMANCE_PARTS = 3

RESULTS = BUILD / "test-results"
# Processes that share out the tests: more wait for one GPU, and each holds large arrays.
WORKERS = min(4, os.cpu_count() or 1)
# Commands in any order that nothing forbids, so that a missing barrier shows; and what is read or
# written beyond an allocation ends the process.
WATCHED = {"ZE_CPU_SHUFFLE": "1", "ZE_CPU_GUARD_PAGES": "1"}
# Of NumPy and SciPy, which compute what results are held against: there is a process for each core.
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1"}


@dataclass
class Count:
    passed: int = 0
    failed: list[tuple[str, str]] = field(default_factory=list)
    """Name and what the test said."""
    skipped: list[tuple[str, str]] = field(default_factory=list)
    """Name and reason."""

    def __iadd__(self, other: Count) -> Count:
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped
        return self


def add_command(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "test",
        help="run the tests",
        description="Runs the tests of everything, less those that go through what is alike. With "
        "further arguments, such as `tests/python -k gemm`, runs pytest alone, with them.",
        allow_abbrev=False,
    )
    parser.add_argument(
        "--all",
        action="store_true",
        help="also what is marked exhaustive, and the C++ tests with sanitizers",
    )
    parser.add_argument(
        "--draw",
        type=int,
        metavar="N",
        help="as --all, with one in N of the exhaustive tests, drawn anew for each commit",
    )
    parser.add_argument(
        "--sanitize",
        action="store_true",
        help=f"the C++ tests alone, with {', then with '.join(SANITIZERS.values())}",
    )
    parser.add_argument(
        "--dawn",
        action="store_true",
        help="the essential part of the conformance suite alone, all cases, through Dawn",
    )
    parser.set_defaults(call=call, passes_on=True)


def call(options: argparse.Namespace, rest: list[str]) -> int:
    environment = Environment()
    every = options.all or options.draw is not None
    if rest and (every or options.sanitize or options.dawn):
        raise Failed(
            "--all, --draw, --sanitize and --dawn run tests of their own; "
            f"leave out {' '.join(rest)}"
        )
    if options.draw is not None and options.draw < 1:
        raise Failed(f"--draw is {options.draw}, expected 1 or more")
    if options.sanitize:
        return report(sanitized(environment))
    environment.install_project(with_cpp_tests=not rest)
    environment.install_groups("test")
    environment.install_groups("weights", "gemma", options=("--no-deps",))
    system.require(gpu(environment))
    total = Count()
    level_zero = level_zero_driver(environment, with_tests=not rest)
    if not rest:
        say("C++ tests")
        total += ctest(environment, BUILD_FOLDER)
        if level_zero:
            say("tests of the Level Zero driver on the CPU")
            total += ctest(environment, ze_cpu.FOLDER, level_zero)
    if intel_gpu.RUNS_HERE and (not rest or "intel_gpu" in " ".join(rest)):
        intel_gpu.install()
    if browser.is_needed(rest):
        browser.install()
    if options.dawn:
        return report(on_dawn(environment, "essential or matrix_units", 2 * CONFORMANCE_PARTS))
    say("Python tests")
    if options.draw is not None:
        level_zero = level_zero | {"TILEWRIGHT_TEST_DRAW": f"{commit()}/{options.draw}"}
    total += pytest(environment, rest, level_zero, exhaustive=every)
    if not rest:
        which = "(essential or matrix_units) and not exhaustive"
        total += on_dawn(environment, f"matrix_units or {which}" if options.all else which)
    if every:
        total += sanitized(environment)
        total += fuzzed(environment, FUZZ_MINUTES if options.all else FUZZ_MINUTES_OF_A_DRAW)
    return report(total)


def gpu(environment: Environment) -> system.Need:
    """A GPU for the WebGPU backend: the machine's own, or one that Mesa emulates in software."""
    return system.Need(
        "a GPU with a Vulkan driver, or Mesa's software GPU",
        lambda: has_webgpu(environment),
        "libvulkan1 mesa-vulkan-drivers",
    )


def has_webgpu(environment: Environment, **variables: str) -> bool:
    code = (
        "import sys, tilewright\n"
        "sys.exit(not any(d.available for d in tilewright.devices() if d.backend == 'webgpu'))"
    )
    return succeeds([environment.python, "-I", "-c", code], env=variables)


def level_zero_driver(environment: Environment, *, with_tests: bool) -> dict[str, str]:
    """A device for the Level Zero backend: what makes the loader take the driver on the CPU, or
    nothing where that driver cannot run."""
    if not ze_cpu.RUNS_HERE:
        say(f"left out: Level Zero on the CPU; {ze_cpu.WHERE_IT_RUNS}")
        return {}
    ze_cpu.prepare(environment, with_tests=with_tests)
    return ze_cpu.variables(environment)


def sanitized(environment: Environment) -> Count:
    system.require(system.CPP, system.DOCTEST, system.LEVEL_ZERO)
    environment.install_build_tools()
    python = f"-DPython_EXECUTABLE={environment.python}"
    total = Count()
    for preset, what in SANITIZERS.items():
        environment.run("cmake", "--preset", preset, python)
        environment.run("cmake", "--build", "--preset", preset)
        say(f"C++ tests with {what}")
        total += ctest(environment, BUILD / preset, preset=preset)
    return total


def commit() -> str:
    """What is drawn by: the commit, or nothing outside a repository."""
    done = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return done.stdout.strip()


def fuzzed(environment: Environment, minutes: int) -> Count:
    """One test for each process of random calls: a fault is a failure. The same calls each time, as
    far as the time reaches."""
    import fuzz

    total = Count()
    for one in [*fuzz.first_cases(environment), *fuzz.run(environment, minutes, only=fuzz.TRAIT)]:
        faults = [(f"fuzz: {one.backend}", "a fault, printed above")] * one.faults
        total += Count(passed=max(one.processes - one.faults, 0), failed=faults)
    return total


def ctest(
    environment: Environment,
    folder: Path,
    env: dict[str, str] | None = None,
    preset: str | None = None,
) -> Count:
    results = results_file(f"ctest-{folder.name}.xml")
    which = ["--preset", preset] if preset else ["--test-dir", folder]
    arguments = ["--output-on-failure", "--no-tests=error", f"--parallel={WORKERS}"]
    arguments += ["--output-junit", str(results)]
    code = environment.run("ctest", *which, *arguments, env=env, check=False)
    return counted(results, code)


def pytest(
    environment: Environment, rest: list[str], env: dict[str, str], *, exhaustive: bool
) -> Count:
    every = [f"--numprocesses={WORKERS}", "--dist=worksteal"]
    # Software GPUs keep what they have compiled, gigabytes of it for all of the conformance suite:
    # it runs in parts, and what comes next gets the memory that ends with each.
    first = ROOT / "tests" / "conformance"
    files = sorted(first.glob("test_*.py"))
    others = sorted({file.parent for file in (ROOT / "tests").glob("*/test_*.py")} - {first})
    exhaustively: dict[str, list[str | Path]] = {
        f"pytest-conformance-{i}.xml": [*files[i::CONFORMANCE_PARTS], *every]
        for i in range(CONFORMANCE_PARTS)
    }
    exhaustively["pytest.xml"] = [*others, *every]
    programs = BUILD / "ze-cpu-programs"
    shutil.rmtree(programs, ignore_errors=True)
    programs.mkdir(parents=True)
    once = {"pytest.xml": rest or [*every, "-m", "not exhaustive"]}
    variables = env | WATCHED | ONE_THREAD | intel_gpu.variables() | browser.variables()
    total = Count()
    for name, chosen in (exhaustively if exhaustive else once).items():
        results = results_file(name)
        arguments = ["-m", "pytest", f"--junitxml={results}", *chosen]
        # What the parts compile alike. Others have tests of the compiler that is at work.
        shared = {"ZE_CPU_PROGRAMS": str(programs)} if "conformance" in name else {}
        code = environment.run("python", *arguments, env=variables | shared, check=False)
        total += counted(results, code)
    shutil.rmtree(programs)
    return total


def on_dawn(environment: Environment, which: str, parts: int = 1) -> Count:
    """Of the conformance suite what is marked so, on Dawn: on the software GPU of a later Mesa if
    Debian's packages are at hand, else on the machine's GPU. In parts where it is much."""
    variables = {"TILEWRIGHT_WEBGPU": "dawn", "TILEWRIGHT_TEST_DEVICES": "webgpu:0"}
    variables |= ONE_THREAD
    shared = [f"--numprocesses={WORKERS}", "--dist=worksteal"]
    python = environment.python
    if lavapipe.install(environment):
        python, shared = lavapipe.PYTHON, lavapipe.pytest_options(WORKERS)
        # Minutes of its compiler for each size of head; test_matrix_units.py has small heads.
        shared += ["-k", "not (attention and float16)"]
    elif not os.environ.get("CI") and not has_webgpu(environment, TILEWRIGHT_WEBGPU="dawn"):
        say("left out: conformance on Dawn, which takes no GPU of this machine")
        return Count()
    say("conformance on Dawn")
    options = ["-m", which, *shared]
    files = sorted((ROOT / "tests" / "conformance").glob("test_*.py"))
    total = Count()
    for i in range(parts):
        results = results_file(f"pytest-dawn-{i}.xml")
        arguments: list[str | Path] = ["-m", "pytest", f"--junitxml={results}"]
        arguments += [*files[i::parts], *options]
        env = environment.variables() | variables
        total += counted(results, run([python, *arguments], env=env, check=False))
    return total


def results_file(name: str) -> Path:
    """Where a run is to leave its results; those of the one before are gone."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    file = RESULTS / name
    file.unlink(missing_ok=True)
    return file


def counted(results: Path, code: int) -> Count:
    """What a JUnit file says. A run that failed without saying where counts as one failure."""
    count = Count()
    cases = ElementTree.parse(results).iter("testcase") if results.exists() else []
    for case in cases:
        name = f"{case.get('classname')}.{case.get('name')}"
        skip = case.find("skipped")
        failures = [*case.findall("failure"), *case.findall("error")]
        if skip is not None:
            count.skipped.append((name, skip.get("message", "")))
        elif failures:
            # ctest has a test's output in an element of its own.
            said = "\n".join(one.text or case.findtext("system-out") or "" for one in failures)
            count.failed.append((name, said))
        else:
            count.passed += 1
    if code != 0 and not count.failed:
        count.failed.append((results.stem, f"ended with exit status {code}"))
    return count


def report(total: Count) -> int:
    """Prints the skips, the failures with the end of what they said and, last, the count. A skip
    fails in CI, and anywhere without a reason."""
    refused = 0
    for name, reason in total.skipped:
        print(f"SKIPPED {name}: {reason or 'no reason given'}")
        refused += bool(os.environ.get("CI")) or not reason
    if refused:
        print(f"{refused} skipped tests count as failed")
    for name, said in total.failed:
        print(f"FAILED {name}")
        for line in said.strip().splitlines()[-LINES_OF_A_FAILURE:]:
            print(f"    {line[:200]}")
    failed = len(total.failed) + refused
    print(f"{total.passed} passed, {failed} failed", flush=True)
    return int(failed > 0)
