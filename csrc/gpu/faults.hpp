#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "core/requests.hpp"
#include "gpu/device.hpp"

namespace tilewright::gpu {

class BufferPool;
class RecordableDevice;

/// Indices that kernels have found outside their axes (index.wgsl): words on the device, which
/// whoever waits for it reads where launches may have written to them since.
class Faults {
 public:
  Faults(RecordableDevice& device, BufferPool& memory) : device_(device), memory_(memory) {}

  /// The words for a launch to bind.
  Binding binding();
  bool holds(const DeviceBuffer* buffer);
  /// The number that stands for a name in them.
  std::uint32_t name(std::string_view name);
  /// A launch that has the binding is queued.
  void may_be() noexcept { launched_.fetch_add(1, std::memory_order_release); }

  /// Waits for the queue where there may be one; throws IndexOutOfRange where there is.
  void check();
  /// The same without waiting: reads them from a place in the queue on, which it gives; 0 where
  /// there cannot be one. check_read() of a place behind it looks at what was read.
  std::uint64_t read_later();
  /// What was found out of range once is thrown by each check of a place that is behind it and was
  /// there already.
  void check_read(std::uint64_t place);

 private:
  using Words = std::array<std::uint32_t, 8>;
  struct Read {
    std::uint64_t place, launched;
    std::shared_ptr<Words> words;
  };
  /// Places in the queue from the first one known to be behind it to the last before the words were
  /// clear again.
  struct Found {
    std::uint64_t first, last;
    std::string message;
  };
  bool none_since_last_check(std::uint64_t& launched) const;
  /// Of words that were read: none out of range.
  void see_none(std::uint64_t launched);
  /// Clears the words, and throws. The reads from `first` on, which are not behind that, had the
  /// same.
  [[noreturn]] void refuse(const Words& words, std::vector<Read>::const_iterator first);

  RecordableDevice& device_;
  BufferPool& memory_;
  std::atomic<std::uint64_t> launched_{0}, checked_{0};
  std::mutex mutex_;
  AllocationRef words_;
  AllocationRef rehearsed_;  // what stands for them where nothing is launched
  std::vector<std::string> names_;
  std::vector<Read> reads_;  // in the order of their places
  std::deque<Found> found_;
  std::atomic<bool> has_found_{false};
};

}  // namespace tilewright::gpu
