"""./dev new-op writes the line and the row of an elementwise op, or the files of one with a kernel
of its own, or says what is wrong."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FILES = ["csrc/core/program/elementwise.def", "tests/conformance/map_references.py"]
HEADER, STUB = "csrc/include/tilewright/backend.hpp", "python/tilewright/_core.pyi"
FOLDERS = ["csrc/cpu/kernels", "csrc/kernels/opencl", "csrc/kernels/wgsl"]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for file in [*FILES, HEADER, STUB]:
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / file, tmp_path / file)
    for folder in FOLDERS:
        shutil.copytree(ROOT / folder, tmp_path / folder)
    return tmp_path


def new_op(tree: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-B", str(ROOT / "tools/dev"), "new-op", *words, "--root", str(tree)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def everything(tree: Path) -> dict[str, bytes]:
    return {str(p.relative_to(tree)): p.read_bytes() for p in tree.rglob("*") if p.is_file()}


def contents(tree: Path) -> dict[str, list[str]]:
    return {file: (tree / file).read_text().splitlines() for file in FILES}


def test_both_get_one_line(tree: Path) -> None:
    before = contents(tree)
    done = new_op(
        tree, "squash", "--elementwise", "real", "divide(a, magnitude(a) + 1)",
        "--numpy", "lambda x: x / (1 + np.abs(x))",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    after = contents(tree)
    table, references = FILES
    assert after[table] == [
        *before[table],
        "OP(squash, 1, real, divide(a, magnitude(a) + 1))",
    ]
    row = '    "squash": _real(lambda x: x / (1 + np.abs(x)), 2),'
    assert after[references] == [*before[references][:-1], row, before[references][-1]]
    assert "write it there" not in done.stdout
    compile((tree / references).read_text(), references, "exec")


def test_what_functions_are_lacking(tree: Path) -> None:
    done = new_op(tree, "gcd", "--elementwise", "whole", "common_divisor(a, b)")
    assert done.returncode == 0, done.stderr
    assert "OP(gcd, 2, whole, common_divisor(a, b))" in contents(tree)[FILES[0]]
    assert '    "gcd": Reference(INTEGERS, np.gcd),' in contents(tree)[FILES[1]]
    assert "common_divisor is not in csrc/cpu/kernels/program_functions.hpp" in done.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("Softsign", "--elementwise", "real", "a"), "the name is 'Softsign'"),
        (("sin", "--elementwise", "real", "sine(a)"), "there is an op sin"),
        (("twice", "--elementwise", "integer", "a + a"), "the rule is 'integer'"),
        (("twice", "--elementwise", "real", "b + b"), "the spelling is 'b + b'"),
        (("twice", "--elementwise", "real", "x + x"), "the spelling is 'x + x'"),
        (("twice", "--numpy", "np.add"), "--numpy says what an elementwise op gives"),
        (("Twice",), "the name is 'Twice'"),
        (("softmax",), "there is a call softmax"),
        (("taken",), "there is a file csrc/cpu/ops/taken.cpp"),
    ],
)
def test_what_is_wrong_changes_nothing(tree: Path, words: tuple[str, ...], message: str) -> None:
    taken = tree / "csrc/cpu/ops/taken.cpp"
    taken.parent.mkdir()
    taken.touch()
    before = everything(tree)
    done = new_op(tree, *words)
    assert done.returncode != 0
    assert message in done.stderr
    assert everything(tree) == before


def test_the_files_of_an_op_with_a_kernel(tree: Path) -> None:
    before = everything(tree)
    done = new_op(tree, "twice_over")
    assert done.returncode == 0, done.stderr
    after = everything(tree)
    written = [file for file in after if after[file] != before.get(file)]
    assert set(written) == set(done.stdout.splitlines()) & set(after)
    # Those that are written by hand: the stub says what the header says.
    assert len(set(written) - {STUB}) == 7
    for file in written:
        if file.endswith(".py"):
            compile(after[file], file, "exec")
        assert b"@name@" not in after[file] and b"@Request@" not in after[file]
    header = (tree / HEADER).read_text()
    assert " \\\n  X(twice_over, TwiceOverRequest)\n// clang-format on" in header
    assert "    def twice_over(\n" in (tree / STUB).read_text()


def test_what_the_build_makes_of_it(tree: Path, tmp_path: Path) -> None:
    assert new_op(tree, "twice_over").returncode == 0
    made = {}
    for what in ("requests", "calls", "bindings"):
        output = tmp_path / what
        command = [ROOT / "cmake/trait.py", tree / HEADER, tree / "csrc/core/ops", what, output]
        subprocess.run([sys.executable, *command], check=True)
        made[what] = output.read_text()
    assert '#include "core/ops/twice_over.hpp"' in made["requests"]
    assert "checked_twice_over(call, input, output, n, dtype)" in made["calls"]
    assert 'arg("n"), with_default<DType>("dtype", DType::float32)' in made["bindings"]
