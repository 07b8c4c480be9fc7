"""NumPy's public names: each has a form of Arrays, or stands here with the reason why not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tilewright as tw

DATES = "dates"
FILES = "writes files"
FLOAT64 = "computes in float64 always"
POLYNOMIALS = "polynomials by their coefficients"
PYTHON = "calls a function of Python for each part"
SHAPE = "its result has a shape of its own for each input"
TEXT = "makes text"
NO_KERNEL = "has no kernel"
# What has no form on devices.
WITHOUT = {
    "apply_along_axis": PYTHON,
    "apply_over_axes": PYTHON,
    "array2string": TEXT,
    "array_repr": TEXT,
    "array_str": TEXT,
    "bitwise_count": NO_KERNEL,
    "busday_count": DATES,
    "busday_offset": DATES,
    "common_type": "tells dtypes that the standard does not promote to",
    "datetime_as_string": DATES,
    "einsum_path": "plans, and computes nothing",
    "float_power": FLOAT64,
    "frexp": NO_KERNEL,
    "geomspace": "ends are numbers of the host",
    "histogram2d": NO_KERNEL,
    "histogramdd": NO_KERNEL,
    "i0": NO_KERNEL,
    "is_busday": DATES,
    "isnat": DATES,
    "ix_": "indices are of the host",
    "ldexp": NO_KERNEL,
    "logspace": "ends are numbers of the host",
    "min_scalar_type": "looks at values",
    "packbits": NO_KERNEL,
    "piecewise": PYTHON,
    "poly": POLYNOMIALS,
    "polyadd": POLYNOMIALS,
    "polyder": POLYNOMIALS,
    "polydiv": POLYNOMIALS,
    "polyfit": POLYNOMIALS,
    "polyint": POLYNOMIALS,
    "polymul": POLYNOMIALS,
    "polysub": POLYNOMIALS,
    "polyval": POLYNOMIALS,
    "real_if_close": "its dtype depends on values",
    "roots": POLYNOMIALS,
    "save": FILES,
    "savetxt": FILES,
    "savez": FILES,
    "savez_compressed": FILES,
    "sort_complex": "complex numbers have no order",
    "spacing": NO_KERNEL,
    "trim_zeros": SHAPE,
    "unpackbits": NO_KERNEL,
}


def names() -> list[str]:
    dispatching = type(np.sum)
    found = [name for name in np.__all__ if isinstance(getattr(np, name), (np.ufunc, dispatching))]
    assert len(found) > 300
    return sorted(found)


def called(name: str, x: tw.Array) -> Any:
    """With as many Arrays as it takes; what it raises unless it is for want of arguments."""
    function: Any = getattr(np, name)
    if isinstance(function, np.ufunc):
        return function(*[x] * function.nin)
    if name.startswith("save"):
        return function("file", x)
    for count in range(1, 5):
        try:
            return function(*[x] * count)
        except TypeError as error:
            if "missing" not in str(error) and "at least" not in str(error):
                raise
    raise AssertionError(f"{name} is not called")


@pytest.mark.parametrize("name", names())
def test_each_name_has_a_form_or_a_reason(name: str) -> None:
    x = tw.asarray([[1, 2], [3, 4]], device="cpu")
    try:
        result = called(name, x)
    except tw.Unsupported as error:
        assert name in WITHOUT, error
        assert f"np.{getattr(np, name).__name__}(" in str(error)
        return
    except (TypeError, ValueError, IndexError, ArithmeticError):
        # A form of its own, which these arguments do not suit.
        assert name not in WITHOUT
        return
    assert name not in WITHOUT, "has a form now"
    assert not isinstance(result, np.ndarray)


def test_the_namespace_has_numpys_names() -> None:
    others = {
        "absolute", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2", "arctanh",
        "around", "concatenate", "bitwise_not", "conjugate", "invert", "left_shift", "mod",
        "may_share_memory", "ndim", "power", "right_shift", "rint", "shape", "shares_memory",
        "size", "transpose", "true_divide",
    }  # fmt: skip
    assert [
        n for n in names() if n not in WITHOUT | dict.fromkeys(others) and not hasattr(tw, n)
    ] == []
    assert set(tw.__all__) <= set(dir(tw))


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda x: np.i0(x), r"write np\.i0\(x\.numpy\(\)\) to compute it on the host"),
        (lambda x: np.save("f", x), r"write np\.save\(file, x\.numpy\(\)\)"),
        (lambda x: np.polyval(x, x), r"write np\.polyval\(p\.numpy\(\), x\.numpy\(\)\)"),
        (lambda x: np.polyfit(x, x, 1), r"np\.polyfit\(x\.numpy\(\), y\.numpy\(\), deg\)"),
        (lambda x: np.histogramdd([x, x], 3), r"\(\[one\.numpy\(\) for one in sample\], bins\)"),
        (
            lambda x: np.multiply.at(x, 0, 2),
            r"host = x\.numpy\(\); np\.multiply\.at\(host, indices, values\); x\[\.\.\.\] = host",
        ),
        (lambda x: np.add.reduceat(x, [0]), r"write np\.add\.reduceat\(x\.numpy\(\), x2\)"),
        (lambda x: np.hypot.reduce(x), r"write np\.hypot\.reduce\(x\.numpy\(\)\)"),
        (lambda x: np.unique(x, axis=0), r"np\.unique\(\.\.\., axis=\.\.\.\) of an Array"),
    ],
)  # type: ignore[misc]
def test_what_to_write_instead(call: Any, said: str) -> None:
    with pytest.raises(tw.Unsupported, match=said):
        call(tw.asarray([1.0, 2.0], device="cpu"))
