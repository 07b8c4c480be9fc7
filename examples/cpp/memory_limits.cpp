// A backend with a memory limit: what is full, what can never fit, and where the memory is.

#include <cstdio>

#include "tilewright/tilewright.hpp"

namespace tw = tilewright;

namespace {

void report(const tw::Backend& be) {
  const tw::MemoryStats stats = be.memory_stats();
  std::printf("%llu live of %llu, at most %llu so far\n",
              static_cast<unsigned long long>(stats.active_bytes),
              static_cast<unsigned long long>(stats.limit_bytes),
              static_cast<unsigned long long>(stats.peak_bytes));
}

}  // namespace

int main() {
  tw::Config config;
  config.memory_limit = 1 << 20;
  config.max_buffer_size = 800'000;
  const auto be = tw::init_backend("auto", config);

  const tw::Buffer first = be->alloc(700'000);
  report(*be);
  try {
    be->alloc(500'000);
  } catch (const tw::OutOfMemory& error) {
    std::printf("%s\n", error.what());
  }
  try {
    be->alloc(900'000);
  } catch (const tw::InvalidArgument& error) {
    std::printf("%s\n", error.what());
  }

  be->free(first);
  report(*be);
  be->alloc(500'000);
  be->trim();
  report(*be);
  std::printf("%llu kept for reuse\n",
              static_cast<unsigned long long>(be->memory_stats().cached_bytes));
}
