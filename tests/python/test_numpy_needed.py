"""What an import says where NumPy is missing, broken or too old."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

NEEDED = "tilewright needs NumPy 2.0 or newer"


@pytest.mark.parametrize(
    ("numpy", "said"),
    [
        ("raise ImportError('hidden')", f"{NEEDED}, which cannot be imported (hidden)"),
        ("__version__ = '1.26.4'", f"{NEEDED}, found 1.26.4"),
    ],
)
def test_the_import_says_what_is_needed(numpy: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "numpy.py").write_text(numpy)
    done = subprocess.run(
        [sys.executable, "-c", "import tilewright"],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    last = done.stderr.strip().splitlines()[-1]
    assert last == f"ImportError: {said}; run `pip install 'numpy>=2.0'`"


def test_the_metadata_says_the_same() -> None:
    needed = [one for one in metadata.requires("tilewright") or () if "extra" not in one]
    assert [re.sub(r"\s", "", one) for one in needed] == ["numpy>=2.0"]
