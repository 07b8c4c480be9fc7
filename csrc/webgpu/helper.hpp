#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace tilewright::webgpu {

/// A thread that lends a hand while a call lasts. Between calls it sleeps, so that a fork and the
/// end of the process find it idle.
class Helper {
 public:
  /// Throws std::system_error where there are no more threads.
  Helper();
  /// Not in a forked child, which does not have the thread.
  ~Helper();
  Helper(const Helper&) = delete;
  Helper& operator=(const Helper&) = delete;

  /// Has it call the task, which throws nothing and stays until end().
  void begin(const std::function<void()>& task);
  /// Returns when it is done with the task, or has not begun it and will not.
  void end();

 private:
  void work() noexcept;

  std::mutex mutex_;
  std::condition_variable changed_;
  const std::function<void()>* task_ = nullptr;
  bool works_ = false, is_over_ = false;
  std::thread thread_;
};

}  // namespace tilewright::webgpu
