"""Debian's packages, unpacked into a folder and not installed."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import system
from shell import Failed, output, run, succeeds


def unpack(package: str, folder: Path, wanted: Callable[[str], bool]) -> list[str]:
    """Unpacks a package and those of what it asks for that are wanted; their names."""
    root = system.root_prefix()
    if root is not None and not succeeds(["apt-cache", "show", package]):
        run([*root, "apt-get", "update", "-q"])
    names = [name for name in needed(package) if wanted(name)]
    archives = folder / "archives"
    archives.mkdir(parents=True, exist_ok=True)
    # As root apt-get fetches as a user of its own, who may not write here.
    sandbox = ["-o", "APT::Sandbox::User=root"] if os.geteuid() == 0 else []
    fetch = ["apt-get", "download", "-q", *sandbox, *names]
    if run(fetch, cwd=archives, check=False) != 0:
        # What was listed a while ago may have been replaced.
        updated = root is not None and run([*root, "apt-get", "update", "-q"], check=False) == 0
        if not updated or run(fetch, cwd=archives, check=False) != 0:
            raise Failed(f"{package} and what it asks for could not be fetched; try apt-get update")
    for archive in sorted(archives.glob("*.deb")):
        run(["dpkg-deb", "-x", archive, folder])
        archive.unlink()
    return names


def needed(package: str) -> list[str]:
    """The package and what it asks for."""
    lines = output(["apt-cache", "depends", "--recurse", "--important", package]).splitlines()
    return sorted({line for line in lines if line and line[0] not in " |<"})
