"""tilewright embed, with the model that a package carries."""

from __future__ import annotations

import io
import json
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from tilewright.cli import main
from tilewright.cli.embed import default_model

TEXTS = ["A trout hides below the stones.", "The train leaves at nine.", "Whales live in the sea."]


def test_lines(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["embed", "--device", "cpu", *TEXTS]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["text"] for line in lines] == TEXTS
    rows = np.array([line["embedding"] for line in lines])
    assert rows.shape == (3, 384)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)


def test_similar(capsys: pytest.CaptureFixture[str]) -> None:
    question = "Which animals live in water?"
    for weights in ("float32", "int8"):
        options = ["--device", "cpu", "--weights", weights, "--top", "2"]
        assert main(["embed", *options, "--similar-to", question, *TEXTS]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert [line.partition("  ")[2] for line in lines] == [TEXTS[2], TEXTS[0]]


def test_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text, out = tmp_path / "lines.txt", tmp_path / "rows.npy"
    text.write_text("\n".join(TEXTS) + "\n\n", encoding="utf-8")
    assert main(["embed", "--device", "cpu", "--file", str(text), "--out", str(out)]) == 0
    assert capsys.readouterr().out == ""
    assert np.load(out).shape == (4, 384)


def test_rows_are_of_lines(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Empty ones among them, and what else ends a line elsewhere is in one."""
    lines = ["one", "", "two \u2028 three\x0cfour\x85", "  ", "five"]
    data = b"\xef\xbb\xbf" + "one\r\n\ntwo \u2028 three\x0cfour\x85\n  \r\nfive".encode()
    text = tmp_path / "lines.txt"
    text.write_bytes(data)
    assert main(["embed", "--device", "cpu", "--file", str(text)]) == 0
    first = capsys.readouterr().out
    assert [json.loads(line)["text"] for line in first.splitlines()] == lines
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data), "ascii"))
    assert main(["embed", "--device", "cpu", "--file", "-"]) == 0
    assert capsys.readouterr().out == first
    assert main(["embed", "--device", "cpu", "--file", str(text), "--similar-to", "1"]) == 0
    ranked = capsys.readouterr().out.split("\n")[:-1]
    assert {line.partition("  ")[2] for line in ranked} == {"one", lines[2], "five"}


def test_where_embeddings_are_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Looked at before a model is."""
    for place, message in (
        (tmp_path / "none" / "x.npy", "there is no folder"), (tmp_path, "it is a folder"),
    ):  # fmt: skip
        words = ["embed", "a", "--model", "no model", "--out", str(place)]
        assert main([*words, "--device", "cpu"]) == 2
        assert f"cannot write {place}: {message}" in capsys.readouterr().err


def test_prompts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = tmp_path / "model"
    shutil.copytree(default_model(), model)
    said = {"prompts": {"query": "Animals: "}}
    (model / "config_sentence_transformers.json").write_text(json.dumps(said))
    words = ["embed", "--device", "cpu", "--model", str(model), "trout"]
    assert main(["embed", "--device", "cpu", "Animals: trout", "trout"]) == 0
    rows = [json.loads(line)["embedding"] for line in capsys.readouterr().out.splitlines()]
    for options, expected in (([], rows[1]), (["--prompt", "query"], rows[0])):
        assert main([*words, *options]) == 0
        found = json.loads(capsys.readouterr().out)
        assert found["text"] == "trout"
        np.testing.assert_allclose(found["embedding"], expected, rtol=0, atol=1e-5)
    assert main([*words, "--similar-to", "trout", "--query-prompt", "query"]) == 0
    assert capsys.readouterr().out.split()[0] == f"{np.dot(*rows):.3f}"
    assert main([*words, "--prompt", "passage"]) == 1
    assert "prompt_name is 'passage', and the model's files have 'query'" in capsys.readouterr().err


def test_half_of_a_character(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["embed", "--device", "cpu", "a", "b\udcff"]) == 1
    assert "the text 'b\\udcff' has half of a character" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "there is no text; give some, or --file FILE"),
        (["--file", "nowhere.txt"], "nowhere.txt cannot be read"),
        (["a", "--top", "0"], "--top is 0, expected 1 or more"),
    ],
)
def test_wrong_use(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["embed", "--device", "cpu", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_a_folder_without_a_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["embed", "--device", "cpu", "--model", str(tmp_path), "a"]) == 1
    assert "config.json" in capsys.readouterr().err
