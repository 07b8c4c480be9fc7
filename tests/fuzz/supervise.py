"""Batches of cases in processes of their own, and what is done about one that ends badly."""

from __future__ import annotations

import os
import re
import selectors
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).parent
BATCH = 400  # cases
#: bytes of address space that a process gets beside what it has after it opened the backend
ADDRESS_SPACE = 8 << 30
#: has Python say where its threads are
SHOW_THREADS = signal.SIGUSR1
#: seconds in which a case, or the start of a process, says nothing
HANG = 180.0
#: for one fault, to find a smaller case of it
SHRINK_RUNS = 60
SHRINK_SECONDS = 90.0
#: of one kind that are shrunk and shown; others are counted
SHOWN = 3

#: what changes code paths, and is read once by a process
SETTINGS: dict[str, list[dict[str, str]]] = {
    "cpu": [{}, {"TILEWRIGHT_CPU_ISA": "baseline"}, {"TILEWRIGHT_NUM_THREADS": "1"}, {},
            {"TILEWRIGHT_CPU_ISA": "avx2"}, {"TILEWRIGHT_NUM_THREADS": "5"}],
    "webgpu": [{}, {"TILEWRIGHT_WEBGPU_THREAD": "0"}, {"TILEWRIGHT_WEBGPU_IMMEDIATES": "0"}],
    "level-zero": [{}, {"TILEWRIGHT_ZE_SUBGROUPS": "1"}, {"ZE_CPU_BARRIER_TIME": "100"},
                   {"TILEWRIGHT_ZE_SUBGROUPS": "0"}],
}  # fmt: skip


def numbers(text: str) -> list[int]:
    """1,2,3 or 1:4."""
    if ":" in text:
        first, _, past = text.partition(":")
        return list(range(int(first), int(past)))
    return [int(one) for one in filter(None, text.split(","))]


@dataclass
class Outcome:
    """How a process ended."""

    what: str  # "end", "time", "fault", "crash", "hang"
    case: int  # the last that began
    valid: int = 0
    refused: int = 0
    text: str = ""
    choices: list[int] = field(default_factory=list)

    @property
    def bad(self) -> bool:
        return self.what not in ("end", "time")

    @property
    def signature(self) -> str:
        """The same for faults of one kind."""
        lines = self.text.splitlines() or [""]
        words = re.match(r"\w*", lines[0])
        tell = f"{words[0] if words else ''} {lines[-1] if self.what == 'fault' else ''}"
        return f"{self.what} {re.sub('[0-9.]+', '#', tell)[:200]}"


@dataclass
class Runner:
    """Starts the processes of one device."""

    device: str
    seed: int
    setting: dict[str, str]
    only: tuple[str, ...] = ()
    #: the program that runs the cases; a test of this one has another
    program: Sequence[str] = (sys.executable, str(HERE))

    def words(self, cases: str, choices: Sequence[int] | None = None) -> list[str]:
        words = ["--backend", self.device, "--seed", str(self.seed), "--case", cases]
        if self.only:
            words += ["--only", ",".join(self.only)]
        if choices is not None:
            words += ["--choices", ",".join(map(str, choices))]
        return words

    def command(self, cases: str, choices: Sequence[int] | None = None) -> str:
        """What a person types to see it again."""
        words = [f"{name}={value}" for name, value in self.setting.items()]
        return shlex.join([*words, "python", "tests/fuzz", *self.words(cases, choices)])

    def run(
        self, cases: str, choices: Sequence[int] | None = None, until: float | None = None
    ) -> Outcome:
        """Runs the cases, and ends the process when it hangs or the time is over."""
        process = subprocess.Popen(
            [*self.program, *self.words(cases, choices)],
            env={**os.environ, "NODEVICE_SELECT": "1", "TILEWRIGHT_TUNING": "0", **self.setting},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        outcome = Outcome("crash", -1)
        said: list[str] = []
        try:
            for line in lines(process, until):
                if not outcome.text and (begun := re.match(r"case (\d+) (\d+) (\d+)$", line)):
                    outcome.case, outcome.valid, outcome.refused = map(int, begun.groups())
                    outcome.choices = []
                    said.clear()
                elif ended := re.match(r"end (\d+) (\d+)$", line):
                    outcome.what = "end"
                    outcome.valid, outcome.refused = map(int, ended.groups())
                elif drawn := re.match(r"choice (\d+)$", line):
                    outcome.choices.append(int(drawn[1]))
                elif line == "fault":
                    outcome.what = "fault"
                    said.clear()
                else:
                    said.append(line)
        except TimeoutError as error:
            outcome.what = str(error)
            if outcome.what == "hang":
                process.send_signal(SHOW_THREADS)
                time.sleep(1)
        finally:
            if outcome.what in ("time", "hang"):
                process.kill()
            assert process.stdout is not None
            os.set_blocking(process.stdout.fileno(), True)
            rest, _ = process.communicate()
        said += rest.decode(errors="replace").splitlines()
        if outcome.what == "end" and process.returncode != 0:
            outcome.what = "crash"
        outcome.text = "\n".join(said[-60:])
        if outcome.what == "crash":
            outcome.text += f"\nthe process ended with {process.returncode}"
        return outcome


def lines(process: subprocess.Popen[bytes], until: float | None) -> Iterator[str]:
    """What the process writes. Raises TimeoutError("hang") where that is nothing for long, and
    TimeoutError("time") where the time is over."""
    assert process.stdout is not None
    os.set_blocking(process.stdout.fileno(), False)
    buffered = b""
    last = time.monotonic()
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while True:
            now = time.monotonic()
            if until is not None and now >= until:
                raise TimeoutError("time")
            if now - last >= HANG:
                raise TimeoutError("hang")
            if not selector.select(1.0):
                continue
            chunk = os.read(process.stdout.fileno(), 1 << 16)
            if not chunk:
                return
            last = time.monotonic()
            *whole, buffered = (buffered + chunk).split(b"\n")
            yield from (line.decode(errors="replace") for line in whole)


@dataclass
class Found:
    """What a run came to."""

    valid: int = 0
    refused: int = 0
    processes: int = 0
    faults: int = 0
    kinds: dict[str, int] = field(default_factory=dict)


def run(device: str, minutes: float, seed: int, only: tuple[str, ...] = ()) -> Found:
    found = Found()
    until = time.monotonic() + 60 * minutes
    settings = usable(SETTINGS[device.partition(":")[0]])
    while time.monotonic() < until:
        setting = settings[found.processes % len(settings)]
        batch(Runner(device, seed, setting, only), until, found)
        seed += 1
    print(
        f"{device}: {found.valid} valid and {found.refused} refused calls in {found.processes} "
        f"processes, {found.faults} faults of {len(found.kinds)} kinds",
        flush=True,
    )
    return found


def usable(settings: list[dict[str, str]]) -> list[dict[str, str]]:
    """Without the instruction sets that this processor lacks."""
    code = "import tilewright; print(*tilewright.init_backend('cpu').device.features)"
    features = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    names = {"baseline", *features}
    return [s for s in settings if s.get("TILEWRIGHT_CPU_ISA", "baseline") in names]


def batch(runner: Runner, until: float, found: Found) -> None:
    """All cases of a seed, those behind a fault in another process."""
    first = 0
    while first < BATCH and time.monotonic() < until:
        outcome = runner.run(f"{first}:{BATCH}", until=until)
        found.valid += outcome.valid
        found.refused += outcome.refused
        found.processes += 1
        if not outcome.bad:
            return
        found.faults += 1
        kind = outcome.signature
        found.kinds[kind] = found.kinds.get(kind, 0) + 1
        if found.kinds[kind] <= SHOWN:
            report(runner, first, outcome)
        first = max(outcome.case, first) + 1


def report(runner: Runner, first: int, outcome: Outcome) -> None:
    """Prints the smallest case that is found for it, and how to see it again."""
    again, how = smaller(runner, first, outcome)
    print(f"FAULT on {runner.device}, seed {runner.seed}, case {outcome.case}: {again.what}")
    print("\n".join(f"  {line}" for line in again.text.splitlines()))
    print(f"  {how}", flush=True)


def smaller(runner: Runner, first: int, outcome: Outcome) -> tuple[Outcome, str]:
    case = str(outcome.case)
    alone = runner.run(case)
    if alone.bad:
        shrunk, choices = shrink(runner, case, alone)
        return shrunk, runner.command(case, choices)
    # It needs what was before it: the last few, or all.
    before = outcome.case - first
    for count in (1, 2, 5, 10, 30, 100, before):
        cases = f"{max(first, outcome.case - count)}:{outcome.case + 1}"
        again = runner.run(cases)
        if again.bad:
            return again, runner.command(cases)
        if count >= before:
            break
    how = f"not seen again; it was in {runner.command(f'{first}:{outcome.case + 1}')}"
    return outcome, how


def shrink(runner: Runner, case: str, outcome: Outcome) -> tuple[Outcome, list[int]]:
    """The fault with the fewest and smallest choices that were found in some runs."""
    best, choices = outcome, outcome.choices
    until = time.monotonic() + SHRINK_SECONDS
    runs = 0

    def still(candidate: list[int]) -> bool:
        nonlocal best, choices, runs
        if runs >= SHRINK_RUNS or time.monotonic() > until or candidate == choices:
            return False
        runs += 1
        again = runner.run(case, candidate)
        # What is drawn may be another fault by then.
        if again.what != outcome.what or again.signature != outcome.signature:
            return False
        best, choices = again, candidate
        return True

    # The end of them first, then one after another; the first says what kind of case it is.
    cut = len(choices) // 2
    while cut:
        if not still(choices[:-cut]):
            cut //= 2
        cut = min(cut, len(choices) - 1)
    while choices and choices[-1] == 0:
        choices = choices[:-1]  # as if they were there
    for at in range(len(choices) - 1, 0, -1):
        for value in (0, choices[at] // 2 if at < len(choices) else 0):
            fewer = at < len(choices) and value < choices[at]
            if fewer and still([*choices[:at], value, *choices[at + 1 :]]):
                break
    return best, choices
