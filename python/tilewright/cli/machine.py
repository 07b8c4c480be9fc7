"""What this machine has for a GPU: the hardware, the way to it, and the drivers."""

from __future__ import annotations

import ctypes
import os
import platform
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

_DISPLAY_CLASS = "0x03"
_VENDORS = {"0x10de": "NVIDIA", "0x1002": "AMD", "0x8086": "Intel"}
_FAMILIES = ("ubuntu", "debian", "fedora", "arch")


@dataclass(frozen=True)
class RenderNode:
    """A device file through which Linux lets programs compute on a GPU."""

    path: str
    usable: bool
    group: str
    """The group that may use it: a name, or its number where it has none."""


@dataclass(frozen=True)
class Machine:
    system: str
    """Linux, Darwin or Windows."""
    family: str
    """Whose packages a Linux takes: ubuntu, debian, fedora, arch; empty for another."""
    vendors: tuple[str, ...]
    """Of the GPUs on the bus: NVIDIA, AMD, Intel."""
    render_nodes: tuple[RenderNode, ...]
    nvidia_kernel_driver: bool
    vulkan_loader: bool
    vulkan_drivers: tuple[str, ...]
    """The manifests that the Vulkan loader reads."""


def look(root: Path = Path("/")) -> Machine:
    return Machine(
        system=platform.system(),
        family=_family(root),
        vendors=tuple(sorted(_vendors(root))),
        render_nodes=tuple(_render_nodes(root)),
        nvidia_kernel_driver=(root / "proc/driver/nvidia/version").exists(),
        vulkan_loader=_opens("libvulkan.so.1"),
        vulkan_drivers=tuple(str(path) for path in _manifests(root)),
    )


def _family(root: Path) -> str:
    try:
        lines = (root / "etc/os-release").read_text().splitlines()
    except OSError:
        return ""
    facts = dict(line.split("=", 1) for line in lines if "=" in line)
    names = f"{facts.get('ID', '')} {facts.get('ID_LIKE', '')}".replace('"', "").split()
    return next((family for family in _FAMILIES if family in names), "")


def _vendors(root: Path) -> set[str]:
    found = set()
    for device in (root / "sys/bus/pci/devices").glob("*"):
        if _content(device / "class").startswith(_DISPLAY_CLASS):
            found.add(_VENDORS.get(_content(device / "vendor"), ""))
    return found - {""}


def _content(file: Path) -> str:
    try:
        return file.read_text().strip()
    except OSError:
        return ""


def _render_nodes(root: Path) -> Iterable[RenderNode]:
    for path in sorted((root / "dev/dri").glob("renderD*")):
        yield RenderNode(str(path), os.access(path, os.R_OK | os.W_OK), _group(path))


def _group(path: Path) -> str:
    try:
        return path.group()
    except KeyError:
        return str(path.stat().st_gid)


def _opens(library: str) -> bool:
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True


def _manifests(root: Path) -> Iterable[Path]:
    """The loader's rule: the files that its variables name, else all in the folders it searches."""
    named = os.environ.get("VK_DRIVER_FILES") or os.environ.get("VK_ICD_FILENAMES")
    added = os.environ.get("VK_ADD_DRIVER_FILES", "")
    home = Path(os.environ.get("XDG_DATA_HOME") or os.path.expanduser("~/.local/share"))
    folders = [root / "usr/local/etc", root / "etc", home]
    folders += [root / "usr/local/share", root / "usr/share"]
    paths = [folder / "vulkan/icd.d" for folder in folders]
    if named:
        paths = [Path(path) for path in named.split(os.pathsep)]
    for path in (*map(Path, filter(None, added.split(os.pathsep))), *paths):
        if path.is_dir():
            yield from sorted(path.glob("*.json"))
        elif path.exists():
            yield path
