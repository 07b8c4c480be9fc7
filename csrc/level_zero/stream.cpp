#include <cstring>
#include <utility>

#include "core/text.hpp"
#include "level_zero/objects.hpp"
#include "level_zero/results.hpp"
#include "tilewright/error.hpp"

// Launches, copies on the device and waits. Each command goes to the GPU as it is appended.
namespace tilewright::level_zero {

namespace {

/// How long one look at an event waits; between looks the device is asked whether it still works.
constexpr std::uint64_t look_nanoseconds = 100'000'000;

}  // namespace

void Device::keep_order() {
  if (in_order_ || !unordered_) return;
  check(api().CommandListAppendBarrier(list_, nullptr, 0, nullptr), "zeCommandListAppendBarrier");
  unordered_ = false;
}

void Device::was_appended() {
  ++appended_;
  unordered_ = true;
}

ze_event_handle_t Device::append_signal() {
  ze_event_handle_t event = events_->take();
  const ze_result_t result = api().CommandListAppendBarrier(list_, event, 0, nullptr);
  if (result != ZE_RESULT_SUCCESS) events_->put_back(event);
  check(result, "zeCommandListAppendBarrier");
  unordered_ = false;
  return event;
}

void Device::append_copy(void* dst, const void* src, std::uint64_t bytes,
                         ze_event_handle_t signal) {
  keep_order();
  check(api().CommandListAppendMemoryCopy(list_, dst, src, bytes, signal, 0, nullptr),
        "zeCommandListAppendMemoryCopy");
  was_appended();
}

void Device::await(ze_event_handle_t event) const {
  for (;;) {
    const ze_result_t result = api().EventHostSynchronize(event, look_nanoseconds);
    if (result == ZE_RESULT_SUCCESS) return;
    if (result != ZE_RESULT_NOT_READY) check(result, "zeEventHostSynchronize");
    const ze_result_t status = api().DeviceGetStatus(adapter_.handle);
    if (is_loss(status)) check(status, "zeDeviceGetStatus");
  }
}

void Device::check_launch(const gpu::Launch& launch) const {
  const KernelInfo& info = launch.pipeline->info();
  if (launch.bindings.size() != info.bindings.size() || launch.params.size() != info.params_bytes) {
    throw DeviceError(text("level-zero: ", info.name, ": launched with ", launch.bindings.size(),
                           " buffers and ", launch.params.size(), " bytes of parameters, it has ",
                           info.bindings.size(), " and ", info.params_bytes));
  }
  for (std::uint32_t groups : launch.grid) {
    if (groups > limits_.max_groups) {
      throw DeviceError(text("level-zero: ", info.name, ": launched with ", groups,
                             " workgroups in a dimension, which holds at most ",
                             limits_.max_groups));
    }
  }
}

void Device::set_arguments(const ComputePipeline& pipeline, const gpu::Launch& launch) {
  std::size_t buffer = 0;
  bool params_set = std::exchange(pipeline.params_set, false);
  for (std::uint32_t i = 0; i < pipeline.arguments.size(); ++i) {
    const SpirvArgument& argument = pipeline.arguments[i];
    if (!argument.is_buffer) {
      const std::byte* value = launch.params.data() + argument.offset;
      if (params_set &&
          std::memcmp(pipeline.params.data() + argument.offset, value, argument.bytes) == 0) {
        continue;
      }
      check(api().KernelSetArgumentValue(pipeline.handle, i, argument.bytes, value),
            "zeKernelSetArgumentValue");
      continue;
    }
    const gpu::Binding& binding = launch.bindings[buffer];
    Buffer& used = of(*binding.buffer);
    used.last_use = appended_ + 1;
    const ComputePipeline::Bound now{used.id, binding.offset};
    ComputePipeline::Bound& bound = pipeline.bound[buffer++];
    if (bound == now) continue;
    bound = {};
    const void* pointer = used.data + binding.offset;
    check(api().KernelSetArgumentValue(pipeline.handle, i, sizeof pointer, &pointer),
          "zeKernelSetArgumentValue");
    bound = now;
  }
  std::memcpy(pipeline.params.data(), launch.params.data(), launch.params.size());
  pipeline.params_set = true;
}

void Device::launch(const gpu::Launch& launch) {
  std::unique_lock lock(mutex_);
  check_usable();
  if (!launch.is_checked) check_launch(launch);
  append(launch);
  if (debug_) {
    lock.unlock();
    wait();
  }
}

void Device::append(const gpu::Launch& launch) {
  const auto& pipeline = static_cast<const ComputePipeline&>(*launch.pipeline);
  set_arguments(pipeline, launch);
  pipeline.last_use = appended_ + 1;
  keep_order();
  const bool alone = appended_ == done_ && !timestamps_;
  ze_event_handle_t signal = nullptr;
  if (timestamps_) signal = timestamps_->add(pipeline.info().name, launch.grid);
  if (alone) signal = events_->take();
  const ze_group_count_t groups{launch.grid[0], launch.grid[1], launch.grid[2]};
  const ze_result_t result =
      api().CommandListAppendLaunchKernel(list_, pipeline.handle, &groups, signal, 0, nullptr);
  if (result != ZE_RESULT_SUCCESS && timestamps_) timestamps_->forget();
  if (result != ZE_RESULT_SUCCESS && alone) events_->put_back(signal);
  check(result, "zeCommandListAppendLaunchKernel");
  was_appended();
  if (alone) alone_ = signal;
}

void Device::copy(gpu::DeviceBuffer& dst, std::uint64_t dst_offset, gpu::DeviceBuffer& src,
                  std::uint64_t src_offset, std::uint64_t bytes) {
  std::lock_guard lock(mutex_);
  check_usable();
  of(dst).last_use = of(src).last_use = appended_ + 1;
  append_copy(of(dst).data + dst_offset, of(src).data + src_offset, bytes, nullptr);
}

void Device::wait() {
  std::unique_lock lock(mutex_);
  check_usable();
  const std::uint64_t last = appended_;
  if (last == done_) {
    const bool reads = reads_.holds(last);
    lock.unlock();
    if (reads) fill_downloads();
    return;
  }
  const bool alone = alone_ != nullptr && appended_ == done_ + 1;
  ze_event_handle_t event = alone ? std::exchange(alone_, nullptr) : append_signal();
  lock.unlock();
  await(event);
  lock.lock();
  events_->put_back(event);
  done_up_to(last);
  const bool reads = reads_.holds(last);
  lock.unlock();
  if (reads) fill_downloads();
}

void Device::begin_timing() {
  if (adapter_.tick_ns == 0) {
    throw Unsupported(text("begin_profile: ", info_.name,
                           " cannot time its kernels: it lacks the feature timestamps"));
  }
  std::lock_guard lock(mutex_);
  check_usable();
  timestamps_ = std::make_unique<Timestamps>(adapter_, context_);
}

std::vector<LaunchRecord> Device::end_timing() {
  std::unique_ptr<Timestamps> taken;
  {
    std::lock_guard lock(mutex_);
    check_usable();
    taken = std::move(timestamps_);
  }
  try {
    wait();
  } catch (...) {
    // Launches still signal its events.
    std::lock_guard lock(mutex_);
    unread_.push_back(std::move(taken));
    throw;
  }
  return taken->records();
}

}  // namespace tilewright::level_zero
