"""NumPy's files of arrays: .npy has one, .npz several by their names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright import _core
from tilewright.array import Array
from tilewright.namespace.creation import asarray
from tilewright.namespace.devices import to_backend
from tilewright.namespace.mixed import an_array
from tilewright.operands import invalid, shown
from tilewright.small_floats import BFLOAT16

if TYPE_CHECKING:
    import os
    from typing import BinaryIO

    from tilewright.namespace.devices import Device

    File = str | os.PathLike[str] | BinaryIO

__all__ = ["load", "save", "savez", "savez_compressed"]


def _host(call: str, name: str, x: Any) -> np.ndarray[Any, Any]:
    x = an_array(call, x, name)
    if x.dtype == BFLOAT16:
        invalid(call, f"{name} is bfloat16, which files of NumPy do not have; write "
                f"{name}.astype('float32')")  # fmt: skip
    return x.numpy()  # type: ignore[no-any-return]


def save(file: File, arr: Array) -> None:
    """Writes an Array to a .npy file, once what computes it is done."""
    np.save(file, _host("save", "arr", arr), allow_pickle=False)


def _several(
    call: str, args: tuple[Any, ...], named: dict[str, Any]
) -> dict[str, np.ndarray[Any, Any]]:
    found = {name: _host(call, name, one) for name, one in named.items()}
    for i, one in enumerate(args):
        name = f"arr_{i}"
        if name in found:
            invalid(call, f"{name} is given by its name and as number {i}")
        found[name] = _host(call, name, one)
    return found


def savez(file: File, *args: Array, **named: Array) -> None:
    """Writes Arrays to a .npz file, by the names given or as arr_0, arr_1 and so on."""
    np.savez(file, **_several("savez", args, named))  # type: ignore[arg-type]


def savez_compressed(file: File, *args: Array, **named: Array) -> None:
    """savez() whose file is packed."""
    np.savez_compressed(file, **_several("savez_compressed", args, named))  # type: ignore[arg-type]


def load(file: File, *, device: Device | None = None) -> Array | dict[str, Array]:
    """The Array of a .npy file on a device, or those of a .npz file by their names. Files that hold
    Python's objects are refused, since to read them runs code."""
    backend = to_backend("load", device)
    try:
        found = np.load(file, allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise _core.InvalidArgument(f"load: {shown(file)} is no .npy or .npz file that can be "
                                    f"read: {error}") from error  # fmt: skip
    if isinstance(found, np.ndarray):
        return asarray(found, device=backend)
    with found:
        return {name: asarray(found[name], device=backend) for name in found.files}
