"""Operators of com.microsoft beside ONNX Runtime, which has them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tilewright
from onnx import TensorProto, helper
from tilewright import Backend
from tilewright.models.onnx.operators import OPERATORS
from tilewright.models.onnx.operators.registry import MICROSOFT

from . import onnx_graphs
from .test_onnx_models import check

#: shapes of inputs, "" for one that is left out, attributes, and how many outputs
CASES: dict[str, tuple[str, list[Any], dict[str, Any], int]] = {
    "FusedMatMul": (
        "FusedMatMul", [(2, 5, 3), (4, 5)], {"transA": 1, "transB": 1, "alpha": 0.5}, 1
    ),
    "FusedMatMul plain": ("FusedMatMul", [(3, 4), (4, 2)], {}, 1),
    "Gelu": ("Gelu", [(3, 5)], {}, 1),
    "BiasGelu": ("BiasGelu", [(3, 5), (5,)], {}, 1),
    "FastGelu": ("FastGelu", [(3, 5)], {}, 1),
    "FastGelu with a bias": ("FastGelu", [(3, 5), (5,)], {}, 1),
    "QuickGelu": ("QuickGelu", [(3, 5)], {"alpha": 1.5}, 1),
    "LayerNormalization": ("LayerNormalization", [(2, 3, 8), (8,), (8,)], {"epsilon": 1e-3}, 1),
    "SimplifiedLayerNormalization": ("SimplifiedLayerNormalization", [(2, 3, 8), (8,)], {}, 1),
    "SkipLayerNormalization": (
        "SkipLayerNormalization", [(2, 3, 8), (2, 3, 8), (8,), (8,), (8,)], {"epsilon": 1e-3}, 4
    ),
    "SkipLayerNormalization alone": (
        "SkipLayerNormalization", [(2, 3, 8), (2, 3, 8), (8,)], {"epsilon": 1e-3}, 1
    ),
    "SkipSimplifiedLayerNormalization": (
        "SkipSimplifiedLayerNormalization", [(2, 3, 8), (2, 3, 8), (8,), (8,)], {}, 4
    ),
    "MultiHeadAttention": (
        "MultiHeadAttention", [(2, 5, 12), (2, 7, 12), (2, 7, 12)], {"num_heads": 3}, 1
    ),
    "MultiHeadAttention with a bias of scores": (
        "MultiHeadAttention", [(2, 5, 12), (2, 7, 12), (2, 7, 12), "", "", (1, 3, 5, 7)],
        {"num_heads": 3, "scale": 0.7}, 1,
    ),
}  # fmt: skip
#: ONNX Runtime has them in the standard's domain
STANDARD = {"LayerNormalization", "SimplifiedLayerNormalization"}


def test_all_are_here() -> None:
    there = {name for domain, name in OPERATORS if domain == MICROSOFT}
    assert there == {op for op, *_ in CASES.values()}


@pytest.mark.parametrize("name", CASES)
def test_operators(be: Backend, rng: np.random.Generator, tmp_path: Path, name: str) -> None:
    op, shapes, attributes, count = CASES[name]
    given = {
        f"x{i}": rng.standard_normal(shape).astype(np.float32)
        for i, shape in enumerate(shapes)
        if shape
    }
    value = helper.make_tensor_value_info
    names = [f"x{i}" if shape else "" for i, shape in enumerate(shapes)]
    outputs = ["y"] if count == 1 else ["y", "", "", "z"]

    def saved(domain: str) -> Path:
        node = helper.make_node(op, names, outputs, domain=domain, **attributes)
        graph = helper.make_graph(
            [node], "g",
            [value(n, TensorProto.FLOAT, x.shape) for n, x in given.items()],
            [value(n, TensorProto.FLOAT, None) for n in outputs if n],
        )  # fmt: skip
        imports = [helper.make_opsetid("", 17), helper.make_opsetid(MICROSOFT, 1)]
        model = helper.make_model(graph, opset_imports=imports)
        model.ir_version = 8
        path = tmp_path / f"{domain}model.onnx"
        onnx_graphs.save(model, path)
        return path

    own = tilewright.models.load(saved(MICROSOFT), be)
    check(own, saved("") if op in STANDARD else saved(MICROSOFT), given, 1e-5)
    if op in STANDARD:
        check(tilewright.models.load(saved(""), be), saved(""), given, 1e-5)
