#pragma once

#include <pybind11/pybind11.h>

#include <array>
#include <cstddef>
#include <optional>
#include <span>

#include "bindings/array.hpp"
#include "bindings/array_rules.hpp"

namespace tilewright::bindings {

/// An operand of an elementwise call: an Array, or a number.
struct CallOperand {
  pybind11::object kept;               ///< the Array; none of a number
  const ArrayObject* array = nullptr;  ///< in `kept`
  std::optional<Number> number;
  double real = 0;  ///< the number, where the call computes with floats
  DType dtype{};    ///< of the Array; what a number is computed in
};

/// An elementwise function of operands that were checked: what is left is to compute it.
struct ElementCall {
  const ElementFunction* function = nullptr;
  TypedFunction how;
  std::array<CallOperand, most_operands> operands;

  std::span<const CallOperand> given() const {
    return std::span(operands).first(function->operands);
  }
};

/// Whether a call of contiguous elements into `out` has a kernel of its own, which takes less time
/// than a program: runs it then.
bool run_simple(const ElementCall& call, const ArrayObject& out);

/// Runs the call alone: its operands are computed first.
void run_alone(const ElementCall& call, const ArrayObject& out);

}  // namespace tilewright::bindings
