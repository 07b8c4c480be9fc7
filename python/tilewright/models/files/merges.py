"""The pairs of tokens that a vocabulary joins, first those that are joined first."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

import numpy as np

from tilewright.models.files.errors import fail, shown

if TYPE_CHECKING:
    import numpy.typing as npt

Merge = tuple[str, str]

# The text of all joins, by that of all tokens. A vocabulary of 20,000 of texts has 1.6 times as
# much; tokens of one letter, repeated, would have its square.
MOST_TEXT_FACTOR, MOST_TEXT_BASE = 64, 1 << 20


def check_merges(file: object, key: str, lines: list[str], ids: dict[str, int]) -> list[Merge]:
    """Of lines with two tokens and a space between them, which the second may have as well."""
    merges = []
    for i, line in enumerate(lines):
        cut = line.find(" ", 1)
        left, right = line[:cut], line[cut + 1 :]
        if cut < 0 or left not in ids or right not in ids or left + right not in ids:
            expected = "expected two tokens that are there joined as well, and a space between them"
            fail(file, f"{key}[{i}] is {shown(line)}, {expected}")
        merges.append((left, right))
    return merges


def merges_of_scores(
    file: object, tokens: list[str], scores: npt.NDArray[np.float32], whole: set[int]
) -> list[Merge]:
    """SentencePiece joins the neighbours that together have the highest score: each way to make a
    token of two others, in the order of its score. Tokens of `whole` are not made of others."""
    parts = {token: i for i, token in enumerate(tokens) if i not in whole and token}
    lengths = sorted({len(token) for token in parts})
    made, left, right = array("q"), array("q"), array("q")
    room = MOST_TEXT_FACTOR * sum(map(len, tokens)) + MOST_TEXT_BASE
    for token, i in parts.items():
        size = len(token)
        for cut in lengths:
            if cut >= size:
                break
            first = parts.get(token[:cut])
            second = None if first is None else parts.get(token[cut:])
            if first is None or second is None:
                continue
            made.append(i)
            left.append(first)
            right.append(second)
            room -= size
            if room < 0:
                fail(
                    file, "its tokens are made of each other in more ways than those of a text are"
                )
    ids = np.array(made, np.int64)
    # Of the ways to make one token, that with the longest left part is first.
    cuts = np.array([len(tokens[i]) for i in left], np.int64)
    order = np.lexsort((-cuts, ids, -scores[ids].astype(np.float64)))
    return [(tokens[left[i]], tokens[right[i]]) for i in order]
