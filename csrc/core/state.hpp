#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include "core/buffer_table.hpp"
#include "tilewright/backend.hpp"

namespace tilewright {

/// What every backend has besides its implementation: its buffers, their sum, and who is inside.
/// States enlist themselves for fork(): a child gets unlocked ones with nobody inside.
class BackendState {
 public:
  BackendState();
  ~BackendState();
  BackendState(const BackendState&) = delete;
  BackendState& operator=(const BackendState&) = delete;

  std::mutex lifecycle;  ///< held through init() and close(), taken before `mutex`

  std::mutex mutex;  ///< guards what follows, but in_flight
  bool initialized = false;
  BufferTable buffers;
  std::uint64_t active_bytes = 0;
  std::uint64_t peak_bytes = 0;
  std::uint64_t total_allocations = 0;

  std::atomic<std::uint32_t> in_flight{0};  ///< calls inside; raised under `mutex` only

  void enter() noexcept { in_flight.fetch_add(1, std::memory_order_relaxed); }
  void leave() noexcept {
    if (in_flight.fetch_sub(1, std::memory_order_release) == 1) in_flight.notify_all();
  }
  void wait_until_empty() noexcept;
};

}  // namespace tilewright
