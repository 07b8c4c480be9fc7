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
    "spellings": """
    absolute arccos arccosh arcsin arcsinh arctan arctan2 arctanh around asanyarray
    ascontiguousarray bitwise_not concatenate conjugate identity invert left_shift
    may_share_memory mod ndim power promote_types right_shift rint shape shares_memory size
    transpose true_divide
    """,
    "sequences": """
    bartlett blackman diag_indices fromfunction geomspace hamming hanning indices ix_ kaiser
    logspace tril_indices triu_indices
    """,
    "polynomials": """
    poly polyadd polyder polyfit polyint polymul polysub polyval roots
    """,
    "bits": """
    bitwise_count packbits unpackbits
    """,
    "each_part": """
    apply_along_axis apply_over_axes piecewise trim_zeros
    """,
    "files": """
    load save savez savez_compressed
    """,
    "float_parts": """
    float_power frexp i0 ldexp spacing
    """,
    "index_tricks": """
    c_ index_exp mgrid ndenumerate ndindex ogrid r_ s_
    """,
    "numpys": """
    errstate isscalar issubdtype iterable
    """,
    "sources": """
    frombuffer fromfile fromiter genfromtxt loadtxt savetxt
    """,
    "texts": """
    array2string array_repr array_str
    """,
    "windows": """
    sliding_window_view
    """,
    "histograms_of_many": """
    histogram2d histogramdd
    """,
}
#: the module of each function
LATER = {name: module for module, names in MODULES.items() for name in names.split()}
