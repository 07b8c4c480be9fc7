#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "tilewright/profile.hpp"

namespace tilewright::cpu {

/// When ops began and ended, by the host's clock, while a profile is taken. Ops of several threads
/// may overlap.
class OpTimes {
 public:
  void begin();
  /// All ops since begin(), by when they began.
  Profile end();
  /// The same, where nobody wants them.
  void forget() noexcept;

  /// op(), timed under name() where a profile is taken. One that throws is not in it.
  template <class Name, class Op>
  void time(const Name& name, const Op& op) {
    if (!running_.load(std::memory_order_relaxed)) return op();
    const Clock::time_point start = Clock::now();
    op();
    add(name(), start, Clock::now());
  }

 private:
  using Clock = std::chrono::steady_clock;
  struct Op {
    std::string name;
    Clock::time_point start, end;
  };

  std::vector<Op> stop() noexcept;
  void add(std::string name, Clock::time_point start, Clock::time_point end) noexcept;

  std::atomic<bool> running_{false};
  std::mutex mutex_;
  std::vector<Op> ops_;
};

}  // namespace tilewright::cpu
