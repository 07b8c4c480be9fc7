"""What the doctor says about the way to a GPU, on machines that are not this one."""

import json
import os
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tilewright.cli import doctor, drivers, environment, machine, main
from tilewright.cli.check import Check
from tilewright.cli.machine import Machine, RenderNode

BARE = Machine(
    system="Linux",
    family="debian",
    vendors=(),
    render_nodes=(),
    nvidia_kernel_driver=False,
    vulkan_loader=True,
    vulkan_drivers=(),
)
LAVAPIPE = "/usr/share/vulkan/icd.d/lvp_icd.x86_64.json"
RADV = "/usr/share/vulkan/icd.d/radeon_icd.x86_64.json"
NODE = RenderNode("/dev/dri/renderD128", usable=True, group="render")


def device(kind: str = "discrete", available: bool = True) -> Any:
    return SimpleNamespace(id="webgpu:0", kind=kind, available=available)


def found(machine: Machine, *devices: Any) -> dict[str, Check]:
    """The findings by what they are about; without a device given, the machine offers none."""
    checks = drivers.checks(machine, devices or [device(available=False)])
    assert all(check.backend == "webgpu" and not check.ok for check in checks)
    return {check.what: check for check in checks}


def mends(machine: Machine, what: str) -> str:
    return found(machine)[what].mend


@pytest.mark.parametrize(
    ("family", "command"),
    [
        ("debian", "sudo apt install libze1 libze-intel-gpu1"),
        ("fedora", "sudo dnf install oneapi-level-zero intel-level-zero"),
        ("arch", "sudo pacman -S level-zero-loader intel-compute-runtime"),
        ("", ""),
    ],
)
def test_what_level_zero_lacks(family: str, command: str) -> None:
    reason = "level-zero: the Level Zero loader libze_loader.so.1 cannot be opened"
    here = replace(BARE, vendors=("Intel",), family=family)
    assert drivers.level_zero_mend(here, reason) == command
    assert drivers.level_zero_mend(replace(here, vendors=("NVIDIA",)), reason) == ""


def test_an_intel_gpu_that_this_user_may_not_use() -> None:
    closed = RenderNode("/dev/dri/renderD128", usable=False, group="render")
    here = replace(BARE, vendors=("Intel",), render_nodes=(closed,))
    reason = "level-zero: no driver: this user has no permission to use /dev/dri/renderD128"
    assert "usermod -aG render" in drivers.level_zero_mend(here, reason)
    reason = "level-zero: no driver: a container has to be given /dev/dri"
    assert drivers.level_zero_mend(here, reason) == "docker run --device /dev/dri"


# What is missing ------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["discrete", "integrated"])
def test_a_gpu_that_works_needs_nothing(kind: str) -> None:
    assert found(BARE, device(kind)) == {}
    assert found(BARE, device("software"), device(kind)) == {}


@pytest.mark.parametrize(
    ("family", "command"),
    [
        ("debian", "sudo apt install libvulkan1"),
        ("ubuntu", "sudo apt install libvulkan1"),
        ("fedora", "sudo dnf install vulkan-loader"),
        ("arch", "sudo pacman -S vulkan-icd-loader"),
        ("", ""),
    ],
)
def test_no_loader(family: str, command: str) -> None:
    here = replace(BARE, family=family, vulkan_loader=False, vulkan_drivers=(LAVAPIPE,))
    assert set(found(here)) == {"loader"}
    assert "libvulkan.so.1" in found(here)["loader"].found
    assert mends(here, "loader") == command


@pytest.mark.parametrize(
    ("family", "vendor", "command"),
    [
        ("debian", "", "sudo apt install mesa-vulkan-drivers"),
        ("fedora", "", "sudo dnf install mesa-vulkan-drivers"),
        ("arch", "", "sudo pacman -S vulkan-swrast"),
        ("debian", "AMD", "sudo apt install mesa-vulkan-drivers"),
        ("ubuntu", "Intel", "sudo apt install mesa-vulkan-drivers"),
        ("fedora", "AMD", "sudo dnf install mesa-vulkan-drivers"),
        ("arch", "AMD", "sudo pacman -S vulkan-radeon"),
        ("arch", "Intel", "sudo pacman -S vulkan-intel"),
        ("debian", "NVIDIA", "sudo apt install nvidia-driver nvidia-vulkan-icd"),
        ("ubuntu", "NVIDIA", "sudo ubuntu-drivers install"),
        ("fedora", "NVIDIA", "sudo dnf install akmod-nvidia"),
        ("arch", "NVIDIA", "sudo pacman -S nvidia-open nvidia-utils"),
    ],
)
def test_no_driver(family: str, vendor: str, command: str) -> None:
    vendors = (vendor,) if vendor else ()
    here = replace(BARE, family=family, vendors=vendors, render_nodes=(NODE,))
    assert set(found(here)) == {"driver"}
    assert vendor in found(here)["driver"].found
    assert mends(here, "driver") == command


def test_a_driver_of_another_gpu_does_not_count() -> None:
    here = replace(BARE, vendors=("AMD", "NVIDIA"), vulkan_drivers=(RADV,), render_nodes=(NODE,))
    assert "NVIDIA" in found(here)["driver"].found


def test_a_container_without_nvidia_s_graphics() -> None:
    here = replace(BARE, vendors=("NVIDIA",), nvidia_kernel_driver=True)
    assert mends(here, "driver").endswith("NVIDIA_DRIVER_CAPABILITIES=all")


def test_a_render_node_of_a_group_that_the_user_is_not_in() -> None:
    node = RenderNode("/dev/dri/renderD129", usable=False, group="render")
    here = replace(BARE, vendors=("AMD",), vulkan_drivers=(RADV,), render_nodes=(node,))
    assert set(found(here)) == {"access"}
    assert "/dev/dri/renderD129" in found(here)["access"].found
    assert mends(here, "access").startswith('sudo usermod -aG render "$USER"')
    other = replace(here, render_nodes=(replace(node, group="992"),))
    assert mends(other, "access") == "docker run --device /dev/dri --group-add 992"
    assert "access" not in found(replace(here, render_nodes=(node, NODE)))


def test_a_container_without_the_render_node() -> None:
    here = replace(BARE, vendors=("Intel",), vulkan_drivers=("/x/intel_icd.x86_64.json",))
    assert mends(here, "access") == "docker run --device /dev/dri"


def test_drivers_without_a_gpu() -> None:
    here = replace(BARE, vulkan_drivers=(RADV,))
    assert set(found(here)) == {"hardware"}
    assert mends(here, "hardware") == "sudo apt install mesa-vulkan-drivers"


def test_a_software_gpu_alone_says_how_it_is_taken() -> None:
    here = replace(BARE, vulkan_drivers=(LAVAPIPE,))
    check = found(here, device("software"))["hardware"]
    assert 'init_backend("webgpu:0")' in check.found
    assert "TILEWRIGHT_ALLOW_SOFTWARE=1" in check.found
    assert check.mend == ""


def test_a_software_gpu_beside_hardware_without_a_driver() -> None:
    here = replace(BARE, vendors=("AMD",), vulkan_drivers=(LAVAPIPE,), render_nodes=(NODE,))
    checks = found(here, device("software"))
    assert set(checks) == {"driver", "hardware"}
    assert checks["driver"].mend == "sudo apt install mesa-vulkan-drivers"


def test_windows_and_macos() -> None:
    windows = replace(BARE, system="Windows", family="")
    assert mends(windows, "driver").startswith("start ms-settings:")
    assert found(windows, device("software"))["hardware"].mend.startswith("start ms-settings:")
    mac = found(replace(BARE, system="Darwin", family=""))["hardware"]
    assert "Metal" in mac.found
    assert mac.mend == "system_profiler SPDisplaysDataType"


# What a machine has ---------------------------------------------------------------------------


def write(file: Path, text: str = "") -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


@pytest.mark.parametrize(
    ("release", "family"),
    [
        ("ID=debian\n", "debian"),
        ("ID=ubuntu\nID_LIKE=debian\n", "ubuntu"),
        ('NAME="Linux Mint"\nID=linuxmint\nID_LIKE="ubuntu debian"\n', "ubuntu"),
        ('ID="rocky"\nID_LIKE="rhel centos fedora"\n', "fedora"),
        ("ID=manjaro\nID_LIKE=arch\n", "arch"),
        ("ID=nixos\n", ""),
        (None, ""),
    ],
)
def test_the_family_of_a_distribution(release: str | None, family: str, tmp_path: Path) -> None:
    if release is not None:
        write(tmp_path / "etc/os-release", release)
    assert machine.look(tmp_path).family == family


def test_the_gpus_on_the_bus(tmp_path: Path) -> None:
    devices = tmp_path / "sys/bus/pci/devices"
    for name, kind, vendor in (
        ("0000:00:02.0", "0x030000", "0x8086"),
        ("0000:01:00.0", "0x030200", "0x10de"),
        ("0000:02:00.0", "0x020000", "0x1002"),  # a network card
        ("0000:03:00.0", "0x030000", "0x1234"),  # the display of an emulator
    ):
        write(devices / name / "class", kind + "\n")
        write(devices / name / "vendor", vendor + "\n")
    write(tmp_path / "proc/driver/nvidia/version")
    here = machine.look(tmp_path)
    assert here.vendors == ("Intel", "NVIDIA")
    assert here.nvidia_kernel_driver
    assert not machine.look(tmp_path / "elsewhere").vendors


def test_the_render_nodes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("card0", "renderD128", "renderD129"):
        write(tmp_path / "dev/dri" / name)
    refused = tmp_path / "dev/dri/renderD128"
    monkeypatch.setattr(os, "access", lambda path, mode: path != refused)
    nodes = machine.look(tmp_path).render_nodes
    assert [(Path(node.path).name, node.usable) for node in nodes] == [
        ("renderD128", False),
        ("renderD129", True),
    ]
    assert {node.group for node in nodes} == {refused.group()}


def nobodys_group(path: Path) -> str:
    raise KeyError(path)


def test_a_group_without_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "dev/dri/renderD128")
    monkeypatch.setattr(Path, "group", nobodys_group)
    (node,) = machine.look(tmp_path).render_nodes
    assert node.group == str(os.stat(node.path).st_gid)


def test_the_vulkan_drivers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("VK_DRIVER_FILES", "VK_ICD_FILENAMES", "VK_ADD_DRIVER_FILES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    in_usr = tmp_path / "usr/share/vulkan/icd.d/lvp_icd.json"
    in_etc = tmp_path / "etc/vulkan/icd.d/nvidia_icd.json"
    own = tmp_path / "home/vulkan/icd.d/radeon_icd.json"
    for file in (in_usr, in_etc, own):
        write(file, "{}")
    assert machine.look(tmp_path).vulkan_drivers == tuple(map(str, (in_etc, own, in_usr)))
    monkeypatch.setenv("VK_DRIVER_FILES", os.pathsep.join([str(own), "/no/such.json"]))
    assert machine.look(tmp_path).vulkan_drivers == (str(own),)
    monkeypatch.setenv("VK_DRIVER_FILES", str(in_usr.parent))
    monkeypatch.setenv("VK_ADD_DRIVER_FILES", str(own))
    assert machine.look(tmp_path).vulkan_drivers == (str(own), str(in_usr))


def test_a_loader_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(name: str) -> None:
        raise OSError(f"{name}: cannot open shared object file")

    monkeypatch.setattr(machine.ctypes, "CDLL", refuse)
    assert not machine.look(tmp_path).vulkan_loader


# The command ----------------------------------------------------------------------------------


def report(run: Any, **variables: str) -> tuple[list[dict[str, Any]], str]:
    """The doctor's webgpu findings in an interpreter of its own, as JSON and as text."""
    code = "import sys; from tilewright.cli import main; sys.exit(main({}))"
    data = run(code.format("['doctor', '--json']"), **variables)
    text = run(code.format("['doctor']"), **variables)
    assert data.returncode == text.returncode == 0, data.stderr + text.stderr
    checks = json.loads(data.stdout)["checks"]
    return [check for check in checks if check["backend"] == "webgpu"], text.stdout


def test_without_any_vulkan_driver(run_python: Any) -> None:
    checks, text = report(run_python, VK_DRIVER_FILES="/no/such.json")
    assert checks[0]["what"] == "device"
    assert "no GPU with Vulkan" in checks[0]["found"]
    assert checks[0]["mend"] == ""
    assert {check["what"] for check in checks[1:]} & {"loader", "driver"}
    assert all(check["mend"] in text for check in checks[1:])


@pytest.mark.parametrize("library", ["/no/such.so", "openblas"])
def test_another_library(library: str, run_python: Any) -> None:
    if library == "openblas":
        library = str(environment.folders()["library-dir"] / "libtilewright_openblas.so")
    (check,), text = report(run_python, TILEWRIGHT_WGPU_LIBRARY=library)
    assert library in check["found"]
    assert check["mend"] == "unset TILEWRIGHT_WGPU_LIBRARY"
    assert "to mend it: unset TILEWRIGHT_WGPU_LIBRARY" in text


def test_what_hardware_lacks_is_no_fault_of_the_device_that_is_taken(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    here = replace(BARE, vendors=("AMD", "Intel", "NVIDIA"))
    monkeypatch.setattr(machine, "look", lambda: here)
    monkeypatch.setenv("TILEWRIGHT_DEVICE", "webgpu:0")
    assert main(["doctor", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["works"]
    assert said["default"] == "webgpu:0"


@pytest.mark.parametrize(
    ("kind", "fault"),
    [
        ("nothing", "there is no such file"),
        ("a folder", "there is no such file"),
        ("a text", "it is no shared library"),
        ("a library", ""),
        ("a name", ""),
    ],
)
def test_libraries_that_variables_name(
    kind: str, fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where no backend opens them, as Dawn's on a GPU in software."""
    text = tmp_path / "text.so"
    text.write_text("no library")
    path = {
        "nothing": str(tmp_path / "nothing.so"),
        "a folder": str(tmp_path),
        "a text": str(text),
        "a library": str(environment.folders()["library-dir"] / "libtilewright_openblas.so"),
        "a name": "libdawn.so",
    }[kind]
    for name in environment.set_variables():
        monkeypatch.delenv(name)
    monkeypatch.setenv("TILEWRIGHT_DAWN_LIBRARY", path)
    (check,) = doctor._settings()
    assert check.ok is (fault == "")
    assert check.found.startswith(f"TILEWRIGHT_DAWN_LIBRARY={path}: the Dawn that ")
    assert check.found.endswith(fault)
    assert check.mend == ("unset TILEWRIGHT_DAWN_LIBRARY" if fault else "")


def test_all_variables_of_the_docs_are_known() -> None:
    page = Path(__file__).parents[2] / "docs" / "environment.md"
    listed = re.findall(r"^\| `(TILEWRIGHT_\w+)`", page.read_text(encoding="utf-8"), re.M)
    assert set(listed) == set(environment.VARIABLES)
