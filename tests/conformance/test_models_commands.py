"""tilewright generate with a small model of random weights, and an example with real ones."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tilewright
from tilewright.cli import bench_model, main, serve
from tilewright.cli.options import Parser
from tilewright.serving import App

from .model_folders import (
    DECODERS,
    FAMILIES,
    decoder_shapes,
    random_tensors,
    shapes,
    write_decoder,
    write_encoder,
)


def decoder(folder: Path) -> None:
    config = DECODERS["llama2"]
    write_decoder(folder, config, random_tensors(np.random.default_rng(5), decoder_shapes(config)))


def test_generate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    decoder(tmp_path)
    words = ["generate", str(tmp_path), "w1 w2", "--device", "cpu", "--max-tokens", "6"]
    assert main([*words, "--times"]) == 0
    found = capsys.readouterr()
    with tilewright.init_backend("cpu") as be:
        expected = tilewright.models.load(tmp_path, be).generate("w1 w2", 6)
    assert found.out == expected + "\n"
    assert found.err.startswith("first piece after ")
    drawn = ["--temperature", "2", "--seed", "7", "--top-k", "9", "--weights", "int8"]
    assert main([*words, *drawn]) == 0
    first = capsys.readouterr().out
    assert main([*words, *drawn]) == 0
    assert capsys.readouterr().out == first
    assert main([*words, "--temperature", "2", "--seed", "-7"]) == 0
    assert capsys.readouterr().out.startswith("w")
    end = expected.split()[3]
    assert main([*words, "--stop", end, "--stop", "nowhere"]) == 0
    assert capsys.readouterr().out == expected.partition(end)[0] + "\n"


def test_wrong_use(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    decoder(tmp_path / "decoder")
    config = FAMILIES["bert"]
    encoder = tmp_path / "encoder"
    write_encoder(encoder, config, random_tensors(np.random.default_rng(5), shapes(config)))
    for words, code, message in (
        (["generate", str(encoder), "w1"], 2, "has an encoder; tilewright embed is for those"),
        (["embed", "--model", str(tmp_path / "decoder"), "w1"], 2, "has a decoder"),
        (["generate", str(tmp_path / "none"), "w1"], 1, "none"),
        (["generate", str(tmp_path / "decoder"), "w1", "--top-p", "0"], 1, "top_p is 0"),
        (["generate", "m.onnx", "w1"], 2, "m.onnx is a file of ONNX, a function of arrays"),
        (["embed", "--model", "m.ONNX", "w1"], 2, "m.ONNX is a file of ONNX"),
        (["chat", "m.onnx"], 2, "m.onnx is a file of ONNX"),
        (["serve", "m.onnx", "--port", "0"], 2, "m.onnx is a file of ONNX"),
        (["serve", "a", "--embed", "m.onnx", "--port", "0"], 2, "m.onnx is a file of ONNX"),
        (["serve", "a/m", "--embed", "b/m"], 2, "both models are called m; give --name NAME or"),
        (["serve", "a", "--embed-name", "b"], 2, "--embed-name is the name of the model of --emb"),
        (["serve", str(encoder), "--embed", "b"], 2, "is an encoder already"),
        (["generate", str(tmp_path / "decoder"), "\udcff"], 1, "has half of a character"),
    ):
        assert main([*words, "--device", "cpu"]) == code
        assert message in capsys.readouterr().err


def test_names_of_what_is_served(tmp_path: Path) -> None:
    """Of two models that lie in folders of one name."""
    config = FAMILIES["bert"]
    tensors = random_tensors(np.random.default_rng(5), shapes(config))
    write_encoder(tmp_path / "rows" / "model", config, tensors)
    decoder(tmp_path / "model")
    parser = Parser()
    serve.add_arguments(parser)
    words = [str(tmp_path / "model"), "--embed", str(tmp_path / "rows" / "model")]
    with tilewright.init_backend("cpu") as be:
        app = serve.app_of(parser.parse_args([*words, "--embed-name", "rows"]), be)
        assert app.names == ["model", "rows"]
        with pytest.raises(tilewright.InvalidArgument, match="expected two that differ"):
            App(app.decoder, app.encoder, names=("a", "a"))


def test_semantic_search(tmp_path: Path) -> None:
    examples = Path(__file__).resolve().parents[2] / "examples" / "python" / "models"
    (tmp_path / "animals.txt").write_text(
        "A trout hides below the stones of a stream.\n\nThe cat sleeps on the sofa all day."
    )
    (tmp_path / "travel.md").write_text("The train to the coast leaves at nine.")
    words = [str(tmp_path), "Which animals live in water?", "--device", "cpu", "--top", "1"]
    said = []
    for _ in range(2):
        found = subprocess.run(
            [sys.executable, str(examples / "semantic_search.py"), *words],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        said.append(found.stdout.splitlines())
    assert said[0][0] == "3 paragraphs, 3 of them new"
    assert said[1][0] == "3 paragraphs, 0 of them new"
    assert said[0][1] == said[1][1]
    assert said[0][1].endswith("animals.txt: A trout hides below the stones of a stream.")


TEMPLATE = """{{ bos_token }}{% for message in messages %}
{{ message.role }} w{{ loop.index }} {{ message.content }}
{% endfor %}
{% if add_generation_prompt %}w9{% endif %}"""


def with_template(folder: Path, template: str) -> None:
    decoder(folder)
    config = {"bos_token": "w0 ", "eos_token": "[SEP]", "chat_template": template}
    (folder / "tokenizer_config.json").write_text(json.dumps(config))


def test_chat(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with_template(tmp_path, TEMPLATE)
    with tilewright.init_backend("cpu") as be:
        model = tilewright.models.load(tmp_path, be)
        messages = [{"role": "system", "content": "w5"}, {"role": "user", "content": "w6 w7"}]
        words = model.tokenizer.decode(model.chat_tokens(messages), skip_special=False)
        assert words == "w0 [UNK] w1 w5 [UNK] w2 w6 w7 w9"
        parts = [{"type": "text", "text": "w6"}, {"type": "text", "text": " w7"}]
        same = [messages[0], {"role": "user", "content": parts}]
        assert model.chat_tokens(same) == model.chat_tokens(messages)
        first = model.chat(messages, 5)
        assert first == "".join(model.stream(model.chat_tokens(messages), 5))
        both = [{"role": "assistant", "content": first}, {"role": "user", "content": "w8"}]
        second = model.chat(messages + both, 5)
    monkeypatch.setattr(sys, "stdin", io.StringIO("w6 w7\n\nw8\n"))
    options = ["--system", "w5", "--max-tokens", "5", "--temperature", "0", "--device", "cpu"]
    assert main(["chat", str(tmp_path), *options]) == 0
    assert capsys.readouterr().out == f"{first}\n{second}\n"


def test_a_chat_forgets(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What no longer fits into the context, the oldest questions with their answers first."""
    with_template(tmp_path, TEMPLATE)
    options = ["--system", "w5", "--max-tokens", "6", "--temperature", "0", "--device", "cpu"]
    lines = [f"w{i} " * 4 for i in range(6)]
    monkeypatch.setattr(sys, "stdin", io.StringIO("\n".join([*lines, "w7 " * 40, "w8"])))
    assert main(["chat", str(tmp_path), *options, "--context", "40"]) == 0
    found = capsys.readouterr()
    assert found.err.count("(that is too long: all that is said has room for 40 tokens)") == 1
    said = found.out.splitlines()
    assert len(said) == 7
    with tilewright.init_backend("cpu") as be:
        model = tilewright.models.load(tmp_path, be, context=40)
        turns = [{"role": "system", "content": "w5"}]
        for line, answer in zip([*lines, "w8"], said, strict=True):
            turns.append({"role": "user", "content": line.strip()})
            while len(model.chat_tokens(turns)) + 6 > 40:
                del turns[1:3]
            assert model.chat(turns, 6) == answer
            turns.append({"role": "assistant", "content": answer})
        assert len(turns) < 8


def test_an_input_that_is_no_text(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with_template(tmp_path, TEMPLATE)
    for errors in ("strict", "surrogateescape"):
        given = io.TextIOWrapper(io.BytesIO(b"w1\xff\n"), "utf-8", errors)
        monkeypatch.setattr(sys, "stdin", given)
        assert main(["chat", str(tmp_path), "--device", "cpu"]) == 2
        assert "the input is not UTF-8" in capsys.readouterr().err


def test_a_template_of_its_own_file(tmp_path: Path) -> None:
    decoder(tmp_path)
    (tmp_path / "chat_template.jinja").write_text("w3{{ messages[0].content }}")
    with tilewright.init_backend("cpu") as be:
        model = tilewright.models.load(tmp_path, be)
        tokens = model.chat_tokens([{"role": "user", "content": " w4"}])
        assert model.tokenizer.decode(tokens) == "w3 w4"


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("{{ raise_exception('only users') }}", "its chat template fails: only users"),
        ("{% for x in %}", "its chat template fails: "),
        ("{{ messages[9].content.upper() }}", "its chat template fails: "),
        ("{{ ''.__class__.__mro__ }}", "its chat template fails: "),
        ("{% for i in range(10000000) %}x{% endfor %}", "its chat template fails: "),
    ],
)
def test_templates_that_fail(tmp_path: Path, template: str, message: str) -> None:
    with_template(tmp_path, template)
    with tilewright.init_backend("cpu") as be:
        model = tilewright.models.load(tmp_path, be)
        with pytest.raises(tilewright.models.ModelError, match=message):
            model.chat_tokens([{"role": "user", "content": "w1"}])


def test_messages(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with_template(tmp_path, TEMPLATE)
    decoder(tmp_path / "plain")
    with tilewright.init_backend("cpu") as be:
        model = tilewright.models.load(tmp_path, be)
        wrong: list[tuple[Any, str]] = [
            ("w1", "messages is "),
            ([], "messages is "),
            ([{"role": "user"}], r"messages\[0\] is "),
            ([{"role": "user", "content": [{"type": "image"}]}], r"messages\[0\] is "),
            ([{"role": "king", "content": "w1"}], "has the role 'king', expected one of system"),
        ]
        for messages, message in wrong:
            with pytest.raises(tilewright.InvalidArgument, match=message):
                model.chat_tokens(messages)
        plain = tilewright.models.load(tmp_path / "plain", be)
        with pytest.raises(tilewright.InvalidArgument, match="have no chat template"):
            plain.chat([{"role": "user", "content": "w1"}])
    assert main(["chat", str(tmp_path / "plain"), "--device", "cpu"]) == 2
    assert "has no chat template" in capsys.readouterr().err


@pytest.mark.parametrize("weights", [None, "int4"])
def test_bench(
    be: tilewright.Backend, tmp_path: Path, capsys: pytest.CaptureFixture[str], weights: str | None
) -> None:
    decoder(tmp_path)
    words = ["bench", "--model", str(tmp_path), "--device", be.device.id, "--prompt-tokens", "20"]
    words += [] if weights is None else ["--weights", weights]
    assert (
        main([*words, "--tokens", "4", "--together", "2", "--json", str(tmp_path / "a.json")]) == 0
    )
    shown = capsys.readouterr().out
    found = json.loads((tmp_path / "a.json").read_text())
    assert f"{found['step_launches']} launches" in shown and "2 x 20 tokens" in shown
    layers = DECODERS["llama2"]["num_hidden_layers"]
    # On Level Zero products with quantised weights do not norm, nor gate more than one row.
    each = 9 if be.name == "level-zero" and weights else 6
    # Of a step also what copies its numbers, on webgpu a launch each.
    assert each * layers < found["step_launches"] < each * layers + 14
    for name in ("prefill_tokens_per_second", "decode_tokens_per_second", "share_of_bandwidth"):
        assert found[name] > 0
    rest = (found["step_seconds"] - found["step_kernel_seconds"]) * 1e3
    assert ("take longer when each is timed" if rest < 0 else f"{rest:.3f} ms besides") in shown
    found |= {"step_seconds": 0.001, "step_kernel_seconds": 0.002}
    assert "2.000 ms of kernels, which take longer when each is timed\n" in bench_model.text(found)
    assert main([*words, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["together"] == 1


def test_bench_refuses(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = FAMILIES["bert"]
    tensors = random_tensors(np.random.default_rng(5), shapes(config))
    write_encoder(tmp_path / "model", config, tensors)
    for words, message in (
        (["--model", str(tmp_path / "model")], "has an encoder"),
        (["--model", str(tmp_path / "none")], "none"),
        (["--model", "x", "--tokens", "1"], "--tokens is 1, expected at least 2"),
    ):
        assert main(["bench", "--device", "cpu", *words]) != 0
        assert message in capsys.readouterr().err
