"""Linear layers, embeddings, attention, recurrent layers and dropout."""

from __future__ import annotations

from typing import Any

import numpy as np
import tilewright as tw

from .case import Case


def linear(case: Case) -> Case:
    draw = case.draw
    dtype = case.real()
    lead = draw.one_of([[3], [1], [], [2, 3], [0], [17], [65]])
    features, results = (draw.one_of([8, 3, 1, 16, 33, 64, 0]) for _ in range(2))
    gated = draw.rarely(4)
    x = case.array([*lead, features], dtype)
    weight = case.array([results * (2 if gated else 1), features], dtype)
    options: dict[str, Any] = {"bias": case.maybe([results * (2 if gated else 1)], dtype)}
    if draw.rarely(3) or gated:
        options["activation"] = draw.one_of(["silu", "relu", "gelu", "leaky_relu", "sigmoid"])
    if gated:
        options["gated"] = True
    if draw.rarely(4):
        options |= {"norm": case.array([features], dtype), "eps": 0.25}
    out = draw.below(4)
    if out == 3 or draw.rarely(3):
        options["residual"] = case.array([*lead, results], dtype, through=out == 3)
    case.calls("linear", x, weight, **options)
    case.maybe_out([*lead, results], dtype, options.get("residual", x), out)
    plain = set(options) == {"bias"} and "out" not in case.options
    if plain:
        case.formula = lambda x, weight, bias: x @ weight.T + (0 if bias is None else bias)
    case.to(loose=True, ulps=128 if dtype in ("float32", "float64") else 8)
    return case.maybe_gradient(dtype) if plain else case


def embedding(case: Case) -> Case:
    draw = case.draw
    dtype = case.real()
    rows, features = draw.one_of([5, 1, 17]), draw.one_of([4, 1, 3, 33, 0])
    indices = case.indices(case.shape(0, 3, 200), rows, draw.one_of(["int64", "int32", "uint8"]))
    options = {"padding_idx": draw.integer(-rows, rows - 1)} if draw.rarely(3) else {}
    case.calls("embedding", indices, case.array([rows, features], dtype), **options)
    if draw.below(2):
        return case.to(formula=lambda i, weight, padding_idx=None: weight[i.astype(np.int64)])
    case.operands.pop()
    shape = case.operands[0].view(case.operands[0].base).shape
    grad = case.array([*shape, features], dtype)
    return case.calls("embedding_backward", grad, indices, rows, **options)


def attention(case: Case) -> Case:
    draw = case.draw
    dtype = case.real()
    lead = draw.one_of([[2], [], [1, 3], [2, 4], [0, 2]])
    queries, keys, length, values = (
        draw.one_of([5, 1, 8, 17, 33]), draw.one_of([6, 1, 16, 40]), draw.one_of([8, 4, 16, 5]), 0
    )  # fmt: skip
    values = length if draw.below(3) else draw.one_of([8, 3])
    heads = [*lead[:-1], lead[-1] // 2] if lead and lead[-1] % 2 == 0 else lead
    shared = heads != lead and len(lead) > 1 and draw.below(2) == 1
    of_keys = heads if shared else lead
    options: dict[str, Any] = {"enable_gqa": True} if shared else {}
    query = case.array([*lead, queries, length], dtype)
    key = case.array([*of_keys, keys, length], dtype)
    value = case.array([*of_keys, keys, values], dtype)
    kind = draw.below(4)
    if kind == 1:
        options["is_causal"] = True
    elif kind == 2:
        mask = draw.one_of([[queries, keys], [1, keys], [*lead, queries, keys]])
        if draw.rarely(3):
            hidden = np.where(draw.rng.integers(0, 2, mask) == 0, -np.inf, 0.5)
            options["attn_mask"] = case.content(hidden, dtype)
        else:
            options["attn_mask"] = case.array(mask, draw.one_of(["bool", dtype]))
    if draw.rarely(4):
        options["scale"] = draw.one_of([1.0, 0.25, 0.125])
    if draw.rarely(4):
        options["soft_cap"] = draw.one_of([5.0, 0.0])
    case.calls("scaled_dot_product_attention", query, key, value, **options)
    case.to(loose=True, ulps=256 if dtype in ("float32", "float64") else 16)
    if options.keys() <= {"scale"} and lead == of_keys:

        def formula(q: Any, k: Any, v: Any, scale: Any = None) -> Any:
            scores = q @ np.swapaxes(k, -1, -2) * (q.shape[-1] ** -0.5 if scale is None else scale)
            parts = np.exp(scores - scores.max(axis=-1, keepdims=True))
            return parts / parts.sum(axis=-1, keepdims=True) @ v

        case.formula = formula
    # Gradients by keys are sums over queries, of what may cancel.
    case.maybe_gradient(dtype)
    return case.to(ulps=1024 if dtype in ("float32", "float64") else 16)


def recurrent(case: Case) -> Case:
    draw = case.draw
    name = draw.one_of(["lstm", "gru", "rnn"])
    gates = {"lstm": 4, "gru": 3, "rnn": 1}[name]
    dtype = draw.one_of(["float32", "float16"] + ["float64"] * draw.doubles)
    steps, batch = draw.one_of([3, 1, 5]), draw.one_of([2, 1, 4, 17])
    features, hidden = draw.one_of([3, 1, 8]), draw.one_of([2, 1, 4, 16])
    both = draw.rarely(3)
    weights = []
    for _ in range(2 if both else 1):
        weights.append((
            case.array([gates * hidden, features], dtype, "unit"),
            case.array([gates * hidden, hidden], dtype, "unit"),
            case.maybe([gates * hidden], dtype, "unit"),
        ))  # fmt: skip
    options: dict[str, Any] = {"bidirectional": True} if both else {}
    shape = [steps, batch, features]
    if draw.below(2):
        options["batch_first"], shape = True, [batch, steps, features]
    if draw.rarely(3):
        options["lengths"] = [draw.integer(0, steps) for _ in range(batch)]
    if draw.rarely(3):
        state = [len(weights), batch, hidden]
        first = case.array(state, dtype, "unit")
        options["hx"] = (first, case.array(state, dtype, "unit")) if name == "lstm" else first
    if draw.rarely(4):
        options["reverse"] = True
    if name == "gru" and draw.rarely(3):
        options["reset_after"] = False
    if name == "rnn" and draw.rarely(3):
        options["nonlinearity"] = "relu"
    case.calls(name, case.array(shape, dtype, "unit"), weights, **options)
    return case.to(loose=True, ulps=256 if dtype in ("float32", "float64") else 16)


def cell(case: Case) -> Case:
    draw = case.draw
    name = draw.one_of(["lstm", "gru", "rnn"])
    gates = {"lstm": 4, "gru": 3, "rnn": 1}[name]
    dtype = draw.one_of(["float32", "float16"] + ["float64"] * draw.doubles)
    batch = draw.one_of([2, 1, 4, 17])
    features, hidden = draw.one_of([3, 1, 8]), draw.one_of([2, 1, 4, 16])
    x = case.array([batch, features], dtype, "unit")
    hx: Any = case.maybe([batch, hidden], dtype, "unit")
    if hx is not None and name == "lstm":
        hx = (hx, case.array([batch, hidden], dtype, "unit"))
    case.calls(f"{name}_cell", x, hx, case.array([gates * hidden, features], dtype, "unit"),
               case.array([gates * hidden, hidden], dtype, "unit"),
               case.maybe([gates * hidden], dtype, "unit"))  # fmt: skip
    return case.to(loose=True, ulps=256 if dtype in ("float32", "float64") else 16)


def dropout(case: Case) -> Case:
    draw = case.draw
    name = draw.one_of(["dropout", "dropout_backward"])
    x = case.array(case.shape(), case.real())
    p, seed = draw.one_of([0.5, 0.0, 1.0, 0.25]), draw.below(5)
    function = getattr(tw.nn, name)
    case.calls(name, x, p, bool(draw.below(2)))
    case.call = lambda be, *given: function(*given, rng=tw.random.default_rng(seed, device=be))
    return case.to(beside="cpu")


KINDS = [linear, linear, embedding, attention, attention, recurrent, cell, dropout]
