"""The order of commands, on lists that keep it and on lists that do not."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

ORDER = """
with tw.init_backend(DEVICE) as be:
    n = 1 << 16
    x, y = be.array(np.ones(n, np.float32)), be.array(np.zeros(n, np.float32))
    saxpy, z = kernel(be, "saxpy"), be.alloc(4 * n)
    received, expected = np.empty(n, np.float32), 0.0
    for i in range(40):
        saxpy(x, y, grid=n // 64, params=(n, 1.0))
        expected += 1
        be.copy_dtod(z, y.handle, 4 * n)
        if i % 7 == 0:
            be.copy_htod(y.handle, np.full(n, i, np.float32))
            expected = float(i)
        if i % 5 == 0:
            be.copy_dtoh(received, z)
            assert (received == received[0]).all()
    assert (y.numpy() == expected).all()
assert all_of_it(100_000)
print(CpuDriver().alive())
"""


@pytest.mark.parametrize(
    "seed", ["1", *(pytest.param(seed, marks=pytest.mark.exhaustive) for seed in "23")]
)
@pytest.mark.parametrize("copy_engine", ["0", "1"])
def test_commands_shuffled_between_barriers(
    succeeds: Callable[..., str], seed: str, copy_engine: str
) -> None:
    assert succeeds(ORDER, ZE_CPU_SHUFFLE=seed, ZE_CPU_COPY_ENGINE=copy_engine) == "\n"


@pytest.mark.parametrize("copy_engine", ["0", "1"])
def test_lists_that_keep_their_order(
    succeeds: Callable[..., str], newer_loader: Path, copy_engine: str
) -> None:
    """These need no barriers, which shows in the number of calls."""
    code = ORDER + "print(CpuDriver().calls())"
    settings = {"ZE_CPU_SHUFFLE": "5", "ZE_CPU_COPY_ENGINE": copy_engine}
    with_barriers = int(succeeds(code, **settings).split()[-1])
    without = int(succeeds(code, TILEWRIGHT_ZE_LIBRARY=str(newer_loader), **settings).split()[-1])
    assert without < with_barriers - 50


@pytest.mark.parametrize("copy_engine", ["0", "1"])
def test_the_validation_layer_finds_nothing(
    run_python: Callable[..., subprocess.CompletedProcess[str]], copy_engine: str
) -> None:
    done = run_python(
        ORDER,
        ZE_ENABLE_VALIDATION_LAYER="1",
        ZE_ENABLE_PARAMETER_VALIDATION="1",
        ZE_ENABLE_HANDLE_LIFETIME="1",
        ZE_CPU_COPY_ENGINE=copy_engine,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stderr


def test_one_launch_is_awaited_by_its_own_event(succeeds: Callable[..., str]) -> None:
    """Launch, wait, reset: no barrier behind a launch that found the GPU idle."""
    code = """
with tw.init_backend(DEVICE) as be:
    x, y = be.array(np.arange(-8, 8, dtype=np.float32)), be.alloc(64)
    received = np.empty(16, np.float32)
    be.unary("relu", x.handle, y, 16)
    be.copy_dtoh(received, y)
    before = CpuDriver().calls()
    for _ in range(50):
        be.unary("relu", x.handle, y, 16)
        be.synchronize()
    print((CpuDriver().calls() - before) / 50)
    be.copy_dtoh(received, y)
    assert (received == np.maximum(np.arange(-8, 8), 0)).all()
"""
    assert succeeds(code) == "3.0\n"
