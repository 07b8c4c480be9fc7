"""A generator of valid calls for each call of the trait."""

from __future__ import annotations

from collections.abc import Callable

from conformance.calls import own_tests

from ..call import Call
from ..draw import Draw

Generator = Callable[[Draw], Call]

#: by the trait's names
GENERATORS: dict[str, Generator] = {}


def generates(*names: str) -> Callable[[Callable[[Draw, str], Call]], Callable[[Draw, str], Call]]:
    """Registers a function that makes a valid call of each of these names."""

    def register(make: Callable[[Draw, str], Call]) -> Callable[[Draw, str], Call]:
        for name in names:
            GENERATORS[name] = lambda draw, name=name: make(draw, name)  # type: ignore[misc]
        return make

    return register


from . import (  # noqa: E402, F401
    attention,
    convolution,
    elementwise,
    indexing,
    linear_algebra,
    memory,
    rows,
    sorts,
)

for op, test in own_tests():
    generates(op)(test.generate)
