"""linear: a layer's product with its bias, its activation and its gate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilewright.nn import activations
from tilewright.nn.convolving import ConvGradients, by_bias, to_wanted
from tilewright.nn.running import floats, to_activation, to_truth
from tilewright.operands import FLOAT16, FLOAT32, invalid

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tilewright.array import Array

ALL = (True, True, True)


def linear(
    x: Array, weight: Array, bias: Array | None = None, *, activation: str | None = None,
    gated: bool = False, negative_slope: float = 0.01,
) -> Array:  # fmt: skip
    """x [..., features] times weight [results, features] transposed, and bias [results]. What comes
    of it goes through an activation, where one is given: a name of tw.Activation. With `gated` the
    activation of the first half of the results is multiplied by the other half. linear_backward()
    is of what comes before both."""
    call = "linear"
    given = {"x": x, "weight": weight} | ({} if bias is None else {"bias": bias})
    x, weight, *others = floats(call, **given)
    _check_linear(call, x, weight)
    offsets = others[0] if others else None
    if offsets is not None and offsets.shape != weight.shape[:1]:
        invalid(call, f"bias has shape {offsets.shape}, expected {weight.shape[:1]}")
    bent, slope = to_activation(call, activation, negative_slope)
    results, features = weight.shape
    if to_truth(call, "gated", gated):
        if results % 2:
            invalid(call, f"weight has {results} results, expected an even number with gated")
        results //= 2
    if x.dtype not in (FLOAT16, FLOAT32) or features == 0:
        return _plainly(x, weight, offsets, bent, slope, gated)
    out = x.backend._new((*x.shape[:-1], results), x.dtype)
    if out.size == 0:
        return out
    rows, held, is_turned = x._contiguous(), weight, True
    if not weight.is_contiguous and weight.T.is_contiguous:
        held, is_turned = weight.T, False
    x.backend.linear(
        "transpose" if is_turned else "none", x.size // features, results, features, rows, features,
        held._contiguous(), features if is_turned else weight.shape[0], out, results,
        None if offsets is None else offsets._contiguous(), bent, slope, gated, x.dtype.name,
    )  # fmt: skip
    return out


def _plainly(
    x: Array, weight: Array, bias: Array | None, activation: str, slope: float, gated: bool
) -> Array:
    """Of other dtypes, op by op."""
    product = x @ weight.T
    if bias is not None:
        product = product + bias
    half = product.shape[-1] // 2
    bent = product[..., :half] if gated else product
    if activation == "leaky_relu":
        bent = activations.leaky_relu(bent, slope)
    elif activation == "gelu_tanh":
        bent = activations.gelu(bent, "tanh")
    elif activation != "none":
        of: Any = getattr(activations, activation)
        bent = of(bent)
    return bent * product[..., half:] if gated else bent


def _check_linear(call: str, x: Array, weight: Array) -> None:
    if weight.ndim != 2:
        invalid(call, f"weight has shape {weight.shape}, expected two dimensions")
    if x.ndim < 1 or x.shape[-1] != weight.shape[1]:
        invalid(
            call,
            f"x has shape {x.shape}, expected {weight.shape[1]} elements along its last axis, as "
            f"weight has, whose shape is {weight.shape}",
        )


def linear_backward(
    grad: Array, x: Array, weight: Array, *, wanted: Sequence[bool] = ALL
) -> ConvGradients:
    """The gradients of linear() by x, weight and bias, those of the three that are `wanted`."""
    call = "linear_backward"
    grad, x, weight = floats(call, grad=grad, x=x, weight=weight)
    _check_linear(call, x, weight)
    expected = (*x.shape[:-1], weight.shape[0])
    if grad.shape != expected:
        invalid(call, f"grad has shape {grad.shape}, expected {expected}")
    of_x, of_weight, of_bias = to_wanted(call, wanted)
    lines = grad.reshape((-1, weight.shape[0])) if grad.size else grad.reshape((0, expected[-1]))
    rows = x.reshape((lines.shape[0], x.shape[-1]))
    return ConvGradients(
        grad @ weight if of_x else None,
        lines.T @ rows if of_weight else None,
        by_bias(lines) if of_bias else None,
    )
