"""Linear algebra by the Python array API standard, and NumPy's on top of it."""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright.array import Array
from tilewright.call_forms import kept_by_form
from tilewright.namespace import reductions
from tilewright.namespace.creation import eye
from tilewright.namespace.elementwise import where
from tilewright.namespace.factorisations import (
    LinAlgError,
    cholesky,
    det,
    existing_inverses,
    inv,
    qr,
    slogdet,
    solve,
)
from tilewright.namespace.linear import matmul
from tilewright.namespace.manipulation import broadcast_to, matrix_transpose
from tilewright.namespace.mixed import beside, first_array, together
from tilewright.namespace.products import (
    cross,
    diagonal,
    outer,
    tensordot,
    trace,
    vecdot,
)
from tilewright.namespace.spectra import (
    eig,
    eigh,
    eigvals,
    eigvalsh,
    lstsq,
    matrix_rank,
    pinv,
    svd,
    svdvals,
)
from tilewright.operands import invalid, name_of, shown, to_integer
from tilewright.program import Program
from tilewright.shapes import permuted, to_axes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tilewright.operands import ArrayLike

__all__ = [
    "LinAlgError",
    "cholesky",
    "cond",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "inv",
    "lstsq",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "multi_dot",
    "norm",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "svdvals",
    "tensordot",
    "tensorinv",
    "tensorsolve",
    "trace",
    "vecdot",
    "vector_norm",
]


def _floats(call: str, x: Any) -> Array:
    if not isinstance(x, Array):
        invalid(call, f"x is {shown(x)}, expected an Array; write tw.asarray(x)")
    if x.dtype.kind == "c":
        import tilewright

        return tilewright.abs(x)
    return x


def _order(call: str, name: str, value: Any, words: tuple[str, ...] = ()) -> Any:
    """A number as float; None, and one of these words, as they are."""
    if value is None or (isinstance(value, str) and value in words):
        return value
    is_number = isinstance(value, (int, float, np.integer, np.floating))
    if not is_number or isinstance(value, bool):
        either = "".join(f' or "{word}"' for word in words)
        invalid(call, f"{name} is {shown(value)}, expected a number{either}")
    try:
        return float(value)
    except OverflowError:
        return math.copysign(math.inf, value)


def _matrices(call: str, x: Array) -> None:
    if x.ndim < 2:
        invalid(call, f"x has shape {x.shape}, expected two dimensions at least")


@cache
def _magnitudes(source: str, within: str, power: float) -> Program:
    """What is summed, or compared, of each element."""
    program = Program()
    x = program.input(source)
    size = abs(x if source == within else x.cast(within))
    program.output(size if power == 1 else size * size if power == 2 else size**power)
    return program


@cache
def _counted(source: str, within: str) -> Program:
    program = Program()
    program.output(program.input(source).cast("bool").cast(within))
    return program


@cache
def _root(source: str, to: str, power: float) -> Program:
    program = Program()
    total = program.input(source)
    root = total if power == 1 else total.sqrt() if power == 2 else total ** (1 / power)
    program.output(root if source == to else root.cast(to))
    return program


@kept_by_form
def vector_norm(
    x: Array,
    /,
    *,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    ord: float = 2,
) -> Array:
    """(sum of abs(x)**ord)**(1/ord) along axes, or of all elements. ord inf and -inf give the
    largest and least magnitude, 0 the count of what is not 0. float16 is summed in float32."""
    x = _floats("vector_norm", x)
    power = _order("vector_norm", "ord", ord)
    if power is None or math.isnan(power):
        invalid("vector_norm", f"ord is {shown(ord)}, expected a number")
    return _norm("vector_norm", x, reductions._axes("vector_norm", x, axis), keepdims, power)


def _norm(call: str, x: Array, axes: tuple[int, ...], keepdims: bool, ord: float) -> Array:
    shape = reductions._left(call, x.shape, axes, keepdims)
    within, result = name_of(reductions._within(x)), reductions._averaged(x)
    if abs(ord) == float("inf"):
        if ord > 0 and any(x.shape[i] == 0 for i in axes):
            nothing: Array = x.backend._new(shape, reductions._averaged(x))
            nothing[...] = 0
            return nothing
        op, front, power = ("max" if ord > 0 else "min"), _magnitudes(x.stored_as, within, 1.0), 1.0
        reductions._not_empty(call, x, axes)
    elif ord == 0:
        op, front, power = "sum", _counted(x.stored_as, within), 1.0
    else:
        op, front, power = "sum", _magnitudes(x.stored_as, within, ord), ord
    behind = _root(within, name_of(result), power)
    return reductions._reduced(call, op, front, [x], axes, shape, result, behind)


@kept_by_form
def matrix_norm(x: Array, /, *, keepdims: bool = False, ord: float | str | None = "fro") -> Array:
    """Of the matrices in the last two axes: "fro", the root of the sum of squares; 1 and inf, the
    largest sum of magnitudes of a column and of a row; -1 and -inf, the least; 2, -2 and "nuc", the
    largest singular value, the least, and their sum."""
    ord = _order("matrix_norm", "ord", ord, ("fro", "nuc"))
    if not isinstance(keepdims, bool):
        invalid("matrix_norm", f"keepdims is {shown(keepdims)}, expected True or False")
    if ord in (2, -2, "nuc") and isinstance(x, Array):
        _matrices("matrix_norm", x)
        if ord == 2 and 0 in x.shape[-2:]:
            return reductions.sum(_floats("matrix_norm", x), axis=(-2, -1), keepdims=keepdims)
        values = svdvals(x)
        by = reductions.sum if ord == "nuc" else reductions.max if ord == 2 else reductions.min
        result = by(values, axis=-1)
        return result[..., None, None] if keepdims else result
    x = _floats("matrix_norm", x)
    _matrices("matrix_norm", x)
    last = (x.ndim - 2, x.ndim - 1)
    if ord is None or ord == "fro":
        return _norm("matrix_norm", x, last, keepdims, 2.0)
    if ord not in (1, -1, float("inf"), float("-inf")):
        expected = '"fro", "nuc", 1, -1, 2, -2, inf or -inf'
        invalid("matrix_norm", f"ord is {shown(ord)}, expected {expected}")
    along = last[0] if ord in (1, -1) else last[1]
    sums = _norm("matrix_norm", x, (along,), True, 1.0)
    if ord in (1, float("inf")) and 0 in sums.shape[-2:]:
        return reductions.sum(sums, axis=last, keepdims=keepdims)
    extreme = reductions.max if ord in (1, float("inf")) else reductions.min
    return extreme(sums, axis=last, keepdims=keepdims)


@kept_by_form
def matrix_power(a: Array, n: int) -> Array:
    """The product of n of the same square matrices, or of -n of their inverses, by squaring."""
    if not isinstance(a, Array):
        invalid("matrix_power", f"x is {shown(a)}, expected an Array; write tw.asarray(x)")
    _matrices("matrix_power", a)
    n = to_integer("matrix_power", "n", n)
    if a.shape[-1] != a.shape[-2]:
        invalid("matrix_power", f"x has shape {a.shape}, expected square matrices")
    if n < 0:
        a, n = inv(a), -n
    if n == 0:
        one = eye(a.shape[-1], dtype=a.dtype, device=a.backend)
        return broadcast_to(one, a.shape).copy()
    result, square = None, a
    while n:
        if n & 1:
            result = square if result is None else matmul(result, square)
        n >>= 1
        if n:
            square = matmul(square, square)
    assert result is not None
    return result.copy() if result is a else result


@kept_by_form
def norm(x: Array, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Array:
    """NumPy's: a vector's norm along one axis, a matrix's along two. Without ord the root of the
    sum of squares, without axis too of all elements; ord alone takes x for a vector or matrix."""
    if not isinstance(x, Array):
        invalid("norm", f"x is {shown(x)}, expected an Array; write tw.asarray(x)")
    if axis is None and ord is None:
        result = vector_norm(x)
        return result.reshape((1,) * x.ndim) if keepdims else result
    if axis is None:
        if x.ndim not in (1, 2):
            invalid("norm", f"x has shape {x.shape}, expected one or two dimensions, or an axis")
        axis = tuple(range(x.ndim))
    axes = to_axes("norm", axis, x.ndim)
    if len(axes) == 1:
        return vector_norm(x, axis=axes[0], keepdims=keepdims, ord=2 if ord is None else ord)
    if len(axes) != 2:
        invalid("norm", f"axis is {shown(axis)}, expected one axis or two")
    others = [i for i in range(x.ndim) if i not in axes]
    result = matrix_norm(permuted("norm", x, [*others, *axes]), ord="fro" if ord is None else ord)
    if not keepdims:
        return result
    return result.reshape(tuple(1 if i in axes else x.shape[i] for i in range(x.ndim)))


def cond(x: Array, p: Any = None) -> Array:
    """How much matrices can magnify a relative error: the norm times that of the inverse; for p
    None and 2 the largest singular value by the least."""
    if not isinstance(x, Array):
        invalid("cond", f"x is {shown(x)}, expected an Array; write tw.asarray(x)")
    _matrices("cond", x)
    p = _order("cond", "p", p, ("fro", "nuc"))
    if 0 in x.shape[-2:]:
        raise LinAlgError(f"cond: x has shape {x.shape}, expected matrices with elements")
    if p in (None, 2, -2):
        values = svdvals(x)
        largest, least = values[..., 0], values[..., -1]
        ratio: Array = least / largest if p == -2 else largest / least
        return where(largest == 0, math.inf, ratio)
    inverses, is_singular = existing_inverses(x)
    product: Array = matrix_norm(x, ord=p) * matrix_norm(inverses, ord=p)
    return where(is_singular, math.inf, product)


@kept_by_form
def multi_dot(arrays: Sequence[ArrayLike], *, out: Array | None = None) -> Array:
    """The product of two or more matrices in the order that takes the fewest multiplications; the
    first and the last may be vectors."""
    all_of_them: list[Any] = list(arrays)
    if len(all_of_them) < 2:
        invalid("multi_dot", f"arrays has {len(all_of_them)} of them, expected two at least")
    like = first_array("multi_dot", "arrays", all_of_them)
    all_of_them = [
        beside("multi_dot", f"arrays[{i}]", one, like) for i, one in enumerate(all_of_them)
    ]
    for i, one in enumerate(all_of_them):
        vector = i in (0, len(all_of_them) - 1) and isinstance(one, Array) and one.ndim == 1
        if not isinstance(one, Array) or (one.ndim != 2 and not vector):
            invalid("multi_dot", f"arrays[{i}] is {shown(one)}, expected a matrix in an Array")
    first, last = all_of_them[0].ndim == 1, all_of_them[-1].ndim == 1
    if first:
        all_of_them[0] = all_of_them[0][None, :]
    if last:
        all_of_them[-1] = all_of_them[-1][:, None]
    sizes = [all_of_them[0].shape[0], *(one.shape[1] for one in all_of_them)]

    @cache
    def best(i: int, j: int) -> tuple[int, int]:
        """What the product of i to j costs, and where it is cut."""
        if i == j:
            return 0, i
        return min(
            (best(i, k)[0] + best(k + 1, j)[0] + sizes[i] * sizes[k + 1] * sizes[j + 1], k)
            for k in range(i, j)
        )

    def product(i: int, j: int) -> Array:
        if i == j:
            return all_of_them[i]  # type: ignore[no-any-return]
        cut = best(i, j)[1]
        return matmul(product(i, cut), product(cut + 1, j))

    result = product(0, len(all_of_them) - 1)
    shape = (*(() if first else (sizes[0],)), *(() if last else (sizes[-1],)))
    result = result.reshape(shape)
    if out is None:
        return result
    out[...] = result
    return out


def tensorsolve(a: ArrayLike, b: ArrayLike, axes: Sequence[int] | None = None) -> Array:
    """X of tensordot(a, X, X.ndim) = b; `axes` of a go to its end first."""
    left, right = together("tensorsolve", a=a, b=b)
    if axes is not None:
        moved = to_axes("tensorsolve", tuple(axes), left.ndim, "axes")
        left = permuted(
            "tensorsolve", left, [*(i for i in range(left.ndim) if i not in moved), *moved]
        )
    shape = left.shape[right.ndim :]
    if math.prod(shape) != right.size or left.size != right.size * right.size:
        invalid(
            "tensorsolve", f"a has shape {left.shape} and b {right.shape}, expected a square system"
        )
    return solve(left.reshape(right.size, right.size), right.reshape(-1)).reshape(shape)


def tensorinv(a: Array, ind: int = 2) -> Array:
    """The inverse of tensordot(a, ..., ind): of the first `ind` axes to the others."""
    if not isinstance(a, Array):
        invalid("tensorinv", f"a is {shown(a)}, expected an Array; write tw.asarray(a)")
    ind = to_integer("tensorinv", "ind", ind)
    if not 0 < ind < a.ndim:
        invalid("tensorinv", f"ind is {ind}, expected 1 to {a.ndim - 1}")
    rows, columns = math.prod(a.shape[:ind]), math.prod(a.shape[ind:])
    if rows != columns:
        invalid("tensorinv", f"a has shape {a.shape}, whose parts have {rows} and {columns}")
    return inv(a.reshape(rows, columns)).reshape(*a.shape[ind:], *a.shape[:ind])
