"""Channels laid out as places and back: views, and one copy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilewright.call_forms import kept_by_form
from tilewright.namespace.mixed import an_array
from tilewright.operands import invalid, to_integer

if TYPE_CHECKING:
    from tilewright.array import Array


def _factor(call: str, name: str, given: Any) -> int:
    factor = to_integer(call, name, given)
    if factor < 1:
        invalid(call, f"{name} is {factor}, expected 1 or more")
    return factor


def _planes(call: str, name: str, x: Any) -> Array:
    found = an_array(call, x, name)
    if found.ndim < 3:
        invalid(
            call,
            f"{name} has shape {found.shape}, expected 3 dimensions at least, [..., channels, "
            "height, width]",
        )
    return found


def _shuffled(call: str, name: str, x: Any, r: int) -> Array:
    x = _planes(call, name, x)
    *lead, channels, height, width = x.shape
    if channels % (r * r):
        invalid(call, f"{name} has {channels} channels, expected a multiple of {r * r}")
    n = len(lead)
    parts = x.reshape((*lead, channels // (r * r), r, r, height, width))
    order = (*range(n), n, n + 3, n + 1, n + 4, n + 2)
    result: Array = parts.transpose(order).reshape(
        (*lead, channels // (r * r), height * r, width * r)
    )
    return result


def _unshuffled(call: str, name: str, x: Any, r: int) -> Array:
    x = _planes(call, name, x)
    *lead, channels, height, width = x.shape
    if height % r or width % r:
        invalid(call, f"{name} has shape {x.shape}, expected multiples of {r} of the last two axes")
    n = len(lead)
    parts = x.reshape((*lead, channels, height // r, r, width // r, r))
    order = (*range(n), n, n + 2, n + 4, n + 1, n + 3)
    result: Array = parts.transpose(order).reshape(
        (*lead, channels * r * r, height // r, width // r)
    )
    return result


@kept_by_form
def pixel_shuffle(x: Array, /, upscale_factor: int) -> Array:
    """[..., channels * r * r, height, width] as [..., channels, height * r, width * r], of any
    dtype."""
    call = "pixel_shuffle"
    return _shuffled(call, "x", x, _factor(call, "upscale_factor", upscale_factor))


@kept_by_form
def pixel_unshuffle(x: Array, /, downscale_factor: int) -> Array:
    """What pixel_shuffle() made, as it was."""
    call = "pixel_unshuffle"
    return _unshuffled(call, "x", x, _factor(call, "downscale_factor", downscale_factor))


@kept_by_form
def pixel_shuffle_backward(grad: Array, /, upscale_factor: int) -> Array:
    """The gradient of pixel_shuffle() by x."""
    call = "pixel_shuffle_backward"
    return _unshuffled(call, "grad", grad, _factor(call, "upscale_factor", upscale_factor))


@kept_by_form
def pixel_unshuffle_backward(grad: Array, /, downscale_factor: int) -> Array:
    """The gradient of pixel_unshuffle() by x."""
    call = "pixel_unshuffle_backward"
    return _shuffled(call, "grad", grad, _factor(call, "downscale_factor", downscale_factor))


def _channels_of(call: str, name: str, x: Any, groups: int) -> Array:
    found = an_array(call, x, name)
    if found.ndim < 3 or found.shape[1] % groups:
        invalid(
            call,
            f"{name} has shape {found.shape}, expected [batch, channels, ...] with a multiple of "
            f"{groups} channels",
        )
    return found


def _swapped(x: Array, first: int) -> Array:
    batch, channels, *rest = x.shape
    parts = x.reshape((batch, first, channels // first, *rest))
    order = (0, 2, 1, *range(3, parts.ndim))
    result: Array = parts.transpose(order).reshape(x.shape)
    return result


@kept_by_form
def channel_shuffle(x: Array, /, groups: int) -> Array:
    """[batch, channels, ...] with its channels, in so many groups, one of each group after the
    other, of any dtype."""
    call = "channel_shuffle"
    count = _factor(call, "groups", groups)
    return _swapped(_channels_of(call, "x", x, count), count)


@kept_by_form
def channel_shuffle_backward(grad: Array, /, groups: int) -> Array:
    """The gradient of channel_shuffle() by x."""
    call = "channel_shuffle_backward"
    count = _factor(call, "groups", groups)
    grad = _channels_of(call, "grad", grad, count)
    return _swapped(grad, max(grad.shape[1] // count, 1))
