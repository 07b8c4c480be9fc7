"""Recurrent layers and cells of tw.nn, with the weights of torch and of ONNX."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tilewright as tw
from tilewright import Backend, InvalidArgument

from .networks import near, on
from .recurrent_layers import GATES, Arrays, Layer, Results, expected
from .workspace import Array

RNG = np.random.default_rng(20261126)
START = RNG.bit_generator.state
CALLS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "rnn_tanh": (tw.nn.rnn, {}),
    "rnn_relu": (tw.nn.rnn, {"nonlinearity": "relu"}),
    "lstm": (tw.nn.lstm, {}),
    "gru": (tw.nn.gru, {}),
    "gru_reset_before": (tw.nn.gru, {"reset_after": False}),
}


@pytest.fixture(autouse=True)
def the_same_draws() -> None:
    """Whichever tests came before."""
    RNG.bit_generator.state = START


def numbers(*shape: int) -> Array:
    return (0.5 * RNG.standard_normal(shape)).astype(np.float32)


def state_dict(
    cell: str, features: int, hidden: int, layers: int = 1, both: bool = False,
    projected: int = 0, biased: bool = True,
) -> dict[str, Array]:  # fmt: skip
    rows, out, found = GATES[cell] * hidden, projected or hidden, {}
    for layer in range(layers):
        width = features if layer == 0 else out * (1 + both)
        for ending in ("", "_reverse")[: 1 + both]:
            found[f"weight_ih_l{layer}{ending}"] = numbers(rows, width)
            found[f"weight_hh_l{layer}{ending}"] = numbers(rows, out)
            if biased:
                found[f"bias_ih_l{layer}{ending}"] = numbers(rows)
                found[f"bias_hh_l{layer}{ending}"] = numbers(rows)
            if projected:
                found[f"weight_hr_l{layer}{ending}"] = numbers(projected, hidden)
    return found


def reference(
    cell: str, x: Array, weights: dict[str, Array], initial: list[Array] | None = None,
    lengths: list[int] | None = None, reverse: bool = False,
) -> tuple[Array, Array, Array]:  # fmt: skip
    """By torch.nn's names, of x [steps, batch, features]: output, h_n and c_n."""
    layers = 1 + max(int(name.split("_l")[1].split("_")[0]) for name in weights)
    both = any(name.endswith("_reverse") for name in weights)
    hidden_of: list[Array] = []
    cell_of: list[Array] = []
    for layer in range(layers):
        halves = []
        for ending in ("", "_reverse")[: 1 + both]:
            of = f"_l{layer}{ending}"
            w_ih, w_hh = weights[f"weight_ih{of}"], weights[f"weight_hh{of}"]
            w_hr = weights.get(f"weight_hr{of}")
            bias = None
            if f"bias_ih{of}" in weights:
                bias = np.concatenate([weights[f"bias_ih{of}"], weights[f"bias_hh{of}"]])
            place = len(hidden_of)
            made = expected(
                Layer(
                    cell, x.shape[0], x.shape[1], w_hh.shape[0] // GATES[cell],
                    projected=None if w_hr is None else w_hr.shape[0],
                    reverse=reverse or bool(ending),
                ),
                Arrays(
                    x @ w_ih.T.astype(np.float64), w_hh, bias=bias, projection=w_hr,
                    initial_hidden=None if initial is None else initial[0][place],
                    initial_cell=None if initial is None or cell != "lstm" else initial[1][place],
                    lengths=None if lengths is None else np.array(lengths, np.int32),
                ),
            )  # fmt: skip
            halves.append(made.outputs)
            hidden_of.append(made.hidden)
            cell_of.append(np.zeros(0) if made.cell is None else made.cell)
        x = np.concatenate(halves, axis=2)
    return x, np.stack(hidden_of), np.stack(cell_of)


def on_device(be: Backend, weights: dict[str, Array]) -> dict[str, Any]:
    return {name: on(be, one) for name, one in weights.items()}


def compare(cell: str, got: Any, exact: tuple[Array, Array, Array]) -> None:
    output, states = got
    near(output, exact[0], "float32", 24)
    if cell == "lstm":
        near(states[0], exact[1], "float32", 24)
        near(states[1], exact[2], "float32", 24)
    else:
        near(states, exact[1], "float32", 24)


@pytest.mark.parametrize("cell", GATES)
@pytest.mark.parametrize("both", [False, True])
@pytest.mark.parametrize("batch_first", [False, True])
def test_stacked_layers(be: Backend, batch_first: bool, both: bool, cell: str) -> None:
    function, options = CALLS[cell]
    weights = state_dict(cell, 5, 6, layers=3, both=both)
    x, lengths = numbers(7, 4, 5), [7, 0, 1, 4]
    states = [numbers(3 * (1 + both), 4, 6) for _ in range(2 if cell == "lstm" else 1)]
    given = on(be, np.ascontiguousarray(x.swapaxes(0, 1)) if batch_first else x)
    hx = tuple(on(be, one) for one in states)
    output, final = function(
        given, on_device(be, weights), hx if cell == "lstm" else hx[0], lengths=lengths,
        batch_first=batch_first, **options,
    )  # fmt: skip
    if batch_first:
        output = output.swapaxes(0, 1)
    compare(cell, (output, final), reference(cell, x, weights, states, lengths))


@pytest.mark.parametrize("both", [False, True])
def test_projected_layers_without_biases(be: Backend, both: bool) -> None:
    weights = state_dict("lstm", 4, 9, layers=2, both=both, projected=3, biased=False)
    x = numbers(5, 3, 4)
    got = tw.nn.lstm(on(be, x), on_device(be, weights))
    compare("lstm", got, reference("lstm", x, weights))


@pytest.mark.parametrize("cell", GATES)
def test_reverse_and_lists_of_weights(be: Backend, cell: str) -> None:
    function, options = CALLS[cell]
    weights = state_dict(cell, 3, 4, layers=2)
    x = numbers(6, 2, 3)
    kinds = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    parts = [tuple(on(be, weights[f"{kind}_l{i}"]) for kind in kinds) for i in range(2)]
    lengths = on(be, np.array([6, 3], np.int64).astype(np.int32), "int32")
    got = function(on(be, x), parts, lengths=lengths, reverse=True, **options)
    compare(cell, got, reference(cell, x, weights, lengths=[6, 3], reverse=True))


def test_one_sequence_without_a_batch(be: Backend) -> None:
    weights = state_dict("lstm", 3, 4, layers=2)
    x, h_0, c_0 = numbers(6, 3), numbers(2, 4), numbers(2, 4)
    output, (hidden, cell) = tw.nn.lstm(
        on(be, x), on_device(be, weights), (on(be, h_0), on(be, c_0))
    )
    exact = reference("lstm", x[:, None], weights, [h_0[:, None], c_0[:, None]])
    near(output, exact[0][:, 0], "float32", 24)
    near(hidden, exact[1][:, 0], "float32", 24)
    near(cell, exact[2][:, 0], "float32", 24)


@pytest.mark.parametrize("cell", GATES)
@pytest.mark.parametrize("batch", [None, 1, 5])
@pytest.mark.parametrize("hidden", [3, 70])
def test_single_cells(be: Backend, hidden: int, batch: int | None, cell: str) -> None:
    weights = state_dict(cell, 4, hidden)
    rows = () if batch is None else (batch,)
    x, h, c = numbers(*rows, 4), numbers(*rows, hidden), numbers(*rows, hidden)
    of_lines = [one.reshape(1, batch or 1, hidden) for one in (h, c)]
    exact = reference(cell, x.reshape(1, batch or 1, 4), weights, of_lines)
    parts = [on(be, one) for one in weights.values()]
    shape = (*rows, hidden)
    if cell == "lstm":
        got = tw.nn.lstm_cell(on(be, x), (on(be, h), on(be, c)), *parts)
        near(got[0], exact[1].reshape(shape), "float32", 24)
        near(got[1], exact[2].reshape(shape), "float32", 24)
        return
    calls: dict[str, Callable[..., Any]] = {"rnn": tw.nn.rnn_cell, "gru": tw.nn.gru_cell}
    near(
        calls[cell[:3]](on(be, x), on(be, h), *parts, **CALLS[cell][1]),
        exact[1].reshape(shape),
        "float32",
        24,
    )


def test_a_cell_from_no_state(be: Backend) -> None:
    weights = state_dict("gru", 4, 3, biased=False)
    x = numbers(2, 4)
    got = tw.nn.gru_cell(on(be, x), None, *(on(be, one) for one in weights.values()))
    near(got, reference("gru", x[None], weights)[1][0], "float32", 24)


def test_dropout_is_between_layers(be: Backend) -> None:
    weights = on_device(be, state_dict("gru", 3, 40, layers=2))
    x = on(be, numbers(5, 2, 3))
    plain, _ = tw.nn.gru(x, weights, dropout=0.5)
    rng = tw.random.default_rng(3, device=be)
    state = rng.state
    got, _ = tw.nn.gru(x, weights, dropout=0.5, training=True, rng=rng)
    first = {name: one for name, one in weights.items() if "_l0" in name}
    second = {name.replace("_l1", "_l0"): one for name, one in weights.items() if "_l1" in name}
    between = tw.nn.dropout(tw.nn.gru(x, first)[0], 0.5, rng=state)
    np.testing.assert_array_equal(tw.nn.gru(between, second)[0].numpy(), got.numpy())
    assert (plain.numpy() != got.numpy()).any()
    alone, _ = tw.nn.gru(x, first, dropout=0.5, training=True, rng=rng)
    np.testing.assert_array_equal(alone.numpy(), tw.nn.gru(x, first)[0].numpy())


# ONNX: a reference by its own formulas, gate by gate in its order ---------------------------------


def sigmoid(x: Array) -> Array:
    found: Array = 1 / (1 + np.exp(-x))
    return found


def onnx_direction(
    op: str, x: Array, w: Array, r: Array, b: Array, p: Array | None, after: bool, reverse: bool,
    clip: float | None,
) -> Results:  # fmt: skip
    """As the operators' page has it: Xt*(W^T) and so on, of [steps, batch, features]."""
    gates = {"LSTM": 4, "GRU": 3, "RNN": 1}[op]
    hidden = r.shape[1]
    w_of, r_of = w.reshape(gates, hidden, -1), r.reshape(gates, hidden, hidden)
    wb, rb = b.reshape(2, gates, hidden)
    h, c = np.zeros((x.shape[1], hidden)), np.zeros((x.shape[1], hidden))
    outputs = np.zeros((*x.shape[:2], hidden))
    most = np.inf if clip is None else clip

    def f(value: Array) -> Array:
        return sigmoid(np.clip(value, -most, most))

    def g(value: Array) -> Array:
        found: Array = np.tanh(np.clip(value, -most, most))
        return found

    order = range(x.shape[0])
    for t in reversed(order) if reverse else order:
        at = [x[t] @ w_of[k].T + wb[k] for k in range(gates)]
        if op == "RNN":
            h = g(at[0] + h @ r_of[0].T + rb[0])
        elif op == "GRU":
            z = f(at[0] + h @ r_of[0].T + rb[0])
            reset = f(at[1] + h @ r_of[1].T + rb[1])
            if after:
                new = g(at[2] + reset * (h @ r_of[2].T + rb[2]))
            else:
                new = g(at[2] + (reset * h) @ r_of[2].T + rb[2])
            h = (1 - z) * new + z * h
        else:
            pi, po, pf = np.zeros((3, hidden)) if p is None else p.reshape(3, hidden)
            i = f(at[0] + h @ r_of[0].T + rb[0] + pi * c)
            forget = f(at[2] + h @ r_of[2].T + rb[2] + pf * c)
            c = forget * c + i * g(at[3] + h @ r_of[3].T + rb[3])
            h = f(at[1] + h @ r_of[1].T + rb[1] + po * c) * g(c)
        outputs[t] = h
    return Results(outputs, h, c if op == "LSTM" else None)


@pytest.mark.parametrize("clip", [None, 0.5])
@pytest.mark.parametrize(
    ("op", "peepholes", "after"),
    [
        ("LSTM", False, False),
        ("LSTM", True, False),
        ("GRU", False, True),
        ("GRU", False, False),
        ("RNN", False, False),
    ],
)
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
def test_onnx(
    be: Backend, direction: str, op: str, peepholes: bool, after: bool, clip: float | None
) -> None:
    directions, hidden, features = 2 if direction == "bidirectional" else 1, 5, 4
    rows = {"LSTM": 4, "GRU": 3, "RNN": 1}[op] * hidden
    x = numbers(6, 3, features)
    w, r = numbers(directions, rows, features), numbers(directions, rows, hidden)
    b = numbers(directions, 2 * rows)
    p = numbers(directions, 3 * hidden) if peepholes else None
    given = [None if one is None else on(be, one) for one in (w, r, b, p)]
    weights = tw.nn.recurrent_from_onnx(op, *given)
    options: dict[str, Any] = {"clip": clip}
    if op == "GRU":
        options["reset_after"] = after
    function = {"LSTM": tw.nn.lstm, "GRU": tw.nn.gru, "RNN": tw.nn.rnn}[op]
    output, states = function(  # type: ignore[operator]
        on(be, x), weights, bidirectional=directions == 2, reverse=direction == "reverse",
        **options,
    )  # fmt: skip
    hidden_of = states[0] if op == "LSTM" else states
    for d in range(directions):
        exact = onnx_direction(
            op, x.astype(np.float64), w[d], r[d], b[d], None if p is None else p[d], after,
            direction == "reverse" or d == 1, clip,
        )  # fmt: skip
        near(output[:, :, d * hidden : (d + 1) * hidden], exact.outputs, "float32", 24)
        near(hidden_of[d], exact.hidden, "float32", 24)
        if exact.cell is not None:
            near(states[1][d], exact.cell, "float32", 24)


def test_onnx_of_numpy() -> None:
    w, r, b = numbers(1, 12, 4), numbers(1, 12, 3), numbers(1, 24)
    (got,) = tw.nn.recurrent_from_onnx("LSTM", w, r, b)
    np.testing.assert_array_equal(got.w_ih[3:6], w[0, 6:9])  # f
    np.testing.assert_array_equal(got.w_hh[6:9], r[0, 9:])  # g
    np.testing.assert_array_equal(got.b_ih[:, 9:], b[0].reshape(2, 12)[:, 3:6])  # o


@pytest.mark.parametrize("units", [4, 70])
def test_a_recording_walks_again(be: Backend, units: int) -> None:
    weights = on_device(be, state_dict("lstm", 3, units, layers=2, both=True))
    first, second = numbers(5, 2, 3), numbers(5, 2, 3)
    x, lengths = on(be, first), on(be, [5, 2], "int32")
    with be.record() as recording:
        output, (hidden, cell) = tw.nn.lstm(x, weights, lengths=lengths)
    x[...] = on(be, second)
    recording.replay()
    again, (hidden_again, cell_again) = tw.nn.lstm(on(be, second), weights, lengths=lengths)
    np.testing.assert_array_equal(output.numpy(), again.numpy())
    np.testing.assert_array_equal(hidden.numpy(), hidden_again.numpy())
    np.testing.assert_array_equal(cell.numpy(), cell_again.numpy())


# What is refused ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"weight_hh_l0": None}, "weights has no weight_hh_l0"),
        ({"weight_ih_l0": (16, 5)}, r"weights\[0\].w_ih has shape \(16, 5\), expected \(16, 3\)"),
        ({"weight_hh_l0": (15, 4)}, r"weights\[0\].w_hh has shape \(15, 4\), expected \(4 \* hi"),
        ({"weight_hh_l0": (16, 5)}, r"weights\[0\].w_hh has shape \(16, 5\), expected \(16, 4\)"),
        ({"bias_ih_l1": (15,)}, r"weights\[1\].b_ih has shape \(15,\), expected \(16,\)"),
        ({"bias_xx_l0": (1,)}, r"weights has 'bias_xx_l0' \(str\), expected names as weight_ih_l0"),
    ],
)
def test_wrong_weights(be: Backend, changed: dict[str, Any], message: str) -> None:
    weights = on_device(be, state_dict("lstm", 3, 4, layers=2))
    for name, shape in changed.items():
        if shape is None:
            del weights[name]
        else:
            weights[name] = tw.zeros(shape, dtype="float32", device=be)
    with pytest.raises(InvalidArgument, match=f"^lstm: {message}"):
        tw.nn.lstm(on(be, numbers(5, 2, 3)), weights)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lengths": [1, 6]}, r"lengths\[1\] is 6, expected 0 to 5"),
        ({"lengths": [-1, 2]}, r"lengths\[0\] is -1, expected 0 to 5"),
        ({"lengths": [1, 2, 3]}, r"lengths has shape \(3,\), expected \(2,\)"),
        ({"lengths": [1.0, 2.0]}, "lengths is .*, expected integers"),
        ({"bidirectional": True}, "bidirectional is True, expected False"),
        ({"batch_first": 1}, r"batch_first is 1 \(int\), expected True or False"),
        ({"dropout": 2.0}, "dropout is 2.0, expected a number from 0 to 1"),
        ({"dropout": 0.5, "training": True}, "rng is None, expected a Generator"),
        ({"clip": -1.0}, "lstm: clip is -1.0, expected a finite number above 0"),
        ({"clip": 0.0}, "lstm: clip is 0.0, expected a finite number above 0"),
        ({"rng": 3}, "lstm: rng is 3 .*, expected a Generator of tw.random"),
    ],
)
def test_wrong_options(be: Backend, options: dict[str, Any], message: str) -> None:
    weights = on_device(be, state_dict("lstm", 3, 4, layers=2))
    with pytest.raises(InvalidArgument, match=message):
        tw.nn.lstm(on(be, numbers(5, 2, 3)), weights, **options)


def test_wrong_states(be: Backend) -> None:
    weights = on_device(be, state_dict("lstm", 3, 4))
    x, h = on(be, numbers(5, 2, 3)), on(be, numbers(1, 2, 4))
    with pytest.raises(InvalidArgument, match=r"lstm: hx is .*, expected \(h_0, c_0\)"):
        tw.nn.lstm(x, weights, h)  # type: ignore[arg-type]
    with pytest.raises(
        InvalidArgument, match=r"lstm: c_0 has shape \(2, 4\), expected \(1, 2, 4\)"
    ):
        tw.nn.lstm(x, weights, (h, h[0]))
    with pytest.raises(InvalidArgument, match=r"gru_cell: h has shape \(4,\), expected \(2, 4\)"):
        tw.nn.gru_cell(x[0], h[0, 0], on(be, numbers(12, 3)), on(be, numbers(12, 4)))


def test_cells_are_checked_behind_right_ones(be: Backend) -> None:
    x, h, c = (on(be, numbers(2, n)) for n in (3, 4, 4))
    parts = [on(be, numbers(*shape)) for shape in ((16, 3), (16, 4), (16,), (16,))]
    right = tw.nn.lstm_cell(x, (h, c), *parts)
    for one, other in zip(right, tw.nn.lstm_cell(x, [h, c], *parts), strict=True):  # type: ignore[arg-type]
        np.testing.assert_array_equal(one.numpy(), other.numpy())
    wrong: list[tuple[Any, Any, list[Any], str]] = [
        (x[:1], (h, c), parts, r"h has shape \(2, 4\), expected \(1, 4\)"),
        (x, (h, c[:, :3]), parts, r"c has shape \(2, 3\), expected \(2, 4\)"),
        (x, (h,), parts, r"hx is .*, expected \(h, c\)"),
        (x, (h, c), [*parts[:3], parts[3][:12]], r"b_hh has shape \(12,\), expected \(16,\)"),
        (x, (h, c), [None, *parts[1:]], "w_ih is None"),
        (x, (h, c), [parts[0], None], "w_hh is None"),
        (x.astype("float16"), (h, c), parts, "w_ih is float32, expected float16 as x is"),
        (x, (h.astype("int32"), c), parts, "h is int32, expected floats"),
    ]
    for a, hx, weights, message in wrong:
        with pytest.raises(InvalidArgument, match=f"lstm_cell: {message}"):
            tw.nn.lstm_cell(a, hx, *weights)
    # One bias, and of every other element.
    several = on(be, numbers(32))
    one = tw.nn.lstm_cell(x, (h, c), *parts[:2], several[::2])[0].numpy()
    nothing = tw.zeros(16, dtype="float32", device=be)
    other = tw.nn.lstm_cell(x, (h, c), *parts[:2], nothing, several[::2].copy())[0].numpy()
    np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-7)


def test_wrong_onnx(be: Backend) -> None:
    w, r = numbers(1, 12, 4), numbers(1, 12, 3)
    with pytest.raises(InvalidArgument, match=r"op is 'CNN' \(str\), expected LSTM, GRU or RNN"):
        tw.nn.recurrent_from_onnx("CNN", w, r)
    with pytest.raises(
        InvalidArgument, match=r"r has shape \(1, 12, 3\), expected .*, 3 \* hidden"
    ):
        tw.nn.recurrent_from_onnx("GRU", w, r)
    with pytest.raises(InvalidArgument, match=r"b has shape \(1, 12\), expected \(1, 24\)"):
        tw.nn.recurrent_from_onnx("LSTM", w, r, numbers(1, 12))
