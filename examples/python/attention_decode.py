"""Decoding with a KV cache: one token at a time, each attending to all before it. Four query heads
share two key-value heads.
"""

import math

import numpy as np
import numpy.typing as npt
import tilewright

HEADS, KV_HEADS, DIM, TOKENS = 4, 2, 8, 6
ROW = DIM * 4
SCALE = 1 / math.sqrt(DIM)


def numbers(count: int, step: float) -> npt.NDArray[np.float32]:
    """[count, TOKENS, DIM], made up."""
    values = np.sin(step * np.arange(count * TOKENS * DIM))
    return np.asarray(values, np.float32).reshape(count, TOKENS, DIM)


with tilewright.init_backend() as be:
    q = be.array(numbers(HEADS, 0.7))
    k = be.array(numbers(KV_HEADS, 1.1))
    v = be.array(numbers(KV_HEADS, 1.3))

    # The whole sequence at once.
    whole = be.array(np.zeros((HEADS, TOKENS, DIM), np.float32))
    be.attention(
        q, k, v, whole, 1, HEADS, TOKENS, TOKENS, DIM, SCALE, causal=True, kv_heads=KV_HEADS
    )
    expected = whole.numpy()

    # The cache has room for every token; `causal` with `q_offset` keeps those to come out of sight.
    empty = np.zeros((KV_HEADS, TOKENS, DIM), np.float32)
    k_cache, v_cache = be.array(empty), be.array(empty)
    query = be.array(np.zeros((HEADS, DIM), np.float32))
    out = be.array(np.zeros((HEADS, DIM), np.float32))
    difference = 0.0
    for token in range(TOKENS):
        for head in range(KV_HEADS):
            at = (head * TOKENS + token) * ROW
            be.copy_dtod(k_cache, k, ROW, at, at)
            be.copy_dtod(v_cache, v, ROW, at, at)
        for head in range(HEADS):
            be.copy_dtod(query, q, ROW, head * ROW, (head * TOKENS + token) * ROW)
        be.attention(
            *(query, k_cache, v_cache, out, 1, HEADS, 1, TOKENS, DIM, SCALE),
            causal=True,
            q_offset=token,
            kv_heads=KV_HEADS,
        )
        now = out.numpy()
        print(f"token {token}: {now[0, 0]:7.4f} {now[-1, -1]:7.4f}")
        difference = max(difference, float(np.abs(now - expected[:, token]).max()))
    print("as the whole sequence at once:", "yes" if difference < 1e-5 else "no")
