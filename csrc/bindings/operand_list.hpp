#pragma once

#include <pybind11/pybind11.h>

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bindings/self.hpp"
#include "bindings/strided.hpp"
#include "tilewright/program.hpp"

// Operands of map() and of its kin: buffers, Arrays, or either with strides and an offset.
namespace tilewright::bindings {

struct MapOperands;
struct OneOperand;

// What parameters are called in signatures.
template <>
struct Convert<MapOperands> {
  static constexpr auto name = pybind11::detail::const_name("Sequence[MapOperand]");
};
template <>
struct Convert<OneOperand> {
  static constexpr auto name = pybind11::detail::const_name("MapOperand");
};

/// The items of a list or tuple.
std::span<PyObject* const> items_of(pybind11::handle given, const Argument& argument,
                                    std::string_view expected);

/// The operands of one list, and what their spans look at.
class OperandList {
 public:
  OperandList(pybind11::handle given, const Argument& argument);
  std::span<const MapOperand> span() const { return operands_; }
  /// Refuses an Array of another dtype than a program reads or writes there, from `first` on.
  void check(const std::vector<DType>& dtypes, std::size_t first = 0) const;

 private:
  std::string call_, name_;
  pybind11::object items_;
  std::vector<StridedOperand> given_;
  std::vector<MapOperand> operands_;
};

/// A list of one.
OperandList one_operand(pybind11::handle given, const Argument& argument);

}  // namespace tilewright::bindings
