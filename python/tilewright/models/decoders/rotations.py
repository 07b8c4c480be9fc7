"""Tables of the turns that tell a decoder where a token stands."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright.models.files.errors import ModelError

if TYPE_CHECKING:
    import numpy.typing as npt

    from tilewright.models.decoders.shape import Shape

KINDS = ("linear", "llama3", "longrope")


def tables(shape: Shape, context: int, *, window: bool = False) -> tuple[Any, Any]:
    """Cosines and sines of the places up to context, [context, rotary / 2], in float32."""
    theta = shape.window_theta if window else shape.theta
    steps = theta ** -(np.arange(0, shape.rotary, 2) / shape.rotary)
    factor = 1.0
    # Layers with windows of their own base are not stretched.
    if shape.scaling is not None and not (window and shape.window_theta != shape.theta):
        steps, factor = _scaled(shape, steps, context)
    angles = np.arange(context)[:, None] * steps
    return (np.cos(angles) * factor).astype(np.float32), (np.sin(angles) * factor).astype(
        np.float32
    )


def _scaled(shape: Shape, steps: npt.NDArray[Any], context: int) -> tuple[npt.NDArray[Any], float]:
    """Steps that reach further than a model was trained, and what the tables are multiplied by."""
    scaling = shape.scaling
    assert scaling is not None
    trained = shape.trained
    if scaling.kind == "linear":
        return steps / scaling.factor, 1.0
    if scaling.kind == "llama3":
        turns = trained * steps / (2 * math.pi)
        low, high = scaling.low_freq_factor, scaling.high_freq_factor
        share = np.clip((turns - low) / (high - low), 0, 1)
        return steps * (share + (1 - share) / scaling.factor), 1.0
    if scaling.kind in ("longrope", "su"):
        is_long = context > trained
        factors = np.array(scaling.long_factor if is_long else scaling.short_factor)
        if len(factors) != len(steps):
            raise ModelError(
                f"{shape.family}: the rope scaling has {len(factors)} factors, expected "
                f"{len(steps)}"
            )
        stretch = shape.longest / trained
        grown = scaling.attention_factor
        if grown is None:
            grown = 1.0
            if stretch > 1:
                grown = math.sqrt(1 + math.log(stretch) / math.log(trained))
        return steps / factors, grown
    raise ModelError(
        f"{shape.family}: the rope scaling is {scaling.kind!r}, expected one of {', '.join(KINDS)}"
    )
