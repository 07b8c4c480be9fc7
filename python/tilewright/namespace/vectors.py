"""NumPy's products of vectors, with its arguments for axes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilewright.array import Array
from tilewright.call_forms import kept_by_form
from tilewright.namespace import products
from tilewright.namespace.complex_functions import conj
from tilewright.namespace.linear import matmul
from tilewright.namespace.manipulation import moveaxis
from tilewright.namespace.mixed import together, written
from tilewright.operands import invalid

if TYPE_CHECKING:
    from tilewright.operands import ArrayLike

__all__ = ["cross", "matvec", "outer", "vdot", "vecmat"]


@kept_by_form
def outer(a: ArrayLike, b: ArrayLike, out: Array | None = None) -> Array:
    """Every element of a times every one of b, both as one dimension."""
    x, y = (one.reshape(-1) for one in together("outer", a=a, b=b))
    return written("outer", out, products.outer(x, y))


@kept_by_form
def cross(
    a: ArrayLike,
    b: ArrayLike,
    axisa: int = -1,
    axisb: int = -1,
    axisc: int = -1,
    axis: int | None = None,
) -> Array:
    """The vectors at right angles to those of 3 elements along axisa and axisb, along axisc."""
    if axis is not None:
        axisa = axisb = axisc = axis
    x, y = together("cross", a=a, b=b)
    for name, one in (("a", x), ("b", y)):
        if one.ndim == 0:
            invalid("cross", f"{name} has no dimension, expected one at least")
    found = products.cross(moveaxis(x, axisa, -1), moveaxis(y, axisb, -1))
    return moveaxis(found, -1, axisc)


@kept_by_form
def vdot(a: ArrayLike, b: ArrayLike, /) -> Array:
    """The sum of the products of all elements, those of a conjugated."""
    x, y = together("vdot", a=a, b=b)
    if x.size != y.size:
        invalid("vdot", f"a has {x.size} elements and b {y.size}, expected as many")
    return products.vecdot(x.reshape(-1), y.reshape(-1))


def _check_last(call: str, x1: Array, x2: Array, ranks: tuple[int, int]) -> None:
    for name, one, rank in (("x1", x1, ranks[0]), ("x2", x2, ranks[1])):
        if one.ndim < rank:
            invalid(call, f"{name} has shape {one.shape}, expected {rank} dimensions at least")


@kept_by_form
def matvec(x1: ArrayLike, x2: ArrayLike, /, *, out: Array | None = None) -> Array:
    """Matrices in the last two axes of x1 times vectors in the last one of x2."""
    x, y = together("matvec", x1=x1, x2=x2)
    _check_last("matvec", x, y, (2, 1))
    return written("matvec", out, matmul(x, y[..., None])[..., 0])


@kept_by_form
def vecmat(x1: ArrayLike, x2: ArrayLike, /, *, out: Array | None = None) -> Array:
    """Vectors in the last axis of x1, conjugated, times matrices in the last two of x2."""
    x, y = together("vecmat", x1=x1, x2=x2)
    _check_last("vecmat", x, y, (1, 2))
    left: Any = conj(x) if x.dtype.kind == "c" else x
    return written("vecmat", out, matmul(left[..., None, :], y)[..., 0, :])
