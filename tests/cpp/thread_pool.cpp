#include "cpu/thread_pool.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <numeric>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

namespace tilewright::cpu {
namespace {

TEST_CASE("thread pool: every task runs exactly once") {
  REQUIRE(thread_count() > 1);
  for (std::size_t tasks : {0u, 1u, 2u, 3u, 4u, 5u, 64u, 1000u}) {
    CAPTURE(tasks);
    std::vector<std::atomic<int>> runs(tasks);
    parallel_tasks(tasks, [&](std::size_t i) { ++runs[i]; });
    for (std::size_t i = 0; i < tasks; ++i) REQUIRE(runs[i] == 1);
  }
}

TEST_CASE("thread pool: many small jobs one after another") {
  std::atomic<std::uint64_t> sum = 0;
  for (std::size_t job = 0; job < 20'000; ++job) {
    parallel_tasks(1 + job % 7, [&](std::size_t i) { sum += i + 1; });
  }
  std::uint64_t expected = 0;
  for (std::size_t job = 0; job < 20'000; ++job) {
    const std::uint64_t tasks = 1 + job % 7;
    expected += tasks * (tasks + 1) / 2;
  }
  CHECK(sum == expected);
}

TEST_CASE("thread pool: jobs reach the workers") {
  // Tasks that wait for each other end only where two threads run them.
  std::atomic<int> arrived = 0;
  parallel_tasks(2, [&](std::size_t) {
    ++arrived;
    while (arrived < 2) std::this_thread::yield();
  });
  CHECK(arrived == 2);
}

TEST_CASE("thread pool: a job inside a task runs on that task's thread") {
  std::vector<std::atomic<int>> runs(8 * 8);
  std::atomic<int> strangers = 0;
  parallel_tasks(8, [&](std::size_t i) {
    const auto self = std::this_thread::get_id();
    parallel_tasks(8, [&](std::size_t j) {
      ++runs[i * 8 + j];
      if (std::this_thread::get_id() != self) ++strangers;
    });
  });
  for (const auto& run : runs) CHECK(run == 1);
  CHECK(strangers == 0);
}

TEST_CASE("thread pool: many callers at once") {
  std::vector<std::thread> callers;
  std::atomic<std::uint64_t> sum = 0;
  for (int caller = 0; caller < 6; ++caller) {
    callers.emplace_back([&] {
      for (int job = 0; job < 500; ++job) {
        std::uint64_t own = 0;
        std::vector<std::uint64_t> values(33);
        parallel_tasks(33, [&](std::size_t i) { values[i] = i; });
        own = std::accumulate(values.begin(), values.end(), std::uint64_t{0});
        sum += own;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  CHECK(sum == 6ull * 500 * (32 * 33 / 2));
}

TEST_CASE("thread pool: an exception of a task reaches the caller, and the next job works") {
  for (std::size_t thrower : {0u, 7u, 15u}) {
    CHECK_THROWS_WITH_AS(parallel_tasks(16,
                                        [&](std::size_t i) {
                                          if (i == thrower) throw std::runtime_error("task failed");
                                        }),
                         "task failed", std::runtime_error);
    std::atomic<int> done = 0;
    parallel_tasks(16, [&](std::size_t) { ++done; });
    CHECK(done == 16);
  }
  CHECK_THROWS_AS(parallel_tasks(16, [](std::size_t) { throw std::runtime_error("every task"); }),
                  std::runtime_error);
  CHECK_THROWS_AS(parallel_tasks(1, [](std::size_t) { throw std::runtime_error("the only one"); }),
                  std::runtime_error);
}

TEST_CASE("parallel_for: pieces cover the range once, in lengths that are multiples of 16") {
  for (std::size_t n : {0u, 1u, 15u, 16u, 17u, 1000u, 4099u, 65'537u}) {
    for (std::size_t grain : {1u, 16u, 100u, 5000u}) {
      CAPTURE(n);
      CAPTURE(grain);
      std::vector<std::atomic<int>> touched(n);
      std::atomic<bool> odd = false;
      parallel_for(n, grain, [&](std::size_t begin, std::size_t end) {
        if (end != n && (end - begin) % 16 != 0) odd = true;
        if (begin >= end) odd = true;
        for (std::size_t i = begin; i < end; ++i) ++touched[i];
      });
      CHECK_FALSE(odd);
      for (std::size_t i = 0; i < n; ++i) REQUIRE(touched[i] == 1);
    }
  }
}

TEST_CASE("parallel_for: a small range stays on the caller") {
  const auto self = std::this_thread::get_id();
  std::thread::id ran;
  parallel_for(100, 1000, [&](std::size_t, std::size_t) { ran = std::this_thread::get_id(); });
  CHECK(ran == self);
  CHECK(piece_count(1999, 1000) == 1);
  CHECK(piece_count(2000, 1000) == 2);
}

}  // namespace
}  // namespace tilewright::cpu
