#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include "cpu/memory.hpp"

namespace tilewright::cpu {

/// The working memory of an op, taken before it writes anything: so many floats for each of its
/// tasks that run at a time. Tasks take turns where the memory limit leaves no room for that many.
class OpScratch {
 public:
  /// Throws OutOfMemory where not even one task finds room.
  OpScratch(MemoryPool& pool, std::string_view op, std::size_t floats, std::size_t tasks = 1);

 private:
  friend class Scratch;
  float* take();
  void put_back(float* part);

  AllocationRef block_;
  std::mutex mutex_;
  std::condition_variable returned_;
  std::vector<float*> free_;
};

/// What one task has of it: floats, contents undefined, 64-byte aligned.
class Scratch {
 public:
  explicit Scratch(OpScratch& all) : all_(all), part_(all.take()), next_(part_) {}
  ~Scratch() { all_.put_back(part_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  /// The next `floats`; all takes together stay within the size asked for, each rounded up to a
  /// multiple of 16.
  float* take(std::size_t floats) { return std::exchange(next_, next_ + rounded(floats)); }

  static constexpr std::size_t rounded(std::size_t floats) { return (floats + 15) / 16 * 16; }

 private:
  OpScratch& all_;
  float* const part_;
  float* next_;
};

}  // namespace tilewright::cpu
