#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/requests.hpp"
#include "tilewright/types.hpp"

namespace tilewright {

/// Handles to allocations and parts of them. A handle is a slot (low 24 bits) and a serial number
/// that no other handle of this process has, so a look-up is one comparison and a stale or foreign
/// handle is never found. Not synchronised: the owner holds a lock.
class BufferTable {
 public:
  /// Throws OutOfMemory, in the name of the call, where there are too many.
  Buffer insert(std::string_view op, BufferRange range);
  /// What it stands for, or nullptr for a handle that is not live here.
  const BufferRange* find(Buffer handle) const noexcept {
    const std::uint64_t slot = slot_of(handle);
    if (handle == Buffer::null || slot >= slot_count_ || slots_[slot].handle != handle) {
      return nullptr;
    }
    return &slots_[slot].range;
  }
  struct Removed {
    AllocationRef allocation;  ///< null for a handle that was not live here
    bool was_last = false;     ///< no handle stands for the allocation any more
  };
  /// Takes it out of the table.
  Removed remove(Buffer handle) noexcept;
  std::vector<AllocationRef> remove_all();
  /// Whether the handle was ever given out by some table of this process.
  static bool was_issued(Buffer handle) noexcept;
  /// That some handle stands for.
  std::size_t allocations() const noexcept { return allocations_; }

 private:
  static constexpr std::uint64_t slot_bits = 24;
  static constexpr std::uint64_t slot_mask = (std::uint64_t{1} << slot_bits) - 1;

  static std::uint64_t slot_of(Buffer handle) noexcept {
    return static_cast<std::uint64_t>(handle) & slot_mask;
  }

  struct Slot {
    Buffer handle = Buffer::null;
    BufferRange range;
  };
  std::vector<Slot> slots_;
  std::size_t slot_count_ = 0;  // of slots_, whose own size() takes a division
  std::vector<std::uint32_t> free_slots_;
  std::size_t live_ = 0;
  std::size_t allocations_ = 0;
};

}  // namespace tilewright
