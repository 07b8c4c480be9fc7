"""Decoders whose keys and values are held in fewer bits than they are computed in."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tilewright
from tilewright import Backend
from tilewright.cli import main
from tilewright.models import memory
from tilewright.models.decoders.cache import Sequence
from tilewright.models.decoders.layers import step_of

from . import decoder_references as reference
from .model_folders import DECODERS
from .page_rows import narrowed, widened
from .serving import CHAT, TEXTS, Running, decoder
from .test_models_decoders import made, prompt_of


def as_int8(rows: Any) -> Any:
    return widened(*narrowed(rows))


def as_float16(rows: Any) -> Any:
    return rows.astype(np.float16).astype(np.float64)


KEPT = {"int8": as_int8, "float16": as_float16}
#: What a cache costs is known by float64 alone: the logits over rows that are rounded as it does,
#: less those over rows as they are. A device's own rounding takes an element of some rows to the
#: neighbouring number, one in some thousands, so that it comes this near to what float64 gives.
NEAR = 0.25


@pytest.fixture(params=["int8", "float16"])
def cache(request: pytest.FixtureRequest) -> str:
    kind: str = request.param
    return kind


@pytest.mark.parametrize("name", sorted(DECODERS))
def test_logits(
    be: Backend, rng: np.random.Generator, tmp_path: Path, name: str, cache: str
) -> None:
    config, w = made(tmp_path, name)
    model: Any = tilewright.models.load(tmp_path, be, context=200, cache=cache)
    assert model.engine.cache.dtype == cache
    tokens = prompt_of(rng)
    exact = reference.logits(w, config, tokens)
    expected = reference.logits(w, config, tokens, KEPT[cache])
    cost = np.abs(expected - exact).max()
    assert cost > 0
    own = 1e-4 * np.abs(exact).max()
    found = model.logits(tokens).numpy()
    np.testing.assert_allclose(found, expected, rtol=0, atol=NEAR * cost + own)
    assert np.abs(found - exact).max() < (1 + NEAR) * cost + own


@pytest.mark.parametrize("name", ["llama2", "gemma3", "qwen3"])
def test_token_by_token_and_together(
    be: Backend, rng: np.random.Generator, tmp_path: Path, name: str, cache: str
) -> None:
    """Each token by a step of its own, beside a text of another length, is as a prompt at once."""
    config, w = made(tmp_path, name)
    model: Any = tilewright.models.load(tmp_path, be, context=200, cache=cache, cache_tokens=200)
    one, other = prompt_of(rng), prompt_of(rng, 20)
    exact = reference.logits(w, config, one)
    cost = np.abs(reference.logits(w, config, one, KEPT[cache]) - exact).max()
    layers, pages = model._layers, model.engine.cache
    beside, alone = Sequence(pages), Sequence(pages)
    rows = []
    for at, token in enumerate(one):
        texts = [(beside, other[:5] if at == 0 else other[4 + at : 5 + at]), (alone, [token])]
        texts = [text for text in texts if text[1]]
        step = step_of(be, [text for text, _ in texts], [tokens for _, tokens in texts])
        rows.append(layers.logits(layers(step)).numpy()[-1])
    for text in (beside, alone):
        text.close()
    own = 1e-4 * np.abs(exact).max()
    np.testing.assert_allclose(
        np.stack(rows), model.logits(one).numpy(), rtol=0, atol=NEAR * cost + own
    )


def test_texts_together_and_pages_that_are_found(
    be: Backend, rng: np.random.Generator, tmp_path: Path
) -> None:
    made(tmp_path, "mistral")
    model: Any = tilewright.models.load(tmp_path, be, context=200, cache_tokens=600, cache="int8")
    model.ends = frozenset()
    prompts = [prompt_of(rng, count) for count in (40, 1, 18)]
    first = model.generate(prompts, 20)
    assert [len(one) for one in first] == [20, 20, 20]
    found = model.engine.found
    again = model.generate(prompts[0], 20)
    assert model.engine.found > found and again == first[0]


def test_what_it_takes(be: Backend, tmp_path: Path) -> None:
    made(tmp_path, "llama2")
    sizes = {}
    for cache in (None, "float16", "int8"):
        model: Any = tilewright.models.load(tmp_path, be, context=64, cache=cache)
        pages = model.engine.cache
        arrays = [*pages.rows, *(one for one in pages.scales if one is not None)]
        sizes[cache] = sum(one.size * one.dtype.itemsize for one in arrays)
        planned = memory.of_decoder(model._layers.shape, model.weights.dtype, pages.dtype, 64, 64)
        assert next(iter(planned.values())) == sizes[cache]
    head = model._layers.shape.head
    assert sizes["float16"] * 2 == sizes[None]
    assert sizes["int8"] * 4 * head == sizes[None] * (head + 4)


def test_what_is_no_cache(be: Backend, tmp_path: Path) -> None:
    made(tmp_path, "llama2")
    with pytest.raises(tilewright.InvalidArgument, match=r"cache is .int4., expected None"):
        tilewright.models.load(tmp_path, be, cache="int4")
    model: Any = tilewright.models.load(tmp_path, be, "float16", cache="int8", context=90)
    assert len(model.generate([5, 6, 7], 4)) <= 4


def test_the_commands(be: Backend, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made(tmp_path, "llama2")
    device = ["--device", be.device.id, "--cache", "int8"]
    assert main(["generate", str(tmp_path), "w1 w2", "--max-tokens", "6", *device]) == 0
    said = capsys.readouterr().out
    model: Any = tilewright.models.load(tmp_path, be, cache="int8")
    assert said == model.generate("w1 w2", 6) + "\n"
    few = ["--prompt-tokens", "20", "--tokens", "3", "--json"]
    assert main(["bench", "--model", str(tmp_path), *device, *few]) == 0
    assert json.loads(capsys.readouterr().out)["cache_dtype"] == "int8"


def test_a_server(be: Backend, tmp_path: Path) -> None:
    from tilewright.serving import App

    model = decoder(be, tmp_path, context=120, cache_tokens=600, cache="int8")
    alone = model.generate("w1 w2 w3", 12)
    with Running(App(model, None, names=["small", ""])) as running:
        found = running.post(TEXTS, prompt="w1 w2 w3", max_tokens=12, temperature=0)
        assert found["choices"][0]["text"].split() == alone.split()
        said = running.post(
            CHAT, messages=[{"role": "user", "content": "w1"}], max_tokens=5, temperature=0
        )
        assert said["usage"]["completion_tokens"] <= 5
    assert model.engine.cache.available == model.engine.cache.count
