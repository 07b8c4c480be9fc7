#pragma once

#include <atomic>
#include <cstdint>

#include "webgpu/api.hpp"

namespace tilewright::webgpu {

/// How far the GPU is, by the numbers of submissions. It stays where it is, since callbacks know
/// its address.
class Progress {
 public:
  /// Has the library say, at a look, when all that was submitted is done: up to `submission`.
  void follow(const Api& api, WGPUQueue queue, std::uint64_t submission) {
    WGPUQueueWorkDoneCallbackInfo callback{};
    callback.mode = WGPUCallbackMode_AllowSpontaneous;
    callback.userdata1 = this;
    callback.userdata2 = reinterpret_cast<void*>(static_cast<std::uintptr_t>(submission));
    callback.callback = [](WGPUQueueWorkDoneStatus status, WGPUStringView, void* self,
                           void* number) {
      if (status != WGPUQueueWorkDoneStatus_Success) return;
      std::atomic<std::uint64_t>& done = static_cast<Progress*>(self)->done_;
      const std::uint64_t now = reinterpret_cast<std::uintptr_t>(number);
      std::uint64_t before = done.load(std::memory_order_relaxed);
      while (before < now && !done.compare_exchange_weak(before, now, std::memory_order_release,
                                                         std::memory_order_relaxed)) {
      }
    };
    api.QueueOnSubmittedWorkDone(queue, callback);
  }
  bool reached(std::uint64_t submission) const {
    return done_.load(std::memory_order_acquire) >= submission;
  }

 private:
  std::atomic<std::uint64_t> done_{0};
};

}  // namespace tilewright::webgpu
