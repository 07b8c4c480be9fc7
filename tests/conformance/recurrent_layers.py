"""A recurrent layer in one direction, by the formulas of PyTorch's and ONNX's documentation, in
float64 and one sequence at a time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

GATES = {"rnn_tanh": 1, "rnn_relu": 1, "lstm": 4, "gru": 3, "gru_reset_before": 3}
CELLS = list(GATES)
#: of a result, beside what its last rounding takes
TOLERANCE = {"float32": 5e-6, "float16": 5e-6, "float64": 1e-13}


@dataclass(frozen=True)
class Layer:
    cell: str
    steps: int
    batch: int
    hidden: int
    projected: int | None = None
    reverse: bool = False
    ragged: bool = False
    starts: bool = True  # states are given
    biased: bool = True
    peepholes: bool = False  # in the place of biases
    clip: float | None = None

    @property
    def out(self) -> int:
        return self.projected or self.hidden

    @property
    def gates(self) -> int:
        return GATES[self.cell]

    def __str__(self) -> str:
        name = f"{self.cell}-{self.steps}x{self.batch}x{self.hidden}"
        name += f"-to{self.projected}" if self.projected else ""
        for flag in ("reverse", "ragged"):
            name += f"-{flag}" if getattr(self, flag) else ""
        name += "" if self.starts else "-from0"
        name += "-peepholes" if self.peepholes else "" if self.biased else "-plain"
        return name + (f"-clip{self.clip}" if self.clip else "")


@dataclass(frozen=True)
class Arrays:
    """What a layer is called with: None where there is none."""

    inputs: Array
    weights: Array
    initial_hidden: Array | None = None
    initial_cell: Array | None = None
    lengths: Array | None = None
    bias: Array | None = None
    peepholes: Array | None = None
    projection: Array | None = None


@dataclass(frozen=True)
class Results:
    outputs: Array
    hidden: Array
    cell: Array | None


def drawn(layer: Layer, rng: np.random.Generator, dtype: str) -> Arrays:
    def normal(*shape: int, scale: float = 1.0) -> Array:
        return (scale * rng.standard_normal(shape)).astype(dtype)

    rows, is_lstm = layer.gates * layer.hidden, layer.cell == "lstm"
    lengths = None
    if layer.ragged:
        lengths = rng.integers(0, layer.steps + 1, layer.batch).astype(np.int32)
        # Some are none at all, or one or all steps long.
        some = np.array([layer.steps, 0, 1, layer.steps], np.int32)[: layer.batch]
        lengths[: len(some)] = np.minimum(some, layer.steps)
    return Arrays(
        inputs=normal(layer.steps, layer.batch, rows),
        weights=normal(rows, layer.out, scale=0.7 / np.sqrt(layer.out)),
        initial_hidden=normal(layer.batch, layer.out) if layer.starts else None,
        initial_cell=normal(layer.batch, layer.hidden) if layer.starts and is_lstm else None,
        lengths=lengths,
        bias=normal(2 * rows, scale=0.5) if layer.biased and not layer.peepholes else None,
        peepholes=normal(3 * layer.hidden, scale=0.5) if layer.peepholes else None,
        projection=(
            normal(layer.projected, layer.hidden, scale=1 / np.sqrt(layer.hidden))
            if layer.projected
            else None
        ),
    )


def sigmoid(x: Array) -> Array:
    return 0.5 * (1 + np.tanh(0.5 * x))


def step(layer: Layer, given: Arrays, x: Array, hidden: Array, cell: Array) -> tuple[Array, Array]:
    """Of one sequence."""
    n = layer.hidden
    weights = given.weights.astype(np.float64)
    bias = np.zeros(layer.gates * n)
    if given.bias is not None:
        of_input, bias = np.split(given.bias.astype(np.float64), 2)
        x = x + of_input

    def kept(value: Array) -> Array:
        if layer.clip is None:
            return value
        clip = float(np.float32(layer.clip))
        return np.clip(value, -clip, clip)

    if layer.cell == "gru_reset_before":
        x = x + bias
        r, z = np.split(sigmoid(kept(x[: 2 * n] + weights[: 2 * n] @ hidden)), 2)
        candidate = np.tanh(kept(x[2 * n :] + weights[2 * n :] @ (r * hidden)))
        return (1 - z) * candidate + z * hidden, cell
    product = weights @ hidden + bias
    if layer.cell == "gru":
        r, z = np.split(sigmoid(kept(x[: 2 * n] + product[: 2 * n])), 2)
        candidate = np.tanh(kept(x[2 * n :] + r * product[2 * n :]))
        return (1 - z) * candidate + z * hidden, cell
    if layer.cell == "rnn_tanh":
        return np.tanh(kept(x + product)), cell
    if layer.cell == "rnn_relu":
        return np.maximum(kept(x + product), 0), cell
    of_i, of_f, of_o = np.zeros((3, n))
    if given.peepholes is not None:
        of_i, of_f, of_o = given.peepholes.astype(np.float64).reshape(3, n)
    i, f, g, o = np.split(x + product, 4)
    cell_before = cell
    cell = sigmoid(kept(f + of_f * cell_before)) * cell_before
    cell = cell + sigmoid(kept(i + of_i * cell_before)) * np.tanh(kept(g))
    hidden = sigmoid(kept(o + of_o * cell)) * np.tanh(kept(cell))
    if given.projection is not None:
        hidden = given.projection.astype(np.float64) @ hidden
    return hidden, cell


def expected(layer: Layer, given: Arrays) -> Results:
    outputs = np.zeros((layer.steps, layer.batch, layer.out))
    hidden = np.zeros((layer.batch, layer.out))
    cell = np.zeros((layer.batch, layer.hidden))
    if given.initial_hidden is not None:
        hidden[:] = given.initial_hidden
    if given.initial_cell is not None:
        cell[:] = given.initial_cell
    for b in range(layer.batch):
        length = layer.steps if given.lengths is None else int(given.lengths[b])
        places = range(min(max(length, 0), layer.steps))
        for t in reversed(places) if layer.reverse else places:
            x = given.inputs[t, b].astype(np.float64)
            hidden[b], cell[b] = step(layer, given, x, hidden[b], cell[b])
            outputs[t, b] = hidden[b]
    return Results(outputs, hidden, cell if layer.cell == "lstm" else None)


def with_lengths(given: Arrays, lengths: list[int]) -> Arrays:
    return replace(given, lengths=np.array(lengths, np.int32))
