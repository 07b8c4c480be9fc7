"""The array namespace, NumPy's functions, methods, operators and indices, against NumPy."""

from __future__ import annotations

import tilewright as tw

from ..draw import Draw
from . import elementwise, further, indexing, linear, moving, reductions, written
from .case import Case
from .compare import check

GROUPS = [
    *(elementwise.KINDS, indexing.KINDS, moving.KINDS, reductions.KINDS, linear.KINDS),
    *(written.KINDS, further.KINDS),
]


def drawn(be: tw.Backend, draw: Draw) -> Case:
    return draw.one_of(draw.one_of(GROUPS))(Case(draw, be))


def valid(be: tw.Backend, draw: Draw) -> bool:
    """Whether the call was refused."""
    return check(drawn(be, draw), draw)
