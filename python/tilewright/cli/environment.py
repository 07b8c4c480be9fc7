"""What a report says about this machine: versions, devices, variables, and what "auto" takes."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import Any

import numpy as np

import tilewright
from tilewright._core import _choices_of, backend_names

VARIABLES = {
    "TILEWRIGHT_DEVICE": "the backend or device that auto takes",
    "TILEWRIGHT_ALLOW_SOFTWARE": "1 lets auto take a software GPU",
    "TILEWRIGHT_NUM_THREADS": "threads of the CPU backend",
    "TILEWRIGHT_CPU_ISA": "the CPU backend's instruction set: baseline, avx2 or avx512",
    "TILEWRIGHT_OPENBLAS_LIBRARY": "the OpenBLAS that the CPU backend opens",
    "TILEWRIGHT_WEBGPU": "the library that WebGPU goes through: auto, wgpu or dawn",
    "TILEWRIGHT_WGPU_LIBRARY": "the wgpu-native that the WebGPU backend opens",
    "TILEWRIGHT_DAWN_LIBRARY": "the Dawn that the WebGPU backend opens",
    "TILEWRIGHT_DAWN_TOGGLES": "toggles of Dawn that its devices have",
    "TILEWRIGHT_ZE_LIBRARY": "the Level Zero loader that the level-zero backend opens",
    "TILEWRIGHT_ZE_SUBGROUPS": "0: no kernels with subgroups on level-zero; 1: all, on CPUs too",
    "TILEWRIGHT_CACHE_DIR": "the folder that keeps results of tilewright tune and compiled kernels",
    "TILEWRIGHT_TUNING": "0 leaves the results of tilewright tune out",
    "TILEWRIGHT_WEBGPU_IMMEDIATES": "0 passes parameters of WebGPU kernels in a uniform buffer",
    "TILEWRIGHT_WEBGPU_THREAD": "0 has calls of WebGPU encode and submit what they launch",
    "TILEWRIGHT_DEFERRED": "0 computes elementwise functions of Arrays where they are called",
    "TILEWRIGHT_KERNEL_DIR": "a folder whose kernel files replace the built-in ones",
}


def package_folder() -> Path:
    return Path(tilewright.__file__).resolve().parent


def folders() -> dict[str, Path]:
    """What a C++ build needs, by the option of `info` that prints it."""
    root = package_folder()
    return {
        "cmake-dir": root / "lib" / "cmake" / "tilewright",
        "include-dir": root / "include",
        "library-dir": root / "lib",
    }


def set_variables() -> dict[str, str]:
    return {k: v for k, v in sorted(os.environ.items()) if k.startswith("TILEWRIGHT_")}


def versions() -> dict[str, str]:
    return {
        "tilewright": tilewright.__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "numpy_blas": _numpy_blas(),
        "platform": platform.platform(),
    }


def _numpy_blas() -> str:
    found: Any = np.show_config(mode="dicts")
    blas = found.get("Build Dependencies", {}).get("blas", {})
    return f"{blas.get('name', 'unknown')} {blas.get('version', '')}".strip()


def device_facts(device: Any) -> dict[str, Any]:
    """A device as plain values, for JSON."""
    return {
        "id": device.id,
        "backend": device.backend,
        "name": device.name,
        "kind": str(device.kind),
        "driver": device.driver,
        "memory_bytes": device.memory_bytes,
        "limits": dict(device.limits),
        "features": list(device.features),
        "matrix_shapes": list(device.matrix_shapes),
        "implementation": device.implementation,
        "implementation_why": device.implementation_why,
        "available": device.available,
        "reason": device.reason,
    }


def tuning() -> dict[str, dict[str, Any]]:
    """For each device with a choice of kernels the file of results, and how many it gave: None
    where it is missing, of no use or left out."""
    found = {}
    for device in tilewright.devices():
        if not device.available or device.backend == "cpu":
            continue
        try:
            with tilewright.init_backend(device.id) as backend:
                choices = _choices_of(backend)
        except tilewright.Error:
            continue
        if choices is not None:
            found[device.id] = {"path": choices.path, "choices": choices.loaded}
    return found


def auto_choice() -> dict[str, str | None]:
    """The device that "auto" takes, and why; no device, and why not."""
    try:
        with tilewright.init_backend("auto") as backend:
            device = backend.device
    except tilewright.Error as error:
        return {"id": None, "why": str(error)}
    return {"id": device.id, "why": _why(device)}


def _why(device: Any) -> str:
    if os.environ.get("TILEWRIGHT_DEVICE"):
        return f"TILEWRIGHT_DEVICE is {os.environ['TILEWRIGHT_DEVICE']}"
    usable = [d for d in tilewright.devices() if d.available]
    if len(usable) == 1:
        return "the only device that can be used"
    if str(device.kind) == "cpu":
        return "no GPU that auto may take can be used"
    return f"the best device: {device.kind}, before {_others(usable, device)}"


def _others(usable: list[Any], device: Any) -> str:
    return ", ".join(d.id for d in usable if d.id != device.id)


def known_device(preference: str) -> bool:
    name = preference.lower().replace("_", "-")
    if name == "auto" or name in backend_names():
        return True
    return any(d.id == name for d in tilewright.devices())


def device_names() -> list[str]:
    return ["auto", *backend_names(), *(d.id for d in tilewright.devices())]


def bytes_text(count: int) -> str:
    if count <= 0:
        return "not said"
    size = float(count)
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if size < 1024 or unit == "GiB":
            break
        size /= 1024
    return f"{size:.1f} {unit}" if unit != "bytes" else f"{count} bytes"
