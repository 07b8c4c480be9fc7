#pragma once

#include <pybind11/pybind11.h>

#include <optional>

#include "bindings/convert.hpp"
#include "bindings/operands.hpp"
#include "tilewright/program.hpp"

namespace tilewright::bindings {

/// An operand that may have strides, as Python gives it: a buffer, an Array, which has its own, or
/// (buffer, strides) or (buffer, strides, offset).
class StridedOperand {
 public:
  StridedOperand() = default;
  /// `at`: its place where the argument is a list of them.
  StridedOperand(pybind11::handle given, const Argument& argument, Py_ssize_t at = -1);

  operator MapOperand() const {
    return {buffer_, has_strides_ ? strides_.span() : std::span<const Size>(), offset_};
  }
  /// Of an Array; none where it is given as a buffer with strides.
  std::optional<DType> dtype() const { return dtype_; }

 private:
  std::optional<DType> dtype_;
  Buffer buffer_ = Buffer::null;
  bool has_strides_ = false;
  Sizes strides_;
  Size offset_ = 0;
};

template <>
struct Convert<MapOperand> {
  static constexpr auto name = pybind11::detail::const_name("MapOperand");
  static StridedOperand from(pybind11::handle given, const Argument& argument) {
    return {given, argument};
  }
};

/// One that may be left out, with the strides that it points to.
class OptionalOperand {
 public:
  OptionalOperand(pybind11::handle given, const Argument& argument) {
    if (!given.is_none()) operand_.emplace(given, argument);
  }
  operator std::optional<MapOperand>() const {
    return operand_ ? std::optional<MapOperand>(*operand_) : std::nullopt;
  }

 private:
  std::optional<StridedOperand> operand_;
};

template <>
struct Convert<std::optional<MapOperand>> {
  static constexpr auto name = pybind11::detail::const_name("MapOperand | None");
  static OptionalOperand from(pybind11::handle given, const Argument& argument) {
    return {given, argument};
  }
};

}  // namespace tilewright::bindings
