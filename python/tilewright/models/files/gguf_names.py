"""Tensors of GGUF files by the names that Hugging Face's files have for them."""

from __future__ import annotations

import re
from collections.abc import Mapping

from tilewright.models.files.errors import fail
from tilewright.models.files.tensors import StoredTensors

LAYER = re.compile(r"blk\.([0-9]+)\.(\w+)\.(weight|bias)")


def renamed(
    tensors: StoredTensors, names: Mapping[str, str], of_layers: str, layer_names: Mapping[str, str]
) -> StoredTensors:
    """The same tensors, those of layer 3 under `of_layers`.3; those that have no name there are
    left out."""
    found = {}
    for name, tensor in tensors.items():
        of_layer = LAYER.fullmatch(name)
        base, _, kind = name.rpartition(".")
        if of_layer is not None and of_layer[2] in layer_names:
            found[f"{of_layers}.{of_layer[1]}.{layer_names[of_layer[2]]}.{of_layer[3]}"] = tensor
        elif base in names:
            found[f"{names[base]}.{kind}"] = tensor
    return StoredTensors(tensors.name, found, tensors.files)


def rows_of(tensors: StoredTensors, name: str) -> int:
    """Of a table."""
    found = tensors.tensor(name)
    if len(found.shape) != 2:
        fail(found.file, f"tensor {name!r} has shape {found.shape}, expected two axes")
    return found.shape[0]
