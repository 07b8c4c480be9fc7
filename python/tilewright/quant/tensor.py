"""Weights in blocks on a device."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright.array import Array
from tilewright.namespace.creation import asarray, empty
from tilewright.operands import FLOAT16, FLOAT32, invalid, shown, to_dtype, to_shape
from tilewright.quant.formats import GROUP, Format, pack, to_format

if TYPE_CHECKING:
    import numpy.typing as npt

    from tilewright.backend import Backend
    from tilewright.namespace.devices import Device
    from tilewright.quant.formats import Bytes

FLOATS = (FLOAT32, FLOAT16)


def checked_shape(call: str, shape: Any, format: Format) -> tuple[int, ...]:
    """A shape whose last axis is whole blocks."""
    sizes = to_shape(call, shape)
    if not sizes or sizes[-1] % format.block:
        invalid(
            call, f"shape is {sizes}, expected a last axis that is a multiple of {format.block}, "
            f"which a block of {format.name} has"
        )  # fmt: skip
    return sizes


class QuantizedTensor:
    """Weights that a device holds in blocks along their last axis.

    Made by from_blocks() of what a file has, or by quantize_blocks() of an Array. dequantize()
    gives their values, `x @ w.T` and matmul(x, w) multiply by them as they are.
    """

    __slots__ = ("format", "packed", "shape")

    def __init__(self, format: str, shape: Any, packed: Array) -> None:
        """Of the planes themselves, as tilewright/quantized.hpp lays them out."""
        call = "QuantizedTensor"
        kind = to_format(call, format)
        self.format: str = kind.name
        self.shape: tuple[int, ...] = checked_shape(call, shape, kind)
        expected = kind.planes(math.prod(self.shape) // GROUP).bytes
        if not isinstance(packed, Array):
            invalid(call, f"packed is {shown(packed)}, expected an Array of uint8")
        if packed.dtype != np.uint8 or packed.shape != (expected,):
            invalid(
                call, f"packed is {packed.dtype} of shape {packed.shape}, expected uint8 of shape "
                f"({expected},)"
            )  # fmt: skip
        self.packed: Array = packed

    @classmethod
    def from_blocks(
        cls, blocks: Any, format: str, shape: Any, *, device: Device | None = None
    ) -> QuantizedTensor:
        """Of blocks as GGUF stores them, bytes or an array of uint8, row by row, of a shape whose
        last axis the blocks lie along."""
        call = "from_blocks"
        kind = to_format(call, format)
        sizes = checked_shape(call, shape, kind)
        count = math.prod(sizes) // kind.block
        raw = _to_bytes(call, blocks)
        if raw.size != count * kind.bytes:
            invalid(
                call, f"blocks has {raw.size} bytes, expected {count * kind.bytes}: {count} blocks "
                f"of {kind.name}, {kind.bytes} each"
            )  # fmt: skip
        planes = pack(kind, raw.reshape(count, kind.bytes))
        return cls(kind.name, sizes, asarray(planes, device=device))

    @property
    def device(self) -> Backend:
        return self.packed.device

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """On the device."""
        return self.packed.nbytes

    @property
    def T(self) -> TransposedWeights:
        """What `x @ w.T` multiplies by; nothing is moved."""
        return TransposedWeights(self)

    def dequantize(self, dtype: npt.DTypeLike = FLOAT32) -> Array:
        """The values: of float32 what the format says to the bit, of float16 rounded."""
        kind = _to_float("dequantize", dtype)
        out = empty(self.shape, dtype=kind, device=self.device)
        cols = self.shape[-1]
        rows = self.size // cols if cols else 0
        self.device.dequantize(self.packed, out, self.format, rows, cols, kind.name)
        return out

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> Any:
        invalid(
            "asarray",
            f"x is a QuantizedTensor of {self.format}, expected an Array; write x.dequantize()",
        )

    def __repr__(self) -> str:
        return (
            f"QuantizedTensor({self.format}, shape={self.shape}, nbytes={self.nbytes}, "
            f"device={self.device.device.id!r})"
        )


class TransposedWeights:
    """The right operand of `x @ w.T`."""

    __slots__ = ("weights",)
    # NumPy's arrays leave `@` to it.
    __array_ufunc__ = None

    def __init__(self, weights: QuantizedTensor) -> None:
        self.weights = weights

    @property
    def shape(self) -> tuple[int, ...]:
        return self.weights.shape[::-1]

    @property
    def T(self) -> QuantizedTensor:
        return self.weights

    def __rmatmul__(self, x: Any) -> Array:
        return matmul(x, self.weights)


def matmul(x: Array, w: QuantizedTensor, /) -> Array:
    """x @ w.T, of float32 or float16 x with any axes before the last, and w of two axes. Sums are
    float32, whatever x is, and no weight is rounded to x's dtype."""
    call = "matmul"
    if not isinstance(x, Array):
        invalid(call, f"x is {shown(x)}, expected an Array; write tw.asarray(x)")
    if not isinstance(w, QuantizedTensor):
        invalid(call, f"w is {shown(w)}, expected a QuantizedTensor; x @ w is for Arrays")
    if x.dtype not in FLOATS:
        invalid(call, f"x is {x.dtype}, expected float32 or float16; write x.astype('float32')")
    if x.backend is not w.device:
        invalid(
            call, f"x is on {x.backend.device.id}, w on {w.device.device.id}; expected one device"
        )  # fmt: skip
    if w.ndim != 2:
        invalid(call, f"w has the shape {w.shape}, expected two axes")
    n, k = w.shape
    if x.ndim == 0 or x.shape[-1] != k:
        invalid(call, f"x has the shape {x.shape}, expected {k} as its last axis, as w {w.shape}")
    if k == 0:
        invalid(call, f"w has the shape {w.shape}, expected columns")
    out = empty((*x.shape[:-1], n), dtype=x.dtype, device=x.backend)
    m = x.size // k
    x.backend.quantized_matmul(
        x._contiguous(), w.packed, out, w.format, m, n, k, k, n, x.dtype.name
    )
    return out


def _to_float(call: str, dtype: npt.DTypeLike) -> np.dtype[Any]:
    kind = to_dtype(call, dtype)
    if kind not in FLOATS:
        invalid(call, f"dtype is {kind}, expected float32 or float16")
    return kind


def _to_bytes(call: str, blocks: Any) -> Bytes:
    if isinstance(blocks, np.ndarray):
        if blocks.dtype != np.uint8:
            invalid(
                call, f"blocks is of {blocks.dtype}, expected uint8; write blocks.view('uint8')"
            )
        return np.ascontiguousarray(blocks).reshape(-1)
    try:
        return np.frombuffer(blocks, np.uint8)
    except (TypeError, ValueError):
        invalid(call, f"blocks is {shown(blocks)}, expected bytes or a NumPy array of uint8")
