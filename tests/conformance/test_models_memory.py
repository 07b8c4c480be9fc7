"""Models that do not fit: what is asked for before the first byte is sent."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
import tilewright
from tilewright import Backend
from tilewright.models import load, memory

from . import model_folders
from .model_ggufs import write_gguf

CONFIG = {
    **model_folders.DECODERS["llama2"], "hidden_size": 256, "intermediate_size": 512,
    "num_hidden_layers": 2, "max_position_embeddings": 4096,
}  # fmt: skip


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("model")
    tensors = model_folders.random_tensors(
        np.random.default_rng(1), model_folders.decoder_shapes(CONFIG)
    )
    model_folders.write_decoder(made, CONFIG, tensors)
    kind = gguf.GGMLQuantizationType
    for name, of in (("q8.gguf", kind.Q8_0), ("f32.gguf", kind.F32)):
        write_gguf(made / name, CONFIG, tensors, lambda _, it=of: it, np.random.default_rng(1))
    return made


def numbers(text: str) -> list[float]:
    units = {"bytes": 1, "MB": 1e6, "GB": 1e9}
    return [float(a) * units[b] for a, b in re.findall(r"([0-9.]+) (bytes|MB|GB)", text)]


@pytest.mark.parametrize("weights", [None, "float16", "int8", "int4"])
@pytest.mark.parametrize("file", ["", "q8.gguf", "f32.gguf"])
def test_what_is_needed(be: Backend, folder: Path, file: str, weights: str | None) -> None:
    path = folder / file
    with tilewright.init_backend(be.device.id) as own:
        model: Any = load(path, own, weights, context=512)
        taken, most = own.memory_stats().active_bytes, own.memory_stats().peak_bytes
        held = model.weights.nbytes
    # What is said is what comes, and no more than a fifth beside the truth.
    with tilewright.init_backend(be.device.id, memory_limit=int(most * 1.25)) as own:
        load(path, own, weights, context=512)
    with tilewright.init_backend(be.device.id, memory_limit=int(taken * 0.9)) as own:
        with pytest.raises(tilewright.OutOfMemory, match="does not fit on") as error:
            load(path, own, weights, context=512)
        assert own.memory_stats().total_allocations == 0
    said = str(error.value)
    of_weights, cache = numbers(said)[:2]
    assert 0.9 * held < of_weights < 1.1 * held
    assert 0.9 * taken < of_weights + cache < 1.1 * taken
    assert f"it takes {said.split('it takes ')[1]}" in said and " of weights, " in said
    assert " for a cache of 512 tokens, " in said
    assert "a smaller context= or cache_tokens=" in said
    assert ("weights='int4'" in said) == (weights != "int4")


def test_what_others_hold_is_not_free(be: Backend, folder: Path) -> None:
    with tilewright.init_backend(be.device.id, memory_limit=20_000_000) as own:
        load(folder, own, context=512)
        held = own.array(np.zeros(4_000_000, np.float32))
        before = own.memory_stats().total_allocations
        with pytest.raises(tilewright.OutOfMemory, match=r" of 20\.00 MB are free; load it with"):
            load(folder, own, context=512)
        assert own.memory_stats().total_allocations == before
        del held
        load(folder, own, context=512)


def test_a_device_that_does_not_say_what_it_has(
    be: Backend, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "room", lambda _: None)
    with tilewright.init_backend(be.device.id, memory_limit=2_000_000) as own:
        with pytest.raises(tilewright.OutOfMemory, match=r"MB of weights.* and it has no more"):
            load(folder, own, context=512)
        assert own.memory_stats().active_bytes == 0


def test_a_large_context_is_the_cause(be: Backend, folder: Path) -> None:
    with tilewright.init_backend(be.device.id, memory_limit=10_000_000) as own:
        with pytest.raises(tilewright.OutOfMemory, match=r"8\.\d+ MB for a cache of 4096 tokens"):
            load(folder, own)
        assert own.memory_stats().total_allocations == 0
        model: Any = load(folder, own, context=64)
        assert model.context == 64
        with pytest.raises(tilewright.OutOfMemory, match="for a cache of 100000 tokens"):
            load(folder, own, context=64, cache_tokens=100_000)


def test_an_encoder_that_does_not_fit(be: Backend, tmp_path: Path) -> None:
    config = model_folders.FAMILIES["bert"]
    tensors = model_folders.random_tensors(np.random.default_rng(1), model_folders.shapes(config))
    model_folders.write_encoder(tmp_path, config, tensors)
    with tilewright.init_backend(be.device.id, memory_limit=50_000) as own:
        with pytest.raises(tilewright.OutOfMemory, match="MB of weights") as error:
            load(tmp_path, own)
        assert "cache" not in str(error.value)
