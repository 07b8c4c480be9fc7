"""Every op of the trait: how to call it at a real size, and what it must give.

`bench` times these cases, and the README's table of ops is what they find. An op that joins the
trait joins here with one entry.
"""

from __future__ import annotations

from . import elementwise, linear_algebra, neural
from .case import FLOATS, SIZES, Case, Problem

CASES: tuple[Case, ...] = (*linear_algebra.CASES, *neural.CASES, *elementwise.CASES)

__all__ = ["CASES", "FLOATS", "SIZES", "Case", "Problem"]
