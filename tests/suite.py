"""Tests that run again in a process of their own, under settings that a process reads once."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path


def passed(device: str, *arguments: str | Path, **variables: str) -> int:
    """How many tests passed, on this device, under these variables; none failed. They are all that
    the arguments choose, whatever is drawn of those around."""
    own = {name: value for name, value in os.environ.items() if name != "TILEWRIGHT_TEST_DRAW"}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments],
        env={**own, **variables, "TILEWRIGHT_TEST_DEVICES": device},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-10_000:] + done.stderr[-2_000:]
    said = re.search(r"(\d+) passed", done.stdout)
    assert said is not None, done.stdout[-10_000:]
    return int(said[1])
