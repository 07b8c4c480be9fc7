"""Attention of encoders whose places are turns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilewright.models.rotations import Turns, tables
from tilewright.namespace.creation import asarray

if TYPE_CHECKING:
    from tilewright.array import Array
    from tilewright.models.encoders.batch import Batch
    from tilewright.models.weights import Weights


def on_device(weights: Weights, turns: Turns, longest: int) -> tuple[Any, ...]:
    """Cosines and sines of all places of a text."""
    return tuple(
        asarray(one, device=weights.backend).astype(weights.dtype) for one in tables(turns, longest)
    )


def attend(
    fused: Array, batch: Batch, heads: int, turns: tuple[Any, ...], window: int | None = None
) -> Array:
    """Of the queries, keys and values that lie side by side in each row, of which a query sees so
    many tokens to both sides, or all."""
    three = fused.reshape((batch.rows, 3, heads, -1))
    head = three.shape[-1]
    backend = batch.backend
    # Queries and keys are heads of one turn.
    turned = backend.rope(
        three[:, :2].reshape((batch.rows, 2 * heads, head), copy=False).transpose(1, 0, 2)[None],
        *turns, positions=batch.places[None],
    )[0].transpose(1, 0, 2)  # fmt: skip
    mixed = backend.attention(
        turned[:, :heads], turned[:, heads:], three[:, 2], q_starts=batch.starts,
        kv_starts=batch.starts, window=None if window is None else (window, window),
    )  # fmt: skip
    return mixed.reshape((batch.rows, heads * head))
