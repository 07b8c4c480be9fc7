// Host, device and shared memory: host memory all of it, between guard bands and full of poison.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "block.hpp"
#include "device.hpp"
#include "object.hpp"

namespace ze_cpu {

class Allocation : public Object {
 public:
  static constexpr Kind kKind = Kind::memory;

  Allocation(std::shared_ptr<Object> context, ze_memory_type_t type, ze_device_handle_t device,
             size_t size, size_t alignment);

  char* data() const { return block_.data(); }
  /// What the system gives for it, guard bands and all.
  size_t footprint() const { return block_.bytes(); }
  /// Says what is wrong with the guard bands, once; empty if nothing is.
  std::string damage();

  const ze_memory_type_t type;
  const ze_device_handle_t device;
  const size_t size;
  const uint64_t number;

 private:
  Block block_;
  bool reported_ = false;
};

/// What runs now, for a report of a touch of memory that is nobody's; null for nothing.
void set_running(const char* name);

/// The allocation that all of [pointer, pointer + bytes) lies in. Null if the pointer is in none;
/// throws INVALID_ARGUMENT if it is in freed memory or the end is past the allocation.
std::shared_ptr<Allocation> find_memory(const void* pointer, size_t bytes, const char* what);

}  // namespace ze_cpu
