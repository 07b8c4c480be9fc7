#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "bindings/self.hpp"
#include "bindings/strided.hpp"
#include "core/program/program_data.hpp"
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
  /// Refuses Arrays of other dtypes than a program has for its inputs, or its outputs.
  OperandList(pybind11::handle given, const Argument& argument, const Program& program,
              std::vector<std::uint32_t> ProgramData::* places)
      : OperandList(given, argument) {
    check(argument, program, places);
  }
  std::span<const MapOperand> span() const { return operands_; }
  void check(const Argument& argument, const Program& program,
             std::vector<std::uint32_t> ProgramData::* places) const;

 private:
  pybind11::object items_;
  std::vector<StridedOperand> given_;
  std::vector<MapOperand> operands_;
};

/// A list of one.
OperandList one_operand(pybind11::handle given, const Argument& argument);

}  // namespace tilewright::bindings
