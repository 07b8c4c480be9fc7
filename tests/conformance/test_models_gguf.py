"""Decoders of GGUF files beside float64, in the blocks that the files have."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
import tilewright
from tilewright import Backend
from tilewright.quant import QuantizedTensor

from . import decoder_references as reference
from .model_folders import DECODERS, VOCABULARY, decoder_shapes, random_tensors
from .model_ggufs import write_gguf

Kind = gguf.GGMLQuantizationType
WIDE = {"hidden_size": 256, "num_attention_heads": 8, "intermediate_size": 512}


def made(path: Path, name: str, kind_of: Any, **changed: Any) -> tuple[dict[str, Any], Any]:
    config = {**DECODERS[name], **changed}
    rng = np.random.default_rng(5)
    tensors = random_tensors(rng, decoder_shapes(config))
    if config["model_type"].startswith("gemma"):
        # Their norms weigh by 1 + weight.
        tensors = {k: v - 1 if "norm" in k else v for k, v in tensors.items()}
    return {**config, "context": 200}, write_gguf(path, config, tensors, kind_of, rng)


def mixed(name: str) -> Kind:
    """As a file of Q4_K_M is: some matrices in more bits."""
    if "v_proj" in name or "down_proj" in name or "embed" in name:
        return Kind.Q6_K
    return Kind.Q5_K if "o_proj" in name else Kind.Q4_K


def agrees(be: Backend, path: Path, config: Any, w: Any, rng: np.random.Generator) -> Any:
    model = tilewright.models.load(path, be, context=200)
    tokens = rng.integers(4, VOCABULARY, 37).tolist()
    expected = reference.logits(w, config, tokens)
    found = model.logits(tokens).numpy()
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-4 * np.abs(expected).max())
    return model


@pytest.mark.parametrize("kind", ["F32", "F16", "BF16", "Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1"])
@pytest.mark.parametrize("name", ["llama2", "qwen2", "qwen3"])
def test_logits(
    be: Backend, rng: np.random.Generator, tmp_path: Path, name: str, kind: str
) -> None:
    path = tmp_path / "model.gguf"
    sizes = {"head_dim": 32} if name == "qwen3" else {}
    config, w = made(path, name, lambda _: Kind[kind], **sizes)
    if kind in ("F16", "BF16"):
        model = tilewright.models.load(path, be, "float32")
        tokens = rng.integers(4, VOCABULARY, 20).tolist()
        expected = reference.logits(w, config, tokens)
        found = model.logits(tokens).numpy()
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-4 * np.abs(expected).max())
        return
    agrees(be, path, config, w, rng)


@pytest.mark.parametrize("kind", ["F32", "Q8_0"])
@pytest.mark.parametrize(
    "name", ["gemma", "gemma2", "gemma3", "granite", "linear", "llama3", "phi3", "yarn"]
)
def test_families(
    be: Backend, rng: np.random.Generator, tmp_path: Path, name: str, kind: str
) -> None:
    path = tmp_path / "model.gguf"
    sizes = {"head_dim": 32} if "head_dim" in DECODERS[name] else {}
    config, w = made(path, name, lambda _: Kind[kind], **sizes)
    model = agrees(be, path, config, w, rng)
    tokens = rng.integers(4, VOCABULARY, 20).tolist()
    short = model.logits(tokens[:11]).numpy()
    long = model.logits(tokens).numpy()
    np.testing.assert_allclose(short, long[:11], rtol=0, atol=1e-5 * np.abs(long).max())


def test_short_and_long_contexts(be: Backend, rng: np.random.Generator, tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    config, w = made(path, "phi3", lambda _: Kind.F32)
    tokens = rng.integers(4, VOCABULARY, 30).tolist()
    found = []
    for context in (100, 200):
        model = tilewright.models.load(path, be, context=context)
        expected = reference.logits(w, {**config, "context": context}, tokens)
        found.append(model.logits(tokens).numpy())
        np.testing.assert_allclose(found[-1], expected, atol=1e-4 * np.abs(expected).max())
    assert np.abs(found[0] - found[1]).max() > 0.01


@pytest.mark.parametrize("name", ["llama2", "llama3", "qwen2"])
def test_blocks_of_256(be: Backend, rng: np.random.Generator, tmp_path: Path, name: str) -> None:
    path = tmp_path / "model.gguf"
    config, w = made(path, name, mixed, rope_scaling=None, **WIDE)
    model = agrees(be, path, config, w, rng)
    held = model.weights["model.layers.0.self_attn.v_proj.weight"]
    assert isinstance(held, QuantizedTensor)
    assert held.format == "q6_k"
    assert model.weights["model.layers.0.self_attn.q_proj.weight"].format == "q4_k"
    assert model.weights["model.embed_tokens.weight"].format == "q6_k"
    tokens = rng.integers(4, VOCABULARY, 9).tolist()
    together = model.generate([tokens, tokens[:3]], 6)
    assert [model.generate(tokens, 6), model.generate(tokens[:3], 6)] == together


def test_its_vocabulary(be: Backend, tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    made(path, "llama2", lambda _: Kind.Q8_0)
    model = tilewright.models.load(str(path), be)
    assert model.tokenizer.encode(["#$%"], 10)[0][-3:] == [2, 3, 4]
    text = model.generate("#$%", 5)
    assert isinstance(text, str)
    assert model.ends == {3}


def test_other_weights(be: Backend, rng: np.random.Generator, tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    config, w = made(path, "llama2", lambda _: Kind.Q8_0)
    tokens = rng.integers(4, VOCABULARY, 20).tolist()
    expected = reference.logits(w, config, tokens)
    for weights, bound in (("float32", 1e-4), ("float16", 0.02), ("int4", 0.8)):
        found = tilewright.models.load(path, be, weights).logits(tokens).numpy()
        assert np.abs(found - expected).max() < bound * np.abs(expected).max()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"model_type": "owl"}, "general.architecture"),
        ({"num_key_value_heads": 3}, "head_count_kv"),
        ({"num_hidden_layers": 4}, "model.layers.3"),
        ({"intermediate_size": 128}, "mlp.gate_proj"),
    ],
)
def test_what_does_not_fit(be: Backend, tmp_path: Path, changed: Any, message: str) -> None:
    path = tmp_path / "model.gguf"
    config = {**DECODERS["llama2"]}
    rng = np.random.default_rng(5)
    tensors = random_tensors(rng, decoder_shapes(config))
    heads = changed.get("num_key_value_heads")
    if heads:
        tensors = {k: v for k, v in tensors.items() if "k_proj" not in k}
    write_gguf(path, {**config, **changed}, tensors, lambda _: Kind.F32, rng)
    with pytest.raises(tilewright.models.ModelError, match=message) as error:
        tilewright.models.load(path, be)
    assert "model.gguf" in str(error.value)
