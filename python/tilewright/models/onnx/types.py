"""The dtypes of a graph's values, as far as they follow from its inputs and constants."""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright.models.onnx.dtypes import dtype_of
from tilewright.models.onnx.nodes import Graph

_SAME = """
Abs Add AveragePool BatchNormalization Ceil Clip Concat Conv ConvTranspose Div Elu Erf Exp Expand
Flatten Floor Gather GatherElements GatherND Gelu Gemm GlobalAveragePool GlobalMaxPool
GroupNormalization HardSigmoid HardSwish Identity InstanceNormalization LayerNormalization LeakyRelu
Log LogSoftmax MatMul Max MaxPool Min Mish Mul Neg PRelu Pad Pow Reciprocal ReduceL2 ReduceMax
ReduceMean ReduceMin ReduceProd ReduceSum Relu Reshape Resize Round ScatterND Sigmoid Slice Softmax
Softplus Split Sqrt Squeeze Sub Sum Tanh Tile Transpose Trilu Unsqueeze
"""
_BOOL = "And Equal Greater GreaterOrEqual IsInf IsNaN Less LessOrEqual Not Or Xor"

#: whose result has the dtype of the first input, and whose is of bools
SAME, BOOL = frozenset(_SAME.split()), frozenset(_BOOL.split())


def dtypes(graph: Graph) -> dict[str, Any]:
    """By name, of what is known."""
    found: dict[str, Any] = {one.name: one.dtype for one in graph.inputs}
    found |= {name: one.dtype for name, one in graph.constants.items()}
    for node in graph.nodes:
        if node.domain:
            continue
        dtype: Any = None
        if node.op in SAME and node.inputs:
            dtype = found.get(node.inputs[0])
        elif node.op == "Where":
            dtype = found.get(node.inputs[1])
        elif node.op in BOOL:
            dtype = np.dtype(np.bool_)
        elif node.op in ("Shape", "Size"):
            dtype = np.dtype(np.int64)
        elif node.op == "Cast" and node.given("to"):
            dtype = dtype_of(node.integer("to"))
        if dtype is not None:
            found.update(dict.fromkeys(node.outputs, dtype))
    return found
