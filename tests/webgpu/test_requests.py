"""No request whatever ends the process, and what follows it is right."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.mark.parametrize("what", ["any_calls", "any_copies", "any_arrays"])
def test_arbitrary_requests(succeeds: Callable[..., str], what: str) -> None:
    here = Path(__file__).parent
    paths = [str(here), str(here.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    code = f"import arbitrary\narbitrary.{what}('webgpu:0')\nprint('done')"
    assert succeeds(code, PYTHONPATH=os.pathsep.join(paths)) == "done\n"
