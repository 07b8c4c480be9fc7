"""linear: a layer's product with its bias, its activation and its gate."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from tilewright.array import Array
from tilewright.call_forms import kept_by_form
from tilewright.nn import activations
from tilewright.nn.convolving import ConvGradients, by_bias, to_wanted
from tilewright.nn.norms import to_eps
from tilewright.nn.row_norms import rms_norm
from tilewright.nn.running import floats, to_activation, to_target, to_truth
from tilewright.operands import invalid, name_of
from tilewright.quant.tensor import FLOATS, QuantizedTensor

if TYPE_CHECKING:
    from collections.abc import Sequence

ALL = (True, True, True)
NEEDED = ("x", "weight")


@kept_by_form
def linear(
    x: Array, weight: Array | QuantizedTensor, bias: Array | None = None, *,
    activation: str | None = None, gated: bool = False, negative_slope: float = 0.01,
    norm: Array | None = None, eps: float | None = None, residual: Array | None = None,
    out: Array | None = None,
) -> Array:  # fmt: skip
    """x [..., features] times weight [results, features] transposed, and bias [results]. What comes
    of it goes through an activation, where one is given: a name of tw.Activation. With `gated` the
    activation of the first half of the results is multiplied by the other half. linear_backward()
    is of what comes before both. A weight in blocks, for x of float32 or float16, is multiplied by
    as it is.

    With `norm` [features], or `eps` alone, x is rms_norm(x, features, norm, eps); eps is 1e-5
    unless given. A `residual` of the result's shape is added last. `out` takes the result and may
    be the residual, which is then added to where it lies."""
    call = "linear"
    if all(one is None for one in (norm, eps, residual, out)) and gated is False:
        made = _short(x, weight, bias, to_activation(call, activation, negative_slope))
        if made is not None:
            return made
    named = {"x": x, "weight": weight, "bias": bias, "norm": norm, "residual": residual}
    given = {name: one for name, one in named.items() if one is not None or name in NEEDED}
    if isinstance(weight, QuantizedTensor):
        del given["weight"]
    found = dict(zip(given, floats(call, **given), strict=True))
    x = found["x"]
    if isinstance(weight, QuantizedTensor):
        _check_quantized(call, x, weight)
    else:
        weight = found["weight"]
    _check_linear(call, x, weight)
    bent, slope = to_activation(call, activation, negative_slope)
    results, features = weight.shape
    for name, size in (("bias", results), ("norm", features)):
        if name in found and found[name].shape != (size,):
            invalid(call, f"{name} has shape {found[name].shape}, expected {(size,)}")
    if to_truth(call, "gated", gated):
        if results % 2:
            invalid(call, f"weight has {results} results, expected an even number with gated")
        results //= 2
    shape = (*x.shape[:-1], results)
    if residual is not None and residual.shape != shape:
        invalid(call, f"residual has shape {residual.shape}, expected {shape}")
    least = None
    if norm is not None or eps is not None:
        least = to_eps(call, 1e-5 if eps is None else eps)
    target = to_target(call, out, x, shape, x.dtype)
    if target.size == 0:
        return target
    layer = Layer(weight, found.get("bias"), bent, slope, gated, found.get("norm"), least)
    if x.dtype not in FLOATS or features == 0:
        made = _plainly(x, layer)
        target[...] = made if residual is None else made + residual
        return target
    whole = target
    operands = [one for name, one in found.items() if name != "residual"]
    if not target.is_contiguous or any(target.overlaps(one) for one in operands):
        whole = x.backend._new(shape, x.dtype)
    if residual is not None and residual is not whole:
        whole[...] = residual
    _run(x, layer, whole, residual is not None)
    if whole is not target:
        target[...] = whole
    return target


def _short(x: Any, weight: Any, bias: Any, activation: tuple[str, float]) -> Array | None:
    """The common form: Arrays that the trait's linear() takes as they are. None for any other."""
    is_alike = type(x) is Array and x._same_floats(weight, *(() if bias is None else (bias,)))
    if not is_alike or x.dtype not in FLOATS or weight.ndim != 2 or x.ndim < 1:
        return None
    results, features = weight.shape
    if x.shape[-1] != features or (bias is not None and bias.shape != (results,)):
        return None
    if results == 0 or x.size == 0:
        return None
    target: Array = x.backend._new((*x.shape[:-1], results), x.dtype)
    _run(x, Layer(weight, bias, *activation, False, None, None), target, False)
    return target


class Layer(NamedTuple):
    """What linear() makes of x, checked."""

    weight: Array | QuantizedTensor
    bias: Array | None
    activation: str
    slope: float
    gated: bool
    norm: Array | None
    eps: float | None


def _run(x: Array, layer: Layer, out: Array, adds: bool) -> None:
    features, weight, is_turned = x.shape[-1], layer.weight, True
    lines = [None if one is None else one._contiguous() for one in (layer.bias, layer.norm)]
    if isinstance(weight, QuantizedTensor):
        x.backend.quantized_matmul(
            x._contiguous(), weight.packed, out, weight.format, x.size // features, out.shape[-1],
            features, features, out.shape[-1], name_of(x.dtype), lines[0], layer.activation,
            layer.slope, layer.gated, layer.eps, lines[1], adds,
        )  # fmt: skip
        return
    if not weight.is_contiguous and weight.T.is_contiguous:
        weight, is_turned = weight.T, False
    x.backend.linear(
        "transpose" if is_turned else "none", x.size // features, out.shape[-1], features,
        x._contiguous(), features, weight._contiguous(), weight.shape[1], out, out.shape[-1],
        lines[0], layer.activation, layer.slope, layer.gated, name_of(x.dtype), layer.eps, lines[1],
        adds,
    )  # fmt: skip


def _plainly(x: Array, layer: Layer) -> Array:
    """Of other dtypes, op by op."""
    if layer.eps is not None:
        x = rms_norm(x, x.shape[-1], layer.norm, layer.eps)
    product = x @ layer.weight.T
    if layer.bias is not None:
        product = product + layer.bias
    half = product.shape[-1] // 2
    bent = product[..., :half] if layer.gated else product
    if layer.activation == "leaky_relu":
        bent = activations.leaky_relu(bent, layer.slope)
    elif layer.activation == "gelu_tanh":
        bent = activations.gelu(bent, "tanh")
    elif layer.activation != "none":
        of: Any = getattr(activations, layer.activation)
        bent = of(bent)
    return bent * product[..., half:] if layer.gated else bent


def _check_quantized(call: str, x: Array, weight: QuantizedTensor) -> None:
    if x.dtype not in FLOATS:
        invalid(call, f"x is {x.dtype}, expected float32 or float16 with a weight in blocks")
    if x.backend is not weight.device:
        invalid(
            call,
            f"x is on {x.backend.device.id}, weight on {weight.device.device.id}; expected one "
            "device",
        )


def _check_linear(call: str, x: Array, weight: Array | QuantizedTensor) -> None:
    if weight.ndim != 2:
        invalid(call, f"weight has shape {weight.shape}, expected two dimensions")
    if x.ndim < 1 or x.shape[-1] != weight.shape[1]:
        invalid(
            call,
            f"x has shape {x.shape}, expected {weight.shape[1]} elements along its last axis, as "
            f"weight has, whose shape is {weight.shape}",
        )


@kept_by_form
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
    count = math.prod(x.shape[:-1])
    lines, rows = grad.reshape((count, weight.shape[0])), x.reshape((count, x.shape[-1]))
    return ConvGradients(
        grad @ weight if of_x else None,
        lines.T @ rows if of_weight else None,
        by_bias(lines) if of_bias else None,
    )
