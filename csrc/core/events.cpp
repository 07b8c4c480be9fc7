#include <utility>

#include "core/call.hpp"
#include "core/fork.hpp"
#include "core/host_read.hpp"
#include "core/session.hpp"
#include "core/state.hpp"
#include "core/text.hpp"
#include "tilewright/backend.hpp"
#include "tilewright/event.hpp"

// Places in a backend's queue, and reads that return before they are done.
namespace tilewright {

// Sessions --------------------------------------------------------------------------------------

void Session::end(const std::exception_ptr& failure) noexcept {
  std::lock_guard lock(mutex_);
  over_ = true;
  failure_ = failure;
  ended_.notify_all();
}

bool Session::wait_until_over(std::uint64_t place, std::chrono::steady_clock::time_point deadline) {
  std::unique_lock lock(mutex_);
  if (!over_ && place <= seen_.load(std::memory_order_acquire)) return true;
  if (deadline == std::chrono::steady_clock::time_point::max()) {
    ended_.wait(lock, [this] { return over_; });
  } else if (!ended_.wait_until(lock, deadline, [this] { return over_; })) {
    return false;
  }
  if (failure_) std::rethrow_exception(failure_);
  return true;
}

// Events ----------------------------------------------------------------------------------------

Event::Event() noexcept = default;
Event::~Event() = default;
Event::Event(const Event&) = default;
Event& Event::operator=(const Event&) = default;
Event::Event(Event&&) noexcept = default;
Event& Event::operator=(Event&&) noexcept = default;

Event::Event(std::shared_ptr<BackendState> state, std::shared_ptr<Session> session,
             std::uint64_t place) noexcept
    : state_(std::move(state)), session_(std::move(session)), place_(place) {}

bool Event::done() const { return wait_until(Deadline()); }

void Event::wait() const { wait_until(Deadline::max()); }

bool Event::wait_for(std::chrono::nanoseconds timeout) const {
  if (timeout.count() < 0) {
    throw InvalidArgument(text("wait: timeout is ", std::chrono::duration<double>(timeout).count(),
                               " seconds, expected 0 or more"));
  }
  const Deadline now = Deadline::clock::now();
  return wait_until(timeout < Deadline::max() - now ? now + timeout : Deadline::max());
}

bool Event::wait_until(Deadline deadline) const {
  if (!state_) return true;
  const InCore in_core;
  // Leaves the backend, which cannot close before.
  struct Inside {
    BackendState* state = nullptr;
    ~Inside() {
      if (state != nullptr) state->leave();
    }
  } inside;
  {
    std::unique_lock lock(state_->mutex);
    if (state_->enter(lock)) inside.state = state_.get();
    if (inside.state != nullptr && state_->session == session_) {
      lock.unlock();
      const bool reached = state_->backend.do_reach(place_, deadline);
      if (reached) session_->see(place_);
      return reached;
    }
  }
  return session_->wait_until_over(place_, deadline);
}

// What makes them -------------------------------------------------------------------------------

Event Backend::event() {
  constexpr NotRecorded not_recorded{"nothing is queued meanwhile: make it after replay()"};
  Call call(*state_, "event", not_recorded);
  std::shared_ptr<Session> session = state_->session;
  session->was_marked.store(true, std::memory_order_relaxed);
  call.checked();
  return {state_, std::move(session), do_mark()};
}

void Backend::flush() {
  constexpr NotRecorded not_recorded{"nothing is queued meanwhile: flush after replay()"};
  Call call(*state_, "flush", not_recorded);
  call.checked();
  do_flush();
}

// A backend whose ops are done when they return.

std::uint64_t Backend::do_mark() { return 0; }

bool Backend::do_reach(std::uint64_t, std::chrono::steady_clock::time_point) { return true; }

void Backend::do_flush() {}

std::uint64_t Backend::do_copy_dtoh_async(HostRead read, Allocation& src, std::uint64_t offset) {
  do_copy_dtoh(read.dst, src, offset);
  return 0;
}

}  // namespace tilewright
