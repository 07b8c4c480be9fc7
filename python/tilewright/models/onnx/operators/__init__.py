"""The operators, by families; each module adds its own to OPERATORS."""

from tilewright.models.onnx.operators import (
    attention,
    blocks,
    casts,
    control,
    convolutions,
    deformed,
    detection,
    drawing,
    elementwise,
    indexing,
    losses,
    microsoft,
    norms,
    pooling,
    products,
    quantised,
    recurrent,
    reductions,
    resizing,
    sequences,
    shapes,
    signals,
    uniqueness,
)
from tilewright.models.onnx.operators.registry import OPERATORS

#: names that exporters write though the standard has them not
UNLISTED = frozenset({"SimplifiedLayerNormalization"})

__all__ = [
    "OPERATORS",
    "UNLISTED",
    "attention",
    "blocks",
    "casts",
    "control",
    "convolutions",
    "deformed",
    "detection",
    "drawing",
    "elementwise",
    "indexing",
    "losses",
    "microsoft",
    "norms",
    "pooling",
    "products",
    "quantised",
    "recurrent",
    "reductions",
    "resizing",
    "sequences",
    "shapes",
    "signals",
    "uniqueness",
]
