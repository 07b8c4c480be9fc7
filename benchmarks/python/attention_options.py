"""Attention with each of its options, beside the plain call and torch's.

    python benchmarks/python/attention_options.py [--device webgpu:0] [--threads N] [--keys N]

Many queries, as of a prompt, and one of each sequence, as in decoding. torch has masks and
causality; a window, lengths and pages are masks for it, and it has no soft cap. The sides take
turns; shown are our median milliseconds, and the medians of the ratios turn by turn: above 1 we
are the faster ones.
"""

from __future__ import annotations

from typing import Any

import harness
from turns import Call, in_turns, options, torch_beside


def main() -> None:
    parser = options(__doc__, turns=9)
    parser.add_argument("--heads", type=int, default=8, help="default: %(default)s")
    parser.add_argument("--kv-heads", type=int, default=8, help="default: %(default)s")
    parser.add_argument("--keys", type=int, default=1024, help="default: %(default)s")
    parser.add_argument("--dim", type=int, default=64, help="default: %(default)s")
    parser.add_argument("--calls", type=int, help="in a sample; default: 20 on GPUs, else 1")
    arguments = parser.parse_args()
    harness.threads(arguments.threads)
    import numpy as np
    import tilewright

    heads, kv_heads, keys, dim = (
        arguments.heads, arguments.kv_heads, arguments.keys, arguments.dim,
    )  # fmt: skip
    page_size = 16
    keys = -(-keys // page_size) * page_size
    rng = np.random.default_rng(0)
    with tilewright.init_backend(arguments.device) as be:
        calls = arguments.calls or (1 if be.name == "cpu" else 20)
        torch = torch_beside(be, arguments.threads)
        print(f"{be.device.name}; {torch}; {heads}/{kv_heads} heads, {keys} keys of {dim}")
        for dtype in ("float32", "float16"):
            if not be.supports("attention", dtype):
                continue
            for queries in (keys, 1):
                shapes = ((heads, queries, dim), (kv_heads, keys, dim), (kv_heads, keys, dim))
                host = [rng.standard_normal((1, *shape), np.float32) for shape in shapes]
                q, k, v = (be.array(one.astype(dtype)) for one in host)
                out = be.empty(q.shape, dtype)
                paged = [
                    be.array(one.numpy().swapaxes(1, 2).reshape(-1, page_size, kv_heads, dim))
                    for one in (k, v)
                ]
                table = be.array(np.arange(keys // page_size, dtype=np.int32)[None])
                lengths = be.array(np.array([keys - 5], np.int32))
                place = np.arange(keys - queries, keys)[:, None] - np.arange(keys)
                masks = {
                    "a mask of keys": np.arange(keys)[None] < keys - 5,
                    "a mask of pairs": rng.random((queries, keys)) < 0.9,
                    "numbers added": rng.standard_normal((queries, keys)),
                    "a window of an eighth": (place >= 0) & (place <= keys // 8),
                    "lengths": np.arange(keys)[None] < keys - 5,
                }
                on_device = {
                    name: be.array(mask, "bool" if mask.dtype == bool else dtype)
                    for name, mask in masks.items()
                }

                def own(cached: Any = (k, v), q: Any = q, out: Any = out, **given: Any) -> Call:
                    return lambda: be.attention(q, *cached, out=out, **given)

                cases: dict[str, Call] = {
                    "plain": own(),
                    "causal": own(causal=True, at_end=True),
                    "a soft cap": own(soft_cap=30.0),
                    **{name: own(mask=on_device[name]) for name in list(masks)[:3]},
                    "a window of an eighth": own(
                        causal=True, at_end=True, window=(keys // 8, None)
                    ),
                    "lengths": own(lengths=lengths),
                    "pages": own(paged, page_table=table),
                }
                peers: dict[str, Call] = {}
                if torch.module is not None:
                    peers = peers_of(torch.module, torch.where, host, dtype, masks, queries)
                for name, call in cases.items():
                    sides = {"tilewright": (call, be.synchronize)}
                    if name != "plain":
                        sides["the plain call"] = (cases["plain"], be.synchronize)
                    peer = peers.get("plain" if name == "pages" else name)
                    if peer is not None:
                        sides["torch"] = (peer, torch.wait)
                    time, ratios = in_turns(sides, arguments.turns, calls)
                    print(
                        f"{dtype} {queries:5d} queries, {name:22s} {time * 1e3:9.3f} ms  {ratios}",
                        flush=True,
                    )


def peers_of(
    t: Any, where: str, host: list[Any], dtype: str, masks: dict[str, Any], queries: int
) -> dict[str, Call]:
    kind = getattr(t, dtype)
    q, k, v = (t.from_numpy(one).to(where).to(kind) for one in host)
    grouped = q.shape[1] != k.shape[1]

    def call(**given: Any) -> Call:
        attend = t.nn.functional.scaled_dot_product_attention
        return lambda: attend(q, k, v, enable_gqa=grouped, **given)

    found = {"plain": call(), "causal": call(is_causal=queries > 1)}
    for name, mask in masks.items():
        given = t.from_numpy(mask).to(where)
        if mask.dtype != bool:
            given = given.to(kind)
        found[name] = call(attn_mask=given.expand(queries, -1))
    return found


if __name__ == "__main__":
    main()
