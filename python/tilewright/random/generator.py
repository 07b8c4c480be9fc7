"""Generator: random Arrays by NumPy's names, the same stream on every device."""

from __future__ import annotations

import math
import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright import _core, tracing
from tilewright.array import Array
from tilewright.namespace.devices import to_backend
from tilewright.operands import check_stored, invalid, shown, to_dtype, to_integer
from tilewright.random import counts, distributions
from tilewright.random.arguments import (
    FLOATS,
    check_numbers,
    float_dtype,
    put,
    size_of_result,
    to_parameter,
)
from tilewright.random.permutations import Permutations
from tilewright.random.philox import Draw, Stream, run
from tilewright.reading import default_integer

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from tilewright.backend import Backend
    from tilewright.namespace.devices import Device
    from tilewright.random.arguments import Parameter, Size

MOST_TRIES = 64


class Generator(Permutations):
    """Random numbers by Philox4x32-10, which counts: element for element the same on every device,
    floats to their rounding. Made by default_rng(). Each call goes on where the one before ended.
    """

    def __init__(self, seed: Any = None, *, device: Device | None = None) -> None:
        if isinstance(seed, np.random.SeedSequence):
            self._seed = seed
        else:
            try:
                self._seed = np.random.SeedSequence(seed)
            except (TypeError, ValueError, OverflowError) as error:
                raise _core.InvalidArgument(
                    f"default_rng: seed is {shown(seed)}, expected integers of 0 or more: {error}"
                ) from error
        if device is not None:
            device = to_backend("default_rng", device)
        self._device = device
        words = [int(one) for one in self._seed.generate_state(4)]
        self._key, self._number, self._place = (words[0], words[1]), (words[2], words[3]), 0
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        where = "" if self._device is None else f", device={self._device.device.id!r}"
        return f"Generator(Philox4x32-10, place={self._place}{where})"

    @property
    def state(self) -> dict[str, Any]:
        """The key, the stream's number and how many blocks of four words it has given; to be set
        again, too."""
        return {"key": self._key, "stream": self._number, "place": self._place}

    @state.setter
    def state(self, state: dict[str, Any]) -> None:
        try:
            key, number = (tuple(int(one) for one in state[name]) for name in ("key", "stream"))
            place = int(state["place"])
            fits = all(0 <= one < 2**32 for one in (*key, *number)) and 0 <= place < 2**64
            if not fits or len(key) != 2 or len(number) != 2:
                raise ValueError
        except (KeyError, TypeError, ValueError) as error:
            raise _core.InvalidArgument(
                f"state is {shown(state)}, expected what another Generator's was"
            ) from error
        self._key, self._number, self._place = (key[0], key[1]), (number[0], number[1]), place

    def __getstate__(self) -> dict[str, Any]:
        device = None if self._device is None else self._device.device.id
        return {"seed": self._seed, "state": self.state, "device": device}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        try:
            self.__init__(kept["seed"], device=kept["device"])  # type: ignore[misc]
        except _core.Error:
            # The device is not here.
            self.__init__(kept["seed"])  # type: ignore[misc]
        self.state = kept["state"]

    def spawn(self, n_children: int) -> list[Generator]:
        """Generators of streams of their own."""
        count = to_integer("spawn", "n_children", n_children)
        if count < 0:
            invalid("spawn", f"n_children is {count}, expected 0 or more")
        return [Generator(one, device=self._device) for one in self._seed.spawn(count)]

    # What the distributions below are made by ---------------------------------------------------

    def _backend(self, call: str) -> Backend:
        return to_backend(call, self._device)

    def _next(self, blocks: int) -> Stream:
        if tracing.is_under_way():
            raise tracing.Refused(
                f"it draws from {self!r}, and each call of a function that tw.compile recorded "
                "would have the same numbers; draw before the call, and give it the Array"
            )
        with self._lock:
            place = self._place
            self._place = (place + blocks) & 0xFFFFFFFFFFFFFFFF
        return Stream(self._key, self._number, place)

    def _on(self, backend: Backend) -> Generator:
        """The same stream, with Arrays on this backend."""
        return _Elsewhere(self, backend)

    def _drawn(
        self, backend: Backend, draw: Draw, numbers: list[Any], count: int, dtype: np.dtype[Any]
    ) -> Array:
        blocks = -(-count // draw.results)
        whole = backend._new((blocks * draw.results,), dtype)
        run(backend, self._next(blocks), draw, numbers, whole)
        return whole[:count]

    def _continuous(
        self,
        call: str,
        name: str,
        loc: Any,
        scale: Any,
        size: Size,
        dtype: npt.DTypeLike,
        shape: Any = None,
        out: Array | None = None,
    ) -> Array:
        backend = self._backend(call)
        wanted = float_dtype(call, dtype)
        check_stored(call, backend, wanted)
        given = {"loc": loc, "scale": scale, **({} if shape is None else {"shape": shape})}
        arrays = {key: to_parameter(call, key, one, backend) for key, one in given.items()}
        if not isinstance(arrays["scale"], Array) and name != "uniform" and arrays["scale"] < 0:
            invalid(call, f"scale is {arrays['scale']}, expected 0 or more")
        sizes = size_of_result(
            call, size, out, [one for one in arrays.values() if isinstance(one, Array)]
        )
        apart = any(isinstance(one, Array) for one in arrays.values())
        numbers = [0.0, 1.0] if apart else [float(arrays["loc"]), float(arrays["scale"])]
        if shape is not None:
            numbers.append(float(arrays["shape"]))
        draw = distributions.continuous(name, wanted.name)
        result = self._drawn(backend, draw, numbers, math.prod(sizes), wanted).reshape(sizes)
        if apart:
            result *= arrays["scale"]
            result += arrays["loc"]
        return result if out is None else put(call, out, result)

    # Floats ---------------------------------------------------------------------------------------

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
        mean: float = 0.0,
        sigma: float = 1.0,
        size: Size = None,
        dtype: npt.DTypeLike = "float32",
    ) -> Array:
        """exp() of normal numbers."""
        check_numbers("lognormal", mean=mean, sigma=sigma)
        return self._continuous("lognormal", "lognormal", mean, sigma, size, dtype)

    def standard_exponential(
        self, size: Size = None, dtype: npt.DTypeLike = "float32", out: Array | None = None
    ) -> Array:
        call = "standard_exponential"
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

    def weibull(self, a: float, size: Size = None, dtype: npt.DTypeLike = "float32") -> Array:
        return self._shaped("weibull", a, size, dtype)

    def pareto(self, a: float, size: Size = None, dtype: npt.DTypeLike = "float32") -> Array:
        """Pareto's second distribution, from 0 on, as NumPy's."""
        return self._shaped("pareto", a, size, dtype)

    def power(self, a: float, size: Size = None, dtype: npt.DTypeLike = "float32") -> Array:
        return self._shaped("power", a, size, dtype)

    def _shaped(self, name: str, a: Any, size: Size, dtype: npt.DTypeLike) -> Array:
        check_numbers(name, a=a)
        if not a > 0:
            invalid(name, f"a is {a}, expected more than 0")
        return self._continuous(name, name, 0.0, 1.0, size, dtype, a)

    # Of gamma distributions -----------------------------------------------------------------------

    def standard_gamma(
        self,
        shape: Parameter,
        size: Size = None,
        dtype: npt.DTypeLike = "float32",
        out: Array | None = None,
    ) -> Array:
        """By Marsaglia and Tsang's method, which tries until it fits; so it waits for the device.
        NaN where a shape in an Array is below 0."""
        result = self._gamma("standard_gamma", shape, size, dtype, out)
        return result if out is None else put("standard_gamma", out, result)

    def gamma(
        self,
        shape: Parameter,
        scale: Parameter = 1.0,
        size: Size = None,
        dtype: npt.DTypeLike = "float32",
    ) -> Array:
        backend = self._backend("gamma")
        factor = to_parameter("gamma", "scale", scale, backend)
        like = [one for one in (factor,) if isinstance(one, Array)]
        result = self._gamma("gamma", shape, size, dtype, None, like)
        result *= factor
        return result

    def _gamma(
        self,
        call: str,
        shape: Any,
        size: Size,
        dtype: npt.DTypeLike,
        out: Array | None,
        like: Sequence[Array] = (),
    ) -> Array:
        from tilewright.namespace.elementwise import where

        backend, wanted = self._backend(call), float_dtype(call, dtype)
        check_stored(call, backend, wanted)
        given = to_parameter(call, "shape", shape, backend)
        if not isinstance(given, Array) and not given >= 0:
            invalid(call, f"shape is {given}, expected 0 or more")
        sizes = size_of_result(
            call, size, out, [*like, *([given] if isinstance(given, Array) else [])]
        )
        result = self._tried(backend, distributions.gamma(wanted.name), [given], sizes, wanted)
        return where(result < 0, math.nan, result) if isinstance(given, Array) else result

    def chisquare(
        self, df: Parameter, size: Size = None, dtype: npt.DTypeLike = "float32"
    ) -> Array:
        half = to_parameter("chisquare", "df", df, self._backend("chisquare")) / 2
        result = self._gamma("chisquare", half, size, dtype, None)
        result *= 2
        return result

    def beta(
        self,
        a: Parameter,
        b: Parameter,
        size: Size = None,
        dtype: npt.DTypeLike = "float32",
    ) -> Array:
        """x / (x + y) of two gamma distributions."""
        backend = self._backend("beta")
        both = [to_parameter("beta", name, one, backend) for name, one in (("a", a), ("b", b))]
        like = [one for one in both if isinstance(one, Array)]
        x, y = (self._gamma("beta", one, size, dtype, None, like) for one in both)
        x /= x + y
        return x

    def standard_t(
        self, df: Parameter, size: Size = None, dtype: npt.DTypeLike = "float32"
    ) -> Array:
        from tilewright.namespace.elementwise import sqrt

        half = to_parameter("standard_t", "df", df, self._backend("standard_t")) / 2
        below = self._gamma("standard_t", half, size, dtype, None)
        above = self.standard_normal(below.shape, dtype)
        above *= sqrt(half / below)
        return above

    # Counts ---------------------------------------------------------------------------------------

    def poisson(self, lam: Parameter = 1.0, size: Size = None) -> Array:
        """Of means up to 4194304; integers of the default dtype. -1 where a mean in an Array is
        none."""
        return self._counts("poisson", counts.poisson(), size, lam=lam)

    def binomial(self, n: Parameter, p: Parameter, size: Size = None) -> Array:
        """Of up to 4194304 tries; integers of the default dtype. -1 where there is no such
        distribution."""
        return self._counts("binomial", counts.binomial(), size, n=n, p=p)

    def geometric(self, p: float, size: Size = None) -> Array:
        """How many tries it takes: integers of the default dtype."""
        check_numbers("geometric", p=p)
        if not 0 < p <= 1:
            invalid("geometric", f"p is {p}, expected more than 0, and 1 at most")
        waited = self.standard_exponential(size)
        if p == 1:
            waited *= 0
        else:
            waited *= -1 / math.log1p(-p)
        return (waited.astype(default_integer(waited.backend))) + 1  # type: ignore[no-any-return]

    def _counts(self, call: str, draw: Draw, size: Size, **given: Any) -> Array:
        backend = self._backend(call)
        ends = {"lam": counts.MOST, "n": counts.MOST, "p": 1}
        found = [to_parameter(call, name, one, backend) for name, one in given.items()]
        for name, one in zip(given, found, strict=True):
            if not isinstance(one, Array) and not 0 <= one <= ends[name]:
                invalid(call, f"{name} is {one}, expected 0 to {ends[name]}")
            if name == "n" and not isinstance(one, Array) and one != int(one):
                invalid(call, f"n is {one}, expected an integer")
        sizes = size_of_result(call, size, None, [one for one in found if isinstance(one, Array)])
        result = self._tried(backend, draw, found, sizes, FLOATS[0])
        return result.astype(default_integer(backend))

    def _tried(
        self,
        backend: Backend,
        draw: Draw,
        parameters: list[Any],
        sizes: tuple[int, ...],
        dtype: np.dtype[Any],
    ) -> Array:
        """What a draw gives that tries once for each element, and again for those that are NaN."""
        from tilewright.namespace.manipulation import broadcast_to
        from tilewright.namespace.reductions import any as any_of

        inputs = []
        for one in parameters:
            own = backend._new((), dtype) if not isinstance(one, Array) else one.astype(dtype)
            if not isinstance(one, Array):
                own[...] = one
            inputs.append(broadcast_to(own, sizes).copy().reshape(-1))
        result = backend._new((math.prod(sizes),), dtype)
        result[...] = math.nan
        # As many blocks however many tries it takes, which may be another number elsewhere.
        stream = self._next(result.size * MOST_TRIES)
        for i in range(MOST_TRIES):
            part = stream._replace(place=stream.place + i * result.size)
            run(backend, part, draw, [], result, [result, *inputs])
            if not bool(any_of(result != result)):
                break
        return result.reshape(sizes)

    # Integers -------------------------------------------------------------------------------------

    def integers(
        self,
        low: int,
        high: int | None = None,
        size: Size = None,
        dtype: npt.DTypeLike | None = None,
        endpoint: bool = False,
    ) -> Array:
        """From low up to before high, or with high where `endpoint`; from 0 where low alone is
        given. Each is as likely as any other within 2**-32, and within 2**-64 where there are more
        than 2**32. int64 (int32 where the device has no int64) unless a dtype is given."""
        call = "integers"
        backend = self._backend(call)
        wanted = default_integer(backend) if dtype is None else to_dtype(call, dtype)
        if wanted.kind not in "biu":
            invalid(call, f"dtype is {wanted}, expected integers or bool")
        check_stored(call, backend, wanted)
        first = to_integer(call, "low", low)
        if high is None:
            first, past = 0, first
        else:
            past = to_integer(call, "high", high)
        past += bool(endpoint)
        if past <= first:
            invalid(call, f"low is {first} and high {past - bool(endpoint)}, expected more")
        limits = (0, 1) if wanted.kind == "b" else (np.iinfo(wanted).min, np.iinfo(wanted).max)
        if first < limits[0] or past - 1 > limits[1]:
            invalid(call, f"{first} to {past - 1} is not what {wanted} holds")
        span, sizes = past - first, size_of_result(call, size, None, [])
        if span > 2**32:
            draw = distributions.long_integers(wanted.name, span == 2**64)
        else:
            draw = distributions.integers(wanted.name, span == 2**32)
        numbers = [first, 0 if span in (2**32, 2**64) else span]
        if wanted.kind == "b" and span == 1:
            result = backend._new((math.prod(sizes),), wanted)
            result[...] = bool(first)
            return result.reshape(sizes)
        return self._drawn(backend, draw, numbers, math.prod(sizes), wanted).reshape(sizes)

    def bits(self, size: Size = None) -> Array:
        """The words of the stream: uint32."""
        return self.integers(0, 2**32, size, "uint32")


class _Elsewhere(Generator):
    def __init__(self, generator: Generator, backend: Backend) -> None:
        self._of, self._device = generator, backend

    def _next(self, blocks: int) -> Stream:
        return self._of._next(blocks)
