#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "core/text.hpp"
#include "webgpu/objects.hpp"

// Launches gather in one encoder. It goes out at a read, at wait(), and before: a submission costs
// the host about as much as ten launches, but a GPU that waits for one does nothing.
namespace tilewright::webgpu {

namespace {

/// An idle GPU gets work at the first of these: so many launches, or fewer with many workgroups.
constexpr std::uint32_t enough_for_idle_gpu = 256;
/// The longest that a launch waits for another one to go out with.
constexpr std::chrono::microseconds longest_gathering{100};
constexpr std::uint32_t most_gathered = 256;

}  // namespace

WGPUCommandEncoder Device::encoder() {
  if (encoder_ == nullptr) encoder_ = api().DeviceCreateCommandEncoder(device_, nullptr);
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
  gathered_ = gathered_work_ = 0;
  const std::uint64_t uploaded = std::exchange(upload_used_, 0);
  WGPUCommandBuffer commands = api().CommandEncoderFinish(finished, nullptr);
  api().CommandEncoderRelease(finished);
  // Submitting what failed to finish would end the process.
  if (const auto failure = take_failure()) {
    api().CommandBufferRelease(commands);
    if (uniforms_) uniforms_->forget();
    throw DeviceError(text("webgpu: queued work was refused and is lost: ", failure->message));
  }
  if (uniforms_) uniforms_->write(queue_);
  Staging& upload = uploads_[upload_turn_];
  if (uploaded > 0) upload.unmap();
  last_submission_ = api().QueueSubmitForIndex(queue_, 1, &commands);
  submitted_ = true;
  gpu_idle_ = false;
  quiet_since_ = Clock::now();
  api().CommandBufferRelease(commands);
  if (uploaded > 0) {
    upload.map(upload.bytes(), last_submission_);
    upload_turn_ = (upload_turn_ + 1) % uploads_.size();
  }
  throw_failure("submitting work");
}

void Device::flush_if_worthwhile() {
  if (gathered_ >= most_gathered || (gpu_idle_ && gathered_work_ >= enough_for_idle_gpu) ||
      Clock::now() - quiet_since_ >= longest_gathering) {
    flush();
  }
}

void Device::queue_is_empty() {
  gpu_idle_ = true;
  quiet_since_ = Clock::now();
}

void Device::poll_until(WGPUSubmissionIndex index) { api().DevicePoll(device_, 1, &index); }

void Device::launch(const gpu::Launch& launch) {
  std::lock_guard lock(mutex_);
  check_usable();
  const auto& pipeline = static_cast<const ComputePipeline&>(*launch.pipeline);
  std::array<BoundRange, BindGroups::max_ranges> ranges;
  for (std::size_t i = 0; i < launch.bindings.size(); ++i) {
    Buffer& buffer = of(*launch.bindings[i].buffer);
    buffer.was_bound = true;
    ranges[i] = {buffer.id, buffer.handle, launch.bindings[i].offset, launch.bindings[i].bytes};
  }
  WGPUBindGroup group =
      bind_groups_->get(pipeline.layout, std::span(ranges).first(launch.bindings.size()));
  if (pipeline.params_in_uniforms && uniforms_->full()) flush();
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
  if (pipeline.params_in_uniforms) {
    const std::uint32_t offset = uniforms_->add(launch.params);
    api().ComputePassEncoderSetBindGroup(p, 1, uniforms_->group(), 1, &offset);
  } else if (!launch.params.empty()) {
    api().ComputePassEncoderSetImmediates(p, 0, launch.params.data(), launch.params.size());
  }
  api().ComputePassEncoderDispatchWorkgroups(p, launch.grid[0], launch.grid[1], launch.grid[2]);
  ++gathered_;
  const std::uint64_t groups = std::uint64_t{launch.grid[0]} * launch.grid[1] * launch.grid[2];
  gathered_work_ += work_of_a_launch + static_cast<std::uint32_t>(
                                           std::min<std::uint64_t>(groups, enough_for_idle_gpu));
  flush_if_worthwhile();
}

void Device::copy(gpu::DeviceBuffer& dst, std::uint64_t dst_offset, gpu::DeviceBuffer& src,
                  std::uint64_t src_offset, std::uint64_t bytes) {
  std::lock_guard lock(mutex_);
  check_usable();
  end_pass();
  api().CommandEncoderCopyBufferToBuffer(encoder(), of(src).handle, src_offset, of(dst).handle,
                                         dst_offset, bytes);
  ++gathered_;
  gathered_work_ += work_of_a_copy;
  flush_if_worthwhile();
}

void Device::wait() {
  WGPUSubmissionIndex last;
  {
    std::lock_guard lock(mutex_);
    check_usable();
    flush();
    if (!submitted_) return;
    last = last_submission_;
  }
  poll_until(last);
  std::lock_guard lock(mutex_);
  check_usable();
  if (last == last_submission_) queue_is_empty();
  throw_failure("queued work");
}

}  // namespace tilewright::webgpu
