"""Elementwise work that waits for who asks for its result: what comes of it is what NumPy gives,
whatever is written, viewed or read in between."""

from __future__ import annotations

import copy
import gc
import operator
import pickle
import threading

import hypothesis
import numpy as np
import pytest
import tilewright as tw
from hypothesis import strategies as st

from .deferral import RNG, SHAPE, asked_for, in_another_thread, waits, whole  # noqa: F401


def launches(be, work):
    with be.profile() as profile:
        work()
    return len(profile.records)


def test_a_cpu_defers_what_its_caches_do_not_hold(be):
    with tw.deferred(False):
        few = tw.ones((1 << 21) - 1, dtype="int8", device=be)
        many = tw.ones(1 << 21, dtype="int8", device=be)
    seen = []

    def look():
        seen.extend((waits(few + 1), waits(many + 1), int((many + 1).sum()), waits(few[:0] + 1)))

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert seen == [be.name != "cpu", True, 1 << 22, False]


# The model ----------------------------------------------------------------------------------------

TWO = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "bitwise_xor": operator.xor,
    "maximum": lambda a, b: (np if isinstance(a, np.ndarray) else tw).maximum(a, b),
    "where": lambda a, b: (np if isinstance(a, np.ndarray) else tw).where(a > b, a - b, b),
}
ONE = {
    "negative": operator.neg,
    "invert": operator.invert,
    "square": lambda a: a * a,
    "with a number": lambda a: a * 3 - 7,
    "of a number": lambda a: 11 - a,
}
IN_PLACE = {"add": operator.iadd, "multiply": operator.imul, "xor": operator.ixor}
VIEWS = {
    "transposed": lambda a: a.T,
    "backwards": lambda a: a[::-1],
    "rows": lambda a: a[1:-1:2],
    "a column": lambda a: a[:, 3:4],
}

place = st.integers(0, 30)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("two"), st.sampled_from(sorted(TWO)), place, place),
        st.tuples(st.just("one"), st.sampled_from(sorted(ONE)), place),
        st.tuples(st.just("in place"), st.sampled_from(sorted(IN_PLACE)), place, place),
        st.tuples(st.just("out"), st.sampled_from(["add", "multiply"]), place, place, place),
        st.tuples(st.just("assign"), st.sampled_from(sorted(VIEWS)), place, place),
        st.tuples(st.just("view"), st.sampled_from(sorted(VIEWS)), place),
        st.tuples(st.just("number"), st.integers(-9, 9), place),
        st.tuples(st.just("sum"), st.sampled_from([None, 0, 1]), place),
        st.tuples(st.just("read"), place),
        st.tuples(st.just("drop"), place),
    ),
    min_size=3,
    max_size=30,
)


def fits(one, other):
    try:
        return np.broadcast_shapes(one.shape, other.shape) == one.shape
    except ValueError:
        return False


@hypothesis.given(steps=steps)
def test_random_programs(be, steps):
    hosts = [whole(np.int32) for _ in range(3)]
    devices = [tw.asarray(host, device=be) for host in hosts]
    hosts = [host.copy() for host in hosts]
    for kind, *rest in steps:
        places = [p % len(hosts) for p in rest[1:]] if kind not in ("read", "drop") else []
        x = [hosts[p] for p in places]
        y = [devices[p] for p in places]
        if kind == "two":
            try:
                np.broadcast_shapes(x[0].shape, x[1].shape)
            except ValueError:
                continue
            hosts.append(TWO[rest[0]](*x))
            devices.append(TWO[rest[0]](*y))
        elif kind == "one":
            hosts.append(ONE[rest[0]](*x))
            devices.append(ONE[rest[0]](*y))
        elif kind == "in place":
            if not fits(*x):
                continue
            IN_PLACE[rest[0]](*x)
            IN_PLACE[rest[0]](*y)
        elif kind == "out":
            if x[0].shape != x[1].shape or x[0].shape != x[2].shape:
                continue
            getattr(np, rest[0])(x[0], x[1], out=x[2])
            getattr(tw, rest[0])(y[0], y[1], out=y[2])
        elif kind == "assign":
            part, whole_of = VIEWS[rest[0]](x[0]), x[1]
            if x[0].ndim != 2 or not fits(part, whole_of):
                continue
            part[...] = whole_of.copy()
            VIEWS[rest[0]](y[0])[...] = y[1]
        elif kind == "view":
            hosts.append(VIEWS[rest[0]](x[0]))
            devices.append(VIEWS[rest[0]](y[0]))
        elif kind == "number":
            x[0][...] = rest[0]
            y[0][...] = rest[0]
        elif kind == "sum":
            with np.errstate(over="ignore"):
                expected = x[0].sum(axis=rest[0], dtype=np.int32)
            found = y[0].sum(axis=rest[0], dtype="int32")
            np.testing.assert_array_equal(found.numpy(), expected)
        elif kind == "read":
            at = rest[0] % len(hosts)
            np.testing.assert_array_equal(devices[at].numpy(), hosts[at])
        elif len(hosts) > 1:
            at = rest[0] % len(hosts)
            del hosts[at], devices[at]
    for host, device in zip(hosts, devices, strict=True):
        np.testing.assert_array_equal(device.numpy(), host)


# Launches -----------------------------------------------------------------------------------------


def chain(a, b, c):
    return tw.maximum(a * b + c, 0) - a * 2


def chain_on_host(a, b, c):
    return np.maximum(a * b + c, 0) - a * 2


def test_a_chain_is_one_launch(be):
    host = [whole() for _ in range(3)]
    x = [tw.asarray(one, device=be) for one in host]
    chain(*x).numpy()  # a GPU compiles what comes up again
    result = []
    assert launches(be, lambda: result.append(chain(*x).numpy())) == 1
    np.testing.assert_array_equal(result[0], chain_on_host(*host))


def test_each_function_is_a_launch_where_nothing_waits(be):
    host = [whole() for _ in range(3)]
    x = [tw.asarray(one, device=be) for one in host]
    with tw.deferred(False):
        assert not waits(x[0] + x[1])
        assert launches(be, lambda: chain(*x)) == 5
    assert waits(x[0] + x[1])


def test_the_switch_for_all_threads(be):
    x = tw.asarray(whole(), device=be)
    seen = []
    tw.set_deferred(False)
    try:

        def look():
            seen.append(waits(x + 1))
            with tw.deferred(True):
                look_again()
            seen.append(waits(x + 1))

        def look_again():
            seen.append(waits(x + 1))

        thread = threading.Thread(target=look)
        thread.start()
        thread.join()
    finally:
        tw.set_deferred(True)
    assert seen == [False, True, False]
    with pytest.raises(tw.InvalidArgument, match=r"on is 1 \(int\), expected True or False"):
        tw.set_deferred(1)
    with pytest.raises(tw.InvalidArgument, match="on is None"), tw.deferred(None):
        pass


def test_a_reduction_takes_its_chain_in(be):
    host = [whole() for _ in range(3)]
    x = [tw.asarray(one, device=be) for one in host]
    for axis in (None, 0, 1):
        chain(*x).sum(axis=axis)
        assert launches(be, lambda axis=axis: chain(*x).sum(axis=axis)) <= 2
        found = chain(*x).max(axis=axis).numpy()
        np.testing.assert_array_equal(found, chain_on_host(*host).max(axis=axis))
    # A sum of few elements is one launch, and so is its chain then.
    few = [tw.asarray(whole()[:50, :50].copy(), device=be) for _ in range(3)]
    with tw.deferred(True):
        alone = launches(be, lambda: few[0].sum())
        assert launches(be, lambda: chain(*few).sum()) == alone


@pytest.mark.parametrize("dtype", ["float16", "float32", "int8", "uint16", "int32", "bool"])
def test_dtypes_give_what_they_give_at_once(be, dtype):
    host = [RNG.uniform(-3, 3, SHAPE) for _ in range(2)]
    a, b = (tw.asarray(one.astype(dtype), device=be) for one in host)

    def work():
        if dtype == "bool":
            return (a & ~b) | (a ^ b)
        return tw.where(a > b, a * b + a, b - a) * 2

    with tw.deferred(False):
        at_once = work().numpy()
    for _ in range(2):
        result = work()
        assert waits(result) and result.dtype == at_once.dtype
        if dtype == "float32":
            # A device may add to a product without rounding it.
            np.testing.assert_allclose(result.numpy(), at_once, rtol=1e-6, atol=1e-5)
        else:
            np.testing.assert_array_equal(result.numpy(), at_once)


def test_operands_of_any_strides_and_shapes(be):
    host = whole()
    x = tw.asarray(host, device=be)
    row = tw.asarray(host[:1].copy(), device=be)
    for _ in range(2):
        found = (x.T[::-1] * 2 + x.T) - row.T * 3 + (row * 2).T
        np.testing.assert_array_equal(
            found.numpy(), (host.T[::-1] * 2 + host.T) - host[:1].T * 3 + (host[:1] * 2).T
        )
        totals = (x.T[::-1] * 2 + row.T).sum(axis=0)
        np.testing.assert_array_equal(totals.numpy(), (host.T[::-1] * 2 + host[:1].T).sum(axis=0))


def test_long_chains_are_cut(be):
    host, x = whole(), None
    x = tw.asarray(host, device=be)
    result, expected = x, host
    many, sum_of_many = [tw.asarray(host + i, device=be) for i in range(20)], None
    for i in range(100):
        result, expected = result + (i % 3 - 1), expected + (i % 3 - 1)
    np.testing.assert_array_equal(result.numpy(), expected)
    sum_of_many = many[0]
    for one in many[1:]:
        sum_of_many = sum_of_many + one
    np.testing.assert_array_equal(sum_of_many.numpy(), sum(host + i for i in range(20)))
    # More than wait at a time.
    all_waiting = [x + i for i in range(600)]
    assert sum(map(waits, all_waiting)) <= 256
    for i in (0, 299, 599):
        np.testing.assert_array_equal(all_waiting[i].numpy(), host + i)


# What is computed first ---------------------------------------------------------------------------


def test_what_is_read_again_is_computed_once_more_at_most(be):
    host = whole()
    x = tw.asarray(host, device=be)
    kept = x * 2
    for i in range(5):
        with tw.deferred(True):
            np.testing.assert_array_equal((kept + i).numpy(), host * 2 + i)
        assert waits(kept) == (i == 0)
    np.testing.assert_array_equal(kept.numpy(), host * 2)


@pytest.mark.parametrize(
    "write",
    [
        lambda be, x: operator.iadd(x, 1),
        lambda be, x: operator.setitem(x, slice(None), 7),
        lambda be, x: operator.setitem(x, (slice(1, 3), 2), 7),
        lambda be, x: operator.setitem(x.T, slice(2, 5), 7),
        lambda be, x: operator.setitem(x, x > 2, 7),
        lambda be, x: operator.setitem(x, [1, 2], 7),
        lambda be, x: tw.add(x, 1, out=x),
        lambda be, x: be.add(x, 1, out=x),
        lambda be, x: be.matmul(tw.ones((61, 61), device=be), x * 1, out=x),
        lambda be, x: be.unary("neg", x, x, x.size),
        lambda be, x: be.copy_htod(x, np.zeros(SHAPE, np.float32)),
        lambda be, x: be.map(doubled(), SHAPE, [x], [], [x]),
        lambda be, x: x.sort(axis=0),
        lambda be, x: x.fill(3),
        lambda be, x: x.put([5], [9]),
        lambda be, x: tw.sum(tw.ones((2, *SHAPE), device=be), axis=0, out=x),
        lambda be, x: be.free(x.copy()) or be.copy_dtod(x, tw.zeros(SHAPE, device=be), x.nbytes),
    ],
    ids=lambda one: None,
)
def test_writes_compute_first_what_waits_for_the_operand(be, write):
    host = whole()
    x = tw.asarray(host, device=be)
    by_way = x[3:] - 1
    found = [x * 2, (x + 1) * 3, by_way * 2]
    assert all(map(waits, found))
    write(be, x)
    np.testing.assert_array_equal(found[0].numpy(), host * 2)
    np.testing.assert_array_equal(found[1].numpy(), (host + 1) * 3)
    np.testing.assert_array_equal(found[2].numpy(), (host[3:] - 1) * 2)
    assert not np.array_equal(x.numpy(), host)


def doubled():
    program = tw.Program()
    program.output(program.input("float32") * 2)
    return program


def test_an_in_place_chain_reads_what_it_writes(be):
    host = whole()
    x = tw.asarray(host, device=be)
    kept = x + 5
    x += x * 2 - kept
    np.testing.assert_array_equal(x.numpy(), host + host * 2 - (host + 5))
    np.testing.assert_array_equal(kept.numpy(), host + 5)
    x[1:] += x[:-1] * 2
    expected = host + host * 2 - (host + 5)
    expected[1:] += expected[:-1] * 2
    np.testing.assert_array_equal(x.numpy(), expected)


def test_handles_and_views_of_the_trait_see_and_write_the_elements(be):
    host = whole()
    x = tw.asarray(host, device=be)
    waiting = x * 2
    handle = x.handle
    assert not waits(waiting)
    # From here on others may write it unseen.
    assert not waits(x + 1)
    before = x + 1
    be.unary("neg", handle, handle, x.size)
    np.testing.assert_array_equal(before.numpy(), host + 1)
    y = tw.asarray(host, device=be)
    view = be.view(y, 0, y.nbytes)
    before = y + 1
    be.unary("neg", view, view, y.size)
    np.testing.assert_array_equal(before.numpy(), host + 1)
    be.free(view)


def test_memory_that_the_host_shares(be):
    host = whole()
    x = tw.asarray(host, device=be)
    waiting = x * 2
    shared = x.host_memory()
    if shared is None:
        assert be.name != "cpu"
        return
    shared[...] = 0
    np.testing.assert_array_equal(waiting.numpy(), host * 2)
    later = x + 1
    shared.view(np.float32)[...] = 5
    np.testing.assert_array_equal(later.numpy(), np.ones(SHAPE))


@pytest.mark.parametrize(
    "ask",
    [
        lambda be, y: y.numpy(),
        lambda be, y: y[3],
        lambda be, y: y.T,
        lambda be, y: y.reshape(-1),
        lambda be, y: y.handle,
        lambda be, y: repr(y[:2, :2]),
        lambda be, y: pickle.dumps(y),
        lambda be, y: copy.copy(y),
        lambda be, y: np.asarray(y),
        lambda be, y: be.synchronize(),
        lambda be, y: be.flush(),
        lambda be, y: be.event().wait(),
        lambda be, y: be.matmul(y, y.T),
        lambda be, y: be.relu(y),
        lambda be, y: tw.sort(y),
        lambda be, y: y[[1, 2]],
        lambda be, y: y[y > 1],
        lambda be, y: be.copy_dtoh(np.empty(SHAPE, np.float32), y),
    ],
    ids=lambda one: None,
)
def test_what_computes_it(be, ask):
    host = whole()
    x = tw.asarray(host, device=be)
    y = x * 2 + 1
    assert waits(y)
    ask(be, y)
    assert not waits(y)
    np.testing.assert_array_equal(y.numpy(), host * 2 + 1)


def test_shapes_and_dtypes_are_known_before(be):
    x = tw.asarray(whole(), device=be)
    y = (x > 0) | (x < -2)
    assert (y.shape, y.dtype, y.size, y.nbytes, y.ndim) == (SHAPE, np.bool_, x.size, x.size, 2)
    assert y.is_contiguous and y.strides == (SHAPE[1], 1) and y.offset == 0
    assert waits(y)
    assert not y.overlaps(x)
    with pytest.raises(tw.InvalidArgument, match="do not broadcast"):
        y & tw.ones((3,), dtype="bool", device=be)
    assert waits(y)


def test_recordings_hold_what_was_called_in_them(be):
    shape = (1 << 11, 1 << 10)
    host = RNG.integers(-5, 6, shape).astype(np.int16)

    def work():
        x, out = tw.asarray(host, device=be), tw.zeros(shape, dtype="int16", device=be)
        waiting = x + 1
        assert waits(waiting)
        with be.record() as recording:
            assert not waits(waiting)
            y = x * 2
            assert not waits(y)
            tw.add(y, 1, out=out)
        assert waits(x * 2)
        recording.replay()
        before = out * 2
        assert waits(before)
        x[...] = 1
        recording.replay()
        np.testing.assert_array_equal(before.numpy(), (host * 2 + 1) * 2)
        np.testing.assert_array_equal(out.numpy(), np.full(shape, 3))
        np.testing.assert_array_equal(waiting.numpy(), host + 1)
        recording.drop()
        assert waits(x * 2)

    in_another_thread(work)


def test_memory_is_taken_when_it_is_computed_and_given_back(be):
    x = tw.asarray(whole(), device=be)
    be.synchronize()
    before = be.memory_stats().active_bytes
    y = x * 2 + 1
    assert be.memory_stats().active_bytes == before
    y.numpy()
    assert be.memory_stats().active_bytes == before + y.nbytes
    z = (y + 1) * 2  # never asked for
    del y, z
    gc.collect()
    assert be.memory_stats().active_bytes == before


def test_operands_live_as_long_as_what_waits_for_them(be):
    host = whole()
    y = tw.asarray(host, device=be) * 2
    z = y + 1
    del y
    gc.collect()
    np.testing.assert_array_equal(z.numpy(), host * 2 + 1)


def test_a_backend_that_closes(be):
    other = tw.init_backend(be.device.id)
    x = tw.asarray(whole(), device=other)
    y = x * 2
    z = y + 1
    other.close()
    for one in (y, z, x):
        with pytest.raises(tw.NotInitialized):
            one.numpy()
    other.init()
    other.synchronize()
    for one in (y, z, x):
        with pytest.raises(tw.InvalidArgument, match="was freed"):
            one.numpy()
    other.close()


def test_threads_that_ask_for_one_result(be):
    host = whole()
    x = tw.asarray(host, device=be)
    wrong = []

    def read(y):
        if not np.array_equal(y.numpy(), (host * 2 + 1) * host):
            wrong.append(y)

    for _ in range(20):
        y = (x * 2 + 1) * x
        threads = [threading.Thread(target=read, args=(y,)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not wrong


def test_threads_that_write_what_others_wait_for(be):
    x = tw.zeros(SHAPE, device=be)
    wrong = []

    def work():
        with tw.deferred(True):
            for i in range(50):
                one(i)

    def one(i):
        mine = tw.full(SHAPE, float(i), device=be)
        y = mine * 2 + x * 0
        mine += 1
        if not (y.numpy() == 2 * i).all():
            wrong.append(i)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
