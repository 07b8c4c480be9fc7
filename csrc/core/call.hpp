#pragma once

#include <cstdint>
#include <initializer_list>
#include <mutex>
#include <span>
#include <string_view>

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

  void not_negative(std::string_view name, Size value) const;
  void positive(std::string_view name, Size value) const;
  void float_dtype(DType dtype, std::string_view name = "dtype") const;
  void positive_finite(std::string_view name, double value) const;

  template <class Enum>
  void known(std::string_view name, Enum value) const {
    if (to_string(value) == "?") unknown(name, EnumNames<Enum>::kind);
  }

  /// a * b and a + b of sizes that are not negative; InvalidArgument where they overflow.
  Size mul(Size a, Size b) const;
  Size add(Size a, Size b) const;
  Size product(std::span<const Size> sizes) const;
  Size product(std::initializer_list<Size> sizes) const {
    return product(std::span(sizes.begin(), sizes.size()));
  }
  /// The elements that `count` pieces of `piece` elements span whose starts are `stride` apart.
  Size spanned(std::string_view name, Size count, Size stride, Size piece) const;

  /// Every size not negative, at most max_rank of them.
  void shape(std::string_view name, std::span<const Size> shape) const;
  /// axis within the shape, counted from the front.
  std::size_t axis(Size axis, std::span<const Size> shape) const;

  /// The allocation behind a handle that must hold `elements` of dtype.
  AllocationRef buffer(std::string_view name, Buffer handle, Size elements, DType dtype) const;
  AllocationRef buffer(std::string_view name, Buffer handle) const;

  void distinct(std::string_view output_name, Buffer output, std::string_view name,
                Buffer input) const;

 private:
  [[noreturn]] void unknown(std::string_view name, std::string_view kind) const;

  BackendState& state_;
  std::string_view op_;
  std::unique_lock<std::mutex> lock_;
};

}  // namespace tilewright
