"""How the tuner decides, and the file that it keeps; tests/webgpu runs it on a device."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tilewright.cli import main
from tilewright.cli.tuning import results
from tilewright.cli.tuning.process import WorkerFailed, WorkerProcess
from tilewright.cli.tuning.search import Finding, Search, clearly_best
from tilewright.cli.tuning.shapes import Shape

HEAD = "tilewright tuning 1\ndevice GPU\n"


def finding(best: str, sizes: str = "64x64x64x1", rule: str = "small") -> Finding:
    return Finding(
        case="gemm",
        shape="64^3",
        dtype="float32",
        point="gemm",
        sizes=sizes,
        flags="-",
        rule=rule,
        seconds={"small": 3.0, "large": 2.0},
        best=best,
    )


# What is best ---------------------------------------------------------------------------------


def best_of(**seconds: list[float]) -> str:
    return clearly_best(seconds, "rule")


def test_the_quickest_replaces_the_rule() -> None:
    assert best_of(rule=[1.0] * 4, quick=[0.5] * 4, middle=[0.7] * 4) == "quick"


def test_a_small_gain_does_not_replace_the_rule() -> None:
    assert best_of(rule=[1.0] * 4, quick=[0.98] * 4) == "rule"
    assert best_of(rule=[1.0] * 4, quick=[0.96] * 4) == "quick"


def test_a_gain_in_half_of_the_rounds_does_not_replace_the_rule() -> None:
    assert best_of(rule=[1.0, 9.0, 1.0, 9.0, 9.0], quick=[1.1, 1.1, 1.1, 1.1, 1.1]) == "rule"


# What is measured beside what -----------------------------------------------------------------


class Answers:
    """In place of a worker: one product that chooses a tile and pieces, both quickest as "b"."""

    def __init__(self, *_: object) -> None:
        self.asked: list[dict[str, str]] = []

    def ask(self, what: str, **given: Any) -> dict[str, Any]:
        if what == "prepare":
            candidates = {"rule": "a", "taken": "a", "candidates": ["a", "b", "c"]}
            return {
                "shape": "64^3",
                "choices": [
                    {"point": point, "sizes": "64x64x64x1", "flags": "-", **candidates}
                    for point in ("gemm", "gemm_pieces")
                ],
            }
        assert set(given) == ({"point", "taken"} if what == "check" else {"taken", "calls"})
        self.asked.append(given["taken"])
        return {"seconds": 1.0 - 0.25 * list(given["taken"].values()).count("b")}

    def end(self) -> None:
        pass


def test_a_point_is_searched_beside_the_best_of_those_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tilewright.cli.tuning.search.WorkerProcess", Answers)
    monkeypatch.setattr("tilewright.cli.tuning.search._WARM_UP", 0)
    search = Search("webgpu:0", 1.0, lambda *_: None)
    found = list(search.findings([Shape("gemm", (64, 64, 64), "float32")] * 2))
    assert [(one.point, one.best) for one in found] == [("gemm", "b"), ("gemm_pieces", "b")]
    assert isinstance(search._worker, Answers)
    asked = search._worker.asked
    beside_rules = [{"gemm": c, "gemm_pieces": "a"} for c in "abc"]
    beside_the_best = [{"gemm": "b", "gemm_pieces": c} for c in "abc"]
    assert asked[:3] == beside_rules
    assert asked[-3:] == beside_the_best
    assert all(one in beside_rules + beside_the_best for one in asked)


# The file -------------------------------------------------------------------------------------


def test_comments_of_any_bytes_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "tuning.txt"
    entry = b"gemm 64x64x64x1 - large  # \xff \xe2\x80\xa8 \x0c"
    path.write_bytes(HEAD.encode() + entry + b"\n")
    (line,) = results.kept_lines(path, HEAD).values()
    assert line == entry.decode(errors="replace")


def test_only_what_beats_the_rule_has_an_entry() -> None:
    lines = results.merged({}, [finding("large"), finding("small", "8x8x8x1")])
    assert list(lines.values()) == [
        "gemm 64x64x64x1 - large  # 1.50 times as fast as small",
    ]


def test_new_results_replace_old_ones_and_leave_others(tmp_path: Path) -> None:
    path = tmp_path / "tuning.txt"
    old = results.merged({}, [finding("large"), finding("large", "8x8x8x1")])
    results.write(path, HEAD, old)
    kept = results.kept_lines(path, HEAD)
    assert kept == old
    lines = results.merged(kept, [finding("small", "8x8x8x1")])
    assert list(lines) == [("gemm", "64x64x64x1", "-")]


def test_the_file_is_text_with_a_head_and_sorted_entries(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "tuning.txt"
    findings = [finding("large", "8x8x8x1"), finding("large", "16x16x16x1")]
    results.write(path, HEAD, results.merged({}, findings))
    assert path.read_bytes().decode() == (
        HEAD
        + "gemm 16x16x16x1 - large  # 1.50 times as fast as small\n"
        + "gemm 8x8x8x1 - large  # 1.50 times as fast as small\n"
    )
    assert os.listdir(path.parent) == ["tuning.txt"]


@pytest.mark.parametrize("fails", ["fsync", "replace"])
def test_a_write_that_fails_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails: str
) -> None:
    path = tmp_path / "tuning.txt"
    path.write_text("old")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, fails, full)
    with pytest.raises(OSError, match="No space left"):
        results.write(path, HEAD, {})
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["tuning.txt"]


# The process that runs candidates -------------------------------------------------------------


@pytest.fixture
def worker_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Makes a shell script the program that workers run."""

    def use(script: str) -> None:
        program = tmp_path / "program"
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setattr("sys.executable", str(program))

    return use


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("read request; kill -SEGV $$", "its process was ended by SIGSEGV"),
        ("read request; echo one >&2; echo two >&2; exit 3", "its process ended with code 3: two"),
        ("read request; exit 0", "its process ended with code 0"),
        ("exit 4", "its process ended with code 4"),
        (
            'read request; echo \'{"failed": "the device is lost"}\'; read more',
            "the device is lost",
        ),
        ("read request; read more", "no answer within 2 s"),
    ],
)
def test_a_worker_that_fails_says_how(
    worker_program: Callable[[str], None], script: str, why: str
) -> None:
    worker_program(script)
    worker = WorkerProcess("webgpu:0", timeout=2.0)
    with pytest.raises(WorkerFailed) as failed:
        worker.ask("hello")
    assert str(failed.value) == why


def test_a_worker_answers_one_line_for_one(worker_program: Callable[[str], None]) -> None:
    worker_program('while read request; do echo "{\\"got\\": $request}"; done')
    worker = WorkerProcess("webgpu:0", timeout=20.0)
    assert worker.ask("sample", calls=3) == {"got": {"ask": "sample", "calls": 3}}
    assert worker.ask("hello") == {"got": {"ask": "hello"}}
    worker.end()


# The command ----------------------------------------------------------------------------------


def test_a_device_without_choices_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tune", "--device", "cpu:0", "--quick"]) == 1
    assert capsys.readouterr().err == (
        "tilewright: tune: cpu:0 has no kernels to choose between; tune a GPU\n"
    )
    assert main(["tune", "--device", "cpu:0", "--show"]) == 2
    assert "nothing is kept for cpu:0" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--ops", "gemn"], 'op "gemn" is unknown; did you mean "gemm"?'),
        (["--device", "cqu"], 'device "cqu" is unknown; did you mean "cpu"?'),
        (["--dtypes", "int16"], 'dtype "int16" is unknown'),
        (
            ["--ops", "gemm", "--sizes", "64x64"],
            '--sizes "64x64" is not 3 numbers from 1 joined by x, as gemm needs',
        ),
        (["--ops", "gemm", "--sizes", "64x64x0"], "is not 3 numbers from 1 joined by x"),
        (["--ops", "gemm", "--sizes", "64x-1x2"], "is not 3 numbers from 1 joined by x"),
    ],
)
def test_wrong_use(capsys: pytest.CaptureFixture[str], arguments: list[str], message: str) -> None:
    assert main(["tune", *arguments]) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.out == ""
