"""NumPy's functions of polynomials, given by their coefficients from the highest power on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright.array import Array
from tilewright.namespace.calculus import convolve
from tilewright.namespace.creation import asarray, ones, zeros
from tilewright.namespace.diagonals import diag, vander
from tilewright.namespace.dtypes import finfo, result_type
from tilewright.namespace.manipulation import concat
from tilewright.namespace.mixed import an_array, as_float, beside, first_array, together
from tilewright.namespace.reductions import sum as total
from tilewright.operands import invalid, shown, to_integer

if TYPE_CHECKING:
    from tilewright.operands import ArrayLike

__all__ = [
    "poly",
    "polyadd",
    "polyder",
    "polyfit",
    "polyint",
    "polymul",
    "polysub",
    "polyval",
    "roots",
]


def _coefficients(call: str, name: str, p: Any, like: Array | None = None) -> Array:
    found = an_array(call, p, name) if like is None else beside(call, name, p, like)
    if found.ndim > 1:
        invalid(call, f"{name} has shape {found.shape}, expected one dimension")
    return found.reshape(-1)


def polyval(p: ArrayLike, x: ArrayLike) -> Array:
    """The polynomial at each x, by Horner's scheme: one expression, however many coefficients."""
    like = first_array("polyval", "x", [x, p])
    at = beside("polyval", "x", x, like)
    if isinstance(p, Array):
        of = _coefficients("polyval", "p", p)
        numbers: list[Any] = [of[i] for i in range(of.size)]
        dtype = result_type(of.dtype, at.dtype)
    else:
        of = _coefficients("polyval", "p", p, at)
        numbers = np.asarray(p).reshape(-1).tolist()
        dtype = result_type(of.dtype, at.dtype)
    at = at.astype(dtype, copy=False)
    result = zeros(at.shape, dtype=dtype, device=at.backend)
    for number in numbers:
        result = result * at + number
    return result


def _both(call: str, a1: Any, a2: Any) -> tuple[Array, Array]:
    first, second = together(call, a1=a1, a2=a2)
    return _coefficients(call, "a1", first), _coefficients(call, "a2", second)


def _widened(p: Array, size: int) -> Array:
    """With zeros in front."""
    if p.size == size:
        return p
    return concat([zeros(size - p.size, dtype=p.dtype, device=p.backend), p])


def polyadd(a1: ArrayLike, a2: ArrayLike) -> Array:
    """The sum of two polynomials."""
    first, second = _both("polyadd", a1, a2)
    size = max(first.size, second.size)
    found: Array = _widened(first, size) + _widened(second, size)
    return found


def polysub(a1: ArrayLike, a2: ArrayLike) -> Array:
    """The difference of two polynomials."""
    first, second = _both("polysub", a1, a2)
    size = max(first.size, second.size)
    found: Array = _widened(first, size) - _widened(second, size)
    return found


def polymul(a1: ArrayLike, a2: ArrayLike) -> Array:
    """The product of two polynomials."""
    first, second = _both("polymul", a1, a2)
    return convolve(first, second)


def polyder(p: Array, m: int = 1) -> Array:
    """The derivative, m times."""
    found, times = _coefficients("polyder", "p", p), to_integer("polyder", "m", m)
    if times < 0:
        invalid("polyder", f"m is {times}, expected 0 or more; polyint() goes the other way")
    for _ in range(times):
        powers = np.arange(found.size - 1, 0, -1)
        found = found[:-1] * beside("polyder", "powers", powers.tolist() or powers, found)
    return found


def polyint(p: Array, m: int = 1, k: Any = None) -> Array:
    """The integral, m times, with constants k, one for each or one for all; 0 if none are given."""
    found, times = _coefficients("polyint", "p", p), to_integer("polyint", "m", m)
    if times < 0:
        invalid("polyint", f"m is {times}, expected 0 or more; polyder() goes the other way")
    constants = [0.0] if k is None else np.atleast_1d(np.asarray(k)).tolist()
    if len(constants) == 1:
        constants *= times
    if len(constants) < times:
        invalid("polyint", f"k has {len(constants)} constants, expected 1 or {times}")
    found = as_float("polyint", found)
    for number in constants[:times]:
        powers = np.arange(found.size, 0, -1, dtype=np.float64)
        by = asarray(powers, dtype=found.real.dtype, device=found.backend)
        last = asarray([number], dtype=found.dtype, device=found.backend)
        found = concat([found / by, last])
    return found


def polyfit(
    x: Array, y: ArrayLike, deg: int, rcond: float | None = None, full: bool = False, w: Any = None,
    cov: Any = False,
) -> Any:  # fmt: skip
    """The coefficients of the polynomial of a degree that is nearest to points by the sum of
    squares, each weighed by w; of several y side by side those of each as a column. With `full`
    what lstsq() gives besides and rcond, with `cov` the covariances of the coefficients."""
    from tilewright import linalg

    x, y = together("polyfit", x=x, y=y)
    degree = to_integer("polyfit", "deg", deg)
    if degree < 0:
        invalid("polyfit", f"deg is {degree}, expected 0 or more")
    if x.ndim != 1 or x.size == 0:
        invalid("polyfit", f"x has shape {x.shape}, expected one dimension with elements")
    if y.ndim not in (1, 2) or y.shape[0] != x.size:
        invalid("polyfit", f"y has shape {y.shape}, expected {x.size} rows, as x has elements")
    x, right = as_float("polyfit", x), as_float("polyfit", y)
    left = vander(x, degree + 1)
    if w is not None:
        weights = as_float("polyfit", beside("polyfit", "w", w, x))
        if weights.shape != x.shape:
            invalid("polyfit", f"w has shape {weights.shape}, expected {x.shape} as x has")
        left = left * weights[:, None]
        right = right * (weights if right.ndim == 1 else weights[:, None])
    # Columns of one length, so that powers that differ much do not count for nothing.
    lengths = total((left * left.conj()).real if left.dtype.kind == "c" else left * left, axis=0)
    scale = lengths**0.5
    scale = scale + (scale == 0)
    smallest = x.size * finfo(left.dtype).eps if rcond is None else rcond
    left = left / scale
    solved, off, rank, values = linalg.lstsq(left, right, smallest)
    found = solved / (scale if solved.ndim == 1 else scale[:, None])
    if full:
        return found, off, rank, values, smallest
    if cov is False or cov is None:
        return found
    base = linalg.inv(left.T @ left) / (scale[:, None] * scale[None, :])
    if isinstance(cov, str) and cov == "unscaled":
        return found, base if found.ndim == 1 else base[:, :, None]
    if x.size <= degree + 1:
        invalid("polyfit", f"x has {x.size} elements, expected more than {degree + 1} to scale the "
                "covariances; write cov='unscaled'")  # fmt: skip
    factor = off / (x.size - degree - 1)
    return found, (base if found.ndim == 1 else base[:, :, None]) * factor


def roots(p: ArrayLike) -> Array:
    """Where a polynomial is 0: the eigenvalues of its companion matrix, and 0 for each 0 at the
    end."""
    from tilewright import linalg

    found = as_float("roots", _coefficients("roots", "p", p))
    host = found.numpy()
    used = np.nonzero(host)[0]
    if used.size == 0:
        return zeros(0, dtype=found.dtype, device=found.backend)
    zeros_behind = found.size - 1 - int(used[-1])
    inner = found[int(used[0]) : int(used[-1]) + 1]
    degree = inner.size - 1
    kind = np.dtype(np.complex64 if found.dtype.itemsize <= 4 or found.dtype == np.complex64
                    else np.complex128)  # fmt: skip
    behind = zeros(zeros_behind, dtype=kind, device=found.backend)
    if degree == 0:
        return behind
    companion = diag(ones(degree - 1, dtype=inner.dtype, device=inner.backend), -1)
    companion[0, :] = -inner[1:] / inner[0]
    return concat([linalg.eigvals(companion).astype(kind, copy=False), behind])


def poly(seq_of_zeros: Array) -> Array:
    """The coefficients of the polynomial that is 0 at given places and begins with 1; of a square
    matrix its characteristic polynomial's."""
    from tilewright import linalg

    found = as_float("poly", an_array("poly", seq_of_zeros, "seq_of_zeros"))
    if found.ndim == 2 and found.shape[0] == found.shape[1] and found.size:
        found = linalg.eigvals(found)
    elif found.ndim > 1:
        invalid("poly", f"seq_of_zeros is {shown(seq_of_zeros)}, expected one dimension or a "
                "square matrix")  # fmt: skip
    found = found.reshape(-1)
    made = ones(1, dtype=found.dtype, device=found.backend)
    none = zeros(1, dtype=found.dtype, device=found.backend)
    for i in range(found.size):
        made = concat([made, none]) - found[i] * concat([none, made])
    return made
