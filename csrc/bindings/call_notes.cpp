#include "bindings/call_notes.hpp"

#include <algorithm>

#include "bindings/deferred.hpp"
#include "core/call.hpp"

namespace tilewright::bindings {

TILEWRIGHT_MADE_WITH_THREAD constinit thread_local CallNotes* CallNotes::current = nullptr;

CallNotes::CallNotes(const Backend& backend, std::span<const ArrayObject* const> given)
    : backend_(backend),
      given_(given.begin(), given.end()),
      first_call_(calls_made()),
      first_deferred_(deferred_so_far()) {
  current = this;
}

CallNotes::~CallNotes() { current = nullptr; }

bool CallNotes::is_whole() const noexcept {
  return !is_lost_ && calls_made() - first_call_ == noted_calls_;
}

void CallNotes::made(const ArrayMemory& memory, Size elements, DType dtype, bool is_complex) {
  if (memory.backend().get() != &backend_) return lose();
  fresh_.push_back({elements, dtype, is_complex});
  fresh_buffers_.push_back(memory.buffer());
}

void CallNotes::written(const ArrayMemory& memory) {
  if (std::ranges::find(fresh_buffers_, memory.buffer()) == fresh_buffers_.end()) lose();
}

void CallNotes::made_part(Buffer part, Buffer whole, Size start) {
  parts_.push_back({part, whole, start});
}

void CallNotes::add(const Backend& backend, std::unique_ptr<const NotedCall> call,
                    std::uint64_t calls) {
  if (&backend != &backend_) return lose();
  calls_.push_back(std::move(call));
  noted_calls_ += calls;
}

std::size_t CallNotes::slot_of(Buffer buffer) {
  if (buffer == Buffer::null) return no_slot;
  const auto known = std::ranges::find(slots_, buffer, &BufferSlot::buffer);
  if (known != slots_.end()) {
    known->last = calls_.size();
    if (known->from == BufferSlot::From::part) slots_[known->index].last = calls_.size();
    return static_cast<std::size_t>(known - slots_.begin());
  }
  const auto add_slot = [&](BufferSlot::From from, std::size_t index) {
    slots_.push_back({from, index, buffer, calls_.size(), calls_.size()});
    return slots_.size() - 1;
  };
  const auto part = std::ranges::find(parts_, buffer, &Part::part);
  const auto fresh = std::ranges::find(fresh_buffers_, buffer);
  if (fresh != fresh_buffers_.end()) {
    return add_slot(BufferSlot::From::fresh,
                    static_cast<std::size_t>(fresh - fresh_buffers_.begin()));
  }
  for (std::size_t i = 0; i < given_.size(); ++i) {
    const ArrayObject& one = *given_[i];
    if (one.filled == nullptr) continue;
    if (one.filled->buffer() == buffer) return add_slot(BufferSlot::From::given, i);
    if (one.part != nullptr && one.part->buffer == buffer)
      return add_slot(BufferSlot::From::given_part, i);
    if (part != parts_.end() && part->whole == one.filled->buffer() &&
        part->start == one.offset * one.item_bytes()) {
      return add_slot(BufferSlot::From::given_part, i);
    }
  }
  if (part != parts_.end()) {
    const std::size_t whole = slot_of(part->whole);
    if (whole == no_slot) return no_slot;
    const std::size_t made = add_slot(BufferSlot::From::part, whole);
    slots_[made].start = part->start;
    return made;
  }
  for (std::size_t i = 0; i < kept_.size(); ++i) {
    if (kept_[i]->buffer() == buffer) return add_slot(BufferSlot::From::kept, i);
  }
  lose();
  return no_slot;
}

NotesPaused::NotesPaused() noexcept
    : notes_(std::exchange(CallNotes::current, nullptr)), first_call_(calls_made()) {}

NotesPaused::~NotesPaused() {
  if (notes_ != nullptr) notes_->noted_calls_ += calls_made() - first_call_;
  CallNotes::current = notes_;
}

}  // namespace tilewright::bindings
