"""What is missing between this machine's GPUs and a backend, and what mends it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from .check import Check
from .machine import Machine

_INSTALL = {
    "ubuntu": "sudo apt install",
    "debian": "sudo apt install",
    "fedora": "sudo dnf install",
    "arch": "sudo pacman -S",
}
_LOADER = {
    "ubuntu": "libvulkan1",
    "debian": "libvulkan1",
    "fedora": "vulkan-loader",
    "arch": "vulkan-icd-loader",
}
_MESA = {
    "ubuntu": "mesa-vulkan-drivers",
    "debian": "mesa-vulkan-drivers",
    "fedora": "mesa-vulkan-drivers",
}
_DRIVERS = {
    "AMD": {**_MESA, "arch": "vulkan-radeon"},
    "Intel": {**_MESA, "arch": "vulkan-intel"},
    "NVIDIA": {
        "debian": "nvidia-driver nvidia-vulkan-icd",  # in the section non-free
        "fedora": "akmod-nvidia",  # of RPM Fusion
        "arch": "nvidia-open nvidia-utils",
    },
    "software": {**_MESA, "arch": "vulkan-swrast"},
}
_MANIFESTS = {
    "AMD": ("radeon", "amd"),
    "Intel": ("intel",),
    "NVIDIA": ("nvidia", "nouveau"),
}
_LEVEL_ZERO = {
    "ubuntu": "libze1 libze-intel-gpu1",
    "debian": "libze1 libze-intel-gpu1",
    "fedora": "oneapi-level-zero intel-level-zero",
    "arch": "level-zero-loader intel-compute-runtime",
}
_WINDOWS_DRIVERS = "start ms-settings:windowsupdate-optionalupdates"


def checks(machine: Machine, devices: Sequence[Any]) -> list[Check]:
    """For the webgpu devices of this machine. Nothing where one is hardware that can be used."""
    usable = [device for device in devices if device.available]
    if any(str(device.kind) != "software" for device in usable):
        return []
    found = [*_on_linux(machine)] if machine.system == "Linux" else []
    if usable:
        found.append(_software_only(machine, usable[0].id))
    elif not found:
        found.append(_nothing(machine))
    return found


def level_zero_mend(machine: Machine, reason: str) -> str:
    """The command for what level-zero says it lacks; nothing on a machine without an Intel GPU."""
    if "Intel" not in machine.vendors:
        return ""
    if "given /dev/dri" in reason:
        return "docker run --device /dev/dri"
    if "no permission" in reason:
        return next((check.mend for check in _access(machine)), "")
    if machine.system == "Windows":
        return _WINDOWS_DRIVERS
    return _install(machine, _LEVEL_ZERO)


def _on_linux(machine: Machine) -> Iterator[Check]:
    if not machine.vulkan_loader:
        what = "the Vulkan loader, libvulkan.so.1, is not installed"
        yield _missing("loader", what, _install(machine, _LOADER))
    for vendor in machine.vendors:
        if not _has_driver(machine, vendor):
            yield _no_driver(machine, vendor)
    if not machine.vendors and not machine.vulkan_drivers:
        what = "no Vulkan driver is installed; Mesa's computes on the processor where no GPU is"
        yield _missing("driver", what, _install(machine, _DRIVERS["software"]))
    yield from _access(machine)


def _has_driver(machine: Machine, vendor: str) -> bool:
    names = [path.rpartition("/")[2] for path in machine.vulkan_drivers]
    return any(part in name for name in names for part in _MANIFESTS[vendor])


def _no_driver(machine: Machine, vendor: str) -> Check:
    what = f"this machine has a GPU of {vendor}, but no Vulkan driver for it"
    if vendor == "NVIDIA" and machine.nvidia_kernel_driver:
        # The kernel's part is there: a container that was given no more than computing with CUDA.
        what += "; NVIDIA's container toolkit brings it where the container is allowed graphics"
        return _missing("driver", what, "docker run --gpus all -e NVIDIA_DRIVER_CAPABILITIES=all")
    if vendor == "NVIDIA" and machine.family == "ubuntu":
        return _missing("driver", what, "sudo ubuntu-drivers install")
    return _missing("driver", what, _install(machine, _DRIVERS[vendor]))


def _access(machine: Machine) -> Iterator[Check]:
    nodes = machine.render_nodes
    if any(node.usable for node in nodes):
        return
    if nodes:
        node = nodes[0]
        what = f"{node.path} may be used by the group {node.group} alone, which this user is not in"
        command = f'sudo usermod -aG {node.group} "$USER"    # then log in again'
        if node.group.isdigit():  # a group of the host, without a name in this container
            command = f"docker run --device /dev/dri --group-add {node.group}"
        yield _missing("access", what, command)
    elif {"AMD", "Intel"} & set(machine.vendors):
        what = "the kernel offers no /dev/dri/renderD* for the GPU; a container has to be given it"
        yield _missing("access", what, "docker run --device /dev/dri")


def _software_only(machine: Machine, device: str) -> Check:
    what = (
        "only a GPU that is emulated in software, which auto never takes; "
        f'init_backend("{device}") does, and so does auto with TILEWRIGHT_ALLOW_SOFTWARE=1'
    )
    return _missing("hardware", what, _WINDOWS_DRIVERS if machine.system == "Windows" else "")


def _nothing(machine: Machine) -> Check:
    if machine.system == "Darwin":
        what = "macOS offers no Metal device; a virtual machine has to be given a graphics device"
        return _missing("hardware", what, "system_profiler SPDisplaysDataType")
    if machine.system == "Windows":
        return _missing("driver", "Windows offers no DirectX 12 device", _WINDOWS_DRIVERS)
    what = "Vulkan drivers are installed, but they find no GPU"
    return _missing("hardware", what, _install(machine, _DRIVERS["software"]))


def _missing(what: str, found: str, mend: str) -> Check:
    return Check("webgpu", what, False, found, mend)


def _install(machine: Machine, packages: dict[str, str]) -> str:
    """Nothing for a distribution whose names for these are not known here."""
    if machine.family not in packages:
        return ""
    return f"{_INSTALL[machine.family]} {packages[machine.family]}"
