"""Debian's packages, unpacked into a folder and not installed."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import system
from shell import Failed, output, run, succeeds


def unpack(package: str, folder: Path, wanted: Callable[[str], bool]) -> list[str]:
    """Unpacks a package and those of what it asks for that are wanted; their files' names."""
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
    files = sorted(archive.name for archive in archives.glob("*.deb"))
    for name in files:
        run(["dpkg-deb", "-x", archives / name, folder])
        (archives / name).unlink()
    return files


def unpack_of(suite: str, backports: str, package: str, folder: Path) -> list[str]:
    """Unpacks a package of a release of Debian that the machine need not run, with all that it asks
    for, down to the C library; their files' names."""
    archives, lists = folder / "archives", folder / "lists"
    for place in (archives / "partial", lists / "partial", folder / "cache"):
        place.mkdir(parents=True, exist_ok=True)
    sources, installed = folder / "sources.list", folder / "status"
    sources.write_text("".join(f"deb {mirror()} {one} main\n" for one in (suite, backports)))
    installed.write_text("")
    places = {
        "Dir::Etc::SourceList": sources,
        "Dir::Etc::SourceParts": "/dev/null",
        "Dir::State::Lists": lists,
        "Dir::State::Status": installed,
        "Dir::Cache": folder / "cache",
        "Dir::Cache::Archives": archives,
        "APT::Sandbox::User": "root",
        "Debug::NoLocking": "true",
    }
    options = [f"-o{name}={value}" for name, value in places.items()]
    run(["apt-get", *options, "update", "-q"])
    only = ("--yes", "--no-install-recommends", "--download-only")
    run(["apt-get", *options, "install", "-q", *only, f"--target-release={backports}", package])
    names = sorted(archive.name for archive in archives.glob("*.deb"))
    for name in names:
        run(["dpkg-deb", "-x", archives / name, folder])
    for place in (archives, lists, folder / "cache"):
        shutil.rmtree(place)
    return names


def mirror() -> str:
    """Where this machine gets Debian's packages from; nothing where it gets others."""
    root = system.root_prefix()
    for tries in (1, 2):
        wanted = ("--format", "$(LABEL) $(REPO_URI)", "Created-By: Packages")
        for line in output(["apt-get", "indextargets", *wanted]).splitlines():
            label, _, place = line.partition(" ")
            if label == "Debian":
                return place
        if tries == 1 and root is not None:
            run([*root, "apt-get", "update", "-q"], check=False)
    return ""


def needed(package: str) -> list[str]:
    """The package and what it asks for."""
    lines = output(["apt-cache", "depends", "--recurse", "--important", package]).splitlines()
    return sorted({line for line in lines if line and line[0] not in " |<"})
