// Waiting: every wait of hosts and workers is for something that a worker or a host announces here.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace ze_cpu {

class Completion {
 public:
  /// To be called after something that others may wait for has changed.
  void announce();

  /// Returns whether condition() came true within the time; condition reads atomics alone.
  template <typename Condition>
  bool wait(uint64_t nanoseconds, const Condition& condition);

  /// How many hosts wait now.
  int hosts_waiting() const { return waiting_; }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<int> waiting_{0};
};

Completion& completion();

template <typename Condition>
bool Completion::wait(uint64_t nanoseconds, const Condition& condition) {
  using Clock = std::chrono::steady_clock;
  // A time-out that a clock cannot hold is one that never comes.
  const bool forever = nanoseconds > uint64_t(INT64_MAX) / 2;
  const auto start = Clock::now();
  if (condition()) return true;
  if (nanoseconds == 0) return false;
  ++waiting_;
  std::unique_lock lock(mutex_);
  bool met = true;
  if (forever) {
    changed_.wait(lock, condition);
  } else {
    met = changed_.wait_until(lock, start + std::chrono::nanoseconds(nanoseconds), condition);
  }
  --waiting_;
  return met;
}

}  // namespace ze_cpu
