#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <span>
#include <thread>
#include <utility>

#include "core/text.hpp"
#include "webgpu/objects.hpp"

// Launches gather in one encoder. It goes out at a read, at wait(), and before: an idle GPU gets
// the first few at once, then twice as much each time, so that it never runs dry and yet few
// submissions lie between its launches. From the first few on a thread of its own does that
// (backlog.cpp).
namespace tilewright::webgpu {

namespace {

/// The most that gathers. A submission costs a busy GPU as much as seven small launches.
constexpr std::uint32_t most_gathered_work = 8192;
/// The longest that a launch waits for another one to go out with.
constexpr std::chrono::microseconds longest_gathering{100};
/// Launches that come in so quick succession look at the clock once for these too.
constexpr std::chrono::microseconds quick_succession{10};
constexpr std::uint32_t launches_between_looks = 3;
/// Short waits end without a pause, long ones leave the processor to others, for a small part of
/// the time that they took.
constexpr std::chrono::microseconds longest_spin{2000}, longest_sleep{1000};
constexpr int sleeps_of_wait = 32;

/// Held through a look and through a submission with the look before it, so that no other thread's
/// look meets a loss between those two. One for all devices, since a look is at all of them.
std::mutex& look_or_submit() {
  static auto* mutex = new std::mutex;
  return *mutex;
}

}  // namespace

/// A pass for one launch, with its times.
void Device::begin_timed_pass(const gpu::Launch& launch) {
  encoding_.end_pass();
  if (timestamps_->full()) submit();
  if (timestamps_->needs_buffer()) {
    const std::uint64_t bytes = Timestamps::buffer_bytes;
    WGPUBuffer handle =
        raw_buffer(bytes, WGPUBufferUsage_QueryResolve | WGPUBufferUsage_CopySrc, "launch times");
    timestamps_->add_buffer(std::make_unique<Buffer>(*this, bytes, handle), handle);
  }
  encoding_.begin(
      timestamps_->begin_pass(encoding_.encoder(), launch.pipeline->info().name, launch.grid));
}

void Device::close_encoder() {
  if (!encoding_.is_open()) return;
  encoding_.end_pass();
  if (timestamps_) timestamps_->resolve(encoding_.encoder());
  closed_.push_back(encoding_.finish());
  if (const auto failure = failures_->take(); failure && !refused_) refused_ = failure->message;
}

void Device::submit() {
  if (!gathers()) return;
  gathered_work_ = 0;
  const std::uint64_t uploaded = std::exchange(upload_used_, 0);
  // To submit to a lost device, or what failed to finish, ends the process. A look is what tells
  // the library of a loss, and what is asked of the device then tells us.
  std::unique_lock alone(look_or_submit());
  api_.InstanceProcessEvents(instance_);
  (void)encoding_.encoder();
  close_encoder();
  const std::vector<WGPUCommandBuffer> commands = std::exchange(closed_, {});
  if (const auto refusal = std::exchange(refused_, std::nullopt)) {
    // The library keeps a command buffer that is never submitted, and the device with it.
    for (WGPUCommandBuffer one : commands) api_.CommandBufferRelease(one);
    if (uniforms_) uniforms_->forget();
    if (timestamps_) timestamps_->forget();
    // No submission that callbacks could tell of: what it would have filled is let go of.
    ++submissions_;
    const std::string message = text("webgpu: queued work was refused and is lost: ", *refusal);
    note_refusal(submissions_, message);
    gathering_.clear();
    reads_.stop_sharing();
    check_alive();
    progress_->follow(api_, queue_, submissions_);
    throw DeviceError(message);
  }
  if (uniforms_) uniforms_->write(queue_);
  Staging& upload = uploads_[upload_turn_];
  if (uploaded > 0) upload.unmap();
  api_.QueueSubmit(queue_, commands.size(), commands.data());
  alone.unlock();
  last_submission_ = ++submissions_;
  enough_work_ = std::min(2 * enough_work_, most_gathered_work);
  quiet_since_ = Clock::now();
  looks_after_ = 0;
  for (WGPUCommandBuffer one : commands) api_.CommandBufferRelease(one);
  if (uploaded > 0) {
    upload.map(upload.bytes(), last_submission_);
    upload_turn_ = (upload_turn_ + 1) % uploads_.size();
  }
  map_downloads();
  throw_failure("submitting work");
}

bool Device::is_worthwhile() {
  if (gathered_work_ >= enough_work_) return true;
  // The clock takes longer than the rest of this.
  if (looks_after_ > 0) {
    --looks_after_;
    return false;
  }
  const Clock::time_point now = Clock::now();
  if (now - quiet_since_ >= longest_gathering) return true;
  if (now - looked_ < quick_succession) looks_after_ = launches_between_looks;
  looked_ = now;
  return false;
}

void Device::queue_is_empty() {
  looks_after_ = 0;
  enough_work_ = Encoding::enough_for_idle_gpu;
  quiet_since_ = Clock::now();
}

// Looks again and again: wgpu-native's own wait ends the process where the device is lost.
void Device::look_until(const std::function<bool()>& done, Clock::time_point deadline) {
  // A forked child finds locks as the thread that submits has left them.
  if (fork_generation_ != fork_generation()) return;
  const Clock::time_point since = Clock::now();
  for (;;) {
    {
      std::lock_guard alone(look_or_submit());
      api_.InstanceProcessEvents(instance_);
    }
    if (done() || failures_->lost()) return;
    const Clock::time_point now = Clock::now();
    if (now >= deadline) return;
    if (encode_ahead()) continue;
    const Clock::duration waited = now - since;
    if (waited < longest_spin) {
      std::this_thread::yield();
    } else {
      look_for_loss();
      std::this_thread::sleep_for(std::min({Clock::duration(waited / sleeps_of_wait),
                                            Clock::duration(longest_sleep), deadline - now}));
    }
  }
}

/// A loss that a look has met is reported once something is asked of the device.
void Device::look_for_loss() {
  std::lock_guard lock(mutex_);
  api_.CommandEncoderRelease(api_.DeviceCreateCommandEncoder(device_, nullptr));
}

void Device::await_submissions() {
  auto done = std::make_unique<std::atomic<bool>>(false);
  WGPUQueueWorkDoneCallbackInfo callback{};
  callback.mode = WGPUCallbackMode_AllowSpontaneous;
  callback.userdata1 = done.get();
  callback.callback = [](WGPUQueueWorkDoneStatus, WGPUStringView, void* flag, void*) {
    static_cast<std::atomic<bool>*>(flag)->store(true);
  };
  api_.QueueOnSubmittedWorkDone(queue_, callback);
  look_until([&] { return done->load(); });
  // The callback of a lost device may still come.
  if (!done->load()) (void)done.release();
}

void Device::check_bindings(const gpu::Launch& launch) const {
  const KernelInfo& info = launch.pipeline->info();
  if (launch.bindings.size() != info.bindings.size()) {
    throw DeviceError(text("webgpu: ", info.name, ": launched with ", launch.bindings.size(),
                           " buffers, it has ", info.bindings.size()));
  }
  for (std::size_t i = 1; i < launch.bindings.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (launch.bindings[i].buffer == launch.bindings[j].buffer &&
          info.bindings[i].writable != info.bindings[j].writable) {
        throw DeviceError(text("webgpu: ", info.name, ": its buffers ", j, " and ", i,
                               " are one, but it writes to only one of them; give it two"));
      }
    }
  }
}

void Device::refuse_size(const gpu::Launch& launch) const {
  const KernelInfo& info = launch.pipeline->info();
  if (launch.params.size() != info.params_bytes) {
    throw DeviceError(text("webgpu: ", info.name, ": launched with ", launch.params.size(),
                           " bytes of parameters, it has ", info.params_bytes));
  }
  throw DeviceError(text("webgpu: ", info.name, ": launched with ", std::ranges::max(launch.grid),
                         " workgroups in a dimension, which holds at most ", limits_.max_groups));
}

const BindGroup& Device::bind(const gpu::Launch& launch) {
  const auto& pipeline = static_cast<const ComputePipeline&>(*launch.pipeline);
  check_bindings(launch);
  // The group that makes room may wait to be encoded.
  if (bind_groups_->is_full()) take_encoder_back();
  const BindGroup& group = bind_groups_->make(*pipeline.layout, launch.bindings);
  for (const gpu::Binding& binding : launch.bindings) of(*binding.buffer).was_bound = true;
  if (const auto failure = failures_->take()) {
    bind_groups_->drop_newest();
    check_alive();
    throw DeviceError(
        text("webgpu: ", pipeline.info().name, ": its buffers do not fit: ", failure->message));
  }
  return group;
}

void Device::launch(const gpu::Launch& launch) {
  std::unique_lock lock(mutex_);
  check_usable();
  const auto& pipeline = static_cast<const ComputePipeline&>(*launch.pipeline);
  check_size(launch);
  const BindGroup* const kept = bind_groups_->find(*pipeline.layout, launch.bindings);
  const BindGroup& group = kept != nullptr ? *kept : bind(launch);
  while (encoder_thread_ && encoder_thread_->has_encoder()) {
    if (!backlog_.is_full()) return backlog_.add(&pipeline, group, launch);
    backlog_.wait_for_room();
  }
  // What the thread has not seen before it gave the encoder back.
  encode_backlog();
  if (pipeline.params_in_uniforms && uniforms_->full()) submit();
  if (timestamps_) begin_timed_pass(launch);
  encoding_.use(&pipeline, pipeline.handle, group);
  if (pipeline.params_in_uniforms) {
    encoding_.set_params(*uniforms_, uniforms_->add(launch.params));
  } else {
    encoding_.set_params(launch.params);
  }
  gathered_work_ += encoding_.dispatch(launch.grid);
  if (timestamps_) encoding_.end_pass();
  if (debug_) {
    submit();
    lock.unlock();
    await_submissions();
    lock.lock();
    check_usable();
    return throw_failure(pipeline.info().name);
  }
  pass_on_if_worthwhile();
}

void Device::copy(gpu::DeviceBuffer& dst, std::uint64_t dst_offset, gpu::DeviceBuffer& src,
                  std::uint64_t src_offset, std::uint64_t bytes) {
  const Turn turn(*this);
  check_usable();
  gathered_work_ += encoding_.copy(of(src).handle, src_offset, of(dst).handle, dst_offset, bytes);
  pass_on_if_worthwhile();
}

void Device::wait() {
  std::uint64_t last;
  std::uint64_t place = 0;
  bool reads = false;
  {
    const Turn turn(*this);
    check_usable();
    submit();
    if (submissions_ == 0) return;
    last = last_submission_;
    place = submissions_;
    reads = reads_.holds(place);
    if (reads) progress_->follow(api_, queue_, place);
  }
  await_submissions();
  if (reads) look_for(place, Clock::time_point::max());
  const Turn turn(*this);
  check_usable();
  if (last == last_submission_) queue_is_empty();
  throw_failure("queued work");
}

void Device::begin_timing() {
  const Turn turn(*this);
  check_usable();
  if (api_.DeviceHasFeature(device_, WGPUFeatureName_TimestampQuery) == 0) {
    throw Unsupported(text("begin_profile: ", info_.name,
                           " cannot time its kernels: it lacks the feature timestamps"));
  }
  submit();
  timestamps_ = std::make_unique<Timestamps>(api_, device_, queue_);
  try {
    throw_failure("a set of timestamps");
  } catch (...) {
    timestamps_.reset();
    throw;
  }
}

std::vector<LaunchRecord> Device::end_timing() {
  std::unique_ptr<Timestamps> taken;
  {
    const Turn turn(*this);
    check_usable();
    const auto take = [&] { taken = std::move(timestamps_); };
    try {
      submit();
    } catch (...) {
      take();
      throw;
    }
    take();
  }
  return std::move(*taken).records([&](gpu::DeviceBuffer& buffer, std::span<std::uint64_t> ticks) {
    download(std::as_writable_bytes(ticks), buffer, 0);
  });
}

}  // namespace tilewright::webgpu
