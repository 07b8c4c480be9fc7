"""The likelihood of targets under normal distributions, and its gradients."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from tilewright.call_forms import kept_by_form
from tilewright.nn.reduced_losses import divisor_of, loss, to_grad, to_reduction
from tilewright.nn.running import alike, floats, launch, spread, to_number, to_truth
from tilewright.nn.similarities import gradient_of, to_shape_of

if TYPE_CHECKING:
    from tilewright.array import Array
    from tilewright.nn.reduced_losses import Grad
    from tilewright.program import Value


class GaussianGradients(NamedTuple):
    """The gradients by the means and by their variances, None where these are a number."""

    input: Array
    var: Array | None


def _likelihood(x: Value, t: Value, eps: Value, more: Value, var: Value) -> Value:
    spread_ = var.max(eps)
    return (spread_.log() + (x - t) * (x - t) / spread_) * 0.5 + more


def _slopes(
    grad: Value, scale: Value, x: Value, t: Value, var: Value, eps: Value
) -> tuple[Value, Value]:
    came, most = grad * scale, var.max(eps)
    off = (x - t) / most
    return came * off, came * (1 / most - off * off) * 0.5


def _variances(call: str, var: Any, like: Array) -> tuple[Array, Array | None]:
    """As a view of the input's shape, and as they were given, as an Array."""
    from tilewright.namespace.creation import full

    if isinstance(var, (int, float)) and not isinstance(var, bool):
        number = full((), float(var), dtype=like.dtype, device=like.backend)
        return spread(call, "var", number, like.shape), None
    own = floats(call, input=like, var=var)[1]
    lines = own.reshape((*own.shape, 1)) if own.shape == like.shape[:-1] else own
    if own.shape == like.shape:
        lines = own
    return spread(call, "var", lines, like.shape), own


@kept_by_form
def gaussian_nll_loss(
    input: Array, target: Array, var: Array | float, *, full: bool = False, eps: float = 1e-6,
    reduction: str = "mean",
) -> Array:  # fmt: skip
    """Half of log(var) + (input - target)^2 / var, and with `full` of log(2 pi) too. `var`, eps at
    least, has the input's shape, one element for each line of the last axis, or is a number."""
    call = "gaussian_nll_loss"
    input, target = alike(call, input=input, target=target)
    more = 0.5 * math.log(2 * math.pi) if to_truth(call, "full", full) else 0.0
    numbers = [to_number(call, "eps", eps), more]
    whole, _ = _variances(call, var, input)
    return loss(call, _likelihood, input, target, reduction, numbers, var=whole)


@kept_by_form
def gaussian_nll_loss_backward(
    grad: Grad, input: Array, target: Array, var: Array | float, *, full: bool = False,
    eps: float = 1e-6, reduction: str = "mean",
) -> GaussianGradients:  # fmt: skip
    """The gradients of gaussian_nll_loss() by input and var, as torch has them: a variance below
    eps gets what one of eps does. One launch, and a sum where a variance is of a line."""
    call = "gaussian_nll_loss_backward"
    x, t = alike(call, input=input, target=target)
    to_truth(call, "full", full)
    how, least = to_reduction(call, reduction), to_number(call, "eps", eps)
    whole, own = _variances(call, var, x)
    came: Any = to_grad(call, grad, x, x.shape if how == "none" else ())
    came = came if isinstance(came, float) else spread(call, "grad", came, x.shape)
    divisor = divisor_of(how, x.shape, x.size)
    found = [x.backend._new(x.shape, x.dtype), gradient_of(x if own is None else own, x.shape)]
    if x.size:
        scale = 1 / divisor if divisor else 1.0
        launch(_slopes, x, [came, scale, x, t, whole, least], found, x.shape)
    if own is None:
        return GaussianGradients(found[0], None)
    if own.shape == x.shape[:-1] and own.shape != x.shape:
        by_lines = to_shape_of(found[1], own.reshape((*own.shape, 1)))
        return GaussianGradients(found[0], by_lines.reshape(own.shape, copy=False))
    return GaussianGradients(found[0], to_shape_of(found[1], own))
