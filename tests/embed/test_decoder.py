"""The decoder in C++ gives the tokens that tw.models gives of the same folder."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import tilewright as tw
from building import run
from conformance.model_folders import (
    DECODERS,
    decoder_shapes,
    random_tensors,
    write_decoder,
    write_safetensors,
)

# The first device of each backend that there is here.
DEVICES = sorted({one.backend: one.id for one in reversed(tw.devices()) if one.available}.values())
TYPES = {
    "float32": np.float32, "float16": np.float16, "bfloat16": ml_dtypes.bfloat16,
}  # fmt: skip
# A last prompt is longer than what goes through the layers at a time.
PROMPTS = (1, 37, 300)


def config_of(name: str) -> dict[str, Any]:
    config = {**DECODERS[name], "max_position_embeddings": 400, "eos_token_id": [3, 17]}
    return {key: value for key, value in config.items() if not key.endswith("_bias")}


def write(folder: Path, config: dict[str, Any], dtype: str = "float32") -> None:
    tensors = random_tensors(np.random.default_rng(5), decoder_shapes(config))
    write_decoder(folder, config, {k: v.astype(TYPES[dtype]) for k, v in tensors.items()})


def test_there_is_a_gpu_and_the_processor() -> None:
    assert {"cpu:0", "webgpu:0"} <= set(DEVICES)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(
    ("name", "dtype"), [("llama2", "float32"), ("llama3", "bfloat16"), ("linear", "float16")]
)
def test_tokens(programs: Path, tmp_path: Path, name: str, dtype: str, device: str) -> None:
    write(tmp_path, config_of(name), dtype)
    rng = np.random.default_rng(1)
    prompts = [rng.integers(4, 44, count).tolist() for count in PROMPTS]
    with tw.init_backend(device) as be:
        model = tw.models.load(tmp_path, be)
        expected = [model.generate(prompt, 30) for prompt in prompts]
    found = [run(programs / "example_decoder", tmp_path, device, 30, *one) for one in prompts]
    assert [[int(word) for word in said.split()] for said in found] == expected
    assert sum(map(len, expected)) > 30


def test_weights_in_two_files(programs: Path, tmp_path: Path) -> None:
    whole, split = tmp_path / "whole", tmp_path / "split"
    config = config_of("llama2")
    write(whole, config)
    write(split, config)
    tensors = random_tensors(np.random.default_rng(5), decoder_shapes(config))
    names = list(tensors)
    for i, part in enumerate((names[:9], names[9:])):
        file = split / f"model-0000{i + 1}-of-00002.safetensors"
        write_safetensors(file, {name: tensors[name] for name in part})
    (split / "model.safetensors").unlink()
    program = programs / "example_decoder"
    said = run(program, whole, "cpu", 20, 4, 5, 6)
    assert run(program, split, "cpu", 20, 4, 5, 6) == said
    assert len(said.split()) > 5


def cut(folder: Path) -> None:
    file = folder / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-1])


def cut_header(folder: Path) -> None:
    file = folder / "model.safetensors"
    file.write_bytes(file.read_bytes()[:50])


def remove(folder: Path) -> None:
    (folder / "model.safetensors").unlink()


def damage(folder: Path) -> None:
    (folder / "config.json").write_text('{"hidden_size": 64,')


def says(**changes: object) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        file = folder / "config.json"
        file.write_text(json.dumps(json.loads(file.read_text()) | changes))

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (cut, "model.safetensors: model.layers.2.mlp.up_proj.weight is not of F32, F16 or"),
        (cut_header, "model.safetensors: its header is cut short"),
        (remove, "it has no model.safetensors"),
        (damage, "config.json: at byte 19 of its JSON '\"' is expected"),
        (says(model_type="gemma2"), "config.json: model_type is expected to be llama"),
        (says(attention_bias=True), "attention_bias is expected to be false"),
        (says(hidden_size=-3), "hidden_size is expected to be an integer above 0"),
        (says(hidden_size="64"), "hidden_size is expected to be a number"),
        (says(rope_scaling={"type": "yarn"}), "rope_scaling is expected to be of the kind default"),
        (says(rope_scaling={"type": "linear", "factor": 0}), "rope_scaling is expected to be of"),
        (says(vocab_size=45), "embed_tokens.weight has the shape [44, 64], and by config.json it "),
        (says(num_hidden_layers=4), "there is no tensor model.layers.3.input_layernorm.weight"),
    ],
)
def test_what_is_wrong_is_said(
    programs: Path, tmp_path: Path, change: Callable[[Path], None], message: str
) -> None:
    write(tmp_path, config_of("llama2"))
    change(tmp_path)
    assert message in run(programs / "example_decoder", tmp_path, "cpu", 5, 4, 5, ok=False)


def test_wrong_use(programs: Path, tmp_path: Path) -> None:
    write(tmp_path, config_of("llama2"))
    program = programs / "example_decoder"
    assert "usage: " in run(program, tmp_path, "cpu", 5, ok=False)
    for words, message in (
        (["cpu", 5, 44], "TOKEN is 44, expected a number from 0 to 43"),
        (["cpu", 5, "w1"], "TOKEN is w1, expected a number"),
        (["cpu", -1, 4, 5], "COUNT is -1, expected a number from 0 to 398"),
        (["cpu", 399, 4, 5], "COUNT is 399, expected a number from 0 to 398"),
        (["cpu", 5, *[4] * 401], "the model takes fewer tokens than are given"),
        (["nope:0", 5, 4], "nope"),
    ):
        assert message in run(program, tmp_path, *words, ok=False)
    assert run(program, tmp_path, "cpu", 0, 4) == "\n"
