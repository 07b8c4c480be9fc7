"""Array: a tensor on a device."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from tilewright import _core

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from tilewright.backend import Backend
    from tilewright.operands import ArrayLike

KDL_CPU = 1

NUMPY_KNOWS_DLPACK_VERSIONS = np.lib.NumpyVersion(np.__version__) >= "2.1.0"


class Array(_core.ArrayBase):
    """A tensor in a device buffer: row-major, contiguous, freed with its last owner.

    Made by a backend's array(), empty(), ... and by its ops. Operators (+ - * / ** @) are the
    backend's ops. Pass one to a trait call wherever that takes a buffer.
    """

    __slots__ = ()

    # NumPy leaves `ndarray + Array` to __radd__ instead of reading the Array back.
    __array_ufunc__ = None

    def __init__(
        self,
        backend: Backend,
        shape: int | Sequence[int],
        dtype: npt.DTypeLike,
        shared: Array | None = None,
    ) -> None:
        from tilewright.operands import to_dtype, to_shape

        super().__init__(backend, to_shape("Array", shape), to_dtype("Array", dtype), shared)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    # To the host ----------------------------------------------------------------------------------

    def numpy(self, out: npt.NDArray[Any] | None = None) -> npt.NDArray[Any]:
        """A copy of the array on the host, in `out` if it is given."""
        if out is None:
            out = np.empty(self.shape, self.dtype)
        elif not isinstance(out, np.ndarray):
            raise _core.InvalidArgument(
                f"numpy: out is of type {type(out).__name__}, expected a NumPy array"
            )
        elif out.shape != self.shape or out.dtype != self.dtype:
            raise _core.InvalidArgument(
                f"numpy: out is {out.dtype} of shape {out.shape}, "
                f"expected {self.dtype} of shape {self.shape}"
            )
        self.backend.copy_dtoh(out, self)
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
                f"item: the array has {self.size} elements (shape {self.shape}), expected 1"
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
            host = memory[: self.nbytes].view(self.dtype)
            host = host.reshape(self.shape)
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
            new_shape = np.empty(self.shape, np.dtype([])).reshape(sizes).shape
        except Exception as error:
            from tilewright.operands import shown

            raise _core.InvalidArgument(
                f"reshape: shape is {shown(sizes)}, expected one of {self.size} elements "
                f"like {self.shape}"
            ) from error
        return Array(self.backend, new_shape, self.dtype, self)

    def astype(self, dtype: npt.DTypeLike) -> Array:
        """Converted to float32 or float16, from int32 too."""
        return self.backend.cast(self, dtype)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("an Array without dimensions has no length")
        return self.shape[0]

    def __repr__(self) -> str:
        place = f"shape={self.shape}, dtype={self.dtype}, backend={self.backend.name!r}"
        if self.size > 1000 or not self.backend.is_initialized:
            return f"Array({place})"
        try:
            values = np.array2string(self.numpy(), separator=", ", prefix="Array(")
        except _core.Error:
            # Freed by close().
            return f"Array({place})"
        return f"Array({values}, {place})"

    # Operators ------------------------------------------------------------------------------------

    def __add__(self, other: ArrayLike) -> Array:
        return self.backend._binary("add", "add", self, other, None)

    def __radd__(self, other: ArrayLike) -> Array:
        return self.backend._binary("add", "add", other, self, None)

    def __sub__(self, other: ArrayLike) -> Array:
        return self.backend._binary("sub", "sub", self, other, None)

    def __rsub__(self, other: ArrayLike) -> Array:
        return self.backend._binary("sub", "sub", other, self, None)

    def __mul__(self, other: ArrayLike) -> Array:
        return self.backend._binary("mul", "mul", self, other, None)

    def __rmul__(self, other: ArrayLike) -> Array:
        return self.backend._binary("mul", "mul", other, self, None)

    def __truediv__(self, other: ArrayLike) -> Array:
        return self.backend._binary("div", "div", self, other, None)

    def __rtruediv__(self, other: ArrayLike) -> Array:
        return self.backend._binary("div", "div", other, self, None)

    def __pow__(self, other: ArrayLike) -> Array:
        return self.backend._binary("pow", "pow", self, other, None)

    def __rpow__(self, other: ArrayLike) -> Array:
        return self.backend._binary("pow", "pow", other, self, None)

    def __matmul__(self, other: ArrayLike) -> Array:
        return self.backend.matmul(self, other)

    def __rmatmul__(self, other: ArrayLike) -> Array:
        return self.backend.matmul(other, self)

    # Elementwise, as in NumPy, which needs arrays of bool.

    def __eq__(self, other: object) -> NoReturn:
        self._no_comparison("==")

    def __ne__(self, other: object) -> NoReturn:
        self._no_comparison("!=")

    def __lt__(self, other: object) -> NoReturn:
        self._no_comparison("<")

    def __le__(self, other: object) -> NoReturn:
        self._no_comparison("<=")

    def __gt__(self, other: object) -> NoReturn:
        self._no_comparison(">")

    def __ge__(self, other: object) -> NoReturn:
        self._no_comparison(">=")

    def __contains__(self, value: object) -> NoReturn:
        raise _core.Unsupported("in: no device searches an Array; write `value in x.numpy()`")

    def __iter__(self) -> NoReturn:
        raise TypeError(
            "an Array is not iterated, which would read it piece by piece; "
            "write `for row in x.numpy()`"
        )

    __hash__ = None  # type: ignore[assignment]

    @staticmethod
    def _no_comparison(symbol: str) -> NoReturn:
        raise _core.Unsupported(
            f"{symbol}: Arrays compare element by element, and no device holds an Array of bool; "
            f"write `x.numpy() {symbol} y.numpy()`, or `x is y` for one and the same Array"
        )

    def __neg__(self) -> Array:
        return self.backend.neg(self)

    def __abs__(self) -> Array:
        return self.backend.abs(self)


_core._set_array_class(Array)
