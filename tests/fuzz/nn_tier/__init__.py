"""tw.nn, tw.quant, tw.sparse and tw.random: what views, work that waits and other spellings of
numbers give, beside what plain Arrays and wider numbers give."""

from __future__ import annotations

import tilewright as tw

from ..draw import Draw
from . import (
    activations,
    layers,
    losses,
    norms,
    optimisers,
    quantised,
    randoms,
    solvers,
    sparses,
    spectra,
    weights,
    windows,
)
from .case import Case
from .compare import check
from .wrong import refused

GROUPS = [
    *(activations.KINDS, norms.KINDS, losses.KINDS, windows.KINDS, layers.KINDS),
    *(quantised.KINDS, sparses.KINDS, randoms.KINDS),
    [*optimisers.KINDS, *weights.KINDS],
    [*solvers.KINDS, *spectra.KINDS],
]


def drawn(be: tw.Backend, cpu: tw.Backend, draw: Draw) -> Case:
    return draw.one_of(draw.one_of(GROUPS))(Case(draw, be, cpu=cpu))


def valid(be: tw.Backend, cpu: tw.Backend, draw: Draw) -> bool:
    """Whether the call was refused."""
    wrong = draw.rarely(3)
    case = drawn(be, cpu, draw)
    return refused(case) if wrong else check(case)
