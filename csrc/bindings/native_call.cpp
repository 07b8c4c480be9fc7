#include "bindings/native_call.hpp"

#include <pybind11/pybind11.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "core/fork.hpp"
#include "core/state.hpp"

namespace tilewright::bindings {

namespace {

std::atomic<int> inside{0};
/// Where they were counted: a forked child has none of its parent's other threads.
std::atomic<unsigned> counted_in{0};

/// Called when the interpreter has ended, so that no thread of Python comes in any more. Not for
/// ever: a kernel may have no end.
void wait_for_native_calls() {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::seconds patience{30};
  const Clock::time_point end = Clock::now() + patience;
  while (counted_in == fork_generation() && inside > 0 && Clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  if (counted_in == fork_generation()) wait_for_queued_work(end);
}

}  // namespace

NativeCall::NativeCall() noexcept : fork_generation_(fork_generation()) {
  if (counted_in.exchange(fork_generation_) != fork_generation_) inside = 0;
  ++inside;
}

NativeCall::~NativeCall() {
  if (fork_generation_ == fork_generation()) --inside;
}

void bind_native_calls() {
  // Python's own exit handlers come too early: threads go on after them.
  if (Py_AtExit(wait_for_native_calls) != 0) {
    throw pybind11::import_error("tilewright._core: Python has no room for an exit handler more");
  }
}

}  // namespace tilewright::bindings
