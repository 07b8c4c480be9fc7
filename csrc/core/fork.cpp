#include "core/fork.hpp"

#include <atomic>

#if !defined(_WIN32)
#include <pthread.h>
#endif

namespace tilewright {

namespace {

std::atomic<unsigned> generation{0};

#if !defined(_WIN32)
const int fork_handler = pthread_atfork(nullptr, nullptr, [] { ++generation; });
#endif

}  // namespace

unsigned fork_generation() { return generation.load(std::memory_order_relaxed); }

}  // namespace tilewright
