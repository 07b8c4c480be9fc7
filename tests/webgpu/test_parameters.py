"""Kernels on a device that has no immediates: their parameters travel in a uniform buffer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from suite import passed

from .conftest import DEVICE

CONFORMANCE = Path(__file__).parents[1] / "conformance"
WITHOUT = {"TILEWRIGHT_WEBGPU_IMMEDIATES": "0"}

MORE_THAN_ONE_SUBMISSION_HOLDS = """
be = tw.init_backend("webgpu:0")
assert "immediates" not in be.device.features
assert be.device.limits["max_immediate_bytes"] == 0
x = np.arange(21, dtype=np.float32).reshape(7, 3)
a = be.array(x)
sums = [be.add(a, i) for i in range(600)]
assert all((s.numpy() == x + i).all() for i, s in enumerate(sums))
y = np.arange(12, dtype=np.float32).reshape(4, 1, 3)
assert (be.add(x, y).numpy() == x + y).all()
be.copy_htod(a.handle, b"abcdefg", offset=1)
assert a.numpy().tobytes()[:9] == x.tobytes()[:1] + b"abcdefg" + x.tobytes()[8:9]
print("done")
"""


A_RECORDING = """
be = tw.init_backend("webgpu:0")
x = be.array(np.arange(21, dtype=np.float32))
with be.record() as r:
    sums = [be.add(x, i) for i in range(600)]
be.add(x, 5)
for shift in (0, 100):
    host = np.arange(21, dtype=np.float32) + shift
    be.copy_htod(x, host)
    r.replay()
    be.add(x, 7)
    assert all((s.numpy() == host + i).all() for i, s in enumerate(sums))
r.drop()
assert (be.add(x, 1).numpy() == host + 1).all()
print("done")
"""


def test_those_of_a_recording_are_written_once(succeeds: Callable[..., str]) -> None:
    assert succeeds(A_RECORDING, **WITHOUT) == "done\n"


def test_each_launch_has_its_own(succeeds: Callable[..., str]) -> None:
    assert succeeds(MORE_THAN_ONE_SUBMISSION_HOLDS, **WITHOUT) == "done\n"


@pytest.mark.exhaustive
def test_the_cases_of_the_contract_hold() -> None:
    tests = [
        *(CONFORMANCE / name for name in ("test_cases.py", "test_gather.py", "test_kernel.py")),
        Path(__file__).with_name("test_wgsl.py"),
    ]
    assert passed(DEVICE, *tests, **WITHOUT) > 50


def test_a_wrong_value_of_the_variable(succeeds: Callable[..., str]) -> None:
    code = 'print(raised(tw.InvalidArgument, tw.init_backend, "webgpu:0"))'
    message = succeeds(code, TILEWRIGHT_WEBGPU_IMMEDIATES="maybe")
    assert 'TILEWRIGHT_WEBGPU_IMMEDIATES is "maybe", expected 1 or 0' in message
