"""Adaptive pooling: as many windows along an axis as are asked for, of as equal lengths as there
are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Protocol, cast, overload

from tilewright.call_forms import kept_by_form
from tilewright.nn.running import floats, to_truth
from tilewright.nn.windows import Parts, check_grad, max_gradient, pooled, pooled_backward

if TYPE_CHECKING:
    from collections.abc import Callable

    from tilewright.array import Array
    from tilewright.nn.windows import Sizes

    class AdaptiveMaxPool(Protocol):
        @overload
        def __call__(
            self, x: Array, /, output_size: Any, return_indices: Literal[False] = False
        ) -> Array: ...
        @overload
        def __call__(
            self, x: Array, /, output_size: Any, return_indices: Literal[True]
        ) -> tuple[Array, Array]: ...
        @overload
        def __call__(
            self, x: Array, /, output_size: Any, return_indices: bool
        ) -> Array | tuple[Array, Array]: ...


def _as_max_pool(function: Callable[..., Array | tuple[Array, Array]]) -> AdaptiveMaxPool:
    """With the types of what return_indices gives."""
    return cast("AdaptiveMaxPool", kept_by_form(function))


def _means(call: str, axes: int, x: Any, output_size: Any) -> Array:
    (x,) = floats(call, x=x)
    return pooled("mean", x, Parts(call, x, axes, output_size))[0]


def _means_gradient(call: str, axes: int, grad: Any, x: Any, output_size: Any) -> Array:
    x, grad = floats(call, x=x, grad=grad)
    parts = Parts(call, x, axes, output_size)
    check_grad(call, grad, parts)
    return pooled_backward("mean", grad, x, parts)


def _max(
    call: str, axes: int, x: Any, output_size: Any, return_indices: Any
) -> Array | tuple[Array, Array]:
    (x,) = floats(call, x=x)
    parts = Parts(call, x, axes, output_size)
    with_places = to_truth(call, "return_indices", return_indices)
    found, places = pooled("max", x, parts, with_places=with_places)
    return found if places is None else (found, places)


def _max_gradient(call: str, axes: int, grad: Any, x: Any, output_size: Any, indices: Any) -> Array:
    x, grad = floats(call, x=x, grad=grad)
    return max_gradient(call, grad, x, Parts(call, x, axes, output_size), indices)


@kept_by_form
def adaptive_avg_pool1d(x: Array, /, output_size: Sizes) -> Array:
    """As many means of equal parts of the last axis as output_size says; parts share an element
    where they do not come out even."""
    return _means("adaptive_avg_pool1d", 1, x, output_size)


@kept_by_form
def adaptive_avg_pool2d(x: Array, /, output_size: Any) -> Array:
    """adaptive_avg_pool1d() along the last two axes; None leaves an axis as it is."""
    return _means("adaptive_avg_pool2d", 2, x, output_size)


@kept_by_form
def adaptive_avg_pool3d(x: Array, /, output_size: Any) -> Array:
    """adaptive_avg_pool1d() along the last three axes; None leaves an axis as it is."""
    return _means("adaptive_avg_pool3d", 3, x, output_size)


@kept_by_form
def adaptive_avg_pool1d_backward(grad: Array, x: Array, /, output_size: Sizes) -> Array:
    """The gradient of adaptive_avg_pool1d() by x, of which only the shape counts."""
    return _means_gradient("adaptive_avg_pool1d_backward", 1, grad, x, output_size)


@kept_by_form
def adaptive_avg_pool2d_backward(grad: Array, x: Array, /, output_size: Any) -> Array:
    """The gradient of adaptive_avg_pool2d() by x, of which only the shape counts."""
    return _means_gradient("adaptive_avg_pool2d_backward", 2, grad, x, output_size)


@kept_by_form
def adaptive_avg_pool3d_backward(grad: Array, x: Array, /, output_size: Any) -> Array:
    """The gradient of adaptive_avg_pool3d() by x, of which only the shape counts."""
    return _means_gradient("adaptive_avg_pool3d_backward", 3, grad, x, output_size)


@_as_max_pool
def adaptive_max_pool1d(
    x: Array, /, output_size: Any, return_indices: bool = False
) -> Array | tuple[Array, Array]:
    """The largest of as many equal parts of the last axis as output_size says; with return_indices
    also where each is in its plane, as int32."""
    return _max("adaptive_max_pool1d", 1, x, output_size, return_indices)


@_as_max_pool
def adaptive_max_pool2d(
    x: Array, /, output_size: Any, return_indices: bool = False
) -> Array | tuple[Array, Array]:
    """adaptive_max_pool1d() along the last two axes; None leaves an axis as it is."""
    return _max("adaptive_max_pool2d", 2, x, output_size, return_indices)


@_as_max_pool
def adaptive_max_pool3d(
    x: Array, /, output_size: Any, return_indices: bool = False
) -> Array | tuple[Array, Array]:
    """adaptive_max_pool1d() along the last three axes; None leaves an axis as it is."""
    return _max("adaptive_max_pool3d", 3, x, output_size, return_indices)


@kept_by_form
def adaptive_max_pool1d_backward(
    grad: Array, x: Array, /, output_size: Any, *, indices: Array | None = None
) -> Array:
    """The gradient of adaptive_max_pool1d() by x, which the first of the largest gets."""
    return _max_gradient("adaptive_max_pool1d_backward", 1, grad, x, output_size, indices)


@kept_by_form
def adaptive_max_pool2d_backward(
    grad: Array, x: Array, /, output_size: Any, *, indices: Array | None = None
) -> Array:
    """The gradient of adaptive_max_pool2d() by x, which the first of the largest gets."""
    return _max_gradient("adaptive_max_pool2d_backward", 2, grad, x, output_size, indices)


@kept_by_form
def adaptive_max_pool3d_backward(
    grad: Array, x: Array, /, output_size: Any, *, indices: Array | None = None
) -> Array:
    """The gradient of adaptive_max_pool3d() by x, which the first of the largest gets."""
    return _max_gradient("adaptive_max_pool3d_backward", 3, grad, x, output_size, indices)
