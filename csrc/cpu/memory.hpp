#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "core/requests.hpp"

namespace tilewright::cpu {

/// Gives out blocks of memory and keeps freed ones for reuse: a block serves requests of its size
/// class, and at most `cache_limit` bytes are kept. Blocks outlive the pool.
class MemoryPool : public std::enable_shared_from_this<MemoryPool> {
 public:
  explicit MemoryPool(std::uint64_t cache_limit) : cache_limit_(cache_limit) {}
  ~MemoryPool();

  /// 64-byte aligned. Throws OutOfMemory.
  std::shared_ptr<Allocation> allocate(std::uint64_t bytes);
  std::uint64_t cached_bytes() const { return cached_bytes_.load(std::memory_order_relaxed); }
  void trim();

 private:
  friend class CpuAllocation;
  void put_back(void* block, std::uint64_t capacity) noexcept;

  const std::uint64_t cache_limit_;
  std::mutex mutex_;
  std::map<std::uint64_t, std::vector<void*>> free_blocks_;  // by capacity
  std::atomic<std::uint64_t> cached_bytes_{0};
};

class CpuAllocation final : public Allocation {
 public:
  CpuAllocation(std::uint64_t bytes, std::uint64_t capacity, void* block,
                std::shared_ptr<MemoryPool> pool)
      : Allocation(bytes), capacity_(capacity), block_(block), pool_(std::move(pool)) {}
  ~CpuAllocation() override;
  std::byte* data() const { return static_cast<std::byte*>(block_); }

 private:
  std::uint64_t capacity_;
  void* block_;
  std::shared_ptr<MemoryPool> pool_;
};

/// The elements of a checked request's allocation.
template <class T>
T* data(const AllocationRef& allocation) {
  return reinterpret_cast<T*>(static_cast<CpuAllocation&>(*allocation).data());
}

}  // namespace tilewright::cpu
