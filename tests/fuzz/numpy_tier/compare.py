"""What NumPy makes of a call, what a device does, and whether these agree."""

from __future__ import annotations

import contextlib
import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import tilewright as tw
from conformance.bounds import SMALLEST

from ..call import Fault
from ..draw import Draw
from . import allowed
from .case import Case
from .operands import as_floats, built, numpys, on_device, sizes, wide

EPS = {"float64": 2.0**-52, "complex128": 2.0**-52}
HALVES = {"float16": 2.0**-10, "bfloat16": 2.0**-7}
#: what NumPy and tilewright raise of what they are given
REFUSALS = (tw.Error, TypeError, ValueError, IndexError, BufferError, OverflowError)


@dataclass
class Outcome:
    """Leaves of the result and memories afterwards, or the error."""

    result: list[Any]
    memories: list[Any]
    error: Exception | None = None


def leaves(result: Any) -> list[Any]:
    if isinstance(result, (tuple, list)):
        found = [f"{len(result)} of them"]
        for one in result:
            found += leaves(one)
        return found
    return [result]


def of_numpy(case: Case, make: Callable[[Any], Any]) -> Outcome:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        memories, views = built(case.operands, make)
        try:
            return Outcome(leaves(case.run(np, *views)), memories)
        except Exception as error:
            return Outcome([], memories, error)


def of_device(case: Case, xp: Any, deferred: bool) -> Outcome:
    """Elements are read here, since what waits may be refused as late as that."""
    with warnings.catch_warnings(), tw.deferred(True) if deferred else contextlib.nullcontext():
        warnings.simplefilter("ignore")
        memories, views = built(case.operands, on_device(case.be))
        try:
            found = leaves(case.run(xp, *views))
            host = [one.numpy() if isinstance(one, tw.Array) else one for one in found]
            case.be.synchronize()
            error = None
        except REFUSALS as refused:
            error, found, host = refused, [], []
            # What a GPU noted of an index is said once.
            with contextlib.suppress(tw.IndexOutOfRange):
                case.be.synchronize()
    for one, read in zip(found, host, strict=True):
        if isinstance(one, tw.Array):
            if one.backend is not case.be:
                raise Fault(f"{case}\ngives an Array of another backend")
        elif isinstance(read, (np.ndarray, np.generic)) and not case.host:
            raise Fault(f"{case}\ngives {type(read).__name__}, which is the host's")
    memories = [one.numpy() if isinstance(one, tw.Array) else one for one in memories]
    if case.name.startswith("fft"):
        tw.fft.forget_plans()
    return Outcome(host, memories, error)


def check(case: Case, draw: Draw) -> bool:
    """Whether it was refused, as NumPy does or as it may be."""
    xp = np if not case.ours or draw.below(2) == 0 else tw
    deferred = draw.below(2) == 1
    case.text = f"{'np' if xp is np else 'tw'} {case.text}{' deferred' * deferred}"
    draw.says(case)
    like = of_numpy(case, numpys)
    got = of_device(case, xp, deferred)
    if got.error is not None:
        if not str(got.error) or (
            isinstance(got.error, tw.Error) and not str(got.error).strip().partition(" ")[2]
        ):
            raise Fault(f"{case}\nrefuses without a message: {got.error!r}")
        if like.error is None and not allowed.refused(case, got.error):
            raise Fault(
                f"{case}\nis refused, which NumPy does:\n{type(got.error).__name__}: {got.error}"
            ) from got.error
        if not isinstance(got.error, IndexError):
            # Of an index that is out of range the result is undefined.
            unchanged(case, got)
        return True
    if like.error is not None:
        if allowed.taken(case, like.error):
            return True
        if isinstance(like.error, IndexError) and moves_nothing(case, got):
            return True  # No index is looked at then.
        raise Fault(f"{case}\nis taken, where NumPy says {like.error!r}")
    exact = like if case.narrow else of_numpy(case, as_floats if case.floats else wide)
    if exact.error is not None:
        exact = like
    magnitudes = of_numpy(case, sizes) if case.by == "sums" else None
    if len(got.result) != len(like.result):
        raise Fault(f"{case}\ngives {len(got.result)} results, NumPy {len(like.result)}")
    for i, (one, as_numpy) in enumerate(zip(got.result, like.result, strict=True)):
        magnitude = None
        if magnitudes is not None and magnitudes.error is None:
            magnitude = magnitudes.result[i]
        agree(case, f"result {i}", one, as_numpy, exact.result[i], magnitude)
    for i, operand in enumerate(case.operands):
        if operand.of is None:
            magnitude = magnitudes.memories[i] if magnitudes is not None else None
            agree(case, f"the memory of #{i}", got.memories[i], like.memories[i],
                  exact.memories[i], magnitude, operand.dtype)  # fmt: skip
    return False


def moves_nothing(case: Case, got: Outcome) -> bool:
    if any(isinstance(one, np.ndarray) and one.size for one in got.result):
        return False
    unchanged(case, got)
    return True


def unchanged(case: Case, got: Outcome) -> None:
    for i, operand in enumerate(case.operands):
        if operand.of is None:
            now, was = got.memories[i], operand.base
            if not np.array_equal(now.astype(was.dtype), was, equal_nan=was.dtype.kind in "fc"):
                raise Fault(f"{case}\nis refused, but changes #{i}: {got.error!r}")


def agree(
    case: Case,
    what: str,
    got: Any,
    like: Any,
    exact: Any,
    magnitude: Any,
    dtype: str | None = None,
) -> None:
    def off(words: object) -> Fault:
        return Fault(f"{case}\n{what} {words}")

    if isinstance(like, (str, bytes, type(None))) or callable(like):
        if got != like:
            raise off(f"is {got!r}, expected {like!r}")
        return
    like, exact, got_array = np.asarray(like), np.asarray(exact), np.asarray(got)
    if got_array.shape != like.shape:
        raise off(f"has the shape {got_array.shape}, expected {like.shape}")
    if isinstance(got, (np.ndarray, np.generic)):
        name = got_array.dtype.name
        if dtype is None and not case.any_dtype and not allowed.dtype(case, name, like.dtype.name):
            raise off(f"is {name}, expected {like.dtype.name}")
    if like.dtype.kind not in "biufc":
        if not np.array_equal(got_array, like):
            raise off(f"is {got!r}, expected {like!r}")
        return
    bad = elements_off(case, got_array, exact, magnitude)
    if bad.any():
        at = tuple(int(i) for i in np.argwhere(bad)[0])
        raise off(
            f"({got_array.dtype}) is off in {np.count_nonzero(bad)} of {bad.size} elements, the "
            f"first at {at}: {got_array[at]!s}, expected {exact[at]!s}"
        )


def elements_off(case: Case, got: Any, exact: Any, magnitude: Any) -> Any:
    if exact.dtype.kind in "biu" and got.dtype.kind in "biu":
        return got != exact.astype(got.dtype) if got.size else np.zeros(got.shape, bool)
    if got.dtype.kind in "biu" and exact.dtype.kind in "fc":
        return got != exact
    if got.dtype.kind == "c" or exact.dtype.kind == "c":
        return complex_off(case, got, exact, magnitude)
    exact = exact.astype(np.float64)
    slack = slack_of(case, got, np.abs(exact), magnitude)
    slack = np.where(np.isfinite(exact), slack, 0)
    with np.errstate(all="ignore"):
        low, high = (exact - slack).astype(got.dtype), (exact + slack).astype(got.dtype)
        return ~(((got >= low) & (got <= high)) | (np.isnan(got) & np.isnan(exact)))


def complex_off(case: Case, got: Any, exact: Any, magnitude: Any) -> Any:
    with np.errstate(all="ignore"):
        exact = exact.astype(np.complex128)
        slack = slack_of(case, got, np.abs(exact), magnitude)
        got = got.astype(np.complex128)
        finite = np.isfinite(exact) & (np.abs(exact) < 1e37)
        near = np.abs(got - exact) <= slack
        # Which part is NaN beside an infinite one is the formula's own, and expm1 of -inf + nan j
        # is -1, as the standard has it.
        settled = (got == -1) if case.name.startswith("expm1") else False
        return np.where(
            finite, ~near, ~np.isfinite(exact) & np.isfinite(got) & ~np.asarray(settled)
        )


def slack_of(case: Case, got: Any, size: Any, magnitude: Any) -> Any:
    """Beside the rounding to the dtype."""
    name = got.dtype.name
    given = case.dtypes[:-1] if case.name.endswith(" out") else case.dtypes
    eps = 2.0**-52 if name in EPS and any(one in EPS for one in given) else 2.0**-23
    if case.loose:
        eps = max(eps, *(HALVES.get(one, 0.0) for one in (name, *given)))
    count = max([1, *(operand.base.size for operand in case.operands)])
    slack = case.ulps * eps * size
    if case.by == "sums" and magnitude is not None and np.shape(magnitude) == size.shape:
        slack = slack + (math.log2(count) + 16) * eps * np.abs(np.asarray(magnitude, np.float64))
    elif case.by:
        finite = size[np.isfinite(size)]
        slack = slack + case.ulps * eps * max(1.0, float(finite.max()) if finite.size else 0.0)
    small = 0.0 if eps < 2.0**-40 and case.draw.subnormals else SMALLEST
    return slack + small
