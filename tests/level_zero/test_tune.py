"""tilewright tune measures Level Zero's kernels, each in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest


def tune(cache: Path, *arguments: str) -> Any:
    done = subprocess.run(
        [sys.executable, "-m", "tilewright", "tune", "--device", "level-zero:0", *arguments],
        env={**os.environ, "TILEWRIGHT_CACHE_DIR": str(cache)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.exhaustive
def test_every_kernel_is_measured(tmp_path: Path) -> None:
    sizes = ("--ops", "gemm", "--sizes", "200x200x200", "--dtypes", "float32")
    said = json.loads(tune(tmp_path, *sizes, "--json"))
    measured = [result for result in said["results"] if result["point"] == "gemm"]
    assert measured
    for result in measured:
        assert len(result["seconds"]) > 5
        assert min(result["seconds"].values()) > 0
        assert result["best"] in result["seconds"]
    (file,) = tmp_path.glob("tuning-*.txt")
    head, device, *_ = file.read_text().splitlines()
    assert head == "tilewright tuning 1"
    assert device.startswith("device Level Zero on ")
