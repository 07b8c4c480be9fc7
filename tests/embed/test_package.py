"""What an installed package holds."""

import sys
from importlib.metadata import files
from pathlib import Path

from building import installed, run

LIBRARY = Path(installed("library-dir"))
OWN = {f"lib{name}.so" for name in ("tilewright", "tilewright_openblas", "tilewright_wgpu")}


def test_the_libraries_are_three() -> None:
    assert {path.name for path in LIBRARY.iterdir() if path.is_file()} == OWN


def test_the_libraries_in_use_are_its_own() -> None:
    code = (
        "import numpy as np, tilewright\n"
        "ones = np.ones((64, 64), np.float32)\n"
        "for device in ('cpu:0', 'webgpu:0'):\n"
        "    with tilewright.init_backend(device) as be:\n"
        "        assert be.matmul(ones, ones).numpy().max() == 64\n"
        "print(open('/proc/self/maps').read())"
    )
    mapped = {Path(word) for word in run(sys.executable, "-c", code).split() if "/" in word}
    found = {path.resolve() for path in mapped if "tilewright" in path.name or "wgpu" in path.name}
    assert {path for path in found if path.name.startswith("lib")} == {
        (LIBRARY / name).resolve() for name in OWN
    }


def test_the_licences_of_what_it_contains_are_with_it() -> None:
    licences = LIBRARY.parent / "share" / "tilewright" / "licenses"
    assert {path.name for path in licences.iterdir()} == {
        "LICENSE-OPENBLAS.txt",
        "LICENSE-WGPU-APACHE.txt",
        "LICENSE-WGPU-MIT.txt",
    }
    assert "The gfx-rs developers" in (licences / "LICENSE-WGPU-MIT.txt").read_text()
    assert "Apache License" in (licences / "LICENSE-WGPU-APACHE.txt").read_text()
    named = {path.name for path in files("tilewright") or () if "licenses" in path.parts}
    assert {"LICENSE-MIT", "LICENSE-APACHE", "LICENSE-WGPU-MIT.txt"} <= named
