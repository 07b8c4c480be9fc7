"""Samples of classes that have a gradient by their scores."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilewright.nn.dropouts import to_generator
from tilewright.nn.running import floats, mapped, to_number, to_truth, wide_of
from tilewright.nn.softmaxes import softmax, softmax_backward
from tilewright.operands import invalid, to_axis
from tilewright.random.generator import Generator

if TYPE_CHECKING:
    from tilewright.array import Array
    from tilewright.nn.dropouts import State
    from tilewright.program import Value


def _perturbed(x: Value, noise: Value, tau: Value) -> Value:
    return (x + noise) / tau


def _over(x: Value, tau: Value) -> Value:
    return x / tau


def _soft(call: str, x: Array, tau: Any, axis: int, rng: Any) -> tuple[Array, float]:
    """The softmax of scores with noise, in the dtype that it is computed in, and tau."""
    heat = to_number(call, "tau", tau)
    if not heat > 0:
        invalid(call, f"tau is {heat}, expected more than 0")
    generator = to_generator(call, rng)
    # The same draws on the device of the scores, whichever the Generator's is.
    there = Generator(0, device=x.backend)
    there.state = generator.state
    noise = there.gumbel(size=x.shape, dtype=wide_of(x.dtype))
    generator._next(there.state["place"] - generator.state["place"])
    return softmax(mapped(call, _perturbed, noise, [x, noise, heat]), axis), heat


def gumbel_softmax(
    logits: Array, /, tau: float = 1.0, hard: bool = False, dim: int = -1, *,
    rng: Generator | State,
) -> Array:  # fmt: skip
    """softmax() of (logits + noise) / tau, with noise of Gumbel's distribution by `rng`, a
    Generator of tw.random or the state of one; with `hard` 1 where that is largest, and 0
    elsewhere."""
    from tilewright.namespace.creation import arange
    from tilewright.namespace.reductions import argmax

    call = "gumbel_softmax"
    (x,) = floats(call, logits=logits)
    axis, is_hard = to_axis(call, dim, x.shape, "dim"), to_truth(call, "hard", hard)
    soft, _ = _soft(call, x, tau, axis, rng)
    if not is_hard or not x.size:
        rounded: Array = soft.astype(x.dtype, copy=False)
        return rounded
    classes = arange(x.shape[axis], dtype="int32", device=x.backend)
    classes = classes.reshape((-1, *(1,) * (x.ndim - axis - 1)))
    first = argmax(soft, axis=axis, keepdims=True)
    found: Array = (classes == first.astype("int32", copy=False)).astype(x.dtype)
    return found


def gumbel_softmax_backward(
    grad: Array, logits: Array, /, tau: float = 1.0, hard: bool = False, dim: int = -1, *,
    rng: Generator | State,
) -> Array:  # fmt: skip
    """The gradient of gumbel_softmax() by logits, of the state that `rng` had before it; with
    `hard` that of what is not hard, as torch has it."""
    call = "gumbel_softmax_backward"
    x, grad = floats(call, logits=logits, grad=grad)
    to_truth(call, "hard", hard)
    if grad.shape != x.shape:
        invalid(call, f"grad has shape {grad.shape}, expected {x.shape} as logits has")
    axis = to_axis(call, dim, x.shape, "dim")
    soft, heat = _soft(call, x, tau, axis, rng)
    came = softmax_backward(grad.astype(soft.dtype, copy=False), soft, axis, result=soft)
    return mapped(call, _over, x, [came, heat])
