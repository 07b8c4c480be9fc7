"""Mesa's software GPU of a later Debian, which has float16 and matrix units and which Dawn takes.
It comes with the C library that it was built for, and Python runs on that one too."""

from __future__ import annotations

import json
import os
import shutil
import stat

import debian
from project import Environment
from shell import BUILD, Failed, say

PACKAGE = "mesa-vulkan-drivers"
SUITE, UPDATES = "trixie", "trixie-backports"
FOLDER = BUILD / "lavapipe"
STAMP = FOLDER / "packages"
PYTHON = FOLDER / "python"


def install(environment: Environment) -> bool:
    """Unpacks it into FOLDER, and writes the PYTHON that runs on it; whether it is there."""
    if not STAMP.exists():
        if not shutil.which("apt-get") or not debian.mirror():
            return False
        say(f"unpacking Mesa's software GPU of Debian {UPDATES}, for the tests on Dawn")
        try:
            names = debian.unpack_of(SUITE, UPDATES, PACKAGE, FOLDER)
        except Failed as failure:
            if os.environ.get("CI"):
                raise
            say(f"left out: {failure}")
            return False
        STAMP.write_text(" ".join(names))
    write_python(environment)
    return True


def write_python(environment: Environment) -> None:
    driver = next(FOLDER.glob("usr/lib/*/libvulkan_lvp.so"))
    loader = next(driver.parent.glob("ld-linux-*.so.*"))
    described = FOLDER / "lvp_icd.json"
    named = {"api_version": "1.4.0", "library_path": str(driver)}
    described.write_text(json.dumps({"ICD": named, "file_format_version": "1.0.1"}))
    python = environment.python
    PYTHON.write_text(
        "#!/bin/sh\n"
        f"export VK_DRIVER_FILES='{described}'\n"
        # Less to compile, and nothing that LLVM's own passes get wrong.
        "export GALLIVM_PERF=nopt\n"
        f"exec '{loader}' --library-path '{driver.parent}' --argv0 '{python}' '{python}' \"$@\"\n"
    )
    PYTHON.chmod(PYTHON.stat().st_mode | stat.S_IXUSR)


def pytest_options(workers: int) -> list[str]:
    """Processes that share out the tests, each on that Python."""
    return [f"--tx={workers}*popen//python={PYTHON}", "--dist=worksteal"]
