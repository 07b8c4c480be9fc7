"""Array: a tensor on a device."""

from __future__ import annotations

import itertools
import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright import _core
from tilewright.array_methods import ArrayMethods, _of, _of_package
from tilewright.shapes import permuted, to_axes, to_new_shape, to_one_axis
from tilewright.small_floats import BFLOAT16, HOST, ml_dtype, to_dlpack, widened

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterator, Sequence

    import numpy.typing as npt

    from tilewright.backend import Backend
    from tilewright.operands import ArrayLike

KDL_CPU = 1

NUMPY_KNOWS_DLPACK_VERSIONS = np.lib.NumpyVersion(np.__version__) >= "2.1.0"


class Array(ArrayMethods):
    """Elements of one dtype in a device buffer, by a shape and strides.

    Made by functions of tilewright and of a backend. Slices, transposes and reshapes are views,
    which share memory; the memory is freed with its last owner. Operators and indexing are NumPy's
    and work on the device. Pass one to a trait call wherever that takes a buffer.
    """

    __slots__ = ()

    # By which libraries, Dask among them, find the one among several that says what is done.
    __array_priority__ = 100

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
    def device(self) -> Backend:
        """The backend that it is an Array of, which `device=` takes everywhere."""
        return self.backend

    @property
    def real(self) -> Array:
        """A view of the real parts; the Array itself where it is real."""
        from tilewright.namespace.complex_functions import real

        return real(self)

    @real.setter
    def real(self, value: Any) -> None:
        self.real[...] = value

    @property
    def imag(self) -> Array:
        """A view of the imaginary parts; zeros where the Array is real."""
        from tilewright.namespace.complex_functions import imag

        return imag(self)

    @imag.setter
    def imag(self, value: Any) -> None:
        if self.dtype.kind != "c":
            raise TypeError(f"imag: the array is {self.dtype}, which has no imaginary parts")
        self.imag[...] = value

    def conj(self) -> Array:
        """The complex conjugate; the Array itself where it is real."""
        from tilewright.namespace.complex_functions import conj

        return conj(self)

    # To the host ----------------------------------------------------------------------------------

    def numpy(self, out: npt.NDArray[Any] | None = None) -> npt.NDArray[Any]:
        """A copy of the array on the host, in `out` if it is given. bfloat16, which NumPy has not,
        comes as ml_dtypes has it where that is installed, and is a TypeError elsewhere."""
        out = self._host("numpy", out)
        self.backend.copy_dtoh(
            out.view(HOST) if self.dtype is BFLOAT16 else out, self._contiguous()
        )
        return out

    def _values(self) -> npt.NDArray[Any]:
        """The elements on the host; those of bfloat16 as bits under a name."""
        if self.dtype is not BFLOAT16:
            return self.numpy()
        out = np.empty(self.shape, HOST)
        self.backend.copy_dtoh(out, self._contiguous())
        return out

    def _numbers(self) -> npt.NDArray[Any]:
        """The elements on the host; those of bfloat16 as float32."""
        return widened(self._values()) if self.dtype is BFLOAT16 else self.numpy()

    def numpy_async(
        self, out: npt.NDArray[Any] | None = None
    ) -> Coroutine[Any, Any, npt.NDArray[Any]]:
        """numpy() to be awaited in asyncio: `host = await x.numpy_async()`.

        The read is queued by the call, so what is done to the array after it does not show.
        """
        out = self._host("numpy_async", out)
        target = out.view(HOST) if self.dtype is BFLOAT16 else out
        return _filled(self.backend.copy_dtoh_async(target, self._contiguous()), out)

    def _host(self, call: str, out: npt.NDArray[Any] | None) -> npt.NDArray[Any]:
        """`out` where it is as the array is, or a new one where there is none."""
        if out is None:
            own = ml_dtype(call) if self.dtype is BFLOAT16 else self.dtype
            return np.empty(self.shape, own)
        if not isinstance(out, np.ndarray):
            raise _core.InvalidArgument(
                f"{call}: out is of type {type(out).__name__}, expected a NumPy array"
            )
        if out.shape != self.shape or out.dtype != self.dtype:
            raise _core.InvalidArgument(
                f"{call}: out is {out.dtype} of shape {out.shape}, "
                f"expected {self.dtype} of shape {self.shape}"
            )
        return out

    def __array__(
        self, dtype: npt.DTypeLike | None = None, copy: bool | None = None
    ) -> npt.NDArray[Any]:
        if copy is False:
            raise ValueError("an Array is read by copying it; np.from_dlpack may share its memory")
        if self.dtype is BFLOAT16 and dtype is not None and self.dtype != dtype:
            return self._numbers().astype(dtype, copy=False)
        host = self.numpy()
        return host if dtype is None else host.astype(dtype, copy=False)

    def item(self, *index: Any) -> Any:
        """The only element, or that at an index, as a Python number: one integer counts the
        elements row by row, several or a tuple are one for each axis."""
        if len(index) == 1 and isinstance(index[0], tuple):
            index = index[0]
        if len(index) == 1 and self.ndim != 1:
            at = operator.index(index[0])
            if not -self.size <= at < self.size:
                raise _core.IndexOutOfRange(f"item: index {at} is out of range of {self.size}")
            index = np.unravel_index(at % self.size, self.shape)
        one = self[index] if index else self
        if one.size != 1:
            raise _core.InvalidArgument(
                f"item: the array has {one.size} elements (shape {one.shape}), expected 1"
            )
        return one._numbers().item()

    def tolist(self) -> Any:
        """The elements as Python numbers, in lists."""
        return self._numbers().tolist()

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __complex__(self) -> complex:
        return complex(self.item())

    def __bool__(self) -> bool:
        if self.size != 1:
            raise _core.InvalidArgument(
                f"bool: the truth value of an Array of {self.size} elements (shape {self.shape}) "
                "is ambiguous; use .any() or .all()"
            )
        return bool(self.item())

    def __index__(self) -> int:
        if self.ndim != 0 or self.dtype.kind not in "iu":
            raise TypeError(
                f"an Array of {self.dtype} and shape {self.shape} is no index, only an integer "
                "without dimensions is"
            )
        return int(self.item())

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        ufuncs = _of("ufuncs")
        if method == "__call__" and not options:
            found = ufuncs.plain(ufunc)
            if found is not None:
                return found(*inputs)
        return ufuncs.array_ufunc(ufunc, method, inputs, options)

    def __array_function__(
        self, function: Any, types: Any, arguments: tuple[Any, ...], options: dict[str, Any]
    ) -> Any:
        return _of("protocols").array_function(self, function, arguments, options)

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
            host = self._values()
        else:
            item = self.itemsize
            host = np.ndarray(
                self.shape, HOST if self.dtype is BFLOAT16 else self.dtype, memory,
                self.offset * item,
                [step * item for step in self.strides],
            )  # fmt: skip
        options: dict[str, Any] = {"stream": stream}
        if max_version is not None and NUMPY_KNOWS_DLPACK_VERSIONS:
            options["max_version"] = max_version
        if dl_device is not None and tuple(dl_device) != self.__dlpack_device__():
            raise BufferError(f"an Array is given to host memory only, not to device {dl_device}")
        return to_dlpack(host, options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (KDL_CPU, 0)

    # Shapes and types -----------------------------------------------------------------------------

    def copy(self, order: str = "K") -> Array:
        """A copy whose elements lie row by row, or with order="F" column by column; "A" takes F for
        an Array that lies so."""
        if order not in ("K", "C") and _layout("copy", self, order) == "F":
            return super().T.copy().T
        return super().copy()

    def reshape(
        self, *shape: int | Sequence[int], order: str = "C", copy: bool | None = None
    ) -> Array:
        """The same elements in another shape; one size may be -1. A view where strides allow it,
        else a copy; `copy` asks for a copy or refuses one. Elements are taken row by row, with
        order="F" column by column, with "A" as they lie if that is either."""
        sizes: Any = shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape
        if order != "C" and _layout("reshape", self, order) == "F":
            new_shape = to_new_shape(self.shape, self.size, sizes)
            return self.T.reshape(new_shape[::-1], copy=copy).T
        view = (self.copy() if copy else self)._reshaped(sizes)
        if view is not None:
            return view
        new_shape = to_new_shape(self.shape, self.size, sizes)
        view = (self.copy() if copy else self)._reshaped(new_shape)
        if view is not None:
            return view
        if copy is False:
            raise _core.InvalidArgument(
                f"reshape: shape {self.shape} with strides {self.strides} is no {new_shape} "
                "without a copy; pass copy=None"
            )
        return self.copy().reshape(new_shape)

    def transpose(self, *axes: int | Sequence[int]) -> Array:
        """A view with the axes in this order, in reverse order where none is given."""
        if not axes:
            return self.T
        given: Any = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes
        if given == () or given is None:
            return self.T
        return permuted("transpose", self, given)

    def swapaxes(self, axis1: int, axis2: int) -> Array:
        """A view with two axes swapped."""
        order = list(range(self.ndim))
        first = to_one_axis("swapaxes", axis1, self.ndim)
        second = to_one_axis("swapaxes", axis2, self.ndim)
        order[first], order[second] = second, first
        return permuted("swapaxes", self, order)

    def flatten(self, order: str = "C") -> Array:
        """A copy with one dimension, of elements as ravel() takes them."""
        return (
            self.ravel(order).copy() if order == "K" else self.reshape(-1, order=order, copy=True)
        )

    def ravel(self, order: str = "C") -> Array:
        """The elements in one dimension: a view where strides allow it, else a copy. order="K"
        takes them as they lie in memory, the others as reshape() does."""
        if order != "K":
            return self.reshape(-1, order=order)
        # Axes of which all elements are one stay where they are.
        far = [abs(stride) for stride in self.strides]
        apart = iter(sorted((i for i in range(self.ndim) if far[i]), key=lambda axis: -far[axis]))
        axes = [next(apart) if far[i] else i for i in range(self.ndim)]
        return permuted("ravel", self, axes).reshape(-1)

    def squeeze(self, axis: int | Sequence[int] | None = None) -> Array:
        """A view without axes of one element: these, or all of them."""
        if axis is None:
            axis = tuple(i for i, size in enumerate(self.shape) if size == 1)
        axes = to_axes("squeeze", axis, self.ndim)
        for one in axes:
            if self.shape[one] != 1:
                raise _core.InvalidArgument(
                    f"squeeze: axis {one} has {self.shape[one]} elements (shape {self.shape}), "
                    "expected 1"
                )
        return self[tuple(0 if i in axes else slice(None) for i in range(self.ndim))]

    def astype(self, dtype: npt.DTypeLike, *, copy: bool = True) -> Array:
        """Converted to any dtype: floats to integers by leaving out the fraction, what is not 0 to
        True. Complex numbers do not become real. A copy, unless `copy` is False and the dtype is
        this one."""
        found = _core._cast(self, dtype)
        if found is not None:
            return found
        operands = _of_package("operands")
        wanted: np.dtype[Any] = operands.to_dtype("astype", dtype)
        if wanted == self.dtype:
            return self.copy() if copy else self
        operands.check_stored("astype", self.backend, wanted)
        if self.dtype.kind == "c" and wanted.kind != "c":
            if wanted.kind == "b":
                return self != 0
            raise _core.InvalidArgument(
                f"astype: the array is {self.dtype}, which {wanted} does not hold; write "
                f".real.astype({wanted.name!r}) to leave the imaginary parts out"
            )
        result = self.backend._new(self.shape, wanted)
        result[...] = self
        return result

    def fill(self, value: Any) -> None:
        """Sets all elements to one value."""
        self[...] = value

    def to_device(self, device: str | Backend, *, stream: None = None) -> Array:
        """This Array, or a copy of it on another device."""
        from tilewright.namespace.devices import to_backend

        if stream is not None:
            raise _core.InvalidArgument("to_device: stream is given, expected None")
        backend = to_backend("to_device", device)
        return self if backend is self.backend else backend._upload(self._values())

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        import tilewright
        from tilewright.namespace.info import API_VERSIONS

        if api_version is not None and api_version not in API_VERSIONS:
            raise _core.InvalidArgument(
                f"__array_namespace__: api_version is {api_version!r}, expected one of "
                + ", ".join(API_VERSIONS)
            )
        return tilewright

    def __copy__(self) -> Array:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> Array:
        return self.copy()

    def __reduce__(self) -> Any:
        from tilewright.travel import PROCESS, unpacked

        return unpacked, (self._values(), self.backend.device.id, PROCESS)

    def __sizeof__(self) -> int:
        """The bytes of the elements too, as NumPy counts them; Dask asks for it."""
        return object.__sizeof__(self) + self.nbytes

    def __dask_tokenize__(self) -> tuple[str, ...]:
        """By which Dask knows equal Arrays."""
        from tilewright.travel import token

        return token(self)

    def __iter__(self) -> Iterator[Array]:
        if not self.shape:
            raise TypeError("an Array without dimensions is not iterated")
        return (self[i] for i in range(self.shape[0]))

    def __contains__(self, value: object) -> bool:
        found = self == value
        return bool(found.any().item()) if isinstance(found, Array) else bool(found)

    def __format__(self, spec: str) -> str:
        """Of an Array without dimensions as its element: f"{loss:.3f}"."""
        return format(self.item(), spec) if spec and not self.shape else super().__format__(spec)

    def __str__(self) -> str:
        """The elements alone, as NumPy prints them."""
        if not _is_readable(self):
            return repr(self)
        return _values_text(self, " ", "") if self.shape else str(self._numbers()[()])

    def __reversed__(self) -> Iterator[Array]:
        return iter(self[::-1])

    # Elements by arrays ---------------------------------------------------------------------------

    def _take_by(self, key: Any) -> Array:
        return _of("indexing").take_by(self, key)  # type: ignore[no-any-return]

    def _put_by(self, key: Any, value: Any) -> None:
        _core._make_writable(self, "assignment")
        _of("indexing").put_by(self, key, value)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("an Array without dimensions has no length")
        return self.shape[0]

    def __repr__(self) -> str:
        place = f"shape={self.shape}, dtype={self.dtype}, backend={self.backend.name!r}"
        if not _is_readable(self):
            return f"Array({place})"
        return f"Array({_values_text(self, ', ', 'Array(')}, {place})"

    # The other operators are _core's.

    def __matmul__(self, other: ArrayLike) -> Array:
        if type(other) is Array:
            found = _core._product(self, other)
            if found is not None:
                return found
        # What NumPy's arrays leave an operator to has it here too.
        elif getattr(other, "__array_ufunc__", self) is None:
            return NotImplemented
        return _matmul(self, other)

    def __rmatmul__(self, other: ArrayLike) -> Array:
        return _matmul(other, self)

    def __imatmul__(self, other: ArrayLike) -> Array:
        self[...] = _matmul(self, other)
        return self


def _is_readable(x: Array) -> bool:
    """Not where the memory was freed by close(), or this thread records. What queued work before it
    failed with is raised, as by any read."""
    if not x.backend.is_initialized:
        return False
    if x.size == 0:
        return True
    try:
        x[(0,) * x.ndim]._values()
    except _core.IndexOutOfRange:
        raise
    except (_core.InvalidArgument, _core.NotInitialized):
        return False
    return True


def _values_text(x: Array, separator: str, before: str, **wanted: Any) -> str:
    """The elements as NumPy shows them behind some text; where it leaves out the middle, only the
    edges are read."""
    options: Any = {**np.get_printoptions(), **wanted}
    edge, threshold = options["edgeitems"], options["threshold"]
    if x.size <= threshold:
        values = x._numbers()
    else:
        # One element stands for all that are left out along an axis.
        sizes = tuple(min(size, 2 * edge + 1) for size in x.shape)
        shown = x.backend._new(sizes, x.dtype)
        ends = (slice(0, edge), slice(-edge, None))
        for corner in itertools.product(
            *(ends if size > 2 * edge > 0 else (slice(None),) for size in x.shape)
        ):
            shown[corner] = x[corner]
        values, threshold = shown._numbers(), 0
    wanted["threshold"] = threshold
    return np.array2string(values, separator=separator, prefix=before, **wanted)


def _layout(call: str, x: Array, order: Any) -> str:
    """C or F, as `order` says for this Array."""
    from tilewright.namespace.mixed import check_layout

    if call == "reshape" and order not in (None, "C", "F", "A"):
        from tilewright.operands import invalid, shown

        invalid(call, f"order is {shown(order)}, expected 'C', 'F' or 'A', or of ravel() 'K'")
    check_layout(call, order)
    is_by_columns = x.T.is_contiguous and not x.is_contiguous
    return "F" if order == "F" or (order == "A" and is_by_columns) else "C"


def _matmul(a: Any, b: Any) -> Array:
    return _of("linear").matmul(a, b)  # type: ignore[no-any-return]


async def _filled(event: _core.Event, host: npt.NDArray[Any]) -> npt.NDArray[Any]:
    await event
    return host


_core._set_array_class(Array)
