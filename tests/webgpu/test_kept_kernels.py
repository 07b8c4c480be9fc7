"""What Dawn compiled, on disk: used again by later processes, of no harm where it is damaged."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

Succeeds = Callable[..., str]

# Counts what the log says of files.
START = """
import logging
import numpy as np

said = {"is used": 0, "is written": 0, "is damaged": 0, "cannot be written": 0}
class Counts(logging.Handler):
    def emit(self, record):
        message = record.getMessage()
        if ".bin " in message:
            assert message.startswith("webgpu: "), message
            for word in said:
                said[word] += word in message
logger = logging.getLogger("tilewright")
logger.addHandler(Counts())
logger.setLevel(logging.DEBUG)

def computes(be):
    rng = np.random.default_rng(1)
    a = rng.standard_normal((40, 30)).astype("f4")
    x, y = tw.asarray(a, device=be), tw.asarray(a.T.copy(), device=be)
    assert np.abs((x @ y).numpy() - a @ a.T).max() < 1e-4
    assert np.abs(tw.exp(x).numpy() - np.exp(a)).max() < 1e-4
    assert np.abs(tw.sum(x, axis=1).numpy() - a.sum(1)).max() < 1e-4
"""
RUN = """
with tw.init_backend("webgpu:0") as be:
    assert be.device.implementation == "dawn"
    computes(be)
print(*said.values())
"""


@pytest.fixture
def variables(on_dawn: dict[str, str], tmp_path: Path) -> dict[str, str]:
    return on_dawn | {"TILEWRIGHT_CACHE_DIR": str(tmp_path / "cache")}


def files(folder: Path) -> dict[str, tuple[bytes, int]]:
    found = sorted((folder / "cache" / "webgpu").glob("*"))
    return {file.name: (file.read_bytes(), file.stat().st_mtime_ns) for file in found}


def counts(succeeds: Succeeds, variables: dict[str, str]) -> dict[str, int]:
    """How many files a process that computes used, wrote, found damaged and could not write."""
    numbers = succeeds(START + RUN, **variables).split()
    return dict(zip(("used", "written", "damaged", "not"), map(int, numbers), strict=True))


def test_a_second_process_takes_what_the_first_left(
    succeeds: Succeeds, variables: dict[str, str], tmp_path: Path
) -> None:
    first = counts(succeeds, variables)
    kept = files(tmp_path)
    assert len(kept) == first["written"] > 3
    assert first["damaged"] == first["not"] == 0
    second = counts(succeeds, variables)
    assert second == {"used": len(kept), "written": 0, "damaged": 0, "not": 0}
    assert files(tmp_path) == kept


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda content: b"",
    "cut off": lambda content: content[: len(content) // 2],
    "without its last byte": lambda content: content[:-1],
    "changed": lambda content: content[:-9] + b"x" * 9,
    "other": lambda content: b"nonsense" * 1000,
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_files(
    succeeds: Succeeds, variables: dict[str, str], tmp_path: Path, damage: str
) -> None:
    counts(succeeds, variables)
    kept = files(tmp_path)
    for name, (content, _) in kept.items():
        (tmp_path / "cache" / "webgpu" / name).write_bytes(DAMAGES[damage](content))
    again = counts(succeeds, variables)
    assert again == {"used": 0, "written": len(kept), "damaged": len(kept), "not": 0}
    assert {name: content for name, (content, _) in files(tmp_path).items()} == {
        name: content for name, (content, _) in kept.items()
    }


@pytest.mark.parametrize("where", ["in a file", "in no file system for files", "without rights"])
def test_a_folder_that_cannot_be_written(
    succeeds: Succeeds, variables: dict[str, str], tmp_path: Path, where: str
) -> None:
    folder = tmp_path / "cache"
    if where == "in a file":
        folder.write_text("no folder")
    elif where == "without rights":
        (folder / "webgpu").mkdir(parents=True)
        (folder / "webgpu").chmod(0o500)
    else:
        folder = Path("/proc/tilewright")
    done = counts(succeeds, variables | {"TILEWRIGHT_CACHE_DIR": str(folder)})
    if where == "without rights":
        (folder / "webgpu").chmod(0o700)
    assert done["used"] == done["damaged"] == 0
    # Rights are nothing to root.
    written = where == "without rights" and os.geteuid() == 0
    assert (done["written"] > 0, done["not"] > 0) == (written, not written)


def test_no_folder_at_all(succeeds: Succeeds, on_dawn: dict[str, str], tmp_path: Path) -> None:
    code = "import os\nfor name in ('HOME', 'XDG_CACHE_HOME'): os.environ.pop(name, None)\n"
    assert succeeds(START + code + RUN, **on_dawn) == "0 0 0 0\n"


def test_files_that_cannot_be_read(
    succeeds: Succeeds, variables: dict[str, str], tmp_path: Path
) -> None:
    """Folders and pipes in their places are left alone."""
    counts(succeeds, variables)
    folder = tmp_path / "cache" / "webgpu"
    for i, name in enumerate(files(tmp_path)):
        (folder / name).unlink()
        if i % 2:
            (folder / name).mkdir()
            (folder / name / "file").touch()
        else:
            os.mkfifo(folder / name)
    done = counts(succeeds, variables)
    assert (done["used"], done["damaged"]) == (0, 0)
    assert done["written"] > 0 and done["not"] > 0  # pipes are replaced, folders are not


def test_none_are_kept_without_the_pipeline_cache(
    succeeds: Succeeds, variables: dict[str, str], tmp_path: Path
) -> None:
    code = START + RUN.replace('"webgpu:0"', '"webgpu:0", enable_pipeline_cache=False')
    assert succeeds(code, **variables) == "0 0 0 0\n"
    counts(succeeds, variables)
    assert succeeds(code, **variables) == "0 0 0 0\n"


def test_wgpu_native_keeps_none(
    succeeds: Succeeds, variables: dict[str, str], tmp_path: Path
) -> None:
    code = START + RUN.replace('== "dawn"', '== "wgpu"')
    own = {name: value for name, value in variables.items() if name != "VK_DRIVER_FILES"}
    assert succeeds(code, **own | {"TILEWRIGHT_WEBGPU": "wgpu"}) == "0 0 0 0\n"
    assert files(tmp_path) == {}


def test_processes_at_once(succeeds: Succeeds, variables: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text("from child import *\n" + START + RUN)
    code = f"""
import subprocess, sys
command = [sys.executable, {str(tmp_path / "one.py")!r}]
several = [subprocess.Popen(command, stdout=subprocess.DEVNULL) for _ in range(4)]
assert [process.wait() for process in several] == [0] * 4
"""
    succeeds(code, **variables)
    done = counts(succeeds, variables)
    assert done == {"used": len(files(tmp_path)), "written": 0, "damaged": 0, "not": 0}


THREADS = """
import threading
be = tw.init_backend("webgpu:0")
x = tw.asarray(np.arange(12, dtype="f4").reshape(3, 4), device=be)
ops = [tw.exp, tw.sqrt, tw.tanh, tw.sum, tw.max, lambda x: x + 1, lambda x: x @ x.T, lambda x: -x]
threads = [threading.Thread(target=lambda op=op: op(x).numpy()) for op in ops]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
del x
be.close()
print(*said.values())
"""


def test_threads_that_compile_at_once(
    succeeds: Succeeds, variables: dict[str, str], tmp_path: Path
) -> None:
    first = succeeds(START + THREADS, **variables).split()
    assert (int(first[1]) > 8, first[2:]) == (True, ["0", "0"])
    assert succeeds(START + THREADS, **variables).split()[1:] == ["0", "0", "0"]


# Writes behind the end of its buffer, in the middle of a larger one.
OUTSIDE = '''
KERNEL = """
@group(0) @binding(0) var<storage, read_write> y: array<u32>;
var<immediate> far: u32;
@compute @workgroup_size(1) fn main() { y[far] = 5u; }
"""
with tw.init_backend("webgpu:0", kernel_checks=CHECKS) as be:
    around = be.alloc(4096)
    be.copy_htod(around, np.full(1024, 3, "u4"))
    middle = be.view(around, 1024, 256)
    be.kernel(KERNEL, trusted=True)(middle, grid=1, params=np.uint32(100).tobytes())
    got = np.empty(1024, "u4")
    be.copy_dtoh(got, around)
    print((got == 3).all() or (got[256:320] != 3).any())
    be.free(middle)
    be.free(around)
print(*said.values())
'''


def test_kernels_without_checks_are_not_taken_for_others(
    succeeds: Succeeds, variables: dict[str, str]
) -> None:
    without = START + OUTSIDE.replace("CHECKS", "False")
    inside, numbers = succeeds(without, **variables).splitlines()
    assert (inside, int(numbers.split()[1]) > 0) == ("False", True)
    for _ in range(2):
        inside, numbers = succeeds(START + OUTSIDE.replace("CHECKS", "True"), **variables).split(
            "\n", 1
        )
        assert inside == "True"
    assert succeeds(without, **variables).splitlines()[0] == "False"


def test_what_does_not_compile_says_why_each_time(
    succeeds: Succeeds, variables: dict[str, str]
) -> None:
    code = """
with tw.init_backend("webgpu:0") as be:
    print(raised(tw.KernelError, be.kernel, "@compute @workgroup_size(1) fn main() { x = 1; }"))
"""
    first, second = (succeeds(code, **variables) for _ in range(2))
    assert first == second and "unresolved" in first, first
