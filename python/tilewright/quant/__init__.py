"""Quantised weights: blocks as GGUF stores them, and integers with scales.

`QuantizedTensor` holds weights in blocks on a device, which matmul() multiplies by as they are.
quantize() and dequantize() are of int8 and uint8 with scales and zero points, for a tensor or for
each channel, and calibrate() finds those.
"""

from tilewright._core import QuantFormat
from tilewright.quant.blocks import quantize_blocks
from tilewright.quant.calibration import calibrate
from tilewright.quant.integers import (
    dequantize,
    qadd,
    qmatmul,
    qrelu,
    quantize,
    quantize_dynamic,
)
from tilewright.quant.tensor import QuantizedTensor, matmul

__all__ = [
    "QuantFormat",
    "QuantizedTensor",
    "calibrate",
    "dequantize",
    "matmul",
    "qadd",
    "qmatmul",
    "qrelu",
    "quantize",
    "quantize_blocks",
    "quantize_dynamic",
]
