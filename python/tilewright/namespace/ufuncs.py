"""NumPy's ufuncs of Arrays: their calls with out=, dtype= and where=, and their methods."""

from __future__ import annotations

import operator
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright import _core
from tilewright.array import Array
from tilewright.namespace import options
from tilewright.namespace.folds import FOLDS, extreme_at, folded
from tilewright.namespace.mixed import an_array, beside, check_layout, first_array, written
from tilewright.operands import invalid, shown, to_dtype
from tilewright.shapes import to_one_axis
from tilewright.small_floats import can_cast

if TYPE_CHECKING:
    from collections.abc import Callable

# What is called otherwise here.
NAMES = {theirs: ours for ours, theirs in options.NAMES.items()} | {"conjugate": "conj"}
REDUCTIONS = {
    "add": "sum",
    "fmax": "nanmax",
    "fmin": "nanmin",
    "logical_and": "all",
    "logical_or": "any",
    "maximum": "max",
    "minimum": "min",
    "multiply": "prod",
}
SCANS = {
    "add": "cumulative_sum",
    "logical_and": "min",
    "logical_or": "max",
    "maximum": "max",
    "minimum": "min",
    "multiply": "cumulative_prod",
}


def _namespace() -> Any:
    import tilewright

    return tilewright


def function_of(ufunc: Any) -> Callable[..., Any] | None:
    """What a ufunc is here."""
    name = ufunc.__name__
    if getattr(np, name, None) is not ufunc:
        return None
    found: Callable[..., Any] | None = getattr(_namespace(), NAMES.get(name, name), None)
    return found


@lru_cache(maxsize=256)
def plain(ufunc: Any) -> Callable[..., Any] | None:
    """What np.add(x, y) without options calls; None where more is to be looked at."""
    if ufunc.nout > 1 or ufunc in (np.conjugate, np.vecdot):
        return None
    return function_of(ufunc)


def called(
    ufunc: Any, form: str, inputs: tuple[Any, ...], options: dict[str, Any], refuse: Any
) -> Any:
    """np.add(x, y, out=, dtype=, where=, ...)."""
    found = function_of(ufunc)
    if found is None:
        refuse(())
        raise AssertionError
    options = dict(options)
    out = options.pop("out", (None,) * ufunc.nout)
    dtype, casting = options.pop("dtype", None), options.pop("casting", "same_kind")
    if casting not in ("no", "equiv", "safe", "same_kind", "unsafe"):
        invalid(form, f"casting is {shown(casting)}, expected one of NumPy's rules, as 'same_kind'")
    where = options.pop("where", True)
    check_layout(form, options.pop("order", None))
    options.pop("subok", None)
    kept = {"axis": options.pop("axis")} if ufunc is np.vecdot and "axis" in options else {}
    if options:
        refuse(options)
    if not any(isinstance(one, Array) for one in inputs):
        like = first_array(form, "out", list(out))
        inputs = (beside(form, "x1", inputs[0], like), *inputs[1:])
    if dtype is not None:
        inputs = _cast(ufunc, form, inputs, dtype, casting)
    if ufunc.nout > 1:
        if where is not True:
            refuse({"where": where})
        return found(*inputs, out=out)
    if where is True and ufunc is not np.vecdot and not (kept or ufunc is np.conjugate):
        return found(*inputs) if out[0] is None else found(*inputs, out=out[0])
    result = found(*inputs, **kept)
    if where is not True and out[0] is not None:
        target = an_array(form, out[0], "out")
        _namespace().copyto(target, result, where=where)
        return target
    return written(form, out[0], result)


def _cast(
    ufunc: Any, form: str, inputs: tuple[Any, ...], dtype: Any, casting: str
) -> tuple[Any, ...]:
    """The operands in a dtype; tests and comparisons give bool of any."""
    wanted = to_dtype(form, dtype)
    if wanted.kind == "b" and all(one[-1] == "?" for one in ufunc.types if one[0] not in "OMm"):
        return inputs
    read = []
    for one in inputs:
        if not hasattr(one, "dtype") or (one.dtype is wanted and casting == "same_kind"):
            read.append(one)
            continue
        if not can_cast(one.dtype, wanted, casting):
            raise TypeError(f"{form}: an operand is {one.dtype}, no {wanted} by {casting!r}")
        read.append(one.astype(wanted, copy=False))
    return tuple(read)


def reduced(ufunc: Any, inputs: tuple[Any, ...], options: dict[str, Any], refuse: Any) -> Any:
    """np.add.reduce(x, axis=0, ...)."""
    if ufunc.__name__ in FOLDS:
        return folded(ufunc, inputs[0], refuse, **options)
    name: str = REDUCTIONS.get(ufunc.__name__) or refuse(())
    options = {"axis": 0, **options}
    (out,) = options.pop("out", (None,))
    own = np.bool_ if name in ("any", "all") else inputs[0].dtype
    is_cast = options.get("dtype") is not None and own != to_dtype("reduce", options["dtype"])
    if is_cast and name not in ("sum", "prod"):
        refuse({"dtype": ...})
    if options.get("where", True) is True:
        options.pop("where", None)
    if options.get("dtype") is None or name not in ("sum", "prod"):
        options.pop("dtype", None)
    if options.get("initial") is None:
        options.pop("initial", None)
    if name.startswith("nan") and {"where", "initial"} & set(options):
        refuse(options)
    x = an_array(f"np.{ufunc.__name__}.reduce", inputs[0], "array")
    axis = options["axis"]
    if axis == 0 and x.ndim == 0:
        options["axis"] = None
    return written(f"np.{ufunc.__name__}.reduce", out, getattr(_namespace(), name)(x, **options))


def accumulated(ufunc: Any, inputs: tuple[Any, ...], options: dict[str, Any], refuse: Any) -> Any:
    """np.add.accumulate(x, axis=0, dtype=None, out=None)."""
    form = f"np.{ufunc.__name__}.accumulate"
    name = SCANS.get(ufunc.__name__)
    if name is None:
        refuse(())
        raise AssertionError
    x = an_array(form, inputs[0], "array")
    (out,) = options.get("out", (None,))
    at = to_one_axis(form, options.get("axis", 0), x.ndim)
    dtype = options.get("dtype")
    if name.startswith("cumulative"):
        found = getattr(_namespace(), name)(x, axis=at, dtype=dtype)
        return written(form, out, found)
    if x.dtype.kind == "c":
        invalid(form, f"array is {x.dtype}, expected real numbers, which have an order")
    if ufunc.__name__.startswith("logical"):
        x = x != 0
    elif dtype is not None:
        x = x.astype(dtype, copy=False)
    return written(form, out, _extremes(x, name, at))


def _extremes(x: Array, op: str, axis: int) -> Array:
    """The largest or least of each element and all before it."""
    from tilewright.namespace.reductions import _cast as cast_program

    read = x.astype("uint8") if x.dtype.kind == "b" else x
    result: Array = x.backend._new(read.shape, read.dtype)
    if result.size:
        front = cast_program(read.stored_as, read.stored_as)
        x.backend.scan(front, op, read.shape, axis, [read], [], result)
    return result if read is x else result.astype("bool")


def outer(ufunc: Any, inputs: tuple[Any, ...], options: dict[str, Any], refuse: Any) -> Any:
    """np.add.outer(a, b): every element of a with every one of b."""
    if ufunc.nin != 2 or ufunc.signature is not None:
        refuse(())
    form = f"np.{ufunc.__name__}.outer"
    like = first_array(form, "A", list(inputs))
    a, b = (beside(form, name, one, like) for name, one in zip("AB", inputs, strict=True))
    return called(ufunc, form, (a[(..., *(None,) * b.ndim)], b), options, refuse)


def at(ufunc: Any, inputs: tuple[Any, ...], refuse: Any) -> None:
    """np.add.at(x, indices, values): every value is added, also those of equal places."""
    name = ufunc.__name__
    if name in ("maximum", "minimum"):
        return extreme_at(name, *inputs)
    if name not in ("add", "subtract"):
        refuse(())
    call = f"np.{name}.at"
    x = an_array(call, inputs[0], "a")
    indices, values = inputs[1:]
    source = beside(call, "b", values, x, is_written=True)
    if not can_cast(source.dtype, x.dtype, "same_kind"):
        raise TypeError(f"{call}: b is {source.dtype}, which {x.dtype} does not hold")
    _core._make_writable(x, call)
    tw = _namespace()
    places = tw.arange(x.size, device=x.backend).reshape(x.shape)[indices]
    weights = tw.broadcast_to(source.astype(x.dtype, copy=False), places.shape).reshape(-1)
    places = places.reshape(-1)
    if not places.size:
        return
    change: Any = operator.iadd if name == "add" else operator.isub
    if x.dtype.kind == "b":
        x |= tw.bincount(places, weights.astype("int32"), minlength=x.size).reshape(x.shape) != 0
        return
    parts = [(x, weights)] if x.dtype.kind != "c" else [
        (x.real, weights.real), (x.imag, weights.imag)
    ]  # fmt: skip
    for part, weight in parts:
        sums = tw.bincount(places, weight, minlength=x.size)
        change(part, sums.reshape(x.shape).astype(part.dtype, copy=False))


def array_ufunc(ufunc: Any, method: str, inputs: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Array.__array_ufunc__."""
    from tilewright.namespace.protocols import refuse_ufunc

    def refuse(extra: Any) -> None:
        refuse_ufunc(ufunc, method, inputs, extra)

    if method == "__call__":
        return called(ufunc, f"np.{ufunc.__name__}", inputs, options, refuse)
    if getattr(np, ufunc.__name__, None) is ufunc:
        if method == "reduce":
            return reduced(ufunc, inputs, options, refuse)
        if method == "accumulate":
            return accumulated(ufunc, inputs, options, refuse)
        if method == "outer":
            return outer(ufunc, inputs, options, refuse)
        if method == "at":
            return at(ufunc, inputs, refuse)
    refuse(())
    invalid(method, f"method is {shown(method)}")
