#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/recorded_work.hpp"
#include "core/rehearsal.hpp"
#include "core/requests.hpp"
#include "gpu/command_list.hpp"
#include "gpu/device.hpp"
#include "gpu/launch_plan.hpp"

namespace tilewright::gpu {

/// Commands with all that they use.
class GpuRecording final : public RecordedWork {
 public:
  std::uint64_t scratch_bytes() const override {
    std::uint64_t bytes = 0;
    for (const AllocationRef& one : scratch) bytes += one->bytes();
    return bytes;
  }

  std::vector<AllocationRef> allocations, scratch;
  std::vector<std::shared_ptr<const Pipeline>> pipelines;
  CommandList commands;
  std::mutex replaying;                        // its replays share buffers and scratch
  std::unique_ptr<PreparedCommands> prepared;  // goes first
};

/// What a thread queues while it records.
class Recorder {
 public:
  /// Whether this thread records.
  bool records() const noexcept { return thread_.is_this(); }
  /// Whether what this thread queues is to be dropped.
  bool rehearses() const noexcept { return rehearsing_.has_this(); }
  RehearsingThreads& rehearsing() { return rehearsing_; }

  /// Whether anybody wants to know of launches: of a thread that records or rehearses, or of one
  /// whose op is planned.
  bool is_watched() const noexcept { return watchers_.load(std::memory_order_relaxed) != 0; }
  void watch() noexcept { watchers_.fetch_add(1, std::memory_order_relaxed); }
  void unwatch() noexcept { watchers_.fetch_sub(1, std::memory_order_relaxed); }
  /// What notes the launches of this thread's op, or null.
  PlanCapture* capture() const noexcept {
    return is_watched() ? PlanCapture::of_thread() : nullptr;
  }

  void begin();
  /// Null where nobody records.
  std::shared_ptr<GpuRecording> end();

  void launch(const Launch& launch);
  void copy(const Binding& dst, const Binding& src);
  /// Scratch of an earlier op that has let go of it; null where none is large enough.
  AllocationRef scratch(std::uint64_t bytes);
  /// `for_all`: for later ops too, once the op has let go of it.
  void keep_scratch(const AllocationRef& scratch, bool for_all);

 private:
  void keep(const DeviceBuffer& buffer);

  RecordingThread thread_;
  std::atomic<std::uint32_t> watchers_{0};
  RehearsingThreads rehearsing_;
  std::mutex mutex_;  // another thread may end it
  std::shared_ptr<GpuRecording> recording_;
  std::unordered_set<const void*> kept_;
  std::vector<AllocationRef> shared_;  // of the scratch
};

/// A device whose launches, and copies on it, are kept where their thread records and dropped where
/// it rehearses.
class RecordableDevice {
 public:
  RecordableDevice(std::shared_ptr<Device> device, Recorder& recorder, Size planned_units,
                   std::uint64_t most_bound)
      : device_(std::move(device)),
        recorder_(recorder),
        limits_(device_->limits()),
        language_(device_->language()) {
    limits_.planned_units = planned_units;
    limits_.max_binding_bytes = std::min(limits_.max_binding_bytes, most_bound / 4 * 4);
  }

  DeviceInfo info() const {
    DeviceInfo info = device_->info();
    info.limits["max_binding_bytes"] = limits_.max_binding_bytes;
    return info;
  }
  const DeviceLimits& limits() const { return limits_; }
  KernelLanguage language() const { return language_; }
  std::uint32_t subgroup_size() const { return device_->subgroup_size(); }
  bool rehearses() const noexcept { return recorder_.rehearses(); }
  std::unique_ptr<Pipeline> create_pipeline(const KernelDescription& kernel) {
    return device_->create_pipeline(kernel);
  }

  void launch(const Launch& launch) {
    if (recorder_.is_watched()) [[unlikely]]
      return launch_watched(launch);
    device_->launch(launch);
  }
  void copy(DeviceBuffer& dst, std::uint64_t dst_offset, DeviceBuffer& src,
            std::uint64_t src_offset, std::uint64_t bytes) {
    if (PlanCapture* const capture = recorder_.capture()) capture->drop();
    if (recorder_.records()) [[unlikely]] {
      return recorder_.copy({&dst, dst_offset, bytes}, {&src, src_offset, bytes});
    }
    if (recorder_.rehearses()) [[unlikely]]
      return;
    device_->copy(dst, dst_offset, src, src_offset, bytes);
  }
  /// At once: what an op uploads stays the same.
  void upload(DeviceBuffer& dst, std::uint64_t offset, std::span<const std::byte> src) {
    if (PlanCapture* const capture = recorder_.capture()) capture->drop();
    if (recorder_.rehearses()) [[unlikely]]
      return;
    device_->upload(dst, offset, src);
  }
  void launch_at_once(const Launch& launch) { device_->launch(launch); }

  void download(std::span<std::byte> dst, DeviceBuffer& src, std::uint64_t offset) {
    device_->download(dst, src, offset);
  }
  std::uint64_t start_download(HostRead read, DeviceBuffer& src, std::uint64_t offset) {
    return device_->start_download(std::move(read), src, offset);
  }
  std::unique_ptr<PreparedCommands> prepare(const CommandList& commands) {
    return device_->prepare(commands);
  }
  void replay(const CommandList& commands, PreparedCommands* prepared) {
    device_->replay(commands, prepared);
  }
  void wait() { device_->wait(); }
  std::uint64_t mark() { return device_->mark(); }
  bool reach(std::uint64_t place, std::chrono::steady_clock::time_point deadline) {
    return device_->reach(place, deadline);
  }
  void flush() { device_->flush(); }
  void begin_timing() { device_->begin_timing(); }
  std::vector<LaunchRecord> end_timing() { return device_->end_timing(); }

 private:
  void launch_watched(const Launch& launch) {
    if (recorder_.records()) return recorder_.launch(launch);
    if (recorder_.rehearses()) return;
    device_->launch(launch);
    if (PlanCapture* const capture = recorder_.capture()) capture->note(launch);
  }

  const std::shared_ptr<Device> device_;
  Recorder& recorder_;
  DeviceLimits limits_;
  const KernelLanguage language_;
};

}  // namespace tilewright::gpu
