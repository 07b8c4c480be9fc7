"""Distributions of floats."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from tilewright.array import Array
from tilewright.namespace import elementwise
from tilewright.operands import check_stored, invalid, shown
from tilewright.random import distributions
from tilewright.random.arguments import float_dtype, size_of_result, to_parameter
from tilewright.random.draws import Draws

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from tilewright.random.arguments import Parameter, Size


class Floats(Draws):
    """Distributions that an element has at once of its words, and such as are made of them."""

    def random(
        self, size: Size = None, dtype: npt.DTypeLike = "float32", out: Array | None = None
    ) -> Array:
        """In [0, 1), with 24 random bits in float32 and 53 in float64."""
        return self._continuous("random", "uniform", 0.0, 1.0, size, dtype, None, out)

    def uniform(
        self,
        low: Parameter = 0.0,
        high: Parameter = 1.0,
        size: Size = None,
        dtype: npt.DTypeLike = "float32",
    ) -> Array:
        """In [low, high)."""
        backend = self._backend("uniform")
        first = to_parameter("uniform", "low", low, backend)
        past = to_parameter("uniform", "high", high, backend)
        return self._continuous("uniform", "uniform", first, past - first, size, dtype)

    def standard_normal(
        self, size: Size = None, dtype: npt.DTypeLike = "float32", out: Array | None = None
    ) -> Array:
        """With mean 0 and deviation 1, by the method of Box and Muller."""
        return self._continuous("standard_normal", "normal", 0.0, 1.0, size, dtype, None, out)

    def normal(
        self,
        loc: Parameter = 0.0,
        scale: Parameter = 1.0,
        size: Size = None,
        dtype: npt.DTypeLike = "float32",
    ) -> Array:
        return self._continuous("normal", "normal", loc, scale, size, dtype)

    def lognormal(
        self,
        mean: Parameter = 0.0,
        sigma: Parameter = 1.0,
        size: Size = None,
        dtype: npt.DTypeLike = "float32",
    ) -> Array:
        """exp() of normal numbers."""
        given = {"mean": mean, "sigma": sigma}
        first, second = self._parameters("lognormal", given)
        if isinstance(first, Array) or isinstance(second, Array):
            return elementwise.exp(
                self._continuous("lognormal", "normal", first, second, size, dtype)
            )
        return self._continuous("lognormal", "lognormal", first, second, size, dtype)

    def standard_exponential(
        self,
        size: Size = None,
        dtype: npt.DTypeLike = "float32",
        method: Literal["zig", "inv"] = "zig",
        out: Array | None = None,
    ) -> Array:
        """Minus the logarithm of a uniform number, whatever `method` says."""
        call = "standard_exponential"
        if method not in ("zig", "inv"):
            invalid(call, f"method is {shown(method)}, expected 'zig' or 'inv'")
        return self._continuous(call, "exponential", 0.0, 1.0, size, dtype, None, out)

    def exponential(
        self, scale: Parameter = 1.0, size: Size = None, dtype: npt.DTypeLike = "float32"
    ) -> Array:
        return self._continuous("exponential", "exponential", 0.0, scale, size, dtype)

    def rayleigh(
        self, scale: Parameter = 1.0, size: Size = None, dtype: npt.DTypeLike = "float32"
    ) -> Array:
        return self._continuous("rayleigh", "rayleigh", 0.0, scale, size, dtype)

    def laplace(
        self,
        loc: Parameter = 0.0,
        scale: Parameter = 1.0,
        size: Size = None,
        dtype: npt.DTypeLike = "float32",
    ) -> Array:
        return self._continuous("laplace", "laplace", loc, scale, size, dtype)

    def logistic(
        self,
        loc: Parameter = 0.0,
        scale: Parameter = 1.0,
        size: Size = None,
        dtype: npt.DTypeLike = "float32",
    ) -> Array:
        return self._continuous("logistic", "logistic", loc, scale, size, dtype)

    def gumbel(
        self,
        loc: Parameter = 0.0,
        scale: Parameter = 1.0,
        size: Size = None,
        dtype: npt.DTypeLike = "float32",
    ) -> Array:
        return self._continuous("gumbel", "gumbel", loc, scale, size, dtype)

    def standard_cauchy(self, size: Size = None, dtype: npt.DTypeLike = "float32") -> Array:
        return self._continuous("standard_cauchy", "cauchy", 0.0, 1.0, size, dtype)

    def weibull(self, a: Parameter, size: Size = None, dtype: npt.DTypeLike = "float32") -> Array:
        return self._shaped("weibull", a, size, dtype, lambda x, a: x ** (1 / a))

    def pareto(self, a: Parameter, size: Size = None, dtype: npt.DTypeLike = "float32") -> Array:
        """Pareto's second distribution, from 0 on, as NumPy's."""
        return self._shaped("pareto", a, size, dtype, lambda x, a: elementwise.expm1(x / a))

    def power(self, a: Parameter, size: Size = None, dtype: npt.DTypeLike = "float32") -> Array:
        return self._shaped("power", a, size, dtype, lambda x, a: elementwise.exp(-x / a))

    def _shaped(
        self,
        name: str,
        a: Any,
        size: Size,
        dtype: npt.DTypeLike,
        of_exponential: Callable[[Array, Array], Array],
    ) -> Array:
        (shape,) = self._parameters(name, {"a": a})
        if isinstance(shape, Array):
            sizes = size_of_result(name, size, None, [shape])
            found = of_exponential(self.standard_exponential(sizes, dtype), shape)
            return elementwise.where(shape > 0, found, math.nan).astype(float_dtype(name, dtype))
        if not shape > 0:
            invalid(name, f"a is {shape}, expected more than 0")
        return self._continuous(name, name, 0.0, 1.0, size, dtype, shape)

    def triangular(
        self,
        left: Parameter,
        mode: Parameter,
        right: Parameter,
        size: Size = None,
        dtype: npt.DTypeLike = "float32",
    ) -> Array:
        """Between left and right, with a density that is highest at the mode. NaN where these are
        in another order in Arrays."""
        call = "triangular"
        first, top, last = self._parameters(call, {"left": left, "mode": mode, "right": right})
        are_numbers = not any(isinstance(one, Array) for one in (first, top, last))
        if are_numbers and (not first <= top <= last or first == last):
            invalid(
                call,
                f"left is {first}, mode {top} and right {last}, expected left <= mode <= right "
                "and left < right",
            )
        u = self.random(size_of_result(call, size, None, [first, top, last]), dtype)
        base = last - first
        rising = first + elementwise.sqrt(u * (base * (top - first)))
        falling = last - elementwise.sqrt((1 - u) * (base * (last - top)))
        found = elementwise.where(u * base < top - first, rising, falling)
        if not are_numbers:
            is_right = (first <= top) & (top <= last) & (base > 0)
            found = elementwise.where(is_right, found, math.nan)
        return found.astype(u.dtype)

    def wald(
        self,
        mean: Parameter,
        scale: Parameter,
        size: Size = None,
        dtype: npt.DTypeLike = "float32",
    ) -> Array:
        """Inverse Gaussian numbers, by Michael, Schucany and Haas (1976)."""
        call = "wald"
        middle, factor = self._parameters(call, {"mean": mean, "scale": scale}, above=0)
        sizes = size_of_result(call, size, None, [middle, factor])
        y = elementwise.square(self.standard_normal(sizes, dtype)) * middle
        u = self.random(sizes, dtype)
        root = elementwise.sqrt(y) + elementwise.sqrt(y + 4 * factor)
        x = 4 * middle * factor / elementwise.square(root)
        # The lesser of the two roots that y has, or the other one.
        found = elementwise.where(u * (middle + x) <= middle, x, middle * middle / x)
        return found.astype(u.dtype)

    def vonmises(
        self,
        mu: Parameter,
        kappa: Parameter,
        size: Size = None,
        dtype: npt.DTypeLike = "float32",
    ) -> Array:
        """Angles in [-pi, pi]; with the digits of float32 in float64 too."""
        call = "vonmises"
        wanted = float_dtype(call, dtype)
        check_stored(call, self._backend(call), wanted)
        middle, given = self._parameters(call, {"mu": mu, "kappa": kappa})
        if not isinstance(given, Array) and not 0 <= given < math.inf:
            invalid(call, f"kappa is {given}, expected a finite number of 0 or more")
        sizes = size_of_result(call, size, None, [middle, given])
        # The s of Best and Fisher's envelope, less 1; of little as it goes to, which any is right
        # for. Floats know no such turn from none below the least.
        least, little = 1e-6, 0.02
        if isinstance(given, Array):
            k = elementwise.maximum(given, least)
            more = elementwise.where(k < little, 1 / k + (k - 1), _envelope(k, elementwise.sqrt))
        else:
            k = max(given, least)
            more = 1 / k + (k - 1) if k < little else _envelope(k, math.sqrt)
        found = self._tried(
            self._backend(call), distributions.von_mises, [k, more], sizes, np.dtype("float32")
        )
        if isinstance(given, Array):
            found = elementwise.where(given >= 0, found, math.nan)
        found = found.astype(wanted) + middle
        turns = elementwise.floor((found + math.pi) * (1 / (2 * math.pi)))
        angles: Array = (found - turns * (2 * math.pi)).astype(wanted)
        return angles


def _envelope(kappa: Any, sqrt: Callable[[Any], Any]) -> Any:
    r = 1 + sqrt(1 + 4 * (kappa * kappa))
    rho = (r - sqrt(2 * r)) / (2 * kappa)
    return (1 - rho) * (1 - rho) / (2 * rho)
