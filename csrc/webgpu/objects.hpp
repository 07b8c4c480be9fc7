#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <utility>

#include "webgpu/device.hpp"

// What a Device hands out. Each lets go of its handle under the device's lock.
namespace tilewright::webgpu {

class Buffer final : public gpu::DeviceBuffer {
 public:
  Buffer(Device& device, std::uint64_t bytes, WGPUBuffer handle, std::uint64_t id)
      : DeviceBuffer(bytes), device_(device), handle(handle), id(id) {}
  ~Buffer() override {
    if (device_.fork_generation_ != fork_generation()) return;
    std::lock_guard lock(device_.mutex_);
    device_.bind_groups_->forget(id);
    // Released, not destroyed: queued work that uses it keeps it alive.
    api().BufferRelease(handle);
  }

 private:
  Device& device_;

 public:
  const WGPUBuffer handle;
  const std::uint64_t id;
  std::uint64_t last_encoder = 0;  ///< the number of the last encoder that uses it
};

class ComputePipeline final : public gpu::Pipeline {
 public:
  ComputePipeline(Device& device, std::string name, WGPUComputePipeline handle,
                  WGPUBindGroupLayout layout)
      : device_(device), name(std::move(name)), handle(handle), layout(layout) {}
  ~ComputePipeline() override {
    if (device_.fork_generation_ != fork_generation()) return;
    std::lock_guard lock(device_.mutex_);
    if (device_.pass_pipeline_ == this) device_.pass_pipeline_ = nullptr;
    api().ComputePipelineRelease(handle);
  }

 private:
  Device& device_;

 public:
  const std::string name;
  const WGPUComputePipeline handle;
  const WGPUBindGroupLayout layout;
};

inline Buffer& of(gpu::DeviceBuffer& buffer) { return static_cast<Buffer&>(buffer); }

}  // namespace tilewright::webgpu
