"""Recurrent layers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .case import AnyArray, Case, Draw, Problem, sizes

GATES = {"lstm": 4, "gru": 3, "gru_reset_before": 3, "rnn_tanh": 1, "rnn_relu": 1}


def _sigmoid(x: AnyArray) -> AnyArray:
    half: AnyArray = 0.5 * (1 + np.tanh(0.5 * x))
    return half


def _step(cell: str, x: AnyArray, weights: AnyArray, h: AnyArray, c: AnyArray) -> AnyArray:
    n = h.shape[1]
    if cell == "gru_reset_before":
        r, z = np.split(_sigmoid(x[:, : 2 * n] + h @ weights[: 2 * n].T), 2, 1)
        new: AnyArray = np.tanh(x[:, 2 * n :] + (r * h) @ weights[2 * n :].T)
        before: AnyArray = (1 - z) * new + z * h
        return before
    sums = h @ weights.T
    if cell == "lstm":
        i, f, g, o = np.split(x + sums, 4, 1)
        c[...] = _sigmoid(f) * c + _sigmoid(i) * np.tanh(g)
        found: AnyArray = _sigmoid(o) * np.tanh(c)
        return found
    if cell == "gru":
        r, z = np.split(_sigmoid(x[:, : 2 * n] + sums[:, : 2 * n]), 2, 1)
        new = np.tanh(x[:, 2 * n :] + r * sums[:, 2 * n :])
        after: AnyArray = (1 - z) * new + z * h
        return after
    plain: AnyArray = np.maximum(x + sums, 0) if cell == "rnn_relu" else np.tanh(x + sums)
    return plain


def _recurrent(cell: str) -> Callable[..., Problem]:
    def problem(draw: Draw, batch: int, steps: int, hidden: int) -> Problem:
        rows = GATES[cell] * hidden

        def in_numpy(x: AnyArray, weights: AnyArray, out: object = None) -> AnyArray:
            found = np.empty((steps, batch, hidden), x.dtype)
            h, c = np.zeros((2, batch, hidden), x.dtype)
            for t in range(steps):
                h = _step(cell, x[t], weights, h, c)
                found[t] = h
            return found

        return Problem(
            shape=f"{batch} x {steps} steps x {hidden}",
            inputs=[
                draw.normal(steps, batch, rows),
                (0.5 / np.sqrt(hidden) * draw.normal(rows, hidden)).astype(draw.dtype),
            ],
            output=draw.zeros(steps, batch, hidden),
            call=lambda be, x, out: be.recurrent(
                cell, x[0], x[1], out, steps, batch, hidden, dtype=draw.dtype
            ),
            numpy=in_numpy,
            flops=2 * steps * batch * rows * hidden,
            slack=64.0,
        )

    return problem


_SIZES = sizes((3, 5, 17), (32, 32, 256), (32, 128, 512))

CASES = [
    Case("recurrent", "Recurrent layers", _recurrent(cell), _SIZES, variant=cell) for cell in GATES
]
