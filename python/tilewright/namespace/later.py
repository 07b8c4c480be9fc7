"""NumPy's further functions, each in a module that is imported when one of them is asked for."""

from __future__ import annotations

MODULES = {
    "joining": """
    append block column_stack delete dstack hstack insert vstack
    """,
    "cutting": """
    array_split atleast_1d atleast_2d atleast_3d copy dsplit fliplr flipud hsplit ravel
    resize rollaxis rot90 split swapaxes vsplit
    """,
    "numeric": """
    allclose array_equal array_equiv deg2rad degrees divmod fabs fix fmax fmin fmod gcd
    heaviside isclose iscomplex iscomplexobj isneginf isposinf isreal isrealobj lcm
    logaddexp2 modf nan_to_num rad2deg radians sinc
    """,
    "vectors": """
    cross matvec outer vdot vecmat
    """,
    "diagonals": """
    diag diag_indices_from diagflat diagonal fill_diagonal trace tri tril_indices_from
    triu_indices_from vander
    """,
    "choosing": """
    choose compress copyto extract lexsort place putmask select
    """,
    "statistics": """
    amax amin average corrcoef cov cumprod cumsum nanargmax nanargmin nancumprod nancumsum
    nanmedian nanpercentile nanquantile nanstd nanvar ptp
    """,
    "calculus": """
    convolve correlate ediff1d gradient interp trapezoid unwrap
    """,
    "set_algebra": """
    intersect1d setdiff1d setxor1d union1d
    """,
}
#: the module of each function
LATER = {name: module for module, names in MODULES.items() for name in names.split()}
