#include "core/fork.hpp"

#include <atomic>
#include <cstdio>
#include <cstdlib>

#if !defined(_WIN32)
#include <pthread.h>
#include <unistd.h>
#endif

namespace tilewright {

namespace {

std::atomic<unsigned> generation{0};

std::atomic<bool> driver_loaded{false};

#if !defined(_WIN32)
void in_child() {
  ++generation;
#if defined(__GLIBC__)
  // It runs before what was registered earlier, and with it the process ends.
  if (driver_loaded) {
    on_exit(
        [](int status, void*) {
          std::fflush(nullptr);
          _exit(status);
        },
        nullptr);
  }
#endif
}

const int fork_handler = pthread_atfork(nullptr, nullptr, in_child);
#endif

}  // namespace

TILEWRIGHT_MADE_WITH_THREAD constinit thread_local int InCore::depth_ = 0;

unsigned fork_generation() { return generation.load(std::memory_order_relaxed); }

void note_driver() noexcept { driver_loaded = true; }

}  // namespace tilewright
