"""Distributions of counts."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright.array import Array
from tilewright.namespace import elementwise
from tilewright.operands import invalid, shown
from tilewright.random import counts, tables
from tilewright.random.arguments import FLOATS, size_of_result
from tilewright.random.gammas import Gammas
from tilewright.reading import default_integer

if TYPE_CHECKING:
    from collections.abc import Callable

    from tilewright.random.arguments import Parameter, Size
    from tilewright.random.philox import Draw
    from tilewright.random.tables import Table

# What parameters that are numbers reach to; in Arrays they reach to counts.MOST.
MOST = 2**30


class Discrete(Gammas):
    """Integers of the default dtype. -1 where a parameter in an Array is none."""

    def poisson(self, lam: Parameter = 1.0, size: Size = None) -> Array:
        (mean,) = self._parameters("poisson", {"lam": lam})
        return self._poisson("poisson", mean, size_of_result("poisson", size, None, [mean]))

    def _poisson(self, call: str, mean: Any, sizes: tuple[int, ...]) -> Array:
        if not isinstance(mean, Array):
            self._check_count(call, "lam", mean, whole=False)
            return self._of_table(call, tables.poisson(mean), sizes)
        return self._counted(call, counts.poisson, [mean], sizes)

    def binomial(self, n: Parameter, p: Parameter, size: Size = None) -> Array:
        tries, chance = self._parameters("binomial", {"n": n, "p": p})
        sizes = size_of_result("binomial", size, None, [tries, chance])
        return self._binomial("binomial", tries, chance, sizes)

    def _binomial(self, call: str, n: Any, p: Any, sizes: tuple[int, ...]) -> Array:
        are_numbers = not isinstance(n, Array) and not isinstance(p, Array)
        if not isinstance(n, Array):
            self._check_count(call, "n", n, MOST if are_numbers else counts.MOST)
        if not isinstance(p, Array) and not 0 <= p <= 1:
            invalid(call, f"p is {p}, expected 0 to 1")
        if are_numbers:
            return self._of_table(call, tables.binomial(int(n), p), sizes)
        return self._counted(call, counts.binomial, [n, p], sizes)

    def hypergeometric(
        self, ngood: Parameter, nbad: Parameter, nsample: Parameter, size: Size = None
    ) -> Array:
        """How many of nsample drawn ones are good, where none is put back."""
        given = {"ngood": ngood, "nbad": nbad, "nsample": nsample}
        found = self._parameters("hypergeometric", given)
        sizes = size_of_result("hypergeometric", size, None, found)
        return self._hypergeometric("hypergeometric", found, sizes)

    def _hypergeometric(self, call: str, given: list[Any], sizes: tuple[int, ...]) -> Array:
        are_numbers = not any(isinstance(one, Array) for one in given)
        for name, one in zip(("ngood", "nbad", "nsample"), given, strict=True):
            if not isinstance(one, Array):
                self._check_count(call, name, one, MOST if are_numbers else counts.MOST)
        if not are_numbers:
            return self._counted(call, counts.hypergeometric, given, sizes)
        good, bad, sample = (int(one) for one in given)
        if sample > good + bad:
            invalid(call, f"nsample is {sample}, expected {good + bad} at most, ngood + nbad")
        return self._of_table(call, tables.hypergeometric(good, bad, sample), sizes)

    def negative_binomial(self, n: Parameter, p: Parameter, size: Size = None) -> Array:
        """How many fail before n succeed: Poisson's distribution of a mean of a gamma one."""
        call = "negative_binomial"
        wins, chance = self._parameters(call, {"n": n, "p": p}, above=0)
        if not isinstance(chance, Array) and chance > 1:
            invalid(call, f"p is {chance}, expected more than 0, and 1 at most")
        sizes = size_of_result(call, size, None, [wins, chance])
        odds = (1 - chance) / chance
        if not isinstance(odds, Array) and not isinstance(wins, Array):
            far = odds * (wins + 24 + 10 * math.sqrt(wins))
            if far > counts.MOST:
                invalid(
                    call,
                    f"n is {wins} and p is {chance}, which give counts beyond {counts.MOST}",
                )
        means = self._gamma(call, "n", wins, sizes, "float32") * odds
        return self._poisson(call, means, sizes)

    def geometric(self, p: Parameter, size: Size = None) -> Array:
        """How many tries it takes."""
        (chance,) = self._parameters("geometric", {"p": p})
        waited = self.standard_exponential(size_of_result("geometric", size, None, [chance]))
        if isinstance(chance, Array):
            waited = elementwise.floor(waited * (-1 / elementwise.log1p(-chance))) + 1
            is_right = (chance > 0) & (chance <= 1)
            return elementwise.where(is_right, waited, -1).astype(default_integer(waited.backend))
        if not 0 < chance <= 1:
            invalid("geometric", f"p is {chance}, expected more than 0, and 1 at most")
        waited *= 0 if chance == 1 else -1 / math.log1p(-chance)
        found: Array = waited.astype(default_integer(waited.backend)) + 1
        return found

    def logseries(self, p: float, size: Size = None) -> Array:
        """By Kemp's method (1981); p is a number."""
        chance = self._scalar("logseries", "p", p)
        if not 0 <= chance < 1:
            invalid("logseries", f"p is {chance}, expected 0 or more, and less than 1")
        sizes = size_of_result("logseries", size, None, [])
        backend = self._backend("logseries")
        numbers = [chance, min(math.log1p(-chance), -1e-30)]
        result = self._tried(backend, lambda _: counts.logseries(), numbers, sizes, FLOATS[0])
        return result.astype(default_integer(backend))

    def zipf(self, a: float, size: Size = None) -> Array:
        """By Devroye's method (1986), of a number a, in float32: counts from 2**24 on have its
        digits, and none is above half of what the default integers hold."""
        power = self._scalar("zipf", "a", a)
        if not 1 < power < math.inf:
            invalid("zipf", f"a is {power}, expected a finite number of more than 1")
        sizes = size_of_result("zipf", size, None, [])
        backend = self._backend("zipf")
        integer = default_integer(backend)
        less = min(max(power - 1, 2.0**-20), 100.0)
        numbers = [less, -1 / less, 2.0**less, float(np.iinfo(integer).max // 2)]
        result = self._tried(backend, lambda _: counts.zipf(), numbers, sizes, FLOATS[0])
        return result.astype(integer)

    # How ------------------------------------------------------------------------------------------

    def _scalar(self, call: str, name: str, given: Any) -> float:
        (one,) = self._parameters(call, {name: given})
        if isinstance(one, Array):
            if one.ndim > 0:
                invalid(call, f"{name} is {shown(given)}, expected a number")
            return float(one)
        return float(one)

    @staticmethod
    def _check_count(
        call: str, name: str, given: float, most: int = MOST, *, whole: bool = True
    ) -> None:
        if not 0 <= given <= most:
            invalid(call, f"{name} is {given}, expected 0 to {most}")
        if whole and given != int(given):
            invalid(call, f"{name} is {given}, expected an integer")

    def _of_table(self, call: str, table: Table, sizes: tuple[int, ...]) -> Array:
        from tilewright.namespace.selection import searchsorted

        backend = self._backend(call)
        words = self.bits(sizes)
        if table.words.size == 0:
            found = backend._new(sizes, default_integer(backend))
            found[...] = table.first
            return found
        ends = backend._upload(table.words)
        found = searchsorted(ends, words, side="right").astype(default_integer(backend))
        if table.first:
            found += table.first
        return found

    def _counted(
        self,
        call: str,
        draw_of: Callable[[tuple[bool, ...]], Draw],
        given: list[Any],
        sizes: tuple[int, ...],
    ) -> Array:
        backend = self._backend(call)
        result = self._tried(backend, draw_of, given, sizes, FLOATS[0])
        return result.astype(default_integer(backend))

    def bits(self, size: Size = None) -> Array:
        raise NotImplementedError
