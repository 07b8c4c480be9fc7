#include <doctest/doctest.h>

#include <array>
#include <memory>
#include <vector>

#include "gpu/download_queue.hpp"

namespace tilewright::gpu {
namespace {

using Queue = DownloadQueue<int>;
constexpr std::uint64_t most = Queue::most_block;

/// Blocks are numbers; those let go of are remembered.
struct Blocks {
  Queue queue;
  int made = 0;
  std::vector<int> dropped;
  std::array<std::byte, 64> host{};

  Queue::Block* room(std::uint64_t bytes) {
    return queue.room(
        bytes, [&](std::uint64_t) { return ++made; }, [&](int block) { dropped.push_back(block); });
  }
  void add(Queue::Block& block, std::uint64_t bytes, std::uint64_t place,
           std::shared_ptr<const void> owner = nullptr) {
    queue.add(queue.piece(block, 0, host, {host, std::move(owner)}, place), bytes, place);
  }
  Queue::Pieces take(std::size_t count) {
    return queue.take(count, [](Queue::Block&) {});
  }
};

TEST_CASE("download queue: small ones share a block until it is full") {
  Blocks b;
  Queue::Block* first = b.room(1000);
  CHECK(first->bytes == Queue::least_block);
  b.add(*first, 1000, 1);
  CHECK(b.room(1000) == first);
  b.add(*first, Queue::least_block - 1000, 2);
  CHECK(b.queue.pieces().back().at == 1000);
  Queue::Block* second = b.room(4);
  CHECK(second != first);
  CHECK(second->used == 0);
  b.queue.stop_sharing();
  CHECK(b.room(4) == second);  // nothing is in it
  CHECK(b.made == 2);
}

TEST_CASE("download queue: a block is used again once the host has seen all of it") {
  Blocks b;
  Queue::Block* block = b.room(most);
  b.add(*block, most / 2, 1);
  b.add(*block, most / 2, 2);
  CHECK(b.queue.holds(1));
  CHECK(b.take(1).front().place == 1);
  CHECK_FALSE(b.queue.holds(1));
  CHECK(b.queue.holds(2));
  CHECK(b.room(most) != block);
  b.take(1);
  CHECK(b.queue.empty());
  b.queue.stop_sharing();
  CHECK(b.room(most)->used == 0);
  CHECK(b.made == 2);
}

TEST_CASE("download queue: no more than its bytes are there") {
  Blocks b;
  for (std::uint64_t i = 0; i < Queue::most_bytes / most; ++i) {
    Queue::Block* block = b.room(most);
    REQUIRE(block != nullptr);
    b.add(*block, most, i);
  }
  CHECK(b.room(4) == nullptr);
  b.take(1);
  CHECK(b.room(4) != nullptr);  // a large one that is free will do
  CHECK(b.dropped.empty());
}

TEST_CASE("download queue: small blocks that are free give way to a large one") {
  Blocks b;
  const std::uint64_t count = Queue::most_bytes / Queue::least_block;
  for (std::uint64_t i = 0; i < count; ++i) {
    b.add(*b.room(Queue::least_block), Queue::least_block, i);
  }
  CHECK(b.room(4) == nullptr);
  b.take(count / 2);
  Queue::Block* large = b.room(most);
  REQUIRE(large != nullptr);
  CHECK(large->bytes == most);
  CHECK(b.dropped.size() == most / Queue::least_block);
}

TEST_CASE("download queue: one that failed reads to nothing, and keeps its blocks till then") {
  Blocks b;
  const auto owner = std::make_shared<int>();
  Queue::Block* block = b.room(most);
  b.add(*block, most, 5, owner);
  b.queue.forget(5);
  CHECK(b.queue.pieces().front().dst.empty());
  CHECK(b.room(most) != block);
  CHECK(owner.use_count() == 2);
  b.take(1);
  CHECK(owner.use_count() == 1);
}

TEST_CASE("download queue: pieces are whole words") {
  const auto check = [](std::uint64_t offset, std::uint64_t count, DownloadWords expected) {
    const DownloadWords got = DownloadWords::first(offset, count, 16);
    CAPTURE(offset);
    CAPTURE(count);
    CHECK(got.offset == expected.offset);
    CHECK(got.bytes == expected.bytes);
    CHECK(got.skip == expected.skip);
    CHECK(got.count == expected.count);
  };
  check(0, 4, {0, 4, 0, 4});
  check(0, 16, {0, 16, 0, 16});
  check(0, 17, {0, 16, 0, 16});
  check(16, 1, {16, 4, 0, 1});
  check(3, 1, {0, 4, 3, 1});
  check(3, 2, {0, 8, 3, 2});
  check(7, 100, {4, 16, 3, 13});
}

}  // namespace
}  // namespace tilewright::gpu
