"""The browser that the tests open the chat page in, Debian's Chromium without a window, and the GPU
in software that comes with it, SwiftShader, which Dawn takes."""

from __future__ import annotations

import shutil
from collections.abc import Sequence

import debian
from shell import BUILD, ROOT, say

PACKAGE = "chromium-headless-shell"
FOLDER = BUILD / "chromium"
STAMP = FOLDER / "packages"
TESTS = (
    "tests/conformance/test_serving_page.py",
    "tests/webgpu/test_dawn.py",
    "tests/webgpu/test_kept_kernels.py",
)
SWIFTSHADER = FOLDER / "usr" / "lib" / "chromium" / "vk_swiftshader_icd.json"
# Of what it asks for: its own parts, libraries and a font.
UNPACKED = ("chromium", "lib", "fonts-dejavu-core")
# Every system has these; and drivers of GPUs, which it does without.
NOT_UNPACKED = (
    *("libc6", "libgcc-", "libstdc++"),
    *("libgl1", "libglapi", "libglvnd", "libglx", "libllvm", "libz3"),
)


def is_needed(rest: Sequence[str]) -> bool:
    """Whether what pytest is given may have tests of the page or of Dawn in it."""
    words = [word.partition("::")[0].rstrip("/") for word in rest]
    paths = [word for word in words if word and (ROOT / word).exists()]
    return not paths or any(f"{tests}/".startswith(f"{path}/") for path in paths for tests in TESTS)


def install() -> None:
    """Unpacks it into FOLDER, where Debian's packages are at hand; elsewhere the tests look for one
    that is installed."""
    if STAMP.exists() or not shutil.which("apt-get"):
        return
    say("unpacking Chromium, for the tests of the chat page and of Dawn")
    names = debian.unpack(PACKAGE, FOLDER, is_wanted)
    STAMP.write_text(" ".join(names))


def is_wanted(name: str) -> bool:
    return name.startswith(UNPACKED) and not name.startswith(NOT_UNPACKED)


def variables() -> dict[str, str]:
    """What tells the tests where the browser and SwiftShader are, if they are."""
    if not STAMP.exists():
        return {}
    return {
        "TILEWRIGHT_TEST_CHROMIUM": str(FOLDER),
        "TILEWRIGHT_TEST_SWIFTSHADER": str(SWIFTSHADER),
    }
