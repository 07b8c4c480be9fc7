"""The products of a layer with what follows each of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from tilewright.array import Array
from tilewright.namespace.manipulation import broadcast_to
from tilewright.nn.linears import linear
from tilewright.nn.row_norms import rms_norm
from tilewright.nn.running import mapped

if TYPE_CHECKING:
    from tilewright.program import Value
    from tilewright.quant.tensor import QuantizedTensor

ACTIVATIONS: dict[str, Callable[[Value], Value]] = {
    "gelu": lambda x: x.gelu(),
    "gelu_new": lambda x: x.gelu_tanh(),
    "gelu_pytorch_tanh": lambda x: x.gelu_tanh(),
    "relu": lambda x: x.max(0.0),
    "silu": lambda x: x.silu(),
}
#: how the op `linear` calls them
OF_OP = {"gelu_new": "gelu_tanh", "gelu_pytorch_tanh": "gelu_tanh"}


def _biased(of: Callable[[Value], Value]) -> Callable[..., Value]:
    return lambda x, bias: of(x + bias)


def _gated(of: Callable[[Value], Value]) -> Callable[..., Value]:
    return lambda gate, x: of(gate) * x


BIASED = {name: _biased(of) for name, of in ACTIVATIONS.items()}
GATED = {name: _gated(of) for name, of in ACTIVATIONS.items()}


class Norm(NamedTuple):
    """The root mean square norm of what goes into a product."""

    weight: Array
    eps: float


def dense(
    x: Array, weight: Array | QuantizedTensor, bias: Array | None = None,
    activation: str | None = None, gated: bool = False, norm: Norm | None = None,
    onto: Array | None = None,
) -> Array:  # fmt: skip
    """activation(x, normed with `norm`, times weight transposed, and bias); with `gated` that of
    the first half of each row, times the second half. With `onto` it is added to that Array where
    it lies, which is returned."""
    if isinstance(weight, Array):
        bent = None if activation is None else OF_OP.get(activation, activation)
        of_norm, eps = (None, None) if norm is None else norm
        return linear(
            x, weight, bias, activation=bent, gated=gated, norm=of_norm, eps=eps, residual=onto,
            out=onto,
        )  # fmt: skip
    if norm is not None:
        x = rms_norm(x, x.shape[-1], norm.weight, norm.eps)
    found = _of_quantized(x, weight, bias, activation, gated)
    if onto is None:
        return found
    onto += found
    return onto


def _of_quantized(
    x: Array, weight: QuantizedTensor, bias: Array | None, activation: str | None, gated: bool
) -> Array:
    product: Array = x @ weight.T
    if bias is not None and (gated or activation is None):
        product = product + bias
    if activation is None:
        return product
    if gated:
        half = product.shape[-1] // 2
        gate, other = product[..., :half], product[..., half:]
        return mapped("models", GATED[activation], gate, [gate, other])
    if bias is None:
        return mapped("models", ACTIVATIONS[activation], product, [product])
    return mapped(
        "models", BIASED[activation], product, [product, broadcast_to(bias, product.shape)]
    )
