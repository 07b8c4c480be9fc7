#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "bindings/array.hpp"
#include "core/thread_memory.hpp"

// What a function of Arrays asks of the trait, noted while Python runs it, so that a later call of
// the same form asks for the same without Python (call_plan.hpp).
namespace tilewright::bindings {

/// A call of the trait, to be made again with other buffers.
class NotedCall {
 public:
  NotedCall() = default;
  virtual ~NotedCall() = default;
  NotedCall(const NotedCall&) = delete;
  NotedCall& operator=(const NotedCall&) = delete;
  /// `buffers`: one for each slot that its notes have.
  virtual void run(Backend& backend, std::span<const Buffer> buffers) const = 0;
};

/// What the buffer of a slot is in a later call.
struct BufferSlot {
  enum class From : std::uint8_t {
    given,       ///< the memory of an Array that is given
    given_part,  ///< the same from its first element on
    fresh,       ///< memory of its own
    part,        ///< the memory of another slot from some byte on
    kept,        ///< a table of the package's own, while that is there
  };
  From from;
  std::size_t index;  ///< among the Arrays that are given, the fresh or the kept ones, or a slot
  Buffer buffer;      ///< while it is noted
  std::size_t first, last;  ///< of the calls that use it; how many there are, of the result alone
  Size start = 0;           ///< of a part
};

/// Memory that was made while calls were noted.
struct FreshMemory {
  Size elements;
  DType dtype;
  bool is_complex;
};

/// While it lives, the calls that its thread makes of one backend are noted in it. They are `lost`
/// where some cannot be made again: what reads elements, writes what is given, or meets buffers
/// that are neither given nor fresh.
class CallNotes {
 public:
  CallNotes(const Backend& backend, std::span<const ArrayObject* const> given);
  ~CallNotes();
  CallNotes(const CallNotes&) = delete;
  CallNotes& operator=(const CallNotes&) = delete;

  /// Those of this thread; null where it notes nothing.
  static CallNotes* here() noexcept { return current; }

  void lose() noexcept { is_lost_ = true; }
  /// Whether all that the thread asked for since the start is noted.
  bool is_whole() const noexcept;

  /// Memory of an Array was made.
  void made(const ArrayMemory& memory, Size elements, DType dtype, bool is_complex);
  /// Elements of memory are about to be written.
  void written(const ArrayMemory& memory);
  /// A table whose elements are the same whenever it is asked for.
  void keep(const Memory& table) { kept_.push_back(table); }
  /// A handle on a part of memory, from `start` bytes on.
  void made_part(Buffer part, Buffer whole, Size start);
  /// A call was made, which counted as `calls`.
  void add(const Backend& backend, std::unique_ptr<const NotedCall> call, std::uint64_t calls);

  static constexpr std::size_t no_slot = SIZE_MAX;
  /// Of a buffer that the next call to be added uses; no_slot of the null handle, and where the
  /// notes are lost.
  std::size_t slot_of(Buffer buffer);

  /// Whether what waits was called for before the notes were begun.
  bool is_older(std::uint64_t deferred) const noexcept { return deferred < first_deferred_; }

  std::span<const ArrayObject* const> given() const noexcept { return given_; }
  std::span<const FreshMemory> fresh() const noexcept { return fresh_; }
  std::span<const Memory> kept() const noexcept { return kept_; }
  std::span<const BufferSlot> slots() const noexcept { return slots_; }
  std::size_t calls() const noexcept { return calls_.size(); }
  std::vector<std::unique_ptr<const NotedCall>> take_calls() noexcept { return std::move(calls_); }

 private:
  friend class NotesPaused;
  struct Part {
    Buffer part, whole;
    Size start;
  };

  TILEWRIGHT_MADE_WITH_THREAD static constinit thread_local CallNotes* current;

  const Backend& backend_;
  std::vector<const ArrayObject*> given_;
  std::vector<FreshMemory> fresh_;
  std::vector<Buffer> fresh_buffers_;
  std::vector<Memory> kept_;
  std::vector<Part> parts_;
  std::vector<BufferSlot> slots_;
  std::vector<std::unique_ptr<const NotedCall>> calls_;
  std::uint64_t first_call_, noted_calls_ = 0, first_deferred_;
  bool is_lost_ = false;
};

/// While it lives nothing is noted: for what others asked for before.
class NotesPaused {
 public:
  NotesPaused() noexcept;
  ~NotesPaused();
  NotesPaused(const NotesPaused&) = delete;
  NotesPaused& operator=(const NotesPaused&) = delete;

 private:
  CallNotes* notes_;
  std::uint64_t first_call_;
};

}  // namespace tilewright::bindings
