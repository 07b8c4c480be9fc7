"""What is refused is refused before anything is made of it, with little memory left."""

from __future__ import annotations

from .conftest import Run

# Every argument here would take more than the 256 MB that the process may still have.
FIRST = """
import resource
import numpy as np
import tilewright as tw
be = tw.CpuBackend()
be.init()
x = be.array([1.0, 2.0])
handle = be.alloc(64)
item = np.zeros(1, np.float32)
huge = np.broadcast_to(item, (1 << 30,))
target = np.lib.stride_tricks.as_strided(item, (1 << 30,), (0,))
sizes = range(10**8)
with open("/proc/self/statm") as statm:
    used = int(statm.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (256 << 20), -1))
for call, message in CALLS:
    try:
        eval(call)
    except tw.InvalidArgument as error:
        assert len(str(error)) < 1000, (call, len(str(error)))
        assert message in str(error), (call, error)
    else:
        raise AssertionError(call + " raised nothing")
"""

CALLS = [
    ("be.copy_htod(handle, huge)", "copy_htod: dst holds 64 bytes, expected at least 42949672"),
    ("be.copy_htod(handle + (1 << 50), huge)", "which no alloc() returned"),
    ("be.copy_htod(handle, huge[:32], 65)", "copy_htod: dst holds 64 bytes"),
    ("be.copy_dtoh(target, handle)", "copy_dtoh: src holds 64 bytes, expected at least 4294"),
    ("tw._core.Backend.softmax(be, x, x, sizes, 0)", "softmax: shape is range"),
    ("tw._core.Backend.softmax(be, x, x, [1] * 10**7, 0)", "shape is of type list, 10000000"),
    ("be.binary_broadcast('add', x, sizes, x, [1], x, [2])", "a_strides is range"),
    ("be.conv2d_forward(x, sizes, x, sizes, x, sizes, (1, 1), (0, 0))", "of 4 integers"),
    ("be.conv2d(x, x, stride=(1,) * 10**7)", "conv2d: "),
    ("be.empty(np.broadcast_to(np.int64(1), (10**9,)))", "empty: shape has 1000000000"),
    ("be.sum(x, axis=(0,) * 10**7)", "sum: axis is of type tuple, 10000000 long"),
    ("x.reshape(sizes)", "reshape: shape is range(0, 100000000)"),
    ("x.reshape([1] * 10**7)", "reshape: shape is of type list"),
    ("be.unary('x' * 10**8, x, x, 2)", "unary: op is of type str, 100000000 long"),
    ("be.unary([['x' * 10**8]], x, x, 2)", "unary: op is of type list, 1 long"),
    ("be.unary({'x': 'x' * 10**8}, x, x, 2)", "unary: op is of type dict, 1 long"),
    ("be.array('x' * 10**8)", "array: x is of type str"),
    ("be.add(x, b'x' * 10**8)", "add: b is of type bytes"),
    ("be.full(3, 'x' * 10**8)", "full: value is of type str"),
    ("be.zeros(3, 'x' * 10**8)", "zeros: dtype is of type str"),
]


def test_checks_come_before_copies(run_python: Run) -> None:
    done = run_python(FIRST.replace("CALLS", repr(CALLS)))
    assert done.returncode == 0, done.stderr


def test_what_is_right_is_still_taken(run_python: Run) -> None:
    code = """
import numpy as np
import tilewright as tw
with tw.CpuBackend() as be:
    row = np.arange(3, dtype=np.float32)
    handle = be.alloc(48)
    be.copy_htod(handle, np.broadcast_to(row, (4, 3)))
    out = np.zeros((4, 6), np.float32)
    be.copy_dtoh(out[:, ::2], handle)
    assert (out[:, ::2] == row).all() and not out[:, 1::2].any()
    assert be.array(range(3)).numpy().tolist() == [0, 1, 2]
"""
    done = run_python(code)
    assert done.returncode == 0, done.stderr
