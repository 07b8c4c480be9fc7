// What the GPU backend keeps of freed memory, and what it lets go of.

#include <doctest/doctest.h>

#include "asked_device.hpp"
#include "core/host_memory.hpp"
#include "core/state.hpp"

namespace tilewright::gpu {
namespace {

constexpr Size mebibyte = 1 << 20;

TEST_CASE("gpu memory: what was freed is kept until the device refuses") {
  Opened opened({}, {.room = 4000 * mebibyte});
  for (Size size : {512, 1024, 1024, 256}) opened.use(size * mebibyte);
  CHECK(opened.asked.held == 1792 * mebibyte);
  CHECK(opened.asked.buffers == 3);
  for (int i = 0; i < 3; ++i) {
    for (Size size : {512, 1024, 256}) opened.use(size * mebibyte);
  }
  CHECK(opened.asked.buffers == 3);
  CHECK(opened.backend.memory_stats().cached_bytes == 1792 * mebibyte);
  CHECK(opened.asked.waits == 0);
}

TEST_CASE(
    "gpu memory: a full device gets back what it needs, the sizes first that rested longest") {
  Opened opened({}, {.room = 1000 * mebibyte});
  for (Size size : {448, 512}) opened.use(size * mebibyte);
  const Buffer large = opened.backend.alloc(64 * mebibyte);
  CHECK(opened.asked.waits == 1);
  CHECK(opened.asked.held == (512 + 64) * mebibyte);
  // From now on some room is left, for what the driver itself needs.
  for (Size size : {320, 96}) opened.use(size * mebibyte);
  CHECK(opened.asked.buffers == 5);
  CHECK(opened.asked.waits == 1);
  CHECK(opened.asked.held <= 960 * mebibyte);
  opened.backend.free(large);
  CHECK_THROWS_WITH_AS(opened.backend.alloc(1024 * mebibyte),
                       "alloc: 1073741824 bytes asked for, but the device is full; free some "
                       "buffers",
                       OutOfMemory);
  CHECK(opened.backend.memory_stats().cached_bytes == 0);
  CHECK(opened.asked.held == 0);
}

TEST_CASE("gpu memory: a full device gets its cached memory back before it refuses") {
  Opened opened({}, {.room = 10'000});
  const Buffer a = opened.backend.alloc(6000);
  opened.backend.free(a);
  CHECK(opened.backend.memory_stats().cached_bytes >= 6000);
  // Of another size class, so that the cached one does not serve it.
  const Buffer b = opened.backend.alloc(9000);
  CHECK(opened.asked.waits == 1);
  CHECK(opened.backend.memory_stats().cached_bytes == 0);
  CHECK_THROWS_AS(opened.backend.alloc(6000), OutOfMemory);
  CHECK(opened.backend.memory_stats().allocations == 1);
  opened.backend.free(b);
}

TEST_CASE("gpu memory: copies find room for their staging where freed memory fills the device") {
  Opened opened({}, {.room = 100 * mebibyte, .staging = 8 * mebibyte});
  const Buffer x = opened.backend.alloc(1024);
  std::vector<std::byte> host(1024);
  const auto fill = [&] {
    opened.backend.trim();
    opened.use(96 * mebibyte);
    CHECK(opened.asked.held > 96 * mebibyte);
  };
  fill();
  opened.backend.copy_htod(x, host);
  CHECK(opened.asked.held == 1024);
  fill();
  opened.backend.copy_dtoh(host, x);
  CHECK(opened.asked.held == 1024);
  opened.asked.room = 2048;
  CHECK_THROWS_AS(opened.backend.copy_htod(x, host), OutOfMemory);
}

TEST_CASE("gpu memory: a freed buffer serves no request of another size") {
  Opened opened;
  opened.use(600 * mebibyte);
  const Buffer small = opened.backend.alloc(1024);
  CHECK(opened.asked.buffers == 2);
  CHECK(opened.backend.memory_stats().cached_bytes >= 600 * mebibyte);
  opened.backend.free(small);
  opened.backend.trim();
  CHECK(opened.asked.held == 0);
}

TEST_CASE("gpu memory: cache_limit bounds what is kept, that of the sizes lately used") {
  Opened opened({.cache_limit = 256 * mebibyte});
  CHECK(opened.backend.memory_stats().cache_limit_bytes == 256 * mebibyte);
  for (Size size : {96, 120, 96}) opened.use(size * mebibyte);
  opened.use(80 * mebibyte);  // for which the room of all three is too much
  CHECK(opened.asked.held == (96 + 80) * mebibyte);
  CHECK(opened.backend.memory_stats().cached_bytes == (96 + 80) * mebibyte);
  opened.use(300 * mebibyte);  // more than is ever kept
  CHECK(opened.asked.held == (96 + 80) * mebibyte);
}

TEST_CASE("gpu memory: what is at hand is freed memory, and counts as what alloc gives") {
  Opened opened;
  Backend& be = opened.backend;
  CHECK(alloc_at_hand(be, 4096) == Buffer::null);
  be.free(be.alloc(4096));
  for (const Size bytes : {Size{0}, Size{-1}, Size{1}, Size{20'000}}) {
    CHECK(alloc_at_hand(be, bytes) == Buffer::null);
  }
  CHECK(be.memory_stats().active_bytes == 0);
  const Buffer taken = alloc_at_hand(be, 4000);
  REQUIRE(taken != Buffer::null);
  CHECK(be.buffer_bytes(taken) == 4000);
  CHECK(opened.asked.buffers == 1);
  const MemoryStats stats = be.memory_stats();
  CHECK(stats.active_bytes == 4000);
  CHECK(stats.allocations == 1);
  CHECK(stats.total_allocations == 2);
  CHECK(stats.cached_bytes == 0);
  CHECK(alloc_at_hand(be, 4096) == Buffer::null);
  be.free(taken);
  CHECK(be.memory_stats().active_bytes == 0);
}

TEST_CASE("gpu memory: nothing is at hand where alloc has more to do") {
  auto device = std::make_shared<Opened>();
  const std::shared_ptr<Backend> be(device, &device->backend);
  be->free(be->alloc(4096));
  {
    Recording recording = be->record();
    CHECK(alloc_at_hand(*be, 4096) == Buffer::null);
  }
  be->free(alloc_at_hand(*be, 4096));
  be->close();
  CHECK(alloc_at_hand(*be, 4096) == Buffer::null);
}

TEST_CASE("gpu memory: a cache_limit of 0 keeps nothing") {
  Opened opened({.cache_limit = 0});
  opened.use(1000);
  CHECK(opened.asked.held == 0);
  CHECK(opened.backend.memory_stats().cache_limit_bytes == 0);
  // What was let go of may be in use by queued work: no more of it than some.
  for (int i = 0; i < 10; ++i) opened.use(100 * mebibyte);
  CHECK(opened.asked.waits == 3);
}

TEST_CASE("gpu memory: where memory is the host's, a part of it is kept") {
  for (DeviceKind kind : {DeviceKind::integrated, DeviceKind::software}) {
    Opened opened({}, {.kind = kind});
    CHECK(opened.backend.memory_stats().cache_limit_bytes == most_cached_in_host_memory());
  }
  CHECK(Opened().backend.memory_stats().cache_limit_bytes == ~std::uint64_t{0});
}

TEST_CASE("gpu memory: live and cached bytes stay within memory_limit") {
  Opened opened({.memory_limit = 10'000});
  opened.use(4096);
  const Buffer b = opened.backend.alloc(6000);
  const MemoryStats stats = opened.backend.memory_stats();
  CHECK(stats.active_bytes + stats.cached_bytes <= 10'000);
  CHECK_THROWS_WITH_AS(opened.backend.alloc(5000), doctest::Contains("6000 of 10000"), OutOfMemory);
  opened.backend.free(b);
  CHECK(opened.asked.held <= 10'000);
  // What gave way is waited for, since queued work may still use it.
  opened.use(9000);
  CHECK(opened.asked.waits > 0);
  opened.backend.trim();
  CHECK(opened.asked.held == 0);
}

}  // namespace
}  // namespace tilewright::gpu
