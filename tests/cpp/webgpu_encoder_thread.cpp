// The encoder's way between calls and the thread that encodes what they leave it.

#include <doctest/doctest.h>

#include <cstdint>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "webgpu/backlog.hpp"
#include "webgpu/encoder_thread.hpp"

namespace tilewright::webgpu {
namespace {

/// Numbers in place of launches, which whoever has the encoder appends to a list.
struct Calls {
  Backlog backlog;
  std::vector<std::uint32_t> encoded;
  std::uint32_t by_the_thread = 0;
  EncoderThread thread{[this] { serve(); }};

  void encode_first() {
    encoded.push_back(backlog.first().grid[0]);
    backlog.take();
  }
  void serve() {
    int looks = 0;
    while (!thread.is_asked()) {
      if (!backlog.is_empty()) {
        encode_first();
        ++by_the_thread;
      } else if (++looks % 8 == 0) {
        return;
      }
    }
  }
  void take_back() {
    thread.take_back();
    while (!backlog.is_empty()) encode_first();
  }
  void launch(std::uint32_t number) {
    if (!thread.has_encoder()) {
      while (!backlog.is_empty()) encode_first();
      return encoded.push_back(number);
    }
    while (backlog.is_full()) {
      if (!thread.has_encoder()) return launch(number);
      backlog.wait_for_room();
    }
    backlog.add(nullptr, {}, {nullptr, {}, {}, {number, 1, 1}});
  }
};

TEST_CASE("webgpu encoder thread: all is encoded once and in order, whoever does") {
  constexpr std::uint32_t launches = 200'000;
  std::mt19937 random(1);
  Calls calls;
  for (std::uint32_t i = 0; i < launches; ++i) {
    calls.launch(i);
    switch (random() % 64) {
      case 0:
        calls.take_back();
        break;
      case 1:
      case 2:
        if (!calls.thread.has_encoder()) calls.thread.hand_over();
        break;
      case 3:
        std::this_thread::yield();
        break;
      default:
        break;
    }
  }
  calls.take_back();
  REQUIRE(calls.encoded.size() == launches);
  bool is_in_order = true;
  for (std::uint32_t i = 0; i < launches; ++i) is_in_order &= calls.encoded[i] == i;
  CHECK(is_in_order);
  CHECK(calls.by_the_thread > 0);
}

TEST_CASE("webgpu encoder thread: what is offered to a thread that sleeps comes back at once") {
  for (int i = 0; i < 100; ++i) {
    Calls calls;
    calls.launch(1);
    calls.thread.hand_over();
    calls.launch(2);
    calls.take_back();
    CHECK_FALSE(calls.thread.has_encoder());
    CHECK(calls.encoded == std::vector<std::uint32_t>{1, 2});
  }
}

TEST_CASE("webgpu encoder thread: a full backlog waits for the thread") {
  Calls calls;
  calls.thread.hand_over();
  for (std::uint32_t i = 0; i < 10 * Backlog::capacity; ++i) {
    if (!calls.thread.has_encoder()) calls.thread.hand_over();
    calls.launch(i);
  }
  calls.take_back();
  CHECK(calls.encoded.size() == 10 * Backlog::capacity);
}

}  // namespace
}  // namespace tilewright::webgpu
