"""Decoders of tilewright.models beside float64: small ones of every family."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tilewright
from tilewright import Backend

from . import decoder_references as reference
from .model_folders import DECODERS, VOCABULARY, decoder_shapes, random_tensors, write_decoder

PROMPT = 37


def made(folder: Path, name: str, **changed: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    config = {**DECODERS[name], **changed}
    tensors = random_tensors(np.random.default_rng(5), decoder_shapes(config))
    if config["model_type"].startswith("gemma"):
        # Their norms weigh by 1 + weight.
        tensors = {k: v - 1 if "norm" in k else v for k, v in tensors.items()}
    write_decoder(folder, config, tensors)
    wide = {name: one.astype(np.float64) for name, one in tensors.items()}
    return {**config, "context": 200}, wide


def prompt_of(rng: np.random.Generator, count: int = PROMPT) -> list[int]:
    return rng.integers(4, VOCABULARY, count).tolist()


def greedy(w: Any, config: Any, tokens: list[int], count: int) -> tuple[list[int], float]:
    """The likeliest tokens, and how near the second likeliest came."""
    found, nearest = [], np.inf
    for _ in range(count):
        last = reference.logits(w, config, [*tokens, *found])[-1]
        order = np.argsort(last)
        nearest = min(nearest, last[order[-1]] - last[order[-2]])
        if order[-1] == config["eos_token_id"]:
            break
        found.append(int(order[-1]))
    return found, nearest


@pytest.mark.parametrize("name", sorted(DECODERS))
def test_logits(be: Backend, rng: np.random.Generator, tmp_path: Path, name: str) -> None:
    config, w = made(tmp_path, name)
    model = tilewright.models.load(tmp_path, be, context=200)
    tokens = prompt_of(rng)
    expected = reference.logits(w, config, tokens)
    found = model.logits(tokens).numpy()
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-4 * np.abs(expected).max())
    short = model.logits(tokens[:3]).numpy()
    np.testing.assert_allclose(short, found[:3], rtol=0, atol=1e-5 * np.abs(expected).max())


@pytest.mark.parametrize("name", sorted(DECODERS))
def test_greedy_tokens(be: Backend, rng: np.random.Generator, tmp_path: Path, name: str) -> None:
    config, w = made(tmp_path, name)
    model = tilewright.models.load(tmp_path, be, context=200, cache_tokens=600)
    prompts = [prompt_of(rng, count) for count in (PROMPT, 1, 18)]
    together = model.generate(prompts, 30)
    for prompt, tokens in zip(prompts, together, strict=True):
        assert model.generate(prompt, 30) == tokens
        expected, nearest = greedy(w, config, prompt, 30)
        assert nearest > 1e-4
        assert tokens == expected


@pytest.mark.parametrize("weights", ["float16", "int4"])
def test_launches_of_a_layer(
    be: Backend, rng: np.random.Generator, tmp_path: Path, weights: str
) -> None:
    """Of a step of one text: attention, what writes to the cache, and the products, whose norms are
    apart for quantised weights on level-zero. What the layers share is not copied in each; on
    webgpu small copies are launches as well."""

    def launches(layers: int) -> int:
        made(tmp_path / str(layers), "llama2", num_hidden_layers=layers)
        model = tilewright.models.load(tmp_path / str(layers), be, weights, context=200)
        model.engine.ends = frozenset()
        prompt = prompt_of(rng)
        model.generate(prompt, 4)
        counts = []
        for count in (2, 3):
            with be.profile() as profile:
                model.generate(prompt, count)
            counts.append(len(profile.records))
        return counts[1] - counts[0]

    apart = 2 if be.name == "level-zero" and weights == "int4" else 0
    assert launches(3) - launches(2) <= 6 + apart


def test_a_prompt_in_chunks(
    be: Backend, rng: np.random.Generator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made(tmp_path, "mistral")
    model = tilewright.models.load(tmp_path, be, context=200)
    prompt = prompt_of(rng, 50)
    whole = model.generate(prompt, 12)
    monkeypatch.setattr("tilewright.models.decoders.engine.CHUNK", 7)
    assert model.generate(prompt, 12) == whole


@pytest.mark.parametrize("weights", ["float16", "int8", "int4"])
def test_narrow_weights(
    be: Backend, rng: np.random.Generator, tmp_path: Path, weights: str
) -> None:
    config, w = made(tmp_path, "llama2")
    model = tilewright.models.load(tmp_path, be, weights, context=200)
    tokens = prompt_of(rng)
    expected = reference.logits(w, config, tokens)
    found = model.logits(tokens).numpy()
    bound = {"float16": 0.02, "int8": 0.06, "int4": 0.8}[weights]
    assert np.abs(found - expected).max() < bound * np.abs(expected).max()
    assert len(model.generate(tokens, 4)) <= 4


@pytest.mark.parametrize("weights", [None, "float32", "int8"])
def test_states_beyond_float16(
    be: Backend, rng: np.random.Generator, tmp_path: Path, weights: str | None
) -> None:
    """Gemma 3 of a file of float16 is computed in float32, since its states exceed float16."""
    config, w = made(tmp_path, "gemma3")
    norm = "model.layers.0.post_feedforward_layernorm.weight"
    halves = {name: one.astype(np.float16) for name, one in w.items()}
    halves[norm] = np.full_like(halves[norm], 6e4)
    write_decoder(tmp_path, config, halves)
    wide = {name: one.astype(np.float64) for name, one in halves.items()}
    model = tilewright.models.load(tmp_path, be, weights, context=200)
    tokens = prompt_of(rng)
    expected = reference.logits(wide, config, tokens)
    found = model.logits(tokens).numpy()
    bound = 0.06 if weights == "int8" else 1e-4
    np.testing.assert_allclose(found, expected, rtol=0, atol=bound * np.abs(expected).max())
    with pytest.raises(tilewright.InvalidArgument, match="weights is 'float16', which the states"):
        tilewright.models.load(tmp_path, be, "float16", context=200)


def test_drawn_tokens(be: Backend, rng: np.random.Generator, tmp_path: Path) -> None:
    config, w = made(tmp_path, "qwen2")
    model = tilewright.models.load(tmp_path, be, context=200)
    prompt = prompt_of(rng)
    options = {"temperature": 1.5, "top_k": 8, "top_p": 0.9, "min_p": 0.05, "seed": 3}
    first = model.generate(prompt, 20, **options)
    assert model.generate(prompt, 20, **options) == first
    assert model.generate([prompt_of(rng), prompt], 20, **options)[1] == first
    assert model.generate(prompt, 20, **{**options, "seed": 4}) != first
    for at, token in enumerate(first):
        last = reference.logits(w, config, [*prompt, *first[:at]])[-1] / 1.5
        order = np.argsort(-last)[:8]
        shares = np.exp(last[order] - last[order[0]])
        shares /= shares.sum()
        before = np.cumsum(shares) - shares
        kept = order[(before < 0.9 + 1e-4) & (shares >= (0.05 - 1e-4) * shares[0])]
        assert token in kept


@pytest.mark.parametrize(
    "options", [{}, {"top_k": 12}, {"top_k": 7}, {"min_p": 0.02}, {"top_p": 0.8}]
)
def test_shares_of_what_is_drawn(
    be: Backend, rng: np.random.Generator, options: dict[str, Any]
) -> None:
    """Tokens come as often as the softmax says, of what is left in."""
    from tilewright.models.decoders.choice import Sampling, chosen

    logits = rng.standard_normal(300).astype(np.float32) * 3
    logits[40:60] = -np.inf
    rows = 1000
    repeated = be.array(np.broadcast_to(logits, (rows, 300)).copy())
    # Every part of [0, 1) as often, its ends too.
    uniform = rng.permutation((np.arange(rows) / (rows - 1)).astype(np.float32))
    how = Sampling(temperature=0.7, **options)
    found = chosen(repeated, [how] * rows, [[]] * rows, uniform).numpy()
    order = np.argsort(-logits, kind="stable")
    shares = np.exp((logits.astype(np.float64) - logits.max()) / 0.7)
    shares /= shares.sum()
    kept = np.ones(300, bool)
    if how.top_k:
        kept[order[how.top_k :]] = False
    kept[shares < how.min_p * shares.max()] = False
    before = np.cumsum(shares[order]) - shares[order]
    kept[order[before >= how.top_p]] = False
    expected = np.where(kept, shares, 0) / shares[kept].sum()
    counts = np.bincount(found, minlength=300)
    assert counts[expected == 0].sum() == 0
    assert np.abs(counts / rows - expected).max() < 2 / rows + 1e-5


def test_rows_of_every_way_of_choosing(be: Backend, rng: np.random.Generator) -> None:
    """Each row is chosen as alone, whatever the others are."""
    from tilewright.models.decoders.choice import Sampling, chosen

    hows = [
        Sampling(), Sampling(0.9), Sampling(1.1, top_k=5), Sampling(0.8, top_p=0.7),
        Sampling(1.3, min_p=0.1), Sampling(1.2, top_k=30, min_p=0.01), Sampling(0.5, top_k=100),
        Sampling(0.0, repetition_penalty=2.0), Sampling(1.0, repetition_penalty=1.5, top_p=0.9),
    ]  # fmt: skip
    hows = [hows[i] for i in rng.permutation(np.repeat(np.arange(len(hows)), 3))]
    logits = rng.standard_normal((len(hows), 77)).astype(np.float32) * 2
    seen = [rng.integers(0, 77, i % 6).tolist() for i in range(len(hows))]
    uniform = rng.random(len(hows), np.float32)
    found = chosen(be.array(logits), hows, seen, uniform).numpy()
    assert found.dtype == np.int32 and found.shape == (len(hows),)
    for i, how in enumerate(hows):
        one = slice(i, i + 1)
        alone = chosen(be.array(logits[one]), [how], seen[one], uniform[one]).numpy()
        assert alone[0] == found[i], how


def test_repetition_penalty(be: Backend) -> None:
    from tilewright.models.decoders.choice import Sampling, chosen

    logits = np.array([[3.0, 2.9, -1.0, 0.5], [-1.0, -1.1, -9.0, -9.0]], np.float32)
    how = Sampling(repetition_penalty=1.3)
    found = chosen(be.array(logits), [how] * 2, [[0, 0, 3], [0]], np.zeros(2, np.float32)).numpy()
    assert found.tolist() == [1, 1]


def test_text(be: Backend, tmp_path: Path) -> None:
    made(tmp_path, "llama2")
    model = tilewright.models.load(tmp_path, be, context=200)
    text = model.generate("w1 w2 w3", 10)
    assert isinstance(text, str)
    assert "".join(model.stream("w1 w2 w3", 10)) == text
    assert model.generate(["w1 w2 w3", "w9"], 10)[0] == text


def test_kinds_of_prompts(be: Backend, rng: np.random.Generator, tmp_path: Path) -> None:
    made(tmp_path, "llama2")
    model = tilewright.models.load(tmp_path, be, context=60)
    tokens = [prompt_of(rng, 4), prompt_of(rng, 4)]
    found = model.generate(tokens, 5)
    assert model.generate(iter(tokens), 5) == found
    assert model.generate(np.array(tokens), 5) == found
    assert model.generate(np.array(tokens[0]), 5) == found[0]
    drawn = {"temperature": 1.5, "max_tokens": 8}
    texts = [model.generate(tokens[0], seed=seed, **drawn) for seed in (-5, -5, 2**64 - 5, -6)]
    assert texts[0] == texts[1] == texts[2] != texts[3]


def test_stops(be: Backend, rng: np.random.Generator, tmp_path: Path) -> None:
    made(tmp_path, "llama2", eos_token_id=None)
    model = tilewright.models.load(tmp_path, be, context=60)
    whole = model.generate("w1 w2 w3", 12)
    words = whole.split()
    assert len(words) == 12
    end = f"{words[6]} {words[7]}"
    before = whole[: whole.index(end)]
    for stop in (end, [end, "nowhere"], (end[:-1], words[-1] + words[-1])):
        assert model.generate("w1 w2 w3", 12, stop=stop) == before
        assert "".join(model.stream("w1 w2 w3", 12, stop=stop)) == before
    other = model.generate("w9", 12)
    assert model.generate(["w1 w2 w3", "w9"], 12, stop=[end, f"{other}x"]) == [before, other]
    tokens = model.tokenizer.encode(["w1 w2 w3"])[0]
    made_of = model.generate(tokens, 12)
    count = len(model.tokenizer.encode([before + end], special=False)[0])
    assert model.generate(tokens, 12, stop=end) == made_of[:count]
    assert model.generate(tokens, 12, stop="nowhere") == made_of
    assert not model.engine.running and not model.engine.waiting


def test_pages_come_back(be: Backend, rng: np.random.Generator, tmp_path: Path) -> None:
    made(tmp_path, "llama2")
    model = tilewright.models.load(tmp_path, be, context=100, cache_tokens=112)
    for _ in range(4):
        model.generate(prompt_of(rng, 60), 20)
    # What does not fit beside another waits.
    prompts = [prompt_of(rng, 60) for _ in range(3)]
    assert model.generate(prompts, 20) == [model.generate(one, 20) for one in prompts]
    stream = model.stream("w1 w2", 50)
    next(stream, None)
    stream.close()
    assert len(model.generate(prompt_of(rng, 90), 3)) <= 3
    assert model.engine.cache.available == 7
    small = tilewright.models.load(tmp_path, be, context=100, cache_tokens=40)
    assert len(small.generate(prompt_of(rng, 40), 20)) <= 8
    with pytest.raises(tilewright.InvalidArgument, match="60 tokens, expected 1 to 48; the cache"):
        small.generate(prompt_of(rng, 60), 20)


def test_a_text_ends_with_its_context(
    be: Backend, rng: np.random.Generator, tmp_path: Path
) -> None:
    made(tmp_path, "qwen3", eos_token_id=VOCABULARY - 1)
    model = tilewright.models.load(tmp_path, be, context=20)
    prompt = prompt_of(rng, 17)
    assert len(model.generate(prompt, 50)) <= 3


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"num_key_value_heads": 3}, "num_key_value_heads"),
        ({"hidden_act": "mish"}, "hidden_act"),
        ({"rope_scaling": {"rope_type": "spiral", "factor": 2.0}}, "spiral"),
        ({"layer_types": ["full_attention"], "sliding_window": 4}, "layer_types"),
        ({"vocab_size": 9}, "embed_tokens"),
        ({"intermediate_size": None}, "intermediate_size"),
    ],
)
def test_what_does_not_fit(be: Backend, tmp_path: Path, changed: Any, message: str) -> None:
    config, _ = made(tmp_path, "llama2")
    (tmp_path / "config.json").write_text(json.dumps({**config, **changed}))
    with pytest.raises(tilewright.models.ModelError, match=message):
        tilewright.models.load(tmp_path, be)


def test_wrong_arguments(be: Backend, tmp_path: Path) -> None:
    made(tmp_path, "llama2")
    model = tilewright.models.load(tmp_path, be, context=30)
    load = tilewright.models.load
    for call, message in (
        (lambda: model.generate([], 3), None),
        (lambda: model.generate([[]], 3), "prompt 0 has 0 tokens, expected 1 to 30"),
        (lambda: model.generate([5] * 31, 3), "prompt 0 has 31 tokens, expected 1 to 30"),
        (lambda: model.generate([VOCABULARY], 3), f"prompt 0 has the token {VOCABULARY}"),
        (lambda: model.generate([5], -1), "max_tokens is -1, expected 0 or more"),
        (lambda: model.generate([5], temperature=-1), "temperature is -1"),
        (lambda: model.generate([5], top_k=1.5), "top_k is 1.5"),
        (lambda: model.generate([5], top_p=0), "top_p is 0"),
        (lambda: model.generate([5], min_p=2), "min_p is 2"),
        (lambda: model.generate([5], repetition_penalty=0), "repetition_penalty is 0"),
        (
            lambda: model.generate([[5] * 40]),
            r"expected 1 to 30; load.* takes up to 256 of",
        ),
        (lambda: model.generate([[0.7, 5.9]]), r"prompt 0\[0\] is 0.7 \(float\), expected an int"),
        (lambda: model.generate(b"abc"), "prompts is b'abc'.*, expected a text, tokens, or"),
        (lambda: model.generate({"a": 1}), "prompts is .*, expected a text, tokens, or a list"),
        (lambda: model.generate(7), "prompts is 7 .*, expected a text, tokens, or a list"),
        (lambda: model.generate([[True]]), r"prompt 0\[0\] is True"),
        (lambda: list(model.stream(["a", "b"])), r"prompt 0\[0\] is 'a' .*, expected an integer"),
        (lambda: model.logits("abc"), "tokens is 'abc' .*, expected tokens"),
        (lambda: model.generate("w\ud800"), "has half of a character"),
        (lambda: model.generate([5], seed="a"), "seed is 'a'"),
        (lambda: model.generate([5], stop=["a", ""]), "stop has '' .*a character or more"),
        (lambda: model.generate([5], stop=3), "stop is 3 .*, expected a text or several"),
        (lambda: load(tmp_path, be, context=0), "context is 0, expected 1 or more"),
        (lambda: load(tmp_path, be, cache_tokens=0), "cache_tokens is 0, expected 1 or more"),
    ):
        if message is None:
            assert call() == []
            continue
        with pytest.raises(tilewright.Error, match=message):
            call()
    whole = load(tmp_path, be)
    for call, message in (
        (lambda: whole.generate([[]]), "prompt 0 has 0 tokens, expected 1 to 256$"),
        (
            lambda: whole.generate([5] * 300),
            "expected 1 to 256; the model takes no more",
        ),
    ):
        with pytest.raises(tilewright.Error, match=message):
            call()
