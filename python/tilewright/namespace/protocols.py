"""NumPy's protocols: np.exp(x), np.add(x, y), np.concatenate([x, y]) of Arrays stay on the device.

What has no form here raises: nothing goes to the host that does not say so.
"""

from __future__ import annotations

import inspect
from functools import cache
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from tilewright import _core
from tilewright.namespace.later import LATER
from tilewright.namespace.mixed import check_layout

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tilewright.array import Array

NAMES = """
all angle any argmax argmin argpartition argsort argwhere astype bincount broadcast_arrays
broadcast_to can_cast clip concat count_nonzero cumulative_prod cumulative_sum diff digitize dot
einsum empty_like expand_dims flatnonzero flip full_like histogram histogram_bin_edges imag inner
isdtype isin kron linspace matmul matrix_transpose max mean median meshgrid min moveaxis nanmax
nanmean nanmin nanprod nansum nonzero ones_like pad partition percentile permute_dims prod put
put_along_axis quantile ravel_multi_index real repeat reshape result_type roll searchsorted sort
squeeze stack std sum take take_along_axis tensordot tile tril triu unique unique_all unique_counts
unique_inverse unique_values unravel_index unstack var vecdot where zeros_like
"""
SAME = frozenset(NAMES.split())
# What makes arrays of nothing, which like= brings here.
MADE = ("arange", "empty", "eye", "full", "ones", "zeros")
# NumPy's parameters that change no result.
IDLE = ("assume_unique", "optimize", "overwrite_input", "subok")
# Functions that write one of their arguments.
WRITERS = ("copyto", "fill_diagonal", "place", "put", "put_along_axis", "putmask")


def _namespace() -> Any:
    import tilewright

    return tilewright


def refused(
    form: str, names: Sequence[str], given: Sequence[Any], options: Any, writes: bool = False
) -> _core.Unsupported:
    """What says how a function is called on the host, with all of its arguments."""
    several = sum(isinstance(one, _array_class()) for one in given) > 1
    parts = []
    for i, one in enumerate(given):
        name = names[i] if i < len(names) else f"x{i + 1}"
        if isinstance(one, _array_class()):
            parts.append(f"{name if several else 'x'}.numpy()")
        elif isinstance(one, (list, tuple)) and any(isinstance(i, _array_class()) for i in one):
            parts.append(f"[one.numpy() for one in {name}]")
        else:
            parts.append(name)
    rest = "".join(f", {name}=..." for name in options)
    said = f"{form}(...{rest}) of an Array has no form on devices; write "
    if writes:
        target = parts[0].removesuffix(".numpy()")
        others = "".join(f", {one}" for one in parts[1:])
        steps = f"host = {target}.numpy(); {form}(host{others}{rest}); {target}[...] = host"
        return _core.Unsupported(f"{said}{steps} to do it on the host")
    return _core.Unsupported(f"{said}{form}({', '.join(parts)}{rest}) to compute it on the host")


def _array_class() -> type[Array]:
    from tilewright.array import Array

    return Array


def refuse_ufunc(ufunc: Any, method: str, inputs: tuple[Any, ...], options: Any) -> NoReturn:
    """Raises for a ufunc, or a method of one, that has no form on devices."""
    form = f"np.{ufunc.__name__}" + ("" if method == "__call__" else f".{method}")
    names = {"at": ("x", "indices", "values"), "outer": ("a", "b")}.get(method, ("x1", "x2"))
    raise refused(form, names, inputs, options, method == "at")


def _round(a: Array, decimals: int = 0, out: Array | None = None) -> Array:
    from tilewright.namespace.numeric import rounded

    return rounded(a, decimals, out)


def _saved(name: str) -> Callable[..., None]:
    """np.savez() and its kin, whose Arrays have names of their own."""

    def save(file: Any, *args: Array, allow_pickle: bool = True, **named: Array) -> None:
        getattr(_namespace(), name)(file, *args, **named)

    return save


# Functions whose arguments are not those that they have here.
OWN: dict[str, Callable[..., Any]] = {
    "round": _round,
    "savez": _saved("savez"),
    "savez_compressed": _saved("savez_compressed"),
}


def _read_like(
    x: Array, given: Any, dtype: Any = None, *, copy: bool | None = True, ndmin: int = 0,
    order: str | None = None, subok: bool = False,
) -> Array:  # fmt: skip
    """np.array(given, like=x): on the device of x."""
    check_layout("np.array", order)
    made: Array = _namespace().asarray(given, dtype=dtype, device=x.backend)
    return made.reshape((1,) * max(0, ndmin - made.ndim) + made.shape)


@cache
def _signature(function: Any) -> inspect.Signature | None:
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        return None


def _going(theirs: inspect.Signature, ours: inspect.Signature) -> tuple[int, dict[str, Any]]:
    """How many of the first parameters are ours in the same places, and those of ours that have
    names."""
    places = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    by_name = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    own = ours.parameters.values()
    first = 0
    for one, other in zip(own, theirs.parameters.values(), strict=False):
        is_same = one.kind is one.POSITIONAL_ONLY or one.name == other.name
        if one.kind not in places or other.kind not in places or not is_same:
            break
        first += 1
    return first, {one.name: one for one in own if one.kind in by_name}


def _called(
    form: str, function: Any, known: Any, arguments: tuple[Any, ...], options: dict[str, Any]
) -> Any:
    """Calls a function of ours with arguments in the order and by the names of NumPy's. Refused is
    what it has no parameter for, unless that is what NumPy does unasked."""
    theirs, ours = _signature(function), _signature(known)
    if theirs is None or ours is None:
        return known(*arguments, **options)
    first, named = _going(theirs, ours)
    bound = theirs.bind(*arguments, **options).arguments
    if any(one.kind is one.VAR_POSITIONAL for one in theirs.parameters.values()) and not first:
        asked = {
            name: value
            for name, value in options.items()
            if name in named or not _is_default(value, theirs.parameters[name].default)
        }
        extra = [name for name in asked if name not in named]
        if extra:
            raise refused(form, list(theirs.parameters), arguments, extra)
        return known(*arguments, **asked)
    places: list[Any] = []
    names: dict[str, Any] = {}
    for at, one in enumerate(theirs.parameters.values()):
        name = one.name
        if name not in bound:
            if name in named and named[name].default is inspect.Parameter.empty:
                names[name] = one.default
            continue
        value = bound[name]
        if one.kind is one.VAR_POSITIONAL:
            places += value
        elif one.kind is one.VAR_KEYWORD:
            names.update(value)
        elif at < first and at == len(places):
            places.append(value)
        elif name in named:
            names[name] = value
        elif name == "order":
            check_layout(form, value)
        elif name not in IDLE and not _is_default(value, one.default):
            names[name] = value
    extra = [name for name in names if name not in named]
    if extra:
        raise refused(form, list(theirs.parameters), arguments, extra)
    return known(*places, **names)


class _Plan:
    """How a call with so many arguments and these options, whatever they are, becomes one of ours.
    An argument is named by its place or its name in the call."""

    def __init__(self, form: str, function: Any, known: Any, count: int, options: Any) -> None:
        self.form, self.function, self.known = form, function, known
        self.places: list[Any] = []
        self.names: list[tuple[str, Any]] = []
        self.fixed: dict[str, Any] = {}
        self.layouts: list[Any] = []
        self.defaults: list[tuple[Any, Any]] = []
        # Whether there is one: else each call is looked at by itself.
        self.holds = self._make(count, options)
        # Whether arguments go on as they are: the first by place, others and options by name.
        first = len(self.places)
        self.rest = [(name, at) for name, at in self.names if isinstance(at, int)]
        by_name = {(name, at) for name, at in self.names if not isinstance(at, int)}
        self.goes_on = (
            self.holds
            and self.places == [*range(first)]
            and by_name == {(name, name) for name in options}
            and not (self.fixed or self.layouts or self.defaults)
        )
        self.is_straight = self.goes_on and not options and first == count

    def _make(self, count: int, options: Any) -> bool:
        theirs, ours = _signature(self.function), _signature(self.known)
        if theirs is None or ours is None:
            return False
        parameters = theirs.parameters.values()
        first, named = _going(theirs, ours)
        if any(one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD) for one in parameters):
            return False
        bound = theirs.bind(*range(count), **{name: name for name in options}).arguments
        for at, one in enumerate(parameters):
            name = one.name
            if name not in bound:
                if name in named and named[name].default is inspect.Parameter.empty:
                    self.fixed[name] = one.default
            elif (isinstance(bound[name], int) or name not in named) and at == len(
                self.places
            ) < first:
                self.places.append(bound[name])
            elif name in named:
                self.names.append((name, bound[name]))
            elif name == "order":
                self.layouts.append(bound[name])
            elif name not in IDLE:
                self.defaults.append((bound[name], one.default))
        return True

    def __call__(self, arguments: tuple[Any, ...], options: dict[str, Any]) -> Any:
        if self.is_straight:
            return self.known(*arguments)
        if self.goes_on:
            rest = {name: arguments[at] for name, at in self.rest}
            return self.known(*arguments[: len(self.places)], **rest, **options)
        if not self.holds:
            return _called(self.form, self.function, self.known, arguments, options)
        given: dict[Any, Any] = {**dict(enumerate(arguments)), **options}
        for source, default in self.defaults:
            if not _is_default(given[source], default):  # to be refused
                return _called(self.form, self.function, self.known, arguments, options)
        for source in self.layouts:
            check_layout(self.form, given[source])
        names = {name: given[source] for name, source in self.names}
        return self.known(*(given[source] for source in self.places), **names, **self.fixed)


# By the function, how many arguments it is given, and the names of options.
_plans: dict[tuple[Any, ...], _Plan] = {}


def _planned(
    form: str, function: Any, known: Any, arguments: tuple[Any, ...], options: dict[str, Any]
) -> Any:
    plan = _Plan(form, function, known, len(arguments), options)
    _plans[(function, len(arguments), *options)] = plan
    return plan(arguments, options)


def _is_default(value: Any, default: Any) -> bool:
    plain = isinstance(value, (bool, int, str))
    return value is default or (plain and type(value) is type(default) and value == default)


def array_function(
    x: Array, function: Any, arguments: tuple[Any, ...], options: dict[str, Any]
) -> Any:
    plan = _plans.get((function, len(arguments), *options))
    if plan is not None:
        return plan(arguments, options)
    name = function.__name__
    if name in ("ndim", "shape") and len(arguments) == 1 and not options:
        return getattr(arguments[0], name)
    if function.__module__ in ("numpy.linalg", "numpy.fft"):
        form = f"{function.__module__.replace('numpy', 'np')}.{name}"
        known = _of_module(function, form, name, arguments, options)
        return _planned(form, function, known, arguments, options)
    if function is np.lib.stride_tricks.sliding_window_view:
        form = "np.lib.stride_tricks.sliding_window_view"
        return _planned(form, function, _namespace().sliding_window_view, arguments, options)
    own = getattr(np, name, None) is function
    if own and name in ("array", "asarray", "asanyarray"):
        return _read_like(x, *arguments, **options)
    if own and name in OWN:
        return OWN[name](*arguments, **options)
    if own and name in MADE:
        raise _core.Unsupported(
            f"np.{name}(..., like=x) of an Array makes none; write tw.{name}(..., device=x.device)"
        )
    if not own or (name not in SAME and name not in LATER):
        module = function.__module__
        form = f"np.{name}" if own else f"{module.replace('numpy', 'np', 1)}.{name}"
        raise refused(form, _parameters(function), arguments, options, name in WRITERS)
    return _planned(f"np.{name}", function, getattr(_namespace(), name), arguments, options)


def _parameters(function: Any) -> list[str]:
    signature = _signature(function)
    return [] if signature is None else list(signature.parameters)


def _of_module(
    function: Any, form: str, name: str, arguments: tuple[Any, ...], options: dict[str, Any]
) -> Any:
    """What np.linalg or np.fft has under the same name."""
    module = function.__module__.removeprefix("numpy.")
    here = getattr(_namespace(), module)
    if name not in here.__all__ or getattr(getattr(np, module), name, None) is not function:
        raise refused(form, _parameters(function), arguments, options)
    return getattr(here, name)
