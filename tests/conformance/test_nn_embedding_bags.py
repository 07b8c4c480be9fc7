"""embedding_bag() and its gradients against loops of NumPy."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tilewright as tw
from tilewright import Backend, IndexOutOfRange, InvalidArgument

from .networks import FLOATS, held, near, on

RNG = np.random.default_rng(20261208)
START = RNG.bit_generator.state


@pytest.fixture(autouse=True)
def the_same_draws() -> None:
    """Whichever tests came before."""
    RNG.bit_generator.state = START


def floats_of(be: Backend) -> list[str]:
    return [one for one in FLOATS if one in be.capabilities().storage_dtypes]


# The bags' starts, and whether the last number is the end.
KINDS: dict[str, tuple[Any, bool]] = {
    "rows": (None, False),
    "starts": (np.array([0, 3, 3, 9]), False),
    "starts and end": (np.array([0, 2, 5, 5, 11]), True),
}


@pytest.mark.parametrize(("kind", "padding"), list(itertools.product(KINDS, [None, 2, -1])))
def test_embedding_bag(be: Backend, kind: str, padding: int | None) -> None:
    offsets, has_last = KINDS[kind]
    places = RNG.integers(0, 7, (5, 3) if offsets is None else 11)
    flat = places.reshape(-1)
    ends = np.arange(6) * 3 if offsets is None else offsets
    ends = ends if has_last or offsets is None else np.append(ends, flat.size)
    for dtype, mode in itertools.product(floats_of(be), ("sum", "mean", "weighted")):
        weight = held(RNG.uniform(-2, 2, (7, 4)), dtype)
        samples = held(RNG.uniform(-2, 2, places.shape), dtype)
        grad = held(RNG.uniform(-2, 2, (len(ends) - 1, 4)), dtype)
        exact, by_weight = np.zeros(grad.shape), np.zeros(weight.shape)
        by_sample = np.zeros(flat.size)
        for i in range(len(ends) - 1):
            own = [j for j in range(ends[i], ends[i + 1])
                   if padding is None or flat[j] != padding % 7]  # fmt: skip
            for j in own:
                factor = samples.reshape(-1)[j] if mode == "weighted" else 1.0
                factor /= len(own) if mode == "mean" else 1
                exact[i] += factor * weight[flat[j]]
                by_weight[flat[j]] += factor * grad[i]
                by_sample[j] = grad[i] @ weight[flat[j]]
        own_offsets: Any = offsets
        if offsets is not None and mode != "mean":
            own_offsets = on(be, offsets, "int32")
        options: dict[str, Any] = {
            "mode": "sum" if mode == "weighted" else mode, "include_last_offset": has_last,
            "padding_idx": padding,
            "per_sample_weights": on(be, samples, dtype) if mode == "weighted" else None,
        }  # fmt: skip
        index, table = on(be, places, "int32"), on(be, weight, dtype)
        near(tw.nn.embedding_bag(index, table, own_offsets, **options), exact, dtype, 16, 4)
        found = tw.nn.embedding_bag_backward(
            on(be, grad, dtype), index, table, own_offsets, **options
        )
        near(found.weight, by_weight, dtype, 16, 8)
        if mode == "weighted":
            near(found.per_sample_weights, by_sample.reshape(places.shape), dtype, 16, 8)
        else:
            assert found.per_sample_weights is None


def test_nothing(be: Backend) -> None:
    table = on(be, np.ones((7, 4)))
    near(tw.nn.embedding_bag(on(be, [], "int32"), table, [0, 0]), np.zeros((2, 4)), "float32")
    found = tw.nn.embedding_bag_backward(
        on(be, np.ones((2, 4))), on(be, [], "int32"), table, [0, 0]
    )
    near(found.weight, np.zeros((7, 4)), "float32")
    assert tw.nn.embedding_bag(on(be, np.zeros((0, 3)), "int32"), table).shape == (0, 4)


def test_wrong_arguments(be: Backend) -> None:
    table, nn = on(be, np.ones((7, 4))), tw.nn
    places, line = on(be, np.zeros((2, 3)), "int32"), on(be, np.zeros(5), "int32")
    calls: list[tuple[str, Callable[[], Any]]] = [
        ("embedding_bag: weight has shape .4,., expected two",
         lambda: nn.embedding_bag(places, table[0])),
        ("embedding_bag: mode is 'max'", lambda: nn.embedding_bag(places, table, mode="max")),
        ("embedding_bag: offsets is .*, expected None with an input of two",
         lambda: nn.embedding_bag(places, table, [0, 1])),
        ("embedding_bag: offsets is None", lambda: nn.embedding_bag(line, table)),
        ("embedding_bag: offsets is .*, expected numbers that ascend from 0 to 5",
         lambda: nn.embedding_bag(line, table, [0, 3, 2])),
        ("embedding_bag: offsets is .*, expected numbers that ascend from 0 to 5",
         lambda: nn.embedding_bag(line, table, [1, 3])),
        ("embedding_bag: offsets is float32", lambda: nn.embedding_bag(line, table, table[0])),
        ("embedding_bag: mode is 'mean', expected 'sum' with per_sample_weights",
         lambda: nn.embedding_bag(places, table, per_sample_weights=table[:2, :3])),
        ("embedding_bag: per_sample_weights has shape .7, 4., expected .2, 3.",
         lambda: nn.embedding_bag(places, table, mode="sum", per_sample_weights=table)),
        ("embedding_bag: padding_idx is 7", lambda: nn.embedding_bag(places, table, padding_idx=7)),
        ("embedding_bag_backward: grad has shape .7, 4., expected .2, 4.",
         lambda: nn.embedding_bag_backward(table, places, table)),
    ]  # fmt: skip
    for message, call in calls:
        with pytest.raises(InvalidArgument, match=message):
            call()
    with pytest.raises(IndexOutOfRange, match="embedding_bag: index"):
        nn.embedding_bag(places + 7, table).numpy()
        be.synchronize()
