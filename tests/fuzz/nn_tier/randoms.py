"""Random numbers: the same from the same seed on each device, into any memory, and of parameters
of any kind."""

from __future__ import annotations

from typing import Any

import tilewright as tw

from .case import Case, Of

#: values of the parameters of distributions
DISTRIBUTIONS: dict[str, list[tuple[str, list[Any]]]] = {
    "uniform": [("low", [0.0, -1.0]), ("high", [1.0, 3.0])],
    "normal": [("loc", [0.0, 2.0]), ("scale", [1.0, 0.5, 0.0])],
    "lognormal": [("mean", [0.0, 1.0]), ("sigma", [1.0, 0.25])],
    "exponential": [("scale", [1.0, 2.0])],
    "laplace": [("loc", [0.0, 1.0]), ("scale", [1.0, 2.0])],
    "logistic": [("loc", [0.0, 1.0]), ("scale", [1.0, 2.0])],
    "gumbel": [("loc", [0.0, 1.0]), ("scale", [1.0, 2.0])],
    "rayleigh": [("scale", [1.0, 2.0])],
    "weibull": [("a", [1.0, 2.0])],
    "pareto": [("a", [2.0, 3.0])],
    "power": [("a", [1.0, 2.0])],
    "triangular": [("left", [0.0, -1.0]), ("mode", [1.0, 0.5]), ("right", [2.0, 3.0])],
    "gamma": [("shape", [1.0, 0.5, 3.0]), ("scale", [1.0, 2.0])],
    "beta": [("a", [1.0, 2.0, 0.25]), ("b", [1.0, 3.0])],
    "chisquare": [("df", [1.0, 4.0])],
    "standard_t": [("df", [1.0, 4.0])],
    "poisson": [("lam", [1.0, 0.0, 20.0])],
    "binomial": [("n", [5, 0, 40]), ("p", [0.5, 0.0, 1.0])],
    "geometric": [("p", [0.5, 1.0, 0.25])],
    "hypergeometric": [("ngood", [5, 0]), ("nbad", [7, 3]), ("nsample", [3, 0])],
    "negative_binomial": [("n", [3, 1]), ("p", [0.5, 0.25])],
    "vonmises": [("mu", [0.0, 1.0]), ("kappa", [1.0, 0.0])],
    "wald": [("mean", [1.0, 2.0]), ("scale", [1.0, 2.0])],
}


def of(case: Case, name: str, *arguments: Any, **options: Any) -> Case:
    """A method of a Generator, and what the Generator gives after that."""
    seed = case.draw.below(9)
    case.calls("relu")
    case.name, case.arguments, case.options = f"rng.{name}", list(arguments), options

    def call(be: Any, *given: Any, **named: Any) -> Any:
        rng = tw.random.default_rng(seed, device=be)
        return getattr(rng, name)(*given, **named), rng.bits(3)

    case.call = call
    # What is tried again may be so on one device alone.
    return case.to(beside="", ulps=64)


def size(case: Case) -> Any:
    draw = case.draw
    return draw.one_of([None, 5, (), (2, 3), 0, (4, 0), 1000, (1, 1, 7)])


def distribution(case: Case) -> Case:
    draw = case.draw
    name = draw.one_of(list(DISTRIBUTIONS))
    arrays = draw.below(2) == 1
    shape = draw.one_of([[3], [], [2, 3], [1], [0], [2, 1]])
    given: list[Any] = []
    for _, values in DISTRIBUTIONS[name]:
        one = draw.one_of(values)
        if arrays and draw.below(2):
            dtype = "int32" if isinstance(one, int) else draw.one_of(["float32", "float16"])
            content = draw.rng.choice(values, shape)
            given.append(case.content(content, dtype))
        else:
            given.append(one)
    if any(isinstance(one, Of) for one in given):
        return of(case, name, *given, None if draw.below(2) else (4, *shape))
    return of(case, name, *given, size(case))


def exact(case: Case) -> Case:
    """The same bits on each device."""
    draw = case.draw
    name = draw.one_of(["integers", "bits", "random", "permutation", "poisson"])
    options: dict[str, Any] = {"size": size(case)}
    given: list[Any] = []
    if name == "integers":
        given = draw.one_of([[10], [-5, 5], [0, 1], [0, 200]])
        options["dtype"] = draw.one_of(["int32", "int64", "uint8", "int16"])
        if options["dtype"] == "uint8" and given[0] < 0:
            given = [0, 200]
    elif name == "poisson":
        given = [draw.one_of([1.0, 0.0, 20.0])]
    elif name == "permutation":
        options, given = {}, [draw.one_of([5, 0, 1, 100])]
    return of(case, name, *given, **options).to(beside="cpu", ulps=0, by="")


def into(case: Case) -> Case:
    draw = case.draw
    name = draw.one_of(["random", "standard_normal", "standard_exponential", "standard_gamma"])
    dtype = draw.one_of(["float32"] + ["float64"] * (draw.doubles and case.be.name != "webgpu"))
    shape = case.shape(0, 4, 500)
    out = case.array(shape, dtype, written=True)
    given = [2.0] if name == "standard_gamma" else []
    options = {"dtype": dtype} if dtype == "float64" or draw.below(2) else {}
    return of(case, name, *given, **options, out=out)


def moved(case: Case) -> Case:
    draw = case.draw
    name = draw.one_of(["permutation", "permuted", "shuffle", "choice"])
    shape, dtype = [max(1, size) for size in case.shape(1, 4, 300)], case.dtype("fiub")
    x = case.array(shape, dtype, written=name == "shuffle")
    axis = draw.integer(-len(shape), len(shape) - 1)
    options: dict[str, Any] = {"axis": axis}
    if name == "choice":
        options |= {"size": draw.one_of([1, (2, 1)]), "replace": bool(draw.below(2))}
        options["size"] = 1 if not options["replace"] else options["size"]
    if name == "permuted" and draw.below(2):
        options["out"] = case.array(shape, dtype, written=True)
    return of(case, name, x, **options).to(beside="cpu", ulps=0, by="")


KINDS = [distribution, distribution, exact, into, moved]
