"""One version everywhere: the library, its header and the package's metadata."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path

import tilewright as tw


def test_the_library_its_header_and_the_package_have_one_version() -> None:
    header = Path(tw.__file__).parent / "include" / "tilewright" / "version.hpp"
    assert f'#define TILEWRIGHT_VERSION "{tw.__version__}"' in header.read_text(encoding="utf-8")
    assert metadata.version("tilewright") == tw.__version__
