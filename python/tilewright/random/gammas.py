"""Gamma distributions, and those that are made of them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from tilewright.array import Array
from tilewright.namespace import elementwise
from tilewright.operands import check_stored, invalid, name_of
from tilewright.random import distributions
from tilewright.random.arguments import float_dtype, put, size_of_result
from tilewright.random.floats import Floats

if TYPE_CHECKING:
    import numpy.typing as npt

    from tilewright.random.arguments import Parameter, Size


class Gammas(Floats):
    """Marsaglia and Tsang's method, which tries until it fits; so these wait for the device. NaN
    where a parameter in an Array is none."""

    def standard_gamma(
        self,
        shape: Parameter,
        size: Size = None,
        dtype: npt.DTypeLike = "float32",
        out: Array | None = None,
    ) -> Array:
        (given,) = self._parameters("standard_gamma", {"shape": shape})
        sizes = size_of_result("standard_gamma", size, out, [given])
        result = self._gamma("standard_gamma", "shape", given, sizes, dtype)
        return result if out is None else put("standard_gamma", out, result)

    def gamma(
        self,
        shape: Parameter,
        scale: Parameter = 1.0,
        size: Size = None,
        dtype: npt.DTypeLike = "float32",
    ) -> Array:
        given, factor = self._parameters("gamma", {"shape": shape, "scale": scale})
        if not isinstance(factor, Array) and not factor >= 0:
            invalid("gamma", f"scale is {factor}, expected 0 or more")
        sizes = size_of_result("gamma", size, None, [given, factor])
        result = self._gamma("gamma", "shape", given, sizes, dtype)
        result *= factor
        return result

    def chisquare(
        self, df: Parameter, size: Size = None, dtype: npt.DTypeLike = "float32"
    ) -> Array:
        (given,) = self._parameters("chisquare", {"df": df}, above=0)
        sizes = size_of_result("chisquare", size, None, [given])
        return self._chisquare("chisquare", "df", given, sizes, dtype)

    def noncentral_chisquare(
        self,
        df: Parameter,
        nonc: Parameter,
        size: Size = None,
        dtype: npt.DTypeLike = "float32",
    ) -> Array:
        call = "noncentral_chisquare"
        given = self._noncentral_parameters(call, {"df": df}, nonc)
        sizes = size_of_result(call, size, None, given)
        return self._noncentral(call, "df", given[0], given[1], sizes, dtype)

    def f(
        self,
        dfnum: Parameter,
        dfden: Parameter,
        size: Size = None,
        dtype: npt.DTypeLike = "float32",
    ) -> Array:
        above, below = self._parameters("f", {"dfnum": dfnum, "dfden": dfden}, above=0)
        sizes = size_of_result("f", size, None, [above, below])
        x = self._chisquare("f", "dfnum", above, sizes, dtype)
        y = self._chisquare("f", "dfden", below, sizes, dtype)
        found: Array = (x * below / (y * above)).astype(x.dtype)
        return found

    def noncentral_f(
        self,
        dfnum: Parameter,
        dfden: Parameter,
        nonc: Parameter,
        size: Size = None,
        dtype: npt.DTypeLike = "float32",
    ) -> Array:
        call = "noncentral_f"
        given = self._noncentral_parameters(call, {"dfnum": dfnum, "dfden": dfden}, nonc)
        above, below, apart = given
        sizes = size_of_result(call, size, None, given)
        x = self._noncentral(call, "dfnum", above, apart, sizes, dtype)
        y = self._chisquare(call, "dfden", below, sizes, dtype)
        found: Array = (x * below / (y * above)).astype(x.dtype)
        return found

    def beta(
        self,
        a: Parameter,
        b: Parameter,
        size: Size = None,
        dtype: npt.DTypeLike = "float32",
    ) -> Array:
        """x / (x + y) of two gamma distributions, by their logarithms."""
        first, second = self._parameters("beta", {"a": a, "b": b}, above=0)
        sizes = size_of_result("beta", size, None, [first, second])
        if self._are_usual(first, second):
            x = self._gamma("beta", "a", first, sizes, dtype)
            y = self._gamma("beta", "b", second, sizes, dtype)
            x /= x + y
            return x
        x = self._log_gamma("beta", "a", first, sizes, dtype)
        y = self._log_gamma("beta", "b", second, sizes, dtype)
        found: Array = (1 / (1 + elementwise.exp(y - x))).astype(x.dtype)
        return found

    def standard_t(
        self, df: Parameter, size: Size = None, dtype: npt.DTypeLike = "float32"
    ) -> Array:
        (given,) = self._parameters("standard_t", {"df": df}, above=0)
        sizes = size_of_result("standard_t", size, None, [given])
        half = given / 2
        below = self._gamma("standard_t", "df", half, sizes, dtype)
        above = self.standard_normal(sizes, dtype)
        above *= elementwise.sqrt(half / below)
        return above

    # How ------------------------------------------------------------------------------------------

    def _gamma(
        self, call: str, name: str, given: Any, sizes: tuple[int, ...], dtype: npt.DTypeLike
    ) -> Array:
        """Of a parameter that is read."""
        backend, wanted = self._backend(call), float_dtype(call, dtype)
        check_stored(call, backend, wanted)
        if isinstance(given, Array):
            draw = distributions.gamma_of_shapes(name_of(wanted))
            result = self._tried(backend, lambda _: draw, [given], sizes, wanted)
            return elementwise.where(result < 0, math.nan, result)
        if not 0 <= given < math.inf:
            invalid(call, f"{name} is {given}, expected a finite number of 0 or more")
        if given == 0:
            zeros = backend._new(sizes, wanted)
            zeros[...] = 0
            return zeros
        small = given < 1
        own = (given + 1 if small else given) - 1 / 3
        numbers = [own, 1 / math.sqrt(9 * own), *([min(1 / given, 1e38)] if small else [])]
        draw = distributions.gamma(name_of(wanted), small)
        return self._tried(backend, lambda _: draw, numbers, sizes, wanted)

    def _log_gamma(
        self, call: str, name: str, given: Any, sizes: tuple[int, ...], dtype: npt.DTypeLike
    ) -> Array:
        """Its logarithm, which reaches where floats of small shapes do not: that of one more, and
        of a power of a uniform number."""
        found = elementwise.log(self._gamma(call, name, given + 1, sizes, dtype))
        waited = self.standard_exponential(sizes, dtype)
        result: Array = (found - waited / given).astype(found.dtype)
        return result

    @staticmethod
    def _are_usual(*given: Any) -> bool:
        """Whether none is so small that floats may have 0 for all of them."""
        return all(not isinstance(one, Array) and one >= 0.5 for one in given)

    def _chisquare(
        self, call: str, name: str, given: Any, sizes: tuple[int, ...], dtype: npt.DTypeLike
    ) -> Array:
        result = self._gamma(call, name, given / 2, sizes, dtype)
        result *= 2
        return result

    def _noncentral_parameters(self, call: str, degrees: dict[str, Any], nonc: Any) -> list[Any]:
        found = self._parameters(call, degrees, above=0)
        (apart,) = self._parameters(call, {"nonc": nonc})
        if not isinstance(apart, Array) and not apart >= 0:
            invalid(call, f"nonc is {apart}, expected 0 or more")
        return [*found, apart]

    def _noncentral(
        self,
        call: str,
        name: str,
        df: Any,
        nonc: Any,
        sizes: tuple[int, ...],
        dtype: npt.DTypeLike,
    ) -> Array:
        if not isinstance(df, Array) and df > 1:
            # One of the squares is that of a normal number beside the middle.
            beside = self.standard_normal(sizes, dtype)
            wanted = beside.dtype
            beside += elementwise.sqrt(nonc) if isinstance(nonc, Array) else math.sqrt(nonc)
            rest = self._chisquare(call, name, df - 1, sizes, dtype)
            found: Array = (rest + elementwise.square(beside)).astype(wanted)
            return found
        more = self._poisson(call, nonc / 2, sizes).astype(float_dtype(call, dtype))
        return self._chisquare(call, name, more * 2 + df, sizes, dtype)

    def _poisson(self, call: str, mean: Any, sizes: tuple[int, ...]) -> Array:
        raise NotImplementedError
