#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "core/host_read.hpp"
#include "core/requests.hpp"
#include "tilewright/backend.hpp"
#include "tilewright/registry.hpp"

namespace tilewright {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

/// A backend whose work is done when the test says so.
class SlowBackend final : public Backend {
 public:
  SlowBackend() : Backend("slow", {}) { init(); }
  ~SlowBackend() override { close(); }

  std::atomic<std::uint64_t> queued = 0, done = 0;
  std::atomic<int> looks = 0, flushes = 0, synchronized = 0;
  std::atomic<bool> lost = false;
  std::vector<HostRead> reads;

 private:
  void do_init() override {}
  void do_close() noexcept override { reads.clear(); }
  DeviceInfo do_device() const override { return {}; }
  Capabilities do_capabilities() const override { return {}; }
  PerformanceHints do_performance_hints() const override { return {}; }
  void do_synchronize() override {
    ++synchronized;
    if (lost) throw DeviceLost("slow: gone");
    done = queued.load();
    fill();
  }
  std::shared_ptr<Allocation> do_alloc(std::uint64_t bytes) override {
    return std::make_shared<Allocation>(bytes);
  }
  std::uint64_t do_max_buffer_bytes() const override { return 1 << 20; }
  std::uint64_t do_memory_limit() const override { return 1 << 20; }
  std::uint64_t do_cached_bytes() const override { return 0; }
  std::uint64_t do_cache_limit() const override { return 0; }
  void do_trim() override {}
  void do_copy_htod(Allocation&, std::span<const std::byte>, std::uint64_t) override {}
  void do_copy_dtoh(std::span<std::byte>, Allocation&, std::uint64_t) override {}
  void do_copy_dtod(Allocation&, Allocation&, std::uint64_t, std::uint64_t,
                    std::uint64_t) override {}
  void do_unary(const UnaryRequest&) override { ++queued; }

  std::uint64_t do_mark() override { return queued; }
  bool do_reach(std::uint64_t place, Clock::time_point deadline) override {
    do {
      ++looks;
      if (lost) throw DeviceLost("slow: gone");
      if (done >= place) {
        fill();
        return true;
      }
      std::this_thread::yield();
    } while (Clock::now() < deadline);
    return false;
  }
  void do_flush() override { ++flushes; }
  std::uint64_t do_copy_dtoh_async(HostRead read, Allocation&, std::uint64_t) override {
    reads.push_back(std::move(read));
    return ++queued;
  }
  void fill() {
    for (const HostRead& read : reads) std::ranges::fill(read.dst, std::byte{7});
    reads.clear();
  }
};

struct Slow {
  Slow() : x(be.alloc(16)) { work(); }
  void work() { be.unary(UnaryOp::neg, x, x, 4); }
  SlowBackend be;
  Buffer x;
};

TEST_CASE("events: one of nothing is done") {
  const Event none;
  CHECK(none.done());
  CHECK(none.wait_for(0s));
  none.wait();
}

TEST_CASE("events: done when what was queued before is, whatever comes after") {
  Slow s;
  const Event event = s.be.event();
  s.work();
  CHECK_FALSE(event.done());
  CHECK(s.be.looks == 1);
  CHECK_FALSE(event.wait_for(0s));
  CHECK_FALSE(event.wait_for(2ms));
  s.be.done = 1;
  CHECK(event.done());
  CHECK(event.wait_for(0s));
  CHECK(event.wait_for(std::chrono::nanoseconds::max()));
  CHECK_FALSE(s.be.event().done());
  CHECK(s.be.synchronized == 0);
}

TEST_CASE("events: a negative time is refused by name") {
  Slow s;
  CHECK_THROWS_WITH_AS(s.be.event().wait_for(-1s),
                       "wait: timeout is -1 seconds, expected 0 or more", InvalidArgument);
  CHECK(s.be.looks == 0);
}

TEST_CASE("events: several threads wait for one") {
  Slow s;
  const Event event = s.be.event();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back([event] { event.wait(); });
  while (s.be.looks < 8) std::this_thread::yield();
  s.be.done = 1;
  for (std::thread& thread : threads) thread.join();
}

TEST_CASE("events: what goes wrong is thrown by each wait") {
  Slow s;
  const Event event = s.be.event();
  s.be.lost = true;
  for (int i = 0; i < 2; ++i) {
    CHECK_THROWS_AS(event.wait(), DeviceLost);
    CHECK_THROWS_AS(event.done(), DeviceLost);
  }
}

TEST_CASE("events: a closed backend makes none") {
  Slow s;
  s.be.close();
  CHECK_THROWS_AS(s.be.event(), NotInitialized);
  CHECK_THROWS_AS(s.be.flush(), NotInitialized);
  std::array<std::byte, 4> host;
  CHECK_THROWS_AS(s.be.copy_dtoh_async(host, s.x), NotInitialized);
}

TEST_CASE("events: close waits for what they wait for, and for nothing else") {
  Slow s;
  s.be.close();
  CHECK(s.be.synchronized == 0);
  s.be.init();
  s.x = s.be.alloc(16);
  s.work();
  const Event event = s.be.event();
  s.be.close();
  CHECK(s.be.synchronized == 1);
  const int looks = s.be.looks;
  CHECK(event.done());
  event.wait();
  s.be.init();
  CHECK(event.done());
  CHECK(s.be.looks == looks);
}

TEST_CASE("events: what close met there is thrown after it") {
  Slow s;
  const Event event = s.be.event();
  s.be.lost = true;
  s.be.close();
  s.be.lost = false;
  for (int i = 0; i < 2; ++i) {
    CHECK_THROWS_WITH_AS(event.wait(), "slow: gone", DeviceLost);
    CHECK_THROWS_AS(event.done(), DeviceLost);
    s.be.init();
  }
  s.be.done = s.be.queued.load();
  CHECK(s.be.event().wait_for(std::chrono::nanoseconds::max()));
}

TEST_CASE("events: one that is waited for keeps close waiting") {
  Slow s;
  const Event event = s.be.event();
  std::thread waiter([&] { event.wait(); });
  while (s.be.looks == 0) std::this_thread::yield();
  std::thread closer([&] { s.be.close(); });
  while (s.be.is_initialized()) std::this_thread::yield();
  // Closing, so that the events wait for its end.
  CHECK_FALSE(event.done());
  CHECK_FALSE(event.wait_for(1ms));
  s.be.done = 1;
  waiter.join();
  closer.join();
  CHECK(event.done());
}

TEST_CASE("events: what was seen to be done stays so while the backend closes") {
  Slow s;
  s.work();
  const Event first = s.be.event();
  s.work();
  const Event second = s.be.event();
  s.work();
  const Event third = s.be.event();
  s.be.done = 3;
  second.wait();
  std::thread waiter([&] { third.wait(); });
  const int looks = s.be.looks;
  while (s.be.looks == looks) std::this_thread::yield();
  std::thread closer([&] { s.be.close(); });
  while (s.be.is_initialized()) std::this_thread::yield();
  CHECK(first.done());
  CHECK(second.done());
  CHECK_FALSE(third.done());
  s.be.done = 4;
  waiter.join();
  closer.join();
}

TEST_CASE("events: outlive their backend") {
  Event event;
  {
    Slow s;
    event = s.be.event();
  }
  CHECK(event.done());
  const Event copy = event;
  event = Event();
  copy.wait();
}

TEST_CASE("reads: filled by the event, and their owners let go of") {
  Slow s;
  const auto host = std::make_shared<std::array<std::byte, 16>>();
  const std::weak_ptr<std::array<std::byte, 16>> seen = host;
  {
    const Event event = s.be.copy_dtoh_async(*host, s.x, 0, host);
    CHECK(seen.use_count() == 2);
    CHECK_FALSE(event.done());
  }
  CHECK(seen.use_count() == 2);
  SUBCASE("by the end of the work") {
    s.be.done = 2;
    CHECK(s.be.event().done());
  }
  SUBCASE("by a wait for everything") { s.be.synchronize(); }
  SUBCASE("by close") { s.be.close(); }
  CHECK(seen.use_count() == 1);
  CHECK(host->front() == std::byte{7});
}

TEST_CASE("reads: what is wrong is refused, and an empty one is done") {
  Slow s;
  std::array<std::byte, 20> host{};
  CHECK_THROWS_WITH_AS(s.be.copy_dtoh_async(host, s.x),
                       doctest::Contains("copy_dtoh_async: src holds 16 bytes, expected at least "
                                         "20 from offset 0"),
                       InvalidArgument);
  CHECK_THROWS_AS(s.be.copy_dtoh_async(host, s.x, -4), InvalidArgument);
  CHECK_THROWS_AS(s.be.copy_dtoh_async(host, Buffer::null), InvalidArgument);
  CHECK(s.be.copy_dtoh_async({}, s.x).done());
  CHECK(s.be.reads.empty());
}

TEST_CASE("reads: done when they return where ops are") {
  const std::shared_ptr<Backend> be = init_backend("cpu");
  const Buffer x = be->alloc(16);
  const std::array<float, 4> values{1, 2, 3, 4};
  be->copy_htod(x, std::as_bytes(std::span(values)));
  const auto host = std::make_shared<std::array<float, 2>>();
  const Event event =
      be->copy_dtoh_async(std::as_writable_bytes(std::span(*host)), x, sizeof(float), host);
  CHECK(*host == std::array<float, 2>{2, 3});
  CHECK(host.use_count() == 1);
  be->flush();
  CHECK(event.done());
  CHECK(be->event().done());
}

}  // namespace
}  // namespace tilewright
