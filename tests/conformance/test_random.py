"""Random numbers: Philox's known answers, the same stream on every device, and distributions."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tilewright as tw
from tilewright import Backend

from .arrays import INTEGERS, Host, same

# The lines "philox4x32 10" of Random123's kat_vectors: counter, key, result.
KNOWN = [
    ((0,) * 4, (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((2**32 - 1,) * 4, (2**32 - 1,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    ((0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344), (0xA4093822, 0x299F31D0),
     (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1)),
]  # fmt: skip


def words(rng: tw.random.Generator, blocks: int) -> Host:
    """The words that a Generator gives next, as NumPy computes them."""
    place = (np.arange(blocks, dtype=np.uint64)) + np.uint64(rng.state["place"])
    low, high = np.uint64(2**32 - 1), np.uint64(32)
    a, b = place & low, place >> high
    c, d = (np.full(blocks, one, np.uint64) for one in rng.state["stream"])
    k, m = (np.uint64(one) for one in rng.state["key"])
    for _ in range(10):
        x, y = a * np.uint64(0xD2511F53), c * np.uint64(0xCD9E8D57)
        a, b, c, d = (y >> high) ^ b ^ k, y & low, (x >> high) ^ d ^ m, x & low
        k, m = (k + np.uint64(0x9E3779B9)) & low, (m + np.uint64(0xBB67AE85)) & low
    return np.stack([a, b, c, d], -1).reshape(-1)


def made(be: Backend, seed: Any = 12) -> tw.random.Generator:
    return tw.random.default_rng(seed, device=be)


@pytest.mark.parametrize("case", range(len(KNOWN)))
def test_known_answers(be: Backend, case: int) -> None:
    counter, key, result = KNOWN[case]
    rng = made(be)
    rng.state = {"key": key, "stream": counter[2:], "place": counter[0] | counter[1] << 32}
    assert tuple(rng.bits(4).tolist()) == result
    assert rng.state["place"] == (counter[0] + (counter[1] << 32) + 1) % 2**64


def test_the_stream(be: Backend) -> None:
    """Of any length, over the ends of grids and of counters of 32 bits."""
    rng = made(be)
    for count in (1, 4, 7, 4 * 4096, 4 * 4096 + 1, 4 * 4096 * 3 + 18):
        expected = words(rng, -(-count // 4))[:count]
        same(rng.bits(count), expected.astype("uint32"))
    rng.state = rng.state | {"place": 2**32 - 2}
    expected = words(rng, 5)
    same(rng.bits((4, 5)), expected.reshape(4, 5).astype("uint32"))
    assert rng.state["place"] == 2**32 + 3
    assert rng.bits((0, 3)).shape == (0, 3) and rng.bits().shape == ()


def test_uniform_numbers_are_their_bits(be: Backend) -> None:
    rng = made(be)
    expected = words(rng, 25) >> np.uint64(8)
    same(rng.random((4, 25)), (expected.reshape(4, 25) * 2.0**-24).astype("float32"))
    pairs = words(rng, 9).reshape(-1, 2)
    exact = ((pairs[:, 0] >> np.uint64(5)) * 2.0**26 + (pairs[:, 1] >> np.uint64(6))) * 2.0**-53
    same(rng.random(17, dtype="float64"), exact[:17])
    out = tw.empty((2, 3), device=be)
    assert rng.random(out=out) is out and 0 <= out.min().item() <= out.max().item() < 1
    x = rng.uniform(2, 5, 1000).numpy()
    assert x.min() >= 2 and x.max() <= 5


def test_integers_are_high_words_of_products(be: Backend) -> None:
    rng = made(be)
    for dtype in INTEGERS:
        info = np.iinfo(dtype)
        spans = [(0, 1), (0, 100), (int(info.min), int(info.max) + 1), (3, 101)]
        if info.bits >= 32:
            spans.append((0, 2**31 - 1))
        if info.bits == 64:
            spans += [(1, 2**32), (0, 2**32), (0, 2**32 + 1), (int(info.min), int(info.max)),
                      (5, 2**62 + 7)]  # fmt: skip
        for low, past in spans:
            span, bits = past - low, 128 if past - low > 2**32 else 64
            state = rng.state
            got = rng.integers(low, past, 11, dtype=dtype)
            rng.state = state
            source = [int(one) for one in words(rng, 11)]
            if span in (2**32, 2**64):
                bits //= 2
            joined = []
            for i in range(11):
                number = 0
                for word in source[i * bits // 32 : (i + 1) * bits // 32]:
                    number = number << 32 | word
                joined.append(low + (number * span >> bits))
            same(got, np.array(joined, dtype))
    assert made(be).integers(10).dtype == np.int64
    assert set(made(be).integers(2, size=99, dtype="bool").tolist()) == {False, True}
    x = made(be).integers(-2, 2, 999, endpoint=True)
    assert (x.min().item(), x.max().item()) == (-2, 2)


def test_normal_numbers_are_box_and_mullers(be: Backend) -> None:
    rng = made(be)
    source = words(rng, 50).astype(np.float64).reshape(-1, 2)
    size = np.sqrt(-2 * np.log((source[:, 0] + 0.5) / 2**32))
    turn = np.floor(source[:, 1] / 256) * (2 * np.pi * 2.0**-24)
    expected = np.stack([size * np.cos(turn), size * np.sin(turn)], -1).reshape(-1)
    np.testing.assert_allclose(rng.standard_normal(200).numpy(), expected, rtol=1e-4, atol=2e-6)


def normal(x: Host) -> Host:
    return np.array([math.erfc(-one / math.sqrt(2)) / 2 for one in x])


# Draws, and the distribution function that they are to have.
DISTRIBUTIONS: dict[str, tuple[Callable[[Any], Any], Callable[[Host], Host]]] = {
    "random": (lambda r: r.random(4000), lambda x: x),
    "uniform": (lambda r: r.uniform(-1, 3, 4000), lambda x: (x + 1) / 4),
    "normal": (lambda r: r.normal(1, 2, 4000), lambda x: normal((x - 1) / 2)),
    "lognormal": (lambda r: r.lognormal(0.5, 0.5, 4000), lambda x: normal(np.log(x) * 2 - 1)),
    "exponential": (lambda r: r.exponential(2, 4000), lambda x: -np.expm1(-x / 2)),
    "rayleigh": (lambda r: r.rayleigh(2, 4000), lambda x: -np.expm1(-x * x / 8)),
    "laplace": (
        lambda r: r.laplace(0, 1, 4000),
        lambda x: np.where(x < 0, np.exp(x) / 2, 1 - np.exp(-x) / 2),
    ),
    "logistic": (lambda r: r.logistic(2, 1, 4000), lambda x: 1 / (1 + np.exp(2 - x))),
    "gumbel": (lambda r: r.gumbel(0, 1, 4000), lambda x: np.exp(-np.exp(-x))),
    "standard_cauchy": (lambda r: r.standard_cauchy(4000), lambda x: 0.5 + np.arctan(x) / np.pi),
    "weibull": (lambda r: r.weibull(1.5, 4000), lambda x: -np.expm1(-(x**1.5))),
    "pareto": (lambda r: r.pareto(3, 4000), lambda x: 1 - (1 + x) ** -3.0),
    "power": (lambda r: r.power(2.5, 4000), lambda x: x**2.5),
    "gamma": (lambda r: r.gamma(2, 3, 4000), lambda x: 1 - np.exp(-x / 3) * (1 + x / 3)),
    "gamma below 1": (
        lambda r: r.standard_gamma(0.5, 4000),
        lambda x: np.array([math.erf(math.sqrt(one)) for one in x]),
    ),
    "beta": (lambda r: r.beta(2, 2, 4000), lambda x: 3 * x**2 - 2 * x**3),
    "chisquare": (lambda r: r.chisquare(2, 4000), lambda x: -np.expm1(-x / 2)),
    "standard_t": (lambda r: r.standard_t(2, 4000), lambda x: 0.5 + x / (2 * np.sqrt(2 + x * x))),
}


@pytest.mark.sampled(12)
@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_distributions(be: Backend, name: str) -> None:
    """The statistic of Kolmogorov and Smirnov: beyond 1.63 by chance in one of a hundred seeds."""
    draw, distribution = DISTRIBUTIONS[name]
    x = np.sort(draw(made(be, 7)).numpy().astype(np.float64))
    assert np.isfinite(x).all()
    reached = distribution(x)
    steps = np.arange(len(x) + 1) / len(x)
    apart = max((steps[1:] - reached).max(), (reached - steps[:-1]).max())
    assert apart * math.sqrt(len(x)) < 1.63, apart
    # Neighbours are not alike.
    unsorted = distribution(draw(made(be, 8)).numpy().astype(np.float64)) - 0.5
    assert abs((unsorted[1:] * unsorted[:-1]).mean()) < 5 / 12 / math.sqrt(len(x))


def chances(low: int, past: int, log_chance: Callable[[int], float]) -> Host:
    return np.array([math.exp(log_chance(k)) for k in range(low, past)])


def log_poisson(mean: float) -> Callable[[int], float]:
    return lambda k: k * math.log(mean) - mean - math.lgamma(k + 1)


def log_binomial(n: int, p: float) -> Callable[[int], float]:
    return lambda k: (
        math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
        + k * math.log(p) + (n - k) * math.log1p(-p)
    )  # fmt: skip


# Draws, the counts that they are likely to give, and the logarithms of their probabilities.
COUNTS: dict[str, tuple[Callable[[Any], Any], tuple[int, int], Callable[[int], float]]] = {
    "few": (lambda r: r.poisson(2.5, 4000), (0, 9), log_poisson(2.5)),
    "most that are few": (lambda r: r.poisson(9.9, 4000), (3, 18), log_poisson(9.9)),
    "least that are many": (lambda r: r.poisson(10, 4000), (3, 18), log_poisson(10)),
    "many": (lambda r: r.poisson(400, 4000), (350, 451), log_poisson(400)),
    "few tries": (lambda r: r.binomial(10, 0.3, 4000), (0, 8), log_binomial(10, 0.3)),
    "likely": (lambda r: r.binomial(30, 0.8, 4000), (18, 30), log_binomial(30, 0.8)),
    "many tries": (lambda r: r.binomial(1000, 0.4, 4000), (360, 441), log_binomial(1000, 0.4)),
    "geometric": (
        lambda r: r.geometric(0.3, 4000),
        (1, 14),
        lambda k: math.log(0.3) + (k - 1) * math.log(0.7),
    ),
}


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", COUNTS)
def test_counts(be: Backend, name: str) -> None:
    """The statistic of chi squared, of counts and of all others together."""
    draw, (low, past), log_chance = COUNTS[name]
    got = draw(made(be, 3))
    assert got.dtype == np.int64
    expected = 4000 * chances(low, past, log_chance)
    seen = np.array([np.count_nonzero(got.numpy() == k) for k in range(low, past)])
    expected = np.append(expected, max(4000 - expected.sum(), 1))
    seen = np.append(seen, 4000 - seen.sum())
    bins = len(seen) - 1
    statistic = ((seen - expected) ** 2 / expected).sum()
    assert statistic < bins + 3.5 * math.sqrt(2 * bins), statistic


def test_ends_of_counts(be: Backend) -> None:
    rng = made(be)
    assert set(rng.poisson(0, 9).tolist()) == set(rng.binomial(0, 0.5, 9).tolist()) == {0}
    assert set(rng.binomial(7, 1.0, 9).tolist()) == {7} and rng.geometric(1.0).item() == 1
    x = rng.poisson(np.float32([[0.5], [1000], [-1]]), (3, 50)).numpy()
    assert x[0].max() < 9 and x[1].min() > 700 and x[1].max() < 1300 and (x[2] == -1).all()
    y = rng.binomial(np.float32([10, 2000]), np.float32([0.5, 2])).numpy()
    assert 0 <= y[0] <= 10 and y[1] == -1


def test_permutations(be: Backend) -> None:
    rng = made(be)
    for count in (0, 1, 2, 5000):
        order = rng.permutation(count).numpy()
        np.testing.assert_array_equal(np.sort(order), np.arange(count))
    assert (np.diff(order) > 0).mean() < 0.6
    host = np.arange(24, dtype="int16").reshape(4, 6)
    with tw.device(be):
        x = tw.asarray(host)
    rows = rng.permutation(x).numpy()
    np.testing.assert_array_equal(rows[np.argsort(rows[:, 0])], host)
    columns = rng.permutation(x, axis=1).numpy()
    np.testing.assert_array_equal(columns[:, np.argsort(columns[0])], host)
    rng.shuffle(x[:, ::2])
    same(x[:, 1::2], host[:, 1::2])
    np.testing.assert_array_equal(np.sort(x.numpy(), axis=0), host)
    # Each order of three is as likely.
    orders = [tuple(rng.permutation(3).tolist()) for _ in range(120)]
    assert len(set(orders)) == 6 and max(orders.count(one) for one in orders) < 40


def test_choices(be: Backend) -> None:
    rng = made(be)
    with tw.device(be):
        x = tw.asarray(np.arange(10, 40, dtype="float32").reshape(10, 3))
    assert set(rng.choice(5, 200).tolist()) == set(range(5)) and rng.choice(5).shape == ()
    assert sorted(rng.choice(9, 9, replace=False).tolist()) == list(range(9))
    assert rng.choice(x, (2, 4)).shape == (2, 4, 3)
    assert set(rng.choice([2.5, 7, 9], 60).tolist()) == {2.5, 7, 9}
    assert set(rng.choice(np.array([[1, 2], [3, 4]]), 40)[:, 1].tolist()) == {2, 4}
    assert sorted(rng.permutation([4, 1, 8]).tolist()) == [1, 4, 8]
    got = rng.choice(x, 3, replace=False, axis=1).numpy()
    np.testing.assert_array_equal(np.sort(got, axis=1), x.numpy())
    weights = np.float32([0.1, 0, 0.6, 0.3])
    counts = np.bincount(rng.choice(4, 4000, p=weights).numpy(), minlength=4)
    np.testing.assert_allclose(counts / 4000, weights, atol=0.03)
    for _ in range(5):
        assert sorted(rng.choice(4, 3, replace=False, p=weights).tolist()) == [0, 2, 3]
    cases: dict[str, Callable[[], Any]] = {
        "permutation: x is -1": lambda: rng.permutation(-1),
        "shuffle: x is 3": lambda: rng.shuffle(3),  # type: ignore[arg-type]
        "choice: size is .* replace is False": lambda: rng.choice(3, 4, replace=False),
        "choice: a has 0 elements": lambda: rng.choice(0, 2),
        "choice: p has shape": lambda: rng.choice(3, p=weights),
        "choice: p has the sum 2": lambda: rng.choice(4, p=2 * weights),
        "choice: size is 4, but p has fewer": lambda: rng.choice(4, 4, replace=False, p=weights),
    }
    for message, call in cases.items():
        with pytest.raises(tw.InvalidArgument, match=message):
            call()


def test_doubles(be: Backend) -> None:
    if be.name == "webgpu":
        with pytest.raises(tw.Unsupported, match="float64"):
            made(be).standard_normal(3, dtype="float64")
        return
    x = made(be).normal(0, 1, 3001, dtype="float64")
    assert x.dtype == np.float64 and abs(x.mean().item()) < 0.06
    assert abs(x.std().item() - 1) < 0.05
    assert made(be).standard_gamma(3.0, 5, "float64").dtype == np.float64


def test_parameters_that_are_arrays(be: Backend) -> None:
    with tw.device(be):
        means = tw.asarray([[0.0], [1000.0]])
    x = made(be).normal(means, [1.0, 2.0, 3.0])
    assert x.shape == (2, 3) and (abs(x - means) < 30).all()
    assert made(be).uniform(means, means + 1, (5, 2, 1)).shape == (5, 2, 1)
    same(made(be).normal(0, np.zeros(3)), np.zeros(3, "float32"))
    shapes = np.float32([0.25, 1, 400, -1, 0])
    g = made(be).gamma(shapes, 1, (400, 5)).numpy()
    np.testing.assert_allclose(g.mean(0)[:3], [0.25, 1, 400], rtol=0.25)
    assert np.isnan(g[:, 3]).all() and (g[:, 4] == 0).all()
    # Of one element, for all.
    of_one = made(be).gamma(tw.asarray([2.0], device=be), 1, (6, 1)).numpy()
    np.testing.assert_array_equal(of_one, made(be).gamma(np.full((6, 1), 2.0), 1).numpy())
    out = tw.empty(3, device=be)
    assert made(be).standard_exponential(out=out) is out


def test_state_pickles_and_children(be: Backend) -> None:
    rng = made(be)
    rng.random(5)
    back = pickle.loads(pickle.dumps(rng))
    assert back.state == rng.state
    np.testing.assert_array_equal(back.random(9).numpy(), rng.random(9).numpy())
    assert repr(rng).startswith("Generator(Philox4x32-10, place=5, device=")
    assert tw.random.default_rng(rng) is rng
    first, second = made(be, np.random.SeedSequence(5)), made(be, 5)
    assert first.state == second.state
    children = made(be).spawn(3)
    streams = {tuple(child.bits(4).tolist()) for child in [*children, *made(be).spawn(1), rng]}
    assert len(streams) == 4
    assert made(be, None).state != made(be, None).state
    with tw.device(be):
        assert tw.random.default_rng(1).random(2).backend is be


def test_errors(be: Backend) -> None:
    rng = made(be)
    cases: dict[str, Callable[[], Any]] = {
        "default_rng: seed is": lambda: tw.random.default_rng("seed"),
        "default_rng: seed is -1": lambda: tw.random.default_rng(-1),
        "random: dtype is float16": lambda: rng.random(3, dtype="float16"),
        r"random: shape\[0\] is -1": lambda: rng.random(-1),
        "random: out is": lambda: rng.random(out=3),  # type: ignore[arg-type]
        "random: out has shape": lambda: rng.random(3, out=tw.empty(2, device=be)),
        "standard_normal: out is int64": lambda: rng.standard_normal(
            out=tw.empty(3, dtype="int64", device=be)
        ),
        "normal: scale is -1": lambda: rng.normal(0, -1),
        "normal: loc is 'a'": lambda: rng.normal("a"),  # type: ignore[arg-type]
        "normal: size is": lambda: rng.normal(np.zeros(3), 1, 1),
        "weibull: a is 0": lambda: rng.weibull(0),
        "gamma: shape is -1": lambda: rng.gamma(-1),
        "poisson: lam is -1": lambda: rng.poisson(-1),
        "poisson: lam is 10000000000.*, expected 0 to 1073741824": lambda: rng.poisson(1e10),
        "binomial: p is 2": lambda: rng.binomial(3, 2),
        "binomial: n is 2.5": lambda: rng.binomial(2.5, 0.5),
        "geometric: p is 0": lambda: rng.geometric(0),
        "integers: low is 3 and high 3": lambda: rng.integers(3, 3),
        "integers: low is 0.5": lambda: rng.integers(0.5),  # type: ignore[arg-type]
        "what uint8 holds": lambda: rng.integers(300, dtype="uint8"),
        "integers: dtype is float32": lambda: rng.integers(3, dtype="float32"),
        "spawn: n_children is -1": lambda: rng.spawn(-1),
        "state is": lambda: setattr(rng, "state", {"key": (1, 2)}),
    }
    for message, call in cases.items():
        with pytest.raises(tw.InvalidArgument, match=message):
            call()
