#include "core/compiling.hpp"

#include <atomic>

#include "core/fork.hpp"

namespace tilewright {

namespace {

std::atomic<int> threads{0};
/// Where they were counted: a forked child has none of its parent's threads.
std::atomic<unsigned> counted_in{0};

}  // namespace

Compiling::Compiling() noexcept {
  if (counted_in.exchange(fork_generation()) != fork_generation()) threads = 0;
  ++threads;
}

Compiling::~Compiling() { --threads; }

bool is_compiling() noexcept { return counted_in == fork_generation() && threads > 0; }

}  // namespace tilewright
