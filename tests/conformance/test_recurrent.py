"""recurrent(): all steps of a layer in one direction, against NumPy in float64."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import tilewright as tw

from . import bounds
from .arguments import Absent, Call, EmptyCalls, Flag, In, Name, Number, Out, Size
from .recurrent_layers import (
    CELLS,
    TOLERANCE,
    Arrays,
    Layer,
    Results,
    drawn,
    expected,
    with_lengths,
)
from .workspace import Array, Workspace, has_float64

if TYPE_CHECKING:
    from fuzz import call as fuzz
    from fuzz.draw import Draw

CALL: Call = {
    "cell": Name("lstm", also_wrong=("rnn",)),
    "inputs": In(4 * 2 * 2 * 8),
    "weights": In(4 * 8 * 3),
    "outputs": Out(4 * 2 * 2 * 3),
    "steps": Size(2),
    "batch": Size(2),
    "hidden": Size(2, positive=True),
    "initial_hidden": In(4 * 2 * 3),
    "initial_cell": In(4 * 2 * 2),
    "final_hidden": Out(4 * 2 * 3, may_be=("initial_hidden",)),
    "final_cell": Out(4 * 2 * 2, may_be=("initial_cell",)),
    "lengths": In(4 * 2),
    "bias": In(4 * 16),
    "peepholes": Absent(),
    "projection": In(4 * 3 * 2),
    "projected": Size(3, positive=True),
    "reverse": Flag(True),
    "clip": Number(2.0, wrong=(0.0, -1.0, np.nan, np.inf, -np.inf, 1e39, 1e-60)),
    "dtype": Name("float32", also_wrong=("int32", "bfloat16")),
}
EMPTY: EmptyCalls = [
    (
        {"batch": 0},
        (
            "inputs",
            "outputs",
            "initial_hidden",
            "initial_cell",
            "final_hidden",
            "final_cell",
            "lengths",
        ),
    ),
]

TYPES = ["float32", "float16", "float64"]

#: in workgroups that keep the weights, and step by step; in GPUs' kernels a few sequences and many
SMALL = [
    Layer("lstm", 1, 1, 1),
    Layer("lstm", 2, 3, 1, biased=False),
    Layer("gru", 5, 1, 7, reverse=True),
    Layer("gru", 7, 3, 33, ragged=True),
    Layer("rnn_tanh", 6, 5, 31, reverse=True, ragged=True),
    Layer("rnn_relu", 4, 2, 64, starts=False),
    Layer("lstm", 9, 4, 32, ragged=True, peepholes=True),
    Layer("lstm", 6, 9, 64, reverse=True, ragged=True, starts=False),
    Layer("lstm", 6, 560, 13),
    Layer("gru", 6, 541, 64, ragged=True, biased=False),
    Layer("gru_reset_before", 5, 6, 17, reverse=True),
    Layer("gru_reset_before", 4, 533, 36, ragged=True),
    Layer("rnn_tanh", 5, 551, 40, ragged=True),
    Layer("rnn_relu", 300, 2, 5, ragged=True, biased=False),
]
LARGE = [
    Layer("lstm", 4, 1, 65),
    Layer("lstm", 5, 7, 128, ragged=True, peepholes=True),
    Layer("lstm", 2, 20, 131, reverse=True, ragged=True, biased=False),
    Layer("gru", 4, 2, 86),
    Layer("gru", 5, 9, 96, reverse=True, ragged=True),
    Layer("gru", 4, 17, 97, starts=False, biased=False),
    Layer("gru_reset_before", 3, 1, 100),
    Layer("gru_reset_before", 5, 11, 89, reverse=True, ragged=True),
    Layer("rnn_tanh", 4, 5, 260, ragged=True),
    Layer("rnn_relu", 3, 33, 65, reverse=True),
    Layer("lstm", 4, 3, 24, projected=7, ragged=True, peepholes=True),
    Layer("lstm", 3, 1, 70, projected=64, reverse=True, starts=False),
    Layer("lstm", 5, 12, 40, projected=52, ragged=True, biased=False),
]
#: a single step of single cells, and of what takes more launches
SINGLE = [
    Layer("lstm", 1, 1, 64),
    Layer("lstm", 1, 5, 67, starts=False, peepholes=True),
    Layer("lstm", 1, 9, 40, biased=False),
    Layer("gru", 1, 2, 51),
    Layer("gru", 1, 12, 68, starts=False),
    Layer("rnn_tanh", 1, 3, 20),
    Layer("rnn_relu", 1, 1, 129),
    Layer("gru_reset_before", 1, 4, 70),
    Layer("lstm", 1, 4, 9, projected=5),
    Layer("lstm", 1, 6, 12, ragged=True),
]
CLIPPED = [
    Layer("lstm", 5, 3, 20, clip=0.5),
    Layer("lstm", 5, 3, 80, clip=0.5),
    Layer("gru", 4, 3, 90, clip=0.25),
    Layer("rnn_relu", 4, 3, 30, clip=0.75),
    Layer("gru_reset_before", 4, 3, 30, clip=0.3),
]


def run(
    ws: Workspace,
    layer: Layer,
    given: Arrays,
    batch_first: bool = False,
    in_place: bool = False,
) -> Results:
    """batch_first: inputs and outputs lie so, in rows with gaps behind them."""
    dtype = given.inputs.dtype.name
    steps, batch, out = layer.steps, layer.batch, layer.out
    is_lstm = layer.cell == "lstm"

    def optional(array: Array | None) -> Any:
        return None if array is None else ws.input(array)

    def operand(buffer: Any, width: int) -> Any:
        strides = (width, steps * width, 1) if batch_first else (batch * width, width, 1)
        return buffer, strides, 0

    inputs, width = given.inputs, given.inputs.shape[2] + 3
    gap = 5
    if batch_first:
        held = np.full((batch, steps, width), np.nan, dtype)
        held[:, :, : inputs.shape[2]] = inputs.transpose(1, 0, 2)
        inputs = held
        outputs = ws.output(np.full((batch, steps, out + gap), 7, dtype))
    else:
        outputs = ws.room((steps, batch, out), dtype)
    before = [given.initial_hidden, given.initial_cell]
    if in_place:
        states = [None if array is None else ws.output(array) for array in before]
        final_hidden, final_cell = states
    else:
        states = [optional(array) for array in before]
        final_hidden = ws.room((batch, out), dtype)
        final_cell = ws.room((batch, layer.hidden), dtype) if is_lstm else None
    source = ws.input(inputs)
    ws.be.recurrent(
        layer.cell, operand(source, width) if batch_first else source, ws.input(given.weights),
        operand(outputs, out + gap) if batch_first else outputs, steps, batch, layer.hidden,
        states[0], states[1], final_hidden, final_cell, optional(given.lengths),
        optional(given.bias), optional(given.peepholes), optional(given.projection),
        layer.projected, layer.reverse, layer.clip, dtype,
    )  # fmt: skip
    got = ws.read(outputs)
    if batch_first:
        assert (got[:, :, out:] == 7).all()
        got = got[:, :, :out].transpose(1, 0, 2)
    return Results(got, ws.read(final_hidden), None if final_cell is None else ws.read(final_cell))


def compare(got: Results, exact: Results, dtype: str) -> None:
    tolerance = TOLERANCE[dtype]
    bounds.assert_within(got.outputs, exact.outputs, tolerance * (1 + np.abs(exact.outputs)))
    bounds.assert_within(got.hidden, exact.hidden, tolerance * (1 + np.abs(exact.hidden)))
    assert (got.cell is None) == (exact.cell is None)
    if got.cell is not None and exact.cell is not None:
        bounds.assert_within(got.cell, exact.cell, tolerance * (1 + np.abs(exact.cell)))


def lacks(ws: Workspace, dtype: str) -> bool:
    """Whether the device has no float64, which it then says."""
    if dtype != "float64" or has_float64(ws.be):
        return False
    layer = Layer("lstm", 1, 1, 1)
    with pytest.raises(tw.Unsupported, match="float64"):
        run(ws, layer, drawn(layer, np.random.default_rng(1), dtype))
    return True


def check(ws: Workspace, rng: np.random.Generator, layer: Layer, dtype: str, **how: bool) -> None:
    if lacks(ws, dtype):
        return
    given = drawn(layer, rng, dtype)
    compare(run(ws, layer, given, **how), expected(layer, given), dtype)


@pytest.mark.sampled(40)
@pytest.mark.essential
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("layer", [*SMALL, *LARGE, *SINGLE, *CLIPPED], ids=str)
def test_against_float64(ws: Workspace, rng: np.random.Generator, layer: Layer, dtype: str) -> None:
    check(ws, rng, layer, dtype)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("hidden", [12, 90])
def test_batch_first_with_gaps(
    ws: Workspace, rng: np.random.Generator, hidden: int, cell: str, dtype: str
) -> None:
    check(ws, rng, Layer(cell, 4, 5, hidden, reverse=True, ragged=True), dtype, batch_first=True)


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("steps", [0, 1, 4])
@pytest.mark.parametrize("hidden", [12, 90])
def test_final_states_in_the_place_of_initial_ones(
    ws: Workspace, rng: np.random.Generator, hidden: int, steps: int, cell: str, dtype: str
) -> None:
    check(ws, rng, Layer(cell, steps, 3, hidden), dtype, in_place=True)


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("starts", [True, False])
def test_without_steps_states_stay(
    ws: Workspace, rng: np.random.Generator, starts: bool, cell: str, dtype: str
) -> None:
    check(ws, rng, Layer(cell, 0, 3, 5, starts=starts), dtype)


@pytest.mark.parametrize("cell", ["lstm", "gru"])
def test_hidden_of_512(ws: Workspace, rng: np.random.Generator, cell: str) -> None:
    check(ws, rng, Layer(cell, 3, 8, 512, ragged=True), "float32")


def test_a_long_sequence_goes_on_where_a_launch_ends(
    ws: Workspace, rng: np.random.Generator
) -> None:
    check(ws, rng, Layer("gru", 16_400, 1, 2, biased=False), "float32")


def test_gates_by_hand(ws: Workspace) -> None:
    """One unit, two steps of lstm with weights of 0: gates are those of the inputs."""
    ln3 = float(np.log(3))
    # i 3/4, f 1/2, g 4/5, o 1/4, then i 1/4, f 3/4, g 0, o 1/2.
    inputs = np.array([[[ln3, 0, ln3, -ln3]], [[-ln3, ln3, 0, 0]]], np.float32)
    layer = Layer("lstm", 2, 1, 1)
    got = run(ws, layer, Arrays(inputs, np.zeros((4, 1), np.float32)))
    cells = [0.75 * 0.8, 0.75 * 0.75 * 0.8]
    hidden = [0.25 * np.tanh(cells[0]), 0.5 * np.tanh(cells[1])]
    np.testing.assert_allclose(got.outputs[:, 0, 0], hidden, rtol=1e-6)
    np.testing.assert_allclose(got.hidden, [[hidden[1]]], rtol=1e-6)
    assert got.cell is not None
    np.testing.assert_allclose(got.cell, [[cells[1]]], rtol=1e-6)


@pytest.mark.parametrize("lengths", [[-3, 2, 99, 2**31 - 1], [-(2**31), 0, 4, 5]])
@pytest.mark.parametrize("hidden", [6, 90])
def test_lengths_outside_count_as_the_nearest(
    ws: Workspace, rng: np.random.Generator, hidden: int, lengths: list[int]
) -> None:
    layer = Layer("lstm", 4, 4, hidden, reverse=True)
    given = with_lengths(drawn(layer, rng, "float32"), lengths)
    compare(run(ws, layer, given), expected(layer, given), "float32")


@pytest.mark.parametrize("special", [np.nan, np.inf])
@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("hidden", [6, 90])
def test_a_special_number_stays_in_its_sequence(
    ws: Workspace, rng: np.random.Generator, hidden: int, cell: str, special: float
) -> None:
    layer = Layer(cell, 5, 11, hidden)
    given = drawn(layer, rng, "float32")
    clean = run(ws, layer, given)
    inputs = given.inputs.copy()
    inputs[2, 7] = special
    got = run(ws, layer, replace(given, inputs=inputs))
    others = np.arange(11) != 7
    np.testing.assert_array_equal(got.outputs[:, others], clean.outputs[:, others])
    np.testing.assert_array_equal(got.hidden[others], clean.hidden[others])
    np.testing.assert_array_equal(got.outputs[:2, 7], clean.outputs[:2, 7])
    if np.isnan(special):
        assert np.isnan(got.outputs[2:, 7]).all()
        assert np.isnan(got.hidden[7]).all()


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("hidden", [20, 90])
def test_what_is_behind_an_end_is_not_looked_at(
    ws: Workspace, rng: np.random.Generator, hidden: int, cell: str
) -> None:
    layer = Layer(cell, 6, 5, hidden, reverse=True)
    given = with_lengths(drawn(layer, rng, "float32"), [6, 0, 1, 3, 5])
    assert given.lengths is not None
    inputs = given.inputs.copy()
    for b, length in enumerate(given.lengths):
        inputs[length:, b] = np.nan
    given = replace(given, inputs=inputs)
    compare(run(ws, layer, given), expected(layer, given), "float32")


@pytest.mark.parametrize("name", ["initial_cell", "final_cell", "peepholes", "projection"])
def test_what_only_lstm_has(ws: Workspace, name: str) -> None:
    buffer = ws.room(64)
    more = {name: buffer} | ({"projected": 2} if name == "projection" else {})
    with pytest.raises(tw.InvalidArgument, match=f"recurrent: {name} is given, expected none"):
        ws.be.recurrent("gru", ws.room(48), ws.room(48), ws.room(16), 2, 2, 4, **more)


def test_biases_and_peepholes_are_apart(ws: Workspace) -> None:
    more = {"bias": ws.room(32), "peepholes": ws.room(12)}
    with pytest.raises(tw.InvalidArgument, match="bias is given beside peepholes"):
        ws.be.recurrent("lstm", ws.room(64), ws.room(64), ws.room(16), 2, 2, 4, **more)


def test_a_projection_has_a_size(ws: Workspace) -> None:
    buffers = (ws.room(64), ws.room(64), ws.room(16))
    with pytest.raises(tw.InvalidArgument, match="projected is missing"):
        ws.be.recurrent("lstm", *buffers, 2, 2, 4, projection=ws.room(16))
    with pytest.raises(tw.InvalidArgument, match="projected is 2, expected none"):
        ws.be.recurrent("lstm", *buffers, 2, 2, 4, projected=2)


@pytest.mark.parametrize(
    ("strides", "message"),
    [
        ((8, -4, 1), r"inputs.strides\[1\] is -4, expected 0 or more"),
        ((8, 4, 2), r"inputs.strides\[2\] is 2, expected 1"),
    ],
)
def test_strides_that_are_not_taken(ws: Workspace, strides: tuple[int, ...], message: str) -> None:
    source = (ws.room(64), strides, 32)
    with pytest.raises(tw.InvalidArgument, match=message):
        ws.be.recurrent("rnn_tanh", source, ws.room(16), ws.room(16), 2, 2, 4)


def generate(draw: Draw, name: str) -> fuzz.Call:
    """For the fuzzer."""
    from fuzz import call as fuzz
    from fuzz.ops.rows import operand, room

    dtype = draw.one_of([d for d in TYPES if draw.doubles or d != "float64"])
    cell = draw.one_of(CELLS)
    layer = Layer(
        cell,
        steps=draw.size_or_zero(6),
        batch=draw.size_or_zero(draw.one_of([3, 40])),
        hidden=draw.size(draw.one_of([40, 150])),
        projected=draw.size(40) if cell == "lstm" and draw.rarely(3) else None,
        reverse=draw.rarely(2),
        ragged=draw.rarely(2),
        starts=not draw.rarely(3),
        biased=not draw.rarely(3),
        peepholes=cell == "lstm" and draw.rarely(3),
        clip=0.5 if draw.rarely(4) else None,
    )
    given = drawn(layer, draw.rng, dtype)
    exact = expected(layer, given)
    outputs = room(draw, (layer.steps, layer.batch, layer.out), dtype)
    final_hidden = room(draw, (layer.batch, layer.out), dtype)
    final_cell = room(draw, (layer.batch, layer.hidden), dtype) if cell == "lstm" else None
    pairs = [(outputs, exact.outputs), (final_hidden, exact.hidden), (final_cell, exact.cell)]

    def optional(array: Array | None) -> Any:
        return None if array is None else operand(draw, array)

    values = {
        "cell": cell,
        "inputs": operand(draw, given.inputs),
        "weights": operand(draw, given.weights),
        "outputs": outputs,
        "steps": layer.steps,
        "batch": layer.batch,
        "hidden": layer.hidden,
        "initial_hidden": optional(given.initial_hidden),
        "initial_cell": optional(given.initial_cell),
        "final_hidden": final_hidden,
        "final_cell": final_cell,
        "lengths": optional(given.lengths),
        "bias": optional(given.bias),
        "peepholes": optional(given.peepholes),
        "projection": optional(given.projection),
        "projected": layer.projected,
        "reverse": layer.reverse,
        "clip": layer.clip,
        "dtype": dtype,
    }
    results = [
        fuzz.Result(operand, value, 4 * TOLERANCE[dtype] * (1 + np.abs(value)))
        for operand, value in pairs
        if operand is not None and value is not None
    ]
    return fuzz.Call(name, values, results, empty=layer.batch == 0)
