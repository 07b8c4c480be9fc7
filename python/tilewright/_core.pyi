"""The tilewright library as it is; the package tilewright is its public face."""

import enum
from collections.abc import Sequence
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

class Transpose(enum.StrEnum):
    none = "none"
    transpose = "transpose"
    conj_transpose = "conj_transpose"

class Precision(enum.StrEnum):
    float16 = "float16"
    bfloat16 = "bfloat16"

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
    def available(self) -> bool: ...
    @property
    def reason(self) -> str: ...

@final
class Capabilities:
    @property
    def dtypes(self) -> tuple[DType, ...]: ...
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

class CompiledKernel:
    def __init__(
        self, backend: Backend, code: str | bytes, entry: str, name: str | None, trusted: bool
    ) -> None: ...
    @property
    def handle(self) -> int: ...

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

_Buffer: TypeAlias = int | ArrayBase
_HostData: TypeAlias = Buffer | npt.NDArray[Any]
_Kernel: TypeAlias = int | CompiledKernel

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
    def _unary(self, op: str, x: Any, out: Any) -> Array: ...
    def _binary(self, call: str, op: str, a: Any, b: Any, out: Any) -> Array: ...
    def _softmax(self, x: Any, axis: Any, out: Any) -> Array: ...
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
    def synchronize(self) -> None: ...
    def alloc(self, bytes: int) -> int: ...
    def free(self, buffer: _Buffer) -> None: ...
    def release(self, buffer: _Buffer) -> None: ...
    def copy_htod(self, dst: _Buffer, src: _HostData, offset: int = 0) -> None: ...
    def copy_dtoh(self, dst: _HostData, src: _Buffer, offset: int = 0) -> None: ...
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
        q: _Buffer,
        k: _Buffer,
        v: _Buffer,
        o: _Buffer,
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
    ) -> None: ...
    def attention_scores(
        self,
        q: _Buffer,
        keys: _Buffer,
        scores: _Buffer,
        seq: int,
        head_dim: int,
        scale: float,
        heads: int = 1,
        kv_heads: int | None = None,
        dtype: str = "float32",
    ) -> None: ...
    def weighted_sum(
        self,
        weights: _Buffer,
        rows: _Buffer,
        output: _Buffer,
        count: int,
        dim: int,
        heads: int = 1,
        kv_heads: int | None = None,
        dtype: str = "float32",
    ) -> None: ...
    def rope(
        self,
        x: _Buffer,
        cos: _Buffer,
        sin: _Buffer,
        output: _Buffer,
        batch: int,
        heads: int,
        seq: int,
        head_dim: int,
        table_rows: int,
        position: int = 0,
        dtype: str = "float32",
    ) -> None: ...
    def softmax(
        self,
        input: _Buffer,
        output: _Buffer,
        shape: Sequence[int],
        axis: int,
        dtype: str = "float32",
    ) -> None: ...
    def rmsnorm(
        self,
        x: _Buffer,
        weight: _Buffer,
        out: _Buffer,
        rows: int,
        cols: int,
        eps: float,
        dtype: str = "float32",
    ) -> None: ...
    def layer_norm(
        self,
        x: _Buffer,
        weight: _Buffer,
        bias: _Buffer,
        out: _Buffer,
        rows: int,
        cols: int,
        eps: float,
        dtype: str = "float32",
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
    def create_kernel(
        self, code: str | bytes, entry: str = "main", name: str | None = None, trusted: bool = False
    ) -> int: ...
    def free_kernel(self, kernel: _Kernel) -> None: ...
    def release_kernel(self, kernel: _Kernel) -> None: ...
    def kernel_info(self, kernel: _Kernel) -> KernelInfo: ...
    def launch_kernel(
        self, kernel: _Kernel, buffers: Sequence[_Buffer], params: _HostData, grid: Sequence[int]
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
def _shown(value: object) -> str: ...
def backend_names() -> list[str]: ...
def is_available(name: str) -> bool: ...
