"""The next token of each sequence, chosen on the device."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from tilewright.namespace.creation import arange, asarray
from tilewright.namespace.elementwise import exp, isnan, where
from tilewright.namespace.manipulation import concat
from tilewright.namespace.reductions import argmax, cumulative_sum, max, sum
from tilewright.namespace.selection import put_along_axis, take, take_along_axis
from tilewright.namespace.sorting import topk
from tilewright.operands import INT32, invalid

if TYPE_CHECKING:
    import numpy.typing as npt

    from tilewright.array import Array

Way: TypeAlias = "Callable[[Array, Sequence[Sampling], npt.NDArray[np.float32], bool], Array]"

# Of the likeliest tokens, those that are looked at first where top_k does not say how many.
LOOKED_AT = 1024
# In the place of a token that may not be among them.
UNSURE = -1
# In the place of one that nothing says.
NOT_A_NUMBER = -2


@dataclass(frozen=True)
class Sampling:
    """How a token is drawn: of temperature 0 the likeliest is taken. Of the others top_k keeps so
    many, top_p the likeliest that have this share together, min_p those that have this part of the
    likeliest's share. repetition_penalty divides what was seen already."""

    temperature: float = 0.0
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0
    repetition_penalty: float = 1.0

    def way(self, vocabulary: int) -> Way:
        """What chooses tokens so. Rows of one way go together."""
        if self.temperature == 0:
            return likeliest
        if 0 < self.top_k < vocabulary:
            return of_few
        return of_all if self.top_p == 1 and self.min_p == 0 else of_best

    def check(self, call: str) -> None:
        for name, low, high in (
            ("temperature", 0, 1e4), ("top_k", 0, 1 << 24), ("top_p", 0, 1), ("min_p", 0, 1),
        ):  # fmt: skip
            value = getattr(self, name)
            if not isinstance(value, int | float) or not low <= value <= high:
                invalid(call, f"{name} is {value!r}, expected a number from {low} to {high:g}")
        if not isinstance(self.top_k, int):
            invalid(call, f"top_k is {self.top_k!r}, expected an integer")
        if not self.top_p > 0:
            invalid(call, f"top_p is {self.top_p}, expected above 0")
        if not 0 < self.repetition_penalty <= 1e4:
            invalid(
                call, f"repetition_penalty is {self.repetition_penalty}, expected above 0, to 1e4"
            )


def draws_of(seed: int | None, which: int = 0) -> np.random.Generator:
    """What the tokens of a text are drawn by; of one seed, others for each `which`. Negative seeds
    are those of 64 bits that lie as far below 2^64."""
    return np.random.default_rng(None if seed is None else [seed % (1 << 64), which])


def chosen(
    logits: Array,
    hows: Sequence[Sampling],
    seen: Sequence[Sequence[int]],
    uniform: npt.NDArray[np.float32],
    whole: bool = False,
) -> Array:
    """A token of each row, int32, chosen as `hows` says of the row; `uniform` are numbers in
    [0, 1), one for each. UNSURE where too many tokens are likely for LOOKED_AT of them to tell;
    with `whole` all are put in order."""
    if any(how.repetition_penalty != 1 for how in hows):
        logits = penalised(logits, [how.repetition_penalty for how in hows], seen)
    vocabulary = logits.shape[-1]
    groups: dict[Way, list[int]] = {}
    for row, how in enumerate(hows):
        groups.setdefault(how.way(vocabulary), []).append(row)
    if len(groups) == 1:
        (way,) = groups
        return way(logits, hows, uniform, whole)
    parts = [
        way(_rows(logits, rows), [hows[row] for row in rows], uniform[rows], whole)
        for way, rows in groups.items()
    ]
    order = np.argsort([row for rows in groups.values() for row in rows])
    return _rows(concat(parts, axis=0), order)


def checked(tokens: Array, logits: Array) -> Array:
    """The tokens that were chosen, and NOT_A_NUMBER where a logit is none."""
    return where(isnan(max(logits, axis=-1)), NOT_A_NUMBER, tokens)


def likeliest(logits: Array, *_: Any) -> Array:
    found: Array = argmax(logits, axis=-1)
    return found.astype(INT32)


def of_all(
    logits: Array, hows: Sequence[Sampling], uniform: npt.NDArray[np.float32], *_: Any
) -> Array:
    """Drawn from the whole vocabulary, which needs no order."""
    # Below 1 also as a part of a sum of float32.
    below = np.minimum(uniform, np.float32(1 - 2**-23))
    options = np.array([[how.temperature for how in hows], below], np.float32)
    whole = asarray(options, device=logits.backend)
    powers = exp((logits - max(logits, axis=-1, keepdims=True)) / whole[0][:, None])
    ends = cumulative_sum(powers, axis=-1)
    reached = ends > whole[1][:, None] * max(ends, axis=-1, keepdims=True)
    # The first place that the number reaches, of those that have a share.
    found: Array = argmax(where(reached & (powers > 0), 1, 0), axis=-1)
    return found.astype(INT32)


def of_few(
    logits: Array, hows: Sequence[Sampling], uniform: npt.NDArray[np.float32], *_: Any
) -> Array:
    """Drawn from as many of the likeliest as top_k says."""
    counts = [how.top_k for how in hows]
    return _drawn(logits, hows, uniform, counts, builtins.max(counts))[0]


def of_best(
    logits: Array, hows: Sequence[Sampling], uniform: npt.NDArray[np.float32], whole: bool
) -> Array:
    """Drawn from the likeliest that top_p and min_p leave."""
    vocabulary = logits.shape[-1]
    looked = vocabulary if whole else builtins.min(vocabulary, LOOKED_AT)
    found, is_last_kept = _drawn(logits, hows, uniform, [vocabulary] * len(hows), looked)
    return found if looked == vocabulary else where(is_last_kept, UNSURE, found)


def _drawn(
    logits: Array,
    hows: Sequence[Sampling],
    uniform: npt.NDArray[np.float32],
    counts: Sequence[int],
    looked: int,
) -> tuple[Array, Array]:
    """Drawn from so many of the likeliest, which are put in order, and whether the last of them is
    one that may be drawn: then others behind it may be so too."""
    best, places = topk(logits, looked, axis=-1)
    # One upload for all that rows have of their own.
    options = [
        [how.temperature, how.top_p, how.min_p, count, number]
        for how, count, number in zip(hows, counts, uniform, strict=True)
    ]
    held = asarray(np.array(options, np.float32).T.copy(), device=logits.backend)
    temperature, top_p, min_p, top_k, numbers = (held[i][:, None] for i in range(5))
    powers = exp((best - best[:, :1]) / temperature)
    if builtins.min(counts) < looked:
        ranks = arange(best.shape[-1], dtype=np.float32, device=logits.backend)
        powers = where(ranks[None] < top_k, powers, 0)
    every = powers if builtins.max(counts) <= looked else (
        exp((logits - best[:, :1]) / temperature)
    )  # fmt: skip
    shares = powers / sum(every, axis=-1, keepdims=True)
    before = cumulative_sum(shares, axis=-1) - shares
    # What has no share is behind all others.
    kept = (before < top_p) & (shares >= shares[:, :1] * min_p) & (shares > 0)
    # The likeliest stays, however the sums were rounded.
    shares = where(kept, shares, 0)
    ends = cumulative_sum(shares, axis=-1)
    passed = sum(
        (ends <= numbers * max(ends, axis=-1, keepdims=True)) & kept, axis=-1, keepdims=True,
        dtype=INT32,
    )  # fmt: skip
    last = sum(kept, axis=-1, keepdims=True, dtype=INT32) - 1
    place = where(passed < last, passed, last)
    found: Array = take_along_axis(places, place, axis=-1)[:, 0]
    return found.astype(INT32), kept[:, -1]


def penalised(logits: Array, penalties: Sequence[float], seen: Sequence[Sequence[int]]) -> Array:
    """Logits of tokens that were seen, divided where they are above 0, else multiplied."""
    every = [
        sorted(set(one)) if penalty != 1 else []
        for one, penalty in zip(seen, penalties, strict=True)
    ]
    longest = builtins.max(map(len, every), default=0)
    if longest == 0:
        return logits
    # A token twice is the same number twice.
    padded = [[*one, *[(one or [0])[0]] * (longest - len(one))] for one in every]
    places = asarray(np.array(padded, np.int32), device=logits.backend)
    by = asarray(np.array(penalties, np.float32)[:, None], device=logits.backend)
    found = take_along_axis(logits, places, axis=-1)
    changed = where(found > 0, found / by, found * by)
    result = logits.copy()
    put_along_axis(result, places, changed, axis=-1)
    return result


def _rows(x: Array, rows: npt.ArrayLike) -> Array:
    return take(x, asarray(np.asarray(rows, np.int32), device=x.backend), axis=0)
