"""Distributions whose elements are vectors, along the last axis."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from tilewright.array import Array
from tilewright.namespace import elementwise
from tilewright.operands import check_stored, invalid, read_host, shown, to_integer, to_shape
from tilewright.random import counts
from tilewright.random.arguments import float_dtype, size_of_result, to_parameter
from tilewright.random.discrete import Discrete
from tilewright.reading import default_integer

if TYPE_CHECKING:
    import numpy.typing as npt

    from tilewright.random.arguments import Parameter, Size

# By how much sums of probabilities may be off.
OFF = 1e-6


def _on_host(call: str, name: str, given: Any) -> npt.NDArray[np.float64]:
    """What few elements say of many, as float64."""
    values = given._numbers() if isinstance(given, Array) else read_host(call, name, given)
    if values.dtype.kind not in "biuf":
        invalid(call, f"{name} is of dtype {values.dtype}, expected numbers")
    return values.astype(np.float64)


class Vectors(Discrete):
    """What these are given along the last axis is read to the host."""

    def dirichlet(
        self,
        alpha: npt.ArrayLike | Array,
        size: Size = None,
        dtype: npt.DTypeLike = "float32",
    ) -> Array:
        """Shares of 1: gamma numbers by their sum, from their logarithms, so that small alphas are
        right too."""
        call = "dirichlet"
        backend, wanted = self._backend(call), float_dtype(call, dtype)
        check_stored(call, backend, wanted)
        shapes = _on_host(call, "alpha", alpha)
        if shapes.ndim != 1 or not (shapes >= 0).all() or not np.isfinite(shapes).all():
            invalid(call, f"alpha is {shown(alpha)}, expected a row of finite numbers of 0 or more")
        sizes = (*(() if size is None else to_shape(call, size)), shapes.size)
        if shapes.size > 0 and not shapes.any():
            invalid(call, f"alpha is {shown(alpha)}, expected one of more than 0")
        given = backend._upload(np.maximum(shapes, 1e-30).astype(wanted))
        logs = self._log_gamma(call, "alpha", given, sizes, wanted)
        if shapes.size == 0:
            return logs
        logs = elementwise.where(backend._upload(shapes > 0), logs, -math.inf)
        found = elementwise.exp(logs - logs.max(axis=-1, keepdims=True))
        found /= found.sum(axis=-1, keepdims=True)
        return found

    def multinomial(self, n: Parameter, pvals: npt.ArrayLike | Array, size: Size = None) -> Array:
        """How often each of some results comes in n tries: a binomial number for each but the
        last, of those that are left."""
        call = "multinomial"
        backend = self._backend(call)
        chances = _on_host(call, "pvals", pvals)
        if chances.ndim == 0 or chances.shape[-1] == 0:
            invalid(call, f"pvals is {shown(pvals)}, expected one probability at least")
        if not ((chances >= 0) & (chances <= 1)).all():
            invalid(call, f"pvals is {shown(pvals)}, expected probabilities of 0 to 1")
        most = float(chances[..., :-1].sum(-1).max(initial=0))
        if most > 1 + OFF:
            invalid(call, f"pvals without its last sums to {most}, expected 1 at most")
        tries = to_parameter(call, "n", n, backend)
        if not isinstance(tries, Array):
            self._check_count(call, "n", tries, counts.MOST)
        # Of each, how likely it is where none before it came.
        before = np.cumsum(chances, -1) - chances
        rest = np.maximum(1 - before, 1e-300)
        among = np.clip(chances / rest, 0, 1)
        parts = [
            float(one) if one.ndim == 0 else backend._upload(one.astype(np.float32))
            for one in np.moveaxis(among, -1, 0)
        ]
        sizes = size_of_result(call, size, None, [tries, parts[0]])
        result = backend._new((*sizes, len(parts)), default_integer(backend))
        left: Any = tries
        for i, part in enumerate(parts[:-1]):
            found = self._binomial(call, left, part, sizes)
            result[..., i] = found
            left = elementwise.maximum(left - found, -1.0) if i else left - found
            left = left.astype("float32")
        result[..., len(parts) - 1] = left
        return result

    def multivariate_hypergeometric(
        self,
        colors: npt.ArrayLike | Array,
        nsample: int,
        size: Size = None,
        method: Literal["marginals", "count"] = "marginals",
    ) -> Array:
        """How many of each colour are among nsample drawn ones, where none is put back: one colour
        after the other, whatever `method` says."""
        call = "multivariate_hypergeometric"
        if method not in ("marginals", "count"):
            invalid(call, f"method is {shown(method)}, expected 'marginals' or 'count'")
        there = _on_host(call, "colors", colors)
        if there.ndim != 1 or not ((there >= 0) & (there == np.floor(there))).all():
            invalid(call, f"colors is {shown(colors)}, expected a row of integers of 0 or more")
        if there.sum() > counts.MOST:
            invalid(call, f"colors has the sum {there.sum():.0f}, expected {counts.MOST} at most")
        sample = to_integer(call, "nsample", nsample)
        if not 0 <= sample <= there.sum():
            invalid(call, f"nsample is {sample}, expected 0 to {there.sum():.0f}, as there are")
        backend = self._backend(call)
        sizes = size_of_result(call, size, None, [])
        result = backend._new((*sizes, there.size), default_integer(backend))
        left: Any = float(sample)
        after = there.sum()
        for i, one in enumerate(there[:-1]):
            after -= one
            found = self._hypergeometric(call, [float(one), float(after), left], sizes)
            result[..., i] = found
            left = (left - found).astype("float32")
        if there.size > 0:
            result[..., there.size - 1] = left
        return result

    def multivariate_normal(
        self,
        mean: npt.ArrayLike | Array,
        cov: npt.ArrayLike | Array,
        size: Size = None,
        check_valid: Literal["warn", "raise", "ignore"] = "warn",
        tol: float = 1e-8,
        *,
        method: Literal["svd", "eigh", "cholesky"] = "svd",
        dtype: npt.DTypeLike = "float32",
    ) -> Array:
        """Normal numbers with these means and covariances. `cov` is factored on the host, in
        float64; `tol` is of it."""
        call = "multivariate_normal"
        backend, wanted = self._backend(call), float_dtype(call, dtype)
        check_stored(call, backend, wanted)
        if method not in ("svd", "eigh", "cholesky"):
            invalid(call, f"method is {shown(method)}, expected 'svd', 'eigh' or 'cholesky'")
        if check_valid not in ("warn", "raise", "ignore"):
            invalid(
                call, f"check_valid is {shown(check_valid)}, expected 'warn', 'raise' or 'ignore'"
            )
        middle, spread = _on_host(call, "mean", mean), _on_host(call, "cov", cov)
        if middle.ndim != 1:
            invalid(call, f"mean has shape {middle.shape}, expected one dimension")
        if spread.shape != (middle.size, middle.size):
            expected = (middle.size, middle.size)
            invalid(call, f"cov has shape {spread.shape}, expected {expected}, as mean has")
        factor, is_right = _factor(call, spread, method, tol)
        if not is_right and check_valid != "ignore":
            what = "cov is not symmetric and positive semidefinite"
            if check_valid == "raise":
                invalid(call, what)
            warnings.warn(f"{call}: {what}", RuntimeWarning, stacklevel=2)
        sizes = () if size is None else to_shape(call, size)
        plain = self.standard_normal((math.prod(sizes), middle.size), wanted)
        turned = plain @ backend._upload(factor.astype(wanted))
        found: Array = (turned + backend._upload(middle.astype(wanted))).reshape(
            (*sizes, middle.size)
        )
        return found


def _factor(
    call: str, cov: npt.NDArray[np.float64], method: str, tol: float
) -> tuple[npt.NDArray[np.float64], bool]:
    """What plain normal numbers are multiplied by, and whether it is of such a matrix."""
    if not np.isfinite(cov).all():
        invalid(call, "cov has elements that are not finite")
    if cov.size == 0:
        return cov, True
    try:
        if method == "cholesky":
            lower = np.linalg.cholesky(cov).astype(np.float64)
            return lower.T, bool(np.allclose(cov, cov.T, rtol=tol, atol=tol))
        if method == "eigh":
            values, vectors = np.linalg.eigh(cov)
            is_right = (
                bool(np.allclose(cov, cov.T, rtol=tol, atol=tol)) and not (values < -tol).any()
            )
            return (vectors * np.sqrt(np.abs(values))).T, is_right
        _, values, rows = np.linalg.svd(cov)
    except np.linalg.LinAlgError as error:
        invalid(call, f"cov cannot be factored by {method}: {error}")
    is_right = bool(np.allclose((rows.T * values) @ rows, cov, rtol=tol, atol=tol))
    return np.sqrt(values)[:, None] * rows, is_right
