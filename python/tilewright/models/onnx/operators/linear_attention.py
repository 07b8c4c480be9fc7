"""LinearAttention: a state of keys by values for each head, which every row changes."""

from __future__ import annotations

import math
from typing import Any

import tilewright as tw
from tilewright.models.files.errors import ModelError
from tilewright.models.onnx.nodes import Node
from tilewright.models.onnx.operators.registry import Run, operator

RULES = ("linear", "gated", "delta", "gated_delta")


def _rows(x: Any, heads: int, name: str, wide: str) -> Any:
    """[rows, batch, heads, dim]"""
    if x.ndim != 3 or x.shape[2] % heads:
        raise ModelError(f"{name} has shape {tuple(x.shape)}, expected {heads} heads side by side")
    parts = x.reshape((x.shape[0], x.shape[1], heads, x.shape[2] // heads))
    return parts.transpose((1, 0, 2, 3)).astype(wide, copy=False)


@operator("LinearAttention")
def _linear(node: Node) -> Run:
    q_heads, kv_heads = node.integer("q_num_heads"), node.integer("kv_num_heads")
    if min(q_heads, kv_heads) < 1 or q_heads % kv_heads:
        node.fail(f"it has {q_heads} heads of {kv_heads} of keys, expected a multiple of these")
    rule, said = node.string("update_rule", "gated_delta", RULES), node.number("scale", 0.0)
    # It says how to compute, not what.
    node.maybe("chunk_size")
    fades, corrects = rule.startswith("gated"), rule.endswith("delta")
    for at, name, is_wanted in ((4, "decay", fades), (5, "beta", corrects)):
        if node.has(at) != is_wanted:
            verb = "without" if is_wanted else "with"
            node.fail(f"the attribute update_rule is {rule} {verb} the input {name}")

    def run(q: Any, k: Any, v: Any, past: Any = None, decay: Any = None, beta: Any = None) -> Any:
        out, kept = q.dtype, q.dtype if past is None else past.dtype
        wide = "float64" if out == "float64" else "float32"
        batch, count = q.shape[:2]
        q = _rows(q, q_heads, "query", wide)
        k, v = (_rows(x, kv_heads, n, wide) for x, n in ((k, "key"), (v, "value")))
        keys, values = k.shape[3], v.shape[3]
        if {x.shape[:2] for x in (q, k, v)} != {(count, batch)} or q.shape[3] != keys:
            raise ModelError(
                f"query, key and value have heads of {q.shape}, {k.shape} and {v.shape}"
            )
        share = q_heads // kv_heads
        # Heads that share a state are rows of it.
        q = q.reshape((count, batch, kv_heads, share, keys)) * (said or 1 / math.sqrt(keys))
        k = k.reshape((count, batch, kv_heads, keys, 1))
        v = v.reshape((count, batch, kv_heads, 1, values))
        if fades:
            decay = tw.exp(_rows(decay, kv_heads, "decay", wide))
            if decay.shape[:2] != (count, batch) or decay.shape[3] not in (1, keys):
                raise ModelError(f"decay has heads of {decay.shape}, expected 1 or {keys} of each")
            decay = decay.reshape((*decay.shape, 1))
        if corrects:
            if beta.shape not in ((batch, count, kv_heads), (batch, count, 1)):
                raise ModelError(f"beta has shape {tuple(beta.shape)}, of {kv_heads} heads")
            beta = _rows(beta, beta.shape[2], "beta", wide)
            beta = beta.reshape((*beta.shape, 1))
        shape = (batch, kv_heads, keys, values)
        if past is None:
            state = tw.zeros(shape, dtype=wide)
        elif past.shape != shape:
            raise ModelError(f"past_state has shape {tuple(past.shape)}, expected {shape}")
        else:
            state = past.astype(wide)
        found = []
        for i in range(count):
            row = v[i]
            if fades:
                state = state * decay[i]
            if corrects:
                row = (row - k[i].mT @ state) * beta[i]
            state = state + k[i] * row
            found.append(q[i] @ state)
        if not found:
            return tw.zeros((batch, 0, q_heads * values), dtype=out), state.astype(kept)
        rows = tw.stack(found, axis=1).reshape((batch, count, q_heads * values))
        return rows.astype(out, copy=False), state.astype(kept, copy=False)

    return run
