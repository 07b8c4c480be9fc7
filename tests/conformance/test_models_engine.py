"""Several texts at once: each as alone, whoever joins and leaves; and prompts that are kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tilewright
from tilewright import Backend
from tilewright.models import Decoder
from tilewright.models.decoders import choice
from tilewright.models.decoders import engine as engines
from tilewright.models.decoders.choice import Sampling, draws_of
from tilewright.models.decoders.engine import Request, rounded

from .model_folders import DECODERS, decoder_shapes, random_tensors, write_decoder
from .test_models_decoders import prompt_of

HOWS = (
    Sampling(),
    Sampling(temperature=1.3),
    Sampling(temperature=0.8, top_k=7, repetition_penalty=1.2),
    Sampling(temperature=2.0, top_p=0.8),
    Sampling(repetition_penalty=1.5),
    Sampling(temperature=1.1, top_k=20, top_p=0.95, min_p=0.02),
)


def model_of(be: Backend, folder: Path, name: str = "llama2", **options: Any) -> Decoder:
    config = {**DECODERS[name], "eos_token_id": 9}
    write_decoder(folder, config, random_tensors(np.random.default_rng(5), decoder_shapes(config)))
    model = tilewright.models.load(folder, be, **options)
    assert isinstance(model, Decoder)
    return model


def alone(model: Decoder, prompt: list[int], most: int, how: Sampling, seed: int) -> list[int]:
    options = {name: getattr(how, name) for name in how.__dataclass_fields__}
    found: list[int] = model.generate(prompt, most, seed=seed, **options)
    return found


def submit(
    model: Decoder, prompt: list[int], most: int, how: Sampling = HOWS[0], seed: int = 0
) -> Request:
    return model.engine.submit(prompt, most, how, draws_of(seed))


def run(model: Decoder) -> None:
    while model.engine.step():
        pass


@pytest.mark.parametrize(
    ("weights", "remedy"),
    [("float16", "may exceed float16; load it with weights='float32'"), ("float32", "damaged")],
)
@pytest.mark.parametrize("how", [HOWS[0], HOWS[1], HOWS[3]])
def test_logits_that_are_not_numbers(
    be: Backend, rng: np.random.Generator, tmp_path: Path, how: Sampling, weights: str, remedy: str
) -> None:
    """A text of a token whose states are NaN ends with an error, and others go on."""
    model = model_of(be, tmp_path, weights=weights)
    bad, good = 5, [token for token in prompt_of(rng, 12) if token != 5]
    expected = alone(model, good, 6, how, 1)
    model.weights["model.embed_tokens.weight"][bad] = np.nan
    requests = [submit(model, one, 6, how, 1) for one in ([*good, bad], good)]
    run(model)
    with pytest.raises(tilewright.Error, match=f"logits behind the prompt are NaN.*{remedy}"):
        raise requests[0].error or AssertionError("no error")
    assert requests[0].tokens == []
    assert requests[1].tokens == expected
    with pytest.raises(tilewright.Error, match="are NaN"):
        model.generate([good[0], bad], 3)


@pytest.mark.parametrize(("name", "pages"), [("llama2", 60), ("mistral", 14)])
def test_each_as_alone(
    be: Backend, rng: np.random.Generator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    name: str, pages: int,
) -> None:  # fmt: skip
    """Drawn tokens of texts that join one after another, of which some wait for pages."""
    model = model_of(be, tmp_path, name, context=120, cache_tokens=16 * pages)
    monkeypatch.setattr(engines, "CHUNK", 23)
    asked = [
        (prompt_of(rng, int(rng.integers(1, 60))), int(rng.integers(1, 40)), HOWS[i % 6], i)
        for i in range(13)
    ]
    requests = []
    for i, one in enumerate(asked):
        requests.append(submit(model, *one))
        for _ in range(i % 4):
            model.engine.step()
    run(model)
    assert model.engine.cache.available == pages
    for one, request in zip(asked, requests, strict=True):
        model.engine.forget()
        assert request.tokens == alone(model, *one)
        is_full = len(request.tokens) == one[1]
        assert request.reason == ("length" if is_full else "stop")
    assert {one.reason for one in requests} == {"length", "stop"}


def test_drawn_from_the_likeliest(
    be: Backend, rng: np.random.Generator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A few of the likeliest tokens are looked at first, and all where these do not tell; what is
    drawn is the same."""
    model = model_of(be, tmp_path, context=90, cache_tokens=16 * 30)
    model.ends = frozenset()
    hows = (
        Sampling(0.3, top_p=0.5), Sampling(0.7, top_p=0.8), Sampling(0.6, min_p=0.3),
        Sampling(1.0, top_p=0.95, min_p=0.01),
    )  # fmt: skip
    asked = [(prompt_of(rng, 5 + 3 * i), 40, hows[i % 4], i) for i in range(5)]
    every = [alone(model, *one) for one in asked]
    counts = {False: 0, True: 0}

    def counted(logits: Any, *rest: Any, whole: bool = False) -> Any:
        counts[whole] += logits.shape[0]
        return choice.chosen(logits, *rest, whole=whole)

    monkeypatch.setattr(choice, "LOOKED_AT", 3)
    monkeypatch.setattr(engines, "chosen", counted)
    for one, wanted in zip(asked, every, strict=True):
        model.engine.forget()
        assert alone(model, *one) == wanted
    assert 0 < counts[True] < counts[False]
    model.engine.forget()
    requests = [submit(model, *one) for one in asked]
    run(model)
    assert [one.tokens for one in requests] == every
    assert model.engine.cache.available == 30


def test_where_pages_run_out(be: Backend, rng: np.random.Generator, tmp_path: Path) -> None:
    """The text that came last begins again, and says the same."""
    model = model_of(be, tmp_path, context=90, cache_tokens=16 * 9)
    model.ends = frozenset()
    asked = [(prompt_of(rng, 9 + i), 60 + i, HOWS[i % 6], i) for i in range(5)]
    requests = [submit(model, *one) for one in asked]
    run(model)
    assert model.engine.returned > 1
    assert model.engine.cache.available == 9
    for one, request in zip(asked, requests, strict=True):
        model.engine.forget()
        assert request.tokens == alone(model, *one)
        assert len(request.tokens) == one[1]


def test_a_cache_that_is_just_large_enough(
    be: Backend, rng: np.random.Generator, tmp_path: Path
) -> None:
    """Texts that fit together go on together, to the last page."""
    model = model_of(be, tmp_path, context=32, cache_tokens=3 * 32)
    model.ends = frozenset()
    for most in (1, 13, 50):
        requests = [submit(model, prompt_of(rng, 20), most) for _ in range(3)]
        steps = 0
        while model.engine.step():
            steps += 1
        assert steps == min(most, 12)
        assert [len(one.tokens) for one in requests] == [min(most, 12)] * 3
    # With a page less one waits.
    model = model_of(be, tmp_path, context=32, cache_tokens=3 * 32 - 16)
    for _ in range(3):
        submit(model, prompt_of(rng, 20), 5)
    model.engine.step()
    assert (len(model.engine.running), len(model.engine.waiting)) == (2, 1)
    run(model)


def test_steps_for_about_as_many(be: Backend, rng: np.random.Generator, tmp_path: Path) -> None:
    """Rows of no text change nothing; more than a page of them neither."""
    model = model_of(be, tmp_path, context=64, cache_tokens=65 * 32)
    prompts = [prompt_of(rng, 1 + i % 3) for i in range(65)]
    together = model.generate(prompts, 4, temperature=1.0, seed=3)
    assert rounded(65) == 96
    for i in (0, 1, 13, 40, 64):
        assert model.generate(prompts[i], 4, temperature=1.0, seed=3) == together[i]


def test_few_recordings() -> None:
    counts = [rounded(n) for n in range(1, 257)]
    assert sorted(set(counts)) == [
        1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256,
    ]  # fmt: skip
    assert all(n <= count < 1.5 * n for n, count in enumerate(counts, 1))


def test_a_long_prompt_holds_nobody_up(
    be: Backend, rng: np.random.Generator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = model_of(be, tmp_path, "qwen2", context=200, cache_tokens=400)
    monkeypatch.setattr(engines, "CHUNK", 16)
    short = submit(model, prompt_of(rng, 3), 30)
    model.engine.step()
    long = submit(model, prompt_of(rng, 150), 2)
    for _ in range(9):
        before = len(short.text)
        model.engine.step()
        assert len(short.text) == before + 1
        assert long.tokens == []
    model.engine.step()
    assert len(long.tokens) == 1


@pytest.mark.parametrize("has_units", [False, True])
def test_more_of_a_prompt_at_once_on_units(
    be: Backend, rng: np.random.Generator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    has_units: bool,
) -> None:  # fmt: skip
    """Where no text is past its prompt."""
    model = model_of(be, tmp_path, context=200, cache_tokens=800)
    engine = model.engine
    prompts = [prompt_of(rng, count) for count in (150, 130)]
    expected = [alone(model, prompt, 3, HOWS[0], 0) for prompt in prompts]
    engine.forget()
    monkeypatch.setattr(engines, "CHUNK", 16)
    monkeypatch.setattr(engine, "_has_units", has_units)
    engine.prefilled = 0
    first = submit(model, prompts[0], 3)
    engine.step()
    assert engine.prefilled == (64 if has_units else 16)
    while not first.tokens:
        engine.step()
    second = submit(model, prompts[1], 3)
    engine.step()
    assert engine.prefilled == 150 + 16
    run(model)
    assert [first.tokens, second.tokens] == expected


def test_prefixes(be: Backend, rng: np.random.Generator, tmp_path: Path) -> None:
    """What begins alike is computed once, while it goes on and later, until pages are needed."""
    model = model_of(be, tmp_path, "qwen3", context=200, cache_tokens=320)
    engine = model.engine
    common, ends = prompt_of(rng, 70), [prompt_of(rng, n) for n in (5, 40, 1)]
    expected = []
    for end in ends:
        engine.forget()
        expected.append(model.generate(common + end, 8))
    engine.forget()
    engine.prefilled = engine.found = 0
    first = submit(model, common + ends[0], 8)
    while not first.tokens:
        engine.step()
    assert engine.prefilled == 75
    others = [submit(model, common + end, 8) for end in ends[1:]]
    engine.step()
    # Four pages are whole; both hold them beside the first.
    assert [one.found for one in others] == [64, 64]
    assert engine.prefilled == 75 + (110 - 64) + (71 - 64)
    run(model)
    assert [one.tokens for one in (first, *others)] == expected
    assert engine.cache.available == 20
    # What was said is found as the prompt is: a conversation goes on with it.
    more = common + ends[1] + expected[1] + prompt_of(rng, 3)
    again = submit(model, more, 2)
    run(model)
    assert again.found == 16 * ((110 + 7) // 16)
    # All of a prompt but its last token may be there.
    same = submit(model, common[:64], 1)
    run(model)
    assert same.found == 48
    model.generate([prompt_of(rng, 150), prompt_of(rng, 150)], 8)
    gone = submit(model, common + ends[0], 8)
    run(model)
    assert gone.found < 64
    assert gone.tokens == expected[0]


def test_the_same_prompt_at_once(
    be: Backend, rng: np.random.Generator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is computed once, and the others wait for its pages; but not for one that has gone."""
    model = model_of(be, tmp_path, context=200, cache_tokens=800)
    engine = model.engine
    prompt, other = prompt_of(rng, 70), prompt_of(rng, 40)
    expected = [alone(model, prompt, 9, HOWS[1], seed) for seed in range(4)]
    expected.append(alone(model, other, 9, HOWS[1], 4))
    monkeypatch.setattr(engines, "CHUNK", 16)
    monkeypatch.setattr(engines, "TIMES_ON_UNITS", 1)
    engine.forget()
    engine.prefilled = engine.found = 0
    requests = [submit(model, prompt, 9, HOWS[1], seed) for seed in range(4)]
    requests.append(submit(model, other, 9, HOWS[1], 4))
    engine.step()
    assert engine.running == requests[:1]
    run(model)
    assert [one.tokens for one in requests] == expected
    assert engine.prefilled == 70 + 3 * 6 + 40
    assert engine.found == 3 * 64
    engine.forget()
    first, second = [submit(model, prompt, 9, HOWS[1], seed) for seed in range(2)]
    engine.step()
    assert engine.running == [first]
    engine.cancel(first)
    run(model)
    assert second.tokens == expected[1]
    assert second.found == 16


def test_cancelled(be: Backend, rng: np.random.Generator, tmp_path: Path) -> None:
    model = model_of(be, tmp_path, context=100, cache_tokens=160)
    engine = model.engine
    requests = [submit(model, prompt_of(rng, 40), 50, HOWS[1], i) for i in range(6)]
    for _ in range(3):
        engine.step()
    assert 1 < len(engine.running) < 6 and engine.waiting
    kept = next(one for one in requests if one in engine.running)
    for one in requests:
        if one is not kept:
            engine.cancel(one)
            engine.cancel(one)
    assert engine.running == [kept] and not engine.waiting
    run(model)
    assert kept.reason in ("stop", "length")
    assert {one.reason for one in requests if one is not kept} == {"cancelled"}
    assert engine.cache.available == 10
    engine.cancel(kept)
    assert kept.reason != "cancelled"


def test_streams_beside_each_other(be: Backend, tmp_path: Path) -> None:
    model = model_of(be, tmp_path, context=100, cache_tokens=200)
    texts = ["w1 w2 w3", "w9 w8"]
    expected = [model.generate(text, 12) for text in texts]
    said = ["", ""]
    streams = [model.stream(text, 12) for text in texts]
    going = [0, 1]
    while going:
        for i in list(going):
            piece = next(streams[i], None)
            if piece is None:
                going.remove(i)
            else:
                said[i] += piece
    assert said == expected


def test_a_step_that_fails(
    be: Backend, rng: np.random.Generator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It ends the texts that were in it, and no others."""
    model = model_of(be, tmp_path, context=100, cache_tokens=100)
    prompts = [prompt_of(rng, 50) for _ in range(3)]
    expected = [model.generate(one, 6) for one in prompts]
    requests = [submit(model, one, 6) for one in prompts]
    model.engine.step()

    def fails(*_: Any) -> None:
        raise tilewright.DeviceError("a fault")

    with monkeypatch.context() as patch:
        patch.setattr(engines, "chosen", fails)
        with pytest.raises(tilewright.DeviceError, match="a fault"):
            model.engine.step()
    states = [(str(one.error) if one.error else None) for one in requests]
    assert states == ["a fault", None, None]
    assert model.engine.cache.available == 7 and model.engine.cache.kept == 0
    run(model)
    assert [one.tokens for one in requests[1:]] == expected[1:]


def test_a_step_that_is_interrupted(
    be: Backend, rng: np.random.Generator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C goes to who made the step; a text of another call is told."""
    model = model_of(be, tmp_path, context=100, cache_tokens=100)
    other = submit(model, prompt_of(rng, 5), 9)

    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(engines, "chosen", interrupted)
        with pytest.raises(KeyboardInterrupt):
            model.generate(prompt_of(rng, 20), 3)
    assert isinstance(other.error, tilewright.Error)
    assert str(other.error) == "the step that went on with this text was interrupted"
    assert model.engine.cache.available == 7
    assert not model.engine.running and not model.engine.waiting
    assert len(model.generate(prompt_of(rng, 20), 3)) <= 3


def test_threads(be: Backend, rng: np.random.Generator, tmp_path: Path) -> None:
    """Calls of several threads share the steps."""
    from concurrent.futures import ThreadPoolExecutor

    model = model_of(be, tmp_path, context=100, cache_tokens=300)
    prompts = [prompt_of(rng, 5 + i) for i in range(6)]
    expected = [model.generate(one, 10, temperature=1.0, seed=1) for one in prompts]
    with ThreadPoolExecutor(6) as pool:
        found = pool.map(lambda one: model.generate(one, 10, temperature=1.0, seed=1), prompts)
        assert list(found) == expected
