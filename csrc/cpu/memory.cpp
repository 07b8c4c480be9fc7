#include "cpu/memory.hpp"

#include <algorithm>
#include <new>

#include "core/host_memory.hpp"
#include "core/text.hpp"
#include "tilewright/error.hpp"

#if defined(__linux__)
#include <sys/mman.h>
#endif

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#endif

namespace tilewright::cpu {

namespace {

constexpr std::uint64_t huge_page = 2 << 20;
constexpr std::uint64_t large = 4 * huge_page;
constexpr auto alignment = static_cast<std::align_val_t>(64);
constexpr auto huge_alignment = static_cast<std::align_val_t>(huge_page);

/// Requests within an eighth of each other share a class.
std::uint64_t size_class(std::uint64_t bytes) {
  if (bytes <= 256) return (bytes + 63) / 64 * 64;
  std::uint64_t step = 64;
  while (step * 16 < bytes) step *= 2;
  return (bytes + step - 1) / step * step;
}

/// Null where the system has no memory.
Block new_block(std::uint64_t capacity) {
  // The system promises memory that it does not have and ends the process when it is touched.
  if (capacity >= large && capacity > available_memory()) return nullptr;
  Block block(
      ::operator new(capacity, capacity >= large ? huge_alignment : alignment, std::nothrow),
      BlockDeleter{capacity});
#if defined(__linux__)
  if (block && capacity >= large) madvise(block.get(), capacity, MADV_HUGEPAGE);
#endif
  return block;
}

}  // namespace

void BlockDeleter::operator()(void* block) const noexcept {
  ASAN_UNPOISON_MEMORY_REGION(block, capacity);
  ::operator delete(block, capacity >= large ? huge_alignment : alignment);
}

MemoryPool::~MemoryPool() { trim(); }

AllocationRef MemoryPool::allocate(std::uint64_t bytes) { return take("alloc", bytes, false); }

AllocationRef MemoryPool::at_hand(std::uint64_t bytes) {
  Block block;
  {
    std::lock_guard lock(mutex_);
    auto kept = free_.take(size_class(bytes));
    if (!kept) return nullptr;
    block = std::move(*kept);
    cached_bytes_ = free_.bytes();
  }
  return in_block(std::move(block), bytes, false);
}

AllocationRef MemoryPool::scratch(std::string_view op, std::uint64_t bytes) {
  budget_->take_scratch(op, bytes);
  try {
    return take(op, bytes, true);
  } catch (...) {
    budget_->give_back_scratch(bytes);
    throw;
  }
}

AllocationRef MemoryPool::take(std::string_view op, std::uint64_t bytes, bool is_scratch) {
  const std::uint64_t capacity = size_class(bytes);
  Block block;
  {
    std::vector<Block> dropped;
    std::lock_guard lock(mutex_);
    if (auto kept = free_.take(capacity)) {
      block = std::move(*kept);
      cached_bytes_ = free_.bytes();
    } else {
      drop_until([&] { return free_.bytes() <= budget_->room(); }, dropped);
    }
  }
  if (!block) block = new_block(capacity);
  if (!block) {
    trim();
    block = new_block(capacity);
  }
  if (!block) {
    throw OutOfMemory(text(op, ": ", bytes, " bytes asked for, but the system has only ",
                           available_memory(), " free; free some"),
                      bytes);
  }
  budget_->note_peaks();
  return in_block(std::move(block), bytes, is_scratch);
}

AllocationRef MemoryPool::in_block(Block block, std::uint64_t bytes, bool is_scratch) {
  ASAN_UNPOISON_MEMORY_REGION(block.get(), bytes);
  ASAN_POISON_MEMORY_REGION(static_cast<std::byte*>(block.get()) + bytes,
                            block.get_deleter().capacity - bytes);
  return std::make_shared<CpuAllocation>(bytes, std::move(block), shared_from_this(), is_scratch);
}

void MemoryPool::put_back(Block block) noexcept {
  const std::uint64_t capacity = block.get_deleter().capacity;
  ASAN_POISON_MEMORY_REGION(block.get(), capacity);
  std::vector<Block> dropped;
  std::lock_guard lock(mutex_);
  const std::uint64_t most = std::min(cache_limit_, budget_->room());
  if (capacity > most) return;
  try {
    drop_until([&] { return free_.bytes() + capacity <= most; }, dropped);
    free_.put(capacity, std::move(block));
    cached_bytes_ = free_.bytes();
  } catch (const std::bad_alloc&) {
    // No room to remember the block: it is given back instead.
  }
}

template <class Enough>
void MemoryPool::drop_until(const Enough& enough, std::vector<Block>& dropped) {
  while (free_.bytes() > 0 && !enough()) {
    dropped.emplace_back();
    dropped.back() = free_.take_oldest();
  }
  cached_bytes_ = free_.bytes();
}

void MemoryPool::trim() {
  std::vector<Block> dropped;
  std::lock_guard lock(mutex_);
  drop_until([] { return false; }, dropped);
}

CpuAllocation::~CpuAllocation() {
  if (is_scratch_) pool_->budget_->give_back_scratch(bytes());
  pool_->put_back(std::move(block_));
}

}  // namespace tilewright::cpu
