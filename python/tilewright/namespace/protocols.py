"""NumPy's protocols: np.exp(x), np.add(x, y), np.concatenate([x, y]) of Arrays stay on the device.

What has no form here raises: nothing goes to the host that does not say so.
"""

from __future__ import annotations

import inspect
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright import _core

if TYPE_CHECKING:
    from collections.abc import Callable

    from tilewright.array import Array

# NumPy's names of what is called otherwise here.
UFUNCS = {
    "absolute": "abs",
    "arccos": "acos",
    "arccosh": "acosh",
    "arcsin": "asin",
    "arcsinh": "asinh",
    "arctan": "atan",
    "arctan2": "atan2",
    "arctanh": "atanh",
    "conjugate": "conj",
    "invert": "bitwise_invert",
    "left_shift": "bitwise_left_shift",
    "power": "pow",
    "right_shift": "bitwise_right_shift",
    "rint": "round",
}
# Those that have another name here, and how their arguments are called.
FUNCTIONS = {
    "concatenate": "concat",
    "transpose": "permute_dims",
    "around": "round",
}
# Ufuncs that take dtype=, which their operands are cast to.
OF_ONE_DTYPE = ("add", "divide", "maximum", "minimum", "multiply", "subtract", "true_divide")
NAMES = """
all angle any argmax argmin argpartition argsort argwhere astype bincount broadcast_arrays
broadcast_to can_cast clip concat count_nonzero diff digitize dot einsum expand_dims flatnonzero
flip histogram histogram_bin_edges imag inner isdtype isin kron linspace matmul matrix_transpose
max mean median meshgrid min moveaxis nanmax nanmean nanmin nanprod nansum nonzero pad partition
percentile permute_dims prod put put_along_axis quantile ravel_multi_index real repeat reshape
result_type roll round searchsorted sort squeeze stack std sum take take_along_axis tensordot tile
tril triu unique unique_all unique_counts unique_inverse unique_values unravel_index unstack var
where
"""
SAME = frozenset(NAMES.split())
# What makes arrays of nothing, which like= brings here.
MADE = ("arange", "empty", "eye", "full", "ones", "zeros")
# NumPy's parameters that are called otherwise here, and those that change no result.
PARAMETERS = {"a_max": "max", "a_min": "min", "ddof": "correction"}
IDLE = ("assume_unique", "optimize", "overwrite_input", "subok")


def _namespace() -> Any:
    import tilewright

    return tilewright


def array_ufunc(ufunc: Any, method: str, inputs: tuple[Any, ...], options: dict[str, Any]) -> Any:
    name = ufunc.__name__
    found = getattr(_namespace(), UFUNCS.get(name, name), None)
    options = dict(options)
    out = options.pop("out", (None,))
    dtype = options.pop("dtype", None) if name in OF_ONE_DTYPE else None
    if method != "__call__" or found is None or options or len(out) != 1 or ufunc.nout != 1:
        extra = "".join(f", {key}=..." for key in options)
        form = f"np.{name}" if method == "__call__" else f"np.{name}.{method}"
        raise _core.Unsupported(
            f"{form}(...{extra}) of an Array has no form on devices; write "
            f"{form}(x.numpy(){extra}) to compute it on the host"
        )
    if dtype is not None:
        inputs = tuple(
            one.astype(dtype, copy=False) if hasattr(one, "astype") else one for one in inputs
        )
    if out[0] is None:
        return found(*inputs)
    return found(*inputs, out=out[0])


def _made_like(
    name: str, x: Array, value: Any, dtype: Any, shape: Any, device: Any = None
) -> Array:
    if dtype is not None and np.dtype(dtype).fields is not None:
        raise TypeError(f"np.{name}: Arrays have no dtype of several fields, such as {dtype}")
    sizes, wanted = x.shape if shape is None else shape, x.dtype if dtype is None else dtype
    place = x.backend if device is None else device
    tw = _namespace()
    if value is None:
        return tw.empty(sizes, dtype=wanted, device=place)  # type: ignore[no-any-return]
    return tw.full(sizes, value, dtype=wanted, device=place)  # type: ignore[no-any-return]


def _full_like(
    a: Array, fill_value: Any, dtype: Any = None, order: str = "K", subok: bool = True,
    shape: Any = None, *, device: Any = None,
) -> Array:  # fmt: skip
    return _made_like("full_like", a, fill_value, dtype, shape, device)


def _like(name: str, value: int | None) -> Callable[..., Array]:
    """np.zeros_like() and its kin, which take a shape too."""

    def make(
        a: Array, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None, *,
        device: Any = None,
    ) -> Array:  # fmt: skip
        return _made_like(name, a, value, dtype, shape, device)

    return make


def _cumulative(name: str) -> Callable[..., Array]:
    def scan(x: Array, axis: int | None = None, dtype: Any = None, out: Any = None) -> Array:
        if axis is None:
            x, axis = x.reshape(-1), 0
        found: Array = getattr(_namespace(), name)(x, axis=axis, dtype=dtype)
        if out is None:
            return found
        out[...] = found
        return out  # type: ignore[no-any-return]

    return scan


def _outer(a: Any, b: Any, out: None = None) -> Array:
    tw = _namespace()
    like = a if hasattr(a, "backend") else b
    a, b = (tw.asarray(one, device=like.backend).reshape(-1) for one in (a, b))
    return tw.linalg.outer(a, b)  # type: ignore[no-any-return]


# Functions whose arguments are not those that they have here.
OWN: dict[str, Callable[..., Any]] = {
    "cumprod": _cumulative("cumulative_prod"),
    "cumsum": _cumulative("cumulative_sum"),
    "empty_like": _like("empty_like", None),
    "full_like": _full_like,
    "ones_like": _like("ones_like", 1),
    "outer": _outer,
    "zeros_like": _like("zeros_like", 0),
}


def _read_like(
    x: Array, given: Any, dtype: Any = None, *, copy: bool | None = True, ndmin: int = 0,
    order: str | None = None, subok: bool = False,
) -> Array:  # fmt: skip
    """np.array(given, like=x): on the device of x."""
    made: Array = _namespace().asarray(given, dtype=dtype, device=x.backend)
    return made.reshape((1,) * max(0, ndmin - made.ndim) + made.shape)


@cache
def _signature(function: Any) -> inspect.Signature | None:
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        return None


def _called(
    form: str, function: Any, known: Any, arguments: tuple[Any, ...], options: dict[str, Any]
) -> Any:
    """Calls a function of ours with arguments in the order and by the names of NumPy's. Refused is
    what it has no parameter for, unless that is what NumPy does unasked."""
    theirs, ours = _signature(function), _signature(known)
    if theirs is None or ours is None:
        return known(*arguments, **options)
    own = ours.parameters.values()
    first = sum(one.kind is inspect.Parameter.POSITIONAL_ONLY for one in own)
    by_name = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    named = {one.name: one for one in own if one.kind in by_name}
    bound = theirs.bind(*arguments, **options).arguments
    places: list[Any] = []
    names: dict[str, Any] = {}
    for at, one in enumerate(theirs.parameters.values()):
        name = PARAMETERS.get(one.name, one.name)
        if one.name not in bound:
            if name in named and named[name].default is inspect.Parameter.empty:
                names[name] = one.default
            continue
        value = bound[one.name]
        if one.kind is one.VAR_POSITIONAL:
            places += value
        elif one.kind is one.VAR_KEYWORD:
            names.update(value)
        elif at < first:
            places.append(value)
        elif name in named:
            names[name] = value
        elif one.name not in IDLE and not _is_default(value, one.default):
            names[one.name] = value
    extra = [name for name in names if name not in named]
    if extra:
        rest = "".join(f", {name}=..." for name in extra)
        raise _core.Unsupported(
            f"{form}(...{rest}) of an Array has no form on devices; write {form}(x.numpy(){rest}) "
            "to compute it on the host"
        )
    return known(*places, **names)


def _is_default(value: Any, default: Any) -> bool:
    plain = isinstance(value, (bool, int, str))
    return value is default or (plain and type(value) is type(default) and value == default)


def array_function(
    x: Array, function: Any, arguments: tuple[Any, ...], options: dict[str, Any]
) -> Any:
    name = function.__name__
    if name in ("ndim", "shape", "size") and len(arguments) == 1 and not options:
        return getattr(arguments[0], name)
    if function.__module__ in ("numpy.linalg", "numpy.fft"):
        form = f"{function.__module__.replace('numpy', 'np')}.{name}"
        return _called(form, function, _of_module(function, name), arguments, options)
    own = getattr(np, name, None)
    if own is function and name in ("array", "asarray", "asanyarray"):
        return _read_like(x, *arguments, **options)
    here = FUNCTIONS.get(name, name if name in SAME else None)
    known = getattr(_namespace(), here, None) if here is not None else None
    if name in OWN and own is function:
        return OWN[name](*arguments, **options)
    if name in MADE and own is function:
        raise _core.Unsupported(
            f"np.{name}(..., like=x) of an Array makes none; write tw.{name}(..., device=x.device)"
        )
    if known is None or own is not function:
        raise _core.Unsupported(
            f"np.{name} of an Array has no form on devices; write np.{name}(x.numpy()) to compute "
            "it on the host"
        )
    return _called(f"np.{name}", function, known, arguments, options)


def _of_module(function: Any, name: str) -> Any:
    """What np.linalg or np.fft has under the same name."""
    module = function.__module__.removeprefix("numpy.")
    here = getattr(_namespace(), module)
    if name not in here.__all__ or getattr(getattr(np, module), name, None) is not function:
        raise _core.Unsupported(
            f"np.{module}.{name} of an Array has no form on devices; write "
            f"np.{module}.{name}(x.numpy()) to compute it on the host"
        )
    return getattr(here, name)
