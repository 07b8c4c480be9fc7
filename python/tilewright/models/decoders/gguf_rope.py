"""Rotations as the metadata and the tensors of a GGUF file have them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tilewright.models.files.errors import fail
from tilewright.models.files.rope import RopeScaling
from tilewright.models.rotations import Turns, grown_by_yarn

if TYPE_CHECKING:
    from tilewright.models.files.fields import Fields
    from tilewright.models.files.gguf import GgufTensors

# What stretches each element by a number of its own: of Llama 3, and of Phi 3 for short and for
# long contexts.
ONE, SHORT, LONG = "rope_freqs.weight", "rope_factors_short.weight", "rope_factors_long.weight"
KINDS = ("none", "linear", "yarn", "longrope")


def turns_of(
    fields: Fields, family: str, tensors: GgufTensors, head: int, positions: int
) -> tuple[Turns, Turns]:
    """Of layers that see all of a text, and of those with a window."""
    key = f"{family}.rope"
    rotary = fields.integer(f"{key}.dimension_count", 2, head, head)
    if rotary % 2:
        fields.fail(f"{key}.dimension_count", "an even number")
    theta = fields.real(f"{key}.freq_base", 1.0, 1e12, 10000.0)
    scaling = _scaling(fields, key, tensors, rotary, positions)
    turns = Turns(theta, rotary, scaling)
    turns.check(fields.file)
    if family == "gemma3":
        return turns, Turns(fields.real(f"{key}.freq_base_swa", 1.0, 1e12, 10000.0), rotary)
    return turns, Turns(fields.real(f"{key}.freq_base_swa", 1.0, 1e12, theta), rotary, scaling)


def _scaling(
    fields: Fields, key: str, tensors: GgufTensors, rotary: int, positions: int
) -> RopeScaling | None:
    said = f"{key}.scaling"
    factor = fields.real(f"{said}.factor", 0.0, 1e6, 0.0)
    if not factor:
        factor = fields.real(f"{key}.scale_linear", 0.0, 1e6, 0.0) or 1.0
    kind = fields.string(f"{said}.type", "linear", choices=KINDS)
    trained = fields.integer(f"{said}.original_context_length", 2, 1 << 30, max(positions, 2))
    grown = fields.real(f"{said}.attn_factor", 0.0, 1e6, 1.0)
    short: tuple[float, ...] = ()
    long = short
    if ONE in tensors:
        short = long = _factors(tensors, ONE, rotary)
    elif SHORT in tensors or LONG in tensors:
        short, long = _factors(tensors, SHORT, rotary), _factors(tensors, LONG, rotary)
    if short:
        if kind == "yarn":
            fields.fail(f"{said}.type", "none, linear or longrope beside factors of each element")
        by = factor if kind == "linear" else 1.0
        return RopeScaling(
            "longrope", factor, trained, attention_factor=grown,
            short_factor=tuple(by * one for one in short),
            long_factor=tuple(by * one for one in long),
        )  # fmt: skip
    if kind == "longrope":
        fail(tensors.name, f"there are no tensors {SHORT!r} and {LONG!r}, which 'longrope' has")
    if kind == "none" or (kind == "linear" and factor == 1):
        return None
    if kind == "linear":
        return RopeScaling("linear", factor, trained)
    if fields.real(f"{said}.yarn_ext_factor", -1e6, 1e6, 1.0) not in (-1.0, 1.0):
        fields.fail(f"{said}.yarn_ext_factor", "1")
    whole = fields.real(f"{said}.yarn_attn_factor", 0.0, 1e6, 0.0)
    made = RopeScaling(
        "yarn", factor, trained,
        attention_factor=whole or None,
        beta_fast=fields.real(f"{said}.yarn_beta_fast", 1e-6, 1e6, 32.0),
        beta_slow=fields.real(f"{said}.yarn_beta_slow", 1e-6, 1e6, 1.0),
        mscale=1.0,
        mscale_all_dim=fields.real(f"{said}.yarn_log_multiplier", 0.0, 1e6, 0.0),
    )  # fmt: skip
    return made if grown == 1 else replace(made, attention_factor=grown_by_yarn(made) * grown)


def _factors(tensors: GgufTensors, name: str, rotary: int) -> tuple[float, ...]:
    held = tensors.tensor(name, (rotary // 2,)).array().astype(np.float64)
    if not (np.isfinite(held).all() and (held > 0).all()):
        fail(tensors.name, f"tensor {name!r} has numbers that are not above 0")
    return tuple(held.tolist())
