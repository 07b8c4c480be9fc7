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
  struct Launch {
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
    Launch& added = (*launches_)[added_here_ % capacity];
    added.pipeline = pipeline;
    added.group = group;
    added.grid = launch.grid;
    added.params_bytes = static_cast<std::uint32_t>(launch.params.size());
    std::ranges::copy(launch.params, added.params.begin());
    added_.store(++added_here_, std::memory_order_release);
  }

  // For whoever takes.

  bool is_empty() const {
    return added_.load(std::memory_order_acquire) == taken_.load(std::memory_order_relaxed);
  }
  const Launch& first() const {
    return (*launches_)[taken_.load(std::memory_order_relaxed) % capacity];
  }
  void take() {
    taken_.store(taken_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }

 private:
  std::unique_ptr<std::array<Launch, capacity>> launches_ =
      std::make_unique<std::array<Launch, capacity>>();
  // Each side writes to lines of its own, and looks at the other's where it must.
  alignas(64) std::size_t added_here_ = 0;
  std::size_t taken_before_ = 0;
  alignas(64) std::atomic<std::size_t> added_{0};
  alignas(64) std::atomic<std::size_t> taken_{0};
};

}  // namespace tilewright::webgpu
