"""Calls with one argument that may be wrong: refused with words, or taken."""

from __future__ import annotations

import contextlib
import re
import warnings
from typing import Any

import numpy as np
import tilewright as tw

from ..call import Fault
from ..numpy_tier.compare import REFUSALS
from ..numpy_tier.operands import built, on_device
from .case import Case, Of, placed
from .compare import check_message, leaves, unchanged

OBJECTS: list[Any] = [None, "x", "", b"1", {}, [], (), 1j, object(), [None], ["x"], [[1], [2, 3]],
                      np.ones(2), np.array("x"), int, ..., slice(None), {"a": 1}]  # fmt: skip
NUMBERS: list[Any] = [-1, 0, 1.5, float("nan"), float("inf"), -(2**31), 2**34, 2**62, 2**63 - 1,
                      2**63, 2**64, -(2**63), 2**200, True, 1e300, -0.5, np.float32(2)]  # fmt: skip


def wrong_array(case: Case, of: Any) -> Any:
    """In place of this Array."""
    draw = case.draw
    x = tw.asarray(np.ones((2, 3), np.float32), device=case.be)
    if isinstance(of, tw.Array):
        x = of
    kinds = [
        lambda: x[None],
        lambda: x[..., :0] if x.ndim else x,
        lambda: x[..., None],
        lambda: x.reshape((-1,)) if x.size else x,
        lambda: x[0] if x.ndim and x.shape[0] else x,
        lambda: tw.concat([x, x], axis=-1) if x.ndim else x,
        lambda: x.astype(draw.one_of(["int32", "float16", "bool", "complex64", "uint8"])),
        lambda: tw.asarray(np.ones(x.shape, np.float32), device=case.cpu),
        lambda: x.numpy(),
        lambda: x.tolist(),
        lambda: tw.asarray(np.zeros((0, 3), np.float32), device=case.be),
        lambda: tw.asarray(np.float32(2), device=case.be),
        lambda: x[(None,) * (8 - min(8, x.ndim))],
    ]
    return draw.one_of(kinds)()


def refused(case: Case) -> bool:
    try:
        return attempted(case)
    finally:
        tw.fft.forget_plans()


def attempted(case: Case) -> bool:
    draw = case.draw
    places: list[Any] = [*range(min(case.given, len(case.arguments))), *case.options]
    if not places:
        return False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        memories, views = built(case.operands, on_device(case.be))
        given = [placed(one, views) for one in case.arguments]
        named = {name: placed(one, views) for name, one in case.options.items()}
        for _ in range(draw.integer(1, 2)):
            at = draw.one_of(places)
            values: Any = given if isinstance(at, int) else named
            was = values[at]
            kind = draw.below(4) if isinstance(was, tw.Array) else draw.one_of([2, 3, 2, 3, 1])
            try:
                if kind < 2:
                    values[at] = wrong_array(case, was)
                elif isinstance(was, (tuple, list)) and was and draw.below(2):
                    where = draw.below(len(was))
                    if isinstance(was[where], tw.Array) and draw.below(2):
                        wrong = wrong_array(case, was[where])
                    else:
                        wrong = draw.one_of(OBJECTS if kind == 2 else NUMBERS)
                    values[at] = (*was[:where], wrong, *was[where + 1 :])
                else:
                    values[at] = draw.one_of(OBJECTS if kind == 2 else NUMBERS)
            except REFUSALS:
                continue  # what makes it refused
            case.text += f" but {at!r} is {type(values[at]).__name__} {told(values[at])}"
        draw.says(case)
        try:
            leaves(case.be, case, case.call(case.be, *given, **named))
            case.be.synchronize()
        except REFUSALS as error:
            check_message(case, error)
            check_names(case, error)
            with contextlib.suppress(tw.IndexOutOfRange):
                case.be.synchronize()
            after = [one.numpy() for one in memories]
            if not isinstance(error, IndexError):
                unchanged(case, after)
            return True
        except Fault as fault:
            # An Array of another device gives one there.
            if "another backend" not in str(fault) and "the host's" not in str(fault):
                raise
    return False


def check_names(case: Case, error: Exception) -> None:
    """That the one who called is told what was wrong, and where names are known, of which
    argument."""
    if not isinstance(error, (tw.Error, TypeError, IndexError)):
        raise Fault(f"{case}\nis refused by a bare {error!r}") from error
    if (
        case.names
        and isinstance(error, tw.InvalidArgument)
        and not any(re.search(rf"\b{re.escape(name)}\b", str(error)) for name in case.names)
    ):
        raise Fault(f"{case}\nnames no argument: {error!r}") from error


def told(value: Any) -> str:
    if isinstance(value, tw.Array):
        return f"{value.dtype}{list(value.shape)} of {value.backend.name}"
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{list(value.shape)}"
    if isinstance(value, Of):
        return f"#{value.at}"
    return f"{value!r}"[:60]
