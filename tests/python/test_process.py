"""What happens to the process: forks, exits, imports, and memory over time."""

from __future__ import annotations

import gc
import json
import os
import signal
import struct
from collections.abc import Callable
from pathlib import Path

import pytest
import tilewright as tw

from .conftest import Run

FORK = """
import os, warnings
import numpy as np
import tilewright as tw
warnings.simplefilter("ignore")  # Python warns of forks with threads; that is what is tested
a = np.random.default_rng(0).standard_normal((300, 300)).astype(np.float32)
be = tw.init_backend("cpu")
x = be.array(a)
expected = be.matmul(x, x).numpy()
children = []
for _ in range(4):
    child = os.fork()
    if child == 0:
        fresh = tw.init_backend("cpu")
        same = (be.matmul(x, x).numpy() == expected).all() and (be.exp(x).numpy() > 0).all()
        same = same and (fresh.matmul(a, a).numpy() == expected).all()
        be.close()
        os._exit(0 if same else 1)
    children.append(child)
assert (be.matmul(x, x).numpy() == expected).all()
assert [os.waitpid(child, 0)[1] for child in children] == [0] * 4
assert (be.matmul(x, x).numpy() == expected).all()
print("done")
"""

FORK_POOL = """
import multiprocessing, warnings
import numpy as np
import tilewright as tw
warnings.simplefilter("ignore")
be = tw.init_backend("cpu")
def total(n):
    return be.sum(np.full(n, 2, np.float32)).item()
with multiprocessing.get_context("fork").Pool(3) as pool:
    assert pool.map(total, [10, 1000, 100_000]) == [20, 2000, 200_000]
assert total(10) == 20
print("done")
"""

FORK_UNDER_LOAD = """
import os, threading, warnings
import numpy as np
import tilewright as tw
warnings.simplefilter("ignore")
be = tw.init_backend("cpu")
x = be.zeros(50_000)
stop = threading.Event()
def work():
    while not stop.is_set():
        be.exp(be.add(x, 1))
threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads: thread.start()
for _ in range(10):
    child = os.fork()
    if child == 0:
        os._exit(0 if be.exp(be.zeros(50_000)).numpy().sum() == 50_000 else 1)
    assert os.waitpid(child, 0)[1] == 0
stop.set()
for thread in threads: thread.join()
print("done")
"""


@pytest.mark.parametrize("code", [FORK, FORK_POOL, FORK_UNDER_LOAD])
def test_parent_and_child_go_on_after_a_fork(run_python: Run, code: str) -> None:
    for threads in ("1", "3"):
        done = run_python(code, TILEWRIGHT_NUM_THREADS=threads)
        assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")


LIBRARIES = [
    ("cpu", "TILEWRIGHT_OPENBLAS_LIBRARY"),
    ("webgpu", "TILEWRIGHT_WGPU_LIBRARY"),
    ("level-zero", "TILEWRIGHT_ZE_LIBRARY"),
]
# A build may leave a backend out, and says so where its devices would be.
LEFT_OUT = {device.backend for device in tw.devices() if "does not contain" in device.reason}


@pytest.mark.parametrize(
    ("backend", "library"), [one for one in LIBRARIES if one[0] not in LEFT_OUT]
)
@pytest.mark.parametrize("call", ["be.init()", "tw.devices(); be.init()"])
def test_a_library_forks_where_it_is_loaded(
    run_python: Run, on_load: str, backend: str, library: str, call: str
) -> None:
    code = f"""
import tilewright as tw
be = tw.Backend({backend!r})
try:
    {call}
except tw.BackendUnavailable as error:
    print(error)
"""
    done = run_python(code, ON_LOAD="fork", **{library: on_load})
    assert done.stderr == ""
    assert on_load in done.stdout


@pytest.mark.parametrize(
    "library", [name for backend, name in LIBRARIES if backend not in {"cpu", *LEFT_OUT}]
)
def test_a_fork_waits_for_a_library_that_another_thread_loads(
    succeeds: Callable[..., str], on_load: str, tmp_path: Path, library: str
) -> None:
    """A child must not have the locks of the C library as a load leaves them."""
    code = f"""
import os, threading, time, warnings
import tilewright as tw
warnings.simplefilter("ignore")
os.chdir({str(tmp_path)!r})
looking = threading.Thread(target=tw.devices)
looking.start()
while not os.path.exists("begun"): time.sleep(0.001)
child = os.fork()
if child == 0: os._exit(0 if os.path.exists("ended") else 1)
assert os.waitpid(child, 0)[1] == 0
looking.join()
"""
    succeeds(code, ON_LOAD="take a while", **{library: on_load})


@pytest.mark.parametrize(
    "left",
    [
        "x = be.zeros(1000)",
        "loop = [be.zeros(1000)]; loop.append(loop)",
        "be.kept = be.zeros(1000)",
        "x = be.zeros(1000); be.close()",
        "x = be.zeros(1000); del be",
        "import builtins; builtins.kept = be.zeros(1000)",
        "import sys; sys.kept = (be, be.zeros(1000))",
        "view = np.from_dlpack(be.zeros(1000))",
        "import atexit; x = be.zeros(10); atexit.register(lambda: be.relu(x))",
        "import logging; logging.getLogger('tilewright').setLevel(1); be.kept = be.zeros(10)",
        "class Late:\n    def __del__(self): be.relu(x)\nx = be.zeros(10); late = Late()",
        "import threading\n"
        "x = be.array(np.ones((200, 200), np.float32))\n"
        "def work():\n"
        "    while True: be.matmul(x, x)\n"
        "for _ in range(8): threading.Thread(target=work, daemon=True).start()",
        "import threading, time\n"
        "def work():\n"
        "    while True: be.add(be.zeros(3), 1)\n"
        "for _ in range(8): threading.Thread(target=work, daemon=True).start()\n"
        "time.sleep(0.1)",
    ],
)
def test_an_interpreter_ends_quietly(run_python: Run, left: str) -> None:
    start = "import numpy as np\nimport tilewright as tw\nbe = tw.init_backend('cpu')\n"
    done = run_python(start + left)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


LOGGING_THREADS = """
import logging, sys, threading, time
import tilewright as tw
class Silent(logging.Handler):
    def emit(self, record): self.format(record)
logging.basicConfig(level=1, handlers=[Silent()])
def work():
    while True: tw.CpuBackend().init()
for _ in range(4): threading.Thread(target=work, daemon=True).start()
time.sleep(0.1)
"""


def test_an_interpreter_ends_quietly_while_threads_log(run_python: Run, repeats: int) -> None:
    for _ in range(repeats):
        done = run_python(LOGGING_THREADS)
        assert (done.returncode, done.stderr) == (0, "")


GIVING_ARGUMENTS = """
import threading, time
import tilewright as tw
be = tw.init_backend("cpu")
class Slow:
    def __index__(self):
        for _ in range(10_000): pass
        return 8
def work():
    while True: {0}
for _ in range(4): threading.Thread(target=work, daemon=True).start()
time.sleep(0.1)
"""


@pytest.mark.parametrize(
    "call", ["be.free(be.alloc(Slow()))", "be.add([[1.0] * 50] * 50, [[2] * 50] * 50)"]
)
def test_an_interpreter_ends_quietly_while_threads_give_arguments(
    run_python: Run, call: str, repeats: int
) -> None:
    for _ in range(repeats):
        done = run_python(GIVING_ARGUMENTS.format(call))
        assert (done.returncode, done.stderr) == (0, "")


INTERRUPTED = """
import logging, signal, sys
import tilewright as tw
logging.basicConfig(level=1, handlers=[logging.NullHandler()])
class Late(Exception): pass
def late(number, frame): raise Late
signal.signal(signal.SIGALRM, late)
sys.unraisablehook = lambda raised: print("lost:", raised.exc_type.__name__)
try:
    tw.init_backend("auto")
except BaseException as error:
    print(type(error).__name__)
assert tw.init_backend("cpu").relu([-1, 2]).numpy().tolist() == [0, 2]
"""


@pytest.mark.parametrize(
    ("number", "raised"), [(signal.SIGINT, "KeyboardInterrupt"), (signal.SIGALRM, "Late")]
)
def test_a_signal_while_a_backend_opens_is_not_lost(
    run_python: Run, on_load: str, number: int, raised: str
) -> None:
    at_load = {"TILEWRIGHT_WGPU_LIBRARY": on_load, "ON_LOAD": str(int(number))}
    done = run_python(INTERRUPTED, **at_load)
    assert (done.stdout, done.stderr) == (raised + "\n", "")


def test_a_signal_while_a_line_is_logged_is_not_lost(run_python: Run) -> None:
    code = """
import logging, signal
import tilewright as tw
class Interrupting(logging.Filter):
    def filter(self, record):
        signal.raise_signal(signal.SIGINT)
        return True
logger = logging.getLogger("tilewright")
logger.setLevel(logging.DEBUG)
logger.addFilter(Interrupting())
try:
    tw.init_backend("cpu")
except KeyboardInterrupt:
    print("interrupted")
"""
    done = run_python(code)
    assert (done.stdout, done.stderr) == ("interrupted\n", "")


@pytest.mark.parametrize(
    ("method", "call"),
    [
        ("__index__", "be.alloc(value)"),
        ("__repr__", "be.alloc(value)"),
        ("__float__", "be.rmsnorm(x, y, x, 1, 1, value)"),
        ("__getitem__", "be.reduce('sum', x, y, value, 0)"),
    ],
)
def test_a_signal_while_an_argument_is_read_is_not_lost(
    run_python: Run, method: str, call: str
) -> None:
    code = f"""
import signal
import tilewright as tw
be = tw.init_backend("cpu")
x, y = be.alloc(4), be.alloc(4)
class Interrupting:
    def __len__(self): return 1
    def {method}(self, *_): signal.raise_signal(signal.SIGINT)
value = Interrupting()
try:
    {call}
except KeyboardInterrupt:
    print("interrupted")
"""
    done = run_python(code)
    assert (done.stdout, done.stderr) == ("interrupted\n", "")


def test_import_is_light(run_python: Run) -> None:
    code = """
import json, sys
import numpy
before = set(sys.modules)
import tilewright
libraries = [line.split("/")[-1].strip() for line in open("/proc/self/maps")]
print(json.dumps([sorted(set(sys.modules) - before), sorted(set(libraries))]))
"""
    modules, libraries = json.loads(run_python(code).stdout)
    ours = {name for name in modules if name.split(".")[0] == "tilewright"}
    assert "tilewright.cli" not in ours
    # The logger, and what CPython makes it of.
    logging = {"logging", "string", "_string", "traceback", "weakref", "threading", "atexit"}
    assert set(modules) - ours <= logging | {"__future__"}
    assert not any("tilewright_openblas" in name for name in libraries)


def test_memory_does_not_grow(run_python: Run) -> None:
    code = """
import os
import numpy as np
import tilewright as tw
be = tw.init_backend("cpu")
a = np.ones(100, np.float32)
def resident():
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGESIZE")
def work(times):
    x, y = be.alloc(400), be.alloc(400)
    for i in range(times):
        be.copy_htod(x, a)
        be.unary("relu", x, y, 100)
        if i % 10 == 0:
            be.add(a, 1).numpy()
            np.from_dlpack(be.zeros((3, 4))).sum()
            try:
                be.unary("nonsense", x, y, 100)
            except tw.Error:
                pass
    be.free(x)
    be.free(y)
work(20_000)
before = resident()
work(100_000)
assert be.memory_stats().allocations == 0
print(resident() - before)
"""
    done = run_python(code)
    assert done.stderr == ""
    # A leak of 16 bytes a call would show as 1.6 MB.
    assert int(done.stdout) < 1_000_000


def test_the_log_is_silent_unless_set_up(run_python: Run) -> None:
    code = "import tilewright as tw; tw.init_backend('cpu').close()"
    done = run_python(code)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    done = run_python("import logging; logging.basicConfig(level=10); " + code)
    assert "INFO:tilewright:cpu: opened " in done.stderr
    assert "INFO:tilewright:cpu: closed" in done.stderr


def test_a_log_handler_that_fails_fails_no_call(run_python: Run) -> None:
    code = """
import logging, sys
import tilewright as tw
class Broken(logging.Filter):
    def filter(self, record):
        raise RuntimeError("broken filter")
logger = logging.getLogger("tilewright")
logger.setLevel(logging.DEBUG)
logger.addFilter(Broken())
seen = []
sys.unraisablehook = lambda raised: seen.append(str(raised.exc_value))
with tw.CpuBackend() as be:
    assert be.relu([-1]).item() == 0
assert seen and set(seen) == {"broken filter"}, seen
"""
    done = run_python(code)
    assert (done.returncode, done.stderr) == (0, "")


def test_log_lines_keep_their_order_and_level(caplog: pytest.LogCaptureFixture) -> None:
    gc.collect()  # closes what earlier tests left open
    with caplog.at_level(10, logger="tilewright"):
        tw.init_backend("cpu:0").close()
    messages = [record.getMessage() for record in caplog.records]
    assert [m.split(":")[0] for m in messages] == ["cpu", "cpu", "cpu"]
    assert "chose" in messages[0] and "opened" in messages[1] and "closed" in messages[2]
    assert {record.levelname for record in caplog.records} == {"INFO"}


def test_an_openblas_that_is_no_file(run_python: Run, tmp_path: Path) -> None:
    pipe = tmp_path / "openblas.so"
    os.mkfifo(pipe)
    code = """
import tilewright as tw
try:
    with tw.init_backend("cpu") as be:
        be.matmul([[1.0, 2.0]], [[1.0], [2.0]])
except tw.BackendUnavailable as error:
    print(error)
"""
    done = run_python(code, TILEWRIGHT_OPENBLAS_LIBRARY=str(pipe))
    assert f"could not be opened from {pipe}: is a named pipe" in done.stdout, done.stderr


def test_threads_own_memory_is_little() -> None:
    """What the library has in each thread's own memory is static TLS, of which the GNU C library
    has 1,664 bytes for all libraries that a process opens: torch's needs some of them."""
    library = Path(tw.__file__).parent / "lib" / "libtilewright.so"
    contents = library.read_bytes()
    assert contents[:5] == b"\x7fELF\x02"
    (start,) = struct.unpack_from("<Q", contents, 0x20)
    size, count = struct.unpack_from("<HH", contents, 0x36)
    thread_local = 7  # PT_TLS
    sizes = [
        struct.unpack_from("<Q", contents, start + i * size + 0x28)[0]
        for i in range(count)
        if struct.unpack_from("<I", contents, start + i * size)[0] == thread_local
    ]
    assert len(sizes) == 1
    assert 0 < sizes[0] <= 128
