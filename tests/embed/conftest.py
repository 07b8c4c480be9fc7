"""What several of these tests need built."""

from __future__ import annotations

from pathlib import Path

import pytest
from building import CPP, build, installed


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the programs of examples/cpp."""
    folder = tmp_path_factory.mktemp("examples")
    build(CPP, folder, f"-Dtilewright_DIR={installed('cmake-dir')}")
    return folder
