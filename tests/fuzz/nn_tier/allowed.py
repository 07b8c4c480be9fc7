"""What a call that is drawn as a valid one may be refused for. What is not here must be taken."""

from __future__ import annotations

import tilewright as tw

#: words of the message, and beginnings of the calls' names (none: any)
REFUSED: list[tuple[str, str]] = [
    ("out of range", "embedding, nll_loss, cross_entropy, one_hot, max_unpool"),
    ("expected at most half of the kernel size", "max_pool, avg_pool"),
    ("nothing is left", "conv_transpose"),
    ("at least, which a window covers", "max_pool, avg_pool, lp_pool"),
    ("more than the ", "conv, max_pool, avg_pool, lp_pool"),
    ("expected one of the ", "softm, log_softmax, normalize"),
    ("expected 0 or more; slices leave elements out", "pad"),
    ("of padding along an axis of", "pad, conv"),
    ("grad has shape", "pad_backward"),
    ("expected more than one element of each channel", "batch_norm"),
    ("reverse is True and weights has both directions", "lstm, gru, rnn"),
    ("has index", "sparse"),
    ("indptr[", "sparse"),
    ("for 0 rows", "sparse list"),
    ("which gives 0 elements, expected 1 at least", "interpolate"),
    ("lengths[", "lstm, gru, rnn"),
    ("shares memory with", "SGD shared, Adam shared, AdamW shared"),
    ("the diagonal of A is 0 at", "cg of hollow, bicgstab of hollow, gmres of hollow"),
    ("inv: ", "cg of singular, bicgstab of singular, gmres of singular"),
    ("expected elements", "calibrate"),
    ("x has NaN or infinity", "calibrate"),
    ("not finite", "eig special, eigvals special, lstsq special"),
]


def refused(name: str, error: Exception) -> bool:
    if isinstance(error, tw.Unsupported):
        return True
    return any(
        words in str(error) and any(name.startswith(one.strip()) for one in names.split(","))
        for words, names in REFUSED
    )
