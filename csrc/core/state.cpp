#include "core/state.hpp"

#include <algorithm>
#include <vector>

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
  live_states().mutex.lock();
  for (BackendState* state : live_states().states) {
    state->lifecycle.lock();
    state->mutex.lock();
  }
}

void unlock_all() {
  for (BackendState* state : live_states().states) {
    state->mutex.unlock();
    state->lifecycle.unlock();
  }
  live_states().mutex.unlock();
}

void after_fork_in_child() {
  for (BackendState* state : live_states().states) state->in_flight.store(0);
  unlock_all();
}

const int fork_handlers = pthread_atfork(before_fork, unlock_all, after_fork_in_child);
#endif

}  // namespace

BackendState::BackendState() {
  std::lock_guard lock(live_states().mutex);
  live_states().states.push_back(this);
}

BackendState::~BackendState() {
  std::lock_guard lock(live_states().mutex);
  std::erase(live_states().states, this);
}

void BackendState::wait_until_empty() noexcept {
  for (std::uint32_t inside = in_flight.load(std::memory_order_acquire); inside != 0;
       inside = in_flight.load(std::memory_order_acquire)) {
    in_flight.wait(inside, std::memory_order_acquire);
  }
}

}  // namespace tilewright
