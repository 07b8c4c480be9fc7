"""The host path of the Level Zero backend on Intel's own GPU driver, which captures what it would
send to a GPU and needs none. Nothing computes, so no numbers are looked at: every call succeeds."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from .compiler import environment

CODE = """
import numpy as np, tilewright
(device,) = (d for d in tilewright.devices() if d.backend == "level-zero")
assert device.available, device.reason
with tilewright.init_backend(device.id) as be:
    print(be.device.name, "subgroups" in be.device.features)
    ones = np.ones
    a, b = be.array(ones((65, 70), np.float32)), be.array(ones((70, 33), np.float32))
    with be.profile() as profile:
        be.matmul(a, b).numpy()
    profile.table()
    half = be.array(ones((64, 64), np.float16))
    be.matmul(half, half).numpy()
    be.add(a, a)
    be.exp(a)
    be.sum(a, 0)
    be.max(a, 1)
    be.softmax(a)
    x, w = be.array(ones((1, 32, 9, 9), np.float32)), be.array(ones((32, 32, 3, 3), np.float32))
    assert be.conv2d(x, w, padding=(1, 1)).numpy().shape == (1, 32, 9, 9)
    assert a.numpy().shape == (65, 70)
    for dtype in ("float32", "float16", "bfloat16", "int8", "int64", "bool", "float64"):
        program = tilewright.Program()
        value = program.input(dtype)
        program.output(value == value, value.cast("float32"))
        room = be.alloc(1 << 15), be.alloc(1 << 13), be.alloc(1 << 15)
        try:
            be.map(program, (64, 64), room[:1], [], room[1:])
            be.map(program, (8, 8), [(room[0], (30, 2), 5)], [], room[1:])
        except tilewright.Unsupported as refused:
            print("no", dtype if dtype in str(refused) else refused)
    handle = be.alloc(1001)
    be.copy_htod(handle, np.zeros(1001, np.uint8))
    be.copy_dtoh(np.empty(1001, np.uint8), handle)
    be.free(handle)
    be.synchronize()
    assert be.memory_stats().active_bytes > 0
print("closed")
"""


@pytest.mark.parametrize(("product", "lacks"), [("tgllp", ["no float64"]), ("skl", [])])
def test_every_call_succeeds(driver: Path, product: str, lacks: list[str], tmp_path: Path) -> None:
    clean = {k: v for k, v in environment(driver).items() if not k.startswith("TILEWRIGHT_")}
    variables = clean | {
        "ZE_ENABLE_ALT_DRIVERS": str(driver / "usr/lib/x86_64-linux-gnu/libze_intel_gpu.so.1"),
        "NEOReadDebugKeys": "1",
        "SetCommandStreamReceiver": "1",
        "ProductFamilyOverride": product,
        "AUBDumpCaptureFileName": os.devnull,
        # The compiler's results are not taken from an earlier run.
        "TILEWRIGHT_CACHE_DIR": str(tmp_path),
    }
    done = subprocess.run(
        [sys.executable, "-c", CODE],
        env=variables, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("Intel")
    assert done.stdout.splitlines()[1:] == [*lacks, "closed"]
