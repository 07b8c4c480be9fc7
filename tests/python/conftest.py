"""What the tests of the Python surface share."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest
import tilewright

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def be() -> Iterator[tilewright.Backend]:
    with tilewright.CpuBackend() as backend:
        yield backend


@pytest.fixture
def run_python() -> Run:
    """Runs code in an interpreter of its own, with these TILEWRIGHT_* variables and no others."""

    def run(code: str, *options: str, **variables: str) -> subprocess.CompletedProcess[str]:
        clean = {k: v for k, v in os.environ.items() if not k.startswith("TILEWRIGHT_")}
        return subprocess.run(
            [sys.executable, *options, "-c", code],
            env=clean | variables,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    return run
