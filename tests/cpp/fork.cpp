#include <doctest/doctest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "child_process.hpp"
#include "cpu/thread_pool.hpp"
#include "tilewright/registry.hpp"

namespace tilewright {
namespace {

/// Negates n ones and looks at the results.
bool works(Backend& be, std::size_t n = 100'000) {
  const auto bytes = static_cast<Size>(4 * n);
  std::vector<float> host(n, 1.0f);
  const Buffer x = be.alloc(bytes);
  be.copy_htod(x, std::as_bytes(std::span(host)));
  be.unary(UnaryOp::neg, x, x, static_cast<Size>(n));
  be.copy_dtoh(std::as_writable_bytes(std::span(host)), x);
  be.free(x);
  for (float value : host) {
    if (value != -1.0f) return false;
  }
  return true;
}

TEST_CASE("fork: a child goes on with the backend and its buffers") {
  const auto be = init_backend("cpu");
  REQUIRE(works(*be));
  const Buffer kept = be->alloc(64);
  CHECK(in_child([&] {
    be->free(kept);
    return works(*be) && be->memory_stats().active_bytes == 0;
  }));
  CHECK(be->buffer_bytes(kept) == 64);
  CHECK(works(*be));
}

TEST_CASE("fork: a child closes the backend and opens another") {
  const auto be = init_backend("cpu");
  REQUIRE(works(*be));
  CHECK(in_child([&] {
    be->close();
    be->init();
    return works(*be) && works(*init_backend("cpu"));
  }));
}

TEST_CASE("fork: a child of a child") {
  const auto be = init_backend("cpu");
  REQUIRE(works(*be));
  CHECK(in_child([&] { return works(*be) && in_child([&] { return works(*be); }); }));
}

TEST_CASE("fork: while other threads are inside, open and close") {
  const auto be = init_backend("cpu");
  const auto other = make_backend("cpu");
  std::atomic<bool> stop = false, wrong = false;
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      while (!stop) {
        if (!works(*be, 3000)) wrong = true;
      }
    });
  }
  threads.emplace_back([&] {
    while (!stop) {
      other->init();
      other->close();
    }
  });
  int good = 0;
  constexpr int forks = 40;
  for (int i = 0; i < forks; ++i) {
    good += in_child([&] {
      other->init();
      be->trim();
      return works(*be, 3000) && works(*other, 3000) && works(*be);
    });
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  CHECK(good == forks);
  CHECK_FALSE(wrong);
}

TEST_CASE("fork: the thread pool is whole in a child") {
  std::atomic<int> done = 0;
  cpu::parallel_tasks(100, [&](std::size_t) { ++done; });
  CHECK(done == 100);
  CHECK(in_child([&] {
    cpu::parallel_tasks(100, [&](std::size_t) { ++done; });
    return done == 200;
  }));
}

}  // namespace
}  // namespace tilewright
