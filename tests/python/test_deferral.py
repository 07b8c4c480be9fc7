"""What switches deferral for a process."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

CODE = """
import tilewright
from tilewright import _core
x = tilewright.ones(1 << 21, dtype="int8", device="cpu")
print(_core._is_deferred(x + 1))
"""


@pytest.mark.parametrize(
    ("value", "said"),
    [(None, "True"), ("", "True"), ("1", "True"), ("On", "True"), ("0", "False"), ("No", "False")],
)
def test_the_variable(value, said):
    environment = {k: v for k, v in os.environ.items() if k != "TILEWRIGHT_DEFERRED"}
    if value is not None:
        environment["TILEWRIGHT_DEFERRED"] = value
    ended = subprocess.run(
        [sys.executable, "-c", CODE], env=environment, capture_output=True, text=True, check=True
    )
    assert ended.stdout.strip() == said


def test_a_variable_that_means_nothing():
    ended = subprocess.run(
        [sys.executable, "-c", CODE],
        env={**os.environ, "TILEWRIGHT_DEFERRED": "perhaps"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode != 0
    assert 'InvalidArgument: TILEWRIGHT_DEFERRED is "perhaps", expected 1 or 0' in ended.stderr
