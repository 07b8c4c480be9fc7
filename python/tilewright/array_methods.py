"""What Arrays have as methods that the namespace has as functions."""

from __future__ import annotations

import importlib
from functools import cache
from typing import TYPE_CHECKING, Any

from tilewright import _core

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy.typing as npt

    from tilewright.array import Array


_KEEPDIMS = {"keepdims"}
# Reductions in their common form, by (x, axis, keepdims, dtype); None for any other.
_COMMON = _core._reductions()
_all, _any, _argmax, _argmin, _max, _mean, _min, _prod, _sum = (
    _COMMON[name]
    for name in ("all", "any", "argmax", "argmin", "max", "mean", "min", "prod", "sum")
)


_spread, _cumulated = _core._spread, _core._cumulated


class ArrayMethods(_core.ArrayBase):
    """The methods of an Array that NumPy's arrays have."""

    __slots__ = ()

    # Reductions: the namespace's functions, with axis and keepdims ------------------------------

    def sum(self, axis: Any = None, dtype: Any = None, out: Any = None, **options: Any) -> Array:
        if out is None and not options:
            found: Array | None = _sum(self, axis, False, dtype)
            if found is not None:
                return found
        return _reduced("sum", self, axis, options, dtype=dtype, out=out)

    def prod(self, axis: Any = None, dtype: Any = None, out: Any = None, **options: Any) -> Array:
        if out is None and not options:
            found: Array | None = _prod(self, axis, False, dtype)
            if found is not None:
                return found
        return _reduced("prod", self, axis, options, dtype=dtype, out=out)

    def max(self, axis: Any = None, out: Any = None, **options: Any) -> Array:
        if out is None and not options:
            found: Array | None = _max(self, axis, False, None)
            if found is not None:
                return found
        return _reduced("max", self, axis, options, out=out)

    def min(self, axis: Any = None, out: Any = None, **options: Any) -> Array:
        if out is None and not options:
            found: Array | None = _min(self, axis, False, None)
            if found is not None:
                return found
        return _reduced("min", self, axis, options, out=out)

    def mean(self, axis: Any = None, dtype: Any = None, out: Any = None, **options: Any) -> Array:
        if out is None and not options:
            found: Array | None = _mean(self, axis, False, dtype)
            if found is not None:
                return found
        return _reduced("mean", self, axis, options, dtype=dtype, out=out)

    def var(
        self, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = None,
        *, correction: Any = None, keepdims: Any = False, **options: Any,
    ) -> Array:  # fmt: skip
        if out is None and dtype is None and not options and (ddof is None or correction is None):
            off = 0 if ddof is correction else correction if ddof is None else ddof
            found: Array | None = _spread(self, axis, keepdims, off, False)
            if found is not None:
                return found
        kept = None if keepdims is False else keepdims
        options |= _given(ddof=ddof, correction=correction, keepdims=kept)
        return _reduced("var", self, axis, options, dtype=dtype, out=out)

    def std(
        self, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = None,
        *, correction: Any = None, keepdims: Any = False, **options: Any,
    ) -> Array:  # fmt: skip
        if out is None and dtype is None and not options and (ddof is None or correction is None):
            off = 0 if ddof is correction else correction if ddof is None else ddof
            found: Array | None = _spread(self, axis, keepdims, off, True)
            if found is not None:
                return found
        kept = None if keepdims is False else keepdims
        options |= _given(ddof=ddof, correction=correction, keepdims=kept)
        return _reduced("std", self, axis, options, dtype=dtype, out=out)

    def any(self, axis: Any = None, out: Any = None, **options: Any) -> Array:
        if out is None and not options:
            found: Array | None = _any(self, axis, False, None)
            if found is not None:
                return found
        return _reduced("any", self, axis, options, out=out)

    def all(self, axis: Any = None, out: Any = None, **options: Any) -> Array:
        if out is None and not options:
            found: Array | None = _all(self, axis, False, None)
            if found is not None:
                return found
        return _reduced("all", self, axis, options, out=out)

    def argmax(self, axis: Any = None, **options: Any) -> Array:
        if not options:
            found: Array | None = _argmax(self, axis, False, None)
            if found is not None:
                return found
        return _reduced("argmax", self, axis, options)

    def argmin(self, axis: Any = None, **options: Any) -> Array:
        if not options:
            found: Array | None = _argmin(self, axis, False, None)
            if found is not None:
                return found
        return _reduced("argmin", self, axis, options)

    def take(self, indices: Any, axis: int | None = None, **options: Any) -> Array:
        return _of("selection").take(self, indices, axis, **options)  # type: ignore[no-any-return]

    def put(self, indices: Any, values: Any, mode: str = "raise") -> None:
        _of("selection").put(self, indices, values, mode)

    def nonzero(self) -> tuple[Array, ...]:
        return _of("selection").nonzero(self)  # type: ignore[no-any-return]

    def searchsorted(self, values: Any, side: str = "left", sorter: Any = None) -> Array:
        return _of("selection").searchsorted(self, values, side, sorter)  # type: ignore[no-any-return]

    # Sorts: the namespace's functions -----------------------------------------------------------

    def sort(self, axis: int = -1, kind: str | None = None, **options: Any) -> None:
        """Puts the elements in order along an axis, in place: tw.sort() with its options."""
        _of("sorting").sort_in_place(self, axis, kind, **options)

    def argsort(self, axis: int | None = -1, kind: str | None = None, **options: Any) -> Array:
        """tw.argsort()."""
        return _of("sorting").argsort(self, axis, kind, **options)  # type: ignore[no-any-return]

    def partition(self, kth: int | Sequence[int], axis: int = -1, **options: Any) -> None:
        """Puts the elements as tw.partition() does, in place."""
        self[...] = _of("sorting").partition(self, kth, axis, **options)

    def argpartition(self, kth: int | Sequence[int], axis: int | None = -1) -> Array:
        return _of("sorting").argpartition(self, kth, axis)  # type: ignore[no-any-return]

    # Other functions ----------------------------------------------------------------------------

    def conjugate(self) -> Array:
        return _of("complex_functions").conj(self)  # type: ignore[no-any-return]

    def dot(self, b: Any, out: Array | None = None) -> Array:
        """tw.dot(), with numbers too."""
        (other,) = _of("mixed").together("dot", a=self, b=b)[1:]
        found = _of("products").dot(self, other)
        return _of("mixed").written("dot", out, found)  # type: ignore[no-any-return]

    def clip(self, min: Any = None, max: Any = None, out: Array | None = None) -> Array:
        return _of("elementwise").clip(self, min, max, out=out)  # type: ignore[no-any-return]

    def round(self, decimals: int = 0, out: Array | None = None) -> Array:
        """To so many places behind the point."""
        return _of("numeric").rounded(self, decimals, out)  # type: ignore[no-any-return]

    def __round__(self, decimals: int | None = None) -> Any:
        """Of an Array without dimensions: an integer, or with decimals a number."""
        if self.shape:
            raise TypeError(f"round: the array has shape {self.shape}; write x.round()")
        return round(self.item(), decimals)  # type: ignore[attr-defined]

    def cumsum(self, axis: int | None = None, dtype: Any = None, out: Array | None = None) -> Array:
        if out is None:
            found: Array | None = _cumulated(self, axis, dtype, False)
            if found is not None:
                return found
        return _of("statistics").cumsum(self, axis, dtype, out)  # type: ignore[no-any-return]

    def cumprod(
        self, axis: int | None = None, dtype: Any = None, out: Array | None = None
    ) -> Array:
        if out is None:
            found: Array | None = _cumulated(self, axis, dtype, True)
            if found is not None:
                return found
        return _of("statistics").cumprod(self, axis, dtype, out)  # type: ignore[no-any-return]

    def ptp(self, axis: Any = None, out: Array | None = None, keepdims: bool = False) -> Array:
        return _of("statistics").ptp(self, axis, out, keepdims)  # type: ignore[no-any-return]

    def repeat(self, repeats: Any, axis: int | None = None) -> Array:
        return _of("manipulation").repeat(self, repeats, axis)  # type: ignore[no-any-return]

    def diagonal(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Array:
        """A view of the diagonals in the plane of two axes."""
        return _of("diagonals").diagonal(self, offset, axis1, axis2)  # type: ignore[no-any-return]

    def trace(
        self, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None,
        out: Array | None = None,
    ) -> Array:  # fmt: skip
        return _of("diagonals").trace(  # type: ignore[no-any-return]
            self, offset, axis1, axis2, dtype, out
        )

    def choose(self, choices: Any, out: Array | None = None, mode: str = "raise") -> Array:
        return _of("choosing").choose(self, choices, out, mode)  # type: ignore[no-any-return]

    def compress(self, condition: Any, axis: int | None = None, out: Array | None = None) -> Array:
        return _of("choosing").compress(condition, self, axis, out)  # type: ignore[no-any-return]

    # Memory -------------------------------------------------------------------------------------

    def tobytes(self, order: str = "C") -> bytes:
        """The bytes of the elements on the host, row by row or as `order` says."""
        from tilewright.array import _layout

        by = _layout("tobytes", self, order)  # type: ignore[arg-type]
        return self._values().tobytes(by)  # type: ignore[attr-defined, no-any-return]

    def __bytes__(self) -> bytes:
        return self.tobytes()

    def tofile(self, fid: Any, sep: str = "", format: str = "%s") -> None:
        """Writes the elements to a file row by row, as bytes or with `sep` as text."""
        values = self._values() if sep == "" else self._numbers()  # type: ignore[attr-defined]
        values.tofile(fid, sep, format)

    @property
    def flags(self) -> Flags:
        """How the elements lie in memory."""
        return Flags(self)

    def view(self, dtype: npt.DTypeLike | None = None) -> Array:
        """A view of the same elements, or of the same bytes as another dtype of the same size:
        real to real, or complex to complex."""
        if dtype is None:
            return self[...]
        wanted = _of_package("operands").to_dtype("view", dtype)
        if wanted == self.dtype:
            return self[...]
        if wanted.itemsize != self.dtype.itemsize or "c" in (wanted.kind, self.dtype.kind):
            raise _core.Unsupported(
                f"view: the array is {self.dtype}, and {wanted} is no real dtype of its size; "
                "x.numpy().view(dtype) makes one on the host"
            )
        if not self.is_contiguous or self.offset:
            raise _core.Unsupported(
                "view: the array is a part of its memory, of which another dtype has no view; "
                "write x.copy().view(dtype)"
            )
        return type(self)(self.backend, self.shape, wanted, self)  # type: ignore[return-value]

    def byteswap(self, inplace: bool = False) -> Array:
        raise _core.Unsupported(
            "byteswap: Arrays have the byte order of their device; x.numpy().byteswap() has another"
        )

    @property
    def flat(self) -> Flat:
        """The elements as one dimension, to be iterated, read and written by an index."""
        return Flat(self)

    @flat.setter
    def flat(self, value: Any) -> None:
        Flat(self)[...] = value


class Flags:
    """x.flags, by names as attributes or in brackets."""

    def __init__(self, x: Any) -> None:
        self.c_contiguous: bool = x.is_contiguous
        self.f_contiguous: bool = x.T.is_contiguous
        #: whether it has all of its memory
        self.owndata: bool = (
            x.is_contiguous and x.offset == 0 and x.backend.buffer_bytes(x) == x.nbytes
        )
        self.writeable = self.aligned = True

    @property
    def contiguous(self) -> bool:
        return self.c_contiguous

    def __getitem__(self, name: str) -> bool:
        found: bool = vars(self)[name.lower()]
        return found

    def __repr__(self) -> str:
        return "\n".join(f"  {name.upper()} : {value}" for name, value in vars(self).items())


class Flat:
    """x.flat: an iterator of the elements row by row, and the Array by one index."""

    def __init__(self, base: Any) -> None:
        self.base = base
        self._next = 0

    def __len__(self) -> int:
        return int(self.base.size)

    def __iter__(self) -> Iterator[Array]:
        return iter(self.base.reshape(-1))

    def __next__(self) -> Array:
        if self._next == self.base.size:
            raise StopIteration
        self._next += 1
        return self[self._next - 1]

    def __getitem__(self, key: Any) -> Array:
        """A copy, as NumPy gives one."""
        found: Array = self.base.reshape(-1)[key]
        return found.copy()

    def __setitem__(self, key: Any, value: Any) -> None:
        """Values, repeated where there are too few."""
        line = self.base.reshape(-1)
        count = line[key].size
        if not isinstance(value, (int, float, complex)):
            (source,) = _of("mixed").together("flat", x=line, value=value)[1:]
            source = source.reshape(-1)
            if source.size not in (1, count) and source.size:
                source = _of("manipulation").concat([source] * -(-count // source.size))[:count]
            value = source.reshape(()) if source.size == 1 else source.reshape(line[key].shape)
        line[key] = value
        if not line.overlaps(self.base):
            self.base[...] = line.reshape(self.base.shape)


@cache
def _of(module: str) -> Any:
    return importlib.import_module(f"tilewright.namespace.{module}")


@cache
def _of_package(module: str) -> Any:
    return importlib.import_module(f"tilewright.{module}")


def _given(**options: Any) -> dict[str, Any]:
    """Those that are not None."""
    return {name: value for name, value in options.items() if value is not None}


def _reduced(
    name: str, x: Any, axis: Any, options: dict[str, Any], dtype: Any = None, out: Any = None
) -> Array:
    common = _COMMON.get(name)
    if common and out is None and options.keys() == _KEEPDIMS:
        found: Array | None = common(x, axis, options["keepdims"], dtype)
        if found is not None:
            return found
    if dtype is not None:
        options["dtype"] = dtype
    if out is not None:
        options["out"] = out
    result: Array = getattr(_of("reductions"), name)(x, axis=axis, **options)
    return result
