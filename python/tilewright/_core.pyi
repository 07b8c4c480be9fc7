"""The tilewright library as it is; the package tilewright is its public face."""

import enum
from collections.abc import Callable, Generator, Mapping, Sequence
from types import TracebackType
from typing import Any, TypeAlias, final, overload

import numpy as np
import numpy.typing as npt
from typing_extensions import Buffer, disjoint_base

import tilewright.backend
from tilewright.array import Array

__version__: str

class Error(Exception): ...
class NotInitialized(Error, RuntimeError): ...
class InvalidArgument(Error, ValueError): ...
class IndexOutOfRange(InvalidArgument, IndexError): ...
class Unsupported(Error, NotImplementedError): ...

class OutOfMemory(Error, MemoryError):
    requested_bytes: int

class DeviceError(Error, RuntimeError): ...
class DeviceLost(DeviceError): ...
class KernelError(DeviceError): ...
class BackendUnavailable(DeviceError): ...

class DType(enum.StrEnum):
    float32 = "float32"
    float16 = "float16"
    int32 = "int32"
    bool = "bool"
    int8 = "int8"
    int16 = "int16"
    int64 = "int64"
    uint8 = "uint8"
    uint16 = "uint16"
    uint32 = "uint32"
    uint64 = "uint64"
    bfloat16 = "bfloat16"
    float64 = "float64"

class Transpose(enum.StrEnum):
    none = "none"
    transpose = "transpose"
    conj_transpose = "conj_transpose"

class Precision(enum.StrEnum):
    float16 = "float16"
    bfloat16 = "bfloat16"
    high = "high"

class UnaryOp(enum.StrEnum):
    relu = "relu"
    sigmoid = "sigmoid"
    tanh = "tanh"
    exp = "exp"
    log = "log"
    sqrt = "sqrt"
    abs = "abs"
    neg = "neg"
    silu = "silu"
    gelu = "gelu"
    gelu_tanh = "gelu_tanh"
    rsqrt = "rsqrt"
    reciprocal = "reciprocal"
    square = "square"

class BinaryOp(enum.StrEnum):
    add = "add"
    sub = "sub"
    mul = "mul"
    div = "div"
    max = "max"
    min = "min"
    pow = "pow"

class ReduceOp(enum.StrEnum):
    sum = "sum"
    max = "max"
    min = "min"
    mean = "mean"

class Reduction(enum.StrEnum):
    sum = "sum"
    prod = "prod"
    max = "max"
    min = "min"
    any = "any"
    all = "all"
    argmax = "argmax"
    argmin = "argmin"
    moments = "moments"

class ScanOp(enum.StrEnum):
    sum = "sum"
    prod = "prod"
    max = "max"
    min = "min"

class PoolOp(enum.StrEnum):
    max = "max"
    mean = "mean"
    mean_padded = "mean_padded"

class Activation(enum.StrEnum):
    none = "none"
    relu = "relu"
    relu6 = "relu6"
    leaky_relu = "leaky_relu"
    hardswish = "hardswish"
    sigmoid = "sigmoid"
    tanh = "tanh"
    silu = "silu"
    gelu = "gelu"
    gelu_tanh = "gelu_tanh"

class SampleMode(enum.StrEnum):
    bilinear = "bilinear"
    nearest = "nearest"
    bicubic = "bicubic"

class SamplePadding(enum.StrEnum):
    zeros = "zeros"
    border = "border"
    reflection = "reflection"

class RopePairing(enum.StrEnum):
    halves = "halves"
    neighbours = "neighbours"

class QuantFormat(enum.StrEnum):
    q8_0 = "q8_0"
    q4_0 = "q4_0"
    q4_1 = "q4_1"
    q5_0 = "q5_0"
    q5_1 = "q5_1"
    q2_k = "q2_k"
    q3_k = "q3_k"
    q4_k = "q4_k"
    q5_k = "q5_k"
    q6_k = "q6_k"
    mxfp4 = "mxfp4"

class RecurrentCell(enum.StrEnum):
    rnn_tanh = "rnn_tanh"
    rnn_relu = "rnn_relu"
    lstm = "lstm"
    gru = "gru"
    gru_reset_before = "gru_reset_before"

class FftKind(enum.StrEnum):
    complex = "complex"
    real = "real"

class DeviceKind(enum.StrEnum):
    discrete = "discrete"
    integrated = "integrated"
    software = "software"
    cpu = "cpu"

@final
class DeviceInfo:
    @property
    def id(self) -> str: ...
    @property
    def backend(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def kind(self) -> DeviceKind: ...
    @property
    def driver(self) -> str: ...
    @property
    def memory_bytes(self) -> int: ...
    @property
    def limits(self) -> dict[str, int]: ...
    @property
    def features(self) -> tuple[str, ...]: ...
    @property
    def matrix_shapes(self) -> tuple[str, ...]: ...
    @property
    def implementation(self) -> str: ...
    @property
    def implementation_why(self) -> str: ...
    @property
    def available(self) -> bool: ...
    @property
    def reason(self) -> str: ...

@final
class Capabilities:
    @property
    def dtypes(self) -> tuple[DType, ...]: ...
    @property
    def storage_dtypes(self) -> tuple[DType, ...]: ...
    @property
    def limits(self) -> dict[str, int]: ...
    @property
    def features(self) -> tuple[str, ...]: ...
    @property
    def memory_bytes(self) -> int: ...
    @property
    def max_buffer_bytes(self) -> int: ...
    @property
    def compute_units(self) -> int: ...

@final
class PerformanceHints:
    @property
    def simd_width(self) -> int: ...
    @property
    def preferred_alignment(self) -> int: ...
    @property
    def cache_bytes(self) -> int: ...
    @property
    def preferred_workgroup_size(self) -> int: ...
    @property
    def concurrency(self) -> int: ...

@final
class MemoryStats:
    @property
    def active_bytes(self) -> int: ...
    @property
    def peak_bytes(self) -> int: ...
    @property
    def peak_scratch_bytes(self) -> int: ...
    @property
    def cached_bytes(self) -> int: ...
    @property
    def cache_limit_bytes(self) -> int: ...
    @property
    def allocations(self) -> int: ...
    @property
    def total_allocations(self) -> int: ...
    @property
    def limit_bytes(self) -> int: ...

@final
class KernelBinding:
    @property
    def name(self) -> str: ...
    @property
    def writable(self) -> bool: ...
    @property
    def least_bytes(self) -> int: ...

@final
class KernelParameter:
    @property
    def name(self) -> str: ...
    @property
    def type(self) -> str: ...
    @property
    def offset(self) -> int: ...
    @property
    def bytes(self) -> int: ...

@final
class KernelInfo:
    @property
    def name(self) -> str: ...
    @property
    def bindings(self) -> tuple[KernelBinding, ...]: ...
    @property
    def params(self) -> tuple[KernelParameter, ...]: ...
    @property
    def params_bytes(self) -> int: ...
    @property
    def workgroup_size(self) -> tuple[int, int, int]: ...
    @property
    def workgroup_bytes(self) -> int: ...
    @property
    def compile_seconds(self) -> float: ...
    @property
    def log(self) -> str: ...

@final
class LaunchRecord:
    @property
    def kernel(self) -> str: ...
    @property
    def start_ns(self) -> int: ...
    @property
    def duration_ns(self) -> int: ...
    @property
    def grid(self) -> tuple[int, int, int]: ...

@final
class Event:
    @property
    def backend(self) -> Backend: ...
    def done(self) -> bool: ...
    def wait(self, timeout: float | None = None) -> bool: ...
    def __await__(self) -> Generator[Any]: ...

@final
class FftPlan:
    @property
    def backend(self) -> Backend: ...
    @property
    def input_size(self) -> int: ...
    @property
    def transform_size(self) -> int: ...
    @property
    def table_bytes(self) -> int: ...
    def run(
        self, input: _Buffer, output: _Buffer, inverse: bool = False, scale: float = 1.0
    ) -> None: ...

@final
class Recording:
    @property
    def backend(self) -> Backend: ...
    @property
    def is_recording(self) -> bool: ...
    def end(self) -> None: ...
    def replay(self) -> None: ...
    def drop(self) -> None: ...
    def __enter__(self) -> Recording: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None: ...

class CompiledKernel:
    def __init__(
        self,
        backend: Backend,
        code: str | bytes,
        entry: str,
        name: str | None,
        trusted: bool,
        constants: Mapping[str | int, bool | int | float] | None,
    ) -> None: ...
    @property
    def handle(self) -> int: ...

_Strides: TypeAlias = Sequence[int]
_MapOperand: TypeAlias = _Buffer | tuple[_Buffer, _Strides] | tuple[_Buffer, _Strides, int]
_MapGroup: TypeAlias = tuple[int, Sequence[_MapOperand], Sequence[_MapOperand]]
_IndexOperand: TypeAlias = tuple[_MapOperand, str, int, int, int]

class ProgramBase:
    def __init__(self) -> None: ...
    def _input(self, dtype: DType | str) -> int: ...
    def _number(self, dtype: DType | str) -> int: ...
    def _constant(self, value: float, dtype: DType | str) -> int: ...
    def _apply(self, op: str, operands: Sequence[int]) -> int: ...
    def _cast(self, value: int, dtype: DType | str) -> int: ...
    def _output(self, value: int) -> None: ...
    def _dtype(self, value: int) -> DType: ...
    @property
    def inputs(self) -> tuple[DType, ...]: ...
    @property
    def numbers(self) -> tuple[DType, ...]: ...
    @property
    def outputs(self) -> tuple[DType, ...]: ...
    @staticmethod
    def ops() -> list[str]: ...
    @staticmethod
    def _operands(op: str) -> int: ...

@disjoint_base
class ArrayBase:
    def __init__(
        self,
        backend: Backend,
        shape: tuple[int, ...],
        dtype: np.dtype[Any],
        shared: ArrayBase | None = None,
    ) -> None: ...
    @property
    def backend(self) -> tilewright.backend.Backend: ...
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> np.dtype[Any]: ...
    @property
    def size(self) -> int: ...
    @property
    def handle(self) -> int: ...
    @property
    def stored_as(self) -> str: ...
    def host_memory(self) -> npt.NDArray[np.uint8] | None: ...
    @property
    def strides(self) -> tuple[int, ...]: ...
    @property
    def offset(self) -> int: ...
    @property
    def is_contiguous(self) -> bool: ...
    @property
    def ndim(self) -> int: ...
    @property
    def itemsize(self) -> int: ...
    @property
    def nbytes(self) -> int: ...
    def _same_floats(self, *others: object) -> bool: ...
    @property
    def T(self) -> Array: ...
    @property
    def mT(self) -> Array: ...
    def copy(self) -> Array: ...
    def overlaps(self, other: ArrayBase) -> bool: ...
    def _contiguous(self) -> Array: ...
    def _view(self, shape: tuple[int, ...], strides: Sequence[int], offset: int) -> Array: ...
    def _permuted(self, axes: tuple[int, ...], /) -> Array: ...
    def _broadcast(self, shape: object, /) -> Array | None: ...
    def _reshaped(self, shape: object, /) -> Array | None: ...
    def _parts(self) -> Array: ...
    def _part(self, which: int, /) -> Array: ...
    def _paired(self) -> Array: ...
    def _conj(self) -> Array: ...
    def _angle(self) -> Array: ...
    def __getitem__(self, key: Any, /) -> Array: ...
    def __setitem__(self, key: Any, value: Any, /) -> None: ...
    def __delitem__(self, key: Any, /) -> None: ...
    __hash__: None  # type: ignore[assignment]
    def __add__(self, value: Any, /) -> Array: ...
    def __radd__(self, value: Any, /) -> Array: ...
    def __iadd__(self, value: Any, /) -> Array: ...
    def __sub__(self, value: Any, /) -> Array: ...
    def __rsub__(self, value: Any, /) -> Array: ...
    def __isub__(self, value: Any, /) -> Array: ...
    def __mul__(self, value: Any, /) -> Array: ...
    def __rmul__(self, value: Any, /) -> Array: ...
    def __imul__(self, value: Any, /) -> Array: ...
    def __truediv__(self, value: Any, /) -> Array: ...
    def __rtruediv__(self, value: Any, /) -> Array: ...
    def __itruediv__(self, value: Any, /) -> Array: ...
    def __floordiv__(self, value: Any, /) -> Array: ...
    def __rfloordiv__(self, value: Any, /) -> Array: ...
    def __ifloordiv__(self, value: Any, /) -> Array: ...
    def __mod__(self, value: Any, /) -> Array: ...
    def __rmod__(self, value: Any, /) -> Array: ...
    def __imod__(self, value: Any, /) -> Array: ...
    def __pow__(self, value: Any, mod: None = None, /) -> Array: ...
    def __rpow__(self, value: Any, mod: None = None, /) -> Array: ...
    def __ipow__(self, value: Any, /) -> Array: ...  # type: ignore[misc]
    def __and__(self, value: Any, /) -> Array: ...
    def __rand__(self, value: Any, /) -> Array: ...
    def __iand__(self, value: Any, /) -> Array: ...
    def __or__(self, value: Any, /) -> Array: ...
    def __ror__(self, value: Any, /) -> Array: ...
    def __ior__(self, value: Any, /) -> Array: ...
    def __xor__(self, value: Any, /) -> Array: ...
    def __rxor__(self, value: Any, /) -> Array: ...
    def __ixor__(self, value: Any, /) -> Array: ...
    def __lshift__(self, value: Any, /) -> Array: ...
    def __rlshift__(self, value: Any, /) -> Array: ...
    def __ilshift__(self, value: Any, /) -> Array: ...
    def __rshift__(self, value: Any, /) -> Array: ...
    def __rrshift__(self, value: Any, /) -> Array: ...
    def __irshift__(self, value: Any, /) -> Array: ...
    def __divmod__(self, value: Any, /) -> tuple[Array, Array]: ...
    def __rdivmod__(self, value: Any, /) -> tuple[Array, Array]: ...
    def __neg__(self) -> Array: ...
    def __pos__(self) -> Array: ...
    def __abs__(self) -> Array: ...
    def __invert__(self) -> Array: ...
    def __eq__(self, value: object, /) -> Array: ...  # type: ignore[override]
    def __ne__(self, value: object, /) -> Array: ...  # type: ignore[override]
    def __lt__(self, value: Any, /) -> Array: ...
    def __le__(self, value: Any, /) -> Array: ...
    def __gt__(self, value: Any, /) -> Array: ...
    def __ge__(self, value: Any, /) -> Array: ...

_Buffer: TypeAlias = int | ArrayBase
_HostData: TypeAlias = Buffer | npt.NDArray[Any]
_Kernel: TypeAlias = int | CompiledKernel

def _set_reader(function: Callable[..., Any]) -> None: ...
def _set_options(function: Callable[..., Any]) -> None: ...
def _set_complex(
    evaluate: Callable[..., Any], assign: Callable[..., Any], program_of: Callable[..., Any]
) -> None: ...
def _set_deferred(on: bool) -> None: ...
def _set_deferred_here(on: bool | None) -> bool | None: ...
def _is_deferred(x: object) -> bool: ...
def _set_read_only(arrays: list[Any]) -> None: ...
def _make_writable(x: object, call: str) -> None: ...
def _same_elements(a: object, b: object) -> bool: ...
def _reduce_deferred(
    x: object,
    front: ProgramBase,
    op: Reduction | str,
    axes: Sequence[int],
    out: object,
    behind: ProgramBase | None,
    numbers: Sequence[float],
) -> bool: ...
def _elementwise_functions() -> dict[str, Callable[..., Array]]: ...
def _filled(backend: object, shape: object, dtype: object, value: object) -> Array | None: ...
def _counted(
    backend: object, start: object, stop: object, step: object, dtype: object
) -> Array | None: ...
def _cast(x: object, dtype: object) -> Array | None: ...
def _listed(backend: object, values: object) -> Array | None: ...
def _joined(arrays: object, axis: object, is_new: bool) -> Array | None: ...
def _note_kept(table: Any) -> None: ...
def _kept_function(function: Callable[..., Any]) -> Callable[..., Any]: ...
def _reductions() -> dict[str, Callable[[Any, Any, Any, Any], Any]]: ...
def _spread(
    x: object, axis: object, keepdims: object, correction: object, is_root: bool
) -> Array | None: ...
def _cumulated(x: object, axis: object, dtype: object, is_product: bool) -> Array | None: ...
def _sorted(x: object, axis: object, descending: object, are_places: bool) -> Array | None: ...
def _taken(x: object, indices: object, axis: object, call: str) -> Array | None: ...
def _taken_along(x: object, indices: object, axis: int) -> Array | None: ...
def _product(x1: object, x2: object) -> Array | None: ...
def _chosen(x: Array, mask: Array) -> Array: ...
def _places(mask: Array, shape: tuple[int, ...], dtype: Any) -> Array: ...
def _place_rows(mask: Array, dtype: Any) -> tuple[Array, ...]: ...
def _set_dtype_names(known: dict[Any, Any]) -> None: ...

class Backend:
    @overload
    def __init__(self, backend: Backend, /) -> None: ...
    @overload
    def __init__(self, name: str, /, **kwargs: Any) -> None: ...
    @property
    def name(self) -> str: ...
    @property
    def is_initialized(self) -> bool: ...
    @property
    def config(self) -> dict[str, Any]: ...
    @property
    def device(self) -> DeviceInfo: ...
    def _new(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array: ...
    def _own(self, call: str, name: str, array: Any) -> None: ...
    def _read(self, call: str, **given: Any) -> list[Array]: ...
    def _result(
        self, call: str, out: Any, shape: tuple[int, ...], dtype: np.dtype[Any], *inputs: Array
    ) -> Array: ...
    def _read_rows(self, call: str, **given: Any) -> list[Array]: ...
    def _result_rows(
        self, call: str, out: Any, shape: tuple[int, ...], dtype: np.dtype[Any], *inputs: Array
    ) -> Array: ...
    def _unary(self, op: str, x: Any, out: Any) -> Array: ...
    def _binary(self, call: str, op: str, a: Any, b: Any, out: Any) -> Array: ...
    def _softmax(self, x: Any, axis: Any, out: Any) -> Array: ...
    def _log_softmax(self, x: Any, axis: Any, out: Any) -> Array: ...
    def _matmul(
        self,
        a: Any,
        b: Any,
        transpose_a: Any,
        transpose_b: Any,
        alpha: Any,
        beta: Any,
        precision: Any,
        out_dtype: Any,
        out: Any,
    ) -> Array: ...
    def init(self) -> None: ...
    def close(self) -> None: ...
    def capabilities(self) -> Capabilities: ...
    def performance_hints(self) -> PerformanceHints: ...
    def supports(
        self,
        op: str,
        dtype: DType | str = "float32",
        kind: str | None = None,
        to: DType | str | None = None,
    ) -> bool: ...
    def available_ops(self) -> list[str]: ...
    def synchronize(self) -> None: ...
    def flush(self) -> None: ...
    def event(self) -> Event: ...
    def record(self) -> Recording: ...
    def alloc(self, bytes: int) -> int: ...
    def view(self, buffer: _Buffer, offset: int, bytes: int) -> int: ...
    def free(self, buffer: _Buffer) -> None: ...
    def release(self, buffer: _Buffer) -> None: ...
    def copy_htod(self, dst: _Buffer, src: _HostData, offset: int = 0) -> None: ...
    def copy_dtoh(self, dst: _HostData, src: _Buffer, offset: int = 0) -> None: ...
    def copy_dtoh_async(self, dst: _HostData, src: _Buffer, offset: int = 0) -> Event: ...
    def copy_dtod(
        self, dst: _Buffer, src: _Buffer, bytes: int, dst_offset: int = 0, src_offset: int = 0
    ) -> None: ...
    def buffer_bytes(self, buffer: _Buffer) -> int: ...
    def memory_stats(self) -> MemoryStats: ...
    def trim(self) -> None: ...
    def gemm(
        self,
        trans_a: str,
        trans_b: str,
        m: int,
        n: int,
        k: int,
        alpha: float,
        a: _Buffer,
        lda: int,
        b: _Buffer,
        ldb: int,
        beta: float,
        c: _Buffer,
        ldc: int,
        dtype: str = "float32",
        output_dtype: str | None = None,
    ) -> None: ...
    def batched_gemm(
        self,
        trans_a: str,
        trans_b: str,
        m: int,
        n: int,
        k: int,
        alpha: float,
        a: _Buffer,
        lda: int,
        stride_a: int,
        b: _Buffer,
        ldb: int,
        stride_b: int,
        beta: float,
        c: _Buffer,
        ldc: int,
        stride_c: int,
        batch_count: int,
        dtype: str = "float32",
        output_dtype: str | None = None,
    ) -> None: ...
    def gemm_f16(
        self,
        trans_a: str,
        trans_b: str,
        m: int,
        n: int,
        k: int,
        alpha: float,
        a: _Buffer,
        lda: int,
        b: _Buffer,
        ldb: int,
        beta: float,
        c: _Buffer,
        ldc: int,
    ) -> None: ...
    def gemm_mixed_precision(
        self,
        precision: str,
        trans_a: str,
        trans_b: str,
        m: int,
        n: int,
        k: int,
        alpha: float,
        a: _Buffer,
        lda: int,
        b: _Buffer,
        ldb: int,
        beta: float,
        c: _Buffer,
        ldc: int,
    ) -> None: ...
    def matmul_vec(
        self,
        matrix: _Buffer,
        rows: int,
        cols: int,
        vector: _Buffer,
        out: _Buffer,
        dtype: str = "float32",
    ) -> None: ...
    def conv2d_forward(
        self,
        input: _Buffer,
        input_shape: Sequence[int],
        filter: _Buffer,
        filter_shape: Sequence[int],
        output: _Buffer,
        output_shape: Sequence[int],
        stride: Sequence[int],
        pad: Sequence[int],
        dilation: Sequence[int] = (1, 1),
        groups: int = 1,
        bias: _Buffer | None = None,
        dtype: str = "float32",
        activation: str = "none",
        slope: float = 0.01,
        addend: _Buffer | None = None,
    ) -> None: ...
    def conv2d_backward_data(
        self,
        grad_output: _Buffer,
        output_shape: Sequence[int],
        filter: _Buffer,
        filter_shape: Sequence[int],
        grad_input: _Buffer,
        input_shape: Sequence[int],
        stride: Sequence[int],
        pad: Sequence[int],
        dilation: Sequence[int] = (1, 1),
        groups: int = 1,
        dtype: str = "float32",
    ) -> None: ...
    def conv2d_backward_filter(
        self,
        input: _Buffer,
        input_shape: Sequence[int],
        grad_output: _Buffer,
        output_shape: Sequence[int],
        grad_filter: _Buffer,
        filter_shape: Sequence[int],
        stride: Sequence[int],
        pad: Sequence[int],
        dilation: Sequence[int] = (1, 1),
        groups: int = 1,
        dtype: str = "float32",
    ) -> None: ...
    def attention(
        self,
        q: _MapOperand,
        k: _MapOperand,
        v: _MapOperand,
        o: _MapOperand,
        batch: int,
        heads: int,
        seq_q: int,
        seq_kv: int,
        head_dim: int,
        scale: float,
        causal: bool,
        q_offset: int = 0,
        kv_heads: int | None = None,
        dtype: str = "float32",
        mask: _MapOperand | None = None,
        mask_dtype: str = "bool",
        soft_cap: float = 0.0,
        window_left: int | None = None,
        window_right: int | None = None,
        value_dim: int | None = None,
        at_end: bool = False,
        kv_lengths: _Buffer | None = None,
        page_table: _Buffer | None = None,
        page_size: int | None = None,
        pages: int | None = None,
        q_starts: _Buffer | None = None,
        kv_starts: _Buffer | None = None,
        page_dtype: str | None = None,
        page_scales: _Buffer | None = None,
    ) -> None: ...
    def attention_scores(
        self,
        q: _MapOperand,
        keys: _MapOperand,
        scores: _MapOperand,
        seq: int,
        head_dim: int,
        scale: float,
        heads: int = 1,
        kv_heads: int | None = None,
        dtype: str = "float32",
    ) -> None: ...
    def weighted_sum(
        self,
        weights: _MapOperand,
        rows: _MapOperand,
        output: _MapOperand,
        count: int,
        dim: int,
        heads: int = 1,
        kv_heads: int | None = None,
        dtype: str = "float32",
    ) -> None: ...
    def pool(
        self,
        op: str,
        input: _Buffer,
        output: _Buffer,
        planes: int,
        shape: Sequence[int],
        output_shape: Sequence[int],
        window: Sequence[int],
        stride: Sequence[int],
        pad: Sequence[int],
        dilation: Sequence[int],
        divisor: float = 0.0,
        places: _Buffer | None = None,
        dtype: str = "float32",
    ) -> None: ...
    def pool_backward(
        self,
        op: str,
        grad_output: _Buffer,
        grad_input: _Buffer,
        planes: int,
        shape: Sequence[int],
        output_shape: Sequence[int],
        window: Sequence[int],
        stride: Sequence[int],
        pad: Sequence[int],
        dilation: Sequence[int],
        divisor: float = 0.0,
        places: _Buffer | None = None,
        dtype: str = "float32",
    ) -> None: ...
    def resample(
        self,
        input: _Buffer,
        output: _Buffer,
        planes: int,
        shape: Sequence[int],
        output_shape: Sequence[int],
        row_spans: _Buffer,
        row_weights: _Buffer,
        row_taps: int,
        column_spans: _Buffer,
        column_weights: _Buffer,
        column_taps: int,
        dtype: str = "float32",
    ) -> None: ...
    def grid_sample(
        self,
        input: _Buffer,
        grid: _Buffer,
        output: _Buffer,
        batch: int,
        channels: int,
        shape: Sequence[int],
        output_shape: Sequence[int],
        mode: str = "bilinear",
        padding: str = "zeros",
        align_corners: bool = False,
        dtype: str = "float32",
    ) -> None: ...
    def grid_sample_backward_grid(
        self,
        grad_output: _Buffer,
        input: _Buffer,
        grid: _Buffer,
        grad_grid: _Buffer,
        batch: int,
        channels: int,
        shape: Sequence[int],
        output_shape: Sequence[int],
        mode: str = "bilinear",
        padding: str = "zeros",
        align_corners: bool = False,
        dtype: str = "float32",
    ) -> None: ...
    def rope(
        self,
        x: _MapOperand,
        cos: _Buffer,
        sin: _Buffer,
        output: _MapOperand,
        batch: int,
        heads: int,
        seq: int,
        head_dim: int,
        table_rows: int,
        position: int = 0,
        dtype: str = "float32",
        pairing: str = "halves",
        rotary_dim: int | None = None,
        positions: _Buffer | None = None,
        positions_per_sequence: int = 1,
        inverse: bool = False,
    ) -> None: ...
    def write_pages(
        self,
        x: _MapOperand,
        cache: _MapOperand,
        slots: _Buffer,
        tokens: int,
        heads: int,
        kv_heads: int,
        head_dim: int,
        pages: int,
        page_size: int,
        dtype: str = "float32",
        page_dtype: str | None = None,
        page_scales: _Buffer | None = None,
        cos: _Buffer | None = None,
        sin: _Buffer | None = None,
        positions: _Buffer | None = None,
        table_rows: int = 0,
        pairing: str = "halves",
        rotary_dim: int | None = None,
    ) -> None: ...
    def softmax(
        self,
        input: _Buffer,
        output: _Buffer,
        shape: Sequence[int],
        axis: int,
        dtype: str = "float32",
        log: bool = False,
    ) -> None: ...
    def cross_entropy(
        self,
        scores: _Buffer,
        targets: _Buffer,
        losses: _Buffer,
        shape: Sequence[int],
        axis: int,
        dtype: str = "float32",
        target_dtype: str = "int32",
        weights: _Buffer | None = None,
        ignored: int = -100,
        smoothing: float = 0.0,
        reduction: str | None = None,
    ) -> None: ...
    def cross_entropy_backward(
        self,
        scores: _Buffer,
        targets: _Buffer,
        grad_scores: _Buffer,
        shape: Sequence[int],
        axis: int,
        dtype: str = "float32",
        target_dtype: str = "int32",
        weights: _Buffer | None = None,
        ignored: int = -100,
        smoothing: float = 0.0,
        reduction: str | None = None,
        grad: _Buffer | None = None,
        factor: float = 1.0,
    ) -> None: ...
    def rmsnorm(
        self,
        x: _Buffer,
        weight: _Buffer | None,
        out: _Buffer,
        rows: int,
        cols: int,
        eps: float,
        dtype: str = "float32",
        residual: _Buffer | None = None,
        sum: _Buffer | None = None,
    ) -> None: ...
    def layer_norm(
        self,
        x: _Buffer,
        weight: _Buffer | None,
        bias: _Buffer | None,
        out: _Buffer,
        rows: int,
        cols: int,
        eps: float,
        dtype: str = "float32",
        residual: _Buffer | None = None,
        sum: _Buffer | None = None,
    ) -> None: ...
    def gather(
        self,
        table: _Buffer,
        indices: _Buffer,
        output: _Buffer,
        table_rows: int,
        row_size: int,
        count: int,
        dtype: str = "float32",
    ) -> None: ...
    def scatter(
        self,
        source: _Buffer,
        indices: _Buffer,
        output: _Buffer,
        output_rows: int,
        row_size: int,
        count: int,
        dtype: str = "float32",
    ) -> None: ...
    def unary(
        self, op: str, input: _Buffer, output: _Buffer, n: int, dtype: str = "float32"
    ) -> None: ...
    def silu(self, input: _Buffer, output: _Buffer, n: int, dtype: str = "float32") -> None: ...
    def gelu(self, input: _Buffer, output: _Buffer, n: int, dtype: str = "float32") -> None: ...
    def binary(
        self, op: str, a: _Buffer, b: _Buffer, output: _Buffer, n: int, dtype: str = "float32"
    ) -> None: ...
    def binary_scalar(
        self,
        op: str,
        a: _Buffer,
        scalar: float,
        output: _Buffer,
        n: int,
        scalar_first: bool = False,
        dtype: str = "float32",
    ) -> None: ...
    def binary_broadcast(
        self,
        op: str,
        a: _Buffer,
        a_strides: Sequence[int],
        b: _Buffer,
        b_strides: Sequence[int],
        output: _Buffer,
        shape: Sequence[int],
        dtype: str = "float32",
    ) -> None: ...
    def reduce(
        self,
        op: str,
        input: _Buffer,
        output: _Buffer,
        shape: Sequence[int],
        axis: int,
        dtype: str = "float32",
    ) -> None: ...
    def cast(self, input: _Buffer, from_: str, output: _Buffer, to: str, n: int) -> None: ...
    def fft_plan(
        self, shape: Sequence[int], batch: int = 1, kind: str = "complex", dtype: str = "float32"
    ) -> FftPlan: ...
    def fft_roots(self, n: int, real: bool = False) -> npt.NDArray[np.complex128]: ...
    def optimal_fft_size(self, n: int) -> int: ...
    def create_kernel(
        self,
        code: str | bytes,
        entry: str = "main",
        name: str | None = None,
        trusted: bool = False,
        constants: Mapping[str | int, bool | int | float] | None = None,
    ) -> int: ...
    def free_kernel(self, kernel: _Kernel) -> None: ...
    def release_kernel(self, kernel: _Kernel) -> None: ...
    def kernel_info(self, kernel: _Kernel) -> KernelInfo: ...
    def launch_kernel(
        self, kernel: _Kernel, buffers: Sequence[_Buffer], params: _HostData, grid: Sequence[int]
    ) -> None: ...
    def cholesky(
        self,
        a: _Buffer,
        factor: _Buffer,
        status: _Buffer,
        n: int,
        batch: int = 1,
        upper: bool = False,
        is_complex: bool = False,
        dtype: str = "float32",
    ) -> None: ...
    def lu(
        self,
        a: _Buffer,
        factors: _Buffer,
        permutation: _Buffer,
        status: _Buffer,
        n: int,
        batch: int = 1,
        is_complex: bool = False,
        dtype: str = "float32",
    ) -> None: ...
    def triangular_solve(
        self,
        a: _Buffer,
        b: _Buffer,
        x: _Buffer,
        n: int,
        columns: int,
        batch: int = 1,
        upper: bool = False,
        trans: str = "none",
        unit: bool = False,
        right: bool = False,
        is_complex: bool = False,
        dtype: str = "float32",
    ) -> None: ...
    def qr(
        self,
        a: _Buffer,
        q: _Buffer,
        r: _Buffer,
        m: int,
        n: int,
        batch: int = 1,
        complete: bool = False,
        is_complex: bool = False,
        dtype: str = "float32",
    ) -> None: ...
    def eigh(
        self,
        a: _Buffer,
        values: _Buffer,
        vectors: _Buffer,
        status: _Buffer,
        n: int,
        batch: int = 1,
        upper: bool = False,
        with_vectors: bool = True,
        is_complex: bool = False,
        dtype: str = "float32",
    ) -> None: ...
    def svd(
        self,
        a: _Buffer,
        u: _Buffer,
        values: _Buffer,
        vh: _Buffer,
        status: _Buffer,
        m: int,
        n: int,
        batch: int = 1,
        full: bool = False,
        with_vectors: bool = True,
        is_complex: bool = False,
        dtype: str = "float32",
    ) -> None: ...
    def eig(
        self,
        a: _Buffer,
        values: _Buffer,
        vectors: _Buffer,
        status: _Buffer,
        n: int,
        batch: int = 1,
        with_vectors: bool = True,
        is_complex: bool = False,
        dtype: str = "float32",
    ) -> None: ...
    def fft(
        self,
        input: _Buffer,
        roots: _Buffer,
        output: _Buffer,
        outer: int,
        n: int,
        middle: int = 1,
        inner: int = 1,
        inverse: bool = False,
        scale: float = 1.0,
        turns: _Buffer | None = None,
        dtype: str = "float32",
    ) -> None: ...
    def fft_real(
        self,
        input: _Buffer,
        roots: _Buffer,
        output: _Buffer,
        rows: int,
        n: int,
        inverse: bool = False,
        scale: float = 1.0,
        dtype: str = "float32",
    ) -> None: ...
    def sparse_matmul(
        self,
        offsets: _Buffer,
        columns: _Buffer,
        values: _Buffer,
        x: _Buffer,
        y: _Buffer,
        rows: int,
        cols: int,
        nnz: int,
        n: int = 1,
        ldx: int = 1,
        ldy: int = 1,
        alpha: float = 1.0,
        beta: float = 0.0,
        is_complex: bool = False,
        dtype: str = "float32",
        block_rows: int = 1,
        block_cols: int = 1,
        batch: int = 1,
        stride_offsets: int = 0,
        stride_columns: int = 0,
        stride_values: int = 0,
        stride_x: int = 0,
        stride_y: int = 0,
    ) -> None: ...
    def dequantize(
        self,
        packed: _Buffer,
        output: _Buffer,
        format: str,
        rows: int,
        cols: int,
        dtype: str = "float32",
    ) -> None: ...
    def quantized_matmul(
        self,
        x: _Buffer,
        packed: _Buffer,
        y: _Buffer,
        format: str,
        m: int,
        n: int,
        k: int,
        ldx: int,
        ldy: int,
        dtype: str = "float32",
        bias: _Buffer | None = None,
        activation: str = "none",
        slope: float = 0.01,
        gated: bool = False,
        norm_eps: float | None = None,
        norm_weight: _Buffer | None = None,
        add: bool = False,
    ) -> None: ...
    def recurrent(
        self,
        cell: str,
        inputs: _MapOperand,
        weights: _Buffer,
        outputs: _MapOperand,
        steps: int,
        batch: int,
        hidden: int,
        initial_hidden: _Buffer | None = None,
        initial_cell: _Buffer | None = None,
        final_hidden: _Buffer | None = None,
        final_cell: _Buffer | None = None,
        lengths: _Buffer | None = None,
        bias: _Buffer | None = None,
        peepholes: _Buffer | None = None,
        projection: _Buffer | None = None,
        projected: int | None = None,
        reverse: bool = False,
        clip: float | None = None,
        dtype: str = "float32",
    ) -> None: ...
    def linear(
        self,
        trans_weights: str,
        m: int,
        n: int,
        k: int,
        x: _Buffer,
        ldx: int,
        weights: _Buffer,
        ldw: int,
        out: _Buffer,
        ldo: int,
        bias: _Buffer | None = None,
        activation: str = "none",
        slope: float = 0.01,
        gated: bool = False,
        dtype: str = "float32",
        norm_eps: float | None = None,
        norm_weight: _Buffer | None = None,
        add: bool = False,
    ) -> None: ...
    def map(
        self,
        program: ProgramBase,
        shape: Sequence[int],
        inputs: Sequence[_MapOperand],
        numbers: Sequence[float],
        outputs: Sequence[_MapOperand],
    ) -> None: ...
    def map_many(
        self, program: ProgramBase, groups: Sequence[_MapGroup], numbers: Sequence[float]
    ) -> None: ...
    def concat(
        self,
        inputs: Sequence[_MapOperand],
        sizes: Sequence[int],
        output: _MapOperand,
        shape: Sequence[int],
        axis: int,
        dtype: str = "float32",
    ) -> None: ...
    def map_reduce(
        self,
        program: ProgramBase,
        op: str,
        shape: Sequence[int],
        axes: Sequence[int],
        inputs: Sequence[_MapOperand],
        numbers: Sequence[float],
        outputs: Sequence[_MapOperand],
        behind: ProgramBase | None = None,
        behind_inputs: Sequence[_MapOperand] = (),
        behind_numbers: Sequence[float] = (),
    ) -> None: ...
    def map_rows(
        self,
        folds: Sequence[tuple[str, ProgramBase] | tuple[str, ProgramBase, Sequence[float]]],
        shape: Sequence[int],
        axes: Sequence[int],
        inputs: Sequence[_MapOperand],
        elements: ProgramBase | None,
        numbers: Sequence[float],
        outputs: Sequence[_MapOperand],
        ends: ProgramBase | None = None,
        end_numbers: Sequence[float] = (),
        end_outputs: Sequence[_MapOperand] = (),
    ) -> None: ...
    def scan(
        self,
        program: ProgramBase,
        op: str,
        shape: Sequence[int],
        axis: int,
        inputs: Sequence[_MapOperand],
        numbers: Sequence[float],
        output: _MapOperand,
        exclusive: bool = False,
        reverse: bool = False,
    ) -> None: ...
    def sort(
        self,
        input: _Buffer,
        output: _Buffer,
        rows: int,
        length: int,
        descending: bool = False,
        dtype: str = "float32",
    ) -> None: ...
    def argsort(
        self,
        input: _Buffer,
        indices: _Buffer,
        rows: int,
        length: int,
        descending: bool = False,
        dtype: str = "float32",
        index_dtype: str = "int64",
    ) -> None: ...
    def topk(
        self,
        input: _Buffer,
        values: _Buffer,
        indices: _Buffer,
        rows: int,
        length: int,
        k: int,
        largest: bool = True,
        dtype: str = "float32",
        index_dtype: str = "int64",
    ) -> None: ...
    def gather_elements(
        self,
        source: _MapOperand,
        indices: Sequence[_IndexOperand],
        output: _MapOperand,
        shape: Sequence[int],
        dtype: str = "float32",
        name: str = "",
    ) -> None: ...
    def scatter_elements(
        self,
        source: _MapOperand,
        indices: Sequence[_IndexOperand],
        output: _MapOperand,
        shape: Sequence[int],
        dtype: str = "float32",
        name: str = "",
    ) -> None: ...
    def mask_counts(self, mask: _Buffer, counts: _Buffer, n: int) -> None: ...
    def compact(
        self,
        mask: _Buffer,
        counts: _Buffer,
        source: _Buffer,
        output: _Buffer,
        n: int,
        count: int,
        dtype: str = "float32",
    ) -> None: ...
    def nonzero(
        self,
        mask: _Buffer,
        counts: _Buffer,
        output: _Buffer,
        shape: Sequence[int],
        count: int,
        index_dtype: str = "int64",
    ) -> None: ...
    def search_sorted(
        self,
        sorted: _Buffer,
        values: _Buffer,
        output: _Buffer,
        n: int,
        count: int,
        right: bool = False,
        dtype: str = "float32",
        index_dtype: str = "int64",
    ) -> None: ...
    def begin_profile(self) -> None: ...
    def end_profile(self) -> list[LaunchRecord]: ...

class _Choices:
    """The choice between kernels for the same op, as tools watch and force it."""

    @property
    def path(self) -> str:
        """The file of results for this device; empty where there is no folder for it."""

    @property
    def head(self) -> str:
        """The lines that such a file begins with."""

    @property
    def loaded(self) -> int | None:
        """How many choices the file gave; None where there is no file for this device."""

    @property
    def points(self) -> dict[str, tuple[str, ...]]:
        """The candidates of each point."""

    def force(self, point: str, candidate: str) -> None: ...
    def watch(self, on: bool) -> None: ...
    def take_made(self) -> list[dict[str, Any]]: ...

def _choices_of(backend: Backend) -> _Choices | None: ...
def init_backend(preference: str = "auto", /, **kwargs: Any) -> Backend: ...
def devices() -> list[DeviceInfo]: ...
def _set_array_class(cls: type) -> None: ...
def _set_bfloat16(dtype: object) -> None: ...
def _dlpack_as_bfloat16(capsule: object) -> bool: ...
def _dlpack_as_uint16(capsule: object) -> bool: ...
def _set_dawn(name: str, get_proc_address: int, enumerate_adapters: int, reason: str) -> None: ...
def _shown(value: object) -> str: ...
def backend_names() -> list[str]: ...
def is_available(name: str) -> bool: ...
