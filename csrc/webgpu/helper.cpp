#include "webgpu/helper.hpp"

#include <utility>

#include "core/fork.hpp"

#if defined(__linux__)
#include <pthread.h>
#endif

namespace tilewright::webgpu {

Helper::Helper() : thread_([this] { work(); }) {}

Helper::~Helper() {
  {
    std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Helper::begin(const std::function<void()>& task) {
  {
    std::lock_guard lock(mutex_);
    task_ = &task;
  }
  changed_.notify_all();
}

void Helper::end() {
  std::unique_lock lock(mutex_);
  task_ = nullptr;
  changed_.wait(lock, [&] { return !works_; });
}

void Helper::work() noexcept {
#if defined(__linux__)
  pthread_setname_np(pthread_self(), "tw-encoder");
#endif
  const InCore in_core;
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return task_ != nullptr || is_over_; });
    if (is_over_) return;
    const auto* task = std::exchange(task_, nullptr);
    works_ = true;
    lock.unlock();
    (*task)();
    lock.lock();
    works_ = false;
    changed_.notify_all();
  }
}

}  // namespace tilewright::webgpu
