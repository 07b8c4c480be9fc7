#include "cpu/memory.hpp"

#include <cstdlib>
#include <new>

#include "core/text.hpp"
#include "cpu/processor.hpp"
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

void* new_block(std::uint64_t capacity) {
  // The system promises memory that it does not have and ends the process when it is touched.
  if (capacity >= large && capacity > available_memory()) return nullptr;
  void* block =
      ::operator new(capacity, capacity >= large ? huge_alignment : alignment, std::nothrow);
#if defined(__linux__)
  if (block != nullptr && capacity >= large) madvise(block, capacity, MADV_HUGEPAGE);
#endif
  return block;
}

void delete_block(void* block, std::uint64_t capacity) noexcept {
  ::operator delete(block, capacity >= large ? huge_alignment : alignment);
}

}  // namespace

MemoryPool::~MemoryPool() { trim(); }

std::shared_ptr<Allocation> MemoryPool::allocate(std::uint64_t bytes) {
  const std::uint64_t capacity = size_class(bytes);
  void* block = nullptr;
  {
    std::lock_guard lock(mutex_);
    const auto found = free_blocks_.find(capacity);
    if (found != free_blocks_.end() && !found->second.empty()) {
      block = found->second.back();
      found->second.pop_back();
      cached_bytes_ -= capacity;
    }
  }
  if (block == nullptr) block = new_block(capacity);
  if (block == nullptr) {
    trim();
    block = new_block(capacity);
  }
  if (block == nullptr) {
    throw OutOfMemory(text("alloc: ", bytes, " bytes asked for, but the system has only ",
                           available_memory(), " free; free some"),
                      bytes);
  }
  ASAN_UNPOISON_MEMORY_REGION(block, bytes);
  ASAN_POISON_MEMORY_REGION(static_cast<std::byte*>(block) + bytes, capacity - bytes);
  try {
    return std::make_shared<CpuAllocation>(bytes, capacity, block, shared_from_this());
  } catch (...) {
    put_back(block, capacity);
    throw;
  }
}

void MemoryPool::put_back(void* block, std::uint64_t capacity) noexcept {
  ASAN_POISON_MEMORY_REGION(block, capacity);
  try {
    std::lock_guard lock(mutex_);
    if (cached_bytes_ + capacity <= cache_limit_) {
      free_blocks_[capacity].push_back(block);
      cached_bytes_ += capacity;
      return;
    }
  } catch (const std::bad_alloc&) {
    // No room to remember the block: give it back instead.
  }
  ASAN_UNPOISON_MEMORY_REGION(block, capacity);
  delete_block(block, capacity);
}

void MemoryPool::trim() {
  std::map<std::uint64_t, std::vector<void*>> blocks;
  {
    std::lock_guard lock(mutex_);
    blocks.swap(free_blocks_);
    cached_bytes_ = 0;
  }
  for (const auto& [capacity, list] : blocks) {
    for (void* block : list) {
      ASAN_UNPOISON_MEMORY_REGION(block, capacity);
      delete_block(block, capacity);
    }
  }
}

CpuAllocation::~CpuAllocation() { pool_->put_back(block_, capacity_); }

}  // namespace tilewright::cpu
