#pragma once

#include <array>
#include <chrono>
#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/device.hpp"
#include "tilewright/backend.hpp"
#include "webgpu/adapters.hpp"
#include "webgpu/api.hpp"
#include "webgpu/bind_groups.hpp"
#include "webgpu/failures.hpp"
#include "webgpu/staging.hpp"
#include "webgpu/timestamps.hpp"
#include "webgpu/uniforms.hpp"

namespace tilewright::webgpu {

/// One GPU through wgpu-native. Launches gather in one encoder with one compute pass, which goes
/// out at a read, at wait(), or when enough has gathered: early when the GPU is idle.
class Device final : public gpu::Device {
 public:
  Device(const Adapter& adapter, const Config& config);
  ~Device() override;

  DeviceInfo info() const override { return info_; }
  const gpu::DeviceLimits& limits() const override { return limits_; }
  gpu::KernelLanguage language() const override { return gpu::KernelLanguage::wgsl; }
  std::uint32_t subgroup_size() override;

  std::unique_ptr<gpu::DeviceBuffer> create_buffer(std::uint64_t bytes) override;
  std::unique_ptr<gpu::Pipeline> create_pipeline(const gpu::KernelDescription& kernel) override;
  void launch(const gpu::Launch& launch) override;
  void upload(gpu::DeviceBuffer& dst, std::uint64_t offset,
              std::span<const std::byte> src) override;
  void download(std::span<std::byte> dst, gpu::DeviceBuffer& src, std::uint64_t offset) override;
  void copy(gpu::DeviceBuffer& dst, std::uint64_t dst_offset, gpu::DeviceBuffer& src,
            std::uint64_t src_offset, std::uint64_t bytes) override;
  void wait() override;
  void begin_timing() override;
  std::vector<LaunchRecord> end_timing() override;

 private:
  friend class Buffer;
  friend class ComputePipeline;

  struct LayoutKey {
    struct Entry {
      bool writable;
      std::uint64_t least_bytes;
      auto operator<=>(const Entry&) const = default;
    };
    std::vector<Entry> entries;
    std::uint64_t params_bytes;
    auto operator<=>(const LayoutKey&) const = default;
  };
  struct Layout {
    WGPUBindGroupLayout group = nullptr;
    WGPUPipelineLayout pipeline = nullptr;
  };

  void open(WGPUAdapter adapter);
  WGPUBuffer raw_buffer(std::uint64_t bytes, WGPUBufferUsage usage, const char* label);
  Layout layout_for(const KernelInfo& info);
  WGPUShaderModule shader_module(const gpu::KernelDescription& kernel, bool in_uniforms);
  void check_fits(const KernelInfo& info, std::uint64_t workgroup_bytes) const;
  /// Returns where done() holds or the device is lost. Waits without the lock, so that other
  /// threads go on queueing.
  void look_until(const std::function<bool()>& done);
  void look_for_loss();
  void await(const Staging& staging);
  void await_submissions();
  void finish_read(Staging& staging, std::span<std::byte> dst);

  // What follows is called with the lock held.
  void check_usable() const;
  WGPUCommandEncoder encoder();
  WGPUComputePassEncoder pass();
  WGPUComputePassEncoder timed_pass(const gpu::Launch& launch);
  void end_pass();
  void flush();
  void flush_if_worthwhile();
  void queue_is_empty();
  void throw_failure(std::string_view during);
  void check_launch(const gpu::Launch& launch) const;
  Staging& upload_room(std::unique_lock<std::mutex>& lock, std::uint64_t bytes);
  void start_read(Staging& staging, WGPUBuffer src, std::uint64_t offset, std::uint64_t bytes);

  DeviceInfo info_;
  gpu::DeviceLimits limits_;
  WGPULimits raw_limits_{};
  unsigned fork_generation_;
  const WGPUInstance instance_;
  WGPUDevice device_ = nullptr;
  WGPUQueue queue_ = nullptr;

  bool has_subgroups_ = false;
  const bool debug_;
  std::uint32_t immediate_bytes_ = 0;  // what kernels may take their parameters in

  mutable std::mutex mutex_;
  std::map<LayoutKey, Layout> layouts_;
  std::unique_ptr<BindGroups> bind_groups_;
  std::unique_ptr<Uniforms> uniforms_;      // from the first kernel on whose parameters need them
  std::unique_ptr<Timestamps> timestamps_;  // while launches are timed
  WGPUCommandEncoder encoder_ = nullptr;
  WGPUComputePassEncoder pass_ = nullptr;
  const void* pass_pipeline_ = nullptr;
  std::uint64_t pass_group_ = 0;  // its number, 0 for none

  using Clock = std::chrono::steady_clock;
  static constexpr std::uint32_t work_of_a_copy = 32, work_of_a_launch = 32;
  /// A few launches, or one with many workgroups.
  static constexpr std::uint32_t enough_for_idle_gpu = 128;
  std::uint32_t gathered_work_ = 0;  // what the open encoder may keep the GPU busy with
  std::uint32_t enough_work_ = enough_for_idle_gpu;  // so much goes out
  Clock::time_point quiet_since_;  // when work last went out, or a wait for everything ended
  WGPUSubmissionIndex last_submission_ = 0;
  bool submitted_ = false;

  std::uint64_t last_buffer_id_ = 0;
  std::array<Staging, 4> uploads_{{Staging(WGPUMapMode_Write), Staging(WGPUMapMode_Write),
                                   Staging(WGPUMapMode_Write), Staging(WGPUMapMode_Write)}};
  std::size_t upload_turn_ = 0;
  std::uint64_t upload_used_ = 0;  // bytes of the one in turn that the open encoder copies from

  std::mutex download_mutex_;  // one download at a time; taken before mutex_
  std::array<Staging, 4> downloads_{{Staging(WGPUMapMode_Read), Staging(WGPUMapMode_Read),
                                     Staging(WGPUMapMode_Read), Staging(WGPUMapMode_Read)}};

  std::unique_ptr<Failures> failures_ = std::make_unique<Failures>();
};

}  // namespace tilewright::webgpu
