#include <doctest/doctest.h>

#include <array>

#include "recording_backend.hpp"

namespace tilewright {
namespace {

using Strings = std::vector<std::string>;

TEST_CASE("alloc: at least one byte, at most what a buffer can hold") {
  RecordingBackend be;
  be.max_buffer_bytes = 1000;
  CHECK_REFUSED(be, be.alloc(0), "alloc: bytes is 0, expected 1 or more");
  CHECK_REFUSED(be, be.alloc(-4), "alloc: bytes is -4, expected 1 or more");
  CHECK_REFUSED(be, be.alloc(1001),
                "bytes is 1001, but a buffer of this device holds at most 1000");
  CHECK(be.buffer_bytes(be.alloc(1000)) == 1000);
  CHECK(be.buffer_bytes(be.alloc(7)) == 7);
}

TEST_CASE("alloc: max_buffer_size lowers the device's own limit and never raises it") {
  RecordingBackend low({.max_buffer_size = 10});
  CHECK_REFUSED(low, low.alloc(11), "holds at most 10");
  RecordingBackend high({.max_buffer_size = 2000});
  high.max_buffer_bytes = 1000;
  CHECK_REFUSED(high, high.alloc(1001), "holds at most 1000");
}

TEST_CASE("alloc: what does not fit now is OutOfMemory, with what was asked for") {
  RecordingBackend be({.memory_limit = 100});
  const Buffer first = be.alloc(60);
  try {
    be.alloc(41);
    FAIL("an alloc over the limit returned");
  } catch (const OutOfMemory& error) {
    CHECK(error.requested_bytes() == 41);
    CHECK(std::string(error.what()) ==
          "alloc: 41 bytes asked for, but 60 of 100 are in live buffers; free some, or raise "
          "memory_limit");
  }
  CHECK(be.memory_stats().active_bytes == 60);
  be.free(first);
  CHECK_NOTHROW(be.alloc(100));
}

TEST_CASE("alloc: a device that is full leaves the statistics as they were") {
  RecordingBackend be;
  be.alloc(8);
  be.full = true;
  CHECK_THROWS_AS(be.alloc(8), OutOfMemory);
  const MemoryStats stats = be.memory_stats();
  CHECK(stats.active_bytes == 8);
  CHECK(stats.peak_bytes == 8);
  CHECK(stats.allocations == 1);
  CHECK(stats.total_allocations == 1);
}

TEST_CASE("memory_stats: counts live, peak and all") {
  RecordingBackend be({.memory_limit = 4096});
  const Buffer a = be.alloc(100), b = be.alloc(200);
  be.free(a);
  be.release(b);
  be.alloc(50);
  be.cached_bytes = 300;
  const MemoryStats stats = be.memory_stats();
  CHECK(stats.active_bytes == 50);
  CHECK(stats.peak_bytes == 300);
  CHECK(stats.cached_bytes == 300);
  CHECK(stats.allocations == 1);
  CHECK(stats.total_allocations == 3);
  CHECK(stats.limit_bytes == 4096);
}

TEST_CASE("copies: ranges lie within their buffers") {
  RecordingBackend be;
  const Buffer buffer = be.alloc(10);
  std::array<std::byte, 10> host{};
  const std::span<std::byte> all(host), half = all.first(5);
  CHECK_NOTHROW(be.copy_htod(buffer, all));
  CHECK_NOTHROW(be.copy_htod(buffer, half, 5));
  CHECK_NOTHROW(be.copy_dtoh(all, buffer));
  CHECK_NOTHROW(be.copy_dtoh(half, buffer, 5));
  CHECK_REFUSED(be, be.copy_htod(buffer, half, 6),
                "copy_htod: dst holds 10 bytes, expected at least 5 from offset 6");
  CHECK_REFUSED(be, be.copy_htod(buffer, half, -1), "copy_htod: offset is -1, expected 0 or more");
  CHECK_REFUSED(be, be.copy_htod(buffer, half, most), "copy_htod: dst holds 10 bytes");
  CHECK_REFUSED(be, be.copy_htod(Buffer::null, half), "copy_htod: dst is the null handle");
  CHECK_REFUSED(be, be.copy_dtoh(half, buffer, 6),
                "copy_dtoh: src holds 10 bytes, expected at least 5 from offset 6");
  CHECK_REFUSED(be, be.copy_dtoh(half, buffer, -1), "copy_dtoh: offset is -1, expected 0 or more");
  CHECK_REFUSED(be, be.copy_dtoh(half, Buffer::null), "copy_dtoh: src is the null handle");
  CHECK_REFUSED(be, be.copy_htod(buffer, {}, 11), "dst holds 10 bytes, expected at least 0");
}

TEST_CASE("copies: nothing to copy is nothing to do") {
  RecordingBackend be;
  const Buffer buffer = be.alloc(10), other = be.alloc(10);
  CHECK_NOTHING_TO_DO(be, be.copy_htod(buffer, {}, 10));
  CHECK_NOTHING_TO_DO(be, be.copy_dtoh({}, buffer, 10));
  CHECK_NOTHING_TO_DO(be, be.copy_dtod(buffer, other, 0));
  CHECK_NOTHING_TO_DO(be, be.copy_dtod(buffer, buffer, 0, 3, 3));
}

TEST_CASE("copy_dtod: ranges of one buffer do not overlap") {
  RecordingBackend be;
  const Buffer buffer = be.alloc(10), other = be.alloc(4);
  CHECK_NOTHROW(be.copy_dtod(buffer, buffer, 5, 0, 5));
  CHECK_NOTHROW(be.copy_dtod(buffer, buffer, 5, 5, 0));
  CHECK_NOTHROW(be.copy_dtod(buffer, other, 4, 6));
  CHECK(be.calls == Strings{"do_init", "do_copy_dtod", "do_copy_dtod", "do_copy_dtod"});
  CHECK_REFUSED(be, be.copy_dtod(buffer, buffer, 5, 0, 4), "dst overlaps src: they are bytes");
  CHECK_REFUSED(be, be.copy_dtod(buffer, buffer, 5, 4, 0), "dst overlaps src: they are bytes");
  CHECK_REFUSED(be, be.copy_dtod(buffer, buffer, 1, 3, 3), "dst overlaps src: they are bytes");
  CHECK_REFUSED(be, be.copy_dtod(buffer, other, 5),
                "copy_dtod: src holds 4 bytes, expected at least 5 from src_offset 0");
  CHECK_REFUSED(be, be.copy_dtod(buffer, other, 4, 7), "dst holds 10 bytes");
  CHECK_REFUSED(be, be.copy_dtod(buffer, other, -1), "bytes is -1, expected 0 or more");
  CHECK_REFUSED(be, be.copy_dtod(buffer, other, 1, -1), "dst_offset is -1, expected 0 or more");
  CHECK_REFUSED(be, be.copy_dtod(buffer, other, 1, 0, -1), "src_offset is -1, expected 0 or more");
  CHECK_REFUSED(be, be.copy_dtod(buffer, other, most, 1, 1), "dst holds 10 bytes");
}

TEST_CASE("view: a part of a buffer, or of another view") {
  RecordingBackend be;
  const Buffer buffer = be.floats(25);
  const Buffer part = be.view(buffer, 8, 80), inner = be.view(part, 12, 20);
  CHECK(be.buffer_bytes(part) == 80);
  CHECK(be.buffer_bytes(inner) == 20);
  be.unary(UnaryOp::exp, inner, part, 2);
  const auto& r = be.only<UnaryRequest>();
  CHECK(r.input == BufferRange(r.input.allocation, 20, 8));
  CHECK(r.output == BufferRange(r.input.allocation, 8, 8));
  CHECK_REFUSED(be, be.view(buffer, 96, 5),
                "view: buffer holds 100 bytes, expected at least 5 from offset 96");
  CHECK_REFUSED(be, be.view(part, 79, 2), "view: buffer holds 80 bytes");
  CHECK_REFUSED(be, be.view(part, most, most), "view: buffer holds 80 bytes");
  CHECK_REFUSED(be, be.view(buffer, -1, 5), "view: offset is -1, expected 0 or more");
  CHECK_REFUSED(be, be.view(buffer, 0, 0), "view: bytes is 0, expected 1 or more");
  CHECK_REFUSED(be, be.view(Buffer::null, 0, 1), "view: buffer is the null handle");
}

TEST_CASE("view: memory counts once, and lives until its last handle is freed") {
  RecordingBackend be({.memory_limit = 100});
  const Buffer buffer = be.alloc(100);
  const Buffer part = be.view(buffer, 40, 8);
  CHECK(be.memory_stats().allocations == 1);
  CHECK(be.memory_stats().total_allocations == 1);
  CHECK(be.memory_stats().active_bytes == 100);
  be.free(buffer);
  CHECK_REFUSED(be, be.buffer_bytes(buffer), "which was freed");
  CHECK(be.buffer_bytes(part) == 8);
  CHECK(be.memory_stats().allocations == 1);
  CHECK(be.memory_stats().active_bytes == 100);
  CHECK_THROWS_AS(be.alloc(1), OutOfMemory);
  be.release(part);
  CHECK(be.memory_stats().allocations == 0);
  CHECK(be.memory_stats().active_bytes == 0);
  CHECK_NOTHROW(be.alloc(100));
}

TEST_CASE("view: an operand's elements start on a multiple of their size") {
  RecordingBackend be;
  const Buffer buffer = be.floats(25), other = be.floats(25);
  const Buffer odd = be.view(buffer, 2, 80);
  CHECK_NOTHROW(be.unary(UnaryOp::exp, odd, other, 8, DType::float16));
  CHECK_REFUSED(be, be.unary(UnaryOp::exp, odd, other, 8),
                "unary: input is a view from byte 2 of its buffer on, expected a multiple of 4");
  CHECK_REFUSED(be, be.gather(other, be.view(buffer, 5, 80), other, 1, 1, 1, DType::float16),
                "indices is a view from byte 5");
}

TEST_CASE("view: an output is exactly an input's range or lies apart from it") {
  RecordingBackend be;
  const Buffer buffer = be.floats(32);
  const auto floats = [&](Size first, Size count) { return be.view(buffer, 4 * first, 4 * count); };
  CHECK_NOTHROW(be.unary(UnaryOp::exp, floats(0, 8), floats(8, 8), 8));
  CHECK_NOTHROW(be.unary(UnaryOp::exp, floats(4, 12), floats(4, 8), 8));
  CHECK_NOTHROW(be.binary(BinaryOp::add, floats(0, 8), floats(24, 8), floats(24, 8), 8));
  CHECK_REFUSED(be, be.unary(UnaryOp::exp, floats(0, 8), floats(7, 8), 8),
                "unary: output overlaps input: they are bytes 28 to 59 and 0 to 31 of one buffer; "
                "pass the same range for both");
  CHECK_REFUSED(be, be.binary_scalar(BinaryOp::add, floats(0, 8), 1, floats(1, 8), 8),
                "output overlaps a");
  const std::array<Size, 2> shape{2, 4};
  CHECK_REFUSED(be, be.softmax(floats(0, 8), floats(1, 8), shape, 1), "output overlaps input");
  CHECK_NOTHROW(be.reduce(ReduceOp::sum, floats(0, 8), floats(8, 2), shape, 1));
  CHECK_REFUSED(be, be.reduce(ReduceOp::sum, floats(0, 8), floats(0, 2), shape, 1),
                "reduce: output overlaps input: they are bytes 0 to 7 and 0 to 31 of one buffer; "
                "pass ranges that lie apart");
  const std::array<Size, 2> transposed{1, 2}, broadcast{0, 1};
  CHECK_REFUSED(be,
                be.binary_broadcast(BinaryOp::add, floats(0, 8), transposed, floats(16, 4),
                                    broadcast, floats(4, 8), shape),
                "output overlaps a");
  CHECK_NOTHROW(be.copy_dtod(floats(0, 8), floats(8, 8), 32));
  CHECK_REFUSED(be, be.copy_dtod(floats(0, 8), floats(7, 8), 32), "dst overlaps src");
  CHECK_REFUSED(be, be.copy_dtod(buffer, floats(7, 8), 4, 28), "dst overlaps src");
}

}  // namespace
}  // namespace tilewright
