#pragma once

#include <cstdint>
#include <initializer_list>
#include <mutex>
#include <span>
#include <string_view>

#include "core/fork.hpp"
#include "core/requests.hpp"
#include "core/state.hpp"
#include "tilewright/types.hpp"

namespace tilewright {

/// One call of the trait while it is checked and run: the place where all arguments are checked.
///
/// Construction throws NotInitialized, then holds the buffer table until checked(); the backend
/// cannot close before the Call is gone. Every message starts with the call's name.
class Call {
 public:
  Call(BackendState& state, std::string_view op);
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

  /// The allocation behind a handle that must hold `elements` of dtype; none for the null handle
  /// where there are no elements.
  AllocationRef buffer(std::string_view name, Buffer handle, Size elements, DType dtype) const {
    if (elements == 0 && handle == Buffer::null) [[unlikely]]
      return nullptr;
    const AllocationRef& allocation = find(name, handle);
    // So many elements, which no buffer holds, would overflow their bytes.
    constexpr Size too_many = Size{1} << 60;
    if (elements >= too_many ||
        static_cast<std::uint64_t>(elements) * size_of(dtype) > allocation->bytes()) [[unlikely]] {
      short_of(name, *allocation, elements, dtype);
    }
    return allocation;
  }
  AllocationRef buffer(std::string_view name, Buffer handle) const { return find(name, handle); }

  void distinct(std::string_view output_name, Buffer output, std::string_view name,
                Buffer input) const {
    if (output == input && output != Buffer::null) [[unlikely]]
      same(output_name, name);
  }

 private:
  const AllocationRef& find(std::string_view name, Buffer handle) const {
    const AllocationRef* found = state_.buffers.find(handle);
    if (found == nullptr) [[unlikely]]
      not_live(name, handle);
    return *found;
  }
  Size mul_large(Size a, Size b) const;
  Size spanned_large(std::string_view name, Size count, Size stride, Size piece) const;

  [[noreturn]] void below(std::string_view name, Size value, Size low) const;
  [[noreturn]] void no_float(std::string_view name, DType dtype) const;
  [[noreturn]] void unknown(std::string_view name, std::string_view kind) const;
  [[noreturn]] void not_live(std::string_view name, Buffer handle) const;
  [[noreturn]] void short_of(std::string_view name, const Allocation& allocation, Size elements,
                             DType dtype) const;
  [[noreturn]] void same(std::string_view output_name, std::string_view name) const;

  const InCore in_core_;
  BackendState& state_;
  std::string_view op_;
  std::unique_lock<std::mutex> lock_;
};

}  // namespace tilewright
