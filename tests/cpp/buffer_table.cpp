#include "core/buffer_table.hpp"

#include <doctest/doctest.h>

#include <set>
#include <vector>

#include "recording_backend.hpp"

namespace tilewright {
namespace {

AllocationRef allocation(std::uint64_t bytes = 4) { return std::make_shared<Allocation>(bytes); }

TEST_CASE("buffer table: a handle finds its allocation until it is removed") {
  BufferTable table;
  const AllocationRef first = allocation(), second = allocation();
  const Buffer a = table.insert("alloc", first), b = table.insert("alloc", second);
  CHECK(a != Buffer::null);
  CHECK(a != b);
  REQUIRE(table.find(a) != nullptr);
  CHECK(*table.find(a) == BufferRange(first));
  CHECK(*table.find(b) == BufferRange(second));
  CHECK(table.allocations() == 2);
  CHECK(table.remove(a).allocation == first);
  CHECK(table.find(a) == nullptr);
  CHECK(*table.find(b) == BufferRange(second));
  CHECK(table.allocations() == 1);
  CHECK(table.remove(a).allocation == nullptr);
  CHECK(table.allocations() == 1);
}

TEST_CASE("buffer table: a slot is reused, a handle never") {
  BufferTable table;
  std::set<Buffer> seen;
  std::set<std::uint64_t> slots;
  for (int i = 0; i < 10000; ++i) {
    const Buffer handle = table.insert("alloc", allocation());
    CHECK(seen.insert(handle).second);
    slots.insert(static_cast<std::uint64_t>(handle) & 0xffffff);
    table.remove(handle);
  }
  CHECK(slots.size() == 1);
  const Buffer live = table.insert("alloc", allocation());
  for (Buffer stale : seen) REQUIRE(table.find(stale) == nullptr);
  CHECK(table.find(live) != nullptr);
}

TEST_CASE("buffer table: null, foreign and made-up handles are never found") {
  BufferTable table, other;
  const Buffer mine = table.insert("alloc", allocation());
  const Buffer foreign = other.insert("alloc", allocation());
  CHECK(table.find(Buffer::null) == nullptr);
  CHECK(table.remove(Buffer::null).allocation == nullptr);
  CHECK(table.find(foreign) == nullptr);
  CHECK(table.remove(foreign).allocation == nullptr);
  CHECK(other.find(mine) == nullptr);
  for (std::uint64_t bit = 0; bit < 64; ++bit) {
    const auto wrong = static_cast<Buffer>(static_cast<std::uint64_t>(mine) ^ (1ull << bit));
    CHECK(table.find(wrong) == nullptr);
  }
  CHECK(BufferTable::was_issued(mine));
  CHECK(BufferTable::was_issued(foreign));
  CHECK_FALSE(BufferTable::was_issued(Buffer::null));
  CHECK_FALSE(BufferTable::was_issued(static_cast<Buffer>(~std::uint64_t{0})));
}

TEST_CASE("buffer table: a hundred thousand live buffers") {
  constexpr std::size_t count = 100'000;
  BufferTable table;
  std::vector<Buffer> handles;
  for (std::size_t i = 0; i < count; ++i)
    handles.push_back(table.insert("alloc", allocation(i + 1)));
  CHECK(table.allocations() == count);
  for (std::size_t i = 0; i < count; i += 2)
    REQUIRE(table.remove(handles[i]).allocation->bytes() == i + 1);
  CHECK(table.allocations() == count / 2);
  for (std::size_t i = 0; i < count; ++i) {
    const BufferRange* found = table.find(handles[i]);
    REQUIRE((found != nullptr) == (i % 2 == 1));
    if (found != nullptr) REQUIRE(found->bytes == i + 1);
  }
  CHECK(table.remove_all().size() == count / 2);
  CHECK(table.allocations() == 0);
  CHECK(table.find(handles[1]) == nullptr);
}

TEST_CASE("buffer table: an allocation counts once, until its last handle goes") {
  BufferTable table;
  const AllocationRef whole = allocation(100);
  const Buffer first = table.insert("alloc", whole);
  const Buffer part = table.insert("view", {whole, 40, 8});
  CHECK(table.allocations() == 1);
  CHECK_FALSE(table.remove(first).was_last);
  CHECK(table.allocations() == 1);
  REQUIRE(table.find(part) != nullptr);
  CHECK(table.find(part)->offset == 40);
  CHECK(table.find(part)->bytes == 8);
  CHECK(table.remove(part).was_last);
  CHECK(table.allocations() == 0);
}

TEST_CASE("buffer table: remove_all leaves a table that works") {
  BufferTable table;
  const Buffer before = table.insert("alloc", allocation());
  table.remove_all();
  const Buffer after = table.insert("alloc", allocation());
  CHECK(before != after);
  CHECK(table.find(before) == nullptr);
  CHECK(table.find(after) != nullptr);
}

TEST_CASE("handles: each wrong one is refused by what is wrong with it") {
  RecordingBackend be, other;
  const Buffer foreign = other.floats(1);
  const Buffer freed = be.floats(1);
  be.free(freed);
  CHECK_REFUSED(be, be.free(Buffer::null), "free: buffer is the null handle");
  CHECK_REFUSED(be, be.free(freed), "which was freed or belongs to another backend");
  CHECK_REFUSED(be, be.free(foreign), "which was freed or belongs to another backend");
  CHECK_REFUSED(be, be.free(static_cast<Buffer>(~std::uint64_t{0})), "which no alloc() returned");
  CHECK_NOTHING_TO_DO(be, be.release(freed));
  CHECK_NOTHING_TO_DO(be, be.release(Buffer::null));
  CHECK(other.buffer_bytes(foreign) == 4);
}

}  // namespace
}  // namespace tilewright
