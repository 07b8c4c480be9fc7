"""Every function takes an operand that waits to be computed as it takes one that is there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import tilewright as tw
from tilewright.backend import Backend

from .deferral import waits

# These compare what a device holds, or make what no two calls make alike.
OTHERS = {"empty_like", "may_share_memory", "shares_memory", "compile", "dropout"}
# How many more operands, and what is named.
CALLS: list[tuple[int, dict[str, int]]] = [
    (0, {}), (0, {"axis": 0}), (0, {"axis": -1}), (0, {"ord": 1}), (1, {}), (1, {"axis": 0}),
]  # fmt: skip
MODULES = [("", 160), ("linalg", 22), ("fft", 12), ("nn", 35)]


def functions(module: str) -> Iterator[tuple[str, Callable[..., Any]]]:
    space = getattr(tw, module) if module else tw
    for name in sorted(dir(space)):
        one = getattr(space, name)
        is_other = name in OTHERS or name.startswith(("_", "set_", "save", "default"))
        if callable(one) and not isinstance(one, type) and not is_other:
            yield name, one


def read(found: Any) -> list[Any]:
    if isinstance(found, tw.Array):
        return [found.numpy()]
    if isinstance(found, (tuple, list)):
        return [part for one in found for part in read(one)]
    return [found] if isinstance(found, (bool, int, float, complex)) else []


def same(found: list[Any], expected: list[Any]) -> bool:
    return len(found) == len(expected) and all(
        np.allclose(a, b, rtol=1e-5, atol=1e-5, equal_nan=True)
        for a, b in zip(found, expected, strict=True)
    )


@pytest.mark.parametrize(("module", "least"), MODULES)
def test_operands_that_wait(be: Backend, module: str, least: int) -> None:
    host = np.random.default_rng(8).integers(-3, 5, (4, 4)).astype(np.float32)
    asked, wrong = set(), []

    def operands(more: int) -> list[tw.Array]:
        first, *others = [tw.asarray(host, device=be) for _ in range(1 + more)]
        return [first - 1, *others]

    for name, function in functions(module):
        for rest, how in CALLS:
            with tw.deferred(False):
                try:
                    expected = read(function(*operands(rest), **how))
                except Exception:
                    continue
            if not expected:
                continue
            asked.add(name)
            for turn in range(4):  # forms are noted, and then known
                with tw.deferred(True):
                    given = operands(rest)
                    assert waits(given[0])
                    if not same(read(function(*given, **how)), expected):
                        wrong.append((name, rest, how, turn))
    assert wrong == []
    del given
    assert len(asked) >= least, sorted(asked)
