"""What a call gives of plain Arrays, of those that were drawn, and of wider numbers."""

from __future__ import annotations

import contextlib
import warnings
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
import tilewright as tw

from ..call import Fault
from ..numpy_tier.compare import REFUSALS, elements_off
from ..numpy_tier.operands import Operand, as_floats, built, numpys, on_device
from . import allowed
from .case import Case, placed, spelled

WIDER = {
    "wide": {"float16": "float64", "float32": "float64", "complex64": "complex128"},
    "single": {"float16": "float32"},
}


@dataclass
class Outcome:
    """The parts of the result and the operands afterwards, or the error."""

    result: list[Any]
    after: list[Any]
    error: Exception | None = None


def leaves(be: tw.Backend, case: Case, result: Any) -> list[Any]:
    if isinstance(result, (tuple, list)):
        found: list[Any] = [f"{len(result)} of them"]
        for one in result:
            found += leaves(be, case, one)
        return found
    if isinstance(result, tw.Array):
        if result.backend is not be:
            raise Fault(f"{case}\ngives an Array of another backend")
        return [result.numpy()]
    if isinstance(result, (np.ndarray, np.generic)):
        raise Fault(f"{case}\ngives {type(result).__name__}, which is the host's")
    return [result]


def plain(case: Case, be: tw.Backend, how: str) -> list[Any]:
    """Contiguous Arrays without an offset, of operands' elements."""
    found = []
    for operand, view in zip(case.operands, built(case.operands, numpys)[1], strict=True):
        host = np.ascontiguousarray(view).reshape(np.shape(view))
        if how in WIDER:
            held = WIDER[how].get(host.dtype.name, host.dtype)
            found.append(tw.asarray(host.astype(held), device=be))
        else:
            made = tw.asarray(host.copy(), device=be)
            found.append(made.astype("bfloat16") if operand.dtype == "bfloat16" else made)
    return found


def of_call(case: Case, how: str) -> Outcome:
    """`how`: "plain", "wide", "single", "cpu", or "seen" as they were drawn."""
    be = case.be if how in ("plain", "seen") else case.cpu
    waits = how == "seen" and case.draw.below(2) == 1
    with warnings.catch_warnings(), tw.deferred(True) if waits else contextlib.nullcontext():
        warnings.simplefilter("ignore")
        arguments, options = case.arguments, case.options
        if how == "seen":
            memories, views = built(case.operands, on_device(be))
            arguments = [spelled(case.draw, one) for one in arguments]
            options = {name: spelled(case.draw, one) for name, one in options.items()}
        else:
            memories = views = plain(case, be, how)
        try:
            given = [placed(one, views) for one in arguments]
            named = {name: placed(one, views) for name, one in options.items()}
            found = leaves(be, case, case.call(be, *given, **named))
            be.synchronize()
            error = None
        except REFUSALS as refused:
            found, error = [], refused
            with contextlib.suppress(tw.IndexOutOfRange):
                be.synchronize()
        # The tables of interpolation, which are kept as those of transforms are.
        tw.fft.forget_plans()
        return Outcome(found, [one.numpy() for one in memories], error)


def of_formula(case: Case) -> Outcome:
    assert case.formula is not None
    views = built(case.operands, numpys)[1]
    wide = [as_floats(Operand(np.asarray(view), one.dtype))
            if np.asarray(view).dtype.kind in "fc" else np.asarray(view)
            for view, one in zip(views, case.operands, strict=True)]  # fmt: skip
    given = [placed(one, wide) for one in case.arguments]
    named = {name: placed(one, wide) for name, one in case.options.items() if name != "out"}
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = case.formula(*given, **named)
    return Outcome(parts_of(result), [])


def parts_of(result: Any) -> list[Any]:
    if isinstance(result, (tuple, list)):
        return [f"{len(result)} of them", *(part for one in result for part in parts_of(one))]
    return [result]


def check_message(case: Case, error: Exception) -> None:
    words = str(error).strip()
    if not words or (isinstance(error, tw.Error) and not words.partition(" ")[2]):
        raise Fault(f"{case}\nrefuses without a message: {error!r}")


def check(case: Case) -> bool:
    """Whether it was refused."""
    case.draw.says(case)
    like = of_call(case, "plain")
    got = of_call(case, "seen")
    for one in (like, got):
        if one.error is not None:
            check_message(case, one.error)
    if (like.error is None) != (got.error is None) or type(like.error) is not type(got.error):
        which = got.error or like.error
        raise Fault(
            f"{case}\nplain Arrays give {like.error!r}, those drawn {got.error!r}"
        ) from which
    if like.error is not None:
        if not allowed.refused(case.name, like.error):
            raise Fault(f"{case}\nis refused: {like.error!r}") from like.error
        if not isinstance(like.error, IndexError):
            # Of an index that is out of range the result is undefined.
            unchanged(case, got.after)
        return True
    exact = like
    if case.formula is not None:
        # An index that is out of range where no element moves is an error of NumPy's alone.
        with contextlib.suppress(IndexError):
            exact = of_formula(case)
    elif case.beside:
        exact = of_call(case, case.beside)
        if exact.error is not None:
            raise Fault(f"{case}\nis refused on the CPU: {exact.error!r}") from exact.error
    for which, one in (("plain", like), ("drawn", got)):
        if len(one.result) != len(exact.result):
            raise Fault(f"{case}\ngives {len(one.result)} parts, expected {len(exact.result)}")
        for i, (part, expected) in enumerate(zip(one.result, exact.result, strict=True)):
            agree(case, f"part {i} of Arrays that are {which}", part, expected)
    for i, (one, two) in enumerate(zip(like.result, got.result, strict=True)):
        if isinstance(one, np.ndarray) and one.dtype != two.dtype:
            raise Fault(f"{case}\npart {i} is {two.dtype}, of plain Arrays {one.dtype}")
    check_memories(case, like, got)
    return False


def check_memories(case: Case, like: Outcome, got: Outcome) -> None:
    """What is written is what plain Arrays got, and nothing beside it."""
    memories, views = built(case.operands, numpys)
    for at in case.written:
        views[at][...] = like.after[at].astype(views[at].dtype)
    for i, (now, expected) in enumerate(zip(got.after, memories, strict=True)):
        if case.operands[i].of is None:
            agree(case, f"the memory of #{i}", now, expected, loose=True)


def unchanged(case: Case, after: list[Any]) -> None:
    for i, (now, operand) in enumerate(zip(after, case.operands, strict=True)):
        was = operand.base
        if operand.of is None and not np.array_equal(
            now.astype(was.dtype), was, equal_nan=was.dtype.kind in "fc"
        ):
            raise Fault(f"{case}\nis refused, but changes #{i}")


def agree(case: Case, what: str, got: Any, expected: Any, loose: bool = False) -> None:
    if isinstance(expected, (str, bytes, type(None))):
        if got != expected:
            raise Fault(f"{case}\n{what} is {got!r}, expected {expected!r}")
        return
    got, expected = np.asarray(got), np.asarray(expected)
    if got.shape != expected.shape:
        raise Fault(f"{case}\n{what} has the shape {got.shape}, expected {expected.shape}")
    if expected.dtype == ml_dtypes.bfloat16:
        expected = expected.astype("float32")
    was = case.loose
    case.loose = was or loose
    bad = elements_off(case, got, expected, None)
    case.loose = was
    if bad.any():
        at = tuple(int(i) for i in np.argwhere(bad)[0])
        raise Fault(
            f"{case}\n{what} ({got.dtype}) is off in {np.count_nonzero(bad)} of {bad.size} "
            f"elements, the first at {at}: {got[at]!s}, expected {expected[at]!s}"
        )
