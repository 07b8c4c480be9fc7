"""The next token of each sequence, chosen on the device."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tilewright.namespace.creation import asarray
from tilewright.namespace.elementwise import exp, where
from tilewright.namespace.reductions import argmax, cumulative_sum, max, sum
from tilewright.namespace.selection import put_along_axis, take_along_axis
from tilewright.namespace.sorting import topk
from tilewright.operands import INT32, invalid

if TYPE_CHECKING:
    import numpy.typing as npt

    from tilewright.array import Array


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


def chosen(
    logits: Array,
    how: Sampling,
    seen: Sequence[Sequence[int]],
    uniform: npt.NDArray[np.float32],
) -> Array:
    """A token of each row, int32; `uniform` are numbers in [0, 1), one for each."""
    if how.repetition_penalty != 1:
        logits = penalised(logits, how.repetition_penalty, seen)
    if how.temperature == 0:
        likeliest: Array = argmax(logits, axis=-1)
        return likeliest.astype(INT32)
    count = logits.shape[-1] if how.top_k == 0 else min(how.top_k, logits.shape[-1])
    best, places = topk(logits, count, axis=-1)
    powers = exp((best - best[:, :1]) / how.temperature)
    shares = powers / sum(powers, axis=-1, keepdims=True)
    before = cumulative_sum(shares, axis=-1) - shares
    kept = (before < how.top_p) & (shares >= shares[:, :1] * how.min_p)
    # The likeliest stays, however the sums were rounded.
    shares = where(kept, shares, 0)
    ends = cumulative_sum(shares, axis=-1)
    drawn = asarray(uniform[:, None], device=logits.backend) * max(ends, axis=-1, keepdims=True)
    passed = sum((ends <= drawn) & kept, axis=-1, keepdims=True, dtype=INT32)
    last = sum(kept, axis=-1, keepdims=True, dtype=INT32) - 1
    place = where(passed < last, passed, last)
    found: Array = take_along_axis(places, place, axis=-1)[:, 0]
    return found.astype(INT32)


def penalised(logits: Array, penalty: float, seen: Sequence[Sequence[int]]) -> Array:
    """Logits of tokens that were seen, divided where they are above 0, else multiplied."""
    every = [sorted(set(one)) for one in seen]
    longest = builtins.max(map(len, every), default=0)
    if longest == 0:
        return logits
    # A token twice is the same number twice.
    padded = [[*one, *[(one or [0])[0]] * (longest - len(one))] for one in every]
    places = asarray(np.array(padded, np.int32), device=logits.backend)
    found = take_along_axis(logits, places, axis=-1)
    changed = where(found > 0, found / penalty, found * penalty)
    result = logits.copy()
    put_along_axis(result, places, changed, axis=-1)
    return result
