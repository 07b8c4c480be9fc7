#pragma once

#include <atomic>
#include <functional>
#include <thread>

namespace tilewright::webgpu {

/// A thread that encodes and submits what calls leave it, so that they need not. Either the calls
/// have the encoder or it does: they hand it over, which it finds once it is awake, and take it
/// back for all but launches. Without work it looks for some for a moment, then sleeps.
class EncoderThread {
 public:
  /// `work` is what the thread does whenever it has the encoder, until it is asked for it or there
  /// is no more, and throws nothing. Throws std::system_error where there are no more threads.
  explicit EncoderThread(std::function<void()> work);
  /// The calls have the encoder. Not in a forked child, which does not have the thread.
  ~EncoderThread();
  EncoderThread(const EncoderThread&) = delete;
  EncoderThread& operator=(const EncoderThread&) = delete;

  // For calls, one at a time.

  bool has_encoder() const { return holder_.load(std::memory_order_acquire) != calls; }
  /// The calls have it.
  void hand_over();
  /// Returns when the calls have it.
  void take_back();

  // For the thread's work.

  bool is_asked() const { return holder_.load(std::memory_order_relaxed) == asked; }

 private:
  // Who has the encoder, and what is wanted of the thread. The system waits for whole ints.
  enum Holder : int { calls, offered, thread, asked, over };

  void run() noexcept;

  const std::function<void()> work_;
  std::atomic<int> holder_{calls};
  std::thread thread_;
};

}  // namespace tilewright::webgpu
