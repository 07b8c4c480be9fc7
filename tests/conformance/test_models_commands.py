"""tilewright generate, with a small model of random weights."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tilewright
from tilewright.cli import main

from .model_folders import (
    DECODERS,
    FAMILIES,
    decoder_shapes,
    random_tensors,
    shapes,
    write_decoder,
    write_encoder,
)


def decoder(folder: Path) -> None:
    config = DECODERS["llama2"]
    write_decoder(folder, config, random_tensors(np.random.default_rng(5), decoder_shapes(config)))


def test_generate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    decoder(tmp_path)
    words = ["generate", str(tmp_path), "w1 w2", "--device", "cpu", "--max-tokens", "6"]
    assert main([*words, "--times"]) == 0
    found = capsys.readouterr()
    with tilewright.init_backend("cpu") as be:
        expected = tilewright.models.load(tmp_path, be).generate("w1 w2", 6)
    assert found.out == expected + "\n"
    assert found.err.startswith("first piece after ")
    drawn = ["--temperature", "2", "--seed", "7", "--top-k", "9", "--weights", "int8"]
    assert main([*words, *drawn]) == 0
    first = capsys.readouterr().out
    assert main([*words, *drawn]) == 0
    assert capsys.readouterr().out == first


def test_wrong_use(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    decoder(tmp_path / "decoder")
    config = FAMILIES["bert"]
    encoder = tmp_path / "encoder"
    write_encoder(encoder, config, random_tensors(np.random.default_rng(5), shapes(config)))
    for words, code, message in (
        (["generate", str(encoder), "w1"], 2, "has an encoder; tilewright embed is for those"),
        (["embed", "--model", str(tmp_path / "decoder"), "w1"], 2, "has a decoder"),
        (["generate", str(tmp_path / "none"), "w1"], 1, "none"),
        (["generate", str(tmp_path / "decoder"), "w1", "--top-p", "0"], 1, "top_p is 0"),
    ):
        assert main([*words, "--device", "cpu"]) == code
        assert message in capsys.readouterr().err
