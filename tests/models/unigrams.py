"""Small Unigram vocabularies, and SentencePiece's tables of characters, made by hand."""

from __future__ import annotations

import json
import math
import struct
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gguf
import tokenizers

from .made import TEXT, write

SPACES = ("\t", "\n", "\r", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\x1f", "\x85", "\u00a0",
          "\u1680", "\u2000", "\u2003", "\u2009", "\u2028", "\u2029", "\u202f", "\u205f",
          "\u3000")  # fmt: skip
BECOMES = {
    **dict.fromkeys(SPACES, " "),
    **{chr(0xFEE0 + i): chr(i) for i in range(33, 127)},
    "\x00": "", "\x07": "", "\x7f": "", "\u200b": "", "\ufb01": "fi", "\u2460": "1",
    "\u33a1": "m2", "e\u0301": "\u00e9", "\uff76\uff9e": "\u30ac", "\U0001d400": "A",
}  # fmt: skip
AWKWARD = [
    "", " ", "   ", "\u3000", "a", " a", "a ", "  a   b  ", "a\tb\nc\r\nd", "\u00a0x\u2028y\u2029",
    "\u0301", "e\u0301e\u0301", "e\u0301\u0301\u0301\u0301", "caf\u00e9 cafe\u0301", "\uff21\uff42",
    "\u4e2d\u6587 \u306e \u30c6\u30ad\u30b9\u30c8", "\uff76\uff9e\uff76", "\ufb01sh \u33a1\u2460",
    "\U0001f9ff", "\U0001f469\u200d\U0001f469\u200d\U0001f467 x", "\U0001f1e9\U0001f1ea", "\u2581",
    "\u2581\u2581a", "\x01\x07b\x7f", "\u200b", "\U0001d400\U0001d401", "\ud7ff\ufffd\U0010ffff",
    "<mask>", "a <mask> b", "<s></s><unk>", "x" * 300, "\U0001f9ff" * 50, " \u0300 \u0300",
]  # fmt: skip
SIGNS = ("<s>", "<pad>", "</s>", "<unk>")


def charsmap(becomes: Mapping[str, str] = BECOMES) -> bytes:
    """A double array in which each node has 256 units of its own."""
    texts = bytearray()
    nodes: list[dict[int, int]] = [{}]
    values: dict[int, int] = {}
    for given, text in becomes.items():
        at = 0
        for byte in given.encode():
            if byte not in nodes[at]:
                nodes[at][byte] = len(nodes)
                nodes.append({})
            at = nodes[at][byte]
        values[at] = len(texts)
        texts += text.encode() + b"\0"
    units = [0] * 256 * (len(nodes) + 1)
    base = [256 * (i + 1) for i in range(len(nodes))]

    def unit(place: int, label: int, node: int) -> None:
        units[place] = label | (node in values) << 8 | (place ^ base[node]) << 10

    unit(0, 0, 0)
    for i, children in enumerate(nodes):
        if i in values:
            units[base[i]] = 1 << 31 | values[i]
        for byte, child in children.items():
            unit(base[i] ^ byte, byte, child)
    return struct.pack(f"<I{len(units)}I", 4 * len(units), *units) + bytes(texts)


def pieces(size: int) -> list[tuple[str, float]]:
    """Signs, all characters of a text, and what is often in its words, with scores that differ in
    more than their counts, so that no two cuts are alike."""
    more = "fish and \u4e2d\u6587 caf\u00e9 A b x1 m2 \u30ac\u30ac"
    counts: Counter[str] = Counter()
    for word in f"{TEXT} {more}".split():
        whole = f"\u2581{word}"
        for first in range(len(whole)):
            counts.update(whole[first : first + n] for n in range(1, 9) if first + n <= len(whole))
    often = sorted(counts, key=lambda one: (len(one) > 1, -counts[one] * len(one), one))[:size]
    total = sum(counts[one] for one in often)
    scores = (
        math.log(counts[one] / total) - i * 0.6180339887 % 1 / 4 for i, one in enumerate(often)
    )
    return [*((sign, 0.0) for sign in SIGNS), *zip(often, scores, strict=True)]


def small(size: int = 400, *, table: bytes | None = None) -> tokenizers.Tokenizer:
    """As the tokenizer.json of XLM-RoBERTa has it."""
    made = tokenizers.Tokenizer(tokenizers.models.Unigram(pieces(size), SIGNS.index("<unk>")))
    cutting, steps = tokenizers.pre_tokenizers, tokenizers.normalizers
    held = charsmap() if table is None else table
    made.normalizer = steps.Sequence([steps.Precompiled(held)])
    made.pre_tokenizer = cutting.Sequence([cutting.WhitespaceSplit(), cutting.Metaspace()])
    made.add_special_tokens([*SIGNS, "<mask>"])
    made.decoder = tokenizers.decoders.Metaspace()
    made.post_processor = tokenizers.processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>",
        special_tokens=[("<s>", 0), ("</s>", 2)],
    )  # fmt: skip
    return made


def words_of(made: Any) -> tuple[list[str], list[float], list[int]]:
    """Tokens, scores and types, with a place that is of no use as the converter fills tables."""
    pairs = json.loads(made.to_str())["model"]["vocab"]
    tokens = [token for token, _ in pairs] + ["<mask>"]
    scores = [score for _, score in pairs] + [0.0]
    types = [3 if token in (*SIGNS, "<mask>") else 1 for token in tokens]
    types[tokens.index("<unk>")] = 2
    return [*tokens, "[PAD7]"], [*scores, -1000.0], [*types, 5]


def put(writer: Any, made: Any, table: bytes | None, **flags: bool) -> None:
    tokens, scores, types = words_of(made)
    writer.add_tokenizer_model("t5")
    writer.add_tokenizer_pre("default")
    writer.add_token_list(tokens)
    writer.add_token_scores(scores)
    writer.add_token_types(types)
    for name, add in (
        ("<s>", writer.add_bos_token_id), ("</s>", writer.add_eos_token_id),
        ("<unk>", writer.add_unk_token_id), ("<pad>", writer.add_pad_token_id),
        ("<mask>", writer.add_mask_token_id),
    ):  # fmt: skip
        add(tokens.index(name))
    if table is not None:
        writer.add_precompiled_charsmap(table)
    said = {"add_space_prefix": True, "remove_extra_whitespaces": True, "add_bos_token": True}
    for name, value in (said | flags).items():
        writer.add_bool(f"tokenizer.ggml.{name}", value)


def unigram_file(path: Path, made: Any, table: bytes | None, **flags: bool) -> Path:
    writer = gguf.GGUFWriter(path, "bert")
    put(writer, made, table, **flags)
    write(writer)
    return path
