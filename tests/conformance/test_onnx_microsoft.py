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

#: shapes of inputs or what they are, "" for one that is left out, attributes, how many outputs
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
    "Attention": ("Attention", [(2, 5, 12), (12, 36), (36,)], {"num_heads": 3}, 1),
    "Attention causal": (
        "Attention", [(2, 5, 12), (12, 36), (36,)], {"num_heads": 2, "unidirectional": 1}, 1
    ),
    "Attention with lengths": (
        "Attention", [(2, 5, 12), (12, 36), (36,), np.int32([5, 3])], {"num_heads": 3}, 1
    ),
    "Attention with a mask": (
        "Attention",
        [(2, 5, 12), (12, 36), (36,), np.int32([[1, 1, 1, 0, 1], [1, 0, 1, 1, 0]])],
        {"num_heads": 3}, 1,
    ),
    "EmbedLayerNormalization": (
        "EmbedLayerNormalization",
        [
            np.int32([[3, 1, 0], [2, 2, 9]]), np.int32([[0, 1, 0], [1, 1, 0]]), (10, 8), (4, 8),
            (2, 8), (8,), (8,), np.int32([[1, 1, 0], [1, 1, 1]]),
        ],
        {"epsilon": 1e-3}, 2,
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
    assert there == {op for op, *_ in CASES.values()} | {
        "GroupQueryAttention", "MatMulNBits", "RotaryEmbedding"
    }  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_operators(be: Backend, rng: np.random.Generator, tmp_path: Path, name: str) -> None:
    op, shapes, attributes, count = CASES[name]
    value = helper.make_tensor_value_info
    given, names = {}, []
    for i, one in enumerate(shapes):
        names.append("" if isinstance(one, str) else f"x{i}")
        if isinstance(one, np.ndarray):
            given[names[-1]] = one
        elif not isinstance(one, str):
            given[names[-1]] = rng.standard_normal(one).astype(np.float32) * np.float32(0.5)
    outputs = {1: ["y"], 2: ["y", "z"], 4: ["y", "", "", "z"]}[count]
    kinds = {"z": TensorProto.INT32 if op == "EmbedLayerNormalization" else TensorProto.FLOAT}

    def saved(domain: str) -> Path:
        node = helper.make_node(op, names, outputs, domain=domain, **attributes)
        graph = helper.make_graph(
            [node], "g",
            [
                value(n, TensorProto.INT32 if x.dtype.kind == "i" else TensorProto.FLOAT, x.shape)
                for n, x in given.items()
            ],
            [value(n, kinds.get(n, TensorProto.FLOAT), None) for n in outputs if n],
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


@pytest.mark.parametrize("fixed", [False, True])
@pytest.mark.parametrize(
    ("inputs", "block", "zeros"), [(64, 32, False), (70, 32, True), (256, 128, True)]
)
def test_blocks_of_bits(
    be: Backend, rng: np.random.Generator, tmp_path: Path, inputs: int, block: int, zeros: bool,
    fixed: bool,
) -> None:  # fmt: skip
    """Weights that are constants and such as come in at each call."""
    outputs, count = 5, -(-inputs // block)
    given: dict[str, Any] = {"x": rng.standard_normal((2, 3, inputs)).astype(np.float32)}
    held = {
        "q": rng.integers(0, 256, (outputs, count, block // 2)).astype(np.uint8),
        "scales": rng.uniform(0.5, 1, outputs * count).astype(np.float16).astype(np.float32),
    }
    if zeros:
        held["zeros"] = rng.integers(0, 256, outputs * ((count + 1) // 2)).astype(np.uint8)
    node = helper.make_node(
        "MatMulNBits", ["x", *held], ["y"], domain=MICROSOFT, K=inputs, N=outputs, bits=4,
        block_size=block,
    )  # fmt: skip
    tensors = [onnx_graphs.numpy_helper.from_array(one, name) for name, one in held.items()]
    if not fixed:
        given, tensors = given | held, []
    kinds = {np.dtype(np.float32): TensorProto.FLOAT, np.dtype(np.uint8): TensorProto.UINT8}
    graph = helper.make_graph(
        [node], "g",
        [helper.make_tensor_value_info(n, kinds[x.dtype], x.shape) for n, x in given.items()],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], tensors,
    )  # fmt: skip
    imports = [helper.make_opsetid("", 17), helper.make_opsetid(MICROSOFT, 1)]
    model = helper.make_model(graph, opset_imports=imports)
    model.ir_version = 8
    path = tmp_path / "m.onnx"
    onnx_graphs.save(model, path)
    check(tilewright.models.load(path, be), path, given, 2e-3)
