"""What kernels were compiled to, for builds in other folders: in the folder that the environment
variable SPIRV_CACHE names, one file for each kernel, valid while all that it was made of
is the same."""

from __future__ import annotations

import hashlib
import json
import os
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

VARIABLE = "SPIRV_CACHE"
HERE = Path(__file__).resolve().parent
# Files of an archive: what it was made of, and the C++ source; the others are modules.
ORIGIN, SOURCE, MODULES = "origin.json", "source.cpp", "modules/"


@dataclass
class Kept:
    """What one kernel was compiled to."""

    source: str
    loaded: list[str]
    """Names of the files beside it that it includes."""
    modules: dict[str, bytes]


class Cache:
    def __init__(self, folder: Path, kernel: Path, headers: Path, zig: Path) -> None:
        self.kernel = kernel
        self.file = folder / f"{kernel.stem}.zip"
        given = [
            kernel,
            *sorted(headers.glob("*.h")),
            headers.parents[1] / "core" / "program" / "elementwise.def",
            *sorted(HERE.glob("*.py")),
            *sorted((HERE / "wgsl_to_opencl").glob("*.py")),
        ]
        compiler = zig.resolve().stat()
        self.origin = digest(given) + f" {compiler.st_size} {compiler.st_mtime_ns}"

    def load(self) -> Kept | None:
        """None unless all is as it was."""
        try:
            with zipfile.ZipFile(self.file) as archive:
                said = json.loads(archive.read(ORIGIN))
                if said != self.description(said["loaded"]):
                    return None
                names = [name for name in archive.namelist() if name.startswith(MODULES)]
                modules = {name.removeprefix(MODULES): archive.read(name) for name in names}
                return Kept(archive.read(SOURCE).decode(), said["loaded"], modules)
        except (FileNotFoundError, zipfile.BadZipFile, KeyError, ValueError):
            return None

    def store(self, kept: Kept) -> None:
        self.file.parent.mkdir(parents=True, exist_ok=True)
        made = self.file.with_suffix(f".{os.getpid()}")
        with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
            archive.writestr(ORIGIN, json.dumps(self.description(kept.loaded)))
            archive.writestr(SOURCE, kept.source)
            for name, module in kept.modules.items():
                archive.writestr(MODULES + name, module)
        made.replace(self.file)

    def description(self, loaded: list[str]) -> dict[str, object]:
        files = [self.kernel.parent / name for name in loaded]
        known = digest(files) if all(file.exists() for file in files) else None
        return {"made of": self.origin, "loaded": loaded, "digest": known}


def cache_of(kernel: Path, headers: Path, zig: Path) -> Cache | None:
    """None where no folder is named."""
    folder = os.environ.get(VARIABLE)
    return Cache(Path(folder), kernel, headers, zig) if folder else None


def digest(files: Iterable[Path]) -> str:
    total = hashlib.sha256()
    for file in files:
        total.update(f"{file.name} {hashlib.sha256(file.read_bytes()).hexdigest()}\n".encode())
    return total.hexdigest()
