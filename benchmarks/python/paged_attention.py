"""Attention over pages of keys and values by the GPU's clock, beside torch without pages.

    python benchmarks/python/paged_attention.py [--device webgpu:0] [--only PART] [--divide N]

Sequences of float16 or float32 with one query each, or with as many as said, their pages in any
order. The time is the median of the launches of a call; bandwidth is that of reading each key and
value once, TFLOP/s count what a causal mask leaves. Beside it the same over pages of int8 with
scales, and how many times as fast. torch's time is that of ten calls in a CUDA graph; it has a
contiguous cache, and lengths that differ it does not run.
"""

from __future__ import annotations

from statistics import median
from typing import Any

import harness
import numpy as np
import tilewright as tw
from turns import options, torch_beside

PAGE = 16
#: heads, kv heads, head dim, dtype, queries of a sequence, lengths
CASES = [
    (32, 8, 128, "float16", 1, [64]),
    (32, 8, 128, "float16", 1, [64] * 32),
    (32, 8, 128, "float16", 1, [4096]),
    (32, 8, 128, "float16", 1, [16384]),
    (32, 8, 128, "float16", 1, [32768]),
    (32, 8, 128, "float16", 1, [131072]),
    (32, 8, 128, "float16", 1, [16384] * 16),
    (32, 8, 128, "float16", 1, [4096] * 32),
    (32, 8, 128, "float16", 1, [32768] + [64] * 31),
    (32, 8, 64, "float16", 1, [4096] * 16),
    (32, 32, 128, "float16", 1, [4096] * 4),
    (64, 8, 128, "float16", 1, [4096] * 16),
    (16, 8, 256, "float16", 1, [4096] * 8),
    (32, 32, 80, "float16", 1, [2048] * 8),
    (14, 2, 64, "float16", 1, [1000] * 64),
    (32, 8, 128, "float32", 1, [4096] * 16),
    (32, 8, 64, "float16", 2048, [2048]),
    (32, 8, 128, "float16", 2048, [2048]),
]


def microseconds(be: Any, call: Any, calls: int) -> tuple[float, str]:
    """Of the launches of one call, and their kernels."""
    call()
    with be.profile() as profile:
        for _ in range(calls):
            call()
    records = [record for record in profile.records if "attention" in record.kernel]
    each = len(records) // calls
    times = [
        sum(record.duration_ns for record in records[i * each : (i + 1) * each]) / 1e3
        for i in range(calls)
    ]
    return median(times), " ".join(record.kernel for record in records[:each])


def paged(be: Any, rng: np.random.Generator, case: tuple[Any, ...], is_int8: bool = False) -> Any:
    heads, kv_heads, dim, dtype, queries, lengths = case
    counts = [-(-length // PAGE) for length in lengths]
    size = sum(counts) * PAGE * 2 * kv_heads * dim
    drawn = rng.standard_normal(1 << 20, np.float32)
    some = tw.asarray(
        np.clip(drawn * 40, -127, 127).astype(np.int8) if is_int8 else drawn.astype(dtype),
        device=be,
    )
    both = tw.concat([some] * -(-size // (1 << 20)))[:size]
    both = both.reshape((sum(counts), PAGE, 2 * kv_heads, dim))
    pages = iter(rng.permutation(sum(counts)).tolist())
    table = np.zeros((len(lengths), max(counts)), np.int32)
    for row, count in zip(table, counts, strict=True):
        row[:count] = [next(pages) for _ in range(count)]
    rows = rng.standard_normal((queries * len(lengths), heads, dim), np.float32)
    q = tw.asarray(rows.astype(dtype), device=be)
    numbers = [
        tw.asarray(np.asarray(one, np.int32), device=be)
        for one in (table, lengths, np.arange(len(lengths) + 1) * queries)
    ]
    scales = None
    if is_int8:
        sizes = rng.uniform(0.02, 0.03, (sum(counts), 2, kv_heads, PAGE)).astype(np.float32)
        scales = tw.asarray(sizes, device=be)
    return lambda: be.attention(
        q, both[:, :, :kv_heads], both[:, :, kv_heads:], causal=True, at_end=True,
        page_table=numbers[0], lengths=numbers[1], q_starts=numbers[2], scales=scales,
    )  # fmt: skip


def by_torch(torch: Any, case: tuple[Any, ...]) -> float:
    heads, kv_heads, dim, dtype, queries, lengths = case
    kind, batch = getattr(torch, dtype), len(lengths)
    q = torch.randn(batch, heads, queries, dim, device="cuda", dtype=kind)
    k, v = (
        torch.randn(batch, kv_heads, lengths[0], dim, device="cuda", dtype=kind) for _ in range(2)
    )

    def call() -> None:
        torch.nn.functional.scaled_dot_product_attention(
            q, k, v, is_causal=queries > 1, enable_gqa=heads != kv_heads
        )

    call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(10):
            call()
    times = []
    for _ in range(6):
        first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        first.record()
        graph.replay()
        last.record()
        torch.cuda.synchronize()
        times.append(first.elapsed_time(last) * 100)
    return median(times[1:])


def main() -> None:
    parser = options(__doc__, turns=15)
    parser.add_argument("--only", default="", help="a part of the names")
    parser.add_argument("--divide", type=int, default=1, help="the lengths, by so much")
    arguments = parser.parse_args()
    harness.threads(arguments.threads)
    with tw.init_backend(arguments.device) as be:
        measure(be, arguments)


def measure(be: Any, arguments: Any) -> None:
    torch = torch_beside(be, arguments.threads)
    print(f"{be.device.name}, beside {torch}")
    side = 8192 // arguments.divide
    busy = tw.ones((side, side), dtype="float32", device=be)
    rng = np.random.default_rng(1)
    for heads, kv_heads, dim, dtype, queries, whole in CASES:
        lengths = [max(length // arguments.divide, 1) for length in whole]
        queries = max(queries // arguments.divide, 1)
        of = f"{len(lengths)} x {max(lengths)}" + ("" if len(set(lengths)) == 1 else " and shorter")
        name = f"{heads}/{kv_heads} heads of {dim}, {dtype}, {queries} queries, {of}"
        if arguments.only not in name:
            continue
        case = (heads, kv_heads, dim, dtype, queries, lengths)
        call = paged(be, rng, case)
        for _ in range(3):
            (busy @ busy).copy()  # wakes the clocks
        us, kernels = microseconds(be, call, arguments.turns)
        read = 2 * sum(lengths) * kv_heads * dim * np.dtype(dtype).itemsize
        work = sum(2 * heads * dim * queries * (2 * n - queries + 1) for n in lengths)
        figure = f"{read / us / 1e3:.0f} GB/s" if queries == 1 else f"{work / us / 1e6:.1f} TFLOP/s"
        beside = ""
        if torch.where == "cuda" and len(set(lengths)) == 1:
            beside = f", {by_torch(torch.module, case) / us:.2f} of torch"
        del call
        narrow, _ = microseconds(be, paged(be, rng, case, is_int8=True), arguments.turns)
        told = f"int8 {narrow:.1f} us, {us / narrow:.2f} times as fast"
        print(f"{name}: {us:.1f} us, {figure}{beside}; {told} ({kernels})", flush=True)


if __name__ == "__main__":
    main()
