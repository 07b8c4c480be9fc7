"""What files say of rotations: their base, and how they reach further than a model was trained."""

from __future__ import annotations

from dataclasses import dataclass

from tilewright.models.files.fields import Fields

MOST_POSITIONS = 1 << 30
MOST_FACTORS = 1 << 20
FULL, SLIDING = "full_attention", "sliding_attention"


@dataclass(frozen=True)
class RopeScaling:
    """How rotations are stretched to more positions than a model was trained with."""

    kind: str
    factor: float
    """How many times as far."""
    original_max_positions: int
    """What it was trained with; of "dynamic", from where on it is stretched."""
    attention_factor: float | None = None
    """What queries and keys are multiplied by; None: what follows from the factor."""
    low_freq_factor: float = 1.0
    high_freq_factor: float = 4.0
    beta_fast: float = 32.0
    beta_slow: float = 1.0
    mscale: float | None = None
    mscale_all_dim: float | None = None
    truncates: bool = True
    """Whether the elements between which "yarn" goes over are whole numbers."""
    short_factor: tuple[float, ...] = ()
    long_factor: tuple[float, ...] = ()


@dataclass(frozen=True)
class Rope:
    """Of one kind of layers; what the file does not say is None."""

    theta: float | None
    scaling: RopeScaling | None
    share: float | None
    """How much of a head is turned."""


def rope_of(found: Fields, positions: int, kind: str = FULL) -> Rope:
    """Of layers of a kind, from `rope_scaling` or, as newer files have it, `rope_parameters`,
    where each kind may have a section of its own."""
    newer = _of_kind(found.section("rope_parameters"), kind)
    said = _of_kind(found.section("rope_scaling"), kind) or newer
    theta = share = None
    if newer is not None:
        theta = newer.real("rope_theta", 1, 1e12, None)
        share = newer.real("partial_rotary_factor", 0, 1, None)
    if theta is None:
        theta = found.real("rope_theta", 1, 1e12, None)
    if share is None:
        share = found.real("partial_rotary_factor", 0, 1, None)
    return Rope(theta, None if said is None else _scaling(found, said, positions), share)


def has_kinds(found: Fields) -> bool:
    """Whether layers with windows have a section of their own."""
    rope = found.section("rope_parameters")
    return rope is not None and SLIDING in rope


def kinds_of_layers(found: Fields, layers: int) -> tuple[str, ...] | None:
    """FULL or SLIDING for each, where the file says it."""
    kinds = found.strings("layer_types", None, most=4096)
    if kinds is not None and (len(kinds) != layers or not {*kinds} <= {FULL, SLIDING}):
        found.fail("layer_types", f"{layers} of {FULL} and {SLIDING}")
    return kinds


def _of_kind(rope: Fields | None, kind: str) -> Fields | None:
    if rope is None or not rope.values:
        return None
    if FULL in rope or SLIDING in rope:
        return rope.section(kind)
    return rope


def _scaling(found: Fields, rope: Fields, positions: int) -> RopeScaling | None:
    kind = rope.string("rope_type" if "rope_type" in rope else "type", "default", most=32)
    if kind == "default":
        return None
    key = "original_max_position_embeddings"
    trained = found.integer(key, 2, MOST_POSITIONS, None)
    if trained is None:
        trained = rope.integer(key, 2, MOST_POSITIONS, max(positions, 2))
    if kind == "dynamic":
        trained = max(positions, 2)
    low = rope.real("low_freq_factor", 1e-3, 1e6, 1.0)
    high = rope.real("high_freq_factor", 1e-3, 1e6, 4.0)
    if kind == "llama3" and high <= low:
        rope.fail("high_freq_factor", f"more than low_freq_factor, {low:g}")
    return RopeScaling(
        kind=kind,
        factor=rope.real("factor", 1e-3, 1e6, positions / trained),
        original_max_positions=trained,
        attention_factor=rope.real("attention_factor", 0, 1e6, None),
        low_freq_factor=low,
        high_freq_factor=high,
        beta_fast=rope.real("beta_fast", 1e-6, 1e6, 32.0),
        beta_slow=rope.real("beta_slow", 1e-6, 1e6, 1.0),
        mscale=rope.real("mscale", 0, 1e6, None),
        mscale_all_dim=rope.real("mscale_all_dim", 0, 1e6, None),
        truncates=rope.flag("truncate", True),
        short_factor=rope.reals("short_factor", 1e-9, 1e9, (), most=MOST_FACTORS),
        long_factor=rope.reals("long_factor", 1e-9, 1e9, (), most=MOST_FACTORS),
    )
