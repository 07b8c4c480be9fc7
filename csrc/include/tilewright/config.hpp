#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tilewright/types.hpp"

namespace tilewright {

/// What a backend is made with. Each backend uses what applies to it.
struct Config {
  std::optional<Size> adapter_index = {};  ///< which of the backend's devices; unset: the best one
  std::string power_preference = {};       ///< "", "low" or "high"
  /// webgpu: the library that drives the GPU, "wgpu" (wgpu-native, which tilewright brings) or
  /// "dawn". "auto" is what TILEWRIGHT_WEBGPU says, else Dawn for a GPU whose matrix units it
  /// reaches, where it is installed, and wgpu-native for all others.
  std::string implementation = "auto";
  /// GPU backends: drivers check what they are given where they can, and each launch is waited for,
  /// so that an error comes from the call that caused it. On webgpu all kernels, trusted ones too,
  /// are kept within their buffers; level-zero has no such checks.
  bool debug_mode = false;
  /// webgpu through Dawn, which keeps all kernels of a device within their buffers or none: false
  /// leaves the checks out, of the library's kernels too, whose products by matrix units they slow
  /// down; kernels of one's own then have to be trusted. Elsewhere trusted kernels have no checks.
  bool kernel_checks = true;
  std::optional<Size> max_buffer_size = {};  ///< bytes; lowers the device's own limit
  /// GPU backends: bytes of a buffer that a launch takes at most, a multiple of 4; lowers the
  /// device's own limit, so that a device of which one binding holds less can be stood for.
  std::optional<Size> max_binding_size = {};
  /// false: each use of a GPU kernel compiles it again, and none is kept on the disk.
  bool enable_pipeline_cache = true;
  /// GPU backends: work-items in a workgroup of elementwise kernels, at most what the device takes.
  std::optional<Size> preferred_workgroup_size = {};
  /// GPU backends: the processors (multiprocessors, Xe cores, compute units) that ops are planned
  /// for, up to 65536: into how much they are cut follows from it. Unset: what a GPU's driver says.
  /// WebGPU's says nothing: there 16 for an integrated GPU, and for others 132, those of the H200
  /// that the rules were measured on, as for a CPU that stands for a GPU.
  std::optional<Size> compute_units = {};
  /// Bytes in live and cached buffers and the scratch of ops together. An op whose scratch finds no
  /// room takes a form that needs less, where it has one, or throws OutOfMemory.
  std::optional<Size> memory_limit = {};
  /// Bytes of freed memory that are kept for reuse; 0 keeps nothing. Unset: a GPU with memory of
  /// its own keeps all until it has no more, and lets go of it then; where the memory is the
  /// host's, an eighth of it.
  std::optional<Size> cache_limit = {};
};

struct MemoryStats {
  std::uint64_t active_bytes = 0;  ///< in live buffers, as asked for, and what recordings keep;
                                   ///< views add nothing
  std::uint64_t peak_bytes = 0;    ///< the most that live buffers and scratch have been
  std::uint64_t peak_scratch_bytes = 0;  ///< the most that ops have taken for themselves at a time
  std::uint64_t cached_bytes = 0;        ///< freed, kept for reuse; trim() returns them
  std::uint64_t allocations = 0;         ///< live buffers, each once, however many handles it has
  std::uint64_t total_allocations = 0;   ///< since init()
  std::uint64_t cache_limit_bytes = 0;   ///< what cached_bytes may reach
  std::uint64_t limit_bytes = 0;  ///< what live buffers, scratch and cache may reach together
};

}  // namespace tilewright
