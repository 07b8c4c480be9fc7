"""Normalisations of a sum with a residual, and that sum, in one launch: what transformers have
between their layers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple, overload

from tilewright.call_forms import kept_by_form
from tilewright.nn.norms import to_eps
from tilewright.nn.row_norms import in_lines, in_one_launch, is_one_launch, layer_norm, rms_norm
from tilewright.nn.running import alike, to_truth

if TYPE_CHECKING:
    from tilewright.array import Array


class AddedNorm(NamedTuple):
    """What is normalised of a sum, and the sum."""

    result: Array
    sum: Array


def _added(
    op: str, call: str, x: Array, residual: Array, normalized_shape: Any, weight: Any, bias: Any,
    eps: Any, return_sum: Any,
) -> AddedNorm | Array:  # fmt: skip
    x, residual = alike(call, x=x, residual=residual)
    split = in_lines(call, x, normalized_shape, weight, bias)
    least, with_sum = to_eps(call, eps), to_truth(call, "return_sum", return_sum)
    parameters = [weight] if op == "rmsnorm" else [weight, bias]
    if is_one_launch(x):
        result, total = in_one_launch(op, x, split, parameters, least, residual, with_sum)
        return result if total is None else AddedNorm(result, total)
    whole = x + residual
    if op == "rmsnorm":
        result = rms_norm(whole, normalized_shape, weight, least)
    else:
        result = layer_norm(whole, normalized_shape, weight, bias, least)
    return AddedNorm(result, whole) if with_sum else result


@overload
def add_rms_norm(
    x: Array,
    residual: Array,
    normalized_shape: int | tuple[int, ...],
    /,
    weight: Array | None = None,
    eps: float = 1e-5,
    *,
    return_sum: Literal[True] = True,
) -> AddedNorm: ...
@overload
def add_rms_norm(
    x: Array,
    residual: Array,
    normalized_shape: int | tuple[int, ...],
    /,
    weight: Array | None = None,
    eps: float = 1e-5,
    *,
    return_sum: Literal[False],
) -> Array: ...
@overload
def add_rms_norm(
    x: Array,
    residual: Array,
    normalized_shape: int | tuple[int, ...],
    /,
    weight: Array | None = None,
    eps: float = 1e-5,
    *,
    return_sum: bool = True,
) -> AddedNorm | Array: ...
@kept_by_form
def add_rms_norm(
    x: Array, residual: Array, normalized_shape: int | tuple[int, ...], /,
    weight: Array | None = None, eps: float = 1e-5, *, return_sum: bool = True,
) -> AddedNorm | Array:  # fmt: skip
    """rms_norm() of x + residual, and, unless return_sum is False, that sum, which the next
    residual is. One launch, of bfloat16 and float64 two."""
    return _added(
        "rmsnorm", "add_rms_norm", x, residual, normalized_shape, weight, None, eps, return_sum
    )


@overload
def add_layer_norm(
    x: Array,
    residual: Array,
    normalized_shape: int | tuple[int, ...],
    /,
    weight: Array | None = None,
    bias: Array | None = None,
    eps: float = 1e-5,
    *,
    return_sum: Literal[True] = True,
) -> AddedNorm: ...
@overload
def add_layer_norm(
    x: Array,
    residual: Array,
    normalized_shape: int | tuple[int, ...],
    /,
    weight: Array | None = None,
    bias: Array | None = None,
    eps: float = 1e-5,
    *,
    return_sum: Literal[False],
) -> Array: ...
@overload
def add_layer_norm(
    x: Array,
    residual: Array,
    normalized_shape: int | tuple[int, ...],
    /,
    weight: Array | None = None,
    bias: Array | None = None,
    eps: float = 1e-5,
    *,
    return_sum: bool = True,
) -> AddedNorm | Array: ...
@kept_by_form
def add_layer_norm(
    x: Array, residual: Array, normalized_shape: int | tuple[int, ...], /,
    weight: Array | None = None, bias: Array | None = None, eps: float = 1e-5, *,
    return_sum: bool = True,
) -> AddedNorm | Array:  # fmt: skip
    """layer_norm() of x + residual, as add_rms_norm(). One launch, of bfloat16 and float64
    two."""
    return _added(
        "layer_norm", "add_layer_norm", x, residual, normalized_shape, weight, bias, eps,
        return_sum,
    )  # fmt: skip
