"""Functions of Arrays whose calls go without Python once one of their form was noted: they give
what the function itself gives, for other elements too, and refuse what it refuses, as often as they
are called."""

from __future__ import annotations

import inspect
import pickle
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tilewright as tw
from tilewright import Backend, _core, nn

from .recordings import another

TURNS = 4  # the first two run the function, one of them noted


def drawn(be: Backend, turn: int, *shape: int, dtype: str = "float32") -> tw.Array:
    given = np.random.default_rng(turn + 17).normal(size=shape)
    return tw.asarray(given.astype("float32"), device=be).astype(dtype)


def whole(be: Backend, turn: int, bound: int, *shape: int) -> tw.Array:
    given = np.random.default_rng(turn + 3).integers(0, bound, shape)
    return tw.asarray(given.astype("int32"), device=be)


def same(found: Any, expected: Any) -> None:
    if isinstance(expected, (tuple, list)):
        assert type(found) is type(expected)
        for one, other in zip(found, expected, strict=True):
            same(one, other)
        return
    if not isinstance(expected, tw.Array):
        assert found is expected
        return
    assert type(found) is tw.Array
    assert (found.shape, found.dtype, found.strides, found.offset) == (
        expected.shape, expected.dtype, expected.strides, expected.offset,
    )  # fmt: skip
    assert found.device is expected.device
    np.testing.assert_array_equal(found.astype("float32").numpy(), expected.astype("float32"))


Arguments = Callable[[Backend, int], tuple[tuple[Any, ...], dict[str, Any]]]


def given(*arguments: Any, **named: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return arguments, named


CALLS: dict[str, tuple[Any, Arguments]] = {
    "conv1d": (
        nn.conv1d,
        lambda be, i: given(drawn(be, i, 2, 4, 9), drawn(be, i, 6, 2, 3), groups=2, padding="same"),
    ),
    "conv2d": (
        nn.conv2d,
        lambda be, i: given(drawn(be, i, 2, 3, 7, 6), drawn(be, i, 4, 3, 3, 2), drawn(be, i, 4)),
    ),
    "conv2d, one image": (
        nn.conv2d,
        lambda be, i: given(
            drawn(be, i, 3, 7, 6), drawn(be, i, 4, 3, 3, 2), stride=(2, 1), activation="relu"
        ),
    ),
    "conv2d, reflected": (
        nn.conv2d,
        lambda be, i: given(
            drawn(be, i, 1, 2, 5, 5), drawn(be, i, 2, 2, 3, 3), None, 1, 1, padding_mode="reflect"
        ),
    ),
    "conv2d of views": (
        nn.conv2d,
        lambda be, i: given(
            drawn(be, i, 4, 3, 6, 7).transpose(0, 1, 3, 2)[1:3],
            drawn(be, i, 8, 3, 3, 2)[::2],
        ),
    ),
    "conv2d, no images": (
        nn.conv2d,
        lambda be, i: given(drawn(be, i, 0, 3, 7, 6), drawn(be, i, 4, 3, 3, 2)),
    ),
    "conv2d_backward": (
        nn.conv2d_backward,
        lambda be, i: given(
            drawn(be, i, 2, 4, 5, 5), drawn(be, i, 2, 3, 7, 6), drawn(be, i, 4, 3, 3, 2)
        ),
    ),
    "conv_transpose2d": (
        nn.conv_transpose2d,
        lambda be, i: given(drawn(be, i, 1, 3, 4, 4), drawn(be, i, 3, 2, 2, 2), drawn(be, i, 2)),
    ),
    "max_pool2d": (
        nn.max_pool2d,
        lambda be, i: given(drawn(be, i, 2, 3, 6, 6), 2, return_indices=True),
    ),
    "avg_pool1d of halves": (
        nn.avg_pool1d,
        lambda be, i: given(drawn(be, i, 2, 3, 6, dtype="float16"), kernel_size=3, stride=1),
    ),
    "max_pool2d_backward": (
        nn.max_pool2d_backward,
        lambda be, i: given(drawn(be, i, 2, 3, 3, 3), drawn(be, i, 2, 3, 6, 6), 2),
    ),
    "layer_norm": (
        nn.layer_norm,
        lambda be, i: given(drawn(be, i, 3, 8), 8, drawn(be, i, 8), drawn(be, i + 1, 8)),
    ),
    "rms_norm": (nn.rms_norm, lambda be, i: given(drawn(be, i, 3, 8)[:, ::-1], (8,), eps=1e-3)),
    "batch_norm": (
        nn.batch_norm,
        lambda be, i: given(drawn(be, i, 4, 3, 5), None, None, drawn(be, i, 3), training=True),
    ),
    "group_norm": (nn.group_norm, lambda be, i: given(drawn(be, i, 2, 4, 5), 2)),
    "embedding": (nn.embedding, lambda be, i: given(whole(be, i, 7, 3, 4), drawn(be, i, 7, 5))),
    "linear": (nn.linear, lambda be, i: given(drawn(be, i, 3, 4), drawn(be, i, 5, 4))),
    "cross_entropy": (
        nn.cross_entropy,
        lambda be, i: given(drawn(be, i, 6, 5), whole(be, i, 5, 6), label_smoothing=0.1),
    ),
    "mse_loss": (
        nn.mse_loss, lambda be, i: given(drawn(be, i, 4, 5), drawn(be, i + 1, 4, 5))
    ),
    "one operand twice": (
        nn.mse_loss, lambda be, i: given(*(drawn(be, i, 4, 5),) * 2, reduction="sum")
    ),
    "attention": (
        nn.scaled_dot_product_attention,
        lambda be, i: given(*(drawn(be, i + k, 1, 2, 8, 4) for k in range(3)), is_causal=True),
    ),
    "attention, masked": (
        nn.scaled_dot_product_attention,
        lambda be, i: given(
            *(drawn(be, i + k, 1, 2, 8, 4) for k in range(3)), drawn(be, i + 5, 8, 8) > 0
        ),
    ),
    "interpolate": (
        nn.interpolate, lambda be, i: given(drawn(be, i, 1, 2, 4, 4), scale_factor=2)
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_again_and_again(name: str, be: Backend) -> None:
    function, arguments = CALLS[name]
    for turn in range(TURNS):
        args, named = arguments(be, turn)
        before = [one.copy() for one in args if isinstance(one, tw.Array)]
        found = function(*args, **named)
        same(found, function.__wrapped__(*args, **named))
        same([one for one in args if isinstance(one, tw.Array)], before_like(args, before))


def before_like(args: tuple[Any, ...], before: list[tw.Array]) -> list[tw.Array]:
    """Copies of what was given, laid as that is."""
    arrays = [one for one in args if isinstance(one, tw.Array)]
    for array, copy in zip(arrays, before, strict=True):
        np.testing.assert_array_equal(array.astype("float32").numpy(), copy.astype("float32"))
    return arrays


NOTED = [name for name in CALLS if name != "interpolate"]


@pytest.mark.parametrize("name", NOTED)
def test_without_the_function(name: str, be: Backend) -> None:
    """From the third call on; where nothing else is given."""
    function, arguments = CALLS[name]
    calls = []

    def counted(*args: Any, **named: Any) -> Any:
        calls.append(args)
        return function.__wrapped__(*args, **named)

    kept = _core._kept_function(counted)
    for turn in range(TURNS):
        args, named = arguments(be, turn)
        kept(*args, **named)
    assert len(calls) == 2


def other_forms(be: Backend) -> list[tuple[tuple[Any, ...], dict[str, Any]]]:
    """Calls of one function that differ in what is not elements."""
    x = drawn(be, 0, 2, 4, 8, 8)
    return [
        given(x, 2),
        given(x, (2, 2)),
        given(x, [2, 2]),
        given(x, np.int64(2)),
        given(x, kernel_size=2),
        given(x, 2, 1),
        given(x, 2, None, 1),
        given(x, 2, stride=1),
        given(x, 2, ceil_mode=True),
        given(x, 2, return_indices=True),
        given(x[:, :, ::2], 2),
        given(x[1], 2),
        given(x[:1], 2),
        given(x[1:], 2),
        given(x.transpose(0, 1, 3, 2), 2),
        given(x[:, :, ::-1], 2),
        given(x[:0], 2),
        given(x.astype("float16"), 2),
        given(x.reshape(4, 2, 8, 8), 2),
        given(x.numpy(), 2),
    ]


def test_forms_are_told_apart(be: Backend) -> None:
    for _ in range(TURNS):
        for args, named in other_forms(be):
            with_default = tw.asarray(args[0], device=be)
            expected = nn.max_pool2d.__wrapped__(with_default, *args[1:], **named)
            same(nn.max_pool2d(with_default, *args[1:], **named), expected)


def refuses_each_time(function: Any, wrong: tuple[tuple[Any, ...], dict[str, Any]]) -> None:
    """With the words of the function itself."""
    args, named = wrong
    with pytest.raises(Exception) as expected:
        function.__wrapped__(*args, **named)
    for _ in range(TURNS):
        with pytest.raises(type(expected.value)) as refused:
            function(*args, **named)
        assert str(refused.value) == str(expected.value)


WRONG: list[tuple[Any, Callable[[Backend], tuple[tuple[Any, ...], dict[str, Any]]]]] = [
    (nn.max_pool2d, lambda be: given(drawn(be, 0, 1, 1, 4, 4), 0)),
    (nn.max_pool2d, lambda be: given(drawn(be, 0, 1, 1, 4, 4), 2.0)),
    (nn.max_pool2d, lambda be: given(drawn(be, 0, 1, 1, 4, 4), True, ceil_mode=1)),
    (nn.max_pool2d, lambda be: given(drawn(be, 0, 4, 4), 2)),
    (nn.max_pool2d, lambda be: given(whole(be, 0, 3, 1, 1, 4, 4), 2)),
    (nn.max_pool2d, lambda be: given(drawn(be, 0, 1, 1, 4, 4))),
    (nn.max_pool2d, lambda be: given(drawn(be, 0, 1, 1, 4, 4), 2, size=3)),
    (nn.max_pool2d, lambda be: given("x", 2)),
    (nn.conv2d, lambda be: given(drawn(be, 0, 1, 3, 4, 4), drawn(be, 0, 2, 2, 3, 3))),
    (nn.conv2d, lambda be: given(drawn(be, 0, 1, 2, 4, 4), drawn(be, 0, 2, 2, 3, 3), padding="x")),
    (nn.conv2d, lambda be: given(drawn(be, 0, 1, 2, 4, 4), drawn(be, 0, 2, 2, 3, 3), groups=True)),
    (nn.embedding, lambda be: given(drawn(be, 0, 3), drawn(be, 0, 3, 2))),
    (nn.layer_norm, lambda be: given(drawn(be, 0, 3, 4), 4, drawn(be, 0, 3))),
    (nn.mse_loss, lambda be: given(drawn(be, 0, 3), drawn(be, 0, 3), reduction="no")),
    (nn.mse_loss, lambda be: given(drawn(be, 0, 3), drawn(be, 0, 4))),
]


@pytest.mark.parametrize("i", range(len(WRONG)))
def test_what_is_wrong_stays_wrong(i: int, be: Backend) -> None:
    function, arguments = WRONG[i]
    refuses_each_time(function, arguments(be))


def test_equal_numbers_of_other_types(be: Backend) -> None:
    """1, 1.0 and True are equal, and mean different things."""
    x = drawn(be, 0, 2, 3, 4, 4)
    for _ in range(TURNS):
        assert nn.max_pool2d(x, 1).shape == x.shape
        for wrong in (1.0, True):
            with pytest.raises(tw.InvalidArgument, match="kernel_size"):
                nn.max_pool2d(x, wrong)


def test_operands_that_are_one_and_that_are_two(be: Backend) -> None:
    """What was noted of one operand twice is not asked of two."""
    for turn in range(TURNS):
        x, y = drawn(be, turn, 3, 4), drawn(be, turn + 9, 3, 4)
        assert float(nn.mse_loss(x, x)) == 0.0
        expected = float(np.mean((x.numpy() - y.numpy()) ** 2))
        assert float(nn.mse_loss(x, y)) == pytest.approx(expected, rel=1e-5)


def test_operands_that_wait(be: Backend) -> None:
    with tw.deferred():
        for turn in range(TURNS):
            x = drawn(be, turn, 2, 2, 4, 4)
            found = nn.max_pool2d(x * 2 - 1, 2)
            np.testing.assert_allclose(
                found.numpy(), nn.max_pool2d.__wrapped__(x, 2).numpy() * 2 - 1, rtol=1e-6, atol=1e-6
            )
            loss = nn.mse_loss(x + 1, x)
            np.testing.assert_allclose(loss.numpy(), 1, rtol=1e-5)
            loss = nn.mse_loss(x * 3, x)
            np.testing.assert_allclose(loss.numpy(), 4 * np.mean(x.numpy() ** 2), rtol=1e-5)


def test_what_is_written_is_written_each_time(be: Backend) -> None:
    mean, var = tw.zeros(3, device=be), tw.ones(3, device=be)
    expected = np.zeros(3, np.float32)
    for turn in range(TURNS):
        x = drawn(be, turn, 4, 3, 5)
        nn.batch_norm(x, mean, var, training=True, momentum=0.5)
        expected = expected / 2 + x.numpy().mean((0, 2)) / 2
        np.testing.assert_allclose(mean.numpy(), expected, rtol=1e-4, atol=1e-6)


def test_results_are_apart(be: Backend) -> None:
    x = drawn(be, 0, 2, 3, 4, 4)
    found = [nn.avg_pool2d(x, 2) for _ in range(TURNS)]
    found[-1][...] = 0
    same(found[2], found[0])
    same(found[-1], tw.zeros_like(found[0]))


def test_in_a_recording(be: Backend) -> None:
    x = drawn(be, 0, 2, 3, 4, 4)
    for _ in range(TURNS):
        nn.avg_pool2d(x, 2)
    with be.record() as recording:
        found = nn.avg_pool2d(x, 2)
    other = drawn(be, 1, 2, 3, 4, 4)
    x[...] = other
    recording.replay()
    same(found, nn.avg_pool2d(other, 2))


def test_indices_beyond(be: Backend) -> None:
    rows = drawn(be, 0, 5, 2)
    for turn in range(TURNS):
        nn.embedding(whole(be, turn, 5, 4), rows)
    with pytest.raises(tw.IndexOutOfRange):
        nn.embedding(tw.asarray(np.full(4, 7, np.int32), device=be), rows).numpy()


def test_backends_of_their_own(be: Backend) -> None:
    """What was kept of one that was closed is not asked of another."""
    for _ in range(3):
        with another(be) as other:
            for turn in range(TURNS):
                x = drawn(other, turn, 1, 1, 4, 4)
                same(nn.max_pool2d(x, 2), nn.max_pool2d.__wrapped__(x, 2))
        with pytest.raises(tw.NotInitialized) as expected:
            nn.max_pool2d.__wrapped__(x, 2)
        with pytest.raises(tw.NotInitialized) as refused:
            nn.max_pool2d(x, 2)
        assert str(refused.value) == str(expected.value)


def test_they_pass_for_functions() -> None:
    for function in (nn.conv2d, nn.mse_loss):
        assert function.__module__.startswith("tilewright.nn.")
        assert function.__doc__
        assert inspect.isroutine(function)
        assert inspect.signature(function) == inspect.signature(function.__wrapped__)
        assert pickle.loads(pickle.dumps(function)) is function
        assert repr(function).startswith("<function ")

    class Layer:
        pool = nn.max_pool2d

    assert Layer.pool is nn.max_pool2d
    assert inspect.ismethod(Layer().pool)


def test_a_list_may_change_meanwhile(be: Backend) -> None:
    """Other threads run while a call waits for the backend."""
    parts = [drawn(be, i, 64, 64) for i in range(6)]
    expected = tw.hstack(parts).numpy()
    given: list[Any] = list(parts)
    stop = threading.Event()

    def change() -> None:
        while not stop.is_set():
            for i, one in enumerate(parts):
                given[i] = None
                given[i] = one.reshape((64, 64))

    thread = threading.Thread(target=change)
    thread.start()
    try:
        for _ in range(300):
            try:
                found = tw.hstack(given)
            except tw.InvalidArgument:  # one was None
                continue
            np.testing.assert_array_equal(found.numpy(), expected)
    finally:
        stop.set()
        thread.join()
