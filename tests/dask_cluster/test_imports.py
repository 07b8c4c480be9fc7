"""What is registered with Dask, by what is imported in which order."""

from __future__ import annotations

import subprocess
import sys

TABLES = """
import pickle
from distributed.protocol import dask_deserialize, dask_serialize
from distributed.protocol import deserialize, serialize

def known(table):
    try:
        table.dispatch(tilewright.Array)
    except TypeError:
        return False
    return True

print(known(dask_serialize), known(dask_deserialize))
x = tilewright.ones(3, device="cpu")
header, frames = serialize(x)
print(header["serializer"], deserialize(header, frames).tolist())
"""


def lines(code: str) -> list[str]:
    """What code prints in an interpreter of its own, which nothing else has imported into."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_dask_first() -> None:
    """As in a worker that meets Arrays: it takes what is sent in both ways."""
    said = lines("import distributed, tilewright" + TABLES)
    assert said == ["False True", "pickle [1.0, 1.0, 1.0]"]


def test_tilewright_alone() -> None:
    said = lines("import tilewright, distributed" + TABLES)
    assert said == ["False False", "pickle [1.0, 1.0, 1.0]"]


def test_with_its_dask() -> None:
    said = lines("import tilewright, tilewright.dask" + TABLES)
    assert said == ["True True", "dask [1.0, 1.0, 1.0]"]


def test_tilewright_does_without_dask() -> None:
    said = lines(
        "import sys, tilewright\n"
        "print([one for one in ('dask', 'distributed') if one in sys.modules])"
    )
    assert said == ["[]"]
