"""The examples of models, with small ones of random weights."""

from __future__ import annotations

import importlib.util
import io
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import tilewright as tw
from tilewright import Backend

from .model_folders import (
    DECODERS,
    FAMILIES,
    WORDS,
    decoder_shapes,
    random_tensors,
    shapes,
    write_decoder,
    write_encoder,
    write_safetensors,
)

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "python" / "models"
RANDOM = np.random.default_rng


def example(name: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(EXAMPLES))
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def encoders(folder: Path, labels: int = 1) -> tuple[Path, Path]:
    """Of embeddings, and a cross-encoder."""
    config = FAMILIES["bert"]
    h = config["hidden_size"]
    write_encoder(folder / "encoder", config, random_tensors(RANDOM(5), shapes(config)), "mean")
    tensors = random_tensors(RANDOM(6), shapes(config))
    head = {
        "bert.pooler.dense.weight": (h, h), "bert.pooler.dense.bias": (h,),
        "classifier.weight": (labels, h), "classifier.bias": (labels,),
    }  # fmt: skip
    write_encoder(folder / "cross", config, tensors)
    inner = {f"bert.{name}": one for name, one in tensors.items()}
    write_safetensors(folder / "cross/model.safetensors", inner | random_tensors(RANDOM(7), head))
    return folder / "encoder", folder / "cross"


def test_retrieve_and_rerank(
    tmp_path: Path, be: Backend, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    encoder, cross = encoders(tmp_path)
    rng, texts = RANDOM(8), tmp_path / "texts"
    passages = [" ".join(rng.choice(WORDS, 12)) for _ in range(20)]
    texts.mkdir()
    (texts / "a.txt").write_text("\n\n".join(passages[:11]))
    (texts / "b.md").write_text("\n\n".join(passages[11:]))
    words = [texts, "w1 w2 w3", "--model", encoder, "--reranker", cross, "--nearest", 7, "--top", 4]
    device = be.device.id
    monkeypatch.setattr(sys, "argv", ["", *map(str, words), "--device", device])
    example("retrieve_and_rerank", monkeypatch).main()
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "20 passages, 7 of them scored"

    rows = tw.models.load(encoder, be).embed(passages, normalize=True)
    near = (rows @ tw.models.load(encoder, be).embed("w1 w2 w3", normalize=True)).numpy()
    nearest = np.argsort(-near)[:7]
    pairs = [("w1 w2 w3", passages[i]) for i in nearest]
    scores = tw.models.load(cross, be).score(pairs).numpy()
    order = np.argsort(-scores)[:4]
    assert order.tolist() != [0, 1, 2, 3]
    expected = [
        f"{scores[i]:6.3f}  {'a.txt' if nearest[i] < 11 else 'b.md'}: {passages[nearest[i]][:100]}"
        for i in order
    ]
    assert said[1:] == expected


def test_models_that_cannot_rerank(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder, cross = encoders(tmp_path, labels=3)
    conversing(tmp_path / "decoder")
    texts = tmp_path / "texts"
    texts.mkdir()
    words = [texts, "w1", "--model", encoder, "--device", "cpu", "--reranker"]
    main = example("retrieve_and_rerank", monkeypatch).main
    for reranker, text, message in (
        (cross, "", "has no paragraphs in files of text"),
        (cross, "w1 " * 9, "cross has no classifier with one label"),
        (encoder, "w1 " * 9, "encoder has no classifier with one label"),
        (tmp_path / "decoder", "w1 " * 9, "decoder has a decoder; give an encoder"),
    ):
        (texts / "a.txt").write_text(text)
        monkeypatch.setattr(sys, "argv", ["", *map(str, [*words, reranker])])
        with pytest.raises(SystemExit, match=message):
            main()


TEMPLATE = """{% for message in messages %}
{% if message.role == 'system' %}w1{% elif message.role == 'user' %}w2{% else %}w3{% endif %}
 {{ message.content }}
{% endfor %}
w3"""


def conversing(folder: Path, template: str | None = TEMPLATE) -> None:
    # No token ends a text, so that answers are as long as they may be.
    config = {**DECODERS["llama2"], "eos_token_id": []}
    write_decoder(folder, config, random_tensors(RANDOM(5), decoder_shapes(config)))
    if template is not None:
        (folder / "tokenizer_config.json").write_text(json.dumps({"chat_template": template}))


def say(main: Any, lines: list[str], words: list[object], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["", *map(str, words)])
    monkeypatch.setattr(sys, "stdin", io.StringIO("".join(f"{line}\n" for line in lines)))
    main()


def test_chat_loop(
    tmp_path: Path, be: Backend, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a context of 32 tokens an answer of 8 has room behind a question and one before it."""
    conversing(tmp_path)
    words = [tmp_path, "--system", "w5 w6", "--context", 32, "--max-tokens", 8, "--temperature", 0]
    main = example("chat_loop", monkeypatch).main
    questions = ["w7 w8", "w9", "w10 w11 w12", " ".join(["w4"] * 30), "w13"]
    say(main, ["", *questions], [*words, "--device", be.device.id], monkeypatch)
    said = capsys.readouterr().out.splitlines()

    model = tw.models.load(tmp_path, be, context=32)
    system = {"role": "system", "content": "w5 w6"}
    kept: list[dict[str, str]] = []
    forgotten = 0
    expected = []
    for question in questions:
        if question.startswith("w4"):
            expected.append("(too long: of 32 tokens 8 are for the answer)")
            continue
        kept.append({"role": "user", "content": question})
        # The system's 3 tokens, 1 more than its words of each message, and 1 for the answer's role.
        while 4 + sum(1 + len(one["content"].split()) for one in kept) + 8 > 32:
            kept = kept[2:]
            forgotten += 1
        expected.append(model.chat([system, *kept], 8))
        kept.append({"role": "assistant", "content": expected[-1]})
    assert said == expected
    assert forgotten == 2


class Interrupted(io.StringIO):
    """What is printed; Ctrl-C comes behind the third piece."""

    pieces = 0

    def write(self, text: str) -> int:
        written = super().write(text)
        self.pieces += text != ""
        if text and self.pieces == 3:
            raise KeyboardInterrupt
        return written


def test_ctrl_c_stops_an_answer(
    tmp_path: Path, be: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    conversing(tmp_path)
    out = Interrupted()
    monkeypatch.setattr(sys, "stdout", out)
    # The cache has two pages of 16 tokens: the second answer takes both.
    words = [tmp_path, "--context", 32, "--max-tokens", 8, "--temperature", 0]
    words += ["--device", be.device.id]
    say(example("chat_loop", monkeypatch).main, ["w7 w8", "w9"], words, monkeypatch)
    first, second = out.getvalue().splitlines()

    model = tw.models.load(tmp_path, be, context=32)
    said = [{"role": "user", "content": "w7 w8"}]
    whole = model.chat(said, 8)
    assert first == " ".join(whole.split()[:3]) + " ..."
    # It goes on behind what was said.
    said.append({"role": "assistant", "content": first.removesuffix(" ...")})
    said.append({"role": "user", "content": "w9"})
    assert second == model.chat(said, 8)
    assert len(model.chat_tokens(said)) + 7 > 16


def test_no_template(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    conversing(tmp_path, template=None)
    main = example("chat_loop", monkeypatch).main
    with pytest.raises(SystemExit, match="has no chat template"):
        say(main, ["w1"], [tmp_path, "--device", "cpu"], monkeypatch)
