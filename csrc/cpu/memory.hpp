#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include "core/free_blocks.hpp"
#include "core/memory_budget.hpp"
#include "core/requests.hpp"

namespace tilewright::cpu {

/// A block of memory, and how to give it back to the system.
struct BlockDeleter {
  std::uint64_t capacity = 0;
  void operator()(void* block) const noexcept;
};
using Block = std::unique_ptr<void, BlockDeleter>;

/// Gives out blocks of memory by size class. Freed ones are kept for reuse, those of the sizes that
/// were used last, until they hold `cache_limit` bytes, the budget has no more room or the system
/// has no more memory. Blocks outlive the pool.
class MemoryPool : public std::enable_shared_from_this<MemoryPool> {
 public:
  MemoryPool(std::shared_ptr<MemoryBudget> budget, std::uint64_t cache_limit)
      : budget_(std::move(budget)), cache_limit_(cache_limit) {}
  ~MemoryPool();

  /// Of bytes that the caller has counted in the budget. 64-byte aligned. Throws OutOfMemory.
  AllocationRef allocate(std::uint64_t bytes);
  /// The same of a kept block alone; null where there is none.
  AllocationRef at_hand(std::uint64_t bytes);
  /// The same for an op itself, counted in the budget until the op lets go of it.
  AllocationRef scratch(std::string_view op, std::uint64_t bytes);
  std::uint64_t scratch_room() const { return budget_->room(); }
  std::uint64_t cache_limit() const { return cache_limit_; }
  std::uint64_t cached_bytes() const { return cached_bytes_; }
  void trim();

 private:
  friend class CpuAllocation;
  AllocationRef take(std::string_view op, std::uint64_t bytes, bool is_scratch);
  AllocationRef in_block(Block block, std::uint64_t bytes, bool is_scratch);
  void put_back(Block block) noexcept;
  /// Lets go of kept blocks until `enough()`; called with the lock held.
  template <class Enough>
  void drop_until(const Enough& enough, std::vector<Block>& dropped);

  const std::shared_ptr<MemoryBudget> budget_;
  const std::uint64_t cache_limit_;
  std::mutex mutex_;
  FreeBlocks<Block> free_;
  std::atomic<std::uint64_t> cached_bytes_{0};
};

class CpuAllocation final : public Allocation {
 public:
  CpuAllocation(std::uint64_t bytes, Block block, std::shared_ptr<MemoryPool> pool, bool is_scratch)
      : Allocation(bytes),
        block_(std::move(block)),
        pool_(std::move(pool)),
        is_scratch_(is_scratch) {}
  ~CpuAllocation() override;
  std::byte* data() const { return static_cast<std::byte*>(block_.get()); }

 private:
  Block block_;
  std::shared_ptr<MemoryPool> pool_;
  bool is_scratch_;
};

/// Its elements.
template <class T>
T* data(const AllocationRef& allocation) {
  return reinterpret_cast<T*>(static_cast<CpuAllocation&>(*allocation).data());
}
/// Those of a checked request's operand.
template <class T>
T* data(const BufferRange& range) {
  return reinterpret_cast<T*>(static_cast<CpuAllocation&>(*range.allocation).data() + range.offset);
}

}  // namespace tilewright::cpu
