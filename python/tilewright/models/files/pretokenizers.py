"""How vocabularies of bytes cut text into words, by GGUF's names in tokenizer.ggml.pre."""

from __future__ import annotations

from typing import NamedTuple

_GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)"
_AFTER_WORDS = r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
_WORDS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+"


class Cut(NamedTuple):
    patterns: tuple[str, ...]
    """Each cuts what those before it left."""
    ignore_merges: bool = False
    """Whether a word of the vocabulary is one token though merges do not lead to it."""
    add_bos: bool = False
    nfc: bool = False
    """Whether text is composed first where a file does not say so."""


# Words of capitals and small letters, which a change from small to capital cuts.
_UPPER, _LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_SHORT = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
_SIGNS = r"| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"


def _cased(ending: str, numbers: str) -> str:
    first = rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}*{_LOWER}+{ending}"
    return rf"{first}|[^\r\n\p{{L}}\p{{N}}]?{_UPPER}+{_LOWER}*{ending}|{numbers}{_SIGNS}"


# As that vocabulary's own file has it.
_HAN = "[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+"
_PLAIN = Cut((_GPT2,))
_DIGITS = Cut((r"\p{N}", _GPT2))
_QWEN2 = Cut((_WORDS + r"|\p{N}" + _AFTER_WORDS,))
_TRIPLES = _WORDS + r"|\p{N}{1,3}" + _AFTER_WORDS

#: by the name in a file
CUTS = {
    "default": Cut((r"[\p{P}\$\+<=>\^~\|]+", _GPT2, r"\p{N}+", r"[0-9][0-9][0-9]")),
    "llama-bpe": Cut((_TRIPLES,), ignore_merges=True, add_bos=True),
    "llama3": Cut((_TRIPLES,), ignore_merges=True, add_bos=True),
    "llama-v3": Cut((_TRIPLES,), ignore_merges=True, add_bos=True),
    "falcon3": Cut((_TRIPLES,), ignore_merges=True, add_bos=True),
    "pixtral": Cut((_TRIPLES,), ignore_merges=True, add_bos=True),
    "dbrx": Cut((_TRIPLES,)),
    "smaug-bpe": Cut((_TRIPLES,)),
    "falcon": Cut((r"[\p{P}\$\+<=>\^~\|`]+", _GPT2, r"[0-9][0-9][0-9]")),
    "qwen2": _QWEN2._replace(nfc=True),
    "deepseek-r1-qwen": _QWEN2,
    "megrez": _QWEN2,
    "stablelm2": _QWEN2,
    "tekken": Cut((_cased("", r"\p{N}"),), ignore_merges=True, add_bos=True),
    "gpt-4o": Cut((_cased(_SHORT, r"\p{N}{1,3}"),)),
    "llama4": Cut((_cased(_SHORT, r"\p{N}{1,3}"),)),
    "gpt-2": _PLAIN,
    "phi-2": _PLAIN,
    "mpt": _PLAIN,
    "olmo": _PLAIN,
    "jais": _PLAIN,
    "starcoder": _DIGITS,
    "refact": _DIGITS,
    "command-r": _DIGITS,
    "smollm": _DIGITS,
    "codeshell": _DIGITS,
    "exaone": _DIGITS,
    "minerva-7b": _DIGITS,
    "trillion": _PLAIN,
    "deepseek-coder": Cut((r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", _HAN, r"\p{N}")),
}
