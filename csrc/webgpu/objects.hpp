#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

#include "core/fork.hpp"
#include "webgpu/device.hpp"

// What a Device hands out. Each lets go of its handle under the device's lock.
namespace tilewright::webgpu {

class Buffer final : public gpu::DeviceBuffer {
 public:
  Buffer(Device& device, std::uint64_t bytes, WGPUBuffer handle)
      : DeviceBuffer(bytes), device_(device), handle(handle) {}
  ~Buffer() override {
    if (device_.fork_generation_ != fork_generation()) return;
    // Groups that go with it may wait to be encoded.
    const Device::Turn turn(device_);
    if (was_bound) device_.bind_groups_->forget(*this);
    // Released, not destroyed: queued work that uses it keeps it alive.
    device_.api_.BufferRelease(handle);
  }

 private:
  Device& device_;

 public:
  const WGPUBuffer handle;
  bool was_bound = false;  ///< bind groups may know it
};

class ComputePipeline final : public gpu::Pipeline {
 public:
  ComputePipeline(Device& device, KernelInfo info, WGPUComputePipeline handle,
                  std::shared_ptr<const Layout> layout, bool params_in_uniforms)
      : Pipeline(std::move(info)),
        device_(device),
        handle(handle),
        layout(std::move(layout)),
        params_in_uniforms(params_in_uniforms) {}
  ~ComputePipeline() override {
    if (device_.fork_generation_ != fork_generation()) return;
    const Device::Turn turn(device_);
    device_.encoding_.forget(this);
    device_.api_.ComputePipelineRelease(handle);
  }

 private:
  Device& device_;

 public:
  const WGPUComputePipeline handle;
  const std::shared_ptr<const Layout> layout;
  const bool params_in_uniforms;
};

inline Buffer& of(gpu::DeviceBuffer& buffer) { return static_cast<Buffer&>(buffer); }

}  // namespace tilewright::webgpu
