#include "core/state.hpp"

#include <algorithm>
#include <vector>

#include "core/driver_start.hpp"
#include "core/fork.hpp"

#if !defined(_WIN32)
#include <pthread.h>
#endif

namespace tilewright {

namespace {

struct LiveStates {
  std::mutex mutex;
  std::vector<BackendState*> states;
};

// Never destroyed: states may outlive static destructors.
LiveStates& live_states() {
  static auto* live = new LiveStates;
  return *live;
}

#if !defined(_WIN32)
void before_fork() {
  if (InCore::is_here()) return;
  live_states().mutex.lock();
  for (BackendState* state : live_states().states) state->before_fork();
  // Last: a backend that opens looks for its devices.
  driver_start().lock();
}

void after_fork() {
  if (InCore::is_here()) return;
  driver_start().unlock();
  for (BackendState* state : live_states().states) state->after_fork();
  live_states().mutex.unlock();
}

const int fork_handlers = pthread_atfork(before_fork, after_fork, after_fork);
#endif

}  // namespace

std::mutex& driver_start() noexcept {
  static std::mutex mutex;
  return mutex;
}

BackendState::BackendState(Backend& backend) : backend(backend) {
  std::lock_guard lock(live_states().mutex);
  live_states().states.push_back(this);
}

BackendState::~BackendState() {
  std::lock_guard lock(live_states().mutex);
  std::erase(live_states().states, this);
}

BackendState::Removed BackendState::remove(Buffer buffer) noexcept {
  BufferTable::Removed found = buffers.remove(buffer);
  Removed removed{std::move(found.allocation), nullptr};
  if (!found.was_last) return removed;
  const std::uint64_t bytes = removed.allocation->bytes();
  if (recordings.freed(removed.allocation, buffer, removed.broken, active_bytes, *budget)) {
    return removed;
  }
  active_bytes -= bytes;
  budget->give_back(bytes);
  return removed;
}

void BackendState::wait_until_empty() noexcept {
  for (std::uint32_t inside = inside_.fetch_or(awaited, std::memory_order_acquire) | awaited;
       inside != awaited; inside = inside_.load(std::memory_order_acquire)) {
    inside_.wait(inside, std::memory_order_acquire);
  }
  inside_.fetch_and(~awaited, std::memory_order_relaxed);
}

void BackendState::wait_for_queued_work(std::chrono::steady_clock::time_point deadline) noexcept {
  {
    std::unique_lock lock(mutex);
    if (!enter(lock)) return;
  }
  try {
    backend.do_reach(backend.do_mark(), deadline);
  } catch (...) {
    // A device that failed does nothing more.
  }
  leave();
}

void wait_for_queued_work(std::chrono::steady_clock::time_point deadline) noexcept {
  const InCore in_core;
  std::lock_guard all(live_states().mutex);
  for (BackendState* state : live_states().states) state->wait_for_queued_work(deadline);
}

void BackendState::before_fork() noexcept {
  lifecycle.lock();
  {
    std::lock_guard lock(mutex);
    forking_.store(true, std::memory_order_relaxed);
  }
  wait_until_empty();
  mutex.lock();
}

void BackendState::after_fork() noexcept {
  forking_.store(false, std::memory_order_relaxed);
  mutex.unlock();
  lifecycle.unlock();
  forking_.notify_all();
}

void BackendState::wait_for_fork(std::unique_lock<std::mutex>& lock) noexcept {
  while (forking_.load(std::memory_order_relaxed)) {
    lock.unlock();
    forking_.wait(true, std::memory_order_relaxed);
    lock.lock();
  }
}

}  // namespace tilewright
