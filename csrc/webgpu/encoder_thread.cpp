#include "webgpu/encoder_thread.hpp"

#include <chrono>
#include <utility>

#include "core/fork.hpp"

#if defined(__linux__)
#include <pthread.h>
#endif

namespace tilewright::webgpu {

namespace {

using Clock = std::chrono::steady_clock;
/// To wake costs a call several launches.
constexpr std::chrono::microseconds longest_look{50};
/// A submission takes less.
constexpr int looks_before_sleep = 200;

}  // namespace

EncoderThread::EncoderThread(std::function<void()> work)
    : work_(std::move(work)), thread_([this] { run(); }) {}

EncoderThread::~EncoderThread() {
  holder_.store(over);
  holder_.notify_all();
  thread_.join();
}

void EncoderThread::hand_over() {
  holder_.store(offered, std::memory_order_release);
  holder_.notify_all();
}

void EncoderThread::take_back() {
  for (int looks = 0;;) {
    int holder = holder_.load(std::memory_order_acquire);
    if (holder == calls) return;
    if (holder == offered) {
      holder_.compare_exchange_strong(holder, calls, std::memory_order_relaxed);
    } else if (holder != asked) {
      holder_.compare_exchange_strong(holder, asked, std::memory_order_relaxed);
    } else if (++looks < looks_before_sleep) {
      std::this_thread::yield();
    } else {
      holder_.wait(asked, std::memory_order_relaxed);
    }
  }
}

void EncoderThread::run() noexcept {
#if defined(__linux__)
  pthread_setname_np(pthread_self(), "tw-submitter");
#endif
  const InCore in_core;
  Clock::time_point idle_since = Clock::now();
  for (;;) {
    int holder = holder_.load(std::memory_order_relaxed);
    if (holder == over) return;
    if (holder == offered) {
      if (!holder_.compare_exchange_strong(holder, thread, std::memory_order_acquire)) continue;
      work_();
      holder_.store(calls, std::memory_order_release);
      holder_.notify_all();
      idle_since = Clock::now();
    } else if (Clock::now() - idle_since < longest_look) {
      std::this_thread::yield();
    } else {
      holder_.wait(calls, std::memory_order_acquire);
    }
  }
}

}  // namespace tilewright::webgpu
