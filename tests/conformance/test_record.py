"""Recordings, on every backend: what is kept and what a replay computes."""

from __future__ import annotations

import gc
import sys
import threading
from typing import Any

import numpy as np
import pytest
import tilewright as tw
from tilewright import Backend, InvalidArgument

from .calls import CALLS, In, Out, lacks, positional
from .own_kernels import SAXPY
from .recordings import another, floats, read, relu_recorded
from .workspace import download

# Every call of the trait that computes or copies on the device.
OPS = [
    name
    for name, call in CALLS.items()
    if any(isinstance(argument, Out) for argument in call.values()) and name != "copy_htod"
]


# What a replay computes ---------------------------------------------------------------------------


@pytest.mark.parametrize("op", OPS)
def test_a_replay_of_each_op_is_the_op(be: Backend, op: str, rng: np.random.Generator) -> None:
    call = CALLS[op]
    of_buffers = {name: a for name, a in call.items() if isinstance(a, In | Out)}
    buffers = [be.alloc(a.bytes) for a in of_buffers.values()]

    def numbers(name: str, size: int) -> np.ndarray:
        if name == "targets" or (op == "sparse_matmul" and name == "columns"):
            return rng.integers(0, 3, size // 4, np.int32).view(np.uint8)
        if name == "offsets":
            return np.arange(0, size // 2, 2, np.int32).view(np.uint8)
        return rng.random(size // 4 + 1, np.float32).view(np.uint8)[:size]

    def fill() -> list[np.ndarray]:
        hosts = [numbers(name, a.bytes) for name, a in of_buffers.items()]
        restore(hosts)
        return hosts

    def restore(hosts: list[np.ndarray]) -> None:
        for buffer, host in zip(buffers, hosts, strict=True):
            be.copy_htod(buffer, host)

    def contents() -> list[np.ndarray]:
        return [download(be, buffer) for buffer in buffers]

    before = fill()
    with be.record() as r:
        if lacks(be, op):
            with pytest.raises(tw.Unsupported, match=f"^{op}: "):
                getattr(be, op)(*positional(call, buffers))
        else:
            getattr(be, op)(*positional(call, buffers))
    for got, was in zip(contents(), before, strict=True):
        np.testing.assert_array_equal(got, was, "recording ran the op")
    for _ in range(0 if lacks(be, op) else 2):
        hosts = fill()
        getattr(be, op)(*positional(call, buffers))
        expected = contents()
        restore(hosts)
        r.replay()
        for got, want in zip(contents(), expected, strict=True):
            np.testing.assert_array_equal(got, want)
    r.drop()
    for buffer in buffers:
        be.free(buffer)


def test_a_replay_of_map_with_numbers(be: Backend) -> None:
    program = tw.Program()
    x, factor = program.input("float32"), program.number("float32")
    program.output(program.apply("mul", x, factor))
    a, b = floats(be, [1, 2, 3]), floats(be, [0, 0, 0])
    with be.record() as r:
        be.map(program, (3,), [a], [2.5], [b])
        be.map(program, (3,), [b], [-1.0], [b])
    assert read(be, b) == [0, 0, 0]
    r.replay()
    assert read(be, b) == [-2.5, -5, -7.5]
    r.drop()
    be.free(a)
    be.free(b)


def test_a_replay_of_a_kernel_of_ones_own(gpu: Backend) -> None:
    x, y = floats(gpu, [1, 2, 3, 4]), floats(gpu, [0, 0, 0, 0])
    kernel = gpu.create_kernel(**SAXPY.on(gpu))
    params = np.array([(4, 2.0)], [("n", np.uint32), ("alpha", np.float32)])
    with gpu.record() as r:
        gpu.launch_kernel(kernel, [x, y], params, (1, 1, 1))
        params["alpha"] = 100
    gpu.free_kernel(kernel)
    for i in (1, 2):
        r.replay()
        assert read(gpu, y) == [2 * i, 4 * i, 6 * i, 8 * i]
    r.drop()
    gpu.free(x)
    gpu.free(y)


def test_a_kernel_is_compiled_while_recording(gpu: Backend) -> None:
    x, y = floats(gpu, [1, 2]), floats(gpu, [0, 0])
    with gpu.record() as r:
        kernel = gpu.create_kernel(**SAXPY.on(gpu))
        params = np.array([(2, 1.0)], [("n", np.uint32), ("alpha", np.float32)])
        gpu.launch_kernel(kernel, [x, y], params, (1, 1, 1))
        gpu.free_kernel(kernel)
    r.replay()
    assert read(gpu, y) == [1, 2]
    r.drop()
    gpu.free(x)
    gpu.free(y)


@pytest.mark.parametrize("offset", [0, 4, 256, 260])
def test_views_and_copies(be: Backend, offset: int) -> None:
    """Some views no GPU can bind in place."""
    n = 33
    base, out = floats(be, np.zeros(200)), floats(be, np.zeros(200))
    x, y = be.view(base, offset, 4 * n), be.view(out, offset + 4, 4 * n)
    with be.record() as r:
        be.unary("neg", x, y, n)
        be.copy_dtod(out, base, 4 * 5 + 2, 600, offset + 4)
        scratch = be.view(out, 600, 20)
        be.binary("add", scratch, scratch, scratch, 5)
        be.free(scratch)
    be.free(x)  # its memory is there as long as the buffer is
    values = np.arange(1, n + 1, dtype=np.float32)
    be.copy_htod(base, values, offset)
    r.replay()
    got = download(be, out).view(np.float32)
    first = (offset + 4) // 4
    np.testing.assert_array_equal(got[first : first + n], -values)
    np.testing.assert_array_equal(got[150:155], 2 * values[1:6])
    r.drop()
    for buffer in (base, out, y):
        be.free(buffer)


def test_replays_are_in_the_order_of_all_work(be: Backend) -> None:
    x = floats(be, [1, 2])
    with be.record() as r:
        be.binary("add", x, x, x, 2)
    for _ in range(5):
        r.replay()
        be.binary_scalar("sub", x, 1.0, x, 2)
    assert read(be, x) == [1, 33]
    r.drop()
    be.free(x)


def test_many_launches_many_times(be: Backend) -> None:
    x, y = floats(be, [0, 0, 0]), floats(be, [1, 2, 3])
    with be.record() as r:
        for _ in range(700):
            be.binary("add", x, y, x, 3)
    for _ in range(3):
        r.replay()
    assert read(be, x) == [2100, 4200, 6300]
    r.drop()
    be.free(x)
    be.free(y)


def test_an_event_and_a_read_after_a_replay(be: Backend) -> None:
    r, x, y = relu_recorded(be)
    host = np.zeros(4, np.float32)
    r.replay()
    be.copy_dtoh_async(host, y)
    event = be.event()
    be.copy_htod(x, np.full(4, 5, np.float32))
    r.replay()
    assert event.wait()
    assert host.tolist() == [0, 0, 1, 2]
    assert read(be, y) == [5, 5, 5, 5]
    r.drop()
    be.free(x)
    be.free(y)


def test_an_empty_recording(be: Backend) -> None:
    with be.record() as r:
        assert r.is_recording
    assert not r.is_recording and r.backend is be
    x = be.alloc(4)
    with be.record() as nothing:
        be.unary("relu", x, x, 0)
    for recording in (r, nothing):
        recording.replay()
        recording.replay()
        recording.drop()
    be.free(x)


def test_without_a_with_block(be: Backend) -> None:
    x = floats(be, [3])
    r = be.record()
    be.unary("neg", x, x, 1)
    r.end()
    r.replay()
    assert read(be, x) == [-3]
    del r
    be.free(x)


@pytest.mark.parametrize("config", [{"debug_mode": True}, {"enable_pipeline_cache": False}])
def test_with_config(be: Backend, config: dict[str, Any]) -> None:
    with another(be, **config) as other:
        x, y = other.array([-1.0, 2.0]), other.array([[1.0, 2.0], [3.0, 4.0]])
        with other.record() as r:
            z = other.exp(other.relu(x))
            product = y @ y
        other.relu(y)
        r.replay()
        np.testing.assert_allclose(z.numpy(), [1, np.exp(2)], rtol=1e-6)
        assert product.numpy().tolist() == [[7, 10], [15, 22]]


# Arrays -------------------------------------------------------------------------------------------


def test_arrays(be: Backend) -> None:
    x, w = be.array(np.arange(6.0, dtype=np.float32)), be.array(np.full(6, 2, np.float32))

    def build() -> tuple[tw.Recording, tw.Array]:
        with be.record() as r:
            hidden = x * w + 1.0
            y = be.relu(hidden - 4.0)
        return r, y  # and `hidden` is let go of

    r, y = build()
    be.trim()  # numbers on the device too
    for shift in (0, 10):
        host = np.arange(6, dtype=np.float32) + shift
        be.copy_htod(x, host)
        r.replay()
        np.testing.assert_array_equal(y.numpy(), np.maximum(2 * host + 1 - 4, 0))
    del y
    gc.collect(0)
    r.replay()
    be.synchronize()


def test_upload_while_recording_is_refused_by_name(be: Backend) -> None:
    r = be.record()
    with pytest.raises(InvalidArgument, match=r"^copy_htod: this thread records.*copy before"):
        be.array([1.0, 2.0])
    r.drop()


# Memory -------------------------------------------------------------------------------------------


def test_memory_made_in_it_is_counted_until_it_is_dropped(be: Backend) -> None:
    with another(be, memory_limit=1_000_000) as other:
        x = other.alloc(1000)
        with other.record() as r:
            y = other.alloc(200_000)
            other.unary("relu", x, y, 250)
            unused = other.alloc(50_000)
            other.free(unused)
            other.free(y)
            assert other.memory_stats().active_bytes == 201_000
        assert other.memory_stats().active_bytes == 201_000
        assert other.memory_stats().allocations == 1
        with pytest.raises(tw.OutOfMemory):
            other.alloc(800_000)
        r.replay()
        other.synchronize()
        r.drop()
        assert other.memory_stats().active_bytes == 1000
        other.free(other.alloc(999_000))


def test_freed_memory_is_used_again_within_a_recording(be: Backend) -> None:
    x = floats(be, [1, 2])
    before = be.memory_stats().active_bytes
    with be.record() as r:
        for _ in range(50):
            y = be.alloc(8)
            be.binary("add", x, x, y, 2)
            be.copy_dtod(x, y, 8)
            be.free(y)
    assert be.memory_stats().active_bytes == before + 8
    with pytest.raises(InvalidArgument):
        be.buffer_bytes(y)
    for _ in range(2):
        be.copy_htod(x, np.array([1e-9, 2e-9], np.float32))
        r.replay()
        np.testing.assert_allclose(read(be, x), [2**50 * 1e-9, 2**50 * 2e-9], rtol=1e-6)
    r.drop()
    assert be.memory_stats().active_bytes == before
    be.free(x)


def test_freed_memory_serves_smaller_buffers_within_a_recording(be: Backend) -> None:
    n = 96
    x = floats(be, [1.0] * n)
    result = be.alloc(4)
    before = be.memory_stats().active_bytes
    sizes = (n, 48, n // 3, 40, n)
    with be.record() as r:
        for turn, size in enumerate(sizes):
            y = be.alloc(4 * size)
            assert be.buffer_bytes(y) == 4 * size
            # Past its end is memory of the recording, and of no call.
            with pytest.raises(InvalidArgument):
                be.copy_dtod(y, x, 4 * size + 4)
            be.binary("add", x, x, y, size)
            be.copy_dtod(x, y, 4)
            be.free(y)
            assert be.memory_stats().active_bytes == before + 4 * n, (turn, size)
        # A quarter is the least; half a word, what has no end of its own.
        small = [be.alloc(bytes_) for bytes_ in (n - 4, 4 * n - 2)]
        assert be.memory_stats().active_bytes == before + 4 * n + n - 4 + 4 * n - 2
        be.binary("add", x, x, small[0], 1)
        be.copy_dtod(result, small[0], 4)
        be.copy_dtod(small[1], x, 4)
        for one in small:
            be.free(one)
    expected = 1.0
    be.copy_htod(x, np.ones(n, np.float32))
    for _ in range(2):
        r.replay()
        expected *= 2 ** len(sizes)
        assert read(be, result)[0] == 2 * expected
    r.drop()
    assert be.memory_stats().active_bytes == before
    be.free(x)
    be.free(result)


def test_scratch_of_ops_is_the_recordings(be: Backend, rng: np.random.Generator) -> None:
    """A sum in pieces and a product cut along k."""
    with another(be) as other:
        long = rng.random(3_000_000, np.float32)
        a, b = rng.random((40, 5000), np.float32), rng.random((5000, 40), np.float32)
        x, left, right = other.array(long), other.array(a), other.array(b)
        before = other.memory_stats().active_bytes
        with other.record() as r:
            total = other.sum(x)
            product = left @ right
        if be.name != "cpu":  # whose ops take it as they run
            assert other.memory_stats().active_bytes > before + total.nbytes + product.nbytes
        for scale in (1, 3):
            other.copy_htod(x, long * scale)
            other.copy_htod(left, a * scale)
            r.replay()
            other.array(np.ones(5_000_000, np.float32))  # takes what is free
            np.testing.assert_allclose(total.item(), long.sum(dtype=float) * scale, rtol=1e-5)
            expected = (a.astype(float) @ b) * scale
            np.testing.assert_allclose(product.numpy(), expected, rtol=1e-5)
        del total, product
        r.drop()
        gc.collect(0)
        assert other.memory_stats().active_bytes == before


def test_what_ops_write_once_is_not_the_scratch_of_others(be: Backend) -> None:
    """The shape and strides of many dimensions, which go to a GPU through memory."""
    rank, n = 16, 1 << 16
    program = tw.Program()
    program.output(program.apply("sub", program.input("float32"), program.input("float32")))
    host = np.arange(n, dtype=np.float32).reshape((2,) * rank)
    strides = tuple(1 << i for i in range(rank))
    x, y = be.array(host), be.empty((2,) * rank)
    long = be.array(np.ones(3_000_000, np.float32))
    total = be.empty(())
    with be.record() as r:
        for _ in range(2):
            be.reduce("sum", long, total, (3_000_000,), 0)
            be.map(program, (2,) * rank, [(x, strides), x], [], [y])
    for _ in range(2):
        r.replay()
        np.testing.assert_array_equal(y.numpy(), host.transpose() - host)
        assert total.item() == 3_000_000


def test_what_is_used_cannot_be_freed_meanwhile(be: Backend) -> None:
    x, y, unused = floats(be, [1]), floats(be, [2]), floats(be, [3])
    part = be.view(x, 0, 4)
    with be.record() as r:
        be.binary("add", x, y, y, 1)
        be.free(x)  # the memory stays: its view
        be.free(unused)
        with pytest.raises(InvalidArgument, match=rf"^free: buffer is {part}, which binary uses"):
            be.free(part)
        with pytest.raises(InvalidArgument, match=rf"^free: buffer is {y}, which binary uses"):
            be.free(y)
    r.replay()
    assert read(be, y) == [3]
    r.drop()
    be.free(y)
    be.free(part)


def test_a_replay_after_a_buffer_was_freed(be: Backend) -> None:
    r, x, y = relu_recorded(be)
    active = be.memory_stats().active_bytes
    be.free(x)
    assert be.memory_stats().active_bytes == active - 16
    be.copy_htod(y, np.full(4, 9, np.float32))
    for _ in range(2):
        with pytest.raises(
            InvalidArgument, match=rf"^replay: buffer {x}, which unary .* was freed"
        ):
            r.replay()
    assert read(be, y) == [9] * 4
    be.free(y)


def test_an_array_that_goes_meanwhile_or_later(be: Backend) -> None:
    x = be.array([1.0, 2.0])
    with be.record() as meanwhile:
        y = be.neg(x)
        del x
        gc.collect(0)
    with pytest.raises(InvalidArgument, match="was freed"):
        meanwhile.replay()
    x = be.array([1.0, 2.0])
    with be.record() as later:
        be.neg(x, out=y)
    del x
    gc.collect(0)
    with pytest.raises(InvalidArgument, match="was freed"):
        later.replay()


def test_two_recordings_of_one_buffer(be: Backend) -> None:
    x = floats(be, [1])
    with be.record() as first:
        made = be.alloc(4)
        be.binary("add", x, x, made, 1)
    with be.record() as second:
        be.binary("add", made, made, x, 1)
    first.replay()
    second.replay()
    assert read(be, x) == [4]
    be.free(made)
    first.replay()
    with pytest.raises(InvalidArgument, match=rf"buffer {made}, which binary uses"):
        second.replay()
    first.drop()
    be.free(x)


@pytest.mark.parametrize("how", ["as always", "in debug mode", "in a profile"])
def test_replays_by_several_threads(be: Backend, how: str) -> None:
    """Each is as one op, also where it waits for its launches or times them."""
    n = 1000
    before = sys.getswitchinterval()
    options = {"debug_mode": True} if how == "in debug mode" else {}
    with type(be)(adapter_index=be.config["adapter_index"], **options) as other:
        a, one = floats(other, [0] * n), floats(other, [1] * n)
        with other.record() as r:
            between = other.alloc(4 * n)
            other.binary("add", a, one, between, n)
            other.unary("abs", between, a, n)
            other.free(between)
        if how == "in a profile":
            other.begin_profile()
        threads = [
            threading.Thread(target=lambda: [r.replay() for _ in range(300)]) for _ in range(2)
        ]
        sys.setswitchinterval(1e-5)
        try:
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        finally:
            sys.setswitchinterval(before)
        if how == "in a profile":
            other.end_profile()
        assert read(other, a) == [600] * n
