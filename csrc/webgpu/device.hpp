#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "gpu/device.hpp"
#include "tilewright/backend.hpp"
#include "webgpu/adapters.hpp"
#include "webgpu/api.hpp"
#include "webgpu/bind_groups.hpp"

namespace tilewright::webgpu {

/// One GPU through wgpu-native. Launches gather in one encoder with one compute pass, which goes
/// out at a read, at wait(), or when enough has gathered: early when the GPU is idle.
class Device final : public gpu::Device {
 public:
  Device(const Adapter& adapter, const Config& config);
  ~Device() override;

  DeviceInfo info() const override { return info_; }
  const gpu::DeviceLimits& limits() const override { return limits_; }

  std::unique_ptr<gpu::DeviceBuffer> create_buffer(std::uint64_t bytes) override;
  std::unique_ptr<gpu::Pipeline> create_pipeline(const gpu::KernelDescription& kernel) override;
  void launch(const gpu::Launch& launch) override;
  void upload(gpu::DeviceBuffer& dst, std::uint64_t offset,
              std::span<const std::byte> src) override;
  void download(std::span<std::byte> dst, gpu::DeviceBuffer& src, std::uint64_t offset) override;
  void copy(gpu::DeviceBuffer& dst, std::uint64_t dst_offset, gpu::DeviceBuffer& src,
            std::uint64_t src_offset, std::uint64_t bytes) override;
  void wait() override;

 private:
  friend class Buffer;
  friend class ComputePipeline;

  struct Layout {
    WGPUBindGroupLayout group = nullptr;
    WGPUPipelineLayout pipeline = nullptr;
  };
  /// Mapped for reading in turn.
  struct Staging {
    WGPUBuffer buffer = nullptr;
    std::uint64_t bytes = 0;
    WGPUSubmissionIndex submitted = 0;
    bool map_done = false;
    bool map_failed = false;
  };
  struct Failure {
    WGPUErrorType type;
    std::string message;
  };

  void open(WGPUAdapter adapter);
  WGPUBuffer raw_buffer(std::uint64_t bytes, WGPUBufferUsage usage, const char* label);
  const Layout& layout_for(const std::vector<gpu::Access>& bindings, std::uint32_t params_bytes);

  // What follows is called with the lock held.
  void check_usable() const;
  WGPUCommandEncoder encoder();
  WGPUComputePassEncoder pass();
  void end_pass();
  void flush();
  void flush_if_worthwhile();
  void poll_until(WGPUSubmissionIndex index);
  std::optional<Failure> take_failure();
  void throw_failure(const char* during);
  void start_read(Staging& staging, WGPUBuffer src, std::uint64_t offset, std::uint64_t bytes);
  void finish_read(Staging& staging, std::byte* dst, std::uint64_t bytes);

  DeviceInfo info_;
  gpu::DeviceLimits limits_;
  WGPULimits raw_limits_{};
  unsigned fork_generation_;
  WGPUDevice device_ = nullptr;
  WGPUQueue queue_ = nullptr;

  mutable std::mutex mutex_;
  std::map<std::pair<std::vector<gpu::Access>, std::uint32_t>, Layout> layouts_;
  std::optional<BindGroups> bind_groups_;
  WGPUCommandEncoder encoder_ = nullptr;
  WGPUComputePassEncoder pass_ = nullptr;
  const void* pass_pipeline_ = nullptr;
  WGPUBindGroup pass_group_ = nullptr;
  std::uint32_t gathered_ = 0;        // launches in the open encoder
  std::uint32_t next_look_ = 0;       // at how many of them to look whether the GPU is idle
  std::uint64_t encoder_number_ = 1;  // of the open or next encoder
  WGPUSubmissionIndex last_submission_ = 0;
  bool submitted_ = false;
  std::uint64_t last_buffer_id_ = 0;
  std::array<Staging, 2> staging_;

  mutable std::mutex failure_mutex_;  // callbacks may come from inside any call
  std::optional<Failure> failure_;
  std::string lost_;
};

}  // namespace tilewright::webgpu
