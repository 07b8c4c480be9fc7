"""Recurrent layers: rnn, lstm and gru, by torch.nn's weights, and their single cells. The products
of the inputs of all steps are one product of matrices for each layer and direction; the steps are
one call of Backend.recurrent."""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tilewright.array import Array
from tilewright.nn.dropouts import dropout as drop_some
from tilewright.nn.dropouts import to_generator
from tilewright.nn.recurrent_weights import GATES, RecurrentWeights, checked, to_layers
from tilewright.nn.running import floats, to_number, to_truth
from tilewright.operands import invalid, read_host, shown
from tilewright.program import Program

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tilewright.random.generator import Generator

    Weights = Mapping[str, Array] | Sequence[RecurrentWeights | tuple[Array | None, ...]]
    State = dict[str, Any]


class _Layout(NamedTuple):
    """How inputs and outputs lie."""

    steps: int
    batch: int
    batch_first: bool

    def shape(self, width: int) -> tuple[int, int, int]:
        if self.batch_first:
            return self.batch, self.steps, width
        return self.steps, self.batch, width

    def by_steps(self, x: Array) -> Array:
        return x.swapaxes(0, 1) if self.batch_first else x


class _Options(NamedTuple):
    """Of a layer's steps."""

    lengths: Array | None
    clip: float | None


@cache
def _side_by_side(dtype: str, are_there: tuple[bool, bool]) -> Program:
    """Two lines as they are, 0 where one is not there."""
    program = Program()
    for is_there in are_there:
        if is_there:
            program.output(program.input(dtype))
        else:
            nothing = program.number("float32")
            program.output(nothing if dtype == "float32" else nothing.cast(dtype))
    return program


def _biases(weights: RecurrentWeights, like: Array) -> Array | None:
    """Both, side by side: one launch."""
    of_input, of_hidden = weights.b_ih, weights.b_hh
    if of_input is not None and of_input.ndim == 2:
        return of_input._contiguous()
    if of_input is None and of_hidden is None:
        return None
    rows = weights.w_hh.shape[0]
    both = like.backend._new((2, rows), like.dtype)
    pair = (of_input, of_hidden)
    there = [one for one in pair if one is not None]
    like.backend.map(
        _side_by_side(like.stored_as, (of_input is not None, of_hidden is not None)), (rows,),
        there, [0.0] * (2 - len(there)), [(both, (1,), 0), (both, (1,), rows)],
    )  # fmt: skip
    return both


def _walk(
    cell: str, x: Array, layout: _Layout, weights: RecurrentWeights, hidden: int,
    initial: Sequence[Array | None], final: Sequence[Array | None], target: Array, reverse: bool,
    options: _Options,
) -> None:  # fmt: skip
    """One layer in one direction, into `target`, which lies as x does."""
    rows, width = weights.w_ih.shape
    lines = x.reshape((layout.steps * layout.batch, width))
    products = lines @ weights.w_ih.T
    bias = _biases(weights, x)
    if weights.peepholes is not None and bias is not None:
        products = products + bias.sum(0)
        bias = None

    def whole(one: Array | None) -> Array | None:
        return None if one is None else one._contiguous()

    w_hr = whole(weights.w_hr)
    x.backend.recurrent(
        cell, layout.by_steps(products.reshape(layout.shape(rows))),
        weights.w_hh._contiguous(), layout.by_steps(target), layout.steps, layout.batch, hidden,
        whole(initial[0]), whole(initial[1]), final[0], final[1], options.lengths, bias,
        whole(weights.peepholes), w_hr, None if w_hr is None else w_hr.shape[0], reverse,
        options.clip, x.stored_as,
    )  # fmt: skip


def _to_lengths(call: str, lengths: Any, layout: _Layout, like: Array) -> Array | None:
    if lengths is None:
        return None
    expected = f"expected ({layout.batch},), one for each sequence"
    if isinstance(lengths, Array):
        like.backend._own(call, "lengths", lengths)
        if lengths.dtype.kind not in "iu":
            invalid(call, f"lengths is {lengths.dtype}, expected integers")
        if lengths.shape != (layout.batch,):
            invalid(call, f"lengths has shape {lengths.shape}, {expected}")
        return lengths.astype(np.dtype(np.int32), copy=False)._contiguous()
    host = read_host(call, "lengths", lengths)
    if host.dtype.kind not in "iu" and host.size:
        invalid(call, f"lengths is {shown(lengths)}, expected integers")
    if host.shape != (layout.batch,):
        invalid(call, f"lengths has shape {host.shape}, {expected}")
    for i, length in enumerate(host.tolist()):
        if not 0 <= length <= layout.steps:
            invalid(call, f"lengths[{i}] is {length}, expected 0 to {layout.steps}, the steps of x")
    return like.backend._upload(host.astype(np.int32))


def _to_states(
    call: str, given: Any, names: Sequence[str], shapes: Sequence[tuple[int, ...]], like: Array
) -> list[Array | None]:
    """Those that are given, or None for each."""
    if given is None:
        return [None] * len(names)
    if len(names) == 1:
        given = (given,)
    elif not isinstance(given, (tuple, list)) or len(given) != len(names):
        invalid(call, f"hx is {shown(given)}, expected ({', '.join(names)})")
    found: list[Array | None] = []
    for name, one, shape in zip(names, given, shapes, strict=True):
        state = floats(call, x=like, **{name: one})[1]
        if state.shape != shape:
            invalid(call, f"{name} has shape {state.shape}, expected {shape}")
        found.append(state)
    return found


def _to_clip(call: str, clip: Any) -> float | None:
    if clip is None:
        return None
    bound = to_number(call, "clip", clip)
    if not 0 < bound < math.inf:
        invalid(call, f"clip is {bound}, expected a finite number above 0")
    return bound


def _layers(
    call: str, cell: str, x: Any, weights: Any, hx: Any, bidirectional: bool | None,
    batch_first: Any, lengths: Any, dropout: Any, training: Any, rng: Any, reverse: Any, clip: Any,
) -> tuple[Array, list[Array]]:  # fmt: skip
    """The output, and the final states."""
    (x,) = floats(call, x=x)
    first = to_truth(call, "batch_first", batch_first)
    backwards = to_truth(call, "reverse", reverse)
    if bidirectional is not None:
        to_truth(call, "bidirectional", bidirectional)
    is_single = x.ndim == 2
    if x.ndim not in (2, 3):
        invalid(
            call,
            f"x has shape {x.shape}, expected three dimensions, of steps, batch and features, or "
            "two of one sequence",
        )
    if is_single:
        first = False
        x = x.reshape((x.shape[0], 1, x.shape[1]))
    batch, steps = (x.shape[0], x.shape[1]) if first else (x.shape[1], x.shape[0])
    layout = _Layout(steps, batch, first)
    parts, directions = to_layers(call, weights, bidirectional)
    if backwards and directions == 2:
        invalid(call, "reverse is True and weights has both directions, expected one of them")
    share = to_number(call, "dropout", dropout)
    trains = to_truth(call, "training", training)
    if not 0 <= share <= 1:
        invalid(call, f"dropout is {share}, expected a number from 0 to 1")
    drops = trains and share > 0 and len(parts) > directions
    if drops and rng is None:
        invalid(call, "rng is None, expected a Generator of tw.random, by which dropout draws")
    if rng is not None:
        rng = to_generator(call, rng)
    options = _Options(_to_lengths(call, lengths, layout, x), _to_clip(call, clip))

    width, units, out = x.shape[2], 0, 0
    ready: list[RecurrentWeights] = []
    for i, one in enumerate(parts):
        made, hidden = checked(call, f"weights[{i}].", one, x, cell, width)
        of_layer = made.w_hh.shape[1]
        if ready and (hidden, of_layer) != (units, out):
            invalid(
                call,
                f"weights[{i}].w_hh has shape {made.w_hh.shape}, expected "
                f"{ready[0].w_hh.shape}, that of weights[0]",
            )
        units, out = hidden, of_layer
        ready.append(made)
        if i % directions == directions - 1:
            width = directions * out

    names = ["h_0", "c_0"][: 2 if cell == "lstm" else 1]
    of_states = [(len(ready), batch, one) for one in (out, units)[: len(names)]]
    wanted = [(shape[0], shape[2]) for shape in of_states] if is_single else of_states
    initial = _to_states(call, hx, names, wanted, x)
    initial = [
        None if one is None else one.reshape(shape)
        for one, shape in zip(initial, of_states, strict=True)
    ]
    final = [x.backend._new(shape, x.dtype) for shape in of_states]
    result = x
    for i, made in enumerate(ready):
        direction = i % directions
        if direction == 0:
            source = result if i == 0 or not drops else drop_some(result, share, True, rng=rng)
            result = x.backend._new(layout.shape(directions * out), x.dtype)
        states = [None if one is None else one[i] for one in initial] + [None]
        ends: list[Array | None] = [*(one[i] for one in final), None]
        target = result[:, :, direction * out : (direction + 1) * out]
        is_reverse = backwards or direction == 1
        _walk(cell, source, layout, made, units, states, ends, target, is_reverse, options)
    if is_single:
        result = result.reshape((steps, directions * out))
        final = [one.reshape((len(ready), one.shape[2])) for one in final]
    return result, final


def _rnn_cell(call: str, nonlinearity: Any) -> str:
    if not isinstance(nonlinearity, str) or nonlinearity not in ("tanh", "relu"):
        invalid(call, f"nonlinearity is {shown(nonlinearity)}, expected 'tanh' or 'relu'")
    return f"rnn_{nonlinearity}"


def _gru_cell(call: str, reset_after: Any) -> str:
    return "gru" if to_truth(call, "reset_after", reset_after) else "gru_reset_before"


def rnn(
    x: Array, weights: Weights, hx: Array | None = None, *, nonlinearity: str = "tanh",
    bidirectional: bool | None = None, batch_first: bool = False, lengths: Any = None,
    dropout: float = 0.0, training: bool = False, rng: Generator | State | None = None,
    reverse: bool = False, clip: float | None = None,
) -> tuple[Array, Array]:  # fmt: skip
    """Layers of h = tanh(w_ih x + b_ih + w_hh h + b_hh), or relu: the output of the last one in all
    steps, [steps, batch, directions * hidden], and the final states, [layers * directions, batch,
    hidden]. The arguments are those of lstm()."""
    cell = _rnn_cell("rnn", nonlinearity)
    output, (hidden,) = _layers(
        "rnn", cell, x, weights, hx, bidirectional, batch_first, lengths, dropout, training, rng,
        reverse, clip,
    )  # fmt: skip
    return output, hidden


def lstm(
    x: Array, weights: Weights, hx: tuple[Array, Array] | None = None, *,
    bidirectional: bool | None = None, batch_first: bool = False, lengths: Any = None,
    dropout: float = 0.0, training: bool = False, rng: Generator | State | None = None,
    reverse: bool = False, clip: float | None = None,
) -> tuple[Array, tuple[Array, Array]]:  # fmt: skip
    """Layers of long short-term memory: the output of the last one in all steps, [steps, batch,
    directions * out], and (h_n, c_n), the final states, [layers * directions, batch, out or
    hidden]. x is [steps, batch, features], with batch_first [batch, steps, features], and without a
    batch [steps, features].

    `weights` are a state_dict of torch.nn, of Arrays, or a list of RecurrentWeights, or tuples like
    them, layer by layer, with `bidirectional` the reverse direction's behind the forward one's. hx
    is (h_0, c_0), 0 unless given. `lengths` says how many steps each sequence has: outputs behind
    its end are 0, and the reverse direction starts at its end. An Array of them is not looked at:
    what is outside counts as the nearest. `reverse` walks all layers so. `dropout` is between
    layers, where `training` is True, by `rng`. `clip` bounds what goes into gates and tanh."""
    output, (hidden, cell) = _layers(
        "lstm", "lstm", x, weights, hx, bidirectional, batch_first, lengths, dropout, training, rng,
        reverse, clip,
    )  # fmt: skip
    return output, (hidden, cell)


def gru(
    x: Array, weights: Weights, hx: Array | None = None, *, reset_after: bool = True,
    bidirectional: bool | None = None, batch_first: bool = False, lengths: Any = None,
    dropout: float = 0.0, training: bool = False, rng: Generator | State | None = None,
    reverse: bool = False, clip: float | None = None,
) -> tuple[Array, Array]:  # fmt: skip
    """Layers of gated recurrent units, with what rnn() gives. `reset_after`: the reset gate is
    applied behind the product and its bias, as in PyTorch and as ONNX's linear_before_reset = 1
    says, else to the hidden state before it. The other arguments are those of lstm()."""
    cell = _gru_cell("gru", reset_after)
    output, (hidden,) = _layers(
        "gru", cell, x, weights, hx, bidirectional, batch_first, lengths, dropout, training, rng,
        reverse, clip,
    )  # fmt: skip
    return output, hidden


# Single cells ------------------------------------------------------------------------------------


#: what operands of cells were found right: their checks take longer than a cell
_right: set[tuple[Any, ...]] = set()
MOST_RIGHT = 1024


def _signature(cell: str, given: Sequence[Any]) -> tuple[Any, ...] | None:
    """What says whether operands are right, where all are Arrays as the first one is."""
    x = given[0]
    if type(x) is not Array:
        return None
    backend, dtype = x.backend, x.stored_as
    shapes: list[Any] = []
    for one in given:
        if one is None:
            shapes.append(None)
        elif type(one) is Array and one.backend is backend and one.stored_as == dtype:
            shapes.append(one.shape)
        else:
            return None
    return (cell, dtype, *shapes)


def _checked_cell(
    call: str, cell: str, x: Any, hx: Any, weights: RecurrentWeights
) -> tuple[Array, list[Array | None], RecurrentWeights]:
    (x,) = floats(call, x=x)
    if x.ndim not in (1, 2):
        invalid(call, f"x has shape {x.shape}, expected (batch, features) or (features,)")
    weights, hidden = checked(call, "", weights, x, cell, x.shape[-1])
    names = ["h", "c"][: 2 if cell == "lstm" else 1]
    shape = (*x.shape[:-1], hidden)
    return x, _to_states(call, hx, names, [shape] * len(names), x), weights


def _cell(
    call: str, cell: str, x: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any, b_hh: Any
) -> list[Array]:
    weights = RecurrentWeights(w_ih, w_hh, b_ih, b_hh)
    is_lstm = cell == "lstm"
    states: Sequence[Any] = (hx,)
    if is_lstm:
        states = hx if isinstance(hx, (tuple, list)) else (None, None) if hx is None else (hx,)
    signature = _signature(cell, (x, *states, w_ih, w_hh, b_ih, b_hh))
    if signature is None or signature not in _right:
        x, states, weights = _checked_cell(call, cell, x, hx, weights)
        if signature is not None and len(_right) < MOST_RIGHT:
            _right.add(signature)
    rows = weights.w_ih.shape[0]
    hidden = rows // GATES[cell]
    lead = x.shape[:-1]
    batch = lead[0] if lead else 1
    if batch == 1:
        products = weights.w_ih @ (x.reshape((x.shape[1],)) if lead else x)
    else:
        products = x @ weights.w_ih.T
    made = [x.backend._new((*lead, hidden), x.dtype) for _ in states]
    initial = [None if one is None else one._contiguous() for one in states]
    x.backend.recurrent(
        cell, (products, (0, rows, 1)), weights.w_hh._contiguous(), (made[0], (0, hidden, 1)), 1,
        batch, hidden, initial[0], initial[1] if is_lstm else None, None,
        made[1] if is_lstm else None, None, _biases(weights, x), None, None, None, False, None,
        x.stored_as,
    )  # fmt: skip
    return made


def rnn_cell(
    x: Array, hx: Array | None, w_ih: Array, w_hh: Array, b_ih: Array | None = None,
    b_hh: Array | None = None, *, nonlinearity: str = "tanh",
) -> Array:  # fmt: skip
    """The hidden state, [batch, hidden], behind one step from hx, 0 where that is None."""
    return _cell("rnn_cell", _rnn_cell("rnn_cell", nonlinearity), x, hx, w_ih, w_hh, b_ih, b_hh)[0]


def lstm_cell(
    x: Array, hx: tuple[Array, Array] | None, w_ih: Array, w_hh: Array,
    b_ih: Array | None = None, b_hh: Array | None = None,
) -> tuple[Array, Array]:  # fmt: skip
    """The hidden and the cell state behind one step from hx, which is (h, c)."""
    hidden, cell = _cell("lstm_cell", "lstm", x, hx, w_ih, w_hh, b_ih, b_hh)
    return hidden, cell


def gru_cell(
    x: Array, hx: Array | None, w_ih: Array, w_hh: Array, b_ih: Array | None = None,
    b_hh: Array | None = None, *, reset_after: bool = True,
) -> Array:  # fmt: skip
    """The hidden state behind one step from hx."""
    return _cell("gru_cell", _gru_cell("gru_cell", reset_after), x, hx, w_ih, w_hh, b_ih, b_hh)[0]
