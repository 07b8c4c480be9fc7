"""Attention of com.microsoft with a cache of keys and values, and its rotary positions."""

from __future__ import annotations

import math
from typing import Any

import tilewright as tw
from tilewright.models.files.errors import ModelError
from tilewright.models.onnx.nodes import Node
from tilewright.models.onnx.operators.common import scalar
from tilewright.models.onnx.operators.registry import MICROSOFT, Run, operator
from tilewright.operands import FLOAT16, FLOAT32

#: inputs of GroupQueryAttention that are not there, by their places
MISSING = {
    11: "head_sink", 12: "k_scale", 13: "v_scale", 14: "q_norm_weight", 15: "k_norm_weight",
    16: "query_seqlens",
}  # fmt: skip


def _pairing(is_interleaved: bool) -> str:
    return "neighbours" if is_interleaved else "halves"


def _parts(x: Any, counts: tuple[int, ...], name: str) -> list[Any]:
    """[batch, heads, rows, dim] of heads that lie side by side, as many for each part."""
    total = sum(counts)
    if x.ndim != 3 or x.shape[2] % total or not x.shape[2]:
        raise ModelError(f"{name} has shape {tuple(x.shape)}, expected {total} heads side by side")
    rows = x.reshape((*x.shape[:2], total, x.shape[2] // total)).transpose((0, 2, 1, 3))
    found, at = [], 0
    for count in counts:
        found.append(rows[:, at : at + count])
        at += count
    return found


@operator("GroupQueryAttention", domain=MICROSOFT, host=(6,))
def _grouped(node: Node) -> Run:
    heads, kv_heads = node.integer("num_heads"), node.integer("kv_num_heads")
    if min(heads, kv_heads) < 1 or heads % kv_heads:
        node.fail(f"it has {heads} heads of {kv_heads} of keys, expected a multiple of these")
    said, cap = node.number("scale", 0.0), node.number("softcap", 0.0)
    if cap < 0:
        node.fail(f"the attribute softcap is {cap}, expected 0 or more")
    window = node.integer("local_window_size", -1)
    if window != -1 and window < 1:
        node.fail(f"the attribute local_window_size is {window}, expected -1, or 1 or more")
    turns, pairing = node.flag("do_rotary"), _pairing(node.flag("rotary_interleaved"))
    for name, only in (("causal", 1), ("sliding_window_cache", 0), ("qk_output", 0)):
        node.only(name, only)
    if node.integer("smooth_softmax", -1) == 1:
        node.fail("the attribute smooth_softmax is 1, expected 0")
    for name in ("k_quant_type", "v_quant_type"):
        node.only(name, "NONE")
    given = [name for at, name in MISSING.items() if node.has(at)]
    if given:
        node.fail(f"it has the inputs {', '.join(given)}, expected none of them")
    if node.has(1) != node.has(2) or node.has(3) != node.has(4):
        node.fail("it has keys without values, or values without keys, expected both or none")
    if not (node.has(5) and node.has(6)):
        node.fail("it has no seqlens_k or total_sequence_length, expected both")
    if turns and not (node.has(7) and node.has(8)):
        node.fail("it has do_rotary without cos_cache and sin_cache, expected both")
    if node.wants(3):
        node.fail("it has the output output_qk, expected three at most")

    def run(
        q: Any, k: Any, v: Any, past_k: Any, past_v: Any, lasts: Any, total: Any, cos: Any = None,
        sin: Any = None, positions: Any = None, bias: Any = None, *others: Any,
    ) -> Any:  # fmt: skip
        if q.dtype not in (FLOAT32, FLOAT16):
            raise ModelError(f"query is {q.dtype}, expected float32 or float16")
        if k is None:
            q, k, v = _parts(q, (heads, kv_heads, kv_heads), "query")
        else:
            (q,) = _parts(q, (heads,), "query")
            k, v = (_parts(x, (kv_heads,), n)[0] for x, n in ((k, "key"), (v, "value")))
        batch, _, rows, dim = q.shape
        shape = (batch, kv_heads, rows, dim)
        for name, one in (("key", k), ("value", v)):
            if one.shape != shape:
                raise ModelError(f"{name} has shape {one.shape} by heads, expected {shape}")
        if lasts.size != batch:
            raise ModelError(f"seqlens_k has {lasts.size} elements, expected {batch}")
        count = int(scalar(total))
        if count < rows:
            raise ModelError(f"total_sequence_length is {count}, expected {rows} rows or more")
        counts = lasts.astype("int32").reshape(-1) + 1
        #: rows of one prompt each, behind which others may be padding
        is_first = count == rows
        if turns:
            where: dict[str, Any] = {} if is_first else {"positions": counts - rows}
            if positions is not None:
                where = {"positions": positions.astype("int32").reshape((batch, rows))}
            q, k = (_turned(x, cos, sin, pairing, where) for x in (q, k))
        starts = None if is_first else counts - rows
        k = _present(past_k, k, starts, count, "past_key")
        v = _present(past_v, v, starts, count, "past_value")
        if bias is not None:
            bias = tw.broadcast_to(bias.astype(q.dtype, copy=False), (batch, heads, rows, count))
        follows = {"q_offset": 0} if is_first else {"at_end": True, "lengths": counts}
        found = q.backend.attention(
            q, k[:, :, :count], v[:, :, :count], causal=True,
            scale=said or 1 / math.sqrt(dim), soft_cap=cap, mask=bias,
            window=None if window == -1 else (window - 1, None), **follows,
        )  # fmt: skip
        return found.transpose((0, 2, 1, 3)).reshape((batch, rows, heads * dim)), k, v

    return run


def _turned(x: Any, cos: Any, sin: Any, pairing: str, where: dict[str, Any]) -> Any:
    if cos.ndim != 2 or cos.shape != sin.shape or 2 * cos.shape[1] > x.shape[3]:
        raise ModelError(
            f"cos_cache and sin_cache have shapes {tuple(cos.shape)} and {tuple(sin.shape)}, "
            f"expected rows of at most {x.shape[3] // 2} columns"
        )
    if not where and cos.shape[0] < x.shape[2]:
        raise ModelError(f"cos_cache has {cos.shape[0]} rows, expected {x.shape[2]} or more")
    cos, sin = (one.astype(x.dtype, copy=False) for one in (cos, sin))
    width = 2 * cos.shape[1]
    return x.backend.rope(x, cos, sin, pairing=pairing, rotary_dim=width, **where)


def _present(past: Any, new: Any, starts: Any, count: int, name: str) -> Any:
    """The cache with what is new from each sequence's start on, and at least `count` rows."""
    batch, heads, rows, dim = new.shape
    if past is None:
        if starts is not None:
            raise ModelError(f"total_sequence_length is {count} of {rows} rows without {name}")
        return new.copy()
    if past.ndim != 4 or (*past.shape[:2], past.shape[3]) != (batch, heads, dim):
        raise ModelError(
            f"{name} has shape {tuple(past.shape)}, expected ({batch}, {heads}, ?, {dim})"
        )
    held = past.shape[2]
    if starts is None:
        return tw.concat([new, past[:, :, rows:]], axis=2) if held > rows else new.copy()
    if batch == 1 and held + rows == count:
        return tw.concat([past, new], axis=2)
    if held < count:
        filler = tw.zeros((batch, heads, count - held, dim), dtype=new.dtype)
        past = tw.concat([past, filler], axis=2)
    places = tw.arange(past.shape[2], dtype="int32").reshape((1, -1)) - starts.reshape((-1, 1))
    is_new = ((places >= 0) & (places < rows)).reshape((batch, 1, -1, 1))
    if rows > 1:
        at = tw.clip(places, 0, rows - 1).reshape((batch, 1, -1, 1))
        new = tw.take_along_axis(new, tw.broadcast_to(at, past.shape), axis=2)
    return tw.where(is_new, new, past)


@operator("RotaryEmbedding", domain=MICROSOFT)
def _rotary(node: Node) -> Run:
    heads, turned = node.integer("num_heads", 0), node.integer("rotary_embedding_dim", 0)
    pairing = _pairing(node.flag("interleaved"))
    node.only("scale", 1.0)
    node.only("is_packed_batching", 0)
    if min(heads, turned) < 0 or turned % 2 or (turned and not heads):
        node.fail(
            f"it has {heads} heads of which {turned} elements are turned, expected their number "
            "and an even one"
        )

    def run(x: Any, positions: Any, cos: Any, sin: Any) -> Any:
        if cos.ndim != 2 or cos.shape != sin.shape or (turned and cos.shape[1] * 2 != turned):
            raise ModelError(
                f"cos_cache and sin_cache have shapes {tuple(cos.shape)} and {tuple(sin.shape)}, "
                f"expected rows of {turned // 2 or 'half of a head'}"
            )
        rows = x
        if x.ndim == 3:
            count = heads or x.shape[2] // max(1, 2 * cos.shape[1])
            (rows,) = _parts(x, (max(1, count),), "input")
        elif x.ndim != 4:
            raise ModelError(f"input has shape {tuple(x.shape)}, expected 3 or 4 axes")
        batch, _, seq, _ = rows.shape
        places = positions.astype("int32")
        if places.size == 1:
            places = tw.broadcast_to(places.reshape(-1), (batch,))
        elif places.shape != (batch, seq):
            raise ModelError(
                f"position_ids has shape {tuple(positions.shape)}, expected (1,) or {(batch, seq)}"
            )
        found = _turned(rows, cos, sin, pairing, {"positions": places})
        return found.transpose((0, 2, 1, 3)).reshape(x.shape) if x.ndim == 3 else found

    return run
