// Where allocations get their bytes from.
#pragma once

#include <cstddef>

namespace ze_cpu {

/// Memory with guard bands around it, which are looked at; with ZE_CPU_GUARD_PAGES it ends where
/// pages begin that the processor lets nobody touch.
class Block {
 public:
  static constexpr size_t kBand = 256;

  /// Throws std::bad_alloc.
  Block(size_t size, size_t alignment);
  ~Block();
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  char* data() const { return data_; }
  size_t band_before() const { return kBand; }
  size_t band_after() const { return band_after_; }
  /// What the system gives for it.
  size_t bytes() const { return bytes_; }

 private:
  void take_with_bands(size_t size, size_t alignment);
  void take_before_a_fence(size_t size, size_t alignment);

  char* start_ = nullptr;
  char* data_ = nullptr;
  size_t reserved_ = 0;  ///< of address space; 0 for memory from the heap
  size_t bytes_ = 0;
  size_t band_after_ = kBand;
};

}  // namespace ze_cpu
