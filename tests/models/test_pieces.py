"""Tokens that become text as they come."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
import tokenizers
from tilewright.models.decoders.pieces import BROKEN, MOST_HELD, Stops, TextPieces
from tilewright.models.tokens import Tokenizer
from tokenizers import decoders, models, pre_tokenizers

TEXT = "naïve ☃ 🙂🙃 «ünïcode»\n  two  spaces 日本語のテキスト ́e 👩‍👩‍👧 end"


def of_bytes() -> Tokenizer:
    """Each byte a token, as byte-level models write what they have no word for."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    words = {one: i for i, one in enumerate(alphabet)}
    words["Ġtwo"] = len(words)
    made = tokenizers.Tokenizer(models.BPE(vocab=words, merges=[]))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    made.add_special_tokens(["<end>"])
    return Tokenizer(made)


def of_sentences() -> Tokenizer:
    """Words with a sign for the space in front, and bytes in hexadecimal."""
    pieces = [f"<0x{i:02X}>" for i in range(256)]
    pieces += ["▁na", "ï", "ve", "▁", "▁two", "▁end", "sp", "ac", "es"]
    words = [("<unk>", 0.0), *((one, -1.0 - i / 1000) for i, one in enumerate(pieces))]
    made = tokenizers.Tokenizer(models.Unigram(words, 0, byte_fallback=True))
    made.pre_tokenizer = pre_tokenizers.Metaspace()
    made.decoder = decoders.Sequence(
        [
            decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(),
            decoders.Strip(" ", 1, 0),
        ]
    )  # fmt: skip
    made.add_special_tokens(["<end>"])
    return Tokenizer(made)


def pieces_of(tokenizer: Tokenizer, tokens: list[int]) -> list[str]:
    made = TextPieces(tokenizer)
    return [*(made.add(one) for one in tokens), made.rest()]


@pytest.mark.parametrize("make", [of_bytes, of_sentences])
def test_whole_characters(make: object) -> None:
    tokenizer = make()  # type: ignore[operator]
    (tokens,) = tokenizer.encode([TEXT])
    special = tokenizer.inner.token_to_id("<end>")
    drawn = random.Random(1)
    for _ in range(20):
        mixed = list(tokens)
        for _ in range(drawn.randrange(4)):
            mixed.insert(drawn.randrange(len(mixed) + 1), special)
        plain = [one for one in mixed if one != special]
        found = pieces_of(tokenizer, mixed)
        assert "".join(found) == tokenizer.decode(plain)
        assert BROKEN not in "".join(found)
    assert tokenizer.decode(tokens) == TEXT


@pytest.mark.parametrize("make", [of_bytes, of_sentences])
def test_what_is_no_character_ends_all_the_same(make: object) -> None:
    tokenizer = make()  # type: ignore[operator]
    name = "<0xF0>" if make is of_sentences else "ð"
    (first,) = [tokenizer.inner.token_to_id(name)]
    # The first byte of four, and no more.
    assert pieces_of(tokenizer, [first]) == ["", BROKEN]
    found = pieces_of(tokenizer, [first] * 100)
    assert "".join(found) == BROKEN * 100
    assert max(map(len, found)) <= MOST_HELD


def test_words(tmp_path: Path) -> None:
    made = tokenizers.Tokenizer(models.WordLevel({"a": 0, "b": 1, "[UNK]": 2}, unk_token="[UNK]"))
    assert pieces_of(Tokenizer(made), [0, 1, 1, 0]) == ["a", " b", " b", " a", ""]


@pytest.mark.parametrize("make", [of_bytes, of_sentences])
def test_behind_a_text(make: object) -> None:
    """A text that goes on has the space that its first word begins with."""
    tokenizer = make()  # type: ignore[operator]
    special = tokenizer.inner.token_to_id("<end>")
    (tokens,) = tokenizer.encode([TEXT])
    for cut in range(1, len(tokens)):
        before = tokenizer.decode(tokens[:cut])
        if BROKEN in before:
            continue
        pieces = TextPieces(tokenizer, [*tokens[:cut], special])
        found = "".join([*map(pieces.add, tokens[cut:]), pieces.rest()])
        assert before + found == tokenizer.decode(tokens)
    if make is of_sentences:
        word = tokenizer.inner.token_to_id("▁two")
        assert TextPieces(tokenizer).add(word) == "two"
        assert TextPieces(tokenizer, [word]).add(word) == " two"


def test_a_token_costs_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    tokenizer = of_bytes()
    (tokens,) = tokenizer.encode([TEXT * 20])
    longest = 0
    decode = tokenizer.decode

    def watched(ids: list[int], skip_special: bool = True) -> str:
        nonlocal longest
        longest = max(longest, len(ids))
        return decode(ids, skip_special)

    monkeypatch.setattr(tokenizer, "decode", watched)
    pieces_of(tokenizer, tokens)
    assert longest <= 2 * MOST_HELD


@pytest.mark.parametrize(
    ("strings", "text", "said", "is_over"),
    [
        ([], "abc", "abc", False),
        (["bc"], "abcd", "a", True),
        (["bd"], "abcd", "abcd", False),
        (["aab"], "aaaab!", "aa", True),
        (["xyz", "b"], "abcxyz", "a", True),
        (["cx", "abc"], "zabcxyz", "z", True),
        (["\n\n"], "a\nb\n\nc", "a\nb", True),
        (["abcabd"], "abcabcabd", "abc", True),
        (["ab"], "a", "a", False),
    ],
)
def test_stops(strings: list[str], text: str, said: str, is_over: bool) -> None:
    for size in (1, 2, 3, len(text)):
        stops = Stops(strings)
        found = [stops.add(text[i : i + size]) for i in range(0, len(text), size)]
        assert "".join([*found, stops.rest()]) == said
        assert stops.is_over == is_over
