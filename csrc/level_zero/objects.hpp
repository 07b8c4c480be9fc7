#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include "core/fork.hpp"
#include "level_zero/device.hpp"
#include "level_zero/spirv_interface.hpp"

// What a Device hands out. Each lets go of its handles under the device's lock, once the queued
// work that uses them is done.
namespace tilewright::level_zero {

class Buffer final : public gpu::DeviceBuffer {
 public:
  Buffer(Device& device, std::uint64_t bytes, void* data, std::uint64_t id)
      : DeviceBuffer(bytes), device_(device), data(static_cast<std::byte*>(data)), id(id) {}
  ~Buffer() override {
    if (device_.fork_generation_ != fork_generation()) return;
    std::lock_guard lock(device_.mutex_);
    device_.retire({last_use, data, nullptr, nullptr, nullptr, nullptr});
  }

 private:
  Device& device_;

 public:
  std::byte* const data;
  const std::uint64_t id;      ///< which no other buffer of the device has
  std::uint64_t last_use = 0;  ///< the last command that uses it
};

class ComputePipeline final : public gpu::Pipeline {
 public:
  /// A buffer argument as it was set last.
  struct Bound {
    std::uint64_t id = 0, offset = 0;
    bool operator==(const Bound&) const = default;
  };

  ComputePipeline(Device& device, SpirvInterface read, ze_module_handle_t module,
                  ze_kernel_handle_t handle)
      : Pipeline(std::move(read.info)),
        device_(device),
        module_(module),
        handle(handle),
        arguments(std::move(read.arguments)),
        bound(info().bindings.size()),
        params(info().params_bytes) {}
  ~ComputePipeline() override {
    if (device_.fork_generation_ != fork_generation()) return;
    std::lock_guard lock(device_.mutex_);
    device_.retire({last_use, nullptr, handle, module_, nullptr, nullptr});
  }

 private:
  Device& device_;
  const ze_module_handle_t module_;

 public:
  const ze_kernel_handle_t handle;
  const std::vector<SpirvArgument> arguments;
  // What the kernel, which keeps its arguments, has now: only what changes is set again.
  mutable std::vector<Bound> bound;
  mutable std::vector<std::byte> params;
  mutable bool params_set = false;
  mutable std::uint64_t last_use = 0;
};

inline Buffer& of(gpu::DeviceBuffer& buffer) { return static_cast<Buffer&>(buffer); }

}  // namespace tilewright::level_zero
