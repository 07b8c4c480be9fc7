#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <span>
#include <thread>
#include <vector>

#include "child_process.hpp"
#include "core/requests.hpp"
#include "cpu/thread_pool.hpp"
#include "tilewright/registry.hpp"

namespace tilewright {
namespace {

/// Negates ones and looks at the results. Allocates nothing outside the backend's calls, for the
/// sake of AddressSanitizer, whose allocator another thread must not be in when the process forks.
bool works(Backend& be, std::span<float> host) {
  std::fill(host.begin(), host.end(), 1.0f);
  const auto n = static_cast<Size>(host.size());
  const Buffer x = be.alloc(4 * n);
  be.copy_htod(x, std::as_bytes(host));
  be.unary(UnaryOp::neg, x, x, n);
  be.copy_dtoh(std::as_writable_bytes(host), x);
  be.free(x);
  return std::all_of(host.begin(), host.end(), [](float value) { return value == -1.0f; });
}

bool works(Backend& be) {
  std::vector<float> host(100'000);
  return works(be, host);
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
  std::atomic<int> ready = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      std::vector<float> host(3000);
      ++ready;
      while (!stop) {
        if (!works(*be, host)) wrong = true;
      }
    });
  }
  threads.emplace_back([&] {
    while (!stop) {
      other->init();
      other->close();
    }
  });
  while (ready < 3) std::this_thread::yield();
  int good = 0;
  constexpr int forks = 40;
  for (int i = 0; i < forks; ++i) {
    good += in_child([&] {
      other->init();
      be->trim();
      return works(*be) && works(*other);
    });
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  CHECK(good == forks);
  CHECK_FALSE(wrong);
}

/// Starts a program, as drivers do, in the middle of everything.
class ForkingBackend final : public Backend {
 public:
  ForkingBackend() : Backend("forking", {}) {}
  ~ForkingBackend() override { close(); }
  mutable int forks = 0;

 private:
  void fork_here() const {
    forks += in_child([] { return true; });
  }
  void do_init() override { fork_here(); }
  void do_close() noexcept override { fork_here(); }
  DeviceInfo do_device() const override { return {}; }
  Capabilities do_capabilities() const override { return {}; }
  PerformanceHints do_performance_hints() const override { return {}; }
  void do_synchronize() override { fork_here(); }
  std::shared_ptr<Allocation> do_alloc(std::uint64_t bytes) override {
    fork_here();
    struct Forking final : Allocation {
      Forking(const ForkingBackend& backend, std::uint64_t bytes)
          : Allocation(bytes), backend(backend) {}
      ~Forking() override { backend.fork_here(); }
      const ForkingBackend& backend;
    };
    return std::make_shared<Forking>(*this, bytes);
  }
  std::uint64_t do_max_buffer_bytes() const override { return 100; }
  std::uint64_t do_memory_limit() const override { return 100; }
  std::uint64_t do_cached_bytes() const override { return 0; }
  std::uint64_t do_cache_limit() const override { return 0; }
  void do_trim() override { fork_here(); }
  void do_copy_htod(Allocation&, std::span<const std::byte>, std::uint64_t) override {}
  void do_copy_dtoh(std::span<std::byte>, Allocation&, std::uint64_t) override {}
  void do_copy_dtod(Allocation&, Allocation&, std::uint64_t, std::uint64_t,
                    std::uint64_t) override {}
};

TEST_CASE("fork: from within a call") {
  // In a child, which its alarm ends where it hangs.
  CHECK(in_child([] {
    ForkingBackend be;
    be.init();
    be.synchronize();
    const Buffer freed = be.alloc(4), released = be.alloc(4);
    be.free(freed);
    be.release(released);
    be.trim();
    be.alloc(4);
    be.close();
    constexpr int forks = 10;
    return be.forks == forks;
  }));
}

TEST_CASE("fork: from within a call while another thread is inside") {
  CHECK(in_child([] {
    const auto cpu = init_backend("cpu");
    ForkingBackend be;
    be.init();
    std::atomic<bool> stop = false;
    std::thread other([&] {
      std::vector<float> host(3000);
      while (!stop) works(*cpu, host);
    });
    constexpr int times = 20;
    for (int i = 0; i < times; ++i) be.synchronize();
    stop = true;
    other.join();
    return be.forks == times + 1 && works(*cpu);
  }));
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
