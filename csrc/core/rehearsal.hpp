#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "core/requests.hpp"

namespace tilewright {

/// While it is there, the ops of its thread on one backend are planned and not run.
class Rehearsal {
 public:
  Rehearsal() = default;
  virtual ~Rehearsal() = default;
  Rehearsal(const Rehearsal&) = delete;
  Rehearsal& operator=(const Rehearsal&) = delete;
  /// What stands for a buffer.
  virtual AllocationRef operand(std::uint64_t bytes) = 0;
};

/// Which threads rehearse; asked by all that run ops.
class RehearsingThreads {
 public:
  bool has_this() const noexcept {
    return count_.load(std::memory_order_relaxed) != 0 && is_here();
  }
  void enter() noexcept;
  void leave() noexcept;

 private:
  bool is_here() const noexcept;
  std::atomic<std::uint32_t> count_{0};
};

}  // namespace tilewright
