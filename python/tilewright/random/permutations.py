"""What Generators order and choose."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright.array import Array
from tilewright.operands import HALVES, invalid, name_of, shown, stored, to_integer, to_shape
from tilewright.random.arguments import put
from tilewright.random.draws import Draws
from tilewright.reading import default_integer
from tilewright.shapes import to_one_axis

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from tilewright.backend import Backend

    Size = int | Sequence[int] | None

UINT64 = np.dtype(np.uint64)


class Permutations(Draws):
    """Permutations, by sorting random keys, and choices."""

    def _on_device(self, call: str, given: Any) -> Any:
        """What the host has of elements, as an Array; an integer as it is."""
        from tilewright.namespace.creation import asarray

        is_list = isinstance(given, (list, tuple))
        if is_list or (isinstance(given, np.ndarray) and given.ndim > 0):
            return asarray(given, device=self._backend(call))
        return given

    def permutation(self, x: int | npt.ArrayLike | Array, axis: int = 0) -> Array:
        """The first x integers in random order, or a copy of an Array, or of what reads as one,
        with its parts along an axis in random order."""
        x = self._on_device("permutation", x)
        if not isinstance(x, Array):
            count = to_integer("permutation", "x", x)
            if count < 0:
                invalid("permutation", f"x is {count}, expected 0 or more")
            return self._order(self._backend("permutation"), count)
        return self._permuted("permutation", x, axis)

    def shuffle(self, x: Array, axis: int = 0) -> None:
        """Brings the parts of an Array along an axis in random order."""
        if not isinstance(x, Array):
            invalid("shuffle", f"x is {shown(x)}, expected an Array; permutation() takes integers")
        x[...] = self._permuted("shuffle", x, axis)

    def permuted(
        self, x: npt.ArrayLike | Array, *, axis: int | None = None, out: Array | None = None
    ) -> Array:
        """A copy in which the elements along an axis come in random order, in another one for each
        place of the other axes; without an axis all elements."""
        from tilewright.namespace.creation import asarray
        from tilewright.namespace.selection import take, take_along_axis
        from tilewright.namespace.sorting import argsort

        call = "permuted"
        given = x if isinstance(x, Array) else asarray(x, device=self._backend(call))
        if out is not None and (not isinstance(out, Array) or out.shape != given.shape):
            what = f"of shape {out.shape}" if isinstance(out, Array) else shown(out)
            invalid(call, f"out is {what}, expected an Array of shape {given.shape}")
        if axis is None:
            flat = given.reshape(-1)
            found = take(flat, self._order(given.backend, flat.size), axis=0).reshape(given.shape)
        else:
            at = to_one_axis(call, axis, given.ndim)
            keys = self._keys(given.backend, given.shape)
            found = take_along_axis(given, argsort(keys, axis=at), axis=at)
        return found if out is None else put(call, out, found)

    def choice(
        self,
        a: int | npt.ArrayLike | Array,
        size: Size = None,
        replace: bool = True,
        p: npt.ArrayLike | Array | None = None,
        axis: int = 0,
        shuffle: bool = True,
    ) -> Array:
        """Of the first a integers, or of the parts of an Array, or of what reads as one, along an
        axis: each as likely, or by the probabilities `p`; with `replace` the same more than once.
        They come in random order, whatever `shuffle` says."""
        call = "choice"
        if not isinstance(replace, (bool, np.bool_)):
            invalid(call, f"replace is {shown(replace)}, expected True or False")
        a = self._on_device(call, a)
        if isinstance(a, Array):
            backend = a.backend
            at = to_one_axis(call, axis, a.ndim)
            count = a.shape[at]
        else:
            backend, at, count = self._backend(call), 0, to_integer(call, "a", a)
        sizes = () if size is None else to_shape(call, size)
        wanted = math.prod(sizes)
        if count <= 0 < wanted:
            invalid(call, f"a has {count} elements, expected one at least")
        if not replace and wanted > count:
            invalid(call, f"size is {sizes}, but a has {count} elements and replace is False")
        found: Array
        if p is None:
            if replace:
                found = self._on(backend).integers(max(count, 1), size=(wanted,))
            else:
                found = self._order(backend, count)[:wanted]
        else:
            found = self._weighted(call, backend, count, wanted, replace, p)
        if not isinstance(a, Array):
            return found.reshape(sizes)
        from tilewright.namespace.selection import take

        chosen: Array = take(a, found, axis=at)
        return chosen.reshape((*a.shape[:at], *sizes, *a.shape[at + 1 :]))

    def _order(self, backend: Backend, count: int) -> Array:
        """The first integers in random order. Keys of 64 bits are hardly ever equal; of 32, where
        the device has no others, equal ones keep their order."""
        from tilewright.namespace.sorting import argsort

        return argsort(self._keys(backend, (count,)))

    def _keys(self, backend: Backend, shape: tuple[int, ...]) -> Array:
        wide = UINT64 in stored(backend)
        past, dtype = (2**64, "uint64") if wide else (2**32, "uint32")
        return self._on(backend).integers(0, past, shape, dtype)

    def _permuted(self, call: str, x: Array, axis: int) -> Array:
        from tilewright.namespace.selection import take

        at = to_one_axis(call, axis, x.ndim)
        return take(x, self._order(x.backend, x.shape[at]), axis=at)

    def _weighted(
        self, call: str, backend: Backend, count: int, wanted: int, replace: bool, p: Any
    ) -> Array:
        from tilewright.namespace import reductions
        from tilewright.namespace.creation import asarray
        from tilewright.namespace.selection import searchsorted
        from tilewright.namespace.sorting import argsort

        weights = asarray(p, device=backend)
        if weights.shape != (count,):
            invalid(call, f"p has shape {weights.shape}, expected {(count,)}")
        if weights.dtype.kind != "f":
            invalid(call, f"p is {weights.dtype}, expected probabilities")
        if weights.dtype in HALVES:
            weights = weights.astype("float32")
        whole = float(weights.sum())
        if not abs(whole - 1) < 1e-3 or bool((weights < 0).any()):
            invalid(
                call, f"p has the sum {whole}, expected probabilities of 0 or more that sum to 1"
            )
        rng, dtype = self._on(backend), name_of(weights.dtype)
        if replace:
            reached = reductions.cumulative_sum(weights)
            reached /= reached[-1].copy()
            found = searchsorted(reached, rng.random((wanted,), dtype), side="right")
            return found.astype(default_integer(backend))
        if wanted > int(reductions.count_nonzero(weights)):
            invalid(call, f"size is {wanted}, but p has fewer elements that are not 0")
        # The least of waiting times that are as much shorter as an element is likelier.
        return argsort(rng.standard_exponential((count,), dtype) / weights)[:wanted]
