"""Calls of one kind again and again: what was checked once holds for other buffers, and what is
wrong with them is refused as it is the first time."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tilewright as tw
from tilewright import Backend, IndexOutOfRange, InvalidArgument, Program

from .recordings import another
from .workspace import Workspace

Call = Callable[..., None]
SUM, SCALED = Program(), Program()
SUM.output(SUM.input("float32"))
SCALED.output(SCALED.input("float32") * SCALED.number("float32"))


def reduce(be: Backend, x: Any, out: Any) -> None:
    be.map_reduce(SUM, "sum", (3, 4), (1,), [x], [], [out])


def reduce_scaled(be: Backend, x: Any, out: Any) -> None:
    be.map_reduce(SUM, "sum", (3, 4), (1,), [x], [], [out], SCALED, [], [2.0])


def scan(be: Backend, x: Any, out: Any) -> None:
    be.scan(SUM, "sum", (3, 4), 1, [x], [], out)


def gather(be: Backend, x: Any, out: Any, index: Any) -> None:
    be.gather_elements((x, (0,)), [((index, (1,)), "int32", 12, 1, 0)], (out, (1,)), (3,))


def scatter(be: Backend, x: Any, out: Any, index: Any) -> None:
    be.scatter_elements((x, (1,)), [((index, (1,)), "int32", 12, 1, 0)], (out, (0,)), (3,))


CALLS = [reduce, reduce_scaled, scan, gather, scatter]


def expected(call: Call, x: np.ndarray, index: np.ndarray) -> np.ndarray:
    if call is reduce:
        return x.reshape(3, 4).sum(1)
    if call is reduce_scaled:
        return x.reshape(3, 4).sum(1) * 2
    if call is scan:
        return x.reshape(3, 4).cumsum(1).reshape(-1)
    if call is gather:
        return x[index]
    to = np.full(12, -1, np.float32)
    to[index] = x[:3]
    return to


def operands(ws: Workspace, call: Call, x: np.ndarray, index: np.ndarray) -> tuple[Any, ...]:
    size = expected(call, x, index).size
    given: list[Any] = [ws.input(x), ws.output(np.full(size, -1, np.float32))]
    if call in (gather, scatter):
        given.append(ws.input(index))
    return tuple(given)


@pytest.mark.parametrize("call", CALLS)
def test_other_buffers_and_offsets(be: Backend, rng: np.random.Generator, call: Call) -> None:
    with Workspace(be) as ws:
        for turn in range(4):
            x = rng.integers(-9, 9, 12).astype(np.float32)
            index = rng.permutation(12)[:3].astype(np.int32)
            given = operands(ws, call, x, index)
            call(be, *given)
            np.testing.assert_array_equal(ws.read(given[1]), expected(call, x, index), str(turn))
        # A part of a buffer, which starts elsewhere.
        x = rng.integers(-9, 9, 24).astype(np.float32)
        whole = ws.input(x)
        part = be.view(whole, 32, 48)
        given = (part, *operands(ws, call, x[8:20], index)[1:])
        call(be, *given)
        np.testing.assert_array_equal(ws.read(given[1]), expected(call, x[8:20], index))
        be.release(part)


def refusal(call: Call, be: Backend, given: tuple[Any, ...]) -> str:
    with pytest.raises(InvalidArgument) as raised:
        call(be, *given)
    return str(raised.value)


def first_refusal(call: Call, be: Backend, given: tuple[Any, ...]) -> str:
    """What a device says of the same operands that has kept nothing."""
    with another(be) as other:
        copies: dict[Any, int] = {}

        def copied(one: Any) -> Any:
            if isinstance(one, tuple):
                return (copied(one[0]), *one[1:])
            if one not in copies and one != 0:
                try:
                    copies[one] = other.alloc(be.buffer_bytes(one))
                except InvalidArgument:
                    copies[one] = one
            return copies.get(one, 0)

        return refusal(call, other, tuple(copied(one) for one in given))


@pytest.mark.parametrize("call", CALLS)
def test_wrong_buffers_are_refused_as_the_first_time(be: Backend, call: Call) -> None:
    x, index = np.arange(12, dtype=np.float32), np.arange(3, dtype=np.int32)
    with Workspace(be) as ws:
        good = operands(ws, call, x, index)
        for _ in range(2):
            call(be, *good)
        before = ws.read(good[1]).copy()
        freed = be.alloc(256)
        be.release(freed)
        short = be.alloc(4)
        for at in range(len(good)):
            for bad in (freed, short, 0):
                given = tuple(bad if i == at else one for i, one in enumerate(good))
                assert refusal(call, be, given) == first_refusal(call, be, given), (at, bad)
        # An output that lies in an input.
        for at in (0, 2)[: len(good) - 1]:
            given = tuple(good[at] if i == 1 else one for i, one in enumerate(good))
            said = first_refusal(call, be, given)
            assert "overlap" in said or "elements" in said
            assert refusal(call, be, given) == said
        np.testing.assert_array_equal(ws.read(good[1]), before)
        call(be, *good)
        np.testing.assert_array_equal(ws.read(good[1]), expected(call, x, index))
        be.release(short)


@pytest.mark.parametrize("call", CALLS)
def test_recorded(be: Backend, rng: np.random.Generator, call: Call) -> None:
    x, index = np.arange(12, dtype=np.float32), np.array([5, 0, 11], np.int32)
    with Workspace(be) as ws:
        call(be, *operands(ws, call, x, index))
        given = (ws.output(x), *operands(ws, call, x, index)[1:])
        with be.record() as recording:
            call(be, *given)
        # Which uses the request again that the recording was made by.
        call(be, *operands(ws, call, x[::-1].copy(), index))
        for turn in range(2):
            later = rng.integers(-9, 9, 12).astype(np.float32)
            be.copy_htod(given[0], later)
            recording.replay()
            np.testing.assert_array_equal(
                ws.read(given[1]), expected(call, later, index), str(turn)
            )
        recording.drop()


def test_map(be: Backend, rng: np.random.Generator) -> None:
    """Other buffers, numbers and offsets, in place after that, and what is refused as before."""
    with Workspace(be) as ws:
        for number in (2.0, -3.0, 0.5):
            x = rng.integers(-9, 9, 12).astype(np.float32)
            out = ws.room(12)
            be.map(SCALED, (3, 4), [ws.input(x)], [number], [out])
            np.testing.assert_array_equal(ws.read(out), x * np.float32(number))
        both = ws.output(np.arange(24, dtype=np.float32))
        be.map(SCALED, (3, 4), [(both, (), 3)], [2.0], [(both, (), 3)])
        expected = np.arange(24, dtype=np.float32)
        expected[3:15] *= 2
        np.testing.assert_array_equal(ws.read(both), expected)

        def apply(be: Backend, *given: Any) -> None:
            be.map(SCALED, (3, 4), [given[0]], [2.0], [given[1]])

        short = be.alloc(16)
        for given in (
            ((both, (), 0), (both, (), 1)), ((both, (), 99), both), (short, both), (both, short),
            (0, both), (both, 0), ((both, (), -1), both), ((both, (1, 4), 3), both),
        ):  # fmt: skip
            assert refusal(apply, be, given) == first_refusal(apply, be, given), given
        np.testing.assert_array_equal(ws.read(both), expected)
        with pytest.raises(InvalidArgument, match="numbers"):
            be.map(SCALED, (3, 4), [both], [], [both])
        be.release(short)


def test_numbers_of_recordings_stay(be: Backend) -> None:
    """Also where the device keeps others since."""
    x = tw.zeros(16, device=be)
    i = tw.asarray(np.array([1, 5], np.int32), device=be)
    with be.record() as recording:
        x[i] = 3.25
    other = tw.zeros(16, device=be)
    for number in range(100):
        other[i] = number + 0.125
    be.trim()
    taken = [tw.asarray(np.full(4, 7, np.float32), device=be) for _ in range(100)]
    x[:] = 0
    recording.replay()
    np.testing.assert_array_equal(np.flatnonzero(np.asarray(x) == 3.25), [1, 5])
    assert np.asarray(x).sum() == 6.5 and np.asarray(taken[0])[0] == 7
    recording.drop()


def test_programs_that_grow(be: Backend) -> None:
    """A program that goes on after a call is another one."""
    p = Program()
    x = p.input("float32")
    p.output(x + 1)
    host = np.arange(12, dtype=np.float32)
    with Workspace(be) as ws:
        given, one, two = ws.input(host), ws.room(12), ws.room(12)
        for _ in range(2):
            be.map(p, (12,), [given], [], [one])
        np.testing.assert_array_equal(ws.read(one), host + 1)
        p.output(x * 2)
        be.map(p, (12,), [given], [], [one, two])
        np.testing.assert_array_equal(ws.read(two), host * 2)
        with pytest.raises(InvalidArgument, match="has 2 outputs, and 1 are given"):
            be.map(p, (12,), [given], [], [one])


def test_indices_out_of_range(be: Backend) -> None:
    x = np.arange(12, dtype=np.float32)
    with Workspace(be) as ws:
        for values in ([0, 1, 2], [3, 4, 5], [0, 12, 1]):
            index = np.array(values, np.int32)
            given = operands(ws, gather, x, np.zeros(3, np.int32))
            given = (*given[:2], ws.input(index))
            if max(values) < 12:
                gather(be, *given)
                np.testing.assert_array_equal(ws.read(given[1]), x[index])
                continue
            with pytest.raises(IndexOutOfRange, match="12"):
                gather(be, *given)
                be.synchronize()


def test_more_of_them_than_are_kept(be: Backend) -> None:
    """Calls of many shapes, more than once."""
    x = np.arange(400, dtype=np.float32)
    with Workspace(be) as ws:
        source, out = ws.input(x), ws.room(400)
        for _ in range(2):
            for size in range(1, 200):
                be.map_reduce(SUM, "sum", (2, size), (1,), [source], [], [out])
                if size % 37 == 0:
                    got = ws.read(out)[:2]
                    np.testing.assert_array_equal(got, x[: 2 * size].reshape(2, -1).sum(1))


def test_several_threads(be: Backend) -> None:
    """Each takes the request that is kept, or is checked while another has it."""
    x = np.arange(12, dtype=np.float32)
    wrong: list[Any] = []

    def work(factor: int) -> None:
        with Workspace(be) as ws:
            given = operands(ws, reduce_scaled, x * np.float32(factor), np.zeros(3, np.int32))
            for _ in range(50):
                reduce_scaled(be, *given)
            got = ws.read(given[1])
            if not np.array_equal(got, x.reshape(3, 4).sum(1) * 2 * factor):
                wrong.append((factor, got))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
