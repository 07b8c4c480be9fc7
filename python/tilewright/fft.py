"""Fourier transforms by the Python array API standard, and NumPy's on top of it.

Every length is transformed on the device, in the precision of its input. The tables of a length are
made at its first transform and kept for the next one.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright.array import Array
from tilewright.call_forms import kept_by_form
from tilewright.namespace import ranges
from tilewright.namespace.complex_functions import FLOAT64, conj
from tilewright.namespace.creation import asarray
from tilewright.namespace.manipulation import moveaxis, roll
from tilewright.namespace.mixed import written
from tilewright.operands import FLOAT32, invalid, parts_dtype, shown, to_integer
from tilewright.shapes import to_axes
from tilewright.transforms import kept, plans
from tilewright.transforms.kept import at_hand, keep_at_hand
from tilewright.transforms.lengths import smooth_from

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from tilewright.namespace.devices import Device

__all__ = [
    "fft",
    "fft2",
    "fftfreq",
    "fftn",
    "fftshift",
    "forget_plans",
    "hfft",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "ihfft",
    "irfft",
    "irfft2",
    "irfftn",
    "next_fast_len",
    "rfft",
    "rfft2",
    "rfftfreq",
    "rfftn",
]

NORMS = ("backward", "ortho", "forward")
INVERSE = {"backward": "forward", "ortho": "ortho", "forward": "backward"}


def _checked(call: str, x: Any, real: bool = False) -> Array:
    """The Array, as float32 where it has no fractions."""
    if not isinstance(x, Array):
        invalid(call, f"x is {shown(x)}, expected an Array; write tw.asarray(x)")
    if real and x.dtype.kind == "c":
        invalid(call, f"x is {x.dtype}, expected real numbers; write tw.fft.fft(x), or x.real")
    if x.dtype.kind in "biu" or x.dtype.itemsize == 2:
        return x.astype(FLOAT32)
    return x


def _norm(call: str, norm: Any) -> str:
    if norm is None:
        return "backward"
    if not isinstance(norm, str) or norm not in NORMS:
        invalid(call, f'norm is {shown(norm)}, expected "backward", "ortho" or "forward"')
    return norm


def _scale(norm: str, sign: int, n: int) -> float:
    if norm == "ortho":
        return 1 / math.sqrt(n)
    return 1 / n if (norm == "forward") == (sign < 0) else 1.0


def _axis(call: str, x: Array, axis: Any) -> int:
    if x.ndim == 0:
        invalid(call, "x has no dimension, expected one at least")
    if isinstance(axis, (tuple, list, range)):
        invalid(call, f"axis is {shown(axis)}, expected an integer; tw.fft.fftn takes several")
    return to_axes(call, axis, x.ndim)[0]


def _length(call: str, n: Any, otherwise: int) -> int:
    length = otherwise if n is None else to_integer(call, "n", n)
    if length < 1:
        why = "" if n is not None else ", what the axis has"
        invalid(call, f"n is {length}{why}, expected 1 or more")
    return length


def _sized(x: Array, axis: int, length: int) -> Array:
    """Cut, or filled up with zeros, to the length along an axis."""
    have, before = x.shape[axis], (slice(None),) * axis
    if have == length:
        return x
    if have > length:
        return x[(*before, slice(length))]
    padded = x.backend._new((*x.shape[:axis], length, *x.shape[axis + 1 :]), x.dtype)
    padded[(*before, slice(have, None))] = 0
    padded[(*before, slice(have))] = x
    return padded


def _rows(x: Array, axis: int, length: int) -> Array:
    """The same with the axis last."""
    sized = _sized(x, axis, length)
    return sized if axis == x.ndim - 1 else moveaxis(sized, axis, -1)


def _back(rows: Array, axis: int) -> Array:
    """The last axis to where it was."""
    return rows if axis == rows.ndim - 1 else moveaxis(rows, -1, axis)


def _as_complex(x: Array) -> Array:
    return x if x.dtype.kind == "c" else x.astype(np.result_type(x.dtype, np.complex64))


def _of_complex(call: str, x: Any, n: Any, axis: Any, norm: Any, sign: int) -> Array:
    quick = at_hand(call, x, n, axis, norm)
    if quick is not None:
        return quick
    x, norm = _checked(call, x), _norm(call, norm)
    at = _axis(call, x, axis)
    length = _length(call, n, x.shape[at])
    if n is None and x.size and x.dtype.kind == "c":
        plan = plans.plan(x.backend, parts_dtype(x.dtype), length, sign, _scale(norm, sign, length))
        keep_at_hand(call, x, axis, norm, plan, at)
    return _along(_as_complex(x), at, length, norm, sign)


def _along(x: Array, axis: int, n: int, norm: str, sign: int) -> Array:
    sized = _sized(x, axis, n)
    if sized.size == 0:
        return x.backend._new(sized.shape, x.dtype)
    plan = plans.plan(x.backend, parts_dtype(x.dtype), n, sign, _scale(norm, sign, n))
    return plan.along(sized, axis)


def _real_along(x: Array, axis: int, n: int, norm: str) -> Array:
    rows = _rows(x, axis, n)
    if rows.size == 0:
        dtype = np.result_type(x.dtype, np.complex64)
        return _back(x.backend._new((*rows.shape[:-1], n // 2 + 1), dtype), axis)
    plan = plans.from_real(x.backend, x.dtype, n, _scale(norm, -1, n))
    return _back(plan(rows), axis)


def _to_real_along(x: Array, axis: int, n: int, norm: str) -> Array:
    rows, parts = _rows(x, axis, n // 2 + 1), parts_dtype(x.dtype)
    if rows.size == 0:
        return _back(x.backend._new((*rows.shape[:-1], n), parts), axis)
    plan = plans.to_real(x.backend, parts, n, _scale(norm, 1, n))
    return _back(plan(rows), axis)


# One axis ----------------------------------------------------------------------------------------


def fft(
    a: Array, n: int | None = None, axis: int = -1, norm: str | None = "backward",
    out: Array | None = None,
) -> Array:  # fmt: skip
    """The discrete Fourier transform along an axis, which is cut or filled up with zeros to n."""
    found = _of_complex("fft", a, n, axis, norm, -1)
    return found if out is None else written("fft", out, found)


def ifft(
    a: Array, n: int | None = None, axis: int = -1, norm: str | None = "backward",
    out: Array | None = None,
) -> Array:  # fmt: skip
    """What fft() makes x of."""
    found = _of_complex("ifft", a, n, axis, norm, 1)
    return found if out is None else written("ifft", out, found)


def rfft(
    a: Array, n: int | None = None, axis: int = -1, norm: str | None = "backward",
    out: Array | None = None,
) -> Array:  # fmt: skip
    """fft() of real numbers: its first n // 2 + 1 elements, which the others mirror."""
    quick = at_hand("rfft", a, n, axis, norm)
    if quick is not None:
        return quick if out is None else written("rfft", out, quick)
    a, norm = _checked("rfft", a, real=True), _norm("rfft", norm)
    at = _axis("rfft", a, axis)
    length = _length("rfft", n, a.shape[at])
    if n is None and a.size:
        plan = plans.from_real(a.backend, a.dtype, length, _scale(norm, -1, length))
        keep_at_hand("rfft", a, axis, norm, plan, at)
    found = _real_along(a, at, length, norm)
    return found if out is None else written("rfft", out, found)


def irfft(
    a: Array, n: int | None = None, axis: int = -1, norm: str | None = "backward",
    out: Array | None = None,
) -> Array:  # fmt: skip
    """The n real numbers that rfft() makes x of, 2 * (m - 1) of m elements where n is None."""
    found = _irfft("irfft", a, n, axis, norm)
    return found if out is None else written("irfft", out, found)


def _irfft(call: str, x: Any, n: Any, axis: Any, norm: Any) -> Array:
    quick = at_hand(call, x, n, axis, norm)
    if quick is not None:
        return quick
    x, norm = _checked(call, x), _norm(call, norm)
    at = _axis(call, x, axis)
    length = _length(call, n, 2 * (x.shape[at] - 1))
    if n is None and x.size and x.dtype.kind == "c":
        plan = plans.to_real(x.backend, parts_dtype(x.dtype), length, _scale(norm, 1, length))
        keep_at_hand(call, x, axis, norm, plan, at)
    return _to_real_along(_as_complex(x), at, length, norm)


def hfft(
    a: Array, n: int | None = None, axis: int = -1, norm: str | None = "backward",
    out: Array | None = None,
) -> Array:  # fmt: skip
    """The n real numbers that are fft() of what x is the first half of, and mirrors in the rest."""
    a, norm = _checked("hfft", a), _norm("hfft", norm)
    found = _irfft("hfft", conj(a), n, axis, INVERSE[norm])
    return found if out is None else written("hfft", out, found)


def ihfft(
    a: Array, n: int | None = None, axis: int = -1, norm: str | None = "backward",
    out: Array | None = None,
) -> Array:  # fmt: skip
    """What hfft() makes x of."""
    a, norm = _checked("ihfft", a, real=True), _norm("ihfft", norm)
    at = _axis("ihfft", a, axis)
    found = conj(_real_along(a, at, _length("ihfft", n, a.shape[at]), INVERSE[norm]))
    return found if out is None else written("ihfft", out, found)


# Several axes ------------------------------------------------------------------------------------


def _sizes_and_axes(
    call: str, x: Array, s: Any, axes: Any, halved: bool = False
) -> tuple[list[int], list[int]]:
    """Along which axes, and to which lengths, -1 for what is there; `halved` where the last one has
    m // 2 + 1 of m."""
    if s is not None and (not isinstance(s, (tuple, list)) or not s):
        invalid(call, f"s is {shown(s)}, expected a length for each of the axes")
    if axes is None:
        count = x.ndim if s is None else len(s)
        if count > x.ndim:
            invalid(call, f"s has {count} lengths, but x has {x.ndim} axes")
        axes = range(x.ndim - count, x.ndim)
    elif not isinstance(axes, (tuple, list, range)):
        invalid(call, f"axes is {shown(axes)}, expected a sequence of integers")
    at = list(to_axes(call, axes, x.ndim, "axes"))
    if not at:
        invalid(call, "there is no axis to transform, expected one at least")
    if s is not None and len(s) != len(at):
        invalid(call, f"s has {len(s)} lengths for {len(at)} axes")
    sizes = []
    for i, one in enumerate(at):
        given = None if s is None else to_integer(call, "s", s[i])
        size = x.shape[one] if given is None or given == -1 else given
        if halved and given is None and i == len(at) - 1:
            size = 2 * (size - 1)
        if size < 1:
            invalid(call, f"the length along axis {one} is {size}, expected 1 or more")
        sizes.append(size)
    return sizes, at


def _several(call: str, x: Any, s: Any, axes: Any, norm: Any, sign: int) -> Array:
    result, norm = _as_complex(_checked(call, x)), _norm(call, norm)
    sizes, at = _sizes_and_axes(call, result, s, axes)
    for size, axis in zip(reversed(sizes), reversed(at), strict=True):
        result = _along(result, axis, size, norm, sign)
    return result


def _several_of_real(call: str, x: Any, s: Any, axes: Any, norm: Any) -> Array:
    whole, norm = _checked(call, x, real=True), _norm(call, norm)
    sizes, at = _sizes_and_axes(call, whole, s, axes)
    result = _real_along(whole, at[-1], sizes[-1], norm)
    for size, axis in zip(sizes[-2::-1], at[-2::-1], strict=True):
        result = _along(result, axis, size, norm, -1)
    return result


def _several_to_real(call: str, x: Any, s: Any, axes: Any, norm: Any) -> Array:
    x, norm = _as_complex(_checked(call, x)), _norm(call, norm)
    sizes, at = _sizes_and_axes(call, x, s, axes, halved=True)
    for size, axis in zip(sizes[:-1], at[:-1], strict=True):
        x = _along(x, axis, size, norm, 1)
    return _to_real_along(x, at[-1], sizes[-1], norm)


def fftn(
    a: Array, s: Sequence[int] | None = None, axes: Sequence[int] | None = None,
    norm: str | None = "backward", out: Array | None = None,
) -> Array:  # fmt: skip
    """fft() along several axes, all of them where `axes` is None, cut or filled up to `s`."""
    found = _several("fftn", a, s, axes, norm, -1)
    return found if out is None else written("fftn", out, found)


def ifftn(
    a: Array, s: Sequence[int] | None = None, axes: Sequence[int] | None = None,
    norm: str | None = "backward", out: Array | None = None,
) -> Array:  # fmt: skip
    """What fftn() makes x of."""
    found = _several("ifftn", a, s, axes, norm, 1)
    return found if out is None else written("ifftn", out, found)


def rfftn(
    a: Array, s: Sequence[int] | None = None, axes: Sequence[int] | None = None,
    norm: str | None = "backward", out: Array | None = None,
) -> Array:  # fmt: skip
    """rfft() along the last of the axes, and fft() along the others."""
    found = _several_of_real("rfftn", a, s, axes, norm)
    return found if out is None else written("rfftn", out, found)


def irfftn(
    a: Array, s: Sequence[int] | None = None, axes: Sequence[int] | None = None,
    norm: str | None = "backward", out: Array | None = None,
) -> Array:  # fmt: skip
    """What rfftn() makes x of."""
    found = _several_to_real("irfftn", a, s, axes, norm)
    return found if out is None else written("irfftn", out, found)


def fft2(
    a: Array, s: Sequence[int] | None = None, axes: Sequence[int] = (-2, -1),
    norm: str | None = "backward", out: Array | None = None,
) -> Array:  # fmt: skip
    """fftn() along the last two axes."""
    found = _several("fft2", a, s, axes, norm, -1)
    return found if out is None else written("fft2", out, found)


def ifft2(
    a: Array, s: Sequence[int] | None = None, axes: Sequence[int] = (-2, -1),
    norm: str | None = "backward", out: Array | None = None,
) -> Array:  # fmt: skip
    """ifftn() along the last two axes."""
    found = _several("ifft2", a, s, axes, norm, 1)
    return found if out is None else written("ifft2", out, found)


def rfft2(
    a: Array, s: Sequence[int] | None = None, axes: Sequence[int] = (-2, -1),
    norm: str | None = "backward", out: Array | None = None,
) -> Array:  # fmt: skip
    """rfftn() along the last two axes."""
    found = _several_of_real("rfft2", a, s, axes, norm)
    return found if out is None else written("rfft2", out, found)


def irfft2(
    a: Array, s: Sequence[int] | None = None, axes: Sequence[int] = (-2, -1),
    norm: str | None = "backward", out: Array | None = None,
) -> Array:  # fmt: skip
    """irfftn() along the last two axes."""
    found = _several_to_real("irfft2", a, s, axes, norm)
    return found if out is None else written("irfft2", out, found)


def next_fast_len(target: int, /) -> int:
    """The least length from this one on whose factors are 2, 3, 5 and 7, to fill an axis up to
    where its own length does not matter: such lengths are transformed fastest."""
    least = to_integer("next_fast_len", "target", target)
    if least < 1:
        invalid("next_fast_len", f"target is {least}, expected 1 or more")
    return smooth_from(least)


# Frequencies -------------------------------------------------------------------------------------


def _frequencies(call: str, n: Any, d: Any, dtype: Any, device: Any, numpy: Any) -> Array:
    count = to_integer(call, "n", n)
    if count < 1:
        invalid(call, f"n is {count}, expected 1 or more")
    if isinstance(d, bool) or not isinstance(d, (int, float)) or d == 0 or not math.isfinite(d):
        invalid(call, f"d is {shown(d)}, expected a number that is not 0")
    wanted = np.dtype(FLOAT32 if dtype is None else dtype)
    if wanted not in (FLOAT32, FLOAT64):
        invalid(call, f"dtype is {shown(dtype)}, expected float32 or float64")
    return asarray(numpy(count, d).astype(wanted), device=device)


def fftfreq(
    n: int, d: float = 1.0, device: Device | None = None, *, dtype: npt.DTypeLike | None = None
) -> Array:
    """The frequency of each element of fft(), of n samples that are `d` apart."""
    return _frequencies("fftfreq", n, d, dtype, device, np.fft.fftfreq)


def rfftfreq(
    n: int, d: float = 1.0, device: Device | None = None, *, dtype: npt.DTypeLike | None = None
) -> Array:
    """The frequency of each element of rfft(), of n samples that are `d` apart."""
    return _frequencies("rfftfreq", n, d, dtype, device, np.fft.rfftfreq)


def _shift(call: str, x: Any, axes: Any, sign: int) -> Array:
    if not isinstance(x, Array):
        invalid(call, f"x is {shown(x)}, expected an Array; write tw.asarray(x)")
    at = to_axes(call, range(x.ndim) if axes is None else axes, x.ndim, "axes")
    if not at:
        return x.copy()
    halves = tuple(x.shape[i] // 2 if sign > 0 else -(x.shape[i] // 2) for i in at)
    return roll(x, halves, axis=at)


@kept_by_form
def fftshift(x: Array, axes: int | Sequence[int] | None = None) -> Array:
    """With the frequency 0 in the middle of the axes, all of them where `axes` is None."""
    return _shift("fftshift", x, axes, 1)


@kept_by_form
def ifftshift(x: Array, axes: int | Sequence[int] | None = None) -> Array:
    """What fftshift() makes x of."""
    return _shift("ifftshift", x, axes, -1)


def forget_plans() -> None:
    """Frees the tables that transforms keep, and the integers that ranges and random numbers are
    counted by; recordings that use them are not replayed any more."""
    kept.forget()
    ranges.forget()
