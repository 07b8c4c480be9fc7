#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "core/requests.hpp"
#include "gpu/device.hpp"

namespace tilewright::gpu {

/// Device buffers by size class, kept for reuse up to `cache_limit` bytes, those of the sizes that
/// were used last. Reuse needs no wait: work on a device is seen in the order of the calls.
class BufferPool : public std::enable_shared_from_this<BufferPool> {
 public:
  BufferPool(std::shared_ptr<Device> device, std::uint64_t cache_limit)
      : device_(std::move(device)), cache_limit_(cache_limit) {}

  std::shared_ptr<Allocation> allocate(std::uint64_t bytes);
  std::uint64_t cached_bytes() const { return cached_bytes_.load(std::memory_order_relaxed); }
  void trim();

 private:
  friend class GpuAllocation;
  /// A buffer of `size`, of which `bytes` were asked for; gives kept ones back where there is no
  /// room.
  std::unique_ptr<DeviceBuffer> create(std::uint64_t bytes, std::uint64_t size);
  void put_back(std::unique_ptr<DeviceBuffer> buffer) noexcept;

  /// The kept buffers of a size, and when one was last asked for or put back.
  struct Shelf {
    std::vector<std::unique_ptr<DeviceBuffer>> buffers;
    std::uint64_t used = 0;
  };
  Shelf& shelf(std::uint64_t size);

  const std::shared_ptr<Device> device_;
  const std::uint64_t cache_limit_;
  std::mutex mutex_;
  std::map<std::uint64_t, Shelf> free_;  // by size
  std::uint64_t uses_ = 0;
  std::atomic<std::uint64_t> cached_bytes_{0};
};

class GpuAllocation final : public Allocation {
 public:
  GpuAllocation(std::uint64_t bytes, std::unique_ptr<DeviceBuffer> buffer,
                std::shared_ptr<BufferPool> pool)
      : Allocation(bytes), buffer_(std::move(buffer)), pool_(std::move(pool)) {}
  ~GpuAllocation() override { pool_->put_back(std::move(buffer_)); }
  DeviceBuffer& buffer() const { return *buffer_; }

 private:
  std::unique_ptr<DeviceBuffer> buffer_;
  std::shared_ptr<BufferPool> pool_;
};

inline DeviceBuffer& buffer_of(const AllocationRef& allocation) {
  return static_cast<GpuAllocation&>(*allocation).buffer();
}

}  // namespace tilewright::gpu
