"""What is laid around an array: a number, its mirror, its edge again, or its other end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilewright.call_forms import kept_by_form
from tilewright.namespace.mixed import an_array
from tilewright.nn.running import floats, to_number, wide_of
from tilewright.operands import invalid, shown, to_integer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tilewright.array import Array

# torch's names of modes, and NumPy's.
MODES = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}


def pad_axes(
    x: Array, first: int, around: Sequence[tuple[int, int]], mode: str, value: float = 0.0
) -> Array:
    """x with elements in front and behind along axes from `first` on: itself where there are
    none."""
    from tilewright.namespace.padding import pad

    if not any(front or behind for front, behind in around):
        return x
    widths = [(0, 0)] * first + list(around) + [(0, 0)] * (x.ndim - first - len(around))
    if mode in ("zeros", "constant"):
        return pad(x, widths, constant_values=value)
    _check(x, first, around, mode)
    return pad(x, widths, MODES[mode])


def _check(x: Array, first: int, around: Sequence[tuple[int, int]], mode: str) -> None:
    """That nothing is mirrored twice, or goes round twice."""
    for i, pair in enumerate(around):
        length = x.shape[first + i]
        most = {"reflect": length - 1, "circular": length}.get(mode)
        if mode == "replicate" and length == 0:
            most = 0
        if most is not None and max(pair) > most:
            invalid(
                "pad",
                f"{max(pair)} elements of padding along an axis of {length}, expected {most} at "
                f"most with {mode}",
            )


def pad_axes_backward(
    grad: Array, first: int, around: Sequence[tuple[int, int]], mode: str
) -> Array:
    """The gradient of pad_axes() by its x: what lies around is added to where it came from."""
    from tilewright.namespace.manipulation import flip

    if not any(front or behind for front, behind in around):
        return grad
    dtype = grad.dtype
    for i, (front, behind) in enumerate(around):
        if not front and not behind:
            continue
        axis = first + i
        length = grad.shape[axis] - front - behind

        def part(low: int, high: int, of: Array, axis: int = axis) -> Array:
            return of[(*(slice(None),) * axis, slice(low, high))]

        own = part(front, front + length, grad)
        if mode in ("zeros", "constant"):
            grad = own
            continue
        before, after = part(0, front, grad), part(front + length, grad.shape[axis], grad)
        own = own.astype(wide_of(dtype), copy=True)
        if mode == "reflect":
            pairs = [
                (part(1, front + 1, own), flip(before, axis=axis)),
                (part(length - 1 - behind, length - 1, own), flip(after, axis=axis)),
            ]
        elif mode == "replicate":
            pairs = [
                (part(0, 1, own), before.astype(own.dtype).sum(axis=axis, keepdims=True)),
                (
                    part(length - 1, length, own),
                    after.astype(own.dtype).sum(axis=axis, keepdims=True),
                ),
            ]
        else:
            pairs = [
                (part(length - front, length, own), before),
                (part(0, behind, own), after),
            ]
        for there, more in pairs:
            if 0 not in more.shape:
                there += more.astype(own.dtype, copy=False)
        grad = own
    return grad.astype(dtype, copy=False)


def _around(call: str, ndim: int, given: Any) -> list[tuple[int, int]]:
    """torch's order: the last axis first, in front and behind of each."""
    if not isinstance(given, (tuple, list)) or len(given) % 2 or len(given) > 2 * ndim:
        invalid(
            call,
            f"pad is {shown(given)}, expected a pair of integers for each of the last axes, of "
            f"{ndim} at most, the last axis first",
        )
    widths = [to_integer(call, f"pad[{i}]", one) for i, one in enumerate(given)]
    pairs = list(zip(widths[::2], widths[1::2], strict=True))
    return pairs[::-1]


def _laid(around: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    return [(max(front, 0), max(behind, 0)) for front, behind in around]


def _cut(around: Sequence[tuple[int, int]]) -> list[tuple[int, int]] | None:
    """What numbers below 0 leave out, or None."""
    if all(front >= 0 and behind >= 0 for front, behind in around):
        return None
    return [(max(-front, 0), max(-behind, 0)) for front, behind in around]


def _inside(
    first: int, cut: Sequence[tuple[int, int]], shape: tuple[int, ...]
) -> tuple[slice, ...]:
    parts = [
        slice(front, length - behind)
        for (front, behind), length in zip(cut, shape[first:], strict=True)
    ]
    return (*(slice(None),) * first, *parts)


def _mode(call: str, mode: Any) -> str:
    if not isinstance(mode, str) or mode not in ("constant", *MODES):
        invalid(call, f"mode is {shown(mode)}, expected one of constant, {', '.join(MODES)}")
    return str(mode)


@kept_by_form
def pad(input: Any, pad: Sequence[int], mode: str = "constant", value: float = 0.0) -> Array:
    """input with elements in front and behind along its last axes: pad has a pair for each, the
    last axis first. mode is "constant" (of `value`), "reflect", "replicate" or "circular".
    Numbers below 0 leave so many elements out, before others are laid around."""
    call = "pad"
    x = an_array(call, input, "input")
    around = _around(call, x.ndim, pad)
    kind, number = _mode(call, mode), to_number(call, "value", value)
    first = x.ndim - len(around)
    cut = _cut(around)
    if cut is not None:
        for i, pair in enumerate(cut):
            if sum(pair) > x.shape[first + i]:
                invalid(
                    call,
                    f"pad is {shown(pad)}, which leaves out {sum(pair)} of the "
                    f"{x.shape[first + i]} elements along axis {first + i}",
                )
        x = x[_inside(first, cut, x.shape)]
    return pad_axes(x, first, _laid(around), kind, number)


def pad_backward(grad: Any, pad: Sequence[int], mode: str = "constant") -> Array:
    """The gradient of pad() by its input."""
    call = "pad_backward"
    (grad,) = floats(call, grad=grad)
    given = _around(call, grad.ndim, pad)
    around, cut = _laid(given), _cut(given)
    kind = _mode(call, mode)
    first = grad.ndim - len(around)
    for i, pair in enumerate(around):
        length = grad.shape[first + i] - sum(pair)
        least = {"reflect": max(pair) + 1, "circular": max(pair), "replicate": 1}.get(kind, 0)
        if length < least:
            invalid(
                call,
                f"grad has shape {grad.shape}, expected {sum(pair) + least} or more along axis "
                f"{first + i} with pad {shown(pad)}",
            )
    found = pad_axes_backward(grad, first, around, kind)
    return found if cut is None else pad_axes(found, first, cut, "zeros")
