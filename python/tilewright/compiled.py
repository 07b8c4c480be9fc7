"""compile: a function of Arrays that is recorded once and replayed."""

from __future__ import annotations

import contextlib
import functools
import inspect
import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypeVar, overload

import numpy as np

from tilewright import _core, tracing
from tilewright.array import Array
from tilewright.operands import invalid, shown

if TYPE_CHECKING:
    from tilewright.backend import Backend

Given = ParamSpec("Given")
GivenBehind = ParamSpec("GivenBehind")
Instance = TypeVar("Instance")
Result = TypeVar("Result", covariant=True)

# Recordings that one function keeps; the one that was used longest ago goes first.
MOST_KEPT = 16


class _Leaf:
    """Where an Array stood among arguments or results."""

    __slots__ = ("at",)

    def __init__(self, at: int) -> None:
        self.at = at

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Leaf) and self.at == other.at

    def __hash__(self) -> int:
        return self.at


def _taken_apart(what: str, value: Any, arrays: list[Array]) -> Any:
    """The same with places for Arrays, which are added to `arrays`; what can be hashed."""
    if isinstance(value, Array):
        arrays.append(value)
        return _Leaf(len(arrays) - 1)
    kind = type(value)
    if kind in (list, tuple) or (isinstance(value, tuple) and hasattr(value, "_fields")):
        return (kind, tuple(_taken_apart(what, one, arrays) for one in value))
    if kind is dict:
        items = tuple((key, _taken_apart(what, one, arrays)) for key, one in value.items())
        return (dict, items)
    if isinstance(value, (list, tuple, dict)):
        invalid(what, f"{shown(value)} is of a class of its own, expected a list, tuple or dict")
    return _Other(value)


class _Other:
    """What is no Array, as it is."""

    __slots__ = ("_key", "value")

    def __init__(self, value: Any) -> None:
        self.value = value
        # 1, 1.0 and True are equal, as 0.0 and -0.0 are, and not the same to a function; NaN is not
        # equal to itself.
        is_float = isinstance(value, (float, complex, np.inexact, frozenset))
        self._key = (type(value), repr(value) if is_float else value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Other) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


def _put_together(form: Any, arrays: list[Array]) -> Any:
    if isinstance(form, _Leaf):
        return arrays[form.at]
    if isinstance(form, _Other):
        return form.value
    kind = form[0]
    if kind is dict:
        return {key: _put_together(one, arrays) for key, one in form[1]}
    items = [_put_together(one, arrays) for one in form[1]]
    # A named tuple takes its fields one by one.
    return kind(*items) if hasattr(kind, "_fields") else kind(items)


class _Recorded:
    """One recording of a function: the Arrays that it reads and those that it fills."""

    def __init__(
        self, backend: Backend, function: Callable[..., Any], form: Any, given: list[Array],
        varies: list[bool],
    ) -> None:  # fmt: skip
        self.varies = varies
        # What is the same at each call is read where it lies, all else from memory of its own.
        self.inputs = [x.copy() if own else x for x, own in zip(given, varies, strict=True)]
        arguments, options = _put_together(form, self.inputs)
        # What is deferred still at the recording's end is computed there.
        before = _core._set_deferred_here(True)
        # Tables, and what the function uploads: not of the recording, which reads them.
        self.constants: list[Any] = []
        try:
            with backend.record() as self.recording:
                _core._set_read_only(self.inputs)
                try:
                    with tracing.traced(self.constants):
                        result = function(*arguments, **options)
                finally:
                    _core._set_read_only([])
        finally:
            _core._set_deferred_here(before)
        self.results: list[Array] = []
        self.result = _taken_apart("compile: a result", result, self.results)
        _check_result(self.result)
        for x in self.results:
            if x.backend is not backend:
                invalid("compile", f"a result is on {x.backend!r}, expected {backend!r} as all")

    def takes(self, given: list[Array]) -> bool:
        return all(
            own or _core._same_elements(kept, x)
            for kept, x, own in zip(self.inputs, given, self.varies, strict=True)
        )

    def run(self, given: list[Array]) -> Any:
        for own, x, varies in zip(self.inputs, given, self.varies, strict=True):
            if varies:
                own[...] = x
        return self.run_again()

    def run_again(self) -> Any:
        """With what its memory holds."""
        self.recording.replay()
        return _put_together(self.result, [x.copy() for x in self.results])


class Replayed:
    """A recording of a function of Arrays alone, which are other ones at each run."""

    def __init__(self, backend: Backend, function: Callable[..., Any], given: list[Array]) -> None:
        arrays: list[Array] = []
        form = _taken_apart("replay", (tuple(given), {}), arrays)
        self._recorded = _Recorded(backend, function, form, arrays, [True] * len(arrays))
        self._backend = backend

    @property
    def is_there(self) -> bool:
        """Whether its device is open."""
        return self._backend.is_initialized

    def run(self, given: list[Any]) -> Any:
        """The results for Arrays, or NumPy's arrays, of the same shapes and dtypes."""
        for own, x in zip(self._recorded.inputs, given, strict=True):
            if isinstance(x, Array):
                own[...] = x
            else:
                # Bytes, whatever NumPy calls the dtype.
                self._backend.copy_htod(own, np.ascontiguousarray(x).view(np.uint8))
        return self._recorded.run_again()


def _check_result(form: Any) -> None:
    """Refuses what may hold Arrays of the recording, whose elements change with its replays."""
    if isinstance(form, _Leaf):
        return
    if isinstance(form, _Other):
        if form.value is not None and not isinstance(form.value, (bool, int, float, complex, str)):
            invalid(
                "compile",
                f"a result is {shown(form.value)}, expected Arrays, numbers, str and None, in "
                "lists, tuples and dicts",
            )
        return
    for one in form[1]:
        _check_result(one[1] if form[0] is dict else one)


class Compiled(Generic[Given, Result]):
    """A function whose device work is recorded at its first call and replayed at the others: see
    compile()."""

    def __init__(self, function: Callable[Given, Result]) -> None:
        functools.update_wrapper(self, function)
        self._function = function
        self._kept: OrderedDict[Any, _Recorded] = OrderedDict()
        self._most_kept = MOST_KEPT
        self._lock = threading.RLock()

    def __call__(self, *arguments: Given.args, **options: Given.kwargs) -> Result:
        if tracing.is_under_way():
            # A part of what is recorded already.
            return self._function(*arguments, **options)
        given: list[Array] = []
        form = _taken_apart(f"compile: an argument of {self._name}", (arguments, options), given)
        if not given:
            invalid("compile", f"{self._name} was called without an Array")
        backend = given[0].backend
        for x in given:
            if x.backend is not backend:
                invalid("compile", f"{self._name} was called with Arrays of several backends")
        key = (backend, form, *((x.shape, x.dtype) for x in given))
        try:
            hash(key)
        except TypeError as error:
            raise _core.InvalidArgument(
                f"compile: {self._name} takes Arrays, what can be hashed, and lists, tuples and "
                f"dicts of these ({error})"
            ) from None
        with self._lock:
            kept = self._kept.pop(key, None)
            if kept is not None and kept.takes(given):
                # It has ended where the backend was closed, or an Array freed that the function
                # found for itself.
                with contextlib.suppress(_core.InvalidArgument, _core.NotInitialized):
                    result: Result = kept.run(given)
                    self._kept[key] = kept
                    return result
                kept = None
            varies = [False] * len(given)
            if kept is not None:
                varies = [
                    own or not _core._same_elements(before, x)
                    for own, before, x in zip(kept.varies, kept.inputs, given, strict=True)
                ]
            fresh = _Recorded(backend, self._function, form, given, varies)
            self._kept[key] = fresh
            while len(self._kept) > self._most_kept:
                self._kept.popitem(last=False)
            made: Result = fresh.run(given)
            return made

    @property
    def _name(self) -> str:
        return getattr(self._function, "__name__", repr(self._function))

    def clear(self) -> None:
        """Lets go of all recordings, and of the Arrays that they keep."""
        with self._lock:
            self._kept.clear()

    @overload
    def __get__(self, instance: None, owner: Any = None) -> Compiled[Given, Result]: ...
    @overload
    def __get__(
        self: Compiled[Concatenate[Instance, GivenBehind], Result],
        instance: Instance,
        owner: Any = None,
    ) -> Callable[GivenBehind, Result]: ...
    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __repr__(self) -> str:
        return f"<compiled {self._name}: {len(self._kept)} recordings>"


def compile(function: Callable[Given, Result]) -> Compiled[Given, Result]:
    """A function of Arrays that is called again and again: its work on the device is recorded at
    the first call with arguments of these shapes, dtypes and other values, and replayed at the
    others. Also as a decorator.

    The function runs as Python only when it is recorded. It may not read elements (`item()`,
    `if x:`), write its arguments or draw from a random generator. What it makes of the host's
    numbers stays what it was by then. An
    Array that is the same at each call, as weights are, is read where it lies; what it is then is
    what counts. Those that change are copied to memory of the recording, and results from it.
    """
    if not callable(function):
        invalid("compile", f"function is {shown(function)}, expected what can be called")
    if any(
        kind(function)
        for kind in (
            inspect.isgeneratorfunction,
            inspect.iscoroutinefunction,
            inspect.isasyncgenfunction,
        )
    ):
        invalid("compile", f"function is {shown(function)}, expected one that returns its results")
    return Compiled(function)
