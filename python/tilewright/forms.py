"""Names that the trait and the array tier share.

softmax, attention, gather, ... are calls of the trait, on buffers and sizes, and ops of the array
tier, on arrays. One rule tells them apart: a call with as many arguments as the trait's form
requires, and no keyword but the trait's, is the trait's. No array form has that many without a
keyword of its own.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from tilewright import _core

if TYPE_CHECKING:
    from collections.abc import Callable


def also_trait_call(required: str, optional: str = "dtype") -> Callable[..., Any]:
    """Gives an op of the array tier the trait's form too, with these parameters."""
    needed, others = required.split(), optional.split()
    parameters = frozenset(needed + others)

    def decorate(array_form: Callable[..., Any]) -> Callable[..., Any]:
        trait_form = getattr(_core.Backend, array_form.__name__)

        @functools.wraps(array_form)
        def either(self: _core.Backend, *args: Any, **kwargs: Any) -> Any:
            if len(args) + len(kwargs) >= len(needed) and parameters.issuperset(kwargs):
                return trait_form(self, *args, **kwargs)
            return array_form(self, *args, **kwargs)

        either.trait_parameters = needed, others  # type: ignore[attr-defined]
        return either

    return decorate
