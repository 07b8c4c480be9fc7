"""Matrix products in a process that has little address space left."""

from __future__ import annotations

import json

import pytest

from .conftest import Run

# What is still to be had, in MB: from next to nothing to room for OpenBLAS and several products.
LEFT = [1, 4, 16, 30, 34, 50, 66, 80, 100, 130, 170, 260]

START = """
import json, os, resource, signal, threading, warnings
import numpy as np
import tilewright as tw
warnings.simplefilter("ignore")  # Python warns of forks with threads
def leave(megabytes):
    with open("/proc/self/statm") as statm:
        used = int(statm.read().split()[0]) * os.sysconf("SC_PAGESIZE")
    resource.setrlimit(resource.RLIMIT_AS, (used + (megabytes << 20),) * 2)
def in_child(body, megabytes):
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        try:
            body(megabytes)
        except MemoryError:
            os._exit(2)
        except tw.BackendUnavailable as error:
            os._exit(2 if "failed to map" in str(error) else 3)
        except BaseException:
            os._exit(4)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
"""

READY = """
be = tw.init_backend("cpu")
a = np.ones((400, 400), np.float32)
x, y, z = be.array(a), be.array(a), be.zeros((400, 400))
"""

PRODUCT = """
def body(megabytes):
    be.exp(x, out=z)  # starts the threads
    leave(megabytes)
    be.matmul(x, y, out=z)
    assert (z.numpy() == 400).all()
"""

LOADING = """
def body(megabytes):
    leave(megabytes)
    be = tw.init_backend("cpu")
    a = np.ones((200, 200), np.float32)
    assert be.matmul(a, a).numpy()[0, 0] == 200
"""

SEVERAL = """
def body(megabytes):
    failures = []
    go = threading.Event()
    def work():
        out = be.zeros((400, 400))
        go.wait()
        try:
            for _ in range(20): be.matmul(x, y, out=out)
            assert (out.numpy() == 400).all()
        except BaseException as error:
            failures.append(error)
    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads: thread.start()
    leave(megabytes)
    go.set()
    for thread in threads: thread.join()
    if failures: raise failures[0]
"""


# The stacks of 60 threads are all taken before memory gets little only where the threads run.
CASES = [
    (code, threads)
    for code in (READY + PRODUCT, LOADING, READY + SEVERAL)
    for threads in ("1", "3")
] + [(READY + PRODUCT, "60")]


@pytest.mark.parametrize(("code", "threads"), CASES)
def test_a_product_works_or_says_that_memory_is_out(
    run_python: Run, code: str, threads: str
) -> None:
    code = START + code + f"print(json.dumps([in_child(body, left) for left in {LEFT}]))"
    done = run_python(code, TILEWRIGHT_NUM_THREADS=threads)
    assert (done.returncode, done.stderr) == (0, "")
    ends = json.loads(done.stdout)
    assert set(ends) <= {0, 2} and ends[-1] == 0, ends


@pytest.mark.parametrize(("megabytes", "expected"), [(8, "of a matrix product; free"), (64, "400")])
def test_the_first_product(run_python: Run, megabytes: int, expected: str) -> None:
    code = f"""
leave({megabytes})
try:
    print(be.matmul(x, y, out=z).numpy()[0, 0])
except tw.OutOfMemory as error:
    print(error)
"""
    done = run_python(START + READY + code, TILEWRIGHT_NUM_THREADS="1")
    assert (done.returncode, done.stderr) == (0, "")
    assert expected in done.stdout
