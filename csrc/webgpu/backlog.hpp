#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "gpu/device.hpp"
#include "webgpu/bind_groups.hpp"
#include "webgpu/uniforms.hpp"

namespace tilewright::webgpu {

class ComputePipeline;

/// Launches that are yet to be encoded, in their order. One thread at a time adds, one takes.
class Backlog {
 public:
  struct alignas(64) Launch {
    const ComputePipeline* pipeline;
    BindGroup group;
    std::array<std::uint32_t, 3> grid;
    std::uint32_t params_bytes;
    std::array<std::byte, Uniforms::slot_bytes> params;
  };
  static constexpr std::size_t capacity = 256;

  // For those who add.

  bool is_full() {
    if (added_here_ - taken_before_ < capacity) return false;
    taken_before_ = taken_.load(std::memory_order_acquire);
    return added_here_ - taken_before_ == capacity;
  }
  /// Where it is not full.
  void add(const ComputePipeline* pipeline, const BindGroup& group, const gpu::Launch& launch) {
    Launch& added = at(added_here_);
    added.pipeline = pipeline;
    added.group = group;
    added.grid = launch.grid;
    added.params_bytes = static_cast<std::uint32_t>(launch.params.size());
    std::ranges::copy(launch.params, added.params.begin());
    added_.store(++added_here_, std::memory_order_release);
  }

  /// Sleeps, where it is full, until a half of it has been taken.
  void wait_for_room() {
    const std::uint32_t halves = halves_.load(std::memory_order_acquire);
    if (is_full()) halves_.wait(halves, std::memory_order_acquire);
  }

  // For whoever takes.

  bool is_empty() const {
    return added_.load(std::memory_order_acquire) == taken_.load(std::memory_order_relaxed);
  }
  const Launch& first() const { return at(taken_.load(std::memory_order_relaxed)); }
  /// Has the one behind the first come closer, which another processor has written.
  void expect_second() const {
#if defined(__GNUC__)
    const auto* second =
        reinterpret_cast<const char*>(&at(taken_.load(std::memory_order_relaxed) + 1));
    __builtin_prefetch(second);
    __builtin_prefetch(second + line);
#endif
  }
  void take() {
    const std::size_t taken = taken_.load(std::memory_order_relaxed) + 1;
    taken_.store(taken, std::memory_order_release);
    if (taken % (capacity / 2) != 0) return;
    halves_.fetch_add(1, std::memory_order_release);
    halves_.notify_one();
  }

 private:
  static constexpr std::size_t line = 64;

  Launch& at(std::size_t place) const { return (*launches_)[place % capacity]; }

  std::unique_ptr<std::array<Launch, capacity>> launches_ =
      std::make_unique<std::array<Launch, capacity>>();
  // Each side writes to lines of its own, and looks at the other's where it must.
  alignas(line) std::size_t added_here_ = 0;
  std::size_t taken_before_ = 0;
  alignas(line) std::atomic<std::size_t> added_{0};
  alignas(line) std::atomic<std::size_t> taken_{0};
  std::atomic<std::uint32_t> halves_{0};
};

}  // namespace tilewright::webgpu
