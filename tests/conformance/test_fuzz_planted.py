"""Faults in optimisers, solvers, quantisation and linear algebra, which random calls must find."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tilewright as tw
from fuzz.call import Fault
from fuzz.draw import Draw
from fuzz.nn_tier import optimisers, solvers, spectra, weights, wrong
from fuzz.nn_tier.case import Case
from fuzz.nn_tier.compare import check
from tilewright import CpuBackend
from tilewright.namespace import spectra as tw_spectra
from tilewright.nn import optim
from tilewright.quant import calibration, groups
from tilewright.sparse import preconditioners, systems

Kind = Callable[[Case], Case]
#: cases within which a fault must be found
MOST = 400


def drawn(kind: Kind, is_wrong: bool = False, most: int = MOST) -> None:
    """Cases of one kind, until one finds a fault."""
    with CpuBackend() as be, np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number in range(most):
            case = kind(Case(Draw(6, number), be, cpu=be))
            (wrong.refused if is_wrong else check)(case)


def instead(value: Any) -> Callable[..., Any]:
    return lambda *_, **__: value


def around(owner: Any, name: str, change: Callable[..., Any]) -> tuple[Any, str, Any]:
    """What a function gives, changed; `change` has its arguments too."""
    real = getattr(owner, name)
    return owner, name, lambda *given, **named: change(real(*given, **named), *given)


def scaled(by: float) -> Callable[..., Any]:
    return lambda found, *_: found * by


def halves_the_residual(info: Any, *_: Any) -> Any:
    info.residual = info.residual / 2
    return info


def squares_alone(system: Any) -> Any:
    """Of numbers whose squares are not held."""
    return system.norm(system.b)


REAL_STEP = optim.Optimizer.step


def writes_and_refuses(self: Any, grads: Any) -> None:
    self.params[0][...] = 7
    REAL_STEP(self, grads)


def takes_the_first_as_others(self: Any, call: str, place: int) -> Any:
    rule, options, (lr, momentum, _, decay) = REAL_RULE(self, call, place)
    return rule, (*options[:3], False, options[4]), [lr, momentum, 1 - self.dampening, decay]


def corrects_nothing(self: Any, call: str, place: int) -> Any:
    rule, options, numbers = REAL_ADAM(self, call, place)
    return rule, options, [*numbers[:-2], float(self.lr), 1.0]


REAL_RULE, REAL_ADAM = optim.SGD._rule, optim.Adam._rule


PLANTED: list[tuple[Kind, tuple[Any, str, Any], str]] = [
    (optimisers.steps, (optim.Adam, "_rule", corrects_nothing), "is off"),
    (optimisers.steps, (optim.SGD, "_rule", takes_the_first_as_others), "is off"),
    (optimisers.steps, (optim, "is_apart", instead(True)), "those drawn InvalidArgument"),
    (solvers.solver, (systems.System, "is_small", instead(True)), "is said to converge"),
    (solvers.solver, (systems.System, "_rescale", squares_alone), "the tolerance is"),
    (solvers.solver, (systems.warnings, "warn", instead(None)), r"and warns \[\]"),
    (solvers.solver, around(systems, "Info", halves_the_residual), "the residual is said to be"),
    (solvers.solver, around(preconditioners.BlockJacobi, "__matmul__", scaled(0.0)), "converge"),
    (weights.of_files, (groups, "AWQ_ORDER", tuple(range(8))), "is off"),
    (weights.of_files, around(groups, "_unpacked", lambda q, *_: q ^ 1), "q4_1|is off"),
    (weights.groups_of, around(groups, "_stored", lambda both, *_: (both[0] * 1.1, both[1])),
     "with steps of"),
    (weights.calibrated, around(calibration, "_parameters", lambda p, *_: (p[0] * 1.01, p[1])),
     "is off"),
    (weights.calibrated, around(calibration, "_parameters", lambda p, *_: (p[0], p[1] + 1)),
     "is off"),
    (weights.calibrated, around(calibration, "isfinite", lambda x, *_: x | True), "is (off|ref)"),
    (spectra.eigenvalues, around(tw_spectra, "_any_square",
     lambda found, *_: (found[0] + 0.01, found[1])), "trace"),
    (spectra.eigenvalues, around(tw_spectra, "_any_square", lambda found, *_: (
        found[0], found[1] if found[1] is None else tw.conj(found[1]))), "A V - V w"),
    (spectra.eigenvalues, around(tw_spectra, "_any_square", lambda found, *_: (
        found[0], found[1] if found[1] is None else found[1] * 2)), "has the length 2"),
    (spectra.least_squares, around(tw_spectra, "_cutoff", scaled(0.0)), "is off"),
    (spectra.least_squares, around(tw_spectra, "_adjoint", lambda found, x: x.mT), "is off"),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(PLANTED)))
def test_wrong_results_are_found(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    kind, change, words = PLANTED[number]
    monkeypatch.setattr(*change)
    with pytest.raises(Fault, match=words):
        drawn(kind)


def told_another_way(error: type[Exception], words: str) -> Callable[..., Any]:
    """Of what is refused."""

    def call(call: str, *_: Any) -> Any:
        raise error(words)

    return call


WRONG: list[tuple[Kind, tuple[Any, str, Any], str]] = [
    (optimisers.steps, (optim.Optimizer, "step", writes_and_refuses), "is refused, but changes"),
    (optimisers.steps, (optim, "invalid", told_another_way(ValueError, "lr is odd")),
     "is refused by a bare ValueError"),
    (optimisers.steps, (optim, "invalid", told_another_way(tw.InvalidArgument, "SGD: is odd")),
     "names no argument"),
    (solvers.solver, (systems, "invalid", told_another_way(tw.InvalidArgument, "cg: is odd")),
     "names no argument"),
    (solvers.solver, (systems, "invalid", told_another_way(OverflowError, "b is odd")),
     "is refused by a bare OverflowError"),
    (weights.of_files, (groups, "invalid", told_another_way(ValueError, "scales is odd")),
     "is refused by a bare ValueError"),
    (weights.calibrated, (calibration, "invalid", told_another_way(tw.InvalidArgument, "it: odd")),
     "names no argument"),
    (spectra.least_squares, (tw_spectra, "invalid", told_another_way(ValueError, "b is odd")),
     "is refused by a bare ValueError"),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(WRONG)))
def test_wrong_refusals_are_found(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    kind, change, words = WRONG[number]
    monkeypatch.setattr(*change)
    with pytest.raises(Fault, match=words):
        drawn(kind, is_wrong=True)


def test_what_is_right_is_not_found() -> None:
    for kind in {*optimisers.KINDS, *solvers.KINDS, *weights.KINDS, *spectra.KINDS}:
        drawn(kind, most=60)
