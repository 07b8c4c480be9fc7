#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>

#include "core/buffer_table.hpp"
#include "core/kept_requests.hpp"
#include "core/kernel_table.hpp"
#include "core/memory_budget.hpp"
#include "core/program/kept_rewrites.hpp"
#include "core/recordings.hpp"
#include "core/scalar_table.hpp"
#include "tilewright/backend.hpp"

namespace tilewright {

struct Session;

enum class ProfileState : std::uint8_t { none, changing, running };

/// What every backend has besides its implementation: its buffers and kernels, and who is inside.
///
/// States enlist themselves for fork(): it waits until no call is inside any backend and lets none
/// in, so a child finds every lock of every implementation free. A fork by a thread that is itself
/// inside, as where a driver starts a program, waits for nobody (InCore).
class BackendState {
 public:
  explicit BackendState(Backend& backend);
  ~BackendState();
  BackendState(const BackendState&) = delete;
  BackendState& operator=(const BackendState&) = delete;

  Backend& backend;  ///< there while anybody is inside

  std::mutex lifecycle;  ///< held through init() and close(), taken before `mutex`

  std::mutex mutex;  ///< guards what follows
  bool initialized = false;
  BufferTable buffers;
  KernelTable kernels;
  ScalarTable scalars;
  KeptRewrites rewrites;
  KeptRequests<MapRequest> kept_maps;
  KeptRequests<FoldRequest> kept_folds;
  KeptRequests<MoveRequest> kept_moves;
  Recordings recordings;
  std::condition_variable recorded_call_over;  ///< with `mutex`
  ProfileState profile = ProfileState::none;
  std::uint64_t active_bytes = 0;
  std::uint64_t total_allocations = 0;
  std::shared_ptr<Session> session;  ///< the last one that was begun

  /// Shared with what may outlive the backend.
  const std::shared_ptr<MemoryBudget> budget = std::make_shared<MemoryBudget>();

  /// Lets in a call, which may go on after it has let go of `mutex`, held by `lock`; false where
  /// the backend is closed. Waits while the process forks.
  bool enter(std::unique_lock<std::mutex>& lock) noexcept {
    if (forking_.load(std::memory_order_relaxed)) [[unlikely]]
      wait_for_fork(lock);
    if (!initialized) return false;
    inside_.fetch_add(1, std::memory_order_relaxed);
    return true;
  }
  /// The same without waiting: false while the process forks, too. Called with `mutex` held.
  bool try_enter() noexcept {
    if (forking_.load(std::memory_order_relaxed) || !initialized) return false;
    inside_.fetch_add(1, std::memory_order_relaxed);
    return true;
  }
  void leave() noexcept {
    if (inside_.fetch_sub(1, std::memory_order_release) == (awaited | 1)) [[unlikely]] {
      inside_.notify_all();
    }
  }
  /// Leaves at its end what was entered.
  class Inside {
   public:
    explicit Inside(BackendState& state) noexcept : state_(state) {}
    ~Inside() { state_.leave(); }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;

   private:
    BackendState& state_;
  };
  /// What is to be let go of without the lock, since giving memory back can take long.
  struct Removed {
    AllocationRef allocation;  ///< null for a handle that was not live here
    Recordings::Contents broken;
  };
  /// Takes a handle out of the table, and its allocation out of the counts where no other handle is
  /// left and no recording keeps it. Called with `mutex` held.
  Removed remove(Buffer buffer) noexcept;

  /// Returns when nobody is inside; one caller at a time, which keeps new calls out.
  void wait_until_empty() noexcept;

  /// What drivers work on in threads of their own; those that fail do nothing more.
  void wait_for_queued_work(std::chrono::steady_clock::time_point deadline) noexcept;

  void before_fork() noexcept;
  void after_fork() noexcept;

 private:
  static constexpr std::uint32_t awaited = std::uint32_t{1} << 31;

  void wait_for_fork(std::unique_lock<std::mutex>& lock) noexcept;

  std::atomic<bool> forking_{false};      // set under `mutex`
  std::atomic<std::uint32_t> inside_{0};  // calls inside, and whether somebody waits for none
};

/// alloc() of freed memory that is kept for reuse: quick, and waits neither for the device nor for
/// other threads. The null handle where there is none, or alloc() has more to do or to refuse.
TILEWRIGHT_API Buffer alloc_at_hand(Backend& backend, Size bytes);

/// scatter_elements() of one number everywhere, which is kept on the device.
TILEWRIGHT_API void scatter_number(Backend& backend, const Number& number,
                                   std::span<const IndexOperand> indices, const MapOperand& output,
                                   std::span<const Size> shape, DType dtype, std::string_view name);

/// Of all backends, at the end of the process: drivers take themselves apart then, under threads of
/// their own that compile and compute.
TILEWRIGHT_API void wait_for_queued_work(std::chrono::steady_clock::time_point deadline) noexcept;

}  // namespace tilewright
