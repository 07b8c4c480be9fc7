#include "gpu/recorder.hpp"

#include <algorithm>

#include "gpu/backend.hpp"

namespace tilewright::gpu {

void Recorder::begin() {
  std::lock_guard lock(mutex_);
  recording_ = std::make_shared<GpuRecording>();
  watch();
  thread_.begin();
}

std::shared_ptr<GpuRecording> Recorder::end() {
  std::lock_guard lock(mutex_);
  thread_.end();
  if (recording_) unwatch();
  kept_.clear();
  shared_.clear();
  return std::exchange(recording_, nullptr);
}

void Recorder::keep(const DeviceBuffer& buffer) {
  if (!kept_.insert(&buffer).second) return;
  recording_->allocations.push_back(buffer.owner->shared_from_this());
}

void Recorder::launch(const Launch& launch) {
  std::lock_guard lock(mutex_);
  if (!recording_) return;  // dropped by another thread meanwhile
  for (const Binding& binding : launch.bindings) keep(*binding.buffer);
  if (kept_.insert(launch.pipeline).second) {
    recording_->pipelines.push_back(launch.pipeline->shared_from_this());
  }
  recording_->commands.add(launch);
}

void Recorder::copy(const Binding& dst, const Binding& src) {
  std::lock_guard lock(mutex_);
  if (!recording_) return;
  keep(*dst.buffer);
  keep(*src.buffer);
  recording_->commands.add_copy(dst, src);
}

AllocationRef Recorder::scratch(std::uint64_t bytes) {
  std::lock_guard lock(mutex_);
  const AllocationRef* best = nullptr;
  for (const AllocationRef& one : shared_) {
    // References of this list, of the recording's scratch and of the commands that use it.
    const bool is_free = one.use_count() == (kept_.contains(&buffer_of(one)) ? 3 : 2);
    if (!is_free || one->bytes() < bytes) continue;
    if (best == nullptr || one->bytes() < (*best)->bytes()) best = &one;
  }
  return best != nullptr ? *best : nullptr;
}

void Recorder::keep_scratch(const AllocationRef& scratch, bool for_all) {
  std::lock_guard lock(mutex_);
  if (!recording_) return;
  recording_->scratch.push_back(scratch);
  if (for_all) shared_.push_back(scratch);
}

// What a device does that has nothing quicker --------------------------------------------------

std::unique_ptr<PreparedCommands> Device::prepare(const CommandList&) { return nullptr; }

void Device::replay(const CommandList& commands, PreparedCommands*) {
  commands.for_each([this](const Launch& one) { launch(one); },
                    [this](const Binding& dst, const Binding& src) {
                      copy(*dst.buffer, dst.offset, *src.buffer, src.offset, dst.bytes);
                    });
}

// Recordings of the backend ----------------------------------------------------------------------

void GpuBackend::do_begin_recording() { recorder_->begin(); }

std::shared_ptr<RecordedWork> GpuBackend::do_end_recording() {
  std::shared_ptr<GpuRecording> recording = recorder_->end();
  if (!recording) return nullptr;
  recording->prepared = memory_->with_room([&] { return device_->prepare(recording->commands); });
  return recording;
}

std::shared_ptr<RecordedWork> GpuBackend::do_drop_recording() noexcept { return recorder_->end(); }

void GpuBackend::do_replay(RecordedWork& work) {
  auto& recording = static_cast<GpuRecording&>(work);
  {
    std::lock_guard alone(recording.replaying);
    device_->replay(recording.commands, recording.prepared.get());
  }
  faults_->may_be();
}

}  // namespace tilewright::gpu
