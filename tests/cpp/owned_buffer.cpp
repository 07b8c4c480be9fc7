#include "tilewright/owned_buffer.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/state.hpp"
#include "tilewright/registry.hpp"

namespace tilewright {
namespace {

std::uint64_t live(const Backend& backend) { return backend.memory_stats().allocations; }

TEST_CASE("owned buffers: freed once, by the last that owns") {
  const std::shared_ptr<Backend> be = init_backend("cpu");
  {
    OwnedBuffer a(be, 16);
    CHECK(a);
    CHECK(a.bytes() == 16);
    CHECK(be->buffer_bytes(a) == 16);
    CHECK(live(*be) == 1);
    OwnedBuffer b = std::move(a);
    CHECK_FALSE(a);  // NOLINT: what is left of it is what is asked
    CHECK(a.buffer() == Buffer::null);
    CHECK(a.bytes() == 0);
    CHECK(live(*be) == 1);
    b = OwnedBuffer(be, 32);
    CHECK(b.bytes() == 32);
    CHECK(live(*be) == 1);
    OwnedBuffer& same = b;
    b = std::move(same);
    CHECK(be->buffer_bytes(b) == 32);
  }
  CHECK(live(*be) == 0);
  static_assert(!std::is_copy_constructible_v<OwnedBuffer>);
  static_assert(std::is_nothrow_move_constructible_v<OwnedBuffer>);
}

TEST_CASE("owned buffers: pass for the buffer in every call") {
  const std::shared_ptr<Backend> be = init_backend("cpu");
  const OwnedBuffer x(be, 8), y(be, 8);
  const std::array<float, 2> host{-1, 2};
  be->copy_htod(x, std::as_bytes(std::span(host)));
  be->unary(UnaryOp::relu, x, y, 2);
  std::array<float, 2> got{};
  be->copy_dtoh(std::as_writable_bytes(std::span(got)), y);
  CHECK(got == std::array<float, 2>{0, 2});
}

TEST_CASE("owned buffers: given up, one is the caller's to free") {
  const std::shared_ptr<Backend> be = init_backend("cpu");
  OwnedBuffer a(be, 16);
  const Buffer buffer = a.release();
  CHECK_FALSE(a);
  CHECK(a.backend() == nullptr);
  a.reset();
  CHECK(live(*be) == 1);
  be->free(buffer);
}

TEST_CASE("owned buffers: keep their backend, and outlive its close") {
  std::weak_ptr<Backend> seen;
  {
    std::shared_ptr<Backend> be = init_backend("cpu");
    seen = be;
    const OwnedBuffer a(be, 16);
    be.reset();
    CHECK_FALSE(seen.expired());
    seen.lock()->close();
    seen.lock()->init();
    CHECK_THROWS_AS(seen.lock()->buffer_bytes(a), InvalidArgument);
  }
  CHECK(seen.expired());
}

TEST_CASE("owned buffers: threads take what others freed, each buffer once") {
  constexpr std::size_t threads = 4, turns = 300;
  const std::shared_ptr<Backend> be = init_backend("cpu");
  std::array<std::size_t, threads> found{};
  const auto work = [&](std::size_t self) {
    const std::array<std::byte, 64> own{std::byte(self + 1)};
    for (std::size_t i = 0; i < turns; ++i) {
      Buffer buffer = alloc_at_hand(*be, 64);
      if (buffer != Buffer::null) ++found[self];
      if (buffer == Buffer::null) buffer = be->alloc(64);
      be->copy_htod(buffer, own);
      std::array<std::byte, 64> read{};
      be->copy_dtoh(read, buffer);
      if (read != own) found[self] = turns + 1;
      be->free(buffer);
    }
  };
  std::vector<std::thread> all;
  for (std::size_t i = 0; i < threads; ++i) all.emplace_back(work, i);
  for (std::thread& one : all) one.join();
  std::size_t sum = 0;
  for (const std::size_t one : found) {
    CHECK(one <= turns);
    sum += one;
  }
  CHECK(sum > 0);
  const MemoryStats stats = be->memory_stats();
  CHECK(stats.total_allocations == threads * turns);
  CHECK(stats.allocations == 0);
  CHECK(stats.active_bytes == 0);
}

TEST_CASE("owned buffers: what alloc refuses is refused") {
  const std::shared_ptr<Backend> be = init_backend("cpu");
  CHECK_THROWS_WITH_AS(OwnedBuffer(nullptr, 4), "OwnedBuffer: backend is null, expected a backend",
                       InvalidArgument);
  CHECK_THROWS_AS(OwnedBuffer(be, 0), InvalidArgument);
  CHECK_THROWS_AS(OwnedBuffer(make_backend("cpu"), 4), NotInitialized);
  CHECK(live(*be) == 0);
}

}  // namespace
}  // namespace tilewright
