"""The package onnx, which reads the format and knows the standard's operators."""

from __future__ import annotations

import functools
import importlib
from pathlib import Path
from typing import Any

from tilewright.models.files.errors import ModelError, fail
from tilewright.models.files.mapped import MappedFile
from tilewright.operands import invalid

#: protobuf's own bound of a message
MOST_BYTES = (1 << 31) - 1


@functools.cache
def library() -> Any:
    try:
        module = importlib.import_module("onnx")
    except ImportError as error:
        invalid(
            "load",
            "the package `onnx` is not there, which files of ONNX are read with; "
            f"pip install 'tilewright[onnx]' ({error})",
        )
    return module


def parsed(path: Path) -> Any:
    """The ModelProto of a file."""
    onnx = library()
    file = MappedFile(path)
    if file.size > MOST_BYTES:
        fail(path, f"it has {file.size} bytes, expected at most {MOST_BYTES} beside external data")
    model = onnx.ModelProto()
    try:
        model.ParseFromString(file.data[:])
    except ModelError:
        raise
    except Exception as error:
        # What protobuf raises depends on which of its forms is installed.
        fail(path, f"it is no model of ONNX: {str(error)[:200]}")
    if not model.HasField("graph") or not (model.graph.node or model.graph.output):
        fail(path, "it has no graph, expected a model of ONNX")
    return model


@functools.lru_cache(4096)
def schema(domain: str, name: str, version: int) -> Any:
    """What the standard says of an operator by a version of its domain, or None."""
    defs = importlib.import_module("onnx.defs")
    try:
        return defs.get_schema(name, version, domain)
    except Exception:
        # SchemaError is not of one place in all versions of the package.
        return None


def newest() -> int:
    return int(importlib.import_module("onnx.defs").onnx_opset_version())
