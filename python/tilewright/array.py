"""Array: a tensor on a device."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright import _core

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from tilewright.backend import Backend
    from tilewright.operands import ArrayLike

KDL_CPU = 1

NUMPY_KNOWS_DLPACK_VERSIONS = np.lib.NumpyVersion(np.__version__) >= "2.1.0"

# NumPy works a dtype's name out anew each time it is asked.
STORED_AS = {np.dtype(name): name for name in ("float32", "float16", "int32")}


class Array(_core.Storage):
    """A tensor in a device buffer: row-major, contiguous, freed with its last owner.

    Made by a backend's array(), empty(), ... and by its ops. Operators (+ - * / ** @) are the
    backend's ops. Pass one to a trait call wherever that takes a buffer.
    """

    __slots__ = ("_backend", "_dtype", "_shape", "_stored_as")

    # NumPy leaves `ndarray + Array` to __radd__ instead of reading the Array back.
    __array_ufunc__ = None

    def __init__(
        self,
        backend: Backend,
        shape: tuple[int, ...],
        dtype: np.dtype[Any],
        shared: _core.Storage | None = None,
    ) -> None:
        if shared is None:
            # A buffer cannot be empty, an array can.
            super().__init__(backend, max(1, math.prod(shape) * dtype.itemsize))
        else:
            super().__init__(shared)
        self._backend = backend
        self._shape = shape
        self._dtype = dtype
        self._stored_as = STORED_AS[dtype]

    @property
    def backend(self) -> Backend:
        return self._backend

    @property
    def shape(self) -> tuple[int, ...]:
        return self._shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._dtype

    @property
    def stored_as(self) -> str:
        """The dtype as the trait's calls take it."""
        return self._stored_as

    @property
    def ndim(self) -> int:
        return len(self._shape)

    @property
    def size(self) -> int:
        return math.prod(self._shape)

    @property
    def nbytes(self) -> int:
        return self.size * self._dtype.itemsize

    # To the host ----------------------------------------------------------------------------------

    def numpy(self, out: npt.NDArray[Any] | None = None) -> npt.NDArray[Any]:
        """A copy of the array on the host, in `out` if it is given."""
        if out is None:
            out = np.empty(self._shape, self._dtype)
        elif not isinstance(out, np.ndarray):
            raise _core.InvalidArgument(
                f"numpy: out is of type {type(out).__name__}, expected a NumPy array"
            )
        elif out.shape != self._shape or out.dtype != self._dtype:
            raise _core.InvalidArgument(
                f"numpy: out is {out.dtype} of shape {out.shape}, "
                f"expected {self._dtype} of shape {self._shape}"
            )
        self._backend.copy_dtoh(out, self)
        return out

    def __array__(
        self, dtype: npt.DTypeLike | None = None, copy: bool | None = None
    ) -> npt.NDArray[Any]:
        if copy is False:
            raise ValueError("an Array is read by copying it; np.from_dlpack may share its memory")
        host = self.numpy()
        return host if dtype is None else host.astype(dtype, copy=False)

    def item(self) -> float | int:
        """The only element, as a Python number."""
        if self.size != 1:
            raise _core.InvalidArgument(
                f"item: the array has {self.size} elements (shape {self._shape}), expected 1"
            )
        value: float | int = self.numpy().item()
        return value

    def __float__(self) -> float:
        return float(self.item())

    def __bool__(self) -> bool:
        return bool(self.item())

    # DLPack ---------------------------------------------------------------------------------------

    def __dlpack__(
        self,
        *,
        stream: None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """The array for another library, in host memory.

        On the CPU backend it is the array's own memory, which stays alive as long as that library
        holds it; on others, and with copy=True, a copy.
        """
        memory = None if copy else self.host_memory()
        if memory is None:
            if copy is False:
                raise BufferError("the host cannot address this Array's memory; pass copy=None")
            host = self.numpy()
        else:
            host = memory[: self.nbytes].view(self._dtype)
            host = host.reshape(self._shape)
        options: dict[str, Any] = {"stream": stream}
        if max_version is not None and NUMPY_KNOWS_DLPACK_VERSIONS:
            options["max_version"] = max_version
        if dl_device is not None and tuple(dl_device) != self.__dlpack_device__():
            raise BufferError(f"an Array is given to host memory only, not to device {dl_device}")
        return host.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (KDL_CPU, 0)

    # Shapes and types -----------------------------------------------------------------------------

    def reshape(self, *shape: int | Sequence[int]) -> Array:
        """The same elements in another shape, sharing memory; one size may be -1."""
        sizes: Any = shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape
        try:
            if sizes is None:
                raise TypeError
            # NumPy's own rules, on a shape without elements of its own.
            new_shape = np.empty(self._shape, np.dtype([])).reshape(sizes).shape
        except Exception as error:
            from tilewright.operands import shown

            raise _core.InvalidArgument(
                f"reshape: shape is {shown(sizes)}, expected one of {self.size} elements "
                f"like {self._shape}"
            ) from error
        return Array(self._backend, new_shape, self._dtype, self)

    def astype(self, dtype: npt.DTypeLike) -> Array:
        """Converted to float32 or float16."""
        return self._backend.cast(self, dtype)

    def __len__(self) -> int:
        if not self._shape:
            raise TypeError("an Array without dimensions has no length")
        return self._shape[0]

    def __repr__(self) -> str:
        place = f"shape={self._shape}, dtype={self._dtype}, backend={self._backend.name!r}"
        if self.size > 1000 or not self._backend.is_initialized:
            return f"Array({place})"
        try:
            values = np.array2string(self.numpy(), separator=", ", prefix="Array(")
        except _core.Error:
            # Freed by close().
            return f"Array({place})"
        return f"Array({values}, {place})"

    # Operators ------------------------------------------------------------------------------------

    def __add__(self, other: ArrayLike) -> Array:
        return self._backend.add(self, other)

    def __radd__(self, other: ArrayLike) -> Array:
        return self._backend.add(other, self)

    def __sub__(self, other: ArrayLike) -> Array:
        return self._backend.sub(self, other)

    def __rsub__(self, other: ArrayLike) -> Array:
        return self._backend.sub(other, self)

    def __mul__(self, other: ArrayLike) -> Array:
        return self._backend.mul(self, other)

    def __rmul__(self, other: ArrayLike) -> Array:
        return self._backend.mul(other, self)

    def __truediv__(self, other: ArrayLike) -> Array:
        return self._backend.div(self, other)

    def __rtruediv__(self, other: ArrayLike) -> Array:
        return self._backend.div(other, self)

    def __pow__(self, other: ArrayLike) -> Array:
        return self._backend.pow(self, other)

    def __rpow__(self, other: ArrayLike) -> Array:
        return self._backend.pow(other, self)

    def __matmul__(self, other: ArrayLike) -> Array:
        return self._backend.matmul(self, other)

    def __rmatmul__(self, other: ArrayLike) -> Array:
        return self._backend.matmul(other, self)

    def __neg__(self) -> Array:
        return self._backend.neg(self)

    def __abs__(self) -> Array:
        return self._backend.abs(self)
