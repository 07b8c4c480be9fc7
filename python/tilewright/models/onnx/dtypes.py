"""The dtypes of ONNX's tensors that the library has."""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright.small_floats import BFLOAT16

#: of TensorProto.DataType
DTYPES: dict[int, Any] = {
    1: np.dtype(np.float32),
    2: np.dtype(np.uint8),
    3: np.dtype(np.int8),
    4: np.dtype(np.uint16),
    5: np.dtype(np.int16),
    6: np.dtype(np.int32),
    7: np.dtype(np.int64),
    9: np.dtype(np.bool_),
    10: np.dtype(np.float16),
    11: np.dtype(np.float64),
    12: np.dtype(np.uint32),
    13: np.dtype(np.uint64),
    14: np.dtype(np.complex64),
    15: np.dtype(np.complex128),
    16: BFLOAT16,
}
NAMES = {
    0: "undefined", 8: "string", 17: "float8e4m3fn", 18: "float8e4m3fnuz", 19: "float8e5m2",
    20: "float8e5m2fnuz", 21: "uint4", 22: "int4", 23: "float4e2m1", 24: "float8e8m0",
    25: "uint2", 26: "int2",
}  # fmt: skip
KNOWN = "bool, int8 to int64, uint8 to uint64, float16, bfloat16, float32, float64 or complex"


def dtype_of(kind: int) -> Any:
    """None where the library has it not."""
    return DTYPES.get(kind)


def name_of(kind: int) -> str:
    if kind in DTYPES:
        return str(DTYPES[kind].name)
    return NAMES.get(kind, f"of the unknown kind {kind}")


def host_dtype(dtype: Any) -> Any:
    """What NumPy holds it as: of bfloat16 the dtype of ml_dtypes, which the package onnx needs."""
    if dtype == BFLOAT16:
        import ml_dtypes

        return np.dtype(ml_dtypes.bfloat16)
    return dtype
