"""Unigram vocabularies: the best of all cuts by scores, over text that a table has made plain."""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright.models.files.charsmap import check_charsmap
from tilewright.models.files.errors import fail

SPACE = "\u2581"
NORMAL, UNKNOWN, USER, BYTE = 1, 2, 4, 6
CHARSMAP = "tokenizer.ggml.precompiled_charsmap"


def unknown_of(of: Any) -> int:
    """The id of what no token covers."""
    found: int | None = of.unknown
    if found is None:
        found = next(iter(of.of_type(UNKNOWN)), None)
    if found is None:
        of.fail("unknown_token_id", "the id of the token of what is in no other")
    assert found is not None
    return found


def unigram(of: Any, library: Any, unknown: int) -> Any:
    """A tokenizers.Tokenizer without what is put around a text."""
    given = of.numbers("scores", "f")
    if given is None or not np.isfinite(given).all():
        of.fail("scores", f"a finite number for each of {len(of.tokens)} tokens")
    empty = of.ids.get("")
    if empty is not None:
        fail(of.file, f"tokenizer.ggml.tokens[{empty}] is '', expected at least a character")
    scores = np.asarray(given, np.float64)
    kinds = np.asarray(of.types)
    is_word = kinds == NORMAL
    is_word[unknown] = False
    if not is_word.any():
        of.fail("tokens", "words among them, of the type 1")
    # What is unknown costs more than the rarest word; what only fills a table is no word.
    scores = np.where(is_word | (kinds == USER), scores, np.maximum(scores, scores[is_word].min()))
    has_bytes = all(
        kinds[of.ids[name]] == BYTE if name in of.ids else False
        for name in (f"<0x{i:02X}>" for i in range(256))
    )
    tokenizer = library.Tokenizer(
        library.models.Unigram(
            list(zip(of.tokens, scores.tolist(), strict=True)), unknown, has_bytes
        )
    )
    normalizers, decoders = library.normalizers, library.decoders
    steps = []
    charsmap = charsmap_of(of)
    if charsmap:
        steps.append(normalizers.Precompiled(charsmap))
    if of.flag("remove_extra_whitespaces", False):
        # By \A and \z, for ^ and $ are those of lines; behind the joining, so that runs are short.
        for pattern, becomes in ((" {2,}", " "), (r"\A ", ""), (r" \z", "")):
            steps.append(normalizers.Replace(library.Regex(pattern), becomes))
    back = [decoders.Replace(SPACE, " "), decoders.ByteFallback(), decoders.Fuse()]
    if of.flag("add_space_prefix", False):
        steps.append(normalizers.Prepend(SPACE))
        back.append(decoders.Strip(" ", 1, 0))
    steps.append(normalizers.Replace(" ", SPACE))
    tokenizer.normalizer = normalizers.Sequence(steps)
    tokenizer.decoder = decoders.Sequence(back)
    return tokenizer


def charsmap_of(of: Any) -> bytes:
    found = of.metadata.get(CHARSMAP)
    if found is None:
        return b""
    if not isinstance(found, np.ndarray) or found.dtype.kind not in "iu" or found.itemsize != 1:
        of.fail("precompiled_charsmap", "an array of bytes")
    data: bytes = found.tobytes()
    if data:
        check_charsmap(of.file, CHARSMAP, data)
    return data
