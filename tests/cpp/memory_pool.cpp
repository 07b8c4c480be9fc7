#include <doctest/doctest.h>

#include <cstdint>
#include <cstring>
#include <set>
#include <thread>
#include <vector>

#include "cpu/memory.hpp"
#include "tilewright/error.hpp"

namespace tilewright::cpu {
namespace {

std::shared_ptr<MemoryPool> pool_of(std::uint64_t cache_limit,
                                    std::uint64_t limit = ~std::uint64_t{0}) {
  auto budget = std::make_shared<MemoryBudget>();
  budget->open(limit);
  return std::make_shared<MemoryPool>(std::move(budget), cache_limit);
}

std::byte* bytes_of(const AllocationRef& allocation) { return data<std::byte>(allocation); }

TEST_CASE("memory pool: blocks are aligned, apart and as large as asked for") {
  const auto pool = pool_of(1 << 20);
  std::vector<AllocationRef> live;
  for (std::uint64_t bytes : {1u, 3u, 63u, 64u, 65u, 1000u, 4097u, 1'000'003u, 9'000'000u}) {
    live.push_back(pool->allocate(bytes));
    CHECK(live.back()->bytes() == bytes);
    CHECK(reinterpret_cast<std::uintptr_t>(bytes_of(live.back())) % 64 == 0);
    std::memset(bytes_of(live.back()), static_cast<int>(live.size()), bytes);
  }
  for (std::size_t i = 0; i < live.size(); ++i) {
    CHECK(bytes_of(live[i])[0] == static_cast<std::byte>(i + 1));
    CHECK(bytes_of(live[i])[live[i]->bytes() - 1] == static_cast<std::byte>(i + 1));
  }
}

TEST_CASE("memory pool: a freed block serves the next request of its class") {
  const auto pool = pool_of(1 << 20);
  AllocationRef first = pool->allocate(1000);
  const std::byte* where = bytes_of(first);
  CHECK(pool->cached_bytes() == 0);
  first.reset();
  CHECK(pool->cached_bytes() >= 1000);
  const AllocationRef second = pool->allocate(1001);
  CHECK(bytes_of(second) == where);
  CHECK(pool->cached_bytes() == 0);
  const AllocationRef third = pool->allocate(1000);
  CHECK(bytes_of(third) != where);
}

TEST_CASE("memory pool: only freed blocks are at hand") {
  const auto pool = pool_of(1 << 20);
  CHECK(pool->at_hand(1000) == nullptr);
  AllocationRef first = pool->allocate(1000);
  const std::byte* const place = bytes_of(first);
  CHECK(pool->at_hand(1000) == nullptr);
  first = nullptr;
  CHECK(pool->at_hand(5000) == nullptr);
  const AllocationRef again = pool->at_hand(1010);
  REQUIRE(again != nullptr);
  CHECK(bytes_of(again) == place);
  CHECK(again->bytes() == 1010);
  std::memset(bytes_of(again), 1, 1010);
  CHECK(pool->cached_bytes() == 0);
}

TEST_CASE("memory pool: a block is at most an eighth larger than its request") {
  const auto pool = pool_of(std::uint64_t{1} << 30);
  for (std::uint64_t bytes = 512; bytes < 10'000'000; bytes = bytes * 9 / 8 + 1) {
    pool->allocate(bytes);
    CHECK(pool->cached_bytes() >= bytes);
    CHECK(pool->cached_bytes() <= bytes + bytes / 8 + 64);
    pool->trim();
  }
}

TEST_CASE("memory pool: keeps no more than its limit") {
  const auto pool = pool_of(10'000);
  std::vector<AllocationRef> live;
  for (int i = 0; i < 20; ++i) live.push_back(pool->allocate(1024));
  live.clear();
  CHECK(pool->cached_bytes() == 9 * 1024);
  pool->allocate(100'000);
  CHECK(pool->cached_bytes() == 9 * 1024);
  pool->trim();
  CHECK(pool->cached_bytes() == 0);
  pool->trim();
  CHECK(pool->cached_bytes() == 0);
}

TEST_CASE("memory pool: what is kept is of the sizes lately used") {
  const auto pool = pool_of(10'000);
  for (std::uint64_t bytes : {4096, 5120, 4096}) pool->allocate(bytes);
  pool->allocate(2048);  // for which the room of both is too much
  CHECK(pool->cached_bytes() == 4096 + 2048);
  const auto nothing = pool_of(0);
  nothing->allocate(4096);
  CHECK(nothing->cached_bytes() == 0);
}

TEST_CASE("memory pool: scratch is counted while it lives, within the limit") {
  const auto pool = pool_of(1 << 20, 10'000);
  {
    const AllocationRef first = pool->scratch("gemm", 6000);
    CHECK(pool->scratch_room() == 4000);
    CHECK_THROWS_WITH_AS(pool->scratch("gemm", 4001),
                         "gemm: 4001 bytes of scratch needed, but 6000 of 10000 are in use; free "
                         "some buffers, or raise memory_limit",
                         OutOfMemory);
    CHECK(pool->scratch("gemm", 4000)->bytes() == 4000);
  }
  CHECK(pool->scratch_room() == 10'000);
  CHECK(pool->cached_bytes() <= 10'000);
}

TEST_CASE("memory pool: what the system cannot give is OutOfMemory") {
  const auto pool = pool_of(1 << 20);
  constexpr std::uint64_t absurd = std::uint64_t{1} << 50;
  try {
    pool->allocate(absurd);
    FAIL("a petabyte was given out");
  } catch (const OutOfMemory& error) {
    CHECK(error.requested_bytes() == absurd);
    CHECK(std::string(error.what()).rfind("alloc: 1125899906842624 bytes asked for", 0) == 0);
  }
  CHECK(pool->allocate(64)->bytes() == 64);
}

TEST_CASE("memory pool: blocks outlive the pool's owner") {
  auto pool = pool_of(1 << 20);
  AllocationRef block = pool->allocate(256);
  pool.reset();
  std::memset(bytes_of(block), 7, 256);
  CHECK(bytes_of(block)[255] == std::byte{7});
  block.reset();
}

TEST_CASE("memory pool: from many threads") {
  const auto pool = pool_of(1 << 20);
  std::vector<std::thread> threads;
  std::atomic<int> clobbered = 0;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 2000; ++i) {
        const auto bytes = static_cast<std::uint64_t>(64 + (i * 37 + t) % 3000);
        const AllocationRef block = pool->allocate(bytes);
        std::memset(bytes_of(block), t, bytes);
        std::this_thread::yield();
        if (bytes_of(block)[0] != static_cast<std::byte>(t)) ++clobbered;
        if (bytes_of(block)[bytes - 1] != static_cast<std::byte>(t)) ++clobbered;
        if (i % 500 == 0) pool->trim();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(clobbered == 0);
  CHECK(pool->cached_bytes() <= 1 << 20);
}

}  // namespace
}  // namespace tilewright::cpu
