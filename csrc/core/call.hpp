#pragma once

#include <bit>
#include <cstdint>
#include <initializer_list>
#include <mutex>
#include <span>
#include <string_view>

#include "core/fork.hpp"
#include "core/requests.hpp"
#include "core/state.hpp"
#include "core/thread_memory.hpp"
#include "tilewright/export.hpp"
#include "tilewright/types.hpp"

namespace tilewright {

/// A call that cannot be kept in a recording: what to do instead, in the words of its refusal.
struct NotRecorded {
  std::string_view instead;
};
/// A call that is run at once where its thread records.
struct RunAtOnce {};

/// How many calls this thread made, but for those that are run at once where their thread records.
TILEWRIGHT_API std::uint64_t calls_made() noexcept;

/// One call of the trait while it is checked and run: the place where all arguments are checked.
///
/// Construction throws NotInitialized, then holds the buffer table until checked(); the backend
/// cannot close before the Call is gone. Every message starts with the call's name. Where the
/// thread records, a recording notes the buffers of a call that it keeps.
class Call {
 public:
  Call(BackendState& state, std::string_view op);
  Call(BackendState& state, std::string_view op, NotRecorded);
  Call(BackendState& state, std::string_view op, RunAtOnce);
  ~Call();
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  std::string_view op() const { return op_; }

  /// Checking is over: lets other threads at the buffer table.
  void checked() { lock_.unlock(); }

  [[noreturn]] void invalid(const std::string& what) const;

  // What is right is checked in line; what is wrong goes to the functions that word it.

  void not_negative(std::string_view name, Size value) const {
    if (value < 0) [[unlikely]]
      below(name, value, 0);
  }
  void positive(std::string_view name, Size value) const {
    if (value < 1) [[unlikely]]
      below(name, value, 1);
  }
  void float_dtype(DType dtype, std::string_view name = "dtype") const {
    if (dtype != DType::float32 && dtype != DType::float16) [[unlikely]]
      no_float(name, dtype);
  }
  void positive_finite(std::string_view name, double value) const;
  /// In float32.
  void finite(std::string_view name, double value) const;

  template <class Enum>
  void known(std::string_view name, Enum value) const {
    if (static_cast<std::size_t>(value) >= EnumNames<Enum>::values.size()) [[unlikely]] {
      unknown(name, EnumNames<Enum>::kind);
    }
  }

  /// a * b and a + b of sizes that are not negative; InvalidArgument where they overflow.
  Size mul(Size a, Size b) const {
    if (((a | b) >> 31) != 0) [[unlikely]]
      return mul_large(a, b);
    return a * b;
  }
  Size add(Size a, Size b) const;
  Size product(std::span<const Size> sizes) const;
  Size product(std::initializer_list<Size> sizes) const {
    return product(std::span(sizes.begin(), sizes.size()));
  }
  /// The elements that `count` pieces of `piece` elements span whose starts are `stride` apart.
  Size spanned(std::string_view name, Size count, Size stride, Size piece) const {
    if (((count | stride | piece) >> 31) != 0) [[unlikely]] {
      return spanned_large(name, count, stride, piece);
    }
    return (count - 1) * stride + piece;
  }

  /// Every size not negative, at most max_rank of them.
  void shape(std::string_view name, std::span<const Size> shape) const;
  /// axis within the shape, counted from the front.
  std::size_t axis(Size axis, std::span<const Size> shape) const;

  /// The first `elements` of dtype behind a handle, which must hold them; none for the null handle
  /// where there are no elements.
  BufferRange buffer(std::string_view name, Buffer handle, Size elements, DType dtype) const {
    if (elements == 0 && handle == Buffer::null) [[unlikely]]
      return {};
    const BufferRange& range = find(name, handle);
    const int shift = std::countr_zero(size_of(dtype));
    const auto count = static_cast<std::uint64_t>(elements);
    constexpr std::uint64_t largest_element = 16;
    if (count > range.bytes >> shift || range.offset % largest_element != 0) [[unlikely]] {
      check_held(name, range, elements, dtype);
    }
    return {range.allocation, range.offset, count << shift};
  }
  const BufferRange& buffer(std::string_view name, Buffer handle) const {
    return find(name, handle);
  }

  // How an output may lie to an input.

  void apart(std::string_view output_name, const BufferRange& output, std::string_view name,
             const BufferRange& input) const {
    if (output.allocation == input.allocation && output.overlaps(input)) [[unlikely]]
      overlap(output_name, output, name, input, "pass ranges that lie apart");
  }
  void apart_or_same(std::string_view output_name, const BufferRange& output, std::string_view name,
                     const BufferRange& input) const {
    if (output.allocation == input.allocation && !(output == input) && output.overlaps(input))
        [[unlikely]] {
      overlap(output_name, output, name, input,
              "pass the same range for both, or ranges that lie apart");
    }
  }
  [[noreturn]] void overlap(std::string_view output_name, const BufferRange& output,
                            std::string_view name, const BufferRange& input,
                            std::string_view remedy) const;

 private:
  const BufferRange& find(std::string_view name, Buffer handle) const {
    const BufferRange* found = state_.buffers.find(handle);
    if (found == nullptr) [[unlikely]]
      not_live(name, handle);
    if (recorded_ != nullptr) [[unlikely]]
      state_.recordings.note(*found, handle, op_);
    return *found;
  }
  Size mul_large(Size a, Size b) const;
  Size spanned_large(std::string_view name, Size count, Size stride, Size piece) const;

  [[noreturn]] void below(std::string_view name, Size value, Size low) const;
  [[noreturn]] void no_float(std::string_view name, DType dtype) const;
  [[noreturn]] void unknown(std::string_view name, std::string_view kind) const;
  [[noreturn]] void not_live(std::string_view name, Buffer handle) const;
  void check_held(std::string_view name, const BufferRange& range, Size elements,
                  DType dtype) const;

  const InCore in_core_;
  BackendState& state_;
  std::string_view op_;
  std::unique_lock<std::mutex> lock_;
  RecordingData* recorded_ = nullptr;  // that the call is kept in

  friend std::uint64_t calls_made() noexcept;
  TILEWRIGHT_MADE_WITH_THREAD static constinit thread_local std::uint64_t made_;
};

}  // namespace tilewright
