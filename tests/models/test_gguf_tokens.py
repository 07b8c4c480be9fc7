"""Tokenizers of GGUF's metadata against those that the vocabularies are of."""

from __future__ import annotations

import importlib
import itertools
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
import tokenizers
from tilewright.models.files import GgufTokens, ModelError, gguf_tokens, open_gguf
from tilewright.models.files.pretokenizers import CUTS

from . import made
from .made import TEXT, TEXTS


def tokens_of(path: Path) -> GgufTokens:
    with open_gguf(path) as found:
        return gguf_tokens(found.metadata)


def drawn(count: int = 200) -> list[str]:
    """Pieces of the text, and signs at random."""
    draw = random.Random(0)
    signs = [*TEXT, "\u0300", "\u3042", "\U0001f9ff", "'", "'s", " ", "\n", "\t", "0", "42"]
    texts = []
    for i in range(count):
        at = draw.randrange(len(TEXT))
        piece = TEXT[at : at + draw.randrange(40)]
        texts.append(piece if i % 2 else "".join(draw.choices(signs, k=draw.randrange(30))))
    return texts


def assert_same(ours: Any, theirs: Any, texts: list[str], **options: bool) -> None:
    for text in texts:
        expected = theirs.encode(text, **options)
        found = ours.encode(text, **options)
        assert found.ids == expected.ids, text
        assert found.tokens == expected.tokens, text
        assert ours.decode(found.ids) == theirs.decode(expected.ids), text


# What GPT-2's own pre-tokenizer does by other means, and others' as their tokenizer.json has them.
REGEXES = {
    "llama-bpe": r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|"
    r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    "qwen2": r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}|"
    r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    "tekken": r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|"
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}|"
    r" ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    "gpt-4o": r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+"
    r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}|"
    r" ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
}


def own(pre: str) -> tokenizers.Tokenizer:
    theirs = made.byte_level()
    cutting = tokenizers.pre_tokenizers
    if pre in REGEXES:
        theirs.pre_tokenizer = cutting.Sequence(
            [
                cutting.Split(tokenizers.Regex(REGEXES[pre]), "isolated"),
                cutting.ByteLevel(add_prefix_space=False, use_regex=False),
            ]
        )
    elif pre == "smollm":
        theirs.pre_tokenizer = cutting.Sequence(
            [cutting.Digits(individual_digits=True), cutting.ByteLevel(add_prefix_space=False)]
        )
    if pre == "qwen2":
        theirs.normalizer = tokenizers.normalizers.NFC()
    return theirs


@pytest.mark.parametrize("pre", ["gpt-2", "llama-bpe", "qwen2", "smollm", "tekken", "gpt-4o"])
def test_byte_level(pre: str, tmp_path: Path) -> None:
    found = tokens_of(made.byte_level_file(tmp_path / "a.gguf", pre, add_bos_token=False))
    theirs = own(pre)
    texts = [*TEXTS, *drawn(), "a<|end|>b <|end|>"]
    assert_same(found.tokenizer, theirs, texts)
    for text in texts:
        ids = found.tokenizer.encode(text).ids
        if pre != "qwen2":
            assert found.tokenizer.decode(ids, skip_special_tokens=False) == text
    end = theirs.token_to_id("<|end|>")
    assert (found.model, found.bos_id, found.eos_id, found.end_ids) == ("gpt2", end, end, (end,))
    assert (found.add_bos, found.add_eos, found.unknown_id) == (False, False, None)
    assert found.chat_template == "{{ messages }}"


def words(pre: str, text: str, folder: Path) -> list[str]:
    """As they are cut."""
    found = tokens_of(made.byte_level_file(folder / f"{pre}.gguf", pre))
    return [text[a:b] for _, (a, b) in found.tokenizer.pre_tokenizer.pre_tokenize_str(text)]


def test_default_cuts(tmp_path: Path) -> None:
    """Signs first, then words, then numbers in threes from their start."""
    text = "It's 12345 a+b, ok...  x"
    cut = ["It", "'", "s", " ", "123", "45", " a", "+", "b", ",", " ok", "...", " ", " x"]
    assert words("default", text, tmp_path) == cut
    found = tokens_of(made.byte_level_file(tmp_path / "a.gguf", None))
    assert found.tokenizer.to_str() == tokens_of(tmp_path / "default.gguf").tokenizer.to_str()


def test_every_name_cuts(tmp_path: Path) -> None:
    for pre in CUTS:
        for text in TEXTS:
            assert "".join(words(pre, text, tmp_path)) == text.replace("e\u0301", "e\u0301")


def test_cuts_of_numbers(tmp_path: Path) -> None:
    for pre, cut in (
        ("gpt-2", ["x", "12345"]),
        ("qwen2", ["x", "1", "2", "3", "4", "5"]),
        ("llama-bpe", ["x", "123", "45"]),
        ("smollm", ["x", "1", "2", "3", "4", "5"]),
        ("tekken", ["x", "1", "2", "3", "4", "5"]),
        ("gpt-4o", ["x", "123", "45"]),
        ("deepseek-coder", ["x", "1", "2", "3", "4", "5"]),
    ):
        assert words(pre, "x12345", tmp_path) == cut


def test_cuts_of_capitals_and_signs(tmp_path: Path) -> None:
    text = "camelCase IT'S a/b//\n"
    for pre, cut in (
        ("tekken", ["camel", "Case", " IT", "'S", " a", "/b", "//\n"]),
        ("gpt-4o", ["camel", "Case", " IT'S", " a", "/b", "//\n"]),
        ("llama-bpe", ["camelCase", " IT", "'S", " a", "/b", "//\n"]),
        ("deepseek-coder", ["camelCase", " IT", "'", "S", " a", "/", "b", "//", "\n"]),
    ):
        assert words(pre, text, tmp_path) == cut


def test_a_word_of_the_vocabulary_without_merges(tmp_path: Path) -> None:
    for pre, ids in (("llama-bpe", [2]), ("gpt-2", [0, 1])):
        writer = gguf.GGUFWriter(tmp_path / f"{pre}.gguf", "llama")
        writer.add_tokenizer_model("gpt2")
        writer.add_tokenizer_pre(pre)
        writer.add_token_list(["a", "b", "ab", "aa"])
        writer.add_token_merges(["a a"])
        made.write(writer)
        assert tokens_of(tmp_path / f"{pre}.gguf").tokenizer.encode("ab").ids == ids


def test_scores(tmp_path: Path) -> None:
    found = tokens_of(made.scores_file(tmp_path / "a.gguf", add_bos_token=False))
    theirs = made.pieces()
    texts = [*TEXTS, *drawn(), "a</s>b <s> c", "<0x41>"]
    assert_same(found.tokenizer, theirs, texts)
    assert (found.bos_id, found.eos_id, found.unknown_id) == (1, 2, 0)
    assert found.chat_template is None


def joined_by_scores(text: str, ids: dict[str, int], scores: list[float]) -> list[int]:
    """SentencePiece's rule, word for word: the neighbours whose joint token has the best score are
    joined, the leftmost of equals."""
    parts = list(text)
    while True:
        pairs = [(a + b, i) for i, (a, b) in enumerate(itertools.pairwise(parts))]
        known = [(-scores[ids[pair]], i) for pair, i in pairs if pair in ids]
        if not known:
            break
        _, i = min(known)
        parts[i : i + 2] = [parts[i] + parts[i + 1]]
    found = []
    for part in parts:
        found += [ids[part]] if part in ids else [ids[f"<0x{b:02X}>"] for b in part.encode()]
    return found


def test_scores_by_their_rule(tmp_path: Path) -> None:
    """Of a vocabulary that no trainer made: pieces of up to 4 letters with scores at random."""
    rng = np.random.default_rng(3)
    letters = "abc\u2581"
    pieces = sorted({"".join(rng.choice(list(letters), n)) for n in (2, 3, 4) for _ in range(25)})
    tokens = ["<unk>", "<s>", "</s>", *(f"<0x{i:02X}>" for i in range(256)), *letters, *pieces]
    scores = (
        [0.0] * 3 + [0.0] * 256 + [-1e6] * 4 + rng.permutation(len(pieces)).astype(float).tolist()
    )
    writer = gguf.GGUFWriter(tmp_path / "a.gguf", "llama")
    writer.add_tokenizer_model("llama")
    writer.add_token_list(tokens)
    writer.add_token_types([2, 3, 3, *[6] * 256, *[1] * (4 + len(pieces))])
    writer.add_token_scores(scores)
    writer.add_bool("tokenizer.ggml.add_space_prefix", False)
    made.write(writer)
    found = tokens_of(tmp_path / "a.gguf")
    ids = {token: i for i, token in enumerate(tokens)}
    for _ in range(300):
        text = "".join(rng.choice(["a", "b", "c", " ", "\u00e9"], rng.integers(1, 30)))
        expected = joined_by_scores(text.replace(" ", "\u2581"), ids, scores)
        assert found.tokenizer.encode(text, add_special_tokens=False).ids == expected, text
        assert found.tokenizer.decode(expected) == text


def repeated(longest: int) -> list[str]:
    return ["<unk>", *("a" * n for n in range(1, longest + 1))]


def repeated_file(path: Path, longest: int) -> Path:
    """Tokens of one letter, of each number up to one."""
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_tokenizer_model("llama")
    writer.add_token_list(repeated(longest))
    writer.add_token_scores([-float(i) for i in range(longest + 1)])
    writer.add_bool("tokenizer.ggml.add_space_prefix", False)
    made.write(writer)
    return path


def test_tokens_that_are_made_of_each_other(tmp_path: Path) -> None:
    """The ways grow with the square of their number, and their text with its cube."""
    found = tokens_of(repeated_file(tmp_path / "a.gguf", 20))
    assert found.tokenizer.encode("a" * 50).ids == joined_by_scores(
        "a" * 50, {token: i for i, token in enumerate(repeated(20))}, [-float(i) for i in range(21)]
    )
    with pytest.raises(ModelError, match="made of each other in more ways"):
        tokens_of(repeated_file(tmp_path / "b.gguf", 1000))


def test_word_piece(tmp_path: Path) -> None:
    found = tokens_of(made.word_piece_file(tmp_path / "a.gguf"))
    theirs = made.word_piece()
    assert_same(found.tokenizer, theirs, [*TEXTS, *drawn(), "a [SEP] b [MASK]"])
    pair = found.tokenizer.encode("a fox", "the dog")
    expected = theirs.encode("a fox", "the dog")
    assert (pair.ids, pair.type_ids) == (expected.ids, expected.type_ids)
    names = ("[CLS]", "[SEP]", "[UNK]", "[PAD]", "[SEP]", "[MASK]")
    ids = (found.bos_id, found.eos_id, found.unknown_id, found.padding_id)
    assert (*ids, found.separator_id, found.mask_id) == tuple(map(theirs.token_to_id, names))
    assert (found.model, found.add_bos, found.add_eos) == ("bert", True, True)


def test_word_piece_with_cases(tmp_path: Path) -> None:
    flags = {"normalizer.lowercase": False, "normalizer.strip_accents": False}
    found = tokens_of(made.word_piece_file(tmp_path / "a.gguf", **flags))
    theirs = made.word_piece()
    theirs.normalizer = tokenizers.normalizers.BertNormalizer(lowercase=False, strip_accents=False)
    assert_same(found.tokenizer, theirs, [*TEXTS])


@pytest.mark.parametrize("file", [made.byte_level_file, made.scores_file])
@pytest.mark.parametrize(("bos", "eos"), [(True, False), (False, True), (True, True)])
def test_what_is_put_around(
    file: Callable[..., Path], bos: bool, eos: bool, tmp_path: Path
) -> None:
    found = tokens_of(file(tmp_path / "a.gguf", add_bos_token=bos, add_eos_token=eos))
    bare = found.tokenizer.encode("a fox", add_special_tokens=False).ids
    around = [[found.bos_id] * bos, [found.eos_id] * eos]
    assert found.tokenizer.encode("a fox").ids == around[0] + bare + around[1]
    assert (found.add_bos, found.add_eos) == (bos, eos)
    assert found.tokenizer.decode(found.tokenizer.encode("a fox").ids) == "a fox"
    pair = found.tokenizer.encode("a fox", "a fox")
    assert pair.ids == (around[0] + bare + around[1]) * 2
    assert sum(pair.type_ids) * 2 == len(pair.ids)


def test_tokens_that_users_defined(tmp_path: Path) -> None:
    writer = gguf.GGUFWriter(tmp_path / "a.gguf", "llama")
    writer.add_tokenizer_model("llama")
    writer.add_token_list(["<unk>", "<s>", "a", "b", "\u2581", "  ", "ab"])
    writer.add_token_types([2, 3, 1, 1, 1, 4, 1])
    writer.add_token_scores([0.0] * 7)
    writer.add_eot_token_id(1)
    made.write(writer)
    found = tokens_of(tmp_path / "a.gguf")
    # Each piece of text between them begins with a space of its own.
    assert found.tokenizer.encode("ab  b").ids == [4, 6, 5, 4, 3]
    assert found.tokenizer.decode([4, 6, 5, 3]) == "ab  b"
    assert found.end_ids == (1,)
    assert not found.add_bos


def wrong(folder: Path, model: str = "gpt2", **given: Any) -> Path:
    """A small file, with values in place of its own; None leaves one out."""
    values = {"tokens": ["a", "b", "ab"], "merges": ["a b"], "scores": [0.5, 0.5, 1.0]}
    values |= {"token_type": [1, 1, 1], "model": model} | given
    writer = gguf.GGUFWriter(folder / "wrong.gguf", "llama")
    for name, value in values.items():
        key = f"tokenizer.ggml.{name}"
        if isinstance(value, list):
            writer.add_array(key, value)
        elif isinstance(value, str):
            writer.add_string(key, value)
        elif value is not None:
            writer.add_uint32(key, value)
    made.write(writer)
    return folder / "wrong.gguf"


WRONG: tuple[tuple[dict[str, Any], str], ...] = (
    ({"model": None}, r"tokenizer\.ggml\.model is not there, expected one of llama, gpt2, bert"),
    ({"model": "rwkv"}, r"model is 'rwkv', expected one of llama, gpt2, bert, t5"),
    ({"model": "gpt2", "pre": "nobody"}, r"pre is 'nobody', expected one of default, llama-bpe,"),
    ({"tokens": None}, r"tokens is not there, expected a list of strings"),
    ({"tokens": [1, 2]}, r"tokens is an array of 2 int32, expected a list of strings"),
    ({"tokens": "abc"}, r"tokens is 'abc', expected a list of strings"),
    ({"tokens": ["a", "b", "a"]}, r"tokens\[0\] and \[2\] are both 'a', expected each token once"),
    ({"tokens": ["a", "b", "x" * 2000]}, r"tokens\[2\] is 'x+'\.\.\. of length 2000, expected"),
    ({"token_type": [1]}, r"token_type is an array of 1 int32, expected a number for each of 3"),
    ({"token_type": ["a", "b", "c"]}, r"token_type is a list of length 3, expected a number"),
    ({"merges": None}, r"merges is not there, expected a list of strings"),
    ({"merges": ["ab"]}, r"merges\[0\] is 'ab', expected two tokens"),
    ({"merges": ["a c"]}, r"merges\[0\] is 'a c', expected two tokens"),
    ({"merges": ["a b", "b a"]}, r"merges\[1\] is 'b a', expected two tokens"),
    ({"merges": [" a"]}, r"merges\[0\] is ' a', expected two tokens"),
    ({"eos_token_id": 3}, r"eos_token_id is 3, expected an integer from 0 to 2"),
    ({"eos_token_id": "a"}, r"eos_token_id is 'a', expected an integer"),
    ({"add_bos_token": 1}, r"add_bos_token is 1, expected true or false"),
    ({"model": "llama", "scores": None}, r"scores is not there, expected a finite number"),
    ({"model": "llama", "scores": [1.0]}, r"scores is an array of 1 float32, expected a number"),
    ({"model": "llama", "scores": [1.0, float("nan"), 0.0]}, r"scores is .*, expected a finite"),
    ({"model": "bert"}, r"there is no token \[CLS\], expected it or the key of its id"),
    (
        {"model": "bert", "tokens": ["\u2581##a", "a", "b"]},
        r"tokens\[0\] and \[1\] both stand for '##a'",
    ),
)


@pytest.mark.parametrize(("given", "message"), WRONG)
def test_wrong_vocabularies(given: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"wrong\.gguf: .*" + message):
        tokens_of(wrong(tmp_path, **given))


def test_without_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = made.byte_level_file(tmp_path / "a.gguf")

    def absent(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr(importlib, "import_module", absent)
    with pytest.raises(ImportError, match=r"pip install tilewright\[models\]"):
        tokens_of(path)


def test_nothing_is_imported_before_it_is_asked_for() -> None:
    code = (
        "import sys, tilewright as tw\n"
        "assert not [name for name in sys.modules if name.startswith('tilewright.models')]\n"
        "assert tw.models.__doc__\n"
        "import tilewright.models.files\n"
        "assert tw.models.files.open_gguf\n"
        "print('tokenizers' in sys.modules, 'models' in dir(tw))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.stdout, done.stderr) == ("False True\n", "")
