#pragma once

#include <cstddef>

namespace tilewright::cpu {

/// Working memory of one task: floats, contents undefined, 64-byte aligned. Each thread keeps the
/// last block for its next task, up to a bound, so that asking costs nothing in the steady state.
/// Throws OutOfMemory.
class Scratch {
 public:
  explicit Scratch(std::size_t floats);
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  /// The next `floats` of the block; all takes together stay within the size asked for, each
  /// rounded up to a multiple of 16.
  float* take(std::size_t floats);

  static constexpr std::size_t rounded(std::size_t floats) { return (floats + 15) / 16 * 16; }

 private:
  float* block_;
  std::size_t capacity_;
  std::size_t taken_ = 0;
};

}  // namespace tilewright::cpu
