"""Encoders with what sentence-transformers puts around them, and cross-encoders of other
families, beside float64."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tilewright
from tilewright import Backend
from tilewright.models import ModelError

from . import encoder_references as reference
from .model_folders import random_tensors, shapes, write_encoder, write_safetensors
from .test_models_encoders import expected_states, made

TEXTS = ["w1 w2 w3", "w39 w0 w0 w0 w5", "w7", "w4 w5 w6"]
WIDE = {"word_embedding_dimension": 48}


def written(folder: Path, pooling: dict[str, Any], **files: Any) -> tuple[Any, Any]:
    """A folder with a pooling of several modes and other files of JSON."""
    config, w = made(folder, "bert")
    tensors = random_tensors(np.random.default_rng(7), shapes(config))
    write_encoder(folder, config, tensors, "mean")
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(WIDE | pooling))
    for name, content in files.items():
        (folder / f"{name}.json").write_text(json.dumps(content))
    return config, w


def states_of(model: Any, config: Any, w: Any, text: str) -> Any:
    return reference.bert(w, config, model.tokenizer.encode([text])[0])


def test_poolings(be: Backend, tmp_path: Path) -> None:
    """Alone and side by side, in the order that the library has."""
    ways: dict[str, Any] = {
        "max": lambda x: x.max(0), "mean_sqrt_len": lambda x: x.sum(0) / np.sqrt(len(x)),
        "cls": lambda x: x[0], "lasttoken": lambda x: x[-1],
    }  # fmt: skip
    for name, way in ways.items():
        config, w = written(tmp_path, {"pooling_mode": name})
        model = tilewright.models.load(tmp_path, be)
        expected = [way(states_of(model, config, w, text)) for text in TEXTS]
        np.testing.assert_allclose(model.embed(TEXTS).numpy(), expected, rtol=0, atol=5e-5)
    written(tmp_path, {"pooling_mode_lasttoken": True, "pooling_mode_max_tokens": True})
    model = tilewright.models.load(tmp_path, be)
    assert (model.pooling, model.size) == ("max+last", 96)
    expected = []
    for text in TEXTS:
        states = states_of(model, config, w, text)
        expected.append(np.concatenate([states.max(0), states[-1]]))
    np.testing.assert_allclose(model.embed(TEXTS).numpy(), expected, rtol=0, atol=2e-5)
    written(tmp_path, {"pooling_mode": "weightedmean"})
    with pytest.raises(ModelError, match="the pooling is weightedmean, expected one of cls, max"):
        tilewright.models.load(tmp_path, be)


@pytest.mark.parametrize("activation", ["Tanh", "Identity"])
def test_dense(be: Backend, rng: np.random.Generator, tmp_path: Path, activation: str) -> None:
    config, w = written(tmp_path, {"pooling_mode": "mean"})
    listed = json.loads((tmp_path / "modules.json").read_text())
    for i, kind in ((2, "Dense"), (3, "Normalize")):
        listed.append({"idx": i, "name": str(i), "path": f"{i}_{kind}",
                       "type": f"sentence_transformers.models.{kind}"})  # fmt: skip
    (tmp_path / "modules.json").write_text(json.dumps(listed))
    weight = rng.standard_normal((20, 48)).astype(np.float32) * 0.2
    bias = rng.standard_normal(20).astype(np.float32)
    (tmp_path / "2_Dense").mkdir()
    said = {"in_features": 48, "out_features": 20, "bias": True,
            "activation_function": f"torch.nn.modules.activation.{activation}"}  # fmt: skip
    (tmp_path / "2_Dense" / "config.json").write_text(json.dumps(said))
    file = tmp_path / "2_Dense" / "model.safetensors"
    write_safetensors(file, {"linear.weight": weight, "linear.bias": bias})
    model = tilewright.models.load(tmp_path, be)
    assert model.size == 20
    rows = model.embed(TEXTS).numpy()
    for text, row in zip(TEXTS, rows, strict=True):
        expected = states_of(model, config, w, text).mean(0) @ weight.T.astype(np.float64) + bias
        expected = np.tanh(expected) if activation == "Tanh" else expected
        np.testing.assert_allclose(row, expected / np.linalg.norm(expected), rtol=0, atol=2e-5)
    (tmp_path / "2_Dense" / "config.json").write_text(json.dumps(said | {"in_features": 47}))
    with pytest.raises(ModelError, match="in_features is 47, expected 48, the size of what is in"):
        tilewright.models.load(tmp_path, be)
    (tmp_path / "modules.json").write_text(json.dumps([*listed[:2], listed[3], listed[2]]))
    with pytest.raises(ModelError, match="Normalize is not the last module"):
        tilewright.models.load(tmp_path, be)


def test_prompts(be: Backend, tmp_path: Path) -> None:
    said: dict[str, Any] = {"prompts": {"query": "w7 w8 ", "passage": "w9 "}}
    written(tmp_path, {"pooling_mode": "mean"}, config_sentence_transformers=said)
    model = tilewright.models.load(tmp_path, be)
    assert model.prompts == said["prompts"] and model.default_prompt is None
    plain = model.embed(["w1", "w7 w8 w1", "w9 w1"]).numpy()
    found = [model.embed("w1", prompt_name=name).numpy() for name in (None, "query", "passage")]
    np.testing.assert_allclose(found, plain, rtol=0, atol=1e-5)
    with pytest.raises(tilewright.InvalidArgument, match="prompt_name is 'no', and the model's fi"):
        model.embed("w1", prompt_name="no")
    said["default_prompt_name"] = "query"
    written(tmp_path, {"pooling_mode": "mean"}, config_sentence_transformers=said)
    model = tilewright.models.load(tmp_path, be)
    np.testing.assert_allclose(model.embed("w1").numpy(), plain[1], rtol=0, atol=1e-5)
    assert model.tokens(["w1"]) == model.tokenizer.encode(["w7 w8 w1"])
    said["default_prompt_name"] = "none"
    written(tmp_path, {"pooling_mode": "mean"}, config_sentence_transformers=said)
    with pytest.raises(ModelError, match="default_prompt_name is 'none', expected one of 'query'"):
        tilewright.models.load(tmp_path, be)
    said["default_prompt_name"] = None
    apart = {"pooling_mode": "mean", "include_prompt": False}
    written(tmp_path, apart, config_sentence_transformers=said)
    with pytest.raises(ModelError, match="include_prompt is False"):
        tilewright.models.load(tmp_path, be)


def test_small_letters(be: Backend, tmp_path: Path) -> None:
    written(tmp_path, {"pooling_mode": "mean"})
    model = tilewright.models.load(tmp_path, be)
    expected = model.embed(["w1 w2", "unheard unheard"]).numpy()
    np.testing.assert_allclose(model.embed("W1 W2").numpy(), expected[1], rtol=0, atol=1e-6)
    written(tmp_path, {"pooling_mode": "mean"}, sentence_bert_config={"do_lower_case": True})
    model = tilewright.models.load(tmp_path, be)
    np.testing.assert_allclose(model.embed("W1 W2").numpy(), expected[0], rtol=0, atol=1e-6)


#: configurations of heads, and the names and shapes of their tensors
HEADS: dict[str, tuple[str, dict[str, Any], dict[str, tuple[int, ...]]]] = {
    "modernbert": ("modernbert", {}, {
        "head.dense.weight": (48, 48), "head.norm.weight": (48,),
    }),
    "modernbert, mean": ("modernbert", {"classifier_pooling": "mean", "classifier_bias": True}, {
        "head.dense.weight": (48, 48), "head.dense.bias": (48,), "head.norm.weight": (48,),
    }),
    "electra": ("electra", {}, {
        "classifier.dense.weight": (48, 48), "classifier.dense.bias": (48,),
    }),
    "distilbert": ("distilbert", {}, {
        "pre_classifier.weight": (48, 48), "pre_classifier.bias": (48,),
    }),
}  # fmt: skip


@pytest.mark.parametrize("labels", [1, 3])
@pytest.mark.parametrize("name", HEADS)
def test_cross_encoders(
    be: Backend, rng: np.random.Generator, tmp_path: Path, name: str, labels: int
) -> None:
    family, changed, names = HEADS[name]
    config, w = made(tmp_path, family, **changed)
    out = "classifier.out_proj" if family == "electra" else "classifier"
    head = random_tensors(rng, names | {f"{out}.weight": (labels, 48), f"{out}.bias": (labels,)})
    prefix = "model." if family == "modernbert" else f"{family}."
    inner = {f"{prefix}{key}": one.astype(np.float32) for key, one in w.items()}
    write_safetensors(tmp_path / "model.safetensors", inner | head)
    model = tilewright.models.load(tmp_path, be)
    wide = {key: one.astype(np.float64) for key, one in head.items()}
    dense = next(key for key in names if key.endswith(("dense.weight", "pre_classifier.weight")))
    pairs = [("w1 w2", "w3"), ("w4", "w5 w6 w7 w8"), ("", "w9")]
    tokens, segments = model.tokenizer.encode_pairs(pairs, model.longest)
    for one, of, score in zip(tokens, segments, model.score(pairs).numpy(), strict=True):
        states = expected_states(config, w, one)
        if family == "electra":
            states = reference.bert(w, config, one, of)
        row = states.mean(0) if "mean" in name else states[0]
        hidden = row @ wide[dense].T + wide.get(dense.replace("weight", "bias"), 0.0)
        hidden = np.maximum(hidden, 0) if family == "distilbert" else reference.gelu(hidden)
        if family == "modernbert":
            hidden = reference.norm(hidden, wide["head.norm.weight"], 0, config["norm_eps"])
        logits = hidden @ wide[f"{out}.weight"].T + wide[f"{out}.bias"]
        expected = 1 / (1 + np.exp(-logits[0])) if labels == 1 else logits
        np.testing.assert_allclose(score, expected, rtol=0, atol=5e-5)
    # What says a label of each token scores no pairs.
    config["architectures"] = ["XForTokenClassification"]
    (tmp_path / "config.json").write_text(json.dumps(config))
    assert tilewright.models.load(tmp_path, be).head is None
