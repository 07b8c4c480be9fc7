"""The types that a user's program is given: by mypy --strict, and beside what the calls give."""

from __future__ import annotations

import subprocess
import sys
import types
import typing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tilewright as tw

PROGRAM = Path(__file__).parent / "typed_program.py"


def mypy(program: Path, cache: Path) -> subprocess.CompletedProcess[str]:
    """Without this project's configuration, as a user has it who installed the package."""
    options = ["--strict", "--config-file=", f"--cache-dir={cache}"]
    return subprocess.run(
        [sys.executable, "-m", "mypy", *options, str(program)],
        cwd=cache, capture_output=True, text=True, check=False, timeout=500,
    )  # fmt: skip


def test_a_users_program_passes_mypy_strict(tmp_path: Path) -> None:
    done = mypy(PROGRAM, tmp_path)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    # What it asserts is looked at: the same with another type is an error.
    text = PROGRAM.read_text(encoding="utf-8")
    other = tmp_path / "wrong.py"
    other.write_text(text.replace("assert_type(x + 1, tw.Array)", "assert_type(x + 1, float)"))
    done = mypy(other, tmp_path)
    assert done.returncode == 1
    assert 'Expression is of type "Array", not "float"' in done.stdout
    assert done.stdout.count("error:") == 1


def is_of(value: Any, kind: Any) -> bool:
    """Whether a value is of a type as annotations write it."""
    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        return any(is_of(value, one) for one in parts)
    if origin is np.ndarray:
        return isinstance(value, np.ndarray)
    if origin is list:
        return isinstance(value, list) and all(is_of(one, parts[0]) for one in value)
    if origin is tuple and parts[-1] is Ellipsis:
        return type(value) is tuple and all(is_of(one, parts[0]) for one in value)
    if origin is tuple:
        return len(value) == len(parts) and all(map(is_of, value, parts))
    return isinstance(value, kind)


@pytest.mark.parametrize(
    ("value", "kind", "expected"),
    [
        (1, int, True),
        (1, float, False),
        ((1, 2), tuple[int, int], True),
        ((1, 2.0), tuple[int, int], False),
        ((1, 2, 3), tuple[int, int], False),
        ((1, 2, 3), tuple[int, ...], True),
        ([1, "a"], list[int], False),
        ((1,), int | tuple[int, ...], True),
        ("a", int | tuple[int, ...], False),
    ],
)
def test_what_is_of_a_type(value: Any, kind: Any, expected: bool) -> None:
    assert is_of(value, kind) is expected


def test_the_results_are_of_the_types(monkeypatch: pytest.MonkeyPatch) -> None:
    checked = 0

    def check(value: Any, kind: Any) -> Any:
        nonlocal checked
        checked += 1
        assert is_of(value, kind), f"{value!r} is no {kind}"
        return value

    monkeypatch.setattr(typing, "assert_type", check)
    names: dict[str, Any] = {"__name__": "typed_program"}
    exec(compile(PROGRAM.read_text(encoding="utf-8"), str(PROGRAM), "exec"), names)
    names["main"]("cpu")
    assert checked > 100


def test_operators_of_the_stub_give_arrays() -> None:
    """No operator of an Array is without a type."""
    stub = (Path(tw.__file__).parent / "_core.pyi").read_text(encoding="utf-8")
    body = stub[stub.index("class ArrayBase:") : stub.index("_Buffer: TypeAlias")]
    assert "-> Any" not in body
    assert body.count("-> Array: ...") > 40
