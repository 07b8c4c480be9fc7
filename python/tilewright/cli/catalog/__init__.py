"""Every op of the trait: how to call it at a real size, and what it must give.

`bench` times these cases, and the README's table of ops is what they find. An op that joins the
trait joins here with one entry, in one of the modules or in one of its own.
"""

from __future__ import annotations

import pkgutil
from importlib import import_module

from . import elementwise, linear_algebra, neural
from .case import FLOATS, SIZES, Case, Problem

_COMMON = (linear_algebra, neural, elementwise)
_NAMES = {module.__name__.rpartition(".")[2] for module in _COMMON}
_OWN = [
    import_module(f"{__name__}.{module.name}")
    for module in pkgutil.iter_modules(__path__)
    if module.name not in _NAMES
]

CASES: tuple[Case, ...] = tuple(
    case for module in (*_COMMON, *_OWN) for case in getattr(module, "CASES", ())
)

__all__ = ["CASES", "FLOATS", "SIZES", "Case", "Problem"]
