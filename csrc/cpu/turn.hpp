#pragma once

#include <atomic>

#include "core/fork.hpp"

namespace tilewright::cpu {

/// A mutex that a forked child finds free, whoever held it in the parent.
class Turn {
 public:
  void lock() noexcept {
    const unsigned mine = fork_generation() + 1;
    for (unsigned holder = 0; !holder_.compare_exchange_weak(holder, mine);) {
      // Who holds it since before the fork is not in this process.
      if (holder == mine) holder_.wait(holder);
      if (holder == mine) holder = 0;
    }
  }
  void unlock() noexcept {
    holder_.store(0);
    holder_.notify_one();
  }

 private:
  std::atomic<unsigned> holder_{0};  // the fork generation of its process and 1
};

}  // namespace tilewright::cpu
