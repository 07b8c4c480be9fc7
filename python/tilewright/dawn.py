"""Where Dawn is, the WebGPU library besides wgpu-native: in the package wgpudawn.

Looked for when webgpu may be used for the first time. Of that package its compiled module alone is
loaded, since the rest takes a tenth of a second and is not used.
"""

from __future__ import annotations

import os
import sys
import threading
from typing import Any

from tilewright import _core

PACKAGE = "wgpudawn"
VERSION = "0.32.0.4"
MODULE = f"{PACKAGE}._lib._wgpu_dawn"
_INSTALL = f"{os.path.basename(sys.executable)} -m pip install 'tilewright[dawn]'"


# A child that is forked while another thread imports waits for it, and that thread is not there.
_finding = threading.Lock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_finding.acquire,
        after_in_parent=_finding.release,
        after_in_child=_finding.release,
    )


class Missing(Exception):
    """Why there is no Dawn, and what to do."""


def find() -> None:
    """Tells the library what is there."""
    with _finding:
        _find()


def _find() -> None:
    try:
        module = _module()
        ffi, lib = module.ffi, module.lib
        entry = ffi.cast("uintptr_t", ffi.addressof(lib, "wgpuGetProcAddress"))
        listing = ffi.cast("uintptr_t", ffi.addressof(lib, "wgpu_dawn_enumerate_adapters"))
    except Missing as missing:
        _core._set_dawn("", 0, 0, str(missing))
    except Exception as error:
        reason = f"{PACKAGE} {VERSION} cannot be loaded ({error}); install it again: {_INSTALL}"
        _core._set_dawn("", 0, 0, reason)
    else:
        _core._set_dawn(f"Dawn of {PACKAGE} {VERSION}", int(entry), int(listing), "")


def _module() -> Any:
    """The module that has Dawn in it. Raises Missing where there is none, or another version."""
    # These take longer than all of this package.
    from importlib import machinery, metadata, util

    found = util.find_spec(PACKAGE)
    if found is None or not found.submodule_search_locations:
        raise Missing(f"{PACKAGE}, which has Dawn in it, is not installed: {_INSTALL}")
    version = metadata.version(PACKAGE)
    if version != VERSION:
        raise Missing(
            f"{PACKAGE} {version} is installed, but this tilewright needs {VERSION}: {_INSTALL}"
        )
    if MODULE in sys.modules:
        return sys.modules[MODULE]
    folders = [os.path.join(folder, "_lib") for folder in found.submodule_search_locations]
    spec = machinery.PathFinder.find_spec(MODULE, folders)
    if spec is None or spec.loader is None:
        raise Missing(f"{PACKAGE} {version} has no {MODULE}; install it again: {_INSTALL}")
    module = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    # Its package, imported later, expects to import it itself.
    for name in (MODULE, f"{MODULE}.lib"):
        sys.modules.pop(name, None)
    return module
