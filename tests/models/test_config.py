"""Configurations of Hugging Face's folders: what is read of them, and wrong ones."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from tilewright.models.files import ModelError, ModelFolder, open_folder
from tilewright.models.files.fields import Fields
from tilewright.models.files.text import parse_json

from .made import FOLDER

Keys = tuple[str | int, ...]


def folder(at: Path, **files: Any) -> ModelFolder:
    """One with these files, None of which leaves one out."""
    for name, content in (FOLDER | files).items():
        if content is not None:
            (at / name).parent.mkdir(parents=True, exist_ok=True)
            text = content if isinstance(content, str) else json.dumps(content)
            (at / name).write_text(text)
    return open_folder(at)


def changed(file: str, path: Keys, value: Any) -> dict[str, Any]:
    """The files, with another value at one place of one; ... takes it out."""
    content = copy.deepcopy(FOLDER[file])
    inner = content
    for key in path[:-1]:
        inner = inner[key]
    if value is ...:
        del inner[path[-1]]
    else:
        inner[path[-1]] = value
    return {file: content}


def test_what_is_read(tmp_path: Path) -> None:
    found = folder(tmp_path)
    model = found.model
    assert model.model_type == "llama" and model.architectures == ("LlamaForCausalLM",)
    assert (model.vocab_size, model.hidden_size, model.layers) == (32000, 64, 2)
    assert (model.heads, model.key_value_heads, model.head_dim) == (4, 2, 16)
    assert (model.intermediate_size, model.max_positions) == (128, 2048)
    assert (model.activation, model.dtype) == ("silu", "bfloat16")
    assert (model.norm_eps, model.rope.theta) == (1e-5, 10000.0)
    assert isinstance(model.rope.theta, float)
    scaling = model.rope.scaling
    assert scaling is not None and (scaling.kind, scaling.factor) == ("llama3", 8.0)
    assert scaling.original_max_positions == 8192
    assert (model.tie_word_embeddings, model.attention_bias, model.mlp_bias) == (False, False, None)
    assert (model.bos_token_id, model.eos_token_ids, model.pad_token_id) == (1, (2, 7), None)
    assert model.sliding_window is None and model.type_vocab_size == 0
    assert model.fields.integer("hidden_size", 1, 100) == 64
    tokenizer = found.tokenizer
    assert tokenizer is not None
    assert (tokenizer.tokenizer_class, tokenizer.model_max_length) == ("LlamaTokenizer", None)
    assert (tokenizer.bos_token, tokenizer.eos_token, tokenizer.pad_token) == ("<s>", "</s>", None)
    assert (tokenizer.add_bos_token, tokenizer.padding_side) == (True, "left")
    assert tokenizer.chat_template == "{{ messages }}"
    assert tokenizer.chat_templates["tools"] == "{{ tools }}"
    generation = found.generation
    assert generation is not None and generation.eos_token_ids == (2,)
    assert (generation.do_sample, generation.temperature) == (True, 0.6)
    assert (generation.top_p, generation.top_k, generation.max_length) == (0.9, 50, 4096)
    assert [(module.kind, module.folder) for module in found.modules] == [
        ("Transformer", tmp_path),
        ("Pooling", tmp_path / "1_Pooling"),
    ]
    pooling, sentence = found.pooling, found.sentence
    assert pooling is not None and (pooling.dimension, pooling.modes) == (64, ("mean",))
    assert sentence is not None and sentence.max_seq_length == 256


def test_only_the_model_must_be_there(tmp_path: Path) -> None:
    found = folder(tmp_path, **dict.fromkeys(FOLDER, None) | {"config.json": FOLDER["config.json"]})
    assert found.tokenizer is found.generation is found.pooling is found.sentence is None
    assert found.modules == ()
    (tmp_path / "config.json").unlink()
    with pytest.raises(ModelError, match=r"config\.json: it cannot be opened"):
        open_folder(tmp_path)
    with pytest.raises(ModelError, match="there is no such folder"):
        open_folder(tmp_path / "nowhere")


def test_names_of_gpt2(tmp_path: Path) -> None:
    config = {
        "model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12, "n_positions": 1024,
        "n_inner": None, "vocab_size": 50257, "activation_function": "gelu_new",
        "layer_norm_epsilon": 1e-5,
    }  # fmt: skip
    model = folder(tmp_path, **{"config.json": config}).model
    assert (model.hidden_size, model.layers, model.heads, model.head_dim) == (768, 12, 12, 64)
    assert (model.max_positions, model.intermediate_size, model.norm_eps) == (1024, None, 1e-5)
    assert (model.activation, model.rope.scaling, model.key_value_heads) == ("gelu_new", None, 12)


def test_newer_names_of_rotations(tmp_path: Path) -> None:
    rope = {"rope_type": "default", "rope_theta": 500000.0}
    config = FOLDER["config.json"] | {"rope_theta": None, "rope_scaling": None}
    model = folder(tmp_path, **{"config.json": config | {"rope_parameters": rope}}).model
    assert (model.rope.theta, model.rope.scaling) == (500000.0, None)
    rope = {"rope_type": "yarn", "rope_theta": 1e6, "factor": 4}
    model = folder(tmp_path, **{"config.json": config | {"rope_parameters": rope}}).model
    assert model.rope.scaling is not None and model.rope.scaling.kind == "yarn"
    assert (model.rope.theta, model.rope.scaling.factor) == (1e6, 4.0)


def test_templates_in_a_file(tmp_path: Path) -> None:
    found = folder(tmp_path, **{"chat_template.jinja": "{{ of the file }}"}).tokenizer
    assert found is not None and found.chat_template == "{{ of the file }}"
    assert found.chat_templates["tools"] == "{{ tools }}"
    (tmp_path / "chat_template.jinja").write_bytes(b"a\xff")
    with pytest.raises(ModelError, match=r"chat_template\.jinja: byte 1 is not UTF-8"):
        open_folder(tmp_path)


def test_modes_of_pooling(tmp_path: Path) -> None:
    flags = {"pooling_mode_cls_token": True, "pooling_mode_max_tokens": True}
    config = FOLDER["1_Pooling/config.json"] | flags
    pooling = folder(tmp_path, **{"1_Pooling/config.json": config}).pooling
    assert pooling is not None and pooling.modes == ("cls", "max", "mean")
    config = {"word_embedding_dimension": 8, "pooling_mode": "lasttoken", "include_prompt": False}
    pooling = folder(tmp_path, **{"1_Pooling/config.json": config}).pooling
    assert pooling is not None
    assert (pooling.modes, pooling.include_prompt) == (("lasttoken",), False)


CONFIG, TOKENIZER, GENERATION = "config.json", "tokenizer_config.json", "generation_config.json"
POOLING, SENTENCE, MODULES = "1_Pooling/config.json", "sentence_bert_config.json", "modules.json"
WRONG: tuple[tuple[str, Keys, Any, str], ...] = (
    (CONFIG, ("hidden_size",), ..., "hidden_size is not there, expected an integer from 1"),
    (CONFIG, ("hidden_size",), 1 << 30, "hidden_size is 1073741824, expected an integer"),
    (CONFIG, ("hidden_size",), 64.0, r"hidden_size is 64\.0, expected an integer"),
    (CONFIG, ("hidden_size",), True, "hidden_size is True, expected an integer"),
    (CONFIG, ("hidden_size",), "64", "hidden_size is '64', expected an integer"),
    (CONFIG, ("hidden_size",), [64], "hidden_size is a list of length 1, expected an integer"),
    (CONFIG, ("hidden_size",), 0, "hidden_size is 0, expected an integer from 1"),
    (CONFIG, ("hidden_size",), 66, "num_attention_heads is 4, expected a divisor of the hidden"),
    (CONFIG, ("vocab_size",), 10**30, "vocab_size is 10+, expected an integer from 1 to 16777216"),
    (CONFIG, ("num_hidden_layers",), 10**6, "num_hidden_layers is 1000000, expected"),
    (CONFIG, ("num_key_value_heads",), 3, "num_key_value_heads is 3, expected a divisor of the 4"),
    (CONFIG, ("num_key_value_heads",), 8, "num_key_value_heads is 8, expected an integer from 1"),
    (CONFIG, ("rms_norm_eps",), -1, "rms_norm_eps is -1, expected a number from 0 to 1"),
    (CONFIG, ("rms_norm_eps",), "1e-5", "rms_norm_eps is '1e-5', expected a number"),
    (CONFIG, ("rope_theta",), 10**300, "it has an integer of 301 digits"),
    (CONFIG, ("tie_word_embeddings",), 0, "tie_word_embeddings is 0, expected true or false"),
    (CONFIG, ("model_type",), ..., "model_type is not there, expected a string of at most 100"),
    (CONFIG, ("model_type",), "x" * 101, r"model_type is 'x+'\.\.\. of length 101, expected"),
    (CONFIG, ("model_type",), "\ud800", r"model_type is '\\ud800', expected a string"),
    (CONFIG, ("architectures",), "Llama", "architectures is 'Llama', expected a list of at most"),
    (CONFIG, ("architectures",), ["a"] * 17, "architectures is a list of length 17, expected"),
    (CONFIG, ("architectures",), [1], "architectures is a list of length 1, expected a list"),
    (CONFIG, ("eos_token_id",), [1, "2"], "eos_token_id is a list of length 2, expected a list of"),
    (CONFIG, ("eos_token_id",), 1 << 40, "eos_token_id is 1099511627776, expected"),
    (CONFIG, ("rope_scaling",), 3, "rope_scaling is 3, expected an object"),
    (CONFIG, ("rope_scaling", "factor"), 0, r"rope_scaling\.factor is 0, expected a number from"),
    (TOKENIZER, ("bos_token", "content"), 3, r"bos_token\.content is 3, expected a string"),
    (TOKENIZER, ("eos_token",), ["a"], "eos_token is a list of length 1, expected a string"),
    (TOKENIZER, ("padding_side",), "up", "padding_side is 'up', expected one of left, right"),
    (TOKENIZER, ("model_max_length",), -1, "model_max_length is -1, expected an integer from 1"),
    (TOKENIZER, ("chat_template",), 3, "chat_template is 3, expected a string or a list"),
    (TOKENIZER, ("chat_template", 1, "name"), ..., r"chat_template\[1\]\.name is not there"),
    (TOKENIZER, ("chat_template", 0), 5, r"chat_template\[0\] is 5, expected an object"),
    (GENERATION, ("top_p",), 1.5, r"top_p is 1\.5, expected a number from 0 to 1"),
    (GENERATION, ("do_sample",), "yes", "do_sample is 'yes', expected true or false"),
    (POOLING, ("word_embedding_dimension",), ..., "word_embedding_dimension is not there"),
    (POOLING, ("pooling_mode_mean_tokens",), False, "none of pooling_mode_cls_token, .* is true"),
    (SENTENCE, ("max_seq_length",), 0, "max_seq_length is 0, expected an integer from 1"),
    (MODULES, (1, "path"), "../1", r"\[1\]\.path is '\.\./1', expected a path within"),
    (MODULES, (1, "path"), "/etc", r"\[1\]\.path is '/etc', expected a path within"),
    (MODULES, (1, "type"), 3, r"\[1\]\.type is 3, expected a string"),
    (MODULES, (1,), [], r"\[1\] is a list of length 0, expected an object"),
)  # fmt: skip


@pytest.mark.parametrize(("file", "path", "value", "message"), WRONG)
def test_wrong_values(file: str, path: Keys, value: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=rf"{tmp_path}/{file}: ({message})"):
        folder(tmp_path, **changed(file, path, value))


TEXTS: tuple[tuple[str, str], ...] = (
    ('{"a": 1, "a": 2}', "the key 'a' is there twice in one object"),
    ('{"b": {"a": 1, "a": 1}}', "the key 'a' is there twice"),
    ('{"a": NaN}', "it has the number NaN"),
    ('{"a": -Infinity}', "it has the number -Infinity"),
    ('{"a": 1e999}', "it has the number '1e999', which float64 does not hold"),
    ('{"a": ' + "1" * 65 + "}", "it has an integer of 65 digits, expected at most 64"),
    ("[" * 65 + "]" * 65, ".* lie more than 64 deep"),
    ("[" * 1_000_000, ".* lie more than 64 deep"),
    ('{"a": "' + '\\"' * 100_000, "it is not JSON: Unterminated string"),
    ("{", "it is not JSON: .* at line 1, column 2"),
    ("", "it is not JSON: Expecting value"),
    ("\ufeff{}", "it is not JSON: Unexpected UTF-8 BOM"),
    ("{'a': 1}", "it is not JSON"),
)


@pytest.mark.parametrize(("text", "message"), TEXTS)
def test_wrong_json(text: str, message: str) -> None:
    with pytest.raises(ModelError, match=f"a file: {message}"):
        parse_json(text.encode(), "a file")


def test_brackets_in_strings_are_not_depth() -> None:
    text = json.dumps({"[" * 100: '{"\\' * 100, "x": [[]] * 100})
    assert parse_json(text.encode(), "a file") == json.loads(text)
    deepest = "[" * 64 + "]" * 64
    assert parse_json(deepest.encode(), "a file") == json.loads(deepest)


def test_large_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    with path.open("wb") as file:
        file.truncate((16 << 20) + 1)
    with pytest.raises(ModelError, match="it has 16777217 bytes, expected at most 16777216"):
        open_folder(tmp_path)


def test_fields() -> None:
    of = Fields(
        "a file", {"n": None, "list": [1, 2], "reals": [1, 2.5], "words": ["a"], "o": {"x": 1}}
    )
    assert of.integer("n", 0, 1, None) is None and of.integer("n", 0, 1, 7) == 7
    assert "n" not in of and "list" in of
    assert of.integers("list", 0, 2) == (1, 2)
    assert of.reals("reals", 0, 3, most=2) == (1.0, 2.5)
    assert of.strings("words") == ("a",) and of.strings("none", ()) == ()
    inner = of.section("o")
    assert inner is not None and inner.integer("x", 0, 1) == 1
    assert of.section("none") is None
    with pytest.raises(ModelError, match=r"a file: o\.y is not there, expected true or false"):
        inner.flag("y")
    with pytest.raises(
        ModelError, match="a file: reals is a list of length 2, expected a list of at"
    ):
        of.reals("reals", 0, 2, most=2)
    with pytest.raises(
        ModelError, match="a file: list is a list of length 2, expected a list of at"
    ):
        of.integers("list", 0, 2, most=1)
    with pytest.raises(ModelError, match="a file: it is a list of length 0, expected an object"):
        Fields("a file", [])
    with pytest.raises(ModelError, match="a file: x is nan, expected a finite number"):
        Fields("a file", {"x": float("nan")}).real("x", 0, 1)
