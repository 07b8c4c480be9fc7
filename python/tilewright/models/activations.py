"""What stands between the two products of a layer, in one launch."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tilewright.namespace.manipulation import broadcast_to
from tilewright.nn.running import mapped

if TYPE_CHECKING:
    from tilewright.array import Array
    from tilewright.program import Value

ACTIVATIONS: dict[str, Callable[[Value], Value]] = {
    "gelu": lambda x: x.gelu(),
    "gelu_new": lambda x: x.gelu_tanh(),
    "gelu_pytorch_tanh": lambda x: x.gelu_tanh(),
    "relu": lambda x: x.max(0.0),
    "silu": lambda x: x.silu(),
}


def _biased(of: Callable[[Value], Value]) -> Callable[..., Value]:
    return lambda x, bias: of(x + bias)


def _gated(of: Callable[[Value], Value]) -> Callable[..., Value]:
    return lambda gate, x: of(gate) * x


BIASED = {name: _biased(of) for name, of in ACTIVATIONS.items()}
GATED = {name: _gated(of) for name, of in ACTIVATIONS.items()}


def biased(name: str, x: Array, bias: Array) -> Array:
    """The activation of x + bias."""
    return mapped("models", BIASED[name], x, [x, broadcast_to(bias, x.shape)])


def gated(name: str, both: Array) -> Array:
    """The activation of the first half of each row, times the second half."""
    half = both.shape[-1] // 2
    gate, x = both[..., :half], both[..., half:]
    return mapped("models", GATED[name], gate, [gate, x])
