"""Products of matrices."""

from __future__ import annotations

from typing import Any

import tilewright as tw
from tilewright.models.files.errors import ModelError
from tilewright.models.onnx.nodes import Node
from tilewright.models.onnx.operators.registry import OWN, Run, operator, plain


def _matmul(a: Any, b: Any) -> Any:
    if a.dtype != b.dtype:
        raise ModelError(f"its inputs are {a.dtype} and {b.dtype}, expected one dtype")
    return a @ b


plain("MatMul", _matmul)


@operator("Dense", domain=OWN)
def _dense(node: Node) -> Run:
    """A product by a constant matrix with its bias and activation."""
    turned = node.flag("transB")
    bent, slope = node.activation

    def run(x: Any, weight: Any, bias: Any = None) -> Any:
        if x.dtype != weight.dtype:
            raise ModelError(f"its inputs are {x.dtype} and {weight.dtype}, expected one dtype")
        rows = weight if turned else weight.T
        if x.ndim == 0 or x.shape[-1] != rows.shape[1]:
            raise ModelError(
                f"its inputs have shapes {x.shape} and {weight.shape}, which do not go together"
            )
        return tw.nn.linear(x, rows, bias, activation=bent, negative_slope=slope)

    return run


@operator("Gemm")
def _gemm(node: Node) -> Run:
    alpha, beta = node.number("alpha", 1.0), node.number("beta", 1.0)
    turns_a, turns_b = node.flag("transA"), node.flag("transB")

    def run(a: Any, b: Any, c: Any = None) -> Any:
        if a.ndim != 2 or b.ndim != 2:
            raise ModelError(f"its inputs have shapes {a.shape} and {b.shape}, expected matrices")
        product = (a.T if turns_a else a) @ (b.T if turns_b else b)
        if alpha != 1:
            product = (product * alpha).astype(a.dtype)
        if c is None or beta == 0:
            return product
        return product + (c if beta == 1 else (c * beta).astype(a.dtype))

    return run


@operator("Einsum")
def _einsum(node: Node) -> Run:
    equation = node.string("equation", "")

    def run(*values: Any) -> Any:
        return tw.einsum(equation.replace(" ", ""), *values)

    return run


def _det(x: Any) -> Any:
    return tw.linalg.det(x)


plain("Det", _det, reads=True)
