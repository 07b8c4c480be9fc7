"""NumPy's histogram, bincount and digitize, by searches in edges and sorts of what they find."""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tilewright.array import Array
from tilewright.namespace import bin_widths, reductions
from tilewright.namespace.creation import asarray, zeros
from tilewright.namespace.elementwise import clip
from tilewright.namespace.manipulation import broadcast_to, diff, stack
from tilewright.namespace.reductions import cumulative_sum
from tilewright.namespace.selection import take
from tilewright.namespace.sorting import topk
from tilewright.operands import HALVES, invalid, name_of, read_host, shown, stored, to_integer
from tilewright.program import Program
from tilewright.reading import default_integer, dtype_of_list
from tilewright.small_floats import BFLOAT16

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from tilewright.backend import Backend

    Host = npt.NDArray[Any]
    Bins = int | str | Array | Sequence[float] | Host

# As many groups as are summed by one pass over all elements for each.
FEW_GROUPS = 32


class Histogram(NamedTuple):
    """What histogram() gives."""

    hist: Array
    bin_edges: Array


# Numbers of groups ----------------------------------------------------------------------------


def _narrow(keys: Array, groups: int) -> Array:
    """The numbers of groups in the fewest bits that hold them, which sorts take fewest passes of.
    The caller's own where they are that already."""
    names = ("uint8", "uint16", "int32", "int64")
    widths = [np.dtype(name) for name in names]
    fits = [one for one in widths if groups - 1 <= np.iinfo(one).max]
    wanted = next((one for one in fits if one in stored(keys.backend)), keys.dtype)
    return keys.astype(wanted, copy=False)


def _each_group(keys: Array, groups: int) -> Array:
    """0, 1 ... in the dtype of the keys."""
    if groups <= 1 << 16:
        return keys.backend._upload(np.arange(groups, dtype=keys.dtype))
    counted: Array = cumulative_sum(zeros(groups, dtype=keys.dtype, device=keys.backend) + 1)
    counted -= 1
    return counted.astype(keys.dtype, copy=False)


def _ends(ordered: Array, groups: int) -> Array:
    """How many elements of keys in order there are up to each group, which is counted too."""
    backend = ordered.backend
    wanted = default_integer(backend)
    ends = backend._new((groups,), wanted)
    each = _each_group(ordered, groups)
    backend.search_sorted(
        ordered, each, ends, ordered.size, groups, True, ordered.stored_as, name_of(wanted)
    )
    return ends


def _between(ends: Array) -> Array:
    """How many elements each group has."""
    counts = ends.copy()
    if ends.size > 1:
        counts[1:] = diff(ends)
    return counts


def _counts(keys: Array, groups: int) -> Array:
    """How often each of 0 to groups - 1 is among the keys."""
    backend = keys.backend
    if keys.size == 0:
        return zeros(groups, dtype=default_integer(backend), device=backend)
    narrow = _narrow(keys, groups)
    ordered = backend._new(narrow.shape, narrow.dtype)
    backend.sort(narrow._contiguous(), ordered, 1, narrow.size, False, narrow.stored_as)
    return _between(_ends(ordered, groups))


@cache
def _chosen(key: str, dtype: str) -> Program:
    program = Program()
    own, wanted, weight = program.input(key), program.input(key), program.input(dtype)
    program.output(program.apply("where", own == wanted, weight, 0))
    return program


@cache
def _joined(key: str, dtype: str) -> Program:
    program = Program()
    own, before = program.input(key), program.input(key)
    sum_here, sum_before = program.input(dtype), program.input(dtype)
    program.output(program.apply("where", own == before, sum_here + sum_before, sum_here))
    return program


def _sums(keys: Array, weights: Array, groups: int) -> Array:
    """The sum of the weights of each group, in the dtype of the weights. No sum takes part in
    another one, so what is infinite or NaN stays in its group."""
    backend = keys.backend
    if keys.size == 0:
        return zeros(groups, dtype=weights.dtype, device=backend)
    narrow = _narrow(keys, groups)
    if groups <= FEW_GROUPS:
        shape = (groups, keys.size)
        each = broadcast_to(_each_group(narrow, groups)[:, None], shape)
        inputs = [broadcast_to(narrow, shape), each, broadcast_to(weights, shape)]
        program = _chosen(name_of(narrow.dtype), name_of(weights.dtype))
        return reductions._reduced(
            "histogram", "sum", program, inputs, (1,), (groups,), weights.dtype
        )
    ordered, order = topk(narrow, narrow.size, largest=False)
    sums = take(weights, order)
    ends = _ends(ordered, groups)
    counts = _between(ends)
    longest = int(counts.max().item())
    program = _joined(name_of(ordered.dtype), name_of(sums.dtype))
    step = 1
    while step < longest:
        # Each sum is of the elements of its group among the last 2 * step.
        wider = backend._new(sums.shape, sums.dtype)
        wider[:step] = sums[:step]
        inputs = [ordered[step:], ordered[:-step], sums[step:], sums[:-step]]
        backend.map(program, (keys.size - step,), inputs, [], [wider[step:]])
        sums = wider
        step *= 2
    last = take(sums, (ends - 1).astype(ends.dtype, copy=False), mode="clip")
    from tilewright.namespace.elementwise import where

    return where(counts > 0, last, 0)


def _weighed(call: str, keys: Array, weights: Any, groups: int) -> Array:
    """Sums of weights of any dtype, as sum() sums them."""
    if weights.dtype.kind == "c":
        made = keys.backend._new((groups,), weights.dtype)
        made.real[...] = _sums(keys, weights.real.copy(), groups)
        made.imag[...] = _sums(keys, weights.imag.copy(), groups)
        return made
    final = reductions._summed_in(call, weights, None)
    within = np.dtype(np.float32) if final in HALVES else final
    summed = _sums(keys, weights.astype(within, copy=False)._contiguous(), groups)
    return summed.astype(final, copy=False)


def _weights(call: str, x: Array, weights: Any) -> Array:
    found = asarray(weights, device=None if isinstance(weights, Array) else x.backend)
    x.backend._own(call, "weights", found)
    if found.shape != x.shape:
        invalid(call, f"weights has shape {found.shape}, expected {x.shape} as the elements have")
    return found.reshape(-1)


# Edges ----------------------------------------------------------------------------------------


def _host_edges(call: str, x: Array, bins: Any) -> tuple[Host, Array]:
    """Given edges, here and on the device."""
    if isinstance(bins, Array):
        x.backend._own(call, "bins", bins)
        host, here = bins._numbers(), bins
    else:
        host = read_host(call, "bins", bins)
        if host.dtype.kind not in "biuf":
            invalid(call, f"bins is {shown(bins)}, expected numbers")
        if isinstance(bins, (list, tuple, range)):
            host = host.astype(dtype_of_list(host, x.dtype, x.backend, call, "bins"), copy=False)
        here = asarray(host, device=x.backend)
    if host.dtype.kind == "c":
        invalid(call, f"bins is {host.dtype}, expected real numbers, which have an order")
    if host.ndim != 1:
        invalid(call, f"bins has shape {host.shape}, expected one dimension")
    if host.dtype.kind == "f" and np.isnan(host).any():
        invalid(call, "bins has NaN, expected numbers in order")
    if host.dtype.kind == "b":
        host = host.astype(np.uint8)
    return host, here


def _least(edges: Host, dtype: np.dtype[Any], past: bool) -> Host:
    """For each of ascending edges the least number of the dtype that is not below it, or with
    `past` is above it: what an element has to reach. Comparisons are by value, whatever the two
    dtypes are. Left out are edges that no number of the dtype reaches."""
    if dtype.kind != "f":
        limits = np.iinfo(dtype)
        whole = [_whole(edge, past) for edge in edges.tolist() if edge <= limits.max]
        return np.array([max(one, limits.min) for one in whole if one <= limits.max], dtype)
    with np.errstate(over="ignore"):
        reached = edges.astype(dtype)
    if edges.dtype.kind == "f":
        below, equal = reached < edges, reached == edges
    else:
        # Python compares integers and floats by their values.
        pairs = list(zip(reached.tolist(), edges.tolist(), strict=True))
        below = np.array([number < edge for number, edge in pairs], np.bool_)
        equal = np.array([number == edge for number, edge in pairs], np.bool_)
    up = below | equal if past else below
    with np.errstate(all="ignore"):
        above = np.nextafter(reached, dtype.type(np.inf))
    # Above infinity is NaN, which is last.
    above[np.isposinf(reached)] = np.nan
    return np.where(up, above, reached)


def _whole(edge: float, past: bool) -> float:
    """The least integer that is not below an edge, or is above it."""
    if math.isinf(edge):
        return edge
    return math.floor(edge) + 1 if past else math.ceil(edge)


def _places(x: Array, edges: Host, past: bool = False, end: bool = False) -> Array:
    """How many of ascending edges each element has reached, or with `past` is above of. With `end`
    the last one counts for what is above it."""
    backend = x.backend
    if end:
        parts = [_least(edges[:-1], x.dtype, past), _least(edges[-1:], x.dtype, True)]
        reached = np.concatenate(parts)
    else:
        reached = _least(edges, x.dtype, past)
    wanted = np.dtype(np.int32 if edges.size < 2**31 else np.int64)
    result = backend._new(x.shape, wanted)
    if x.size:
        backend.search_sorted(
            backend._upload(reached), x._contiguous(), result, reached.size, x.size, True,
            x.stored_as, name_of(wanted),
        )  # fmt: skip
    return result


def _real(call: str, x: Any, name: str) -> Array:
    if not isinstance(x, Array):
        invalid(call, f"{name} is {shown(x)}, expected an Array; write tw.asarray({name})")
    if x.dtype.kind == "c":
        invalid(call, f"{name} is {x.dtype}, expected real numbers, which have an order")
    if x.dtype == BFLOAT16:
        # In float32, which holds the edges between its numbers too.
        return x.astype(np.float32)
    return x.astype(np.uint8) if x.dtype.kind == "b" else x


def _range(call: str, given: Any) -> tuple[float, float] | None:
    if given is None:
        return None
    try:
        first, last = (one.item() if hasattr(one, "item") else one for one in given)
        first, last = first + 0, last + 0
        finite = math.isfinite(first) and math.isfinite(last)
    except (TypeError, ValueError):
        invalid(call, f"range is {shown(given)}, expected two numbers")
    if not finite:
        invalid(call, f"range is {shown(given)}, expected finite numbers")
    if first > last:
        invalid(call, f"range is {shown(given)}, expected the smaller number first")
    return first, last


def _equal_bins(call: str, x: Array, count: int, within: tuple[float, float] | None) -> Host:
    """NumPy's edges of bins of one width."""
    if within is None and x.size:
        within_x: Host = stack([x.min(), x.max()])._numbers()
        if x.dtype.kind == "f" and not np.isfinite(within_x).all():
            low, high = within_x.tolist()
            invalid(
                call, f"the elements lie from {low} to {high}, expected finite numbers; give a "
                "range"
            )  # fmt: skip
    else:
        within_x = np.empty(0, x.dtype)
    try:
        return np.histogram_bin_edges(within_x, count, within)
    except (ValueError, MemoryError) as error:
        invalid(call, f"bins is {count}: {error}")


def _edges(
    call: str, x: Array, bins: Bins, given: Any, weights: Any, backend: Backend
) -> tuple[Host, Array]:
    """The edges of the bins of a flat Array: to count by, and to return."""
    within = _range(call, given)
    if isinstance(bins, str):
        if weights is not None:
            invalid(call, f"bins is {bins!r}, which weights have no rule for; give a number")
        count = bin_widths.count(call, x, bins, within)
    elif np.ndim(bins) == 0:
        count = to_integer(call, "bins", bins)
        if count < 1:
            invalid(call, f"bins is {count}, expected 1 or more")
    else:
        host, here = _host_edges(call, x, bins)
        if (host[:-1] > host[1:]).any():
            invalid(call, "bins does not ascend, expected edges in ascending order")
        return host, here
    host = _equal_bins(call, x, count, within)
    shown_as = x.dtype if x.dtype.kind == "f" else np.dtype(np.float32)
    return host, backend._upload(host.astype(shown_as, copy=False))


def histogram_bin_edges(a: Array, bins: Bins = 10, range: Any = None, weights: Any = None) -> Array:
    """The edges of the bins that histogram() counts in: one more than bins."""
    x = _real("histogram_bin_edges", a, "a").reshape(-1)
    if weights is not None:
        _weights("histogram_bin_edges", a, weights)
    return _edges("histogram_bin_edges", x, bins, range, weights, a.backend)[1]


def histogram(
    a: Array, bins: Bins = 10, range: Any = None, density: bool | None = None, weights: Any = None
) -> Histogram:
    """How many elements lie in each bin, from its edge up to before the next, in the last one up to
    the edge itself. `bins` is how many there are of one width over `range`, or over the elements;
    or their edges; or a rule: "auto", "doane", "fd", "rice", "scott", "sqrt" or "sturges". With
    weights their sums, with `density` the part of all by the width of the bin."""
    call = "histogram"
    if density is not None and not isinstance(density, bool):
        invalid(call, f"density is {shown(density)}, expected True or False")
    x = _real(call, a, "a").reshape(-1)
    weighing = None if weights is None else _weights(call, a, weights)
    host, edges = _edges(call, x, bins, range, weights, a.backend)
    if host.size < 2:
        # No bin at all.
        empty = zeros(0, dtype=default_integer(a.backend), device=a.backend)
        return Histogram(empty, edges)
    # Group 0 is below all bins, the last one above.
    places, groups = _places(x, host, end=True), host.size + 1
    if range is None and (isinstance(bins, str) or np.ndim(bins) == 0):
        # The outer edges are the least and the largest element, which float64 may have rounded.
        places = clip(places, 1, host.size - 1)
    if weighing is None:
        found = _counts(places, groups)
    else:
        found = _weighed(call, places, weighing, groups)
    found = found[1:-1].copy()
    if density:
        kind = found.dtype if found.dtype.kind in "fc" else np.dtype(np.float32)
        wide = np.dtype(np.float32) if kind in HALVES else kind
        real = np.dtype(np.float64) if edges.dtype == np.float64 else np.dtype(np.float32)
        if wide.kind == "f" and real == np.float64:
            wide = real
        widths = a.backend._upload(np.diff(host.astype(np.float64)).astype(real))
        total = found.sum()
        found = found.astype(wide, copy=False) / widths / total.astype(wide, copy=False)
    return Histogram(found, edges)


def bincount(x: Array, /, weights: Any = None, minlength: int = 0) -> Array:
    """How often each integer from 0 to the largest is in x, or the sum of its weights; at least
    `minlength` of them. Waits for the device, since the largest is in the shape."""
    call = "bincount"
    if not isinstance(x, Array):
        invalid(call, f"x is {shown(x)}, expected an Array; write tw.asarray(x)")
    if x.dtype.kind not in "biu" or x.ndim != 1:
        invalid(call, f"x is {x.dtype} of shape {x.shape}, expected integers in one dimension")
    least = to_integer(call, "minlength", minlength)
    if least < 0:
        invalid(call, f"minlength is {least}, expected 0 or more")
    weighing = None if weights is None else _weights(call, x, weights)
    keys = x.astype(np.uint8) if x.dtype.kind == "b" else x
    groups = least
    if x.size:
        low, high = stack([keys.min(), keys.max()]).numpy().tolist()
        if low < 0:
            invalid(call, f"x has {low}, expected 0 or more")
        groups = max(least, high + 1)
    if groups == 0:
        empty = zeros(0, dtype=default_integer(x.backend), device=x.backend)
        return empty if weighing is None else _weighed(call, keys, weighing, 0)
    return _counts(keys, groups) if weighing is None else _weighed(call, keys, weighing, groups)


def digitize(x: Array, bins: Any, right: bool = False) -> Array:
    """Which bin each element is in: i where bins[i - 1] <= x < bins[i], or with `right` where
    bins[i - 1] < x <= bins[i]; of bins that descend the other way round."""
    call = "digitize"
    if not isinstance(right, bool):
        invalid(call, f"right is {shown(right)}, expected True or False")
    values = _real(call, x, "x")
    host, _ = _host_edges(call, values, bins)
    ascends, descends = not (host[:-1] > host[1:]).any(), not (host[:-1] < host[1:]).any()
    if not ascends and not descends:
        invalid(call, "bins neither ascends nor descends, expected edges in order")
    wanted = default_integer(x.backend)
    if ascends:
        return _places(values, host, past=right).astype(wanted, copy=False)
    places: Array = host.size - _places(values, host[::-1], past=right)
    return places.astype(wanted, copy=False)
