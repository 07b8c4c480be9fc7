"""Dawn, the second WebGPU library: a device's life through it, both libraries in one process, what
stands in its way, and which one is taken."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

import pytest
import tilewright as tw
from tilewright import dawn

from .test_libraries import DAWN_CALLS

ROOT = Path(__file__).parents[2]
Succeeds = Callable[..., str]


LIFE = """
import numpy as np
with tw.init_backend("webgpu") as be:
    device = be.device
    assert device.implementation == "dawn", device
    assert device.implementation_why == "TILEWRIGHT_WEBGPU is dawn", device
    assert "Dawn" in device.driver, device
    rng = np.random.default_rng(1)
    a = rng.standard_normal((70, 33)).astype("f4")
    b = rng.standard_normal((33, 50)).astype("f4")
    x, y = tw.asarray(a, device=be), tw.asarray(b, device=be)
    assert np.abs((x @ y).numpy() - a @ b).max() < 1e-4
    # Of many words of parameters, which no immediates hold, and of subgroups.
    assert np.abs(tw.exp(x).numpy() - np.exp(a)).max() < 1e-4
    assert np.abs(tw.sum(x, axis=1).numpy() - a.sum(1)).max() < 1e-4
    big = np.arange(3 << 20, dtype="i4")
    assert (tw.asarray(big, device=be).numpy() == big).all()
    kernel = be.kernel(KERNEL)
    out = be.alloc(4 * 64)
    kernel(out, grid=1, params=np.uint32(7).tobytes())
    got = np.empty(64, "u4")
    be.copy_dtoh(got, out)
    assert (got == 7 * np.arange(64)).all(), got
    with be.record() as recording:
        kernel(out, grid=1, params=np.uint32(9).tobytes())
    for _ in range(3):
        recording.replay()
    be.copy_dtoh(got, out)
    assert (got == 9 * np.arange(64)).all(), got
    with be.profile() as profile:
        kernel(out, grid=1, params=np.uint32(2).tobytes())
    (launch,) = profile.records
    assert launch.duration_ns < 10**10
    event = be.event()
    event.wait()
    message = raised(tw.KernelError, be.kernel, "@compute fn main() {")
    assert "does not compile" in message and "main:1" in message, message
    be.free(out)
again = tw.init_backend("webgpu")
child = os.fork()
if child == 0:
    message = raised(tw.DeviceError, again.alloc, 64)
    os._exit(0 if "forked" in message else 1)
assert os.waitpid(child, 0)[1] == 0
again.close()
print("lived")
"""

KERNEL = '''KERNEL = """
@group(0) @binding(0) var<storage, read_write> y: array<u32>;
var<immediate> by: u32;
@compute @workgroup_size(64) fn main(@builtin(local_invocation_index) i: u32) { y[i] = i * by; }
"""
import os
'''


@pytest.mark.parametrize("immediates", ["0", "1"])
def test_a_life(succeeds: Succeeds, on_dawn: dict[str, str], immediates: str) -> None:
    variables = on_dawn | {"TILEWRIGHT_WEBGPU_IMMEDIATES": immediates}
    assert succeeds(KERNEL + LIFE, **variables) == "lived\n"


def test_a_kernel_stays_in_its_buffers(succeeds: Succeeds, on_dawn: dict[str, str]) -> None:
    """Trusted kernels too, since Dawn has its checks for a device or not at all."""
    code = '''
import numpy as np
KERNEL = """
@group(0) @binding(0) var<storage, read_write> y: array<u32>;
var<workgroup> small: array<u32, 4>;
var<immediate> far: u32;
@compute @workgroup_size(1) fn main() {
  y[far] = 5u;
  small[far] = 6u;
  y[0] = y[far] + small[far & 3u];
}
"""
with tw.init_backend("webgpu") as be:
    around = be.alloc(4096)
    be.copy_htod(around, np.full(1024, 3, "u4"))
    middle = be.view(around, 1024, 256)
    for trusted in (False, True):
        be.kernel(KERNEL, trusted=trusted)(middle, grid=1, params=np.uint32(100).tobytes())
    got = np.empty(1024, "u4")
    be.copy_dtoh(got, around)
    assert (got[:256] == 3).all() and (got[320:] == 3).all(), got
    be.free(middle)
    be.free(around)
print("kept")
'''
    assert succeeds(code, **on_dawn) == "kept\n"


def test_without_checks_kernels_have_to_be_trusted(
    succeeds: Succeeds, on_dawn: dict[str, str]
) -> None:
    code = """
import numpy as np
KERNEL = "@group(0) @binding(0) var<storage, read_write> y: array<u32>;"
KERNEL += "@compute @workgroup_size(1) fn main() { y[0] = 5u; }"
with tw.init_backend("webgpu", kernel_checks=False) as be:
    message = raised(tw.Unsupported, be.kernel, KERNEL)
    assert "kernel_checks false" in message and "pass trusted=True" in message, message
    out = be.alloc(4)
    be.kernel(KERNEL, trusted=True)(out, grid=1)
    got = np.empty(1, "u4")
    be.copy_dtoh(got, out)
    assert got[0] == 5
    be.free(out)
with tw.init_backend("webgpu", kernel_checks=False, debug_mode=True) as be:
    be.kernel(KERNEL)
print("trusted")
"""
    assert succeeds(code, **on_dawn) == "trusted\n"


def test_both_in_one_process(succeeds: Succeeds, on_dawn: dict[str, str]) -> None:
    """Each device goes by its own, beside the other, on every driver that is there."""
    code = """
import numpy as np
a = np.random.default_rng(1).standard_normal((40, 40)).astype("f4")
backends = [tw.init_backend("webgpu", implementation=name) for name in ("wgpu", "dawn", "wgpu")]
names = [be.device.implementation for be in backends]
assert names == ["wgpu", "dawn", "wgpu"], names
assert [be.config["implementation"] for be in backends] == names
arrays = [tw.asarray(a, device=be) for be in backends]
for _ in range(3):
    for x in arrays:
        assert np.abs((x @ x).numpy() - a @ a).max() < 1e-4
del arrays, x
for be in backends:
    be.close()
print("both")
"""
    variables = on_dawn | {"TILEWRIGHT_WEBGPU": "auto"}
    assert succeeds(code, **variables) == "both\n"


def test_nothing_is_loaded_before_webgpu_is_looked_at(
    succeeds: Succeeds, on_dawn: dict[str, str]
) -> None:
    code = """
import pathlib, sys
is_loaded = lambda: "_wgpu_dawn" in pathlib.Path("/proc/self/maps").read_text()
tw.init_backend("cpu").close()
tw.Backend("webgpu", implementation="wgpu")
assert not is_loaded()
tw.Backend("webgpu")
assert is_loaded()
# Nor its package, which takes long.
assert "wgpudawn" not in sys.modules
print("loaded")
"""
    variables = on_dawn | {"TILEWRIGHT_WEBGPU": "auto"}
    assert succeeds(code, **variables) == "loaded\n"


def test_beside_its_own_package(succeeds: Succeeds, on_dawn: dict[str, str]) -> None:
    first = 'import wgpudawn\ntw.init_backend("webgpu").close()\n'
    second = 'tw.init_backend("webgpu").close()\nimport wgpudawn\n'
    use = "assert wgpudawn.gpu.enumerate_adapters_sync()\nprint('both')\n"
    for code in (first, second):
        assert succeeds(code + use, **on_dawn) == "both\n"


REASON = """
(device,) = [device for device in tw.devices() if device.backend == "webgpu"]
assert (device.id, device.available) == ("webgpu:0", False), device
assert device.reason in raised(tw.BackendUnavailable, tw.init_backend, "webgpu")
print(device.reason)
"""


def test_a_library_by_its_path(
    succeeds: Succeeds,
    compile_c: Callable[[str, Path], Path],
    tmp_path: Path,
    on_dawn: dict[str, str],
) -> None:
    mend = "TILEWRIGHT_DAWN_LIBRARY names it: correct or unset it"
    nothing = tmp_path / "nothing.so"
    reason = succeeds(REASON, **on_dawn, TILEWRIGHT_DAWN_LIBRARY=str(nothing))
    assert f"{nothing} cannot be opened" in reason and mend in reason
    source = tmp_path / "other.c"
    source.write_text("int other;\n")
    other = compile_c("other.so", source)
    reason = succeeds(REASON, **on_dawn, TILEWRIGHT_DAWN_LIBRARY=str(other))
    assert f"{other} is no Dawn: it lacks wgpuGetProcAddress; {mend}" in reason
    wgpu = next((Path(tw.__file__).parent / "lib").glob("libtilewright_wgpu*"))
    reason = succeeds(REASON, **on_dawn, TILEWRIGHT_DAWN_LIBRARY=str(wgpu))
    assert f"{wgpu} is no Dawn: it is wgpu-native; {mend}" in reason
    source = tmp_path / "empty.c"
    source.write_text("void* wgpuGetProcAddress(const char* name, unsigned long n) { return 0; }\n")
    empty = compile_c("empty.so", source)
    reason = succeeds(REASON, **on_dawn, TILEWRIGHT_DAWN_LIBRARY=str(empty))
    assert f"Dawn {empty} lacks {', '.join(DAWN_CALLS)}; take the Dawn" in reason


def test_no_package(succeeds: Succeeds, tmp_path: Path, on_dawn: dict[str, str]) -> None:
    hide = "import sys\nsys.modules['wgpudawn'] = None\n"
    code = "from importlib import util\nutil.find_spec = lambda name: None\n" + REASON
    reason = succeeds(code, **on_dawn)
    assert "wgpudawn, which has Dawn in it, is not installed: " in reason, hide
    assert "pip install 'tilewright[dawn]'" in reason


def test_another_version(succeeds: Succeeds, on_dawn: dict[str, str]) -> None:
    code = "from importlib import metadata\nmetadata.version = lambda name: '9.1'\n" + REASON
    reason = succeeds(code, **on_dawn)
    assert f"wgpudawn 9.1 is installed, but this tilewright needs {dawn.VERSION}: " in reason


def test_a_broken_package(succeeds: Succeeds, on_dawn: dict[str, str]) -> None:
    code = "import tilewright.dawn\ntilewright.dawn._module = lambda: 1 / 0\n" + REASON
    reason = succeeds(code, **on_dawn)
    assert "cannot be loaded (division by zero); install it again: " in reason


def test_names_of_implementations() -> None:
    for call in (tw.init_backend, tw.Backend):
        for preference in ("webgpu", "cpu", "webgpu:0"):
            if call is tw.Backend and ":" in preference:
                continue
            with pytest.raises(tw.InvalidArgument) as caught:
                call(preference, implementation="Dawn")
            assert 'implementation is "Dawn", expected "auto", "wgpu" or "dawn"' in str(
                caught.value
            )


def test_a_wrong_variable(succeeds: Succeeds) -> None:
    code = """
(device,) = [device for device in tw.devices() if device.backend == "webgpu"]
assert not device.available, device
for make in (lambda: tw.init_backend("webgpu"), tw.init_backend, lambda: tw.WebGPUBackend().init()):
    assert raised(tw.InvalidArgument, make) == device.reason
print(device.reason)
"""
    reason = succeeds(code, TILEWRIGHT_WEBGPU="vulkan")
    assert reason.strip() == 'TILEWRIGHT_WEBGPU is "vulkan", expected auto, wgpu or dawn'


def test_a_name_in_any_case(succeeds: Succeeds, on_dawn: dict[str, str]) -> None:
    code = """
(device,) = [device for device in tw.devices() if device.backend == "webgpu"]
print(device.implementation_why)
"""
    said = succeeds(code, **on_dawn | {"TILEWRIGHT_WEBGPU": "WGPU"})
    assert said == "TILEWRIGHT_WEBGPU is wgpu\n"


def test_the_version_is_one() -> None:
    """What the extra asks for is what is looked for, and what the tests run on."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wanted = f"{dawn.PACKAGE}=={dawn.VERSION}"
    assert project["project"]["optional-dependencies"]["dawn"] == [wanted]
    assert wanted in project["dependency-groups"]["test"]
    assert metadata.version(dawn.PACKAGE) == dawn.VERSION


def test_its_licences_come_with_it() -> None:
    """It is no part of our package, so its own has them."""
    files = [str(file) for file in metadata.files(dawn.PACKAGE) or []]
    for name in ("LICENSE", "DAWN-LICENSE", "ABSEIL-LICENSE", "SPIRV-TOOLS-LICENSE"):
        assert any(file.endswith(f"/{name}") for file in files), name


def test_info_and_doctor_say_which(succeeds: Succeeds, on_dawn: dict[str, str]) -> None:
    code = """
import contextlib, io, json
from tilewright.cli import main
for command in ("info", "doctor"):
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.suppress(SystemExit):
        main([command])
    assert "dawn: TILEWRIGHT_WEBGPU is dawn" in " ".join(out.getvalue().split()), out.getvalue()
print("said")
"""
    assert succeeds(code, **on_dawn) == "said\n"
