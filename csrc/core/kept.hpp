#pragma once

#include <atomic>

namespace tilewright {

/// A small value that is the same whoever computes it, kept once it is known. Unlike a local static
/// it locks nothing: a child that is forked while another thread computes it does not wait for a
/// thread that it does not have.
template <class T>
class Kept {
 public:
  template <class Make>
  T get(const Make& make) {
    if (known_.load(std::memory_order_acquire)) return value_.load(std::memory_order_relaxed);
    const T made = make();
    value_.store(made, std::memory_order_relaxed);
    known_.store(true, std::memory_order_release);
    return made;
  }

 private:
  std::atomic<T> value_{};
  std::atomic<bool> known_{false};
};

}  // namespace tilewright
