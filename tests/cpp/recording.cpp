// Recordings in C++: owners that end with their scope, and what reaches the device.

#include <doctest/doctest.h>

#include <array>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "asked_device.hpp"
#include "recording_backend.hpp"
#include "tilewright/tilewright.hpp"

namespace tilewright {
namespace {

using gpu::Asked;
using gpu::Opened;

struct Floats {
  Floats(Backend& backend, std::vector<float> values) : backend(backend), count(values.size()) {
    buffer = backend.alloc(static_cast<Size>(4 * count));
    backend.copy_htod(buffer, std::as_bytes(std::span(values)));
  }
  std::vector<float> read() const {
    std::vector<float> values(count);
    backend.copy_dtoh(std::as_writable_bytes(std::span(values)), buffer);
    return values;
  }
  operator Buffer() const { return buffer; }

  Backend& backend;
  std::size_t count;
  Buffer buffer = Buffer::null;
};

TEST_CASE("recording: what was recorded runs at each replay, and only then") {
  const auto backend = init_backend("cpu");
  const Floats x(*backend, {1, 2}), y(*backend, {0, 0});
  Recording recording = backend->record();
  CHECK(recording.is_recording());
  backend->binary(BinaryOp::add, x, y, y, 2);
  recording.end();
  CHECK_FALSE(recording.is_recording());
  CHECK(y.read() == std::vector<float>{0, 0});
  recording.replay();
  recording.replay();
  CHECK(y.read() == std::vector<float>{2, 4});
}

TEST_CASE("recording: one that goes out of scope is dropped, by an exception too") {
  const auto backend = init_backend("cpu");
  const Floats x(*backend, {1});
  const auto active = backend->memory_stats().active_bytes;
  try {
    Recording recording = backend->record();
    backend->unary(UnaryOp::neg, x, backend->alloc(4), 1);
    throw std::runtime_error("left");
  } catch (const std::runtime_error&) {
  }
  backend->unary(UnaryOp::neg, x, x, 1);
  CHECK(x.read() == std::vector<float>{-1});
  CHECK(backend->memory_stats().active_bytes == active + 4);  // the buffer is its handle's
  {
    Recording recording = backend->record();
    const Buffer made = backend->alloc(400);
    backend->unary(UnaryOp::neg, x, made, 1);
    backend->free(made);
    recording.end();
    CHECK(backend->memory_stats().active_bytes == active + 404);
  }
  CHECK(backend->memory_stats().active_bytes == active + 4);
}

TEST_CASE("recording: one of nothing, one moved from and one moved over") {
  Recording none;
  CHECK_FALSE(none.is_recording());
  CHECK_THROWS_AS(none.replay(), InvalidArgument);
  CHECK_THROWS_AS(none.end(), InvalidArgument);
  none.drop();
  const auto backend = init_backend("cpu");
  const Floats x(*backend, {1});
  Recording first = backend->record();
  backend->unary(UnaryOp::neg, x, x, 1);
  Recording second = std::move(first);
  second.end();
  second.replay();
  CHECK(x.read() == std::vector<float>{-1});
  CHECK_THROWS_AS(first.replay(), InvalidArgument);  // NOLINT: what it says is tested
  second = backend->record();
  CHECK(second.is_recording());
  second = Recording();
  backend->unary(UnaryOp::neg, x, x, 1);
  CHECK(x.read() == std::vector<float>{1});
}

TEST_CASE("recording: a backend may go before its recording, also while that is under way") {
  Recording ready, under_way;
  {
    const auto backend = init_backend("cpu");
    const Floats x(*backend, {1});
    ready = backend->record();
    backend->unary(UnaryOp::neg, x, x, 1);
    ready.end();
    under_way = backend->record();
    backend->unary(UnaryOp::neg, x, x, 1);
  }
  CHECK_THROWS_AS(ready.replay(), NotInitialized);
  CHECK_THROWS_AS(under_way.replay(), NotInitialized);
  CHECK_THROWS_AS(under_way.end(), NotInitialized);
  CHECK_FALSE(under_way.is_recording());
}

TEST_CASE("recording: a backend that cannot says so, and goes on") {
  RecordingBackend backend;
  CHECK_THROWS_AS(static_cast<Backend&>(backend).record(), Unsupported);
  backend.unary(UnaryOp::relu, backend.floats(4), backend.floats(4), 4);
  CHECK(backend.requests.size() == 1);
  CHECK_THROWS_AS(static_cast<Backend&>(backend).record(), Unsupported);
}

TEST_CASE("recording: a GPU gets nothing before a replay, and then plans nothing") {
  Opened opened;
  Backend& backend = opened.backend;
  const Buffer a = backend.alloc(4 * 512 * 512), b = backend.alloc(4 * 512 * 512);
  const Buffer c = backend.alloc(4 * 512 * 512);
  const auto multiply = [&] {
    backend.gemm(Transpose::none, Transpose::none, 512, 512, 512, 1, a, 512, b, 512, 0, c, 512);
  };
  multiply();
  const std::vector<std::array<std::uint32_t, 3>> grids = std::exchange(opened.asked.grids, {});
  const std::size_t compiled = opened.asked.compiled.size();
  Recording recording = backend.record();
  multiply();
  recording.end();
  CHECK(opened.asked.grids.empty());
  recording.replay();
  CHECK(opened.asked.grids == grids);
  CHECK(opened.asked.compiled.size() == compiled);
}

TEST_CASE("recording: a device that refuses in the middle of a replay") {
  Opened opened;
  Backend& backend = opened.backend;
  const Buffer x = backend.alloc(400);
  Recording recording = backend.record();
  for (int i = 0; i < 5; ++i) backend.unary(UnaryOp::neg, x, x, 100);
  recording.end();
  opened.asked.launches_left = 2;
  CHECK_THROWS_WITH_AS(recording.replay(), "no more launches", DeviceError);
  CHECK(opened.asked.grids.size() == 2);
  opened.asked.launches_left = 1000;
  recording.replay();
  CHECK(opened.asked.grids.size() == 7);
}

TEST_CASE("recording: kernels are kept by it where the backend keeps none") {
  Opened opened({.enable_pipeline_cache = false});
  Backend& backend = opened.backend;
  const Buffer x = backend.alloc(400);
  Recording recording = backend.record();
  for (int i = 0; i < 5; ++i) backend.unary(UnaryOp::neg, x, x, 100);
  recording.end();
  CHECK(opened.asked.compiled.size() == 5);
  CHECK(opened.asked.pipelines == 5);
  recording.replay();
  CHECK(opened.asked.compiled.size() == 5);
  recording.drop();
  CHECK(opened.asked.pipelines == 1);  // the thread's latest
}

TEST_CASE("recording: ops of one recording share scratch, and give it back with it") {
  Opened opened;
  Backend& backend = opened.backend;
  const Size n = 10'000'000;
  const Buffer x = backend.alloc(4 * n), y = backend.alloc(4);
  const std::array<Size, 1> shape{n};
  const auto sum = [&] { backend.reduce(ReduceOp::sum, x, y, shape, 0); };
  sum();
  backend.trim();
  const std::uint64_t held = opened.asked.held;
  const auto active = backend.memory_stats().active_bytes;
  const auto recorded = [&](int times) {
    Recording recording = backend.record();
    for (int i = 0; i < times; ++i) sum();
    recording.end();
    return backend.memory_stats().active_bytes - active;
  };
  const std::uint64_t once = recorded(1);
  CHECK(once > 0);
  CHECK(recorded(20) == once);
  CHECK(backend.memory_stats().active_bytes == active);
  backend.trim();
  CHECK(opened.asked.held == held);
}

}  // namespace
}  // namespace tilewright
