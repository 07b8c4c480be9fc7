#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include "core/call.hpp"
#include "core/call_key.hpp"
#include "core/map_operands.hpp"
#include "core/program/program_data.hpp"
#include "core/requests.hpp"

// Calls that differ from one before in nothing but their buffers, and in where operands start in
// these: what was checked of the others holds for them.
namespace tilewright {

/// What an operand reaches from its first element on, in elements.
struct OperandReach {
  Size before, past, item;  ///< item: bytes of an element

  /// Of one that was checked, which starts at an element of its allocation.
  static OperandReach of(const CheckedOperand& checked, DType dtype) {
    const auto item = static_cast<Size>(size_of(dtype));
    const Size start = checked.operand.offset;
    return {start - checked.place.first / item, checked.place.past / item - start, item};
  }
  bool holds(const MapOperand& given, const BufferRange& range) const {
    constexpr std::uint64_t largest_element = 16;
    constexpr Size most_offset = Size{1} << 48;
    if (given.offset < before || given.offset > most_offset) return false;
    if (range.offset % largest_element != 0) return false;
    return static_cast<std::uint64_t>((given.offset + past) * item) <= range.bytes;
  }
};

/// The operands of requests in the order in which they are kept, outputs last.
inline MapRequest::Operand& operand_of(MapRequest& r, std::size_t i) { return r.operands[i]; }
inline MapRequest::Operand& operand_of(FoldRequest& r, std::size_t i) { return r.operands[i]; }
inline MapRequest::Operand& operand_of(MoveRequest& r, std::size_t i) {
  if (i == 0) return r.source;
  return i <= r.indices.size() ? r.indices[i - 1].operand : r.output;
}

/// A request that was checked, and what the checks looked at.
template <class Request>
struct KeptRequest {
  static constexpr std::size_t most_operands = 8;

  CallKey key;
  std::array<ProgramRef, 2> programs;  ///< those of the call: keys have only their addresses
  Request request;                     ///< without allocations
  std::array<OperandReach, most_operands> reaches;
  std::size_t count = 0, outputs = 0;
  bool is_used = false;

  /// Gives the request the operands of a call from one on, which given(i) names; false, with none
  /// given, where one is not right, or an output shares an allocation with another, which the
  /// checks judge and word.
  template <class Given>
  bool fill(const Call& call, const Given& given, std::size_t first = 0) {
    for (std::size_t i = first; i < count; ++i) {
      const std::pair<std::string_view, const MapOperand&> one = given(i);
      const BufferRange& range = call.buffer(one.first, one.second.buffer);
      const bool is_output = i >= count - outputs;
      if (!reaches[i].holds(one.second, range) || (is_output && is_shared(range, i))) {
        clear(i);
        return false;
      }
      MapRequest::Operand& to = operand_of(request, i);
      to.allocation = range.allocation;
      to.offset = static_cast<Size>(range.offset) / reaches[i].item + one.second.offset;
    }
    return true;
  }
  void clear(std::size_t past) noexcept {
    for (std::size_t i = 0; i < past; ++i) operand_of(request, i).allocation = nullptr;
  }

 private:
  bool is_shared(const BufferRange& range, std::size_t before) {
    for (std::size_t i = 0; i < before; ++i) {
      if (operand_of(request, i).allocation == range.allocation) return true;
    }
    return false;
  }
};

/// Those of a thread.
template <class Request>
class KeptRequests {
 public:
  using Kept = KeptRequest<Request>;

  static KeptRequests& of_thread() {
    thread_local KeptRequests kept;
    return kept;
  }
  /// Null where there is none, or it is used further up the stack.
  Kept* find(const CallKey& key) {
    Kept* const found = place(key).get();
    return found != nullptr && !found->is_used && found->key == key ? found : nullptr;
  }
  void keep(std::unique_ptr<Kept> made) {
    std::unique_ptr<Kept>& to = place(made->key);
    made->clear(made->count);
    if (to == nullptr || !to->is_used) to = std::move(made);
  }

 private:
  static constexpr int bits = 6;
  std::unique_ptr<Kept>& place(const CallKey& key) { return kept_[key.hash() >> (64 - bits)]; }

  std::array<std::unique_ptr<Kept>, std::size_t{1} << bits> kept_;
};

/// While a kept request is used: it ends without allocations.
template <class Request>
class UsedRequest {
 public:
  explicit UsedRequest(KeptRequest<Request>& kept) : kept_(kept) { kept.is_used = true; }
  ~UsedRequest() {
    kept_.clear(kept_.count);
    kept_.is_used = false;
  }
  UsedRequest(const UsedRequest&) = delete;
  UsedRequest& operator=(const UsedRequest&) = delete;

 private:
  KeptRequest<Request>& kept_;
};

}  // namespace tilewright
