#include "core/buffer_table.hpp"

#include <atomic>
#include <utility>

#include "core/text.hpp"
#include "tilewright/error.hpp"

namespace tilewright {

namespace {
std::atomic<std::uint64_t> last_serial{0};
}  // namespace

Buffer BufferTable::insert(std::string_view op, BufferRange range) {
  constexpr std::uint64_t max_serial = (std::uint64_t{1} << (64 - slot_bits)) - 1;
  if (free_slots_.empty() && slots_.size() > slot_mask) {
    throw OutOfMemory(
        text(op, ": 16777216 handles are live, the most a backend can hold; free some"),
        range.bytes);
  }
  const std::uint64_t serial = last_serial.fetch_add(1, std::memory_order_relaxed) + 1;
  if (serial > max_serial) {
    throw OutOfMemory(text(op, ": this process has used up its 2^40 buffer handles; restart it"),
                      range.bytes);
  }
  if (free_slots_.empty()) {
    // Room for every slot, so that remove() never allocates.
    if (free_slots_.capacity() <= slots_.size()) free_slots_.reserve(2 * slots_.size() + 16);
    slots_.emplace_back();
    slot_count_ = slots_.size();
    free_slots_.push_back(static_cast<std::uint32_t>(slots_.size() - 1));
  }
  const std::uint32_t slot = free_slots_.back();
  free_slots_.pop_back();
  const auto handle = static_cast<Buffer>((serial << slot_bits) | slot);
  if (range.allocation->handles_++ == 0) ++allocations_;
  slots_[slot] = {handle, std::move(range)};
  ++live_;
  return handle;
}

BufferTable::Removed BufferTable::remove(Buffer handle) noexcept {
  if (find(handle) == nullptr) return {};
  Slot& slot = slots_[slot_of(handle)];
  Removed removed{std::move(slot.range.allocation)};
  slot = {};
  removed.was_last = --removed.allocation->handles_ == 0;
  if (removed.was_last) --allocations_;
  free_slots_.push_back(static_cast<std::uint32_t>(slot_of(handle)));
  --live_;
  return removed;
}

std::vector<AllocationRef> BufferTable::remove_all() {
  std::vector<AllocationRef> all;
  all.reserve(live_);
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i].handle != Buffer::null) all.push_back(remove(slots_[i].handle).allocation);
  }
  return all;
}

bool BufferTable::was_issued(Buffer handle) noexcept {
  const std::uint64_t serial = static_cast<std::uint64_t>(handle) >> slot_bits;
  return serial != 0 && serial <= last_serial.load(std::memory_order_relaxed);
}

}  // namespace tilewright
