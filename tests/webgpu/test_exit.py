"""Interpreters that end in the middle of things."""

from __future__ import annotations

from collections.abc import Callable

import pytest

QUEUED = "for _ in range(50): be.unary('exp', x, x, 1000)\n"
LONG = "a = be.array(np.ones((400, 400), np.float32))\nfor _ in range(10): b = be.matmul(a, a)\n"
THREADS = """
import threading, time
def work():
    while True: {0}
for _ in range(6): threading.Thread(target=work, daemon=True).start()
time.sleep(0.2)
"""


@pytest.mark.parametrize(
    "left",
    [
        QUEUED,
        100 * QUEUED,
        LONG,
        "x = None\n" + LONG + "del a, b",
        QUEUED + "be.close()",
        QUEUED + "del be",
        QUEUED + "be.kept = x; loop = [be]; loop.append(loop)",
        QUEUED + "import builtins; builtins.kept = (be, x)",
        QUEUED + "import sys; sys.kept = x; sys.exit(0)",
        "import atexit; atexit.register(lambda: be.relu(x).numpy())",
        "import atexit; atexit.register(lambda: tw.init_backend('webgpu:0').relu([1]).numpy())",
        "class Late:\n    def __del__(self): be.relu(x)\nlate = Late()",
        "import logging; logging.getLogger('tilewright').setLevel(1); be.kept = x",
        THREADS.format("be.matmul(x, x)"),
        THREADS.format("be.add(be.zeros(3), 1).numpy()"),
        THREADS.format("be.copy_htod(x, np.ones(1000, np.float32)); be.synchronize()"),
        THREADS.format("be.relu(np.ones(1_000_000, np.float32)).numpy()"),
        THREADS.format("tw.init_backend('webgpu:0').relu([1])"),
        "import threading\nt = threading.Thread(target=lambda: [be.relu(x).numpy() for _ in "
        "range(500)])\nt.start()",
    ],
)
def test_an_interpreter_ends_quietly(succeeds: Callable[..., str], left: str) -> None:
    start = "be = tw.init_backend('webgpu:0')\nx = be.array(np.ones(1000, np.float32))\n"
    assert succeeds(start + left) == ""


def test_an_interpreter_ends_quietly_while_threads_compile(
    succeeds: Callable[..., str], repeats: int
) -> None:
    for i in range(repeats):
        start = "be = tw.init_backend('webgpu:0')\n"
        threads = THREADS.format("any_op(be)").replace("0.2", str(0.05 + i % 8 * 0.05))
        assert succeeds(start + threads) == ""


@pytest.mark.parametrize("signal", ["SIGTERM", "SIGINT"])
def test_a_signal_ends_it(run_python: Callable[..., str], signal: str) -> None:
    code = f"""
import os, signal, threading
be = tw.init_backend("webgpu:0")
x = be.array(np.ones((500, 500), np.float32))
threading.Timer(0.3, os.kill, [os.getpid(), signal.{signal}]).start()
while True: be.matmul(x, x).numpy()
"""
    done = run_python(code)
    expected = -15 if signal == "SIGTERM" else -2
    assert done.returncode == expected, done.stderr
    assert "panicked" not in done.stderr


def test_an_interpreter_ends_quietly_while_the_device_works(
    succeeds: Callable[..., str], repeats: int
) -> None:
    """A software GPU compiles in threads of its own, after the call that queued the work."""
    code = """
import threading, time
def work():
    be = tw.init_backend("webgpu:0")
    x, seed = be.alloc(256), time.time() % 1000  # no cache has it
    body = "".join(
        f"x = sin(x * {seed + i / 1000}) + cos(x + {i}.5) * f32(i.x % {i + 2}u);"
        for i in range(200)
    )
    kernel = be.create_kernel(
        "@group(0) @binding(0) var<storage, read_write> a: array<f32>;"
        "@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) i: vec3<u32>) {"
        "var x = a[i.x];" + body + "a[i.x] = x; }",
        trusted=True,
    )
    be.launch_kernel(kernel, [x], b"", [1, 1, 1])
    be.flush()
    queued.set()
    time.sleep(1000)
queued = threading.Event()
threading.Thread(target=work, daemon=True).start()
queued.wait()
time.sleep(DELAY)
"""
    for i in range(repeats):
        assert succeeds(f"DELAY = {0.1 + i % 8 * 0.08}" + code) == ""
