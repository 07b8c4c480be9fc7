"""Dropout by counters, and embedding with its gradient, against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tilewright as tw
from tilewright import Backend, IndexOutOfRange, InvalidArgument

from .networks import FLOATS, has_int64, held, host, near, on

RNG = np.random.default_rng(20261129)
START = RNG.bit_generator.state


@pytest.fixture(autouse=True)
def the_same_draws() -> None:
    """Whichever tests came before."""
    RNG.bit_generator.state = START


def floats_of(be: Backend) -> list[str]:
    return [one for one in FLOATS if one in be.capabilities().storage_dtypes]


def philox_words(rng: tw.random.Generator, count: int) -> np.ndarray[Any, Any]:
    """The words that a Generator would give next."""
    copy = tw.random.default_rng(0, device="cpu")
    copy.state = rng.state
    return copy.bits(count).numpy()


@pytest.mark.parametrize("shape", [(), (0, 3), (3,), (4,), (101, 7), (4096, 5)])
def test_dropout(be: Backend, shape: tuple[int, ...]) -> None:
    for dtype in floats_of(be):
        rng = tw.random.default_rng(7, device=be)
        rng.random(8)
        x = held(RNG.uniform(1, 2, shape), dtype)
        words, state = philox_words(rng, x.size), rng.state
        got = tw.nn.dropout(on(be, x, dtype), 0.3, rng=rng)
        kept = (words >> 8) >= np.float32(0.3 * 2**24)
        near(got, np.where(kept.reshape(shape), x / 0.7, 0), dtype)
        assert rng.state["place"] == state["place"] + -(-x.size // 4)
        # Another draw is another one, and the gradient has the first.
        if x.size > 100:
            assert abs((host(got) == 0).mean() - 0.3) < 0.06
            assert (host(tw.nn.dropout(on(be, x, dtype), 0.3, rng=rng)) != host(got)).any()
        grad = held(RNG.uniform(-2, 2, shape), dtype)
        back = tw.nn.dropout_backward(on(be, grad, dtype), 0.3, rng=state)
        near(back, np.where(kept.reshape(shape), grad / 0.7, 0), dtype)


@pytest.mark.parametrize("axes", [1, 2, 3])
def test_channels(be: Backend, axes: int) -> None:
    """Whole ones are left out, each by a word of the stream, of each sample."""
    forward = getattr(tw.nn, f"dropout{axes}d")
    backward = getattr(tw.nn, f"dropout{axes}d_backward")
    for dtype in floats_of(be):
        for lead in ((2, 9), (9,)):
            rng = tw.random.default_rng(5, device=be)
            rng.random(8)
            x = held(RNG.uniform(1, 2, (*lead, *(4, 3, 2)[:axes])), dtype)
            words, state = philox_words(rng, int(np.prod(lead))), rng.state
            kept = ((words >> 8) >= np.float32(0.4 * 2**24)).reshape((*lead, *(1,) * axes))
            got = forward(on(be, x, dtype), 0.4, rng=rng)
            near(got, np.where(kept, x / 0.6, 0), dtype)
            assert rng.state["place"] == state["place"] + -(-int(np.prod(lead)) // 4)
            grad = held(RNG.uniform(-2, 2, x.shape), dtype)
            near(
                backward(on(be, grad, dtype), 0.4, rng=state), np.where(kept, grad / 0.6, 0), dtype
            )
    x = on(be, np.full((2, 3, *(2,) * axes), np.nan))
    near(forward(x, 1, rng=rng), np.zeros(x.shape), "float32")
    assert forward(x, 0.5, False, rng=rng) is x
    assert forward(x[:0], rng=rng).shape == x[:0].shape
    with pytest.raises(InvalidArgument, match=f"dropout{axes}d: x has shape .3,., expected"):
        forward(on(be, np.ones(3)), rng=rng)


@pytest.mark.parametrize("shape", [(7,), (64, 33)])
def test_alpha_dropout(be: Backend, shape: tuple[int, ...]) -> None:
    """By the formulas of Klambauer and others: q + alpha'^2 q (1 - q) is what is scaled away."""
    least, q = -1.7580993408473766, 0.7
    a = (q + least**2 * q * (1 - q)) ** -0.5
    b = -a * (1 - q) * least
    for dtype in floats_of(be):
        rng = tw.random.default_rng(6, device=be)
        x = held(RNG.standard_normal(shape), dtype)
        words, state = philox_words(rng, x.size), rng.state
        kept = ((words >> 8) >= np.float32(0.3 * 2**24)).reshape(shape)
        got = tw.nn.alpha_dropout(on(be, x, dtype), 0.3, rng=rng)
        near(got, a * np.where(kept, x, least) + b, dtype)
        if x.size > 1000:
            assert abs(host(got).mean()) < 0.1 and abs(host(got).std() - 1) < 0.1
        grad = held(RNG.uniform(-2, 2, shape), dtype)
        back = tw.nn.alpha_dropout_backward(on(be, grad, dtype), 0.3, rng=state)
        near(back, np.where(kept, a * grad, 0), dtype)
    one = on(be, np.ones(5))
    near(tw.nn.alpha_dropout(one, 1, rng=rng), np.zeros(5), "float32")
    near(tw.nn.alpha_dropout_backward(one, 1, rng=rng), np.zeros(5), "float32")
    assert tw.nn.alpha_dropout(one, 0.5, False, rng=rng) is one


def test_dropout_at_the_ends(be: Backend) -> None:
    x = on(be, [1.0, np.inf, np.nan, -2, 3])
    rng = tw.random.default_rng(1, device=be)
    near(tw.nn.dropout(x, 0, rng=rng), host(x), "float32")
    near(tw.nn.dropout(x, 1, rng=rng), np.zeros(5), "float32")
    state = rng.state
    assert tw.nn.dropout(x, 0.5, False, rng=rng) is x and rng.state == state
    assert tw.nn.dropout_backward(x, 0.5, training=False, rng=state) is x
    # Views count their elements row by row.
    x = held(RNG.uniform(1, 2, (6, 10)), "float32")
    turned = tw.nn.dropout(on(be, x).T[::-1], 0.5, rng=state)
    plain = tw.nn.dropout(on(be, np.ascontiguousarray(x.T[::-1])), 0.5, rng=state)
    near(turned, host(plain), "float32")


@pytest.mark.parametrize("shape", [(), (0,), (1,), (53,), (6, 9), (300,)])
def test_embedding(be: Backend, shape: tuple[int, ...]) -> None:
    for dtype in floats_of(be):
        rows, width = 11, 5
        table = held(RNG.uniform(-2, 2, (rows, width)), dtype)
        places = RNG.integers(-rows, rows, shape)
        grad = held(RNG.uniform(-2, 2, (*shape, width)), dtype)
        exact = np.zeros((rows, width))
        size = np.zeros((rows, width))
        np.add.at(exact, places.reshape(-1), grad.reshape(-1, width))
        np.add.at(size, places.reshape(-1), abs(grad.reshape(-1, width)))
        given: list[Any] = [places, on(be, places, "int32")]
        for indices in given if dtype == "float32" else given[1:]:
            near(tw.nn.embedding(indices, on(be, table, dtype)), table[places], dtype)
            got = tw.nn.embedding_backward(on(be, grad, dtype), indices, rows)
            near(got, exact, dtype, 8, size)
            again = tw.nn.embedding_backward(on(be, grad, dtype), indices, rows)
            np.testing.assert_array_equal(host(got), host(again))
        padded = tw.nn.embedding_backward(on(be, grad, dtype), given[1], rows, -2)
        exact[-2] = 0
        near(padded, exact, dtype, 8, size)


def test_embedding_keeps_rows_apart(be: Backend) -> None:
    """What is infinite or NaN stays in its row."""
    grad = on(be, [[1.0, np.inf], [2, 3], [np.nan, 4], [5, 6]])
    got = tw.nn.embedding_backward(grad, np.array([2, 0, 1, 0]), 4)
    near(got, [[7, 9], [np.nan, 4], [1, np.inf], [0, 0]], "float32")
    # Views are read where they lie, and float16 is summed in float32.
    wide = on(be, np.full((3, 5000), 1.0)).astype("float16")
    got = tw.nn.embedding_backward(wide.T, np.zeros(5000, np.int32), 2)
    near(got, [[5000.0] * 3, [0] * 3], "float16")


def test_out_of_range(be: Backend) -> None:
    table = on(be, np.ones((4, 3)))
    for wrong in (4, -5):
        places = on(be, [0, wrong], "int64" if has_int64(be) else "int32")
        grad = on(be, np.ones((2, 3)))
        calls: list[Callable[[], tw.Array]] = [
            lambda p=places: tw.nn.embedding(p, table),
            lambda p=places, g=grad: tw.nn.embedding_backward(g, p, 4),
            lambda w=wrong: tw.nn.embedding([w], table),
        ]
        for call in calls:
            with pytest.raises(IndexOutOfRange, match=r"embedding.*: index .* is out of range"):
                call().numpy()
                be.synchronize()


def test_wrong_arguments(be: Backend) -> None:
    x, nn, rng = on(be, np.ones((3, 4))), tw.nn, tw.random.default_rng(1, device=be)
    calls: list[tuple[str, Callable[[], Any]]] = [
        ("dropout: x is int32, expected floats", lambda: nn.dropout(x.astype("int32"), rng=rng)),
        ("dropout: p is 1.5, expected a number from 0 to 1", lambda: nn.dropout(x, 1.5, rng=rng)),
        ("dropout: p is nan", lambda: nn.dropout(x, np.nan, rng=rng)),
        ("dropout: training is 1.*, expected True", lambda: nn.dropout(x, 0.5, 1, rng=rng)),
        ("dropout: rng is 3.*, expected a Generator of tw.random", lambda: nn.dropout(x, rng=3)),
        ("state is .*, expected what another", lambda: nn.dropout(x, rng={"key": 1})),
        ("dropout_backward: grad is", lambda: nn.dropout_backward(None, rng=rng)),
        ("embedding: weight has shape .4,., expected two dimensions",
         lambda: nn.embedding([0], x[0])),
        ("embedding: padding_idx is 3, expected one of the 3 rows",
         lambda: nn.embedding([0], x, 3)),
        ("embedding_backward: num_embeddings is 0", lambda: nn.embedding_backward(x, [0], 0)),
        ("embedding_backward: num_embeddings is 17179869184, expected 1 to",
         lambda: nn.embedding_backward(x, [0], 2**34)),
        ("embedding_backward: grad has shape .3, 4., expected .2, 4. for an input of shape .2,.",
         lambda: nn.embedding_backward(x, [0, 1], 3)),
        ("embedding_backward: padding_idx is -4",
         lambda: nn.embedding_backward(x, [0, 1, 2], 3, -4)),
    ]  # fmt: skip
    before = rng.state
    for message, call in calls:
        with pytest.raises(InvalidArgument, match=message):
            call()
    assert rng.state == before
    f = tw.compile(lambda x: nn.dropout(x, rng=rng))
    with pytest.raises(InvalidArgument, match="it draws from"):
        f(x)
    f.clear()


def test_embedding_under_compile(be: Backend) -> None:
    places = np.array([3, 0, 3, 3, 1, 0, 3])
    back = tw.compile(lambda grad: tw.nn.embedding_backward(grad, places, 5))
    for _ in range(2):
        grad = held(RNG.uniform(-2, 2, (7, 3)), "float32")
        exact = np.zeros((5, 3))
        np.add.at(exact, places, grad)
        near(back(on(be, grad)), exact, "float32", 8, 8)
    back.clear()
