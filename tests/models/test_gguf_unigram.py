"""Unigram vocabularies of GGUF's metadata against the package tokenizers and a plain search."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
import tokenizers
from tilewright.models.files import ModelError

from . import made
from .test_gguf_tokens import drawn, tokens_of, wrong
from .unigrams import AWKWARD, BECOMES, SPACES, charsmap, small, unigram_file, words_of


def texts() -> list[str]:
    """Awkward ones, pieces of text, and signs at random."""
    draw = np.random.default_rng(3)
    signs = [*SPACES, *BECOMES, "\u0300", "\u4e2d", "\U0001f9ff", "\u2581", "a", "the", " ", "<s>"]
    return [*AWKWARD, *drawn(), *("".join(draw.choice(signs, 12)) for _ in range(200))]


@pytest.fixture(scope="module")
def theirs() -> tokenizers.Tokenizer:
    return small()


def test_as_tokenizer_json_has_it(theirs: Any, tmp_path: Path) -> None:
    found = tokens_of(unigram_file(tmp_path / "a.gguf", theirs, charsmap()))
    ours = found.tokenizer
    for text in texts():
        # They put no sign of a space before one that is in the text itself; SentencePiece does.
        if "\u2581" in text:
            continue
        expected = theirs.encode(text)
        assert ours.encode(text).ids == expected.ids, text
        assert ours.decode(expected.ids) == theirs.decode(expected.ids), text
    assert (found.model, found.bos_id, found.eos_id, found.unknown_id) == ("t5", 0, 2, 3)
    assert (found.padding_id, found.add_bos, found.add_eos) == (1, True, True)


def best(text: str, scores: dict[str, float], unknown: float) -> float:
    """What the best of all cuts has."""
    reached = [0.0] + [-np.inf] * len(text)
    for end in range(1, len(text) + 1):
        for first in range(max(0, end - 40), end):
            piece = text[first:end]
            if piece in scores:
                reached[end] = max(reached[end], reached[first] + scores[piece])
        if text[end - 1] not in scores:
            reached[end] = max(reached[end], reached[end - 1] + unknown)
    return reached[-1]


@pytest.mark.parametrize("is_prefixed", [False, True])
@pytest.mark.parametrize("is_trimmed", [False, True])
def test_the_best_cut(theirs: Any, is_prefixed: bool, is_trimmed: bool, tmp_path: Path) -> None:
    flags = {"add_space_prefix": is_prefixed, "remove_extra_whitespaces": is_trimmed}
    flags |= {"add_bos_token": False, "add_eos_token": False}
    ours = tokens_of(unigram_file(tmp_path / "a.gguf", theirs, None, **flags)).tokenizer
    tokens, values, types = words_of(theirs)
    scores = {
        token: score for token, score, kind in zip(tokens, values, types, strict=True) if kind == 1
    }
    unknown = min(scores.values()) - 10
    for text in texts():
        if "<" in text:
            continue
        plain = " ".join(one for one in text.split(" ") if one) if is_trimmed else text
        plain = ("\u2581" if is_prefixed and plain else "") + plain.replace(" ", "\u2581")
        found = ours.encode(text)
        total = sum(
            scores[token]
            if i != 3
            else unknown * len(ours.normalizer.normalize_str(text)[slice(*where)])
            for i, token, where in zip(found.ids, found.tokens, at(ours, text), strict=True)
        )
        assert (
            "".join(ours.normalizer.normalize_str(text)[slice(*where)] for where in at(ours, text))
            == plain
        )
        assert total == pytest.approx(best(plain, scores, unknown), abs=1e-6), text


def at(ours: Any, text: str) -> list[tuple[int, int]]:
    """Where its tokens are in what the text becomes."""
    one = tokenizers.Tokenizer.from_str(ours.to_str())
    plain = one.normalizer.normalize_str(text)
    one.normalizer = None
    return [tuple(where) for where in one.encode(plain).offsets]


def test_bytes_of_what_is_unknown(tmp_path: Path) -> None:
    names = [f"<0x{i:02X}>" for i in range(256)]
    for count, ids in ((256, [259, 2 + 0xC3, 2 + 0xA9]), (255, [258, 0])):
        writer = gguf.GGUFWriter(tmp_path / f"{count}.gguf", "bert")
        writer.add_tokenizer_model("t5")
        writer.add_token_list(["<unk>", "\u2581", *names[:count], "a"])
        writer.add_token_scores([0.0, -1.0, *[0.0] * count, -2.0])
        writer.add_token_types([2, 1, *[6] * count, 1])
        made.write(writer)
        found = tokens_of(tmp_path / f"{count}.gguf")
        offset = 258 if count == 256 else 257
        assert found.tokenizer.encode("a\u00e9").ids == [offset, *ids[1:]]
        assert found.unknown_id == 0
    assert tokens_of(tmp_path / "256.gguf").tokenizer.decode([258, 197, 171]) == "a\u00e9"


def test_a_word_of_the_user_is_found_first(tmp_path: Path) -> None:
    writer = gguf.GGUFWriter(tmp_path / "a.gguf", "bert")
    writer.add_tokenizer_model("t5")
    writer.add_token_list(["<unk>", "a", "b", "ab", "b\u3000b"])
    writer.add_token_scores([0.0, -1.0, -1.0, -1.5, -9.0])
    writer.add_token_types([2, 1, 1, 1, 4])
    writer.add_precompiled_charsmap(charsmap())
    writer.add_uint32("tokenizer.ggml.cls_token_id", 1)
    writer.add_sep_token_id(2)
    made.write(writer)
    found = tokens_of(tmp_path / "a.gguf")
    assert found.tokenizer.encode("ab\u3000ba").ids == [1, 4, 1, 2]
    assert (found.bos_id, found.eos_id, found.add_bos, found.add_eos) == (1, 2, False, True)


def damaged(kind: str) -> bytes:
    if kind == "deep":
        return charsmap({"a" * 1100: "b"})
    whole = charsmap({"a": "b", "\u00e9": "\u4e2d"})
    size = struct.unpack("<I", whole[:4])[0]
    units = list(struct.unpack(f"<{size // 4}I", whole[4 : 4 + size]))
    texts = whole[4 + size :]
    if kind == "cut":
        return whole[:100]
    if kind == "short":
        return whole[:3]
    if kind == "odd":
        return struct.pack("<I", size - 2) + whole[4:]
    if kind == "none":
        return struct.pack("<I", 0) + texts
    if kind == "texts":
        return whole[:-1]
    if kind == "utf8":
        return whole[:-2] + b"\xff\0"
    if kind == "outside":
        units[256 ^ 0xC3] |= 0x1FFFFF << 10
    if kind == "root":
        units[0] = 0x3FFFFF << 10
    leaf = next(i for i, unit in enumerate(units) if unit >> 31)
    if kind == "value":
        units[leaf] = 1 << 31 | len(texts)
    if kind == "within":
        units[leaf] = 1 << 31 | texts.index("\u4e2d".encode()) + 1
    if kind == "circle":
        place = 256 ^ 0xC3
        units[place] = 0xC3 | (place ^ 256) << 10
    return struct.pack(f"<I{len(units)}I", size, *units) + texts


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("cut", r"has a trie of \d+ bytes, where 96 are left"),
        ("short", "has 3 bytes, expected the size of a trie"),
        ("odd", r"has a trie of \d+ bytes, expected a multiple of 4 above 0"),
        ("none", "has a trie of 0 bytes, expected a multiple"),
        ("texts", "has texts that do not end with a zero"),
        ("utf8", "has texts that are no UTF-8 at byte"),
        ("outside", r"has unit 451 point beyond the \d+ units"),
        ("root", r"has unit 0 point beyond the \d+ units"),
        ("value", "has a value of 6, where there are 6 bytes of texts"),
        ("deep", "has a trie more than 1024 bytes deep"),
        ("within", "has a value of 3, which lies within a character"),
    ],
)
def test_damaged_tables(theirs: Any, kind: str, message: str, tmp_path: Path) -> None:
    path = unigram_file(tmp_path / "wrong.gguf", theirs, damaged(kind))
    with pytest.raises(ModelError, match=r"wrong\.gguf: .*precompiled_charsmap " + message):
        tokens_of(path)


def test_a_table_that_goes_in_a_circle_ends(theirs: Any, tmp_path: Path) -> None:
    ours = tokens_of(unigram_file(tmp_path / "a.gguf", theirs, damaged("circle"))).tokenizer
    assert ours.normalizer.normalize_str("a\u00e9\u00c3") == "\u2581b\u00e9\u00c3"


def test_random_tables_are_errors_or_work(theirs: Any, tmp_path: Path) -> None:
    draw, whole = np.random.default_rng(5), charsmap({"a": "b", "\u00e9": "\u4e2d"})
    refused = 0
    for _ in range(150):
        data = np.frombuffer(whole, np.uint8).copy()
        used = np.flatnonzero(data)
        places = draw.choice(used, 3)
        data[places] = draw.integers(0, 256, 3)
        path = unigram_file(tmp_path / "a.gguf", theirs, data.tobytes())
        try:
            ours = tokens_of(path).tokenizer
        except ModelError as error:
            assert "a.gguf" in str(error)
            refused += 1
            continue
        for text in ("a\u00e9 \u4e2dx", "\U0001f9ff", "\u0301"):
            ours.encode(text)
    assert 20 < refused < 150


def test_a_table_of_many_characters(theirs: Any, tmp_path: Path) -> None:
    becomes = {chr(i): chr(0x4E00 + i) for i in range(0x100, 0x900)}
    path = unigram_file(tmp_path / "a.gguf", theirs, charsmap(becomes))
    ours = tokens_of(path).tokenizer
    for given, text in becomes.items():
        assert ours.normalizer.normalize_str(given) == "\u2581" + text


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"scores": [1.0]}, r"scores is an array of 1 float32, expected a number for each of 3"),
        ({"scores": None}, r"scores is not there, expected a finite number for each of 3"),
        ({"scores": [0.0, float("inf"), 1.0]}, r"scores is .*, expected a finite number"),
        ({"token_type": [1, 1, 1]}, r"unknown_token_id is not there, expected the id of the token"),
        ({"token_type": [2, 3, 3]}, r"tokens is .*, expected words among them"),
        ({"tokens": ["<unk>", "", "a"]}, r"tokens\[1\] is '', expected at least a character"),
        ({"unknown_token_id": 3}, r"unknown_token_id is 3, expected an integer from 0 to 2"),
        ({"precompiled_charsmap": [1, 2]}, r"precompiled_charsmap is .*, expected an array of byt"),
        ({"precompiled_charsmap": "a"}, r"precompiled_charsmap is 'a', expected an array of bytes"),
    ],
)
def test_wrong_vocabularies(changed: dict[str, Any], message: str, tmp_path: Path) -> None:
    held = {"tokens": ["<unk>", "a", "b"], "scores": [0.0, -1.0, -2.0], "token_type": [2, 1, 1]}
    with pytest.raises(ModelError, match=r"wrong\.gguf: .*" + message):
        tokens_of(wrong(tmp_path, "t5", **held | changed, merges=None))
