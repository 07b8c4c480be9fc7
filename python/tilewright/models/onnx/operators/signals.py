"""Windows, Fourier transforms and what overlaps are put together of."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import tilewright as tw
from tilewright.models.files.errors import ModelError
from tilewright.models.onnx.nodes import Node
from tilewright.models.onnx.operators.common import axis_in, check_room, ints, scalar
from tilewright.models.onnx.operators.registry import Run, operator
from tilewright.models.onnx.operators.windows import Windows

#: the first, second and third coefficient of a sum of cosines
COSINES = {
    "HannWindow": (0.5, 0.5, 0.0), "HammingWindow": (25 / 46, 21 / 46, 0.0),
    "BlackmanWindow": (0.42, 0.5, 0.08),
}  # fmt: skip


@operator(*COSINES, host=(0,), grows=True)
def _window(node: Node) -> Run:
    to = node.dtype("output_datatype", 1)
    periodic = node.flag("periodic", 1)
    a, b, c = COSINES[node.op]

    def run(size: Any) -> Any:
        count = int(scalar(size))
        check_room((count,))
        step = 2 * math.pi / max(count if periodic else count - 1, 1)
        at = tw.arange(count, dtype="float32") * step
        found = a - tw.cos(at) * b
        return (found + tw.cos(at * 2) * c if c else found).astype(to)

    return run


def _complex(x: Any) -> Any:
    """Of pairs along the last axis."""
    if x.shape[-1] == 1:
        return x.reshape(x.shape[:-1])
    if x.shape[-1] != 2:
        raise ModelError(f"its input has shape {tuple(x.shape)}, expected 1 or 2 parts")
    found = tw.empty(x.shape[:-1], dtype="complex128" if x.dtype == "float64" else "complex64")
    found.real[...] = x[..., 0]
    found.imag[...] = x[..., 1]
    return found


def _parts(x: Any) -> Any:
    return tw.stack([x.real, x.imag], axis=-1)


@operator("DFT", host=(1, 2))
def _dft(node: Node) -> Run:
    inverse, onesided = node.flag("inverse"), node.flag("onesided")
    usual = node.integer("axis", 1) if node.version < 20 else -2

    def run(x: Any, length: Any = None, axis: Any = None) -> Any:
        at = axis_in(usual if axis is None else int(scalar(axis)), x.ndim)
        if at == x.ndim - 1:
            raise ModelError("its axis is that of the parts, expected another one")
        dtype = x.dtype
        count = None if length is None else int(scalar(length))
        if count is not None:
            check_room((count,))
        signal = _complex(x.astype("float32") if dtype.itemsize < 4 else x)
        if inverse and onesided:
            found = tw.fft.irfft(signal, n=count, axis=at)
            return tw.expand_dims(found, axis=-1).astype(dtype)
        if onesided:
            if signal.dtype.kind == "c":
                raise ModelError("it is onesided of complex numbers, expected real ones")
            return _parts(tw.fft.rfft(signal, n=count, axis=at)).astype(dtype)
        if signal.dtype.kind != "c":
            signal = signal.astype("complex128" if signal.dtype == "float64" else "complex64")
        own = tw.fft.ifft if inverse else tw.fft.fft
        return _parts(own(signal, n=count, axis=at)).astype(dtype)

    return run


@operator("STFT", host=(1, 3))
def _stft(node: Node) -> Run:
    onesided = node.flag("onesided", 1)

    def run(x: Any, step: Any, window: Any = None, length: Any = None) -> Any:
        if x.ndim != 3:
            raise ModelError(f"its input has shape {tuple(x.shape)}, expected three dimensions")
        hop = int(scalar(step))
        size = window.shape[0] if length is None and window is not None else None
        size = int(scalar(length)) if size is None else size
        if hop < 1 or not 1 <= size <= x.shape[1]:
            raise ModelError(f"frames of {size} by {hop}, of {x.shape[1]} places")
        signal = _complex(x)
        frames = 1 + (x.shape[1] - size) // hop
        places = np.arange(frames)[:, None] * hop + np.arange(size)
        rows = signal[:, places]
        if window is not None:
            rows = rows * window
        if onesided and rows.dtype.kind != "c":
            return _parts(tw.fft.rfft(rows, axis=-1)).astype(x.dtype)
        if rows.dtype.kind != "c":
            rows = rows.astype("complex64")
        found = _parts(tw.fft.fft(rows, axis=-1)).astype(x.dtype)
        return found[:, :, : size // 2 + 1] if onesided else found

    return run


@operator("Col2Im", host=(1, 2), grows=True)
def _col2im(node: Node) -> Run:
    windows = Windows.of(node)

    def run(x: Any, shape: Any, block: Any) -> Any:
        sizes, kernel = ints(shape), ints(block)
        axes = len(sizes)
        if x.ndim != 3 or len(kernel) != axes or not 1 <= axes <= 3 or min(kernel) < 1:
            raise ModelError(f"its input has shape {tuple(x.shape)}, of blocks {kernel}")
        check_room(sizes)
        taps = math.prod(kernel)
        placed = windows.at(sizes, kernel)
        places = placed.out()
        channels = x.shape[1] // taps
        if channels * taps != x.shape[1] or math.prod(places) != x.shape[2]:
            raise ModelError(f"its input has shape {tuple(x.shape)}, expected {taps} taps")
        # The gradient of a convolution whose filters take one tap each.
        own = (tw.nn.conv_transpose1d, tw.nn.conv_transpose2d, tw.nn.conv_transpose3d)[axes - 1]
        filters = np.eye(taps, dtype=np.float32).reshape((taps, 1, *kernel))
        whole = own(
            x.reshape((x.shape[0] * channels, taps, *places)), tw.asarray(filters).astype(x.dtype),
            stride=placed.strides, dilation=placed.dilations,
        )  # fmt: skip
        wanted = [n + a + b for n, (a, b) in zip(sizes, placed.pads, strict=True)]
        around = [(0, w - n) for w, n in zip(wanted, whole.shape[2:], strict=True)]
        if any(b for _, b in around):
            whole = tw.pad(whole, [(0, 0), (0, 0), *around])
        key = tuple(slice(a, a + n) for n, (a, _) in zip(sizes, placed.pads, strict=True))
        return whole[(slice(None), slice(None), *key)].reshape((x.shape[0], channels, *sizes))

    return run


def _hertz(mel: Any) -> Any:
    return 700 * (10 ** (mel / 2595) - 1)


@operator("MelWeightMatrix", host=(0, 1, 2, 3, 4), grows=True)
def _mel_weights(node: Node) -> Run:
    """Triangles over the bins of a spectrum; made on the host, as tables are."""
    to = node.dtype("output_datatype", 1)

    def run(bands: Any, length: Any, rate: Any, low: Any, high: Any) -> Any:
        count, size, samples = (int(scalar(one)) for one in (bands, length, rate))
        edges = [2595 * math.log10(1 + float(scalar(one)) / 700) for one in (low, high)]
        if min(count, size, samples) < 1:
            raise ModelError(f"it has {count} bands of {size} places at {samples} hertz")
        bins = size // 2 + 1
        check_room((bins, count))
        # As the standard has it: the step is a part of one band more than there are edges.
        mels = edges[0] + np.arange(count + 2) * ((edges[1] - edges[0]) / (count + 2))
        places = np.floor((size + 1) * _hertz(mels) / samples).astype(np.int64)
        first, middle, last = places[:-2], places[1:-1], places[2:]
        at = np.arange(bins)[:, None]
        with np.errstate(all="ignore"):
            up = np.where(middle == first, 1.0, (at - first) / (middle - first))
            down = (last - at) / (last - middle)
        rises = (at >= first) & (at <= middle)
        falls = (at >= middle) & (at < last)
        found = np.where(falls, down, np.where(rises, up, 0.0))
        return tw.asarray(found.astype(np.float32)).astype(to)

    return run
