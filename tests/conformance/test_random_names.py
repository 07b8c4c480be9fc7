"""Random numbers by the rest of NumPy's names: against SciPy's distributions, at their ends, and
wrong arguments."""

from __future__ import annotations

import inspect
import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tilewright as tw
from scipy import stats
from tilewright import Backend

from .arrays import same

COUNT = 4000


def made(be: Backend, seed: Any = 12) -> tw.random.Generator:
    return tw.random.default_rng(seed, device=be)


def test_all_names_of_numpy() -> None:
    """With its arguments in their order; floats take a dtype beside them."""
    for name in dir(np.random.Generator):
        if name.startswith("_"):
            continue
        theirs, ours = getattr(np.random.Generator, name), getattr(tw.random.Generator, name)
        if not callable(theirs):
            continue
        try:
            expected = list(inspect.signature(theirs).parameters)
        except ValueError:
            # Compiled without one: what its documentation begins with.
            line = next(one for one in theirs.__doc__.splitlines() if one.strip())
            listed = line[line.index("(") + 1 : line.rindex(")")].split(",")
            expected = ["self", *(one.split("=")[0].strip() for one in listed)]
        expected = [one for one in expected if one and one != "*"]
        own = list(inspect.signature(ours).parameters)
        assert own[: len(expected)] == expected or set(own) >= set(expected), (name, own, expected)


# Draws, and SciPy's distribution.
CONTINUOUS: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "triangular": (lambda r: r.triangular(1, 2, 5, COUNT), stats.triang(0.25, 1, 4)),
    "triangular at its end": (lambda r: r.triangular(0, 0, 2, COUNT), stats.triang(0, 0, 2)),
    "wald": (lambda r: r.wald(2, 3, COUNT), stats.invgauss(2 / 3, scale=3)),
    "wald of a small scale": (lambda r: r.wald(1, 0.02, COUNT), stats.invgauss(50, scale=0.02)),
    "vonmises": (lambda r: r.vonmises(0, 2, COUNT), stats.vonmises(2)),
    "vonmises of much": (lambda r: r.vonmises(0, 5000, COUNT), stats.vonmises(5000)),
    "vonmises of nothing": (lambda r: r.vonmises(0, 0, COUNT), stats.uniform(-np.pi, 2 * np.pi)),
    "f": (lambda r: r.f(5, 12, COUNT), stats.f(5, 12)),
    "noncentral_f": (lambda r: r.noncentral_f(5, 12, 3, COUNT), stats.ncf(5, 12, 3)),
    "noncentral_chisquare": (lambda r: r.noncentral_chisquare(3, 2, COUNT), stats.ncx2(3, 2)),
    "noncentral_chisquare below 1": (
        lambda r: r.noncentral_chisquare(0.5, 2, COUNT) + 1e-30,
        stats.ncx2(0.5, 2),
    ),
    "beta below 1": (lambda r: r.beta(0.1, 0.3, COUNT), stats.beta(0.1, 0.3)),
    "gamma of an array": (
        lambda r: r.standard_gamma(np.full(COUNT, 1.5, "float32")),
        stats.gamma(1.5),
    ),
    "weibull of an array": (
        lambda r: r.weibull(np.full(COUNT, 1.5, "float32")),
        stats.weibull_min(1.5),
    ),
    "pareto of an array": (lambda r: r.pareto(np.full(COUNT, 3.0, "float32")), stats.lomax(3)),
    "power of an array": (lambda r: r.power(np.full(COUNT, 2.5, "float32")), stats.powerlaw(2.5)),
    "lognormal of an array": (
        lambda r: r.lognormal(np.full(COUNT, 0.5, "float32"), 0.5),
        stats.lognorm(0.5, scale=math.exp(0.5)),
    ),
    "dirichlet": (lambda r: r.dirichlet([2, 3, 0.5], COUNT)[:, 1], stats.beta(3, 2.5)),
    "dirichlet of small alphas": (
        lambda r: r.dirichlet([0.01, 0.02], COUNT)[:, 0],
        None,  # its moments are looked at below
    ),
    "multivariate_normal": (
        lambda r: r.multivariate_normal([1, 2], [[2, 0.5], [0.5, 1]], COUNT) @ r_sum(r),
        stats.norm(3, 2),
    ),
}


def r_sum(rng: Any) -> Any:
    return tw.ones((2,), device=rng._device)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", CONTINUOUS)
def test_continuous_distributions(be: Backend, name: str) -> None:
    draw, distribution = CONTINUOUS[name]
    x = draw(made(be, 7)).numpy().astype(np.float64)
    assert x.shape == (COUNT,) and np.isfinite(x).all()
    if distribution is None:
        assert abs(x.mean() - 1 / 3) < 0.03 and ((x < 0.01) | (x > 0.99)).mean() > 0.9
        return
    assert stats.kstest(x, distribution.cdf).pvalue > 0.001


DISCRETE: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "poisson of an array": (
        lambda r: r.poisson(np.full(COUNT, 12.5, "float32")),
        stats.poisson(12.5),
    ),
    "poisson of a few in an array": (
        lambda r: r.poisson(np.full(COUNT, 3.5, "float32")),
        stats.poisson(3.5),
    ),
    "binomial of an array": (
        lambda r: r.binomial(np.full(COUNT, 90, "int32"), 0.7),
        stats.binom(90, 0.7),
    ),
    "binomial of few in an array": (
        lambda r: r.binomial(12, np.full(COUNT, 0.3, "float32")),
        stats.binom(12, 0.3),
    ),
    "hypergeometric": (
        lambda r: r.hypergeometric(30, 50, 20, COUNT),
        stats.hypergeom(80, 30, 20),
    ),
    "hypergeometric of all": (
        lambda r: r.hypergeometric(6, 5, 9, COUNT),
        stats.hypergeom(11, 6, 9),
    ),
    "hypergeometric of few in an array": (
        lambda r: r.hypergeometric(np.full(COUNT, 6, "int32"), 5, 8),
        stats.hypergeom(11, 6, 8),
    ),
    "hypergeometric of an array": (
        lambda r: r.hypergeometric(np.full(COUNT, 70, "int32"), 40, 65),
        stats.hypergeom(110, 70, 65),
    ),
    "hypergeometric of many in an array": (
        lambda r: r.hypergeometric(np.full(COUNT, 300, "int32"), 5000, 800),
        stats.hypergeom(5300, 300, 800),
    ),
    "negative_binomial": (
        lambda r: r.negative_binomial(2.5, 0.4, COUNT),
        stats.nbinom(2.5, 0.4),
    ),
    "geometric of an array": (
        lambda r: r.geometric(np.full(COUNT, 0.3, "float32")),
        stats.geom(0.3),
    ),
    "logseries": (lambda r: r.logseries(0.8, COUNT), stats.logser(0.8)),
    "zipf": (lambda r: r.zipf(2.5, COUNT), stats.zipf(2.5)),
    "multinomial": (
        lambda r: r.multinomial(20, [0.2, 0.3, 0.5], COUNT)[:, 2],
        stats.binom(20, 0.5),
    ),
    "multivariate_hypergeometric": (
        lambda r: r.multivariate_hypergeometric([10, 20, 30], 12, COUNT)[:, 1],
        stats.hypergeom(60, 20, 12),
    ),
}


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", DISCRETE)
def test_discrete_distributions(be: Backend, name: str) -> None:
    """The statistic of chi squared, of counts that are likely and of all others together."""
    draw, distribution = DISCRETE[name]
    got = draw(made(be, 3))
    assert got.dtype == np.int64 and got.shape == (COUNT,)
    low, past = int(distribution.ppf(0.004)), int(distribution.ppf(0.99)) + 1
    counts = np.arange(low, past)
    expected = COUNT * distribution.pmf(counts)
    seen = (got.numpy()[:, None] == counts).sum(0)
    expected = np.append(expected, COUNT - expected.sum())
    seen = np.append(seen, COUNT - seen.sum())
    assert ((seen - expected) ** 2 / expected).sum() < stats.chi2(len(counts)).ppf(0.999)


def test_large_counts(be: Backend) -> None:
    for mean in (1e6, 2.0**30):
        x = made(be).poisson(mean, 2000).numpy()
        assert abs(x.mean() - mean) < 4 * math.sqrt(mean / 2000)
        assert 0.9 < x.std() / math.sqrt(mean) < 1.1
    x = made(be).binomial(2**30, 0.25, 2000).numpy()
    assert abs(x.mean() - 2**28) < 4 * math.sqrt(2**30 * 3 / 16 / 2000)
    y = made(be).hypergeometric(10**9, 10**9 // 2, 10**9, 2000).numpy()
    assert abs(y.mean() / (2e9 / 3) - 1) < 1e-6


def test_multinomials_add_up(be: Backend) -> None:
    rng = made(be)
    counts = rng.multinomial(30, [0.1, 0, 0.6, 0.3], (5, 7)).numpy()
    assert counts.shape == (5, 7, 4) and (counts.sum(-1) == 30).all()
    assert (counts >= 0).all() and (counts[..., 1] == 0).all()
    same(rng.multinomial(9, [0, 1, 0]), np.array([0, 9, 0]))
    same(rng.multinomial(0, [0.5, 0.5], 3), np.zeros((3, 2), np.int64))
    same(rng.multinomial(4, [1.0]), np.array([4]))
    tries = np.array([[3], [50]])
    counts = rng.multinomial(tries, np.full((6, 5), 0.2)).numpy()
    assert counts.shape == (2, 6, 5) and (counts.sum(-1) == tries).all() and (counts >= 0).all()
    drawn = rng.multivariate_hypergeometric([4, 0, 7, 2], 6, (3, 40)).numpy()
    assert drawn.shape == (3, 40, 4) and (drawn.sum(-1) == 6).all() and (drawn >= 0).all()
    assert (drawn <= [4, 0, 7, 2]).all()
    for method in ("marginals", "count"):
        all_of_them = rng.multivariate_hypergeometric([4, 3], 7, method=method)  # type: ignore[arg-type]
        same(all_of_them, np.array([4, 3]))


def test_ends_of_distributions(be: Backend) -> None:
    rng = made(be)
    assert set(rng.hypergeometric(0, 5, 3, 9).tolist()) == {0}
    assert set(rng.hypergeometric(5, 0, 3, 9).tolist()) == {3}
    assert set(rng.hypergeometric(4, 5, 9, 9).tolist()) == {4}
    x = rng.hypergeometric(np.int32([0, 5, 4, 9, 3]), 5, np.int32([3, 0, 9, 15, 2])).numpy()
    assert x[:4].tolist() == [0, 0, 4, -1] and 0 <= x[4] <= 2
    assert set(rng.logseries(0, 9).tolist()) == {1} and rng.logseries(0.9999999).item() >= 1
    assert set(rng.negative_binomial(3, 1, 9).tolist()) == {0}
    assert set(rng.zipf(90.0, 9).tolist()) == {1} and (rng.zipf(1.01, 99) >= 1).all()
    assert rng.geometric(np.float32([1, 0, 2])).tolist()[1:] == [-1, -1]
    assert np.isnan(rng.power(np.float32([-1, 0])).numpy()).all()
    assert np.isnan(rng.triangular(np.float32([3, 1]), 2, np.float32([4, 1])).numpy()).all()
    assert np.isnan(rng.vonmises(0, np.float32([-1])).numpy()).all()
    assert np.isinf(rng.standard_gamma(np.float32([np.inf])).numpy()).all()
    same(rng.standard_gamma(0.0, 3), np.zeros(3, "float32"))
    turned = rng.vonmises(3, 50, 500).numpy()
    assert turned.min() < -3 < 3 < turned.max() and abs(turned).max() <= np.float32(np.pi)
    shares = rng.dirichlet([3, 0, 2], (2, 4)).numpy()
    assert shares.shape == (2, 4, 3) and (shares[..., 1] == 0).all()
    np.testing.assert_allclose(shares.sum(-1), 1, rtol=1e-6)
    assert (rng.dirichlet([1e-4, 1e-4, 1e-4], 200).sum(axis=-1) > 0.999).all()


# What each takes, but the size.
ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "beta": (2, 3), "binomial": (9, 0.5), "chisquare": (3,), "dirichlet": ([1, 2],),
    "exponential": (2,), "f": (3, 4), "gamma": (2, 2), "geometric": (0.4,), "gumbel": (),
    "hypergeometric": (5, 6, 7), "integers": (0, 9), "laplace": (), "logistic": (),
    "lognormal": (), "logseries": (0.5,), "multinomial": (5, [0.5, 0.5]),
    "multivariate_hypergeometric": ([3, 4], 5), "multivariate_normal": ([0, 1], np.eye(2)),
    "negative_binomial": (3, 0.5), "noncentral_chisquare": (3, 1), "noncentral_f": (3, 4, 1),
    "normal": (), "pareto": (3,), "poisson": (4,), "power": (3,), "random": (), "rayleigh": (),
    "standard_cauchy": (), "standard_exponential": (), "standard_gamma": (2,),
    "standard_normal": (), "standard_t": (5,), "triangular": (0, 1, 2), "uniform": (),
    "vonmises": (0, 1), "wald": (1, 1), "weibull": (2,), "zipf": (3,),
}  # fmt: skip


def test_arguments_are_all_distributions() -> None:
    taking = {
        name
        for name in dir(tw.random.Generator)
        if not name.startswith("_")
        and callable(getattr(tw.random.Generator, name))
        and "size" in inspect.signature(getattr(tw.random.Generator, name)).parameters
    }
    assert taking == {*ARGUMENTS, "choice", "bits"}


@pytest.mark.sampled(12)
@pytest.mark.parametrize("name", ARGUMENTS)
def test_sizes(be: Backend, name: str) -> None:
    """Of every shape that NumPy gives; a size of nothing, too."""
    arguments, theirs = ARGUMENTS[name], np.random.default_rng(1)
    for size in (None, (), 3, (2, 3), 0, (2, 0)):
        expected = np.shape(getattr(theirs, name)(*arguments, size=size))
        got = getattr(made(be), name)(*arguments, size=size)
        assert got.shape == expected, size
        assert got.backend is be
    with pytest.raises(tw.InvalidArgument, match=rf"^{name}: .* is -1"):
        getattr(made(be), name)(*arguments, size=-1)


def test_permuted(be: Backend) -> None:
    rng = made(be)
    host = np.arange(60, dtype="float32").reshape(3, 20)
    with tw.device(be):
        x = tw.asarray(host)
    rows = rng.permuted(x, axis=1).numpy()
    np.testing.assert_array_equal(np.sort(rows, axis=1), host)
    assert len({tuple(row % 20) for row in rows}) == 3
    columns = rng.permuted(x.T, axis=-2).numpy()
    np.testing.assert_array_equal(np.sort(columns, axis=0), host.T)
    every = rng.permuted(x)
    assert every.shape == (3, 20) and (every.numpy() != host).any()
    np.testing.assert_array_equal(np.sort(every.numpy().reshape(-1)), host.reshape(-1))
    same(x, host)
    assert rng.permuted(x, axis=1, out=x) is x
    np.testing.assert_array_equal(np.sort(x.numpy(), axis=1), host)
    assert rng.permuted(np.zeros((0, 3)), axis=0).shape == (0, 3)
    assert sorted(rng.permuted([3, 1, 2]).tolist()) == [1, 2, 3]


def test_multivariate_normals(be: Backend) -> None:
    rng = made(be)
    cov = np.array([[2.0, 0.6, 0], [0.6, 1, -0.3], [0, -0.3, 0.5]])
    for method in ("svd", "eigh", "cholesky"):
        x = rng.multivariate_normal([5, 0, -5], cov, (20, 200), method=method)  # type: ignore[arg-type]
        assert x.shape == (20, 200, 3)
        flat = x.numpy().reshape(-1, 3).astype(np.float64)
        np.testing.assert_allclose(flat.mean(0), [5, 0, -5], atol=0.1)
        np.testing.assert_allclose(np.cov(flat.T), cov, atol=0.12)
    # Of one dimension less than it has, where both lie on a line.
    x = rng.multivariate_normal([0, 0], [[1, 1], [1, 1]], 50).numpy()
    np.testing.assert_allclose(x[:, 0], x[:, 1], atol=1e-5)
    wrong = [[1, 2], [2, 1]]
    with pytest.warns(RuntimeWarning, match="positive semidefinite"):
        rng.multivariate_normal([0, 0], wrong)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rng.multivariate_normal([0, 0], wrong, check_valid="ignore")


def test_bytes_and_the_bit_generator(be: Backend) -> None:
    rng = made(be)
    source = rng.bit_generator.state
    words = rng.bits(3).numpy().astype("<u4").tobytes()
    rng.bit_generator.state = source
    assert rng.bytes(11) == words[:11] and rng.bytes(0) == b""
    assert rng.bit_generator.seed_seq.entropy == 12
    assert "Philox" in repr(rng.bit_generator)


def test_the_stream_after_tries(be: Backend) -> None:
    """What is tried again takes nothing from those that come after it."""
    places = set()
    for _ in range(2):
        for seed in range(3):
            rng = made(be, seed)
            rng.standard_gamma(0.7, 1000)
            rng.poisson(np.full(1000, 30, "float32"))
            places.add(rng.state["place"])
    assert len(places) == 1


def test_tries_are_the_same_everywhere(be: Backend) -> None:
    with tw.device("cpu"):
        expected = tw.random.default_rng(5).vonmises(0.5, 3, 3000).numpy()
    got = made(be, 5).vonmises(0.5, 3, 3000).numpy()
    assert (abs(got - expected) < 1e-4).mean() > 0.999
    same(made(be, 5).binomial(40, 0.3, 3000), tw.random.default_rng(5, device="cpu").binomial(
        40, 0.3, 3000).numpy())  # fmt: skip


def test_doubles(be: Backend) -> None:
    if be.name == "webgpu":
        for name in ("wald", "standard_t", "multivariate_normal"):
            with pytest.raises(tw.Unsupported, match="float64"):
                getattr(made(be), name)(*ARGUMENTS[name], size=3, dtype="float64")
        return
    for name in ARGUMENTS:
        if "dtype" in inspect.signature(getattr(tw.random.Generator, name)).parameters:
            if name == "integers":
                continue
            x = getattr(made(be), name)(*ARGUMENTS[name], size=5, dtype="float64")
            assert x.dtype == np.float64, name


def test_errors(be: Backend) -> None:
    rng = made(be)
    cov = np.eye(2)
    cases: dict[str, Callable[[], Any]] = {
        "triangular: left is 2.* mode 1": lambda: rng.triangular(2, 1, 3),
        "triangular: left is 1.* and right 1": lambda: rng.triangular(1, 1, 1),
        "wald: mean is 0": lambda: rng.wald(0, 1),
        "wald: scale is -1": lambda: rng.wald(1, -1),
        "vonmises: kappa is -1": lambda: rng.vonmises(0, -1),
        "vonmises: kappa is inf": lambda: rng.vonmises(0, math.inf),
        "f: dfden is 0": lambda: rng.f(1, 0),
        "noncentral_f: nonc is -1": lambda: rng.noncentral_f(1, 1, -1),
        "noncentral_chisquare: df is 0": lambda: rng.noncentral_chisquare(0, 1),
        "beta: a is 0": lambda: rng.beta(0, 1),
        "chisquare: df is -1": lambda: rng.chisquare(-1),
        "standard_t: df is 0": lambda: rng.standard_t(0),
        "gamma: scale is -1": lambda: rng.gamma(1, -1),
        "gamma: shape is nan": lambda: rng.gamma(math.nan),
        "hypergeometric: ngood is -1": lambda: rng.hypergeometric(-1, 2, 1),
        "hypergeometric: nbad is 2.5": lambda: rng.hypergeometric(1, 2.5, 1),
        "hypergeometric: nsample is 9, expected 5": lambda: rng.hypergeometric(2, 3, 9),
        "negative_binomial: n is 0": lambda: rng.negative_binomial(0, 0.5),
        "negative_binomial: p is 2": lambda: rng.negative_binomial(1, 2),
        "negative_binomial: n is 10.* beyond 4194304": lambda: rng.negative_binomial(10, 1e-7),
        "logseries: p is 1": lambda: rng.logseries(1),
        "logseries: p is .* expected a number": lambda: rng.logseries([0.1, 0.2]),  # type: ignore[arg-type]
        "zipf: a is 1": lambda: rng.zipf(1),
        "dirichlet: alpha is .* expected a row": lambda: rng.dirichlet([1, -1]),
        "dirichlet: alpha is .* expected one of more": lambda: rng.dirichlet([0, 0]),
        "multinomial: n is -1": lambda: rng.multinomial(-1, [1]),
        "multinomial: pvals is .* probabilities": lambda: rng.multinomial(3, [0.5, 1.5]),
        "multinomial: pvals without its last sums to 1.2": lambda: rng.multinomial(
            3, [0.6, 0.6, 0.1]
        ),
        "multinomial: pvals is .* one probability": lambda: rng.multinomial(3, []),
        "multivariate_hypergeometric: colors is": lambda: rng.multivariate_hypergeometric(
            [1, -1], 1
        ),
        "multivariate_hypergeometric: nsample is 9": lambda: rng.multivariate_hypergeometric(
            [1, 2], 9
        ),
        "multivariate_hypergeometric: method is 'x'": lambda: rng.multivariate_hypergeometric(
            [1],
            1,
            method="x",  # type: ignore[arg-type]
        ),
        "multivariate_normal: mean has shape": lambda: rng.multivariate_normal(0, cov),
        "multivariate_normal: cov has shape": lambda: rng.multivariate_normal([0], cov),
        "multivariate_normal: cov has elements": lambda: rng.multivariate_normal(
            [0, 0], cov * math.nan
        ),
        "multivariate_normal: cov is not": lambda: rng.multivariate_normal(
            [0, 0], -cov, check_valid="raise"
        ),
        "multivariate_normal: cov cannot be factored": lambda: rng.multivariate_normal(
            [0, 0], -cov, method="cholesky"
        ),
        "multivariate_normal: method is 'lu'": lambda: rng.multivariate_normal(
            [0, 0],
            cov,
            method="lu",  # type: ignore[arg-type]
        ),
        "standard_exponential: method is 'x'": lambda: rng.standard_exponential(
            3,
            method="x",  # type: ignore[arg-type]
        ),
        "permuted: axis": lambda: rng.permuted(np.zeros((2, 2)), axis=2),
        "permuted: out is": lambda: rng.permuted(np.zeros(3), out=3),  # type: ignore[arg-type]
        "bytes: length is -1": lambda: rng.bytes(-1),
    }
    for message, call in cases.items():
        with pytest.raises(tw.InvalidArgument, match=message):
            call()
