"""compile(): a function that is recorded once and replayed gives what it gives without."""

from __future__ import annotations

import collections
import gc
import threading

import numpy as np
import pytest
import tilewright as tw

SHAPE = (67, 71)
RNG = np.random.default_rng(20261124)


def whole(shape=SHAPE, dtype=np.float32):
    return RNG.integers(-5, 6, shape).astype(dtype)


class Counted:
    """A function that counts how often Python runs it."""

    def __init__(self, function):
        self.function = function
        self.calls = 0

    def __call__(self, *arguments, **options):
        self.calls += 1
        return self.function(*arguments, **options)


def on(be, host):
    return tw.asarray(host, device=be)


def test_new_values_and_new_arrays(be):
    counted = Counted(lambda x, w: tw.maximum(x @ w + 1, 0).sum(axis=0))
    f = tw.compile(counted)
    w_host = whole((71, 9))
    w = on(be, w_host)
    for _ in range(4):
        host = whole()
        found = f(on(be, host), w)
        np.testing.assert_array_equal(found.numpy(), np.maximum(host @ w_host + 1, 0).sum(axis=0))
    # Once with both where they lie, and once with the one that changes copied.
    assert counted.calls == 2
    w[...] = w_host * 2
    found = f(on(be, host), w)
    np.testing.assert_array_equal(found.numpy(), np.maximum(host @ w_host * 2 + 1, 0).sum(axis=0))
    assert counted.calls == 2


def test_results_are_apart_from_later_calls(be):
    f = tw.compile(lambda x: x * 2)
    first = f(on(be, whole()))
    kept = first.numpy()
    f(on(be, whole() + 1))
    np.testing.assert_array_equal(first.numpy(), kept)


def test_shapes_dtypes_and_values_have_recordings_of_their_own(be):
    counted = Counted(lambda x, k=1, *, shift=0: x * k + shift)
    f = tw.compile(counted)
    host = whole()
    x = on(be, host)
    for _ in range(2):
        np.testing.assert_array_equal(f(x).numpy(), host)
        np.testing.assert_array_equal(f(x, 2).numpy(), host * 2)
        np.testing.assert_array_equal(f(x, 2.0).numpy(), host * 2)
        np.testing.assert_array_equal(f(x, k=3, shift=-1).numpy(), host * 3 - 1)
        y = on(be, host[:5].copy())
        np.testing.assert_array_equal(f(y).numpy(), host[:5])
        np.testing.assert_array_equal(f(x.astype("int32")).numpy(), host.astype("int32"))
    # y and the cast Array are new ones at each call: these two are recorded once more.
    assert counted.calls == 6 + 2
    assert "6 recordings" in repr(f)
    f.clear()
    assert "0 recordings" in repr(f)
    f(x)
    assert counted.calls == 9


def test_containers(be):
    Pair = collections.namedtuple("Pair", "left right")

    @tw.compile
    def f(pair, both, *, options):
        a, b = both
        return {"sum": pair.left + pair.right, "rest": [a * options["scale"], (b, 7, None)]}

    hosts = [whole() for _ in range(4)]
    for _ in range(2):
        x = [on(be, host) for host in hosts]
        found = f(Pair(x[0], x[1]), [x[2], x[3]], options={"scale": 3})
        np.testing.assert_array_equal(found["sum"].numpy(), hosts[0] + hosts[1])
        np.testing.assert_array_equal(found["rest"][0].numpy(), hosts[2] * 3)
        np.testing.assert_array_equal(found["rest"][1][0].numpy(), hosts[3])
        assert found["rest"][1][1:] == (7, None)
    assert f.__name__ == "f"


def test_strided_arguments_and_one_that_is_given_twice(be):
    f = tw.compile(lambda a, b: a - b * 2)
    host = whole((60, 60))
    x = on(be, host)
    for _ in range(2):
        np.testing.assert_array_equal(f(x.T, x).numpy(), host.T - host * 2)
        np.testing.assert_array_equal(f(x, x).numpy(), host - host * 2)
        np.testing.assert_array_equal(
            f(x[::-1], x[:1].astype("float32") + 0 * x).numpy(), host[::-1] - host[:1] * 2
        )


def test_a_chain_is_one_launch_from_the_first_call(be):
    f = tw.compile(lambda a, b: tw.maximum(a * b + a, 0) - b)
    x, y = on(be, whole()), on(be, whole())
    f(x, y)
    with be.profile() as profile:
        f(x, y)
    # The result is a copy of what the recording holds, which on webgpu a kernel makes.
    assert len([one for one in profile.records if one.kernel != "copy_bytes"]) == 1


def test_arrays_that_the_function_finds_for_itself(be):
    host = whole()
    weights = {"w": on(be, host)}
    counted = Counted(lambda x: x + weights["w"])
    f = tw.compile(counted)
    x = on(be, host)
    np.testing.assert_array_equal(f(x).numpy(), host * 2)
    weights["w"] += 1
    np.testing.assert_array_equal(f(x).numpy(), host * 2 + 1)
    assert counted.calls == 1
    # Freed: the recording has ended, and another one is made.
    weights["w"] = on(be, host * 5)
    gc.collect()
    np.testing.assert_array_equal(f(x).numpy(), host * 6)
    assert counted.calls == 2


def test_methods(be):
    class Layer:
        def __init__(self, host):
            self.w = on(be, host)

        @tw.compile
        def forward(self, x):
            return x * self.w

    hosts = [whole(), whole()]
    layers = [Layer(host) for host in hosts]
    x = on(be, hosts[0])
    for _ in range(2):
        for layer, host in zip(layers, hosts, strict=True):
            np.testing.assert_array_equal(layer.forward(x).numpy(), hosts[0] * host)
    Layer.forward.clear()


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x: x.sum().item(), "^item: "),
        (lambda x: x * 2 if (x > 0).all() else x, "^bool: "),
        (lambda x: x.device.synchronize(), "^synchronize: this thread records"),
        (lambda x: tw.add(x, 1, out=x), "read only"),
        (lambda x: x.__iadd__(1), "read only"),
        (lambda x: x.__setitem__(0, 1), "read only"),
        (lambda x: x.fill(2), "read only"),
    ],
)
def test_what_a_recording_cannot_hold(be, function, message):
    host = whole()
    x = on(be, host)
    with pytest.raises(tw.InvalidArgument, match=message):
        tw.compile(function)(x)
    np.testing.assert_array_equal(x.numpy(), host)
    # Nothing is left of it.
    x += 1
    np.testing.assert_array_equal((x * 2).numpy(), (host + 1) * 2)


CONSTANTS = {
    "arange": lambda x: x + tw.arange(71, device=x.device),
    "linspace": lambda x: x + tw.linspace(0, 1, 71, device=x.device),
    "asarray": lambda x: x * tw.asarray([2.0] * 71, device=x.device),
    "array": lambda x: x * x.device.array([3.0]),
    "full": lambda x: x * x.device.full((71,), 2.5),
    "operand": lambda x: x + np.arange(71, dtype=np.float32),
    "eye": lambda x: x[:, :67] + tw.eye(67, device=x.device),
    "tril": lambda x: tw.tril(x),
    "indices": lambda x: x[[3, 0, -1]],
    "mask": lambda x: tw.where(np.arange(71) % 2 == 0, x, 0),
    "histogram": lambda x: tw.histogram(x, bins=4, range=(-5, 5))[0],
    "quantile": lambda x: tw.quantile(x, [0.25, 0.5]),
    "fft": lambda x: tw.fft.fft(x.astype("complex64")),
    "rfft of 2 * 67": lambda x: tw.fft.rfft(x, n=134),
}


@pytest.mark.sampled(7)
@pytest.mark.parametrize("name", CONSTANTS)
def test_what_is_made_of_the_hosts_numbers_is_of_the_recording(be, name):
    from tilewright.transforms import kept

    function = CONSTANTS[name]
    compiled = tw.compile(function)
    kept.forget()
    for _ in range(3):
        host = whole()
        found = compiled(on(be, host))
        # Tables, too: the recording has its own.
        kept.forget()
        gc.collect()
        np.testing.assert_array_equal(found.numpy(), function(on(be, host)).numpy())


def test_a_constant_that_is_written_is_the_same_at_each_call(be):
    @tw.compile
    def f(x):
        total = tw.asarray([1.0, 2.0, 3.0], device=be)
        total += x
        total[0] = 7
        return total

    for i in range(3):
        x = tw.full((3,), float(i), device=be)
        assert f(x).tolist() == [7.0, 2.0 + i, 3.0 + i]


@pytest.mark.parametrize(
    ("function", "call"),
    [
        (lambda x: x[0, 0].item(), "item"),
        (lambda x: x.tolist(), "tolist"),
        (lambda x: np.asarray(x), r"np\.asarray"),
        (lambda x: float(x[0, 0]), "float"),
        (lambda x: x if x[0, 0] else x + 1, "bool"),
        (lambda x: x[x > 1], r"x\[mask\]"),
        (lambda x: tw.nonzero(x)[0], "nonzero"),
        (lambda x: tw.unique_values(x), "unique_values"),
        (lambda x: tw.histogram(x)[0], "histogram"),
        (lambda x: tw.linalg.cholesky(x[:, :67]), "cholesky"),
        (lambda x: tw.linalg.solve(x[:, :67], x[:, 0]), "solve"),
        (lambda x: tw.linalg.svdvals(x), "svdvals"),
    ],
)
def test_what_reads_is_refused_by_its_own_name(be, function, call):
    x = on(be, whole())
    with pytest.raises(tw.InvalidArgument, match=f"^{call}: it reads from the device"):
        tw.compile(function)(x)
    be.synchronize()


def test_draws_are_refused(be):
    rng = tw.random.default_rng(3, device=be)
    x = on(be, whole())
    for call, function in {
        "normal": lambda x: x + rng.normal(size=SHAPE),
        "permutation": lambda x: rng.permutation(x),
        "poisson": lambda x: x + rng.poisson(3.0, SHAPE),
    }.items():
        with pytest.raises(tw.InvalidArgument, match=f"^{call}: it draws from Generator.*before"):
            tw.compile(function)(x)
    assert rng.state["place"] == 0


def test_errors_of_the_function_come_through(be):
    def fails(x):
        raise KeyError("mine")

    x = on(be, whole())
    with pytest.raises(KeyError, match="mine"):
        tw.compile(fails)(x)
    be.synchronize()
    with pytest.raises(tw.InvalidArgument, match="do not broadcast"):
        tw.compile(lambda x: x + x[:3])(x)
    be.synchronize()


def test_wrong_calls(be):
    with pytest.raises(tw.InvalidArgument, match=r"function is 3 \(int\), expected"):
        tw.compile(3)
    f = tw.compile(lambda *x: x)
    with pytest.raises(tw.InvalidArgument, match="without an Array"):
        f(1, 2)
    with pytest.raises(tw.InvalidArgument, match="can be hashed"):
        f(on(be, whole()), {1, 2})
    other = tw.init_backend("cpu")
    with pytest.raises(tw.InvalidArgument, match="several backends"):
        f(on(be, whole()), tw.zeros(3, device=other))
    with pytest.raises(tw.InvalidArgument, match="a result is on"):
        tw.compile(lambda x: tw.zeros(3, device=other))(on(be, whole()))
    other.close()


def test_the_backend_closes_and_opens(be):
    other = tw.init_backend(be.device.id)
    counted = Counted(lambda x: x * 2)
    f = tw.compile(counted)
    host = whole()
    f(tw.asarray(host, device=other))
    other.close()
    other.init()
    np.testing.assert_array_equal(f(tw.asarray(host, device=other)).numpy(), host * 2)
    assert counted.calls == 2
    f.clear()
    other.close()


def test_memory_is_given_back(be):
    x = on(be, whole())
    be.synchronize()
    before = be.memory_stats().active_bytes
    f = tw.compile(lambda x: (x @ x.T).sum())
    for _ in range(3):
        f(x).numpy()
        f(x * 1).numpy()
    f.clear()
    gc.collect()
    be.synchronize()
    assert be.memory_stats().active_bytes == before


def test_the_least_used_recording_goes_first(be):
    counted = Counted(lambda x, k: x * k)
    f = tw.compile(counted)
    x = on(be, whole())
    for k in range(16):
        f(x, k)
    f(x, 0)
    f(x, 16)
    assert counted.calls == 17
    f(x, 0)
    assert counted.calls == 17
    f(x, 1)
    assert counted.calls == 18


def test_threads(be):
    f = tw.compile(lambda x: x * 2 + 1)
    wrong = []

    def work(seed):
        host = np.full(SHAPE, seed, np.float32)
        for _ in range(20):
            if not np.array_equal(f(on(be, host)).numpy(), host * 2 + 1):
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_values_that_are_equal_and_not_the_same(be):
    f = tw.compile(lambda x, s: tw.copysign(x, s))
    x = on(be, np.ones(SHAPE, np.float32))
    for kind in (float, np.float32):
        found = [float(f(x, kind(s)).max()) for s in (0.0, -0.0, 0.0)]
        assert found == [1.0, -1.0, 1.0]
    counted = Counted(lambda x, s: x + s)
    g = tw.compile(counted)
    for _ in range(5):
        assert np.isnan(g(x, float("nan")).numpy()).all()
    assert counted.calls == 1


class Own(list):
    """A list of its own class."""


@pytest.mark.parametrize(
    ("function", "given"),
    [
        (lambda x: {1, 2}, ()),
        (lambda x: Own([x + 1]), ()),
        (lambda x: (one for one in [x]), ()),
        (lambda x, own: x, (Own(),)),
        (lambda x, own: x, (collections.defaultdict(int),)),
    ],
)
def test_what_is_no_argument_or_result(be, function, given):
    with pytest.raises(tw.InvalidArgument, match="compile: a"):
        tw.compile(function)(on(be, whole()), *given)
    be.synchronize()


def test_functions_that_return_later():
    def generates(x):
        yield x

    async def waits(x):
        return x

    for function in (generates, waits):
        with pytest.raises(tw.InvalidArgument, match="returns its results"):
            tw.compile(function)


def test_one_compiled_function_in_another(be):
    inner = Counted(lambda x: x * 2)
    f = tw.compile(inner)
    g = tw.compile(lambda x: f(x) + f(x + 1))
    for _ in range(3):
        host = whole()
        np.testing.assert_array_equal(g(on(be, host)).numpy(), host * 4 + 2)
    assert inner.calls == 4


@pytest.mark.parametrize(
    "write",
    [
        lambda x: x.__setitem__(tw.asarray([0, 1], device=x.device), 0),
        lambda x: tw.mean(tw.ones((3, *SHAPE), device=x.device), axis=0, out=x),
        lambda x: tw.sum(tw.ones((3, *SHAPE), device=x.device) * 2, axis=0, out=x),
    ],
)
def test_other_writes_of_arguments(be, write):
    host = whole()
    x = on(be, host)
    with pytest.raises(tw.InvalidArgument, match=r"read only|record"):
        tw.compile(lambda x: write(x) or x + 1)(x)
    np.testing.assert_array_equal(x.numpy(), host)
