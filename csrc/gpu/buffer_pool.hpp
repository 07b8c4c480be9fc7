#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include "core/free_blocks.hpp"
#include "core/memory_budget.hpp"
#include "core/requests.hpp"
#include "gpu/device.hpp"
#include "tilewright/error.hpp"

namespace tilewright::gpu {

class Recorder;

/// Device buffers by size class. Freed ones are kept for reuse, those of the sizes that were used
/// last, until they hold `cache_limit` bytes, the budget has no more room or the device refuses.
/// Reuse needs no wait: work on a device is seen in the order of the calls.
class BufferPool : public std::enable_shared_from_this<BufferPool> {
 public:
  BufferPool(std::shared_ptr<Device> device, std::shared_ptr<MemoryBudget> budget,
             std::uint64_t cache_limit, std::shared_ptr<Recorder> recorder)
      : device_(std::move(device)),
        budget_(std::move(budget)),
        cache_limit_(cache_limit),
        recorder_(std::move(recorder)) {}

  /// Of bytes that the caller has counted in the budget.
  AllocationRef allocate(std::uint64_t bytes);
  /// The same of a kept buffer alone; null where there is none.
  AllocationRef at_hand(std::uint64_t bytes);
  /// For an op itself, counted in the budget until the op lets go of it; of an op that is recorded
  /// until the recording does. Throws OutOfMemory.
  AllocationRef scratch(std::string_view op, std::uint64_t bytes);
  /// The same for what is uploaded once: in a recording, whose replays write to the scratch of ops
  /// again, memory of its own.
  AllocationRef written_once(std::string_view op, std::uint64_t bytes);
  /// scratch(); null where there is no room.
  AllocationRef try_scratch(std::string_view op, std::uint64_t bytes);

  /// body(), once more where the device is too full for it and kept buffers gave way. What it has
  /// done before it throws OutOfMemory, it must be able to do again.
  template <class Body>
  decltype(auto) with_room(const Body& body) {
    try {
      return body();
    } catch (const OutOfMemory&) {
      if (!give_way(0)) throw;
    }
    return body();
  }

  std::uint64_t cache_limit() const { return cache_limit_; }
  std::uint64_t cached_bytes() const { return cached_bytes_; }
  void trim();

 private:
  friend class GpuAllocation;
  using Handle = std::unique_ptr<DeviceBuffer>;

  AllocationRef new_scratch(std::string_view op, std::uint64_t bytes);
  /// A kept buffer of a size class; null where there is none.
  Handle take_kept(std::uint64_t size);
  /// Of a size class for `bytes`.
  Handle take(std::string_view op, std::uint64_t bytes);
  Handle create(std::string_view op, std::uint64_t bytes, std::uint64_t size);
  void put_back(Handle buffer) noexcept;
  /// The device has refused so many bytes more: lets go of kept buffers that hold as much, waits
  /// until queued work is done with them, and keeps some room free from now on. False where there
  /// was nothing to let go of.
  bool give_way(std::uint64_t bytes);
  /// Lets go of kept buffers until `enough()`; called with the lock held.
  template <class Enough>
  void drop_until(const Enough& enough, std::vector<Handle>& dropped);
  /// What was let go of is the device's again once queued work is done with it.
  void wait_for_dropped();

  const std::shared_ptr<Device> device_;
  const std::shared_ptr<MemoryBudget> budget_;
  const std::uint64_t cache_limit_;
  const std::shared_ptr<Recorder> recorder_;
  std::mutex mutex_;
  FreeBlocks<Handle> free_;
  std::atomic<std::uint64_t> cached_bytes_{0};     // of free_
  std::uint64_t on_device_ = 0;                    // bytes of all buffers, in use or free
  std::uint64_t refused_ = ~std::uint64_t{0};      // so many the device refused to hold
  std::uint64_t comfortable_ = ~std::uint64_t{0};  // so many leave some room below that
  std::uint64_t dropped_bytes_ = 0;  // let go of since the last wait, so maybe still in use
};

class GpuAllocation final : public Allocation {
 public:
  GpuAllocation(std::uint64_t bytes, std::unique_ptr<DeviceBuffer> buffer,
                std::shared_ptr<BufferPool> pool, bool is_scratch)
      : Allocation(bytes),
        buffer_(std::move(buffer)),
        pool_(std::move(pool)),
        is_scratch_(is_scratch) {
    buffer_->owner = this;
  }
  /// No memory: an operand or scratch of what is planned and not run.
  explicit GpuAllocation(std::uint64_t bytes)
      : Allocation(bytes),
        buffer_(std::make_unique<DeviceBuffer>((bytes + 3) / 4 * 4)),
        is_scratch_(false) {
    buffer_->owner = this;
  }
  ~GpuAllocation() override {
    buffer_->owner = nullptr;
    if (!pool_) return;
    if (is_scratch_) pool_->budget_->give_back_scratch(bytes());
    pool_->put_back(std::move(buffer_));
  }
  DeviceBuffer& buffer() const { return *buffer_; }

 private:
  std::unique_ptr<DeviceBuffer> buffer_;
  std::shared_ptr<BufferPool> pool_;
  bool is_scratch_;
};

inline DeviceBuffer& buffer_of(const AllocationRef& allocation) {
  return static_cast<GpuAllocation&>(*allocation).buffer();
}
inline DeviceBuffer& buffer_of(const BufferRange& range) { return buffer_of(range.allocation); }

}  // namespace tilewright::gpu
