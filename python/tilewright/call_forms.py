"""Functions of Arrays whose calls go without Python once one of their form was noted."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, TypeVar, cast

from tilewright import _core

if TYPE_CHECKING:
    from collections.abc import Callable

F = TypeVar("F", bound="Callable[..., Any]")


def kept_by_form(function: F) -> F:
    """A function whose result follows from its arguments alone, which it only reads.

    Of a second call that differs in nothing but elements (csrc/bindings/call_form.hpp) what it asks
    of the trait is noted, and from the third on the same is asked without the function. What is
    refused, reads elements on the host, waits, or is no call of Arrays, runs the function.
    """
    return cast("F", functools.update_wrapper(_core._kept_function(function), function))
