"""The Python programs of these pages run as they stand there, and print what their comments say."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = (
    "attention.md",
    "coming-from.md",
    "dask.md",
    "nn.md",
    "onnx.md",
    "quantised.md",
    "recurrent.md",
    "sparse.md",
)


def programs(page: str) -> list[str]:
    found: list[str] = re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(), re.DOTALL)
    assert found, page
    return found


CASES = [
    pytest.param(program, id=f"{page}-{i}")
    for page in PAGES
    for i, program in enumerate(programs(page))
]


@pytest.mark.parametrize("program", CASES)
def test_python(program: str, tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    file.write_text(program)
    done = subprocess.run(
        [sys.executable, "-W", "error", file],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    expected = re.findall(r"^ *print\(.*\)  # (.*)$", program, re.MULTILINE)
    assert expected and done.stdout.splitlines() == expected
