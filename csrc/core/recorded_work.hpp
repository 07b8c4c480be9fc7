#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

namespace tilewright {

/// What an implementation keeps of a recording. Any thread may let go of it, with no lock held.
class RecordedWork {
 public:
  RecordedWork() = default;
  virtual ~RecordedWork() = default;
  RecordedWork(const RecordedWork&) = delete;
  RecordedWork& operator=(const RecordedWork&) = delete;
  /// Of scratch, counted in the budget as long as the work is there.
  virtual std::uint64_t scratch_bytes() const { return 0; }
};

/// Which thread records, if any; asked by all that run ops.
class RecordingThread {
 public:
  void begin() noexcept {
    id_.store(std::this_thread::get_id(), std::memory_order_relaxed);
    any_.store(true, std::memory_order_release);
  }
  void end() noexcept { any_.store(false, std::memory_order_release); }
  bool is_this() const noexcept { return any_.load(std::memory_order_relaxed) && is_here(); }

 private:
  bool is_here() const noexcept {
    return id_.load(std::memory_order_relaxed) == std::this_thread::get_id();
  }
  std::atomic<bool> any_{false};
  std::atomic<std::thread::id> id_{};
};

}  // namespace tilewright
