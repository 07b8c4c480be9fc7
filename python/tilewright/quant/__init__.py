"""Quantised weights: blocks as GGUF stores them, and integers with scales.

`QuantizedTensor` holds weights in blocks on a device, which matmul() multiplies by as they are.
quantize_int4(), from_gptq() and from_awq() make them of groups of int4.
quantize() and dequantize() are of int8 and uint8 with scales and zero points, for a tensor or for
each channel, and calibrate() finds those.
"""

from tilewright._core import QuantFormat
from tilewright.quant.blocks import quantize_blocks
from tilewright.quant.calibration import calibrate
from tilewright.quant.groups import from_awq, from_gptq, quantize_int4
from tilewright.quant.integers import (
    dequantize,
    qadd,
    qmatmul,
    qrelu,
    quantize,
    quantize_dynamic,
)
from tilewright.quant.layers import qconv2d, qlinear, requantize
from tilewright.quant.tensor import QuantizedTensor, matmul

__all__ = [
    "QuantFormat",
    "QuantizedTensor",
    "calibrate",
    "dequantize",
    "from_awq",
    "from_gptq",
    "matmul",
    "qadd",
    "qconv2d",
    "qlinear",
    "qmatmul",
    "qrelu",
    "quantize",
    "quantize_blocks",
    "quantize_dynamic",
    "quantize_int4",
    "requantize",
]
