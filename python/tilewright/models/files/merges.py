"""The pairs of tokens that a vocabulary joins, first those that are joined first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewright.models.files.errors import fail, shown

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

Merge = tuple[str, str]


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
    tokens: list[str], scores: npt.NDArray[np.float32], whole: set[int]
) -> list[Merge]:
    """SentencePiece joins the neighbours that together have the highest score: each way to make a
    token of two others, in the order of its score. Tokens of `whole` are not made of others."""
    parts = {token for i, token in enumerate(tokens) if i not in whole and token}
    lengths = sorted({len(token) for token in parts})
    found: list[tuple[float, int, int, Merge]] = []
    for i, token in enumerate(tokens):
        if i in whole:
            continue
        score, size = float(scores[i]), len(token)
        for cut in lengths:
            if cut >= size:
                break
            left = token[:cut]
            if left in parts and token[cut:] in parts:
                # Of the ways to make one token, that with the longest left part is first.
                found.append((-score, i, -cut, (left, token[cut:])))
    found.sort()
    return [merge for _, _, _, merge in found]
