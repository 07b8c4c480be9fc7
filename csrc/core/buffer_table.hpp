#pragma once

#include <cstdint>
#include <vector>

#include "core/requests.hpp"
#include "tilewright/types.hpp"

namespace tilewright {

/// Handles to allocations. A handle is a slot (low 24 bits) and a serial number that no other
/// handle of this process has, so a look-up is one comparison and a stale or foreign handle is
/// never found. Not synchronised: the owner holds a lock.
class BufferTable {
 public:
  Buffer insert(AllocationRef allocation);
  /// The allocation, or nullptr for a handle that is not live here.
  const AllocationRef* find(Buffer handle) const noexcept {
    const std::uint64_t slot = slot_of(handle);
    if (handle == Buffer::null || slot >= slots_.size() || slots_[slot].handle != handle) {
      return nullptr;
    }
    return &slots_[slot].allocation;
  }
  /// Takes it out of the table; null for a handle that is not live here.
  AllocationRef remove(Buffer handle) noexcept;
  std::vector<AllocationRef> remove_all();
  /// Whether the handle was ever given out by some table of this process.
  static bool was_issued(Buffer handle) noexcept;
  std::size_t size() const noexcept { return live_; }

 private:
  static constexpr std::uint64_t slot_bits = 24;
  static constexpr std::uint64_t slot_mask = (std::uint64_t{1} << slot_bits) - 1;

  static std::uint64_t slot_of(Buffer handle) noexcept {
    return static_cast<std::uint64_t>(handle) & slot_mask;
  }

  struct Slot {
    Buffer handle = Buffer::null;
    AllocationRef allocation;
  };
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_slots_;
  std::size_t live_ = 0;
};

}  // namespace tilewright
