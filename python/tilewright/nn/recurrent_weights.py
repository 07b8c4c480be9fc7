"""Weights of recurrent layers: as torch.nn has them, and from ONNX."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tilewright.nn.running import floats
from tilewright.operands import invalid, shown

if TYPE_CHECKING:
    from tilewright.array import Array

GATES = {"rnn_tanh": 1, "rnn_relu": 1, "lstm": 4, "gru": 3, "gru_reset_before": 3}


class RecurrentWeights(NamedTuple):
    """Of one layer in one direction, with gates in torch.nn's order: w_ih [gates * hidden, input],
    w_hh [gates * hidden, out], b_ih and b_hh [gates * hidden], w_hr [out, hidden] where lstm
    projects its hidden state, and peepholes [3 * hidden], of i, f and o of lstm. b_ih alone may be
    both biases, [2, gates * hidden]: so they lie as they are used."""

    w_ih: Array
    w_hh: Array
    b_ih: Array | None = None
    b_hh: Array | None = None
    w_hr: Array | None = None
    peepholes: Array | None = None


#: tensors of torch.nn's state_dict, by what they are here
NAMES = {
    "w_ih": "weight_ih",
    "w_hh": "weight_hh",
    "b_ih": "bias_ih",
    "b_hh": "bias_hh",
    "w_hr": "weight_hr",
}


def to_layers(
    call: str, given: Any, bidirectional: bool | None
) -> tuple[list[RecurrentWeights], int]:
    """Layer by layer, forward before reverse, and how many directions there are."""
    if isinstance(given, Mapping):
        return _of_state_dict(call, given, bidirectional)
    if isinstance(given, RecurrentWeights):
        given = [given]
    if not isinstance(given, Sequence) or isinstance(given, (str, bytes)) or not given:
        invalid(
            call,
            f"weights is {shown(given)}, expected a state_dict of torch.nn or a list with "
            "(w_ih, w_hh, b_ih, b_hh) for each layer and direction",
        )
    found = []
    for i, one in enumerate(given):
        is_group = isinstance(one, Sequence) and 2 <= len(one) <= len(RecurrentWeights._fields)
        if not is_group:
            invalid(
                call,
                f"weights[{i}] is {shown(one)}, expected (w_ih, w_hh, b_ih, b_hh); biases may be "
                "None",
            )
        found.append(RecurrentWeights(*one))
    directions = 2 if bidirectional else 1
    if len(found) % directions:
        invalid(call, f"weights has {len(found)} parts, expected two for each layer")
    return found, directions


def _of_state_dict(
    call: str, given: Mapping[str, Any], bidirectional: bool | None
) -> tuple[list[RecurrentWeights], int]:
    pattern = re.compile(rf"({'|'.join(NAMES.values())})_l(\d+)(_reverse)?")
    layers = 0
    for name in given:
        matched = pattern.fullmatch(name)
        if matched is None:
            invalid(
                call,
                f"weights has {shown(name)}, expected names as weight_ih_l0, bias_hh_l1_reverse",
            )
        layers = max(layers, int(matched[2]) + 1)
    both = any(name.endswith("_reverse") for name in given)
    if bidirectional is not None and bidirectional != both:
        invalid(
            call,
            f"bidirectional is {bidirectional}, expected {both}, what the names in weights say",
        )
    found = []
    for layer in range(layers):
        for ending in ("", "_reverse")[: 1 + both]:
            parts: dict[str, Any] = {
                mine: given.get(f"{name}_l{layer}{ending}") for mine, name in NAMES.items()
            }
            for needed in ("w_ih", "w_hh"):
                if parts[needed] is None:
                    invalid(call, f"weights has no {NAMES[needed]}_l{layer}{ending}")
            found.append(RecurrentWeights(**parts))
    if not found:
        invalid(call, "weights has no tensors, expected weight_ih_l0 and others")
    return found, 1 + both


def checked(
    call: str, at: str, weights: RecurrentWeights, x: Array, cell: str, width: int
) -> tuple[RecurrentWeights, int]:
    """With Arrays of the shapes that layer has whose inputs are `width` wide, and how many units
    that is."""
    needed = ("w_ih", "w_hh")
    given = {
        name: one for name, one in weights._asdict().items() if one is not None or name in needed
    }
    named = {f"{at}{name}": one for name, one in given.items()}
    found = dict(zip(given, floats(call, x=x, **named)[1:], strict=True))
    gates = GATES[cell]
    w_hh = found["w_hh"]
    rows = w_hh.shape[0] if w_hh.ndim == 2 else 0
    if rows == 0 or rows % gates:
        invalid(
            call,
            f"{at}w_hh has shape {w_hh.shape}, expected ({gates} * hidden, hidden), the rows of "
            f"{gates} gates",
        )
    hidden = rows // gates
    projects = "w_hr" in found
    if cell != "lstm":
        for name in ("w_hr", "peepholes"):
            if name in found:
                invalid(call, f"{at}{name} is given, expected none: only lstm has it")
    out = w_hh.shape[1] if projects else hidden
    both = found["b_ih"].ndim == 2 if "b_ih" in found else False
    expected: dict[str, tuple[int, ...]] = {
        "w_ih": (rows, width),
        "w_hh": (rows, out),
        "b_ih": (2, rows) if both else (rows,),
        "b_hh": (rows,),
        "w_hr": (out, hidden),
        "peepholes": (3 * hidden,),
    }
    for name, one in found.items():
        if one.shape != expected[name]:
            invalid(call, f"{at}{name} has shape {one.shape}, expected {expected[name]}")
    if both and "b_hh" in found:
        invalid(call, f"{at}b_hh is given beside a b_ih of both biases, expected none")
    return RecurrentWeights(**found), hidden


# ONNX --------------------------------------------------------------------------------------------

#: for each gate here its place in ONNX's order: i o f c of lstm, z r h of gru
ONNX_ORDER = {"lstm": (0, 2, 3, 1), "gru": (1, 0, 2), "rnn": (0,)}
#: the same of peepholes: i o f there, i f o here
ONNX_PEEPHOLES = (0, 2, 1)


def recurrent_from_onnx(
    op: str, w: Any, r: Any, b: Any = None, p: Any = None
) -> list[RecurrentWeights]:
    """The weights of an ONNX operator "LSTM", "GRU" or "RNN", its inputs W, R, B and P, as those of
    one layer, one for each direction. They may be Arrays or NumPy's; what comes of NumPy's must be
    brought to the device. The operator's attributes are arguments of lstm(), gru() and rnn():
    direction is bidirectional or reverse, linear_before_reset is reset_after, and clip."""
    call = "recurrent_from_onnx"
    cell = str(op).lower()
    if cell not in ONNX_ORDER:
        invalid(call, f"op is {shown(op)}, expected LSTM, GRU or RNN")
    order = ONNX_ORDER[cell]
    directions, rows, hidden = _dims(call, "r", r, 3)
    if rows != len(order) * hidden:
        invalid(
            call,
            f"r has shape {tuple(r.shape)}, expected (directions, {len(order)} * hidden, hidden)",
        )
    width = _dims(call, "w", w, 3)[2]
    wanted = {
        "w": (w, (directions, rows, width)),
        "b": (b, (directions, 2 * rows)),
        "p": (p, (directions, 3 * hidden)),
    }
    for name, (one, shape) in wanted.items():
        if one is not None and tuple(one.shape) != shape:
            invalid(call, f"{name} has shape {tuple(one.shape)}, expected {shape}")
    if p is not None and cell != "lstm":
        invalid(call, "p is given, expected none: only LSTM has peepholes")

    found = []
    for d in range(directions):
        biases = None
        if b is not None:
            biases = _in_order(b[d].reshape((2, len(order), hidden)), 1, order).reshape((2, rows))
        found.append(
            RecurrentWeights(
                w_ih=_in_order(w[d].reshape((len(order), hidden, width)), 0, order).reshape(
                    (rows, width)
                ),
                w_hh=_in_order(r[d].reshape((len(order), hidden, hidden)), 0, order).reshape(
                    (rows, hidden)
                ),
                b_ih=biases,
                peepholes=(
                    None
                    if p is None
                    else _in_order(p[d].reshape((3, hidden)), 0, ONNX_PEEPHOLES).reshape(-1)
                ),
            )
        )
    return found


def _dims(call: str, name: str, given: Any, count: int) -> tuple[int, ...]:
    shape = getattr(given, "shape", None)
    if shape is None or len(shape) != count:
        invalid(call, f"{name} is {shown(given)}, expected an array of {count} dimensions")
    return tuple(shape)


def _in_order(x: Any, axis: int, order: tuple[int, ...]) -> Any:
    before = (slice(None),) * axis
    parts = [x[(*before, slice(at, at + 1))] for at in order]
    if isinstance(x, np.ndarray):
        return np.concatenate(parts, axis)
    from tilewright.namespace.manipulation import concat

    return concat(parts, axis=axis)
