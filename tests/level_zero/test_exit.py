"""Interpreters that end in the middle of things, without a call of Level Zero at exit."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

START = """
be = tw.init_backend(DEVICE)
x, y = be.array(np.ones(1 << 16, np.float32)), be.array(np.ones(1 << 16, np.float32))
saxpy = kernel(be, "saxpy")
def work():
    for _ in range(50): saxpy(x, y, grid=1 << 10, params=(1 << 16, 2.0))
work()
"""
THREADS = """
import threading, time
def forever():
    while True: {0}
for _ in range(4): threading.Thread(target=forever, daemon=True).start()
time.sleep({1})
"""


@pytest.mark.parametrize(
    "left",
    [
        "",
        "be.close()",
        "del be",
        "del x, y, saxpy",
        "be.kept = x; loop = [be]; loop.append(loop)",
        "import builtins; builtins.kept = (be, x, saxpy)",
        "import sys; sys.kept = x; sys.exit(0)",
        "import atexit; atexit.register(work)",
        "class Late:\n    def __del__(self): work()\nlate = Late()",
        "be.begin_profile(); work()",
        THREADS.format("work()", 0.2),
        THREADS.format("be.copy_htod(x, np.ones(1 << 16, np.float32)); be.synchronize()", 0.2),
        THREADS.format("x.numpy()", 0.2),
        THREADS.format("kernel(be, 'rounds')", 0.2),
        THREADS.format("tw.init_backend(DEVICE).close()", 0.2),
    ],
)
def test_an_interpreter_ends_quietly(succeeds: Callable[..., str], left: str) -> None:
    assert succeeds(START + left) == ""


@pytest.mark.parametrize("seconds", [0.1, 0.2, 0.3, 0.4])
def test_it_ends_quietly_while_the_driver_compiles(
    succeeds: Callable[..., str], seconds: float
) -> None:
    start = "be = tw.init_backend(DEVICE); x = be.zeros((512, 512))"
    assert succeeds(start + THREADS.format("be.matmul(x, x).numpy()", seconds)) == ""


def test_it_ends_quietly_while_threads_compile(
    succeeds: Callable[..., str], tmp_path: Path, repeats: int
) -> None:
    for i in range(repeats):
        start = "be = tw.init_backend(DEVICE)\n"
        threads = THREADS.format("any_op(be)", 0.05 + i % 8 * 0.05)
        assert succeeds(start + threads, TILEWRIGHT_CACHE_DIR=str(tmp_path / str(i))) == ""


@pytest.mark.parametrize(("signal", "code"), [("SIGTERM", -15), ("SIGINT", -2)])
def test_a_signal_ends_it(run_python: Callable[..., str], signal: str, code: int) -> None:
    forever = f"""
import signal, threading
threading.Timer(0.3, os.kill, [os.getpid(), signal.{signal}]).start()
while True: work(); be.synchronize()
"""
    done = run_python(START + forever)
    assert done.returncode == code, done.stderr
