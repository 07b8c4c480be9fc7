"""The products of a layer with what is in front of each of them and what follows."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

from tilewright.models.weights import Stacked
from tilewright.namespace.creation import empty
from tilewright.nn.activations import gelu, relu, silu
from tilewright.nn.linears import linear
from tilewright.nn.row_norms import rms_norm

if TYPE_CHECKING:
    from tilewright.array import Array
    from tilewright.quant.tensor import QuantizedTensor

#: as files call them, and the op `linear`
ACTIVATIONS = {
    "gelu": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "relu": "relu",
    "silu": "silu",
}


class Norm(NamedTuple):
    """The root mean square norm of what goes into a product."""

    weight: Array
    eps: float


BENT: dict[str, Callable[[Array], Array]] = {
    "gelu": gelu,
    "gelu_tanh": partial(gelu, approximate="tanh"),
    "relu": relu,
    "silu": silu,
}
#: rows that products norm by themselves, of any weights
FEW = 4


def dense(
    x: Array, weight: Array | QuantizedTensor | Stacked, bias: Array | None = None,
    activation: str | None = None, gated: bool = False, norm: Norm | None = None,
    onto: Array | None = None,
) -> Array:  # fmt: skip
    """activation(x, normed with `norm`, times weight transposed, and bias); with `gated` that of
    the first half of each row, times the second half. With `onto` it is added to that Array where
    it lies, which is returned."""
    if isinstance(weight, Stacked):
        return _of_stacked(x, weight, bias, activation, gated, norm, onto)
    bent = None if activation is None else ACTIVATIONS[activation]
    of_norm, eps = norm or (None, None)
    return linear(
        x, weight, bias, activation=bent, gated=gated, norm=of_norm, eps=eps, residual=onto,
        out=onto,
    )  # fmt: skip


def _of_stacked(
    x: Array, weight: Stacked, bias: Array | None, activation: str | None, gated: bool,
    norm: Norm | None, onto: Array | None,
) -> Array:  # fmt: skip
    if norm is not None and x.size > FEW * x.shape[-1]:
        x, norm = rms_norm(x, x.shape[-1], norm.weight, norm.eps), None
    of_norm, eps = norm or (None, None)
    ends = list(accumulate((one.shape[0] for one in weight.parts), initial=0))
    found = empty((*x.shape[:-1], ends[-1]), dtype=x.dtype, device=x.backend)
    for one, first, past in zip(weight.parts, ends, ends[1:], strict=False):
        of_bias = None if bias is None else bias[first:past]
        linear(x, one, of_bias, norm=of_norm, eps=eps, out=found[..., first:past])
    if activation is not None:
        half = found.shape[-1] // 2 if gated else found.shape[-1]
        bent = BENT[ACTIVATIONS[activation]](found[..., :half])
        found = bent * found[..., half:] if gated else bent
    if onto is None:
        return found
    onto += found
    return onto
