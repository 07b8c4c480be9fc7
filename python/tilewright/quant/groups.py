"""int4 with a scale for each group of weights: made on a device, and as GPTQ and AWQ store it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright.array import Array
from tilewright.namespace.creation import zeros
from tilewright.namespace.elementwise import abs, clip, isfinite, maximum, minimum, round, where
from tilewright.namespace.manipulation import broadcast_to
from tilewright.namespace.reductions import max, min
from tilewright.operands import FLOAT16, FLOAT32, invalid, read_host, shown, to_integer
from tilewright.quant.blocks import UINT8, _nibbles
from tilewright.quant.formats import FORMATS, GROUP
from tilewright.quant.tensor import FLOATS, QuantizedTensor

if TYPE_CHECKING:
    import numpy.typing as npt

    from tilewright.namespace.devices import Device

    Host = npt.NDArray[Any]

#: AWQ's order of eight numbers in a word.
AWQ_ORDER = (0, 4, 1, 5, 2, 6, 3, 7)


def _group_size(call: str, given: Any, cols: int) -> int:
    size = cols if given is None else to_integer(call, "group_size", given)
    if size < 1 or size % GROUP or cols % size:
        invalid(
            call,
            f"group_size is {shown(given)}, expected a multiple of {GROUP} that divides the {cols} "
            "weights of a row, or None for the whole row",
        )
    return size


def quantize_int4(
    x: Array, group_size: int | None = 128, *, symmetric: bool = True
) -> QuantizedTensor:
    """x, of float32 or float16, as 4 bits a weight, with a scale for each group along its last
    axis: scale * (q - 8) with q - 8 in -7 to 7, or if not symmetric scale * q + minimum, by a zero
    point that is one of the 16 numbers. group_size None is the whole row. Nothing is read to the
    host.

    The result is of the format q4_0 or q4_1, whose blocks of 32 have the scale of their group.
    """
    call = "quantize_int4"
    if not isinstance(x, Array):
        invalid(call, f"x is {shown(x)}, expected an Array; write tw.asarray(x)")
    if x.dtype not in FLOATS:
        invalid(call, f"x is {x.dtype}, expected float32 or float16")
    if not isinstance(symmetric, bool):
        invalid(call, f"symmetric is {shown(symmetric)}, expected True or False")
    if x.ndim == 0:
        invalid(call, "x has no dimensions, expected weights along the last axis")
    size = _group_size(call, group_size, x.shape[-1])
    kind = FORMATS["q4_0" if symmetric else "q4_1"]
    blocks = math.prod(x.shape) // GROUP
    at = kind.planes(blocks)
    packed = zeros(at.bytes, dtype=UINT8, device=x.backend)
    if blocks:
        rows = x.astype(FLOAT32, copy=False).reshape((-1, size))
        q, scales = _symmetric(rows) if symmetric else _with_zeros(rows)
        each = size // GROUP
        shape = (scales.shape[0], each, scales.shape[1])
        repeated = broadcast_to(scales.reshape((-1, 1, scales.shape[1])), shape).copy()
        for part, start in ((_nibbles(q.reshape((blocks, GROUP))), at.low), (repeated, at.scales)):
            x.backend.copy_dtod(packed, part._contiguous(), part.nbytes, start)
    return QuantizedTensor(kind.name, x.shape, packed)


def _stored(scale: Array) -> tuple[Array, Array]:
    """As float16, and what of it there is, for quants to be made by."""
    half = scale.astype(FLOAT16)
    wide = half.astype(FLOAT32)
    return half, where(wide == 0, 1.0, wide)


def _symmetric(rows: Array) -> tuple[Array, Array]:
    scale, by = _stored(max(abs(rows), axis=1, keepdims=True) / 7)
    return clip(round(rows / by), -7, 7) + 8, scale


def _with_zeros(rows: Array) -> tuple[Array, Array]:
    low = minimum(min(rows, axis=1, keepdims=True), 0)
    scale, by = _stored((maximum(max(rows, axis=1, keepdims=True), 0) - low) / 15)
    zero = clip(round(-low / by), 0, 15)
    zero = where(isfinite(zero), zero, 0)
    both = zeros((rows.shape[0], 2), dtype=FLOAT16, device=rows.backend)
    both[:, :1] = scale
    both[:, 1:] = (-scale.astype(FLOAT32) * zero).astype(FLOAT16)
    return clip(round(rows / by) + zero, 0, 15), both


# As files have it --------------------------------------------------------------------------------


def _host(call: str, name: str, given: Any, dtype: Any, shape: tuple[int | None, ...]) -> Host:
    own = given.numpy() if isinstance(given, Array) else read_host(call, name, given)
    if own.dtype != dtype:
        invalid(call, f"{name} is {own.dtype}, expected {np.dtype(dtype)}")
    fits = own.ndim == len(shape) and all(
        b is None or a == b for a, b in zip(own.shape, shape, strict=True)
    )
    if not fits:
        expected = ", ".join("any" if one is None else str(one) for one in shape)
        comma = "," if len(shape) == 1 else ""
        invalid(call, f"{name} has shape {own.shape}, expected ({expected}{comma})")
    return np.asarray(own)


def _unpacked(words: Host, order: tuple[int, ...]) -> Host:
    """Eight numbers of 4 bits of each word of the last axis, side by side."""
    shifts = 4 * np.asarray(order, np.uint32)
    numbers = (words.view(np.uint32)[..., None] >> shifts) & np.uint32(15)
    return np.asarray(numbers.reshape((*words.shape[:-1], 8 * words.shape[-1])), np.uint8)


def _made(q: Host, zeros: Host, scales: Host, device: Device | None) -> QuantizedTensor:
    """Of q [n, k], and zeros and scales [groups, n], w = scales * (q - zeros)."""
    n, k = q.shape
    each = k // len(scales) // GROUP
    is_symmetric = bool((zeros == 8).all())
    wide = scales.astype(np.float32)
    # Blocks as GGUF has them: the scale, the minimum, and 32 quants.
    parts = [scales.T.astype(np.float16)]
    if not is_symmetric:
        with np.errstate(over="ignore"):
            parts.append((-wide * zeros).T.astype(np.float16))
    heads = np.stack(parts, axis=-1).repeat(each, axis=1)
    runs = q.reshape(n, k // GROUP, 2, GROUP // 2)
    nibbles = runs[:, :, 0] | runs[:, :, 1] << 4
    head = np.ascontiguousarray(heads).view(np.uint8).reshape(n, k // GROUP, 2 * len(parts))
    blocks = np.concatenate([head, nibbles], axis=-1)
    return QuantizedTensor.from_blocks(
        np.ascontiguousarray(blocks).reshape(-1), "q4_0" if is_symmetric else "q4_1", (n, k),
        device=device,
    )  # fmt: skip


def _grouped(call: str, k: int, groups: int) -> None:
    if groups < 1 or k % groups or k // groups % GROUP:
        invalid(
            call,
            f"scales has {groups} groups for {k} inputs, expected groups of a multiple of {GROUP}",
        )


def from_gptq(
    qweight: Any, qzeros: Any, scales: Any, g_idx: Any = None, *, zero_offset: int = 1,
    device: Device | None = None,
) -> QuantizedTensor:  # fmt: skip
    """Weights of 4 bits as GPTQ stores them: qweight int32 [inputs / 8, outputs], qzeros int32
    [groups, outputs / 8], scales float16 [groups, outputs]. `zero_offset` is what is added to a
    stored zero: 1, or 0 in files of version 2. g_idx, where given, must count groups in order. The
    result is [outputs, inputs], for x @ w.T.

    Where all zeros are 8 the values are the file's, in q4_0; else q4_1 has scale * zero rounded to
    float16.
    """
    call = "from_gptq"
    scales = _host(call, "scales", scales, np.float16, (None, None))
    groups, n = scales.shape
    packed = _host(call, "qweight", qweight, np.int32, (None, n))
    if n % 8:
        invalid(call, f"scales has {n} outputs, expected a multiple of 8")
    k = 8 * packed.shape[0]
    _grouped(call, k, groups)
    offset = to_integer(call, "zero_offset", zero_offset)
    if offset not in (0, 1):
        invalid(call, f"zero_offset is {offset}, expected 0 or 1")
    stored = _host(call, "qzeros", qzeros, np.int32, (groups, n // 8))
    if g_idx is not None:
        order = _host(call, "g_idx", g_idx, np.int32, (k,))
        wrong = order != np.arange(k) // (k // groups)
        if wrong.any():
            at = int(np.argmax(wrong))
            invalid(
                call,
                f"g_idx[{at}] is {int(order[at])}, expected {at // (k // groups)}: groups in "
                "order; sort the inputs by their group first",
            )
    straight = tuple(range(8))
    q = _unpacked(np.ascontiguousarray(packed.T), straight)
    zeros = _unpacked(stored, straight).astype(np.int32) + offset
    return _made(q, zeros, scales, device)


def from_awq(
    qweight: Any, qzeros: Any, scales: Any, *, device: Device | None = None
) -> QuantizedTensor:
    """Weights of 4 bits as AWQ stores them: qweight int32 [inputs, outputs / 8], qzeros int32
    [groups, outputs / 8], scales float16 [groups, outputs]. The result is [outputs, inputs], for
    x @ w.T; its values are those of from_gptq()."""
    call = "from_awq"
    scales = _host(call, "scales", scales, np.float16, (None, None))
    groups, n = scales.shape
    if n % 8:
        invalid(call, f"scales has {n} outputs, expected a multiple of 8")
    packed = _host(call, "qweight", qweight, np.int32, (None, n // 8))
    _grouped(call, packed.shape[0], groups)
    stored = _host(call, "qzeros", qzeros, np.int32, (groups, n // 8))
    q = np.ascontiguousarray(_unpacked(packed, AWQ_ORDER).T)
    return _made(q, _unpacked(stored, AWQ_ORDER).astype(np.int32), scales, device)
