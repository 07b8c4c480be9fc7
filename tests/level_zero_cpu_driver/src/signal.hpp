// What a host can wait for, and what it then hears.
#pragma once

#include <atomic>
#include <mutex>
#include <optional>

#include "completion.hpp"
#include "device.hpp"
#include "settings.hpp"

namespace ze_cpu {

/// What went wrong in work that has ended, kept for whoever waits for it.
class Trouble {
 public:
  void keep(const Failure& failure);
  void forget();
  /// Throws what was kept, once.
  void raise();

 private:
  std::mutex mutex_;
  std::optional<Failure> failure_;
};

class Signal {
 public:
  bool is_set() const { return set_; }
  void set();
  void reset();
  /// What a wait of at most this many nanoseconds answers.
  ze_result_t wait(uint64_t nanoseconds);

  Trouble trouble;

 private:
  std::atomic<bool> set_{false};
};

/// Waits until condition() holds. When the devices are lost it throws, or, with ZE_CPU_LOST_HANGS,
/// waits on like a device that hangs.
template <typename Condition>
ze_result_t wait_unless_lost(uint64_t nanoseconds, const Condition& condition) {
  const auto lost = [] { return devices_are_lost() && !settings().lost_hangs; };
  const bool ended = completion().wait(nanoseconds, [&] { return lost() || condition(); });
  if (lost()) fail(ZE_RESULT_ERROR_DEVICE_LOST, "the device was lost");
  return ended ? ZE_RESULT_SUCCESS : ZE_RESULT_NOT_READY;
}

}  // namespace ze_cpu
