// What ops on GPUs take for themselves: counted, and done without where there is no room.

#include <doctest/doctest.h>

#include "asked_device.hpp"

namespace tilewright::gpu {
namespace {

constexpr Size mebibyte = 1 << 20;

/// Cut along k where there is room: the products of all pieces are joined by a second launch.
std::size_t launches_of_gemm(Config config, Asked first) {
  constexpr Size m = 64, n = 64, k = 1 << 14;
  Opened opened(std::move(config), std::move(first));
  const Buffer a = opened.backend.alloc(4 * m * k), b = opened.backend.alloc(4 * k * n);
  const Buffer c = opened.backend.alloc(4 * m * n);
  opened.backend.gemm(Transpose::none, Transpose::none, m, n, k, 1, a, k, b, n, 0, c, n);
  const MemoryStats stats = opened.backend.memory_stats();
  CHECK(stats.peak_bytes == stats.active_bytes + stats.peak_scratch_bytes);
  CHECK(stats.peak_bytes <= stats.limit_bytes);
  CHECK((stats.peak_scratch_bytes > 0) == (opened.asked.grids.size() > 1));
  return opened.asked.grids.size();
}

TEST_CASE("gpu scratch: a product is cut along k as far as its parts find room") {
  constexpr Size held = 8 * mebibyte + 64 * 64 * 4;
  CHECK(launches_of_gemm({}, {}) == 2);
  CHECK(launches_of_gemm({.memory_limit = held + 10 * 64 * 64 * 4}, {}) == 2);
  CHECK(launches_of_gemm({.memory_limit = held + 64 * 64 * 4}, {}) == 1);
  CHECK(launches_of_gemm({.memory_limit = held}, {}) == 1);
}

TEST_CASE("gpu scratch: a product is not cut where the device itself is full") {
  CHECK(launches_of_gemm({}, {.room = 8 * mebibyte + 64 * 64 * 4}) == 1);
}

TEST_CASE("gpu scratch: what has no form without scratch is refused before it is launched") {
  Opened opened({.memory_limit = 4 * mebibyte});
  constexpr Size rows = 250'000;
  const Buffer table = opened.backend.alloc(rows * 16), source = opened.backend.alloc(16);
  const Buffer indices = opened.backend.alloc(4);
  CHECK_THROWS_WITH_AS(opened.backend.scatter(source, indices, table, rows, 4, 1),
                       doctest::Contains("scatter: 1000000 bytes of scratch needed, but 4000020 of "
                                         "4194304 are in use"),
                       OutOfMemory);
  CHECK(opened.asked.grids.empty());
}

}  // namespace
}  // namespace tilewright::gpu
