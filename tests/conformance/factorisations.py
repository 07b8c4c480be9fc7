"""What the tests of factorisations share: matrices, calls, and how far results may be off."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pytest
import tilewright as tw
from tilewright import Backend, _core

from .arguments import Name, lacks
from .workspace import Workspace, has_float64

if TYPE_CHECKING:
    from fuzz.draw import Draw

Array = npt.NDArray[Any]

#: of the trait, and with complex elements
TYPES = ["float32", "float64", "complex64", "complex128"]
REAL_OR_DOUBLE = Name("float32", also_wrong=("int32", "float16"))
#: on both sides of blocks of 32 and 64
SIZES = [1, 2, 3, 17, 32, 33, 64, 65, 100]
#: and beyond what one thread works on alone, where it is shared
LONG = [257, 600]


def kind_of(dtype: str) -> tuple[bool, str]:
    """is_complex and dtype, as the trait takes them."""
    return dtype.startswith("complex"), {"complex64": "float32", "complex128": "float64"}.get(
        dtype, dtype
    )


def real_of(dtype: str) -> str:
    return kind_of(dtype)[1]


def runs(be: Backend, op: str, dtype: str) -> bool:
    """Whether the backend factors such matrices."""
    return not lacks(be, op) and (real_of(dtype) == "float32" or has_float64(be))


def drawn_dtype(draw: Draw) -> str:
    """For the fuzzer: of all that the device takes."""
    return draw.one_of([d for d in TYPES if draw.doubles or real_of(d) == "float32"])


def parts(x: Array) -> Array:
    """A view of the real numbers that elements consist of."""
    return x.view(real_of(x.dtype.name)) if x.dtype.kind == "c" else x


def draw(rng: np.random.Generator, shape: Sequence[int], dtype: str) -> Array:
    x = rng.standard_normal(shape)
    if dtype.startswith("complex"):
        x = x + 1j * rng.standard_normal(shape)
    return np.asarray(x.astype(dtype))


def positive(rng: np.random.Generator, batch: int, n: int, dtype: str) -> Array:
    """Positive definite, with condition numbers of about 10."""
    x = draw(rng, (batch, n, n), dtype)
    product = x @ np.conj(np.swapaxes(x, -1, -2)) / max(n, 1)
    return np.asarray((product + 0.5 * np.eye(n)).astype(dtype))


def symmetric(rng: np.random.Generator, batch: int, n: int, dtype: str) -> Array:
    x = draw(rng, (batch, n, n), dtype)
    return np.asarray((x + np.conj(np.swapaxes(x, -1, -2))) / 2)


def wide(x: Array) -> Array:
    return x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)


def adjoint(x: Array) -> Array:
    return np.asarray(np.conj(np.swapaxes(x, -1, -2)))


def assert_near(got: Array, expected: Array, dtype: str, size: int, factor: float = 4.0) -> None:
    """Norms of differences within factor * (size + 8) rounding errors of the expected norm, for
    each matrix."""
    assert got.shape == expected.shape
    eps = float(np.finfo(real_of(dtype)).eps)
    scale = np.abs(wide(expected)).max(axis=(-2, -1), keepdims=True, initial=0)
    # Squares of what they are divided by it are in range.
    scale[scale == 0] = 1
    off = np.sqrt(np.sum(np.abs((wide(got) - wide(expected)) / scale) ** 2, axis=(-2, -1)))
    norm = np.sqrt(np.sum(np.abs(wide(expected) / scale) ** 2, axis=(-2, -1)))
    assert np.all(off <= factor * (size + 8) * eps * np.maximum(norm, 1e-30)), (off, norm)


def assert_orthonormal(q: Array, dtype: str, size: int) -> None:
    """Columns of length 1 at right angles."""
    one = np.broadcast_to(np.eye(q.shape[-1]), (*q.shape[:-2], q.shape[-1], q.shape[-1]))
    assert_near(adjoint(wide(q)) @ wide(q), one, dtype, size, 8.0)


@contextmanager
def panels_by(be: Backend, point: str, way: str) -> Iterator[None]:
    """GPUs factor panels this way, whatever their rows."""
    choices = _core._choices_of(be)
    if choices is None or point not in choices.points:
        yield
        return
    choices.force(point, way)
    try:
        yield
    finally:
        choices.force(point, "")


class Run:
    """A call of an op on new buffers."""

    def __init__(self, be: Backend, op: str, dtype: str) -> None:
        self.be, self.op, self.dtype = be, op, dtype

    def __call__(
        self,
        inputs: Sequence[Array],
        outputs: Sequence[tuple[Sequence[int], str]],
        *arguments: Any,
        order: Sequence[int] | None = None,
    ) -> list[Array]:
        """The outputs. Where the device lacks the op or dtype, the refusal is what is tested and
        there are none."""
        with Workspace(self.be) as ws:
            given = [ws.input(x) for x in inputs]
            made = [ws.room(shape, dtype) if np.prod(shape) else 0 for shape, dtype in outputs]
            buffers = [*given, *made]
            if order is not None:
                buffers = [buffers[i] for i in order]

            def call() -> None:
                getattr(self.be, self.op)(*buffers, *arguments, *kind_of(self.dtype))

            if not runs(self.be, self.op, self.dtype):
                with pytest.raises(tw.Unsupported, match=f"^{self.op}: .*cpu backend"):
                    call()
                return []
            call()
            return [
                ws.read(one) if one else np.empty(shape, dtype)
                for one, (shape, dtype) in zip(made, outputs, strict=True)
            ]
