"""What NumPy has and the namespace does not, with what to write instead."""

from __future__ import annotations

HOST = "has no form on devices; write np.{name}(x.numpy(), ...) to compute it on the host"
HINTS = {
    "vectorize": "would call Python for each element; write the function with those of tw, or "
    "tw.apply_along_axis(f, axis, x)",
    "frompyfunc": "would call Python for each element; write the function with those of tw",
    "asfortranarray": "has no use, since Arrays lie row by row; x.T is a view of the other order",
    "require": "has no use, since Arrays lie row by row; write x.astype(dtype)",
    "poly1d": "is no class here; write tw.polyval(p, x) and its kin",
    "polydiv": HOST,
    "sort_complex": "has no form on devices; write tw.lexsort((x.imag, x.real)) for the order",
    "mask_indices": "has no form on devices; write tw.nonzero(tw.triu(tw.ones((n, n)), k))",
    "matrix": "is no class here; Arrays of two dimensions have @, .T and tw.linalg",
    "mat": "is no class here; Arrays of two dimensions have @, .T and tw.linalg",
    "bmat": "is no class here; write tw.block(blocks)",
    "memmap": "is no class here; write tw.asarray(np.memmap(...))",
    "nditer": "walks over the host's memory; write x.numpy(), or tw.ndenumerate(x)",
    "lib": "is no module here; write tw.sliding_window_view(x, shape)",
    "as_strided": "has no form here; write tw.sliding_window_view(x, shape) or tw.broadcast_to()",
    "ma": "is no module here; write tw.where(mask, x, value) and where= of reductions",
    "emath": "is no module here; write tw.sqrt(x.astype('complex64')) and its kin",
    "float": "was NumPy's name for Python's float; write float or tw.float64",
    "int": "was NumPy's name for Python's int; write int or tw.int64",
    "product": "was NumPy's name of prod; write tw.prod(x)",
    "cumproduct": "was NumPy's name of cumprod; write tw.cumprod(x)",
    "alltrue": "was NumPy's name of all; write tw.all(x)",
    "sometrue": "was NumPy's name of any; write tw.any(x)",
    "in1d": "was NumPy's name of isin; write tw.isin(x, some)",
    "row_stack": "was NumPy's name of vstack; write tw.vstack(arrays)",
    "trapz": "was NumPy's name of trapezoid; write tw.trapezoid(y, x)",
    "msort": "was NumPy's name of sort; write tw.sort(x, axis=0)",
    "nbytes": "is a property of Arrays: x.nbytes",
    "ndarray": "is tw.Array here",
    "dtype": "is NumPy's own: np.dtype",
    "set_printoptions": "is NumPy's own, which print(x) follows: np.set_printoptions",
    "printoptions": "is NumPy's own, which print(x) follows: np.printoptions",
    "seterr": "is NumPy's own; no warnings are given of what devices compute",
    "testing": "is NumPy's own: np.testing, which reads Arrays",
}
# Those of tw.random, which has generators alone.
OF_RANDOM = {
    "seed": "write rng = tw.random.default_rng(seed), whose methods draw",
    "rand": "write tw.random.default_rng(seed).random(shape)",
    "randn": "write tw.random.default_rng(seed).standard_normal(shape)",
    "randint": "write tw.random.default_rng(seed).integers(low, high, shape)",
    "random_sample": "write tw.random.default_rng(seed).random(shape)",
    "RandomState": "write tw.random.default_rng(seed)",
    "get_state": "a generator is pickled with its state",
    "set_state": "a generator is pickled with its state",
}


def hint(name: str) -> str:
    """What to say of a name that is not in the namespace."""
    import numpy as np

    said = f"module 'tilewright' has no attribute {name!r}"
    found = HINTS.get(name)
    if found is None and name.startswith("__"):
        return said
    if found is None and isinstance(getattr(np, name, None), np.ufunc):
        found = HOST
    if found is None and callable(getattr(np, name, None)):
        found = "as NumPy has; it is np.{name} of the host's arrays"
    return said if found is None else f"{said}: np.{name} {found.format(name=name)}"


def hint_of_random(name: str) -> str:
    """The same of tw.random; the methods of a generator are no functions."""
    from tilewright.random import Generator

    said = f"module 'tilewright.random' has no attribute {name!r}"
    found = OF_RANDOM.get(name)
    if found is None and not name.startswith("_") and hasattr(Generator, name):
        found = f"write tw.random.default_rng(seed).{name}(...)"
    return said if found is None else f"{said}; {found}"
