#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "core/recorded_work.hpp"
#include "cpu/turn.hpp"

namespace tilewright::cpu {

/// Ops with their requests, which hold the memory that they work on.
class CpuRecording final : public RecordedWork {
 public:
  std::vector<std::function<void()>> calls;
  Turn turn;  // of replays, each of which is as one op
};

/// What a thread runs while it records.
class Recorder {
 public:
  /// Whether this thread records.
  bool records() const noexcept { return thread_.is_this(); }

  void begin() {
    std::lock_guard lock(mutex_);
    recording_ = std::make_shared<CpuRecording>();
    thread_.begin();
  }
  /// Null where nobody records.
  std::shared_ptr<CpuRecording> end() noexcept {
    std::lock_guard lock(mutex_);
    thread_.end();
    return std::exchange(recording_, nullptr);
  }
  void add(std::function<void()> call) {
    std::lock_guard lock(mutex_);
    // Not there where another thread dropped it meanwhile.
    if (recording_) recording_->calls.push_back(std::move(call));
  }

 private:
  RecordingThread thread_;
  std::mutex mutex_;  // another thread may end it
  std::shared_ptr<CpuRecording> recording_;
};

}  // namespace tilewright::cpu
