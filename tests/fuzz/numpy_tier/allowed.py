"""Where tilewright may differ from NumPy. What is not here must agree."""

from __future__ import annotations

import numpy as np
import tilewright as tw

from .case import Case

SIGNED = {"int8", "int16", "int32", "int64"}

#: refused, by the call and the kinds of the dtypes one of which must be there: b(ool), i(nteger),
#: u(nsigned), f(loat), c(omplex), h(alf), B(float16)
REFUSED: dict[str, str] = {}
#: refused by the words of the message
MESSAGES: list[tuple[str, str]] = [
    # No order of complex numbers, and no casts of them to real ones.
    ("*", "expected real numbers"),
    ("*", "which has no order"),
    ("*", "to leave the imaginary parts out"),
    ("*", "does not hold; write value.real"),
    ("*", "expected a complex dtype"),
    # Bools are no numbers to the standard.
    ("*", " is bool, expected numbers"),
    ("*", " is bool, expected integers"),
    ("nextafter", "does not hold; write .astype('float32')"),
    ("nextafter out", "does not hold; write .astype('float32')"),
    ("spacing", "does not hold; write .astype('float32')"),
    # NumPy refuses it too, but where there are no elements.
    ("*", "is float16, expected float32"),
    # WGSL has no such functions.
    ("*", "no kernel in WGSL, as this device takes them, computes "),
    # Of one element NumPy gives a number, which no operator changes in place.
    ("x[key] = y", "out is bool, but the result is"),
    # NumPy takes numbers here that it refuses elsewhere.
    ("clip", "does not hold"),
    # What is written has the dtype of what is computed.
    *((f"{name} out", "out is ") for name in ("sum", "prod", "max", "min", "mean", "any", "std")),
    *((f"{name} out", "out is ") for name in ("var", "concatenate", "stack", "matmul", "choose")),
    *((f"{name} out", "out is ") for name in ("compress", "take", "cumprod", "cumsum")),
    ("nancumsum out", "out is "),
    # No result is repeated into a larger one.
    ("clip out", "out has shape"),
    ("round out", "out has shape"),
    ("outer out", "out has shape"),
    ("cumprod out", "out has shape"),
    ("nancumsum out", "out has shape"),
    ("copyto out", "does not broadcast"),
    # Some host's forms.
    ("host byteswap", "byte order"),
    ("host view", "no real dtype of its size"),
    ("host view", "is a part of its memory"),
    # NumPy does not compare the size of a mask without elements.
    ("x[key]", "a mask of shape (0,"),
    ("x[key] = y", "a mask of shape (0,"),
    # NumPy takes arrays of fewer dimensions than these are about, and gives NaN with a warning.
    ("tril", "expected an Array of 2 dimensions at least"),
    ("triu", "expected an Array of 2 dimensions at least"),
    ("*", "expected one of the 0 axes"),
    ("partition", "a place on the axis"),
    ("trim_zeros", "has no dimensions"),
    ("median", "of no elements is not defined"),
]
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


#: by the words of NumPy's message
WORDS = [
    "cannot reshape array of size 0",  # which it means not to refuse
    "only 0-dimensional arrays can be converted to Python scalars",  # those of one element too
]


def kinds_of(case: Case) -> set[str]:
    short = {"bfloat16": "B", "float16": "h"}
    return {short.get(dtype, np.dtype("f4" if dtype == "bfloat16" else dtype).kind)
            for dtype in case.dtypes}  # fmt: skip


def listed(table: dict[str, str], case: Case) -> bool:
    kinds = table.get(case.name)
    return kinds is not None and (kinds == "*" or bool(set(kinds) & kinds_of(case)))


def refused(case: Case, error: Exception) -> bool:
    """What NumPy does."""
    if isinstance(error, (tw.OutOfMemory, tw.DeviceError)) and not isinstance(
        error, (tw.InvalidArgument, tw.Unsupported)
    ):
        return False
    words = str(error)
    given = set(case.dtypes)
    if "uint64" in given and given & SIGNED:
        return True  # No dtype holds both.
    if "float64" in words and not case.draw.doubles:
        return True  # Which integers and floats meet in.
    return listed(REFUSED, case) or any(
        call in ("*", case.name) and part in words for call, part in MESSAGES
    )


def taken(case: Case, error: Exception) -> bool:
    """What NumPy refuses."""
    return listed(TAKEN, case) or any(words in str(error) for words in WORDS)


def dtype(case: Case, got: str, like: str) -> bool:
    if got == like:
        return True
    given = set(case.dtypes)
    if "bfloat16" in given:
        # NumPy was given float32.
        return got in ("bfloat16", "float32") and like in ("float16", "float32", "float64")
    if like not in case.stored and got == like.replace("64", "32"):
        return True
    doubles = given & {"float64", "complex128"}
    integers = any(np.dtype(one).kind in "biu" for one in given) or not given
    # The standard's default dtypes are those of single precision.
    if not doubles and integers and got == "float32" and like in ("float16", "float64"):
        return True
    return not doubles and integers and got == "complex64" and like == "complex128"
