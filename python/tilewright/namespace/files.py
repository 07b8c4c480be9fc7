"""NumPy's files of arrays: .npy has one, .npz several by their names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright import _core
from tilewright.array import Array
from tilewright.namespace.arguments import check_pickles
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
    if isinstance(x, (int, float, complex, np.ndarray, np.generic)):
        return np.asarray(x)
    x = an_array(call, x, name)
    if x.dtype == BFLOAT16:
        invalid(call, f"{name} is bfloat16, which files of NumPy do not have; write "
                f"{name}.astype('float32')")  # fmt: skip
    return x.numpy()  # type: ignore[no-any-return]


def save(file: File, arr: Array, allow_pickle: bool = True) -> None:
    """Writes an Array to a .npy file, once what computes it is done."""
    check_pickles("save", allow_pickle)
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


def savez(file: File, *args: Array, allow_pickle: bool = True, **named: Array) -> None:
    """Writes Arrays to a .npz file, by the names given or as arr_0, arr_1 and so on."""
    check_pickles("savez", allow_pickle)
    np.savez(file, **_several("savez", args, named))  # type: ignore[arg-type]


def savez_compressed(file: File, *args: Array, allow_pickle: bool = True, **named: Array) -> None:
    """savez() whose file is packed."""
    check_pickles("savez_compressed", allow_pickle)
    np.savez_compressed(file, **_several("savez_compressed", args, named))  # type: ignore[arg-type]


def load(
    file: File, mmap_mode: None = None, allow_pickle: bool = False, fix_imports: bool = True,
    encoding: str = "ASCII", *, max_header_size: int = 10000, device: Device | None = None,
) -> Array | dict[str, Array]:  # fmt: skip
    """The Array of a .npy file on a device, or those of a .npz file by their names. Files that hold
    Python's objects are refused, since to read them runs code."""
    backend = to_backend("load", device)
    if mmap_mode is not None:
        invalid("load", f"mmap_mode is {shown(mmap_mode)}, expected None; elements are copied to "
                "the device")  # fmt: skip
    if allow_pickle:
        invalid("load", "allow_pickle is True, expected False; write np.load(file, "
                "allow_pickle=True) where you trust the file")  # fmt: skip
    try:
        found = np.load(file, allow_pickle=False, max_header_size=max_header_size)
    except (ValueError, EOFError) as error:
        raise _core.InvalidArgument(f"load: {shown(file)} is no .npy or .npz file that can be "
                                    f"read: {error}") from error  # fmt: skip
    if isinstance(found, np.ndarray):
        return asarray(found, device=backend)
    with found:
        return {name: asarray(found[name], device=backend) for name in found.files}
