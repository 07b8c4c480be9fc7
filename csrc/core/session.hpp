#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>

namespace tilewright {

/// From an init() to the next close(): what events of it ask once it is over.
struct Session {
  /// Whether events or asynchronous reads were made, which close() then waits for.
  std::atomic<bool> was_marked{false};

  /// It is over; `failure` is what went wrong in the work that was queued, if anything.
  void end(const std::exception_ptr& failure) noexcept;
  /// Whether it is, by then at the latest, or has reached the place; throws the failure.
  bool wait_until_over(std::uint64_t place, std::chrono::steady_clock::time_point deadline);

  /// Somebody has seen that a place is reached.
  void see(std::uint64_t place) noexcept {
    std::uint64_t seen = seen_.load(std::memory_order_relaxed);
    while (seen < place && !seen_.compare_exchange_weak(seen, place, std::memory_order_release)) {
    }
  }

 private:
  std::atomic<std::uint64_t> seen_{0};
  std::mutex mutex_;
  std::condition_variable ended_;
  bool over_ = false;
  std::exception_ptr failure_;
};

}  // namespace tilewright
