"""A few cases of the fuzzer, and faults that it must find."""

from __future__ import annotations

import contextlib
import json
import math
import re
import shlex
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tilewright
from fuzz import batch, refusals, supervise
from fuzz.batch import Bench
from fuzz.call import Fault
from fuzz.draw import Draw
from fuzz.ops import GENERATORS
from fuzz.refusals import Strangers
from tilewright import Backend, CpuBackend

from .calls import CALLS

#: calls without anything to draw, and those that sequences and kernels make
WITHOUT_GENERATOR = {"capabilities", "performance_hints", "synchronize", "alloc", "free"}
WITHOUT_GENERATOR |= {"memory_stats", "trim"}


def test_no_call_is_missing() -> None:
    assert set(GENERATORS) == set(CALLS) - WITHOUT_GENERATOR


def run(bench: Bench, cases: Iterable[int], seed: int = 1) -> None:
    for _ in batch.run(bench, seed, cases):
        pass


def test_a_short_run(be: Backend) -> None:
    with batch.bench(be) as bench:
        run(bench, range(40))
        assert bench.counts["valid"] > 20
        assert bench.counts["refused"] > 5


def test_the_same_seed_gives_the_same_cases() -> None:
    def choices(be: Backend) -> list[list[int]]:
        with batch.bench(be) as bench:
            bench.only = ("valid", "invalid")
            return [draw.choices for _, draw in batch.run(bench, 5, range(20))]

    with CpuBackend() as one, CpuBackend() as two:
        assert choices(one) == choices(two)


def test_given_choices_give_the_same_case() -> None:
    with CpuBackend() as be, batch.bench(be) as bench:
        bench.only = ("valid",)
        (drawn,) = (draw for _, draw in batch.run(bench, 5, [3]))
        (again,) = (draw for _, draw in batch.run(bench, 5, [3], drawn.choices))
        assert str(again.about) == str(drawn.about)
        (plainest,) = (draw for _, draw in batch.run(bench, 5, [3], []))
        assert set(plainest.choices) == {0}


def test_one_matrix_has_any_stride() -> None:
    """And several have one that is not 0."""
    calls = [GENERATORS["batched_gemm"](Draw(3, case)) for case in range(60)]
    for count, right in ((1, True), (2, False)):
        some = [c for c in calls if c.values["batch_count"] == count and not c.empty]
        assert some
        for call in some:
            with CpuBackend() as be:
                wrongs = refusals.wrong_values(be, call, "stride_c", Strangers(0, []))
                (zero,) = (w for w in wrongs if type(w.value) is int and w.value == 0)
                assert zero.surely is not right


# Planted faults -----------------------------------------------------------------------------------


class WritesTooFar(CpuBackend):
    def unary(self, op: Any, input: Any, output: Any, n: int, dtype: str = "float32") -> None:
        super().unary(op, input, output, n, dtype)
        end = n * np.dtype(dtype).itemsize
        if 0 < end < self.buffer_bytes(output):
            self.copy_htod(output, b"\0", end)


class WritesPadding(CpuBackend):
    def gemm(self, *arguments: Any) -> None:
        super().gemm(*arguments)
        _, _, m, n, *_, c, ldc, dtype, output_dtype = arguments
        if m > 1 and 0 < n < ldc:
            self.copy_htod(c, b"\1", n * np.dtype(output_dtype or dtype).itemsize)


class IsSlightlyOff(CpuBackend):
    def reduce(self, op: Any, input: Any, output: Any, *arguments: Any) -> None:
        super().reduce(op, input, output, *arguments)
        first = np.zeros(1, np.float32)
        if op == "max" and arguments[-1] == "float32" and output and self.buffer_bytes(output) > 3:
            self.copy_dtoh(first, output)
            self.copy_htod(output, np.nextafter(first, np.float32(1e9)))


class ChangesAnInput(CpuBackend):
    def softmax(self, input: Any, output: Any, *arguments: Any) -> Any:
        super().softmax(input, output, *arguments)
        if input != output:
            self.copy_htod(input, b"\1\2")


class Leaks(CpuBackend):
    def cast(self, *arguments: Any, **named: Any) -> Any:
        self.alloc(10)
        return super().cast(*arguments, **named)


class TakesAnything(CpuBackend):
    def matmul_vec(self, *arguments: Any) -> None:
        with contextlib.suppress(tilewright.InvalidArgument):
            super().matmul_vec(*arguments)


class RaisesAnother(CpuBackend):
    def matmul_vec(self, *arguments: Any) -> None:
        try:
            super().matmul_vec(*arguments)
        except tilewright.InvalidArgument as error:
            raise OverflowError(str(error)) from error


class NamesNothing(CpuBackend):
    def matmul_vec(self, *arguments: Any) -> None:
        try:
            super().matmul_vec(*arguments)
        except tilewright.InvalidArgument:
            raise tilewright.InvalidArgument("matmul_vec: something is wrong") from None


class WritesAndRefuses(CpuBackend):
    def matmul_vec(
        self, matrix: Any, rows: Any, cols: Any, vector: Any, out: Any, dtype: Any
    ) -> None:
        try:
            super().matmul_vec(matrix, rows, cols, vector, out, dtype)
        except tilewright.InvalidArgument:
            if isinstance(out, int) and out > 1000:
                self.copy_htod(out, b"\1")
            raise


class TakesMuchMemory(CpuBackend):
    def matmul_vec(self, *arguments: Any) -> None:
        try:
            super().matmul_vec(*arguments)
        except tilewright.InvalidArgument:
            np.ones(100 << 20, np.uint8)
            raise


class ForgetsWhatItHolds(CpuBackend):
    def trim(self) -> None:
        pass


FAULTS = [
    (WritesTooFar, "unary", "what is behind "),
    (WritesPadding, "gemm", "outside of the result was changed"),
    (IsSlightlyOff, "reduce", "elements are off"),
    (ChangesAnInput, "softmax", "an input"),
    (Leaks, "cast", "buffers are left behind"),
    (TakesAnything, "matmul_vec", "is taken"),
    (RaisesAnother, "matmul_vec", "raises OverflowError"),
    (NamesNothing, "matmul_vec", "says: matmul_vec: something is wrong"),
    (WritesAndRefuses, "matmul_vec", "in a call that was refused"),
    (TakesMuchMemory, "matmul_vec", "MB"),
    (ForgetsWhatItHolds, "sequence", "trim"),
]


@pytest.mark.parametrize(("planted", "only", "words"), FAULTS)
def test_planted_faults_are_found(planted: type[CpuBackend], only: str, words: str) -> None:
    with planted() as be, batch.bench(be) as bench:
        bench.only = (only,)
        with pytest.raises(Fault) as raised:
            run(bench, range(300))
    assert words in str(raised.value)


# In processes of their own ------------------------------------------------------------------------

TESTS = Path(__file__).parents[1]

PLANTED = """
import os, sys
sys.path.insert(0, {tests!r})
import tilewright
from fuzz.program import main

real = tilewright.CpuBackend.unary

def unary(self, op, input, output, n, dtype="float32"):
    {fault}
    real(self, op, input, output, n, dtype)

tilewright.CpuBackend.unary = unary
sys.exit(main())
"""


def runner(fault: str) -> supervise.Runner:
    program = (sys.executable, "-c", PLANTED.format(tests=str(TESTS), fault=fault))
    return supervise.Runner("cpu", 3, {}, ("unary", "gemm"), program)


@pytest.mark.exhaustive
def test_a_process_that_is_ended_is_found_and_made_smaller(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(supervise, "SHRINK_RUNS", 12)
    monkeypatch.setattr(supervise, "BATCH", 8)
    found = supervise.Found()
    supervise.batch(runner("n > 100 and os.abort()"), math.inf, found)
    assert found.kinds.keys() == {"crash unary "}
    said = capsys.readouterr().out
    assert "the process ended with -6" in said
    assert "unary(op=" in said
    shown = re.findall(r"python tests/fuzz (--backend cpu --seed 3 --only \S+ --case .*)", said)
    again = runner("n > 100 and os.abort()").run
    for line in shown:
        words = shlex.split(line)
        choices = supervise.numbers(words[words.index("--choices") + 1])
        assert again(words[words.index("--case") + 1], choices).what == "crash"


@pytest.mark.exhaustive
def test_a_process_that_hangs_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervise, "HANG", 20.0)
    outcome = runner("import time; time.sleep(1000)").run("0:100")
    assert outcome.what == "hang"
    assert "in unary" in outcome.text


def test_memory_that_is_taken_without_end_is_found() -> None:
    outcome = runner("global kept; kept = bytearray(1 << 30)").run("0:100")
    assert outcome.what == "fault"
    assert "the process grew by " in outcome.text


@pytest.mark.exhaustive
def test_a_run_says_what_it_did(tmp_path: Path) -> None:
    results = tmp_path / "results"
    subprocess.run(
        [
            sys.executable,
            str(TESTS / "fuzz"),
            "--minutes=0.5",
            "--only=gemm",
            f"--results={results}",
        ],
        check=True,
    )
    said = json.loads(results.read_text())
    assert said["faults"] == 0
    assert said["valid"] > 0
