#include "block.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <new>

#include "settings.hpp"

namespace ze_cpu {
namespace {

constexpr size_t kPage = 4096;
// Kernels that read outside do so by rows and tiles more than by single elements.
constexpr size_t kFence = size_t(1) << 20;

size_t rounded_up(size_t size, size_t unit) { return (size + unit - 1) / unit * unit; }

char* rounded_down(char* pointer, size_t unit) {
  return pointer - reinterpret_cast<uintptr_t>(pointer) % unit;
}

}  // namespace

Block::Block(size_t size, size_t alignment) {
  if (settings().guard_pages) {
    take_before_a_fence(size, alignment);
  } else {
    take_with_bands(size, alignment);
  }
}

Block::~Block() {
  if (reserved_ > 0) {
    munmap(start_, reserved_);
  } else {
    std::free(start_);
  }
}

void Block::take_with_bands(size_t size, size_t alignment) {
  const size_t front = rounded_up(kBand, alignment);
  bytes_ = rounded_up(front + size + kBand, alignment);
  start_ = static_cast<char*>(std::aligned_alloc(alignment, bytes_));
  if (start_ == nullptr) throw std::bad_alloc();
  data_ = start_ + front;
}

void Block::take_before_a_fence(size_t size, size_t alignment) {
  const size_t unit = std::max(alignment, kPage), room = rounded_up(size, alignment);
  reserved_ = kPage + rounded_up(kBand + room, kPage) + unit + kFence;
  void* const space =
      mmap(nullptr, reserved_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (space == MAP_FAILED) throw std::bad_alloc();
  start_ = static_cast<char*>(space);
  char* const end = rounded_down(start_ + reserved_ - kFence, unit);
  data_ = end - room;
  char* const first = rounded_down(data_ - kBand, kPage);
  bytes_ = size_t(end - first);
  band_after_ = std::min(room - size, kBand);
  if (mprotect(first, bytes_, PROT_READ | PROT_WRITE) != 0) {
    munmap(start_, reserved_);
    throw std::bad_alloc();
  }
}

}  // namespace ze_cpu
