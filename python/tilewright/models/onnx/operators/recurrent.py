"""LSTM, GRU and RNN."""

from __future__ import annotations

from typing import Any

import numpy as np

import tilewright as tw
from tilewright.array import Array
from tilewright.models.files.errors import ModelError
from tilewright.models.onnx.nodes import Node
from tilewright.models.onnx.operators.registry import Run, operator

WAYS = ("forward", "reverse", "bidirectional")
USUAL = {"LSTM": ("sigmoid", "tanh", "tanh"), "GRU": ("sigmoid", "tanh"), "RNN": ("tanh",)}


def _options(node: Node) -> dict[str, Any]:
    way = node.string("direction", "forward", WAYS)
    count = 2 if way == "bidirectional" else 1
    options: dict[str, Any] = {"reverse": way == "reverse", "bidirectional": count == 2}
    functions = [one.lower() for one in node.strings("activations") or USUAL[node.op] * count]
    usual = list(USUAL[node.op]) * count
    if node.op == "RNN" and functions == ["relu"] * count:
        options["nonlinearity"] = "relu"
    elif functions != usual:
        node.fail(f"the attribute activations is {functions}, expected {usual}")
    if node.given("clip"):
        options["clip"] = node.number("clip")
    if node.op == "LSTM":
        node.only("input_forget", 0)
    if node.op == "GRU":
        options["reset_after"] = node.flag("linear_before_reset")
    node.maybe("hidden_size")
    for name in ("activation_alpha", "activation_beta"):
        node.numbers(name)
    return options


@operator("LSTM", "GRU", "RNN")
def _recurrent(node: Node) -> Run:
    options = _options(node)
    by_batch = node.flag("layout")
    own: Any = {"LSTM": tw.nn.lstm, "GRU": tw.nn.gru, "RNN": tw.nn.rnn}[node.op]
    # Weights that stay what they are have the gates in our order once.
    kept: list[Any] = []

    def weights_of(*given: Any) -> Any:
        for before, found in kept:
            if all(a is b for a, b in zip(before, given, strict=True)):
                return found
        found = tw.nn.recurrent_from_onnx(node.op, *given)
        if node.fixed_weights:
            kept[:] = [(given, found)]
        return found

    def run(
        x: Any, w: Any, r: Any, b: Any = None, lengths: Any = None, h: Any = None, c: Any = None,
        p: Any = None,
    ) -> Any:  # fmt: skip
        if x.ndim != 3:
            raise ModelError(f"its input has shape {tuple(x.shape)}, expected three dimensions")
        hidden, ways = r.shape[-1], r.shape[0]
        steps, batch = (x.shape[1], x.shape[0]) if by_batch else x.shape[:2]
        if by_batch:
            h, c = (None if one is None else one.swapaxes(0, 1) for one in (h, c))
        state: Any = h
        if node.op == "LSTM" and (h is not None or c is not None):
            shape = (ways, batch, hidden)
            state = tuple(tw.zeros(shape, dtype=x.dtype) if s is None else s for s in (h, c))
        given = (w, r, b, p) if node.op == "LSTM" else (w, r, b)
        output, last = own(
            x, weights_of(*given), state, batch_first=by_batch, lengths=_lengths(lengths),
            **options,
        )  # fmt: skip
        lasts = last if isinstance(last, tuple) else (last,)
        if by_batch:
            every = output.reshape((batch, steps, ways, hidden))
            return every, *(one.swapaxes(0, 1) for one in lasts)
        return output.reshape((steps, batch, ways, hidden)).swapaxes(1, 2), *lasts

    return run


def _lengths(given: Any) -> Any:
    if isinstance(given, Array) and given.dtype != np.int32:
        return given.astype("int32")
    return given
