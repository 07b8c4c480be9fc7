"""The examples, which come in pairs: the C++ one and the Python one print the same."""

import sys
from pathlib import Path

import pytest
from building import CPP, ROOT, run

PYTHON = ROOT / "examples" / "python"
NAMES = sorted(path.stem for path in PYTHON.glob("*.py"))


def test_every_example_has_its_pair() -> None:
    assert sorted(path.stem for path in CPP.glob("*.cpp")) == NAMES
    assert NAMES


@pytest.mark.parametrize(
    "device", ["cpu:0", pytest.param("webgpu:0", marks=pytest.mark.exhaustive)]
)
@pytest.mark.parametrize("name", NAMES)
def test_both_of_a_pair_print_the_same(
    programs: Path, name: str, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TILEWRIGHT_DEVICE", device)
    from_python = run(sys.executable, PYTHON / f"{name}.py")
    from_cpp = run(programs / f"example_{name}")
    assert from_python == from_cpp
    assert from_python


def test_decoding_with_a_cache_gives_what_the_whole_sequence_gives(programs: Path) -> None:
    said = run(programs / "example_attention_decode")
    assert said.endswith("as the whole sequence at once: yes\n")
