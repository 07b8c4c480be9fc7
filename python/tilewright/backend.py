"""Backends: the trait's calls one to one, and the array tier on top."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from tilewright import _core
from tilewright.attention import AttentionOps
from tilewright.convolution import ConvolutionOps
from tilewright.elementwise import ElementwiseOps
from tilewright.kernel import Kernel
from tilewright.linear_algebra import LinearAlgebraOps
from tilewright.profile import Profile
from tilewright.reductions import ReductionOps
from tilewright.rows import RowOps

if TYPE_CHECKING:
    from tilewright.kernel import Constants

BackendType = TypeVar("BackendType", bound="Backend")


class Backend(ElementwiseOps, ReductionOps, LinearAlgebraOps, ConvolutionOps, AttentionOps, RowOps):
    """One device through the backend trait, and through the array tier on top.

    The trait's calls take buffer handles and sizes. The array tier's ops take Arrays, or anything
    that NumPy can read, and return an Array, or `out` if it is given. Names that both have take
    either form: tilewright.forms says how they are told apart.
    """

    def __enter__(self: BackendType) -> BackendType:
        self.init()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def kernel(
        self,
        code: str | bytes,
        entry: str = "main",
        trusted: bool = False,
        name: str | None = None,
        constants: Constants | None = None,
    ) -> Kernel:
        """A kernel of one's own, from WGSL on webgpu and from SPIR-V on level-zero.

        `constants` are values for WGSL's overrides and SPIR-V's specialization constants, by name
        or number. `entry` is which of its functions to run, `name` what messages and profiles call
        it. A `trusted` kernel goes without the checks that keep it within its buffers and end its
        loops.
        """
        return Kernel(self, code, entry, name, trusted, constants)

    def profile(self) -> Profile:
        """For a `with` block: when the device ran each launch in it."""
        return Profile(self)

    def __repr__(self) -> str:
        state = self.device.name if self.is_initialized else "not initialised"
        return f"<tilewright {self.name}: {state}>"


class CpuBackend(Backend):
    """The processor; not initialised until init()."""

    def __init__(self, **config: Any) -> None:
        super().__init__("cpu", **config)

    @staticmethod
    def is_available() -> bool:
        """Whether the processor can be opened now; one is, and closed again."""
        return _core.is_available("cpu")


class WebGPUBackend(Backend):
    """Any GPU with Vulkan, Metal or DirectX 12; not initialised until init()."""

    def __init__(self, **config: Any) -> None:
        super().__init__("webgpu", **config)

    @staticmethod
    def is_available() -> bool:
        """Whether a GPU can be opened now; one is, and closed again."""
        return _core.is_available("webgpu")


class LevelZeroBackend(Backend):
    """Intel GPUs through Level Zero; not initialised until init()."""

    def __init__(self, **config: Any) -> None:
        super().__init__("level-zero", **config)

    @staticmethod
    def is_available() -> bool:
        """Whether an Intel GPU can be opened now; one is, and closed again."""
        return _core.is_available("level-zero")


def init_backend(preference: str = "auto", **config: Any) -> Backend:
    """An initialised backend.

    preference is "auto", a backend's name or a device's id. "auto" takes the best hardware and the
    CPU where there is no GPU; TILEWRIGHT_DEVICE replaces it. A named preference works or raises; it
    never falls back. Names may be in any case, with _ for -.

    config, of which each backend uses what applies to it:
        adapter_index (or device_id): which of a backend's devices; otherwise the best one.
        power_preference: "low" prefers an integrated GPU, "high" a discrete one.
        implementation: the library that drives the GPUs of webgpu, "wgpu" (wgpu-native) or "dawn"
            (the package wgpudawn, or TILEWRIGHT_DAWN_LIBRARY). "auto" is what TILEWRIGHT_WEBGPU
            says, else Dawn for a GPU whose matrix units it reaches, and wgpu-native for others.
        debug_mode: GPU drivers check what they are given, and each launch is waited for, so that
            an error comes from the call that caused it. On webgpu all kernels, trusted ones too,
            are kept within their buffers; level-zero has no such checks.
        kernel_checks: webgpu through Dawn, which keeps all kernels of a device within their buffers
            or none. False leaves the checks out, of the library's kernels too, whose products by
            matrix units they slow down; kernels of one's own then have to be trusted.
        max_buffer_size: bytes; lowers the device's own limit.
        max_binding_size: bytes of a buffer that a launch on a GPU takes at most, from 65,536 on;
            lowers the device's own limit, and so stands for a device whose bindings hold less.
        enable_pipeline_cache: False compiles a GPU kernel again at each use, and keeps none on the
            disk (docs/environment.md).
        preferred_workgroup_size: work-items in a workgroup of the GPU's elementwise kernels, at
            most what the device takes.
        compute_units: the GPU's processors that ops are planned for, up to 65536. Otherwise what a
            GPU's driver says; webgpu's does not: there 16 for an integrated GPU, and for others
            132, those of the H200 that the rules were measured on.
        memory_limit: bytes in live and cached buffers and the scratch of ops together. An op whose
            scratch finds no room takes a form that needs less, or raises OutOfMemory.
        cache_limit: bytes of freed memory that are kept for reuse; 0 keeps nothing. Otherwise a GPU
            with memory of its own keeps all until it has no more, and lets go of it then; where the
            memory is the host's, an eighth of it is kept.
    """
    chosen = _core.init_backend(preference, **config)
    classes: dict[str, type[Backend]] = {
        "cpu": CpuBackend,
        "webgpu": WebGPUBackend,
        "level-zero": LevelZeroBackend,
    }
    backend = classes[chosen.name].__new__(classes[chosen.name])
    _core.Backend.__init__(backend, chosen)
    return backend
