"""What follows a node and is part of it."""

from __future__ import annotations

from tilewright.models.onnx.nodes import Graph


def fuse(graph: Graph) -> None:
    """Nothing yet."""
