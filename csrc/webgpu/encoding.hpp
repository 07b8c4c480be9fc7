#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>

#include "webgpu/api.hpp"
#include "webgpu/bind_groups.hpp"
#include "webgpu/uniforms.hpp"

namespace tilewright::webgpu {

/// Commands on their way into one command buffer, with what their pass has set. For one thread at a
/// time.
class Encoding {
 public:
  static constexpr std::uint32_t work_of_a_copy = 32, work_of_a_launch = 32;
  /// A few launches, or one with many workgroups.
  static constexpr std::uint32_t enough_for_idle_gpu = 128;

  Encoding() = default;
  Encoding(const Api& api, WGPUDevice device) : api_(&api), device_(device) {}

  bool is_open() const { return encoder_ != nullptr; }
  WGPUCommandEncoder encoder() {
    if (encoder_ == nullptr) encoder_ = api_->DeviceCreateCommandEncoder(device_, nullptr);
    return encoder_;
  }
  /// Goes on in this pass of the encoder.
  void begin(WGPUComputePassEncoder pass) {
    pass_ = pass;
    pipeline_ = nullptr;
  }
  void end_pass() {
    if (pass_ == nullptr) return;
    api_->ComputePassEncoderEnd(pass_);
    api_->ComputePassEncoderRelease(pass_);
    pass_ = nullptr;
  }

  /// In the pass that is open, or a new one. What it has set already is not set again.
  void use(const void* pipeline, WGPUComputePipeline handle, const BindGroup& group) {
    if (pass_ == nullptr) begin(api_->CommandEncoderBeginComputePass(encoder(), nullptr));
    if (pipeline_ != pipeline) {
      api_->ComputePassEncoderSetPipeline(pass_, handle);
      pipeline_ = pipeline;
      group_ = 0;
      params_bytes_ = 0;
    }
    if (group_ != group.number) {
      api_->ComputePassEncoderSetBindGroup(pass_, 0, group.handle, 0, nullptr);
      group_ = group.number;
    }
  }
  void set_params(std::span<const std::byte> params) {
    if (params.empty()) return;
    if (params.size() == params_bytes_ &&
        std::memcmp(params.data(), params_.data(), params.size()) == 0) {
      return;
    }
    api_->ComputePassEncoderSetImmediates(pass_, 0, params.data(), params.size());
    std::memcpy(params_.data(), params.data(), params.size());
    params_bytes_ = params.size();
  }
  void set_params(const Uniforms& uniforms, std::uint32_t offset) {
    api_->ComputePassEncoderSetBindGroup(pass_, 1, uniforms.group(), 1, &offset);
  }
  /// What the launch may keep the GPU busy with.
  std::uint32_t dispatch(const std::array<std::uint32_t, 3>& grid) {
    api_->ComputePassEncoderDispatchWorkgroups(pass_, grid[0], grid[1], grid[2]);
    const std::uint64_t groups = std::uint64_t{grid[0]} * grid[1] * grid[2];
    return work_of_a_launch +
           static_cast<std::uint32_t>(std::min<std::uint64_t>(groups, enough_for_idle_gpu));
  }
  /// The same of the copy.
  std::uint32_t copy(WGPUBuffer src, std::uint64_t src_offset, WGPUBuffer dst,
                     std::uint64_t dst_offset, std::uint64_t bytes) {
    end_pass();
    api_->CommandEncoderCopyBufferToBuffer(encoder(), src, src_offset, dst, dst_offset, bytes);
    return work_of_a_copy;
  }

  /// The pipeline goes; another one may come to lie where it was.
  void forget(const void* pipeline) {
    if (pipeline_ == pipeline) pipeline_ = nullptr;
  }
  WGPUCommandBuffer finish() {
    end_pass();
    WGPUCommandEncoder finished = std::exchange(encoder_, nullptr);
    WGPUCommandBuffer commands = api_->CommandEncoderFinish(finished, nullptr);
    api_->CommandEncoderRelease(finished);
    return commands;
  }
  void drop() {
    end_pass();
    if (encoder_ != nullptr) api_->CommandEncoderRelease(std::exchange(encoder_, nullptr));
  }

 private:
  const Api* api_ = nullptr;
  WGPUDevice device_ = nullptr;
  WGPUCommandEncoder encoder_ = nullptr;
  WGPUComputePassEncoder pass_ = nullptr;
  const void* pipeline_ = nullptr;
  std::uint64_t group_ = 0;  // its number, 0 for none
  std::size_t params_bytes_ = 0;
  std::array<std::byte, Uniforms::slot_bytes> params_;
};

}  // namespace tilewright::webgpu
