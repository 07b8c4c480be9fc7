"""Losses of two Arrays of one shape and their gradients, by the names and arguments of
torch.nn.functional: each one launch, sums and means too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilewright.call_forms import kept_by_form
from tilewright.namespace.complex_math import choose
from tilewright.nn.formulas import constant, one_minus_sigmoid, softplus
from tilewright.nn.reduced_losses import loss, loss_gradient
from tilewright.nn.running import to_number, to_truth
from tilewright.operands import invalid

if TYPE_CHECKING:
    from tilewright.array import Array
    from tilewright.nn.reduced_losses import Grad
    from tilewright.program import Value

# Squares and absolute differences ----------------------------------------------------------------


def _square(x: Value, y: Value) -> Value:
    return (x - y) * (x - y)


def _square_slope(x: Value, y: Value) -> Value:
    return (x - y) * 2


def _absolute(x: Value, y: Value) -> Value:
    return abs(x - y)


def _absolute_slope(x: Value, y: Value) -> Value:
    return (x - y).sign()


def _smooth(x: Value, y: Value, beta: Value) -> Value:
    off = abs(x - y)
    return choose(off < beta, off * off / beta * 0.5, off - beta * 0.5)


def _smooth_slope(x: Value, y: Value, beta: Value) -> Value:
    off = x - y
    return choose(abs(off) < beta, off / beta, off.sign())


def _huber(x: Value, y: Value, delta: Value) -> Value:
    off = abs(x - y)
    return choose(off <= delta, off * off * 0.5, delta * (off - delta * 0.5))


def _huber_slope(x: Value, y: Value, delta: Value) -> Value:
    return (x - y).clip(-delta, delta)


@kept_by_form
def mse_loss(
    input: Array, target: Array, *, reduction: str = "mean", weight: Array | None = None
) -> Array:
    """Squares of the differences. `reduction` is "none", "mean" or "sum"; `weight` broadcasts to
    the input and multiplies each of its losses; a mean is over the sum of the weights."""
    return loss("mse_loss", _square, input, target, reduction, by_weight=True, weight=weight)


@kept_by_form
def mse_loss_backward(
    grad: Grad, input: Array, target: Array, *, reduction: str = "mean",
    weight: Array | None = None,
) -> Array:  # fmt: skip
    """The gradient of mse_loss() by input; `grad` is that by the loss, an Array or a number."""
    call = "mse_loss_backward"
    return loss_gradient(
        call, _square_slope, grad, input, target, reduction, by_weight=True, weight=weight
    )


@kept_by_form
def l1_loss(
    input: Array, target: Array, *, reduction: str = "mean", weight: Array | None = None
) -> Array:
    """Absolute differences."""
    return loss("l1_loss", _absolute, input, target, reduction, by_weight=True, weight=weight)


@kept_by_form
def l1_loss_backward(
    grad: Grad, input: Array, target: Array, *, reduction: str = "mean",
    weight: Array | None = None,
) -> Array:  # fmt: skip
    """The gradient of l1_loss() by input, 0 where that is the target."""
    call = "l1_loss_backward"
    return loss_gradient(
        call, _absolute_slope, grad, input, target, reduction, by_weight=True, weight=weight
    )


def _at_least(call: str, name: str, value: Any, *, above: bool = False) -> float:
    number = to_number(call, name, value)
    if not (number > 0 or (number == 0 and not above)):
        invalid(call, f"{name} is {number}, expected {'more than 0' if above else '0 or more'}")
    return number


@kept_by_form
def smooth_l1_loss(
    input: Array, target: Array, *, reduction: str = "mean", beta: float = 1.0,
    weight: Array | None = None,
) -> Array:  # fmt: skip
    """Differences less beta / 2, and below beta half their squares over it."""
    call = "smooth_l1_loss"
    numbers = [_at_least(call, "beta", beta)]
    return loss(call, _smooth, input, target, reduction, numbers, weight=weight)


@kept_by_form
def smooth_l1_loss_backward(
    grad: Grad, input: Array, target: Array, *, reduction: str = "mean", beta: float = 1.0,
    weight: Array | None = None,
) -> Array:  # fmt: skip
    """The gradient of smooth_l1_loss() by input."""
    call = "smooth_l1_loss_backward"
    numbers = [_at_least(call, "beta", beta)]
    return loss_gradient(
        call, _smooth_slope, grad, input, target, reduction, numbers, weight=weight
    )


@kept_by_form
def huber_loss(
    input: Array, target: Array, *, reduction: str = "mean", delta: float = 1.0,
    weight: Array | None = None,
) -> Array:  # fmt: skip
    """smooth_l1_loss() times delta: half the squares up to delta, and a line from there on."""
    call = "huber_loss"
    numbers = [_at_least(call, "delta", delta, above=True)]
    return loss(call, _huber, input, target, reduction, numbers, weight=weight)


@kept_by_form
def huber_loss_backward(
    grad: Grad, input: Array, target: Array, *, reduction: str = "mean", delta: float = 1.0,
    weight: Array | None = None,
) -> Array:  # fmt: skip
    """The gradient of huber_loss() by input."""
    call = "huber_loss_backward"
    numbers = [_at_least(call, "delta", delta, above=True)]
    return loss_gradient(call, _huber_slope, grad, input, target, reduction, numbers, weight=weight)


# Entropies ---------------------------------------------------------------------------------------


def _times(weight: Value, x: Value) -> Value:
    """Nothing of an infinity is nothing."""
    return choose(weight == 0, 0.0, weight * x)


def _entropy(p: Value, t: Value) -> Value:
    # As torch has it: no logarithm below -100, which would be infinite for p of 0 or 1.
    return -(t * p.log().max(-100.0) + (1 - t) * (-p).log1p().max(-100.0))


def _entropy_slope(p: Value, t: Value) -> Value:
    return (p - t) / ((1 - p) * p).max(1e-12)


def _logit_entropy(x: Value, t: Value, pos_weight: Value | None = None) -> Value:
    right = t if pos_weight is None else t * pos_weight
    return _times(1 - t, softplus(x)) + _times(right, softplus(-x))


def _logit_entropy_slope(x: Value, t: Value, pos_weight: Value | None = None) -> Value:
    right = t if pos_weight is None else t * pos_weight
    return (1 - t) * x.sigmoid() - right * one_minus_sigmoid(x)


@kept_by_form
def binary_cross_entropy(
    input: Array, target: Array, *, weight: Array | None = None, reduction: str = "mean"
) -> Array:
    """Minus target * log(input) + (1 - target) * log(1 - input), of probabilities; no logarithm is
    below -100. What is no probability gives NaN."""
    call = "binary_cross_entropy"
    return loss(call, _entropy, input, target, reduction, weight=weight)


@kept_by_form
def binary_cross_entropy_backward(
    grad: Grad, input: Array, target: Array, *, weight: Array | None = None,
    reduction: str = "mean",
) -> Array:  # fmt: skip
    """The gradient of binary_cross_entropy() by input."""
    call = "binary_cross_entropy_backward"
    return loss_gradient(call, _entropy_slope, grad, input, target, reduction, weight=weight)


@kept_by_form
def binary_cross_entropy_with_logits(
    input: Array, target: Array, *, weight: Array | None = None, reduction: str = "mean",
    pos_weight: Array | None = None,
) -> Array:  # fmt: skip
    """binary_cross_entropy() of sigmoid(input), at any size of input; pos_weight, which broadcasts,
    multiplies what the target has of 1."""
    call = "binary_cross_entropy_with_logits"
    return loss(
        call, _logit_entropy, input, target, reduction, weight=weight, pos_weight=pos_weight
    )


@kept_by_form
def binary_cross_entropy_with_logits_backward(
    grad: Grad, input: Array, target: Array, *, weight: Array | None = None,
    reduction: str = "mean", pos_weight: Array | None = None,
) -> Array:  # fmt: skip
    """The gradient of binary_cross_entropy_with_logits() by input."""
    call = "binary_cross_entropy_with_logits_backward"
    return loss_gradient(
        call, _logit_entropy_slope, grad, input, target, reduction, weight=weight,
        pos_weight=pos_weight,
    )  # fmt: skip


def _divergence(x: Value, t: Value) -> Value:
    return choose(t == 0, 0.0, t * (t.log() - x))


def _divergence_slope(x: Value, t: Value) -> Value:
    return choose(x.isnan(), x, -t)


def _log_divergence(x: Value, t: Value) -> Value:
    part = t.exp()
    return choose(part == 0, 0.0, part * (t - x))


def _log_divergence_slope(x: Value, t: Value) -> Value:
    return choose(x.isnan(), x, -t.exp())


@kept_by_form
def kl_div(
    input: Array, target: Array, *, reduction: str = "mean", log_target: bool = False
) -> Array:
    """target * (log(target) - input), of the logarithms of probabilities as input, and as target
    with `log_target`; 0 where the target is. `reduction` may be "batchmean" too, the sum over the
    first axis's size."""
    is_log = to_truth("kl_div", "log_target", log_target)
    formula = _log_divergence if is_log else _divergence
    return loss("kl_div", formula, input, target, reduction, (), ("batchmean",))


@kept_by_form
def kl_div_backward(
    grad: Grad, input: Array, target: Array, *, reduction: str = "mean", log_target: bool = False
) -> Array:
    """The gradient of kl_div() by input."""
    call = "kl_div_backward"
    is_log = to_truth(call, "log_target", log_target)
    formula = _log_divergence_slope if is_log else _divergence_slope
    return loss_gradient(call, formula, grad, input, target, reduction, (), ("batchmean",))


# Of signs and counts -----------------------------------------------------------------------------


def _soft_margin(x: Value, t: Value) -> Value:
    return softplus(-(t * x))


def _soft_margin_slope(x: Value, t: Value) -> Value:
    return -(t * one_minus_sigmoid(t * x))


def _hinge(x: Value, t: Value, margin: Value) -> Value:
    return choose(t == 1, x, (margin - x).max(0.0))


def _hinge_slope(x: Value, t: Value, margin: Value) -> Value:
    beyond = choose(x <= margin, constant(-1.0, x), 0.0)
    return choose(t == 1, 1.0, beyond)


def _poisson(x: Value, t: Value) -> Value:
    return x.exp() - t * x


def _poisson_slope(x: Value, t: Value) -> Value:
    return x.exp() - t


def _poisson_of_rates(x: Value, t: Value, eps: Value) -> Value:
    return x - _times(t, (x + eps).log())


def _poisson_of_rates_slope(x: Value, t: Value, eps: Value) -> Value:
    return 1 - t / (x + eps)


@kept_by_form
def soft_margin_loss(input: Array, target: Array, *, reduction: str = "mean") -> Array:
    """log(1 + exp(-target * input)), of targets of 1 and -1."""
    return loss("soft_margin_loss", _soft_margin, input, target, reduction)


@kept_by_form
def soft_margin_loss_backward(
    grad: Grad, input: Array, target: Array, *, reduction: str = "mean"
) -> Array:
    """The gradient of soft_margin_loss() by input."""
    call = "soft_margin_loss_backward"
    return loss_gradient(call, _soft_margin_slope, grad, input, target, reduction)


@kept_by_form
def hinge_embedding_loss(
    input: Array, target: Array, *, margin: float = 1.0, reduction: str = "mean"
) -> Array:
    """The input where the target is 1, and what it lacks to the margin where that is -1."""
    call = "hinge_embedding_loss"
    return loss(call, _hinge, input, target, reduction, [to_number(call, "margin", margin)])


@kept_by_form
def hinge_embedding_loss_backward(
    grad: Grad, input: Array, target: Array, *, margin: float = 1.0, reduction: str = "mean"
) -> Array:
    """The gradient of hinge_embedding_loss() by input."""
    call = "hinge_embedding_loss_backward"
    numbers = [to_number(call, "margin", margin)]
    return loss_gradient(call, _hinge_slope, grad, input, target, reduction, numbers)


@kept_by_form
def poisson_nll_loss(
    input: Array, target: Array, *, log_input: bool = True, eps: float = 1e-8,
    reduction: str = "mean",
) -> Array:  # fmt: skip
    """exp(input) - target * input, of the logarithms of rates; of rates themselves, where log_input
    is False, input - target * log(input + eps)."""
    call = "poisson_nll_loss"
    numbers = [_at_least(call, "eps", eps)]
    if to_truth(call, "log_input", log_input):
        return loss(call, _poisson, input, target, reduction)
    return loss(call, _poisson_of_rates, input, target, reduction, numbers)


@kept_by_form
def poisson_nll_loss_backward(
    grad: Grad, input: Array, target: Array, *, log_input: bool = True, eps: float = 1e-8,
    reduction: str = "mean",
) -> Array:  # fmt: skip
    """The gradient of poisson_nll_loss() by input."""
    call = "poisson_nll_loss_backward"
    numbers = [_at_least(call, "eps", eps)]
    if to_truth(call, "log_input", log_input):
        return loss_gradient(call, _poisson_slope, grad, input, target, reduction)
    return loss_gradient(call, _poisson_of_rates_slope, grad, input, target, reduction, numbers)
