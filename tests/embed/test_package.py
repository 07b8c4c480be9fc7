"""What an installed package holds."""

import sys
from importlib.metadata import distribution
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
        "LICENSE-PYBIND11.txt",
        "LICENSE-WGPU-APACHE.txt",
        "LICENSE-WGPU-MIT.txt",
    }
    assert "The gfx-rs developers" in (licences / "LICENSE-WGPU-MIT.txt").read_text()
    assert "Apache License" in (licences / "LICENSE-WGPU-APACHE.txt").read_text()
    assert "Wenzel Jakob" in (licences / "LICENSE-PYBIND11.txt").read_text()
    package = distribution("tilewright")
    named = {Path(name).name: name for name in package.metadata.get_all("License-File") or ()}
    assert set(named) == {
        "LICENSE-APACHE",
        "LICENSE-MIT",
        "LICENSE-OPENBLAS.txt",
        "LICENSE-PYBIND11.txt",
        "LICENSE-WGPU-MIT.txt",
    }
    # What the metadata names is what came with the libraries that were built in.
    for name in ("LICENSE-OPENBLAS.txt", "LICENSE-PYBIND11.txt", "LICENSE-WGPU-MIT.txt"):
        text = package.read_text(f"licenses/{named[name]}")
        assert text == (licences / name).read_text(), name


def test_the_licence_expression_names_all_of_them() -> None:
    expression = distribution("tilewright").metadata["License-Expression"]
    assert {part.strip(" ()") for part in expression.replace(" OR ", " AND ").split(" AND ")} == {
        "MIT",
        "Apache-2.0",
        "BSD-3-Clause",
        "BSD-3-Clause-Attribution",
        "GPL-3.0-or-later WITH GCC-exception-3.1",
    }
