"""Models that are damaged or lie, loaded whole: what comes is a ModelError or a model."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
import tilewright
from conformance import model_folders, model_ggufs
from tilewright.models import ModelError, load

from . import damage_load

COUNT = 60
CONFIG = model_folders.DECODERS["llama2"]


def test_damaged_models(tmp_path: Path) -> None:
    found = damage_load.every(tmp_path, COUNT)
    assert len(found) == 10
    for name, (tried, ran) in found.items():
        # Both happen, or it is not looked at what is damaged.
        assert 0 < ran < tried, name


@pytest.fixture
def be() -> Iterator[tilewright.Backend]:
    with tilewright.init_backend("cpu") as backend:
        yield backend


def write(folder: Path, **changed: Any) -> dict[str, Any]:
    tensors = model_folders.random_tensors(
        np.random.default_rng(5), model_folders.decoder_shapes(CONFIG)
    )
    model_folders.write_decoder(folder, {**CONFIG, **changed}, tensors)
    return tensors


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"num_hidden_layers": 10**9}, "num_hidden_layers is 1000000000, expected an integer"),
        ({"num_hidden_layers": 4096}, "there is no tensor 'model.layers.4095"),
        ({"num_hidden_layers": -3}, "num_hidden_layers is -3, expected an integer from 1"),
        ({"hidden_size": 1 << 62}, "hidden_size is 4611686018427387904, expected an integer"),
        ({"hidden_size": "64"}, "hidden_size is '64', expected an integer"),
        ({"hidden_size": 64.0}, "hidden_size is 64.0, expected an integer"),
        ({"num_attention_heads": 5}, "num_attention_heads is 5, expected a divisor"),
        ({"num_attention_heads": 8}, "expected (64, 64)|has shape"),
        ({"num_key_value_heads": 0}, "num_key_value_heads is 0, expected an integer from 1 to 4"),
        ({"num_key_value_heads": 4}, "k_proj.weight' has shape"),
        ({"head_dim": 1 << 20}, "q_proj.weight' has shape"),
        ({"vocab_size": 1 << 24}, "embed_tokens.weight' has shape"),
        ({"intermediate_size": [96]}, "intermediate_size is a list of length 1, expected"),
        ({"rms_norm_eps": "1e-5"}, "rms_norm_eps is '1e-5', expected a number"),
        ({"rope_theta": -1}, "rope_theta is -1, expected a number from 1"),
        ({"tie_word_embeddings": 1}, "tie_word_embeddings is 1, expected true or false"),
        ({"model_type": "owl"}, "model_type is 'owl', expected one of bert"),
        ({"model_type": 7}, "model_type is 7, expected a string"),
        ({"eos_token_id": "end"}, "eos_token_id is 'end', expected a list"),
    ],
)
def test_lying_configurations(
    be: tilewright.Backend, tmp_path: Path, changed: dict[str, Any], message: str
) -> None:
    write(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps(CONFIG | changed))
    before = be.memory_stats().total_allocations
    tracemalloc.start()
    try:
        with pytest.raises(ModelError, match=message) as error:
            load(tmp_path, be)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert str(tmp_path) in str(error.value)
    # Nothing is sent before all of it is looked at.
    assert be.memory_stats().total_allocations == before
    assert most < damage_load.MOST_PYTHON


def renamed(tensors: dict[str, Any]) -> dict[str, Any]:
    return {name.replace("layers.1.mlp.up", "layers.1.mlp.down2"): t for name, t in tensors.items()}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (renamed, "there is no tensor 'model.layers.1.mlp.up_proj.weight' among its"),
        (lambda t: t | {"model.norm.weight": np.zeros(63, np.float32)}, "'model.norm.weight' has "
         r"shape \(63,\), expected \(64,\)"),
        (lambda t: t | {"model.norm.weight": np.zeros(64, np.int64)}, "tensor 'model.norm.weight' "
         "is int64, expected one of float32, float16, bfloat16, float64, q"),
        (lambda t: t | {"lm_head.weight": np.zeros((44, 64, 1), np.float32)}, "'lm_head.weight' "
         "has shape"),
    ],
)  # fmt: skip
def test_other_tensors(
    be: tilewright.Backend, tmp_path: Path, change: Callable[[Any], Any], message: str
) -> None:
    tensors = write(tmp_path)
    model_folders.write_safetensors(tmp_path / "model.safetensors", change(tensors))
    before = be.memory_stats().total_allocations
    with pytest.raises(ModelError, match=message) as error:
        load(tmp_path, be)
    assert "model.safetensors" in str(error.value)
    assert be.memory_stats().total_allocations == before


def test_shards_that_name_each_other_wrongly(be: tilewright.Backend, tmp_path: Path) -> None:
    tensors = write(tmp_path)
    (tmp_path / "model.safetensors").unlink()
    names = sorted(tensors)
    parts = {"a.safetensors": names[::2], "b.safetensors": names[1::2]}
    for file, held in parts.items():
        model_folders.write_safetensors(tmp_path / file, {name: tensors[name] for name in held})
    index = tmp_path / "model.safetensors.index.json"
    right = {name: file for file, held in parts.items() for name in held}
    for wrong, message in (
        (right, None),
        (right | {names[0]: "b.safetensors"}, "is in this file, and weight_map"),
        (right | {names[0]: "c.safetensors"}, "c.safetensors: it cannot be opened"),
        (right | {"more": "a.safetensors"}, "weight_map has tensor 'more' in a.safetensors"),
        (right | {names[0]: "../a.safetensors"}, "expected a path within the folder"),
        (right | {names[0]: str(tmp_path / "a.safetensors")}, "expected a path within the folder"),
        ({}, "weight_map is an object of length 0"),
        ({name: file for name, file in right.items() if name != names[0]}, "there is no tensor"),
    ):
        index.write_text(json.dumps({"weight_map": wrong}))
        if message is None:
            assert load(tmp_path, be).generate([1, 2], 1) is not None
            continue
        with pytest.raises(ModelError, match=message):
            load(tmp_path, be)
    index.write_text(json.dumps({"weight_map": right}))
    (tmp_path / "b.safetensors").unlink()
    with pytest.raises(ModelError, match=r"b\.safetensors: it cannot be opened"):
        load(tmp_path, be)


@pytest.mark.parametrize(
    "text", [b"", b"{", b"[]", b"{}", b'{"model": {"type": "BPE"}}', b"\xff\xfe", b"[" * 100_000]
)
def test_damaged_vocabularies(be: tilewright.Backend, tmp_path: Path, text: bytes) -> None:
    write(tmp_path)
    (tmp_path / "tokenizer.json").write_bytes(text)
    with pytest.raises(ModelError, match=r"tokenizer\.json: the package tokenizers does not take"):
        load(tmp_path, be)


def test_a_vocabulary_that_no_text_is_cut_by(be: tilewright.Backend, tmp_path: Path) -> None:
    """The package takes it, and then panics."""
    write(tmp_path)
    found = json.loads((tmp_path / "tokenizer.json").read_text())
    del found["post_processor"]["special_tokens"]["[CLS]"]
    (tmp_path / "tokenizer.json").write_text(json.dumps(found))
    with pytest.raises(ModelError, match=r"tokenizer\.json: the package tokenizers does not"):
        load(tmp_path, be).generate("w1", 1)


def test_no_places(be: tilewright.Backend, tmp_path: Path) -> None:
    config = {**model_folders.FAMILIES["roberta"], "max_position_embeddings": 2}
    tensors = model_folders.random_tensors(np.random.default_rng(5), model_folders.shapes(config))
    model_folders.write_encoder(tmp_path, config, tensors)
    with pytest.raises(ModelError, match="max_position_embeddings is 2, expected more than the 2"):
        load(tmp_path, be)


def test_tokens_beyond_the_table(be: tilewright.Backend, tmp_path: Path) -> None:
    config = model_folders.FAMILIES["bert"]
    tensors = model_folders.random_tensors(
        np.random.default_rng(5), model_folders.shapes({**config, "vocab_size": 9})
    )
    model_folders.write_encoder(tmp_path, {**config, "vocab_size": 9}, tensors)
    model = load(tmp_path, be)
    with pytest.raises(tilewright.Error, match="token 12, and its table has 9 rows"):
        model.embed("w8")
    with pytest.raises(tilewright.Error, match="token -1"):
        model.states([[-1]])
    found = json.loads((tmp_path / "tokenizer.json").read_text())
    found["post_processor"]["special_tokens"]["[CLS]"]["ids"] = [1 << 31]
    (tmp_path / "tokenizer.json").write_text(json.dumps(found))
    with pytest.raises(tilewright.Error, match="token 2147483648, and its table has 9 rows"):
        load(tmp_path, be).embed("w1")


def gguf_of(path: Path, config: dict[str, Any], keys: dict[str, Any] | None = None) -> Path:
    tensors = model_folders.random_tensors(
        np.random.default_rng(5), model_folders.decoder_shapes(CONFIG)
    )
    kind = gguf.GGMLQuantizationType.F32
    rng = np.random.default_rng(5)
    model_ggufs.write_gguf(path, {**CONFIG, **config}, tensors, lambda _: kind, rng, keys)
    return path


@pytest.mark.parametrize(
    ("config", "keys", "message"),
    [
        ({"num_hidden_layers": 10**9}, {}, "block_count is 1000000000, expected an integer"),
        ({"num_hidden_layers": 4096}, {}, "there is no tensor 'model.layers.4095"),
        ({"hidden_size": 1 << 31}, {}, "embedding_length is 2147483648, expected an integer"),
        ({"hidden_size": 63}, {}, "head_count is 4, expected a divisor of 63"),
        ({"max_position_embeddings": 0}, {}, "context_length is 0, expected an integer from 1"),
        ({"rms_norm_eps": float("nan")}, {}, "rms_epsilon is nan, expected a finite number"),
        ({"rope_theta": 0.0}, {}, "freq_base is 0.0, expected a number from 1"),
        ({"eos_token_id": 44}, {}, "eos_token_id is 44, expected an integer from 0 to 43"),
        ({"model_type": "mamba"}, {}, "general.architecture is 'mamba', expected one of llama"),
        ({}, {"tokenizer.chat_template": 3}, "chat_template is 3, expected a string"),
    ],
)
def test_lying_ggufs(
    be: tilewright.Backend, tmp_path: Path, config: Any, keys: Any, message: str
) -> None:
    path = gguf_of(tmp_path / "model.gguf", config, keys)
    before = be.memory_stats().total_allocations
    with pytest.raises(ModelError, match=message) as error:
        load(path, be)
    assert str(path) in str(error.value)
    assert be.memory_stats().total_allocations == before


def test_what_is_no_model(be: tilewright.Backend, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("{}")
    (tmp_path / "a.gguf").mkdir()
    for path, message in (
        (tmp_path / "nowhere", "not a folder|no such folder"),
        (tmp_path / "file", "not a folder|no such folder"),
        (tmp_path, "config.json: it cannot be opened"),
        (tmp_path / "a.gguf", "it is not a regular file|cannot be opened"),
        (tmp_path / "b.gguf", "it cannot be opened"),
        ("a\0b", "no such folder|it cannot be opened|null"),
    ):
        with pytest.raises(ModelError, match=message):
            load(path, be)
    for wrong in (3, b"a", None):
        with pytest.raises((TypeError, ModelError), match=r"path|PathLike"):
            load(wrong, be)  # type: ignore[arg-type]
