"""The README's table of ops is what the backends do."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.exhaustive
def test_the_table_in_the_readme_is_the_one_that_runs_here(
    capsys: pytest.CaptureFixture[str],
) -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / "op_table.py", "--check"],
        capture_output=True,
        text=True,
    )
    with capsys.disabled():
        print(done.stdout, end="")  # which columns this machine could not compare
    assert (done.returncode, done.stderr) == (0, "")
