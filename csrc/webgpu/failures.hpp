#pragma once

#include <atomic>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "webgpu/api.hpp"

namespace tilewright::webgpu {

/// What the library reports of one device, from inside any call and from any thread.
class Failures {
 public:
  struct Failure {
    std::string message;
    bool out_of_memory;
  };

  Failures() = default;
  Failures(const Failures&) = delete;
  Failures& operator=(const Failures&) = delete;

  /// Has the device report here.
  void connect(WGPUDeviceDescriptor& descriptor);
  /// As long as it stands, what this thread's calls report is taken by this thread alone: for calls
  /// without the device's lock.
  class OfThisThread {
   public:
    explicit OfThisThread(const Failures& failures) noexcept;
    ~OfThisThread();
    OfThisThread(const OfThisThread&) = delete;
    OfThisThread& operator=(const OfThisThread&) = delete;

   private:
    friend class Failures;
    const Failures& failures_;
    std::optional<Failure> failure_;
  };

  /// The first failure since the last time, if any.
  std::optional<Failure> take();
  bool lost() const { return lost_.load(std::memory_order_relaxed); }

 private:
  void add(WGPUErrorType type, std::string_view message) noexcept;
  OfThisThread* own() const noexcept;

  std::mutex mutex_;
  std::optional<Failure> failure_;
  std::atomic<bool> failed_{false}, lost_{false};
};

}  // namespace tilewright::webgpu
