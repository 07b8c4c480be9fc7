"""Bilinear forms of two Arrays, and their gradients."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from tilewright.call_forms import kept_by_form
from tilewright.namespace import reductions
from tilewright.nn.running import FLOAT32, floats, reduced
from tilewright.operands import HALVES, invalid, shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tilewright.array import Array
    from tilewright.program import Value


class BilinearGradients(NamedTuple):
    """The gradients by both inputs, weight and bias, None for what is not asked for."""

    input1: Array | None
    input2: Array | None
    weight: Array | None
    bias: Array | None


class _Form(NamedTuple):
    """Operands as they are computed with, their lines in one axis, and the dtype of results."""

    x: Array
    y: Array
    weight: Array
    others: list[Array]
    lead: tuple[int, ...]
    dtype: Any


def _form(call: str, input1: Any, input2: Any, weight: Any, **others: Any) -> _Form:
    x, y, w, *more = floats(call, input1=input1, input2=input2, weight=weight, **others)
    if w.ndim != 3:
        invalid(call, f"weight has shape {w.shape}, expected three dimensions")
    if x.ndim < 1 or y.ndim != x.ndim or x.shape[:-1] != y.shape[:-1]:
        invalid(call, f"input1 has shape {x.shape} and input2 {y.shape}, expected lines alike")
    if x.shape[-1] != w.shape[1] or y.shape[-1] != w.shape[2]:
        invalid(
            call,
            f"weight has shape {w.shape}, expected (results, {x.shape[-1]}, {y.shape[-1]}), as the "
            "inputs have along their last axes",
        )
    dtype, lead = x.dtype, x.shape[:-1]
    wide = [one.astype(FLOAT32) if dtype in HALVES else one for one in (x, y, w, *more)]
    count = math.prod(lead)
    lines = [one.reshape((count, one.shape[-1])) for one in wide[:2]]
    return _Form(lines[0], lines[1], wide[2], wide[3:], lead, dtype)


def _times(x: Value, y: Value) -> Value:
    return x * y


def _plus(total: Value, bias: Value) -> Value:
    return total + bias


def _itself(total: Value) -> Value:
    return total


@kept_by_form
def bilinear(input1: Array, input2: Array, weight: Array, bias: Array | None = None) -> Array:
    """input1 @ weight[i] @ input2 for each result i, of weight [results, features of input1,
    features of input2], and bias [results]: a product, and a sum of it with input2. 16 bits are
    computed in float32."""
    from tilewright.namespace.manipulation import broadcast_to

    call = "bilinear"
    of = _form(call, input1, input2, weight, **({} if bias is None else {"bias": bias}))
    results, first, second = of.weight.shape
    if of.others and of.others[0].shape != (results,):
        invalid(call, f"bias has shape {of.others[0].shape}, expected {(results,)}")
    count = of.x.shape[0]
    shape = (count, results, second)
    product = of.x @ of.weight.transpose((1, 0, 2)).reshape((first, results * second))
    across = broadcast_to(of.y.reshape((count, 1, second)), shape)
    inputs = [broadcast_to(one, (count, results)) for one in of.others]
    found = reduced(
        "sum", _times, product, [product.reshape(shape), across], [2], of.dtype,
        _plus if inputs else _itself, inputs=inputs, shape=shape,
    )  # fmt: skip
    return found.reshape((*of.lead, results), copy=False)


@kept_by_form
def bilinear_backward(
    grad: Array, input1: Array, input2: Array, weight: Array, *,
    wanted: Sequence[bool] = (True, True, True, True),
) -> BilinearGradients:  # fmt: skip
    """The gradients of bilinear() by input1, input2, weight and bias, those of the four that are
    `wanted`: products with what came times the other input."""
    call = "bilinear_backward"
    of = _form(call, input1, input2, weight, grad=grad)
    if (
        not isinstance(wanted, (tuple, list))
        or len(wanted) != 4
        or not all(isinstance(one, bool) for one in wanted)
    ):
        invalid(call, f"wanted is {shown(wanted)}, expected four of True and False")
    results, first, second = of.weight.shape
    came = of.others[0]
    if came.shape != (*of.lead, results):
        invalid(call, f"grad has shape {came.shape}, expected {(*of.lead, results)}")
    count = of.x.shape[0]
    came = came.reshape((count, results))
    by_first = by_second = by_weight = by_bias = None
    if wanted[0]:
        across = (came.reshape((count, results, 1)) * of.y.reshape((count, 1, second))).reshape(
            (count, results * second)
        )
        columns = of.weight.transpose((0, 2, 1)).reshape((results * second, first))
        by_first = _stored(across @ columns, of, (*of.lead, first))
    if wanted[1] or wanted[2]:
        across = (came.reshape((count, results, 1)) * of.x.reshape((count, 1, first))).reshape(
            (count, results * first)
        )
        if wanted[1]:
            columns = of.weight.reshape((results * first, second))
            by_second = _stored(across @ columns, of, (*of.lead, second))
        if wanted[2]:
            by_weight = _stored(across.T @ of.y, of, (results, first, second))
    if wanted[3]:
        by_bias = _stored(reductions.sum(came, axis=0), of, (results,))
    return BilinearGradients(by_first, by_second, by_weight, by_bias)


def _stored(found: Array, of: _Form, shape: tuple[int, ...]) -> Array:
    whole: Array = found.reshape(shape, copy=False).astype(of.dtype, copy=False)
    return whole
