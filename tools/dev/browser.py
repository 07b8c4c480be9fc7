"""The browser that the tests open the chat page in: Debian's Chromium without a window."""

from __future__ import annotations

import shutil

import debian
from shell import BUILD, say

PACKAGE = "chromium-headless-shell"
FOLDER = BUILD / "chromium"
STAMP = FOLDER / "packages"
# Of what it asks for: its own parts, libraries and a font.
UNPACKED = ("chromium", "lib", "fonts-dejavu-core")
# Every system has these; and drivers of GPUs, which it does without.
NOT_UNPACKED = (
    *("libc6", "libgcc-", "libstdc++"),
    *("libgl1", "libglapi", "libglvnd", "libglx", "libllvm", "libz3"),
)


def install() -> None:
    """Unpacks it into FOLDER, where Debian's packages are at hand; elsewhere the tests look for one
    that is installed."""
    if STAMP.exists() or not shutil.which("apt-get"):
        return
    say("unpacking Chromium, for the tests of the chat page")
    names = debian.unpack(PACKAGE, FOLDER, is_wanted)
    STAMP.write_text(" ".join(names))


def is_wanted(name: str) -> bool:
    return name.startswith(UNPACKED) and not name.startswith(NOT_UNPACKED)


def variables() -> dict[str, str]:
    """What tells the tests where the browser is, if it is."""
    return {"TILEWRIGHT_TEST_CHROMIUM": str(FOLDER)} if STAMP.exists() else {}
