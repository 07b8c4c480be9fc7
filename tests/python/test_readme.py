"""The Python programs in the README run as they stand there; tests/embed has the C++ one."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

README = (Path(__file__).resolve().parents[2] / "README.md").read_text()


PROGRAMS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


def test_there_are_programs() -> None:
    assert PROGRAMS


@pytest.mark.parametrize("program", PROGRAMS)
def test_python(program: str) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    said = done.stdout
    for expected in re.findall(r"^print\(.*\)  # (.*)$", program, re.MULTILINE):
        assert said.split() == expected.split()
