"""One compute backend, any GPU: linear algebra and neural-network ops from Python and C++."""

import logging

from tilewright._core import (
    BackendUnavailable,
    BinaryOp,
    Capabilities,
    DeviceError,
    DeviceInfo,
    DeviceKind,
    DeviceLost,
    DType,
    Error,
    InvalidArgument,
    KernelBinding,
    KernelError,
    KernelInfo,
    KernelParameter,
    LaunchRecord,
    MemoryStats,
    NotInitialized,
    OutOfMemory,
    PerformanceHints,
    Precision,
    ReduceOp,
    Transpose,
    UnaryOp,
    Unsupported,
    __version__,
    devices,
    is_available,
)
from tilewright.array import Array
from tilewright.backend import (
    Backend,
    CpuBackend,
    LevelZeroBackend,
    WebGPUBackend,
    init_backend,
)
from tilewright.kernel import Kernel
from tilewright.profile import KernelTotal, Profile

logging.getLogger("tilewright").addHandler(logging.NullHandler())

__all__ = [
    "Array",
    "Backend",
    "BackendUnavailable",
    "BinaryOp",
    "Capabilities",
    "CpuBackend",
    "DType",
    "DeviceError",
    "DeviceInfo",
    "DeviceKind",
    "DeviceLost",
    "Error",
    "InvalidArgument",
    "Kernel",
    "KernelBinding",
    "KernelError",
    "KernelInfo",
    "KernelParameter",
    "KernelTotal",
    "LaunchRecord",
    "LevelZeroBackend",
    "MemoryStats",
    "NotInitialized",
    "OutOfMemory",
    "PerformanceHints",
    "Precision",
    "Profile",
    "ReduceOp",
    "Transpose",
    "UnaryOp",
    "Unsupported",
    "WebGPUBackend",
    "__version__",
    "devices",
    "init_backend",
    "is_available",
]
