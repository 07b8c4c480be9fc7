#pragma once

#include <pybind11/pybind11.h>

#include <span>

#include "bindings/operands.hpp"

// The common forms of functions of complex Arrays, without Python's part in them.
namespace tilewright::bindings {

struct ElementFunction;

/// Strides in parts, of those in complex elements.
Sizes doubled(Sizes strides);

/// A function of complex Arrays, real ones of the dtype of their parts, and numbers of Python's, as
/// one program of the parts. None for any other form, which Python's side takes. `out`: null for a
/// new Array.
pybind11::object evaluate_parts(const ElementFunction& function, std::span<PyObject* const> given,
                                PyObject* out);

/// What gives the programs: called with a function's name, of each operand (is_complex, is_number),
/// the dtype of the parts, and an exponent that the program has in it, or None. It gives (program,
/// dtype of the result), or None.
void set_complex_programs(const pybind11::object& program_of);

}  // namespace tilewright::bindings
