#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <string_view>
#include <utility>

#include "core/call_key.hpp"
#include "core/program/program_data.hpp"
#include "core/requests.hpp"
#include "tilewright/program.hpp"

// Calls that differ from one before in nothing but their buffers, and in where operands start in
// these: what was checked of the others holds for them.
namespace tilewright {

/// What an operand reaches from its first element on, in elements.
struct OperandReach {
  Size before, past, item;  ///< item: bytes of an element

  /// Of one that was checked, which starts at an element of its allocation.
  static OperandReach of(const auto& checked, DType dtype) {
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
  std::atomic<bool> is_used = false;

  /// Gives the request the operands of a call from one on, which given(i) names; false, with none
  /// given, where one is not right, or an output shares an allocation with another, which the
  /// checks judge and word.
  template <class Call, class Given>
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

/// Those of a backend. Not synchronised, but for the end of a use: the owner holds a lock.
template <class Request>
class KeptRequests {
 public:
  using Kept = KeptRequest<Request>;

  /// Null where there is none, or a call uses it, of this thread or of another.
  Kept* find(const CallKey& key) {
    Kept* const found = place(key).get();
    return found != nullptr && found->key == key && !is_in_use(*found) ? found : nullptr;
  }
  void keep(std::unique_ptr<Kept> made) {
    std::unique_ptr<Kept>& to = place(made->key);
    if (to == nullptr || !is_in_use(*to)) to = std::move(made);
  }

 private:
  static constexpr int bits = 6;
  static bool is_in_use(const Kept& kept) { return kept.is_used.load(std::memory_order_acquire); }
  std::unique_ptr<Kept>& place(const CallKey& key) { return kept_[key.hash() >> (64 - bits)]; }

  std::array<std::unique_ptr<Kept>, std::size_t{1} << bits> kept_;
};

/// While a kept request is used: it ends without allocations.
template <class Request>
class UsedRequest {
 public:
  /// With the lock held under which it was found.
  explicit UsedRequest(KeptRequest<Request>& kept) : kept_(kept) {
    kept.is_used.store(true, std::memory_order_relaxed);
  }
  ~UsedRequest() {
    kept_.clear(kept_.count);
    kept_.is_used.store(false, std::memory_order_release);
  }
  UsedRequest(const UsedRequest&) = delete;
  UsedRequest& operator=(const UsedRequest&) = delete;

 private:
  KeptRequest<Request>& kept_;
};

/// Keeps what fill(kept) makes of one, if there is memory for it. Called without the lock.
template <class Request, class Fill>
void keep_request(std::mutex& lock, KeptRequests<Request>& all, const CallKey& key,
                  const Fill& fill) {
  try {
    auto made = std::make_unique<KeptRequest<Request>>();
    made->key = key;
    fill(*made);
    made->clear(made->count);
    const std::lock_guard locked(lock);
    all.keep(std::move(made));
  } catch (const std::bad_alloc&) {
    // The next call is checked as this one was.
  }
}

}  // namespace tilewright
