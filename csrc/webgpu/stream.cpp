#include <array>
#include <span>
#include <utility>

#include "core/text.hpp"
#include "webgpu/objects.hpp"

// Launches gather in one encoder, which goes out now and then.
namespace tilewright::webgpu {

namespace {

constexpr std::uint32_t most_gathered = 256;
constexpr std::uint32_t first_look = 8;

}  // namespace

WGPUCommandEncoder Device::encoder() {
  if (encoder_ == nullptr) {
    encoder_ = api().DeviceCreateCommandEncoder(device_, nullptr);
    gathered_ = 0;
    next_look_ = first_look;
  }
  return encoder_;
}

WGPUComputePassEncoder Device::pass() {
  if (pass_ == nullptr) {
    pass_ = api().CommandEncoderBeginComputePass(encoder(), nullptr);
    pass_pipeline_ = nullptr;
    pass_group_ = nullptr;
  }
  return pass_;
}

void Device::end_pass() {
  if (pass_ == nullptr) return;
  api().ComputePassEncoderEnd(pass_);
  api().ComputePassEncoderRelease(pass_);
  pass_ = nullptr;
}

void Device::flush() {
  end_pass();
  if (encoder_ == nullptr) return;
  WGPUCommandEncoder finished = std::exchange(encoder_, nullptr);
  ++encoder_number_;
  WGPUCommandBuffer commands = api().CommandEncoderFinish(finished, nullptr);
  api().CommandEncoderRelease(finished);
  // Submitting what failed to finish would end the process.
  if (const auto failure = take_failure()) {
    api().CommandBufferRelease(commands);
    throw DeviceError(text("webgpu: queued work was refused and is lost: ", failure->message));
  }
  last_submission_ = api().QueueSubmitForIndex(queue_, 1, &commands);
  submitted_ = true;
  api().CommandBufferRelease(commands);
  throw_failure("submitting work");
}

void Device::flush_if_worthwhile() {
  if (gathered_ >= most_gathered) {
    flush();
  } else if (gathered_ >= next_look_) {
    next_look_ *= 2;
    // A poll that does not wait says whether everything submitted is done.
    if (api().DevicePoll(device_, 0, nullptr) != 0) flush();
  }
}

void Device::poll_until(WGPUSubmissionIndex index) {
  api().DevicePoll(device_, 1, &index);
  check_usable();
}

void Device::launch(const gpu::Launch& launch) {
  std::lock_guard lock(mutex_);
  check_usable();
  const auto& pipeline = static_cast<const ComputePipeline&>(*launch.pipeline);
  std::array<BoundRange, BindGroups::max_ranges> ranges;
  for (std::size_t i = 0; i < launch.bindings.size(); ++i) {
    Buffer& buffer = of(*launch.bindings[i].buffer);
    buffer.last_encoder = encoder_number_;
    ranges[i] = {buffer.id, buffer.handle, launch.bindings[i].offset, launch.bindings[i].bytes};
  }
  WGPUBindGroup group =
      bind_groups_->get(pipeline.layout, std::span(ranges).first(launch.bindings.size()));
  WGPUComputePassEncoder p = pass();
  if (pass_pipeline_ != &pipeline) {
    api().ComputePassEncoderSetPipeline(p, pipeline.handle);
    pass_pipeline_ = &pipeline;
    pass_group_ = nullptr;
  }
  if (pass_group_ != group) {
    api().ComputePassEncoderSetBindGroup(p, 0, group, 0, nullptr);
    pass_group_ = group;
  }
  if (!launch.params.empty()) {
    api().ComputePassEncoderSetImmediates(p, 0, launch.params.data(), launch.params.size());
  }
  api().ComputePassEncoderDispatchWorkgroups(p, launch.grid[0], launch.grid[1], launch.grid[2]);
  ++gathered_;
  flush_if_worthwhile();
}

void Device::copy(gpu::DeviceBuffer& dst, std::uint64_t dst_offset, gpu::DeviceBuffer& src,
                  std::uint64_t src_offset, std::uint64_t bytes) {
  std::lock_guard lock(mutex_);
  check_usable();
  end_pass();
  of(dst).last_encoder = of(src).last_encoder = encoder_number_;
  api().CommandEncoderCopyBufferToBuffer(encoder(), of(src).handle, src_offset, of(dst).handle,
                                         dst_offset, bytes);
  ++gathered_;
  flush_if_worthwhile();
}

void Device::wait() {
  std::lock_guard lock(mutex_);
  check_usable();
  flush();
  if (submitted_) poll_until(last_submission_);
  throw_failure("queued work");
}

}  // namespace tilewright::webgpu
