"""Time to a new process's first results, with what an earlier one left on the disk and without.

    python benchmarks/python/cold_start.py [--device webgpu:0 ...] [--turns 5] [--size 256]
        [--states nothing ours driver both] [--python build/lavapipe/python] [--work 150] [--ahead]

Each sample is a process of its own, which imports NumPy and tilewright, opens a device and reads
the first result of some ops, one after the other; shown are medians in milliseconds. What is on the
disk: "nothing"; "ours", what tilewright keeps (TILEWRIGHT_CACHE_DIR); "driver", what the GPU's
driver keeps itself; "both", as where the same program ran before. A run before the samples fills
the folders, and the states take turns. Of drivers Mesa's, NVIDIA's and Intel's let their folder be
named by a variable; what others keep is there in all states.

Without --device it is all that can be opened of cpu:0, webgpu:0 through each of its libraries, and
level-zero:0; "webgpu:0/dawn" names the library. --python is what runs the samples. With --work the
program computes on the host for so many milliseconds before the ops, and with --ahead a thread runs
the ops once from before that on, so that they are compiled meanwhile.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

DEVICES = ("cpu:0", "webgpu:0/wgpu", "webgpu:0/dawn", "level-zero:0")
STATES = ("nothing", "ours", "driver", "both")
OURS = ("TILEWRIGHT_CACHE_DIR",)
DRIVERS = ("MESA_SHADER_CACHE_DIR", "__GL_SHADER_DISK_CACHE_PATH", "NEO_CACHE_DIR")


def first_results(device: str, options: argparse.Namespace) -> dict[str, float]:
    """Seconds of each step, in this process."""
    times: dict[str, float] = {}
    last = time.perf_counter()

    def passed(step: str) -> None:
        nonlocal last
        now = time.perf_counter()
        times[step] = now - last
        last = now

    import numpy as np

    passed("import numpy")
    import tilewright as tw
    from tilewright import nn

    passed("import tilewright")
    name, _, library = device.partition("/")
    config: dict[str, Any] = {"implementation": library} if library else {}
    be = tw.init_backend(name, **config)
    passed("open the device")
    rng = np.random.default_rng(1)
    size = options.size

    def array(*shape: int) -> tw.Array:
        return tw.asarray(rng.standard_normal(shape).astype(np.float32), device=be)

    x, row = array(size, size), array(size)
    image, filters = array(1, 16, 28, 28), array(16, 16, 3, 3)
    q = array(1, 4, 64, 64)
    ops: dict[str, Callable[[], tw.Array]] = {
        "matmul": lambda: x @ x,
        "softmax": lambda: nn.softmax(x),
        "layer_norm": lambda: nn.layer_norm(x, (size,), row, row),
        "conv2d": lambda: nn.conv2d(image, filters, padding=1),
        "attention": lambda: nn.scaled_dot_product_attention(q, q, q),
        "deferred chain": lambda: (tw.exp(x * 0.5 + 1) - row).sum(axis=1),
    }
    be.synchronize()
    passed("upload")
    ahead = threading.Thread(target=lambda: [op() for op in ops.values()])
    if options.ahead:
        ahead.start()
    if options.work:
        until = time.perf_counter() + options.work / 1e3
        while time.perf_counter() < until:
            np.sort(rng.standard_normal(20_000))
        passed("other work")
    for step, op in ops.items():
        op().numpy()
        passed(step)
    if options.ahead:
        ahead.join()
    be.close()
    return times


def sample(device: str, folders: dict[str, Path], options: argparse.Namespace) -> dict[str, float]:
    """The same in a process of its own, which keeps what it keeps in these folders."""
    named = {name: str(folder) for name, folder in folders.items()}
    command = [options.python, __file__, "--one", device, f"--size={options.size}"]
    command += [f"--work={options.work}", *["--ahead"] * options.ahead]
    done = subprocess.run(
        command, env=os.environ | named, stdout=subprocess.PIPE, text=True, check=True
    )
    times: dict[str, float] = json.loads(done.stdout)
    return times


def measure(device: str, options: argparse.Namespace) -> dict[str, list[dict[str, float]]]:
    """All samples, by state."""
    samples: dict[str, list[dict[str, float]]] = {state: [] for state in options.states}
    with tempfile.TemporaryDirectory() as temporary:
        full = Path(temporary) / "full"
        empty = Path(temporary) / "empty"

        def folders(state: str) -> dict[str, Path]:
            ours = full if state in ("ours", "both") else empty
            driver = full if state in ("driver", "both") else empty
            chosen = {name: ours / name for name in OURS} | {
                name: driver / name for name in DRIVERS
            }
            for folder in chosen.values():
                folder.mkdir(parents=True, exist_ok=True)
            return chosen

        sample(device, folders("both"), options)
        for _ in range(options.turns):
            for state in options.states:
                shutil.rmtree(empty, ignore_errors=True)
                # What a sample adds to a full folder is there for the next one, as for a user.
                samples[state].append(sample(device, folders(state), options))
    return samples


def show(device: str, samples: dict[str, list[dict[str, float]]]) -> None:
    states = list(samples)
    print(f"\n{device}, ms")
    print(f"{'':20}" + "".join(f"{state:>10}" for state in states))
    steps = list(samples[states[0]][0])

    def line(name: str, of: Callable[[dict[str, float]], float]) -> None:
        cells = [median(of(one) for one in samples[state]) * 1e3 for state in states]
        print(f"{name:20}" + "".join(f"{cell:10.1f}" for cell in cells))

    for step in steps:
        line(step, lambda one, step=step: one[step])  # type: ignore[misc]
    first = steps.index("matmul")
    line("ops", lambda one: sum(one[step] for step in steps[first:]))
    line("start to first", lambda one: sum(one[step] for step in steps[: first + 1]))
    line("all", lambda one: sum(one.values()))


def found(python: str) -> list[str]:
    """Those of DEVICES that can be opened, each tried in a process of its own."""
    code = "import sys, tilewright as tw\nname, _, library = sys.argv[1].partition('/')\n"
    code += "tw.init_backend(name, **({'implementation': library} if library else {})).close()"
    quiet = subprocess.DEVNULL
    return [
        device
        for device in DEVICES
        if subprocess.run([python, "-c", code, device], stderr=quiet, check=False).returncode == 0
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", nargs="*", help="such as webgpu:0/dawn; all if none is given")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--size", type=int, default=256, help="of the matrices")
    parser.add_argument("--states", nargs="*", choices=STATES, default=list(STATES))
    parser.add_argument("--work", type=float, default=0, help="milliseconds")
    parser.add_argument("--ahead", action="store_true")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--one", metavar="DEVICE", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(first_results(options.one, options)))
        return
    for device in options.device or found(options.python):
        show(device, measure(device, options))


if __name__ == "__main__":
    main()
