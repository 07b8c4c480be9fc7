"""Rotations as files configure them, beside the formulas of their papers in float64."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
from tilewright.models.decoders.gguf import shape_of as shape_of_gguf
from tilewright.models.decoders.shape import Shape, shape_of
from tilewright.models.files import ModelError, open_folder, open_gguf
from tilewright.models.rotations import steps_of, tables

from . import decoder_references as reference
from .model_folders import DECODERS, decoder_shapes, random_tensors
from .model_ggufs import write_gguf

SHORT, LONG = [1.0 + 0.1 * i for i in range(8)], [2.0 + 0.5 * i for i in range(8)]
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 128}
LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}
LONGROPE = {"rope_type": "longrope", "short_factor": SHORT, "long_factor": LONG}
OF_PHI3 = {"original_max_position_embeddings": 64}

SCALINGS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "none": ({}, {}),
    "default": ({"rope_type": "default"}, {}),
    "linear": ({"type": "linear", "factor": 3.0}, {}),
    "dynamic": ({"type": "dynamic", "factor": 2.0}, {}),
    "dynamic, short": ({"type": "dynamic", "factor": 2.0}, {"max_position_embeddings": 1000}),
    "yarn": (YARN, {}),
    "yarn, betas": ({**YARN, "beta_fast": 6.0, "beta_slow": 2.0}, {}),
    "yarn, whole": ({**YARN, "truncate": False}, {}),
    "yarn, attention": ({**YARN, "attention_factor": 1.5}, {}),
    "yarn, mscale": ({**YARN, "mscale": 0.7, "mscale_all_dim": 1.2}, {}),
    "yarn, one mscale": ({**YARN, "mscale": 0.7}, {}),
    "yarn, shrunk": ({**YARN, "factor": 0.5}, {}),
    "yarn, one element": ({**YARN, "beta_fast": 1.0, "beta_slow": 1.0, "truncate": False}, {}),
    "llama3": ({**LLAMA3, "original_max_position_embeddings": 64}, {}),
    "longrope": (LONGROPE, OF_PHI3),
    "longrope, short": (LONGROPE, {"original_max_position_embeddings": 512}),
    "longrope, factor": ({**LONGROPE, "factor": 9.0}, OF_PHI3),
    "longrope, attention": ({**LONGROPE, "attention_factor": 1.3}, OF_PHI3),
}


def of_folder(folder: Path, **changed: Any) -> Shape:
    config = {key: one for key, one in DECODERS["llama2"].items() if key != "rope_theta"} | changed
    (folder / "config.json").write_text(json.dumps(config))
    return shape_of(open_folder(folder).model, ties=False)


@pytest.mark.parametrize("name", SCALINGS)
@pytest.mark.parametrize("key", ["rope_scaling", "rope_parameters", "by kinds"])
def test_folders(tmp_path: Path, name: str, key: str) -> None:
    scaling, more = SCALINGS[name]
    base = {"rope_theta": 5000.0} | more
    if key == "rope_scaling":
        shape = of_folder(tmp_path, rope_scaling=scaling or None, **base)
    elif key == "rope_parameters":
        shape = of_folder(tmp_path, rope_parameters=scaling | {"rope_theta": 5000.0}, **more)
    else:
        kinds = {
            "full_attention": scaling | {"rope_theta": 5000.0},
            "sliding_attention": {"rope_type": "default", "rope_theta": 77.0},
        }
        shape = of_folder(tmp_path, rope_parameters=kinds, **more)
        plain, factor = steps_of(shape.window_turns, 300)
        np.testing.assert_allclose(plain, 77.0 ** -(np.arange(0, 16, 2) / 16), rtol=1e-14)
        assert factor == 1
    config = DECODERS["llama2"] | base | {"rope_scaling": scaling, "context": 300}
    expected, grown = reference.steps_of(config, 5000.0, 16)
    found, factor = steps_of(shape.turns, 300)
    np.testing.assert_allclose(found, expected, rtol=1e-13)
    assert factor == pytest.approx(grown, rel=1e-14)
    cos, sin = tables(shape.turns, 300)
    angles = np.arange(300)[:, None] * expected
    np.testing.assert_allclose(cos, np.cos(angles) * grown, atol=1e-7 * grown)
    np.testing.assert_allclose(sin, np.sin(angles) * grown, atol=1e-7 * grown)


def test_how_far_texts_go(tmp_path: Path) -> None:
    for scaling, most in (
        ({}, 256), (SCALINGS["linear"][0], 768), (SCALINGS["dynamic"][0], 512), (YARN, 512),
        ({**YARN, "original_max_position_embeddings": 32}, 256), (LLAMA3, 256),
    ):  # fmt: skip
        assert of_folder(tmp_path, rope_scaling=scaling).longest == most


def test_keys_win_as_they_do_elsewhere(tmp_path: Path) -> None:
    both = of_folder(
        tmp_path, rope_theta=3.0, rope_scaling={"type": "linear", "factor": 2.0},
        rope_parameters={"rope_type": "linear", "factor": 4.0, "rope_theta": 9.0},
    )  # fmt: skip
    assert both.turns.theta == 9.0
    assert both.turns.scaling is not None and both.turns.scaling.factor == 2.0
    assert of_folder(tmp_path).turns.theta == 10000.0
    gemma = of_folder(tmp_path, model_type="gemma3_text")
    assert (gemma.turns.theta, gemma.window_turns.theta) == (1e6, 1e4)


@pytest.mark.parametrize(
    ("scaling", "message"),
    [
        ({"type": "spiral"}, "the rope scaling is 'spiral', expected one of linear, dynamic"),
        ({**LLAMA3, "low_freq_factor": 4.0}, "high_freq_factor is 4.0, expected more than"),
        ({**LONGROPE, "long_factor": [1.0]}, "has 1 factors, expected 8"),
        ({**LONGROPE, "short_factor": [0.0] * 8}, "short_factor is a list of length 8, expected"),
        ({"type": "dynamic", "factor": 0.5}, "'dynamic' by 0.5 of 16 elements"),
        ({**YARN, "beta_fast": -1}, "beta_fast is -1, expected a number from"),
        ({**YARN, "original_max_position_embeddings": 1}, "expected an integer from 2"),
        ({"full_attention": 3}, "full_attention is 3, expected an object"),
    ],
)
def test_what_is_refused(tmp_path: Path, scaling: Any, message: str) -> None:
    with pytest.raises(ModelError, match=message) as error:
        of_folder(tmp_path, rope_scaling=scaling)
    assert "config.json" in str(error.value)


def test_a_share_of_a_head(tmp_path: Path) -> None:
    assert of_folder(tmp_path, partial_rotary_factor=0.5).turns.rotary == 8
    newer = {"rope_type": "default", "partial_rotary_factor": 0.25}
    assert of_folder(tmp_path, rope_parameters=newer).turns.rotary == 4
    for share in (0.0, 0.2):
        with pytest.raises(ModelError, match="elements that are turned"):
            of_folder(tmp_path, partial_rotary_factor=share)
    kinds = {"full_attention": newer, "sliding_attention": {"rope_type": "default"}}
    with pytest.raises(ModelError, match="in all layers"):
        of_folder(tmp_path, rope_parameters=kinds)


def of_gguf(path: Path, name: str, keys: dict[str, Any], **changed: Any) -> Shape:
    """Of a file that says this beside what the converter writes."""
    config = {**DECODERS[name], "rope_scaling": None, **changed}
    tensors = random_tensors(np.random.default_rng(1), decoder_shapes(config))
    kind = gguf.GGMLQuantizationType.F32
    write_gguf(path, config, tensors, lambda _: kind, np.random.default_rng(1), keys)
    with open_gguf(path) as found:
        return shape_of_gguf(found)


@pytest.mark.parametrize(
    ("keys", "scaling"),
    [
        ({"factor": 4.0}, {"type": "linear", "factor": 4.0}),
        ({"type": "none", "factor": 4.0}, {}),
        ({"type": "yarn", "factor": 4.0, "original_context_length": 128}, YARN),
        ({"type": "yarn", "factor": 4.0, "original_context_length": 128, "yarn_beta_fast": 6.0,
          "yarn_beta_slow": 2.0}, {**YARN, "beta_fast": 6.0, "beta_slow": 2.0}),
        ({"type": "yarn", "factor": 4.0, "original_context_length": 128,
          "yarn_attn_factor": 1.5}, {**YARN, "attention_factor": 1.5}),
        ({"type": "yarn", "factor": 4.0, "original_context_length": 128,
          "yarn_log_multiplier": 0.5}, {**YARN, "mscale": 1.0, "mscale_all_dim": 0.5}),
        ({"type": "yarn", "factor": 4.0, "original_context_length": 128, "attn_factor": 2.0},
         {**YARN, "attention_factor": 2.0 * (0.1 * np.log(4.0) + 1)}),
    ],
)  # fmt: skip
def test_keys_of_gguf(tmp_path: Path, keys: dict[str, Any], scaling: dict[str, Any]) -> None:
    own = {f"llama.rope.scaling.{key}": one for key, one in keys.items()}
    shape = of_gguf(tmp_path / "a.gguf", "llama2", own)
    config = DECODERS["llama2"] | {"rope_scaling": scaling, "context": 300}
    expected, grown = reference.steps_of(config, 10000.0, 16)
    found, factor = steps_of(shape.turns, 300)
    np.testing.assert_allclose(found, expected, rtol=1e-7)
    assert factor == pytest.approx(grown, rel=1e-7)


def test_windows_and_scales_of_gguf(tmp_path: Path) -> None:
    path = tmp_path / "a.gguf"
    shape = of_gguf(path, "gemma3", {}, sliding_window_pattern=[True, False, True])
    assert shape.windows == (7, None, 7)
    assert shape.window_turns.scaling is None and shape.window_turns.theta == 100.0
    assert shape.scale == pytest.approx(20**-0.5, rel=1e-6)
    # The largest of Gemma 2 has no key for it.
    config: dict[str, Any] = {"num_hidden_layers": 46, "query_pre_attn_scalar": None}
    shape = of_gguf(path, "gemma2", {}, **config)
    assert shape.scale == (64 / 4) ** -0.5
    assert shape.windows == (7, None) * 23
    assert of_gguf(path, "gemma2", {}, query_pre_attn_scalar=None).scale == 24**-0.5
    shape = of_gguf(path, "phi3", {}, sliding_window=None)
    assert shape.windows == (None,) * 3 and shape.turns.rotary == 8
    assert of_gguf(path, "llama2", {"llama.attention.sliding_window": 5}).windows == (5,) * 3


@pytest.mark.parametrize(
    ("name", "keys", "message"),
    [
        ("llama2", {"llama.rope.scaling.type": "spiral"}, "scaling.type is 'spiral', expected"),
        ("llama2", {"llama.rope.scaling.type": "longrope"}, "no tensors 'rope_factors_short"),
        ("llama2", {"llama.rope.scaling.type": "yarn", "llama.rope.scaling.yarn_ext_factor": 0.5},
         "yarn_ext_factor is 0.5, expected 1"),
        ("llama2", {"llama.attention.value_length": 8}, "value_length is 8, expected 16"),
        ("llama2", {"llama.expert_count": 8}, "expert_count is 8, expected 0"),
        ("gemma3", {"gemma3.attention.sliding_window_pattern": "x"}, "pattern is 'x', expected"),
        ("gemma3", {"gemma3.attention.sliding_window_pattern": [True]}, "of each of 3 layers"),
        ("phi3", {"phi3.rope.dimension_count": 7}, "dimension_count is 7, expected an even"),
    ],
)  # fmt: skip
def test_what_is_refused_of_gguf(tmp_path: Path, name: str, keys: Any, message: str) -> None:
    path = tmp_path / "a.gguf"
    pattern = {} if name != "gemma3" else {"sliding_window_pattern": None}
    with pytest.raises(ModelError, match=message) as error:
        of_gguf(path, name, keys, **pattern)
    assert "a.gguf" in str(error.value)
