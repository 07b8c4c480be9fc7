"""NumPy, which _core and all modules need, is there and new enough."""

try:
    import numpy as np
except ImportError as error:
    raise ImportError(
        f"tilewright needs NumPy 2.0 or newer, which cannot be imported ({error}); run "
        "`pip install 'numpy>=2.0'`"
    ) from error

if int(np.__version__.split(".")[0]) < 2:
    raise ImportError(
        f"tilewright needs NumPy 2.0 or newer, found {np.__version__}; run "
        "`pip install 'numpy>=2.0'`"
    )
