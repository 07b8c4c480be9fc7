"""One matrix product, laid out, run and compared: what the tests of all gemm calls share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
import tilewright as tw

from . import bounds, references
from .workspace import Workspace, assert_unchanged_outside, has_float64, matrices, normal, span

TRANSPOSES = ["none", "transpose", "conj_transpose"]

# How A, B and C may be stored.
TYPES = [("float32", "float32"), ("float16", "float16"), ("float16", "float32")]
DOUBLE = ("float64", "float64")


@dataclass
class Product:
    """C = alpha * op(A) * op(B) + beta * C for `count` matrices. Leading dimensions and strides are
    the tightest ones plus the padding given here; a stride of 0 shares the matrix."""

    m: int
    n: int
    k: int
    trans_a: str = "none"
    trans_b: str = "none"
    alpha: float = 1.0
    beta: float = 0.0
    dtype: str = "float32"
    output_dtype: str = "float32"
    pad_a: int = 0
    pad_b: int = 0
    pad_c: int = 0
    count: int = 1
    gap: int = 0
    share_a: bool = False
    share_b: bool = False
    c_is: float | None = None
    numbers: Callable[..., Any] = normal
    layout: dict[str, tuple[int, int, int, int, int]] = field(init=False)

    def __post_init__(self) -> None:
        a = (self.m, self.k) if self.trans_a == "none" else (self.k, self.m)
        b = (self.k, self.n) if self.trans_b == "none" else (self.n, self.k)
        self.layout = {
            "a": self._layout(*a, self.pad_a, self.share_a),
            "b": self._layout(*b, self.pad_b, self.share_b),
            "c": self._layout(self.m, self.n, self.pad_c, False),
        }

    def _layout(
        self, rows: int, cols: int, pad: int, share: bool
    ) -> tuple[int, int, int, int, int]:
        ld = max(cols, 1) + pad
        stride = 0 if share else span(rows, cols, ld) + self.gap
        return rows, cols, ld, stride, self.count

    def flat(self, rng: np.random.Generator, name: str, dtype: str) -> Any:
        """The matrices with NaN in all padding: what is read there shows in the result."""
        layout = self.layout[name]
        flat = np.full(span(*layout), np.nan, dtype)
        part = matrices(flat, *layout)
        part[...] = self.numbers(rng, part.shape, dtype)
        return flat

    def view(self, name: str) -> Callable[[Any], Any]:
        return lambda flat: matrices(flat, *self.layout[name])

    def check(
        self,
        ws: Workspace,
        rng: np.random.Generator,
        call: Callable[..., None],
        rounding: str | None = None,
        exactly: bool = False,
    ) -> None:
        """Runs call(sizes, alpha, a, lda, ...) on fresh buffers and compares. Where the device
        lacks float64, the refusal is what is tested."""
        a = self.flat(rng, "a", self.dtype)
        b = self.flat(rng, "b", self.dtype)
        c = self.flat(rng, "c", self.output_dtype)
        if self.c_is is not None:
            self.view("c")(c)[...] = self.c_is
        buffer_a, buffer_b, buffer_c = ws.input(a), ws.input(b), ws.output(c)
        if self.dtype == "float64" and not has_float64(ws.be):
            with pytest.raises(tw.Unsupported, match="no float64 in kernels"):
                call(self, buffer_a, buffer_b, buffer_c)
            return
        call(self, buffer_a, buffer_b, buffer_c)

        exact, magnitudes = self.exact(a, b, c, rounding)
        got = ws.read(buffer_c)
        tolerance = 0.0 if exactly else self.tolerance(a, b, magnitudes, rounding)
        bounds.assert_within(self.view("c")(got), exact, tolerance)
        assert_unchanged_outside(got, c, self.view("c"))

    def operands(self, a: Any, b: Any) -> tuple[Any, Any]:
        """op(A) and op(B) in float64."""
        return (
            references.transposed(self.view("a")(a).astype(np.float64), self.trans_a),
            references.transposed(self.view("b")(b).astype(np.float64), self.trans_b),
        )

    def tolerance(self, a: Any, b: Any, magnitudes: Any, rounding: str | None) -> Any:
        error = bounds.inner_product(magnitudes, self.k, self.dtype)
        if rounding == "high" and self.alpha != 0:
            left, right = self.operands(a, b)
            scale = abs(self.alpha)
            products = scale * (np.abs(left) @ np.abs(right))
            error = error + bounds.split_product(products, scale * left, right, self.k)
        return error

    def exact(self, a: Any, b: Any, c: Any, rounding: str | None) -> tuple[Any, Any]:
        """The product in float64, and the same of absolute values."""
        if rounding not in (None, "high"):
            a, b = references.rounded(a, rounding), references.rounded(b, rounding)
        left, right = self.operands(a, b)
        old = self.view("c")(c).astype(np.float64)
        alpha, beta = float(np.float32(self.alpha)), float(np.float32(self.beta))
        exact = np.zeros((self.count, self.m, self.n))
        magnitudes = np.zeros(exact.shape)
        if alpha != 0:
            exact += alpha * (left @ right)
            magnitudes += abs(alpha) * (np.abs(left) @ np.abs(right))
        if beta != 0:
            exact += beta * old
            magnitudes += abs(beta) * np.abs(old)
        return exact, magnitudes

    def sizes(self) -> tuple[Any, ...]:
        return self.trans_a, self.trans_b, self.m, self.n, self.k, self.alpha

    def ld(self, name: str) -> int:
        return self.layout[name][2]

    def stride(self, name: str) -> int:
        return self.layout[name][3]
