"""Where tilewright may differ from NumPy. What is not here must agree."""

from __future__ import annotations

import numpy as np

from .case import Case

#: what may be refused of what NumPy does: the kinds of dtypes of which one is there (NumPy's, h for
#: float16 and B for bfloat16; none: any), words of the message, and the calls, with out= and where=
#: too (none: any)
REFUSED: list[tuple[str, str, str]] = [
    # No order of complex numbers, and no casts of them to real ones.
    ("c", "expected real numbers", """
        <, <=, >, >=, less, less_equal, greater, greater_equal, maximum, minimum, fmax, fmin, clip,
        max, min, argmax, argmin, ptp, nanmax, nanmin, x[mask]"""),
    ("", "is a complex number, expected real numbers", "<, <=, >, >=, clip"),
    ("c", "which has no order", "x.sort, median, nanmedian"),
    ("c", "to leave the imaginary parts out", "astype, x[key] = y"),
    ("c", "does not hold; write value.real", "x[key] = y, take, compress, choose"),
    ("c", "expected a complex dtype", """
        sum, prod, cumulative_sum, cumulative_prod, cumsum, cumprod, nancumsum"""),
    # Bools are no numbers to the standard.
    ("b", " is bool, expected numbers", "floor_divide, remainder, fmod, divmod, pow, //, %, **"),
    ("b", " is bool, expected integers", """
        bitwise_left_shift, bitwise_right_shift, <<, >>, gcd, lcm, ldexp"""),
    # No dtype holds a uint64 and a signed integer.
    ("u", "no dtype holds both", ""),
    ("hB", "does not hold; write .astype('float32')", "nextafter, spacing"),
    # NumPy refuses it too, but where there are no elements.
    ("h", "is float16, expected float32", """
        inv, det, slogdet, matrix_power, cholesky, eigh, eigvalsh, svd, svdvals, qr, pinv,
        matrix_rank, cond, solve, eig, eigvals, lstsq"""),
    # GPUs leave it to the processor.
    ("", "backend does not have this op", "eig, eigvals"),
    # WGSL has no such functions.
    ("", "no kernel in WGSL, as this device takes them, computes ", ""),
    # Of one element NumPy gives a number, which no operator changes in place.
    ("b", "out is bool, but the result is", "x[key] = y"),
    # NumPy takes numbers here that it refuses elsewhere.
    ("iu", "does not hold", "clip"),
    # What is written has the dtype of what is computed, and its shape.
    ("", ": out is ", """
        sum, prod, max, min, mean, any, std, var, concatenate, stack, matmul, choose, compress,
        take, cumprod, cumsum, nancumsum"""),
    ("", ": out has shape", "clip, round, outer, cumprod, nancumsum"),
    # Some host's forms.
    ("", "byte order", "host byteswap"),
    ("", "no real dtype of its size", "host view"),
    ("", "is a part of its memory", "host view"),
    # NumPy does not compare the size of a mask without elements.
    ("b", "a mask of shape (0,", "x[key], x[key] = y"),
    # It takes arrays of fewer dimensions than these are about, and gives NaN with a warning.
    ("", "expected an Array of 2 dimensions at least", "tril, triu"),
    ("", "expected one of the 0 axes", "squeeze, repeat"),
    ("", "a place on the axis", "partition"),
    ("", "has no dimensions", "trim_zeros"),
    ("", "of no elements is not defined", "median"),
]  # fmt: skip
#: taken, where NumPy refuses: by kinds of dtypes, or "*"
TAKEN: dict[str, str] = {
    "ediff1d": "b",
    "positive": "b",
    # Integers of uint64 as places and exponents.
    "put": "u",
    "ldexp": "u",
    "ldexp out": "u",
    # Into a larger dtype than that of the elements.
    "take out": "*",
    "compress out": "*",
    "round": "b",
    "fftshift": "*",  # without dimensions
    "average": "*",  # of no weight: NaN, since nothing is read
}


#: the same by the words of NumPy's message
WORDS = [
    "cannot reshape array of size 0",  # which it means not to refuse
    "only 0-dimensional arrays can be converted to Python scalars",  # those of one element too
]


def kinds_of(case: Case) -> set[str]:
    short = {"bfloat16": "B", "float16": "h"}
    return {short.get(dtype, np.dtype("f4" if dtype == "bfloat16" else dtype).kind)
            for dtype in case.dtypes}  # fmt: skip


def names(calls: str) -> list[str]:
    return [name.strip() for name in calls.split(",")]


def refused(case: Case, error: Exception) -> bool:
    """What NumPy does."""
    words, kinds = str(error), kinds_of(case)
    if "float64" in words and not case.draw.doubles:
        return True  # Which integers and floats meet in.
    name = case.name.removesuffix(" out").removesuffix(" where=")
    return any(
        part in words and (not of or bool(set(of) & kinds)) and (not calls or name in names(calls))
        for of, part, calls in REFUSED
    )


def taken(case: Case, error: Exception) -> bool:
    """What NumPy refuses."""
    kinds = TAKEN.get(case.name)
    if kinds is not None and (kinds == "*" or bool(set(kinds) & kinds_of(case))):
        return True
    return any(words in str(error) for words in WORDS)


def dtype(case: Case, got: str, like: str) -> bool:
    if got == like:
        return True
    given = set(case.dtypes)
    if "bfloat16" in given:
        # NumPy was given float32.
        return got in ("bfloat16", "float32") and like in ("float16", "float32", "float64")
    if like not in case.stored and got == like.replace("64", "32"):
        return True
    if case.name.startswith("**") and "bool" in given and like == "int8":
        # So NumPy squares bools, of which all other powers are int64.
        return got in ("int64", "int32")
    doubles = given & {"float64", "complex128"}
    integers = any(np.dtype(one).kind in "biu" for one in given) or not given
    # The standard's default dtypes are those of single precision.
    if not doubles and integers and got == "float32" and like in ("float16", "float64"):
        return True
    return not doubles and integers and got == "complex64" and like == "complex128"
