"""What calls on small Arrays cost the host, form by form, until they return.

    python benchmarks/python/calls.py [--device webgpu:0] [--elements N] [--only WORDS]
        [--against FOLDER] [--instructions]

Each sample is 200 calls, after which the device is waited for untimed; shown are the medians and
the least in microseconds. With --against the package in another folder, an install of another
version, is timed in a process of its own, in turns with this one. --instructions counts, in place
of time, what the thread of the calls runs of the processor's instructions, by valgrind's callgrind:
that is the same from run to run, whatever else the machine does. "ours" are those of Python, NumPy
and tilewright, without the GPU's driver, wgpu-native and the C library; with --against they are
those of that version alone. "wgpu" are wgpu-native's own. Under callgrind calls take so long that
each is a submission: "all" and "wgpu" have those too.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

FORMS = """
x + y
x + 1
-x
x > 0
tw.exp(x)
tw.where(b, x, y)
x.astype('int32')
z * z
z + z
z + 1
-z
tw.conj(z)
x.T
x.reshape(8, -1)
x[2:5]
m[1:, ::2]
x[i]
x[b]
m[r]
m[:, j]
m[j, j]
m[[0, 3]]
m[:, [0, 3]]
m[[0, 3]] = 1
m[k]
tw.take(m, [0, 3], axis=0)
tw.nonzero(b)
x[i] = 1
x[i] = v
x[b] = 0
x[b] = v
x[2:5] = 1
tw.take(x, i)
x.sum()
m.sum(axis=0)
x.mean()
x.max()
x.any()
x.argmax()
n.sum()
x.sum(dtype='float32')
m.sum(axis=(0, 1))
tw.sum(x)
tw.max(x)
x.std()
x.var(ddof=1)
(x * y + 1).sum()
tw.cumulative_sum(x)
x.cumsum()
tw.sort(x)
tw.argsort(x)
m @ m
n @ n
tw.matmul(m, m)
tw.nn.softmax(m)
tw.nn.log_softmax(m)
tw.nn.linear(m, m)
tw.nn.conv2d(p, w)
tw.nn.conv1d(o, e)
tw.nn.max_pool2d(p, 2)
tw.nn.avg_pool2d(p, 2)
tw.nn.layer_norm(m, 8, s, s)
tw.nn.rms_norm(m, 8, s)
tw.nn.batch_norm(p, c, c)
tw.nn.group_norm(p, 2)
tw.nn.embedding(j, m)
tw.nn.cross_entropy(m, j)
tw.nn.mse_loss(m, m)
tw.nn.interpolate(p, scale_factor=2)
tw.nn.scaled_dot_product_attention(q, q, q)
tw.vecdot(m, m)
tw.tensordot(m, m, axes=1)
tw.einsum('ij,jk->ik', m, m)
tw.linalg.norm(x)
tw.outer(s, s)
tw.trace(m)
u @ u
tw.median(m)
tw.isclose(x, y)
tw.allclose(x, y)
tw.meshgrid(s, s)
tw.fft.fft(z)
tw.fft.rfft(x)
tw.tril(m)
tw.empty(64)
tw.zeros(64)
tw.ones((8, 8), dtype='int32')
tw.full(64, 2.5)
tw.zeros_like(x)
tw.arange(64)
tw.asarray(h)
tw.asarray([1, 2, 3])
g.random(8)
be.map(double, (8, 8), [m], [], [f])
be.conv2d(p, w)
tw.concat([x, y])
tw.stack([x, y])
np.exp(x)
np.add(x, y)
np.sum(x)
np.mean(m, axis=0)
np.concatenate([x, y])
np.where(b, x, y)
x.copy()
""".strip().splitlines()

SAMPLE = 200  # calls
COUNTED = 50  # calls whose instructions are counted
# In the paths of libraries.
OURS, OTHERS, WGPU = ("tilewright", "python", "numpy"), ("wgpu", "openblas"), "wgpu"
# Functions of the C library, called by os.getloadavg() and os.nice() alone: where one is entered,
# callgrind writes its counters and sets them to 0.
START, END = "getloadavg", "nice"


def calls(device: str, elements: int) -> tuple[dict[str, Callable[[], object]], Any]:
    """The forms as functions, and the backend that they work on."""
    import numpy as np
    import tilewright as tw

    be = tw.init_backend(device)
    tw.set_default_device(be)
    host = np.arange(elements, dtype=np.float32)
    side = 8
    has_int64 = "int64" in tw.__array_namespace_info__().dtypes(device=be)
    place = np.int64 if has_int64 else np.int32
    double = tw.Program()
    double.output(double.input("float32") * 2)
    names = {
        "be": be,
        "double": double,
        "f": tw.zeros((side, side)),
        "g": tw.random.default_rng(1),
        "k": np.array([0, 3]),
        "np": np,
        "tw": tw,
        "h": host,
        "x": tw.asarray(host),
        "y": tw.asarray(host + 1),
        "z": tw.asarray(host.astype(np.complex64)),
        "b": tw.asarray(host % 2 == 0),
        "i": tw.asarray(np.arange(0, elements, 2, dtype=place)),
        "n": tw.asarray(np.arange(side * side).reshape(side, side).astype(np.int32)),
        "m": tw.asarray(np.ones((side, side), np.float32)),
        "u": tw.asarray(np.ones((side, side), np.complex64)),
        "p": tw.asarray(np.ones((1, 4, side, side), np.float32)),
        "w": tw.asarray(np.ones((4, 4, 3, 3), np.float32)),
        "o": tw.asarray(np.ones((4, side, side), np.float32)),
        "e": tw.asarray(np.ones((4, side, 3), np.float32)),
        "s": tw.asarray(np.ones(side, np.float32)),
        "c": tw.asarray(np.ones(4, np.float32)),
        "q": tw.asarray(np.ones((1, 2, side, side), np.float32)),
        "r": tw.asarray(np.arange(side) % 2 == 0),
        "j": tw.asarray(np.arange(side, dtype=place)[::-1].copy()),
        "v": tw.asarray(host[: (elements + 1) // 2].copy()),
    }
    made: dict[str, Callable[[], object]] = {}
    for form in FORMS:
        scope: dict[str, Any] = dict(names)
        exec(f"def call():\n    {form}\n", scope)
        made[form] = scope["call"]
    return made, be


def sample(call: Callable[[], object], be: Any) -> float:
    """Microseconds of a call."""
    start = time.perf_counter()
    for _ in range(SAMPLE):
        call()
    passed = time.perf_counter() - start
    be.synchronize()
    return passed / SAMPLE * 1e6


def serve(options: argparse.Namespace) -> None:
    """Times each form that stands on a line of the input."""
    made, be = calls(options.device, options.elements)
    for line in sys.stdin:
        print(json.dumps(sample(made[line.strip()], be)), flush=True)


class Side:
    """A process that times the forms with one package."""

    def __init__(self, options: argparse.Namespace, package: Path | None) -> None:
        environment = dict(os.environ)
        if package is not None:
            environment["PYTHONPATH"] = str(package)
        command = [sys.executable, __file__, "--serve", f"--device={options.device}"]
        command.append(f"--elements={options.elements}")
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, text=True, env=environment
        )

    def sample(self, form: str) -> float:
        assert self.process.stdin is not None and self.process.stdout is not None
        print(form, file=self.process.stdin, flush=True)
        return float(self.process.stdout.readline())


def show_times(forms: list[str], options: argparse.Namespace) -> None:
    sides = [Side(options, None)]
    if options.against is not None:
        sides.append(Side(options, options.against))
    against = f"{'against':>11}{'least':>9}" if len(sides) > 1 else ""
    print(f"{'µs a call':46}{'median':>9}{'least':>9}{against}")
    for form in forms:
        times: list[list[float]] = [[] for _ in sides]
        for turn in range(options.turns + 1):
            for side, all_times in zip(sides, times, strict=True):
                one = side.sample(form)
                if turn:  # the first one warms up
                    all_times.append(one)
        cells = "  ".join(f"{median(one):9.2f}{min(one):9.2f}" for one in times)
        print(f"{form:46}{cells}", flush=True)


def count(forms: list[str], options: argparse.Namespace) -> None:
    """What runs under callgrind."""
    made, be = calls(options.device, options.elements)
    gc.disable()  # a collection costs what all objects of the process do
    os.getloadavg()  # the first time that they are called takes longer
    os.nice(0)
    for form in forms:
        call = made[form]
        for _ in range(10):
            call()
        be.synchronize()
        os.getloadavg()
        for _ in range(COUNTED):
            call()
        os.nice(0)
        be.synchronize()


def instructions(dump: Path) -> tuple[int, int, int]:
    """All that a dump of callgrind counted, what of that is neither a driver's nor the C
    library's, and what is wgpu-native's."""
    names: dict[str, str] = {}
    total = ours = of_wgpu = 0
    is_ours = is_wgpu = is_call = False
    for line in dump.read_text(errors="replace").splitlines():
        if line.startswith("ob="):
            number, _, name = line[3:].partition(" ")
            path = names.setdefault(number, name)
            is_ours = any(one in path for one in OURS) and not any(one in path for one in OTHERS)
            is_wgpu = WGPU in path
        elif line.startswith("cob="):
            number, _, name = line[4:].partition(" ")
            names.setdefault(number, name)
        elif line.startswith("calls="):
            is_call = True  # what the next line counts, others count too
        elif line and line[0] in "0123456789+-*":
            if not is_call:
                count = int(line.split()[1])
                total += count
                ours += count if is_ours else 0
                of_wgpu += count if is_wgpu else 0
            is_call = False
    return total, ours, of_wgpu


def show_instructions(forms: list[str], options: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory() as folder:
        environment = dict(os.environ)
        if options.against is not None:
            environment["PYTHONPATH"] = str(options.against)
        command = [
            "valgrind", "--tool=callgrind", f"--dump-before={START}", f"--dump-before={END}",
            "--separate-threads=yes", f"--callgrind-out-file={folder}/out", sys.executable,
            __file__, "--count", f"--device={options.device}", f"--elements={options.elements}",
            f"--only={options.only}",
        ]  # fmt: skip
        subprocess.run(command, env=environment, check=True, stderr=subprocess.DEVNULL)
        print(f"{'instructions of a call':46}{'all':>9}{'ours':>9}{'wgpu':>9}")
        for at, form in enumerate(forms):
            # Two dumps for each pair of START and END, the first pair of which is no form's. The
            # first thread is the one that calls.
            found = instructions(Path(folder, f"out.{2 * at + 4}-01"))
            print(f"{form:46}" + "".join(f"{one // COUNTED:9d}" for one in found), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--device", default="cpu", help="default: %(default)s")
    parser.add_argument("--elements", type=int, default=64, help="default: %(default)s")
    parser.add_argument("--turns", type=int, default=15, help="default: %(default)s")
    parser.add_argument("--only", default="", help="forms that have one of these, split by '|'")
    parser.add_argument("--against", type=Path, help="a folder that has another version")
    parser.add_argument("--instructions", action="store_true", help="count them (valgrind)")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--count", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    forms = [one for one in FORMS if any(part in one for part in options.only.split("|"))]
    if options.serve:
        serve(options)
    elif options.count:
        count(forms, options)
    elif options.instructions:
        show_instructions(forms, options)
    else:
        show_times(forms, options)


if __name__ == "__main__":
    main()
