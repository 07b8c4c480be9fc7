"""Matrices of com.microsoft in blocks of 4 bits, which stay packed on the device."""

from __future__ import annotations

from typing import Any

import numpy as np

import tilewright as tw
from tilewright.models.files.errors import ModelError
from tilewright.models.onnx.nodes import Node
from tilewright.models.onnx.operators.registry import MICROSOFT, Run, operator
from tilewright.quant.groups import _made


def _nibbles(packed: Any) -> Any:
    """Two numbers of each byte of the last axis, the lower half first."""
    return np.stack([packed & 15, packed >> 4], axis=-1).reshape((*packed.shape[:-1], -1))


@operator("MatMulNBits", domain=MICROSOFT, host=(1, 2, 3, 4))
def _matmul_bits(node: Node) -> Run:
    """scale * (q - zero) of groups along the inputs; scales are float16 on the device."""
    inputs, outputs = node.integer("K"), node.integer("N")
    size, bits = node.integer("block_size"), node.integer("bits", 4)
    node.maybe("accuracy_level")
    if bits != 4 or size < 32 or size % 32 or min(inputs, outputs) < 1:
        node.fail(f"it has {bits} bits in blocks of {size}, expected 4 in a multiple of 32")
    count = -(-inputs // size)
    kept: list[Any] = []

    def weights(packed: Any, scales: Any, zeros: Any, order: Any) -> Any:
        if kept and all(a is b for a, b in zip(kept[0], (packed, scales, zeros), strict=True)):
            return kept[1]
        if packed.size != outputs * count * size // 2 or scales.size != outputs * count:
            raise ModelError(f"its weights have shapes {packed.shape} and {scales.shape}")
        if order is not None and (order[:inputs] != np.arange(inputs) // size).any():
            raise ModelError("its groups are not in the order of the inputs (g_idx)")
        q = _nibbles(packed.reshape((outputs, count * size // 2)))
        points = np.full((outputs, count), 8.0, np.float32)
        if zeros is not None and zeros.dtype == np.uint8:
            points = _nibbles(zeros.reshape((outputs, -1)))[:, :count].astype(np.float32)
        elif zeros is not None:
            points = zeros.reshape((outputs, count)).astype(np.float32)
        wide = scales.reshape((outputs, count)).astype(np.float32)
        found = _made(q.astype(np.uint8), points.T, wide.T, None)
        if node.fixed_weights:
            kept[:] = [(packed, scales, zeros), found]
        return found

    def run(
        x: Any, packed: Any, scales: Any, zeros: Any = None, order: Any = None, bias: Any = None
    ) -> Any:
        if x.shape[-1] != inputs:
            raise ModelError(f"its input has shape {tuple(x.shape)}, expected {inputs} columns")
        if count * size > inputs:
            x = tw.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, count * size - inputs)])
        found = x @ weights(packed, scales, zeros, order).T
        return found if bias is None else found + bias

    return run
