"""Tables of the turns that tell a model where a token stands."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright.models.files.errors import fail
from tilewright.models.files.rope import MOST_POSITIONS

if TYPE_CHECKING:
    import numpy.typing as npt

    from tilewright.models.files.rope import RopeScaling

KINDS = ("linear", "dynamic", "yarn", "llama3", "longrope", "su")


@dataclass(frozen=True)
class Turns:
    """How heads are turned: a base for `rotary` elements, and how it is stretched."""

    theta: float
    rotary: int
    scaling: RopeScaling | None = None

    def check(self, file: object) -> None:
        """ModelError where there are no tables for it."""
        scaling = self.scaling
        if scaling is None:
            return
        if scaling.kind not in KINDS:
            fail(file, f"the rope scaling is {scaling.kind!r}, expected one of {', '.join(KINDS)}")
        if scaling.kind in ("longrope", "su"):
            for factors in (scaling.short_factor, scaling.long_factor):
                if len(factors) != self.rotary // 2:
                    fail(
                        file, f"the rope scaling has {len(factors)} factors, expected "
                        f"{self.rotary // 2}, half of what is turned of a head"
                    )  # fmt: skip
        if scaling.kind == "yarn" and self.theta <= 1:
            fail(file, f"the base of the rotations is {self.theta}, expected more than 1 of 'yarn'")
        if scaling.kind == "dynamic" and (self.rotary < 4 or scaling.factor < 1):
            fail(
                file, f"the rope scaling is 'dynamic' by {scaling.factor} of {self.rotary} "
                "elements, expected at least 1 and 4"
            )  # fmt: skip


def tables(turns: Turns, context: int) -> tuple[Any, Any]:
    """Cosines and sines of the places up to context, [context, rotary / 2], in float32. What
    depends on how long a text is, is that of one of `context` tokens."""
    steps, factor = steps_of(turns, context)
    angles = np.arange(context)[:, None] * steps
    return (np.cos(angles) * factor).astype(np.float32), (np.sin(angles) * factor).astype(
        np.float32
    )


def steps_of(turns: Turns, context: int) -> tuple[npt.NDArray[Any], float]:
    """The angles from one place to the next, and what the tables are multiplied by."""
    shares = np.arange(0, turns.rotary, 2) / turns.rotary
    steps = turns.theta**-shares
    scaling = turns.scaling
    if scaling is None:
        return steps, 1.0
    trained, factor = scaling.original_max_positions, scaling.factor
    if scaling.kind == "linear":
        return steps / factor, 1.0
    if scaling.kind == "dynamic":
        longer = max(context / trained, 1.0)
        exponent = turns.rotary / (turns.rotary - 2)
        return (turns.theta * (factor * longer - (factor - 1)) ** exponent) ** -shares, 1.0
    if scaling.kind == "llama3":
        whole = trained * steps / (2 * math.pi)
        low, high = scaling.low_freq_factor, scaling.high_freq_factor
        share = np.clip((whole - low) / (high - low), 0, 1)
        return steps * (share + (1 - share) / factor), 1.0
    if scaling.kind == "yarn":
        share = _kept(turns, scaling)
        return steps * (share + (1 - share) / factor), grown_by_yarn(scaling)
    is_long = context > trained
    factors = np.array(scaling.long_factor if is_long else scaling.short_factor)
    grown = scaling.attention_factor
    if grown is None:
        grown = math.sqrt(1 + math.log(factor) / math.log(trained)) if factor > 1 else 1.0
    return steps / factors, grown


def _kept(turns: Turns, scaling: RopeScaling) -> npt.NDArray[Any]:
    """How much of each step YaRN keeps: all where there are beta_fast turns within what was
    trained, and nothing at beta_slow."""

    def place(whole: float) -> float:
        longest = scaling.original_max_positions / (whole * 2 * math.pi)
        return turns.rotary * math.log(longest) / (2 * math.log(turns.theta))

    first, last = place(scaling.beta_fast), place(scaling.beta_slow)
    if scaling.truncates:
        first, last = math.floor(first), math.ceil(last)
    first, last = max(first, 0), min(last, turns.rotary - 1)
    if first == last:
        last += 0.001
    ramp: npt.NDArray[Any] = (np.arange(turns.rotary // 2) - first) / (last - first)
    return 1 - ramp.clip(0, 1)


def grown_by_yarn(scaling: RopeScaling) -> float:
    if scaling.attention_factor is not None:
        return scaling.attention_factor

    def grown(by: float) -> float:
        return 0.1 * by * math.log(scaling.factor) + 1 if scaling.factor > 1 else 1.0

    if scaling.mscale and scaling.mscale_all_dim:
        return grown(scaling.mscale) / grown(scaling.mscale_all_dim)
    return grown(1.0)


def reach(scaling: RopeScaling | None, positions: int) -> int:
    """How many places there are, of a model whose file says so many."""
    if scaling is None or scaling.kind not in ("linear", "dynamic", "yarn"):
        return positions
    base = scaling.original_max_positions if scaling.kind == "yarn" else positions
    return min(max(positions, int(base * scaling.factor)), MOST_POSITIONS)
